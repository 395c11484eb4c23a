//! `SparsityParameters`: which values of a tensor the file stores, and where.

use super::error::ParseError;
use super::model::{Level, Sparsity};
use super::read_budget::ReadBudget;
use super::schema;

pub(super) fn read(
    context: &mut ReadBudget,
    sparsity: schema::SparsityParameters,
) -> Result<Sparsity, ParseError> {
    let dimensions = sparsity.dim_metadata().into_iter().flatten();
    let levels: Option<Vec<Level>> = dimensions.map(|one| level(context, one)).collect();
    Ok(Sparsity {
        traversal_order: context.copy(sparsity.traversal_order())?,
        block_map: context.copy(sparsity.block_map())?,
        stored_values: stored_values(sparsity),
        levels: levels.unwrap_or_default(),
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

/// `None` for a level without its lists, and where the file has more than are copied.
fn level(context: &mut ReadBudget, dimension: schema::DimensionMetadata) -> Option<Level> {
    if dimension.format() != schema::DimensionType::SPARSE_CSR {
        let size = usize::try_from(dimension.dense_size());
        return size.ok().map(Level::Dense);
    }
    let segments = if let Some(vector) = dimension.array_segments_as_int_32_vector() {
        context.copy_sparse_entries(vector.values()?)
    } else if let Some(vector) = dimension.array_segments_as_uint_16_vector() {
        context.copy_sparse_entries(vector.values()?)
    } else {
        let vector = dimension.array_segments_as_uint_8_vector()?;
        context.copy_sparse_entries(vector.values()?)
    };
    let indices = if let Some(vector) = dimension.array_indices_as_int_32_vector() {
        context.copy_sparse_entries(vector.values()?)
    } else if let Some(vector) = dimension.array_indices_as_uint_16_vector() {
        context.copy_sparse_entries(vector.values()?)
    } else {
        let vector = dimension.array_indices_as_uint_8_vector()?;
        context.copy_sparse_entries(vector.values()?)
    };
    Some(Level::Sparse {
        segments: segments?,
        indices: indices?,
    })
}
