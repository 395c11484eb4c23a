//! [`Model`] → the same architecture for another input resolution, or with other channel counts: what building
//! it anew with that resolution or width multiplier would give.
//!
//! The shape of every tensor follows from the shapes of its operator's inputs, as a converter computes it
//! (`rules`). Weights whose shape changes take values of the old ones (`constants`): their number is exact,
//! and their distribution, on which compressed sizes depend, is that of the trained network.

mod constants;
mod reshape;
mod rules;

use self::rules::{Follow, Problem};
use crate::diagnostic::{Diagnostic, Severity};
use crate::formats::tflite::{BuiltinOptions, MAIN_SUBGRAPH, Model, Operator, Subgraph};

/// Factors outside this range give networks that nobody builds.
pub const MIN_FACTOR: f64 = 1.0 / 16.0;
pub const MAX_FACTOR: f64 = 4.0;
/// Where channel counts contradict each other, some layers keep theirs and all shapes are computed again. Real
/// networks need a handful of rounds.
const MAX_ROUNDS: usize = 64;
/// Hidden channel counts of common architectures are multiples of this, and stay so.
const CHANNEL_STEP: i32 = 8;

/// What is built differently.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Resize {
    /// Factor on height and width of the inputs, or on the length of sequences.
    pub resolution: f64,
    pub channels: Channels,
}

impl Default for Resize {
    fn default() -> Self {
        Self {
            resolution: 1.0,
            channels: Channels::Times(1.0),
        }
    }
}

/// Output channels of convolutions and units of dense layers, those of the network's outputs excepted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Channels {
    /// Width multiplier. Multiples of 8 become the nearest multiple of 8.
    Times(f64),
    /// Every layer with `from` channels has `to` instead.
    Replace { from: i32, to: i32 },
}

impl Channels {
    /// A single channel stays one: broadcasting depends on it.
    fn resized(self, count: i32) -> i32 {
        match self {
            Self::Times(factor) if count > 1 => {
                let step = if count % CHANNEL_STEP == 0 {
                    CHANNEL_STEP
                } else {
                    1
                };
                let steps = (f64::from(count) * factor / f64::from(step))
                    .round()
                    .max(1.0);
                (steps as i32).saturating_mul(step)
            }
            Self::Replace { from, to } if count == from => to.max(1),
            _ => count,
        }
    }

    fn changes_nothing(self) -> bool {
        match self {
            Self::Times(factor) => factor == 1.0,
            Self::Replace { from, to } => from == to,
        }
    }
}

/// Why a network cannot be resized.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ResizeError {
    #[error("expected a factor from {MIN_FACTOR} to {MAX_FACTOR}, found {factor}")]
    Factor { factor: f64 },
    #[error("no other resolution: expected an input with rows or columns, found shapes {shapes:?}")]
    NoResolution { shapes: Vec<Vec<i32>> },
    #[error("no other width: every layer is tied to the network's inputs or outputs")]
    NoWidth,
    #[error("no other size: operator {operator_idx} ({operator}) {problem}")]
    Operator {
        operator_idx: usize,
        operator: String,
        problem: &'static str,
    },
    #[error(
        "no other size: the resized network's tensors do not fit 64 bits, or its weights {limit_bytes} bytes"
    )]
    TooLarge { limit_bytes: u64 },
}

impl ResizeError {
    /// Stable kebab-case identifier for programs.
    pub fn kind(&self) -> &'static str {
        "resize"
    }
}

/// What changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Resized {
    /// Layers with another number of output channels, and all that have weights.
    pub n_layers: usize,
    pub of_layers: usize,
    /// Constants with another shape, which have to be trained anew.
    pub n_constants: usize,
}

impl Resized {
    /// The same as a doubt beside the numbers; none where the trained network can be used as it is.
    pub fn diagnostic(&self) -> Option<Diagnostic> {
        let layers = match self.n_layers {
            0 => String::new(),
            n => format!(
                "; {n} of {} layers have other channel counts",
                self.of_layers
            ),
        };
        (self.n_constants > 0).then(|| Diagnostic {
            severity: Severity::Info,
            code: "resized",
            message: format!(
                "the estimates are of a changed network: {} constants have another shape, so that it has to be \
                 trained anew{layers}",
                self.n_constants
            ),
            operator_idx: None,
        })
    }
}

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
    keep_behind(subgraph, &writers, &subgraph.outputs, &mut keeps_channels);
    for _ in 0..MAX_ROUNDS {
        let mut follow = Follow::new(
            subgraph,
            &model.buffers,
            &inputs,
            channels,
            &writers,
            &keeps_channels,
        );
        match follow.all() {
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
                let freed = keep_behind(subgraph, &writers, &read, &mut keeps_channels);
                if !freed {
                    return Err(failed(operator_idx, operator, problem));
                }
            }
        }
    }
    Err(ResizeError::NoWidth)
}

fn set_windows(subgraph: &mut Subgraph, windows: &[(usize, [i32; 2])]) {
    for &(operator_idx, [height, width]) in windows {
        if let BuiltinOptions::Pool2D {
            filter_h, filter_w, ..
        } = &mut subgraph.operators[operator_idx].options
        {
            (*filter_h, *filter_w) = (height, width);
        }
    }
}

fn failed(operator_idx: usize, operator: &Operator, Problem(problem): Problem) -> ResizeError {
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

/// Marks the layers whose channels reach `tensors` unmixed. Whether there was one that was not marked yet.
fn keep_behind(
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
        if rules::has_units(operator) {
            has_new |= !std::mem::replace(&mut keeps_channels[operator_idx], true);
        } else {
            waiting.extend(operator.inputs.iter().flatten());
        }
    }
    has_new
}

#[cfg(test)]
mod tests;
