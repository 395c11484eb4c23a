//! The values of constants that control an operator: sizes, axes, paddings.

use super::limits::MAX_LAYOUT_VALUES;

/// The first values of an int32 constant, [`MAX_LAYOUT_VALUES`] at most. A rest that is shorter than a
/// value is left out.
pub fn integers(contents: &[u8]) -> impl Iterator<Item = i32> {
    let (words, _) = contents.as_chunks::<4>();
    let values = words.iter().map(|word| i32::from_le_bytes(*word));
    values.take(MAX_LAYOUT_VALUES)
}

/// The same of an int64 constant.
pub fn long_integers(contents: &[u8]) -> impl Iterator<Item = i64> {
    let (words, _) = contents.as_chunks::<8>();
    let values = words.iter().map(|word| i64::from_le_bytes(*word));
    values.take(MAX_LAYOUT_VALUES)
}

/// Place of a dimension that may be counted from the end; none where there is no such one.
pub fn dimension(axis: i32, rank: usize) -> Option<usize> {
    let from_end = usize::try_from(axis.unsigned_abs()).ok()?;
    let at = if axis < 0 {
        rank.checked_sub(from_end)?
    } else {
        from_end
    };
    (at < rank).then_some(at)
}
