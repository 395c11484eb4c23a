//! Shapes and constants that no network has: plans stay finite and nothing overflows.

use crate::formats::tflite::{Buffer, BuiltinOptions, OpKind, Operator, Tensor, TensorType};
use crate::graph::analysis::analyze;
use crate::graph::analysis::fixtures::{calling, graph_of, model, operator, subgraph, tensor};
use crate::targets::ethos_u::accelerator::ACCELERATORS;
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
            let options = BuiltinOptions::BatchMatMul { adj_x, adj_y };
            let multiplies = calling(OpKind::BatchMatmul, &[0, 1], &[2], options);
            for size in SIZES {
                for outer in SIZES {
                    let shape = [outer, size, size];
                    plans_are_finite(&multiplies, [&shape; 3], &[]);
                }
            }
        }
    }
}
