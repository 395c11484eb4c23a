//! Constants of GPUs in float32. NeuSight measured single operators on some, which give the costs of kernels; HELP
//! measured NAS-Bench-201 on others, whose costs are those of a GPU of the same architecture, scaled. Intervals are those that
//! networks of many families ask for, which were measured in float32 on another board.

use std::path::Path;

use anyhow::{Context, Result};
use litecast::targets::MeasuredRange;
use litecast::targets::gpu::bundle::{Correction, Errors, Mode, Position, Run, position};
use litecast::targets::gpu::costs::{Amounts, NAMES};
use litecast::targets::gpu::estimate::FAR;

use super::evaluate::{MeasuredSample, pair_errors};
use super::experiment::{self, folds_of_families};
use super::interval_widths::{self, HalfWidth, LeftOut};
use super::transfer::{Factors, factors, gpu};
use super::{final_families, float32_families, kriging, nas_bench_201, roofline, single_kernels};
use crate::metrics::conformal_quantile;

/// Target and NeuSight's name of the GPU.
const OF_KERNELS: [(&str, &str); 4] = [
    ("v100-float32", "V100"),
    ("t4-float32", "T4"),
    ("p100-float32", "P100"),
    ("p4-float32", "P4"),
];
/// Target, HELP's name of the GPU, and the target with the same multiprocessors whose kernels were measured: the P4 has those of
/// the other Pascal boards (compute capability 6.1), the P100 has not (6.0).
const OF_NETWORKS: [(&str, &str, &str); 5] = [
    ("titan-rtx-float32", "titan_rtx", "t4-float32"),
    ("rtx-2080-ti-float32", "2080ti", "t4-float32"),
    ("titan-xp-float32", "titanxp", "p4-float32"),
    ("titan-x-float32", "titanx", "p4-float32"),
    ("gtx-1080-ti-float32", "1080ti", "p4-float32"),
];
const N_FOLDS: usize = 10;
/// One in this many networks of NAS-Bench-201 corrects the others. Fitting a correction is cubic in its networks.
const CORRECTING_EVERY: usize = 75;

/// Fits all of them and prints their errors. `of_3090` has the costs that no kernel of NeuSight determines, and the errors
/// on `in_float32` of costs that are scaled from each GPU set the widths of its intervals. Of these networks, final families
/// are looked at if `is_final`.
pub fn runs(
    folder: &Path,
    of_3090: &Run,
    in_float32: &[MeasuredSample],
    is_final: bool,
) -> Result<Vec<Run>> {
    let mut runs = Vec::new();
    for (target, name) in OF_KERNELS {
        let rows = single_kernels::read(folder, name)?;
        let mut run = kernel_run(target, &rows, of_3090)?;
        judge(&mut run, in_float32, is_final)?;
        runs.push(run);
    }
    let all = folder
        .parent()
        .context("expected a folder in that of all measurements")?;
    let networks = nas_bench_201::read(all)?;
    let mut of_networks = Vec::new();
    for (target, name, alike) in OF_NETWORKS {
        let source = runs.iter().find(|run| run.target == alike);
        let source = source.context("expected a GPU of the same architecture")?;
        of_networks.push(nas_bench_run(target, name, &networks, source)?);
    }
    runs.extend(of_networks);
    Ok(runs)
}

/// Gives a GPU whose operators were measured the interval that networks ask for: those of many families that were measured in
/// float32 on another board, by its costs.
fn judge(run: &mut Run, samples: &[MeasuredSample], is_final: bool) -> Result<()> {
    let source = gpu(&run.target)?;
    let costs_ms: Amounts = std::array::from_fn(|idx| run.costs_ms[idx]);
    let open: Vec<MeasuredSample> = samples
        .iter()
        .filter(|sample| !final_families::is_final(&sample.family))
        .cloned()
        .collect();
    let folds = folds_of_families(open.iter().map(|sample| sample.family.clone()).collect());
    let left = float32_families::left_out(&open, source, &costs_ms, experiment::N_FOLDS, &folds)?;
    let width_without = |fold: usize| {
        let others = left.iter().filter(|one| one.fold != fold).copied();
        HalfWidth::new(&others.collect::<Vec<_>>())
    };
    print_networks(&run.target, "families left out", &left, width_without);
    let width = HalfWidth::new(&left);
    if is_final {
        let last = |sample: &MeasuredSample| final_families::is_final(&sample.family).then_some(0);
        let left = float32_families::left_out(samples, source, &costs_ms, 1, &last)?;
        print_networks(&run.target, "final families", &left, |_| width);
    }
    run.correction.half_width = width.0;
    run.errors = interval_widths::errors(&left, |_| width);
    run.are_errors_of_others = true;
    let of_board = MeasuredRange::from_latencies(open.iter().map(|sample| sample.time_ms));
    let of_board = of_board.context("expected networks in float32")?;
    let ratio = Factors::from_data_sheets(&float32_families::board()?, source).products;
    run.measured_range = run.measured_range.with(of_board.scaled(ratio));
    Ok(())
}

fn print_networks(
    target: &str,
    split: &str,
    left: &[LeftOut],
    width_of: impl Fn(usize) -> HalfWidth,
) {
    let errors = interval_widths::errors(left, &width_of);
    println!(
        "| {target} inference | {} | networks on the H100 in float32, {split} | scaled roofline | {:.2} | {:.2} | {:.1} | \
         {:.1} %, × {:.2} |",
        left.len(),
        errors.mean_percent,
        errors.median_percent,
        errors.p95_percent,
        errors.coverage_percent,
        width_of(0).at(0.0).exp(),
    );
}

/// Pairs of log(measured time / estimate) and distance.
type Pairs = Vec<(f64, f64)>;

fn kernel_run(target: &str, rows: &[single_kernels::MeasuredKernel], of_3090: &Run) -> Result<Run> {
    let data_sheets = Factors::from_data_sheets(gpu(&of_3090.target)?, gpu(target)?);
    let of_3090_ms: Amounts = std::array::from_fn(|idx| of_3090.costs_ms[idx]);
    let mut near_ms = data_sheets.scaled(&of_3090_ms);
    // Without mixed precision, nothing is cast.
    let casts = NAMES.iter().position(|name| *name == "casts");
    near_ms[casts.context("expected casts among the costs")?] = 0.0;
    let fitted = |is_used: &dyn Fn(usize) -> bool| {
        let used = rows.iter().enumerate().filter(|(idx, _)| is_used(*idx));
        let used: Vec<_> = used.map(|(_, row)| row).collect();
        let amounts: Vec<&Amounts> = used.iter().map(|row| &row.amounts).collect();
        let times: Vec<f64> = used.iter().map(|row| row.time_ms).collect();
        roofline::fit_near(&amounts, &times, &near_ms, roofline::RIDGE)
    };
    let show = |n, split: &str, method: &str, pairs: &Pairs, width| {
        print(target, n, split, method, pairs, width)
    };
    let (mut left_out, mut scaled) = (Pairs::new(), Pairs::new());
    for fold in 0..N_FOLDS {
        let costs = fitted(&|idx| idx % N_FOLDS != fold);
        for row in rows.iter().skip(fold).step_by(N_FOLDS) {
            let log = |costs: &Amounts| (row.time_ms / roofline::dot(&row.amounts, costs)).ln();
            left_out.push((log(&costs), 0.0));
            scaled.push((log(&near_ms), 0.0));
        }
    }
    let split = "single operators of NeuSight";
    let method = "costs of the RTX 3090, scaled by data sheets";
    show(rows.len(), split, method, &scaled, None);
    let width = [fixed_width(&left_out), 0.0];
    let split = "single operators of NeuSight, left out";
    show(rows.len(), split, "roofline", &left_out, Some(width));
    let errors = pair_errors(&left_out, width);
    Ok(Run {
        target: target.to_owned(),
        mode: Mode::Inference,
        framework: "PyTorch, float32 without TF32".to_owned(),
        laboratory: "NeuSight".to_owned(),
        scaled_by: Some(format!(
            "costs of kernels are fitted to {} single operators that NeuSight measured on this GPU; no network was \
             measured",
            rows.len()
        )),
        n_networks: 0,
        n_families: 0,
        measured_range: MeasuredRange::from_latencies(rows.iter().map(|row| row.time_ms))
            .context("expected times")?,
        batches: [1.0, nas_bench_201::BATCH],
        costs_ms: fitted(&|_| true).to_vec(),
        correction: Correction {
            half_width: width,
            ..Correction::default()
        },
        errors,
        are_errors_of_others: false,
        regression_percent: None,
        refused_percent: None,
        max_shares: Vec::new(),
        elsewhere: Vec::new(),
    })
}

/// Half width of an interval that holds as many of these errors as one should.
fn fixed_width(pairs: &[(f64, f64)]) -> f64 {
    conformal_quantile(pairs.iter().map(|(log, _)| log.abs())).expect("errors")
}

fn print(
    target: &str,
    n: usize,
    split: &str,
    method: &str,
    pairs: &[(f64, f64)],
    width: Option<[f64; 2]>,
) {
    let Errors {
        mean_percent,
        median_percent,
        p95_percent,
        coverage_percent,
        ..
    } = pair_errors(pairs, width.unwrap_or_default());
    let coverage = width.map_or_else(|| "–".to_owned(), |_| format!("{coverage_percent:.1} %"));
    println!(
        "| {target} inference | {n} | {split} | {method} | {mean_percent:.2} | {median_percent:.2} | {p95_percent:.1} | {coverage} |"
    );
}

/// Networks with their times.
type Measured<'m> = [(&'m Amounts, f64)];

/// The errors of a roofline and its correction.
fn pairs_of(measured: &Measured, costs: &Amounts, correction: &Correction) -> Pairs {
    let pair = |(amounts, time_ms): &(&Amounts, f64)| {
        let (log, distance) = correction.at(&position(amounts, costs));
        let roofline_ms = roofline::dot(*amounts, costs);
        ((time_ms / roofline_ms).ln() - log, distance)
    };
    measured.iter().map(pair).collect()
}

/// A correction by one network in [`CORRECTING_EVERY`], and its errors on the others.
fn fit_correction(measured: &Measured, costs: &Amounts) -> (Correction, Pairs) {
    let correcting: Vec<_> = measured.iter().step_by(CORRECTING_EVERY).copied().collect();
    let positions: Vec<Position> = correcting
        .iter()
        .map(|(amounts, _)| position(amounts, costs))
        .collect();
    let residuals = pairs_of(&correcting, costs, &Correction::default());
    let residuals: Vec<f64> = residuals.iter().map(|(log, _)| *log).collect();
    let mut correction = kriging::fit(&positions, &residuals, kriging::VARIANCES);
    let others = pairs_of(measured, costs, &correction)
        .into_iter()
        .enumerate();
    let others = others.filter(|(idx, _)| idx % CORRECTING_EVERY != 0);
    let others: Pairs = others.map(|(_, pair)| pair).collect();
    correction.half_width = [fixed_width(&others), 0.0];
    (correction, others)
}

/// The run of a GPU that HELP measured. Networks unlike HELP's have the interval of the GPU whose costs are scaled.
fn nas_bench_run(
    target: &str,
    name: &str,
    networks: &[nas_bench_201::MeasuredArchitecture],
    source: &Run,
) -> Result<Run> {
    let data_sheets = Factors::from_data_sheets(gpu(&source.target)?, gpu(target)?);
    let on_gpu = |row: &'_ nas_bench_201::MeasuredArchitecture| row.ms_by_gpu.get(name).copied();
    let measured = (networks.iter()).filter_map(|row| Some((&row.amounts, on_gpu(row)?)));
    let measured: Vec<(&Amounts, f64)> = measured.collect();
    let source_ms: Amounts = std::array::from_fn(|idx| source.costs_ms[idx]);
    let (none, n) = (Correction::default(), measured.len());
    let split = format!("NAS-Bench-201 of HELP, by kernels of {}", source.target);
    let show = |n, split: &str, method: &str, pairs: &Pairs, width| {
        print(target, n, split, method, pairs, width)
    };

    let unseen = pairs_of(&measured, &data_sheets.scaled(&source_ms), &none);
    let width = Some(source.correction.half_width);
    show(n, &split, "roofline scaled by data sheets", &unseen, width);

    let factors = factors(&source_ms, data_sheets, &measured);
    eprintln!(
        "{target}: {factors:.3?} of {}'s times, {data_sheets:.3?} by data sheets",
        source.target
    );
    let costs = factors.scaled(&source_ms);
    let scaled = pairs_of(&measured, &costs, &none);
    let method = "roofline scaled to these networks";
    show(n, &split, method, &scaled, None);

    let (mut correction, left_out) = fit_correction(&measured, &costs);
    let split = "NAS-Bench-201 of HELP, left out";
    let width = Some(correction.half_width);
    let method = "scaled roofline and kriging";
    show(left_out.len(), split, method, &left_out, width);

    let errors = pair_errors(&left_out, correction.half_width);
    let of_unseen = fixed_width(&unseen).max(source.correction.half_width[0]);
    let [near, _] = correction.half_width;
    correction.half_width[1] = (of_unseen - near).max(0.0) / FAR;
    correction.max_half_width = Some(of_unseen.max(near));
    Ok(Run {
        target: target.to_owned(),
        laboratory: "HELP".to_owned(),
        scaled_by: Some(format!(
            "costs of kernels are those of {}, scaled by data sheets and these networks; other kinds of networks were \
             not measured",
            gpu(&source.target)?.device
        )),
        n_networks: n,
        n_families: 1,
        batches: [nas_bench_201::BATCH; 2],
        measured_range: MeasuredRange::from_latencies(measured.iter().map(|(_, ms)| *ms))
            .context("expected times")?
            .with(source.measured_range.scaled(data_sheets.products)),
        costs_ms: costs.to_vec(),
        correction,
        errors,
        are_errors_of_others: false,
        ..source.clone()
    })
}
