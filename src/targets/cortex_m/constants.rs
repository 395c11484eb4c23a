//! The fitted constants: `constants.json`, which `litecast-trainer fit-mcu` writes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

use super::operator_counts::{OperatorCounts, Program, Term};
use crate::diagnostic::{Diagnostic, Severity};
use crate::fields;
use crate::provenance::checked_percent;
use crate::target::MeasuredRange;

/// Networks from which a fit is no longer one to single networks.
const MIN_NETWORKS: usize = 4;
/// Supply of most boards. Energies are submitted at the lowest supply that the chip takes.
const USUAL_SUPPLY_VOLTS: f64 = 3.3;
/// What peripherals that are left on add at most; assumed.
const PERIPHERALS_FACTOR: f64 = 1.35;

/// The constants of all targets.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Constants {
    /// The command that writes the file.
    pub command: String,
    /// Sources of the measurements.
    pub sources: Vec<String>,
    pub runtimes: Vec<Runtime>,
    pub targets: Vec<Target>,
}

/// Costs of a runtime's kernels on its reference processor.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Runtime {
    pub id: String,
    pub name: String,
    /// The processor that [`Self::costs`] apply to.
    pub reference: String,
    /// Cycles per unit of each term.
    pub costs: BTreeMap<Term, f64>,
    /// Operators of the measured networks, by their names in the schema.
    pub operators: BTreeSet<String>,
    /// Releases that can be chosen, from the oldest; empty where the runtime was measured in one release alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub releases: Vec<Release>,
}

/// A release of a runtime, with or without its option for speed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Release {
    /// As it is chosen: `8`, or `10-time`.
    pub id: String,
    /// The version that was measured, and the option.
    pub version: String,
    /// Cycles per cycle of the reference release.
    pub cycles_factor: f64,
    /// [`Program::drops_dead_channels`].
    pub drops_dead_channels: bool,
    /// What was measured under it, by core.
    pub cores: BTreeMap<String, CoreErrors>,
}

/// Errors of the latencies of one core under one release.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CoreErrors {
    pub n_networks: usize,
    /// Errors with each network left out of the fit.
    pub network_left_out: Errors,
    /// Errors with each family of networks left out of the fit.
    pub family_left_out: Errors,
}

/// A processor with a runtime, on the board that was measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Target {
    pub target: String,
    /// The hardware in words.
    pub device: String,
    pub core: String,
    /// [`Runtime::id`].
    pub runtime: String,
    /// Version of the runtime, as published.
    pub version: String,
    /// [`Release::id`] of that version, where releases can be chosen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub release: Option<String>,
    /// Clock of the estimate unless another one is asked for.
    pub clock_mhz: f64,
    /// Whether other clocks can be asked for, with the same number of cycles.
    pub has_other_clocks: bool,
    pub program: Program,
    /// Cycles per cycle of the runtime's reference processor and version.
    pub cycles_factor: f64,
    /// Number of measured latencies on this processor in the fit.
    pub n_latencies: usize,
    /// Range of the latencies that the interval was derived from, at [`Self::clock_mhz`].
    pub measured_range: MeasuredRange,
    pub n_networks: usize,
    /// Errors with each network left out of the fit.
    pub network_left_out: Errors,
    /// Errors with each family of networks left out of the fit.
    pub family_left_out: Errors,
    /// Mean error over families of networks, in percent: of families that no one evaluated while the model was chosen, or
    /// of each family left out of the fit, whichever is larger.
    pub stated_percent: f64,
    /// Errors of a regression on multiply-accumulates, bytes of activations and bytes of weights, with each family left
    /// out.
    pub three_sums: Errors,
    /// Errors of the simplest estimate, a constant number of cycles per multiply-accumulate, with each network left
    /// out.
    pub macs_alone: Errors,
    /// Errors of the model with all terms, with each network left out; present where the model with one cost of
    /// products is an alternative.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub all_counts: Option<Errors>,
    /// The 90 % interval is the estimate divided by and multiplied with this factor.
    pub interval_factor: f64,
    /// Present if short latencies have an interval of their own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub short: Option<ShortLatencies>,
    /// [`Self::interval_factor`] for another board with the same core; absent if boards differ no more than networks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transferred_interval_factor: Option<f64>,
    /// Share of measured latencies inside the interval of their left-out estimate, in percent.
    pub coverage_percent: f64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub energy: Option<Energy>,
    /// Present if the core was never measured under this runtime. Latencies and errors above are then those of another
    /// core, and the factors include the conversion.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub core_conversion: Option<CoreConversion>,
}

/// Cycles of a target's core per cycle of the core that was measured, from a runtime that was measured on both.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CoreConversion {
    /// The core that the latencies were measured on.
    pub measured_core: String,
    /// The runtime that was measured on both cores, in words.
    pub common_runtime: String,
    /// Number of pairs: latencies of one network on both cores.
    pub n_pairs: usize,
    /// Median of the pairs.
    pub factor: f64,
    pub min_factor: f64,
    pub max_factor: f64,
}

impl CoreConversion {
    /// The factor between the median and the pair that is farthest from it.
    pub fn spread(&self) -> f64 {
        (self.factor / self.min_factor).max(self.max_factor / self.factor)
    }
}

/// Latencies of networks of a few layers, which differ more than those of whole networks: one choice of a tool decides them.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ShortLatencies {
    /// The shortest latency of a whole network.
    pub below_ms: f64,
    /// As [`Target::interval_factor`].
    pub interval_factor: f64,
}

/// Errors of left-out estimates relative to the measured values, uncapped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Errors {
    pub n: usize,
    pub mean_percent: f64,
    pub median_percent: f64,
    pub p95_percent: f64,
    pub worst_percent: f64,
    /// Mean signed error: positive if estimates are too high.
    pub bias_percent: f64,
}

/// Energy of an inference as mean power times latency.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Energy {
    /// Board whose power was measured.
    pub board: String,
    /// Median over the board's networks, at the supply of the measurement.
    pub power_mw: f64,
    /// Clock of the measurement; the power at other clocks is unknown.
    pub clock_mhz: f64,
    /// Supply of the measurement.
    pub supply_volts: f64,
    /// Whether the core is behind a linear regulator: its current is the same at every supply.
    pub is_linear: bool,
    /// Errors of power times estimated latency, with each network left out of both fits.
    pub error: Errors,
    /// As [`Target::interval_factor`].
    pub interval_factor: f64,
}

impl Constants {
    /// The constants that this version ships.
    pub fn shipped() -> &'static Self {
        static SHIPPED: LazyLock<Constants> = LazyLock::new(|| {
            fields::from_json(include_bytes!("constants.json"))
                .expect("the shipped file is what `fit-mcu` wrote")
        });
        &SHIPPED
    }

    pub fn target(&self, target: &str) -> Option<&Target> {
        self.targets.iter().find(|known| known.target == target)
    }

    pub fn runtime(&self, target: &Target) -> Option<&Runtime> {
        self.runtimes
            .iter()
            .find(|runtime| runtime.id == target.runtime)
    }
}

impl Runtime {
    pub fn release(&self, id: &str) -> Option<&Release> {
        self.releases.iter().find(|release| release.id == id)
    }

    /// Cycles of one operator on the reference processor.
    pub fn cycles(&self, counts: &OperatorCounts) -> f64 {
        let cost = |(term, count): &(Term, f64)| Some(self.costs.get(term)? * count);
        // A sum of nothing would be -0.
        counts
            .terms
            .iter()
            .filter_map(cost)
            .fold(0.0, |sum, cycles| sum + cycles)
    }
}

impl Target {
    /// Releases of its runtime that can be chosen, from the oldest.
    pub fn releases(&self) -> &'static [Release] {
        let runtime = Constants::shipped().runtime(self);
        runtime.map_or(&[], |runtime| &runtime.releases)
    }

    /// The same target under another release of its runtime. Where that was measured on this core, errors are those of
    /// these latencies.
    pub fn with_release(&self, release: &Release) -> Self {
        let chosen = self.release.as_ref();
        let chosen = chosen.and_then(|id| self.releases().iter().find(|release| release.id == *id));
        let own_factor = chosen.map_or(1.0, |release| release.cycles_factor);
        let target = Self {
            version: release.version.clone(),
            release: Some(release.id.clone()),
            cycles_factor: self.cycles_factor / own_factor * release.cycles_factor,
            program: Program {
                drops_dead_channels: release.drops_dead_channels,
                ..self.program
            },
            ..self.clone()
        };
        match release.cores.get(&self.core) {
            Some(measured) => Self {
                n_latencies: measured.network_left_out.n,
                n_networks: measured.n_networks,
                network_left_out: measured.network_left_out,
                family_left_out: measured.family_left_out,
                ..target
            },
            None => target,
        }
    }

    /// Whether latencies of its core were measured under its release.
    pub fn is_release_measured(&self) -> bool {
        let id = self.release.as_deref();
        let mut releases = self.releases().iter();
        let release = id.and_then(|id| releases.find(|release| release.id == id));
        release.is_none_or(|release| release.cores.contains_key(&self.core))
    }

    /// Whether the runtime is the interpreter of TensorFlow Lite Micro, which needs an arena.
    pub fn is_micro(&self) -> bool {
        matches!(
            self.runtime.as_str(),
            "tflite-micro" | "tflite-micro-products" | "esp-nn"
        )
    }

    /// Whether it can stand beside an accelerator: a core under TensorFlow Lite Micro, whose custom operators call
    /// accelerators.
    pub fn is_host(&self) -> bool {
        matches!(
            self.runtime.as_str(),
            "tflite-micro" | "tflite-micro-products"
        )
    }

    /// Whether hardly any network was measured.
    pub fn has_few_networks(&self) -> bool {
        self.n_networks < MIN_NETWORKS
    }

    /// In words, that hardly any network was measured; `None` where enough were.
    pub fn few_networks(&self) -> Option<Diagnostic> {
        self.has_few_networks().then(|| Diagnostic {
            severity: Severity::Warning,
            code: "few-measurements",
            message: format!(
                "latencies of {} are fitted to {} measurements of {} network{} alone",
                self.device,
                self.n_latencies,
                self.n_networks,
                if self.n_networks == 1 { "" } else { "s" }
            ),
            operator_idx: None,
        })
    }

    /// [`Self::interval_factor`] of an estimate of this latency.
    pub fn interval_factor_at(&self, ms: f64) -> f64 {
        let short = self.short.as_ref().filter(|short| ms < short.below_ms);
        short.map_or(self.interval_factor, |short| short.interval_factor)
    }

    /// The level of the interval, if the networks that were left out tell it.
    pub fn checked_percent(&self) -> Option<u32> {
        checked_percent(self.n_networks, self.coverage_percent)
    }

    /// Factor by which the interval of another board with the same core is wider.
    pub fn transfer_factor(&self) -> f64 {
        let transferred = self.transferred_interval_factor;
        transferred.map_or(1.0, |factor| (factor / self.interval_factor).max(1.0))
    }

    /// The fit in words.
    pub fn in_words(&self) -> String {
        let (network, family) = (&self.network_left_out, &self.family_left_out);
        let measured_on = self
            .core_conversion
            .as_ref()
            .map_or(&self.core, |conversion| &conversion.measured_core);
        let mut words = format!(
            "cycles of {} {} on {}, a sum over operators fitted to {} measured latencies of {} network{}, off \
             by {:.1} % (median {:.1} %) with a network left out and by {:.1} % with a family left out",
            self.runtime,
            self.version,
            measured_on,
            self.n_latencies,
            self.n_networks,
            if self.n_networks == 1 { "" } else { "s" },
            network.mean_percent,
            network.median_percent,
            family.mean_percent,
        );
        if !self.is_release_measured() {
            words += "; never measured under this release, whose factor is that of other cores";
        }
        if let Some(conversion) = &self.core_conversion {
            words += &format!(
                "; times {:.2}, which {} takes of {}'s cycles under {} (median of {} pairs, {:.2} to {:.2}): \
                 never measured under this runtime",
                conversion.factor,
                self.core,
                conversion.measured_core,
                conversion.common_runtime,
                conversion.n_pairs,
                conversion.min_factor,
                conversion.max_factor
            );
        }
        words
    }
}

impl Energy {
    /// The model in words.
    pub fn in_words(&self) -> String {
        format!(
            "estimated latency times {:.1} mW of the {} at {} MHz and {} V{}, peripherals off; off by {:.1} % on {} measured \
             energies of that board at {} V with a network left out; the interval reaches from {} to \
             {USUAL_SUPPLY_VOLTS} V",
            self.power_mw * self.stated_factor(),
            self.board,
            self.clock_mhz,
            self.stated_volts(),
            if self.is_assumed() { " (assumed)" } else { "" },
            self.error.mean_percent,
            self.error.n,
            self.supply_volts,
            self.supply_volts,
        )
    }

    /// The supply that the energy is stated for. Behind a linear regulator the current is known at every supply, so that
    /// it is that of most boards; behind a step-down converter it is the measured one.
    pub fn stated_volts(&self) -> f64 {
        if self.is_linear {
            USUAL_SUPPLY_VOLTS.max(self.supply_volts)
        } else {
            self.supply_volts
        }
    }

    /// Power at [`Self::stated_volts`] over the measured power.
    pub fn stated_factor(&self) -> f64 {
        self.stated_volts() / self.supply_volts
    }

    /// Whether it is stated for another supply than that of the measurement.
    pub fn is_assumed(&self) -> bool {
        self.stated_volts() != self.supply_volts
    }

    /// How far the interval reaches beyond that of the latency, on either side: behind a linear regulator, down to the
    /// measured supply and up by peripherals that others leave on. A step-down converter takes at most as much more as a
    /// linear regulator.
    pub fn supply_factors(&self) -> [f64; 2] {
        let factor = (USUAL_SUPPLY_VOLTS / self.supply_volts).max(1.0);
        if self.is_linear {
            [factor, PERIPHERALS_FACTOR]
        } else {
            [1.0, factor]
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_target_has_its_runtime_and_sane_constants() {
        let constants = Constants::shipped();
        assert!(constants.targets.len() >= 7);
        for target in &constants.targets {
            let runtime = constants.runtime(target).expect(&target.runtime);
            assert!(!runtime.costs.is_empty(), "{}", runtime.id);
            assert!(
                runtime
                    .costs
                    .values()
                    .all(|cost| *cost > 0.0 && cost.is_finite())
            );
            assert!(target.cycles_factor > 0.0 && target.clock_mhz > 0.0);
            assert!(target.interval_factor >= 1.0, "{}", target.target);
        }
    }

    #[test]
    fn newer_releases_and_programs_made_for_time_are_faster() {
        let constants = Constants::shipped();
        let mut n_targets = 0;
        for target in constants
            .targets
            .iter()
            .filter(|target| target.release.is_some())
        {
            n_targets += 1;
            let cycles = |id: &str| {
                let release = target.releases().iter().find(|release| release.id == id);
                let under = target.with_release(release.expect(id));
                assert_eq!(under.release.as_deref(), Some(id));
                assert_eq!(
                    under.program.drops_dead_channels,
                    !id.starts_with('7'),
                    "{id}"
                );
                println!("{} {id}: {:.4}", target.target, under.cycles_factor);
                under.cycles_factor
            };
            let ids = ["7", "8", "9", "10", "10-time"];
            assert!(ids.map(cycles).is_sorted_by(|older, newer| older >= newer));
            assert_eq!(
                cycles("8"),
                cycles("8-time"),
                "no difference before release 9"
            );
            let fitted_cycles = cycles(target.release.as_deref().unwrap());
            assert!((fitted_cycles / target.cycles_factor - 1.0).abs() < 1e-9);
        }
        assert_eq!(n_targets, 4);
    }
}
