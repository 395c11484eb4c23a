//! TensorFlow Lite Micro's arena: its activation part, which follows exactly from the file and is the same on any
//! microcontroller, and the whole arena with the kernels of a microcontroller.

mod code;
mod persistent;
mod scratch;
mod structures;

pub use code::{Bytes, code_flash_bytes};
pub use persistent::{Pointers, persistent_bytes};
pub use scratch::{Kernels, scratch};

use crate::graph::Graph;
use crate::graph::analysis::memory_plan::memory_plan;
use crate::graph::analysis::unplannable::Unplannable;
use crate::learned::manifest::Manifest;
use crate::provenance::{Provenance, ProvenanceKind, Reference};
use crate::targets::{
    Metric, MetricEstimate, Network, Outcome, Target, TargetEstimate, TargetInfo,
    UnavailableReason, UnsupportedOperator,
};

const TARGET: &str = "tflite-micro";
const DEVICE: &str = "TensorFlow Lite Micro, any microcontroller";

struct TfliteMicro;

/// The one target of this folder.
pub fn targets() -> Vec<Box<dyn Target>> {
    vec![Box::new(TfliteMicro)]
}

impl Target for TfliteMicro {
    fn id(&self) -> &str {
        TARGET
    }

    /// There are no errors to state, because the arena is counted and not estimated.
    fn info(&self, _: Option<&Manifest>) -> Option<TargetInfo> {
        None
    }

    fn unsupported(&self, _: &Network) -> Vec<UnsupportedOperator> {
        Vec::new()
    }

    fn estimate(&self, network: &Network) -> TargetEstimate {
        let outcome = match &network.analysis.memory_plan {
            Some(plan) => Outcome::Estimate {
                value: plan.arena_bytes as f64,
                lo: None,
                hi: None,
                unit: Metric::Arena.unit(),
                provenance: Provenance::own(
                    ProvenanceKind::Exact,
                    "greedy memory planner, activations only".into(),
                ),
                expected_error_percent: None,
                operators: None,
            },
            None => Outcome::unavailable(UnavailableReason::ShapeAtRunTime),
        };
        TargetEstimate {
            device: DEVICE.into(),
            metrics: vec![MetricEstimate {
                metric: Metric::Arena,
                outcome,
            }],
            diagnostics: Vec::new(),
        }
    }
}

/// Bytes of the whole arena: activations and working buffers as the planner places them, and the
/// persistent part. Quadratic in activations, up to a limit.
pub fn arena_bytes(
    graph: &Graph,
    kernels: Kernels,
    pointers: Pointers,
) -> Result<u64, Unplannable> {
    let buffers = scratch(graph, kernels);
    let plan = memory_plan(graph, &buffers)?;
    let persistent = persistent_bytes(graph.model, buffers.len(), pointers);
    plan.arena_bytes
        .checked_add(persistent)
        .ok_or(Unplannable::Overflow)
}

/// The whole arena on a microcontroller with CMSIS-NN.
pub(super) fn arena(network: &Network) -> MetricEstimate {
    let outcome = match arena_bytes(network.graph, Kernels::CmsisNnDsp, Pointers::Bits32) {
        Ok(bytes) => Outcome::Estimate {
            value: bytes as f64,
            lo: Some(((bytes as f64 * (1.0 - ARENA_MARGIN)).floor() - ARENA_MARGIN_BYTES).max(0.0)),
            hi: Some((bytes as f64 * (1.0 + ARENA_MARGIN) + ARENA_MARGIN_BYTES).ceil()),
            unit: Metric::Arena.unit(),
            provenance: Provenance::own(
                ProvenanceKind::Modelled,
                "greedy memory planner with the working buffers of CMSIS-NN, and the persistent part".into(),
            )
            .against(Reference::Runtime),
            expected_error_percent: None,
            operators: None,
        },
        Err(_) => Outcome::unavailable(UnavailableReason::ShapeAtRunTime),
    };
    MetricEstimate {
        metric: Metric::Arena,
        outcome,
    }
}

/// Share by which other releases of the interpreter and of the kernels may differ.
const ARENA_MARGIN: f64 = 0.05;
const ARENA_MARGIN_BYTES: f64 = 512.0;
