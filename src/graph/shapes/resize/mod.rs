//! [`Model`] → the same architecture for another input resolution, or with other channel counts, as if it were built
//! with that resolution or width multiplier.
//!
//! The shape of every tensor follows from the shapes of its operator's inputs, as a converter computes it (`rules`).
//! Weights whose shape changes reuse the old values (`constants`): their number is exact, and their distribution, on
//! which compressed sizes depend, is that of the trained network.

mod change;
mod constants;
mod reshape;
mod rules;

pub use self::change::{Channels, MAX_FACTOR, MIN_FACTOR, Resize, ResizeError, Resized};
use self::rules::{Problem, ShapePropagation};
use crate::formats::tflite::{BuiltinOptions, MAIN_SUBGRAPH, Model, Operator, Subgraph};

/// Where channel counts contradict each other, some layers keep theirs and all shapes are computed again. Real
/// networks need a handful of rounds.
const MAX_ROUNDS: usize = 64;

/// Changes the shapes of the main subgraph. Linear in operators, times at most 64, and in weights that grow. `model`
/// is unchanged where it fails.
///
/// # Errors
/// Where an operator is not known to follow from its inputs' shapes, or where changed tensors meet that no
/// longer fit each other.
pub fn resize(model: &mut Model, resize: Resize) -> Result<Resized, ResizeError> {
    let Resize {
        resolution,
        channels,
    } = resize;
    let width = match channels {
        Channels::Times(factor) => factor,
        Channels::Replace { .. } => 1.0,
    };
    for factor in [resolution, width] {
        if !(MIN_FACTOR..=MAX_FACTOR).contains(&factor) {
            return Err(ResizeError::Factor { factor });
        }
    }
    if resolution == 1.0 && channels.changes_nothing() {
        return Ok(Resized::default());
    }
    let subgraph = &model.subgraphs[MAIN_SUBGRAPH];
    let inputs = resized_inputs(subgraph, resolution)?;
    let writers = writers(subgraph);
    let mut keeps_channels = vec![channels.changes_nothing(); subgraph.operators.len()];
    keep_channels_behind(subgraph, &writers, &subgraph.outputs, &mut keeps_channels);
    for _ in 0..MAX_ROUNDS {
        let mut follow = ShapePropagation::new(
            subgraph,
            &model.buffers,
            &inputs,
            channels,
            &writers,
            &keeps_channels,
        );
        match follow.propagate_all() {
            Ok(()) => {
                let followed = follow.finish();
                if resolution == 1.0 && followed.resized.n_layers == 0 {
                    return Err(ResizeError::NoWidth);
                }
                constants::apply(model, &followed.shapes)?;
                model.is_reshaped = true;
                set_windows(
                    &mut model.subgraphs[MAIN_SUBGRAPH],
                    &followed.pooling_windows,
                );
                return Ok(followed.resized);
            }
            Err((operator_idx, problem)) => {
                let operator = &subgraph.operators[operator_idx];
                let read: Vec<usize> = operator.inputs.iter().flatten().copied().collect();
                let freed = keep_channels_behind(subgraph, &writers, &read, &mut keeps_channels);
                if !freed {
                    return Err(resize_error(operator_idx, operator, problem));
                }
            }
        }
    }
    Err(ResizeError::NoWidth)
}

fn set_windows(subgraph: &mut Subgraph, windows: &[(usize, [i32; 2])]) {
    let operators = &mut subgraph.operators;
    for &(operator_idx, [height, width]) in windows {
        if let BuiltinOptions::Pool2D {
            filter_h, filter_w, ..
        } = &mut operators[operator_idx].options
        {
            (*filter_h, *filter_w) = (height, width);
        }
    }
}

fn resize_error(
    operator_idx: usize,
    operator: &Operator,
    Problem(problem): Problem,
) -> ResizeError {
    ResizeError::Operator {
        operator_idx,
        operator: operator.code.name().to_owned(),
        problem,
    }
}

/// Tensor index and new shape of each input.
fn resized_inputs(
    subgraph: &Subgraph,
    resolution: f64,
) -> Result<Vec<(usize, Vec<i32>)>, ResizeError> {
    let shape = |&tensor_idx: &usize| (tensor_idx, subgraph.tensors[tensor_idx].shape.clone());
    let mut inputs: Vec<(usize, Vec<i32>)> = subgraph.inputs.iter().map(shape).collect();
    if resolution == 1.0 {
        return Ok(inputs);
    }
    let mut has_changed = false;
    for (_, shape) in &mut inputs {
        // Between the batch and the channels.
        let last = shape.len().saturating_sub(1);
        for size in shape
            .iter_mut()
            .take(last)
            .skip(1)
            .filter(|size| **size > 1)
        {
            let resized = ((f64::from(*size) * resolution).round() as i32).max(1);
            has_changed |= resized != *size;
            *size = resized;
        }
    }
    if has_changed {
        return Ok(inputs);
    }
    let shapes = inputs.into_iter().map(|(_, shape)| shape).collect();
    Err(ResizeError::NoResolution { shapes })
}

/// By tensor, the last operator that writes it.
fn writers(subgraph: &Subgraph) -> Vec<Option<usize>> {
    let mut writers = vec![None; subgraph.tensors.len()];
    for (operator_idx, operator) in subgraph.operators.iter().enumerate() {
        for &output in &operator.outputs {
            writers[output] = Some(operator_idx);
        }
    }
    writers
}

/// Marks the layers whose channels reach `tensors` without being mixed. Returns whether one of them was not marked
/// before.
fn keep_channels_behind(
    subgraph: &Subgraph,
    writers: &[Option<usize>],
    tensors: &[usize],
    keeps_channels: &mut [bool],
) -> bool {
    let mut is_seen = vec![false; subgraph.operators.len()];
    let mut waiting: Vec<usize> = tensors.to_vec();
    let mut has_new = false;
    while let Some(tensor_idx) = waiting.pop() {
        let Some(operator_idx) = writers[tensor_idx] else {
            continue;
        };
        if std::mem::replace(&mut is_seen[operator_idx], true) {
            continue;
        }
        let operator = &subgraph.operators[operator_idx];
        if operator.code.kind.row().shape.has_units() {
            has_new |= !std::mem::replace(&mut keeps_channels[operator_idx], true);
        } else {
            waiting.extend(operator.inputs.iter().flatten());
        }
    }
    has_new
}

#[cfg(test)]
mod tests;
