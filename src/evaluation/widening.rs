//! Wider intervals for latencies outside of the measured range.

use crate::target::measured_range::{Beyond, MIN_REPORTED_FACTOR};
use crate::target::{Metric, MetricEstimate, Network, Outcome, Target, TargetEstimate};

/// Metrics that follow from the latency.
const OF_LATENCY: [Metric; 5] = [
    Metric::Latency,
    Metric::NpuLatency,
    Metric::Energy,
    Metric::Throughput,
    Metric::TrainingStep,
];

/// Widens the intervals of a latency outside of the target's measured range, and of the metrics that follow from it.
pub fn widen(
    target: &dyn Target,
    network: &Network,
    estimate: &mut TargetEstimate,
) -> Option<Beyond> {
    let of_latency = (estimate.metrics.iter()).find(|one| one.metric == Metric::Latency)?;
    let Outcome::Estimate { value, .. } = &of_latency.outcome else {
        return None;
    };
    let beyond = target.measured_range(network)?.beyond(*value)?;
    let follows = |one: &&mut MetricEstimate| OF_LATENCY.contains(&one.metric);
    for one in estimate.metrics.iter_mut().filter(follows) {
        widen_one(&mut one.outcome, beyond);
    }
    Some(beyond)
}

fn widen_one(outcome: &mut Outcome, beyond: Beyond) {
    let Outcome::Estimate {
        value,
        lo,
        hi,
        expected_error_percent,
        provenance,
        ..
    } = outcome
    else {
        return;
    };
    // Nothing out there was measured, so that no level was checked.
    provenance.interval_percent = None;
    let moved = |end: f64| {
        if *value > 0.0 && end > 0.0 {
            let moved = *value * beyond.grown_interval_factor(end / *value);
            moved.clamp(f64::MIN_POSITIVE, f64::MAX)
        } else {
            end
        }
    };
    *lo = lo.map(moved);
    *hi = hi.map(moved);
    if beyond.factor >= MIN_REPORTED_FACTOR {
        *expected_error_percent = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::provenance::{Provenance, ProvenanceKind};

    /// By hand: a hundred times the longest latency that was measured.
    #[test]
    fn intervals_are_wider_beyond_what_was_measured() {
        let beyond = Beyond {
            factor: 100.0,
            is_longer: true,
        };
        let mut outcome = Outcome::Estimate {
            value: 5000.0,
            lo: Some(2500.0),
            hi: Some(10_000.0),
            unit: "ms",
            provenance: Provenance::own(ProvenanceKind::Modelled, String::new()),
            expected_error_percent: Some(5.0),
            operators: None,
        };
        widen_one(&mut outcome, beyond);
        let Outcome::Estimate {
            lo: Some(lo),
            hi: Some(hi),
            expected_error_percent,
            ..
        } = outcome
        else {
            panic!("an estimate");
        };
        assert!((lo - 625.0).abs() < 1e-9, "{lo}");
        assert!((hi - 40_000.0).abs() < 1e-9, "{hi}");
        assert_eq!(expected_error_percent, None);
    }
}
