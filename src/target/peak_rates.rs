//! Peak rates of hardware.

/// Peak rates of a target, from its maker's documents.
#[derive(Clone, Copy, Debug)]
pub struct PeakRates {
    /// Peak multiply-accumulates per second: those per cycle times the clock, for the narrowest numbers, on the threads
    /// that a one-thread latency covers. Values in the windows of a pooling count as well.
    pub macs_per_s: f64,
    /// Bandwidth of the memory that holds the weights: its width times its rate.
    pub weight_bytes_per_s: f64,
    /// Weights that can stay beside the arithmetic from one inference to the next.
    pub cached_bytes: f64,
    /// Bandwidth of all memories together for reading and writing feature maps; infinite if caches may hold them.
    pub map_bytes_per_s: f64,
    /// Feature maps that caches may hold.
    pub cached_map_bytes: f64,
    /// Bytes of each weight and each value of a feature map, if the target runs a different precision than the file's.
    pub bytes_per_value: Option<f64>,
}

impl PeakRates {
    /// Peak rates of arithmetic only, if no limit of the memories is known.
    pub const fn from_arithmetic(macs_per_s: f64) -> Self {
        Self {
            macs_per_s,
            weight_bytes_per_s: f64::INFINITY,
            cached_bytes: 0.0,
            map_bytes_per_s: f64::INFINITY,
            cached_map_bytes: 0.0,
            bytes_per_value: None,
        }
    }

    /// Lower bound of the time of `macs` and weights, in milliseconds.
    pub fn floor_ms(&self, macs: f64, weight_bytes: f64) -> f64 {
        let streamed_bytes = (weight_bytes - self.cached_bytes).max(0.0);
        1e3 * (macs / self.macs_per_s).max(streamed_bytes / self.weight_bytes_per_s)
    }

    /// Milliseconds that the network's inputs and outputs take at least.
    pub fn map_floor_ms(&self, map_bytes: f64) -> f64 {
        1e3 * (map_bytes - self.cached_map_bytes).max(0.0) / self.map_bytes_per_s
    }
}
