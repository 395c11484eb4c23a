//! The bindings of the module that makes devices from profiles, which a page loads when somebody has one. Beside `wasm.rs`
//! this is the only file that names wasm_bindgen and js_sys.

use wasm_bindgen::prelude::*;

use crate::calibration::{
    Device, DeviceFacts, NewMeasurement, Tool, base_families, next_of_documents, tools,
};
use crate::profiles;
use crate::report::Failure;

/// The document of the device with one more measurement; as [`NewMeasurement::device`].
#[wasm_bindgen(js_name = addMeasurement)]
#[allow(clippy::too_many_arguments)]
pub fn add_measurement(
    name: &str,
    threads: u32,
    report: &str,
    profile: &[u8],
    profile_name: &str,
    clock_mhz: Option<f64>,
    base: Option<String>,
    known: Option<String>,
) -> Result<String, JsValue> {
    let addition = NewMeasurement {
        name,
        threads,
        report,
        profile,
        profile_name,
        clock_mhz,
        base: base.as_deref(),
        known: known.as_deref(),
    };
    addition.device().map_err(|failure| js_error(&failure))
}

/// As [`base_families`].
#[wasm_bindgen(js_name = baseFamilies)]
pub fn base_families_of(
    profile: &[u8],
    clock_mhz: Option<f64>,
    like: Option<String>,
) -> Result<Vec<String>, JsValue> {
    let profile = profiles::read(profile, clock_mhz)
        .map_err(|error| js_error(&Failure::new(error.kind(), error.to_string())))?;
    let families = base_families(&profile, like.as_deref());
    Ok(families.into_iter().map(str::to_owned).collect())
}

/// The document as this version writes it, where `json` is one of a device.
#[wasm_bindgen(js_name = readDevice)]
pub fn read_device(json: &[u8]) -> Result<String, JsValue> {
    parsed(json).map(|device| device.to_json())
}

/// What follows from the measurements: [`DeviceFacts`] as JSON.
#[wasm_bindgen(js_name = factsOf)]
pub fn facts_of(json: &[u8]) -> Result<String, JsValue> {
    let facts = DeviceFacts::new(&parsed(json)?);
    // Of numbers and words alone.
    Ok(serde_json::to_string(&facts).unwrap_or_default())
}

/// As [`next_of_documents`].
#[wasm_bindgen(js_name = nextMeasurements)]
pub fn next_measurements(device: &str, reports: Vec<String>) -> Result<String, JsValue> {
    next_of_documents(device, reports.iter()).map_err(|failure| js_error(&failure))
}

/// As [`profiles::command`].
#[wasm_bindgen]
pub fn command(tool: &str, file: &str, threads: u32, target: &str) -> String {
    profiles::command(tool, file, threads, target)
}

/// As [`tools`], in JSON.
#[wasm_bindgen(js_name = tools)]
pub fn measuring_tools() -> String {
    let tools: Vec<Tool> = tools().collect();
    // Of words alone.
    serde_json::to_string(&tools).unwrap_or_default()
}

fn parsed(json: &[u8]) -> Result<Device, JsValue> {
    let device = Device::parse(json);
    device.map_err(|error| js_error(&Failure::new("wrong-device", error.to_string())))
}

fn js_error(failure: &Failure) -> JsValue {
    let error = js_sys::Error::new(&failure.message);
    // An object that was just made takes a property.
    let _ = js_sys::Reflect::set(&error, &"kind".into(), &failure.kind.as_str().into());
    error.into()
}
