//! Parts of a tensor.

use super::call::Unshaped::{Contradiction, Unknown};
use super::call::{Known, OperatorCall, Shape, require};
use crate::formats::tflite::BuiltinOptions;

impl OperatorCall<'_, '_> {
    /// A size of −1 takes all that is left.
    pub fn sliced(&self) -> Known<Shape> {
        let (input, begin, sizes) = (self.shape(0)?, self.values(1)?, self.values(2)?);
        let is_alike = begin.len() == input.len() && sizes.len() == input.len();
        require(is_alike, BOUNDS)?;
        let taken = input.iter().zip(begin.iter().zip(&sizes));
        let taken = taken.map(|(&size_of_input, (&begin, &size))| {
            let taken = if size == -1 {
                size_of_input - begin
            } else {
                size
            };
            let fits = begin >= 0 && taken >= 0 && begin + taken <= size_of_input;
            fits.then_some(taken).ok_or(Contradiction(BOUNDS))
        });
        taken.collect()
    }

    /// Begin, end and stride for each dimension, those excepted for which a mask says otherwise.
    pub fn strided(&self, options: &BuiltinOptions) -> Known<Shape> {
        let &BuiltinOptions::StridedSlice {
            begin_mask,
            end_mask,
            ellipsis_mask,
            new_axis_mask,
            shrink_axis_mask,
            offset,
        } = options
        else {
            return Err(Unknown);
        };
        let (begin, end, strides) = (self.values(1)?, self.values(2)?, self.values(3)?);
        let n_entries = begin.len();
        let is_alike = end.len() == n_entries && strides.len() == n_entries;
        // A mask has a bit for each entry.
        let is_readable = is_alike && n_entries < 32 && ellipsis_mask.count_ones() <= 1;
        require(is_readable, BOUNDS)?;
        let input = self.shape(0)?;
        let mut left = input.iter().copied();
        let mut shape = Shape::new();
        let entries = begin.into_iter().zip(end).zip(strides).enumerate();
        for (at, ((begin, end), stride)) in entries {
            let has = |mask: i32| mask >> at & 1 == 1;
            if has(ellipsis_mask) {
                let is_of_input = |&later: &usize| new_axis_mask >> later & 1 == 0;
                let n_behind = (at + 1..n_entries).filter(is_of_input).count();
                let n_whole = left.len().checked_sub(n_behind);
                let n_whole = n_whole.ok_or(Contradiction(BOUNDS))?;
                shape.extend(left.by_ref().take(n_whole));
            } else if has(new_axis_mask) {
                shape.push(1);
            } else {
                let size = left.next().ok_or(Contradiction(BOUNDS))?;
                let range = Range {
                    begin: (!has(begin_mask)).then_some(begin),
                    end: (!has(end_mask)).then_some(end),
                    stride,
                    is_relative: offset,
                };
                let [_, n_taken] = range.first_and_count(size).ok_or(Contradiction(BOUNDS))?;
                if !has(shrink_axis_mask) {
                    shape.push(n_taken);
                }
            }
        }
        shape.extend(left);
        Ok(shape)
    }
}

const BOUNDS: &str = "the bounds are not those of a part of the input";

/// Every `stride`-th value from `begin` to before `end`, each counted from the end where it is negative. Without an
/// end the range goes as far as there are values.
pub struct Range {
    pub begin: Option<i64>,
    pub end: Option<i64>,
    pub stride: i64,
    /// Whether `end` is counted from `begin`.
    pub is_relative: bool,
}

impl Range {
    /// The place of the first value that is taken out of so many, and how many are taken.
    pub fn first_and_count(&self, size: i64) -> Option<[i64; 2]> {
        if self.stride == 0 {
            return None;
        }
        // A range that goes backwards ends before the first value.
        let (lowest, highest) = if self.stride > 0 {
            (0, size)
        } else {
            (-1, size - 1)
        };
        let (first, last) = if self.stride > 0 {
            (lowest, highest)
        } else {
            (highest, lowest)
        };
        let place = |at: i64| (if at < 0 { at + size } else { at }).clamp(lowest, highest);
        let begin = self.begin.map_or(first, place);
        let shift = if self.is_relative { begin } else { 0 };
        let end = self.end.map_or(last, |end| place(end + shift));
        let distance = (end - begin) * self.stride.signum();
        let step = self.stride.abs();
        Some([begin, (distance.max(0) + step - 1) / step])
    }
}
