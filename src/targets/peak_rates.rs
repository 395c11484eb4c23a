//! What hardware does at most in a second.

/// What a target reaches at most, from its maker's documents.
#[derive(Clone, Copy, Debug)]
pub struct PeakRates {
    /// Multiply-accumulates in a cycle times the clock, for the narrowest numbers, of the threads that a latency of one
    /// thread is of. Values that windows of a pooling see count as well.
    pub macs_per_s: f64,
    /// Width times rate of the memory that holds the weights.
    pub weight_bytes_per_s: f64,
    /// Weights that can stay beside the arithmetic from one inference to the next.
    pub cached_bytes: f64,
    /// Of all memories together, reading and writing, for feature maps; infinite where caches may hold them.
    pub map_bytes_per_s: f64,
    /// Feature maps that caches may hold.
    pub cached_map_bytes: f64,
    /// Of each weight and each value of a feature map, where the target runs another precision than the file's.
    pub bytes_per_value: Option<f64>,
}

impl PeakRates {
    /// Of arithmetic alone: no memory is known to set a limit.
    pub const fn of_arithmetic(macs_per_s: f64) -> Self {
        Self {
            macs_per_s,
            weight_bytes_per_s: f64::INFINITY,
            cached_bytes: 0.0,
            map_bytes_per_s: f64::INFINITY,
            cached_map_bytes: 0.0,
            bytes_per_value: None,
        }
    }

    /// Milliseconds that so many MACs and weights take at least.
    pub fn floor_ms(&self, macs: f64, weight_bytes: f64) -> f64 {
        let streamed_bytes = (weight_bytes - self.cached_bytes).max(0.0);
        1e3 * (macs / self.macs_per_s).max(streamed_bytes / self.weight_bytes_per_s)
    }

    /// Milliseconds that the network's inputs and outputs take at least.
    pub(super) fn map_floor_ms(&self, map_bytes: f64) -> f64 {
        1e3 * (map_bytes - self.cached_map_bytes).max(0.0) / self.map_bytes_per_s
    }
}
