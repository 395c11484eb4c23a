//! ONNX tensors → tract's.

use half::f16;
use tract_onnx::pb::TensorProto;
use tract_onnx::pb::tensor_proto::DataType;
use tract_onnx::tract_core::internal::*;

/// The type of a `TensorProto.DataType`: one of those that our networks have.
pub(super) fn datum_type(of_onnx: i32) -> TractResult<DatumType> {
    match DataType::try_from(of_onnx) {
        Ok(DataType::Float) => Ok(DatumType::F32),
        Ok(DataType::Int64) => Ok(DatumType::I64),
        Ok(DataType::Float16) => Ok(DatumType::F16),
        _ => bail!("expected a tensor of float, float16 or int64, found data type {of_onnx}"),
    }
}

/// The values of `tensor`, which has them as raw bytes.
pub(super) fn tensor(tensor: &TensorProto) -> TractResult<Tensor> {
    let dims = tensor.dims.iter().map(|&dim| usize::try_from(dim));
    let dims: Vec<usize> = dims
        .collect::<Result<_, _>>()
        .with_context(|| format!("tensor `{}`: dimensions {:?}", tensor.name, tensor.dims))?;
    let bytes = &tensor.raw_data;
    let read = match datum_type(tensor.data_type)? {
        DatumType::F32 => read(&dims, bytes, f32::from_le_bytes),
        DatumType::F16 => read(&dims, bytes, f16::from_le_bytes),
        _ => read(&dims, bytes, i64::from_le_bytes),
    };
    read.with_context(|| format!("tensor `{}`", tensor.name))
}

/// `bytes` as little-endian values of `N` bytes each.
fn read<T: Datum + Copy, const N: usize>(
    dims: &[usize],
    bytes: &[u8],
    value: impl Fn([u8; N]) -> T,
) -> TractResult<Tensor> {
    let n_values = dims.iter().try_fold(1, |n: usize, &dim| n.checked_mul(dim));
    let n_bytes = n_values.and_then(|n| n.checked_mul(N));
    ensure!(
        n_bytes == Some(bytes.len()),
        "expected {dims:?} values of {N} bytes, found {} bytes",
        bytes.len()
    );
    let (values, _) = bytes.as_chunks::<N>();
    let values: Vec<T> = values.iter().map(|&bytes| value(bytes)).collect();
    Tensor::from_shape(dims, &values)
}

/// Converts a tensor to f32 without rounding.
pub(super) fn to_f32(tensor: &Tensor) -> TractResult<Tensor> {
    if tensor.datum_type() != DatumType::F16 {
        return Ok(tensor.cast_to::<f32>()?.into_owned());
    }
    let halves = tensor.try_as_plain_ram()?;
    let floats: Vec<f32> = halves
        .as_slice::<f16>()?
        .iter()
        .map(|&half| f16_to_f32(half))
        .collect();
    Tensor::from_shape(tensor.shape(), &floats)
}

/// As [`f16::to_f32`], in a form that compilers vectorise.
fn f16_to_f32(half: f16) -> f32 {
    /// Exponents of f32 are biased by 127, those of f16 by 15.
    const REBIAS: f32 = f32::from_bits((127 + 127 - 15) << 23);
    /// From this value on the result would be at least 2^16, which f16 can represent only as infinity or NaN.
    const BEYOND: u32 = 0x7c00 << 13;
    let bits = u32::from(half.to_bits());
    let magnitude = (bits & 0x7fff) << 13;
    let number = (f32::from_bits(magnitude) * REBIAS).to_bits();
    let number = if magnitude >= BEYOND {
        number | 0x7f80_0000
    } else {
        number
    };
    f32::from_bits(number | ((bits & 0x8000) << 16))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_half_is_widened_as_the_crate_half_does() {
        for bits in 0..=u16::MAX {
            let half = f16::from_bits(bits);
            let (actual, expected) = (f16_to_f32(half), half.to_f32());
            let is_same =
                actual.to_bits() == expected.to_bits() || (actual.is_nan() && expected.is_nan());
            assert!(is_same, "{bits:04x}: {actual}, expected {expected}");
        }
    }
}
