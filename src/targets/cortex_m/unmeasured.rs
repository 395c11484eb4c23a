//! A board whose core nobody measured: its memory is counted, and its latency has a reason instead of a number.

use super::target::{FAMILY, arena, file_flash, micro_refusal, weights_flash};
use crate::learned::manifest::Manifest;
use crate::provenance::{Provenance, ProvenanceKind};
use crate::target::boards::Board;
use crate::target::{
    Description, Metric, MetricEstimate, MetricInfo, Network, Outcome, Target, TargetEstimate,
    TargetInfo, UnavailableReason, UnsupportedOperator, compiled, uncountable,
};

/// The board under TensorFlow Lite Micro, which runs on any core.
pub struct UnmeasuredBoard(pub &'static Board);

/// The reason why a board with this core has no latency.
pub fn never_measured(core: &str) -> UnavailableReason {
    let article = if core.starts_with('X') { "an" } else { "a" };
    UnavailableReason::OfTarget {
        code: "core-never-measured",
        words: format!("no board with {article} {core} was measured"),
    }
}

impl UnmeasuredBoard {
    fn device(&self) -> String {
        format!("{}, TensorFlow Lite Micro", self.0.name)
    }
}

impl Target for UnmeasuredBoard {
    fn id(&self) -> &'static str {
        "tflite-micro"
    }

    fn description(&self) -> Description {
        Description::new(&FAMILY, self.0.name.clone(), "TensorFlow Lite Micro")
    }

    fn info(&self, _: Option<&Manifest>) -> Option<TargetInfo> {
        let metrics = [Metric::WeightsFlash, Metric::FileFlash, Metric::Arena];
        let counted = "the file alone";
        Some(TargetInfo {
            id: self.id().into(),
            device: self.device(),
            metrics: metrics
                .map(|metric| MetricInfo {
                    metric,
                    unit: metric.unit(),
                    expected_error_percent: None,
                })
                .into(),
            learned_from: counted.into(),
            provenance: Provenance::own(ProvenanceKind::Exact, counted.into()),
        })
    }

    fn unsupported(&self, _: &Network) -> Vec<UnsupportedOperator> {
        Vec::new()
    }

    fn runs_integers_alone(&self) -> bool {
        false
    }

    fn estimate(&self, network: &Network) -> TargetEstimate {
        let (graph, analysis) = (network.graph, network.analysis);
        let refusal = uncountable(graph, analysis)
            .or_else(|| compiled(graph))
            .or_else(|| micro_refusal(graph));
        let or_refused = |outcome: &dyn Fn() -> Outcome| match &refusal {
            Some(reason) => Outcome::unavailable(reason.clone()),
            None => outcome(),
        };
        let latency = || Outcome::unavailable(never_measured(&self.0.core));
        let metrics = [
            (Metric::Latency, or_refused(&latency)),
            (
                Metric::WeightsFlash,
                or_refused(&|| weights_flash(analysis)),
            ),
            (Metric::FileFlash, or_refused(&|| file_flash(graph.model))),
        ];
        let metrics = metrics.map(|(metric, outcome)| MetricEstimate { metric, outcome });
        TargetEstimate {
            device: self.device(),
            metrics: (metrics.into_iter()).chain([arena(network)]).collect(),
            diagnostics: Vec::new(),
        }
    }
}
