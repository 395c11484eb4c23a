//! Totals of a plan over a whole graph.

use std::collections::BTreeSet;

use super::accelerator::Accelerator;
use super::lower::{n_elements, shape};
use super::plan::Plan;
use super::support::{Size, inputs_at_a_time, listed};
use crate::formats::tflite::BuiltinOptions;
use crate::graph::analysis::{Analysis, analyze};
use crate::graph::{self, Graph, Node};
use crate::learned::features::PlannedOperator;
use crate::target::Metric;

const MS_PER_S: f64 = 1e3;

/// A graph on one accelerator, by the compiler's rules alone.
#[derive(Clone, Debug)]
pub struct Totals {
    pub latency_ms: f64,
    /// Peak of the SRAM in use.
    pub sram_peak_bytes: f64,
    /// Bytes read and written, as the compiler counts them.
    pub offchip_traffic_bytes: f64,
    pub sram_traffic_bytes: f64,
    /// The same by node of the graph, in cycles and bytes.
    pub operators: Vec<PlannedOperator>,
    /// As of [`Plan`].
    pub n_starts: usize,
    /// As of [`Plan`].
    pub hit_limit: bool,
}

/// How many times a node's operations run, at least 1: shapes are planned up to the limits of the registers, and the
/// compiler divides larger ones into parts. Inputs count for operators that read all of each input.
fn n_parts(graph: &Graph, node: &Node) -> f64 {
    // Windows take one input after the other.
    let takes_inputs = inputs_at_a_time(graph, node) > 1;
    let of_tensor = |tensor_idx: usize| {
        let sizes = &graph.tensor(tensor_idx).shape;
        let n_outer = if takes_inputs {
            sizes.len().saturating_sub(3)
        } else {
            0
        };
        let sizes = &sizes[n_outer..];
        let planned: i64 = shape(sizes).iter().product();
        match planned {
            0 => 1.0,
            planned => n_elements(sizes) as f64 / planned as f64,
        }
    };
    let operator = node.operator;
    let reads_all = listed(operator.code.kind).is_some_and(|one| one.size == Size::AllInputs);
    let read = operator.inputs.iter().flatten().filter(|_| reads_all);
    let parts = read
        .chain(&operator.outputs)
        .map(|&tensor_idx| of_tensor(tensor_idx));
    parts.fold(1.0, f64::max)
}

/// Latency in milliseconds and off-chip bytes of what CALL_ONCE runs before the first inference. The compiler's totals
/// contain both; those of an inference do not. Each subgraph is planned once.
pub fn initial(accelerator: &Accelerator, graph: &Graph) -> [f64; 2] {
    let called = graph
        .nodes
        .iter()
        .filter_map(|node| match node.operator.options {
            BuiltinOptions::CallOnce { init_subgraph_idx } => Some(init_subgraph_idx),
            _ => None,
        });
    let called: BTreeSet<usize> = called
        .filter(|&idx| idx != graph.subgraph_idx && idx < graph.model.subgraphs.len())
        .collect();
    let mut initial = [0.0; 2];
    for graph in called
        .into_iter()
        .flat_map(|idx| graph::build(graph.model, idx))
    {
        let totals = Totals::new(accelerator, &graph, &analyze(&graph));
        initial[0] += totals.latency_ms;
        initial[1] += totals.offchip_traffic_bytes;
    }
    initial
}

/// Multiplies time and traffic by the number of runs.
fn multiply_runs(planned: &mut PlannedOperator, n_runs: f64) {
    let PlannedOperator {
        cycles,
        weight_buffer_bytes: _,
        sram_bytes: _,
        encoded_weight_bytes: _,
        off_chip_bytes,
        sram_traffic_bytes,
        counted_off_chip_bytes,
        counted_sram_traffic_bytes,
    } = planned;
    for one in [
        cycles,
        off_chip_bytes,
        sram_traffic_bytes,
        counted_off_chip_bytes,
        counted_sram_traffic_bytes,
    ] {
        *one *= n_runs;
    }
}

impl Totals {
    /// Totals of the plan of [`Plan::new`]; the accelerator's clock converts cycles into time.
    pub fn new(accelerator: &Accelerator, graph: &Graph, analysis: &Analysis) -> Self {
        let Plan {
            mut operators,
            n_starts,
            hit_limit,
        } = Plan::new(accelerator, graph, analysis);
        for (planned, node) in operators.iter_mut().zip(graph.nodes.iter()) {
            let n_parts = n_parts(graph, node);
            if n_parts > 1.0 {
                multiply_runs(planned, n_parts);
            }
        }
        let sum =
            |value_of: fn(&PlannedOperator) -> f64| operators.iter().map(value_of).sum::<f64>();
        Self {
            latency_ms: MS_PER_S * sum(|one| one.cycles) / accelerator.clock_hz,
            sram_peak_bytes: operators
                .iter()
                .map(|one| one.sram_bytes)
                .fold(0.0, f64::max),
            offchip_traffic_bytes: sum(|one| one.counted_off_chip_bytes),
            sram_traffic_bytes: sum(|one| one.counted_sram_traffic_bytes),
            operators,
            n_starts,
            hit_limit,
        }
    }

    /// Latency, SRAM peak or off-chip traffic; SRAM traffic for any other metric.
    pub fn metric(&self, metric: Metric) -> f64 {
        match metric {
            Metric::Latency => self.latency_ms,
            Metric::SramPeak => self.sram_peak_bytes,
            Metric::OffchipTraffic => self.offchip_traffic_bytes,
            _ => self.sram_traffic_bytes,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::tflite::{OpKind, TensorType};
    use crate::graph::analysis::fixtures::{graph_of, model, operator, subgraph, tensor};
    use crate::targets::ethos_u::configuration::{Configuration, Product};

    /// A million values with a dimension beyond the registers, against cycles that Vela 5.2.0 prints for the same files
    /// in the configurations that are estimated.
    #[test]
    fn dimensions_beyond_the_registers_are_worked_through() {
        for (kind, shape, product, vela_cycles) in [
            (
                OpKind::Relu,
                [1, 1 << 20, 1, 1],
                Product::U55x256,
                524_480.0,
            ),
            (
                OpKind::Relu,
                [1, 1, 1, 1 << 20],
                Product::U55x256,
                2_100_160.0,
            ),
            (
                OpKind::Logistic,
                [1, 1, 1 << 18, 4],
                Product::U55x256,
                524_800.0,
            ),
            (
                OpKind::Relu,
                [1, 1 << 20, 1, 1],
                Product::U85x256,
                526_744.0,
            ),
            (
                OpKind::Relu,
                [1, 1, 1, 1 << 20],
                Product::U85x256,
                1_065_312.0,
            ),
            (
                OpKind::Logistic,
                [1, 1, 1 << 18, 4],
                Product::U85x256,
                527_340.0,
            ),
        ] {
            let map = || tensor(TensorType::Int8, &shape);
            let mut model = model(vec![subgraph(
                vec![map(), map()],
                vec![operator(kind, &[0], &[1])],
            )]);
            (model.subgraphs[0].inputs, model.subgraphs[0].outputs) = (vec![0], vec![1]);
            let graph = graph_of(&model);
            let accelerator = Accelerator::new(&Configuration::new(product));
            let totals = Totals::new(&accelerator, &graph, &analyze(&graph));
            let cycles: f64 = totals.operators.iter().map(|one| one.cycles).sum();
            let ratio = cycles / vela_cycles;
            println!(
                "{kind:?} {shape:?} on {product:?}: {cycles} cycles, Vela {vela_cycles}, ratio {ratio:.3}"
            );
            assert!((0.9..1.1).contains(&ratio), "{kind:?} {shape:?}: {ratio}");
        }
    }
}
