//! `Tensor`: shapes, types and quantisation.

use std::sync::Arc;

use super::error::ParseError;
use super::limits::MAX_RANK;
use super::model::{Quantization, Tensor};
use super::read_budget::{ReadBudget, TensorPlace, checked_index};
use super::tensor_type::TensorType;
use super::{schema, sparsity};
use crate::diagnostic::Severity::{Info, Warning};

/// The tensors of one subgraph. `buffers` are those of the file.
pub(super) fn read(
    context: &mut ReadBudget,
    subgraph: schema::SubGraph,
    subgraph_idx: usize,
    buffers: &[&[u8]],
) -> Result<Vec<Tensor>, ParseError> {
    let stored = subgraph.tensors();
    let n_operators = subgraph.operators().map_or(0, |operators| operators.len());
    context.count_tensors(stored.map_or(0, |stored| stored.len()), n_operators)?;
    // With its final capacity: a vector that grows holds its contents twice for a while.
    let mut tensors = Vec::with_capacity(stored.map_or(0, |stored| stored.len()));
    for (tensor_idx, tensor) in stored.into_iter().flatten().enumerate() {
        tensors.push(read_one(
            context,
            tensor,
            subgraph_idx,
            tensor_idx,
            buffers,
        )?);
    }
    Ok(tensors)
}

fn read_one(
    context: &mut ReadBudget,
    tensor: schema::Tensor,
    subgraph_idx: usize,
    tensor_idx: usize,
    buffers: &[&[u8]],
) -> Result<Tensor, ParseError> {
    let name = context.copy_str(tensor.name())?.into_boxed_str();
    let place = TensorPlace {
        subgraph_idx,
        tensor_idx,
        name: &name,
    };
    refuse_external(tensor, &place)?;
    let buffer_idx = buffer_idx(context, tensor, &place)?;
    let (shape, shape_signature) = read_shape(context, tensor, &place)?;
    let is_constant = buffers
        .get(buffer_idx)
        .is_some_and(|contents| !contents.is_empty());
    let quantization = match tensor.quantization() {
        Some(quantization) => read_quantization(context, quantization, &shape, &place)?,
        None => None,
    };
    let sparsity = tensor
        .sparsity()
        .map(|sparsity| sparsity::read(context, sparsity).map(Box::new))
        .transpose()?;
    let tensor = Tensor {
        tensor_type: TensorType::from_number(tensor.type_().0),
        has_rank: tensor.has_rank() || !shape.is_empty() || is_constant,
        shape,
        shape_signature,
        buffer_idx,
        is_variable: tensor.is_variable(),
        quantization,
        sparsity,
        name,
    };
    check_size(context, &tensor, subgraph_idx, tensor_idx, buffers)?;
    Ok(tensor)
}

fn refuse_external(tensor: schema::Tensor, place: &TensorPlace) -> Result<(), ParseError> {
    match tensor.external_buffer() {
        0 => Ok(()),
        id => Err(ParseError::ExternalBuffer {
            place: place.to_string(),
            id,
        }),
    }
}

fn buffer_idx(
    context: &ReadBudget,
    tensor: schema::Tensor,
    place: &TensorPlace,
) -> Result<usize, ParseError> {
    let index = i64::from(tensor.buffer());
    checked_index(index, context.n_buffers).ok_or_else(|| ParseError::IndexOutOfRange {
        place: place.to_string(),
        what: "buffer index",
        index,
        holder: "the file".into(),
        count: context.n_buffers,
        counted: "buffers",
    })
}

/// A shape and, where the file has one, its signature.
type Shape = (Vec<i32>, Option<Box<[i32]>>);

fn read_shape(
    context: &mut ReadBudget,
    tensor: schema::Tensor,
    place: &TensorPlace,
) -> Result<Shape, ParseError> {
    let stored = context.copy(tensor.shape())?;
    check_rank(&stored, place)?;
    let signature = context.copy(tensor.shape_signature())?;
    let is_dynamic = stored.iter().any(|&dimension| dimension < 0);
    if is_dynamic {
        context.diagnostics.push(Info, "negative-dimension", || {
            format!("{place}: shape {stored:?} has a negative dimension, taken as known only at run time")
        });
    }
    let signature = match signature.len() {
        n if n == stored.len() && n > 0 => Some(signature),
        0 if is_dynamic => Some(stored.clone()),
        0 => None,
        n => return Err(rank_mismatch(n, stored.len(), place)),
    };
    let shape = stored
        .iter()
        .map(|&dimension| if dimension < 0 { 1 } else { dimension })
        .collect();
    let signature = signature.map(|s| s.iter().map(|&dimension| dimension.max(-1)).collect());
    Ok((shape, signature))
}

fn check_rank(shape: &[i32], place: &TensorPlace) -> Result<(), ParseError> {
    if shape.len() <= MAX_RANK {
        return Ok(());
    }
    Err(ParseError::LimitExceeded {
        place: place.to_string(),
        what: "dimensions",
        limit: MAX_RANK,
        found: shape.len().to_string(),
    })
}

fn rank_mismatch(found: usize, rank: usize, place: &TensorPlace) -> ParseError {
    ParseError::Malformed {
        place: place.to_string(),
        problem: format!("expected a shape signature of {rank} dimensions, found {found}"),
    }
}

/// `None` if the file has no scale, because TFLite treats such a tensor as not quantised.
fn read_quantization(
    context: &mut ReadBudget,
    quantization: schema::QuantizationParameters,
    shape: &[i32],
    place: &TensorPlace,
) -> Result<Option<Arc<Quantization>>, ParseError> {
    let scale = context.copy(quantization.scale())?;
    if quantization.details_type() != schema::QuantizationDetails::NONE {
        let kind = quantization
            .details_type()
            .variant_name()
            .unwrap_or("an unknown kind");
        context.diagnostics.push(Info, "quantization-details", || {
            format!("{place}: quantisation details ({kind}) are not read")
        });
    }
    if scale.is_empty() {
        return Ok(None);
    }
    let zero_point = context.copy(quantization.zero_point())?;
    let quantization = Quantization {
        zero_point: zero_points_for_scales(context, zero_point, scale.len(), place)?,
        scale,
        quantized_dimension: quantization.quantized_dimension(),
    };
    check_channels(context, &quantization, shape, place);
    Ok(Some(context.share_quantization(quantization)))
}

/// One zero point for each scale. TFLite rejects any other number of them; this reader repeats the last one, or uses 0
/// if there is none, because sizes do not depend on zero points.
fn zero_points_for_scales(
    context: &mut ReadBudget,
    mut zero_point: Vec<i64>,
    n_scales: usize,
    place: &TensorPlace,
) -> Result<Vec<i64>, ParseError> {
    let n_zero_points = zero_point.len();
    if n_zero_points != n_scales {
        context.diagnostics.push(Warning, "zero-point-count", || {
            format!("{place}: expected {n_scales} zero points, one for each scale, found {n_zero_points}")
        });
        context.spend(n_scales.saturating_sub(n_zero_points))?;
        zero_point.resize(n_scales, zero_point.last().copied().unwrap_or(0));
    }
    Ok(zero_point)
}

fn check_channels(
    context: &mut ReadBudget,
    quantization: &Quantization,
    shape: &[i32],
    place: &TensorPlace,
) {
    let n_scales = quantization.scale.len();
    let dimension = quantization.quantized_dimension;
    let channels = usize::try_from(dimension)
        .ok()
        .and_then(|dimension| shape.get(dimension));
    let fits = channels.is_some_and(|&channels| usize::try_from(channels) == Ok(n_scales));
    if n_scales > 1 && !fits {
        context.diagnostics.push(Warning, "scale-count", || {
            format!(
                "{place}: {n_scales} scales do not fit dimension {dimension} of shape {shape:?}"
            )
        });
    }
}

/// Rejects sizes beyond 64 bits, and adds a diagnostic for constants whose length does not match shape and type.
fn check_size(
    context: &mut ReadBudget,
    tensor: &Tensor,
    subgraph_idx: usize,
    tensor_idx: usize,
    buffers: &[&[u8]],
) -> Result<(), ParseError> {
    let place = TensorPlace {
        subgraph_idx,
        tensor_idx,
        name: &tensor.name,
    };
    if !tensor.has_countable_size() {
        let shape = format!("{:?}", tensor.shape);
        return Err(ParseError::ShapeOverflow {
            place: place.to_string(),
            shape,
        });
    }
    let stored = buffers
        .get(tensor.buffer_idx)
        .map_or(0, |contents| contents.len());
    if let Some(expected) = tensor.byte_len()
        && stored > 0
        && tensor.sparsity.is_none()
        && u64::try_from(stored) != Ok(expected)
    {
        context.diagnostics.push(Warning, "buffer-length", || {
            format!("{place}: expected {expected} bytes for its shape and type, found a buffer of {stored}")
        });
    }
    Ok(())
}
