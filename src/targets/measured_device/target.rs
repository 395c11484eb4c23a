//! A measured device as a target.

use std::num::NonZeroU32;

use super::classes::{Class, N_CLASSES};
use super::estimable::Estimable;
use super::fit::Expected;
use super::kernels::{KernelOperator, Kernels};
use crate::diagnostic::{Diagnostic, Severity};
use crate::learned::manifest::Manifest;
use crate::provenance::{MIN_CHECKED_NETWORKS, Provenance, ProvenanceKind, Reference};
use crate::target::{
    Description, Family, HostInfo, MeasuredRange, Metric, MetricInfo, Network, Outcome, Settings,
    Target, TargetEstimate, TargetInfo, UnavailableReason, UnsupportedOperator,
};

const FAMILY: Family = Family {
    id: "your-devices",
    label: "Your devices",
    group: None,
    is_accelerator: false,
    durations: None,
};

/// A device whose measurements are further off than this when they are left out, in percent, is doubtful.
const DOUBTFUL_PERCENT: f64 = 25.0;

/// Share of the latency from which on classes without a measurement are a warning.
const MIN_UNCONSTRAINED_SHARE: f64 = 0.2;

struct MeasuredTarget {
    id: String,
    device: Estimable,
    base: Box<dyn Target>,
}

/// The device, whose base is `base`.
pub fn target(device: Estimable, base: Box<dyn Target>) -> Box<dyn Target> {
    Box::new(MeasuredTarget {
        id: device.id(),
        device,
        base,
    })
}

impl MeasuredTarget {
    fn provenance(&self) -> Provenance {
        let configuration = format!(
            "{} measured with {} and {}",
            self.networks(),
            self.device.tools,
            match self.device.kernels {
                Kernels::Base => format!("the estimates for {}", self.base.id()),
                kernels => kernels.words(self.base.id()),
            }
        );
        let mut provenance = Provenance::own(ProvenanceKind::Modelled, configuration);
        // No level: intervals of ten networks that were chosen held 83.5 % under the prior of any runtime.
        if !self.device.left_out.is_empty() {
            provenance.reference = Some(Reference::Measured);
        }
        provenance
    }

    /// How many were measured, in words.
    fn networks(&self) -> String {
        let n = self.device.n_networks;
        format!("{n} network{}", if n == 1 { "" } else { "s" })
    }

    /// The latency on the base becomes that on the device.
    fn scale(
        &self,
        outcome: Outcome,
        network: &Network,
        diagnostics: &mut Vec<Diagnostic>,
    ) -> Outcome {
        let Outcome::Estimate {
            operators, unit, ..
        } = outcome
        else {
            return outcome;
        };
        let nodes = &network.graph.nodes;
        let Some(mut parts) = operators.filter(|parts| parts.len() == nodes.len()) else {
            return Outcome::unavailable(UnavailableReason::OfTarget {
                code: "no-parts",
                words: format!(
                    "{} has no estimate by operator of this network",
                    self.base.id()
                ),
            });
        };
        let mut expected = Expected {
            n_inferences: 1.0,
            ..Expected::default()
        };
        let costs = self.costs(network, &parts);
        for (class, ms) in &costs {
            expected.base_ms[class.idx()] += ms;
            expected.n_calls += f64::from(u8::from(*ms > 0.0));
        }
        let Some((value, half_width)) = self.device.estimate(&expected) else {
            return Outcome::unavailable(UnavailableReason::NoOperators);
        };
        self.add_doubts(&expected, value, diagnostics);
        // What an inference takes itself is spread over its operators, so that they add up.
        let [call_ms, _] = self.device.fit.overheads_ms();
        let mut sum = 0.0;
        for ((class, ms), part) in costs.iter().zip(&mut parts) {
            *part = 0.0;
            if *ms > 0.0 {
                *part = *ms * self.device.fit.factor(class.idx()) + call_ms;
                sum += *part;
            }
        }
        let scale = if sum > 0.0 { value / sum } else { 0.0 };
        for part in &mut parts {
            *part *= scale;
        }
        Outcome::Estimate {
            value,
            lo: Some(value * (-half_width).exp()),
            hi: Some(value * half_width.exp()),
            unit,
            provenance: self.provenance(),
            expected_error_percent: self.device.left_out_percent(),
            operators: Some(parts),
        }
    }

    /// Class and milliseconds of each operator, whose parts on the base are these.
    fn costs(&self, network: &Network, parts: &[f64]) -> Vec<(Class, f64)> {
        let tensors = &network.graph.subgraph.tensors;
        let shape = |idx: usize| tensors.get(idx).map_or(&[][..], |tensor| &tensor.shape);
        let operators = network.graph.nodes.iter().map(|node| node.operator);
        let operators: Vec<KernelOperator> = operators.map(KernelOperator::from).collect();
        self.device.kernels.costs(&operators, parts, shape)
    }

    fn add_doubts(&self, expected: &Expected, value_ms: f64, diagnostics: &mut Vec<Diagnostic>) {
        let id = &self.id;
        let mut warn = |code, message| {
            diagnostics.push(Diagnostic {
                severity: Severity::Warning,
                code,
                message,
                operator_idx: None,
            });
        };
        if self.device.n_networks < MIN_CHECKED_NETWORKS {
            warn(
                "few-measurements",
                format!(
                    "{id} is known from measurements of {}, and its interval promises no level",
                    self.networks()
                ),
            );
        }
        let percent = self.device.left_out_percent().unwrap_or_default();
        if percent > DOUBTFUL_PERCENT {
            warn(
                "doubtful-device",
                format!(
                    "{id}: its measurements, each estimated from the others, are off by {percent:.0} % in the mean"
                ),
            );
        }
        let mut unknown_ms = 0.0;
        let mut words = String::new();
        for class in Class::ALL {
            let base_ms = expected.base_ms[class.idx()];
            if base_ms > 0.0 && !self.device.is_constrained(class) {
                unknown_ms += base_ms * self.device.fit.factor(class.idx());
                if !words.is_empty() {
                    words += ", ";
                }
                words += class.words();
            }
        }
        if unknown_ms > MIN_UNCONSTRAINED_SHARE * value_ms {
            let percent = 100.0 * unknown_ms / value_ms;
            warn(
                "unmeasured-operators",
                format!(
                    "{id}: no measurement tells how fast {words} are, which take {percent:.0} % of this network; their \
                     factor is the expected one"
                ),
            );
        }
    }
}

impl Target for MeasuredTarget {
    fn id(&self) -> &str {
        &self.id
    }

    fn description(&self) -> Description {
        Description {
            options: self.base.description().options,
            ..Description::new(&FAMILY, self.device.name.clone(), &self.device.tools)
        }
    }

    fn info(&self, _: Option<&Manifest>) -> Option<TargetInfo> {
        let provenance = self.provenance();
        Some(TargetInfo {
            id: self.id.clone(),
            device: self.device.name.clone(),
            metrics: vec![MetricInfo {
                metric: Metric::Latency,
                unit: Metric::Latency.unit(),
                expected_error_percent: self.device.left_out_percent(),
            }],
            learned_from: provenance.configuration.clone(),
            provenance,
        })
    }

    fn unsupported(&self, network: &Network) -> Vec<UnsupportedOperator> {
        self.base.unsupported(network)
    }

    fn host(&self) -> Option<HostInfo> {
        self.base.host()
    }

    fn settings(&self, n_threads: NonZeroU32) -> Settings {
        self.base.settings(n_threads)
    }

    fn measured_range(&self, network: &Network) -> Option<MeasuredRange> {
        let batch = f64::from(network.batch.get());
        Some(self.device.measured.scaled(batch))
    }

    fn takes_any_batch(&self) -> bool {
        self.base.takes_any_batch()
    }

    fn runs_integers_alone(&self) -> bool {
        self.base.runs_integers_alone()
    }

    fn plans_operators(&self) -> bool {
        self.base.plans_operators()
    }

    /// Latency alone: the measurements tell nothing of energy and memory.
    fn estimate(&self, network: &Network) -> TargetEstimate {
        let mut estimate = self.base.estimate(network);
        estimate.device.clone_from(&self.device.name);
        estimate.diagnostics.clear();
        let mut diagnostics = Vec::new();
        estimate.metrics.retain(|one| one.metric == Metric::Latency);
        for one in &mut estimate.metrics {
            let of_base = std::mem::replace(
                &mut one.outcome,
                Outcome::unavailable(UnavailableReason::NoOperators),
            );
            one.outcome = self.scale(of_base, network, &mut diagnostics);
        }
        estimate.diagnostics = diagnostics;
        estimate
    }
}

const _: () = assert!(N_CLASSES == Class::ALL.len());
