//! Instructions of operators that no network of the fit has, from files of one operator each, and what
//! bounds those of an operator that was never counted: `single_operators.json`, which
//! `litecast-trainer fit-cpu-singles` writes.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

use super::Work;

/// What was counted of single operators, in every element type that LiteRT takes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SingleOperators {
    /// What remakes the file.
    pub command: String,
    /// What counted.
    pub tool: String,
    /// Files that were counted, and that LiteRT refused.
    pub n_files: usize,
    pub n_rejected: usize,
    pub targets: Vec<SingleTarget>,
}

/// One processor.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SingleTarget {
    pub target: String,
    pub kernels: BTreeMap<String, SingleKernel>,
    pub bound: Bound,
}

/// The operators of one kind and numbers: instructions of an operator, and of each unit of work.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SingleKernel {
    /// Counted shapes.
    pub n_shapes: usize,
    pub per_operator: f64,
    /// Of each value that it reads or writes.
    pub per_value: f64,
    /// Of each multiply-accumulate.
    pub per_mac: f64,
    /// The widest factor between estimate and count with the shape left out of the fit.
    pub interval_factor: f64,
}

/// An operator that was never counted: the same sums with what operators have in common.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Bound {
    pub per_operator: f64,
    pub per_value: f64,
    pub per_mac: f64,
    /// The 90 % interval: found with each operator kind left out of the fit.
    pub interval_factor: f64,
    /// Kinds of operators that it was calibrated on.
    pub n_kinds: usize,
}

impl SingleOperators {
    /// Those of this version.
    pub fn shipped() -> &'static Self {
        static SHIPPED: LazyLock<SingleOperators> = LazyLock::new(|| {
            serde_json::from_str(include_str!("single_operators.json"))
                .expect("the shipped file is what `fit-cpu-singles` wrote")
        });
        &SHIPPED
    }

    pub fn target(&self, target: &str) -> Option<&SingleTarget> {
        self.targets.iter().find(|of| of.target == target)
    }
}

impl SingleKernel {
    pub fn instructions(&self, work: &Work) -> f64 {
        self.per_operator + self.per_value * work.values + self.per_mac * work.macs
    }
}

impl Bound {
    /// What no operator can be told of better: weights that it reads count as values.
    pub fn instructions(&self, work: &Work) -> f64 {
        let values = work.values.max(work.bytes / 4.0);
        self.per_operator + self.per_value * values + self.per_mac * work.macs
    }
}
