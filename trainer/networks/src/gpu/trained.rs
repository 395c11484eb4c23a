//! The stored result of a training.

use serde::{Deserialize, Serialize};

/// Estimates of the networks that were left out of a training.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Trained {
    pub training_sha256: String,
    pub n_graphs: usize,
    pub n_columns: usize,
    pub n_weights: usize,
    /// Epoch with the smallest validation error.
    pub best_epoch: usize,
    pub wall_time_s: f64,
    /// Case, output, and milliseconds per input, of each network that was left out.
    pub estimates: Vec<(usize, usize, f64)>,
}
