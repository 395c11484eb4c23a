//! Replaces the trained network without the feature `tract`. The types have no values, so a
//! [`Predictor`](super::predictor::Predictor) cannot exist either, and no other code needs conditional compilation.

use crate::learned::batch::Batch;

/// There is none.
pub enum PredictorNetwork {}

/// There is none.
#[derive(Debug, thiserror::Error)]
pub enum NetworkError {}

impl PredictorNetwork {
    /// Never called.
    pub fn run(&self, _: &Batch) -> Result<Vec<Vec<f32>>, NetworkError> {
        match *self {}
    }
}
