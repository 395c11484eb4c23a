//! Which operators an NPU leaves to the CPU: our rules against what Vela does with real files.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::common::{python, shared_model};
use litecast::targets::ethos_u::configuration::{Family, Product};
use litecast::targets::ethos_u::support::{self, Npu};
use litecast::{formats::tflite, graph};
use litecast_trainer::labels::record::{Label, Outcome};
use litecast_trainer::labels::vela::{Vela, default_targets};
use litecast_trainer::labels::worker::Worker;

const LIMIT: Duration = Duration::from_secs(60);

/// Files that the compiler takes within seconds, quantised and not, with and without fallbacks.
const FILES: [&str; 8] = [
    "coral__keras_lstm_mnist_ptq.tflite",
    "coral__mobilenet_v1_0.25_128_quant.tflite",
    "micro-wake-word-models__vad.tflite",
    "tflite-micro__transpose_conv0.tflite",
    "tiny__kws_ref_model.tflite",
    "tiny__vww_96_float.tflite",
    "tiny__vww_96_int8.tflite",
    "tinyengine__vww.tflite",
];

/// Files whose images have so many rows and columns, of which the same with open ones are made.
const OPENED: [(&str, i32); 2] = [
    ("tiny__vww_96_int8.tflite", 96),
    ("tiny__vww_96_int8.tflite", 24),
];

/// The same file, whose tensors of so many rows and columns say that these are known only at run time.
fn opened(mut bytes: Vec<u8>, size: i32) -> Vec<u8> {
    let words = |sizes: [i32; 3]| sizes.map(i32::to_le_bytes).concat();
    let (stored, open) = (words([-1, size, size]), words([-1, -1, -1]));
    let places: Vec<usize> = (0..bytes.len().saturating_sub(stored.len()))
        .filter(|&at| bytes[at..].starts_with(&stored))
        .collect();
    assert!(!places.is_empty(), "no signature of {size} rows");
    for at in places {
        bytes[at..][..open.len()].copy_from_slice(&open);
    }
    bytes
}

#[test]
fn rules_name_the_operators_that_vela_leaves() {
    let Some(python) = python() else { return };
    let targets = default_targets();
    let mut worker = Worker::start(&Vela { python }, &targets).unwrap();
    let mut compared = 0;
    let stored = FILES.map(|file| (file, shared_model(file)));
    let open =
        OPENED.map(|(file, size)| (file, shared_model(file).map(|bytes| opened(bytes, size))));
    for (file, bytes) in stored.into_iter().chain(open) {
        let Some(bytes) = bytes else {
            continue;
        };
        for (target_idx, target) in targets.iter().enumerate() {
            let ours = left_to_cpu(&bytes, &target.id);
            let theirs = match worker.label(target_idx, &bytes, LIMIT).outcome {
                Outcome::Ok(Label::Vela(label)) => match label.cpu_operators {
                    Some(left) => left.iter().map(|left| left.operator_idx).collect(),
                    None => continue,
                },
                // Where the NPU gets none, all of them are left.
                Outcome::Rejected { reason } if reason.contains("found none") => {
                    (0..tflite::parse(&bytes).unwrap().subgraphs[0].operators.len()).collect()
                }
                other => {
                    println!("{file} on {}: {other:?}", target.id);
                    continue;
                }
            };
            println!("{file} on {}: ours {ours:?}, Vela's {theirs:?}", target.id);
            assert_eq!(ours, theirs, "{file} on {}", target.id);
            compared += 1;
        }
    }
    println!("{compared} pairs of file and target compared");
}

/// Indices in the file.
fn left_to_cpu(bytes: &[u8], target_id: &str) -> BTreeSet<usize> {
    let model = tflite::parse(bytes).unwrap();
    let graph = graph::build(&model, 0).unwrap();
    let npu = match Product::by_name(target_id).unwrap().family() {
        Family::U85 => Npu::EthosU85,
        Family::U55 | Family::U65 => Npu::EthosU55U65,
    };
    let left = support::unsupported(&graph, npu).into_iter();
    left.map(|operator| graph.nodes[operator.node_idx].operator_idx)
        .collect()
}
