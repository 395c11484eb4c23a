//! The processor targets: instructions of each operator times what one takes on a measured board.

use std::collections::BTreeSet;

use super::{Board, Constants, Costs, Energy, TargetCosts, Work, work};
use crate::diagnostic::{Diagnostic, Severity, some_of};
use crate::graph::Graph;
use crate::graph::analysis::{Analysis, Precision, precision};
use crate::learned::manifest::Manifest;
use crate::provenance::{Provenance, ProvenanceKind};
use crate::targets::{
    Metric, MetricEstimate, MetricInfo, Network, Outcome, PeakRates, Target, TargetEstimate,
    TargetInfo, UnavailableReason, UnsupportedOperator, uncountable,
};

/// One core of a board, with LiteRT's XNNPACK kernels.
struct CortexA {
    costs: &'static TargetCosts,
    board: &'static Board,
}

/// The boards whose processor's instructions were counted.
pub fn targets() -> Vec<Box<dyn Target>> {
    let costs = Costs::shipped().targets.iter();
    let target = |costs: &'static TargetCosts| {
        let board = Constants::shipped().board(&costs.target)?;
        Some(Box::new(CortexA { costs, board }) as Box<dyn Target>)
    };
    costs.filter_map(target).collect()
}

impl Target for CortexA {
    fn id(&self) -> &str {
        &self.board.target
    }

    fn info(&self, _: Option<&Manifest>) -> Option<TargetInfo> {
        let metric = |metric: Metric, expected_error_percent| MetricInfo {
            metric,
            unit: metric.unit(),
            expected_error_percent,
        };
        let latency = metric(Metric::Latency, Some(self.costs.usual.error.capped_mape));
        let energy = self.board.energy.as_ref();
        let energy = energy.map(|_| metric(Metric::Energy, None));
        Some(TargetInfo {
            id: self.board.target.clone(),
            device: self.board.device.clone(),
            metrics: std::iter::once(latency).chain(energy).collect(),
            learned_from: format!(
                "modelled, {}; {}",
                self.costs.in_words(),
                self.board.in_words()
            ),
        })
    }

    /// LiteRT runs every operator of its own.
    fn unsupported(&self, _: &Network) -> Vec<UnsupportedOperator> {
        Vec::new()
    }

    /// One core. A Cortex-A76 starts two 128-bit dot products of 16 MACs in a cycle, a Cortex-A72 two 128-bit
    /// operations of 8 MACs at most (Arm's software optimisation guides of both).
    fn peak(&self) -> Option<PeakRates> {
        const MIB: f64 = 1024.0 * 1024.0;
        match self.board.target.as_str() {
            // 2.4 GHz, LPDDR4X-4267 of 32 bits, 2 MiB of level 3 and 512 KiB of level 2.
            "cortex-a76-rpi5" => Some(PeakRates {
                macs_per_s: 32.0 * 2.4e9,
                weight_bytes_per_s: 17.07e9,
                cached_bytes: 2.5 * MIB,
            }),
            // 1.8 GHz at most, LPDDR4-3200 of 32 bits, 1 MiB of level 2.
            "cortex-a72-rpi4" => Some(PeakRates {
                macs_per_s: 16.0 * 1.8e9,
                weight_bytes_per_s: 12.8e9,
                cached_bytes: MIB,
            }),
            _ => None,
        }
    }

    fn estimate(&self, network: &Network) -> TargetEstimate {
        let Network {
            graph, analysis, ..
        } = network;
        let refusal = uncountable(graph, analysis).or_else(|| uncounted_precision(graph, analysis));
        let (latency, diagnostics) = match refusal {
            Some(reason) => (Outcome::unavailable(reason), Vec::new()),
            None => self.latency(graph, &work(graph, analysis)),
        };
        let energy = self.board.energy.as_ref();
        let energy = energy.map(|energy| MetricEstimate {
            metric: Metric::Energy,
            outcome: energy_of(&latency, energy),
        });
        let latency = MetricEstimate {
            metric: Metric::Latency,
            outcome: latency,
        };
        TargetEstimate {
            device: self.board.device.clone(),
            metrics: std::iter::once(latency).chain(energy).collect(),
            diagnostics,
        }
    }
}

impl CortexA {
    fn latency(&self, graph: &Graph, works: &[Work]) -> (Outcome, Vec<Diagnostic>) {
        let Self { costs, board } = self;
        let counted = costs.by_operator(works);
        let is_known = counted.iter().all(Option::is_some);
        if counted.iter().all(Option::is_none) {
            return (
                Outcome::unavailable(UnavailableReason::NeverCounted),
                Vec::new(),
            );
        }
        let instructions: Vec<f64> = counted.iter().map(|n| n.unwrap_or(0.0)).collect();
        let pairs = works.iter().zip(&instructions);
        let parts: Vec<f64> = pairs
            .map(|(work, &n)| board.latency_ms(n, work.is_int8))
            .collect();
        let value: f64 = parts.iter().sum();
        let class = costs.class(works, &instructions);
        let factor = class.interval_factor;
        let end = |end: f64| is_known.then_some(end);
        let outcome = Outcome::Estimate {
            value,
            lo: end(value / factor),
            hi: end(value * factor),
            unit: Metric::Latency.unit(),
            provenance: Provenance::own(
                ProvenanceKind::Modelled,
                format!("{}; {}", costs.in_words(), board.in_words()),
            ),
            expected_error_percent: end(class.error.capped_mape),
            operators: Some(parts),
        };
        let never_counted = never_counted(graph, works, &counted);
        (outcome, never_counted.into_iter().collect())
    }
}

/// Operators whose instructions are not known, and are left out.
fn never_counted(graph: &Graph, works: &[Work], counted: &[Option<f64>]) -> Option<Diagnostic> {
    let all = counted.iter().zip(works).zip(&graph.nodes);
    let unknown: BTreeSet<(&str, usize)> = all
        .filter(|((count, _), _)| count.is_none())
        .map(|((_, work), node)| (work.kernel.as_str(), node.operator_idx))
        .collect();
    let &(_, operator_idx) = unknown.first()?;
    let names: BTreeSet<&str> = unknown.iter().map(|&(name, _)| name).collect();
    Some(Diagnostic {
        severity: Severity::Warning,
        code: "operator-never-counted",
        message: format!(
            "the estimate on processors leaves out what was never counted: {}",
            some_of(names, ", ")
        ),
        operator_idx: Some(operator_idx),
    })
}

/// A latency times the power that a board was measured at.
fn energy_of(latency: &Outcome, energy: &Energy) -> Outcome {
    let watts = energy.watts.value;
    match latency {
        Outcome::Estimate {
            value,
            lo,
            hi,
            operators,
            ..
        } => Outcome::Estimate {
            value: watts * value,
            lo: lo.map(|lo| watts * lo),
            hi: hi.map(|hi| watts * hi),
            unit: Metric::Energy.unit(),
            provenance: Provenance::own(ProvenanceKind::Modelled, energy.in_words()),
            expected_error_percent: None,
            operators: operators
                .as_ref()
                .map(|parts| parts.iter().map(|part| watts * part).collect()),
        },
        unavailable => unavailable.clone(),
    }
}

/// Other numbers run by other kernels, none of which was counted.
fn uncounted_precision(graph: &Graph, analysis: &Analysis) -> Option<UnavailableReason> {
    let numbers = match precision(graph, analysis) {
        Precision::Int16x8 => "16-bit activations",
        Precision::Float16 => "float16 weights",
        Precision::DynamicRange => "float activations with integer weights",
        _ => return None,
    };
    Some(UnavailableReason::PrecisionNotCounted(numbers))
}
