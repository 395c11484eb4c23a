//! Flash that the interpreter and the kernels take, an estimate.
//!
//! Sizes are those of programs that were linked for a Cortex-M4 with CMSIS-NN, with nothing unused in them:
//! the interpreter alone, and with one kernel each (GCC 12.2 at level 2, messages of errors left out). A
//! kernel brings code for every type that it can run.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::formats::tflite::OpKind;
use crate::graph::Graph;

/// An estimate of a number of bytes with its range.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema, ts_rs::TS),
    ts(rename = "CodeBytes")
)]
pub struct Bytes {
    pub value: u64,
    pub lo: u64,
    pub hi: u64,
}

/// Of the interpreter and one kernel for each kind of operator in all subgraphs. Linear.
pub fn code_flash_bytes(graph: &Graph) -> Bytes {
    let subgraphs = graph.model.subgraphs.iter();
    let operators = subgraphs.flat_map(|subgraph| subgraph.operators.iter());
    let codes: BTreeSet<(OpKind, Option<&str>)> = operators
        .map(|operator| (operator.code.kind, operator.code.custom.as_deref()))
        .collect();
    let kernel = |(kind, _): &(OpKind, Option<&str>)| {
        let known = KERNEL_BYTES.iter().find(|(kernel, _)| kernel == kind);
        known.map_or(OTHER_KERNEL_BYTES, |(_, bytes)| *bytes)
    };
    let kernels = codes.iter().map(kernel);
    let kernel_bytes: u64 = kernels
        .map(|bytes| bytes.saturating_sub(SHARED_BYTES))
        .sum();
    let value = INTERPRETER_BYTES + SHARED_BYTES + kernel_bytes;
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
const KERNEL_BYTES: &[(OpKind, u64)] = &[
    (OpKind::Add, 15_852),
    (OpKind::AveragePool2d, 6_548),
    (OpKind::Concatenation, 4_146),
    (OpKind::Conv2d, 32_704),
    (OpKind::DepthwiseConv2d, 22_544),
    (OpKind::Dequantize, 4_146),
    (OpKind::FullyConnected, 21_276),
    (OpKind::Logistic, 8_268),
    (OpKind::MaxPool2d, 6_740),
    (OpKind::Mean, 9_376),
    (OpKind::Mul, 13_976),
    (OpKind::Pad, 5_644),
    (OpKind::Quantize, 6_668),
    (OpKind::Reshape, 4_146),
    (OpKind::Softmax, 12_164),
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

    fn estimated(kinds: &[OpKind]) -> Bytes {
        let tensors = vec![tensor(TensorType::Int8, &[1, 4]); kinds.len() + 1];
        let operators = kinds.iter().enumerate();
        let operators = operators.map(|(idx, &kind)| operator(kind, &[idx], &[idx + 1]));
        let model = model(vec![subgraph(tensors, operators.collect())]);
        code_flash_bytes(&graph_of(&model))
    }

    /// Beside programs that were linked with several kernels, none of which the table was made from.
    #[test]
    fn programs_of_several_kernels_are_near_those_that_were_linked() {
        let mobile_net = [
            OpKind::Conv2d,
            OpKind::DepthwiseConv2d,
            OpKind::FullyConnected,
            OpKind::Softmax,
            OpKind::AveragePool2d,
            OpKind::Reshape,
        ];
        let all: Vec<OpKind> = KERNEL_BYTES.iter().map(|(kind, _)| *kind).collect();
        for (kinds, linked) in [
            (&mobile_net[..3], 76_680.0),
            (&mobile_net[..], 88_168.0),
            (&all[..], 126_652.0),
        ] {
            let bytes = estimated(kinds);
            let off = 100.0 * (bytes.value as f64 / linked - 1.0);
            println!(
                "{} kernels: {} bytes, linked {linked}: {off:+.1} %",
                kinds.len(),
                bytes.value
            );
            assert!(off.abs() < 10.0, "{off}");
            assert!((bytes.lo as f64) < linked && linked < bytes.hi as f64);
        }
        assert!(
            estimated(&[OpKind::Add, OpKind::Add]) == estimated(&[OpKind::Add]),
            "a kernel is linked once"
        );
    }
}
