//! The values of a distribution by how often they occur.

use std::cell::RefCell;
use std::hash::BuildHasher;
use std::rc::Rc;
use std::sync::Arc;

use foldhash::fast::FixedState;

use super::symbols::by_count;
use crate::graph::analysis::ByteHistogram;

/// Distributions that are kept, of some 6 kB each.
const MAX_KEPT: usize = 64;

/// Symbol of a stored byte: twice its distance from the zero point, plus 1 below it.
fn distance(byte: u8, histogram: &ByteHistogram) -> usize {
    let value = match histogram.is_signed {
        true => i32::from(byte as i8) - i32::from(histogram.zero as i8),
        false => i32::from(byte) - i32::from(histogram.zero),
    };
    2 * value.unsigned_abs() as usize + usize::from(value < 0)
}

/// The values of a distribution from the most frequent on, whatever the number of weights that have it: sorting them is
/// most of what a stream takes.
#[derive(Clone)]
pub(super) struct Ranked {
    counts: Arc<[u64; 256]>,
    zero: u8,
    is_signed: bool,
    /// Weights in the sample, at least 1.
    pub n_sampled: f64,
    /// Pairs (distance, count in the sample), as [`by_count`] sorts them.
    pub by_count: Vec<(usize, f64)>,
}

impl Ranked {
    /// Of a histogram whose counts were seen a short time before on this thread, or anew.
    pub fn kept(histogram: &ByteHistogram) -> Rc<Self> {
        thread_local! {
            static KEPT: RefCell<[Option<Rc<Ranked>>; MAX_KEPT]> = const { RefCell::new([const { None }; MAX_KEPT]) };
        }
        let key = (
            Arc::as_ptr(&histogram.counts).addr(),
            histogram.zero,
            histogram.is_signed,
        );
        let place = (FixedState::default().hash_one(key) % MAX_KEPT as u64) as usize;
        KEPT.with_borrow_mut(|kept| {
            let kept = &mut kept[place];
            match kept.as_ref().filter(|kept| kept.is_of(histogram)) {
                Some(known) => known.clone(),
                None => kept.insert(Rc::new(Self::of(histogram))).clone(),
            }
        })
    }

    fn of(histogram: &ByteHistogram) -> Self {
        let pairs = (0..=u8::MAX).zip(histogram.counts.iter());
        let present = pairs.filter(|&(_, &count)| count > 0);
        let mut values: Vec<(u64, usize)> = present
            .map(|(byte, &count)| (count, distance(byte, histogram)))
            .collect();
        // As `by_count` sorts them: whole numbers are compared in half of the time.
        values.sort_unstable_by(|one, other| other.cmp(one));
        let values = values.into_iter();
        let values: Vec<(usize, f64)> =
            values.map(|(count, value)| (value, count as f64)).collect();
        Self {
            counts: histogram.counts.clone(),
            zero: histogram.zero,
            is_signed: histogram.is_signed,
            n_sampled: (histogram.counts.iter().sum::<u64>() as f64).max(1.0),
            by_count: values,
        }
    }

    /// Of no weights.
    pub fn empty() -> Self {
        Self {
            counts: Arc::new([0; 256]),
            zero: 0,
            is_signed: true,
            n_sampled: 1.0,
            by_count: Vec::new(),
        }
    }

    fn is_of(&self, histogram: &ByteHistogram) -> bool {
        Arc::ptr_eq(&self.counts, &histogram.counts)
            && self.zero == histogram.zero
            && self.is_signed == histogram.is_signed
    }
}

/// Adds zeros to ranked values, and moves 0 to its new rank: the number of zeros.
pub(super) fn add_zeros(values: &mut Vec<(usize, f64)>, n_zeros: f64) -> f64 {
    let place = values.iter().position(|&(value, _)| value == 0);
    let n_before = place.map_or(0.0, |place| values[place].1);
    if n_zeros <= 0.0 {
        return n_before;
    }
    if let Some(place) = place {
        values.remove(place);
    }
    let zero = (0, n_before + n_zeros);
    let place = values.partition_point(|other| by_count(other, &zero).is_lt());
    values.insert(place, zero);
    zero.1
}
