//! What is expected of a device before anything was measured on it.

use std::sync::LazyLock;

use super::classes::N_CLASSES;
use super::flat::FlatDocument;
use crate::fields;

/// Common scale, deviation of each class, milliseconds of a call, milliseconds of an inference; all logarithms.
pub const N_PARAMETERS: usize = N_CLASSES + 3;

pub type Parameters = [f64; N_PARAMETERS];

/// Means and standard deviations of the parameters of a fit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Prior {
    pub means: Parameters,
    pub deviations: Parameters,
}

/// The base is expected to be as fast; a call takes half a microsecond, and an inference five, beside what the base has for
/// them. The scale is free within a factor of a hundred. The deviations of the classes are four thirds of how the known
/// processors differ from the one that is most similar to each, after a common scale, because a device of one's own may run
/// another runtime: `litecast-trainer evaluate-profiles` prints them.
pub const ANY_RUNTIME: Prior = Prior {
    means: [
        0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, -7.6, -5.3,
    ],
    deviations: [
        2.5, 0.4, 0.4, 0.5, 0.8, 0.6, 0.8, 0.7, 0.8, 0.8, 0.4, 1.5, 1.5,
    ],
};

/// A runtime that many devices were measured with.
struct Known {
    tool: String,
    base: String,
    prior: Prior,
}

/// How processors that ran ncnn differ from the base, from `litecast-trainer evaluate-unseen-devices`: the tool, the base,
/// what was measured, means and deviations.
static NCNN: LazyLock<Option<Known>> = LazyLock::new(|| {
    let FlatDocument(tool, base, _, numbers) =
        fields::from_json(include_bytes!("ncnn.json")).ok()?;
    let (means, deviations) = numbers.split_at_checked(N_PARAMETERS)?;
    Some(Known {
        tool,
        base,
        prior: Prior {
            means: means.try_into().ok()?,
            deviations: deviations.try_into().ok()?,
        },
    })
});

fn known(tool: &str) -> Option<&'static Known> {
    NCNN.as_ref().filter(|known| known.tool == tool)
}

impl Prior {
    /// That of a device on this base, all of whose measurements are of one tool, or of several in words.
    pub fn new(tools: &str, base: &str) -> Self {
        known(tools)
            .filter(|known| known.base == base)
            .map_or(ANY_RUNTIME, |known| known.prior)
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
        let of_ncnn = Prior::new("ncnn", base);
        println!("{of_ncnn:?}");
        assert_ne!(of_ncnn, ANY_RUNTIME);
        assert!(
            of_ncnn
                .deviations
                .iter()
                .all(|one| (0.05..3.0).contains(one))
        );
        for (tools, base) in [
            ("ncnn", "cortex-a76-rpi5"),
            ("ncnn, MNN", base),
            ("MNN", base),
        ] {
            assert_eq!(Prior::new(tools, base), ANY_RUNTIME, "{tools} on {base}");
        }
        assert_eq!(Prior::base("MNN"), None);
    }
}
