//! The values of a distribution, ranked by frequency.

use std::cell::RefCell;
use std::cmp::Ordering;
use std::hash::BuildHasher;
use std::rc::Rc;
use std::sync::Arc;

use foldhash::fast::FixedState;

use super::codes::Tail;
use crate::graph::analysis::ByteHistogram;

/// The cache of distributions is set-associative: a hash of the distribution's address selects one of `N_SETS` sets of
/// `N_WAYS` entries. An entry takes about 6 kB, and the cache holds the distributions of a network of a few hundred
/// layers.
const N_SETS: usize = 64;
const N_WAYS: usize = 4;

/// Bits of a distance.
const DISTANCE_BITS: u32 = 9;

/// Symbol of a stored byte: twice its distance from the zero point, plus 1 below it.
fn distance(byte: u8, histogram: &ByteHistogram) -> usize {
    let value = match histogram.is_signed {
        true => i32::from(byte as i8) - i32::from(histogram.zero as i8),
        false => i32::from(byte) - i32::from(histogram.zero),
    };
    2 * value.unsigned_abs() as usize + usize::from(value < 0)
}

/// Order by frequency, the most frequent first; of equally frequent values, the larger first.
pub(super) fn by_count(
    (value, count): &(usize, f64),
    (other, other_count): &(usize, f64),
) -> Ordering {
    other_count.total_cmp(count).then(other.cmp(value))
}

/// The values of a distribution from the most frequent on, independent of the number of weights. All streams of a
/// constant share them, on all accelerators.
#[derive(Clone)]
pub(super) struct Ranked {
    counts: Arc<[u64; 256]>,
    zero: u8,
    is_signed: bool,
    /// Weights in the sample, at least 1.
    pub n_sampled: f64,
    /// Zeros among them.
    pub n_zeros: f64,
    /// Other values among them.
    pub n_others: f64,
    /// Pairs (distance, count in the sample) of values other than 0, as [`by_count`] sorts them.
    pub others: Vec<(usize, f64)>,
    /// Largest and least distance of [`Self::others`].
    pub distances: Option<[usize; 2]>,
    tails: RefCell<Vec<Tail>>,
}

impl Ranked {
    /// The ranked values of a histogram, from the cache of this thread if it has them.
    pub fn cached(histogram: &ByteHistogram) -> Rc<Self> {
        thread_local! {
            static CACHE: RefCell<Vec<[Option<Rc<Ranked>>; N_WAYS]>> = const { RefCell::new(Vec::new()) };
        }
        let key = (
            Arc::as_ptr(&histogram.counts).addr(),
            histogram.zero,
            histogram.is_signed,
        );
        let set_idx = (FixedState::default().hash_one(key) % N_SETS as u64) as usize;
        CACHE.with_borrow_mut(|sets| {
            sets.resize_with(N_SETS, || [const { None }; N_WAYS]);
            let set = &mut sets[set_idx];
            let is_known =
                |entry: &Option<Rc<Self>>| (entry.as_ref()).is_some_and(|one| one.is_of(histogram));
            // The most recently used entry is first, and the least recently used one is replaced.
            let known = set.iter().position(is_known);
            set[..=known.unwrap_or(N_WAYS - 1)].rotate_right(1);
            if known.is_none() {
                set[0] = None;
            }
            set[0]
                .get_or_insert_with(|| Rc::new(Self::of(histogram)))
                .clone()
        })
    }

    fn of(histogram: &ByteHistogram) -> Self {
        let pairs = (0..=u8::MAX).zip(histogram.counts.iter());
        let present = pairs.filter(|&(byte, &count)| count > 0 && byte != histogram.zero);
        // With room for all of them: nothing tells beforehand how many there are.
        let mut values = Vec::with_capacity(histogram.counts.len());
        values.extend(
            present.map(|(byte, &count)| count << DISTANCE_BITS | distance(byte, histogram) as u64),
        );
        // As `by_count` sorts them, in one number: such are compared in half of the time.
        values.sort_unstable_by(|one, other| other.cmp(one));
        let pair = |value: u64| {
            let distance = value & ((1 << DISTANCE_BITS) - 1);
            (distance as usize, (value >> DISTANCE_BITS) as f64)
        };
        let others = values.into_iter().map(pair).collect();
        let n_zeros = histogram.counts[usize::from(histogram.zero)] as f64;
        Self::new(histogram, n_zeros, others)
    }

    fn new(histogram: &ByteHistogram, n_zeros: f64, others: Vec<(usize, f64)>) -> Self {
        let n_others: f64 = others.iter().map(|&(_, count)| count).sum();
        let distances = || others.iter().map(|&(distance, _)| distance);
        Self {
            counts: histogram.counts.clone(),
            zero: histogram.zero,
            is_signed: histogram.is_signed,
            n_sampled: (n_zeros + n_others).max(1.0),
            n_zeros,
            n_others,
            distances: distances()
                .max()
                .zip(distances().min())
                .map(<[usize; 2]>::from),
            others,
            tails: RefCell::default(),
        }
    }

    /// The ranked values of no weights.
    pub fn empty() -> Self {
        let histogram = ByteHistogram {
            counts: Arc::new([0; 256]),
            zero: 0,
            is_signed: true,
            n_bytes: 0,
        };
        Self::new(&histogram, 0.0, Vec::new())
    }

    fn is_of(&self, histogram: &ByteHistogram) -> bool {
        Arc::ptr_eq(&self.counts, &histogram.counts)
            && self.zero == histogram.zero
            && self.is_signed == histogram.is_signed
    }

    /// Whether there are zeros, and how many of the other values are more frequent.
    pub fn rank_of_zeros(&self, n_zeros: f64) -> Option<usize> {
        let is_before = |other: &(usize, f64)| by_count(other, &(0, n_zeros)).is_lt();
        (n_zeros > 0.0).then(|| self.others.partition_point(is_before))
    }

    /// Of all but the `n_first` most frequent of the values other than 0, whose symbols are their distances and
    /// `offset`.
    pub fn tail(&self, n_first: usize, offset: isize) -> Tail {
        let mut tails = self.tails.borrow_mut();
        let known = tails.iter().find(|tail| tail.is_at(n_first, offset));
        known.copied().unwrap_or_else(|| {
            let tail = Tail::new(&self.others, n_first, offset);
            tails.push(tail);
            tail
        })
    }

    /// As of `scale` times as many weights.
    #[cfg(test)]
    pub fn scaled(histogram: &ByteHistogram, scale: f64) -> Self {
        let of = Self::of(histogram);
        let others = of.others.iter();
        let others = others.map(|&(distance, count)| (distance, count * scale));
        Self::new(histogram, of.n_zeros * scale, others.collect())
    }
}
