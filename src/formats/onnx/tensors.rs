//! `TensorProto`: the constants of a graph, borrowed from the file. Field numbers are those of `onnx.proto`.

use super::limits::*;
use super::names::Name;
use super::wire::{Field, Fields, Malformed, Read, packed_integers};
use crate::formats::tflite::TensorType;

/// `TensorProto`.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Tensor<'a> {
    pub name: Name<'a>,
    pub data_type: i64,
    pub raw_data: &'a [u8],
    /// The values are in another file, or stored as those that are not zero.
    pub is_external: bool,
    message: &'a [u8],
    /// Field of `message` that has the sizes along each dimension.
    dims_number: u32,
}

/// A tensor's name as text, and the tensor without it.
pub(super) fn tensor(message: &[u8]) -> Read<(&str, Tensor<'_>)> {
    let mut name = "";
    let mut tensor = Tensor {
        message,
        dims_number: 1,
        ..Tensor::default()
    };
    for field in Fields::new(message) {
        match field? {
            (2, number) => tensor.data_type = number.integer().ok_or(Malformed)?,
            (8, text) => name = text.text().ok_or(Malformed)?,
            (9, bytes) => tensor.raw_data = bytes.bytes().ok_or(Malformed)?,
            (14, place) => tensor.is_external = place.integer() == Some(1),
            _ => {}
        }
    }
    Ok((name, tensor))
}

/// The values that are not zero have the name and the type. They count as a dense tensor, as ONNX Runtime makes them.
pub(super) fn sparse_tensor(message: &[u8]) -> Read<(&str, Tensor<'_>)> {
    let values = sparse_values(message)?;
    let (name, tensor) = tensor(values)?;
    Ok((
        name,
        Tensor {
            raw_data: &[],
            is_external: true,
            message,
            dims_number: 3,
            ..tensor
        },
    ))
}

fn sparse_values(message: &[u8]) -> Read<&[u8]> {
    let mut values: &[u8] = &[];
    for field in Fields::new(message) {
        if let (1, field) = field? {
            values = field.bytes().ok_or(Malformed)?;
        }
    }
    Ok(values)
}

pub(super) fn initializer_name(number: u32, message: &[u8]) -> Read<&str> {
    let tensor = match number {
        15 => sparse_values(message)?,
        _ => message,
    };
    let mut name = "";
    for field in Fields::new(tensor) {
        if let (8, text) = field? {
            name = text.text().ok_or(Malformed)?;
        }
    }
    Ok(name)
}

impl<'a> Tensor<'a> {
    /// The bytes of the whole message, which tell tensors apart.
    pub fn address(&self) -> usize {
        self.message.as_ptr().addr()
    }

    /// Number of protobuf fields of the message.
    pub fn n_fields(&self) -> usize {
        Fields::new(self.message).count()
    }

    /// Sizes along each dimension; none where there are more than [`MAX_RANK`].
    pub fn dims(&self) -> Option<Vec<i64>> {
        self.integers_of(self.dims_number, MAX_RANK.saturating_add(1))
            .filter(|dims| dims.len() <= MAX_RANK)
    }

    /// Dimensions in the file, of which `dims` tells no more than [`MAX_RANK`].
    pub fn rank(&self) -> usize {
        let dims = Fields::new(self.message).flatten();
        let counts = dims.map(|(number, field)| match field {
            _ if number != self.dims_number => 0,
            // The last byte of each number is below 128.
            Field::Bytes(packed) => packed.iter().filter(|byte| **byte < 0x80).count(),
            _ => 1,
        });
        counts.fold(0, usize::saturating_add)
    }

    /// Values of a field of integers, packed or not, at most `limit`.
    fn integers_of(&self, number: u32, limit: usize) -> Option<Vec<i64>> {
        let mut values = Vec::new();
        for field in Fields::new(self.message) {
            match field.ok()? {
                (found, Field::Bytes(bytes)) if found == number => {
                    let left = limit.saturating_sub(values.len());
                    values.extend(packed_integers(bytes, left).ok()?);
                }
                (found, field) if found == number && values.len() < limit => {
                    values.push(field.integer()?)
                }
                _ => {}
            }
        }
        Some(values)
    }

    fn floats_of(&self, number: u32, limit: usize) -> Option<Vec<f64>> {
        let mut values = Vec::new();
        for field in Fields::new(self.message) {
            match field.ok()? {
                (found, Field::Bytes(bytes)) if found == number => {
                    let (chunks, _) = bytes.as_chunks::<4>();
                    let left = limit.saturating_sub(values.len());
                    values.extend(
                        chunks
                            .iter()
                            .take(left)
                            .map(|b| f64::from(f32::from_le_bytes(*b))),
                    );
                }
                (found, field) if found == number && values.len() < limit => {
                    values.push(f64::from(field.float()?));
                }
                _ => {}
            }
        }
        Some(values)
    }

    /// The bytes of values that are stored as floats, in whichever field they are.
    pub fn float_bytes(&self) -> &'a [u8] {
        if !self.raw_data.is_empty() || self.data_type != FLOAT {
            return self.raw_data;
        }
        let mut fields = Fields::new(self.message).flatten();
        let bytes = fields.find_map(|(number, field)| field.bytes().filter(|_| number == 4));
        bytes.unwrap_or_default()
    }

    /// What is wrong with a tensor whose raw bytes are not those of its values. Files without weights have none.
    pub fn wrong_length(&self) -> Option<String> {
        let n_bytes = u64::try_from(self.raw_data.len()).ok()?;
        let value_bytes = match self.data_type {
            UINT8 | INT8 | BOOL => 1,
            4 | 5 | FLOAT16 | 16 => 2,
            FLOAT | INT32 | 12 => 4,
            INT64 | DOUBLE | 13 => 8,
            _ => return None,
        };
        let mut sides = self
            .dims()?
            .into_iter()
            .map(|side| u64::try_from(side).ok());
        let n = sides.try_fold(value_bytes, |n: u64, side| n.checked_mul(side?))?;
        (n_bytes != n && n_bytes > 0 && !self.is_external)
            .then(|| format!("expected {n} bytes of values, found {n_bytes}"))
    }

    /// The raw bytes of a small tensor of `n` values; empty if another field has the values. `None` if they are not `n`
    /// values, so that a long list is never decoded for a short tensor.
    fn raw_of(&self, n: usize) -> Option<&'a [u8]> {
        let value_bytes = match self.data_type {
            INT64 | DOUBLE => 8,
            INT32 | FLOAT => 4,
            FLOAT16 => 2,
            _ => 1,
        };
        let n_raw = self.raw_data.len().checked_div(value_bytes)?;
        let is_small = n <= MAX_KNOWN_VALUES && !self.is_external;
        (is_small && (self.raw_data.is_empty() || n_raw == n)).then_some(self.raw_data)
    }

    /// All values of a small tensor of integers or truths.
    pub fn integers(&self, n: usize) -> Option<Vec<i64>> {
        let raw = self.raw_of(n)?;
        let values: Vec<i64> = match (self.data_type, raw.is_empty()) {
            (INT64, false) => raw
                .as_chunks::<8>()
                .0
                .iter()
                .map(|b| i64::from_le_bytes(*b))
                .collect(),
            (INT32, false) => raw
                .as_chunks::<4>()
                .0
                .iter()
                .map(|b| i32::from_le_bytes(*b).into())
                .collect(),
            (INT8, false) => raw
                .iter()
                .map(|&b| i64::from(i8::from_le_bytes([b])))
                .collect(),
            (UINT8 | BOOL, false) => raw.iter().map(|&b| i64::from(b)).collect(),
            (INT64, true) => self.integers_of(7, n)?,
            (INT32 | INT8 | UINT8 | BOOL, true) => self.integers_of(5, n)?,
            _ => return None,
        };
        (values.len() == n).then_some(values)
    }

    /// All values of a small tensor of floats.
    pub fn floats(&self, n: usize) -> Option<Vec<f64>> {
        let raw = self.raw_of(n)?;
        let values: Vec<f64> = match (self.data_type, raw.is_empty()) {
            (FLOAT, false) => raw
                .as_chunks::<4>()
                .0
                .iter()
                .map(|b| f32::from_le_bytes(*b).into())
                .collect(),
            (FLOAT16, false) => raw
                .as_chunks::<2>()
                .0
                .iter()
                .map(|b| half::f16::from_le_bytes(*b).into())
                .collect(),
            (DOUBLE, false) => raw
                .as_chunks::<8>()
                .0
                .iter()
                .map(|b| f64::from_le_bytes(*b))
                .collect(),
            (FLOAT, true) => self.floats_of(4, n)?,
            _ => return None,
        };
        (values.len() == n).then_some(values)
    }
}

/// `TensorProto.DataType`.
const FLOAT: i64 = 1;
const UINT8: i64 = 2;
const INT8: i64 = 3;
const INT32: i64 = 6;
const INT64: i64 = 7;
const BOOL: i64 = 9;
const FLOAT16: i64 = 10;
const DOUBLE: i64 = 11;

/// TFLite's type for a `TensorProto.DataType`.
pub(super) fn tensor_type(data_type: i64) -> TensorType {
    use TensorType::*;
    match data_type {
        FLOAT => Float32,
        UINT8 => UInt8,
        INT8 => Int8,
        4 => UInt16,
        5 => Int16,
        INT32 => Int32,
        INT64 => Int64,
        8 => String,
        BOOL => Bool,
        FLOAT16 => Float16,
        DOUBLE => Float64,
        12 => UInt32,
        13 => UInt64,
        14 => Complex64,
        15 => Complex128,
        16 => BFloat16,
        17 => Float8E4M3FN,
        19 => Float8E5M2,
        21 => UInt4,
        22 => Int4,
        _ => Unknown(-1),
    }
}
