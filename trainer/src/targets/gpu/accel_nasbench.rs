//! Accel-NASBench's networks on an A100 and an RTX 3090: EfficientNet-B0 with a choice of kernel, expansion, number of
//! layers and squeeze-and-excite for each stage.
//!
//! The parameters that are counted here equal those of the table to the last digit. The table states neither the batch
//! size nor the precision of the measurements.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use litecast::targets::gpu::bundle::{Errors, Mode, Run, position};
use litecast::targets::gpu::costs::Amounts;
use litecast::targets::gpu::estimate::sum_amounts;
use rayon::prelude::*;
use serde_json::json;

use super::graph_builder::Document;
use super::graphs::KernelNetwork;
use super::roofline;
use super::transfer::gpu;
use crate::metrics::errors_of;

const FILE: &str = "accel_nasbench.csv";
/// Output channels and first stride of each stage of EfficientNet-B0.
const STAGES: [(i64, i64); 7] = [
    (16, 1),
    (24, 2),
    (40, 2),
    (80, 2),
    (112, 1),
    (192, 2),
    (320, 1),
];
const STEM_CHANNELS: i64 = 32;
const HEAD_CHANNELS: i64 = 1280;
/// Height and width of an input.
pub const SIDE: i64 = 224;
/// Batch size, which the table does not state: so large that launches are negligible.
pub const BATCH: f64 = 256.0;
/// Both GPUs run networks in the same way.
const GPU: &str = "rtx-3090";
const N_FOLDS: usize = 10;

/// The choices of one network: expansion, kernel, layers and squeeze-and-excite of each stage.
type Choices = [[i64; 7]; 4];

struct MeasuredChoices {
    choices: Choices,
    amounts: Amounts,
    parameters: f64,
    /// Latencies on the A100 and the RTX 3090.
    ms: [Option<f64>; 2],
}

/// The networks that were measured.
pub(super) struct Measurements(Vec<MeasuredChoices>);

pub(super) fn measurements(folder: &Path) -> Result<Measurements> {
    read(&folder.join(FILE)).map(Measurements)
}

/// Networks with their times for an input on the RTX 3090, in ms.
pub fn on_rtx_3090(folder: &Path) -> Result<Vec<(KernelNetwork, f64)>> {
    let rows = measurements(folder)?.0;
    let measured = rows.iter().filter_map(|row| Some((row, row.ms[1]?)));
    measured
        .map(|(row, ms)| Ok((network(&row.choices)?, ms)))
        .collect()
}

/// How much longer than on the RTX 3090 of `run` its networks took on this laboratory's, and networks with their times on
/// the A100, divided by that factor. The costs that a fit to these networks would give are not used: all networks have the
/// same classifier, and convolutions of odd sizes occur only in squeeze-and-excite, so some costs would stand for other
/// properties that the networks share.
pub(super) fn on_a100<'m>(
    measurements: &'m Measurements,
    run: &Run,
) -> (f64, Vec<(&'m Amounts, f64)>) {
    let measured_on = |device: usize| {
        let row = move |row: &'m MeasuredChoices| Some((row, row.ms[device]?));
        measurements.0.iter().filter_map(row).collect::<Vec<_>>()
    };
    let (laboratory, _) = other_laboratory(&measured_on(1), run);
    let a100 = measured_on(0).into_iter();
    let converted = a100.map(|(row, ms)| (&row.amounts, ms / laboratory));
    (laboratory, converted.collect())
}

/// Prints errors of both GPUs.
pub(super) fn compare(measurements: &Measurements, runs: &[Run]) -> Result<()> {
    let rows = &measurements.0;
    let of_3090 = (runs.iter())
        .find(|run| run.target == "rtx-3090" && run.mode == Mode::Inference)
        .context("expected a run of the RTX 3090")?;
    for (device, target) in ["a100-40gb", "rtx-3090"].into_iter().enumerate() {
        let measured: Vec<(&MeasuredChoices, f64)> = rows
            .iter()
            .filter_map(|row| Some((row, row.ms[device]?)))
            .collect();
        let n = measured.len();
        print_row(target, n, "random", &random_errors(&measured));
        let left_out = choice_errors(&measured);
        print_row(target, n, "one stage's choice left out", &left_out);
        let (ratio, cross) = other_laboratory(&measured, of_3090);
        let split = format!("timm's RTX 3090 constants times {ratio:.3}");
        print_row(target, n, &split, &cross);
    }
    Ok(())
}

fn print_row(target: &str, n: usize, split: &str, errors: &Errors) {
    println!(
        "| {target} inference, Accel-NASBench | {n} | {split} | roofline | {:.2} | {:.2} | {:.1} | – |",
        errors.mean_percent, errors.median_percent, errors.p95_percent
    );
}

fn fit_rows(rows: &[(&MeasuredChoices, f64)]) -> Amounts {
    let amounts: Vec<&Amounts> = rows.iter().map(|(row, _)| &row.amounts).collect();
    let times: Vec<f64> = rows.iter().map(|(_, ms)| *ms).collect();
    roofline::fit(&amounts, &times)
}

fn random_errors(rows: &[(&MeasuredChoices, f64)]) -> Errors {
    let mut percents = Vec::new();
    for fold in 0..N_FOLDS {
        let (inside, others): (Vec<_>, Vec<_>) = rows
            .iter()
            .enumerate()
            .partition(|(idx, _)| idx % N_FOLDS == fold);
        let strip = |rows: Vec<(usize, &(_, f64))>| {
            rows.into_iter().map(|(_, row)| *row).collect::<Vec<_>>()
        };
        percents.extend(percents_of(&strip(inside), &fit_rows(&strip(others))));
    }
    errors_of(percents)
}

/// Leaves out each value of each choice of each stage once, with all networks that have it.
fn choice_errors(rows: &[(&MeasuredChoices, f64)]) -> Errors {
    let mut cases = Vec::new();
    for choice in 0..4 {
        for stage in 0..STAGES.len() {
            let mut values: Vec<i64> = rows
                .iter()
                .map(|(row, _)| row.choices[choice][stage])
                .collect();
            values.sort_unstable();
            values.dedup();
            cases.extend(values.into_iter().map(|value| (choice, stage, value)));
        }
    }
    let percents = cases.into_par_iter().flat_map(|(choice, stage, value)| {
        let (inside, others): (Vec<_>, Vec<_>) = rows
            .iter()
            .partition(|(row, _)| row.choices[choice][stage] == value);
        match others.len() {
            0..50 => Vec::new(),
            _ => percents_of(&inside, &fit_rows(&others)),
        }
    });
    errors_of(percents.collect())
}

fn percents_of(rows: &[(&MeasuredChoices, f64)], costs: &Amounts) -> Vec<f64> {
    let percent = |(row, ms): &(&MeasuredChoices, f64)| {
        100.0 * (roofline::dot(&row.amounts, costs) / ms - 1.0).abs()
    };
    rows.iter().map(percent).collect()
}

/// Errors of another laboratory's constants on these networks, apart from one common factor.
fn other_laboratory(rows: &[(&MeasuredChoices, f64)], run: &Run) -> (f64, Errors) {
    let estimate = |row: &MeasuredChoices| {
        let roofline_ms = roofline::dot(&row.amounts, &run.costs_ms);
        let (correction, _) = run.correction.at(&position(&row.amounts, &run.costs_ms));
        roofline_ms * correction.exp()
    };
    let mut ratios: Vec<f64> = rows.iter().map(|(row, ms)| ms / estimate(row)).collect();
    ratios.sort_by(f64::total_cmp);
    let ratio = ratios[ratios.len() / 2];
    let percents = rows
        .iter()
        .map(|(row, ms)| 100.0 * (ratio * estimate(row) / ms - 1.0).abs());
    (ratio, errors_of(percents.collect()))
}

fn read(path: &Path) -> Result<Vec<MeasuredChoices>> {
    ensure!(
        path.is_file(),
        "no {}: Accel-NASBench's measurements are not part of this repository and lie in `shared/data` beside it",
        path.display()
    );
    let mut reader = csv::Reader::from_path(path)?;
    let headers = reader.headers()?.clone();
    let column = |name: &str| {
        let position = headers.iter().position(|header| header == name);
        position.with_context(|| format!("{}: expected a column `{name}`", path.display()))
    };
    let choices = [column("e")?, column("k")?, column("l")?, column("se")?];
    let speeds = [
        column("throughput_a100_mean")?,
        column("throughput_3090_mean")?,
    ];
    let parameters = column("mparams")?;
    let records: Vec<csv::StringRecord> = reader.records().collect::<Result<_, _>>()?;
    let row = |record: &csv::StringRecord| -> Result<MeasuredChoices> {
        let text = |column: usize| record.get(column).unwrap_or_default();
        let mut row_choices: Choices = [[0; 7]; 4];
        for (stages, column) in row_choices.iter_mut().zip(choices) {
            let values: Vec<i64> = text(column)
                .split_whitespace()
                .map(str::parse)
                .collect::<Result<_, _>>()?;
            *stages = values.try_into().ok().context("expected seven stages")?;
        }
        let network = network(&row_choices)?;
        let counted = network.parameters;
        let stated: f64 = text(parameters).parse()?;
        ensure!(
            (counted / 1e6 - stated).abs() < 1e-6,
            "{row_choices:?}: expected {stated} million parameters, counted {}",
            counted / 1e6
        );
        let ms = speeds.map(|column| {
            text(column)
                .parse::<f64>()
                .ok()
                .filter(|speed| *speed > 0.0)
        });
        Ok(MeasuredChoices {
            choices: row_choices,
            amounts: sum_amounts(&network.kernels, BATCH, gpu(GPU)?, Mode::Inference),
            parameters: counted,
            ms: ms.map(|speed| speed.map(|speed| 1e3 / speed)),
        })
    };
    let rows: Vec<MeasuredChoices> = records.par_iter().map(row).collect::<Result<_>>()?;
    ensure!(
        rows.iter().all(|row| row.parameters > 0.0),
        "networks without parameters"
    );
    Ok(rows)
}

/// A network; its parameters include batch norms.
fn network(choices: &Choices) -> Result<KernelNetwork> {
    let mut graph = Document::default();
    let [expansions, windows, layers, squeezes] = choices;
    graph.activation("x", &[1, SIDE, SIDE, 3]);
    let mut x = graph.convolution("x", 3, STEM_CHANNELS, 3, 2, SIDE, true);
    let (mut channels, mut side) = (STEM_CHANNELS, SIDE / 2);
    for (stage, (out, stride)) in STAGES.into_iter().enumerate() {
        for layer in 0..layers[stage] {
            let stride = if layer == 0 { stride } else { 1 };
            let input = x.clone();
            let wide = channels * expansions[stage];
            if expansions[stage] != 1 {
                x = graph.convolution(&x, channels, wide, 1, 1, side, true);
            }
            x = graph.depthwise(&x, wide, windows[stage], stride, side);
            let next = side / stride;
            if squeezes[stage] != 0 {
                x = graph.squeeze(&x, wide, channels / 4, next);
            }
            x = graph.convolution(&x, wide, out, 1, 1, next, false);
            if stride == 1 && channels == out {
                x = graph.operator("ADD", json!([input, x]), &[1, next, next, out], json!({}));
            }
            (channels, side) = (out, next);
        }
    }
    x = graph.convolution(&x, channels, HEAD_CHANNELS, 1, 1, side, true);
    let axes = json!({"axes": [1, 2], "keep_dims": false});
    x = graph.operator("MEAN", json!([x]), &[1, HEAD_CHANNELS], axes);
    let weights = graph.constant(&[1000, HEAD_CHANNELS]);
    let bias = graph.constant(&[1000]);
    x = graph.operator(
        "FULLY_CONNECTED",
        json!([x, weights, bias]),
        &[1, 1000],
        json!({}),
    );
    graph.network(&["x"], &[&x])
}
