//! Constants of the H100, on which this project measured networks of many families itself
//! (`trainer/python/measure_gpu.py`). They are fewer than those of the timm project's tables.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result};
use litecast::targets::gpu::bundle::Mode;

use super::measured::Measured;

pub const TARGET: &str = "h100-80gb";
pub const FRAMEWORK: &str = "PyTorch 2.11, CUDA 13.0, AMP, channels first";

/// A row of the table, as far as it is used here.
#[derive(Clone, Debug, serde::Deserialize)]
pub struct ProfiledRow {
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

impl ProfiledRow {
    pub fn mode(&self) -> Mode {
        match self.run.as_str() {
            "train" => Mode::Training,
            _ => Mode::Inference,
        }
    }
}

pub fn read(path: &Path) -> Result<Vec<ProfiledRow>> {
    let reader = csv::Reader::from_path(path);
    let mut reader = reader.with_context(|| format!("could not read {}", path.display()))?;
    reader
        .deserialize()
        .map(|row| row.with_context(|| format!("could not read a row of {}", path.display())))
        .collect()
}

/// The measurement of each network in a precision with the largest batch; one with trials of cuDNN's algorithms if there are
/// two.
pub fn measured(rows: &[ProfiledRow], mode: Mode, precision: &str) -> Vec<Measured> {
    let mut of_network: BTreeMap<(&str, u32), &ProfiledRow> = BTreeMap::new();
    let rows = rows
        .iter()
        .filter(|row| row.mode() == mode && row.precision == precision);
    for row in rows {
        let best = of_network
            .entry((&row.model, row.image_size))
            .or_insert(row);
        let rank = |row: &ProfiledRow| (row.batch, row.has_cudnn_trials);
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
        million_parameters: None,
    })
    .collect()
}
