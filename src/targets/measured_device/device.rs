//! The document of a measured device.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::classes::{Class, N_CLASSES};
use super::fit::{Expected, Fit, Measured, left_out_percent};
use super::kernels::Kernels;
use super::prior::Prior;
use crate::formats::shown;

/// Raised when a field changes its meaning or goes away.
pub const DEVICE_VERSION: u32 = 4;

/// Larger than the document of a hundred networks with their operators.
pub const MAX_DEVICE_BYTES: usize = 4 << 20;

/// Of the name, the base, and the tools together: every report repeats them.
const MAX_WORDS_BYTES: usize = 1 << 16;

/// Networks of one device.
const MAX_NETWORKS: usize = 1000;

/// Measurements of all fits without a network, or without several where there are many, together.
const MAX_REFITTED: usize = 100_000;

/// Accepted durations in ms: those of profiles, and sums of as many as a profile has.
const DURATIONS_MS: std::ops::RangeInclusive<f64> = 1e-7..=1e15;

/// Calls of kernels in one inference.
const MAX_CALLS: usize = 1 << 24;

/// Logarithms beyond this are of no latency.
const MAX_LOGARITHM: f64 = 100.0;

/// Whether a network may take so long.
pub fn is_duration(ms: f64) -> bool {
    DURATIONS_MS.contains(&ms)
}

/// Whether a ratio of latencies may have this logarithm.
pub fn is_logarithm(value: f64) -> bool {
    value.abs() < MAX_LOGARITHM
}

/// A measured device, as it is stored and exchanged.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Device {
    /// [`DEVICE_VERSION`] of the program that wrote it.
    pub litecast_device: u32,
    /// Version of that program.
    pub litecast_version: String,
    /// In the user's words.
    pub name: String,
    /// Id of the target whose operators are scaled.
    pub base: String,
    /// What `base_ms` and the factors are of.
    #[serde(default, skip_serializing_if = "Kernels::is_base")]
    pub kernels: Kernels,
    /// Threads of the measurements.
    pub threads: u32,
    /// What was measured.
    pub networks: Vec<MeasuredNetwork>,
    /// The factors that follow from it.
    pub fit: Fit,
    /// For each network, the logarithm of its measured latency over its estimate from the others; empty for one network.
    pub left_out: Vec<f64>,
}

/// What was measured of one network.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MeasuredNetwork {
    /// Name of the model's file.
    pub model: String,
    /// SHA-256 of its contents.
    pub sha256: String,
    /// The tool that measured.
    pub tool: String,
    /// Its version, where it prints one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub tool_version: String,
    /// Name of the file that the tool wrote.
    pub profile: String,
    /// Milliseconds of one inference.
    pub measured_ms: f64,
    /// Milliseconds of its operators on the base, by class.
    pub base_ms: Vec<(Class, f64)>,
    /// Number of calls of kernels.
    pub n_calls: usize,
    /// Measured operators; empty where the tool measured the whole alone.
    pub observations: Vec<Observation>,
    /// Lines of the profile that are no operator of the model.
    pub unmatched: Vec<String>,
    /// Milliseconds of those.
    pub unmatched_ms: f64,
}

/// A duration of one operator of the model, or of several that the runtime ran as one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Observation {
    /// Positions in the report of the model.
    pub operators: Vec<usize>,
    /// Milliseconds on the base, by class.
    pub base_ms: Vec<(Class, f64)>,
    /// In ms.
    pub measured_ms: f64,
}

/// Why a network tells nothing of a device.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum NetworkError {
    /// No network.
    #[error("expected at least one measured network, found none")]
    None,
    /// More than a thousand.
    #[error("expected at most {MAX_NETWORKS} networks, found {0}")]
    TooMany(usize),
}

/// Why a text is no device.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum DeviceError {
    /// Larger than any.
    #[error("expected at most {MAX_DEVICE_BYTES} bytes, found {0}")]
    TooLarge(usize),
    /// Not the JSON of a device.
    #[error("expected a device that `litecast calibrate` wrote: {0}")]
    Malformed(String),
    /// Of a later version.
    #[error(
        "expected version {DEVICE_VERSION} of the document, found {0}: a newer litecast wrote it"
    )]
    Newer(u32),
}

impl Device {
    /// The device that explains the networks' measurements, on this base.
    pub fn fit(
        name: &str,
        (base, kernels): (&str, Kernels),
        threads: u32,
        networks: Vec<MeasuredNetwork>,
    ) -> Result<Self, NetworkError> {
        let prior = Prior::new(&tools(&networks), base, kernels);
        Self::fit_from(&prior, name, (base, kernels), threads, networks)
    }

    /// The same from a prior that is not the one of the device's tools.
    pub fn fit_from(
        prior: &Prior,
        name: &str,
        (base, kernels): (&str, Kernels),
        threads: u32,
        networks: Vec<MeasuredNetwork>,
    ) -> Result<Self, NetworkError> {
        if networks.is_empty() {
            return Err(NetworkError::None);
        }
        if networks.len() > MAX_NETWORKS {
            return Err(NetworkError::TooMany(networks.len()));
        }
        let of_networks: Vec<Vec<Measured>> =
            networks.iter().map(MeasuredNetwork::measured).collect();
        let all: Vec<Measured> = of_networks.iter().flatten().copied().collect();
        // Each network alone, or several together where that would be too much work.
        let n_folds = (MAX_REFITTED / all.len().max(1)).clamp(2, networks.len().max(2));
        let of_fold = |fold: usize| {
            let others = of_networks.iter().enumerate();
            let others = others.filter(|(idx, _)| idx % n_folds != fold);
            let others: Vec<Measured> =
                others.flat_map(|(_, measured)| measured).copied().collect();
            Fit::new(&others, prior)
        };
        let fits: Vec<Fit> = match networks.len() {
            1 => Vec::new(),
            _ => (0..n_folds).map(of_fold).collect(),
        };
        let left_out = |(idx, network): (usize, &MeasuredNetwork)| {
            let (estimate_ms, _) = fits.get(idx % n_folds)?.estimate(&network.expected())?;
            Some((network.measured_ms / estimate_ms).ln())
        };
        let left_out = networks.iter().enumerate().filter_map(left_out).collect();
        let mut device = Self {
            litecast_device: DEVICE_VERSION,
            litecast_version: env!("CARGO_PKG_VERSION").to_owned(),
            name: name.to_owned(),
            base: base.to_owned(),
            kernels,
            threads,
            fit: Fit::new(&all, prior),
            left_out,
            networks,
        };
        device.round_numbers();
        Ok(device)
    }

    /// Rounds all numbers to nine digits, with which they are read as they were written, and which are more than a clock
    /// has.
    fn round_numbers(&mut self) {
        let round = |number: &mut f64| {
            if let Ok(rounded) = format!("{number:.8e}").parse() {
                *number = rounded;
            }
        };
        for network in &mut self.networks {
            round(&mut network.measured_ms);
            round(&mut network.unmatched_ms);
            let observations = network.observations.iter_mut();
            let of_observations = observations.flat_map(|one| {
                round(&mut one.measured_ms);
                &mut one.base_ms
            });
            of_observations
                .chain(&mut network.base_ms)
                .for_each(|(_, ms)| round(ms));
        }
        let of_fit = self
            .fit
            .parameters
            .iter_mut()
            .chain(&mut self.fit.covariance);
        of_fit.chain(&mut self.left_out).for_each(round);
    }

    /// Reads a document that [`Self::to_json`] wrote.
    pub fn parse(json: &[u8]) -> Result<Self, DeviceError> {
        if json.len() > MAX_DEVICE_BYTES {
            return Err(DeviceError::TooLarge(json.len()));
        }
        let malformed = |words: String| DeviceError::Malformed(words);
        let mut device: Self =
            serde_json::from_slice(json).map_err(|error| malformed(error.to_string()))?;
        if device.litecast_device > DEVICE_VERSION {
            return Err(DeviceError::Newer(device.litecast_device));
        }
        device.fit = device.fit.of_version(device.litecast_device.into());
        device.litecast_device = DEVICE_VERSION;
        let is_whole = device.fit.is_whole()
            && device.left_out.len() <= device.networks.len()
            && (device.left_out.iter()).all(|error| is_logarithm(*error))
            && !device.networks.is_empty();
        if !is_whole {
            return Err(malformed(
                "expected a fit with finite numbers, found another".to_owned(),
            ));
        }
        let n_bytes = device.name.len() + device.base.len() + tools(&device.networks).len();
        if n_bytes > MAX_WORDS_BYTES {
            return Err(malformed(format!(
                "expected a name, a base and tools of at most {MAX_WORDS_BYTES} bytes, found {n_bytes}"
            )));
        }
        if let Some(network) = (device.networks.iter()).find(|network| !network.is_possible()) {
            return Err(malformed(format!(
                "{}: expected durations from 1e-7 to 1e15 ms, found others",
                shown(&network.model)
            )));
        }
        Ok(device)
    }

    /// The document, in one line.
    pub fn to_json(&self) -> String {
        let mut text = serde_json::to_string(self).unwrap_or_default();
        text.push('\n');
        text
    }

    /// Mean absolute error in percent of networks that were estimated from the others; `None` for one network.
    pub fn left_out_percent(&self) -> Option<f64> {
        left_out_percent(&self.left_out)
    }

    /// How far measurements are from what the device explains; the smaller of two bases' explains them better. With
    /// networks that were left out, their mean error counts.
    pub fn misfit(&self) -> f64 {
        let of_networks = self.networks.iter().flat_map(MeasuredNetwork::measured);
        let measured: Vec<Measured> = of_networks.collect();
        let of_operators = self.fit.misfit(&measured, &self.prior());
        let of_left_out: f64 = self
            .left_out
            .iter()
            .map(|error| (error / 0.1).powi(2))
            .sum();
        of_operators + of_left_out
    }

    /// Classes whose factor no measurement tells.
    pub fn unconstrained_classes(&self) -> impl Iterator<Item = Class> {
        let prior = self.prior();
        (self.kernels.classes()).filter(move |class| !self.fit.is_constrained(class.idx(), &prior))
    }

    /// The tool that measured last; empty where nothing did.
    pub fn last_tool(&self) -> &str {
        self.networks
            .last()
            .map_or("", |network| network.tool.as_str())
    }

    /// Whether what measured last told single operators.
    pub fn has_operators(&self) -> bool {
        let mut last = self.networks.last().into_iter();
        last.all(|network| !network.observations.is_empty())
    }

    pub(super) fn prior(&self) -> Prior {
        Prior::new(&tools(&self.networks), &self.base, self.kernels)
    }

    /// Factor on the cost of the base.
    pub fn factor(&self, class: Class) -> f64 {
        self.fit.factor(class.idx())
    }

    /// Milliseconds of a call, and of an inference beside its calls.
    pub fn overheads_ms(&self) -> [f64; 2] {
        self.fit.overheads_ms()
    }
}

/// The tools that measured, in words.
pub(super) fn tools(networks: &[MeasuredNetwork]) -> String {
    let mut tools: Vec<&str> = networks.iter().map(|one| one.tool.as_str()).collect();
    tools.sort_unstable();
    tools.dedup();
    tools.join(", ")
}

fn sums_by_class(base_ms: &[(Class, f64)]) -> [f64; N_CLASSES] {
    let mut sums = [0.0; N_CLASSES];
    for (class, ms) in base_ms {
        sums[class.idx()] += ms;
    }
    sums
}

impl MeasuredNetwork {
    /// Whether its numbers are those of a measurement.
    fn is_possible(&self) -> bool {
        let observations = self.observations.iter();
        let base_ms = observations.clone().flat_map(|one| &one.base_ms);
        let mut base_ms = base_ms.chain(&self.base_ms);
        let mut measured_ms = observations.map(|one| one.measured_ms);
        let is_base_ms = |ms: f64| (0.0..=*DURATIONS_MS.end()).contains(&ms);
        DURATIONS_MS.contains(&self.measured_ms)
            && is_base_ms(self.unmatched_ms)
            && self.n_calls <= MAX_CALLS
            && base_ms.all(|(_, ms)| is_base_ms(*ms))
            && measured_ms.all(|ms| DURATIONS_MS.contains(&ms))
    }

    fn expected(&self) -> Expected {
        Expected {
            base_ms: sums_by_class(&self.base_ms),
            n_calls: self.n_calls as f64,
            n_inferences: 1.0,
        }
    }

    fn measured(&self) -> Vec<Measured> {
        let mut sums: BTreeMap<Vec<Class>, (Expected, f64)> = BTreeMap::new();
        for observation in &self.observations {
            let mut classes: Vec<Class> = observation
                .base_ms
                .iter()
                .map(|(class, _)| *class)
                .collect();
            classes.sort_unstable();
            classes.dedup();
            let (expected, measured_ms) = sums.entry(classes).or_default();
            let base_ms = sums_by_class(&observation.base_ms);
            expected
                .base_ms
                .iter_mut()
                .zip(base_ms)
                .for_each(|(sum, ms)| *sum += ms);
            expected.n_calls += 1.0;
            *measured_ms += observation.measured_ms;
        }
        let sums = sums.into_values();
        let operators =
            sums.map(|(expected, ms)| Measured::operators(expected, ms, ms / self.measured_ms));
        operators
            .chain([Measured::network(self.expected(), self.measured_ms)])
            .collect()
    }
}
