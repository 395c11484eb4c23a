//! What the reader promises of every model it returns.

use litecast::formats::tflite::{
    Buffer, BuiltinOptions, Model, OpKind, Operator, Subgraph, limits,
};

/// Panics where a promise is broken.
pub fn assert_sound(model: &Model) {
    assert!(!model.subgraphs.is_empty() && model.buffers.first() == Some(&Buffer::EMPTY));
    assert!(model.diagnostics.len() <= limits::MAX_DIAGNOSTICS + 1);
    assert!(
        model
            .metadata
            .iter()
            .all(|metadata| metadata.buffer_idx < model.buffers.len())
    );
    assert!(
        model
            .signatures
            .iter()
            .all(|signature| signature.subgraph_idx < model.subgraphs.len())
    );
    for subgraph in &model.subgraphs {
        assert_tensors(subgraph, model);
        let is_tensor = |idx: &usize| *idx < subgraph.tensors.len();
        assert!(
            subgraph
                .inputs
                .iter()
                .chain(&subgraph.outputs)
                .all(is_tensor)
        );
        for operator in subgraph.operators.iter() {
            assert!(operator.inputs.iter().flatten().all(is_tensor));
            assert!(
                operator
                    .outputs
                    .iter()
                    .chain(&operator.intermediates)
                    .all(is_tensor)
            );
            assert_operator(operator, model.subgraphs.len());
        }
    }
}

fn assert_tensors(subgraph: &Subgraph, model: &Model) {
    for tensor in &subgraph.tensors {
        assert!(tensor.buffer_idx < model.buffers.len());
        assert!(tensor.shape.iter().all(|&dimension| dimension >= 0));
        assert!(tensor.element_count().is_some());
        assert_eq!(
            tensor.byte_len().is_some(),
            tensor.tensor_type.bits_per_value().is_some()
        );
        if let Some(signature) = &tensor.shape_signature {
            assert_eq!(signature.len(), tensor.shape.len());
            assert!(signature.iter().all(|&dimension| dimension >= -1));
        }
        if let Some(quantization) = &tensor.quantization {
            assert!(!quantization.scale.is_empty());
            assert_eq!(quantization.scale.len(), quantization.zero_point.len());
        }
    }
}

fn assert_operator(operator: &Operator, n_subgraphs: usize) {
    assert_eq!(
        operator.code.kind == OpKind::Custom,
        operator.code.custom.is_some()
    );
    let called = match &operator.options {
        BuiltinOptions::If {
            then_subgraph_idx,
            else_subgraph_idx,
        } => {
            vec![*then_subgraph_idx, *else_subgraph_idx]
        }
        BuiltinOptions::While {
            cond_subgraph_idx,
            body_subgraph_idx,
        } => {
            vec![*cond_subgraph_idx, *body_subgraph_idx]
        }
        BuiltinOptions::Call { subgraph_idx } => vec![*subgraph_idx],
        BuiltinOptions::CallOnce { init_subgraph_idx } => vec![*init_subgraph_idx],
        BuiltinOptions::StablehloComposite {
            decomposition_subgraph_idx,
            ..
        } => {
            vec![*decomposition_subgraph_idx]
        }
        BuiltinOptions::StablehloCase {
            branch_subgraph_idxs,
        } => branch_subgraph_idxs.clone(),
        BuiltinOptions::StablehloBody { body_subgraph_idx } => vec![*body_subgraph_idx],
        BuiltinOptions::Conv2D {
            stride_h,
            stride_w,
            dilation_h,
            dilation_w,
            ..
        } => {
            assert!(
                [stride_h, stride_w, dilation_h, dilation_w]
                    .iter()
                    .all(|n| **n >= 1)
            );
            Vec::new()
        }
        _ => Vec::new(),
    };
    assert!(called.iter().all(|&idx| idx < n_subgraphs));
}
