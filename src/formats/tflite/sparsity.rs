//! `SparsityParameters`: which values of a tensor the file stores.

use super::error::ParseError;
use super::model::Sparsity;
use super::read_budget::ReadBudget;
use super::schema;

pub(super) fn read(
    context: &mut ReadBudget,
    sparsity: schema::SparsityParameters,
) -> Result<Sparsity, ParseError> {
    Ok(Sparsity {
        traversal_order: context.copy(sparsity.traversal_order())?,
        block_map: context.copy(sparsity.block_map())?,
        stored_values: stored_values(sparsity),
    })
}

/// Levels of storage from the outside in: a dense one multiplies the positions by its size, a
/// compressed one lists all positions that it keeps.
fn stored_values(sparsity: schema::SparsityParameters) -> Option<u64> {
    let mut positions = 1u64;
    for dimension in sparsity.dim_metadata()? {
        positions = if dimension.format() == schema::DimensionType::SPARSE_CSR {
            n_indices(dimension)?
        } else {
            positions.checked_mul(u64::try_from(dimension.dense_size()).ok()?)?
        };
    }
    Some(positions)
}

fn n_indices(dimension: schema::DimensionMetadata) -> Option<u64> {
    let n_indices = if let Some(vector) = dimension.array_indices_as_int_32_vector() {
        vector.values()?.len()
    } else if let Some(vector) = dimension.array_indices_as_uint_16_vector() {
        vector.values()?.len()
    } else {
        dimension.array_indices_as_uint_8_vector()?.values()?.len()
    };
    u64::try_from(n_indices).ok()
}
