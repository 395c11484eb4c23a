//! [`Model`] → the same model with the shapes that a TFLite file leaves out. Some files store only the shapes of inputs
//! and constants.
//!
//! These files run because LiteRT computes the shape of every operator's result when it loads a file. `rules` has the
//! rule of each operator, `layers`, `layouts` and `slices` have the arithmetic, `values` has the values that files compute
//! from shapes at run time, and `input_sizes` takes sizes that a file leaves open.

mod call;
mod input_sizes;
mod layers;
mod layouts;
mod rules;
mod slices;
#[cfg(test)]
mod tests;
mod values;

use std::collections::HashMap;

pub use self::call::Unshaped;
use self::call::{OperatorCall, Shape};
pub use self::input_sizes::{InputSizeError, set_input_sizes};
pub use self::rules::Outputs;
use self::values::MAX_COMPUTED_RANK;
use crate::diagnostic::{Diagnostic, Severity};
use crate::formats::tflite::{Buffer, Format, Model, Operator, Subgraph, Tensor};

/// Gives every tensor without a shape the shape that follows from the operator that writes it, in the file's order of
/// operators. A shape stays unknown if the operator has no rule that determines it, if one of its inputs has no shape
/// or holds a shape that depends on data, if a size does not fit in 32 bits, or if the tensor's bytes do not fit in 64
/// bits. Stored shapes, variables and models of other formats are not changed. Linear in operands.
pub fn fill(model: &mut Model) {
    if model.format != Format::Tflite {
        return;
    }
    let buffers = &model.buffers;
    let subgraphs = model.subgraphs.iter_mut();
    let n_filled: usize = subgraphs
        .map(|subgraph| fill_subgraph(subgraph, buffers))
        .sum();
    model.diagnostics.extend(doubt(n_filled));
}

/// Shapes of an operator's results, computed only from the shapes and constants that it reads.
pub fn outputs(
    tensors: &[Tensor],
    buffers: &[Buffer],
    operator: &Operator,
) -> Result<Outputs, Unshaped> {
    rules::outputs(&OperatorCall {
        tensors,
        buffers,
        computed: &HashMap::new(),
        operator,
    })
}

/// Returns the number of tensors that received a shape that the file does not store. Scalars are not counted: old files
/// store their shape, which has no dimensions, without stating the rank.
fn fill_subgraph(subgraph: &mut Subgraph, buffers: &[Buffer]) -> usize {
    let Subgraph {
        tensors, operators, ..
    } = subgraph;
    let mut outputs = operators.iter().flat_map(|operator| &operator.outputs);
    if !outputs.any(|&output| is_missing(&tensors[output])) {
        return 0;
    }
    let mut computed = HashMap::new();
    let mut n_filled = 0;
    for operator in operators.iter() {
        let call = OperatorCall {
            tensors,
            buffers,
            computed: &computed,
            operator,
        };
        let outputs = &operator.outputs;
        let is_told = !outputs.iter().any(|&output| is_missing(&tensors[output]));
        // A contradiction leaves shapes unknown.
        let shapes = if is_told {
            None
        } else {
            rules::outputs(&call).ok()
        };
        let values = values::computed(&call);
        n_filled += shapes.map_or(0, |shapes| set_all(tensors, outputs, shapes));
        // Another operator may have written it before.
        outputs.iter().for_each(|output| {
            computed.remove(output);
        });
        if let (Some(&first), Some(values)) = (outputs.first(), values) {
            computed.insert(first, values);
        }
    }
    n_filled
}

/// Returns how many of an operator's outputs received dimensions.
fn set_all(tensors: &mut [Tensor], outputs: &[usize], shapes: Outputs) -> usize {
    let mut set = |output: usize, shape: &Shape| set(&mut tensors[output], shape);
    let is_set = |is_set: &bool| *is_set;
    let outputs = outputs.iter();
    match shapes {
        Outputs::Alike(shape) => outputs.map(|&at| set(at, &shape)).filter(is_set).count(),
        Outputs::Each(shapes) => {
            let pairs = outputs.zip(&shapes);
            pairs
                .map(|(&at, shape)| set(at, shape))
                .filter(is_set)
                .count()
        }
    }
}

fn is_missing(tensor: &Tensor) -> bool {
    !tensor.has_rank && !tensor.is_variable
}

/// Returns whether the tensor received dimensions.
fn set(tensor: &mut Tensor, shape: &Shape) -> bool {
    if !is_missing(tensor) || shape.len() > MAX_COMPUTED_RANK {
        return false;
    }
    let size = |&size: &i64| i32::try_from(size).ok().filter(|&size| size >= 0);
    let Some(sizes) = shape.iter().map(size).collect::<Option<_>>() else {
        return false;
    };
    tensor.shape = sizes;
    tensor.has_rank = match tensor.tensor_type.bits_per_value() {
        Some(_) => tensor.byte_len().is_some(),
        None => tensor.element_count().is_some(),
    };
    if !tensor.has_rank {
        tensor.shape = Vec::new();
    }
    !tensor.shape.is_empty()
}

fn doubt(n_filled: usize) -> Option<Diagnostic> {
    let tensors = if n_filled == 1 { "tensor" } else { "tensors" };
    (n_filled > 0).then(|| Diagnostic {
        severity: Severity::Info,
        code: "computed-shapes",
        message: format!(
            "the file stores no shape for {n_filled} {tensors}: computed from the operators, as LiteRT does when it \
             loads a file; Vela and TensorFlow Lite Micro need a file that stores them"
        ),
        operator_idx: None,
    })
}
