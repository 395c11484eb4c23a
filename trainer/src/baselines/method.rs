//! The predictors without a neural network, and what is measured of each.

use anyhow::{Context, Result};
use litecast::learned::features::Features;
use litecast::learned::manifest::OutputError;
use litecast::targets::cortex_a;
use litecast::targets::ethos_u::accelerator::ACCELERATORS;

use super::floors;
use super::forests::{Columns, GraphForest, Growth, KernelForests};
use super::problem::Problem;
use crate::data::{Data, Metric};

/// A predictor without a neural network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// [`floors::largest_live_set`], or the whole SRAM where that is smaller.
    LiveSet,
    /// [`floors::roofline_ms`].
    Roofline,
    /// [`floors::linear`].
    Linear,
    /// [`floors::planned`]: what Vela's rules give, without learning.
    Plan,
    /// [`super::forests`] on some columns.
    KernelForests(Columns),
    /// [`GraphForest`].
    GraphForest,
    /// [`crate::targets::cortex_a`]: what ships for processors.
    SumOverOperators,
}

impl Method {
    pub const ALL: [Self; 8] = [
        Self::LiveSet,
        Self::Roofline,
        Self::Linear,
        Self::Plan,
        Self::KernelForests(Columns::NnMeter),
        Self::KernelForests(Columns::All),
        Self::GraphForest,
        Self::SumOverOperators,
    ];

    /// In CSV tables.
    pub fn id(self) -> &'static str {
        match self {
            Self::LiveSet => "largest-live-set",
            Self::Roofline => "roofline",
            Self::Linear => "linear",
            Self::Plan => "compiler-rules",
            Self::KernelForests(Columns::NnMeter) => "kernel-forests",
            Self::KernelForests(Columns::All) => "kernel-forests-all-columns",
            Self::GraphForest => "graph-forest",
            Self::SumOverOperators => "sum-over-operators",
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::LiveSet => "largest live set",
            Self::Roofline => "roofline",
            Self::Linear => "linear",
            Self::Plan => "Vela's rules",
            Self::KernelForests(Columns::NnMeter) => "kernel forests (nn-Meter)",
            Self::KernelForests(Columns::All) => "kernel forests, every column",
            Self::GraphForest => "forest of graphs",
            Self::SumOverOperators => "sum over operators",
        }
    }

    /// Whether it has an answer for a metric.
    pub fn answers(self, metric: &str) -> bool {
        match self {
            Self::LiveSet => metric == "sram_peak",
            Self::Plan => true,
            _ => metric == "latency",
        }
    }

    /// Estimates of one output of the test graphs; `None` where the method has no answer.
    pub fn estimates(
        self,
        problem: &Problem,
        data: &Data,
        output: usize,
        n_trees: usize,
        seed: u64,
    ) -> Result<Option<Estimates>> {
        let key = &data.outputs[output];
        if !self.answers(&key.metric) {
            return Ok(None);
        }
        let (values, fitted, n_features) = match self {
            Self::LiveSet => {
                let limit = f64::from(data.scaling.ceilings[output]);
                let live_set = |features: &Features| floors::largest_live_set(features).min(limit);
                let scaled = floors::proportional(problem, output, live_set)?;
                (
                    scaled.estimates,
                    format!("{:.3} × the bytes", scaled.factor),
                    1,
                )
            }
            Self::Roofline => {
                let peaks = ACCELERATORS
                    .iter()
                    .find(|peaks| peaks.product.name() == key.target);
                let Some(peaks) = peaks else {
                    return Ok(None);
                };
                let roofline = |features: &Features| floors::roofline_ms(features, peaks);
                let scaled = floors::proportional(problem, output, roofline)?;
                (
                    scaled.estimates,
                    format!("{:.3} × the roofline", scaled.factor),
                    1,
                )
            }
            Self::Linear => {
                let linear = floors::linear(problem, output);
                // Milliseconds for one → nanoseconds for one.
                let [macs, weights, maps, operators] = linear.coefficients.map(|ms| ms * 1e6);
                let fitted = format!(
                    "{macs:.3e} ns a MAC, {weights:.3e} ns a byte of weights, {maps:.3e} ns a byte of \
                     feature maps, {operators:.3e} ns an operator"
                );
                (linear.estimates, fitted, linear.coefficients.len())
            }
            Self::Plan => {
                let metric = Metric::by_id(&key.metric).expect("outputs are made of METRICS");
                if metric.planned_column(&key.target).is_none() {
                    return Ok(None);
                }
                let planned = |features: &Features| floors::planned(features, key);
                let scaled = floors::proportional(problem, output, planned)?;
                let fitted = format!("{:.3e} × the plan's cycles or bytes", scaled.factor);
                (scaled.estimates, fitted, 1)
            }
            Self::KernelForests(columns) => {
                let mut training = problem.training.iter();
                if training.all(|graph| graph.operator_labels(output).is_none()) {
                    return Ok(None);
                }
                let growth = Growth {
                    columns,
                    n_trees,
                    seed,
                };
                kernel_forests(problem, output, growth)?
            }
            // Where operators have labels, forests of kernels say more.
            Self::GraphForest if !cortex_a::is_modelled(&key.target) => return Ok(None),
            Self::GraphForest => {
                let growth = Growth {
                    columns: Columns::All,
                    n_trees,
                    seed,
                };
                let forest = GraphForest::fit(&problem.training, output, growth)?;
                let test: Vec<&Features> = problem.test.iter().map(|g| g.features).collect();
                let fitted = format!("a forest of {n_trees} trees");
                (forest.estimates(&test)?, fitted, forest.n_features())
            }
            Self::SumOverOperators => {
                let Some(sums) = problem.sums.get(&key.target) else {
                    return Ok(None);
                };
                let of_graph = |id: &String| {
                    let sum = sums.of_graphs.get(id).copied();
                    sum.with_context(|| format!("expected counted work of {id}, found none"))
                };
                let values: Result<_> = data.test.graph_ids.iter().map(of_graph).collect();
                let fitted = format!("{} costs of work", sums.n_costs);
                (values?, fitted, sums.n_costs)
            }
        };
        Ok(Some(Estimates {
            values,
            fitted,
            n_features,
        }))
    }
}

/// What a method says of an output of the test graphs.
pub struct Estimates {
    /// Natural units.
    pub values: Vec<f32>,
    /// What was fitted, in words.
    pub fitted: String,
    /// Numbers that it sees of an operator or a graph.
    pub n_features: usize,
}

fn kernel_forests(
    problem: &Problem,
    output: usize,
    growth: Growth,
) -> Result<(Vec<f32>, String, usize)> {
    let test: Vec<&Features> = problem.test.iter().map(|graph| graph.features).collect();
    let occurs = |kind: i32| {
        test.iter()
            .any(|features| features.categories.contains(&kind))
    };
    let forests = KernelForests::fit(&problem.training, output, growth, occurs)?;
    let fitted = format!(
        "{} pairs of operators fused, {} forests of {} trees",
        forests.n_fused_pairs(),
        forests.n_forests(),
        growth.n_trees
    );
    Ok((forests.estimates(&test)?, fitted, forests.n_features()))
}

/// Errors of one method, and what it fitted, by output.
pub struct Measured {
    pub method: Method,
    /// Of the outputs that it has an answer for.
    pub errors: Vec<OutputError>,
    /// Target and metric, and what was fitted.
    pub fitted: Vec<(String, String)>,
    /// The most that it sees of an operator or a graph on any output.
    pub n_features: usize,
}

/// A design space and the errors on it of what was fitted without it.
pub struct LeftOut {
    pub space: String,
    pub measured: Vec<Measured>,
}
