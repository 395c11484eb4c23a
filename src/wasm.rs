//! The bindings for JavaScript. This is the only file that names wasm_bindgen, js_sys and web_sys.
//!
//! Programs call `www/package/`, which checks arguments and then calls these bindings.

use std::collections::BTreeMap;
use std::mem;
use std::num::NonZeroU32;
use std::panic;
use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;
use wasm_bindgen::prelude::*;

use crate::batch_sweep::sweep_batch;
use crate::boards::{Application, Listing, Need};
use crate::calibration::{Calibration, CalibrationError};
use crate::estimate::{
    Detail, EstimateAs, EstimateError, ModelFile, Request, estimate_changed, estimate_in, left_out,
};
use crate::learned::predictor::{Predictor, PredictorError};
use crate::model_variants::Changes;
use crate::report::{Report, Summary};
use crate::sweep::{self, Limits, Sweep};
use crate::target::fitted::Bundle;
use crate::targets::choice::{Choice, ChoiceError};
use crate::targets::ethos_u::configuration::{Accelerators, Configuration, Product};
use crate::targets::gpu::specifications::Gpu;
use crate::targets::{self, Loaded, Outcome, Target, ethos_u, gpu, learned_accelerators, registry};

#[wasm_bindgen(start)]
fn start() {
    report_panics();
}

/// Turns a panic, which is always a defect of this crate, into a readable line of the console.
pub fn report_panics() {
    panic::set_hook(Box::new(console_error_panic_hook::hook));
}

/// Makes reports. Every method throws an `Error` with a string `kind`.
#[wasm_bindgen]
#[derive(Default)]
pub struct Engine {
    predictor: Option<Predictor>,
    /// The lists of targets that [`Engine::choose`] was given; a place is empty after [`Engine::release`].
    chosen: Vec<Option<Vec<Box<dyn Target>>>>,
    loaded: Loaded,
}

#[cfg(feature = "tract")]
#[wasm_bindgen]
impl Engine {
    /// `onnx` and `manifest` are the contents of `predictor.onnx` and `manifest.json`.
    #[wasm_bindgen(js_name = loadPredictor)]
    pub fn load_predictor(&mut self, onnx: Vec<u8>, manifest: String) -> Result<(), JsValue> {
        let predictor = Predictor::load(&onnx, &manifest);
        self.predictor = Some(predictor.map_err(|error| predictor_error(&error))?);
        Ok(())
    }
}

#[wasm_bindgen]
impl Engine {
    /// Without a predictor.
    #[wasm_bindgen(constructor)]
    pub fn new() -> Self {
        Self::default()
    }

    /// `json` is the contents of `gpu.json`. After this call, choices may name GPUs. Returns the metrics of each GPU.
    #[wasm_bindgen(js_name = loadGpus)]
    pub fn load_gpus(&mut self, json: &[u8]) -> Result<JsValue, JsValue> {
        let gpus = constants(json, &gpu::costs::NAMES, "gpu-constants")?;
        let targets = gpu::targets(&gpus);
        self.loaded.gpus = Some(gpus);
        infos_of(&targets)
    }

    /// As [`Engine::load_gpus`] with the contents of `accelerators.json`, for phones and NPU boards.
    #[wasm_bindgen(js_name = loadAccelerators)]
    pub fn load_accelerators(&mut self, json: &[u8]) -> Result<JsValue, JsValue> {
        let learned = constants(
            json,
            &learned_accelerators::work::NAMES,
            "accelerator-constants",
        )?;
        let targets = learned_accelerators::targets(&learned);
        self.loaded.learned = Some(learned);
        infos_of(&targets)
    }

    /// Time and memory of the changed network by batch size on a GPU: a [`Sweep`](crate::targets::gpu::sweep::Sweep),
    /// or null if there is no estimate.
    #[wasm_bindgen(js_name = sweepBatch)]
    pub fn sweep_batch(
        &self,
        file: JsValue,
        target: &str,
        changes: JsValue,
    ) -> Result<JsValue, JsValue> {
        let file = File::read(file)?;
        let changes: Changes = from_js(changes)?;
        let unknown = || js_error("unknown-target", &format!("{target}: expected a GPU"));
        let gpu = Gpu::by_id(target).ok_or_else(unknown)?;
        let not_loaded = || {
            choice_error(&ChoiceError::NotLoaded {
                found: target.to_owned(),
                by: "loadGpus",
            })
        };
        let gpus = self.loaded.gpus.as_ref().ok_or_else(not_loaded)?;
        let swept = sweep_batch(file.as_model_file(), &changes, gpu, gpus);
        to_js(&swept.map_err(|error| estimate_error(&error))?)
    }

    /// Compares every Ethos-U, in its default configuration and for the changed network, with `limits` (as [`Limits`]):
    /// a [`Sweep`](crate::sweep::Sweep).
    pub fn sweep(
        &self,
        file: JsValue,
        limits: JsValue,
        changes: JsValue,
    ) -> Result<JsValue, JsValue> {
        let file = File::read(file)?;
        let limits: Limits = from_js(limits)?;
        let changes: Changes = from_js(changes)?;
        let npus = Product::ALL.map(|product| ethos_u::target(Configuration::new(product)));
        let predictor = self.predictor.as_ref();
        let detail = Detail::Summary;
        let report = estimate_changed(file.as_model_file(), &changes, predictor, &npus, detail);
        let report = report.map_err(|error| estimate_error(&error))?;
        let candidates = sweep::candidates(&report);
        if candidates.is_empty() {
            return Err(js_error("no-estimate", &missing_sweep_reason(&report)));
        }
        to_js(&Sweep::new(candidates, limits, Vec::new()).with_doubts(report))
    }

    /// Stores a list of [`Choice`]s. Returns a number that represents them in [`Engine::estimate_many`].
    pub fn choose(&mut self, choices: JsValue) -> Result<u32, JsValue> {
        let targets = Some(targets_of(choices, &self.loaded)?);
        let free = self.chosen.iter().position(Option::is_none);
        let place = free.unwrap_or(self.chosen.len());
        match self.chosen.get_mut(place) {
            Some(chosen) => *chosen = targets,
            None => self.chosen.push(targets),
        }
        u32::try_from(place).map_err(|_| js_error("limit-exceeded", "too many lists of targets"))
    }

    /// Frees a list that [`Engine::choose`] stored.
    pub fn release(&mut self, chosen: usize) {
        if let Some(chosen) = self.chosen.get_mut(chosen) {
            *chosen = None;
        }
    }

    /// A report or an error for each file, in the order of `files`. `files` are objects with `name`, `bytes` (a
    /// `Uint8Array`), `batch`, `threads` and, if it is known, `sha256`. The targets are those that `chosen` represents,
    /// or all of the registry. The predictor is used if `is_learned` is set and one is loaded. With `is_summary`,
    /// operators, tensors and edges are left out.
    #[wasm_bindgen(js_name = estimateMany)]
    pub fn estimate_many(
        &self,
        files: js_sys::Array,
        chosen: Option<u32>,
        is_learned: bool,
        is_summary: bool,
    ) -> Result<js_sys::Array, JsValue> {
        let files: Vec<File> = files.iter().map(File::read).collect::<Result<_, _>>()?;
        let files: Vec<ModelFile> = files.iter().map(File::as_model_file).collect();
        let targets = match chosen {
            None => registry(),
            Some(chosen) => {
                let targets = usize::try_from(chosen)
                    .ok()
                    .and_then(|idx| self.chosen.get(idx)?.as_ref());
                targets.ok_or_else(|| {
                    js_error("wrong-argument", "expected targets that were chosen")
                })?
            }
        };
        let predictor = self.predictor.as_ref().filter(|_| is_learned);
        let detail = detail(is_summary);
        let reports = estimate_in(&files, predictor, targets, detail);
        let reports = reports.map_err(|error| predictor_error(&error))?;
        let entries = reports.into_iter().map(|report| match (report, detail) {
            (Ok(report), Detail::Full) => report_to_js(report),
            (Ok(report), Detail::Summary) => to_js(&Summary::new(&report)),
            (Err(error), _) => Ok(estimate_error(&error)),
        });
        entries.collect()
    }

    /// As [`Engine::estimate_many`] for one file, after `changes` (as [`Changes`]) were applied to its network, on a
    /// list of [`Choice`]s.
    #[wasm_bindgen(js_name = estimateChanged)]
    pub fn estimate_changed(
        &self,
        file: JsValue,
        choices: JsValue,
        changes: JsValue,
        is_learned: bool,
        is_summary: bool,
    ) -> Result<JsValue, JsValue> {
        let file = File::read(file)?;
        let targets = targets_of(choices, &self.loaded)?;
        let changes: Changes = from_js(changes)?;
        let predictor = self.predictor.as_ref().filter(|_| is_learned);
        let detail = detail(is_summary);
        let report = estimate_changed(file.as_model_file(), &changes, predictor, &targets, detail);
        let report = report.map_err(|error| estimate_error(&error))?;
        match detail {
            Detail::Full => report_to_js(report),
            Detail::Summary => to_js(&Summary::new(&report)),
        }
    }

    /// All targets with their metrics and their errors on held-out networks.
    pub fn targets(&self) -> Result<JsValue, JsValue> {
        let manifest = self.predictor.as_ref().map(Predictor::manifest).transpose();
        to_js(&targets::infos(
            manifest.map_err(|error| predictor_error(&error))?,
        ))
    }
}

/// The reason why there is no estimate.
fn missing_sweep_reason(report: &Report) -> String {
    let mut reasons = report
        .results
        .iter()
        .filter_map(|result| match &result.outcome {
            Outcome::Unavailable { unavailable, .. } => Some(unavailable.to_string()),
            Outcome::Estimate { .. } => None,
        });
    reasons.next().unwrap_or_default()
}

fn constants(json: &[u8], names: &[&str], kind: &str) -> Result<Arc<Bundle>, JsValue> {
    let bundle = Bundle::parse(json, names);
    Ok(Arc::new(
        bundle.map_err(|error| js_error(kind, &error.to_string()))?,
    ))
}

fn infos_of(targets: &[Box<dyn Target>]) -> Result<JsValue, JsValue> {
    let infos = targets.iter().filter_map(|target| target.info(None));
    to_js(&infos.collect::<Vec<_>>())
}

fn targets_of(choices: JsValue, loaded: &Loaded) -> Result<Vec<Box<dyn Target>>, JsValue> {
    let choices: Vec<Choice> = from_js(choices)?;
    let targets = choices.iter().map(|choice| choice.target_among(loaded));
    let targets = targets.collect::<Result<_, ChoiceError>>();
    targets.map_err(|error| choice_error(&error))
}

fn choice_error(error: &ChoiceError) -> JsValue {
    js_error(error.kind(), &error.to_string())
}

fn detail(is_summary: bool) -> Detail {
    if is_summary {
        Detail::Summary
    } else {
        Detail::Full
    }
}

/// The operators of the changed network that each of a list of [`Choice`]s leaves to a processor.
#[wasm_bindgen(js_name = leftOut)]
pub fn left_out_of(file: JsValue, choices: JsValue, changes: JsValue) -> Result<JsValue, JsValue> {
    let file = File::read(file)?;
    let targets = targets_of(choices, &Loaded::default())?;
    let changes: Changes = from_js(changes)?;
    let left = left_out(file.as_model_file(), &changes, &targets);
    let left = left.map_err(|error| estimate_error(&error))?;
    to_js(&left)
}

/// As [`Accelerators`].
#[wasm_bindgen]
pub fn accelerators(vela_ini: Option<String>) -> Result<JsValue, JsValue> {
    let listed = Accelerators::list(vela_ini.as_deref());
    to_js(&listed.map_err(|error| js_error("configuration", &error.to_string()))?)
}

/// Clock and SRAM of a [`Choice`], as [`InForce`](crate::targets::choice::InForce).
#[wasm_bindgen(js_name = inForce)]
pub fn in_force(choice: JsValue) -> Result<JsValue, JsValue> {
    let choice: Choice = from_js(choice)?;
    let listed = choice.in_force();
    to_js(&listed.map_err(|error| js_error(error.kind(), &error.to_string()))?)
}

/// Ids of the targets of every report. For some of them nothing is estimated but counted, so [`Engine::targets`] does
/// not list them.
#[wasm_bindgen(js_name = registeredTargets)]
pub fn registered_targets() -> Vec<String> {
    let targets = registry().iter();
    targets.map(|target| target.id().to_owned()).collect()
}

/// Every target that a choice may name, including those outside of the registry.
#[wasm_bindgen(js_name = knownTargets)]
pub fn known_targets() -> Result<JsValue, JsValue> {
    to_js(&targets::choice::known_infos())
}

/// As [`Listing`].
#[wasm_bindgen]
pub fn boards() -> Result<JsValue, JsValue> {
    to_js(&Listing::shipped())
}

/// Whether a model with this memory need (`fits.need` of a report) fits on each board beside an application: as `fits`
/// of a report, without latencies.
#[wasm_bindgen(js_name = fitsOfNeed)]
pub fn fits_of_need(need: JsValue, application: JsValue) -> Result<JsValue, JsValue> {
    let need: Need = from_js(need)?;
    let application: Application = from_js(application)?;
    to_js(&crate::boards::fits_of_need(need, application))
}

/// Calibrates a device. `estimates_ms` has those of `n_targets` for each of `measured_ms`, 0 where there is none. Returns the
/// position of the target, and the numbers of the [`Calibration`].
#[wasm_bindgen(js_name = fitCalibration)]
pub fn fit_calibration(
    n_targets: usize,
    estimates_ms: &[f64],
    measured_ms: &[f64],
) -> Result<Vec<f64>, JsValue> {
    let estimate_ms = |idx: usize, target: usize| {
        let estimate = estimates_ms.get(idx * n_targets + target);
        estimate.copied().unwrap_or_default()
    };
    let fitted = Calibration::fit_nearest(measured_ms, n_targets, &estimate_ms);
    let (target, calibration) = fitted.map_err(|error| calibration_error(&error))?;
    let mut numbers = calibration.to_numbers().to_vec();
    numbers.push(target as f64);
    Ok(numbers)
}

/// The latency of a network on a calibrated device, and both ends of its interval, from the numbers that
/// [`fit_calibration`] returned and the estimate on their target.
#[wasm_bindgen(js_name = applyCalibration)]
pub fn apply_calibration(
    target: String,
    numbers: &[f64],
    estimate_ms: Option<f64>,
) -> Result<Vec<f64>, JsValue> {
    let numbers = numbers.first_chunk::<5>().copied().unwrap_or_default();
    let ends = Calibration::from_numbers(target, numbers).latency_and_interval_ms(estimate_ms);
    Ok(ends.map_err(|error| calibration_error(&error))?.to_vec())
}

/// Version of this crate.
#[wasm_bindgen]
pub fn version() -> String {
    env!("CARGO_PKG_VERSION").to_owned()
}

/// Hexadecimal digits of a SHA-256.
const SHA256_DIGITS: usize = 64;

/// A file from JavaScript.
struct File {
    name: String,
    bytes: Vec<u8>,
    batch: NonZeroU32,
    threads: NonZeroU32,
    /// Sizes that the file leaves open, by name.
    dimensions: Vec<(String, u32)>,
    are_dimensions_shared: bool,
    application: Application,
    estimate_as: EstimateAs,
    sha256: Option<String>,
}

impl File {
    fn read(file: JsValue) -> Result<Self, JsValue> {
        let wrong = || {
            js_error(
                "wrong-argument",
                "expected files as { name, bytes, batch, threads }",
            )
        };
        let field = |name: &str| js_sys::Reflect::get(&file, &name.into()).map_err(|_| wrong());
        let count = |name: &str| {
            let number = field(name)?.as_f64().filter(|number| number.fract() == 0.0);
            let number = number.filter(|number| (1.0..=f64::from(u32::MAX)).contains(number));
            NonZeroU32::new(number.ok_or_else(wrong)? as u32).ok_or_else(wrong)
        };
        let bytes = field("bytes")?.dyn_into::<js_sys::Uint8Array>();
        Ok(Self {
            name: field("name")?.as_string().ok_or_else(wrong)?,
            bytes: copy_of(&bytes.map_err(|_| wrong())?)?,
            batch: count("batch")?,
            threads: count("threads")?,
            dimensions: match field("dimensions")? {
                none if none.is_undefined() => Vec::new(),
                sizes => from_js::<BTreeMap<String, u32>>(sizes)?
                    .into_iter()
                    .collect(),
            },
            are_dimensions_shared: field("are_dimensions_shared")?.is_truthy(),
            application: match field("application")? {
                none if none.is_undefined() => Application::default(),
                application => from_js(application)?,
            },
            estimate_as: match field("precision")? {
                none if none.is_undefined() => EstimateAs::default(),
                precision => from_js(precision)?,
            },
            sha256: field("sha256")?
                .as_string()
                .filter(|digits| digits.len() == SHA256_DIGITS),
        })
    }

    fn as_model_file(&self) -> ModelFile<'_> {
        ModelFile {
            request: Request {
                batch: self.batch,
                threads: self.threads,
                dimensions: &self.dimensions,
                are_dimensions_shared: self.are_dimensions_shared,
                application: self.application,
                estimate_as: self.estimate_as,
                sha256: self.sha256.as_deref(),
            },
            ..ModelFile::new(&self.name, &self.bytes)
        }
    }
}

/// The bytes in the module's memory, where there is room for them.
fn copy_of(bytes: &js_sys::Uint8Array) -> Result<Vec<u8>, JsValue> {
    let n_bytes = bytes.length() as usize;
    let mut copy = Vec::new();
    if copy.try_reserve_exact(n_bytes).is_err() {
        let message =
            format!("expected a file that the module has memory for, found {n_bytes} bytes");
        return Err(js_error("too-large", &message));
    }
    copy.resize(n_bytes, 0);
    bytes.copy_to(&mut copy);
    Ok(copy)
}

fn from_js<T: DeserializeOwned>(value: JsValue) -> Result<T, JsValue> {
    serde_wasm_bindgen::from_value(value)
        .map_err(|error| js_error("wrong-argument", &error.to_string()))
}

/// [`to_js`] for a report. The parts of operators, which are as many numbers as everything else together, are passed as
/// one array each, and lists that grow with the network are passed in parts, so that the text of the whole report is
/// never in memory.
fn report_to_js(mut report: Report) -> Result<JsValue, JsValue> {
    let outcomes = report.results.iter_mut().map(|result| &mut result.outcome);
    let parts: Vec<Option<Vec<f64>>> = outcomes
        .map(|outcome| match outcome {
            Outcome::Estimate { operators, .. } => operators.take(),
            Outcome::Unavailable { .. } => None,
        })
        .collect();
    let lists = [
        ("operators", list_to_js(mem::take(&mut report.operators))?),
        ("tensors", list_to_js(mem::take(&mut report.tensors))?),
        ("edges", list_to_js(mem::take(&mut report.edges))?),
    ];
    let written = to_js(&report)?;
    for (name, list) in lists {
        js_sys::Reflect::set(&written, &name.into(), &list)?;
    }
    let results = js_sys::Reflect::get(&written, &"results".into())?;
    let results: js_sys::Array = results.unchecked_into();
    let name = JsValue::from_str("operators");
    for (result, parts) in results.iter().zip(parts) {
        if let Some(parts) = parts {
            let numbers = js_sys::Array::from(&js_sys::Float64Array::from(parts.as_slice()));
            js_sys::Reflect::set(&result, &name, &numbers)?;
        }
    }
    Ok(written)
}

/// Number of list elements that are passed in one text.
const LIST_PART: usize = 1024;

fn list_to_js<T: Serialize>(list: Vec<T>) -> Result<js_sys::Array, JsValue> {
    let whole = js_sys::Array::new();
    for part in list.chunks(LIST_PART) {
        let part: js_sys::Array = to_js(&part)?.unchecked_into();
        for element in part.iter() {
            whole.push(&element);
        }
    }
    Ok(whole)
}

/// Converts by `JSON.parse` of the text that the command prints, which is several times faster than creating objects,
/// names and numbers one by one. Integers beyond 2^53 become the nearest number that JavaScript has.
fn to_js(value: &impl Serialize) -> Result<JsValue, JsValue> {
    let unwritable = |error: String| js_error("serialization", &error);
    let text = serde_json::to_string(value).map_err(|error| unwritable(error.to_string()))?;
    js_sys::JSON::parse(&text).map_err(|error| unwritable(format!("{error:?}")))
}

fn estimate_error(error: &EstimateError) -> JsValue {
    let thrown = js_error(error.kind(), &error.to_string());
    let names = error.unknown_dimensions();
    if !names.is_empty() {
        let names: js_sys::Array = names.iter().map(|name| JsValue::from_str(name)).collect();
        set_field(&thrown, "dimensions", &names);
    }
    thrown
}

fn predictor_error(error: &PredictorError) -> JsValue {
    js_error(error.kind(), &error.to_string())
}

fn calibration_error(error: &CalibrationError) -> JsValue {
    js_error(error.kind(), &error.to_string())
}

fn js_error(kind: &str, message: &str) -> JsValue {
    let error = js_sys::Error::new(message);
    set_field(&error, "kind", &kind.into());
    error.into()
}

fn set_field(error: &JsValue, name: &str, value: &JsValue) {
    let is_set = js_sys::Reflect::set(error, &name.into(), value);
    debug_assert!(is_set.is_ok(), "a fresh Error takes properties");
}
