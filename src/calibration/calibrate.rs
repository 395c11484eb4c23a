//! Networks with their profiles → a [`Device`].

use super::estimated_network::{Candidate, EstimatedNetwork};
use super::operator_matching::{Group, Matching, matching};
use crate::formats::shown;
use crate::profiles::{self, MIN_DURATION_MS, MeasuredOperator, Profile};
use crate::report::Failure;
use crate::targets::measured_device::{
    Class, Device, Kernels, MeasuredNetwork, NetworkError, Observation, Prior,
};
use crate::targets::{
    Durations, FAMILIES, Family, cortex_a, cortex_m, ethos_u, learned_accelerators,
};

/// Ids of the families of targets whose operators may be those of a device that this profile is of, where it is told to be
/// `like` a target or a family.
pub fn base_families(profile: &Profile, like: Option<&str>) -> Vec<&'static str> {
    let family = like.and_then(family_of_bases).map(|family| family.id);
    let family = family.or_else(|| {
        let is_of_processor = !profile.is_of_accelerator && PROCESSOR_TOOLS.contains(&profile.tool);
        is_of_processor.then_some(cortex_a::FAMILY.id)
    });
    if let Some(family) = family {
        return vec![family];
    }
    let durations = base_durations(profile, like);
    let families = FAMILIES.iter();
    let bases = families.filter(|family| family.durations == Some(durations));
    bases.map(|family| family.id).collect()
}

fn base_durations(profile: &Profile, like: Option<&str>) -> Durations {
    let of_tool = match profile.tool {
        VELA => Durations::Compiler,
        _ if profile.is_of_accelerator => Durations::Accelerator,
        _ => Durations::Hardware,
    };
    let of_family = like.and_then(family_of_bases);
    of_family
        .and_then(|family| family.durations)
        .unwrap_or(of_tool)
}

/// The family of this id, if a base may be of it.
fn family_of_bases(id: &str) -> Option<&'static Family> {
    let mut families = FAMILIES.into_iter();
    families.find(|family| family.id == id && family.durations.is_some())
}

/// Id of the family that a candidate is of.
fn family_of(candidate: &Candidate) -> &'static str {
    match candidate.durations {
        Durations::Compiler => ethos_u::FAMILY.id,
        Durations::Accelerator => learned_accelerators::FAMILY.id,
        Durations::Hardware if cortex_a::is_id(candidate.target) => cortex_a::FAMILY.id,
        Durations::Hardware => cortex_m::FAMILY.id,
    }
}

/// Tools that no microcontroller runs.
const PROCESSOR_TOOLS: [&str; 5] = [
    "LiteRT's benchmark",
    "ONNX Runtime",
    "OpenVINO",
    "ncnn",
    "MNN",
];

/// The tool whose durations are those of a compiler.
const VELA: &str = "Vela";

/// A network, and a profile of it.
#[derive(Clone, Debug)]
pub struct Measured<'n> {
    /// With the report's estimates on the targets that may be the base.
    pub network: &'n EstimatedNetwork,
    /// What a tool printed.
    pub profile: &'n Profile,
    /// Name of the file that it wrote.
    pub profile_name: &'n str,
}

/// Why there is no device.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ProfileError {
    /// The profile has whole inferences of other models alone.
    #[error("{profile}: expected a duration of {model}, found those of others: {found}")]
    OtherModel {
        /// Name of the profile's file.
        profile: String,
        /// Name of the model's file.
        model: String,
        /// Names in the profile.
        found: String,
    },
    /// No operator of the profile is one of the model.
    #[error(
        "{profile}: expected operators of {model}, found none of {n_operators}: it is a profile of another model"
    )]
    NothingMatched {
        /// Name of the profile's file.
        profile: String,
        /// Name of the model's file.
        model: String,
        /// Operators of the profile.
        n_operators: usize,
    },
    /// No target has a latency by operator of all networks.
    #[error(
        "expected a target with a latency by operator of all {n_networks} measured models, found none{reason}"
    )]
    NoBase {
        /// Number of the models.
        n_networks: usize,
        /// Why one that might be the base has none, behind a colon; empty where no report says it.
        reason: String,
    },
    /// The target that was asked for has none.
    #[error("{base}: expected a latency by operator of {model}, found none{reason}")]
    NotOfBase {
        /// Id of the target.
        base: String,
        /// Name of the model's file.
        model: String,
        /// Why, behind a colon; empty where its report does not say it.
        reason: String,
    },
    /// No network, or too many.
    #[error(transparent)]
    Networks(#[from] NetworkError),
}

impl ProfileError {
    /// Stable kebab-case identifier for programs.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::OtherModel { .. } | Self::NothingMatched { .. } => "other-model",
            Self::NoBase { .. } | Self::NotOfBase { .. } => "no-base",
            Self::Networks(NetworkError::None) => "too-few-measurements",
            Self::Networks(NetworkError::TooMany(_)) => "limit-exceeded",
        }
    }
}

/// A measured network before its base is known.
struct MatchedNetwork<'n> {
    network: &'n EstimatedNetwork,
    tool: &'static str,
    tool_version: String,
    profile_name: &'n str,
    measured_ms: f64,
    groups: Vec<Group>,
    unmatched: Vec<String>,
    unmatched_ms: f64,
}

/// The device that was measured on `threads` threads. Its base is the target of that id or, without one, that which
/// explains the measurements best: of a family of targets, where `base` is the id of one. `known` is what was measured before: it keeps its base, and a network that is measured
/// again replaces its measurement.
pub fn calibrate(
    name: &str,
    threads: u32,
    measured: &[Measured],
    base: Option<&str>,
    known: Option<&Device>,
) -> Result<Device, ProfileError> {
    let first = measured.first().map(|one| one.profile.tool);
    let of_runtime = first.and_then(Prior::base).filter(|base| {
        let mut networks = measured.iter();
        networks.all(|one| one.network.parts_ms(base).is_some())
    });
    // Reports have accelerators by their ids, whatever people call them.
    let learned = base.and_then(learned_accelerators::parse_id);
    let learned = learned.map(|parsed| parsed.id());
    let base = learned.as_deref().or(base);
    let base = known.map(|device| &*device.base).or(base).or(of_runtime);
    calibrate_from(None, name, threads, measured, base, known)
}

/// The same from a prior that is not the one of the tools.
pub fn calibrate_from(
    prior: Option<&Prior>,
    name: &str,
    threads: u32,
    measured: &[Measured],
    base: Option<&str>,
    known: Option<&Device>,
) -> Result<Device, ProfileError> {
    let matched: Vec<MatchedNetwork> = measured
        .iter()
        .map(MatchedNetwork::new)
        .collect::<Result<_, _>>()?;
    let tool = measured.first().map_or("", |one| one.profile.tool);
    let on = |base: &str| -> Result<Device, ProfileError> {
        let of_tool = || Prior::kernels(tool, base);
        let kernels = known.map_or_else(of_tool, |device| device.kernels);
        let mut networks: Vec<MeasuredNetwork> =
            known.map_or(Vec::new(), |device| device.networks.clone());
        for one in &matched {
            let network = one.on_base(base, kernels)?;
            match networks
                .iter_mut()
                .find(|known| known.sha256 == network.sha256)
            {
                // A whole latency after a profile keeps the operators.
                Some(known) if network.observations.is_empty() => {
                    known.measured_ms = network.measured_ms
                }
                Some(known) => *known = network,
                None => networks.push(network),
            }
        }
        Ok(match prior {
            Some(prior) => Device::fit_from(prior, name, (base, kernels), threads, networks)?,
            None => Device::fit(name, (base, kernels), threads, networks)?,
        })
    };
    if let Some(base) = base.filter(|base| family_of_bases(base).is_none()) {
        return on(base);
    }
    let Some(first) = measured.first() else {
        return Err(NetworkError::None.into());
    };
    let durations = base_durations(first.profile, base);
    let families = base_families(first.profile, base);
    let candidates = first.network.candidates();
    let candidates = candidates.filter(|candidate| families.contains(&family_of(candidate)));
    let devices = candidates.filter_map(|candidate| on(candidate.target).ok());
    let best = devices.min_by(|a, b| a.misfit().total_cmp(&b.misfit()));
    best.ok_or_else(|| {
        let mut networks = measured.iter();
        ProfileError::NoBase {
            n_networks: matched.len(),
            reason: networks
                .find_map(|one| one.network.refusal(durations))
                .unwrap_or_default(),
        }
    })
}

/// A measurement to add to a device, as programs have it.
#[derive(Clone, Copy, Debug)]
pub struct NewMeasurement<'a> {
    /// The device in the user's words.
    pub name: &'a str,
    /// Threads of the measurement.
    pub threads: u32,
    /// JSON of the model's report, with operators and tensors.
    pub report: &'a str,
    /// What the tool wrote.
    pub profile: &'a [u8],
    /// Name of the file that it wrote.
    pub profile_name: &'a str,
    /// Clock of tools that print cycles alone.
    pub clock_mhz: Option<f64>,
    /// As of [`calibrate`].
    pub base: Option<&'a str>,
    /// The document of what was measured before.
    pub known: Option<&'a str>,
}

impl NewMeasurement<'_> {
    /// The document of the device with this measurement.
    ///
    /// # Errors
    /// Those of the profile, of the report and of the document, and of [`calibrate`].
    pub fn device(&self) -> Result<String, Failure> {
        let network = EstimatedNetwork::parse(self.report.as_bytes())
            .map_err(|words| Failure::new("wrong-report", words))?;
        let profile = profiles::read(self.profile, self.clock_mhz)
            .map_err(|error| Failure::new(error.kind(), error.to_string()))?;
        let known = self
            .known
            .map(|json| Device::parse(json.as_bytes()))
            .transpose();
        let known = known.map_err(|error| Failure::new("wrong-device", error.to_string()))?;
        let measured = Measured {
            network: &network,
            profile: &profile,
            profile_name: self.profile_name,
        };
        let device = calibrate(
            self.name,
            self.threads,
            &[measured],
            self.base,
            known.as_ref(),
        )
        .map_err(|error| Failure::new(error.kind(), error.to_string()))?;
        Ok(device.to_json())
    }
}

impl<'n> MatchedNetwork<'n> {
    fn new(measured: &Measured<'n>) -> Result<Self, ProfileError> {
        let Measured {
            network,
            profile,
            profile_name,
        } = measured;
        let profile = &*profile.of_one_run(network.operators.len());
        // A part that an accelerator ran as a whole tells nothing of single operators, and neither do those that a processor
        // ran beside it.
        let has_partitions = profile.operators.iter().any(MeasuredOperator::is_partition);
        let matching = match has_partitions {
            true => Matching::default(),
            false => matching(network, profile),
        };
        let of_model = || (profile_name.to_string(), network.file.clone());
        if !profile.operators.is_empty() && matching.groups.is_empty() && !has_partitions {
            let (profile_name, model) = of_model();
            return Err(ProfileError::NothingMatched {
                profile: profile_name,
                model,
                n_operators: profile.operators.len(),
            });
        }
        let mut inferences = profile.inferences.iter().rev();
        let whole = inferences
            .find(|inference| inference.name.is_empty() || inference.is_of(&network.file));
        let sum_ms: f64 = profile
            .operators
            .iter()
            .map(|operator| operator.duration_ms)
            .sum();
        let measured_ms = match whole {
            Some(inference) => inference.duration_ms,
            None if sum_ms > 0.0 => sum_ms,
            None => {
                let names = profile
                    .inferences
                    .iter()
                    .take(5)
                    .map(|inference| shown(&inference.name));
                let names: Vec<String> = names.collect();
                let (profile, model) = of_model();
                return Err(ProfileError::OtherModel {
                    profile,
                    model,
                    found: names.join(", "),
                });
            }
        };
        Ok(Self {
            network,
            tool: profile.tool,
            tool_version: profile.tool_version.clone(),
            profile_name,
            measured_ms,
            groups: matching.groups,
            unmatched: matching.unmatched,
            unmatched_ms: matching.unmatched_ms,
        })
    }

    fn on_base(&self, base: &str, kernels: Kernels) -> Result<MeasuredNetwork, ProfileError> {
        let costs = self
            .network
            .costs(base, kernels)
            .ok_or_else(|| ProfileError::NotOfBase {
                base: shown(base),
                model: self.network.file.clone(),
                reason: self.network.refusal_of(base),
            })?;
        let by_class = |operators: &mut dyn Iterator<Item = usize>| {
            let mut by_class: Vec<(Class, f64)> = Vec::new();
            for idx in operators {
                let (class, cost_ms) = costs[idx];
                match by_class.iter_mut().find(|(known, _)| *known == class) {
                    Some((_, ms)) => *ms += cost_ms,
                    None => by_class.push((class, cost_ms)),
                }
            }
            by_class
        };
        let observations = self.groups.iter().map(|group| Observation {
            base_ms: by_class(&mut group.operators.iter().copied()),
            operators: group.operators.clone(),
            measured_ms: group.duration_ms.max(MIN_DURATION_MS),
        });
        Ok(MeasuredNetwork {
            model: self.network.file.clone(),
            sha256: self.network.sha256.clone(),
            tool: self.tool.to_owned(),
            tool_version: self.tool_version.clone(),
            profile: self.profile_name.to_owned(),
            measured_ms: self.measured_ms,
            base_ms: by_class(&mut (0..costs.len())),
            n_calls: costs.iter().filter(|(_, ms)| *ms > 0.0).count(),
            observations: observations.collect(),
            unmatched: self.unmatched.clone(),
            unmatched_ms: self.unmatched_ms,
        })
    }
}
