//! The precision in which a network is written: int8, as it was planned, or float32.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::network::{ElementType, Quantization, Tensor, TensorIdx, WriterNetwork};
use super::operator_kind::OperatorKind;

/// Element type of activations and weights.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum Precision {
    /// Quantised to 8 bits.
    #[default]
    Int8,
    /// Every quantised tensor becomes float32. Constants have the real values that the int8 file represents, so both
    /// files compute the same function apart from rounding.
    Float32,
}

impl Precision {
    /// Name in files and settings.
    pub fn id(self) -> &'static str {
        match self {
            Precision::Int8 => "int8",
            Precision::Float32 => "float32",
        }
    }

    /// Whether activations and weights have 8 bits.
    pub fn is_int8(&self) -> bool {
        *self == Precision::Int8
    }
}

impl fmt::Display for Precision {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(self.id())
    }
}

impl FromStr for Precision {
    type Err = String;

    fn from_str(id: &str) -> Result<Self, String> {
        [Precision::Int8, Precision::Float32]
            .into_iter()
            .find(|precision| precision.id() == id)
            .ok_or_else(|| format!("unknown precision `{id}`: expected int8 or float32"))
    }
}

/// Removes QUANTIZE operators, which only change scales: their readers read their inputs instead.
pub fn without_quantize(network: &WriterNetwork) -> WriterNetwork {
    let mut network = network.clone();
    let mut sources: Vec<TensorIdx> = (0..network.tensors.len()).collect();
    network.operators.retain_mut(|operator| {
        for input in &mut operator.inputs {
            *input = sources.get(*input).copied().unwrap_or(*input);
        }
        let changes_scale = operator.kind == OperatorKind::Quantize;
        if changes_scale {
            sources[operator.outputs[0]] = operator.inputs[0];
        }
        !changes_scale
    });
    for output in &mut network.outputs {
        *output = sources[*output];
    }
    network
}

/// The real values of the stored ones. Tensors without quantisation (axes, shapes) are not changed.
pub fn in_float32(tensor: &Tensor, stored: &[u8]) -> Vec<u8> {
    let Some(quantization) = &tensor.quantization else {
        return stored.to_vec();
    };
    let channel_stride: i32 = tensor.shape.iter().skip(quantization.axis + 1).product();
    let mut bytes = Vec::with_capacity(tensor.n_values() * size_of::<f32>());
    for (idx, value) in integers(tensor.element, stored).enumerate() {
        let channel = idx / channel_stride as usize % quantization.scales.len();
        bytes.extend_from_slice(&real(value, channel, quantization).to_le_bytes());
    }
    bytes
}

fn integers(element: ElementType, stored: &[u8]) -> impl Iterator<Item = i32> {
    let n_bytes = match element {
        ElementType::Int8 | ElementType::Bool => 1,
        ElementType::Int16 => 2,
        ElementType::Int32 | ElementType::Float32 => 4,
    };
    stored.chunks_exact(n_bytes).map(|bytes| match *bytes {
        [byte] => i32::from(byte as i8),
        [low, high] => i32::from(i16::from_le_bytes([low, high])),
        _ => i32::from_le_bytes(bytes.try_into().expect("chunks are of four bytes")),
    })
}

fn real(stored: i32, channel: usize, quantization: &Quantization) -> f32 {
    (stored - i32::from(quantization.zero_point)) as f32 * quantization.scales[channel]
}
