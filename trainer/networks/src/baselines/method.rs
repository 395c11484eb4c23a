//! The predictors without a neural network, and the results of measuring them.

use anyhow::{Context, Result};
use litecast::learned::features::Features;
use litecast::learned::manifest::OutputError;
use litecast::targets::cortex_a;
use litecast::targets::ethos_u::accelerator::ACCELERATORS;
use litecast_trainer::dataset::LabelKey;
use litecast_trainer::targets::cortex_a::LatencyEstimates;

use super::floors;
use super::forests::{GraphForest, KernelForests};
use super::problem::Problem;
use crate::forest::{Columns, Growth};
use crate::training_data::{Data, Metric};

/// A predictor without a neural network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// [`floors::largest_live_set`], limited by the size of the SRAM.
    LiveSet,
    /// [`floors::roofline_ms`].
    Roofline,
    /// [`floors::linear`].
    Linear,
    /// [`floors::planned`]: the result of Vela's rules, without learning.
    Plan,
    /// [`super::forests`] on some columns.
    KernelForests(Columns),
    /// [`GraphForest`].
    GraphForest,
    /// [`litecast_trainer::targets::cortex_a`]: the shipped estimate of processors.
    SumOverOperators,
}

impl Method {
    /// Every method, in the order of the tables.
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

    /// Name in CSV tables.
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

    /// Name in tables.
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

    /// Whether it estimates a metric.
    pub fn answers(self, metric: &str) -> bool {
        match self {
            Self::LiveSet => metric == "sram_peak",
            Self::Plan => true,
            _ => metric == "latency",
        }
    }

    /// Estimates of one output of the test graphs; `None` if the method does not estimate it.
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
        let growth = |columns| Growth {
            columns,
            n_trees,
            seed,
        };
        match self {
            Self::LiveSet => {
                let limit = f64::from(data.scaling.ceilings[output]);
                live_set(problem, output, limit).map(Some)
            }
            Self::Roofline => roofline(problem, output, &key.target),
            Self::Linear => Ok(Some(linear(problem, output))),
            Self::Plan => plan(problem, output, key),
            Self::KernelForests(columns) => kernel_forests(problem, output, growth(columns)),
            // If operators have labels, forests of kernels are used instead.
            Self::GraphForest if !cortex_a::is_modelled(&key.target) => Ok(None),
            Self::GraphForest => graph_forest(problem, output, growth(Columns::All)).map(Some),
            Self::SumOverOperators => {
                let sums = problem.sums.get(&key.target);
                let estimates = sums.map(|sum| sum_over_operators(sum, &data.test.graph_ids));
                estimates.transpose()
            }
        }
    }
}

/// Estimates of an output of the test graphs by one method.
pub struct Estimates {
    /// Natural units.
    pub values: Vec<f32>,
    /// The fitted parameters, in words.
    pub fitted: String,
    /// Number of features of an operator or a graph.
    pub n_features: usize,
}

fn live_set(problem: &Problem, output: usize, limit: f64) -> Result<Estimates> {
    let live_set = |features: &Features| floors::largest_live_set(features).min(limit);
    let scaled = floors::fit_proportional(problem, output, live_set)?;
    Ok(Estimates {
        values: scaled.estimates,
        fitted: format!("{:.3} × the bytes", scaled.factor),
        n_features: 1,
    })
}

/// `None` for a target without published peaks.
fn roofline(problem: &Problem, output: usize, target: &str) -> Result<Option<Estimates>> {
    let mut peaks = ACCELERATORS.iter();
    let Some(peaks) = peaks.find(|peaks| peaks.product.name() == target) else {
        return Ok(None);
    };
    let roofline = |features: &Features| floors::roofline_ms(features, peaks);
    let scaled = floors::fit_proportional(problem, output, roofline)?;
    Ok(Some(Estimates {
        values: scaled.estimates,
        fitted: format!("{:.3} × the roofline", scaled.factor),
        n_features: 1,
    }))
}

fn linear(problem: &Problem, output: usize) -> Estimates {
    let linear = floors::linear(problem, output);
    // Milliseconds for one → nanoseconds for one.
    let [macs, weights, maps, operators] = linear.coefficients.map(|ms| ms * 1e6);
    Estimates {
        values: linear.estimates,
        fitted: format!(
            "{macs:.3e} ns a MAC, {weights:.3e} ns a byte of weights, {maps:.3e} ns a byte of feature maps, \
             {operators:.3e} ns an operator"
        ),
        n_features: linear.coefficients.len(),
    }
}

/// `None` for a target that Vela does not plan.
fn plan(problem: &Problem, output: usize, key: &LabelKey) -> Result<Option<Estimates>> {
    let metric = Metric::by_id(&key.metric).expect("outputs are made of METRICS");
    if metric.planned_column(&key.target).is_none() {
        return Ok(None);
    }
    let planned = |features: &Features| floors::planned_value(features, key);
    let scaled = floors::fit_proportional(problem, output, planned)?;
    Ok(Some(Estimates {
        values: scaled.estimates,
        fitted: format!("{:.3e} × the plan's cycles or bytes", scaled.factor),
        n_features: 1,
    }))
}

/// `None` if no operator of the training graphs has a label.
fn kernel_forests(problem: &Problem, output: usize, growth: Growth) -> Result<Option<Estimates>> {
    let mut training = problem.training.iter();
    if training.all(|graph| graph.operator_labels(output).is_none()) {
        return Ok(None);
    }
    let test: Vec<&Features> = problem.test.iter().map(|graph| graph.features).collect();
    let occurs = |kind: i32| {
        test.iter()
            .any(|features| features.categories.contains(&kind))
    };
    let forests = KernelForests::fit(&problem.training, output, growth, occurs)?;
    Ok(Some(Estimates {
        values: forests.estimates(&test)?,
        fitted: format!(
            "{} pairs of operators fused, {} forests of {} trees",
            forests.n_fused_pairs(),
            forests.n_forests(),
            growth.n_trees
        ),
        n_features: forests.n_features(),
    }))
}

fn graph_forest(problem: &Problem, output: usize, growth: Growth) -> Result<Estimates> {
    let forest = GraphForest::fit(&problem.training, output, growth)?;
    let test: Vec<&Features> = problem.test.iter().map(|graph| graph.features).collect();
    Ok(Estimates {
        values: forest.estimates(&test)?,
        fitted: format!("a forest of {} trees", growth.n_trees),
        n_features: forest.n_features(),
    })
}

fn sum_over_operators(sum: &LatencyEstimates, graph_ids: &[String]) -> Result<Estimates> {
    let of_graph = |id: &String| {
        let estimate = sum.of_graphs.get(id).copied();
        estimate.with_context(|| format!("expected counted work of {id}, found none"))
    };
    Ok(Estimates {
        values: graph_ids.iter().map(of_graph).collect::<Result<_>>()?,
        fitted: format!("{} costs of work", sum.n_costs),
        n_features: sum.n_costs,
    })
}

/// Errors of one method, and what it fitted, by output.
pub struct Measured {
    /// The method whose errors these are.
    pub method: Method,
    /// Errors on the outputs that it estimates.
    pub errors: Vec<OutputError>,
    /// Target and metric, and the fitted parameters in words.
    pub fitted: Vec<(String, String)>,
    /// Maximum number of features of an operator or a graph over the outputs.
    pub n_features: usize,
}

/// A design space, and the errors on it of methods that were fitted without it.
pub struct LeftOut {
    /// Design space that was left out of training.
    pub space: String,
    /// Errors of each method on this space.
    pub measured: Vec<Measured>,
}
