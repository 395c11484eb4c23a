//! A parsed file as text that a person can review.

use std::fmt::Write;

use litecast::formats::tflite::{Model, Operator, ParseError, Tensor};

pub fn render(parsed: &Result<Model, ParseError>) -> String {
    match parsed {
        Ok(model) => render_model(model).unwrap(),
        Err(error) => format!("error {}: {error}\n", error.kind()),
    }
}

fn render_model(model: &Model) -> Result<String, std::fmt::Error> {
    let mut text = String::new();
    let t = &mut text;
    for (idx, subgraph) in model.subgraphs.iter().enumerate() {
        let (name, inputs, outputs) = (&subgraph.name, &subgraph.inputs, &subgraph.outputs);
        writeln!(t, "subgraph {idx} `{name}` {inputs:?} -> {outputs:?}")?;
        for (idx, tensor) in subgraph.tensors.iter().enumerate() {
            writeln!(t, "  tensor {idx} {}", render_tensor(tensor)?)?;
        }
        for (idx, operator) in subgraph.operators.iter().enumerate() {
            writeln!(t, "  operator {idx} {}", render_operator(operator))?;
        }
    }
    for (idx, contents) in model.buffers.iter().enumerate() {
        writeln!(
            t,
            "buffer {idx} {} bytes, first {:?}",
            contents.n_bytes(),
            contents.bytes().first()
        )?;
    }
    for metadata in &model.metadata {
        writeln!(
            t,
            "metadata `{}` buffer {}",
            metadata.name, metadata.buffer_idx
        )?;
    }
    for signature in &model.signatures {
        writeln!(
            t,
            "signature `{}` subgraph {}",
            signature.key, signature.subgraph_idx
        )?;
    }
    for doubt in &model.diagnostics {
        writeln!(t, "{:?} {}: {}", doubt.severity, doubt.code, doubt.message)?;
    }
    Ok(text)
}

fn render_tensor(tensor: &Tensor) -> Result<String, std::fmt::Error> {
    let mut t = format!(
        "`{}` {} {:?} {:?} bytes, buffer {}",
        tensor.name.escape_debug(),
        tensor.tensor_type.name(),
        tensor.shape,
        tensor.byte_len(),
        tensor.buffer_idx
    );
    if let Some(signature) = &tensor.shape_signature {
        write!(t, ", signature {signature:?}")?;
    }
    if !tensor.has_rank {
        write!(t, ", unknown rank")?;
    }
    if tensor.is_variable {
        write!(t, ", variable")?;
    }
    if let Some(q) = &tensor.quantization {
        let (scale, zero_point) = (&q.scale, &q.zero_point);
        write!(
            t,
            ", scale {scale:?} zero point {zero_point:?} along {}",
            q.quantized_dimension
        )?;
    }
    if let Some(sparsity) = &tensor.sparsity {
        write!(t, ", {:?} values stored", sparsity.stored_values)?;
    }
    Ok(t)
}

fn render_operator(operator: &Operator) -> String {
    let Operator {
        code,
        inputs,
        outputs,
        intermediates,
        options,
        folded: _, // a converter's, of which a TFLite file does not tell
    } = operator;
    let inputs: Vec<String> = inputs
        .iter()
        .map(|input| input.map_or("-".into(), |idx| idx.to_string()))
        .collect();
    let scratch = if intermediates.is_empty() {
        String::new()
    } else {
        format!(" with {intermediates:?}")
    };
    format!(
        "{} ({}) [{}] -> {outputs:?}{scratch} {options:?}",
        code.name(),
        code.kind.number(),
        inputs.join(", ")
    )
}
