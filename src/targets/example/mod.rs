//! The smallest complete target, for `ARCHITECTURE.md`: hardware that multiplies once a cycle and does nothing else. It
//! is part of unit tests alone, because nothing was measured on such hardware.

use crate::learned::manifest::Manifest;
use crate::provenance::{Provenance, ProvenanceKind};
use crate::target::{
    Description, Family, Metric, MetricEstimate, MetricInfo, Network, Outcome, PeakRates, Target,
    TargetEstimate, TargetInfo, UnsupportedOperator, uncountable,
};

const TARGET: &str = "example";
const DEVICE: &str = "Example, one multiplier at 1 GHz";
const CLOCK_HZ: f64 = 1e9;

/// The family of these targets.
pub const FAMILY: Family = Family {
    id: "examples",
    label: "Examples",
    group: None,
    is_accelerator: false,
    durations: None,
};

struct Example;

/// The one target of this folder.
pub fn targets() -> Vec<Box<dyn Target>> {
    vec![Box::new(Example)]
}

impl Target for Example {
    fn id(&self) -> &str {
        TARGET
    }

    fn description(&self) -> Description {
        Description::new(&FAMILY, "Example", "No runtime")
    }

    fn info(&self, _: Option<&Manifest>) -> Option<TargetInfo> {
        Some(TargetInfo {
            id: TARGET.into(),
            device: DEVICE.into(),
            metrics: vec![MetricInfo {
                metric: Metric::Latency,
                unit: Metric::Latency.unit(),
                expected_error_percent: None,
            }],
            learned_from: "one multiply-accumulate per cycle".into(),
            provenance: provenance(),
        })
    }

    fn unsupported(&self, _: &Network) -> Vec<UnsupportedOperator> {
        Vec::new()
    }

    /// None: peak rates bound poolings as well, and this formula leaves them out.
    fn peak(&self) -> Option<PeakRates> {
        None
    }

    fn estimate(&self, network: &Network) -> TargetEstimate {
        let outcome = match uncountable(network.graph, network.analysis) {
            Some(reason) => Outcome::unavailable(reason),
            None => latency(network),
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

/// Nobody measured it, so that there is no interval.
fn latency(network: &Network) -> Outcome {
    let costs = network.analysis.costs.iter();
    let operators_ms: Vec<f64> = costs
        .map(|cost| 1e3 * cost.macs as f64 / CLOCK_HZ)
        .collect();
    Outcome::Estimate {
        value: operators_ms.iter().sum(),
        lo: None,
        hi: None,
        unit: Metric::Latency.unit(),
        provenance: provenance(),
        expected_error_percent: None,
        operators: Some(operators_ms),
    }
}

fn provenance() -> Provenance {
    Provenance::own(
        ProvenanceKind::Modelled,
        "multiply-accumulates at 1 GHz".into(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::estimate::{ModelFile, estimate_on};
    use crate::provenance::Evidence;
    use crate::targets::choice::{Choice, did_you_mean};
    use crate::targets::{known, listed};

    /// By its folder and its line among the kinds alone.
    #[test]
    fn a_registered_target_is_chosen_listed_and_estimated() {
        let choice = Choice {
            target: Some(TARGET.to_owned()),
            ..Choice::default()
        };
        let target = choice.target().unwrap();
        let known: Vec<_> = known().collect();
        let listed = listed(known.iter(), None);
        assert!(
            listed
                .iter()
                .any(|one| one.info.id == TARGET && one.description.family == &FAMILY)
        );
        assert!(did_you_mean("exampel", false).contains(DEVICE));
        let bytes = std::fs::read("www/examples/cnn-kws-s7-i43.tflite").unwrap();
        let file = ModelFile::new("cnn-kws-s7-i43.tflite", &bytes);
        let report = estimate_on(&[file], None, &[target]).unwrap().remove(0);
        let report = report.unwrap();
        let [result] = &report.results[..] else {
            panic!("{:?}", report.results)
        };
        assert_eq!(result.evidence, Some(Evidence::Assumed));
        let Outcome::Estimate { value, .. } = result.outcome else {
            panic!("{:?}", result.outcome)
        };
        let expected_ms = report.model.macs as f64 * 1e-6;
        println!("{value} ms, expected {expected_ms}");
        assert!((value - expected_ms).abs() < 1e-9 * expected_ms);
    }
}
