//! How far the compiler's rules alone are from the compiler, by configuration.

use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

use super::configuration::{Configuration, Family, Product, Strategy};
use crate::targets::Metric;

/// Made by `litecast-trainer evaluate-configurations`.
const SHIPPED: &str = include_str!("rule_errors.json");

/// Errors of the rules against labels of a compiler.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct RuleErrors {
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
    pub system_config: String,
    pub memory_mode: String,
    pub metrics: Vec<MetricErrors>,
}

/// Errors of one metric: relative ones, none of them cut off.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct MetricErrors {
    /// [`Metric::id`].
    pub metric: String,
    /// Graphs.
    pub n: usize,
    pub mean_percent: f64,
    pub median_percent: f64,
    pub p90_percent: f64,
    pub p95_percent: f64,
    /// Nine in ten labels lie between the estimate over this and the estimate times this.
    pub interval_factor: f64,
}

impl RuleErrors {
    pub fn shipped() -> &'static Self {
        static ERRORS: LazyLock<RuleErrors> =
            LazyLock::new(|| serde_json::from_str(SHIPPED).expect("the file shipped is whole"));
        &ERRORS
    }

    /// Errors of a metric in this configuration, or the widest that is known of its accelerator, or of
    /// its family.
    pub fn of(&self, configuration: &Configuration, metric: Metric) -> Option<&MetricErrors> {
        let is_same = |errors: &&ConfigurationErrors| {
            configuration.arena_cache_bytes.is_none()
                && configuration.strategy == Strategy::Performance
                && errors.accelerator == configuration.product.name()
                && errors.system_config == configuration.system.name
                && errors.memory_mode == configuration.memory_mode.name
        };
        let product = configuration.product;
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
        let of = |errors: &'_ ConfigurationErrors| -> Option<usize> {
            errors
                .metrics
                .iter()
                .position(|one| one.metric == metric.id())
        };
        let found = self.configurations.iter().filter(counts);
        found
            .filter_map(|errors| errors.metrics.get(of(errors)?))
            .max_by(|one, other| one.interval_factor.total_cmp(&other.interval_factor))
    }
}

fn family(accelerator: &str) -> Option<Family> {
    Product::by_name(accelerator).map(Product::family)
}
