//! The Edge TPU as a target.

use super::mapped::{refusal, unsupported};
use super::{ARRAY_SIDE, CACHE_BYTES, CLOCK_HZ, Constants, DEVICE, TARGET, Work, work};
use crate::learned::manifest::Manifest;
use crate::provenance::{Provenance, ProvenanceKind};
use crate::targets::{
    Metric, MetricEstimate, MetricInfo, Network, Outcome, PeakRates, Target, TargetEstimate,
    TargetInfo, UnsupportedOperator, uncountable,
};

struct EdgeTpu;

/// The Edge TPU of Coral's Dev Board.
pub fn targets() -> Vec<Box<dyn Target>> {
    vec![Box::new(EdgeTpu)]
}

impl Target for EdgeTpu {
    fn id(&self) -> &str {
        TARGET
    }

    fn info(&self, _: Option<&Manifest>) -> Option<TargetInfo> {
        let constants = Constants::shipped();
        Some(TargetInfo {
            id: TARGET.into(),
            device: DEVICE.into(),
            metrics: vec![MetricInfo {
                metric: Metric::Latency,
                unit: Metric::Latency.unit(),
                expected_error_percent: Some(constants.leave_one_out.mean_percent),
            }],
            learned_from: format!(
                "modelled, fitted to {} latencies: {}",
                constants.n_latencies, constants.source
            ),
        })
    }

    fn unsupported(&self, network: &Network) -> Vec<UnsupportedOperator> {
        unsupported(network.graph)
    }

    /// The array at its clock; PCIe 2 of one lane, or USB 3, to the host.
    fn peak(&self) -> Option<PeakRates> {
        Some(PeakRates {
            macs_per_s: (ARRAY_SIDE * ARRAY_SIDE) as f64 * CLOCK_HZ,
            weight_bytes_per_s: 0.5e9,
            cached_bytes: CACHE_BYTES as f64,
        })
    }

    fn estimate(&self, network: &Network) -> TargetEstimate {
        let Network {
            graph, analysis, ..
        } = network;
        let refusal = uncountable(graph, analysis).or_else(|| refusal(graph));
        let outcome = match refusal {
            Some(reason) => Outcome::unavailable(reason),
            None => latency(&work(graph, analysis)),
        };
        TargetEstimate {
            device: DEVICE.into(),
            metrics: vec![MetricEstimate {
                metric: Metric::Latency,
                outcome,
            }],
            diagnostics: Vec::new(),
        }
    }
}

fn latency(work: &[Work]) -> Outcome {
    let constants = Constants::shipped();
    let latency_ms = |work: &Work| constants.coefficients.latency_ms(work);
    let value = latency_ms(&Work::total(work));
    let (lo, hi) = constants.leave_one_out.around(value);
    Outcome::Estimate {
        value,
        lo: Some(lo),
        hi: Some(hi),
        unit: Metric::Latency.unit(),
        provenance: Provenance::own(ProvenanceKind::Modelled, constants.in_words()),
        expected_error_percent: Some(constants.leave_one_out.mean_percent),
        operators: Some(work.iter().map(latency_ms).collect()),
    }
}
