//! The hardware that costs are estimated for: one folder for each kind, which implements the interface
//! [`Target`](crate::target::Target).
//!
//! `KINDS` lists the folders. The report, the command, the page, the packages and the trainer iterate over it.

pub mod choice;
pub mod cortex_a;
pub mod cortex_m;
pub mod edge_tpu;
pub mod ethos_u;
#[cfg(test)]
mod example;
pub mod gpu;
pub mod host;
pub mod learned_accelerators;
pub mod measured_device;
mod on_board;
#[cfg(test)]
mod operator_table;
mod suggestions;
pub mod tflite_micro;

use std::sync::{Arc, LazyLock};

use serde::Serialize;

pub use crate::target::{
    Advice, Description, Durations, Family, HostInfo, MeasuredRange, Metric, MetricEstimate,
    MetricInfo, Network, Outcome, PeakRates, Place, Target, TargetEstimate, TargetInfo,
    TargetOption, UnavailableReason, UnsupportedOperator, UnsupportedReason, boards,
};

use crate::learned::manifest::Manifest;
use crate::target::fitted::Bundle;

/// The targets of one folder.
struct Kind {
    family: &'static Family,
    /// Those that every report is of.
    registered: fn() -> Vec<Box<dyn Target>>,
    /// All of them, in their default configurations.
    all: fn() -> Vec<Box<dyn Target>>,
}

/// Every kind, in the order in which reports and lists have them.
const KINDS: &[Kind] = &[
    Kind {
        family: &ethos_u::FAMILY,
        registered: ethos_u::targets,
        all: ethos_u::all_targets,
    },
    Kind {
        family: &cortex_a::FAMILY,
        registered: cortex_a::targets,
        all: cortex_a::targets,
    },
    Kind {
        family: &edge_tpu::FAMILY,
        registered: edge_tpu::targets,
        all: edge_tpu::targets,
    },
    Kind {
        family: &tflite_micro::FAMILY,
        registered: tflite_micro::targets,
        all: tflite_micro::targets,
    },
    Kind {
        family: &learned_accelerators::FAMILY,
        registered: Vec::new,
        all: learned_accelerators::shipped_targets,
    },
    Kind {
        family: &cortex_m::FAMILY,
        registered: Vec::new,
        all: cortex_m::targets,
    },
    Kind {
        family: &gpu::FAMILY,
        registered: Vec::new,
        all: gpu::shipped_targets,
    },
    #[cfg(test)]
    Kind {
        family: &example::FAMILY,
        registered: Vec::new,
        all: example::targets,
    },
];

/// The family of each kind, in the same order, apart from the functions that make targets: what asks for families alone is
/// linked without them.
pub const FAMILIES: [&Family; KINDS.len()] = {
    let mut families = [KINDS[0].family; KINDS.len()];
    let mut idx = 0;
    while idx < KINDS.len() {
        families[idx] = KINDS[idx].family;
        idx += 1;
    }
    families
};

/// The targets that every report is of, in the order in which it lists them.
pub fn registry() -> &'static [Box<dyn Target>] {
    static REGISTRY: LazyLock<Vec<Box<dyn Target>>> = LazyLock::new(registered);
    &REGISTRY
}

/// New instances of the same targets, for a caller that keeps some of them.
pub fn registered() -> Vec<Box<dyn Target>> {
    let kinds = KINDS.iter();
    kinds.flat_map(|kind| (kind.registered)()).collect()
}

/// Constants in files of their own, as far as they are known: those that the library contains, or that a program loaded.
#[derive(Clone, Debug, Default)]
pub struct Loaded {
    pub gpus: Option<Arc<Bundle>>,
    pub learned: Option<Arc<Bundle>>,
}

impl Loaded {
    /// Those that the library contains.
    pub fn shipped() -> Self {
        Self {
            gpus: gpu::shipped().cloned(),
            learned: learned_accelerators::shipped().cloned(),
        }
    }
}

/// Every target that a choice may name, in its default configuration. Those whose constants are in files of their own are
/// among them if the library contains them.
pub fn known() -> impl Iterator<Item = Box<dyn Target>> {
    KINDS.iter().flat_map(|kind| (kind.all)())
}

/// What is estimated for each target of the registry.
pub fn infos(manifest: Option<&Manifest>) -> Vec<TargetInfo> {
    let infos = registry().iter().map(|target| target.info(manifest));
    infos.flatten().collect()
}

/// A target as programs list it.
#[derive(Debug, Serialize)]
pub struct ListedTarget {
    #[serde(flatten)]
    pub info: TargetInfo,
    pub description: Description,
}

/// Those of `targets` whose metrics are known, with what they are.
pub fn listed<'t>(
    targets: impl Iterator<Item = &'t Box<dyn Target>>,
    manifest: Option<&Manifest>,
) -> Vec<ListedTarget> {
    let listed = targets.filter_map(|target| {
        Some(ListedTarget {
            info: target.info(manifest)?,
            description: target.description(),
        })
    });
    listed.collect()
}
