//! TensorFlow Lite Micro on any microcontroller: the activation part of its arena, which follows
//! exactly from the file.

use crate::learned::manifest::Manifest;
use crate::provenance::{Provenance, ProvenanceKind};
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

    /// Nothing is estimated: the arena is counted.
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
