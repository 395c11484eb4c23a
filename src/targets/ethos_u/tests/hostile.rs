//! Shapes and constants that no network has: plans stay finite and nothing overflows.

use std::sync::Arc;

use crate::formats::tflite::{Buffer, OpKind, Operator, Padding, Quantization, Tensor, TensorType};
use crate::graph::analysis::fixtures::{
    batch_matmul, calling, graph_of, model, operator, subgraph, tensor, transpose_conv,
};
use crate::graph::analysis::weights::{MAX_SAMPLES_PER_TENSOR, weight_stats};
use crate::graph::analysis::{MAX_SAMPLES, analyze};
use crate::targets::ethos_u::accelerator::ACCELERATORS;
use crate::targets::ethos_u::lower::lower;
use crate::targets::ethos_u::plan::plan;

const SIZES: [i32; 8] = [i32::MIN, -1, 0, 1, 3, 17, 1 << 16, i32::MAX];

/// One operator on an input of such a shape, with a constant of such integers where it is given one.
fn plans_are_finite(operator: &Operator, shapes: [&[i32]; 3], integers: &[i32]) {
    let contents: Vec<u8> = integers.iter().flat_map(|n| n.to_le_bytes()).collect();
    let [input, constant, output] = shapes;
    let tensors = vec![
        tensor(TensorType::Int8, input),
        Tensor {
            buffer_idx: if integers.is_empty() { 0 } else { 2 },
            ..tensor(TensorType::Int32, constant)
        },
        tensor(TensorType::Int8, output),
    ];
    let mut model = model(vec![subgraph(tensors, vec![operator.clone()])]);
    model.buffers.push(Buffer::from(&contents[..]));
    let graph = graph_of(&model);
    let analysis = analyze(&graph);
    for accelerator in ACCELERATORS.iter() {
        for planned in plan(accelerator, &graph, &analysis) {
            let numbers = [
                planned.cycles,
                planned.sram_bytes,
                planned.off_chip_bytes,
                planned.sram_traffic_bytes,
            ];
            assert!(
                numbers.iter().all(|n| n.is_finite() && *n >= 0.0),
                "{operator:?} {shapes:?} {integers:?}: {planned:?}"
            );
        }
    }
}

#[test]
fn sides_of_pad() {
    let pad = operator(OpKind::Pad, &[0, 1], &[2]);
    for size in SIZES {
        for side in SIZES {
            let sides = [0, 0, 1, 1, 0, 0, side, 1];
            plans_are_finite(&pad, [&[1, 4, 4, size], &[4, 2], &[1, 6, 4, size]], &sides);
        }
    }
}

#[test]
fn axes_of_reductions() {
    for name in [OpKind::Mean, OpKind::ArgMax, OpKind::ReduceMax] {
        let reduction = operator(name, &[0, 1], &[2]);
        for size in SIZES {
            for axis in SIZES.into_iter().chain([-4, -2, 2]) {
                let shapes: [&[i32]; 3] = [&[1, size, 5, size], &[1], &[1, 1, 5, size]];
                plans_are_finite(&reduction, shapes, &[axis]);
            }
        }
    }
}

#[test]
fn orders_of_transpose() {
    let transpose = operator(OpKind::Transpose, &[0, 1], &[2]);
    for size in SIZES {
        for order in [
            [0, 2, 1, 3],
            [3, 1, 2, 0],
            [0, 0, 1, 9],
            [i32::MIN, 1, 2, 3],
        ] {
            let shapes: [&[i32]; 3] = [&[2, size, 5, size], &[4], &[2, 5, size, size]];
            plans_are_finite(&transpose, shapes, &order);
        }
    }
}

#[test]
fn matrices() {
    for adj_x in [false, true] {
        for adj_y in [false, true] {
            let multiplies = calling(
                OpKind::BatchMatmul,
                &[0, 1],
                &[2],
                batch_matmul(adj_x, adj_y),
            );
            for size in SIZES {
                for outer in SIZES {
                    let shape = [outer, size, size];
                    plans_are_finite(&multiplies, [&shape; 3], &[]);
                }
            }
        }
    }
}

/// TRANSPOSE_CONVs, each with weights of its own: their buffers and zero points.
fn transposed(weights: &[(usize, i64)]) -> (Vec<Tensor>, Vec<Operator>) {
    let scaled = |zero_point: i64, shape: &[i32]| Tensor {
        quantization: Some(Arc::new(Quantization {
            scale: vec![1.0],
            zero_point: vec![zero_point],
            quantized_dimension: 0,
        })),
        ..tensor(TensorType::Int8, shape)
    };
    let mut tensors = vec![
        scaled(0, &[1, 8, 8, 8]),
        Tensor {
            buffer_idx: 1,
            ..tensor(TensorType::Int32, &[1])
        },
    ];
    for &(buffer_idx, zero_point) in weights {
        tensors.push(Tensor {
            buffer_idx,
            ..scaled(zero_point, &[8, 2, 2, 8])
        });
    }
    tensors.push(scaled(0, &[1, 16, 16, 8]));
    let output = tensors.len() - 1;
    let operator = |weights_idx: usize| {
        let options = transpose_conv(Padding::Same, [2; 2]);
        calling(
            OpKind::TransposeConv,
            &[1, weights_idx, 0],
            &[output],
            options,
        )
    };
    let operators = (2..output).map(operator).collect();
    (tensors, operators)
}

#[test]
fn zero_points_of_one_buffer_share_its_counts() {
    let weights: Vec<(usize, i64)> = [0, 5, -7, 5, 0].map(|zero_point| (2, zero_point)).to_vec();
    let (tensors, operators) = transposed(&weights);
    let mut model = model(vec![subgraph(tensors, operators)]);
    let contents: Vec<u8> = (0..=u8::MAX).map(|byte| byte / 3).collect();
    model.buffers.push(Buffer::from(&contents[..]));
    let graph = graph_of(&model);
    let analysis = analyze(&graph);
    for accelerator in ACCELERATORS.iter() {
        let program = lower(accelerator, &graph, &analysis);
        let first = program.operations[0].weights.as_ref().unwrap();
        for operation in &program.operations {
            let weights = operation.weights.as_ref().unwrap();
            assert!(Arc::ptr_eq(&weights.counts, &first.counts));
            let weights_idx = 2 + operation.node_idx;
            let alone = weight_stats(graph.buffer(weights_idx), graph.tensor(weights_idx)).unwrap();
            assert_eq!(weights.zero, alone.histogram.zero);
            assert_eq!(weights.counts, alone.histogram.counts);
        }
    }
}

/// Buffers of a file may lie over each other: their sizes do not add up to that of the file.
#[test]
fn weights_beyond_a_limit_are_not_looked_at() {
    const N_WITHIN: usize = MAX_SAMPLES / MAX_SAMPLES_PER_TENSOR;
    let contents: Vec<u8> = (0..MAX_SAMPLES_PER_TENSOR).map(|idx| idx as u8).collect();
    for n_buffers in [N_WITHIN, N_WITHIN + 1] {
        let weights: Vec<(usize, i64)> = (2..2 + n_buffers).map(|buffer| (buffer, 0)).collect();
        let (tensors, operators) = transposed(&weights);
        let mut model = model(vec![subgraph(tensors, operators)]);
        let buffers = std::iter::repeat_n(&contents[..], n_buffers);
        model.buffers.extend(buffers.map(Buffer::from));
        let graph = graph_of(&model);
        let program = lower(&ACCELERATORS[0], &graph, &analyze(&graph));
        assert_eq!(
            program.hit_limit,
            n_buffers > N_WITHIN,
            "{n_buffers} buffers"
        );
    }
}
