//! Flash that the interpreter and the kernels take, an estimate.
//!
//! Sizes are those of programs that were linked for a Cortex-M4 with CMSIS-NN, with nothing unused in them:
//! the interpreter alone, and with one kernel each (GCC 12.2 at level 2, messages of errors left out). A
//! kernel brings code for every type that it can run.

use serde::{Deserialize, Serialize};

use crate::graph::Graph;

/// An estimate of a number of bytes with its range.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Bytes {
    pub value: u64,
    pub lo: u64,
    pub hi: u64,
}

/// Of the interpreter and one kernel for each kind of operator in all subgraphs. Linear.
pub fn code_flash_bytes(graph: &Graph) -> Bytes {
    let subgraphs = graph.model.subgraphs.iter();
    let operators = subgraphs.flat_map(|subgraph| &subgraph.operators);
    let names: std::collections::BTreeSet<&str> =
        operators.map(|operator| operator.code.name()).collect();
    let kernel = |name: &&str| {
        let known = KERNEL_BYTES.iter().find(|(kernel, _)| kernel == name);
        known.map_or(OTHER_KERNEL_BYTES, |(_, bytes)| *bytes)
    };
    let kernels = names.iter().map(kernel);
    let own: u64 = kernels
        .map(|bytes| bytes.saturating_sub(SHARED_BYTES))
        .sum();
    let value = INTERPRETER_BYTES + SHARED_BYTES + own;
    Bytes {
        value,
        lo: (value as f64 / LO_FACTOR) as u64,
        hi: (value as f64 * HI_FACTOR) as u64,
    }
}

/// The interpreter with its allocator and planner, and no kernel.
const INTERPRETER_BYTES: u64 = 14_308;
/// What the first kernel brings for all others.
const SHARED_BYTES: u64 = 4_146;
/// What each kernel adds to the interpreter, [`SHARED_BYTES`] included.
const KERNEL_BYTES: &[(&str, u64)] = &[
    ("ADD", 15_852),
    ("AVERAGE_POOL_2D", 6_548),
    ("CONCATENATION", 4_146),
    ("CONV_2D", 32_704),
    ("DEPTHWISE_CONV_2D", 22_544),
    ("DEQUANTIZE", 4_146),
    ("FULLY_CONNECTED", 21_276),
    ("LOGISTIC", 8_268),
    ("MAX_POOL_2D", 6_740),
    ("MEAN", 9_376),
    ("MUL", 13_976),
    ("PAD", 5_644),
    ("QUANTIZE", 6_668),
    ("RESHAPE", 4_146),
    ("SOFTMAX", 12_164),
];
/// Of a kernel that was not linked: the median of those that were.
const OTHER_KERNEL_BYTES: u64 = 8_268;
/// Builds differ by compiler, level of optimisation, core and messages of errors, and no table of measured
/// builds is public: the range is a choice.
const LO_FACTOR: f64 = 1.5;
const HI_FACTOR: f64 = 2.0;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::tflite::TensorType;
    use crate::graph::analysis::fixtures::{graph_of, model, operator, subgraph, tensor};

    fn estimated(names: &[&str]) -> Bytes {
        let tensors = vec![tensor(TensorType::Int8, &[1, 4]); names.len() + 1];
        let operators = names.iter().enumerate();
        let operators = operators.map(|(idx, name)| operator(name, &[idx], &[idx + 1]));
        let model = model(vec![subgraph(tensors, operators.collect())]);
        code_flash_bytes(&graph_of(&model))
    }

    /// Beside programs that were linked with several kernels, none of which the table was made from.
    #[test]
    fn programs_of_several_kernels_are_near_those_that_were_linked() {
        let mobile_net = [
            "CONV_2D",
            "DEPTHWISE_CONV_2D",
            "FULLY_CONNECTED",
            "SOFTMAX",
            "AVERAGE_POOL_2D",
            "RESHAPE",
        ];
        let all: Vec<&str> = KERNEL_BYTES.iter().map(|(name, _)| *name).collect();
        for (names, linked) in [
            (&mobile_net[..3], 76_680.0),
            (&mobile_net[..], 88_168.0),
            (&all[..], 126_652.0),
        ] {
            let bytes = estimated(names);
            let off = 100.0 * (bytes.value as f64 / linked - 1.0);
            println!(
                "{} kernels: {} bytes, linked {linked}: {off:+.1} %",
                names.len(),
                bytes.value
            );
            assert!(off.abs() < 10.0, "{off}");
            assert!((bytes.lo as f64) < linked && linked < bytes.hi as f64);
        }
        assert!(
            estimated(&["ADD", "ADD"]) == estimated(&["ADD"]),
            "a kernel is linked once"
        );
    }
}
