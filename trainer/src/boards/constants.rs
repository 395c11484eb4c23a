//! What a fit found, as the file that dataset building reads.

use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

use super::fit::{Constant, Errors};

/// Relative to the trainer's folder.
pub const FILE: &str = "data/cpu_targets.json";

/// The constants of all boards, with how they were made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Constants {
    /// What remakes the file.
    pub command: String,
    /// Of the counted instructions.
    pub tool: String,
    pub boards: Vec<Board>,
}

/// One board.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Board {
    pub target: String,
    /// Where the measurements come from.
    pub source: String,
    /// Graphs that the constants were fitted on.
    pub n_fitted: usize,
    /// Measured nanoseconds by executed instruction.
    pub ns_per_instruction: Constant,
    /// Of the estimated latency, on graphs that nothing was fitted on.
    pub latency_error: Errors,
    pub energy: Option<Energy>,
}

/// Energy as power times estimated latency.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Energy {
    /// Measured energy by measured latency: mJ/ms.
    pub watts: Constant,
    /// Of power times estimated latency, on graphs that nothing was fitted on.
    pub error: Errors,
}

impl Constants {
    /// Those of this version, from `trainer/data/cpu_targets.json`.
    pub fn shipped() -> &'static Self {
        static SHIPPED: LazyLock<Constants> = LazyLock::new(|| {
            serde_json::from_str(include_str!("../../data/cpu_targets.json"))
                .expect("the shipped file is what `fit-cpu` wrote")
        });
        &SHIPPED
    }

    pub fn board(&self, target: &str) -> Option<&Board> {
        self.boards.iter().find(|board| board.target == target)
    }
}

impl Board {
    pub fn latency_ms(&self, instructions: f64) -> f64 {
        1e-6 * self.ns_per_instruction.value * instructions
    }

    pub fn energy_mj(&self, instructions: f64) -> Option<f64> {
        let watts = self.energy.as_ref()?.watts.value;
        Some(watts * self.latency_ms(instructions))
    }
}
