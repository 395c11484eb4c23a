//! Which estimate is shown in each configuration, and how far it was from the compiler where that is known.
//!
//! The compiler's rules estimate everything. Where they were found to be far off for such graphs, a network that was
//! trained for the configuration and knows every operator corrects them, but never by more than they were off: a
//! graph unlike training cannot be led astray further than that.

use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

use super::configuration::{Configuration, Family, Product};
use super::signals::{Signal, Signals};
use crate::targets::Metric;

/// Made by `litecast-trainer evaluate-estimates`.
const SHIPPED: &str = include_str!("errors.json");

/// Errors against labels of a compiler.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Errors {
    /// The compiler, its version and what the graphs were.
    pub measured_on: String,
    pub configurations: Vec<ConfigurationErrors>,
}

/// Errors in one configuration.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct ConfigurationErrors {
    /// Vela's name of the accelerator.
    pub accelerator: String,
    /// System configuration and memory mode, as [`Configuration::in_words`] has them.
    pub configuration: String,
    pub metrics: Vec<MetricErrors>,
}

/// Errors of one metric: relative ones, none of them cut off.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct MetricErrors {
    /// [`Metric::id`].
    pub metric: String,
    /// Networks that had no part in the widths.
    pub n: usize,
    /// Of what is shown for them.
    pub mean_percent: f64,
    pub median_percent: f64,
    pub p95_percent: f64,
    /// Around the rules' estimate.
    pub rules: Width,
    /// Where a trained network corrects the rules; absent where none does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub corrected: Option<Correction>,
}

/// When a trained network is asked, and how far off its corrected estimates are.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Correction {
    /// Least factor of the rules' interval: where it is narrower, nobody asks the network.
    pub asked_from: f64,
    /// Around the corrected estimate.
    pub width: Width,
}

/// How wide an interval is, by what a graph is like.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(untagged, try_from = "WidthFields")]
pub enum Width {
    Split {
        signal: Signal,
        at_least: f64,
        /// Where the signal is smaller, and where it is not: never narrower than the former's.
        below: Box<Width>,
        above: Box<Width>,
    },
    Factor {
        /// Graphs that set it.
        n: usize,
        /// Nine in ten labels lie between the estimate over this and the estimate times this.
        factor: f64,
    },
}

/// All fields of both kinds: an untagged enum would be read into a copy first, and the first estimate waits for it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WidthFields {
    signal: Option<Signal>,
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
    pub fn factor(&self, signals: &Signals) -> f64 {
        match self {
            Self::Factor { factor, .. } => *factor,
            Self::Split {
                signal,
                at_least,
                below,
                above,
            } => match signals.get(*signal) >= *at_least {
                true => above.factor(signals),
                false => below.factor(signals),
            },
        }
    }

    /// Of the widest leaf.
    pub fn widest(&self) -> f64 {
        match self {
            Self::Factor { factor, .. } => *factor,
            Self::Split { below, above, .. } => below.widest().max(above.widest()),
        }
    }
}

/// What is shown of a graph.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shown {
    pub value: f64,
    /// The interval reaches from the value over this to the value times this; absent where nothing is known.
    pub factor: Option<f64>,
    /// Whether a trained network has a part in the value.
    pub is_corrected: bool,
}

impl Shown {
    pub fn without_interval(value: f64) -> Self {
        Self {
            value,
            factor: None,
            is_corrected: false,
        }
    }
}

impl MetricErrors {
    /// Mean over networks; none where none were measured.
    pub fn expected_percent(&self) -> Option<f64> {
        (self.n > 0).then_some(self.mean_percent)
    }

    /// Whether a trained network has a part in what is shown of a graph with such signals.
    pub fn asks_network(&self, signals: &Signals) -> bool {
        let correction = self.corrected.as_ref();
        correction.is_some_and(|one| self.rules.factor(signals) >= one.asked_from)
    }

    /// From the rules' estimate, and from the trained network's where it knows every operator.
    pub fn show(&self, rules: f64, network: Option<f64>, signals: &Signals) -> Shown {
        let bound = self.rules.factor(signals);
        let uncorrected = Shown {
            factor: Some(bound),
            ..Shown::without_interval(rules)
        };
        let correction = self
            .corrected
            .as_ref()
            .filter(|one| bound >= one.asked_from);
        let (Some(corrected), Some(network)) = (correction, network) else {
            return uncorrected;
        };
        let correction = network / rules;
        if !(correction.is_finite() && correction > 0.0) {
            return uncorrected;
        }
        let (least, most) = (rules / bound, rules * bound);
        Shown {
            value: network.clamp(least, most),
            factor: Some(corrected.width.factor(&signals.corrected_by(correction))),
            is_corrected: true,
        }
    }
}

impl Errors {
    pub fn shipped() -> &'static Self {
        static ERRORS: LazyLock<Errors> =
            LazyLock::new(|| serde_json::from_str(SHIPPED).expect("the file shipped is whole"));
        &ERRORS
    }

    /// Errors of a metric in this configuration, or the widest that is known of its accelerator, or of
    /// its family.
    pub fn of(&self, configuration: &Configuration, metric: Metric) -> Option<&MetricErrors> {
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
        let found = self.configurations.iter().filter(counts);
        let of_metric = found.flat_map(|errors| {
            let metrics = errors.metrics.iter();
            metrics.filter(|one| one.metric == metric.id())
        });
        of_metric.max_by(|one, other| one.rules.widest().total_cmp(&other.rules.widest()))
    }
}

fn family(accelerator: &str) -> Option<Family> {
    Product::by_name(accelerator).map(Product::family)
}
