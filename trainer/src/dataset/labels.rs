//! What is known of one graph before its features are made: where it comes from, its labels.

use std::collections::BTreeMap;

use super::cortex_a;
use crate::labels::record::{Label, Labelled, Origin, Outcome};
use crate::labels::vela::VelaLabel;

/// A graph and its labels by target.
#[derive(Clone, Debug, PartialEq)]
pub struct GraphLabels {
    pub origin: Origin,
    /// Of the `.tflite` file that was labelled.
    pub sha256: String,
    pub targets: BTreeMap<String, TargetLabels>,
}

/// One graph on one target.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TargetLabels {
    /// `ok`, or why there are no values.
    pub status: String,
    /// Empty where the status is `ok`.
    pub reason: String,
    /// Operators that cost nothing in the values because the target does not run them.
    pub n_cpu_operators: u32,
    /// Value by metric name; the units are in [`METRICS`].
    pub values: BTreeMap<String, f64>,
    /// By operator index in the file.
    pub operator_cycles: Option<Vec<u64>>,
}

/// A figure of a label that becomes rows of the table of labels.
pub struct Metric {
    pub id: &'static str,
    pub unit: &'static str,
    /// Absent where Vela's labels have no such figure.
    of_vela: Option<fn(&VelaLabel) -> f64>,
}

const fn metric(
    id: &'static str,
    unit: &'static str,
    of_vela: Option<fn(&VelaLabel) -> f64>,
) -> Metric {
    Metric { id, unit, of_vela }
}

/// Every metric of the table of labels. A target has those that its tool knows.
pub const METRICS: [Metric; 10] = [
    metric("latency", "ms", Some(|label| label.latency_ms)),
    metric("energy", "mJ", None),
    metric("instructions", "instructions", None),
    metric(
        "sram_peak",
        "bytes",
        Some(|label| label.sram_peak_bytes as f64),
    ),
    metric(
        "offchip_traffic",
        "bytes",
        Some(|label| label.offchip_traffic_bytes as f64),
    ),
    metric("sram_traffic", "bytes", Some(sram_traffic_bytes)),
    metric("cycles", "cycles", Some(|label| label.total_cycles as f64)),
    metric(
        "npu_cycles",
        "cycles",
        Some(|label| label.npu_cycles as f64),
    ),
    metric("macs", "macs", Some(|label| label.macs as f64)),
    metric(
        "encoded_weights",
        "bytes",
        Some(|label| label.encoded_weight_bytes as f64),
    ),
];

fn sram_traffic_bytes(label: &VelaLabel) -> f64 {
    let sram = label.memories.get("Sram");
    sram.map_or(0.0, |sram| (sram.read_bytes + sram.written_bytes) as f64)
}

impl TargetLabels {
    fn from_outcome(target: &str, outcome: &Outcome) -> Self {
        let mut labels = Self {
            status: outcome.status().to_string(),
            reason: outcome.reason(),
            ..Self::default()
        };
        match outcome {
            Outcome::Ok(Label::Vela(label)) => labels.fill_from_vela(label),
            Outcome::Ok(Label::Litert(label)) => {
                labels.values = cortex_a::values(target, &label.instructions);
            }
            _ => {}
        }
        labels
    }

    fn fill_from_vela(&mut self, label: &VelaLabel) {
        let value = |metric: &Metric| Some((metric.id.to_string(), metric.of_vela?(label)));
        self.values = METRICS.iter().filter_map(value).collect();
        self.n_cpu_operators = u32::try_from(label.n_cpu_operators).unwrap_or(u32::MAX);
        self.operator_cycles = label
            .operators
            .as_ref()
            .map(|operators| operators.cycles.clone());
    }
}

/// Brings the records of each graph together, in order of origin. Records of other bytes under
/// one origin (made before a sampler changed) stay apart; of several records of one graph on one
/// target the last one counts.
pub fn group(labelled: &[Labelled]) -> Vec<GraphLabels> {
    let mut graphs: BTreeMap<_, GraphLabels> = BTreeMap::new();
    for record in labelled {
        let key = (sort_key(&record.origin), record.sha256.clone());
        let graph = graphs.entry(key).or_insert_with(|| GraphLabels {
            origin: record.origin.clone(),
            sha256: record.sha256.clone(),
            targets: BTreeMap::new(),
        });
        let labels = TargetLabels::from_outcome(&record.target, &record.outcome);
        graph.targets.insert(record.target.clone(), labels);
    }
    graphs.into_values().collect()
}

fn sort_key(origin: &Origin) -> (String, u64, u64, String) {
    match origin {
        Origin::Sampled {
            space,
            seed,
            index,
            precision,
        } => (space.clone(), *seed, *index, precision.to_string()),
        Origin::File(_) => (origin.space().to_string(), 0, 0, origin.graph_id()),
    }
}
