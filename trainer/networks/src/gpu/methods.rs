//! The graph networks that are compared, with their sizes.

use super::features::ROOFLINES;
use crate::gnn::gradients::Gradients;
use crate::gnn::shape::Architecture;
use crate::settings::Settings;

/// A network with its outputs.
#[derive(Debug)]
pub struct Method {
    pub id: &'static str,
    pub words: &'static str,
    architecture: Architecture,
    gradients: Gradients,
    /// Outputs of each training; outputs of one training share a network.
    pub trainings: &'static [&'static [usize]],
    /// Whether its estimate is a correction of the roofline of each kernel.
    pub has_roofline: bool,
}

const TOGETHER: &[&[usize]] = &[&[0, 1]];
const ALONE: &[&[usize]] = &[&[0], &[1]];

pub const METHODS: [Method; 5] = [
    Method {
        id: "nnlp",
        words: "NNLP",
        architecture: Architecture::Nnlp,
        gradients: Gradients::Summed,
        trainings: TOGETHER,
        has_roofline: false,
    },
    Method {
        id: "dippm",
        words: "DIPPM",
        architecture: Architecture::Dippm,
        gradients: Gradients::Summed,
        trainings: TOGETHER,
        has_roofline: false,
    },
    Method {
        id: "seernet",
        words: "SeerNet",
        architecture: Architecture::Seernet,
        gradients: Gradients::Summed,
        trainings: ALONE,
        has_roofline: false,
    },
    Method {
        id: "seernet-multi",
        words: "SeerNet-Multi",
        architecture: Architecture::Seernet,
        gradients: Gradients::Pcgrad,
        trainings: TOGETHER,
        has_roofline: false,
    },
    Method {
        id: "per-operator",
        words: "network for each kernel over the roofline",
        architecture: Architecture::PerOperator,
        gradients: Gradients::Summed,
        trainings: TOGETHER,
        has_roofline: true,
    },
];

/// Width of all networks. The published ones have 256 to 512, for ten to fifty times as many graphs.
const HIDDEN: usize = 64;
const EPOCHS: usize = 60;
const PATIENCE: usize = 15;
const BATCH: usize = 16;

impl Method {
    /// All networks have the same epochs, patience, batch size and learning rates, and a loss of logarithms that leads
    /// to a small mean absolute percentage error.
    pub fn settings(&self, seed: u64) -> Settings {
        Settings {
            architecture: self.architecture,
            gradients: self.gradients,
            hidden: HIDDEN,
            head: HIDDEN * 2,
            epochs: EPOCHS,
            log_loss_epochs: EPOCHS,
            patience: PATIENCE,
            batch: BATCH,
            ramp_steps: 100,
            seed: seed + 1,
            ..Settings::default()
        }
    }

    /// Columns that are hidden from the network.
    pub fn hidden_columns(&self) -> &'static [usize] {
        if self.has_roofline { &[] } else { &ROOFLINES }
    }
}
