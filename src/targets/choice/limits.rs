//! Ranges of the rates that may be chosen.

/// Range of clocks that are accepted; no processor or accelerator is clocked lower or higher.
pub const MIN_CLOCK_MHZ: f64 = 0.01;
pub const MAX_CLOCK_MHZ: f64 = 10_000.0;
/// Range of off-chip bandwidths that are accepted, in bytes per second.
pub(super) const MIN_BANDWIDTH: f64 = 1e5;
pub(super) const MAX_BANDWIDTH: f64 = 1e12;
/// Of one inference, in milliseconds.
pub(super) const MIN_LATENCY_MS: f64 = 1e-3;
pub(super) const MAX_LATENCY_MS: f64 = 1e6;
