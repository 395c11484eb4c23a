//! The Edge TPU as a target.

use std::collections::BTreeSet;

use super::mapping::{Mapping, mapping};
use super::{
    ARRAY_SIDE, CLOCK_HZ, Constants, DEVICE, OperatorLoad, SRAM_BYTES, TARGET, operator_loads,
};
use crate::diagnostic::{Diagnostic, Severity, some_of};
use crate::graph::Graph;
use crate::learned::manifest::Manifest;
use crate::provenance::{Provenance, ProvenanceKind, Reference};
use crate::target::{
    Advice, Description, Family, MeasuredRange, Metric, MetricEstimate, MetricInfo, Network,
    Outcome, PeakRates, Target, TargetEstimate, TargetInfo, UnavailableReason, UnsupportedOperator,
    compiled, uncountable,
};
use crate::targets::host::Host;

/// The time of an operator that no fitted network has may be divided by this, or multiplied with it, as on
/// microcontrollers.
const UNMEASURED_FACTOR: f64 = 10.0;

/// The processor of Coral's Dev Board is an i.MX 8M with the same cores as the i.MX 8M Plus, at 1.5 GHz instead of 1.8.
const HOST: &str = "cortex-a53-imx8mp";

/// The family of these targets.
pub const FAMILY: Family = Family {
    id: "edge-tpu",
    label: "Edge TPU",
    group: None,
    is_accelerator: true,
    durations: None,
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

    fn description(&self) -> Description {
        Description {
            aliases: &["coral", "edge-tpu"],
            advice: &[Advice::ResidentWeights],
            channel_step: Some(ARRAY_SIDE as u32),
            ..Description::new(&FAMILY, "Edge TPU", "Coral's compiler")
        }
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
            provenance: Provenance::own(ProvenanceKind::Modelled, constants.in_words())
                .against(Reference::Measured),
        })
    }

    /// No operator counts as unsupported, because the estimate includes the time of the operators on the host.
    fn unsupported(&self, _: &Network) -> Vec<UnsupportedOperator> {
        Vec::new()
    }

    /// The array at its clock; PCIe 2 of one lane, or USB 3, to the host.
    fn peak(&self) -> Option<PeakRates> {
        Some(PeakRates {
            weight_bytes_per_s: 0.5e9,
            cached_bytes: SRAM_BYTES as f64,
            ..PeakRates::from_arithmetic((ARRAY_SIDE * ARRAY_SIDE) as f64 * CLOCK_HZ)
        })
    }

    fn measured_range(&self, _: &Network) -> Option<MeasuredRange> {
        Some(Constants::shipped().measured_range)
    }

    fn runs_integers_alone(&self) -> bool {
        true
    }

    fn estimate(&self, network: &Network) -> TargetEstimate {
        let Network {
            graph, analysis, ..
        } = network;
        let refusal = uncountable(graph, analysis).or_else(|| compiled(graph));
        let mapping = match refusal {
            Some(reason) => Err(reason),
            None => mapping(graph),
        };
        let (outcome, diagnostics) = match mapping {
            Ok(mapping) => latency(network, &mapping),
            Err(reason) => (Outcome::unavailable(reason), Vec::new()),
        };
        TargetEstimate {
            device: DEVICE.into(),
            metrics: vec![MetricEstimate {
                metric: Metric::Latency,
                outcome,
            }],
            diagnostics,
        }
    }
}

/// The time of the Edge TPU plus the time of the host for the other operators. The ends of both intervals are added,
/// which assumes that both errors have the same direction.
fn latency(network: &Network, mapping: &Mapping) -> (Outcome, Vec<Diagnostic>) {
    let Network {
        graph, analysis, ..
    } = network;
    let constants = Constants::shipped();
    let loads = operator_loads(graph, analysis, &mapping.is_mapped);
    let mut parts: Vec<f64> = (loads.iter())
        .map(|load| constants.coefficients.latency_ms(load))
        .collect();
    let total = OperatorLoad::total(&loads);
    let on_chip_ms = constants.coefficients.latency_ms(&total);
    let unmeasured = Unmeasured::new(graph, &loads);
    let [mut lo, mut hi] = unmeasured.interval_ms();
    let left: Vec<usize> = (0..parts.len())
        .filter(|&idx| !mapping.is_mapped[idx])
        .collect();
    let mut configuration = constants.in_words();
    let mut diagnostics: Vec<Diagnostic> = unmeasured.diagnostic().into_iter().collect();
    let mut value = on_chip_ms;
    if !left.is_empty() {
        let host = Host::by_id(HOST, None).ok_or(UnavailableReason::NeverMeasured);
        let on_host = host.and_then(|host| Ok((host, host.latency(network, &left)?)));
        let (host, on_host) = match on_host {
            Ok(host_and_latency) => host_and_latency,
            Err(reason) => return (Outcome::unavailable(reason), Vec::new()),
        };
        value += on_host.value_ms;
        lo += on_host.lo_ms;
        hi += on_host.hi_ms;
        for (&idx, ms) in left.iter().zip(&on_host.operators_ms) {
            parts[idx] = *ms;
        }
        let words = (host.device(), host.in_words());
        configuration += &format!("; the rest on the host, {}: {}", words.0, words.1);
        let ms = [on_host.value_ms, value];
        diagnostics.push(partition_diagnostic(graph, mapping, &left, &host, ms));
    }
    if total.streamed_bytes > 0 {
        let ms_per_megabyte = constants.coefficients.ms_per_link_megabyte;
        diagnostics.push(streaming_diagnostic(&total, ms_per_megabyte, value));
    }
    let is_whole = left.is_empty();
    let reference = if is_whole {
        Reference::Measured
    } else {
        Reference::MeasuredParts
    };
    let outcome = Outcome::Estimate {
        value,
        lo: Some(lo),
        hi: Some(hi),
        unit: Metric::Latency.unit(),
        provenance: Provenance::own(ProvenanceKind::Modelled, configuration).against(reference),
        expected_error_percent: (is_whole && unmeasured.names.is_empty())
            .then_some(constants.leave_one_out.mean_percent),
        operators: Some(parts),
    };
    (outcome, diagnostics)
}

/// The loads of a network by whether a network of the fit has such operators.
struct Unmeasured<'g> {
    names: BTreeSet<&'g str>,
    unmeasured: OperatorLoad,
    measured: OperatorLoad,
}

impl<'g> Unmeasured<'g> {
    /// `loads` are parallel to the nodes.
    fn new(graph: &'g Graph, loads: &[OperatorLoad]) -> Self {
        let is_known = |name: &str| Constants::shipped().operators.contains(name);
        let of_nodes = graph.nodes.iter().zip(loads);
        let (unmeasured, measured): (Vec<_>, Vec<_>) = of_nodes
            .map(|(node, load)| (node.operator.code.name(), *load))
            .partition(|(name, load)| load.operators > 0 && !is_known(name));
        let total = |all: &[(&str, OperatorLoad)]| {
            OperatorLoad::total(&all.iter().map(|(_, load)| *load).collect::<Vec<_>>())
        };
        Self {
            names: unmeasured.iter().map(|(name, _)| *name).collect(),
            unmeasured: total(&unmeasured),
            measured: total(&measured),
        }
    }

    fn interval_ms(&self) -> [f64; 2] {
        let constants = Constants::shipped();
        let ms = constants.coefficients.latency_ms(&self.unmeasured);
        let [lo, hi] = constants.interval_ms(&self.measured);
        [lo + ms / UNMEASURED_FACTOR, hi + ms * UNMEASURED_FACTOR]
    }

    fn diagnostic(&self) -> Option<Diagnostic> {
        (!self.names.is_empty()).then(|| Diagnostic {
            severity: Severity::Warning,
            code: "operator-never-measured",
            message: format!(
                "no network with a published latency on the Edge TPU has {}; its time is counted like that of other \
                 operators, and the interval is wider for it",
                some_of(&self.names, ", ")
            ),
            operator_idx: None,
        })
    }
}

/// A diagnostic with the bytes that do not fit on the chip and the time that their transfer takes.
fn streaming_diagnostic(total: &OperatorLoad, ms_per_megabyte: f64, all_ms: f64) -> Diagnostic {
    let mebibytes = |bytes: u64| bytes as f64 / f64::from(1 << 20);
    let streamed_ms = total.streamed_bytes as f64 / 1e6 * ms_per_megabyte;
    Diagnostic {
        severity: Severity::Info,
        code: "edge-tpu-streaming",
        message: format!(
            "{:.2} of {:.2} MiB of parameters do not fit on the chip beside the activations; the host \
             sends them again for each inference, which takes {streamed_ms:.3} of {all_ms:.3} ms",
            mebibytes(total.streamed_bytes),
            mebibytes(total.parameter_bytes),
        ),
        operator_idx: None,
    }
}

/// A diagnostic that says which part the Edge TPU runs, why it ends there, and how long the rest takes.
fn partition_diagnostic(
    graph: &Graph,
    mapping: &Mapping,
    left: &[usize],
    host: &Host,
    [host_ms, all_ms]: [f64; 2],
) -> Diagnostic {
    let n_mapped = graph.nodes.len() - left.len();
    let name = |end: &UnsupportedOperator| {
        let node = &graph.nodes[end.node_idx];
        let name = node.operator.code.name();
        format!("{name}, operator {}, {}", node.operator_idx, end.reason)
    };
    let ends = if mapping.ends.is_empty() {
        "only inputs are converted before it".to_owned()
    } else {
        format!(
            "it ends before {}",
            some_of(mapping.ends.iter().map(name), "; ")
        )
    };
    Diagnostic {
        severity: Severity::Warning,
        code: "edge-tpu-part",
        message: format!(
            "the Edge TPU runs {n_mapped} of {} operators ({ends}); the others take {host_ms:.3} of \
             {all_ms:.3} ms on the host, {}",
            graph.nodes.len(),
            host.device()
        ),
        operator_idx: left.first().map(|&idx| graph.nodes[idx].operator_idx),
    }
}
