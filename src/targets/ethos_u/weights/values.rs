//! The values of a weight stream, and their bits in the chosen code.

use std::cell::RefCell;
use std::hash::BuildHasher;

use foldhash::fast::FixedState;

use super::brick::ZeroRuns;
use super::ranked::Ranked;
use super::symbols::Symbols;
use crate::graph::analysis::ByteHistogram;

/// Runs of zeros are coded if zeros are this many times as frequent as any other value.
const RUN_THRESHOLD: f64 = 5.0;
/// Most bits of the remainder of a run's length in its Golomb-Rice code.
const MAX_RUN_REMAINDER_BITS: i32 = 3;
/// Bits that another code of runs must have saved before the encoder takes it.
const CHANGE_BITS: f64 = 40.0;
/// Maximum number of cached streams, of 2 kB each if no two share a distribution: those of operators that share their
/// weights, or whose weights are known only by their distribution.
const MAX_SAMPLES: usize = 256;
/// Parts of a weight to which the zeros of a stream are rounded where they are scaled, so that whole numbers stay
/// whole.
const PARTS_OF_A_WEIGHT: f64 = 1_048_576.0;

/// The values of a weight stream.
#[derive(Clone, Copy)]
pub(super) struct StreamValues {
    pub n_zeros: f64,
    pub n_distinct: usize,
    pub header_bits: f64,
    /// Of all values in their code, without headers.
    pub bits: f64,
}

/// The values of the weights that a histogram counts, and of the zeros among them: those of a stream are as many times
/// more as it has weights, except for the bits of runs.
#[derive(Clone, Copy)]
struct WeightStatistics {
    n_weights: f64,
    /// Whether zeros are coded as runs between the other values.
    has_runs: bool,
    /// Zeros with another zero beside them, by how the stream is padded.
    n_zeros_in_runs: f64,
    n_zeros: f64,
    n_others: f64,
    n_distinct: usize,
    header_bits: f64,
    /// Of all values that are no zeros of runs.
    symbol_bits: f64,
}

/// The key that determines a sample.
#[derive(PartialEq)]
struct SampleKey {
    /// The histogram without its number of bytes, which does not matter.
    histogram: ByteHistogram,
    /// Zeros added for each stored weight.
    padding: f64,
    /// Their runs for each stored weight.
    zero_runs: [ZeroRuns; 4],
    /// Whether rare values have a code of their own.
    leaves_rare: bool,
}

/// A cached sample.
struct CachedSample {
    hash: u64,
    padded: SampleKey,
    sample: WeightStatistics,
}

impl StreamValues {
    /// The values of `n_weights` weights with the distribution of a histogram and of `padding` zeros, some of which
    /// form `zero_runs`, the `last_runs` among them. Streams that differ only in size share an entry of this thread's cache.
    pub fn cached(
        histogram: &ByteHistogram,
        n_weights: f64,
        padding: f64,
        zero_runs: &[ZeroRuns; 4],
        leaves_rare: bool,
        last_runs: ZeroRuns,
    ) -> Self {
        thread_local! {
            static CACHE: RefCell<Vec<Option<CachedSample>>> = const { RefCell::new(Vec::new()) };
        }
        if n_weights == 0.0 {
            let empty = WeightStatistics::new(&Ranked::empty(), padding, zero_runs, leaves_rare);
            return empty.values(1.0, zero_runs, last_runs);
        }
        let padded = SampleKey {
            histogram: ByteHistogram {
                n_bytes: 0,
                ..histogram.clone()
            },
            padding: padding / n_weights,
            zero_runs: zero_runs.map(|runs| runs.with_count(|count| count / n_weights)),
            leaves_rare,
        };
        let hash = padded.hash();
        let sample = CACHE.with_borrow_mut(|entries| {
            entries.resize_with(MAX_SAMPLES, || None);
            let entry = &mut entries[(hash % MAX_SAMPLES as u64) as usize];
            // Comparing histograms takes longer than hashing a part of them.
            let is_known = |known: &CachedSample| known.hash == hash && known.padded == padded;
            match entry.as_ref().filter(|known| is_known(known)) {
                Some(known) => known.sample,
                None => {
                    let sample = padded.sample();
                    *entry = Some(CachedSample {
                        hash,
                        padded,
                        sample,
                    });
                    sample
                }
            }
        });
        sample.values(n_weights / sample.n_weights, zero_runs, last_runs)
    }
}

impl SampleKey {
    fn hash(&self) -> u64 {
        let key = (
            &self.histogram.counts[..8],
            self.padding.to_bits(),
            self.zero_runs.map(|runs| runs.count.to_bits()),
            self.leaves_rare,
        );
        FixedState::default().hash_one(key)
    }

    fn sample(&self) -> WeightStatistics {
        let ranked = Ranked::cached(&self.histogram);
        let parts = ranked.n_sampled * PARTS_OF_A_WEIGHT;
        let times = |share: f64| (share * parts).round() / PARTS_OF_A_WEIGHT;
        let zero_runs = self.zero_runs.map(|runs| runs.with_count(times));
        WeightStatistics::new(&ranked, times(self.padding), &zero_runs, self.leaves_rare)
    }
}

impl WeightStatistics {
    /// Of ranked weights, `padding` zeros, and runs of these.
    fn new(ranked: &Ranked, padding: f64, zero_runs: &[ZeroRuns], leaves_rare: bool) -> Self {
        let n_zeros = ranked.n_zeros + padding.max(0.0);
        let n_distinct = ranked.others.len() + usize::from(n_zeros > 0.0);
        let n_all = ranked.n_others + n_zeros;
        let most_frequent = ranked.others.first().map_or(0.0, |&(_, count)| count);
        let runs = zero_runs.iter().filter(|runs| runs.length > 1.0);
        let n_zeros_in_runs = runs.map(|runs| runs.length * runs.count).sum::<f64>();
        let n_zeros_in_runs = n_zeros_in_runs.min(padding);
        // Among the other zeros, this many have a zero beside them by chance.
        let n_scattered = n_zeros - n_zeros_in_runs;
        let alone = (1.0 - n_scattered / (n_all - n_zeros_in_runs).max(1.0)).powi(2);
        let n_beside = n_zeros_in_runs + n_scattered * (1.0 - alone);
        let has_runs = n_zeros > RUN_THRESHOLD * most_frequent && n_beside >= n_zeros / 2.0;
        let symbols = Symbols::new(ranked, if has_runs { 0.0 } else { n_zeros });
        Self {
            n_weights: ranked.n_sampled,
            has_runs,
            n_zeros_in_runs,
            n_zeros,
            n_others: n_all - n_zeros,
            n_distinct,
            header_bits: symbols.header_bits(),
            symbol_bits: symbols.bits(if has_runs { &[] } else { zero_runs }, leaves_rare),
        }
    }

    /// Of a stream with `scale` times as many weights, and these runs of zeros.
    fn values(&self, scale: f64, zero_runs: &[ZeroRuns], last_runs: ZeroRuns) -> StreamValues {
        let run_bits = if self.has_runs {
            self.run_bits(scale, zero_runs, last_runs)
        } else {
            0.0
        };
        StreamValues {
            n_zeros: self.n_zeros * scale,
            n_distinct: self.n_distinct,
            header_bits: self.header_bits,
            bits: self.symbol_bits * scale + run_bits,
        }
    }

    /// Bits of the runs of zeros: those that padding makes, and others whose lengths have a geometric
    /// distribution, as they do by chance. The encoder chooses their code before it knows the last run of a stream.
    fn run_bits(&self, scale: f64, zero_runs: &[ZeroRuns], last_runs: ZeroRuns) -> f64 {
        let n_others = self.n_others * scale;
        let n_zeros_in_runs = self.n_zeros_in_runs * scale;
        let mean = (self.n_zeros * scale - n_zeros_in_runs) / n_others.max(1.0);
        let share = mean / (1.0 + mean);
        let coded = |remainder_bits: i32| {
            let step = f64::from(1 << remainder_bits);
            // Its power by squares: `powf` takes longer than all else here, and is rounded otherwise in browsers.
            let whole = (0..remainder_bits).fold(share, |power, _| power * power);
            let quotient = whole / (1.0 - whole).max(f64::EPSILON);
            let by_chance = 1.0 + f64::from(remainder_bits) + quotient;
            let quotients = |runs: &ZeroRuns| (runs.length / step).floor() * runs.count;
            let filled = zero_runs.iter().map(quotients).sum::<f64>();
            let bits = by_chance * (n_others + 1.0) + filled.min(n_zeros_in_runs);
            (bits - quotients(&last_runs), bits)
        };
        let at_first = coded(0);
        let later = (1..=MAX_RUN_REMAINDER_BITS).map(coded);
        let best = later.fold(
            at_first,
            |best, one| if one.0 < best.0 { one } else { best },
        );
        if best.0 + CHANGE_BITS * last_runs.count < at_first.0 || last_runs.count == 0.0 {
            best.1
        } else {
            at_first.1
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::brick::NO_ZERO_RUNS;
    use super::*;

    /// More streams than the cache holds. Each occurs twice, and twice in a row, with the number of weights that were
    /// counted and with more.
    #[test]
    fn cached_streams_equal_computed_ones() {
        let mut n_compared = 0;
        let mut largest = 0.0f64;
        for seed in (0..400_u64).chain(0..400) {
            let mut counts: [u64; 256] =
                std::array::from_fn(|byte| (byte as u64 * 37 + 1) * (seed / 8) % 251);
            counts[200] = seed + 1;
            let n_counted = counts.iter().sum::<u64>() as usize;
            let histogram = ByteHistogram {
                counts: Arc::new(counts),
                zero: 0,
                is_signed: seed % 2 == 0,
                n_bytes: n_counted * (1 + seed as usize % 3),
                is_sparse: false,
            };
            let scale = (1 + seed % 3) as f64;
            let zero_runs = [ZeroRuns {
                length: (seed % 5) as f64,
                count: 100.0 * scale,
            }; 4];
            for padding in [0.0, 512.0 * scale, 512.0 * scale] {
                let ranked = Ranked::scaled(&histogram, scale);
                let leaves_rare = seed % 3 == 0;
                let anew = WeightStatistics::new(&ranked, padding, &zero_runs, leaves_rare);
                let last_runs = NO_ZERO_RUNS[0];
                let anew = anew.values(1.0, &zero_runs, last_runs);
                let n_weights = histogram.n_bytes as f64;
                let cached = StreamValues::cached(
                    &histogram,
                    n_weights,
                    padding,
                    &zero_runs,
                    leaves_rare,
                    last_runs,
                );
                assert_eq!(cached.n_distinct, anew.n_distinct, "stream {seed}");
                assert_eq!(cached.header_bits, anew.header_bits, "stream {seed}");
                largest = largest.max((cached.bits - anew.bits).abs() / anew.bits.max(1.0));
                n_compared += 1;
            }
        }
        let empty = ByteHistogram {
            counts: Arc::new([0; 256]),
            zero: 0,
            is_signed: true,
            n_bytes: 4096,
            is_sparse: false,
        };
        let uncounted = StreamValues::cached(
            &empty,
            empty.n_bytes as f64,
            0.0,
            &[ZeroRuns {
                length: 0.0,
                count: 0.0,
            }; 4],
            true,
            NO_ZERO_RUNS[0],
        );
        assert_eq!(uncounted.bits, 0.0, "a distribution without values");
        println!(
            "{n_compared} streams compared, at most {MAX_SAMPLES} cached: largest difference {largest:e}"
        );
        assert!(largest < 1e-12);
    }
}
