//! What stands for the trained network without the feature `tract`: types that no value has, so that there is no
//! [`Predictor`](super::predictor::Predictor) either, and nothing else has to ask.

use crate::learned::packed::Batch;

/// There is none.
pub enum Network {}

/// There is none.
#[derive(Debug, thiserror::Error)]
pub enum NetworkError {}

impl Network {
    /// Never called.
    pub fn run(&self, _: &Batch) -> Result<Vec<Vec<f32>>, NetworkError> {
        match *self {}
    }
}
