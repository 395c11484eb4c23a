//! How a run of measurements was made, as far as its costs depend on it.

use litecast::targets::gpu::costs::PRIOR_MS;
use litecast::targets::gpu::specifications::Board;

/// A property of a run that changes costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Property {
    Training,
    ChannelsLast,
    /// By `torch.compile`, which writes kernels of its own.
    Compiled,
    /// Weights and activations in bfloat16, instead of float16 where AMP chooses it.
    Bfloat16,
}

/// How one run was measured.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    pub board: &'static Board,
    pub properties: &'static [Property],
}

impl Setting {
    /// Whether no kernel of the run has this cost.
    pub fn lacks(&self, cost: usize) -> bool {
        cost == PRIOR_MS.0 && self.properties.contains(&Property::Compiled)
    }
}
