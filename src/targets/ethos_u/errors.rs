//! The measured error of the compiler's rules in each configuration, against the compiler itself.

use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

use super::configuration::{Configuration, Family, Product};
use super::error_indicators::{ErrorIndicator, ErrorIndicators};
use crate::fields;
use crate::target::Metric;

/// Made by `litecast-trainer evaluate-estimates`.
const SHIPPED: &[u8] = include_bytes!("errors.json");

/// Errors relative to labels of a compiler.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Errors {
    /// The compiler, its version, and the graphs.
    pub measured_on: String,
    pub configurations: Vec<ConfigurationErrors>,
}

/// Errors in one configuration.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct ConfigurationErrors {
    /// Vela's name of the accelerator.
    pub accelerator: String,
    /// System configuration and memory mode, in the words of [`Configuration::in_words`].
    pub configuration: String,
    pub metrics: Vec<MetricErrors>,
}

/// Relative errors of one metric, uncapped.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct MetricErrors {
    /// [`Metric::id`].
    pub metric: String,
    /// Number of networks that were not used for the widths.
    pub n: usize,
    /// Mean error of the estimate on these networks.
    pub mean_percent: f64,
    pub median_percent: f64,
    pub p95_percent: f64,
    /// Width of the interval around the estimate.
    pub width: Width,
}

/// The width of an interval, as a tree over the signals of a graph.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(untagged, try_from = "WidthFields")]
pub enum Width {
    Split {
        signal: ErrorIndicator,
        at_least: f64,
        /// The width if the signal is below the threshold, and the width otherwise, which is never narrower.
        below: Box<Width>,
        above: Box<Width>,
    },
    Factor {
        /// Number of graphs that determined the width.
        n: usize,
        /// Nine in ten labels are between the estimate divided by this and the estimate times this.
        factor: f64,
    },
}

/// All fields of both variants. Serde would first copy an untagged enum into a buffer, which delays the first estimate.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WidthFields {
    signal: Option<ErrorIndicator>,
    at_least: Option<f64>,
    below: Option<Box<Width>>,
    above: Option<Box<Width>>,
    n: Option<usize>,
    factor: Option<f64>,
}

impl TryFrom<WidthFields> for Width {
    type Error = &'static str;

    fn try_from(fields: WidthFields) -> Result<Self, Self::Error> {
        match fields {
            WidthFields {
                signal: Some(signal),
                at_least: Some(at_least),
                below: Some(below),
                above: Some(above),
                n: None,
                factor: None,
            } => Ok(Self::Split {
                signal,
                at_least,
                below,
                above,
            }),
            WidthFields {
                signal: None,
                at_least: None,
                below: None,
                above: None,
                n: Some(n),
                factor: Some(factor),
            } => Ok(Self::Factor { n, factor }),
            _ => Err("expected the fields of a split, or n and factor"),
        }
    }
}

impl Width {
    pub fn factor(&self, signals: &ErrorIndicators) -> f64 {
        match self {
            Self::Factor { factor, .. } => *factor,
            Self::Split {
                signal,
                at_least,
                below,
                above,
            } => {
                if signals.get(*signal) >= *at_least {
                    above.factor(signals)
                } else {
                    below.factor(signals)
                }
            }
        }
    }

    /// Factor of the widest leaf.
    pub fn widest(&self) -> f64 {
        match self {
            Self::Factor { factor, .. } => *factor,
            Self::Split { below, above, .. } => below.widest().max(above.widest()),
        }
    }
}

impl MetricErrors {
    /// Mean error over networks; `None` if none were measured.
    pub fn expected_percent(&self) -> Option<f64> {
        (self.n > 0).then_some(self.mean_percent)
    }
}

impl Errors {
    pub fn shipped() -> &'static Self {
        static ERRORS: LazyLock<Errors> =
            LazyLock::new(|| fields::from_json(SHIPPED).expect("the file shipped is whole"));
        &ERRORS
    }

    /// Errors of a metric in this configuration. If they are unknown, the widest ones of the accelerator, or else of
    /// its family.
    pub fn find(&self, configuration: &Configuration, metric: Metric) -> Option<&MetricErrors> {
        let product = configuration.product;
        let words = configuration.in_words();
        let is_same = |errors: &&ConfigurationErrors| {
            errors.accelerator == product.name() && errors.configuration == words
        };
        let is_product = |errors: &&ConfigurationErrors| errors.accelerator == product.name();
        let is_family =
            |errors: &&ConfigurationErrors| family(&errors.accelerator) == Some(product.family());
        self.widest(metric, is_same)
            .or_else(|| self.widest(metric, is_product))
            .or_else(|| self.widest(metric, is_family))
    }

    fn widest(
        &self,
        metric: Metric,
        counts: impl Fn(&&ConfigurationErrors) -> bool,
    ) -> Option<&MetricErrors> {
        let configurations = self.configurations.iter().filter(counts);
        let of_metric = configurations.flat_map(|errors| {
            let metrics = errors.metrics.iter();
            metrics.filter(|one| one.metric == metric.id())
        });
        of_metric.max_by(|one, other| one.width.widest().total_cmp(&other.width.widest()))
    }
}

fn family(accelerator: &str) -> Option<Family> {
    Product::by_name(accelerator).map(Product::family)
}
