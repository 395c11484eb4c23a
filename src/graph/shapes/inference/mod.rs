//! [`Model`] → the same model with the shapes that a TFLite file leaves out. Some files store only the shapes of inputs
//! and constants.
//!
//! These files run because LiteRT computes the shape of every operator's result when it loads a file. `rules` has the
//! rule of each operator, `layers`, `layouts`, `own` and `slices` have the arithmetic, `values` has the values that files compute
//! from shapes at run time, and `input_sizes` takes sizes that a file leaves open.

pub(super) mod call;
mod input_sizes;
mod layers;
mod layouts;
mod own;
pub(super) mod rules;
mod slices;
#[cfg(test)]
mod tests;
pub(super) mod values;

use std::collections::HashMap;

pub use self::call::Unshaped;
use self::call::{OperatorCall, Shape};
pub use self::input_sizes::{InputSizeError, set_input_sizes};
pub use self::rules::Outputs;
use self::values::MAX_COMPUTED_RANK;
use crate::diagnostic::{Diagnostic, Severity};
use crate::formats::tflite::{Buffer, Format, Model, Operator, Subgraph, Tensor};
use crate::graph::analysis::shape::{self, Dynamic};

/// Code of the diagnostics that tell of shapes which are not those of the file.
pub const COMPUTED_SHAPES: &str = "computed-shapes";

/// Gives every tensor without a shape the shape that follows from the operator that writes it, in the file's order of
/// operators. A shape stays unknown if the operator has no rule that determines it, if one of its inputs has no shape
/// or holds a shape that depends on data, if a size does not fit in 32 bits, or if the tensor's bytes do not fit in 64
/// bits. Where only the batch size is open, shapes that a converter stored in place of those of run time are computed too,
/// for the batch size of the inputs. Other stored shapes, variables and models of other formats are not changed. Linear
/// in operands.
pub fn fill(model: &mut Model) {
    if model.format != Format::Tflite {
        return;
    }
    let buffers = &model.buffers;
    let subgraphs = model.subgraphs.iter_mut();
    let mut filled = Filled::default();
    for subgraph in subgraphs {
        let of_subgraph = fill_subgraph(subgraph, buffers);
        filled.n_missing += of_subgraph.n_missing;
        filled.n_open += of_subgraph.n_open;
    }
    model.diagnostics.extend(doubt(filled.n_missing));
    model.diagnostics.extend(doubt_of_open(filled.n_open));
}

/// Shapes of an operator's results, computed only from the shapes and constants that it reads.
pub fn outputs(
    tensors: &[Tensor],
    buffers: &[Buffer],
    operator: &Operator,
) -> Result<Outputs, Unshaped> {
    rules::outputs(&OperatorCall {
        tensors,
        shapes: &[],
        buffers,
        computed: &HashMap::new(),
        operator,
    })
}

/// Gives shapes to tensors without one, and to those behind an open batch size.
fn fill_subgraph(subgraph: &mut Subgraph, buffers: &[Buffer]) -> Filled {
    let Subgraph {
        tensors,
        operators,
        inputs,
        ..
    } = subgraph;
    // Of inputs whose other dimensions are open, the stored sizes mean nothing.
    let is_only_batch_open = inputs
        .iter()
        .all(|&input| shape::dynamic(&tensors[input]) != Dynamic::OtherDimensions);
    let is_to_compute =
        |tensor: &Tensor| is_missing(tensor) || is_only_batch_open && is_open(tensor);
    let mut outputs = operators.iter().flat_map(|operator| &operator.outputs);
    if !outputs.any(|&output| is_to_compute(&tensors[output])) {
        return Filled::default();
    }
    let mut computed = HashMap::new();
    let mut filled = Filled::default();
    for operator in operators.iter() {
        let call = OperatorCall {
            tensors,
            shapes: &[],
            buffers,
            computed: &computed,
            operator,
        };
        let outputs = &operator.outputs;
        let is_told = !outputs
            .iter()
            .any(|&output| is_to_compute(&tensors[output]));
        // A contradiction leaves shapes unknown.
        let shapes = if is_told {
            None
        } else {
            rules::outputs(&call).ok()
        };
        let values = values::computed(&call);
        if let Some(shapes) = shapes {
            set_all(tensors, outputs, shapes, &mut filled);
        }
        // Another operator may have written it before.
        outputs.iter().for_each(|output| {
            computed.remove(output);
        });
        computed.extend(outputs.iter().copied().zip(values.into_iter().flatten()));
    }
    filled
}

/// Numbers of tensors that received a shape.
#[derive(Default)]
struct Filled {
    /// Those without a stored shape. Scalars are not counted: old files store their shape, which has no dimensions,
    /// without stating the rank.
    n_missing: usize,
    /// Those whose stored shape is not the one that batch size 1 leads to.
    n_open: usize,
}

fn set_all(tensors: &mut [Tensor], outputs: &[usize], shapes: Outputs, filled: &mut Filled) {
    let mut set = |output: usize, shape: &Shape| {
        let tensor = &mut tensors[output];
        if is_missing(tensor) {
            filled.n_missing += usize::from(set(tensor, shape))
        } else {
            filled.n_open += usize::from(set_open(tensor, shape))
        }
    };
    let outputs = outputs.iter();
    match shapes {
        Outputs::Alike(shape) => outputs.for_each(|&at| set(at, &shape)),
        Outputs::Each(shapes) => outputs.zip(&shapes).for_each(|(&at, shape)| set(at, shape)),
    }
}

/// Whether the file leaves a dimension open, with a size in its place.
fn is_open(tensor: &Tensor) -> bool {
    shape::open_axis(tensor).is_some() && !tensor.is_variable
}

/// Replaces the sizes of an open shape. Its batch stays open. Returns whether they differ from those of the file.
fn set_open(tensor: &mut Tensor, shape: &Shape) -> bool {
    let size = |&size: &i64| i32::try_from(size).ok().filter(|&size| size >= 0);
    let Some(sizes) = shape.iter().map(size).collect::<Option<Vec<i32>>>() else {
        return false;
    };
    let is_other = tensor.shape != sizes;
    let signature = tensor.shape_signature.as_deref();
    if !is_open(tensor) || signature.is_none_or(|signature| signature.len() != sizes.len()) {
        return false;
    }
    let before = std::mem::replace(&mut tensor.shape, sizes);
    if !tensor.has_countable_size() {
        tensor.shape = before;
        return false;
    }
    if let Some(signature) = tensor.shape_signature.as_deref_mut() {
        (signature.iter_mut().zip(&tensor.shape).skip(1)).for_each(|(open, size)| *open = *size);
    }
    is_other
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
    tensor.has_rank = tensor.has_countable_size();
    if !tensor.has_rank {
        tensor.shape = Vec::new();
    }
    !tensor.shape.is_empty()
}

fn doubt(n_filled: usize) -> Option<Diagnostic> {
    let tensors = if n_filled == 1 { "tensor" } else { "tensors" };
    (n_filled > 0).then(|| Diagnostic {
        severity: Severity::Info,
        code: COMPUTED_SHAPES,
        message: format!(
            "the file stores no shape for {n_filled} {tensors}: computed from the operators, as LiteRT does when it \
             loads a file; Vela and TensorFlow Lite Micro need a file that stores them"
        ),
        operator_idx: None,
    })
}

/// Of shapes that follow from sizes which the file does not have.
fn doubt_of_given(n_other: usize) -> Option<Diagnostic> {
    let tensors = if n_other == 1 { "tensor" } else { "tensors" };
    (n_other > 0).then(|| Diagnostic {
        severity: Severity::Info,
        code: COMPUTED_SHAPES,
        message: format!(
            "the given sizes change the shapes that the file stores for {n_other} {tensors}: Vela and TensorFlow Lite \
             Micro need a file that stores them"
        ),
        operator_idx: None,
    })
}

fn doubt_of_open(n_open: usize) -> Option<Diagnostic> {
    let tensors = if n_open == 1 { "tensor" } else { "tensors" };
    (n_open > 0).then(|| Diagnostic {
        severity: Severity::Info,
        code: COMPUTED_SHAPES,
        message: format!(
            "the batch size is open, and the file stores other sizes of {n_open} {tensors} than follow from its \
             inputs: computed from the operators, as LiteRT does"
        ),
        operator_idx: None,
    })
}
