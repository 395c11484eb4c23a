//! Counts of work → executed instructions: `costs.json`, which `litecast-trainer fit-cpu-operators`
//! writes.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

use super::{Work, inference};
use crate::manifest::ErrorSummary;

/// What a fit found, with how it was made.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Costs {
    /// What remakes the file.
    pub command: String,
    /// What counted.
    pub tool: String,
    pub targets: Vec<TargetCosts>,
}

/// One processor.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TargetCosts {
    pub target: String,
    /// Networks that the costs were fitted to.
    pub n_fitted: usize,
    pub kernels: BTreeMap<String, KernelCosts>,
    /// Of estimated instructions, on networks that nothing was fitted to.
    pub error: ErrorSummary,
    pub interval: Interval,
}

/// The operators of one kind and numbers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct KernelCosts {
    /// Networks of the fit that have such an operator.
    pub n_networks: usize,
    /// Instructions for one of each of [`Work::terms`] that they follow from.
    pub instructions: BTreeMap<String, f64>,
}

/// How wide the 90 % interval around an estimate is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// It reaches from the estimate over the factor to the estimate times it.
    pub factor: f64,
    /// The same where more than [`RARE_SHARE`] of the estimate is of kernels that fewer than
    /// [`COMMON`] networks of the fit have.
    pub rare_factor: f64,
    /// Share of networks that nothing was fitted or calibrated with whose count lies inside, in percent.
    pub coverage_percent: f64,
}

pub const RARE_SHARE: f64 = 0.1;
pub const COMMON: usize = 60;

impl Costs {
    /// Those of this version.
    pub fn shipped() -> &'static Self {
        static SHIPPED: LazyLock<Costs> = LazyLock::new(|| {
            serde_json::from_str(include_str!("costs.json"))
                .expect("the shipped file is what `fit-cpu-operators` wrote")
        });
        &SHIPPED
    }

    pub fn target(&self, target: &str) -> Option<&TargetCosts> {
        self.targets.iter().find(|costs| costs.target == target)
    }
}

impl TargetCosts {
    /// Instructions of one operator or of [`super::inference`]; `None` where no network with such an
    /// operator was counted.
    pub fn instructions(&self, work: &Work) -> Option<f64> {
        let kernel = self.kernels.get(&work.kernel)?;
        let cost = |(term, count): &(&str, f64)| Some(kernel.instructions.get(*term)? * count);
        Some(work.terms.iter().filter_map(cost).sum())
    }

    /// Instructions of each operator of a network, those of the inference spread evenly over them, so
    /// that they add up; `None` as in [`Self::instructions`].
    pub fn by_operator(&self, works: &[Work]) -> Vec<Option<f64>> {
        let inference = self.instructions(&inference(works)).unwrap_or(0.0);
        let share = inference / works.len().max(1) as f64;
        let of = |work: &Work| Some(self.instructions(work)? + share);
        works.iter().map(of).collect()
    }

    /// Factor of the interval around the sum of these operators' instructions.
    pub fn interval_factor(&self, works: &[Work], instructions: &[f64]) -> f64 {
        let is_rare = |work: &Work| {
            let kernel = self.kernels.get(&work.kernel);
            kernel.is_none_or(|kernel| kernel.n_networks < COMMON)
        };
        let pairs = works.iter().zip(instructions);
        let rare: f64 = pairs.filter(|(w, _)| is_rare(w)).map(|(_, n)| n).sum();
        match rare > RARE_SHARE * instructions.iter().sum::<f64>() {
            true => self.interval.rare_factor,
            false => self.interval.factor,
        }
    }

    /// The model in words.
    pub fn in_words(&self) -> String {
        format!(
            "instructions of {}, a sum over operators fitted to {} networks, off by {:.1} % on {} others",
            Costs::shipped().tool,
            self.n_fitted,
            self.error.capped_mape,
            self.error.n
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instructions_are_as_by_hand() {
        let kernel = KernelCosts {
            n_networks: COMMON,
            instructions: [("outputs", 0.5), ("operators", 100.0)]
                .map(|(term, n)| (term.to_owned(), n))
                .into(),
        };
        let costs = TargetCosts {
            target: "t".into(),
            n_fitted: 1,
            kernels: [("ADD int8".to_owned(), kernel)].into(),
            error: ErrorSummary::default(),
            interval: Interval {
                factor: 1.1,
                rare_factor: 2.0,
                coverage_percent: 90.0,
            },
        };
        let work = |kernel: &str| Work {
            kernel: kernel.into(),
            is_int8: true,
            terms: vec![("inputs", 7.0), ("outputs", 10.0), ("operators", 1.0)],
        };
        assert_eq!(costs.instructions(&work("ADD int8")), Some(105.0));
        assert_eq!(costs.instructions(&work("ADD float32")), None);
        let works = [work("ADD int8"), work("ADD float32")];
        assert_eq!(costs.by_operator(&works), [Some(105.0), None]);
        assert_eq!(costs.interval_factor(&works, &[105.0, 1.0]), 1.1);
        assert_eq!(costs.interval_factor(&works, &[105.0, 90.0]), 2.0);
    }
}
