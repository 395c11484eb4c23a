//! What is estimated, as the first screen and `litecast targets` list it.

use serde::Serialize;

use crate::learned::manifest::{Manifest, Output};
use crate::targets::cortex_a;
use crate::targets::edge_tpu;

/// A target and what is estimated for it.
#[derive(Clone, Debug, Serialize)]
pub struct TargetInfo {
    pub id: String,
    /// The hardware in words.
    pub device: String,
    pub metrics: Vec<MetricInfo>,
    /// Tool, version and configuration whose numbers were learned, or what a model was fitted to.
    pub learned_from: String,
}

#[derive(Clone, Debug, Serialize)]
pub struct MetricInfo {
    pub metric: String,
    pub unit: String,
    /// Mean absolute percentage error on graphs that nothing was fitted to; null where it was not
    /// measured.
    pub expected_error_percent: Option<f64>,
}

/// The targets in the order of the manifest, then the modelled ones.
pub fn targets(manifest: &Manifest) -> Vec<TargetInfo> {
    let mut targets: Vec<TargetInfo> = Vec::new();
    for output in &manifest.outputs {
        let metric = MetricInfo {
            metric: output.metric.clone(),
            unit: output.unit.clone(),
            expected_error_percent: manifest.expected_error_percent(&output.target, &output.metric),
        };
        match targets.iter_mut().find(|target| target.id == output.target) {
            Some(target) => target.metrics.push(metric),
            None => targets.push(target(output, metric)),
        }
    }
    targets.extend(
        cortex_a::Costs::shipped()
            .targets
            .iter()
            .filter_map(processor),
    );
    targets.push(edge_tpu_info());
    targets
}

fn processor(costs: &cortex_a::TargetCosts) -> Option<TargetInfo> {
    let board = cortex_a::Constants::shipped().board(&costs.target)?;
    let metric = |metric: &str, unit: &str, expected_error_percent| MetricInfo {
        metric: metric.into(),
        unit: unit.into(),
        expected_error_percent,
    };
    let energy = board.energy.as_ref().map(|_| metric("energy", "mJ", None));
    let latency = metric("latency", "ms", Some(costs.usual.error.capped_mape));
    Some(TargetInfo {
        id: board.target.clone(),
        device: board.device.clone(),
        metrics: std::iter::once(latency).chain(energy).collect(),
        learned_from: format!("modelled, {}; {}", costs.in_words(), board.in_words()),
    })
}

fn edge_tpu_info() -> TargetInfo {
    let constants = edge_tpu::Constants::shipped();
    TargetInfo {
        id: edge_tpu::TARGET.into(),
        device: edge_tpu::DEVICE.into(),
        metrics: vec![MetricInfo {
            metric: edge_tpu::METRIC.into(),
            unit: edge_tpu::UNIT.into(),
            expected_error_percent: Some(constants.leave_one_out.mean_percent),
        }],
        learned_from: format!(
            "modelled, fitted to {} latencies: {}",
            constants.n_latencies, constants.source
        ),
    }
}

fn target(output: &Output, metric: MetricInfo) -> TargetInfo {
    let source = &output.provenance;
    TargetInfo {
        id: output.target.clone(),
        device: output.device.clone(),
        metrics: vec![metric],
        learned_from: format!(
            "{} {}, {}",
            source.tool, source.version, source.configuration
        ),
    }
}
