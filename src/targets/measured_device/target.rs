//! A measured device as a target.

use super::classes::{Class, N_CLASSES, operator_class};
use super::device::Device;
use super::fit::Expected;
use crate::diagnostic::{Diagnostic, Severity};
use crate::learned::manifest::Manifest;
use crate::provenance::{
    INTERVAL_PERCENT, MIN_CHECKED_NETWORKS, Provenance, ProvenanceKind, Reference,
};
use crate::target::{
    Description, Family, HostInfo, MeasuredRange, Metric, MetricEstimate, MetricInfo, Network,
    Outcome, Target, TargetEstimate, TargetInfo, UnavailableReason, UnsupportedOperator,
};

const FAMILY: Family = Family {
    id: "your-devices",
    label: "Your devices",
    group: None,
    is_accelerator: false,
};

/// A device whose measurements are further off than this when they are left out, in percent, is doubtful.
const DOUBTFUL_PERCENT: f64 = 25.0;

/// Share of the latency from which on classes without a measurement are a warning.
const MIN_UNCONSTRAINED_SHARE: f64 = 0.2;

struct MeasuredTarget {
    id: String,
    device: Device,
    base: Box<dyn Target>,
}

/// The device, whose base is `base`.
pub fn target(device: Device, base: Box<dyn Target>) -> Box<dyn Target> {
    Box::new(MeasuredTarget {
        id: device.id(),
        device,
        base,
    })
}

impl MeasuredTarget {
    fn provenance(&self) -> Provenance {
        let n = self.device.networks.len();
        let mut tools: Vec<&str> = self
            .device
            .networks
            .iter()
            .map(|one| one.tool.as_str())
            .collect();
        tools.sort_unstable();
        tools.dedup();
        let plural = if n == 1 { "" } else { "s" };
        let configuration = format!(
            "{n} network{plural} measured with {} and the estimates for {}",
            tools.join(", "),
            self.base.id()
        );
        let provenance = Provenance::own(ProvenanceKind::Modelled, configuration);
        if self.device.left_out.is_empty() {
            return provenance;
        }
        provenance
            .against(Reference::Measured)
            .checked((n >= MIN_CHECKED_NETWORKS).then_some(INTERVAL_PERCENT))
    }

    fn latency(
        &self,
        outcome: Outcome,
        network: &Network,
        doubts: &mut Vec<Diagnostic>,
    ) -> Outcome {
        let Outcome::Estimate {
            operators, unit, ..
        } = outcome
        else {
            return outcome;
        };
        let Some(parts) = operators.filter(|parts| parts.len() == network.graph.nodes.len()) else {
            return Outcome::unavailable(UnavailableReason::OfTarget {
                code: "no-parts",
                words: format!(
                    "{} has no estimate by operator of this network",
                    self.base.id()
                ),
            });
        };
        let classes: Vec<Class> = network
            .graph
            .nodes
            .iter()
            .map(|node| node_class(network, node))
            .collect();
        let mut expected = Expected {
            n_inferences: 1.0,
            ..Expected::default()
        };
        for (class, part) in classes.iter().zip(&parts) {
            expected.base_ms[class.idx()] += part;
            expected.n_calls += f64::from(u8::from(*part > 0.0));
        }
        let Some((value, half_width)) = self.device.estimate(&expected) else {
            return Outcome::unavailable(UnavailableReason::NoOperators);
        };
        doubts.extend(self.doubts(&expected, value));
        let costs = self.operator_costs_ms(&classes, &parts, value);
        Outcome::Estimate {
            value,
            lo: Some(value * (-half_width).exp()),
            hi: Some(value * half_width.exp()),
            unit,
            provenance: self.provenance(),
            expected_error_percent: self.device.left_out_percent(),
            operators: Some(costs),
        }
    }

    /// Latencies by operator, which add up to `value`.
    fn operator_costs_ms(&self, classes: &[Class], parts: &[f64], value: f64) -> Vec<f64> {
        let [call_ms, _] = self.device.overheads_ms();
        let costs = classes
            .iter()
            .zip(parts)
            .map(|(class, part)| match *part > 0.0 {
                true => part * self.device.factor(*class) + call_ms,
                false => 0.0,
            });
        let mut costs: Vec<f64> = costs.collect();
        // The time of the inference itself is spread over its operators, so that they add up.
        let sum: f64 = costs.iter().sum();
        let scale = if sum > 0.0 { value / sum } else { 0.0 };
        costs.iter_mut().for_each(|cost| *cost *= scale);
        costs
    }

    fn doubts(&self, expected: &Expected, value_ms: f64) -> Vec<Diagnostic> {
        let warning = |code, message| Diagnostic {
            severity: Severity::Warning,
            code,
            message,
            operator_idx: None,
        };
        let mut doubts = Vec::new();
        let n = self.device.networks.len();
        if n < MIN_CHECKED_NETWORKS {
            let plural = if n == 1 { "" } else { "s" };
            doubts.push(warning(
                "few-measurements",
                format!(
                    "{} is known from {n} measured network{plural}: its interval promises no level, which \
                     takes {MIN_CHECKED_NETWORKS} networks",
                    self.id
                ),
            ));
        }
        if let Some(percent) = self
            .device
            .left_out_percent()
            .filter(|&percent| percent > DOUBTFUL_PERCENT)
        {
            doubts.push(warning(
                "doubtful-device",
                format!(
                    "{}: its measurements, each estimated from the others, are off by {percent:.0} % in the mean",
                    self.id
                ),
            ));
        }
        let unknown = self.device.unconstrained();
        let unknown: Vec<Class> = unknown
            .filter(|class| expected.base_ms[class.idx()] > 0.0)
            .collect();
        let unknown_ms: f64 = unknown
            .iter()
            .map(|class| expected.base_ms[class.idx()] * self.device.factor(*class))
            .sum();
        if unknown_ms > MIN_UNCONSTRAINED_SHARE * value_ms {
            let words: Vec<&str> = unknown.iter().map(|class| class.words()).collect();
            doubts.push(warning(
                "unmeasured-operators",
                format!(
                    "{}: no measurement tells how fast {} are, which take {:.0} % of this network; their factor is the \
                     common one",
                    self.id,
                    words.join(", "),
                    100.0 * unknown_ms / value_ms
                ),
            ));
        }
        doubts
    }
}

fn node_class(network: &Network, node: &crate::graph::Node) -> Class {
    let operator = node.operator;
    let weights = operator.inputs.get(1).copied().flatten();
    let weights = weights.and_then(|idx| network.graph.subgraph.tensors.get(idx));
    operator_class(operator.code.name(), weights.map(|tensor| &*tensor.shape))
}

impl Target for MeasuredTarget {
    fn id(&self) -> &str {
        &self.id
    }

    fn description(&self) -> Description {
        let tool = self
            .device
            .networks
            .first()
            .map_or("", |network| &network.tool);
        Description {
            options: self.base.description().options,
            ..Description::new(&FAMILY, self.device.name.clone(), tool)
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

    fn measured_range(&self, network: &Network) -> Option<MeasuredRange> {
        let measured = self
            .device
            .networks
            .iter()
            .map(|network| network.measured_ms);
        let batch = f64::from(network.batch.get());
        MeasuredRange::from_latencies(measured).map(|range| range.scaled(batch))
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
        let base = self.base.estimate(network);
        let latency = base
            .metrics
            .into_iter()
            .find(|one| one.metric == Metric::Latency);
        let mut diagnostics = Vec::new();
        let outcome = latency.map(|one| self.latency(one.outcome, network, &mut diagnostics));
        let metrics = outcome.map(|outcome| MetricEstimate {
            metric: Metric::Latency,
            outcome,
        });
        TargetEstimate {
            device: self.device.name.clone(),
            metrics: metrics.into_iter().collect(),
            diagnostics,
        }
    }
}

const _: () = assert!(N_CLASSES == Class::ALL.len());
