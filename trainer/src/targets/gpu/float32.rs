//! Constants of GPUs in float32. NeuSight measured single operators on some, which give the costs of kernels; HELP
//! measured NAS-Bench-201 on others, whose costs are those of a GPU of the same architecture, scaled.

use std::path::Path;

use anyhow::{Context, Result};
use litecast::targets::MeasuredRange;
use litecast::targets::gpu::bundle::{Correction, Errors, Mode, Position, Run, position};
use litecast::targets::gpu::costs::{Amounts, NAMES};
use litecast::targets::gpu::estimate::FAR;

use super::evaluate::{covering_size, pair_errors};
use super::transfer::{Factors, factors, gpu};
use super::{kriging, nas_bench_201, roofline, single_kernels};

/// Target and NeuSight's name of the GPU.
const OF_KERNELS: [(&str, &str); 4] = [
    ("v100-float32", "V100"),
    ("t4-float32", "T4"),
    ("p100-float32", "P100"),
    ("p4-float32", "P4"),
];
/// Target, HELP's name of the GPU, and the target of the same architecture whose kernels were measured.
const OF_NETWORKS: [(&str, &str, &str); 5] = [
    ("titan-rtx-float32", "titan_rtx", "t4-float32"),
    ("rtx-2080-ti-float32", "2080ti", "t4-float32"),
    ("titan-xp-float32", "titanxp", "p100-float32"),
    ("titan-x-float32", "titanx", "p100-float32"),
    ("gtx-1080-ti-float32", "1080ti", "p100-float32"),
];
const N_FOLDS: usize = 10;
/// One in this many networks of NAS-Bench-201 corrects the others. Fitting a correction is cubic in its networks.
const CORRECTING_EVERY: usize = 50;

/// Fits all of them and prints their errors. `of_3090` has the costs that no kernel of NeuSight determines.
pub fn runs(folder: &Path, of_3090: &Run) -> Result<Vec<Run>> {
    let mut runs = Vec::new();
    for (target, name) in OF_KERNELS {
        runs.push(kernel_run(
            target,
            &single_kernels::read(folder, name)?,
            of_3090,
        )?);
    }
    let all = folder
        .parent()
        .context("expected a folder in that of all measurements")?;
    let networks = nas_bench_201::read(all)?;
    let mut of_networks = Vec::new();
    let mut unseen = Pairs::new();
    for (target, name, alike) in OF_NETWORKS {
        let source = runs.iter().find(|run| run.target == alike);
        let source = source.context("expected a GPU of the same architecture")?;
        let (run, pairs) = nas_bench_run(target, name, &networks, source)?;
        of_networks.push(run);
        unseen.extend(pairs);
    }
    // Networks of a kind that was not measured on a GPU: as wrong as costs that were scaled from another GPU.
    let of_unseen = fixed_width(&unseen);
    eprintln!("half width for networks of unseen kinds: {of_unseen:.3}");
    for run in &mut runs {
        run.correction.half_width[0] = run.correction.half_width[0].max(of_unseen);
    }
    for run in &mut of_networks {
        let [near, _] = run.correction.half_width;
        run.correction.half_width[1] = (of_unseen - near).max(0.0) / FAR;
        run.correction.max_half_width = Some(of_unseen.max(near));
    }
    runs.extend(of_networks);
    Ok(runs)
}

/// Pairs of log(measured time / estimate) and distance.
type Pairs = Vec<(f64, f64)>;

fn kernel_run(target: &str, rows: &[single_kernels::MeasuredKernel], of_3090: &Run) -> Result<Run> {
    let data_sheets = Factors::from_data_sheets(gpu(&of_3090.target)?, gpu(target)?);
    let of_3090_ms: Amounts = std::array::from_fn(|idx| of_3090.costs_ms[idx]);
    let mut near_ms = data_sheets.scaled(&of_3090_ms);
    // Without mixed precision, nothing is cast.
    let casts = NAMES.iter().position(|name| *name == "weight_casts");
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
    covering_size(pairs.iter().map(|(log, _)| log.abs()).collect())
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

/// The run of a GPU that HELP measured, and the errors of costs that are scaled by data sheets alone.
fn nas_bench_run(
    target: &str,
    name: &str,
    networks: &[nas_bench_201::MeasuredArchitecture],
    source: &Run,
) -> Result<(Run, Pairs)> {
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

    let (correction, left_out) = fit_correction(&measured, &costs);
    let split = "NAS-Bench-201 of HELP, left out";
    let width = Some(correction.half_width);
    let method = "scaled roofline and kriging";
    show(left_out.len(), split, method, &left_out, width);

    let errors = pair_errors(&left_out, correction.half_width);
    let run = Run {
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
            .context("expected times")?,
        costs_ms: costs.to_vec(),
        correction,
        errors,
        ..source.clone()
    };
    Ok((run, unseen))
}
