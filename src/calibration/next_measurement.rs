//! Networks that could be measured on a device, from the one that narrows the intervals of all of them most.
//!
//! What a measurement tells does not depend on its result but on what the network consists of: the covariance of the
//! factors after it follows from the one before.

use serde::Serialize;

use super::calibrate::ProfileError;
use super::estimated_network::EstimatedNetwork;
use super::probes::is_probe;
use crate::profiles::command;
use crate::report::Failure;
use crate::targets::measured_device::{Device, Plan};

/// A network that could be measured next.
#[derive(Clone, Debug, PartialEq)]
pub struct NextMeasurement {
    /// Position among the networks.
    pub network_idx: usize,
    /// Estimate of the device as it is known, in ms.
    pub estimate_ms: f64,
    /// Ratio between the upper end of the interval and the estimate, as the device is known.
    pub interval_factor: f64,
    /// The geometric mean of these factors over the networks that are asked for, once this one has been measured.
    pub factor_of_all_after: f64,
}

/// All networks that are not measured yet, first the one that tells most of those that are asked for: all but the networks
/// that are handed out to be measured, unless there are no others. `with_operators` tells whether their profiles have
/// operators. Quadratic in networks.
pub fn next_measurements(
    device: &Device,
    networks: &[EstimatedNetwork],
    with_operators: bool,
) -> Result<Vec<NextMeasurement>, ProfileError> {
    let plans = networks.iter().map(|network| {
        let plan = network.plan_of(device);
        plan.ok_or_else(|| ProfileError::NotOfBase {
            base: device.base.clone(),
            model: network.file.clone(),
            reason: network.refusal_of(&device.base),
        })
    });
    let plans: Vec<Plan> = plans.collect::<Result<_, ProfileError>>()?;
    let pairs = networks.iter().zip(&plans);
    let models = pairs.filter(|(network, _)| !is_probe(&network.sha256));
    let models: Vec<Plan> = models.map(|(_, plan)| plan.clone()).collect();
    let asked = if models.is_empty() { &plans } else { &models };
    let is_measured = |network: &EstimatedNetwork| {
        let mut known = device.networks.iter();
        known.any(|one| one.sha256 == network.sha256)
    };
    let open = (0..networks.len()).filter(|&idx| !is_measured(&networks[idx]));
    let next = open.filter_map(|network_idx| {
        let (estimate_ms, half_width) = device.interval(&plans[network_idx], None)?;
        let candidate = Some((&plans[network_idx], with_operators));
        Some(NextMeasurement {
            network_idx,
            estimate_ms,
            interval_factor: half_width.exp(),
            factor_of_all_after: device.mean_half_width(asked, candidate).exp(),
        })
    });
    let mut next: Vec<NextMeasurement> = next.collect();
    next.sort_by(|a, b| a.factor_of_all_after.total_cmp(&b.factor_of_all_after));
    Ok(next)
}

/// A network that could be measured next, as programs have it.
#[derive(Serialize)]
struct NextReport<'n> {
    network_idx: usize,
    file: &'n str,
    estimate_ms: f64,
    interval_factor: f64,
    factor_of_all_after: f64,
    /// What measures it with the tool that measured last.
    command: String,
}

/// [`next_as_json`] of a device's document and the JSON of reports with operators.
///
/// # Errors
/// Those of the document, of a report, and of [`next_measurements`].
pub fn next_of_documents(
    device: &str,
    reports: impl Iterator<Item = impl AsRef<str>>,
) -> Result<String, Failure> {
    let device = Device::parse(device.as_bytes())
        .map_err(|error| Failure::new("wrong-device", error.to_string()))?;
    let networks = reports.map(|report| EstimatedNetwork::parse(report.as_ref().as_bytes()));
    let networks: Vec<EstimatedNetwork> = networks
        .collect::<Result<_, _>>()
        .map_err(|words| Failure::new("wrong-report", words))?;
    let files: Vec<&str> = networks.iter().map(|one| one.file.as_str()).collect();
    next_as_json(&device, &networks, &files)
        .map_err(|error| Failure::new(error.kind(), error.to_string()))
}

/// [`next_measurements`] as JSON: a list of which each item has `file` and `command`, the line for a shell that measures it with
/// the tool that measured last, beside the fields of [`NextMeasurement`]. `files` are the networks' names or paths, in their
/// order.
///
/// # Errors
/// Those of [`next_measurements`].
pub fn next_as_json(
    device: &Device,
    networks: &[EstimatedNetwork],
    files: &[impl AsRef<str>],
) -> Result<String, ProfileError> {
    let next = next_measurements(device, networks, device.has_operators())?;
    let reports = next.iter().map(|next| {
        let file = files.get(next.network_idx).map_or("", AsRef::as_ref);
        NextReport {
            network_idx: next.network_idx,
            file,
            estimate_ms: next.estimate_ms,
            interval_factor: next.interval_factor,
            factor_of_all_after: next.factor_of_all_after,
            command: command(device.last_tool(), file, device.threads, &device.base),
        }
    });
    // Of numbers and words alone.
    Ok(serde_json::to_string(&reports.collect::<Vec<_>>()).unwrap_or_default())
}
