//! Whose devices are fitted together, and where their measurements are.

use std::path::Path;

use anyhow::{Context, Result};
use litecast::target::fitted::Run;
use serde::{Deserialize, Serialize};

use super::boards::{self, Graphs, TABLES};
use super::measured::Measured;
use super::qualcomm;

/// Devices whose costs are fitted together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Source {
    /// Those with a Hexagon NPU.
    Qualcomm,
    /// Those of all other makers.
    Boards,
}

impl Source {
    /// Reads the measurements in `tables`; `onnx` is the folder with Qualcomm's graphs, which its devices need, and `is_asked`
    /// decides by family.
    pub fn read(
        self,
        tables: &Path,
        onnx: Option<&Path>,
        graphs: &Graphs,
        is_asked: impl Fn(&str) -> bool,
    ) -> Result<Measured> {
        match self {
            Self::Boards => boards::read(tables, graphs, is_asked),
            Self::Qualcomm => {
                let onnx = onnx.context("Qualcomm's devices need --graphs")?;
                qualcomm::read(tables, onnx, graphs, is_asked)
            }
        }
    }

    /// Whether a run is of one of its devices.
    pub fn has(self, run: &Run) -> bool {
        let device = run.target.split('@').next().unwrap_or_default();
        match self {
            Self::Qualcomm => qualcomm::DEVICES.iter().any(|(_, id)| *id == device),
            Self::Boards => TABLES.iter().any(|table| table.has(device)),
        }
    }
}
