//! The origin of a number, and its error where that was measured.

use serde::{Deserialize, Serialize};

/// Origin of a number.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
pub struct Provenance {
    /// How the number was made.
    pub kind: ProvenanceKind,
    /// The program that computed it, or the labels that it was learned from.
    pub tool: String,
    /// Version of the tool.
    pub version: String,
    /// Configuration of the tool, in words.
    pub configuration: String,
    /// What errors of such numbers were measured against, where neither the kind nor the tool says it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", ts(optional))]
    pub reference: Option<Reference>,
    /// The level of the interval in percent, where it was checked on networks that nothing was fitted to. The interval of
    /// any other number promises no level.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", ts(optional))]
    pub interval_percent: Option<u32>,
    /// What of the device the number is of, where that is not all: for example `MACs and SRAM, without flash`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", ts(optional))]
    pub scope: Option<String>,
}

/// What a number rests on, from the surest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Evidence {
    /// Counted from the file, by the rules of the runtime.
    Counted,
    /// A model whose constants are fitted to measurements on hardware.
    Measured,
    /// The opinion of a compiler, reproduced or learned: nothing on hardware.
    Compiler,
    /// A model with constants that nobody compared with such a device, or with a part that stands for another.
    Assumed,
}

/// Networks kept from the fit from which a level of 90 % can be told from others.
pub(crate) const MIN_CHECKED_NETWORKS: usize = 10;
/// Share of them that intervals of 90 % hold, at least, where they promise what they should.
const MIN_COVERAGE_PERCENT: f64 = 85.0;

/// The level of intervals that held `coverage_percent` of `n_networks` that were kept from the fit; `None` where that does
/// not tell it.
pub fn checked_percent(n_networks: usize, coverage_percent: f64) -> Option<u32> {
    (n_networks >= MIN_CHECKED_NETWORKS && coverage_percent >= MIN_COVERAGE_PERCENT)
        .then_some(INTERVAL_PERCENT)
}

/// The level that intervals are made for, in percent.
pub const INTERVAL_PERCENT: u32 = 90;

/// What the estimates of a model were compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Reference {
    /// Measurements on hardware, each network left out of the fit in turn.
    Measured,
    /// Measurements on hardware, each kind of network left out of the fit in turn.
    MeasuredKindLeftOut,
    /// Measurements of its parts on hardware, whose sum nobody measured.
    MeasuredParts,
    /// What a runtime counts of itself.
    Runtime,
    /// What a compiler reports.
    Compiler,
}

impl Reference {
    /// In the order of the definition.
    pub const ALL: [Self; 5] = [
        Self::Measured,
        Self::MeasuredKindLeftOut,
        Self::MeasuredParts,
        Self::Runtime,
        Self::Compiler,
    ];

    /// The one with this [`Self::id`].
    pub fn by_id(id: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|reference| reference.id() == id)
    }

    /// In a word or two, for tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Measured | Self::MeasuredKindLeftOut => "hardware",
            Self::MeasuredParts => "hardware, by parts",
            Self::Runtime => "the runtime",
            Self::Compiler => "the compiler",
        }
    }

    /// For sentences, behind `against`.
    pub fn words(self) -> &'static str {
        match self {
            Self::Measured => "measurements on hardware",
            Self::MeasuredKindLeftOut => {
                "networks measured on boards, each kind left out of the fit"
            }
            Self::MeasuredParts => "measurements of its parts, whose sum nobody measured",
            Self::Runtime => "what the runtime counts of itself",
            Self::Compiler => "what the compiler reports",
        }
    }

    /// As reports spell it.
    pub fn id(self) -> &'static str {
        match self {
            Self::Measured => "measured",
            Self::MeasuredKindLeftOut => "measured-kind-left-out",
            Self::MeasuredParts => "measured-parts",
            Self::Runtime => "runtime",
            Self::Compiler => "compiler",
        }
    }
}

/// How a number was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[non_exhaustive]
pub enum ProvenanceKind {
    /// Counted from the file.
    #[serde(rename = "exact")]
    Exact,
    /// A model of this program with constants that were fitted or published.
    #[serde(rename = "modelled")]
    Modelled,
    /// The rules of a compiler, reproduced by this program.
    #[serde(rename = "compiler rules")]
    CompilerRules,
    /// A network trained on estimates of a compiler.
    #[serde(rename = "learned from compiler estimate")]
    LearnedFromCompiler,
    /// A network trained on counts of an emulator.
    #[serde(rename = "learned from emulated")]
    LearnedFromEmulator,
    /// A network trained on measurements.
    #[serde(rename = "learned from measured")]
    LearnedFromMeasurements,
}

impl ProvenanceKind {
    /// As reports and manifests spell it.
    pub fn words(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::Modelled => "modelled",
            Self::CompilerRules => "compiler rules",
            Self::LearnedFromCompiler => "learned from compiler estimate",
            Self::LearnedFromEmulator => "learned from emulated",
            Self::LearnedFromMeasurements => "learned from measured",
        }
    }
}

impl Provenance {
    /// Of this program itself.
    pub fn own(kind: ProvenanceKind, configuration: String) -> Self {
        Self {
            kind,
            tool: "litecast".into(),
            version: env!("CARGO_PKG_VERSION").into(),
            configuration,
            reference: None,
            interval_percent: None,
            scope: None,
        }
    }

    /// With the level of its interval, where that was checked.
    pub fn checked(self, interval_percent: Option<u32>) -> Self {
        Self {
            interval_percent,
            ..self
        }
    }

    /// With what of the device the number is of.
    pub fn with_scope(self, scope: String) -> Self {
        Self {
            scope: Some(scope),
            ..self
        }
    }

    /// What the number rests on.
    pub fn evidence(&self) -> Evidence {
        match (self.kind, self.reference) {
            (ProvenanceKind::Exact, _) => Evidence::Counted,
            (ProvenanceKind::CompilerRules | ProvenanceKind::LearnedFromCompiler, _) => {
                Evidence::Compiler
            }
            (ProvenanceKind::LearnedFromMeasurements, _) => Evidence::Measured,
            (ProvenanceKind::LearnedFromEmulator, _) => Evidence::Assumed,
            (ProvenanceKind::Modelled, None) => Evidence::Assumed,
            (ProvenanceKind::Modelled, Some(reference)) => match reference {
                Reference::Measured | Reference::MeasuredKindLeftOut => Evidence::Measured,
                // Nobody measured the sum.
                Reference::MeasuredParts => Evidence::Assumed,
                Reference::Runtime => Evidence::Counted,
                Reference::Compiler => Evidence::Compiler,
            },
        }
    }

    /// With what its errors were measured against.
    pub fn against(self, reference: Reference) -> Self {
        Self {
            reference: Some(reference),
            ..self
        }
    }
}

/// Networks of a few bytes and nanoseconds are easily off by factors, and would drown all others in
/// a plain mean.
pub const MAX_ERROR_PERCENT: f64 = 100.0;

/// Errors of an estimate over `n` graphs, in percent of the label.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ErrorSummary {
    /// Mean absolute percentage error.
    pub mape: f64,
    /// The same with single errors of more than [`MAX_ERROR_PERCENT`] counted as that.
    pub capped_mape: f64,
    /// Median absolute percentage error.
    pub median_ape: f64,
    /// 95th percentile of the absolute percentage error.
    pub p95_ape: f64,
    /// Share of graphs within 5 % of the label, in percent.
    pub within_5: f64,
    /// Share of graphs within 10 % of the label, in percent.
    pub within_10: f64,
    /// Rank correlation, -1 to 1.
    pub spearman: f64,
    /// Graphs.
    pub n: usize,
}
