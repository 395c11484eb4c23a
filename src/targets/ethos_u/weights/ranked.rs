//! The values of a distribution, ranked by frequency.

use std::cell::RefCell;
use std::cmp::Ordering;
use std::hash::BuildHasher;
use std::rc::Rc;
use std::sync::Arc;

use foldhash::fast::FixedState;

use super::codes::{Coding, NonzeroSymbols, PALETTE_SIZE};
use crate::graph::analysis::ByteHistogram;

/// The cache of distributions is set-associative: a hash of the distribution's address selects one of `N_SETS` sets of
/// `N_WAYS` entries. An entry takes about 6 kB, and the cache holds the distributions of a network of a few hundred
/// layers.
const N_SETS: usize = 64;
const N_WAYS: usize = 4;

/// Bits of the distance of a stored byte, which is its symbol without palette: twice its distance from the zero point,
/// plus 1 below it.
const DISTANCE_BITS: u32 = 9;

/// Order by frequency, the most frequent first; of equally frequent values, the larger first.
pub(super) fn by_count(
    (value, count): &(usize, f64),
    (other, other_count): &(usize, f64),
) -> Ordering {
    other_count.total_cmp(count).then(other.cmp(value))
}

/// The values of a distribution, the most frequent ones first, independent of the number of weights. All streams of a
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
    /// Pairs (distance, count in the sample) of values other than 0: first those that a palette may have, as
    /// [`by_count`] sorts them, then all less frequent ones in any order.
    pub others: Vec<(usize, f64)>,
    /// Largest and least distance of [`Self::others`].
    pub distances: Option<[usize; 2]>,
    /// Sums of the first counts of [`Self::others`], as many as a palette may have.
    pub n_first: [f64; PALETTE_SIZE + 1],
    symbols: RefCell<Vec<NonzeroSymbols>>,
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
                .get_or_insert_with(|| Rc::new(Self::from_histogram(histogram)))
                .clone()
        })
    }

    fn from_histogram(histogram: &ByteHistogram) -> Self {
        let zero = histogram.zero;
        let n_above = if histogram.is_signed {
            i8::MAX.abs_diff(zero as i8)
        } else {
            u8::MAX - zero
        };
        let above = (1..=n_above).map(|steps| (zero.wrapping_add(steps), 2 * u64::from(steps)));
        let below = (1..=u8::MAX - n_above)
            .map(|steps| (zero.wrapping_sub(steps), 2 * u64::from(steps) + 1));
        // A value that does not occur is overwritten by the next one: its branch could not be predicted.
        let mut values = [0u64; 256];
        let mut n_values = 0;
        let mut add = |(byte, distance): (u8, u64)| {
            let count = histogram.counts[usize::from(byte)];
            values[n_values] = count << DISTANCE_BITS | distance;
            n_values += usize::from(count > 0);
        };
        above.for_each(&mut add);
        below.for_each(&mut add);
        let values = &mut values[..n_values];
        // As `by_count` sorts them, in one number: such are compared in half of the time.
        let most_first = |one: &u64, other: &u64| other.cmp(one);
        let n_first = values.len().min(PALETTE_SIZE);
        if n_first < values.len() {
            values.select_nth_unstable_by(n_first, most_first);
        }
        values[..n_first].sort_unstable_by(most_first);
        let pair = |value: u64| {
            let distance = value & ((1 << DISTANCE_BITS) - 1);
            (distance as usize, (value >> DISTANCE_BITS) as f64)
        };
        let others = values.iter().copied().map(pair).collect();
        let n_zeros = histogram.counts[usize::from(histogram.zero)] as f64;
        Self::new(histogram, n_zeros, others)
    }

    fn new(histogram: &ByteHistogram, n_zeros: f64, others: Vec<(usize, f64)>) -> Self {
        let n_others: f64 = others.iter().map(|&(_, count)| count).sum();
        let distances = || others.iter().map(|&(distance, _)| distance);
        let mut n_first = [0.0; PALETTE_SIZE + 1];
        for (idx, &(_, count)) in others.iter().take(PALETTE_SIZE).enumerate() {
            n_first[idx + 1] = n_first[idx] + count;
        }
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
            n_first,
            symbols: RefCell::default(),
        }
    }

    /// The ranked values of no weights.
    pub fn empty() -> Self {
        let histogram = ByteHistogram {
            counts: Arc::new([0; 256]),
            zero: 0,
            is_signed: true,
            n_bytes: 0,
            is_sparse: false,
        };
        Self::new(&histogram, 0.0, Vec::new())
    }

    fn is_of(&self, histogram: &ByteHistogram) -> bool {
        Arc::ptr_eq(&self.counts, &histogram.counts)
            && self.zero == histogram.zero
            && self.is_signed == histogram.is_signed
    }

    /// Whether there are zeros, and how many of the values that a palette may have are more frequent.
    pub fn rank_of_zeros(&self, n_zeros: f64) -> Option<usize> {
        let is_before = |other: &(usize, f64)| by_count(other, &(0, n_zeros)).is_lt();
        let first = &self.others[..self.others.len().min(PALETTE_SIZE)];
        (n_zeros > 0.0).then(|| first.partition_point(is_before))
    }

    /// The symbols of [`Self::others`].
    pub fn nonzero_symbols(&self, coding: Coding) -> NonzeroSymbols {
        let mut symbols = self.symbols.borrow_mut();
        let known = symbols.iter().find(|others| others.coding == coding);
        known.copied().unwrap_or_else(|| {
            let others = NonzeroSymbols::new(&self.others, coding);
            symbols.push(others);
            others
        })
    }

    /// As of `scale` times as many weights.
    #[cfg(test)]
    pub fn scaled(histogram: &ByteHistogram, scale: f64) -> Self {
        let ranked = Self::from_histogram(histogram);
        let others = ranked.others.iter();
        let others = others.map(|&(distance, count)| (distance, count * scale));
        Self::new(histogram, ranked.n_zeros * scale, others.collect())
    }
}
