//! `litecast-trainer fit-cpu-singles`: counted instructions of files with one operator each, which
//! `trainer/python/single_operators.py` writes → costs of operators that no fitted network contains, and a bound for
//! operators that were never counted.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use litecast::formats::tflite;
use litecast::graph::{self, analysis};
use litecast::targets::cortex_a::{
    self, Costs, GeneralCost, KernelCounts, SingleKernel, SingleOperators, SingleTarget,
    TargetCosts, inference_counts,
};

use crate::json;
use crate::labels::record::{Label, Outcome};
use crate::labels::store::Labels;
use crate::least_squares;
use crate::metrics::{conformal_quantile, four_digits};

/// Fits the costs of operators that no network has to counts of single operators.
#[derive(Clone, Debug, clap::Args)]
pub struct FitCpuSinglesArgs {
    /// Folder of the files.
    #[arg(long, default_value = "trainer/runs/single-operators/files")]
    pub files: PathBuf,
    /// Folder of their labels, by `litecast-trainer label --tool litert-qemu`.
    #[arg(long, default_value = "trainer/runs/single-operators/labels")]
    pub labels: PathBuf,
    /// File for the costs.
    #[arg(long, default_value = "src/targets/cortex_a/single_operators.json")]
    pub out: PathBuf,
}

/// A counted operator.
struct CountedFile {
    kernel: String,
    /// Name of the operator, without its element type.
    kind: String,
    counts: KernelCounts,
    instructions: f64,
}

/// Runs the subcommand. Fails if a file that it needs cannot be read, or a result cannot be written.
pub fn run(args: &FitCpuSinglesArgs) -> Result<()> {
    let labels = Labels::read(&args.labels)?;
    let tool = &labels
        .runs
        .first()
        .context("expected labels, found none")?
        .tool;
    let mut samples: BTreeMap<String, Vec<CountedFile>> = BTreeMap::new();
    let mut n_rejected = 0;
    for labelled in &labels.labelled {
        let Outcome::Ok(Label::Litert(label)) = &labelled.outcome else {
            n_rejected += 1;
            continue;
        };
        let name = labelled.graph_id.trim_start_matches("file/");
        let costs = Costs::shipped().target(&labelled.target);
        let total = label.instructions.total() as f64;
        let sample = sample(&args.files.join(name), total, costs)?;
        samples
            .entry(labelled.target.clone())
            .or_default()
            .push(sample);
    }
    let targets: Vec<SingleTarget> = samples
        .iter()
        .map(|(target, files)| fit(target, files))
        .collect();
    let mut singles = SingleOperators {
        command: "litecast-trainer fit-cpu-singles".into(),
        tool: format!("LiteRT {} under QEMU", tool.version),
        n_files: labels.labelled.len() - n_rejected,
        n_rejected,
        targets,
    };
    copy_to_other_processors(&mut singles.targets);
    for target in &singles.targets {
        print(target, &samples[&target.target]);
    }
    fs::write(&args.out, json(&singles)?)
        .with_context(|| format!("could not write {}", args.out.display()))
}

/// `single_operators.json`, with a line for each kernel.
pub fn json(singles: &SingleOperators) -> Result<String> {
    json::lines(singles, 4)
}

/// What the interpreter executes to call a kernel, at least.
const MIN_INSTRUCTIONS: f64 = 100.0;

/// The sample of the last operator of a file. `total` are the instructions of an inference; those outside of operators
/// are an own part of every estimate.
fn sample(path: &Path, total: f64, costs: Option<&TargetCosts>) -> Result<CountedFile> {
    let bytes = fs::read(path).with_context(|| format!("could not read {}", path.display()))?;
    let model = tflite::parse(&bytes)?;
    let graph = graph::build(&model, 0)?;
    let operators = cortex_a::kernel_counts(&graph, &analysis::analyze(&graph));
    let node = graph
        .nodes
        .last()
        .with_context(|| format!("{}: no operator", path.display()))?;
    let counts = operators.last().context("counts for each node")?.clone();
    ensure!(
        total > 0.0,
        "{}: expected instructions, found none",
        path.display()
    );
    let besides = costs.and_then(|costs| costs.instructions(&inference_counts(&operators)));
    Ok(CountedFile {
        kernel: counts.kernel.to_string(),
        kind: node.operator.code.name().to_owned(),
        counts,
        instructions: (total - besides.unwrap_or(0.0)).max(MIN_INSTRUCTIONS),
    })
}

fn fit(target: &str, samples: &[CountedFile]) -> SingleTarget {
    let mut by_kernel: BTreeMap<&str, Vec<&CountedFile>> = BTreeMap::new();
    for sample in samples {
        by_kernel.entry(&sample.kernel).or_default().push(sample);
    }
    let known = Costs::shipped().target(target);
    let is_new = |kernel: &str| known.is_none_or(|costs| !costs.kernels.contains_key(kernel));
    let kernels = by_kernel.iter().filter(|(kernel, _)| is_new(kernel));
    SingleTarget {
        target: target.to_owned(),
        kernels: kernels
            .map(|(kernel, files)| ((*kernel).to_owned(), kernel_of(files)))
            .collect(),
        bound: fit_general_cost(samples),
    }
}

fn row(sample: &CountedFile) -> [f64; 3] {
    [1.0, sample.counts.values, sample.counts.macs].map(|n| n / sample.instructions)
}

fn kernel_of(samples: &[&CountedFile]) -> SingleKernel {
    let costs = |without: Option<usize>| {
        let others = samples
            .iter()
            .enumerate()
            .filter(|(idx, _)| Some(*idx) != without);
        least_squares::non_negative(&others.map(|(_, sample)| row(sample)).collect::<Vec<_>>())
    };
    let errors = samples.iter().enumerate().map(|(idx, sample)| {
        let estimate = least_squares::dot(&row(sample), &costs(Some(idx)));
        estimate.max(1e-3).ln().abs().exp()
    });
    let widest = match samples.len() {
        1 => SINGLE_SHAPE_FACTOR,
        _ => errors.fold(1.0, f64::max),
    };
    let [per_operator, per_value, per_mac] = costs(None).map(four_digits);
    SingleKernel {
        n_shapes: samples.len(),
        per_operator,
        per_value,
        per_mac,
        interval_factor: four_digits(widest.clamp(1.0, SINGLE_SHAPE_FACTOR)),
    }
}

/// Interval factor of an operator that was counted in one shape, and the upper limit for operators that were counted in
/// several: extrapolation to another size may be off by this much.
const SINGLE_SHAPE_FACTOR: f64 = 8.0;

/// The general cost of operators. Errors are logarithms, because kinds of operators differ by orders of magnitude.
fn fit_general_cost(samples: &[CountedFile]) -> GeneralCost {
    let kinds: BTreeSet<&str> = samples.iter().map(|s| s.kind.as_str()).collect();
    let costs_without = |without: Option<&str>| {
        let others = samples.iter().filter(|s| Some(s.kind.as_str()) != without);
        median_costs(&others.collect::<Vec<_>>())
    };
    let factors: Vec<f64> = kinds
        .iter()
        .flat_map(|kind| {
            let costs = costs_without(Some(kind));
            let logs_of_kind: Vec<f64> = samples
                .iter()
                .filter(|s| s.kind == *kind)
                .map(|s| {
                    (costs.instructions(&s.counts) / s.instructions)
                        .ln()
                        .abs()
                        .exp()
                })
                .collect();
            // Each kind counts once, with the quantile over its element types and shapes.
            conformal_quantile(logs_of_kind.into_iter())
        })
        .collect();
    GeneralCost {
        interval_factor: four_digits(conformal_quantile(factors.into_iter()).unwrap_or(1.0)),
        n_kinds: kinds.len(),
        ..costs_without(None)
    }
}

/// Medians, one after the other: the cost of a small operator without products, then the cost per value of a large one,
/// then the cost per product.
fn median_costs(samples: &[&CountedFile]) -> GeneralCost {
    let median = |mut values: Vec<f64>| {
        values.sort_by(f64::total_cmp);
        values.get(values.len() / 2).copied().unwrap_or(0.0)
    };
    let plain = || samples.iter().filter(|s| s.counts.macs == 0.0);
    let small = plain().filter(|s| s.counts.values < SMALL_VALUES);
    let per_operator = median(small.map(|s| s.instructions).collect());
    let besides = |s: &&&CountedFile| ((s.instructions - per_operator) / s.counts.values).max(0.0);
    let large = plain().filter(|s| s.counts.values >= LARGE_VALUES);
    let per_value = median(large.map(|s| besides(&s)).collect());
    let matrix = samples.iter().filter(|s| s.counts.macs > 0.0);
    let per_mac = median(matrix.map(|s| s.instructions / s.counts.macs).collect());
    GeneralCost {
        per_operator: four_digits(per_operator),
        per_value: four_digits(per_value),
        per_mac: four_digits(per_mac),
        ..GeneralCost::default()
    }
}

const SMALL_VALUES: f64 = 300.0;
const LARGE_VALUES: f64 = 5_000.0;

/// Copies the costs of operators without products from one processor to the others. They are counted on one processor
/// only, because their kernels use none of the instructions by which processors differ.
fn copy_to_other_processors(targets: &mut [SingleTarget]) {
    let all: BTreeMap<String, SingleKernel> = targets
        .iter()
        .flat_map(|target| target.kernels.clone())
        .collect();
    let most = targets
        .iter()
        .map(|t| t.bound)
        .max_by_key(|bound| bound.n_kinds);
    for target in targets {
        let known = Costs::shipped().target(&target.target);
        for (kernel, costs) in &all {
            let is_known = known.is_some_and(|costs| costs.kernels.contains_key(kernel));
            if costs.per_mac == 0.0 && !is_known {
                target
                    .kernels
                    .entry(kernel.clone())
                    .or_insert_with(|| costs.clone());
            }
        }
        if let Some(most) = most {
            target.bound = most;
        }
    }
}

fn print(target: &SingleTarget, samples: &[CountedFile]) {
    let SingleTarget { bound, kernels, .. } = target;
    println!(
        "{}: {} kernels that no network has, of {} counted files",
        target.target,
        kernels.len(),
        samples.len()
    );
    let mut factors: Vec<f64> = kernels.values().map(|k| k.interval_factor).collect();
    factors.sort_by(f64::total_cmp);
    if let (Some(median), Some(p90)) = (
        factors.get(factors.len() / 2),
        factors.get(factors.len() * 9 / 10),
    ) {
        println!(
            "  a shape left out: within times and over {median:.2} in the median, {p90:.2} of 90 %"
        );
    }
    println!(
        "  never counted: {:.0} an operator, {:.2} a value, {:.2} a product; a kind left out of {}: within \
         times and over {:.1}",
        bound.per_operator, bound.per_value, bound.per_mac, bound.n_kinds, bound.interval_factor
    );
    // For kernels that were also fitted to networks, single operators check that fit.
    let known = Costs::shipped().target(&target.target);
    let ratios = samples.iter().filter_map(|sample| {
        let known_instructions = known?.instructions(&sample.counts)?;
        Some(
            ((known_instructions.max(1.0)) / sample.instructions)
                .ln()
                .abs()
                .exp(),
        )
    });
    let mut ratios: Vec<f64> = ratios.collect();
    ratios.sort_by(f64::total_cmp);
    if let (Some(median), Some(p90)) = (
        ratios.get(ratios.len() / 2),
        ratios.get(ratios.len() * 9 / 10),
    ) {
        println!(
            "  costs of networks on {} single operators: within times and over {median:.2} in the median, \
             {p90:.2} of 90 %",
            ratios.len()
        );
    }
}
