//! Counts of an operator → executed instructions: `costs.json`, which `litecast-trainer fit-cpu-operators`
//! writes.

use std::borrow::Borrow;
use std::collections::{BTreeMap, HashMap};
use std::sync::LazyLock;

use foldhash::fast::RandomState;
use serde::{Deserialize, Serialize};

use super::KernelCounts;
use crate::fields;
use crate::provenance::ErrorSummary;

/// The result of a fit, with its origin.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Costs {
    /// The command that writes the file.
    pub command: String,
    /// The tool that counted the instructions.
    pub tool: String,
    pub targets: Vec<TargetCosts>,
}

/// One processor.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TargetCosts {
    pub target: String,
    /// Number of networks that the costs were fitted to.
    pub n_fitted: usize,
    pub kernels: BTreeMap<String, KernelCosts>,
    /// Error of estimated instructions, on held-out networks.
    pub error: ErrorSummary,
    pub usual: Class,
    /// Networks of fewer than [`SMALL`] instructions, and networks in which more than [`RARE_SHARE`] of the
    /// instructions belong to kernels that occur in fewer than [`COMMON`] networks of the fit.
    pub unusual: Class,
}

/// Costs of the operators of one kind and element type.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct KernelCosts {
    /// Number of networks of the fit that contain such an operator.
    pub n_networks: usize,
    /// Instructions per unit of each of [`KernelCounts::terms`].
    pub instructions: BTreeMap<String, f64>,
}

/// A class of networks with similar errors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Class {
    /// The 90 % interval is the estimate divided by and multiplied with this factor.
    pub interval_factor: f64,
    /// Share of networks, held out of fit and calibration, whose count is inside of the interval, in percent.
    pub coverage_percent: f64,
    /// Error on those networks.
    pub error: ErrorSummary,
}

pub const SMALL: f64 = 1e6;
pub const RARE_SHARE: f64 = 0.1;
pub const COMMON: usize = 60;

impl Costs {
    /// Those of this version.
    pub fn shipped() -> &'static Self {
        static SHIPPED: LazyLock<Costs> = LazyLock::new(|| {
            fields::from_json(include_bytes!("costs.json"))
                .expect("the shipped file is what `fit-cpu-operators` wrote")
        });
        &SHIPPED
    }

    pub fn target(&self, target: &str) -> Option<&TargetCosts> {
        self.targets.iter().find(|costs| costs.target == target)
    }
}

impl TargetCosts {
    /// Instructions of one operator or of [`super::inference_counts`]; `None` if no counted network contains such an
    /// operator.
    pub fn instructions(&self, counts: &KernelCounts) -> Option<f64> {
        let kernel = self.kernels.get(&*counts.kernel)?;
        let cost = |(term, count): (&str, f64)| Some(kernel.instructions.get(term)? * count);
        Some(counts.terms.iter().filter_map(cost).sum())
    }

    /// [`Self::instructions`] of each operator. Names are looked up only once for each kernel and list of terms.
    pub fn instructions_of<W: Borrow<KernelCounts>>(&self, operators: &[W]) -> Vec<Option<f64>> {
        let mut known: HashMap<&str, TermCosts, RandomState> = HashMap::default();
        let mut instructions = Vec::with_capacity(operators.len());
        for counts in operators.iter().map(Borrow::borrow) {
            let coefficients = known.entry(&counts.kernel);
            let coefficients = coefficients.or_insert_with(|| TermCosts::new(self, counts));
            if !coefficients.match_terms_of(counts) {
                *coefficients = TermCosts::new(self, counts);
            }
            instructions.push(coefficients.instructions(counts));
        }
        instructions
    }

    /// The class of a network with these operators and their numbers of instructions.
    pub fn class<W: Borrow<KernelCounts>>(&self, operators: &[W], instructions: &[f64]) -> &Class {
        if self.is_unusual(operators, instructions) {
            &self.unusual
        } else {
            &self.usual
        }
    }

    pub fn is_unusual<W: Borrow<KernelCounts>>(
        &self,
        operators: &[W],
        instructions: &[f64],
    ) -> bool {
        let all: f64 = instructions.iter().sum();
        if all < SMALL {
            return true;
        }
        let mut known: HashMap<&str, bool, RandomState> = HashMap::default();
        let mut rare = 0.0;
        for (counts, instructions) in operators.iter().map(Borrow::borrow).zip(instructions) {
            let is_rare = *known.entry(&counts.kernel).or_insert_with(|| {
                let kernel = self.kernels.get(&*counts.kernel);
                kernel.is_none_or(|kernel| kernel.n_networks < COMMON)
            });
            if is_rare {
                rare += instructions;
            }
        }
        rare > RARE_SHARE * all
    }

    /// The model in words.
    pub fn in_words(&self) -> String {
        let Class { error, .. } = self.usual;
        format!(
            "instructions of {}, a sum over operators fitted to {} networks, off by {:.1} % on {} others of \
             more than a million instructions",
            Costs::shipped().tool,
            self.n_fitted,
            error.capped_mape,
            error.n
        )
    }
}

/// The costs of one kernel, in the order of a list of terms.
struct TermCosts {
    /// Names of terms, each with its cost if it has one; absent if the kernel was not counted.
    of_terms: Option<Vec<(&'static str, Option<f64>)>>,
}

impl TermCosts {
    fn new(costs: &TargetCosts, counts: &KernelCounts) -> Self {
        let kernel = costs.kernels.get(&*counts.kernel);
        let of_kernel = |kernel: &KernelCosts| {
            let cost = |&name: &&'static str| (name, kernel.instructions.get(name).copied());
            counts.terms.names().iter().map(cost).collect()
        };
        Self {
            of_terms: kernel.map(of_kernel),
        }
    }

    /// Whether the counts of an operator with this kernel have the same list of terms.
    fn match_terms_of(&self, counts: &KernelCounts) -> bool {
        let Some(known) = &self.of_terms else {
            return true;
        };
        // Names are constants, and equal names usually have the same address; the letters are compared only if the
        // addresses differ.
        let is_same = |known: &str, name: &str| std::ptr::eq(known, name) || known == name;
        let names = counts.terms.names();
        let mut pairs = known.iter().zip(names);
        known.len() == names.len() && pairs.all(|((known, _), name)| is_same(known, name))
    }

    fn instructions(&self, counts: &KernelCounts) -> Option<f64> {
        let of_terms = self.of_terms.as_ref()?.iter().zip(counts.terms.counts());
        let parts = of_terms.filter_map(|((_, cost), count)| Some((*cost)? * count));
        Some(parts.sum())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::targets::cortex_a::{self, Terms};

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
            usual: Class::default(),
            unusual: Class::default(),
        };
        let counts = |kernel: &str| KernelCounts {
            kernel: kernel.into(),
            class: cortex_a::Class::Other,
            is_int8: true,
            terms: Terms::new(&[("inputs", 7.0), ("outputs", 10.0), ("operators", 1.0)]),
            bytes: 17.0,
            weight_bytes: 0.0,
            macs: 0.0,
            values: 17.0,
            copies: false,
            is_unknown: false,
        };
        assert_eq!(costs.instructions(&counts("ADD int8")), Some(105.0));
        assert_eq!(costs.instructions(&counts("ADD float32")), None);
        let mut operators = vec![
            counts("ADD int8"),
            counts("ADD float32"),
            counts("ADD int8"),
        ];
        operators[2].terms = Terms::new(&[("outputs", 20.0), ("operators", 1.0)]);
        let expected = [Some(105.0), None, Some(110.0)];
        assert_eq!(costs.instructions_of(&operators), expected, "other terms");
        operators.pop();
        assert!(costs.is_unusual(&operators[..1], &[105.0]), "small");
        assert!(!costs.is_unusual(&operators, &[2e6, 1.0]));
        assert!(costs.is_unusual(&operators, &[2e6, 1e6]), "rare");
    }
}
