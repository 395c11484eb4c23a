//! Constants of the H100, on which this project measured networks of many families itself
//! (`trainer/python/measure_gpu.py`). They are fewer than those of the timm project's tables, so the fit starts from
//! the scaled constants of the RTX 3090.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::{Context, Result};
use litecast::targets::gpu::bundle::{Mode, Run};

use super::compared::Measurements;
use super::evaluate::{Sample, Split, left_out_by};
use super::measured::Measured;
use super::transfer::{Factors, Source, gpu};

pub const TARGET: &str = "h100-80gb";
const FRAMEWORK: &str = "PyTorch 2.11, CUDA 13.0, AMP, channels first";

/// A row of the table, as far as it is used here.
#[derive(Clone, Debug, serde::Deserialize)]
pub struct Row {
    pub model: String,
    pub image_size: u32,
    pub batch: f64,
    pub run: String,
    pub precision: String,
    pub has_cudnn_trials: u8,
    /// Of a batch.
    pub ms: f64,
    pub energy_mj: f64,
    pub reserved_bytes: f64,
    /// Of the profiled rows: the sum of the durations of a batch's kernels.
    pub kernel_ms: Option<f64>,
}

impl Row {
    pub fn mode(&self) -> Mode {
        match self.run.as_str() {
            "train" => Mode::Training,
            _ => Mode::Inference,
        }
    }
}

pub fn read(path: &Path) -> Result<Vec<Row>> {
    let reader = csv::Reader::from_path(path);
    let mut reader = reader.with_context(|| format!("could not read {}", path.display()))?;
    reader
        .deserialize()
        .map(|row| row.with_context(|| format!("could not read a row of {}", path.display())))
        .collect()
}

/// The measurement of each network in AMP with the largest batch; one with trials of cuDNN's algorithms if there are two.
pub fn measured(rows: &[Row], mode: Mode) -> Vec<Measured> {
    let mut of_network: BTreeMap<(&str, u32), &Row> = BTreeMap::new();
    let rows = rows
        .iter()
        .filter(|row| row.mode() == mode && row.precision == "amp");
    for row in rows {
        let best = of_network
            .entry((&row.model, row.image_size))
            .or_insert(row);
        let rank = |row: &Row| (row.batch, row.has_cudnn_trials);
        if rank(row) > rank(best) {
            *best = row;
        }
    }
    let rows = of_network.into_values();
    rows.map(|row| Measured {
        model: row.model.clone(),
        image_size: row.image_size,
        batch: row.batch,
        ms_per_input: row.ms / row.batch,
    })
    .collect()
}

/// Fits one mode and prints its errors. Networks and families that are left out are left out of `source`, the RTX 3090's
/// networks with their variances, as well.
pub fn run(
    measured: &[Measured],
    samples: &[Sample],
    mode: Mode,
    (source, variances): (&[Sample], [f64; 2]),
    n_seeds: u64,
) -> Result<Run> {
    let data_sheets = Factors::of_data_sheets(gpu("rtx-3090")?, gpu(TARGET)?);
    let left_out_of = |split: Split, folds| {
        left_out_by(samples, folds, |others, left| {
            let group = |sample: &Sample| split.group(&sample.model, &sample.family).to_owned();
            let left: BTreeSet<String> = left.iter().map(|sample| group(sample)).collect();
            let source = source
                .iter()
                .filter(|sample| !left.contains(&group(sample)));
            Source::of(&source.collect::<Vec<_>>(), variances).fitted_to(data_sheets, others)
        })
    };
    let all = Source::of(&source.iter().collect::<Vec<_>>(), variances);
    let fit = all.fitted_to(data_sheets, &samples.iter().collect::<Vec<_>>());
    let measurements = Measurements {
        target: TARGET,
        mode,
        framework: FRAMEWORK,
        laboratory: "the LiteCast project",
        rows: measured,
        samples,
    };
    measurements.run(fit, n_seeds, left_out_of)
}
