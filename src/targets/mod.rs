//! The hardware that costs are estimated for: one folder for each kind, which implements the interface
//! [`Target`](crate::target::Target).
//!
//! [`registry`] lists them. The report, the command, the page and the trainer iterate over it, so a new target needs
//! only a folder, a line in [`registry`] and tests.

pub mod choice;
pub mod cortex_a;
pub mod cortex_m;
pub mod edge_tpu;
pub mod ethos_u;
pub mod gpu;
pub mod host;
mod on_board;
mod suggestions;
pub mod tflite_micro;

use std::sync::LazyLock;

pub use crate::target::{
    HostInfo, MeasuredRange, Metric, MetricEstimate, MetricInfo, Network, Outcome, PeakRates,
    Target, TargetEstimate, TargetInfo, UnavailableReason, UnsupportedOperator, UnsupportedReason,
    boards,
};

use crate::learned::manifest::Manifest;

/// Every target, in the order in which reports list them.
pub fn registry() -> &'static [Box<dyn Target>] {
    static REGISTRY: LazyLock<Vec<Box<dyn Target>>> = LazyLock::new(registered);
    &REGISTRY
}

/// New instances of the same targets, for a caller that keeps some of them.
pub fn registered() -> Vec<Box<dyn Target>> {
    let mut targets = ethos_u::targets();
    targets.extend(cortex_a::targets());
    targets.extend(edge_tpu::targets());
    targets.extend(tflite_micro::targets());
    targets
}

/// What is estimated for each target of the registry.
pub fn infos(manifest: Option<&Manifest>) -> Vec<TargetInfo> {
    let infos = registry().iter().map(|target| target.info(manifest));
    infos.flatten().collect()
}
