//! ONNX Runtime's profile: a JSON list of events, of which those of the category `Node` are runs of operators.

use std::collections::{BTreeMap, HashMap};

use serde::Deserialize;

use super::error::ProfileError;
use super::profile::{MeasuredInference, MeasuredOperator, Profile};
use crate::fields;

#[derive(Deserialize)]
struct Event {
    #[serde(default)]
    cat: String,
    #[serde(default)]
    name: String,
    /// In microseconds.
    #[serde(default)]
    dur: f64,
    #[serde(default)]
    args: Args,
}

#[derive(Default, Deserialize)]
struct Args {
    #[serde(default)]
    op_name: String,
    #[serde(default)]
    node_index: String,
    /// By element type, the sizes of each output.
    #[serde(default)]
    output_type_shape: Vec<BTreeMap<String, Vec<f64>>>,
}

/// Ends of the names of events that are parts of a node's run.
const PARTS: [&str; 2] = ["_fence_before", "_fence_after"];

/// The median run of each operator, and of the whole network: the first runs are slower.
pub fn read(text: &str) -> Result<Profile, ProfileError> {
    let events: Vec<Event> = fields::from_json(text.as_bytes())
        .map_err(|error| ProfileError::Json(error.to_string()))?;
    let mut places: HashMap<(String, String), usize> = HashMap::new();
    let mut operators: Vec<(MeasuredOperator, Vec<f64>)> = Vec::new();
    let mut runs_us = Vec::new();
    for event in events {
        if event.name == "model_run" {
            runs_us.push(event.dur);
        }
        if event.cat != "Node" || PARTS.iter().any(|part| event.name.ends_with(part)) {
            continue;
        }
        let name = event.name.trim_end_matches("_kernel_time").to_owned();
        let next = operators.len();
        let place = *places
            .entry((event.args.node_index, name.clone()))
            .or_insert(next);
        if place == next {
            let first = event.args.output_type_shape.first();
            let sizes = first.and_then(|output| output.values().next());
            let sizes = sizes.map_or(&[][..], Vec::as_slice).iter();
            operators.push((
                MeasuredOperator {
                    name,
                    kind: event.args.op_name,
                    output_shape: sizes.map(|&size| size as u32).collect(),
                    ..MeasuredOperator::default()
                },
                Vec::new(),
            ));
        }
        operators[place].1.push(event.dur);
    }
    let n_runs = runs_us.len().max(1) as f64;
    let operators = operators.into_iter().map(|(operator, mut runs_us)| {
        // The body of a loop runs several times in one inference.
        let n_times = (runs_us.len() as f64 / n_runs).round().max(1.0);
        MeasuredOperator {
            duration_ms: median(&mut runs_us) * n_times / 1e3,
            ..operator
        }
    });
    let operators = operators.collect();
    let inferences = (!runs_us.is_empty()).then(|| MeasuredInference {
        name: String::new(),
        duration_ms: median(&mut runs_us) / 1e3,
    });
    Ok(Profile {
        tool: "ONNX Runtime",
        operators,
        inferences: inferences.into_iter().collect(),
        unread: Vec::new(),
    })
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    let upper = values.get(values.len() / 2).copied().unwrap_or_default();
    let lower = values
        .get(values.len().saturating_sub(1) / 2)
        .copied()
        .unwrap_or_default();
    (lower + upper) / 2.0
}
