//! Values that are computed from shapes and determine the shape of another tensor: if converters do not know the batch
//! size, they express it by `SHAPE`, `STRIDED_SLICE`, `PACK`.

use super::call::OperatorCall;
use super::slices::Range;
use crate::formats::tflite::op_row::Values;
use crate::formats::tflite::{BuiltinOptions, TensorType};

/// Dimensions of a computed shape at most. No kernel of LiteRT takes more, and many results of one operator would
/// otherwise each have a list many times as long as the four bytes that the file spends on naming the result.
pub const MAX_COMPUTED_RANK: usize = 8;

/// Values of the results, each in row-major order; as many at most as a shape has sizes. None where the operator has
/// no rule, where what it reads is not known, and where a value does not fit 32 bits.
pub fn computed(call: &OperatorCall) -> Option<Vec<Vec<i64>>> {
    let result = &call.tensors[*call.operator.outputs.first()?];
    require(matches!(
        result.tensor_type,
        TensorType::Int32 | TensorType::Int64
    ))?;
    let rule = call.operator.code.kind.row().values;
    let values = operator_values(call, rule)?;
    let fit = values.iter().all(|&value| i32::try_from(value).is_ok());
    require(fit && values.len() <= MAX_COMPUTED_RANK)?;
    Some(if rule == Values::Unpacked {
        values.into_iter().map(|value| vec![value]).collect()
    } else {
        vec![values]
    })
}

fn operator_values(call: &OperatorCall, rule: Values) -> Option<Vec<i64>> {
    match rule {
        Values::Unknown => None,
        Values::Sizes => call.shape(0).ok(),
        Values::Kept => call.values(0).ok(),
        Values::Unpacked => {
            let [_] = call.sizes(0).ok()?;
            call.values(0).ok()
        }
        Values::Joined => concatenated_values(call, 1),
        Values::Packed => packed(call),
        Values::Sliced => sliced(call),
        Values::Strided => strided(call),
        Values::Gathered => gathered(call),
        Values::Sums => pairwise(call, i64::checked_add),
        Values::Differences => pairwise(call, i64::checked_sub),
        Values::Products => pairwise(call, i64::checked_mul),
        Values::Quotients => pairwise(call, i64::checked_div),
        Values::Floors => pairwise(call, floor_div),
        Values::Remainders => pairwise(call, floor_mod),
        Values::Larger => pairwise(call, |one, other| Some(one.max(other))),
        Values::Smaller => pairwise(call, |one, other| Some(one.min(other))),
        Values::Product => reduced(call, i64::checked_mul),
        Values::Sum => reduced(call, i64::checked_add),
    }
}

/// Scalars, or lists as rows or as columns, for example the paddings of dimensions.
fn packed(call: &OperatorCall) -> Option<Vec<i64>> {
    let rank = call.dimensions(0).ok()?.len();
    require(rank <= 1)?;
    let values = concatenated_values(call, rank)?;
    let n_inputs = call.operator.inputs.len();
    let n_each = values.len().checked_div(n_inputs)?;
    match call.operator.options {
        BuiltinOptions::Pack { axis: 1 | -1, .. } if rank == 1 => {
            let places = (0..n_each).flat_map(|row| (0..n_inputs).map(move |n| n * n_each + row));
            places.map(|place| values.get(place).copied()).collect()
        }
        BuiltinOptions::Pack { .. } => Some(values),
        _ => None,
    }
}

/// All values of inputs with so many dimensions, one input after the other.
fn concatenated_values(call: &OperatorCall, rank: usize) -> Option<Vec<i64>> {
    let n_inputs = call.operator.inputs.len();
    require(n_inputs <= MAX_COMPUTED_RANK)?;
    let of_input = |place: usize| {
        let is_of_rank = call.dimensions(place).ok()?.len() == rank;
        call.values(place).ok().filter(|_| is_of_rank)
    };
    let values: Vec<Vec<i64>> = (0..n_inputs).map(of_input).collect::<Option<_>>()?;
    Some(values.concat())
}

fn sliced(call: &OperatorCall) -> Option<Vec<i64>> {
    let ([_], values) = (call.sizes(0).ok()?, call.values(0).ok()?);
    let [n_taken] = call.sliced().ok()?.try_into().ok()?;
    let begin = usize::try_from(call.value(1).ok()?).ok()?;
    let end = begin.checked_add(usize::try_from(n_taken).ok()?)?;
    values.get(begin..end).map(<[i64]>::to_vec)
}

fn strided(call: &OperatorCall) -> Option<Vec<i64>> {
    let &BuiltinOptions::StridedSlice {
        begin_mask,
        end_mask,
        ellipsis_mask: 0,
        new_axis_mask: 0,
        shrink_axis_mask,
        offset,
    } = &call.operator.options
    else {
        return None;
    };
    let ([size], values) = (call.sizes(0).ok()?, call.values(0).ok()?);
    let range = Range {
        begin: call.value(1).ok().filter(|_| begin_mask & 1 == 0),
        end: call.value(2).ok().filter(|_| end_mask & 1 == 0),
        stride: call.value(3).ok()?,
        is_relative: offset,
    };
    let [begin, n_taken] = range.first_and_count(size)?;
    let n_taken = if shrink_axis_mask & 1 == 1 {
        1
    } else {
        n_taken
    };
    let place = |n: i64| usize::try_from(begin + n * range.stride).ok();
    let places = (0..n_taken).map(|n| values.get(place(n)?).copied());
    places.collect()
}

fn gathered(call: &OperatorCall) -> Option<Vec<i64>> {
    let ([_], values) = (call.sizes(0).ok()?, call.values(0).ok()?);
    let places = call.values(1).ok()?.into_iter();
    let taken = places.map(|place| values.get(usize::try_from(place).ok()?).copied());
    taken.collect()
}

/// Two operands of as many values, or one with a single value.
fn pairwise(call: &OperatorCall, combine: impl Fn(i64, i64) -> Option<i64>) -> Option<Vec<i64>> {
    let [ones, others] = [call.values(0).ok()?, call.values(1).ok()?];
    let n_values = ones.len().max(others.len());
    let fits = |values: &[i64]| values.len() == n_values || values.len() == 1;
    require(fits(&ones) && fits(&others))?;
    let pairs = ones.iter().cycle().zip(others.iter().cycle());
    let results = pairs
        .take(n_values)
        .map(|(&one, &other)| combine(one, other));
    results.collect()
}

fn floor_div(one: i64, other: i64) -> Option<i64> {
    let quotient = one.checked_div(other)?;
    let is_between = one % other != 0 && (one < 0) != (other < 0);
    Some(quotient - i64::from(is_between))
}

fn floor_mod(one: i64, other: i64) -> Option<i64> {
    one.checked_sub(floor_div(one, other)?.checked_mul(other)?)
}

/// One value for all of a list.
fn reduced(call: &OperatorCall, combine: impl Fn(i64, i64) -> Option<i64>) -> Option<Vec<i64>> {
    let ([_], values) = (call.sizes(0).ok()?, call.values(0).ok()?);
    call.value(1).ok()?;
    let (&first, others) = values.split_first()?;
    let all = others
        .iter()
        .try_fold(first, |all, &value| combine(all, value));
    all.map(|all| vec![all])
}

fn require(holds: bool) -> Option<()> {
    holds.then_some(())
}
