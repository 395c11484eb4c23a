//! What is kept of a training.

use serde::{Deserialize, Serialize};

/// A network that was trained on a fold, by its estimates of the networks that were left out.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Trained {
    pub training_sha256: String,
    pub n_graphs: usize,
    pub n_columns: usize,
    pub n_weights: usize,
    /// Until validation was best.
    pub best_epoch: usize,
    pub wall_time_s: f64,
    /// Case, output and milliseconds an input, of the networks that were left out.
    pub estimates: Vec<(usize, usize, f64)>,
}
