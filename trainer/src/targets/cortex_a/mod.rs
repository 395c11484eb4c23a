//! `litecast-trainer fit-cpu-operators`: counted instructions of whole networks → costs of each kind of operator. They
//! are fitted to one side of the split, and their error is measured on the other.

pub mod boards;
pub mod fit;
pub mod single_operators;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use litecast::provenance::ErrorSummary;
use litecast::targets::cortex_a::{
    self, Constants, CostClass as Class, Costs, KernelCosts, KernelCounts, TargetCosts,
    inference_counts, kernel_counts,
};
use litecast::{
    formats::tflite,
    graph::{self, analysis},
};
use rayon::prelude::*;

use crate::dataset::{self, GraphLabels, structure_hash};
use crate::json;
use crate::labels::bytes_of;
use crate::metrics::{conformal_quantile, summarise_pairs};
use crate::split::{Side, Split};

/// Fits what each kind of operator executes to instructions that were counted of whole networks.
#[derive(Clone, Debug, clap::Args)]
pub struct FitCpuOperatorsArgs {
    /// Folder of the tables.
    #[arg(long, default_value = "trainer/data")]
    pub dataset: PathBuf,
    /// File for the costs.
    #[arg(long, default_value = "src/targets/cortex_a/costs.json")]
    pub out: PathBuf,
}

/// Estimated latencies on a processor.
#[derive(Clone, Debug, Default)]
pub struct LatencyEstimates {
    /// Milliseconds by graph id.
    pub of_graphs: HashMap<String, f32>,
    /// Number of costs that it sums.
    pub n_costs: usize,
}

/// By target.
pub type Sums = BTreeMap<String, LatencyEstimates>;

/// The networks of a dataset whose instructions were counted.
pub struct CountedNetworks(Vec<CountedNetwork>);

impl CountedNetworks {
    /// Builds each network again and counts what determines the instructions of its operators.
    pub fn read(folder: &Path) -> Result<Self> {
        let (graphs, _) = dataset::read_labels(folder)?;
        Ok(Self(networks(&graphs)?))
    }

    /// Estimates with these costs, in the unit of the dataset's labels.
    pub fn sums(&self, costs: &Costs) -> Sums {
        let sum = |costs: &TargetCosts| {
            let board = Constants::shipped().board(&costs.target);
            let of_network = |network: &CountedNetwork| {
                let counted = cortex_a::instruction_counts(costs, &network.operators);
                let instructions = counted.iter().map(|counted| counted.instructions).sum();
                let ms = board?.latency_of_count_ms(instructions, network.is_int8)?;
                Some((network.graph_id.clone(), ms as f32))
            };
            let kernels = costs.kernels.values();
            LatencyEstimates {
                of_graphs: self.0.par_iter().filter_map(of_network).collect(),
                n_costs: kernels.map(|kernel| kernel.instructions.len()).sum(),
            }
        };
        let targets = costs.targets.iter();
        targets
            .map(|costs| (costs.target.clone(), sum(costs)))
            .collect()
    }

    /// Costs fitted to all networks except those of a design space and of the validation side, like a network that is
    /// trained without the space. Without intervals.
    pub fn costs_without(&self, space: &str, split: &Split) -> Result<Costs> {
        let is_used = |network: &CountedNetwork| {
            let side = split.side(&network.structure_hash, &network.space);
            network.space != space && side != Side::Validation
        };
        let fit = |target: &String| {
            let counted = self.0.iter().filter(|network| is_used(network));
            let counted =
                counted.filter_map(|network| Some((network, *network.instructions.get(target)?)));
            let training: Vec<Counted> = counted.collect();
            Ok(TargetCosts {
                target: target.clone(),
                n_fitted: training.len(),
                kernels: fit_kernels(&training)?,
                error: ErrorSummary::default(),
                usual: Class::default(),
                unusual: Class::default(),
            })
        };
        Ok(Costs {
            command: String::new(),
            tool: String::new(),
            targets: targets(&self.0)
                .par_iter()
                .map(fit)
                .collect::<Result<_>>()?,
        })
    }
}

/// A counted network.
struct CountedNetwork {
    graph_id: String,
    structure_hash: String,
    space: String,
    side: Side,
    is_int8: bool,
    /// Whether the batch size is greater than 1.
    is_batched: bool,
    operators: Vec<KernelCounts>,
    inference: KernelCounts,
    /// By target.
    instructions: BTreeMap<String, f64>,
}

/// Runs the subcommand. Fails if a file that it needs cannot be read, or a result cannot be written.
pub fn run(args: &FitCpuOperatorsArgs) -> Result<()> {
    let (graphs, provenance) = dataset::read_labels(&args.dataset)?;
    let networks = networks(&graphs)?;
    let mut runs = provenance.runs.iter();
    let counter = runs.rfind(|run| run.tool.name == "litert-qemu");
    let tool = &counter
        .context("expected counted instructions, found none")?
        .tool;
    let targets = targets(&networks);
    let costs = Costs {
        command: "litecast-trainer fit-cpu-operators".into(),
        tool: format!("LiteRT {} under QEMU", tool.version),
        targets: targets
            .iter()
            .map(|target| costs_of(target, &networks))
            .collect::<Result<_>>()?,
    };
    fs::write(&args.out, json(&costs)?)
        .with_context(|| format!("could not write {}", args.out.display()))
}

/// `costs.json`, with a line for each kernel.
pub fn json(costs: &Costs) -> Result<String> {
    json::lines(costs, 4)
}

fn networks(graphs: &[GraphLabels]) -> Result<Vec<CountedNetwork>> {
    let counted = graphs
        .par_iter()
        .filter(|graph| graph.targets.values().any(has_count));
    counted.map(network).collect()
}

/// The processors whose instructions were counted, the fastest first.
fn targets(networks: &[CountedNetwork]) -> Vec<String> {
    let targets = networks
        .iter()
        .flat_map(|network| network.instructions.keys().cloned());
    let targets: BTreeSet<String> = targets.collect();
    targets.into_iter().rev().collect()
}

fn has_count(labels: &dataset::TargetLabels) -> bool {
    labels.values.contains_key("instructions")
}

fn network(labels: &GraphLabels) -> Result<CountedNetwork> {
    let bytes = bytes_of(&labels.origin)?;
    let model = tflite::parse(&bytes)?;
    let graph = graph::build(&model, 0)?;
    let space = labels.origin.space().to_owned();
    let counts = labels.targets.iter().filter_map(|(target, labels)| {
        let count = labels.values.get("instructions")?;
        Some((target.clone(), *count))
    });
    let operators = kernel_counts(&graph, &analysis::analyze(&graph));
    let structure_hash = structure_hash(&graph);
    Ok(CountedNetwork {
        graph_id: labels.origin.graph_id(),
        inference: inference_counts(&operators),
        side: Split::default().side(&structure_hash, &space),
        structure_hash,
        is_int8: labels.origin.is_int8(),
        is_batched: labels.origin.batch() > 1,
        operators,
        instructions: counts.collect(),
        space,
    })
}

fn costs_of(target: &str, networks: &[CountedNetwork]) -> Result<TargetCosts> {
    let on = |wanted: Side| {
        let counted = networks.iter().filter_map(|network| {
            let count = *network.instructions.get(target)?;
            (network.side == wanted).then_some((network, count))
        });
        counted.collect::<Vec<_>>()
    };
    let training = on(Side::Training);
    let mut costs = TargetCosts {
        target: target.to_owned(),
        n_fitted: training.len(),
        kernels: fit_kernels(&training)?,
        error: ErrorSummary::default(),
        usual: Class::default(),
        unusual: Class::default(),
    };
    let (validation, test) = (on(Side::Validation), on(Side::Test));
    costs.usual = fit_class(&costs, false, &validation, &test)?;
    costs.unusual = fit_class(&costs, true, &validation, &test)?;
    let pairs: Vec<(f64, f64)> = test
        .iter()
        .map(|(network, count)| (estimate(&costs, network), *count))
        .collect();
    costs.error = summarise_pairs(&pairs);
    print(&costs, &test, &pairs);
    Ok(costs)
}

type Counted<'n> = (&'n CountedNetwork, f64);

/// Instructions per unit of a count that are left out. The fit approaches 0 without reaching it.
const NEGLIGIBLE: f64 = 1e-6;

/// Costs by kernel.
fn fit_kernels(training: &[Counted]) -> Result<BTreeMap<String, KernelCosts>> {
    let mut kernels: BTreeMap<String, KernelCosts> = BTreeMap::new();
    let mut columns: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    let mut rows = Vec::new();
    for (network, count) in training {
        let mut row: BTreeMap<usize, f64> = BTreeMap::new();
        let mut read: Vec<&str> = Vec::new();
        for counts in network.operators.iter().chain([&network.inference]) {
            for (term, amount) in counts.terms.iter() {
                let n_columns = columns.len();
                let column = columns.entry((&*counts.kernel, term)).or_insert(n_columns);
                *row.entry(*column).or_default() += amount / count;
            }
            if !read.contains(&&*counts.kernel) {
                read.push(&*counts.kernel);
            }
        }
        for kernel in read {
            kernels.entry(kernel.to_owned()).or_default().n_networks += 1;
        }
        rows.push(row);
    }
    let costs = fit::least_deviations(&rows, &weights(training), columns.len())?;
    for ((kernel, term), column) in columns {
        if costs[column] >= NEGLIGIBLE
            && let Some(kernel) = kernels.get_mut(kernel)
        {
            // Six digits are enough, because repeated counts differ in the fourth.
            let cost = format!("{:.5e}", costs[column]).parse()?;
            kernel.instructions.insert(term.to_owned(), cost);
        }
    }
    Ok(kernels)
}

/// Weights of networks. Each design space has the same total weight, except for the smallest and the largest ones.
fn weights(training: &[Counted]) -> Vec<f64> {
    let mut sizes: BTreeMap<&str, f64> = BTreeMap::new();
    for (network, _) in training {
        *sizes.entry(&network.space).or_default() += 1.0;
    }
    let even = training.len() as f64 / sizes.len() as f64;
    let weight = |(network, _): &Counted| (even / sizes[network.space.as_str()]).clamp(0.1, 10.0);
    training.iter().map(weight).collect()
}

fn parts(costs: &TargetCosts, network: &CountedNetwork) -> Vec<f64> {
    let share =
        costs.instructions(&network.inference).unwrap_or(0.0) / network.operators.len() as f64;
    let part = |counts: &KernelCounts| costs.instructions(counts).map_or(0.0, |part| part + share);
    network.operators.iter().map(part).collect()
}

fn estimate(costs: &TargetCosts, network: &CountedNetwork) -> f64 {
    parts(costs, network).iter().sum()
}

fn is_unusual(costs: &TargetCosts, network: &CountedNetwork) -> bool {
    costs.is_unusual(&network.operators, &parts(costs, network))
}

/// Sets the interval of one class by split conformal prediction on networks that nothing was fitted to, and measures it
/// on the test networks.
fn fit_class(
    costs: &TargetCosts,
    unusual: bool,
    validation: &[Counted],
    test: &[Counted],
) -> Result<Class> {
    let pairs = |counted: &[Counted]| -> Vec<(f64, f64)> {
        let of_class = counted
            .iter()
            .filter(|(network, _)| is_unusual(costs, network) == unusual);
        of_class
            .map(|(network, count)| (estimate(costs, network), *count))
            .collect()
    };
    let factors = pairs(validation).into_iter();
    let factors = factors.map(|(estimate, count)| (estimate / count).ln().abs().exp());
    let interval_factor =
        conformal_quantile(factors).context("expected networks to calibrate with, found none")?;
    let test = pairs(test);
    let is_inside = |(estimate, count): &&(f64, f64)| {
        (estimate / interval_factor..=estimate * interval_factor).contains(count)
    };
    let n_inside = test.iter().filter(is_inside).count();
    Ok(Class {
        interval_factor,
        coverage_percent: 100.0 * n_inside as f64 / test.len().max(1) as f64,
        error: summarise_pairs(&test),
    })
}

fn print(costs: &TargetCosts, test: &[Counted], pairs: &[(f64, f64)]) {
    let n_costs: usize = costs.kernels.values().map(|k| k.instructions.len()).sum();
    println!(
        "{}: {n_costs} costs of {} kernels, fitted to {} networks",
        costs.target,
        costs.kernels.len(),
        costs.n_fitted
    );
    let line = |what: &str, error: &ErrorSummary| {
        println!(
            "  {what:20} {:4} networks, mean error {:5.1} % (single errors up to 100 %), median {:4.1} %, \
             95th percentile {:5.1} %",
            error.n, error.capped_mape, error.median_ape, error.p95_ape
        );
    };
    line("held out", &costs.error);
    let summary = |is_in: &dyn Fn(&CountedNetwork) -> bool| {
        let chosen = test
            .iter()
            .zip(pairs)
            .filter(|((network, _), _)| is_in(network));
        summarise_pairs(&chosen.map(|(_, pair)| *pair).collect::<Vec<_>>())
    };
    line("int8", &summary(&|network| network.is_int8));
    line("float32", &summary(&|network| !network.is_int8));
    line("batches", &summary(&|network| network.is_batched));
    let spaces: BTreeSet<&str> = test
        .iter()
        .map(|(network, _)| network.space.as_str())
        .collect();
    for space in spaces {
        line(space, &summary(&|network| network.space == space));
    }
    for (what, class) in [("usual", costs.usual), ("unusual", costs.unusual)] {
        line(what, &class.error);
        println!(
            "    90 % interval: times and over {:.3}, holds {:.1} %",
            class.interval_factor, class.coverage_percent
        );
    }
}
