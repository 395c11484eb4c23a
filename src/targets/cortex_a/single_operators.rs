//! Instructions of operators that occur in no network of the fit, from files of one operator each, and a bound for
//! operators that were never counted: `single_operators.json`, which `litecast-trainer fit-cpu-singles` writes.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

use super::KernelCounts;
use crate::fields;

/// Counts of single operators, in every element type that LiteRT supports.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SingleOperators {
    /// The command that writes the file.
    pub command: String,
    /// The tool that counted the instructions.
    pub tool: String,
    /// Number of files that were counted; the number that LiteRT refused is below.
    pub n_files: usize,
    pub n_rejected: usize,
    pub targets: Vec<SingleTarget>,
}

/// One processor.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SingleTarget {
    pub target: String,
    pub kernels: BTreeMap<String, SingleKernel>,
    pub bound: GeneralCost,
}

/// Instructions of the operators of one kind and element type: per operator, per value and per multiply-accumulate.
/// The file has the fields as an array, in this order, because there are hundreds of kernels.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(into = "(usize, f64, f64, f64, f64)")]
pub struct SingleKernel {
    /// Counted shapes.
    pub n_shapes: usize,
    pub per_operator: f64,
    /// Instructions per value that the operator reads or writes.
    pub per_value: f64,
    /// Instructions per multiply-accumulate.
    pub per_mac: f64,
    /// The widest factor between estimate and count with the shape left out of the fit.
    pub interval_factor: f64,
}

/// The general cost of operators that were never counted, in the same form.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct GeneralCost {
    pub per_operator: f64,
    pub per_value: f64,
    pub per_mac: f64,
    /// Factor of the 90 % interval, determined with each operator kind left out of the fit.
    pub interval_factor: f64,
    /// Kinds of operators that it was calibrated on.
    pub n_kinds: usize,
}

impl SingleOperators {
    /// Those of this version.
    pub fn shipped() -> &'static Self {
        static SHIPPED: LazyLock<SingleOperators> = LazyLock::new(|| {
            fields::from_json(include_bytes!("single_operators.json"))
                .expect("the shipped file is what `fit-cpu-singles` wrote")
        });
        &SHIPPED
    }

    pub fn target(&self, target: &str) -> Option<&SingleTarget> {
        self.targets
            .iter()
            .find(|constants| constants.target == target)
    }
}

impl From<SingleKernel> for (usize, f64, f64, f64, f64) {
    fn from(kernel: SingleKernel) -> Self {
        let SingleKernel {
            n_shapes,
            per_operator,
            per_value,
            per_mac,
            interval_factor,
        } = kernel;
        (n_shapes, per_operator, per_value, per_mac, interval_factor)
    }
}

impl SingleKernel {
    pub fn instructions(&self, counts: &KernelCounts) -> f64 {
        self.per_operator + self.per_value * counts.values + self.per_mac * counts.macs
    }
}

impl GeneralCost {
    /// Instructions by the general cost; weights that the operator reads count as values.
    pub fn instructions(&self, counts: &KernelCounts) -> f64 {
        let values = counts.values.max(counts.bytes / 4.0);
        self.per_operator + self.per_value * values + self.per_mac * counts.macs
    }
}
