//! Accelerators without published rules as targets.

use std::num::NonZeroU32;
use std::sync::Arc;

use super::devices::{DEVICES, Device, NumberFormat, WAYS, Way, run_id};
use super::estimate::{Beside, FAR, Time, time};
use super::refusals::{Refusal, refusal};
use super::work::{NetworkWork, network_work};
use crate::diagnostic::{Diagnostic, Severity};
use crate::graph::analysis::{Precision, precision};
use crate::learned::manifest::Manifest;
use crate::provenance::{Provenance, ProvenanceKind, Reference, checked_percent};
use crate::target::fitted::{Bundle, Elsewhere, Mode, Run};
use crate::target::{
    Description, Durations, Family, MeasuredRange, Metric, MetricEstimate, MetricInfo, Network,
    Outcome, Settings, Target, TargetEstimate, TargetInfo, TargetOption, UnavailableReason,
    UnsupportedOperator, compiled, uncountable,
};

/// The family of these targets.
pub const FAMILY: Family = Family {
    id: "phones-and-boards",
    label: "Phones and NPU boards",
    group: Some("learned from what others measured on them"),
    is_accelerator: false,
    durations: Some(Durations::Accelerator),
};

const FAR_WORDS: &str = "no network measured on this device spends as much of its time in the same kinds of operators: the \
                         interval is wide";
const UNUSED_WORDS: &str = "what was measured elsewhere was not used: it tells the time of a network that is estimated in the same \
                            precision, on another device with a Hexagon NPU";
const BATCH_WORDS: &str = "only batch 1 was measured on this device";

/// A device under one way to run networks, with the constants that were fitted to measurements on it.
struct Learned {
    id: String,
    device: &'static Device,
    way: Way,
    bundle: Arc<Bundle>,
    measured: Option<Measured>,
}

/// What a network took on a device, in a way.
#[derive(Clone, Debug, PartialEq)]
struct Measured {
    id: String,
    device: &'static Device,
    way: Way,
    ms: f64,
}

/// The time of a network, and what the estimate rests on.
struct Estimated<'b> {
    numbers: NumberFormat,
    run: &'b Run,
    time: Time,
    elsewhere: Option<Elsewhere>,
}

/// A device and a way, as an id names them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parsed<'i> {
    pub device: &'static Device,
    /// Behind the `@`.
    pub way: Option<&'i str>,
}

/// The device that an id names, itself or by what people type for it; `None` for others.
pub fn parse_id(id: &str) -> Option<Parsed<'_>> {
    let (name, way) = match id.split_once('@') {
        Some((name, way)) => (name, Some(way)),
        None => (id, None),
    };
    let is_named = |device: &&Device| {
        let mut aliases = device.aliases.iter();
        is_same(device.id, name) || aliases.any(|alias| is_same(alias, name))
    };
    let device = DEVICES.iter().find(is_named)?;
    Some(Parsed { device, way })
}

/// Whether two names differ only in case and in how their words are joined.
fn is_same(a: &str, b: &str) -> bool {
    let letter = |byte: u8| match byte {
        b'-' | b'_' => b' ',
        other => other.to_ascii_lowercase(),
    };
    a.bytes().map(letter).eq(b.bytes().map(letter))
}

impl Parsed<'_> {
    /// The id of the target, whatever it was called.
    pub fn id(&self) -> String {
        match self.way {
            Some(way) => format!("{}@{way}", self.device.id),
            None => self.device.id.to_owned(),
        }
    }

    /// The target; the names of the device's ways if it is not one of them, and `None` if the constants do not have the
    /// device.
    pub fn target(
        &self,
        bundle: &Arc<Bundle>,
    ) -> Option<Result<Box<dyn Target>, Vec<&'static str>>> {
        let learned = self.learned(bundle)?;
        Some(learned.map(|learned| Box::new(learned) as Box<dyn Target>))
    }

    /// As [`Self::target`], for a network that took `ms` on the device `there`.
    pub fn target_beside(
        &self,
        there: &Self,
        ms: f64,
        bundle: &Arc<Bundle>,
    ) -> Option<Result<Box<dyn Target>, Vec<&'static str>>> {
        let Learned {
            id, device, way, ..
        } = match there.learned(bundle)? {
            Ok(there) => there,
            Err(ways) => return Some(Err(ways)),
        };
        let beside = |learned: Learned| Learned {
            measured: Some(Measured {
                id,
                device,
                way,
                ms,
            }),
            ..learned
        };
        let learned = self.learned(bundle)?;
        Some(learned.map(|learned| Box::new(beside(learned)) as Box<dyn Target>))
    }

    fn learned(&self, bundle: &Arc<Bundle>) -> Option<Result<Learned, Vec<&'static str>>> {
        let ways = measured_ways(self.device, bundle);
        let way = match self.way {
            None => ways.first(),
            Some(id) => ways.iter().find(|way| way.id == id),
        };
        let Some(way) = way else {
            let ids: Vec<_> = ways.iter().map(|way| way.id).collect();
            return (!ids.is_empty()).then_some(Err(ids));
        };
        Some(Ok(Learned {
            id: self.id(),
            device: self.device,
            way: *way,
            bundle: Arc::clone(bundle),
            measured: None,
        }))
    }
}

/// Every device that the bundle has, in its usual way. They are not in the registry, so that they are estimated only on
/// request.
pub fn targets(bundle: &Arc<Bundle>) -> Vec<Box<dyn Target>> {
    let target = |device: &'static Device| Parsed { device, way: None }.target(bundle)?.ok();
    DEVICES.iter().filter_map(target).collect()
}

/// The ways in which a device was measured; the first is the usual one.
fn measured_ways(device: &Device, bundle: &Bundle) -> Vec<Way> {
    let is_measured = |way: &Way| {
        let mut numbers = NumberFormat::ALL.into_iter();
        numbers.any(|numbers| {
            way.numbers.is_none_or(|only| only == numbers)
                && run(device, *way, numbers, bundle).is_some()
        })
    };
    WAYS.iter().copied().filter(is_measured).collect()
}

fn run<'b>(
    device: &Device,
    way: Way,
    numbers: NumberFormat,
    bundle: &'b Bundle,
) -> Option<&'b Run> {
    bundle.run(&run_id(device.id, way.runtime, numbers), Mode::Inference)
}

impl Learned {
    fn run(&self, numbers: NumberFormat) -> Option<&Run> {
        run(self.device, self.way, numbers, &self.bundle)
    }

    /// That of the way's own numbers, of floats, or else of what the device has.
    fn first_run(&self) -> Option<(NumberFormat, &Run)> {
        let numbers = self.way.numbers.into_iter().chain(NumberFormat::ALL);
        numbers
            .filter_map(|numbers| Some((numbers, self.run(numbers)?)))
            .next()
    }

    /// The numbers that a file is run with.
    fn numbers(&self, network: &Network) -> Result<NumberFormat, UnavailableReason> {
        if let Some(numbers) = self.way.numbers {
            return Ok(numbers);
        }
        match precision(network.graph, network.analysis) {
            Precision::Float32 | Precision::Float16 | Precision::None => Ok(NumberFormat::Float),
            Precision::Int8 | Precision::Uint8 => Ok(NumberFormat::Int8),
            Precision::Int16x8 => Ok(NumberFormat::Int16),
            Precision::DynamicRange => Err(unmeasured("float activations with narrower weights")),
            Precision::Mixed => Err(unmeasured("operators of several precisions")),
        }
    }

    fn latency(&self, network: &Network) -> Result<Estimated<'_>, UnavailableReason> {
        let graph = network.graph;
        if let Some(reason) = uncountable(graph, network.analysis).or_else(|| compiled(graph)) {
            return Err(reason);
        }
        let numbers = self.numbers(network)?;
        let run = self
            .run(numbers)
            .ok_or_else(|| unmeasured(numbers.words()))?;
        let slow = refusal(network.graph, network.analysis, self.way.runtime, numbers);
        if let Some((node_idx, refusal)) = slow {
            return Err(refusal_reason(network, node_idx, refusal));
        }
        let work = network.shared(|| network_work(network.graph, network.analysis));
        let there = self.measured.as_ref();
        let beside = there.and_then(|there| self.beside(there, numbers, run, work));
        let time = time(run, work, (self.way.runtime, numbers), beside);
        Ok(Estimated {
            numbers,
            run,
            time: time.ok_or(UnavailableReason::NoOperators)?,
            elsewhere: beside.map(|there| there.errors),
        })
    }

    /// What the measurement elsewhere tells of the run here; `None` if that is nothing.
    fn beside(
        &self,
        there: &Measured,
        numbers: NumberFormat,
        here: &Run,
        work: &NetworkWork,
    ) -> Option<Beside> {
        let is_in_numbers = there.way.numbers.is_none_or(|only| only == numbers);
        if there.device == self.device || !is_in_numbers {
            return None;
        }
        let relation = self.way.runtime.relation(there.way.runtime)?;
        let run = run(there.device, there.way, numbers, &self.bundle)?;
        let estimated = time(run, work, (there.way.runtime, numbers), None)?;
        Some(Beside {
            ratio: there.ms / estimated.value_ms,
            errors: *here.elsewhere.get(relation)?,
        })
    }

    fn provenance(&self, numbers: NumberFormat, run: &Run) -> Provenance {
        Provenance::own(
            ProvenanceKind::LearnedFromMeasurements,
            configuration(numbers, run),
        )
        .against(Reference::MeasuredKindLeftOut)
    }
}

/// The runtime, and the numbers where they are not those of the file.
fn words(way: &Way) -> String {
    let numbers = match way.numbers {
        None => "",
        Some(NumberFormat::Float) => ", 16-bit floats",
        Some(NumberFormat::Int8) => ", 8-bit activations",
        Some(NumberFormat::Int16) => ", 16-bit activations",
    };
    format!("{}{numbers}", way.runtime.words())
}

impl Target for Learned {
    fn id(&self) -> &str {
        &self.id
    }

    fn description(&self) -> Description {
        let ways = measured_ways(self.device, &self.bundle);
        let short_label = self.device.device.split(',').next().unwrap_or_default();
        let told_elsewhere = self.first_run().and_then(|(_, run)| run.elsewhere.first());
        Description {
            aliases: self.device.aliases,
            releases: ways.iter().map(|way| way.id).collect(),
            release_words: ways.iter().map(words).collect(),
            options: match told_elsewhere {
                Some(_) => &[TargetOption::MeasuredElsewhere],
                None => &[],
            },
            ..Description::new(&FAMILY, short_label, self.way.runtime.words())
        }
    }

    fn info(&self, _: Option<&Manifest>) -> Option<TargetInfo> {
        let (numbers, run) = self.first_run()?;
        Some(TargetInfo {
            id: self.id.clone(),
            device: self.device.device.into(),
            metrics: vec![MetricInfo {
                metric: Metric::Latency,
                unit: Metric::Latency.unit(),
                expected_error_percent: Some(run.errors.mean_percent),
            }],
            learned_from: configuration(numbers, run),
            provenance: self.provenance(numbers, run),
        })
    }

    /// What a compiler leaves to other processors is not published.
    fn unsupported(&self, _: &Network) -> Vec<UnsupportedOperator> {
        Vec::new()
    }

    /// Whether floats were not measured on the device.
    fn runs_integers_alone(&self) -> bool {
        self.way.numbers.is_none() && self.run(NumberFormat::Float).is_none()
    }

    fn settings(&self, _: NonZeroU32) -> Settings {
        Settings {
            measured_on: self.measured.as_ref().map(|there| there.id.clone()),
            measured_ms: self.measured.as_ref().map(|there| there.ms),
            ..Settings::default()
        }
    }

    fn measured_range(&self, network: &Network) -> Option<MeasuredRange> {
        Some(self.run(self.numbers(network).ok()?)?.measured_range)
    }

    fn estimate(&self, network: &Network) -> TargetEstimate {
        let mut diagnostics = Vec::new();
        let outcome = match self.latency(network) {
            Err(reason) => Outcome::unavailable(reason),
            Ok(estimated) => {
                let Estimated {
                    numbers,
                    run,
                    time,
                    elsewhere,
                } = estimated;
                let is_unused = self.measured.is_some() && elsewhere.is_none();
                diagnostics
                    .extend(is_unused.then(|| doubt("learned-measurement-unused", UNUSED_WORDS)));
                let is_far = time.unfamiliar > FAR;
                let is_batch = network.batch.get() > 1;
                diagnostics.extend(is_far.then(|| doubt("learned-far-from-measured", FAR_WORDS)));
                diagnostics.extend(is_batch.then(|| doubt("learned-batch", BATCH_WORDS)));
                let is_checked = !is_far && !is_batch;
                let checked = match elsewhere {
                    Some(errors) => checked_percent(run.n_networks, errors.coverage_percent),
                    None => run.checked_percent(),
                };
                let error = elsewhere.map_or(run.errors.mean_percent, |errors| errors.mean_percent);
                let mut provenance = self.provenance(numbers, run);
                if let (Some(_), Some(there)) = (elsewhere, &self.measured) {
                    provenance.configuration += &format!(
                        "; multiplied by what {} ms measured on {} under {} tell of this network",
                        there.ms,
                        there.device.device,
                        there.way.runtime.words()
                    );
                }
                Outcome::Estimate {
                    value: time.value_ms,
                    lo: Some(time.lo_ms),
                    hi: Some(time.hi_ms),
                    unit: Metric::Latency.unit(),
                    provenance: provenance.checked(checked.filter(|_| is_checked)),
                    expected_error_percent: is_checked.then_some(error),
                    operators: Some(time.operators_ms),
                }
            }
        };
        TargetEstimate {
            device: self.device.device.to_owned(),
            metrics: vec![MetricEstimate {
                metric: Metric::Latency,
                outcome,
            }],
            diagnostics,
        }
    }
}

/// Words that are the same for all devices, so that a report has them once.
fn doubt(code: &'static str, words: &str) -> Diagnostic {
    Diagnostic {
        severity: Severity::Warning,
        code,
        message: words.to_owned(),
        operator_idx: None,
    }
}

/// "w8a8 (…) under LiteRT with QNN 2.50; best case of …; measured on 38 other networks of 10 families by Qualcomm AI Hub; …".
fn configuration(numbers: NumberFormat, run: &Run) -> String {
    let regression = run.regression_percent.map(|percent| {
        format!(
            "; error on families left out {:.0} % in the median, of a regression {percent:.0} %",
            run.errors.median_percent
        )
    });
    let refused = run
        .refused_percent
        .map(|percent| format!("; {percent:.0} % of the measured networks are refused"));
    format!(
        "{} under {}; measured on {} other networks of {} families by {}{}{}",
        numbers.words(),
        run.framework,
        run.n_networks,
        run.n_families,
        run.laboratory,
        regression.unwrap_or_default(),
        refused.unwrap_or_default(),
    )
}

fn unmeasured(what: &str) -> UnavailableReason {
    UnavailableReason::OfTarget {
        code: "never-measured-precision",
        words: format!("no network of {what} was measured here"),
    }
}

fn refusal_reason(network: &Network, node_idx: usize, refusal: Refusal) -> UnavailableReason {
    let node = &network.graph.nodes[node_idx];
    UnavailableReason::OfTarget {
        code: refusal.code(),
        words: format!(
            "{} of operator {node_idx}: {}",
            node.operator.code.name(),
            refusal.words()
        ),
    }
}
