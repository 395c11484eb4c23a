//! Baselines with next to no learned parameters: a roofline, a linear model and the largest live set. A network that is
//! not better than these has learned nothing.

use anyhow::{Context, Result};
use litecast::learned::features::{COLUMNS, Features};
use litecast::targets::ethos_u::accelerator::Accelerator;
use litecast_trainer::dataset::LabelKey;
use litecast_trainer::least_squares;

use super::problem::{Graph, Problem};
use crate::feature_columns::amounts;
use crate::gnn::prepare::Readout;
use crate::training_data::Metric;

/// Williams' roofline for each operator: the longest of the times of its multiply-accumulates, of its feature maps
/// through SRAM, and of its weights from off-chip memory.
pub fn roofline_ms(features: &Features, peaks: &Accelerator) -> f64 {
    let [macs, weights, inputs, outputs] = amounts_by_node(features);
    let cycles = (0..features.n_nodes()).map(|node| {
        let compute = macs[node] / peaks.macs_per_cycle;
        let feature_maps = (inputs[node] + outputs[node]) / peaks.sram.bytes_per_cycle;
        compute
            .max(feature_maps)
            .max(weights[node] / peaks.off_chip.bytes_per_cycle)
    });
    1e3 * cycles.sum::<f64>() / peaks.clock_hz
}

/// Maximum bytes of feature maps that are alive at the same time, a lower bound of the memory for them.
pub fn largest_live_set(features: &Features) -> f64 {
    let alive = amounts(features, "log1p_feature_map_bytes_alive");
    alive.into_iter().fold(0.0, f64::max)
}

/// The plan of `litecast::targets::ethos_u` for the target of an output: all cycles for a latency, and the peak of the
/// SRAM in use for a peak.
pub fn planned_value(features: &Features, output: &LabelKey) -> f64 {
    let metric = Metric::by_id(&output.metric).expect("outputs are made of METRICS");
    let column = metric.planned_column(&output.target);
    let name = column.map(|column| COLUMNS[column].name);
    let of_operators = name.map_or(vec![], |name| amounts(features, name));
    match metric.readout {
        Readout::Sum => of_operators.iter().sum(),
        Readout::Max => of_operators.iter().copied().fold(0.0, f64::max),
    }
}

/// Multiply-accumulates, bytes of weights, bytes of feature maps and operators of a graph.
pub fn graph_totals(features: &Features) -> [f64; 4] {
    let [macs, weights, inputs, outputs] = amounts_by_node(features);
    let sum = |values: &[f64]| values.iter().sum::<f64>();
    let feature_maps = sum(&inputs) + sum(&outputs);
    let n_operators = features.n_nodes() as f64;
    [sum(&macs), sum(&weights), feature_maps, n_operators]
}

fn amounts_by_node(features: &Features) -> [Vec<f64>; 4] {
    [
        "log1p_macs",
        "log1p_weight_bytes",
        "log1p_input_bytes",
        "log1p_output_bytes",
    ]
    .map(|column| amounts(features, column))
}

/// Estimates of the test graphs: `amount` of each graph times one constant, which [`best_factor`] fits to the labels of
/// the training graphs.
pub fn fit_proportional(
    problem: &Problem,
    output: usize,
    amount: impl Fn(&Features) -> f64,
) -> Result<ProportionalFit> {
    let training = with_labels(&problem.training, output);
    let pairs: Vec<(f64, f64)> = training
        .map(|(graph, label)| (amount(graph.features), label))
        .collect();
    let factor = best_factor(&pairs).context("no training graph has a label")?;
    let estimate = |graph: &Graph| (factor * amount(graph.features)) as f32;
    Ok(ProportionalFit {
        factor,
        estimates: problem.test.iter().map(estimate).collect(),
    })
}

/// The result of [`fit_proportional`].
pub struct ProportionalFit {
    /// Factor that minimises the mean error on the training graphs.
    pub factor: f64,
    /// Estimates of the test graphs, in the unit of the label.
    pub estimates: Vec<f32>,
}

/// The `c` that minimises `Σ |ln(c x / y)|` over pairs of amount `x` and label `y`: the median of `y / x`. Errors in
/// percent would give a few pairs with a tiny label more weight than all others.
pub fn best_factor(pairs: &[(f64, f64)]) -> Option<f64> {
    let positive = pairs.iter().filter(|(x, _)| *x > 0.0);
    let mut ratios: Vec<f64> = positive.map(|(x, y)| y / x).collect();
    ratios.sort_unstable_by(f64::total_cmp);
    ratios.get(ratios.len() / 2).copied()
}

/// Estimates of the test graphs as a non-negative sum of their [`graph_totals`].
pub fn linear(problem: &Problem, output: usize) -> Linear {
    let training = with_labels(&problem.training, output);
    let relative = training.map(|(graph, label)| graph_totals(graph.features).map(|x| x / label));
    let coefficients = least_squares::non_negative(&relative.collect::<Vec<_>>());
    let estimate =
        |graph: &Graph| least_squares::dot(&graph_totals(graph.features), &coefficients) as f32;
    Linear {
        coefficients,
        estimates: problem.test.iter().map(estimate).collect(),
    }
}

/// The result of [`linear`].
pub struct Linear {
    /// Milliseconds per unit of each of [`graph_totals`].
    pub coefficients: [f64; 4],
    /// Estimates of the test graphs, in the unit of the label.
    pub estimates: Vec<f32>,
}

fn with_labels<'g>(
    graphs: &'g [Graph<'g>],
    output: usize,
) -> impl Iterator<Item = (&'g Graph<'g>, f64)> {
    let label = move |graph: &'g Graph<'g>| Some((graph, graph.label(output)?));
    graphs.iter().filter_map(label)
}

#[cfg(test)]
mod tests {
    use litecast::learned::features::N_COLUMNS;

    use litecast::targets::ethos_u::accelerator::ACCELERATORS;

    use super::*;
    use crate::feature_columns::column;

    /// Operators with the given multiply-accumulates and bytes of weights, inputs and outputs.
    fn features(operators: &[[f64; 4]]) -> Features {
        let names = [
            "log1p_macs",
            "log1p_weight_bytes",
            "log1p_input_bytes",
            "log1p_output_bytes",
        ];
        let mut nodes = vec![0.0; operators.len() * N_COLUMNS];
        for (row, amounts) in nodes.chunks_exact_mut(N_COLUMNS).zip(operators) {
            for (name, amount) in names.iter().zip(amounts) {
                row[column(name)] = amount.ln_1p() as f32;
            }
        }
        Features {
            categories: vec![3; operators.len()],
            nodes,
            edge_src: Vec::new(),
            edge_dst: Vec::new(),
        }
    }

    #[test]
    fn roofline_is_as_by_hand() {
        let operators = [
            // 1,000 cycles of multiply-accumulates; SRAM 100, flash 500.
            [256e3, 500.0, 400.0, 400.0],
            // 3,000 cycles of SRAM; multiply-accumulates 10.
            [2560.0, 0.0, 16e3, 8e3],
            // 2,000 cycles of flash; multiply-accumulates 10, SRAM 20.
            [2560.0, 2000.0, 80.0, 80.0],
        ];
        let [u55, ..] = &*ACCELERATORS;
        let actual = roofline_ms(&features(&operators), u55);
        // 6,000 cycles at 500 MHz.
        assert!((actual / 0.012 - 1.0).abs() < 1e-5, "{actual}");
    }

    #[test]
    fn totals_are_sums() {
        let actual = graph_totals(&features(&[[1e6, 10.0, 20.0, 30.0], [2e6, 1.0, 2.0, 3.0]]));
        for (actual, expected) in actual.into_iter().zip([3e6, 11.0, 55.0, 2.0]) {
            assert!(
                (actual / expected - 1.0).abs() < 1e-5,
                "{actual} {expected}"
            );
        }
    }

    #[test]
    fn factor_has_no_better_neighbour() {
        let pairs = [(1.0, 2.0), (2.0, 3.0), (5.0, 20.0), (1.0, 0.4), (0.0, 7.0)];
        let error = |c: f64| {
            let positive = pairs.iter().filter(|(x, _)| *x > 0.0);
            positive.map(|(x, y)| (c * x / y).ln().abs()).sum::<f64>()
        };
        let factor = best_factor(&pairs).unwrap();
        let best = (1..5000)
            .map(|k| error(f64::from(k) * 1e-3))
            .fold(f64::MAX, f64::min);
        println!("factor {factor}: {} against {best}", error(factor));
        assert!(error(factor) <= best + 1e-9);
        assert_eq!(best_factor(&[]), None);
    }
}
