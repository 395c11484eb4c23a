use super::*;
use crate::formats::tflite::Padding;
use crate::formats::tflite::{Activation, TensorType};
use crate::graph::analysis::fixtures::{
    batch_matmul, calling, concatenation, conv_2d, graph_of, model, subgraph, tensor,
    transpose_conv,
};

fn options() -> BuiltinOptions {
    conv_2d(Padding::Same, [2; 2])
}

/// Why an operator contradicts itself whose inputs and output have these shapes.
fn contradiction_with(
    kind: OpKind,
    options: BuiltinOptions,
    shapes: &[&[i32]],
) -> Option<&'static str> {
    let of_type = |place| match (kind, place) {
        (OpKind::SelectV2, 0) => TensorType::Bool,
        _ => TensorType::Int8,
    };
    let tensors = shapes.iter().enumerate();
    let tensors = tensors.map(|(place, shape)| tensor(of_type(place), shape));
    of_tensors(kind, options, tensors.collect())
}

/// The last tensor is the output.
fn of_tensors(kind: OpKind, options: BuiltinOptions, tensors: Vec<Tensor>) -> Option<&'static str> {
    let inputs: Vec<usize> = (0..tensors.len() - 1).collect();
    let operator = calling(kind, &inputs, &[tensors.len() - 1], options);
    let model = model(vec![subgraph(tensors, vec![operator])]);
    let all = contradictions(&graph_of(&model));
    all.first().map(|one| one.why)
}

fn of_convolution(input: &[i32], filter: &[i32], output: &[i32]) -> Option<&'static str> {
    contradiction_with(OpKind::Conv2d, options(), &[input, filter, output])
}

#[test]
fn shapes_of_a_convolution() {
    assert_eq!(
        of_convolution(&[1, 7, 8, 6], &[9, 3, 3, 6], &[1, 4, 4, 9]),
        None
    );
    assert_eq!(
        of_convolution(&[1, 7, 8, 6], &[9, 3, 3, 2], &[1, 4, 4, 9]),
        None,
        "three groups"
    );
    for (input, filter, output) in [
        ([1, 7, 8, 6], [9, 3, 3, 4], [1, 4, 4, 9]),
        ([1, 7, 8, 6], [1, 3, 3, 6], [1, 4, 4, 9]),
        ([1, 7, 8, 6], [9, 3, 3, 6], [1, 7, 8, 9]),
        ([1, 7, 8, 6], [9, 3, 3, 0], [1, 4, 4, 9]),
    ] {
        assert!(
            of_convolution(&input, &filter, &output).is_some(),
            "{filter:?}"
        );
    }
}

#[test]
fn operands_that_broadcast() {
    let add = |one: &[i32], other: &[i32], output: &[i32]| {
        contradiction_with(OpKind::Add, BuiltinOptions::Absent, &[one, other, output])
    };
    assert_eq!(add(&[1, 4, 4, 8], &[8], &[1, 4, 4, 8]), None);
    assert_eq!(add(&[4, 1], &[1, 5], &[4, 5]), None);
    assert!(add(&[4, 2], &[1, 5], &[4, 5]).is_some());
    assert!(add(&[4, 1], &[1, 5], &[4, 1]).is_some());
}

fn of_kind(kind: OpKind, shapes: &[&[i32]]) -> Option<&'static str> {
    let options = match kind {
        OpKind::BatchMatmul => batch_matmul(false, false),
        OpKind::Concatenation => concatenation(-1),
        OpKind::Conv2d => options(),
        OpKind::DepthToSpace => BuiltinOptions::DepthToSpace { block_size: 2 },
        OpKind::DepthwiseConv2d => BuiltinOptions::DepthwiseConv2D {
            padding: Padding::Same,
            stride_h: 1,
            stride_w: 1,
            depth_multiplier: 0,
            dilation_h: 1,
            dilation_w: 1,
            activation: Activation::None,
        },
        OpKind::Pack => BuiltinOptions::Pack {
            values_count: 2,
            axis: 0,
        },
        OpKind::Svdf => BuiltinOptions::Svdf {
            rank: 2,
            activation: Activation::None,
        },
        OpKind::TransposeConv => transpose_conv(Padding::Same, [2; 2]),
        OpKind::Conv3dTranspose => BuiltinOptions::Conv3D {
            padding: Padding::Same,
            stride_d: 1,
            stride_h: 2,
            stride_w: 2,
            dilation_d: 1,
            dilation_h: 1,
            dilation_w: 1,
            activation: Activation::None,
        },
        OpKind::Unpack => BuiltinOptions::Unpack { num: 1, axis: 0 },
        _ => BuiltinOptions::Absent,
    };
    contradiction_with(kind, options, shapes)
}

/// By kind: operands that a kernel takes, then some that none takes.
type Cases<'c> = (OpKind, &'c [&'c [i32]], &'c [&'c [&'c [i32]]]);

#[test]
fn operands_by_kind() {
    let cases: &[Cases] = &[
        (
            OpKind::BatchMatmul,
            &[&[4, 2, 3], &[4, 3, 7], &[4, 2, 7]],
            &[
                &[&[4, 2, 3], &[4, 5, 7], &[4, 2, 7]],
                &[&[4, 2, 3], &[3, 3, 7], &[4, 2, 7]],
                &[&[3], &[3, 7], &[7]],
            ],
        ),
        (
            OpKind::BroadcastTo,
            &[&[1, 5], &[3], &[2, 4, 5]],
            &[&[&[3, 5], &[3], &[2, 4, 5]], &[&[1, 1, 5], &[2], &[4, 5]]],
        ),
        (
            OpKind::Concatenation,
            &[&[2, 3], &[2, 4], &[2, 7]],
            &[&[&[2, 3], &[1, 4], &[2, 7]], &[&[2, 3], &[4], &[2, 7]]],
        ),
        (
            OpKind::Conv2d,
            &[&[1, 8, 8, 6], &[4, 3, 3, 3], &[4], &[1, 4, 4, 4]],
            &[
                &[&[1, 8, 8, 6], &[4, 3, 3, 3], &[3], &[1, 4, 4, 4]],
                &[&[1, 8, 8, 6], &[5, 3, 3, 3], &[5], &[1, 4, 4, 5]],
                &[&[8, 8, 6], &[4, 3, 3, 3], &[4], &[1, 4, 4, 4]],
                &[&[], &[4, 3, 3, 3], &[4], &[1, 4, 4, 4]],
            ],
        ),
        (
            OpKind::DepthToSpace,
            &[&[1, 3, 3, 8], &[1, 6, 6, 2]],
            &[&[&[1, 3, 3, 7], &[1, 6, 6, 1]]],
        ),
        (
            OpKind::DepthwiseConv2d,
            &[&[1, 8, 8, 6], &[1, 3, 3, 12], &[12], &[1, 8, 8, 12]],
            &[
                &[&[1, 8, 8, 6], &[9, 3, 3, 12], &[12], &[1, 8, 8, 12]],
                &[&[1, 8, 8, 6], &[1, 3, 3, 13], &[13], &[1, 8, 8, 13]],
                &[&[1, 8, 8, 6], &[1, 3, 3, 12], &[6], &[1, 8, 8, 12]],
            ],
        ),
        (
            OpKind::DynamicUpdateSlice,
            &[&[4, 4], &[1, 4], &[2], &[4, 4]],
            &[
                &[&[4, 4], &[5, 4], &[2], &[4, 4]],
                &[&[4, 4], &[4], &[2], &[4, 4]],
            ],
        ),
        (
            OpKind::FullyConnected,
            &[&[2, 6], &[5, 6], &[5], &[2, 5]],
            &[
                &[&[2, 6], &[5, 6], &[4], &[2, 5]],
                &[&[2, 5], &[5, 6], &[5], &[2, 5]],
            ],
        ),
        (
            OpKind::Pack,
            &[&[4], &[4], &[2, 4]],
            &[&[&[4], &[5], &[2, 4]]],
        ),
        (
            OpKind::Prelu,
            &[&[1, 4, 4, 8], &[1, 1, 8], &[1, 4, 4, 8]],
            &[&[&[1, 4, 4, 8], &[1, 1, 7], &[1, 4, 4, 8]]],
        ),
        (
            OpKind::Reshape,
            &[&[4, 6], &[2], &[3, 8]],
            &[
                &[&[4, 6], &[1], &[25]],
                &[&[4, 6], &[1], &[]],
                &[&[], &[1], &[24]],
            ],
        ),
        (
            OpKind::ResizeBilinear,
            &[&[1, 4, 4, 8], &[2], &[1, 9, 9, 8]],
            &[
                &[&[1, 4, 4, 8], &[2], &[1, 9, 9, 7]],
                &[&[1, 4, 4, 8], &[2], &[2, 9, 9, 8]],
            ],
        ),
        (
            OpKind::Rnn,
            &[&[1, 8], &[5, 8], &[5, 5], &[5], &[1, 5], &[1, 5]],
            &[
                &[&[1, 8], &[5, 9], &[5, 5], &[5], &[1, 5], &[1, 5]],
                &[&[1, 8], &[5, 8], &[6, 2], &[5], &[1, 5], &[1, 5]],
            ],
        ),
        (
            OpKind::SelectV2,
            &[&[1, 1, 4], &[2, 3, 4], &[4], &[2, 3, 4]],
            &[&[&[1, 2, 3], &[2, 3, 4], &[4], &[2, 3, 4]]],
        ),
        (
            OpKind::Slice,
            &[&[4, 6], &[2], &[2], &[4, 5]],
            &[
                &[&[4, 6], &[2], &[2], &[5, 4]],
                &[&[4, 6], &[2], &[2], &[4]],
            ],
        ),
        (
            OpKind::StridedSlice,
            &[&[4, 6], &[2], &[2], &[2], &[1, 4, 5]],
            &[&[&[4, 6], &[2], &[2], &[2], &[5, 5]]],
        ),
        (
            OpKind::Svdf,
            &[&[1, 8], &[6, 8], &[6, 9], &[3], &[1, 54], &[1, 3]],
            &[
                &[&[1, 8], &[6, 7], &[6, 9], &[3], &[1, 54], &[1, 3]],
                &[&[1, 8], &[6, 8], &[5, 9], &[3], &[1, 54], &[1, 3]],
                &[&[1, 8], &[6, 8], &[6, 9], &[6], &[1, 54], &[1, 3]],
                &[&[1, 8], &[6, 8], &[6, 9], &[3], &[1, 80], &[1, 3]],
                &[&[1, 8], &[5, 8], &[5, 9], &[3], &[1, 45], &[1, 3]],
            ],
        ),
        (
            OpKind::TransposeConv,
            &[&[4], &[5, 3, 3, 6], &[1, 4, 4, 6], &[1, 8, 7, 5]],
            &[
                &[&[4], &[5, 3, 3, 6], &[1, 4, 4, 6], &[1, 1, 1, 5]],
                &[&[4], &[5, 3, 3, 6], &[1, 4, 4, 6], &[1, 80, 8, 5]],
                &[&[4], &[5, 3, 3, 6], &[1, 4, 4, 6], &[2, 8, 8, 5]],
                &[&[4], &[5, 3, 3, 7], &[1, 4, 4, 6], &[1, 8, 8, 5]],
                &[&[4], &[4, 3, 3, 6], &[1, 4, 4, 6], &[1, 8, 8, 5]],
            ],
        ),
        (
            OpKind::Conv3dTranspose,
            &[&[5], &[2, 3, 3, 5, 6], &[1, 2, 4, 4, 6], &[1, 2, 8, 7, 5]],
            &[
                &[&[5], &[2, 3, 3, 5, 6], &[1, 2, 4, 4, 6], &[1, 8, 8, 8, 5]],
                &[&[5], &[2, 3, 3, 5, 6], &[1, 2, 4, 4, 6], &[1, 2, 80, 8, 5]],
                &[&[5], &[2, 3, 3, 5, 6], &[1, 2, 4, 4, 6], &[2, 2, 8, 8, 5]],
                &[&[5], &[2, 3, 3, 5, 7], &[1, 2, 4, 4, 6], &[1, 2, 8, 8, 5]],
                &[&[5], &[2, 3, 3, 4, 6], &[1, 2, 4, 4, 6], &[1, 2, 8, 8, 5]],
                &[&[4], &[5, 3, 3, 6], &[1, 4, 4, 6], &[1, 8, 7, 5]],
            ],
        ),
        (OpKind::Unpack, &[&[1, 5], &[5]], &[&[&[4, 5], &[5]]]),
    ];
    for (kind, right, wrong) in cases {
        assert_eq!(of_kind(*kind, right), None, "{kind:?}");
        for shapes in *wrong {
            assert!(of_kind(*kind, shapes).is_some(), "{kind:?} {shapes:?}");
        }
    }
}

/// A shape with the dimensions that are known only at run time as −1; 1 is stored for them.
fn open(signature: &[i32]) -> Tensor {
    let stored: Vec<i32> = signature.iter().map(|size| size.abs()).collect();
    Tensor {
        shape_signature: Some(signature.into()),
        ..tensor(TensorType::Int8, &stored)
    }
}

#[test]
fn dimensions_known_at_run_time_contradict_nothing() {
    let convolution = |input: &[i32], filter: &[i32], output: &[i32]| {
        let tensors = vec![open(input), open(filter), open(output)];
        of_tensors(OpKind::Conv2d, options(), tensors)
    };
    let filter = &[9, 3, 3, 6];
    for (input, output) in [
        ([-1, 7, 8, 6], [-1, 4, 4, 9]),
        ([-1, 7, 8, 6], [1, 4, 4, 9]),
        ([-1, 7, 8, 6], [3, 4, 4, 9]),
        ([1, 7, 8, 6], [-1, 4, 4, 9]),
        ([1, -1, -1, 6], [1, -1, -1, 9]),
        ([1, -1, 8, 6], [1, 50, 4, 9]),
    ] {
        assert_eq!(convolution(&input, filter, &output), None, "{input:?}");
    }
    for (input, output) in [
        ([-1, 7, 8, 6], [-1, 2, 2, 9]),
        ([-1, 7, 8, 5], [-1, 4, 4, 9]),
        ([1, 7, 8, 6], [-1, 4, 4, 8]),
        ([1, -1, 8, 6], [1, -1, 5, 9]),
    ] {
        assert!(convolution(&input, filter, &output).is_some(), "{input:?}");
    }
}

/// A branch is estimated with the graph.
#[test]
fn contradictions_in_called_subgraphs() {
    let tensors = || {
        vec![
            tensor(TensorType::Int8, &[1, 8, 8, 1]),
            tensor(TensorType::Int8, &[8, 3, 3, 1]),
            tensor(TensorType::Int8, &[1, 2, 2, 8]),
        ]
    };
    let call = || {
        calling(
            OpKind::Call,
            &[0],
            &[2],
            BuiltinOptions::Call { subgraph_idx: 1 },
        )
    };
    let inner = calling(OpKind::Conv2d, &[0, 1], &[2], options());
    let recursive = vec![inner, call()];
    let model = model(vec![
        subgraph(tensors(), vec![call(), call()]),
        subgraph(tensors(), recursive),
    ]);
    let all = contradictions(&graph_of(&model));
    assert_eq!(all.len(), 1);
}

/// Subgraphs take and give one tensor of `[1, 8, 8, 1]`.
#[test]
fn subgraphs_are_called_with_what_they_take() {
    let image = || tensor(TensorType::Int8, &[1, 8, 8, 1]);
    let other = || tensor(TensorType::Int8, &[1, 4, 4, 1]);
    let truth = || tensor(TensorType::Bool, &[]);
    let body = || {
        let operator = calling(OpKind::Relu, &[0], &[1], BuiltinOptions::Absent);
        subgraph(vec![image(), image()], vec![operator])
    };
    let call = BuiltinOptions::Call { subgraph_idx: 1 };
    let choice = BuiltinOptions::If {
        then_subgraph_idx: 1,
        else_subgraph_idx: 2,
    };
    let again = BuiltinOptions::While {
        cond_subgraph_idx: 1,
        body_subgraph_idx: 2,
    };
    let (image, truth, other) = (&image as &dyn Fn() -> Tensor, &truth, &other);
    type Case<'c> = (
        OpKind,
        &'c BuiltinOptions,
        Vec<&'c dyn Fn() -> Tensor>,
        bool,
    );
    let cases: Vec<Case> = vec![
        (OpKind::Call, &call, vec![image, image], true),
        (OpKind::Call, &call, vec![image, other], false),
        (OpKind::Call, &call, vec![other, image], false),
        (OpKind::Call, &call, vec![image, image, image], false),
        (OpKind::If, &choice, vec![truth, image, image], true),
        (OpKind::If, &choice, vec![truth, other, image], false),
        (OpKind::If, &choice, vec![truth, image, image, image], false),
        (OpKind::While, &again, vec![image, image], true),
        (OpKind::While, &again, vec![other, image], false),
        (OpKind::While, &again, vec![image, image, image], false),
    ];
    for (kind, options, tensors, is_possible) in cases {
        let tensors: Vec<Tensor> = tensors.into_iter().map(|tensor| tensor()).collect();
        let inputs: Vec<usize> = (0..tensors.len() - 1).collect();
        let operator = calling(kind, &inputs, &[tensors.len() - 1], options.clone());
        let main = subgraph(tensors, vec![operator]);
        let model = model(vec![main, body(), body()]);
        let all = contradictions(&graph_of(&model));
        assert_eq!(all.is_empty(), is_possible, "{kind:?} {inputs:?}: {all:?}");
    }
}

/// A size that is stored in a constant, and another in the shape of the result.
#[test]
fn stale_constants_contradict_shapes_of_files_as_they_are() {
    let of_kind = |kind, values: &[i32], shapes: [&[i32]; 2], is_reshaped: bool| {
        let list = Tensor {
            buffer_idx: 2,
            ..tensor(TensorType::Int32, &[values.len() as i32])
        };
        let [input, output] = shapes.map(|shape| tensor(TensorType::Int8, shape));
        let operator = calling(kind, &[0, 1], &[2], BuiltinOptions::Absent);
        let mut model = model(vec![subgraph(vec![input, list, output], vec![operator])]);
        model
            .buffers
            .push(crate::formats::builder::integers(values));
        model.is_reshaped = is_reshaped;
        let all = contradictions(&graph_of(&model));
        !all.is_empty()
    };
    let (small, large): (&[i32], &[i32]) = (&[1, 4, 4, 8], &[1, 8, 8, 8]);
    for kind in [OpKind::ResizeBilinear, OpKind::ResizeNearestNeighbor] {
        assert!(!of_kind(kind, &[8, 8], [small, large], false));
        assert!(of_kind(kind, &[16, 16], [small, large], false));
        assert!(
            !of_kind(kind, &[16, 16], [small, large], true),
            "a changed network"
        );
    }
    assert!(!of_kind(
        OpKind::Reshape,
        &[4, -1],
        [&[2, 6], &[4, 3]],
        false
    ));
    assert!(of_kind(OpKind::Reshape, &[6, 2], [&[2, 6], &[4, 3]], false));
    assert!(of_kind(
        OpKind::BroadcastTo,
        &[2, 3],
        [&[1, 3], &[4, 3]],
        false
    ));
}

/// The file says 97 million weights for one channel, and eight channels of output.
#[test]
fn operands_that_contradict_each_other_leave_no_estimate() {
    let tensors = vec![
        tensor(TensorType::Int8, &[1, 8, 8, 1]),
        tensor(TensorType::Int8, &[1, 3024, 4032, 1]),
        tensor(TensorType::Int8, &[1, 4, 4, 8]),
    ];
    let operator = calling(OpKind::Conv2d, &[0, 1], &[2], options());
    let model = model(vec![subgraph(tensors, vec![operator])]);
    let graph = graph_of(&model);
    let analysis = crate::graph::analysis::analyze(&graph);
    let doubt = (analysis.diagnostics.iter()).find(|doubt| doubt.code == "contradicting-shapes");
    println!("{}", doubt.unwrap().message);
    let network = crate::targets::Network::new(&graph, &analysis);
    for target in crate::targets::registry() {
        for metric in target.estimate(&network).metrics {
            assert!(!metric.outcome.is_estimate(), "{metric:?}");
        }
    }
}

/// What LiteRT takes, and what it refuses.
#[test]
fn operands_of_one_type() {
    use OpKind as K;
    use TensorType::*;
    let why = |kind, options, operands: &[(TensorType, &[i32])]| {
        let tensors = operands.iter().map(|(of, shape)| tensor(*of, shape));
        of_tensors(kind, options, tensors.collect())
    };
    let of_two = |kind: OpKind, types: [TensorType; 3]| {
        let options = match kind {
            K::Concatenation => concatenation(0),
            K::BatchMatmul => batch_matmul(false, false),
            _ => BuiltinOptions::Absent,
        };
        let result: &[i32] = if kind == K::Concatenation {
            &[6, 3]
        } else {
            &[3, 3]
        };
        let shapes = [&[3, 3], &[3, 3], result];
        let operands: Vec<_> = types.into_iter().zip(shapes).collect();
        why(kind, options, &operands)
    };
    for (kind, types, is_possible) in [
        (K::Add, [Float32; 3], true),
        (K::Add, [Int8; 3], true),
        (K::Add, [Float32, Int32, Float32], false),
        (K::Add, [Int8, Int16, Int8], false),
        (K::Add, [Float32, Float32, Int8], false),
        (K::AddN, [Float32, Int64, Float32], false),
        (K::Less, [Float32, Float32, Bool], true),
        (K::Less, [Float32, Int32, Bool], false),
        (K::LogicalAnd, [Bool; 3], true),
        (K::LogicalAnd, [Bool, Float32, Bool], false),
        (K::Concatenation, [Int8; 3], true),
        (K::Concatenation, [Int8, UInt8, Int8], false),
        (K::BatchMatmul, [Float32, Int8, Float32], true),
        (K::BatchMatmul, [Int16, Int8, Int16], true),
        (K::BatchMatmul, [Int8, Float32, Int8], false),
        (K::BatchMatmul, [Float32, Int32, Float32], false),
        (K::Prelu, [Float32; 3], true),
        (K::Prelu, [Int8, Float32, Int8], false),
        (K::FullyConnected, [Float32, Int8, Float32], true),
        (K::FullyConnected, [Float32, Int4, Float32], true),
        (K::FullyConnected, [Int16, Int8, Int16], true),
        (K::FullyConnected, [Int8, Float32, Int8], false),
        (K::FullyConnected, [Float32, Int64, Float32], false),
        (K::FullyConnected, [Float32, Bool, Float32], false),
        (K::FullyConnected, [Float32, Float32, Int8], false),
        (K::FullyConnected, [Resource, Float32, Variant], true),
    ] {
        assert_eq!(
            of_two(kind, types).is_none(),
            is_possible,
            "{kind:?} {types:?}"
        );
    }
    let of_one = |kind, from, to| why(kind, BuiltinOptions::Absent, &[(from, &[4]), (to, &[4])]);
    for (kind, from, to, is_possible) in [
        (K::Relu, Float32, Float32, true),
        (K::Relu, Float32, Int8, false),
        (K::Quantize, Float32, Int8, true),
        (K::Dequantize, Float16, Float32, true),
        (K::Cast, Bool, Float32, true),
        (K::ComplexAbs, Complex64, Float32, true),
        (K::LogicalNot, Bool, Float32, false),
    ] {
        assert_eq!(
            of_one(kind, from, to).is_none(),
            is_possible,
            "{kind:?} {from:?} {to:?}"
        );
    }
    let image: &[i32] = &[1, 8, 8, 6];
    let convolution = |types: [TensorType; 4]| {
        let shapes: [&[i32]; 4] = [image, &[4, 3, 3, 6], &[4], &[1, 4, 4, 4]];
        let operands: Vec<_> = types.into_iter().zip(shapes).collect();
        why(K::Conv2d, options(), &operands)
    };
    for types in [
        [Float32; 4],
        [Int8, Int8, Int32, Int8],
        [UInt8, UInt8, Int32, UInt8],
        [Int16, Int8, Int64, Int16],
        [Float32, Int8, Float32, Float32],
    ] {
        assert_eq!(convolution(types), None, "{types:?}");
    }
    for types in [
        [Int8, Float32, Int32, Int8],
        [Int8, Int8, Float32, Int8],
        [Float32, Float32, Int32, Float32],
        [Float32, Float32, Float32, Int32],
        [Float32, Int32, Float32, Float32],
    ] {
        assert!(convolution(types).is_some(), "{types:?}");
    }
    let choice = |types: [TensorType; 4]| {
        let operands = types.map(|of| (of, &[4][..]));
        why(K::SelectV2, BuiltinOptions::Absent, &operands)
    };
    assert_eq!(choice([Bool, Int8, Int8, Int8]), None);
    assert!(choice([Float32, Int8, Int8, Int8]).is_some());
    assert!(choice([Bool, Int8, Float32, Int8]).is_some());
    let gather = |indices| {
        let options = BuiltinOptions::Gather {
            axis: 0,
            batch_dims: 0,
        };
        why(
            K::Gather,
            options,
            &[(Float32, &[4]), (indices, &[4]), (Float32, &[4])],
        )
    };
    assert_eq!(gather(Int32), None);
    assert!(gather(Float32).is_some());
}
