//! Measurements of GPUs → the constants of `litecast::targets::gpu`, and their errors on networks that were left out of
//! the fit.

mod accel_nasbench;
mod compared;
mod evaluate;
mod float32;
mod forms;
mod graph_builder;
mod graphs;
mod h100;
mod kriging;
pub mod learned;
mod measured;
mod modelled;
mod nas_bench_201;
mod roofline;
mod single_kernels;
mod transfer;

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use litecast::targets::gpu::bundle::{Bundle, Errors, Mode, Run};
use litecast::targets::gpu::costs::{NAMES, PRIOR_MS};

use self::compared::Measurements;
use self::evaluate::{Fit, Sample, chosen_variances, half_width, left_out};
use self::graphs::Networks;
use self::measured::{Measured, TABLES, Table};
use self::transfer::{Factors, Source, gpu};

/// Fits the constants of GPUs to published measurements.
#[derive(Clone, Debug, clap::Args)]
pub struct FitGpuArgs {
    /// Folder of published measurements.
    #[arg(long, default_value = "../shared/data/gpu")]
    pub measured: PathBuf,
    /// Measurements of the H100 that `measure_gpu.py` wrote.
    #[arg(long, default_value = "trainer/data/gpu/h100.csv")]
    pub h100: PathBuf,
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
    /// Splits to repeat every evaluation on.
    #[arg(long, default_value = "3")]
    pub seeds: u64,
}

/// Fits, prints the errors as Markdown, and writes.
pub fn run(args: &FitGpuArgs) -> Result<()> {
    let mut networks = Networks::new();
    for path in &args.graphs {
        networks.extend(graphs::read(path, "timm")?);
    }
    if args.modelled {
        let bundle = Bundle::parse(&fs::read(&args.out)?)?;
        return modelled::compare(&h100::read(&args.h100)?, &networks, &bundle);
    }
    if let Some(folder) = &args.onnx {
        let bundle = Bundle::parse(&fs::read(&args.out)?)?;
        let run = bundle.run("rtx-3090", Mode::Inference);
        return forms::compare(
            folder,
            &networks,
            run.context("expected a run of the RTX 3090")?,
        );
    }
    println!(
        "| target, run | networks (families) | split | method | mean % | median % | 95th percentile % | in 90 % interval |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    let mut runs = Vec::new();
    let mut fitted = Vec::new();
    for table in &TABLES {
        let rows = measured::read(&args.measured, table)?;
        let samples = samples(&rows, &networks, table.is_compiled);
        let variances = chosen_variances(&samples);
        runs.push(fit_table(table, &rows, &samples, args.seeds, variances)?);
        fitted.push((table, samples, variances));
    }
    let rows = h100::read(&args.h100)?;
    let mut of_h100 = Vec::new();
    for mode in [Mode::Inference, Mode::Training] {
        let is_source = |table: &Table| table.target == "rtx-3090" && table.mode() == mode;
        let source = fitted.iter().find(|(table, ..)| is_source(table));
        let (_, source, variances) = source.context("expected a table of the RTX 3090")?;
        let measured = h100::measured(&rows, mode);
        let samples = samples(&measured, &networks, false);
        let source = (source.as_slice(), *variances);
        runs.push(h100::run(&measured, &samples, mode, source, args.seeds)?);
        of_h100.push(samples);
    }
    let measurements = accel_nasbench::measurements(&args.measured)?;
    accel_nasbench::compare(&measurements, &runs)?;
    let a100 = scaled_to_a100(&fitted, &of_h100[0], &runs[0], &measurements)?;
    runs.push(a100);
    runs.extend(float32::runs(&args.measured, &runs[0])?);
    let bundle = Bundle {
        costs: NAMES.map(str::to_owned).to_vec(),
        runs,
    };
    fs::write(&args.out, serde_json::to_string(&bundle)? + "\n")
        .with_context(|| format!("could not write {}", args.out.display()))
}

/// Measured networks that have a graph.
fn samples(rows: &[Measured], networks: &Networks, is_compiled: bool) -> Vec<Sample> {
    let sample = match is_compiled {
        true => Sample::compiled,
        false => Sample::new,
    };
    let network = |row: &Measured| networks.get(&(row.model.clone(), row.image_size));
    rows.iter()
        .filter_map(|row| Some(sample(row, network(row)?)))
        .collect()
}

/// A table, its networks that have a graph, and the variances of their kriging.
type Fitted = (&'static Table, Vec<Sample>, [f64; 2]);

/// GPUs other than the RTX 3090 on which the timm project measured many kinds of networks by the same software.
const CHECKED_BY_TRANSFER: [&str; 3] = ["rtx-4090", "rtx-5090", "rtx-pro-6000-max-q"];

/// The A100's constants: the scaled constants of the RTX 3090. Prints the errors of constants that are scaled in the
/// same way to the other GPUs; these are stated as the A100's errors, and its interval follows from them.
fn scaled_to_a100(
    fitted: &[Fitted],
    of_h100: &[Sample],
    of_3090: &Run,
    measurements: &accel_nasbench::Measurements,
) -> Result<Run> {
    let (_, source, variances) = fitted.first().context("expected a table")?;
    let from = gpu(&of_3090.target)?;
    let others = fitted
        .iter()
        .filter(|(table, ..)| CHECKED_BY_TRANSFER.contains(&table.target))
        .map(|(table, samples, _)| (table.target, samples.as_slice()));
    let mut by_gpu = Vec::new();
    for (target, samples) in others.chain([(h100::TARGET, of_h100)]) {
        let data_sheets = Factors::of_data_sheets(from, gpu(target)?);
        let pairs = transfer::check(source, samples, data_sheets, *variances);
        by_gpu.push((target, pairs));
    }
    for (target, pairs) in &by_gpu {
        let others = by_gpu.iter().filter(|(other, _)| other != target);
        let others = widest(others.map(|(_, pairs)| pairs.as_slice()));
        print_transfer(target, pairs, &evaluate::of_pairs(pairs, others));
    }
    let pairs: Vec<(f64, f64)> = by_gpu.iter().flat_map(|(_, pairs)| pairs.clone()).collect();
    let source = Source::of(&source.iter().collect::<Vec<_>>(), *variances);
    let measured = accel_nasbench::on_a100(measurements, of_3090);
    let data_sheets = Factors::of_data_sheets(from, gpu("a100-40gb")?);
    let factors = source.factors(data_sheets, &measured);
    eprintln!("a100-40gb: {factors:.3?} of the RTX 3090's times, {data_sheets:.3?} by data sheets");
    let costs_ms = factors.scaled(&source.costs_ms);
    let mut correction = source.correction(&costs_ms);
    correction.half_width = widest(by_gpu.iter().map(|(_, pairs)| pairs.as_slice()));
    let errors = evaluate::of_pairs(&pairs, correction.half_width);
    Ok(Run {
        target: "a100-40gb".to_owned(),
        laboratory: "Accel-NASBench".to_owned(),
        n_networks: measured.len(),
        n_families: 1,
        costs_ms: costs_ms.to_vec(),
        correction,
        errors,
        random_errors: errors,
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
fn widest<'p>(by_gpu: impl Iterator<Item = &'p [(f64, f64)]>) -> [f64; 2] {
    let widths = by_gpu.map(|pairs| {
        let mut distances: Vec<f64> = pairs.iter().map(|(_, distance)| *distance).collect();
        distances.sort_by(f64::total_cmp);
        let [fixed, by_distance] = half_width(pairs);
        (
            fixed + by_distance * distances[distances.len() / 2],
            [fixed, by_distance],
        )
    });
    let widest = widths.max_by(|a, b| a.0.total_cmp(&b.0));
    widest.map_or([0.0; 2], |(_, width)| width)
}

fn print_transfer(target: &str, pairs: &[(f64, f64)], errors: &Errors) {
    println!(
        "| {target} inference from rtx-3090's | {} | factors from inverted bottlenecks, other families left out | scaled \
         roofline and kriging | {:.2} | {:.2} | {:.1} | {:.1} % |",
        pairs.len(),
        errors.mean_percent,
        errors.median_percent,
        errors.p95_percent,
        errors.coverage_percent,
    );
}

fn fit_table(
    table: &Table,
    rows: &[Measured],
    samples: &[Sample],
    n_seeds: u64,
    variances: [f64; 2],
) -> Result<Run> {
    ensure!(
        samples.len() > 100,
        "{}: expected graphs of its networks",
        table.file
    );
    let mut fit = Fit::of(&samples.iter().collect::<Vec<_>>(), variances);
    if table.is_compiled {
        fit.costs[PRIOR_MS.0] = 0.0;
    }
    let measurements = Measurements {
        target: table.target,
        mode: table.mode(),
        framework: table.framework,
        laboratory: "the timm project",
        rows,
        samples,
    };
    measurements.run(fit, n_seeds, |_, folds| left_out(samples, folds, variances))
}
