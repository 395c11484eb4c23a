//! TensorFlow Lite Micro: which operators its kernels run, and the arena that `AllocateTensors` needs.

mod arena;
mod code;
mod custom_options;
mod demands;
mod file;
mod kernels;
mod persistent;
mod scales;
mod scratch;
mod structures;
mod support;

pub use arena::{allocation_obstacle, arena_bytes, arena_or_reason, obstacle};
pub use code::{Bytes, code_flash_bytes};
pub use file::file_bytes;
pub use persistent::{Pointers, persistent_bytes};
pub use scratch::{Kernels, scratch};
#[cfg(test)]
pub use support::kernel_types;
pub use support::{Refusal, Refused, ethos_u_of_file, refusal_of, refused, resolver_calls};

use crate::learned::manifest::Manifest;
use crate::provenance::{Provenance, ProvenanceKind, Reference};
use crate::target::{
    Description, Family, Metric, MetricEstimate, Network, Outcome, Target, TargetEstimate,
    TargetInfo, UnavailableReason, UnsupportedOperator,
};

const TARGET: &str = "tflite-micro";
const DEVICE: &str = "TensorFlow Lite Micro, any microcontroller";

/// The family of these targets.
pub const FAMILY: Family = Family {
    id: "any-microcontroller",
    label: "Any microcontroller",
    group: None,
    is_accelerator: false,
    durations: None,
};

struct TfliteMicro;

/// The one target of this folder.
pub fn targets() -> Vec<Box<dyn Target>> {
    vec![Box::new(TfliteMicro)]
}

impl Target for TfliteMicro {
    fn id(&self) -> &str {
        TARGET
    }

    fn description(&self) -> Description {
        Description::new(&FAMILY, "Any microcontroller", "TensorFlow Lite Micro")
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

/// What TensorFlow Lite Micro's `AllocateTensors` needs, or why it fails. Every microcontroller asks for it.
struct ArenaBytes(Result<u64, UnavailableReason>);

fn arena_bytes_of<'n>(network: &'n Network) -> &'n Result<u64, UnavailableReason> {
    let ArenaBytes(bytes) =
        network.shared(|| ArenaBytes(arena_or_reason(network.graph, network.analysis)));
    bytes
}

/// The whole arena on a microcontroller with CMSIS-NN.
pub(super) fn arena(network: &Network) -> MetricEstimate {
    let outcome = match arena_bytes_of(network) {
        Ok(bytes) => {
            let bytes = *bytes as f64;
            Outcome::Estimate {
                value: bytes,
                lo: Some(((bytes * (1.0 - ARENA_MARGIN)).floor() - ARENA_MARGIN_BYTES).max(0.0)),
                hi: Some(max_arena_bytes(bytes)),
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

/// The upper end of the interval around an arena.
pub fn max_arena_bytes(arena_bytes: f64) -> f64 {
    (arena_bytes * (1.0 + ARENA_MARGIN) + ARENA_MARGIN_BYTES).ceil()
}

/// Share by which other releases of the interpreter and of the kernels may differ.
const ARENA_MARGIN: f64 = 0.05;
const ARENA_MARGIN_BYTES: f64 = 512.0;
