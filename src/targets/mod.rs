//! The hardware that costs are estimated for: one folder for each kind, behind one interface, [`Target`].
//!
//! [`registry`] lists them. The report, the command, the page and the trainer iterate over it, so a new target needs
//! only a folder, a line in [`registry`] and tests.

pub mod boards;
pub mod choice;
mod compiled;
pub mod cortex_a;
pub mod cortex_m;
mod countable;
pub mod edge_tpu;
pub mod ethos_u;
pub mod gpu;
pub mod host;
pub mod measured_range;
mod on_board;
mod outcome;
mod peak_rates;
pub mod plausibility;
mod suggestions;
mod support;
mod target;
pub mod tflite_micro;
pub mod widening;

use std::sync::LazyLock;

pub use measured_range::MeasuredRange;
pub use outcome::{Metric, MetricEstimate, Outcome, UnavailableReason};
pub use peak_rates::PeakRates;
pub use support::{UnsupportedOperator, UnsupportedReason};
pub use target::{HostInfo, MetricInfo, Network, Shared, Target, TargetEstimate, TargetInfo};

use compiled::{compiled, ethos_u_of};
pub use compiled::{compiled_for, is_compiled};
use countable::uncountable;

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
