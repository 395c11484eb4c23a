//! The Ethos-U targets: a trained network's estimates of what Vela says, or Vela's rules alone where no
//! network was trained, and the energy that follows.

use std::collections::BTreeSet;

use super::accelerator::Accelerator;
use super::configuration::{Configuration, Family, Product, Strategy};
use super::energy::{Coefficients, coefficients};
use super::rule_errors::RuleErrors;
use super::silicon::MeasuredBoard;
use super::support::{Npu, inputs_at_a_time, unsupported};
use super::totals::Totals;
use crate::diagnostic::{Diagnostic, Severity, some_of};
use crate::graph::Graph;
use crate::graph::analysis::Analysis;
use crate::learned::features::PlannedOperator;
use crate::learned::manifest::{Manifest, Output};
use crate::learned::out_of_distribution::Learned;
use crate::provenance::{Provenance, ProvenanceKind, Reference};
use crate::targets::{
    Metric, MetricEstimate, MetricInfo, Network, Outcome, PeakRates, Target, TargetEstimate,
    TargetInfo, UnavailableReason, UnsupportedOperator, compiled_by_vela, uncountable,
};

/// One accelerator in one system configuration and memory mode.
struct EthosU {
    configuration: Configuration,
    npu: Npu,
    /// Whether the shipped network was trained on it. Others are estimated by Vela's rules alone.
    is_trained: bool,
    /// The board that has it, where networks were measured on one.
    measured_board: Option<&'static MeasuredBoard>,
}

/// Those whose default configurations the shipped network was trained on.
const TRAINED: [Product; 3] = [Product::U55x256, Product::U65x512, Product::U85x256];

/// The configurations that the shipped network was trained on.
pub fn targets() -> Vec<Box<dyn Target>> {
    TRAINED
        .map(|product| target(Configuration::of(product)))
        .into()
}

/// Any configuration as a target, with the accelerator's name as its id.
pub fn target(configuration: Configuration) -> Box<dyn Target> {
    let product = configuration.product;
    Box::new(EthosU {
        npu: match product.family() {
            Family::U55 | Family::U65 => Npu::EthosU55U65,
            Family::U85 => Npu::EthosU85,
        },
        is_trained: TRAINED.contains(&product) && configuration == Configuration::of(product),
        measured_board: MeasuredBoard::of(&configuration),
        configuration,
    })
}

impl Target for EthosU {
    fn id(&self) -> &str {
        self.configuration.product.name()
    }

    fn info(&self, manifest: Option<&Manifest>) -> Option<TargetInfo> {
        if !self.is_trained {
            return Some(self.info_by_rules());
        }
        let manifest = manifest?;
        let outputs = self.outputs(manifest);
        let first = outputs.first()?.1;
        let metric = |&(_, output, metric): &(usize, &Output, Metric)| MetricInfo {
            metric,
            unit: metric.unit(),
            expected_error_percent: manifest.expected_error_percent(self.id(), &output.metric),
        };
        let source = &first.provenance;
        Some(TargetInfo {
            id: self.id().into(),
            device: first.device.clone(),
            metrics: outputs.iter().map(metric).collect(),
            learned_from: format!(
                "{} {}, {}",
                source.tool, source.version, source.configuration
            ),
            provenance: source.clone(),
        })
    }

    fn unsupported(&self, network: &Network) -> Vec<UnsupportedOperator> {
        unsupported(network.graph, self.npu)
    }

    fn is_learned(&self) -> bool {
        self.is_trained
    }

    /// The multipliers at their clock. Weights are compressed, so that their bytes in the file set no limit.
    fn peak(&self) -> Option<PeakRates> {
        let Configuration {
            product, system, ..
        } = &self.configuration;
        Some(PeakRates {
            macs_per_s: f64::from(product.macs_per_cycle()) * system.clock_hz,
            weight_bytes_per_s: f64::INFINITY,
            cached_bytes: 0.0,
        })
    }

    fn estimate(&self, network: &Network) -> TargetEstimate {
        if !self.is_trained {
            return self.by_rules(network);
        }
        let Some(learned) = network.learned else {
            return TargetEstimate::default();
        };
        // What the network makes of an operator kind that it never saw is a guess; the compiler's rules
        // plan it, or leave it to the CPU, as they do on every other configuration.
        if !learned.has_only_trained_operators {
            return TargetEstimate {
                diagnostics: learned.never_trained.iter().cloned().collect(),
                ..self.by_rules(network)
            };
        }
        let refusal = self.refusal(network);
        let outputs = self.outputs(learned.manifest);
        let estimate = |&(idx, output, metric): &(usize, &Output, Metric)| MetricEstimate {
            metric,
            outcome: match &refusal {
                Some(reason) => Outcome::unavailable(reason.clone()),
                None => learned_outcome(learned, idx, output, metric),
            },
        };
        let mut metrics: Vec<MetricEstimate> = outputs.iter().map(estimate).collect();
        metrics.extend(self.energy(&metrics, network.analysis));
        let is_estimated = metrics.iter().any(|metric| metric.outcome.is_estimate());
        TargetEstimate {
            device: outputs
                .first()
                .map(|(_, output, _)| output.device.clone())
                .unwrap_or_default(),
            metrics,
            diagnostics: match is_estimated {
                true => learned.diagnostics.clone(),
                false => Vec::new(),
            },
        }
    }
}

impl EthosU {
    /// The trained network's outputs for this target, each with its column.
    fn outputs<'m>(&self, manifest: &'m Manifest) -> Vec<(usize, &'m Output, Metric)> {
        let outputs = manifest.outputs.iter().enumerate();
        outputs
            .filter(|(_, output)| output.target == self.id())
            .filter_map(|(idx, output)| Some((idx, output, Metric::from_id(&output.metric)?)))
            .collect()
    }

    /// What is estimated where no network was trained.
    fn info_by_rules(&self) -> TargetInfo {
        let metric = |metric: Metric| MetricInfo {
            metric,
            unit: metric.unit(),
            expected_error_percent: (RuleErrors::shipped().of(&self.configuration, metric))
                .map(|errors| errors.mean_percent),
        };
        TargetInfo {
            id: self.id().into(),
            device: self.configuration.product.device(),
            metrics: RULE_METRICS.map(metric).into(),
            learned_from: format!("{RULES}, {}", self.configuration.in_words()),
            provenance: self.rules(),
        }
    }

    fn rules(&self) -> Provenance {
        Provenance {
            kind: ProvenanceKind::CompilerRules,
            tool: RULES_OF.into(),
            version: RULES_VERSION.into(),
            configuration: self.configuration.in_words(),
            reference: None,
        }
    }

    /// By the compiler's rules alone.
    fn by_rules(&self, network: &Network) -> TargetEstimate {
        let of_all = |outcome: &dyn Fn(Metric) -> Outcome| -> Vec<MetricEstimate> {
            let estimate = |metric| MetricEstimate {
                metric,
                outcome: outcome(metric),
            };
            RULE_METRICS.map(estimate).into()
        };
        let mut diagnostics = Vec::new();
        let mut metrics = match self.refusal(network) {
            Some(reason) => of_all(&|_| Outcome::unavailable(reason.clone())),
            None => {
                let accelerator = Accelerator::of(&self.configuration);
                let totals = Totals::of(&accelerator, network.graph, network.analysis);
                diagnostics.extend(self.exceeded(&totals));
                of_all(&|metric| self.planned(metric, &totals, accelerator.clock_hz))
            }
        };
        metrics.extend(self.board_latency(&metrics));
        metrics.extend(self.energy(&metrics, network.analysis));
        TargetEstimate {
            device: self.configuration.product.device(),
            metrics,
            diagnostics,
        }
    }

    /// The compiler takes the arena cache as a wish: what does not fit by stripes, it compiles all the same.
    fn exceeded(&self, totals: &Totals) -> Option<Diagnostic> {
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

    fn planned(&self, metric: Metric, totals: &Totals, clock_hz: f64) -> Outcome {
        let value = match metric {
            Metric::Latency => totals.latency_ms,
            Metric::SramPeak => totals.sram_peak_bytes,
            Metric::OffchipTraffic => totals.offchip_traffic_bytes,
            _ => totals.sram_traffic_bytes,
        };
        let part = |one: &PlannedOperator| match metric {
            Metric::Latency => 1e3 * one.cycles / clock_hz,
            Metric::SramPeak => one.sram_bytes,
            Metric::OffchipTraffic => one.counted_off_chip_bytes,
            _ => one.counted_sram_traffic_bytes,
        };
        let errors = RuleErrors::shipped().of(&self.configuration, metric);
        Outcome::Estimate {
            value,
            lo: errors.map(|errors| value / errors.interval_factor),
            hi: errors.map(|errors| value * errors.interval_factor),
            unit: metric.unit(),
            provenance: self.rules(),
            expected_error_percent: errors.map(|errors| errors.mean_percent),
            operators: Some(totals.operators.iter().map(part).collect()),
        }
    }

    /// What the measured board takes, from the latency by rules among `metrics`.
    fn board_latency(&self, metrics: &[MetricEstimate]) -> Option<MetricEstimate> {
        let board = self.measured_board?;
        let latency = metrics.iter().find(|m| m.metric == Metric::Latency)?;
        let outcome = match &latency.outcome {
            Outcome::Estimate { value, .. } => {
                let [value, lo, hi] = board.latency_ms(*value);
                Outcome::Estimate {
                    value,
                    lo: Some(lo),
                    hi: Some(hi),
                    unit: Metric::BoardLatency.unit(),
                    provenance: Provenance::own(ProvenanceKind::Modelled, board.in_words())
                        .against(Reference::Measured),
                    expected_error_percent: Some(board.left_out.mean_percent),
                    operators: None,
                }
            }
            refused @ Outcome::Unavailable { .. } => refused.clone(),
        };
        Some(MetricEstimate {
            metric: Metric::BoardLatency,
            outcome,
        })
    }

    fn refusal(&self, network: &Network) -> Option<UnavailableReason> {
        let Network {
            graph, analysis, ..
        } = network;
        let reason = uncountable(graph, analysis).or_else(|| compiled_by_vela(graph));
        if let Some(reason) = reason {
            return Some(reason);
        }
        let found = inputs_at_a_time(graph);
        if found > 1 {
            return Some(UnavailableReason::SeveralInputs { found });
        }
        let unsupported = unsupported(graph, self.npu);
        is_mostly_cpu(graph, analysis, &unsupported).then(|| mostly_cpu(graph, &unsupported))
    }

    fn energy(&self, metrics: &[MetricEstimate], analysis: &Analysis) -> Option<MetricEstimate> {
        let coefficients = coefficients(self.id())?;
        let of = |metric: Metric| {
            let mut metrics = metrics.iter();
            Some(&metrics.find(|m| m.metric == metric)?.outcome)
        };
        let (sram, offchip) = (of(Metric::SramTraffic)?, of(Metric::OffchipTraffic)?);
        let outcome = match (Traffic::of(sram), Traffic::of(offchip)) {
            (Some(sram), Some(offchip)) => energy_outcome(&coefficients, &sram, &offchip, analysis),
            _ => sram.clone(),
        };
        Some(MetricEstimate {
            metric: Metric::Energy,
            outcome,
        })
    }
}

/// What the compiler's rules tell.
const RULE_METRICS: [Metric; 4] = [
    Metric::Latency,
    Metric::SramPeak,
    Metric::OffchipTraffic,
    Metric::SramTraffic,
];
const RULES: &str = "rules of ethos-u-vela 5.2.0";
const RULES_OF: &str = "ethos-u-vela";
const RULES_VERSION: &str = "5.2.0";

fn learned_outcome(learned: &Learned, idx: usize, output: &Output, metric: Metric) -> Outcome {
    let Some(&value) = learned.estimates.graph.get(idx) else {
        return Outcome::unavailable(UnavailableReason::NoOperators);
    };
    let value = f64::from(value);
    let manifest = learned.manifest;
    let interval = manifest
        .interval(&output.target, &output.metric)
        .filter(|_| learned.has_only_trained_operators)
        .and_then(|interval| interval.around(value, learned.distance));
    Outcome::Estimate {
        value,
        lo: interval.map(|(low, _)| low),
        hi: interval.map(|(_, high)| high),
        unit: metric.unit(),
        provenance: output.provenance.clone(),
        // Not promised for a graph unlike all of those it was measured on.
        expected_error_percent: manifest
            .expected_error_percent(&output.target, &output.metric)
            .filter(|_| learned.is_in_training_range),
        operators: learned.estimates.operators_of(idx),
    }
}

/// Without an interval, because the error of the energies is not known.
fn energy_outcome(
    coefficients: &Coefficients,
    sram: &Traffic,
    offchip: &Traffic,
    analysis: &Analysis,
) -> Outcome {
    let macs: Vec<f64> = analysis.costs.iter().map(|cost| cost.macs as f64).collect();
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
        // Published energies of 22 nm blocks were never checked against an Ethos-U: how far they are off
        // is unknown, and an interval of the traffic alone would claim otherwise.
        lo: None,
        hi: None,
        unit: Metric::Energy.unit(),
        provenance: Provenance::own(ProvenanceKind::Modelled, coefficients.in_words()),
        expected_error_percent: None,
        operators,
    }
}

/// Bytes of an estimate.
struct Traffic<'r> {
    value: f64,
    operators: Option<&'r Vec<f64>>,
}

impl<'r> Traffic<'r> {
    fn of(outcome: &'r Outcome) -> Option<Self> {
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

/// An NPU's estimate says little where most of the work stays on the CPU.
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
        return 2 * unsupported.len() > graph.nodes.len();
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
        advice: match is_float {
            true => "; quantise the model to int8",
            false => "",
        },
    }
}
