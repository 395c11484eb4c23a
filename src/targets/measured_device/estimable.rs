//! A device as estimates need it: without the operators of its networks.

use super::classes::Class;
use super::device::{DEVICE_VERSION, Device, DeviceError, is_duration, is_logarithm, tools};
use super::fit::{Expected, Fit, Plan, left_out_percent, spread};
use super::flat::FlatDocument;
use super::kernels::Kernels;
use super::prior::Prior;
use crate::fields;
use crate::target::MeasuredRange;

/// What a device's document tells of further networks.
#[derive(Clone, Debug, PartialEq)]
pub struct Estimable {
    /// In the user's words.
    pub name: String,
    /// Id of the target whose operators are scaled.
    pub base: String,
    pub kernels: Kernels,
    /// The tools that measured, in words.
    pub tools: String,
    pub n_networks: usize,
    pub measured: MeasuredRange,
    pub fit: Fit,
    /// As of the document.
    pub left_out: Vec<f64>,
}

impl From<&Device> for Estimable {
    fn from(device: &Device) -> Self {
        let latencies = device.networks.iter().map(|network| network.measured_ms);
        Self {
            name: device.name.clone(),
            base: device.base.clone(),
            kernels: device.kernels,
            tools: tools(&device.networks),
            n_networks: device.networks.len(),
            measured: MeasuredRange {
                shortest_ms: latencies.clone().fold(f64::MAX, f64::min),
                longest_ms: latencies.fold(0.0, f64::max),
            },
            fit: device.fit.clone(),
            left_out: device.left_out.clone(),
        }
    }
}

impl Estimable {
    /// Reads a document; in the browser's module what the npm package makes of it.
    pub fn parse(text: &str) -> Result<Self, DeviceError> {
        #[cfg(target_arch = "wasm32")]
        return Self::read(text);
        #[cfg(not(target_arch = "wasm32"))]
        return Device::parse(text.as_bytes()).map(|device| Self::from(&device));
    }

    /// Reads what `deviceText` of the npm package makes of a document.
    pub fn read(flat: &str) -> Result<Self, DeviceError> {
        let malformed = |words: &str| DeviceError::Malformed(words.to_owned());
        let FlatDocument(name, base, tools, numbers) = fields::from_json(flat.as_bytes())
            .map_err(|error| DeviceError::Malformed(error.to_string()))?;
        let parts = numbers.split_first_chunk::<5>().and_then(|(head, rest)| {
            let n = Fit::n_parameters_of(head[0]);
            let (parameters, rest) = rest.split_at_checked(n)?;
            let (covariance, left_out) = rest.split_at_checked(n * n)?;
            Some((*head, parameters, covariance, left_out))
        });
        let (head, parameters, covariance, left_out) =
            parts.ok_or_else(|| malformed("too few numbers"))?;
        let [version, is_of_ncnn, n_networks, shortest_ms, longest_ms] = head;
        if version > f64::from(DEVICE_VERSION) {
            return Err(DeviceError::Newer(version as u32));
        }
        let device = Self {
            name,
            base,
            kernels: match is_of_ncnn {
                0.0 => Kernels::Base,
                1.0 => Kernels::Ncnn,
                _ => return Err(malformed("numbers out of range")),
            },
            tools,
            n_networks: n_networks as usize,
            measured: MeasuredRange {
                shortest_ms,
                longest_ms,
            },
            fit: Fit {
                parameters: parameters.to_vec(),
                covariance: covariance.to_vec(),
            }
            .of_version(version),
            left_out: left_out.to_vec(),
        };
        let is_whole = device.fit.is_whole()
            && device.n_networks >= left_out.len().max(1)
            && left_out.iter().all(|error| is_logarithm(*error))
            && is_duration(shortest_ms)
            && is_duration(longest_ms);
        is_whole
            .then_some(device)
            .ok_or_else(|| malformed("numbers out of range"))
    }

    /// Stable identifier of the device among targets: its name in kebab-case.
    pub fn id(&self) -> String {
        let mut id = String::new();
        for c in self.name.chars() {
            if c.is_alphanumeric() {
                id.push(c.to_ascii_lowercase());
            } else if !id.is_empty() && !id.ends_with('-') {
                id.push('-');
            }
        }
        id.truncate(id.trim_end_matches('-').len());
        if id.is_empty() {
            id.push_str("device");
        }
        id
    }

    /// Mean absolute error in percent of networks that were estimated from the others; `None` for one network.
    pub fn left_out_percent(&self) -> Option<f64> {
        left_out_percent(&self.left_out)
    }

    /// Milliseconds, and the logarithm of the interval's half width as a factor.
    pub fn estimate(&self, expected: &Expected) -> Option<(f64, f64)> {
        estimate(&self.fit, &self.left_out, &self.prior(), expected)
    }

    /// Whether measurements tell the factor of a class, which is the expected one otherwise.
    pub fn is_constrained(&self, class: Class) -> bool {
        self.fit.is_constrained(class.idx(), &self.prior())
    }

    fn prior(&self) -> Prior {
        Prior::new(&self.tools, &self.base, self.kernels)
    }
}

/// Milliseconds, and the logarithm of the interval's half width as a factor.
fn estimate(fit: &Fit, left_out: &[f64], prior: &Prior, expected: &Expected) -> Option<(f64, f64)> {
    let (ms, variance) = fit.estimate(expected)?;
    let (spread, quantile) = spread(left_out, prior.spread, prior.spread_networks);
    Some((ms, quantile * (spread * spread + variance).sqrt()))
}

impl Device {
    /// Estimate of a network in ms, and the logarithm of its interval's half width as a factor; `measured` is another network that
    /// is taken for measured as expected, with its operators or as a whole.
    pub fn interval(&self, plan: &Plan, measured: Option<(&Plan, bool)>) -> Option<(f64, f64)> {
        let after = self.with_expected_measurement(measured);
        estimate(&after, &self.left_out, &self.prior(), plan.whole())
    }

    /// Mean of the logarithms of the half widths of these networks, once one has been measured as expected.
    pub fn mean_half_width(&self, plans: &[Plan], measured: Option<(&Plan, bool)>) -> f64 {
        let after = self.with_expected_measurement(measured);
        let prior = self.prior();
        let widths = plans
            .iter()
            .filter_map(|plan| Some(estimate(&after, &self.left_out, &prior, plan.whole())?.1));
        let (n, sum) = widths.fold((0.0, 0.0), |(n, sum), width| (n + 1.0, sum + width));
        sum / f64::max(n, 1.0)
    }

    fn with_expected_measurement(&self, measured: Option<(&Plan, bool)>) -> Fit {
        match measured {
            Some((other, with_operators)) => {
                self.fit.with_expected_measurement(other, with_operators)
            }
            None => self.fit.clone(),
        }
    }
}
