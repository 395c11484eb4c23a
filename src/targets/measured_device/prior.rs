//! What is expected of a device before anything was measured on it.

use std::sync::LazyLock;

use super::classes::{Class, N_CLASSES};
use super::flat::FlatDocument;
use super::kernels::Kernels;
use crate::fields;
use crate::targets::learned_accelerators;

/// Common scale, deviation of each class, milliseconds of a call, milliseconds of an inference; all logarithms.
pub const N_PARAMETERS: usize = N_CLASSES + 3;

/// Numbers of a symmetric matrix on and below its diagonal.
const N_TRIANGLE: usize = N_PARAMETERS * (N_PARAMETERS + 1) / 2;

pub type Parameters = [f64; N_PARAMETERS];

pub type Matrix = [Parameters; N_PARAMETERS];

/// Means and covariance of the parameters of a fit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Prior {
    pub means: Parameters,
    /// Positive definite.
    pub covariance: Matrix,
    /// Expected standard deviation of networks around their estimates, as logarithms.
    pub spread: f64,
    /// Networks that the expected spread of networks around their estimates weighs as.
    pub spread_networks: f64,
}

/// Of any runtime, and of accelerators.
const SPREAD: f64 = 0.3;
/// Of a runtime whose kernels are known: that of families that no device ran is smaller.
const SPREAD_OF_KNOWN: f64 = 0.12;
/// Of any runtime.
const SPREAD_NETWORKS: f64 = 4.0;
/// Of a runtime that many devices were measured with, and of accelerators, where the errors of networks that were left out are too
/// small: most are of families that other devices ran.
const SPREAD_NETWORKS_OF_KNOWN: f64 = 12.0;

/// The base is expected to be as fast; a call takes half a microsecond, and an inference five, beside what the base has for
/// them. The scale is free within a factor of a hundred. The deviations of the classes are larger than those of the known
/// processors from the one that is most similar to each, after a common scale, because a device of one's own may run another
/// runtime: `litecast-trainer evaluate-profiles` prints the latter.
pub const ANY_RUNTIME: Prior = Prior::independent(
    [
        0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, -7.6, -5.3,
    ],
    [
        2.5, 0.4, 0.4, 0.5, 0.8, 0.6, 0.8, 0.7, 0.8, 0.8, 0.4, 0.4, 0.6, 1.5, 1.5,
    ],
)
.with_parts();

/// Two kinds of what is one kernel in many runtimes, and the standard deviation of both.
const PARTS: [(Class, Class, f64); 2] = [
    (Class::Winograd, Class::WideWinograd, 0.4),
    (Class::Elementwise, Class::Curve, 0.6),
];
const PARTS_CORRELATION: f64 = 0.75;

/// Standard deviation of the classes of accelerators: phones that `litecast-trainer fit-accelerators --unseen` leaves out differ
/// from the most similar other one by little more than one factor, and are estimated worse with 0.1 and more.
const CLASSES_OF_ACCELERATORS: f64 = 0.03;
/// What calls and inferences take beside what the base has for them, as logarithms of milliseconds: nothing to speak of.
const CALLS_OF_ACCELERATORS: (f64, f64) = (-12.0, 0.5);

/// That of [`ANY_RUNTIME`] for an accelerator on the operators of another one.
fn of_accelerators() -> Prior {
    let mut prior = Prior {
        spread_networks: SPREAD_NETWORKS_OF_KNOWN,
        ..ANY_RUNTIME
    };
    for idx in 1..N_PARAMETERS {
        prior.covariance[idx] = [0.0; N_PARAMETERS];
        let (mean, deviation) = match idx {
            1..=N_CLASSES => (0.0, CLASSES_OF_ACCELERATORS),
            _ => CALLS_OF_ACCELERATORS,
        };
        prior.means[idx] = mean;
        prior.covariance[idx][idx] = deviation * deviation;
    }
    prior
}

/// A runtime that many devices were measured with.
struct Known {
    tool: String,
    base: String,
    prior: Prior,
}

/// How processors that ran ncnn differ from the base, from `litecast-trainer evaluate-unseen-devices`: the tool, the base,
/// what was measured, and the numbers of the prior.
static NCNN: LazyLock<Option<Known>> = LazyLock::new(|| {
    let FlatDocument(tool, base, _, numbers) =
        fields::from_json(include_bytes!("ncnn.json")).ok()?;
    let prior = Prior::of_numbers(&numbers)?;
    Some(Known { tool, base, prior })
});

fn known(tool: &str) -> Option<&'static Known> {
    NCNN.as_ref().filter(|known| known.tool == tool)
}

impl Prior {
    const fn independent(means: Parameters, deviations: Parameters) -> Self {
        let mut covariance = [[0.0; N_PARAMETERS]; N_PARAMETERS];
        let mut idx = 0;
        while idx < N_PARAMETERS {
            covariance[idx][idx] = deviations[idx] * deviations[idx];
            idx += 1;
        }
        Self {
            means,
            covariance,
            spread: SPREAD,
            spread_networks: SPREAD_NETWORKS,
        }
    }

    /// With classes that differ little from those of which they would be parts where a runtime has one kernel for both.
    const fn with_parts(mut self) -> Self {
        let mut idx = 0;
        while idx < PARTS.len() {
            let (row, column) = (PARTS[idx].0 as usize + 1, PARTS[idx].1 as usize + 1);
            let covariance = PARTS_CORRELATION * PARTS[idx].2 * PARTS[idx].2;
            self.covariance[row][column] = covariance;
            self.covariance[column][row] = covariance;
            idx += 1;
        }
        self
    }

    /// The means, and the rows of the covariance up to its diagonal, as one list.
    pub fn numbers(&self) -> Vec<f64> {
        let rows = self.covariance.iter().enumerate();
        let triangle = rows.flat_map(|(idx, row)| &row[..=idx]);
        self.means.iter().chain(triangle).copied().collect()
    }

    /// Of such a list; `None` if it has another length.
    fn of_numbers(numbers: &[f64]) -> Option<Self> {
        let (means, triangle) = numbers.split_at_checked(N_PARAMETERS)?;
        let mut covariance = [[0.0; N_PARAMETERS]; N_PARAMETERS];
        let triangle = <&[f64; N_TRIANGLE]>::try_from(triangle).ok()?;
        let places = (0..N_PARAMETERS).flat_map(|row| (0..=row).map(move |column| (row, column)));
        for ((row, column), value) in places.zip(triangle) {
            covariance[row][column] = *value;
            covariance[column][row] = *value;
        }
        Some(Self {
            means: means.try_into().ok()?,
            covariance,
            spread: SPREAD_OF_KNOWN,
            spread_networks: SPREAD_NETWORKS_OF_KNOWN,
        })
    }

    /// Variance of a parameter of a device whose common scale, which is the first one, is known.
    pub fn variance_beside_scale(&self, idx: usize) -> f64 {
        let [with_scale, own] = [0, idx].map(|column| self.covariance[idx][column]);
        own - with_scale * with_scale / self.covariance[0][0]
    }

    /// That of a device on this base, all of whose measurements are of one tool, or of several in words.
    pub fn new(tools: &str, base: &str, kernels: Kernels) -> Self {
        match known(tools).filter(|known| known.base == base) {
            Some(known) if kernels == Kernels::Ncnn => known.prior,
            // A document of the time before its kernels were known.
            Some(known) => Self {
                spread_networks: known.prior.spread_networks,
                ..ANY_RUNTIME
            },
            None if learned_accelerators::parse_id(base).is_some() => of_accelerators(),
            None => ANY_RUNTIME,
        }
    }

    /// Whose kernels a device on this base is scaled from, whose first measurement is of this tool.
    pub fn kernels(tool: &str, base: &str) -> Kernels {
        match known(tool).is_some_and(|known| known.base == base) {
            true => Kernels::Ncnn,
            false => Kernels::Base,
        }
    }

    /// The base from which devices that run this tool are known to differ; `None` where any base may be nearest.
    pub fn base(tool: &str) -> Option<&'static str> {
        known(tool).map(|known| known.base.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runtimes_that_were_measured_have_a_prior_of_their_own() {
        let base = Prior::base("ncnn").unwrap();
        let of_ncnn = Prior::new("ncnn", base, Prior::kernels("ncnn", base));
        println!("{of_ncnn:?}");
        assert_ne!(of_ncnn, ANY_RUNTIME);
        assert_eq!(Prior::of_numbers(&of_ncnn.numbers()), Some(of_ncnn));
        for idx in 1..N_PARAMETERS {
            let deviation = of_ncnn.variance_beside_scale(idx).sqrt();
            assert!((0.05..3.0).contains(&deviation), "{idx}: {deviation}");
        }
        for (tools, base) in [
            ("ncnn", "cortex-a76-rpi5"),
            ("ncnn, MNN", base),
            ("MNN", base),
        ] {
            let prior = Prior::new(tools, base, Prior::kernels(tools, base));
            assert_eq!(prior, ANY_RUNTIME, "{tools} on {base}");
        }
        assert_eq!(Prior::base("MNN"), None);
    }

    #[test]
    fn accelerators_differ_by_little_more_than_a_factor() {
        let prior = Prior::new("a table", "galaxy-s24@qnn", Kernels::Base);
        assert_ne!(prior, ANY_RUNTIME);
        assert_eq!(prior.covariance[0][0], ANY_RUNTIME.covariance[0][0]);
        for idx in 1..=N_CLASSES {
            let [own, of_any] =
                [prior, ANY_RUNTIME].map(|prior| prior.variance_beside_scale(idx).sqrt());
            assert!(own < 0.2 * of_any, "{idx}: {own} of {of_any}");
        }
    }
}
