//! The border to JavaScript. The only file that names wasm_bindgen, js_sys and web_sys.

use std::collections::BTreeMap;
use std::num::NonZeroU32;

use serde::Serialize;
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::JsFuture;

use crate::calibration::{Calibration, Measurement};
use crate::estimate::{EstimateError, ModelFile, estimate, estimate_many};
use crate::learned::predictor::{self, PredictorError};
use crate::targets;

/// Turns a panic, which is always a defect of this crate, into a readable line of the console.
#[wasm_bindgen(start)]
fn start() {
    console_error_panic_hook::set_once();
}

#[wasm_bindgen(typescript_custom_section)]
const TYPES: &str = include_str!("report/report.d.ts");

#[wasm_bindgen]
extern "C" {
    #[wasm_bindgen(typescript_type = "Report")]
    pub type Report;
    #[wasm_bindgen(typescript_type = "ModelFile[]")]
    pub type ModelFiles;
    #[wasm_bindgen(typescript_type = "(Report | LitecastError)[]")]
    pub type ReportsOrErrors;
    #[wasm_bindgen(typescript_type = "TargetInfo[]")]
    pub type TargetInfos;
    #[wasm_bindgen(typescript_type = "Measurement[]")]
    pub type Measurements;
    #[wasm_bindgen(typescript_type = "Record<string, number>")]
    pub type EstimatesMs;
    #[wasm_bindgen(typescript_type = "Calibrated")]
    pub type Calibrated;
}

/// A trained predictor, loaded once and used for many files.
#[wasm_bindgen]
pub struct Predictor(predictor::Predictor);

#[wasm_bindgen]
impl Predictor {
    /// `onnx` and `manifest` are the contents of `predictor.onnx` and `manifest.json`.
    #[wasm_bindgen(constructor)]
    pub fn new(onnx: &[u8], manifest: &str) -> Result<Predictor, JsValue> {
        let loaded = predictor::Predictor::load(onnx, manifest);
        loaded
            .map(Predictor)
            .map_err(|error| predictor_error(&error))
    }

    /// What the file `bytes` costs on every target, for `batch` inputs at a time and on `threads` threads of
    /// a processor (1 without them). Throws an `Error` with a string `kind`.
    pub fn estimate(
        &self,
        bytes: &[u8],
        file: &str,
        batch: Option<u32>,
        threads: Option<u32>,
    ) -> Result<Report, JsValue> {
        report_of(bytes, file, [batch, threads], Some(&self.0))
    }

    /// As `estimate` of each file, in less time: several small networks share a run of the predictor.
    /// Where a file has no report, what `estimate` throws stands in its place.
    #[wasm_bindgen(js_name = estimateMany)]
    pub fn estimate_many(&self, files: ModelFiles) -> Result<ReportsOrErrors, JsValue> {
        let files: Vec<(String, Vec<u8>, [NonZeroU32; 2])> = js_sys::Array::from(&files)
            .iter()
            .map(|file| model_file(&file))
            .collect::<Result<_, _>>()?;
        let files: Vec<ModelFile> = files
            .iter()
            .map(|(name, bytes, [batch, threads])| ModelFile {
                name,
                bytes,
                batch: *batch,
                threads: *threads,
            })
            .collect();
        let reports = estimate_many(&files, Some(&self.0));
        let reports = reports.map_err(|error| predictor_error(&error))?;
        let entries = reports.into_iter().map(|report| match report {
            Ok(report) => to_js(&report),
            Err(error) => Ok(estimate_error(&error)),
        });
        let entries: js_sys::Array = entries.collect::<Result<_, _>>()?;
        Ok(JsValue::from(entries).unchecked_into())
    }

    /// As `estimate`, for a `File` as a drop or a file picker gives it.
    #[wasm_bindgen(js_name = estimateFile)]
    pub async fn estimate_file(
        &self,
        file: web_sys::File,
        batch: Option<u32>,
        threads: Option<u32>,
    ) -> Result<Report, JsValue> {
        let contents = JsFuture::from(file.array_buffer()).await?;
        let bytes = js_sys::Uint8Array::new(&contents).to_vec();
        report_of(&bytes, &file.name(), [batch, threads], Some(&self.0))
    }

    /// What is estimated, and how well that did on held-out networks.
    pub fn targets(&self) -> Result<TargetInfos, JsValue> {
        Ok(to_js(&targets::infos(Some(self.0.manifest())))?.unchecked_into())
    }
}

/// The exact facts of the file `bytes` and what is modelled from them, without learned estimates, for
/// `batch` inputs at a time and on `threads` threads of a processor (1 without them).
#[wasm_bindgen]
pub fn analyze(
    bytes: &[u8],
    file: &str,
    batch: Option<u32>,
    threads: Option<u32>,
) -> Result<Report, JsValue> {
    report_of(bytes, file, [batch, threads], None)
}

/// The latency of a network on a device of one's own, on which at least three networks were measured.
/// `estimates_ms` are the estimated latencies of this network by target id. Throws an `Error` with a
/// string `kind`.
#[wasm_bindgen]
pub fn calibrate(
    measurements: Measurements,
    estimates_ms: EstimatesMs,
) -> Result<Calibrated, JsValue> {
    let wrong = |error: serde_wasm_bindgen::Error| js_error("wrong-argument", &error.to_string());
    let measurements: Vec<Measurement> =
        serde_wasm_bindgen::from_value(measurements.into()).map_err(wrong)?;
    let estimates_ms: BTreeMap<String, f64> =
        serde_wasm_bindgen::from_value(estimates_ms.into()).map_err(wrong)?;
    let applied =
        Calibration::fit(&measurements).and_then(|calibration| calibration.apply(&estimates_ms));
    let applied = applied.map_err(|error| js_error(error.kind(), &error.to_string()))?;
    Ok(to_js(&applied)?.unchecked_into())
}

/// Name, contents, inputs at a time and threads of a `ModelFile`.
fn model_file(file: &JsValue) -> Result<(String, Vec<u8>, [NonZeroU32; 2]), JsValue> {
    let field = |name: &str| js_sys::Reflect::get(file, &name.into()).ok();
    let name = field("name").and_then(|name| name.as_string());
    let bytes = field("bytes").and_then(|bytes| bytes.dyn_into::<js_sys::Uint8Array>().ok());
    let number = |name: &str| {
        let number = field(name).filter(|number| !number.is_undefined());
        number.map(|number| number.as_f64().unwrap_or_default() as u32)
    };
    let numbers = [number("batch"), number("threads")];
    match (name, bytes) {
        (Some(name), Some(bytes)) => Ok((name, bytes.to_vec(), at_least_one(numbers)?)),
        _ => Err(js_error(
            "wrong-argument",
            "expected files as { name, bytes }",
        )),
    }
}

/// Inputs at a time and threads.
fn at_least_one(numbers: [Option<u32>; 2]) -> Result<[NonZeroU32; 2], JsValue> {
    match numbers.map(|number| NonZeroU32::new(number.unwrap_or(1))) {
        [Some(batch), Some(threads)] => Ok([batch, threads]),
        [None, _] => Err(js_error("wrong-argument", "expected a batch of at least 1")),
        [_, None] => Err(js_error("wrong-argument", "expected at least 1 thread")),
    }
}

fn report_of(
    bytes: &[u8],
    name: &str,
    batch_and_threads: [Option<u32>; 2],
    predictor: Option<&predictor::Predictor>,
) -> Result<Report, JsValue> {
    let [batch, threads] = at_least_one(batch_and_threads)?;
    let file = ModelFile {
        name,
        bytes,
        batch,
        threads,
    };
    let report = estimate(file, predictor).map_err(|error| estimate_error(&error))?;
    Ok(to_js(&report)?.unchecked_into())
}

/// Plain objects, numbers and `null`, as `JSON.parse` would give: whole numbers beyond 2^53, which the
/// serializer refuses, are rounded to the nearest that JavaScript has.
fn to_js(value: &impl Serialize) -> Result<JsValue, JsValue> {
    let serializer = serde_wasm_bindgen::Serializer::json_compatible();
    if let Ok(value) = value.serialize(&serializer) {
        return Ok(value);
    }
    let unwritable = |error: String| js_error("serialization", &error);
    let text = serde_json::to_string(value).map_err(|error| unwritable(error.to_string()))?;
    js_sys::JSON::parse(&text).map_err(|error| unwritable(format!("{error:?}")))
}

fn estimate_error(error: &EstimateError) -> JsValue {
    js_error(error.kind(), &error.to_string())
}

fn predictor_error(error: &PredictorError) -> JsValue {
    js_error(error.kind(), &error.to_string())
}

fn js_error(kind: &str, message: &str) -> JsValue {
    let error = js_sys::Error::new(message);
    let is_set = js_sys::Reflect::set(&error, &"kind".into(), &kind.into());
    debug_assert!(is_set.is_ok(), "a fresh Error takes properties");
    error.into()
}
