//! The processor targets: instructions of each operator times the time of an instruction on a measured board.

use std::collections::BTreeSet;
use std::num::NonZeroU32;
use std::sync::OnceLock;

use super::{
    Board, Constants, Costs, Energy, KernelCounts, Latency, NEVER_MEASURED, Source, TargetCosts,
    instruction_counts_of, is_loose, is_uncounted_of_vendor, kernel_counts_of, latency, latency_of,
};
use crate::diagnostic::{Diagnostic, Severity, some_of};
use crate::formats::tflite::Operator;
use crate::graph::{Graph, Node};
use crate::learned::manifest::Manifest;
use crate::provenance::{Evidence, Provenance, ProvenanceKind, Reference};
use crate::target::{
    Description, Durations, Family, MeasuredRange, Metric, MetricEstimate, MetricInfo, Network,
    Outcome, PeakRates, Settings, Target, TargetEstimate, TargetInfo, TargetOption,
    UnavailableReason, UnsupportedOperator, UnsupportedReason, compiled_for, is_compiled,
    uncountable,
};

/// The family of these targets.
pub const FAMILY: Family = Family {
    id: "processors",
    label: "Processors",
    group: None,
    is_accelerator: false,
    durations: Some(Durations::Hardware),
};

/// Whether a target of this id is one of the family's, without a look at its constants.
pub fn is_id(id: &str) -> bool {
    id.starts_with("cortex-a")
}

/// What people call the boards.
fn aliases(target: &str) -> &'static [&'static str] {
    match target {
        "cortex-a76-rpi5" => &["raspberry-pi-5", "rpi5"],
        "cortex-a72-rpi4" => &["raspberry-pi-4", "rpi4"],
        "cortex-a55-imx93" => &["imx93", "i.MX 93"],
        "cortex-a53-imx8mp" => &["imx8mp", "i.MX 8M Plus"],
        "cortex-a7-stm32mp157" => &["stm32mp1"],
        _ => &[],
    }
}

/// A board that was measured, with LiteRT's XNNPACK kernels.
struct CortexA {
    board: &'static Board,
    /// The description of the model, made when the first graph is estimated.
    words: OnceLock<String>,
}

/// The boards that were measured.
pub fn targets() -> Vec<Box<dyn Target>> {
    let boards = Constants::shipped().boards.iter();
    let target = |board: &'static Board| CortexA {
        board,
        words: OnceLock::new(),
    };
    boards
        .map(|board| Box::new(target(board)) as Box<dyn Target>)
        .collect()
}

impl Target for CortexA {
    fn id(&self) -> &str {
        &self.board.target
    }

    fn description(&self) -> Description {
        let max_threads = (self.board.only_threads.is_none()).then_some(self.board.n_cores);
        Description {
            aliases: aliases(&self.board.target),
            options: match max_threads {
                Some(_) => &[TargetOption::Threads],
                None => &[],
            },
            max_threads,
            ..Description::new(&FAMILY, self.board.device.clone(), "LiteRT with XNNPACK")
        }
    }

    fn settings(&self, n_threads: NonZeroU32) -> Settings {
        Settings {
            threads: Some(self.board.threads(n_threads.get())),
            ..Settings::default()
        }
    }

    fn info(&self, _: Option<&Manifest>) -> Option<TargetInfo> {
        let metric = |metric: Metric, expected_error_percent| MetricInfo {
            metric,
            unit: metric.unit(),
            expected_error_percent,
        };
        let fits = [&self.board.float32, &self.board.int8];
        let errors = fits
            .iter()
            .filter_map(|fit| Some(fit.as_ref()?.left_out.mean_percent));
        let latency = metric(Metric::Latency, errors.reduce(f64::max));
        let energy = self.board.energy.as_ref();
        let energy = energy.map(|_| metric(Metric::Energy, None));
        Some(TargetInfo {
            id: self.board.target.clone(),
            device: self.board.device.clone(),
            metrics: std::iter::once(latency).chain(energy).collect(),
            learned_from: format!(
                "modelled, {}; never measured on any board: {NEVER_MEASURED}",
                self.in_words()
            ),
            provenance: modelled(self.in_words().to_owned()),
        })
    }

    /// LiteRT runs every operator except those that were compiled for an accelerator; custom ones with a kernel of their vendor.
    fn unsupported(&self, network: &Network) -> Vec<UnsupportedOperator> {
        let operators = kernel_counts_of(network).iter().enumerate();
        let unknown = operators.filter(|(_, counts)| counts.is_unknown);
        let unsupported = unknown.map(|(node_idx, _)| UnsupportedOperator {
            node_idx,
            reason: UnsupportedReason::Compiled,
        });
        unsupported.collect()
    }

    /// Peak rates of one core, or of the number of cores that all latencies of the board are for. A Cortex-A76 starts
    /// two 128-bit dot products of 16 MACs per cycle, a Cortex-A55 one. A Cortex-A72 starts at most two 128-bit
    /// operations of 8 MACs, a Cortex-A53 and a Cortex-A7 one (Arm's software optimisation guides and technical
    /// reference manuals).
    fn peak(&self) -> Option<PeakRates> {
        const MIB: f64 = 1024.0 * 1024.0;
        let (macs_per_cycle, clock_hz, weight_bytes_per_s, cached_bytes) =
            match self.board.target.as_str() {
                // LPDDR4X-4267 of 32 bits, 2 MiB of level 3 and 512 KiB of level 2.
                "cortex-a76-rpi5" => (32.0, 2.4e9, 17.07e9, 2.5 * MIB),
                // LPDDR4-3200 of 32 bits, 1 MiB of level 2.
                "cortex-a72-rpi4" => (16.0, 1.8e9, 12.8e9, MIB),
                // LPDDR4X-3733 of 16 bits, 256 KiB of level 3.
                "cortex-a55-imx93" => (16.0, 1.7e9, 7.47e9, MIB),
                // LPDDR4-4000 of 32 bits, 512 KiB of level 2.
                "cortex-a53-imx8mp" => (8.0, 1.8e9, 16.0e9, MIB),
                // DDR3L-1066 of 32 bits, 256 KiB of level 2.
                "cortex-a7-stm32mp157" => (8.0, 0.8e9, 4.27e9, MIB),
                _ => return None,
            };
        let n_threads = f64::from(self.board.only_threads.unwrap_or(1));
        let macs_per_s = macs_per_cycle * clock_hz * n_threads;
        Some(PeakRates {
            weight_bytes_per_s,
            cached_bytes,
            ..PeakRates::from_arithmetic(macs_per_s)
        })
    }

    /// The range covers both precisions, because most networks have operators of both.
    fn measured_range(&self, _: &Network) -> Option<MeasuredRange> {
        let fits = [&self.board.float32, &self.board.int8]
            .into_iter()
            .flatten();
        fits.map(|fit| fit.measured_range)
            .reduce(MeasuredRange::with)
    }

    fn estimate(&self, network: &Network) -> TargetEstimate {
        let Network {
            graph, analysis, ..
        } = network;
        let n_threads = self.board.threads(network.n_threads.get());
        let (outcome, diagnostics) = match uncountable(graph, analysis) {
            Some(reason) => (Outcome::unavailable(reason), Vec::new()),
            None => self.latency(network, n_threads),
        };
        // Power was measured with one core at work.
        let energy = self.board.energy.as_ref().filter(|_| n_threads == 1);
        let energy = energy.map(|energy| MetricEstimate {
            metric: Metric::Energy,
            outcome: energy_of(&outcome, energy),
        });
        let latency = MetricEstimate {
            metric: Metric::Latency,
            outcome,
        };
        TargetEstimate {
            device: self.board.device.clone(),
            metrics: std::iter::once(latency).chain(energy).collect(),
            diagnostics,
        }
    }
}

impl CortexA {
    fn latency(&self, network: &Network, n_threads: u32) -> (Outcome, Vec<Diagnostic>) {
        let (graph, operators) = (network.graph, kernel_counts_of(network));
        let counted = instruction_counts_of(network, &self.board.counted_as);
        let latency =
            counted.and_then(|counted| latency_of(self.board, operators, counted, n_threads));
        let Some(mut latency) = latency else {
            return (
                Outcome::unavailable(UnavailableReason::NeverMeasured),
                Vec::new(),
            );
        };
        if is_loose(latency.value_ms, latency.hi_ms)
            && let Some(of_others) = self.without_vendors(graph, operators, n_threads)
        {
            latency = of_others;
        }
        if let Some(reason) = custom_operators(graph, &latency) {
            return (Outcome::unavailable(reason), Vec::new());
        }
        let never_counted = never_counted(graph, operators, &latency.sources);
        let threads = match n_threads {
            1 => "one thread".to_owned(),
            n => format!("{n} threads"),
        };
        let configuration = format!("{threads}; {}", self.in_words());
        let outcome = Outcome::Estimate {
            value: latency.value_ms,
            lo: Some(latency.lo_ms),
            hi: Some(latency.hi_ms),
            unit: Metric::Latency.unit(),
            provenance: match latency.expected_error_percent {
                Some(_) => modelled(configuration).checked(latency.interval_percent),
                // The precision was never measured on the board, or an operator was never counted.
                None => Provenance::own(ProvenanceKind::Modelled, configuration),
            },
            expected_error_percent: latency.expected_error_percent,
            operators: Some(latency.operators_ms),
        };
        (outcome, never_counted.into_iter().collect())
    }

    /// The latency of the operators that are known, if vendors' custom operators are what makes that of all of them loose.
    fn without_vendors(
        &self,
        graph: &Graph,
        operators: &[KernelCounts],
        n_threads: u32,
    ) -> Option<Latency> {
        let is_of_vendor = |node: &Node| is_uncounted_of_vendor(node.operator);
        if !graph.nodes.iter().any(is_of_vendor) {
            return None;
        }
        let pairs = operators.iter().zip(graph.nodes.iter());
        let known: Vec<KernelCounts> = pairs
            .map(|(counts, node)| KernelCounts {
                is_unknown: counts.is_unknown || is_of_vendor(node),
                ..counts.clone()
            })
            .collect();
        latency(self.board, &known, n_threads)
            .filter(|known| !is_loose(known.value_ms, known.hi_ms))
    }

    fn in_words(&self) -> &str {
        self.words.get_or_init(|| {
            let costs = Costs::shipped().target(&self.board.counted_as);
            let costs = costs.map_or(String::new(), TargetCosts::in_words);
            format!("{costs}; {}", self.board.in_words())
        })
    }
}

fn modelled(configuration: String) -> Provenance {
    Provenance::own(ProvenanceKind::Modelled, configuration).against(Reference::MeasuredKindLeftOut)
}

/// The reason why a network with custom operators whose work is unknown has no latency. Includes the time of the others.
fn custom_operators(graph: &Graph, latency: &Latency) -> Option<UnavailableReason> {
    let is_unknown = |(_, source): &(&Node, &Source)| **source == Source::Unknown;
    let pairs = graph.nodes.iter().zip(&latency.sources);
    let unknown: Vec<&Operator> = pairs
        .filter(is_unknown)
        .map(|(node, _)| node.operator)
        .collect();
    let compiled_for =
        |operator: &&Operator| compiled_for(graph.model, operator, &graph.subgraph.tensors);
    let first = unknown
        .iter()
        .find(|operator| is_compiled(&operator.code))
        .or(unknown.first())?;
    Some(UnavailableReason::CustomOperators {
        name: first.code.name().to_owned(),
        accelerator: compiled_for(first),
        n_operators: unknown.len(),
        n_outside: graph.nodes.len().saturating_sub(unknown.len()),
        outside_ms: [latency.value_ms, latency.lo_ms, latency.hi_ms],
    })
}

/// A diagnostic that names the operators whose instructions are only bounded.
fn never_counted(
    graph: &Graph,
    operators: &[KernelCounts],
    sources: &[Source],
) -> Option<Diagnostic> {
    let all = sources.iter().zip(operators).zip(graph.nodes.iter());
    let unknown: BTreeSet<(&str, usize)> = all
        .filter(|((source, _), _)| **source == Source::GeneralCost)
        .map(|((_, counts), node)| (&*counts.kernel, node.operator_idx))
        .collect();
    let &(_, operator_idx) = unknown.first()?;
    let names: BTreeSet<&str> = unknown.iter().map(|&(name, _)| name).collect();
    Some(Diagnostic {
        severity: Severity::Warning,
        code: "operator-never-counted",
        message: format!(
            "never counted on processors, hence bounded by bytes and arithmetic, which widens the \
             interval: {}",
            some_of(names, ", ")
        ),
        operator_idx: Some(operator_idx),
    })
}

/// A latency times the power that a board was measured at. A product is no surer than its factors.
fn energy_of(latency: &Outcome, energy: &Energy) -> Outcome {
    let watts = energy.watts.value;
    let of_power = Provenance::own(ProvenanceKind::Modelled, energy.in_words());
    match latency {
        Outcome::Estimate {
            value,
            lo,
            hi,
            operators,
            provenance,
            ..
        } => Outcome::Estimate {
            value: watts * value,
            lo: lo.map(|lo| watts * widened(*value, lo, energy.interval_factor)),
            hi: hi.map(|hi| watts * widened(*value, hi, energy.interval_factor)),
            unit: Metric::Energy.unit(),
            provenance: if provenance.evidence() == Evidence::Measured {
                of_power.against(Reference::Measured)
            } else {
                of_power
            }
            .with_scope(format!("{}, not the board", energy.rail)),
            expected_error_percent: None,
            operators: operators
                .as_ref()
                .map(|parts| parts.iter().map(|part| watts * part).collect()),
        },
        unavailable => unavailable.clone(),
    }
}

/// An end of the interval of a product of `value` and a constant with an error factor of its own.
fn widened(value: f64, end: f64, factor: f64) -> f64 {
    if value <= 0.0 || end <= 0.0 {
        return end;
    }
    let log = (end / value).ln();
    value * log.hypot(factor.ln()).copysign(log).exp()
}
