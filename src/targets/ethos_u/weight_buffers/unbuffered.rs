//! The waiting times of an operation whose weights are read off chip.
//!
//! Reproduces the reference costs that `CreateSchedulerOpInfo` in Vela's `scheduler.cpp` stores for an
//! operation before any buffer is chosen.

use crate::targets::ethos_u::accelerator::Accelerator;
use crate::targets::ethos_u::cycles::{read_bytes, whole_cycles};
use crate::targets::ethos_u::geometry::volume;
use crate::targets::ethos_u::layer::Layer;
use crate::targets::ethos_u::scheduled_operation::{Execution, ScheduledOperation, Stripe};

/// Cycles of an operation by what it waits for, without buffers.
#[derive(Clone, Copy, Debug)]
pub struct Unbuffered {
    pub computing: f64,
    /// Reading weights off chip.
    pub weights: f64,
    /// Reading the IFM off chip.
    pub input: f64,
    /// Elements of the IFM that are needed at a time: all of them, or those of a stripe.
    pub input_bytes: f64,
}

impl Unbuffered {
    pub fn new(accelerator: &Accelerator, operation: &ScheduledOperation) -> Self {
        let Some((layer, block)) = operation.execution.layer() else {
            return Self {
                computing: operation.cycles,
                weights: 0.0,
                input: 0.0,
                input_bytes: operation.bytes.ifm,
            };
        };
        // The compiler counts all channels that are computed beside the height and width of the transposed OFM.
        let moves_channels = layer.moves_channels();
        let layer = if moves_channels {
            layer.with_depth(layer.computed_channels())
        } else {
            layer
        };
        let striped = striped(&layer, operation.stripe);
        let n_stripes = n_stripes(&layer, operation.stripe);
        let computing = match operation.stripe {
            None if !moves_channels => operation.cycles,
            _ => whole_cycles(accelerator, &striped, &block) * n_stripes,
        };
        let off_chip = &accelerator.weights_off_chip;
        let weights = match operation.execution {
            Execution::Weighted { weight_bytes, .. } => {
                off_chip.cycles(weight_bytes) * block.weight_reads(&striped) as f64 * n_stripes
            }
            _ => 0.0,
        };
        let input_read_bytes = read_bytes(&striped, &block);
        Self {
            computing,
            weights,
            input: accelerator.input_off_chip.cycles(input_read_bytes) * n_stripes,
            input_bytes: volume(striped.ifm) as f64,
        }
    }

    pub fn is_computing_longest(&self) -> bool {
        self.computing > self.weights && self.computing > self.input
    }
}

/// The layer with the rows of one stripe.
pub fn striped(layer: &Layer, stripe: Option<Stripe>) -> Layer {
    stripe.map_or(*layer, |stripe| layer.with_rows(stripe.rows))
}

/// The number of stripes, of which the last may be a fraction.
pub fn n_stripes(layer: &Layer, stripe: Option<Stripe>) -> f64 {
    stripe.map_or(1.0, |stripe| {
        (layer.ofm[0] as f64 / stripe.rows.max(1) as f64).max(1.0)
    })
}
