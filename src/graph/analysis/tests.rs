//! The stage as a whole, on small models made by hand; real files are in `tests/analysis.rs`.

use super::calls::MAX_CALL_DEPTH;
use super::fixtures::{calling, graph_of, model, operator, subgraph, tensor};
use super::memory_plan::{live_bytes_of, memory_plan};
use super::unplannable::{MAX_PLANNED_TENSORS, Unplannable};
use super::*;
use crate::formats::tflite::{
    Buffer, BuiltinOptions, Metadata, Model, OpKind, Sparsity, Subgraph, Tensor, TensorType,
};

fn analyze_main(model: &Model) -> Analysis {
    analyze(&graph_of(model))
}

fn codes(analysis: &Analysis) -> Vec<&'static str> {
    analysis
        .diagnostics
        .iter()
        .map(|doubt| doubt.code)
        .collect()
}

fn refusal(model: &Model) -> Unplannable {
    let reason = memory_plan(&graph_of(model), &[]).unwrap_err();
    println!("{reason}");
    assert!(codes(&analyze_main(model)).contains(&"no-memory-plan"));
    reason
}

fn int8(shape: &[i32]) -> Tensor {
    tensor(TensorType::Int8, shape)
}

/// A constant of four bytes.
fn constant(tensor_type: TensorType, shape: &[i32]) -> Tensor {
    Tensor {
        buffer_idx: 1,
        ..tensor(tensor_type, shape)
    }
}

/// `[1, 2]` times a constant `[2, 2]`: 4 MACs, 4 parameters.
fn dense() -> Subgraph {
    let tensors = vec![
        int8(&[1, 2]),
        constant(TensorType::Int8, &[2, 2]),
        int8(&[1, 2]),
    ];
    subgraph(
        tensors,
        vec![operator(OpKind::FullyConnected, &[0, 1], &[2])],
    )
}

/// One operator that calls, and the subgraphs behind it.
fn caller(kind: OpKind, options: BuiltinOptions, callees: Vec<Subgraph>) -> Model<'static> {
    let mut main = subgraph(
        vec![int8(&[1, 2]), int8(&[1, 2])],
        vec![calling(kind, &[0], &[1], options)],
    );
    if kind == OpKind::If {
        // What it branches by comes first.
        main.operators[0].inputs.insert(0, Some(2));
        main.tensors.push(tensor(TensorType::Bool, &[]));
        main.inputs.push(2);
    }
    model([vec![main], callees].concat())
}

#[test]
fn called_subgraphs_count_for_the_operator_that_calls() {
    let twice = Subgraph {
        operators: [dense().operators, dense().operators].concat(),
        ..dense()
    };
    let bodies = vec![dense(), twice];
    let branch = BuiltinOptions::If {
        then_subgraph_idx: 1,
        else_subgraph_idx: 2,
    };
    let repeat = BuiltinOptions::While {
        cond_subgraph_idx: 1,
        body_subgraph_idx: 2,
    };
    let once = BuiltinOptions::CallOnce {
        init_subgraph_idx: 2,
    };
    let always = BuiltinOptions::Call { subgraph_idx: 2 };
    for (name, options, macs, expected) in [
        (OpKind::If, branch, 8, vec!["costlier-branch-counted"]),
        (OpKind::While, repeat, 12, vec!["loop-counted-once"]),
        (OpKind::CallOnce, once, 0, vec![]),
        (OpKind::Call, always, 8, vec![]),
    ] {
        let analysis = analyze_main(&caller(name, options, bodies.clone()));
        assert_eq!(analysis.totals.macs, macs, "{name}");
        assert_eq!(analysis.costs[0].macs, macs, "{name}");
        assert!(analysis.totals.parameters >= 4, "{name}");
        // Every body's weights lie in the same buffer.
        assert_eq!(analysis.totals.weight_bytes, 4, "{name}");
        assert_eq!(
            codes(&analysis)
                .iter()
                .filter(|code| **code != "unused-tensors")
                .collect::<Vec<_>>(),
            expected.iter().collect::<Vec<_>>()
        );
    }
}

#[test]
fn circles_and_multiplying_calls_end() {
    let circle = caller(
        OpKind::While,
        BuiltinOptions::While {
            cond_subgraph_idx: 0,
            body_subgraph_idx: 0,
        },
        vec![],
    );
    assert_eq!(codes(&analyze_main(&circle))[0], "uncounted-operator");
    assert_eq!(refusal(&circle), Unplannable::CallDepth);

    // Each subgraph calls the next one eight times.
    let step = |idx: usize| {
        let call = BuiltinOptions::If {
            then_subgraph_idx: idx + 1,
            else_subgraph_idx: idx + 1,
        };
        let operators = vec![calling(OpKind::If, &[0], &[1], call); 4];
        subgraph(vec![int8(&[1, 2]), int8(&[1, 2])], operators)
    };
    let mut subgraphs: Vec<_> = (0..MAX_CALL_DEPTH).map(step).collect();
    subgraphs.push(dense());
    let multiplying = model(subgraphs);
    assert_eq!(refusal(&multiplying), Unplannable::TooManyWalked);
    assert_eq!(
        analyze_main(&multiplying).totals.macs,
        4u64.pow(MAX_CALL_DEPTH as u32 + 1)
    );
}

#[test]
fn weights_that_are_unpacked_belong_to_their_reader() {
    let tensors = vec![
        tensor(TensorType::Float32, &[1, 1]),
        constant(TensorType::Float16, &[2, 1]),
        tensor(TensorType::Float32, &[2, 1]),
        tensor(TensorType::Float32, &[1, 2]),
    ];
    let operators = vec![
        operator(OpKind::Dequantize, &[1], &[2]),
        operator(OpKind::FullyConnected, &[0, 2], &[3]),
    ];
    let analysis = analyze_main(&model(vec![subgraph(tensors, operators)]));
    assert_eq!(analysis.costs[0], Cost::default());
    let Cost {
        macs,
        parameters,
        weight_bytes,
        input_bytes,
        output_bytes,
        ..
    } = analysis.costs[1];
    assert_eq!(
        (macs, parameters, weight_bytes, input_bytes, output_bytes),
        (2, 2, 4, 4, 8)
    );
    assert!(analysis.costs[1].weights.is_some());
}

#[test]
fn sparse_packed_and_lying_constants_count_what_is_stored() {
    let sparse = |stored_values| Tensor {
        sparsity: Some(Box::new(Sparsity {
            traversal_order: vec![],
            block_map: vec![],
            stored_values,
            levels: vec![],
        })),
        ..constant(TensorType::Int8, &[100, 100])
    };
    for (weights, parameters) in [
        (sparse(Some(3)), 3),
        (sparse(None), 4),
        (constant(TensorType::Int4, &[7, 1]), 7),
        (constant(TensorType::Int8, &[i32::MAX, i32::MAX]), 4),
    ] {
        let main = subgraph(
            vec![int8(&[1, 1]), weights, int8(&[1, 7])],
            vec![operator(OpKind::FullyConnected, &[0, 1], &[2])],
        );
        let analysis = analyze_main(&model(vec![main]));
        assert_eq!(
            (analysis.totals.parameters, analysis.totals.weight_bytes),
            (parameters, 4)
        );
    }
}

#[test]
fn layout_operands_are_no_parameters() {
    let tensors = vec![int8(&[1, 2]), constant(TensorType::Int32, &[1]), int8(&[2])];
    let analysis = analyze_main(&model(vec![subgraph(
        tensors,
        vec![operator(OpKind::Reshape, &[0, 1], &[2])],
    )]));
    assert_eq!(
        (
            analysis.totals.parameters,
            analysis.costs[0].weights.clone()
        ),
        (0, None)
    );
    assert_eq!(
        (
            analysis.costs[0].input_bytes,
            analysis.costs[0].output_bytes
        ),
        (2, 2)
    );
}

#[test]
fn the_arena_holds_what_tflite_micro_puts_there() {
    let variable = Tensor {
        is_variable: true,
        ..int8(&[999])
    };
    // Nibbles take a byte each; tensors of no bytes and variables take none.
    let mut tensors = vec![
        int8(&[17]),
        tensor(TensorType::Int4, &[33]),
        int8(&[0]),
        variable,
    ];
    let chain = vec![operator(OpKind::Where, &[0], &[1])];
    let plan = |tensors: &Vec<Tensor>| {
        let main = Subgraph {
            outputs: vec![1],
            ..subgraph(tensors.clone(), chain.clone())
        };
        analyze_main(&model(vec![main]))
    };
    let analysis = plan(&tensors);
    let arena = analysis.memory_plan.clone().unwrap();
    assert_eq!(
        (arena.arena_bytes, arena.live_bytes, arena.peak_node_idx),
        (32 + 48, vec![80], Some(0))
    );
    assert_eq!(codes(&analysis), [""; 0]);
    // Tensors that no operator touches are all placed together.
    tensors.extend([int8(&[64]), int8(&[64])]);
    let analysis = plan(&tensors);
    let arena = analysis.memory_plan.clone().unwrap();
    assert_eq!((arena.arena_bytes, arena.live_bytes), (128, vec![80]));
    assert_eq!(codes(&analysis), ["unused-tensors"]);
}

#[test]
fn sizes_that_are_not_known_give_no_plan() {
    let one = |tensor: Tensor| {
        model(vec![subgraph(
            vec![tensor, int8(&[1, 1])],
            vec![operator(OpKind::Relu, &[0], &[1])],
        )])
    };
    let signed = |signature: &[i32]| Tensor {
        shape_signature: Some(signature.into()),
        ..int8(&[1, 1])
    };
    assert!(matches!(
        refusal(&one(signed(&[-1, -1]))),
        Unplannable::RunTimeShape { tensor_idx: 0, .. }
    ));
    assert_eq!(
        codes(&analyze_main(&one(signed(&[-1, 1])))),
        ["dynamic-batch"]
    );
    assert!(matches!(
        refusal(&one(tensor(TensorType::String, &[1]))),
        Unplannable::UnknownSize { .. }
    ));
    let huge = int8(&[i32::MAX, i32::MAX, i32::MAX]);
    assert!(matches!(refusal(&one(huge)), Unplannable::TooLarge { .. }));
    let wide = int8(&[i32::MAX, i32::MAX, 2]);
    let product = operator(OpKind::Add, &[0, 1], &[2]);
    let sum = model(vec![subgraph(
        vec![wide.clone(), wide.clone(), wide],
        vec![product],
    )]);
    assert_eq!(refusal(&sum), Unplannable::Overflow);
    let unshaped = subgraph(
        vec![
            int8(&[]),
            constant(TensorType::Int8, &[1, 1, 1, 1]),
            int8(&[]),
        ],
        vec![operator(OpKind::Conv2d, &[0, 1], &[2])],
    );
    assert!(matches!(
        refusal(&model(vec![unshaped])),
        Unplannable::OperandShapes {
            operator_idx: 0,
            ..
        }
    ));
}

#[test]
fn more_tensors_than_the_limit_give_no_plan_but_counts() {
    let chain = |n_tensors: usize| {
        let operators = (1..n_tensors)
            .map(|idx| operator(OpKind::Relu, &[idx - 1], &[idx]))
            .collect();
        model(vec![subgraph(vec![int8(&[3]); n_tensors], operators)])
    };
    let at_limit = chain(MAX_PLANNED_TENSORS);
    assert_eq!(analyze_main(&at_limit).memory_plan.unwrap().arena_bytes, 32);
    let n_tensors = MAX_PLANNED_TENSORS + 1;
    assert_eq!(
        refusal(&chain(n_tensors)),
        Unplannable::TooManyTensors { found: n_tensors }
    );
    // Two tensors of 16 bytes are alive at each operator, with a plan and without.
    let live = |model: &Model| live_bytes_of(&graph_of(model)).unwrap();
    assert_eq!(
        live(&at_limit),
        analyze_main(&at_limit).memory_plan.unwrap().live_bytes
    );
    assert_eq!(live(&chain(n_tensors)), vec![32; n_tensors - 1]);
}

#[test]
fn prescribed_offsets_are_kept_or_refused() {
    let with_words = |words: &[i32]| {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let mut model = model(vec![subgraph(
            vec![int8(&[16]), int8(&[16])],
            vec![operator(OpKind::Relu, &[0], &[1])],
        )]);
        model.buffers.push(Buffer::Stored(bytes.into()));
        model.metadata.push(Metadata {
            name: "OfflineMemoryAllocation".to_owned(),
            buffer_idx: 2,
        });
        model
    };
    let offsets = |model: &Model| {
        let plan = memory_plan(&graph_of(model), &[]).unwrap();
        plan.placements
            .iter()
            .map(|placement| placement.offset_bytes)
            .collect::<Vec<_>>()
    };
    assert_eq!(offsets(&with_words(&[1, 0, 2, 160, -1])), [160, 0]);
    assert_eq!(offsets(&with_words(&[1, 0, 2, 0, -1])), [0, 16]);
    for wrong in [
        &[][..],
        &[1, 0, 2, 0],
        &[1, 0, 3, 0, 0, 0],
        &[1, 0, 2, -2, 0],
        &[1, 0, -1, 0, 0],
    ] {
        assert!(matches!(
            refusal(&with_words(wrong)),
            Unplannable::OfflinePlan { .. }
        ));
    }
}

#[test]
fn uncounted_operators_are_named_and_few_messages_name_many() {
    let custom = |name: String| {
        let mut custom = operator(OpKind::Custom, &[0], &[1]);
        custom.code.custom = Some(name.into());
        custom
    };
    let operators = (0..100_000)
        .map(|idx| custom(format!("Custom{idx}")))
        .collect();
    let analysis = analyze_main(&model(vec![subgraph(
        vec![int8(&[1]), int8(&[1])],
        operators,
    )]));
    assert_eq!(codes(&analysis), ["uncounted-operator"]);
    assert!(
        analysis.diagnostics[0]
            .message
            .starts_with("MACs of 100000 operators")
    );
    assert!(analysis.diagnostics[0].message.len() < 300);
    let one = model(vec![subgraph(
        vec![int8(&[1]), int8(&[1])],
        vec![custom("CONV_2D".to_owned())],
    )]);
    assert_eq!(analyze_main(&one).diagnostics[0].operator_idx, Some(0));
}
