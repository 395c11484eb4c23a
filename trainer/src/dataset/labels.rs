//! The origin and the labels of one graph, before its features are made.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use litecast::targets::ethos_u::configuration::Product;
use litecast::targets::ethos_u::energy;

use super::cortex_a;
use crate::labels::record::{Label, Labelled, Origin, Outcome};
use crate::labels::vela::{OperatorFigures, VelaLabel};
use crate::spaces::Weights;

/// A graph and its labels by target.
#[derive(Clone, Debug, PartialEq)]
pub struct GraphLabels {
    /// Where the graph comes from.
    pub origin: Origin,
    /// Hash of the `.tflite` file that was labelled.
    pub sha256: String,
    /// Labels by target id.
    pub targets: BTreeMap<String, TargetLabels>,
}

/// One graph on one target.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TargetLabels {
    /// `ok`, or the reason why there are no values.
    pub status: String,
    /// Empty where the status is `ok`.
    pub reason: String,
    /// Operators that cost nothing in the values because the target does not run them.
    pub n_cpu_operators: u32,
    /// Value by metric name; the units are in [`METRICS`].
    pub values: BTreeMap<String, f64>,
    /// By id of [`OPERATOR_METRICS`], then by operator index in the file.
    pub operators: BTreeMap<String, Vec<u64>>,
}

/// A metric of the table of labels.
pub struct Metric {
    pub id: &'static str,
    pub unit: &'static str,
    /// As Markdown.
    pub meaning: &'static str,
    /// Absent if Vela's labels do not contain the metric.
    of_vela: Option<fn(&VelaLabel) -> f64>,
}

const fn metric(
    id: &'static str,
    unit: &'static str,
    meaning: &'static str,
    of_vela: Option<fn(&VelaLabel) -> f64>,
) -> Metric {
    Metric {
        id,
        unit,
        meaning,
        of_vela,
    }
}

/// All metrics of the table of labels. Each tool knows some of them.
#[rustfmt::skip]
pub const METRICS: [Metric; 10] = [
    metric("latency", "ms", "time of one inference", Some(|label| label.latency_ms)),
    metric("energy", "mJ", "of one inference, modelled from other metrics where no tool gives it", None),
    metric("instructions", "instructions", "that one inference executes on an emulated processor", None),
    metric("sram_peak", "bytes", "most of the SRAM that is in use at a time", Some(|label| label.sram_peak_bytes as f64)),
    metric("offchip_traffic", "bytes", "read and written over the port that leaves the chip", Some(|label| label.offchip_traffic_bytes as f64)),
    metric("sram_traffic", "bytes", "read and written in SRAM", Some(sram_traffic_bytes)),
    metric("cycles", "cycles", "of the accelerator's clock, memory included", Some(|label| label.total_cycles as f64)),
    metric("npu_cycles", "cycles", "of its compute alone", Some(|label| label.npu_cycles as f64)),
    metric("macs", "macs", "multiply-accumulates as the compiler counts them", Some(|label| label.macs as f64)),
    metric("encoded_weights", "bytes", "weights as the compiler encodes them", Some(|label| label.encoded_weight_bytes as f64)),
];

/// A metric of the table of operators.
#[derive(Debug)]
pub struct OperatorMetric {
    pub id: &'static str,
    pub unit: &'static str,
    /// As Markdown; the target's name follows.
    pub meaning: &'static str,
    values: fn(&OperatorFigures) -> &Vec<u64>,
}

const fn operator_metric(
    id: &'static str,
    unit: &'static str,
    meaning: &'static str,
    values: fn(&OperatorFigures) -> &Vec<u64>,
) -> OperatorMetric {
    OperatorMetric {
        id,
        unit,
        meaning,
        values,
    }
}

/// Every metric of the table of operators.
#[rustfmt::skip]
pub const OPERATOR_METRICS: [OperatorMetric; 4] = [
    operator_metric("cycles", "cycles", "what the operator takes, 0 where it is fused into a neighbour,", |figures| &figures.cycles),
    operator_metric("sram_live_bytes", "bytes", "what the SRAM holds while the operator runs", |figures| &figures.sram_live_bytes),
    operator_metric("sram_traffic_bytes", "bytes", "what it reads and writes in SRAM", |figures| &figures.sram_traffic_bytes),
    operator_metric("offchip_traffic_bytes", "bytes", "what it reads and writes over the port that leaves the chip", |figures| &figures.offchip_traffic_bytes),
];

fn sram_traffic_bytes(label: &VelaLabel) -> f64 {
    let sram = label.memories.get("Sram");
    sram.map_or(0.0, |sram| (sram.read_bytes + sram.written_bytes) as f64)
}

impl TargetLabels {
    /// Converts the outcome of a labelling tool.
    pub fn from_outcome(origin: &Origin, target: &str, outcome: &Outcome) -> Self {
        let mut labels = Self {
            status: outcome.status().to_string(),
            reason: outcome.reason(),
            ..Self::default()
        };
        match outcome {
            Outcome::Ok(Label::Vela(label)) => labels.fill_from_vela(label),
            Outcome::Ok(Label::Litert(label)) => {
                let total = label.instructions.total() as f64;
                labels.values = BTreeMap::from([("instructions".to_owned(), total)]);
            }
            Outcome::Ok(Label::Measured(label)) => labels.values = label.measured.clone(),
            _ => {}
        }
        labels.fill_modelled(origin, target);
        labels
    }

    fn fill_from_vela(&mut self, label: &VelaLabel) {
        let value = |metric: &Metric| Some((metric.id.to_string(), metric.of_vela?(label)));
        self.values = METRICS.iter().filter_map(value).collect();
        self.n_cpu_operators = u32::try_from(label.n_cpu_operators).unwrap_or(u32::MAX);
        if let Some(figures) = &label.operators {
            let values =
                |metric: &OperatorMetric| (metric.id.into(), (metric.values)(figures).clone());
            self.operators = OPERATOR_METRICS.iter().map(values).collect();
        }
    }
}

impl TargetLabels {
    /// Adds values that follow from today's constants and the existing values: energies of NPUs
    /// ([`litecast::targets::ethos_u::energy`]), and latencies and energies of processors
    /// ([`litecast::targets::cortex_a`]).
    pub fn fill_modelled(&mut self, origin: &Origin, target: &str) {
        cortex_a::fill(target, origin.is_int8(), &mut self.values);
        let value = |metric: &str| self.values.get(metric).copied();
        let coefficients = Product::by_name(target).map(|npu| energy::coefficients(npu.family()));
        let work = (
            value("macs"),
            value("sram_traffic"),
            value("offchip_traffic"),
        );
        if let (Some(model), (Some(macs), Some(sram), Some(offchip))) = (coefficients, work) {
            let energy_mj = model.energy_mj(macs, sram, offchip);
            self.values.insert("energy".to_owned(), energy_mj);
        }
    }
}

/// Groups the records by graph, in order of origin. Records with the same origin but other bytes, which were made
/// before a sampler changed, stay separate. If there are several records of one graph on one target, the last one is
/// used.
pub fn group(labelled: &[Labelled]) -> Vec<GraphLabels> {
    let mut graphs: BTreeMap<_, GraphLabels> = BTreeMap::new();
    for record in labelled {
        let key = (sort_key(&record.origin), record.sha256.clone());
        let graph = graphs.entry(key).or_insert_with(|| GraphLabels {
            origin: record.origin.clone(),
            sha256: record.sha256.clone(),
            targets: BTreeMap::new(),
        });
        let labels = TargetLabels::from_outcome(&record.origin, &record.target, &record.outcome);
        graph.targets.insert(record.target.clone(), labels);
    }
    graphs.into_values().collect()
}

/// Merges both lists, in order of origin. A graph that is in both has the targets of both, those of `newer` first.
pub fn join(older: Vec<GraphLabels>, newer: Vec<GraphLabels>) -> Vec<GraphLabels> {
    let mut graphs: BTreeMap<_, GraphLabels> = BTreeMap::new();
    for graph in older.into_iter().chain(newer) {
        let key = (sort_key(&graph.origin), graph.sha256.clone());
        match graphs.entry(key) {
            Entry::Vacant(entry) => {
                entry.insert(graph);
            }
            Entry::Occupied(mut entry) => entry.get_mut().targets.extend(graph.targets),
        }
    }
    graphs.into_values().collect()
}

fn sort_key(origin: &Origin) -> (String, u64, u64, String, u32, Weights) {
    match origin {
        Origin::Sampled {
            space,
            seed,
            index,
            form,
        } => (
            space.clone(),
            *seed,
            *index,
            form.precision.to_string(),
            form.batch,
            form.weights,
        ),
        Origin::File(_) => (
            origin.space().to_string(),
            0,
            0,
            origin.graph_id(),
            1,
            Weights::Drawn,
        ),
    }
}
