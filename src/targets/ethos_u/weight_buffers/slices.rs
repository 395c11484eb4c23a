//! Values of slices. Most of them are equal, so that thousands of slices take no longer than three.

use crate::targets::ethos_u::cycles::Part;

/// One value for each slice of an operation, in order. All values between the first and the last one are equal.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Slices<T> {
    pub first: T,
    /// With the number of slices, at least 1.
    pub between: Option<(T, usize)>,
    /// `None` if the first slice is the only one.
    pub last: Option<T>,
}

impl<T: Copy + PartialEq> Slices<T> {
    pub fn one(first: T) -> Self {
        Self {
            first,
            between: None,
            last: None,
        }
    }

    /// The number of slices.
    pub fn n(&self) -> usize {
        let n_between = self.between.map_or(0, |(_, n)| n);
        1 + n_between + usize::from(self.last.is_some())
    }

    pub fn last(&self) -> T {
        self.last.unwrap_or(self.first)
    }

    /// Applies `convert` to up to three values; fewer if they are equal.
    pub fn map<U: Copy>(&self, convert: impl Fn(T) -> U) -> Slices<U> {
        let mut known = (self.first, convert(self.first));
        let mut convert_next = |value: T| {
            if value != known.0 {
                known = (value, convert(value));
            }
            known.1
        };
        Slices {
            first: convert_next(self.first),
            between: self.between.map(|(value, n)| (convert_next(value), n)),
            last: self.last.map(convert_next),
        }
    }

    /// Like [`Self::map`], for values that depend on the position of a slice.
    pub fn map_parts<U: Copy>(&self, convert: impl Fn(T, Part) -> U) -> Slices<U> {
        let part = |is_first, is_last| Part { is_first, is_last };
        Slices {
            first: convert(self.first, part(true, self.last.is_none())),
            between: self
                .between
                .map(|(value, n)| (convert(value, part(false, false)), n)),
            last: self.last.map(|value| convert(value, part(false, true))),
        }
    }
}

impl Slices<f64> {
    /// The sum in the order of slices. Values must be finite and not negative.
    pub fn sum(&self) -> f64 {
        let sum = self.between.map_or(self.first, |(value, n)| {
            sum_after_additions(self.first, value, n)
        });
        sum + self.last.unwrap_or(0.0)
    }

    /// The largest slice of each of two buffers that hold alternate slices, starting with the first buffer; 0 if a
    /// buffer holds none.
    pub fn largest_of_alternate_slices(&self) -> [f64; 2] {
        let n_between = self.between.map_or(0, |(_, n)| n);
        let mut largest = [self.first.max(0.0), 0.0];
        if let Some((value, n)) = self.between {
            largest[1] = value.max(0.0);
            if n > 1 {
                largest[0] = largest[0].max(value);
            }
        }
        if let Some(last) = self.last {
            let turn = (n_between + 1) % 2;
            largest[turn] = largest[turn].max(last);
        }
        largest
    }
}

/// `sum` after adding `value` `n_additions` times, each of them rounded. The result equals that of a loop in every bit and takes
/// logarithmic time. Both must be finite and not negative.
pub fn sum_after_additions(mut sum: f64, value: f64, n_additions: usize) -> f64 {
    let total = sum + value * n_additions as f64;
    // Terms that end before the last digit of the total are never rounded.
    let is_exact = |term: f64| (total + term) - total == term;
    if is_exact(sum) && is_exact(value) {
        return total;
    }
    let mut n_left = n_additions;
    while n_left > 0 {
        let next = sum + value;
        let after = next + value;
        // Up to the next power of two, all additions after the first add the same amount: ties are rounded to even, and
        // the first addition has made the sum even.
        let step = (after + value) - after;
        let to_power = power_of_two_above(sum) - after;
        // Two fewer than fit, because rounding may add to each.
        let n_steps = (to_power / step).floor() - 2.0;
        if n_left > 2 && n_steps >= 1.0 {
            let n_steps = n_steps.min((n_left - 2) as f64);
            sum = after + n_steps * step;
            n_left -= 2 + n_steps as usize;
        } else {
            sum = next;
            n_left -= 1;
        }
    }
    sum
}

/// The smallest power of two above a normal number; infinite above the largest.
fn power_of_two_above(number: f64) -> f64 {
    const MANTISSA_BITS: u32 = f64::MANTISSA_DIGITS - 1;
    let exponent = number.to_bits() >> MANTISSA_BITS;
    f64::from_bits((exponent + 1) << MANTISSA_BITS)
}
