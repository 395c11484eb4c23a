//! Finds the Ethos-U accelerators that meet limits on latency and SRAM for one network, their clocks, and the smallest
//! of them.

use serde::{Deserialize, Serialize};

use crate::diagnostic::Severity;
use crate::provenance::Evidence;
use crate::report::{Report, ReportDiagnostic, TargetResult};
use crate::target::{Metric, Outcome};
use crate::targets::ethos_u::configuration::{Configuration, Product};

/// Highest clock of these accelerators in silicon, in MHz.
pub const MAX_CLOCK_MHZ: f64 = 1000.0;

/// An estimate and its interval, in ms or bytes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Estimated {
    /// The estimate.
    pub value: f64,
    /// Lower end of its interval.
    pub lo: Option<f64>,
    /// Upper end of its interval.
    pub hi: Option<f64>,
    /// What it rests on, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evidence: Option<Evidence>,
}

impl Estimated {
    /// The number that is compared with a limit: the upper end of the interval, or the estimate if it has no interval.
    fn value_to_compare(&self) -> f64 {
        self.hi.unwrap_or(self.value)
    }

    /// This with `more` of a part times `factor`: each end with that of the part, or with its value where it has none.
    fn plus_scaled(self, part: Self, factor: f64) -> Self {
        let both = |end: f64, part_end: Option<f64>| end + factor * part_end.unwrap_or(part.value);
        let value = both(self.value, Some(part.value)).max(0.0);
        // Intervals that were widened apart from each other may cross.
        Self {
            value,
            lo: self.lo.map(|lo| both(lo, part.lo).clamp(0.0, value)),
            hi: self.hi.map(|hi| both(hi, part.hi).max(value)),
            evidence: self.evidence,
        }
    }
}

/// Limits that an accelerator has to meet. Those that are absent are not checked.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Limits {
    /// Maximum latency of one inference, in ms.
    pub latency_ms: Option<f64>,
    /// Maximum SRAM peak, in bytes.
    pub sram_bytes: Option<f64>,
    /// Highest clock that the accelerator may run at, in MHz.
    #[serde(default = "max_clock_mhz")]
    pub clock_mhz: f64,
}

fn max_clock_mhz() -> f64 {
    MAX_CLOCK_MHZ
}

/// An accelerator with estimates at its default clock.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Candidate {
    /// Id of the target.
    pub target: String,
    /// The hardware in words.
    pub device: String,
    /// 8-bit multiply-accumulates per cycle.
    pub macs_per_cycle: u32,
    /// Clock of the estimates, in MHz.
    pub clock_mhz: f64,
    /// Latency of one inference of the whole network at that clock, in ms.
    pub latency_ms: Estimated,
    /// The part of it that the accelerator runs, which alone changes with the clock; absent where that is all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub npu_latency_ms: Option<Estimated>,
    /// SRAM peak, in bytes.
    pub sram_bytes: Option<Estimated>,
}

impl Candidate {
    /// Latency at another clock of the accelerator: what the processor beside it takes stays.
    fn latency_at(&self, clock_mhz: f64) -> Estimated {
        let part = self.npu_latency_ms.unwrap_or(self.latency_ms);
        self.latency_ms
            .plus_scaled(part, self.clock_mhz / clock_mhz - 1.0)
    }

    /// Clock from which the latency is within a limit; `None` if that without the accelerator's part is not.
    fn needed_mhz(&self, limit_ms: f64) -> Option<f64> {
        let part_ms = self
            .npu_latency_ms
            .unwrap_or(self.latency_ms)
            .value_to_compare();
        let held_ms = self.latency_ms.value_to_compare();
        let left_ms = limit_ms - (held_ms - part_ms);
        let needed_mhz = (left_ms > 0.0).then(|| self.clock_mhz * part_ms / left_ms);
        if held_ms <= limit_ms {
            // However a difference of large numbers is rounded.
            Some(needed_mhz.map_or(self.clock_mhz, |mhz| mhz.min(self.clock_mhz)))
        } else {
            needed_mhz
        }
    }

    /// An accelerator whose estimates are for `clock_mhz`; none where it has no latency.
    #[doc(hidden)]
    pub fn new(
        product: Product,
        clock_mhz: f64,
        estimate: impl Fn(Metric) -> Option<Estimated>,
    ) -> Option<Self> {
        Some(Self {
            target: product.name().to_owned(),
            device: product.device(),
            macs_per_cycle: product.macs_per_cycle(),
            clock_mhz,
            latency_ms: estimate(Metric::Latency)?,
            npu_latency_ms: estimate(Metric::NpuLatency),
            sram_bytes: estimate(Metric::SramPeak),
        })
    }
}

/// Every accelerator that `report` has a latency on, each in its default configuration.
pub fn candidates(report: &Report) -> Vec<Candidate> {
    let candidate = |product: Product| {
        let clock_mhz = Configuration::new(product).system.clock_hz / 1e6;
        let estimate = |metric: Metric| {
            let is_it =
                |result: &&TargetResult| result.target == product.name() && result.metric == metric;
            match &report.results.iter().find(is_it)?.outcome {
                outcome @ &Outcome::Estimate { value, lo, hi, .. } => Some(Estimated {
                    value,
                    lo,
                    hi,
                    evidence: outcome.evidence(),
                }),
                Outcome::Unavailable { .. } => None,
            }
        };
        Candidate::new(product, clock_mhz, estimate)
    };
    Product::ALL.into_iter().filter_map(candidate).collect()
}

/// An accelerator beside the limits.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Point {
    /// The accelerator with its estimates.
    #[serde(flatten)]
    pub candidate: Candidate,
    /// Clock at which it meets the latency; `None` if there is no limit on latency, or if what it leaves to the processor
    /// alone takes longer.
    pub needed_mhz: Option<f64>,
    /// Whether it meets both limits at some clock up to the highest.
    pub meets: bool,
    /// Latency at each of [`Sweep::clocks_mhz`].
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub latencies_ms: Vec<Estimated>,
}

/// Every accelerator, from the smallest.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Sweep {
    /// The requested limits.
    pub limits: Limits,
    /// Clocks to show besides those of the accelerators.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub clocks_mhz: Vec<f64>,
    /// In the order of multiply-accumulates per cycle; equal ones in the order of the candidates.
    pub points: Vec<Point>,
    /// Index of the first point that meets the limits.
    pub smallest: Option<usize>,
    /// Doubts about the estimates, each with its targets.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub doubts: Vec<ReportDiagnostic>,
}

impl Sweep {
    /// The sweep over `candidates`. In the compiler's model, the cycles of an accelerator do not depend on its clock,
    /// because memories scale with it. The clock of the processor beside it stays.
    pub fn new(candidates: Vec<Candidate>, limits: Limits, clocks_mhz: Vec<f64>) -> Self {
        let point = |candidate: Candidate| {
            let needed_mhz = (limits.latency_ms).map(|limit_ms| candidate.needed_mhz(limit_ms));
            let has_room = match (limits.sram_bytes, &candidate.sram_bytes) {
                (None, _) => true,
                (Some(limit), Some(bytes)) => bytes.value_to_compare() <= limit,
                (Some(_), None) => false,
            };
            let at_clock = |clock_mhz: &f64| candidate.latency_at(*clock_mhz);
            let is_fast =
                needed_mhz.is_none_or(|mhz| mhz.is_some_and(|mhz| mhz <= limits.clock_mhz));
            Point {
                latencies_ms: clocks_mhz.iter().map(at_clock).collect(),
                meets: has_room && is_fast,
                needed_mhz: needed_mhz.flatten(),
                candidate,
            }
        };
        let mut points: Vec<Point> = candidates.into_iter().map(point).collect();
        points.sort_by_key(|point| point.candidate.macs_per_cycle);
        Self {
            smallest: points.iter().position(|point| point.meets),
            limits,
            clocks_mhz,
            points,
            doubts: Vec::new(),
        }
    }

    /// With the warnings of the report that the candidates are from.
    pub fn with_doubts(mut self, report: Report) -> Self {
        let warnings = report.diagnostics.into_iter();
        self.doubts = warnings
            .filter(|doubt| doubt.diagnostic.severity == Severity::Warning)
            .collect();
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn candidate(macs_per_cycle: u32, value: f64, hi: Option<f64>) -> Candidate {
        Candidate {
            target: format!("npu-{macs_per_cycle}"),
            device: String::new(),
            macs_per_cycle,
            clock_mhz: 500.0,
            latency_ms: Estimated {
                value,
                lo: None,
                hi,
                evidence: None,
            },
            npu_latency_ms: None,
            sram_bytes: Some(Estimated {
                value: f64::from(macs_per_cycle) * 1000.0,
                lo: None,
                hi: None,
                evidence: None,
            }),
        }
    }

    const TEN_MS: Limits = Limits {
        latency_ms: Some(10.0),
        sram_bytes: None,
        clock_mhz: MAX_CLOCK_MHZ,
    };

    #[test]
    fn the_smallest_meets_the_limits_with_its_whole_interval() {
        let candidates = || {
            vec![
                candidate(256, 5.0, Some(6.0)),
                candidate(64, 30.0, None),
                candidate(128, 19.0, Some(20.5)),
            ]
        };
        let sweep = Sweep::new(candidates(), TEN_MS, vec![250.0]);
        let macs: Vec<u32> = (sweep.points.iter())
            .map(|point| point.candidate.macs_per_cycle)
            .collect();
        assert_eq!(macs, [64, 128, 256]);
        let needed: Vec<f64> = (sweep.points.iter())
            .filter_map(|point| point.needed_mhz)
            .collect();
        assert_eq!(needed, [1500.0, 1025.0, 300.0]);
        assert_eq!(sweep.smallest, Some(2));
        assert_eq!(sweep.points[2].latencies_ms[0].hi, Some(12.0));
        let faster = Limits {
            clock_mhz: 1100.0,
            ..TEN_MS
        };
        assert_eq!(Sweep::new(candidates(), faster, vec![]).smallest, Some(1));
        let small = Limits {
            sram_bytes: Some(200e3),
            ..TEN_MS
        };
        assert_eq!(Sweep::new(candidates(), small, vec![]).smallest, None);
    }

    /// By hand: 4 ms on the processor leave 6 of 10, and 20 on the accelerator at 500 MHz take 6 at 1666.7.
    #[test]
    fn what_the_processor_takes_does_not_change_with_the_clock() {
        let part = |value| Estimated {
            value,
            lo: None,
            hi: None,
            evidence: None,
        };
        let candidate = |processor_ms: f64, npu_ms: f64| Candidate {
            npu_latency_ms: Some(part(npu_ms)),
            ..candidate(256, processor_ms + npu_ms, None)
        };
        let sweep = Sweep::new(
            vec![candidate(4.0, 20.0), candidate(12.0, 1.0)],
            TEN_MS,
            vec![250.0],
        );
        let [slow, hopeless] = [&sweep.points[0], &sweep.points[1]];
        assert!((slow.needed_mhz.unwrap() - 5000.0 / 3.0).abs() < 1e-9);
        assert_eq!(slow.latencies_ms[0].value, 44.0);
        assert_eq!((hopeless.needed_mhz, hopeless.meets), (None, false));
        assert_eq!(sweep.smallest, None);
    }
}
