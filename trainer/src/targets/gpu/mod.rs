//! Measurements of GPUs → the constants of `litecast::targets::gpu`, and their errors on networks that were left out of
//! the fit.

pub mod accel_nasbench;
pub mod evaluate;
mod experiment;
mod final_errors;
pub mod final_families;
mod float32;
mod float32_families;
mod forms;
mod graph_builder;
pub mod graphs;
mod h100;
mod interval_widths;
mod kernel_table;
mod kriging;
pub mod measured;
mod modelled;
mod nas_bench_201;
mod priors;
pub mod roofline;
mod setting;
mod shared_fit;
mod single_kernels;
mod transfer;

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use litecast::targets::gpu::bundle::{Bundle, Errors, Mode, Run};
use litecast::targets::gpu::costs::NAMES;
use litecast::targets::gpu::specifications::ComputePrecision::Float32;
use litecast::targets::gpu::specifications::Gpu;

use self::evaluate::MeasuredSample;
pub use self::evaluate::half_width;
use self::experiment::{Experiment, N_FOLDS, compare, fits, folds, ranges};
use self::final_errors::FinalErrors;
use self::final_families::is_final;
use self::graphs::Networks;
use self::interval_widths::{HalfWidth, LeftOut};
pub use self::measured::family;
use self::measured::{Measured, TABLES};
use self::setting::{Property, Setting};
use self::transfer::{Factors, Source, gpu};

/// Fits the constants of GPUs to published measurements.
#[derive(Clone, Debug, clap::Args)]
pub struct FitGpuArgs {
    /// Folder of published measurements.
    #[arg(long, default_value = "../shared/data/gpu")]
    pub measured: PathBuf,
    /// Measurements of the H100 that `measure_gpu.py` wrote.
    #[arg(long, default_values = ["trainer/data/gpu/h100.csv", "trainer/data/gpu/h100-precisions.csv"])]
    pub h100: Vec<PathBuf>,
    /// Graphs that `export_timm.py` wrote. Give it again for several files.
    #[arg(long, required = true)]
    pub graphs: Vec<PathBuf>,
    /// File for the constants.
    #[arg(long, default_value = "bundle/gpu.json")]
    pub out: PathBuf,
    /// Compare modelled memory, power and launches with the measurements of the H100, and fit nothing.
    #[arg(long)]
    pub modelled: bool,
    /// Compare the kernels of this folder's `timm_NAME.onnx` with those of the graphs, and fit nothing.
    #[arg(long, value_name = "FOLDER")]
    pub onnx: Option<PathBuf>,
    /// Write the kernels of all graphs to this CSV file, and fit nothing.
    #[arg(long, value_name = "FILE")]
    pub kernels: Option<PathBuf>,
    /// Evaluate the final families and write their errors. Nothing that a fit depends on may be chosen by them.
    #[arg(long = "final")]
    pub is_final: bool,
    /// File with the errors on the final families.
    #[arg(long, default_value = "trainer/results/final/gpu.json")]
    pub final_errors: PathBuf,
    /// Print errors on Accel-NASBench's networks, too.
    #[arg(long)]
    pub other_laboratory: bool,
    /// Fit the GPUs in float32 alone, and keep the other runs of the file.
    #[arg(long = "float32")]
    pub is_float32: bool,
}

/// Fits, prints the errors as Markdown, and writes.
pub fn run(args: &FitGpuArgs) -> Result<()> {
    let mut networks = Networks::new();
    for path in &args.graphs {
        networks.extend(graphs::read(path, "timm")?);
    }
    if let Some(path) = &args.kernels {
        return kernel_table::write(path, &networks);
    }
    if args.modelled {
        let bundle = Bundle::parse(&fs::read(&args.out)?, &NAMES)?;
        return modelled::compare(&h100_rows(args)?, &networks, &bundle);
    }
    if let Some(folder) = &args.onnx {
        let bundle = Bundle::parse(&fs::read(&args.out)?, &NAMES)?;
        let run = bundle.run("rtx-3090", Mode::Inference);
        return forms::compare(
            folder,
            &networks,
            run.context("expected a run of the RTX 3090")?,
        );
    }
    if args.is_float32 {
        let mut runs = Bundle::parse(&fs::read(&args.out)?, &NAMES)?.runs;
        runs.retain(|run| gpu(&run.target).is_ok_and(|gpu| gpu.precision != Float32));
        return write(args, &networks, runs);
    }
    let experiments = experiments(args, &networks)?;
    let open: Vec<Experiment> = experiments.iter().map(Experiment::without_final).collect();
    let widths = compare(&open);
    let width_of_a100 = widest(&transferred(&open, N_FOLDS, &folds(&open))?);
    if args.is_final {
        let is_last = |sample: &MeasuredSample| is_final(&sample.family).then_some(0);
        let of_a100 = transferred(&experiments, 1, &is_last)?.concat();
        let of_a100 = final_errors::of_transfer(A100, &of_a100, &HalfWidth(width_of_a100));
        final_errors::evaluate(&experiments, &widths, of_a100, &args.final_errors)?;
    }
    let stated = FinalErrors::read(&args.final_errors)?;
    let mut runs = Vec::new();
    let all = fits(&experiments, &|_| true);
    for ((experiment, mut fit), width) in experiments.iter().zip(all).zip(widths) {
        fit.correction.half_width = width.0;
        let errors = stated.errors(experiment.target, experiment.mode)?;
        runs.push(experiment.run(fit, errors));
    }
    let measurements = accel_nasbench::measurements(&args.measured)?;
    if args.other_laboratory {
        accel_nasbench::compare(&measurements, &runs)?;
    }
    let errors = stated.errors(A100, Mode::Inference)?;
    runs.push(scaled_to_a100(
        &experiments,
        &runs[0],
        &measurements,
        width_of_a100,
        errors,
    )?);
    write(args, &networks, runs)
}

/// Writes these runs, and those of the GPUs in float32 after them.
fn write(args: &FitGpuArgs, networks: &Networks, mut runs: Vec<Run>) -> Result<()> {
    let in_float32 = float32_families::samples(&h100_rows(args)?, networks)?;
    let of_3090 = runs.first().context("expected a run of the RTX 3090")?;
    let float32 = float32::runs(&args.measured, of_3090, &in_float32, args.is_final)?;
    runs.extend(float32);
    let bundle = Bundle {
        costs: NAMES.map(str::to_owned).to_vec(),
        runs,
    };
    fs::write(&args.out, serde_json::to_string(&bundle)? + "\n")
        .with_context(|| format!("could not write {}", args.out.display()))
}

fn h100_rows(args: &FitGpuArgs) -> Result<Vec<h100::ProfiledRow>> {
    let mut rows = Vec::new();
    for path in &args.h100 {
        rows.extend(h100::read(path)?);
    }
    Ok(rows)
}

/// All measured runs.
fn experiments(args: &FitGpuArgs, networks: &Networks) -> Result<Vec<Experiment>> {
    let mut experiments = Vec::new();
    for table in &TABLES {
        let rows = measured::read(&args.measured, table)?;
        let (batches, measured_range) = ranges(&rows)?;
        let gpu = gpu(table.target)?;
        let samples = samples(&rows, networks, gpu, table.mode());
        ensure!(
            samples.len() > 100,
            "{}: expected graphs of its networks",
            table.file
        );
        experiments.push(Experiment {
            target: table.target,
            mode: table.mode(),
            framework: table.framework,
            laboratory: "the timm project",
            setting: Setting {
                board: &gpu.board,
                properties: table.properties,
            },
            batches,
            measured_range,
            samples,
        });
    }
    let rows = h100_rows(args)?;
    for (mode, properties) in [
        (Mode::Inference, &[][..]),
        (Mode::Training, &[Property::Training]),
    ] {
        let rows = h100::measured(&rows, mode, "amp");
        let (batches, measured_range) = ranges(&rows)?;
        experiments.push(Experiment {
            target: h100::TARGET,
            mode,
            framework: h100::FRAMEWORK,
            laboratory: "the LiteCast project",
            setting: Setting {
                board: &gpu(h100::TARGET)?.board,
                properties,
            },
            batches,
            measured_range,
            samples: samples(&rows, networks, gpu(h100::TARGET)?, mode),
        });
    }
    Ok(experiments)
}

/// Measured networks that have a graph. A family is left out if most of its networks are others than their graphs: the
/// branches of the rest were merged as well, where that changes too few parameters to be seen.
fn samples(rows: &[Measured], networks: &Networks, gpu: &Gpu, mode: Mode) -> Vec<MeasuredSample> {
    let network = |row: &Measured| networks.get(&(row.model.clone(), row.image_size));
    let known: Vec<_> = rows
        .iter()
        .filter_map(|row| {
            let network = network(row)?;
            Some((row, network, row.is_of(network.parameters)))
        })
        .collect();
    let mut votes = BTreeMap::new();
    for (row, _, is_same) in &known {
        *votes.entry(family(&row.model)).or_insert(0) += if *is_same { 1 } else { -1 };
    }
    known
        .into_iter()
        .filter(|(row, _, is_same)| *is_same && votes[family(&row.model)] >= 0)
        .map(|(row, network, _)| MeasuredSample::new(row, network, gpu, mode))
        .collect()
}

const A100: &str = "a100-40gb";

/// The runs of GPUs with the software of the RTX 3090's first run, which is the first of them.
fn alike(experiments: &[Experiment]) -> Vec<&Experiment> {
    let alike = experiments
        .iter()
        .filter(|one| one.setting.properties.is_empty());
    alike.collect()
}

/// By GPU, estimates with constants that are scaled to it as they are to the A100, in folds that leave families out.
fn transferred<'e>(
    experiments: &'e [Experiment],
    n_folds: usize,
    fold_of: &dyn Fn(&MeasuredSample) -> Option<usize>,
) -> Result<Vec<Vec<LeftOut<'e>>>> {
    let alike = alike(experiments);
    let from = gpu(alike.first().context("expected a run")?.target)?;
    let mut by_gpu = Vec::new();
    for target in alike.iter().skip(1) {
        let mut others = alike.clone();
        others.retain(|one| one.target != target.target);
        let data_sheets = Factors::from_data_sheets(from, gpu(target.target)?);
        let left = transfer::check(&others, target, data_sheets, n_folds, fold_of);
        print_transfer(target.target, &left);
        by_gpu.push(left);
    }
    Ok(by_gpu)
}

/// The A100's constants: scaled costs of the RTX 3090, by a fit that it shares with GPUs of the same software. The errors of
/// constants that are scaled in the same way to those other GPUs are stated as the A100's, and its interval follows from
/// them, and from how far the two laboratories are apart on the RTX 3090.
fn scaled_to_a100(
    experiments: &[Experiment],
    of_3090: &Run,
    measurements: &accel_nasbench::Measurements,
    half_width: [f64; 2],
    errors: Errors,
) -> Result<Run> {
    let source = Source::shared(&alike(experiments), &|_| true);
    let (laboratory, measured) = accel_nasbench::on_a100(measurements, of_3090);
    let data_sheets = Factors::from_data_sheets(gpu(&of_3090.target)?, gpu(A100)?);
    let factors = source.factors(data_sheets, &measured);
    eprintln!(
        "{A100}: {factors:.3?} of the RTX 3090's times, {data_sheets:.3?} by data sheets; on the RTX 3090, its laboratory \
         measured {laboratory:.3} of the estimated times"
    );
    let costs_ms = factors.scaled(&source.costs_ms);
    let mut correction = source.correction(&costs_ms);
    let [fixed, by_distance] = half_width;
    correction.half_width = [fixed.hypot(laboratory.ln()), by_distance];
    Ok(Run {
        target: A100.to_owned(),
        laboratory: "Accel-NASBench".to_owned(),
        n_networks: measured.len(),
        n_families: 1,
        costs_ms: costs_ms.to_vec(),
        correction,
        errors,
        are_errors_of_others: true,
        scaled_by: Some(
            "costs of kernels are those of the RTX 3090, scaled by data sheets and these networks; other kinds of \
             networks were not measured"
                .to_owned(),
        ),
        ..of_3090.clone()
    })
}

/// The half width of the GPU whose interval is the widest at its median distance, because an interval has to hold on each
/// GPU by itself.
fn widest(by_gpu: &[Vec<LeftOut>]) -> [f64; 2] {
    let widths = by_gpu.iter().map(|left| {
        let mut distances: Vec<f64> = left.iter().map(|one| one.estimate.distance).collect();
        distances.sort_by(f64::total_cmp);
        let width = HalfWidth::new(left);
        let median = distances.get(distances.len() / 2).copied();
        (width.at(median.unwrap_or(0.0)), width.0)
    });
    let widest = widths.max_by(|a, b| a.0.total_cmp(&b.0));
    widest.map_or([0.0; 2], |(_, width)| width)
}

fn print_transfer(target: &str, left: &[LeftOut]) {
    let errors = interval_widths::errors(left, |_| HalfWidth::new(left));
    println!(
        "| {target} inference from rtx-3090's | {} | factors from inverted bottlenecks, other families left out | scaled \
         roofline and kriging | {:.2} | {:.2} | {:.2} | {:.1} | {:.1} % |",
        left.len(),
        errors.mean_percent,
        errors.family_mean_percent,
        errors.median_percent,
        errors.p95_percent,
        errors.coverage_percent,
    );
}
