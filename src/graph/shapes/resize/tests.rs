use super::*;
use crate::formats::tflite::{self, Buffer, OpKind, TensorType};
use crate::graph::analysis::fixtures::{calling, conv_2d, model, operator, subgraph, tensor};
use crate::graph::{self, analysis};

fn times(width: f64, resolution: f64) -> Resize {
    Resize {
        resolution,
        channels: Channels::Times(width),
    }
}

/// The same architecture, released at two resolutions and widths: one turned into the other has the shapes,
/// multiply-accumulates, parameters and arena of the other.
#[test]
fn mobilenet_at_another_size_is_the_one_that_was_released() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/models");
    let read = |name: &str| std::fs::read(folder.join(name));
    let large = read("coral__mobilenet_v1_0.75_192_quant.tflite");
    let small = read("coral__mobilenet_v1_0.25_128_quant.tflite");
    let (Ok(large), Ok(small)) = (large, small) else {
        println!("skipped: no ../shared/models");
        return;
    };
    let facts = |model: &Model| {
        let graph = graph::build(model, MAIN_SUBGRAPH).unwrap();
        let analysis = analysis::analyze(&graph);
        let outputs = graph.nodes.iter().flat_map(|node| &node.operator.outputs);
        let shapes: Vec<Vec<i32>> = outputs.map(|&t| graph.tensor(t).shape.clone()).collect();
        let totals = &analysis.totals;
        let counts = [totals.macs, totals.parameters, totals.weight_bytes];
        assert_eq!(analysis.diagnostics, []);
        (
            shapes,
            counts,
            analysis.memory_plan.map(|plan| plan.arena_bytes),
        )
    };
    let mut shrunk = tflite::parse(&large).unwrap();
    let mut enlarged = tflite::parse(&small).unwrap();
    let released = [facts(&enlarged), facts(&shrunk)];
    resize(&mut shrunk, times(1.0 / 3.0, 128.0 / 192.0)).unwrap();
    resize(&mut enlarged, times(3.0, 192.0 / 128.0)).unwrap();
    println!("{:?}", released[0].1);
    assert_eq!([facts(&shrunk), facts(&enlarged)], released);
}

/// A residual block around the input: its last layer has the channels of the input, whatever the width.
#[test]
fn layers_tied_to_the_input_keep_their_channels() {
    let options = || conv_2d(tflite::Padding::Same, [1; 2]);
    let shapes: [&[i32]; 8] = [
        &[1, 8, 8, 16],
        &[32, 1, 1, 16],
        &[1, 8, 8, 32],
        &[16, 1, 1, 32],
        &[1, 8, 8, 16],
        &[1, 8, 8, 16],
        &[10, 1, 1, 16],
        &[1, 8, 8, 10],
    ];
    let mut tensors: Vec<_> = shapes.map(|shape| tensor(TensorType::Int8, shape)).into();
    for (filter, buffer_idx) in [(1, 2), (3, 2), (6, 3)] {
        tensors[filter].buffer_idx = buffer_idx;
    }
    let operators = vec![
        calling(OpKind::Conv2d, &[0, 1], &[2], options()),
        calling(OpKind::Conv2d, &[2, 3], &[4], options()),
        operator(OpKind::Add, &[0, 4], &[5]),
        calling(OpKind::Conv2d, &[5, 6], &[7], options()),
    ];
    let stored = [vec![1u8; 512], vec![1u8; 160]];
    let mut network = model(vec![subgraph(tensors, operators)]);
    network
        .buffers
        .extend(stored.iter().map(|bytes| Buffer::from(bytes.as_slice())));
    let before = network.clone();
    let resized = resize(&mut network, times(2.0, 0.5)).unwrap();
    let actual: Vec<_> = network.subgraphs[0]
        .tensors
        .iter()
        .map(|t| t.shape.clone())
        .collect();
    let expected: [&[i32]; 8] = [
        &[1, 4, 4, 16],
        &[64, 1, 1, 16],
        &[1, 4, 4, 64],
        &[16, 1, 1, 64],
        &[1, 4, 4, 16],
        &[1, 4, 4, 16],
        &[10, 1, 1, 16],
        &[1, 4, 4, 10],
    ];
    assert_eq!(actual, expected);
    assert_eq!(
        (resized.n_layers, resized.of_layers, resized.n_constants),
        (1, 3, 2)
    );
    let contents = |tensor_idx: usize| {
        network.buffers[network.subgraphs[0].tensors[tensor_idx].buffer_idx].n_bytes()
    };
    assert_eq!([1, 3, 6].map(contents), [1024, 1024, 160]);

    let mut other = before;
    let replaced = Resize {
        resolution: 1.0,
        channels: Channels::Replace { from: 32, to: 17 },
    };
    resize(&mut other, replaced).unwrap();
    assert_eq!(other.subgraphs[0].tensors[2].shape, [1, 8, 8, 17]);
}

#[test]
fn what_cannot_be_resized_stays_as_it_is() {
    let refused = |kind: OpKind, shape: &[i32], factors: [f64; 2]| {
        let tensors = vec![
            tensor(TensorType::Int8, shape),
            tensor(TensorType::Int8, shape),
        ];
        let mut network = model(vec![subgraph(tensors, vec![operator(kind, &[0], &[1])])]);
        let error = resize(&mut network, times(factors[0], factors[1])).unwrap_err();
        assert_eq!(network.subgraphs[0].tensors[1].shape, shape);
        error
    };
    assert!(matches!(
        refused(OpKind::Relu, &[1, 8], [1.0, 0.5]),
        ResizeError::NoResolution { .. }
    ));
    assert!(matches!(
        refused(OpKind::Relu, &[1, 8, 8, 2], [0.5, 1.0]),
        ResizeError::NoWidth
    ));
    assert!(matches!(
        refused(OpKind::Where, &[1, 8, 8, 2], [1.0, 0.5]),
        ResizeError::Operator { .. }
    ));
    for factor in [0.0, -1.0, f64::NAN, f64::INFINITY, 5.0] {
        let error = refused(OpKind::Relu, &[1, 8, 8, 2], [factor, 1.0]);
        assert!(matches!(error, ResizeError::Factor { .. }), "{factor}");
    }
    let huge = refused(OpKind::Relu, &[1, 1 << 15, 1 << 15, i32::MAX], [1.0, 4.0]);
    assert!(matches!(huge, ResizeError::TooLarge { .. }), "{huge}");
}

/// Every real file that is at hand, at several sizes: no panic, and nothing that contradicts itself afterwards.
#[test]
fn real_files_have_consistent_shapes_at_every_size() {
    let (mut n_files, mut n_resized, mut refusals) = (0, 0, std::collections::BTreeMap::new());
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    for folder in ["shared/models", "shared/models-mcu"] {
        let Ok(entries) = std::fs::read_dir(root.join(folder)) else {
            println!("skipped: no ../{folder}");
            continue;
        };
        for path in entries.map(|entry| entry.unwrap().path()) {
            let is_model = path.extension().is_some_and(|ending| ending == "tflite");
            let Some(bytes) = is_model.then(|| std::fs::read(&path).unwrap()) else {
                continue;
            };
            let Ok(original) = tflite::parse(&bytes) else {
                continue;
            };
            n_files += 1;
            let Ok(graph) = graph::build(&original, MAIN_SUBGRAPH) else {
                continue;
            };
            let before = analysis::analyze(&graph).contradictions.len();
            for (width, resolution) in [(0.5, 1.0), (1.0, 0.5), (1.5, 2.0)] {
                let mut model = original.clone();
                match resize(&mut model, times(width, resolution)) {
                    Ok(_) => {
                        n_resized += 1;
                        let graph = graph::build(&model, MAIN_SUBGRAPH).unwrap();
                        let after = analysis::analyze(&graph).contradictions;
                        assert!(after.len() <= before, "{}: {after:?}", path.display());
                    }
                    Err(error) => *refusals.entry(error.to_string()).or_insert(0) += 1,
                }
            }
        }
    }
    println!(
        "{n_resized} of {} resized; refused: {refusals:#?}",
        3 * n_files
    );
    assert!(n_files == 0 || n_resized > n_files);
}
