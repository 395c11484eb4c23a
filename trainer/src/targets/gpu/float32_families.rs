//! Networks of many families in float32, measured on a board that has no target in it, against costs that are scaled to that
//! board from GPUs whose operators were measured: how wrong costs of operators are for whole networks.

use anyhow::Result;
use litecast::targets::gpu::bundle::Mode;
use litecast::targets::gpu::costs::Amounts;
use litecast::targets::gpu::specifications::{Board, ComputePrecision, Gpu};

use super::evaluate::{Estimate, MeasuredSample, regression, regression_ms};
use super::graphs::Networks;
use super::h100::{self, ProfiledRow};
use super::interval_widths::LeftOut;
use super::roofline;
use super::transfer::{Factors, factors, gpu};

/// Multiply-accumulates per second of the H100's ordinary units in float32, by NVIDIA's data sheet of the SXM board.
const MACS_PER_S: f64 = 33.5e12;

/// The H100 in float32.
pub fn board() -> Result<Gpu> {
    let in_amp = gpu(h100::TARGET)?;
    Ok(Gpu {
        precision: ComputePrecision::Float32,
        board: Board {
            macs_per_s: MACS_PER_S,
            ..in_amp.board
        },
        ..*in_amp
    })
}

/// The networks that were measured on it.
pub fn samples(rows: &[ProfiledRow], networks: &Networks) -> Result<Vec<MeasuredSample>> {
    let board = board()?;
    let rows = h100::measured(rows, Mode::Inference, "float32");
    let network =
        |row: &super::measured::Measured| networks.get(&(row.model.clone(), row.image_size));
    let sample = |row| {
        let network = network(row)?;
        Some(MeasuredSample::new(row, network, &board, Mode::Inference))
    };
    Ok(rows.iter().filter_map(sample).collect())
}

/// Estimates of the networks with costs of `source`. The networks of the other folds tell a board's scale.
pub fn left_out<'s>(
    samples: &'s [MeasuredSample],
    source: &Gpu,
    costs_ms: &Amounts,
    n_folds: usize,
    fold_of: &dyn Fn(&MeasuredSample) -> Option<usize>,
) -> Result<Vec<LeftOut<'s>>> {
    let data_sheets = Factors::from_data_sheets(source, &board()?);
    let mut left = Vec::new();
    for fold in 0..n_folds {
        let is_inside = |sample: &&MeasuredSample| fold_of(sample) == Some(fold);
        let (inside, others): (Vec<_>, Vec<_>) = samples.iter().partition(is_inside);
        let measured = others
            .iter()
            .map(|sample| (&sample.amounts, sample.time_ms));
        let factors = factors(costs_ms, data_sheets, &measured.collect::<Vec<_>>());
        let costs_ms = factors.scaled(costs_ms);
        let regression = regression(&others);
        left.extend(inside.into_iter().map(|sample| {
            let time_ms = roofline::dot(&sample.amounts, &costs_ms);
            LeftOut {
                sample,
                estimate: Estimate {
                    roofline_ms: time_ms,
                    time_ms,
                    distance: 0.0,
                },
                regression_ms: regression_ms(sample, &regression),
                fold,
            }
        }));
    }
    Ok(left)
}
