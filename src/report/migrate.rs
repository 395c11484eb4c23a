//! Reports of older versions → the same numbers as this version has them.

use std::collections::HashMap;

use serde_json::Value;

use super::{Failure, OLDEST_READ_VERSION, REPORT_VERSION};
use crate::provenance::{Provenance, ProvenanceKind};

/// Brings a stored report up to [`REPORT_VERSION`]. One of this version is left as it is.
///
/// `www/package/src/migrate.ts` does the same in JavaScript; the tests of both read `tests/stored_reports`.
///
/// # Errors
/// `wrong-report` for a value without a version, and for versions outside of [`OLDEST_READ_VERSION`] to
/// [`REPORT_VERSION`].
pub fn migrate(report: &mut Value) -> Result<(), Failure> {
    let wrong = |words: String| Failure::new("wrong-report", words);
    let version = report.get("schema_version").and_then(Value::as_u64);
    let version = version.ok_or_else(|| wrong("expected a report of litecast".into()))?;
    let known = u64::from(OLDEST_READ_VERSION)..=u64::from(REPORT_VERSION);
    if !known.contains(&version) {
        return Err(wrong(format!(
            "expected a report of version {OLDEST_READ_VERSION} to {REPORT_VERSION}, found {version}"
        )));
    }
    if version == 1 {
        count_whole_arena(report);
        name_boards(report);
        say_whole_need(report);
    }
    let batch = report.get("batch").and_then(Value::as_f64).unwrap_or(1.0);
    if let Some(results) = report.get_mut("results").and_then(Value::as_array_mut) {
        name_whole_latencies(results);
        if version == 1 {
            name_whole_files(results);
            count_whole_batches(results, batch);
        }
        results.iter_mut().for_each(say_evidence);
    }
    let fits = report
        .get_mut("fits")
        .and_then(|fits| fits.get_mut("boards"));
    if let Some(boards) = fits.and_then(Value::as_array_mut) {
        boards.iter_mut().for_each(say_evidence_on_board);
    }
    report["schema_version"] = REPORT_VERSION.into();
    Ok(())
}

/// In version 1, the arena was its part for activations, beside the whole in `fits`.
fn count_whole_arena(report: &mut Value) {
    let whole = report["fits"]["need"]["arena_bytes"].clone();
    if let Some(model) = report.get_mut("model").and_then(Value::as_object_mut) {
        let activations = model.insert("arena_bytes".into(), whole.clone());
        model.insert("activation_bytes".into(), activations.unwrap_or_default());
    }
    if let Some(results) = report.get_mut("results").and_then(Value::as_array_mut) {
        results.retain_mut(|result| {
            let is_part = result["target"] == "tflite-micro" && result["metric"] == "arena";
            if !is_part || !result["value"].is_number() {
                return true;
            }
            result["value"] = whole.clone();
            if let Some(provenance) = result.get_mut("provenance").and_then(Value::as_object_mut) {
                provenance.insert("kind".into(), "modelled".into());
                provenance.insert("reference".into(), "runtime".into());
            }
            whole.is_number()
        });
    }
}

/// In version 1, the NPU of a measured board had the id of the NPU, which is the compiler's now. One board was measured.
fn name_boards(report: &mut Value) {
    let is_board = |one: &Value| one["metric"] == "board_latency" && one["target"] == BOARD_NPU;
    let results = report["results"].as_array();
    if !results.is_some_and(|results| results.iter().any(is_board)) {
        return;
    }
    for result in report["results"].as_array_mut().into_iter().flatten() {
        if result["target"] == BOARD_NPU {
            result["target"] = format!("{BOARD}/{BOARD_NPU}").into();
            let device = result["device"].as_str().unwrap_or_default();
            result["device"] = format!("{BOARD_NAME}: {device}").into();
        }
    }
    for part in ["left_out", "diagnostics"] {
        for entry in report
            .get_mut(part)
            .and_then(Value::as_array_mut)
            .into_iter()
            .flatten()
        {
            let targets = entry.get_mut("targets").and_then(Value::as_array_mut);
            for target in targets
                .into_iter()
                .flatten()
                .filter(|target| **target == BOARD_NPU)
            {
                *target = format!("{BOARD}/{BOARD_NPU}").into();
            }
        }
    }
}

const BOARD: &str = "imx93";
const BOARD_NAME: &str = "NXP i.MX 93";
const BOARD_NPU: &str = "ethos-u65-256";

/// Version 1 did not say which kernels a model needs, or the largest size of its arena.
fn say_whole_need(report: &mut Value) {
    let need = report.get_mut("fits").and_then(|fits| fits.get_mut("need"));
    if let Some(need) = need.and_then(Value::as_object_mut) {
        need.insert("max_arena_bytes".into(), Value::Null);
        need.insert("stack_bytes".into(), 0.into());
        need.insert("kernels".into(), Value::Array(Vec::new()));
        need.insert("refused".into(), Value::Array(Vec::new()));
    }
}

/// In version 1, the energy of a GPU, which has a throughput, was that of one input of the batch.
fn count_whole_batches(results: &mut [Value], batch: f64) {
    let has_rate = |one: &&Value| one["metric"] == "throughput";
    let targets: Vec<Value> = (results.iter().filter(has_rate))
        .map(|one| one["target"].clone())
        .collect();
    for result in results {
        if batch > 1.0 && result["metric"] == "energy" && targets.contains(&result["target"]) {
            for end in ["value", "lo", "hi"] {
                if let Some(of_one) = result.get(end).and_then(Value::as_f64) {
                    result[end] = (of_one * batch).into();
                }
            }
        }
    }
}

/// Version 1 did not say what a number rests on. Where its source does not tell, neither does this.
fn say_evidence(result: &mut Value) {
    let provenance = result.get("provenance").cloned().unwrap_or_default();
    let Ok(provenance) = serde_json::from_value::<Provenance>(provenance) else {
        return;
    };
    let is_told = provenance.kind != ProvenanceKind::Modelled || provenance.reference.is_some();
    if let (true, Ok(evidence)) = (is_told, serde_json::to_value(provenance.evidence())) {
        result["evidence"] = evidence;
    }
}

/// A latency on a board is measured there, or assumed to be that of other boards with its core.
fn say_evidence_on_board(board: &mut Value) {
    if let Some(latency) = board.get_mut("latency").and_then(Value::as_object_mut)
        && let Some(is_transferred) = latency.get("is_transferred").and_then(Value::as_bool)
    {
        let evidence = if is_transferred {
            "assumed"
        } else {
            "measured"
        };
        latency.entry("evidence").or_insert(evidence.into());
    }
}

/// In version 1, `weights_flash` was the whole file under an interpreter, whose targets have an arena.
fn name_whole_files(results: &mut [Value]) {
    let has_arena = |one: &&Value| one["metric"] == "arena";
    let targets: Vec<Value> = (results.iter().filter(has_arena))
        .map(|one| one["target"].clone())
        .collect();
    for result in results {
        if result["metric"] == "weights_flash" && targets.contains(&result["target"]) {
            result["metric"] = "file_flash".into();
        }
    }
}

/// In version 1, `latency` was the NPU's part where a target had another metric for the whole network.
fn name_whole_latencies(results: &mut Vec<Value>) {
    let is_whole = |metric: &str| matches!(metric, "board_latency" | "end_to_end_latency");
    let text = |result: &Value, field: &str| result[field].as_str().unwrap_or_default().to_owned();
    let wholes = results.iter().filter(|one| is_whole(&text(one, "metric")));
    let wholes: HashMap<String, bool> = wholes
        .map(|one| (text(one, "target"), one["value"].is_number()))
        .collect();
    results.retain_mut(|result| {
        let metric = text(result, "metric");
        let has_whole = wholes.get(&text(result, "target")).copied();
        if is_whole(&metric) {
            result["metric"] = "latency".into();
        } else if metric == "latency" && has_whole.is_some() {
            result["metric"] = "npu_latency".into();
            // A file that was refused as a whole has one reason.
            return has_whole == Some(true) || result["value"].is_number();
        }
        true
    });
}
