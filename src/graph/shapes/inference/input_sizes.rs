//! Sizes for dimensions of inputs that a file leaves open, as LiteRT's `Interpreter::ResizeInputTensorStrict` sets them
//! before a file is run.

use std::collections::HashMap;

use super::values::MAX_COMPUTED_RANK;
use super::{doubt_of_given, fill_subgraph, set};
use crate::formats::tflite::{Format, MAIN_SUBGRAPH, Model, Subgraph, Tensor};
use crate::formats::{UnmatchedDimensions, shown};

/// Sizes that an input cannot have.
#[derive(Debug, thiserror::Error)]
#[error(
    "input `{input}`: expected a size of less than 2^31 along each dimension and 2^64 bits in all, found shape {shape}"
)]
pub struct InputSizeError {
    input: String,
    shape: String,
}

impl InputSizeError {
    /// Stable kebab-case identifier for programs.
    pub fn kind(&self) -> &'static str {
        "shape-overflow"
    }
}

/// Gives inputs of the main subgraph the sizes in `named`, and every tensor that depends on them the shape that follows.
///
/// A name is that of an input, or its number from 0 on, with the number of a dimension behind a point:
/// `serving_default_images:0.1` or `0.1`. Only dimensions that the file leaves open (−1 in its shape signature) have
/// other sizes; [`Model::unmatched_dimensions`] lists the names that are none of theirs. A shape stays unknown where
/// [`fill`](super::fill) cannot tell it. Models of other formats stay as they are: their readers take such sizes
/// themselves. Linear in operands.
///
/// # Errors
/// Where the input would have too many values.
pub fn set_input_sizes(model: &mut Model, named: &[(String, u32)]) -> Result<(), InputSizeError> {
    if model.format != Format::Tflite || named.is_empty() {
        return Ok(());
    }
    let subgraph = &mut model.subgraphs[MAIN_SUBGRAPH];
    let stored: Vec<Vec<i32>> =
        (subgraph.tensors.iter().map(|tensor| tensor.shape.clone())).collect();
    let places: HashMap<&str, usize> = named.iter().map(|(name, _)| &**name).zip(0..).collect();
    let mut is_used = vec![false; named.len()];
    let mut is_changed = vec![false; subgraph.tensors.len()];
    for (number, &input) in subgraph.inputs.iter().enumerate() {
        let size = |name: &str| {
            let place = *places.get(name)?;
            is_used[place] = true;
            Some(named[place].1)
        };
        is_changed[input] |= set_sizes(&mut subgraph.tensors[input], number, size)?;
    }
    let unused =
        (named.iter().zip(&is_used)).filter_map(|((name, _), used)| (!used).then_some(name));
    let open = subgraph.inputs.iter().flat_map(|&input| {
        let tensor = &subgraph.tensors[input];
        open_axes(tensor).map(|axis| format!("{}.{axis}", tensor.name))
    });
    model.unmatched_dimensions = UnmatchedDimensions::new(unused.map(String::as_str), open);
    if is_changed.contains(&true) {
        forget_dependent(subgraph, is_changed);
        fill_subgraph(subgraph, &model.buffers);
        let pairs = subgraph.tensors.iter().zip(&stored);
        let n_other = pairs
            .filter(|(tensor, stored)| tensor.shape != **stored)
            .count();
        model.diagnostics.extend(doubt_of_given(n_other));
    }
    Ok(())
}

/// None of a variable, which keeps its shape, and of a tensor of more dimensions than shapes are computed for.
fn open_axes(tensor: &Tensor) -> impl Iterator<Item = usize> + '_ {
    let is_fixed = tensor.is_variable || tensor.shape.len() > MAX_COMPUTED_RANK;
    let signature = tensor.shape_signature.iter().filter(move |_| !is_fixed);
    let signature = signature.flatten().enumerate();
    signature.filter_map(|(axis, &size)| (size < 0).then_some(axis))
}

/// Sets the sizes that `size` has for names of the tensor's open dimensions; whether there was one.
fn set_sizes(
    tensor: &mut Tensor,
    number: usize,
    mut size: impl FnMut(&str) -> Option<u32>,
) -> Result<bool, InputSizeError> {
    let mut sizes: Vec<i64> = tensor.shape.iter().copied().map(i64::from).collect();
    let mut given = Vec::new();
    for axis in open_axes(tensor) {
        let names = [
            format!("{}.{axis}", tensor.name),
            format!("{number}.{axis}"),
        ];
        if let Some(size) = names.iter().find_map(|name| size(name)) {
            sizes[axis] = i64::from(size);
            given.push(axis);
        }
    }
    if given.is_empty() {
        return Ok(false);
    }
    tensor.has_rank = false;
    if !set(tensor, &sizes) {
        let sizes: Vec<String> = sizes.iter().map(i64::to_string).collect();
        return Err(InputSizeError {
            input: shown(&tensor.name),
            shape: format!("[{}]", sizes.join(", ")),
        });
    }
    if let Some(signature) = &mut tensor.shape_signature {
        given
            .iter()
            .for_each(|&axis| signature[axis] = tensor.shape[axis]);
    }
    Ok(true)
}

/// Forgets the shapes of all that is computed from the tensors that have changed, in the file's order of operators.
fn forget_dependent(subgraph: &mut Subgraph, mut is_changed: Vec<bool>) {
    let Subgraph {
        tensors,
        operators,
        inputs,
        ..
    } = subgraph;
    let mut is_input = vec![false; tensors.len()];
    inputs.iter().for_each(|&input| is_input[input] = true);
    for operator in operators.iter() {
        let reads_changed = operator
            .inputs
            .iter()
            .flatten()
            .any(|&input| is_changed[input]);
        for &output in operator.outputs.iter().filter(|_| reads_changed) {
            let tensor = &mut tensors[output];
            if !tensor.is_variable && !is_input[output] {
                is_changed[output] = true;
                tensor.shape.clear();
                tensor.has_rank = false;
                tensor.shape_signature = None;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::tflite::{BuiltinOptions, OpKind, TensorType};
    use crate::graph::analysis::fixtures::{calling, model, subgraph, tensor};

    /// RELU of an input whose second dimension is open, and of a constant.
    fn open_model() -> Model<'static> {
        let mut input = tensor(TensorType::Int8, &[1, 1, 4]);
        input.name = "frames".into();
        input.shape_signature = Some(Box::new([1, -1, 4]));
        let mut output = tensor(TensorType::Int8, &[1, 1, 4]);
        output.shape_signature = Some(Box::new([1, -1, 4]));
        let constant = || tensor(TensorType::Int8, &[5]);
        let relu = |from, to| calling(OpKind::Relu, &[from], &[to], BuiltinOptions::Absent);
        let mut main = subgraph(
            vec![input, output, constant(), constant()],
            vec![relu(0, 1), relu(2, 3)],
        );
        main.inputs = vec![0];
        model(vec![main])
    }

    fn given(name: &str, size: u32) -> Model<'static> {
        let mut model = open_model();
        set_input_sizes(&mut model, &[(name.to_owned(), size)]).unwrap();
        model
    }

    #[test]
    fn an_open_dimension_is_found_by_name_and_by_number() {
        for name in ["frames.1", "0.1"] {
            let model = given(name, 7);
            let tensors = &model.subgraphs[0].tensors;
            assert_eq!(tensors[0].shape, [1, 7, 4]);
            assert_eq!(tensors[1].shape, [1, 7, 4]);
            assert_eq!(tensors[3].shape, [5], "depends on no input");
            assert!(
                !tensors.iter().any(Tensor::is_dynamic) && model.unmatched_dimensions.is_none()
            );
        }
    }

    #[test]
    fn a_name_of_no_open_dimension_is_told() {
        for name in ["frames.0", "frames", "1.1", ""] {
            let model = given(name, 7);
            assert_eq!(model.subgraphs[0].tensors[0].shape, [1, 1, 4]);
            let unmatched = model.unmatched_dimensions.unwrap();
            assert_eq!(unmatched.names, [name]);
            let words = format!("(`frames.1`), found a size of `{name}`");
            assert!(unmatched.to_string().ends_with(&words), "{unmatched}");
        }
    }

    #[test]
    fn a_size_beyond_32_bits_is_refused() {
        let error = set_input_sizes(&mut open_model(), &[("0.1".into(), u32::MAX)]).unwrap_err();
        assert_eq!(error.kind(), "shape-overflow");
        assert!(error.to_string().contains("[1, 4294967295, 4]"), "{error}");
    }
}
