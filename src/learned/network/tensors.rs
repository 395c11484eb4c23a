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
