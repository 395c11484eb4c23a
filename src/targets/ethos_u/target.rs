//! The Ethos-U targets: estimates by Vela's rules, and the energy that follows from them.

use std::collections::BTreeSet;
use std::num::NonZeroU32;
use std::sync::OnceLock;

use super::accelerator::{Accelerator, DEFAULT_PRODUCTS};
use super::configuration::{Configuration, Family, Product, Strategy};
use super::energy::{Coefficients, coefficients};
use super::error_indicators::ErrorIndicators;
use super::errors::{Errors, MetricErrors};
use super::silicon::{MeasuredBoard, Silicon};
use super::support::{Npu, largest_recurrent_batch, left_to_cpu};
use super::totals::{Totals, initial};
use crate::diagnostic::{Diagnostic, Severity, some_of};
use crate::formats::tflite::op_row::Effect;
use crate::graph::analysis::Analysis;
use crate::graph::{self, Graph};
use crate::learned::features::PlannedOperator;
use crate::learned::manifest::Manifest;
use crate::provenance::{Provenance, ProvenanceKind, Reference, checked_percent};
use crate::target::boards::Board;
use crate::target::{
    self, Advice, Description, HostInfo, MeasuredRange, Metric, MetricEstimate, MetricInfo,
    Network, Outcome, PeakRates, Settings, Target, TargetEstimate, TargetInfo, TargetOption,
    UnavailableReason, UnsupportedOperator, compiled, uncountable,
};
use crate::targets::host::{Host, HostLatency};

/// The longest latency by Vela in `trainer/data/labels.parquet`, on U85-256. The shortest is taken to be one cycle.
const LONGEST_COMPARED_MS: f64 = 341.2;
/// Multiply-accumulates at the peak rate in the longest latency there: 322.9 ms on U65-512 at 1 GHz.
const LONGEST_COMPARED_SLOTS: f64 = 1.65e11;

/// The family of these targets.
pub const FAMILY: target::Family = target::Family {
    id: "ethos-u",
    label: "Arm Ethos-U NPUs",
    group: None,
    is_accelerator: true,
    durations: Some(target::Durations::Compiler),
};
/// Channels of a brick of the layout NHCWB16.
const BRICK_CHANNELS: u32 = 16;

/// One accelerator in one system configuration and memory mode.
struct EthosU {
    configuration: Configuration,
    npu: Npu,
    /// The board that the estimates are for, where one was chosen.
    board: Option<&'static Board>,
    /// The same board, if networks were measured on it in this configuration.
    measured_board: Option<&'static MeasuredBoard>,
    /// The processor that runs what the NPU leaves to it.
    host: Option<Host>,
    /// Errors of each of [`RULE_METRICS`], looked up for the first graph.
    errors: OnceLock<[Option<&'static MetricErrors>; RULE_METRICS.len()]>,
}

/// The targets of every report: one for each family.
pub fn targets() -> Vec<Box<dyn Target>> {
    DEFAULT_PRODUCTS
        .map(|product| target(Configuration::new(product)))
        .into()
}

/// The i.MX 93, the only product with an Ethos-U65 whose processor was measured.
const HOST_OF_U65: &str = "cortex-a55-imx93";
/// The fastest core that was measured under TensorFlow Lite Micro. Products with an Ethos-U55 or U85 have a Cortex-M55
/// or M85, for which nobody published latencies of single operators.
const HOST_OF_MICROCONTROLLERS: &str = "cortex-m7-tflm";
/// Clock of the Cortex-M55 beside most Ethos-U55 and U85, the high-performance side of Alif's Ensemble.
const HOST_CLOCK_MHZ: f64 = 400.0;

/// Every product in its default configuration.
pub fn all_targets() -> Vec<Box<dyn Target>> {
    Product::ALL
        .map(|product| target(Configuration::new(product)))
        .into()
}

/// The usual host of a family, a microcontroller at `clock_mhz` if given.
pub fn usual_host(family: Family, clock_mhz: Option<f64>) -> Option<Host> {
    match family {
        Family::U65 => Host::by_id(HOST_OF_U65, None),
        Family::U55 | Family::U85 => Host::by_id(
            HOST_OF_MICROCONTROLLERS,
            Some(clock_mhz.unwrap_or(HOST_CLOCK_MHZ)),
        ),
    }
}

/// Any configuration as a target, with the accelerator's name as its id and the usual host.
pub fn target(configuration: Configuration) -> Box<dyn Target> {
    let host = usual_host(configuration.product.family(), None);
    target_beside(configuration, host)
}

/// The same as `target`, beside a processor.
pub fn target_beside(configuration: Configuration, host: Option<Host>) -> Box<dyn Target> {
    target_on(None, configuration, host)
}

/// [`target_beside`] for a board: with its measurements, if networks were measured on it in this configuration.
pub fn target_on(
    board: Option<&'static Board>,
    configuration: Configuration,
    host: Option<Host>,
) -> Box<dyn Target> {
    let product = configuration.product;
    Box::new(EthosU {
        host,
        npu: match product.family() {
            Family::U55 | Family::U65 => Npu::EthosU55U65,
            Family::U85 => Npu::EthosU85,
        },
        measured_board: board.and_then(|board| MeasuredBoard::find(board, &configuration)),
        board,
        errors: OnceLock::new(),
        configuration,
    })
}

impl Target for EthosU {
    fn id(&self) -> &str {
        self.configuration.product.name()
    }

    fn description(&self) -> Description {
        let product = self.configuration.product;
        Description {
            release: RULES_VERSION.to_owned(),
            options: &[
                TargetOption::Clock,
                TargetOption::Memories,
                TargetOption::Host,
            ],
            advice: &[Advice::LargerSram, Advice::SmallerAccelerator],
            channel_step: Some(BRICK_CHANNELS),
            ..Description::new(&FAMILY, product.short_label(), "Vela")
        }
    }

    fn info(&self, _: Option<&Manifest>) -> Option<TargetInfo> {
        let metric = |metric: Metric| MetricInfo {
            metric,
            unit: metric.unit(),
            expected_error_percent: (self.errors(metric)).and_then(MetricErrors::expected_percent),
        };
        Some(TargetInfo {
            id: self.id().into(),
            device: self.device(),
            metrics: RULE_METRICS.map(metric).into(),
            learned_from: format!("{RULES}, {}", self.configuration.in_words_with_rates()),
            provenance: self.rules_provenance(),
        })
    }

    fn unsupported(&self, network: &Network) -> Vec<UnsupportedOperator> {
        left_to_cpu(network, self.npu).to_vec()
    }

    fn host(&self) -> Option<HostInfo> {
        self.host.map(|host| host.info())
    }

    fn settings(&self, _: NonZeroU32) -> Settings {
        Settings {
            host: self.host.map(|host| host.info().id.to_owned()),
            ..self.configuration.settings()
        }
    }

    /// The multipliers at their clock, and all ports of both memories. Weights are compressed, so that their bytes in
    /// the file set no limit.
    fn peak(&self) -> Option<PeakRates> {
        let Configuration {
            product, system, ..
        } = &self.configuration;
        let of_ports = system.ports.map(|area| system.bytes_per_cycle(area));
        let bytes_per_cycle: f64 = of_ports.iter().sum();
        let macs_per_s = f64::from(product.macs_per_cycle()) * system.clock_hz;
        Some(PeakRates {
            // Ports read and write at once.
            map_bytes_per_s: 2.0 * bytes_per_cycle * system.clock_hz,
            ..PeakRates::from_arithmetic(macs_per_s)
        })
    }

    /// The range of the networks that were compared with the compiler, converted to this accelerator by its peak rate
    /// of multiply-accumulates.
    fn measured_range(&self, _: &Network) -> Option<MeasuredRange> {
        let Configuration {
            product, system, ..
        } = &self.configuration;
        let slots_per_ms = f64::from(product.macs_per_cycle()) * system.clock_hz * 1e-3;
        Some(MeasuredRange {
            shortest_ms: 0.0,
            longest_ms: LONGEST_COMPARED_MS.max(LONGEST_COMPARED_SLOTS / slots_per_ms),
        })
    }

    fn runs_integers_alone(&self) -> bool {
        true
    }

    fn plans_operators(&self) -> bool {
        true
    }

    fn estimate(&self, network: &Network) -> TargetEstimate {
        let unsupported = self.unsupported(network);
        let (metrics, diagnostics, n_starts) = match refusal(network, &unsupported) {
            Some(reason) => {
                let none = |metric| unavailable(metric, &reason);
                (RULE_METRICS.map(none), Vec::new(), 0)
            }
            None => self.estimates(network, !unsupported.is_empty()),
        };
        let mut metrics = Vec::from(metrics);
        metrics.extend(self.energy(&metrics, network.analysis, &unsupported));
        let with_host = HostParts {
            network,
            left: &unsupported,
            n_starts,
        };
        let mut diagnostics = diagnostics;
        if let Some(whole) = self.whole_latency(&mut metrics, &with_host) {
            let host = self.host.filter(|_| !unsupported.is_empty());
            diagnostics.extend(host.and_then(|host| host.few_networks()));
            metrics.insert(0, whole);
        }
        TargetEstimate {
            device: self.device(),
            metrics,
            diagnostics,
        }
    }
}

/// The reason why a network in which the NPU leaves these operators to the CPU has no estimate; `None` if it has one.
fn refusal(network: &Network, unsupported: &[UnsupportedOperator]) -> Option<UnavailableReason> {
    let Network {
        graph, analysis, ..
    } = network;
    let reason = uncountable(graph, analysis).or_else(|| compiled(graph));
    if let Some(reason) = reason {
        return Some(reason);
    }
    let batch = largest_recurrent_batch(graph);
    if batch > 1 {
        return Some(UnavailableReason::SeveralInputs { found: batch });
    }
    is_mostly_cpu(graph, analysis, unsupported).then(|| mostly_cpu(graph, unsupported))
}

/// A diagnostic that a limit of the plan was reached.
fn plan_limit_diagnostic() -> Diagnostic {
    Diagnostic {
        severity: Severity::Warning,
        code: "plan-limit",
        message: "more operations or weights than are planned: the last operators count as one operation each, \
                  without their weights, with roughly chosen blocks, or parts of concatenations and splits as written \
                  in place"
            .into(),
        operator_idx: None,
    }
}

/// A diagnostic that the compiler's totals contain more than an inference.
fn runs_once_diagnostic([initial_ms, offchip_bytes]: [f64; 2]) -> Diagnostic {
    Diagnostic {
        severity: Severity::Info,
        code: "runs-once",
        message: format!(
            "initialising state variables takes {initial_ms:.6} ms and moves {offchip_bytes:.0} bytes off the chip once; \
             the totals that Vela prints contain both, and these estimates of an inference do not"
        ),
        operator_idx: None,
    }
}

fn unavailable(metric: Metric, reason: &UnavailableReason) -> MetricEstimate {
    MetricEstimate {
        metric,
        outcome: Outcome::unavailable(reason.clone()),
    }
}

impl EthosU {
    fn rules_provenance(&self) -> Provenance {
        Provenance {
            kind: ProvenanceKind::CompilerRules,
            tool: RULES_OF.into(),
            version: RULES_VERSION.into(),
            configuration: self.configuration.in_words_with_rates(),
            reference: None,
            interval_percent: None,
            scope: None,
        }
    }

    /// Estimates by the compiler's rules, diagnostics, and how often the NPU is started.
    fn estimates(
        &self,
        network: &Network,
        is_partly_on_cpu: bool,
    ) -> ([MetricEstimate; 4], Vec<Diagnostic>, usize) {
        let accelerator = Accelerator::new(&self.configuration);
        let totals = Totals::new(&accelerator, network.graph, network.analysis);
        let signals = ErrorIndicators::new(network.graph, &totals.operators, is_partly_on_cpu);
        let initial = initial(&accelerator, network.graph);
        let diagnostics = [
            self.exceeded_cache_diagnostic(&totals),
            totals.hit_limit.then(plan_limit_diagnostic),
            (initial[0] > 0.0).then(|| runs_once_diagnostic(initial)),
            self.never_measured(),
        ];
        let estimates = RULE_METRICS.map(|metric| MetricEstimate {
            metric,
            outcome: self.outcome(metric, &totals, &signals),
        });
        let diagnostics = diagnostics.into_iter().flatten().collect();
        (estimates, diagnostics, totals.n_starts)
    }

    fn errors(&self, metric: Metric) -> Option<&'static MetricErrors> {
        let of_metrics = self.errors.get_or_init(|| {
            RULE_METRICS.map(|metric| Errors::shipped().find(&self.configuration, metric))
        });
        let idx = RULE_METRICS.iter().position(|one| *one == metric)?;
        of_metrics[idx]
    }

    fn outcome(&self, metric: Metric, totals: &Totals, signals: &ErrorIndicators) -> Outcome {
        let errors = self.errors(metric);
        let value = totals.metric(metric);
        let factor = errors.map(|errors| errors.width.factor(signals));
        let clock_hz = self.configuration.system.clock_hz;
        let parts = totals.operators.iter();
        Outcome::Estimate {
            value,
            lo: factor.map(|factor| value / factor),
            hi: factor.map(|factor| value * factor),
            unit: metric.unit(),
            // Widths hold nine in ten of networks that they were not made from.
            provenance: (self.rules_provenance())
                .checked(errors.and_then(|errors| checked_percent(errors.n, 90.0))),
            expected_error_percent: errors.and_then(MetricErrors::expected_percent),
            operators: Some(parts.map(|one| part_of(one, metric, clock_hz)).collect()),
        }
    }

    /// A diagnostic if the arena cache is exceeded. The compiler treats its size as a goal: if stripes do not make a
    /// network fit, it compiles it anyway.
    fn exceeded_cache_diagnostic(&self, totals: &Totals) -> Option<Diagnostic> {
        let cache_bytes = self.configuration.arena_cache_bytes();
        let is_kept = self.configuration.strategy == Strategy::Size
            || totals.sram_peak_bytes <= cache_bytes as f64;
        (!is_kept).then(|| Diagnostic {
            severity: Severity::Warning,
            code: "exceeds-arena-cache",
            message: format!(
                "needs {} bytes of SRAM even by stripes, more than the {cache_bytes} of the arena cache; Vela compiles \
                 it all the same, but it may not run",
                totals.sram_peak_bytes
            ),
            operator_idx: None,
        })
    }

    /// Latency of the whole network, where that by the rules among `metrics` is not all of it: on a board, and
    /// where operators are left to the host. The one by the rules is then the NPU's part. The ends of both intervals are
    /// added, which assumes that both errors have the same direction.
    fn whole_latency(
        &self,
        metrics: &mut [MetricEstimate],
        with: &HostParts,
    ) -> Option<MetricEstimate> {
        if self.board.is_none() && with.left.is_empty() {
            return None;
        }
        let latency = metrics.iter_mut().find(|m| m.metric == Metric::Latency)?;
        let Outcome::Estimate {
            value,
            lo,
            hi,
            operators,
            ..
        } = &latency.outcome
        else {
            return None;
        };
        let by_rules = [*value, lo.unwrap_or(*value), hi.unwrap_or(*value)];
        let outcome = self.latency_with_host(by_rules, operators.as_deref(), with);
        latency.metric = Metric::NpuLatency;
        Some(MetricEstimate {
            metric: Metric::Latency,
            outcome,
        })
    }

    /// The hardware in words, on the board if one was asked for.
    fn device(&self) -> String {
        let device = self.configuration.product.device();
        match self.board {
            Some(board) => format!("{}: {device}", board.name),
            None => device,
        }
    }

    /// A diagnostic that nobody measured the board, with how far silicon was from the compiler where it was measured.
    fn never_measured(&self) -> Option<Diagnostic> {
        let board = self.board.filter(|_| self.measured_board.is_none())?;
        let silicon = Silicon::shipped();
        let [least, most] = silicon.range_of_ratios();
        let on_board = silicon.boards.iter().find(|one| one.board == board.id);
        let on_board = on_board.map_or_else(String::new, |one| {
            let networks = one.networks.iter();
            let words = networks
                .map(|one| format!("{} took {:.1} times as long on it; ", one.name, one.ratio));
            words.collect()
        });
        Some(Diagnostic {
            severity: Severity::Warning,
            code: "board-never-measured",
            message: format!(
                "no measured networks to fit to on {}: its latency is assumed to be {:.1} times the compiler's estimate for \
                 its NPU, and other numbers are that estimate, with errors against the compiler; {on_board}where networks \
                 were measured, on {}, they took {least:.1} to {most:.1} times as long",
                board.name,
                silicon.elsewhere.factor,
                silicon.board_names()
            ),
            operator_idx: None,
        })
    }

    /// The latency of the NPU's part with `n_starts` starts, whose time is known on no board but the measured ones, and
    /// what it is made of.
    fn add_start_times(&self, [value, lo, hi]: [f64; 3], n_starts: usize) -> ([f64; 3], String) {
        let measured = Silicon::shipped().boards.iter();
        let most_ms = measured
            .map(|board| board.start_range_ms[1])
            .fold(0.0, f64::max);
        let words = format!(
            "the latency by {RULES}, {}; {n_starts} starts of the NPU are in the interval alone, with up to \
             {most_ms:.2} ms each, the longest on i.MX 93",
            self.configuration.in_words_with_rates(),
        );
        ([value, lo, hi + most_ms * n_starts as f64], words)
    }

    /// Value, lower and upper end of what the accelerator takes with its starts, in ms, and where they are from.
    fn npu_ms(&self, by_rules: [f64; 3], n_starts: usize) -> ([f64; 3], String) {
        let silicon = Silicon::shipped();
        match self.measured_board {
            None if self.board.is_some() => (
                silicon.unmeasured_board_ms(by_rules[0], n_starts),
                silicon.unmeasured_board_in_words(),
            ),
            Some(board) => (board.latency_ms(by_rules[0], n_starts), board.in_words()),
            None => self.add_start_times(by_rules, n_starts),
        }
    }

    /// From the latency of the NPU's part and the ends of its interval.
    fn latency_with_host(
        &self,
        by_rules: [f64; 3],
        by_operator: Option<&[f64]>,
        with: &HostParts,
    ) -> Outcome {
        let left: Vec<usize> = with.left.iter().map(|operator| operator.node_idx).collect();
        let on_host = match (left.is_empty(), &self.host) {
            (true, _) => Ok(HostLatency::default()),
            (false, Some(host)) => host.latency(with.network, &left),
            (false, None) => Err(UnavailableReason::NeverMeasured),
        };
        let on_host = match on_host {
            Ok(on_host) => on_host,
            Err(reason) => return Outcome::unavailable(reason),
        };
        let ([npu_ms, npu_lo_ms, npu_hi_ms], mut words) = self.npu_ms(by_rules, with.n_starts);
        if let Some(host) = self.host.filter(|_| !left.is_empty()) {
            let operators = match left.len() {
                1 => "1 operator takes".to_owned(),
                n => format!("{n} operators take"),
            };
            words += &format!(
                "; {operators} {:.3} ms on the host, {}: {}",
                on_host.value_ms,
                host.device(),
                host.in_words()
            );
        }
        let scale = if by_rules[0] > 0.0 {
            npu_ms / by_rules[0]
        } else {
            1.0
        };
        let operators = by_operator.map(|parts| with_host_parts(parts, scale, &left, &on_host));
        // Nobody measured networks in parts.
        let measured_board = self.measured_board.filter(|_| left.is_empty());
        let provenance = Provenance::own(ProvenanceKind::Modelled, words);
        Outcome::Estimate {
            value: npu_ms + on_host.value_ms,
            lo: Some(npu_lo_ms + on_host.lo_ms),
            hi: Some(npu_hi_ms + on_host.hi_ms),
            unit: Metric::Latency.unit(),
            provenance: match (measured_board, self.measured_board) {
                (Some(board), _) => provenance
                    .against(Reference::Measured)
                    .checked(board.errors().checked_percent(board.networks.len())),
                (None, Some(_)) => provenance.against(Reference::MeasuredParts),
                (None, None) => provenance,
            },
            expected_error_percent: measured_board.map(|board| board.errors().mean_percent),
            operators,
        }
    }

    /// Of what the NPU runs: `left` is for the CPU, whose energy nobody knows.
    fn energy(
        &self,
        metrics: &[MetricEstimate],
        analysis: &Analysis,
        left: &[UnsupportedOperator],
    ) -> Option<MetricEstimate> {
        let coefficients = coefficients(self.configuration.product.family());
        let errors_of = |metric: Metric| {
            let mut metrics = metrics.iter();
            Some(&metrics.find(|m| m.metric == metric)?.outcome)
        };
        let (sram, offchip) = (
            errors_of(Metric::SramTraffic)?,
            errors_of(Metric::OffchipTraffic)?,
        );
        let outcome = match (Traffic::new(sram), Traffic::new(offchip)) {
            (Some(sram), Some(offchip)) => {
                let mut macs: Vec<f64> = (analysis.costs.iter())
                    .map(|cost| cost.macs as f64)
                    .collect();
                for operator in left {
                    macs[operator.node_idx] = 0.0;
                }
                energy_outcome(&coefficients, &sram, &offchip, &macs)
            }
            _ => sram.clone(),
        };
        Some(MetricEstimate {
            metric: Metric::Energy,
            outcome,
        })
    }
}

/// Latencies by operator: those of the NPU multiplied by `scale`, and those of the host for the operators `left` to it.
fn with_host_parts(parts: &[f64], scale: f64, left: &[usize], on_host: &HostLatency) -> Vec<f64> {
    let mut parts: Vec<f64> = parts.iter().map(|ms| scale * ms).collect();
    for (&idx, ms) in left.iter().zip(&on_host.operators_ms) {
        if let Some(part) = parts.get_mut(idx) {
            *part = *ms;
        }
    }
    parts
}

/// Metrics that the compiler's rules estimate.
const RULE_METRICS: [Metric; 4] = [
    Metric::Latency,
    Metric::SramPeak,
    Metric::OffchipTraffic,
    Metric::SramTraffic,
];
const RULES: &str = "rules of ethos-u-vela 5.2.0";
const RULES_OF: &str = "ethos-u-vela";
const RULES_VERSION: &str = "5.2.0";

/// What beside the NPU's part an end-to-end latency is made from.
struct HostParts<'w, 'n> {
    network: &'w Network<'n>,
    left: &'w [UnsupportedOperator],
    n_starts: usize,
}

fn part_of(one: &PlannedOperator, metric: Metric, clock_hz: f64) -> f64 {
    match metric {
        Metric::Latency => 1e3 * one.cycles / clock_hz,
        Metric::SramPeak => one.sram_bytes,
        Metric::OffchipTraffic => one.counted_off_chip_bytes,
        _ => one.counted_sram_traffic_bytes,
    }
}

/// The outcome of an energy. It has no interval, because the error of the energies is unknown.
fn energy_outcome(
    coefficients: &Coefficients,
    sram: &Traffic,
    offchip: &Traffic,
    macs: &[f64],
) -> Outcome {
    let all_macs = macs.iter().sum();
    let parts = sram.operators.zip(offchip.operators);
    let operators = parts.map(|(sram, offchip)| {
        let bytes = sram.iter().zip(offchip);
        let parts = macs.iter().zip(bytes);
        parts
            .map(|(&macs, (&sram, &offchip))| coefficients.energy_mj(macs, sram, offchip))
            .collect()
    });
    Outcome::Estimate {
        value: coefficients.energy_mj(all_macs, sram.value, offchip.value),
        // Published energies of 22 nm blocks were never compared with an Ethos-U. Their error is unknown, and an
        // interval from the traffic alone would suggest otherwise.
        lo: None,
        hi: None,
        unit: Metric::Energy.unit(),
        provenance: Provenance::own(ProvenanceKind::Modelled, coefficients.in_words())
            .with_scope(coefficients.scope().to_owned()),
        expected_error_percent: None,
        operators,
    }
}

/// Bytes moved, by an estimate.
struct Traffic<'r> {
    value: f64,
    operators: Option<&'r Vec<f64>>,
}

impl<'r> Traffic<'r> {
    fn new(outcome: &'r Outcome) -> Option<Self> {
        match outcome {
            Outcome::Estimate {
                value, operators, ..
            } => Some(Self {
                value: *value,
                operators: operators.as_ref(),
            }),
            Outcome::Unavailable { .. } => None,
        }
    }
}

/// Whether most multiply-accumulates stay on the CPU or, where there are none, every operator, so that an estimate for the
/// NPU has little meaning.
fn is_mostly_cpu(graph: &Graph, analysis: &Analysis, unsupported: &[UnsupportedOperator]) -> bool {
    let cpu_macs: u64 = unsupported
        .iter()
        .map(|operator| analysis.costs[operator.node_idx].macs)
        .fold(0, u64::saturating_add);
    let all_macs = analysis
        .costs
        .iter()
        .map(|cost| cost.macs)
        .fold(0, u64::saturating_add);
    if all_macs == 0 {
        if unsupported.len() == graph.nodes.len() {
            return true;
        }
        // What keeps its values where they are is no work that an NPU could take.
        let moves = |node: &&graph::Node| node.operator.code.kind.row().effect != Effect::Renames;
        let n_left = unsupported.iter().map(|one| &graph.nodes[one.node_idx]);
        let n_left = n_left.filter(moves).count();
        return n_left > 0 && n_left == graph.nodes.iter().filter(moves).count();
    }
    cpu_macs > all_macs / 2
}

fn mostly_cpu(graph: &Graph, unsupported: &[UnsupportedOperator]) -> UnavailableReason {
    let reasons: BTreeSet<String> = unsupported
        .iter()
        .map(|operator| operator.reason.to_string())
        .collect();
    let is_float = unsupported
        .iter()
        .any(|operator| operator.reason.is_float());
    UnavailableReason::UnsupportedOperators {
        n_operators: unsupported.len(),
        of: graph.nodes.len(),
        place: "on the NPU",
        reasons: some_of(reasons, ", "),
        advice: if is_float {
            "; quantise the model to int8"
        } else {
            ""
        },
    }
}
