//! TensorFlow Lite Micro: which operators its kernels run, and the arena that `AllocateTensors` needs.

mod code;
mod persistent;
mod scratch;
mod structures;
mod support;

pub use code::{Bytes, code_flash_bytes};
pub use persistent::{Pointers, persistent_bytes};
pub use scratch::{Kernels, scratch};
pub use support::{Refusal, Refused, ethos_u_of_file, refused, resolver_calls};

use std::collections::BTreeSet;

use crate::diagnostic::some_of;
use crate::graph::Graph;
use crate::graph::analysis::memory_plan::memory_plan;
use crate::graph::analysis::unplannable::Unplannable;
use crate::graph::missing_shapes::COMPUTED_SHAPES;
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

    /// There are no errors to state: the arena follows from the rules of the interpreter.
    fn info(&self, _: Option<&Manifest>) -> Option<TargetInfo> {
        None
    }

    /// No other processor runs what the interpreter refuses: there is no arena instead.
    fn unsupported(&self, _: &Network) -> Vec<UnsupportedOperator> {
        Vec::new()
    }

    fn estimate(&self, network: &Network) -> TargetEstimate {
        TargetEstimate {
            device: DEVICE.into(),
            metrics: vec![arena(network)],
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

/// What `AllocateTensors` needs on a microcontroller with CMSIS-NN, or why it fails. As [`arena_bytes`].
pub fn arena_or_reason(graph: &Graph) -> Result<u64, UnavailableReason> {
    if let Some(reason) = obstacle(graph, &refused(graph.model)) {
        return Err(reason);
    }
    arena_bytes(graph, Kernels::CmsisNnDsp, Pointers::Bits32)
        .map_err(|_| UnavailableReason::ShapeAtRunTime)
}

/// Why TensorFlow Lite Micro does not run a file: it has no operators, it does not store all shapes, or no kernel runs
/// `refused`.
pub fn obstacle(graph: &Graph, refused: &[Refused]) -> Option<UnavailableReason> {
    if graph.nodes.is_empty() {
        return Some(UnavailableReason::NoOperators);
    }
    if !refused.is_empty() {
        return Some(refusal(refused));
    }
    let diagnostics = &graph.model.diagnostics;
    let is_computed = diagnostics.iter().any(|one| one.code == COMPUTED_SHAPES);
    is_computed.then(|| UnavailableReason::OfTarget {
        code: "computed-shapes",
        words: "TensorFlow Lite Micro needs a file that stores the shape of every tensor".into(),
    })
}

fn refusal(refused: &[Refused]) -> UnavailableReason {
    let words: BTreeSet<String> = refused.iter().map(Refused::to_string).collect();
    UnavailableReason::OfTarget {
        code: "unsupported-operators",
        words: format!(
            "TensorFlow Lite Micro does not run {}",
            some_of(words.iter().map(String::as_str), "; ")
        ),
    }
}

/// The whole arena on a microcontroller with CMSIS-NN.
pub(super) fn arena(network: &Network) -> MetricEstimate {
    let outcome = match network.arena_bytes() {
        Ok(bytes) => {
            let bytes = *bytes as f64;
            Outcome::Estimate {
                value: bytes,
                lo: Some(((bytes * (1.0 - ARENA_MARGIN)).floor() - ARENA_MARGIN_BYTES).max(0.0)),
                hi: Some((bytes * (1.0 + ARENA_MARGIN) + ARENA_MARGIN_BYTES).ceil()),
                unit: Metric::Arena.unit(),
                provenance: Provenance::own(
                    ProvenanceKind::Modelled,
                    "greedy memory planner with the working buffers of CMSIS-NN, and the persistent part".into(),
                )
                .against(Reference::Runtime),
                expected_error_percent: None,
                operators: None,
            }
        }
        Err(reason) => Outcome::unavailable(reason.clone()),
    };
    MetricEstimate {
        metric: Metric::Arena,
        outcome,
    }
}

/// Share by which other releases of the interpreter and of the kernels may differ.
const ARENA_MARGIN: f64 = 0.05;
const ARENA_MARGIN_BYTES: f64 = 512.0;
