//! Statistics of the stored values of a constant, from a sample if the constant is large.

use std::sync::{Arc, OnceLock};

use super::histogram::ByteHistogram;
use crate::formats::tflite::{Buffer, Tensor, TensorType};

/// Maximum number of stored units (bytes, or values wider than a byte) that are sampled in one constant. Larger
/// constants are sampled at a fixed stride. With this number, the standard deviation and the entropy of a sample are
/// within about 0.3 % of those of the whole, and a 20 MB file costs a few milliseconds.
pub const MAX_SAMPLES_PER_TENSOR: usize = 1 << 16;

/// The key of [`weight_stats`]: all that they depend on except the size. Tensors that share a buffer, or a
/// distribution, share their statistics, which are computed once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct WeightStatsKey {
    values: StoredValues,
    tensor_type: TensorType,
    zero_point: i64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum StoredValues {
    Buffer(usize),
    /// Address of the counts of weights that are only described.
    Distribution(usize),
}

impl WeightStatsKey {
    pub fn new(buffer: &Buffer, tensor: &Tensor) -> Self {
        Self {
            values: match buffer {
                Buffer::Described { counts, .. } => {
                    StoredValues::Distribution(Arc::as_ptr(counts).addr())
                }
                Buffer::Stored(_) => StoredValues::Buffer(tensor.buffer_idx),
            },
            tensor_type: tensor.tensor_type,
            zero_point: zero_point(tensor),
        }
    }

    /// The same key for all tensors whose histograms have the same counts, including those with different zero points.
    pub fn ignoring_zero_point(self) -> Self {
        Self {
            zero_point: 0,
            ..self
        }
    }
}

/// Units of a constant that [`weight_stats`] looks at, at most.
pub fn n_samples(buffer: &Buffer) -> usize {
    buffer.bytes().len().min(MAX_SAMPLES_PER_TENSOR)
}

/// The byte that stands for 0 in the histogram of a tensor.
pub fn zero_byte(tensor: &Tensor) -> u8 {
    zero_point(tensor) as f64 as i64 as u8
}

fn zero_point(tensor: &Tensor) -> i64 {
    let quantization = tensor.quantization.as_ref();
    let first = quantization.and_then(|quantization| quantization.zero_point.first());
    first.copied().unwrap_or(0)
}

/// Statistics of a weight tensor's values.
#[derive(Clone, Debug)]
pub struct WeightStats {
    pub histogram: Arc<ByteHistogram>,
    source: Source,
    spread: Arc<OnceLock<Spread>>,
}

/// How much values differ.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// Standard deviation in stored units (int8 steps), or in real units for floats.
    pub std: f32,
    /// Share of values equal to the zero point, 0 to 1.
    pub zero_share: f32,
    /// Entropy of the stored bytes' histogram, 0 to 8 bits per byte.
    pub entropy_bits: f32,
}

/// The sums of values, or the type of values for which the histogram is sufficient.
#[derive(Clone, Copy, Debug)]
enum Source {
    Histogram {
        tensor_type: TensorType,
        zero_point: f64,
    },
    Sums(Sums),
}

impl WeightStats {
    /// Computed for the first caller, because only the trained network needs it.
    pub fn spread(&self) -> &Spread {
        self.spread.get_or_init(|| {
            let counts = &self.histogram.counts;
            let sums = match self.source {
                Source::Sums(sums) => sums,
                Source::Histogram {
                    tensor_type,
                    zero_point,
                } => sums_of_bytes(counts, tensor_type, zero_point),
            };
            sums.spread(entropy_bits(counts))
        })
    }

    fn new(histogram: ByteHistogram, source: Source) -> Self {
        Self {
            histogram: Arc::new(histogram),
            source,
            spread: Arc::default(),
        }
    }

    /// The same values in a constant of another size.
    pub(super) fn resized(self: &Arc<Self>, n_bytes: u64) -> Arc<Self> {
        let histogram = ByteHistogram::resized(&self.histogram, n_bytes);
        if Arc::ptr_eq(&histogram, &self.histogram) {
            return self.clone();
        }
        Arc::new(Self {
            histogram,
            ..(**self).clone()
        })
    }
}

impl PartialEq for WeightStats {
    fn eq(&self, other: &Self) -> bool {
        self.histogram == other.histogram && self.spread() == other.spread()
    }
}

/// Statistics of `buffer`, which is the buffer of `tensor`; `None` without values, or of a type without numbers.
/// Weights that are only described have statistics if they are of an 8-bit type.
pub fn weight_stats(buffer: &Buffer, tensor: &Tensor) -> Option<WeightStats> {
    match buffer {
        Buffer::Stored(_) => stats_of_bytes(buffer.bytes(), tensor),
        Buffer::Described {
            n_bytes, counts, ..
        } => {
            let is_known = matches!(tensor.tensor_type, TensorType::Int8 | TensorType::UInt8);
            let n_bytes = usize::try_from(*n_bytes).unwrap_or(usize::MAX);
            (is_known && counts.iter().any(|&n| n > 0))
                .then(|| stats_of_counts(counts.clone(), tensor, n_bytes))
        }
    }
}

/// Statistics of the values in `bytes`, the contents of `tensor`'s buffer.
fn stats_of_bytes(bytes: &[u8], tensor: &Tensor) -> Option<WeightStats> {
    match tensor.tensor_type {
        TensorType::Int8
        | TensorType::UInt8
        | TensorType::Bool
        | TensorType::Int4
        | TensorType::UInt4
        | TensorType::Int2 => (!bytes.is_empty()).then(|| {
            let mut counted = byte_histogram(Arc::new(histogram(bytes)), tensor, bytes.len());
            counted.is_sparse = is_sparse(bytes, tensor);
            WeightStats::new(counted, source_of_counts(tensor))
        }),
        _ => stats_of_wide(bytes, tensor),
    }
}

/// Statistics of values of which a byte has one or several, from the counts of bytes.
fn stats_of_counts(counts: Arc<[u64; 256]>, tensor: &Tensor, n_bytes: usize) -> WeightStats {
    let counted = byte_histogram(counts, tensor, n_bytes);
    WeightStats::new(counted, source_of_counts(tensor))
}

fn source_of_counts(tensor: &Tensor) -> Source {
    Source::Histogram {
        tensor_type: tensor.tensor_type,
        zero_point: zero_point(tensor) as f64,
    }
}

/// See [`ByteHistogram::is_sparse`]. Ends at the first four channels that are not: after one or two in most constants.
fn is_sparse(bytes: &[u8], tensor: &Tensor) -> bool {
    let zero_point = zero_point(tensor);
    let value = |byte: u8| match tensor.tensor_type {
        TensorType::Int8 => i64::from(byte as i8).checked_sub(zero_point),
        TensorType::UInt8 => i64::from(byte).checked_sub(zero_point),
        _ => None,
    };
    let is_sparse = |channels: &[u8]| {
        let mut values = channels.iter().map(|&byte| value(byte));
        let n_used = values.clone().filter(|&value| value != Some(0)).count();
        n_used <= 2 && values.all(|value| value.is_some_and(|value| value.unsigned_abs() <= 127))
    };
    let depth = (tensor.shape.last()).map_or(0, |&depth| usize::try_from(depth).unwrap_or(0));
    depth > 2 && (bytes.chunks(depth)).all(|position| position.chunks(4).all(is_sparse))
}

fn byte_histogram(counts: Arc<[u64; 256]>, tensor: &Tensor, n_bytes: usize) -> ByteHistogram {
    ByteHistogram {
        counts,
        zero: zero_byte(tensor),
        is_signed: tensor.tensor_type != TensorType::UInt8,
        n_bytes,
        is_sparse: false,
    }
}

/// Statistics of values that take several bytes.
fn stats_of_wide(bytes: &[u8], tensor: &Tensor) -> Option<WeightStats> {
    let mut sample = WideSample::new(zero_point(tensor) as f64);
    match tensor.tensor_type {
        TensorType::Int16 => sample.add(bytes, |b| i16::from_le_bytes(b).into()),
        TensorType::UInt16 => sample.add(bytes, |b| u16::from_le_bytes(b).into()),
        TensorType::Float16 => sample.add(bytes, |b| float16(b).into()),
        TensorType::BFloat16 => sample.add(bytes, |b| half::bf16::from_le_bytes(b).into()),
        TensorType::Float32 => sample.add(bytes, |b| f32::from_le_bytes(b).into()),
        TensorType::Int32 => sample.add(bytes, |b| i32::from_le_bytes(b).into()),
        TensorType::UInt32 => sample.add(bytes, |b| u32::from_le_bytes(b).into()),
        TensorType::Int64 => sample.add(bytes, |b| i64::from_le_bytes(b) as f64),
        TensorType::UInt64 => sample.add(bytes, |b| u64::from_le_bytes(b) as f64),
        TensorType::Float64 => sample.add(bytes, f64::from_le_bytes),
        _ => return None,
    }
    let WideSample { sums, histogram } = sample;
    let histogram = byte_histogram(Arc::new(histogram), tensor, bytes.len());
    (sums.n_values > 0.0).then(|| WeightStats::new(histogram, Source::Sums(sums)))
}

/// Sums over the values of bytes with these counts; of no values for a type of which a value takes several bytes. Zero
/// points that differ between channels are taken to be the first one's (the quantisation specification allows only 0
/// there).
fn sums_of_bytes(counts: &[u64; 256], tensor_type: TensorType, zero_point: f64) -> Sums {
    let mut sums = Sums::new(zero_point);
    match tensor_type {
        TensorType::Int8 => sums.add_bytes(counts, |byte| [f64::from(byte as i8)]),
        TensorType::UInt8 | TensorType::Bool => sums.add_bytes(counts, |byte| [f64::from(byte)]),
        TensorType::Int4 => sums.add_bytes(counts, int4_values),
        TensorType::UInt4 => {
            sums.add_bytes(counts, |byte| [byte & 15, byte >> 4].map(f64::from));
        }
        TensorType::Int2 => sums.add_bytes(counts, int2_values),
        _ => {}
    }
    sums
}

/// Two's complement, low bits first.
fn int4_values(byte: u8) -> [f64; 2] {
    [byte << 4, byte].map(|high| f64::from((high as i8) >> 4))
}

fn int2_values(byte: u8) -> [f64; 4] {
    [byte << 6, byte << 4, byte << 2, byte].map(|high| f64::from((high as i8) >> 6))
}

/// The number of a float16, little-endian; NaN for what is not finite. Moves the exponent's bias from 15 to 127 by a multiplication, which also makes numbers of the
/// subnormal ones: several times faster than case by case, where there is no instruction for it.
pub fn float16(bytes: [u8; 2]) -> f32 {
    let bits = u32::from(u16::from_le_bytes(bytes));
    let magnitude = f32::from_bits((bits & 0x7FFF) << 13) * f32::from_bits((254 - 15) << 23);
    match (bits & 0x7C00 == 0x7C00, bits & 0x8000 != 0) {
        (true, _) => f32::NAN,
        (_, false) => magnitude,
        (_, true) => -magnitude,
    }
}

/// Sums from which the statistics follow.
#[derive(Clone, Copy, Debug)]
struct Sums {
    zero_point: f64,
    /// Finite values.
    n_values: f64,
    sum: f64,
    sum_of_squares: f64,
    n_zeros: f64,
}

impl Sums {
    fn new(zero_point: f64) -> Self {
        Self {
            zero_point,
            n_values: 0.0,
            sum: 0.0,
            sum_of_squares: 0.0,
            n_zeros: 0.0,
        }
    }

    /// Adds `n` equal values. Values that are not finite are left out of the deviation.
    fn add(&mut self, value: f64, n: f64) {
        let offset = value - self.zero_point;
        if (offset as f32).is_finite() {
            self.n_values += n;
            self.sum += n * offset;
            self.sum_of_squares += n * offset * offset;
            self.n_zeros += if offset == 0.0 { n } else { 0.0 };
        }
    }

    /// Adds bytes with `N` values each.
    fn add_bytes<const N: usize>(&mut self, counts: &[u64; 256], values: impl Fn(u8) -> [f64; N]) {
        for (byte, &n_bytes) in (0..=u8::MAX).zip(counts) {
            for value in values(byte) {
                self.add(value, n_bytes as f64);
            }
        }
    }

    fn spread(&self, entropy_bits: f32) -> Spread {
        let mean = self.sum / self.n_values;
        let variance = (self.sum_of_squares / self.n_values - mean * mean).max(0.0);
        Spread {
            std: variance.sqrt() as f32,
            zero_share: (self.n_zeros / self.n_values) as f32,
            entropy_bits,
        }
    }
}

/// Values that take several bytes.
struct WideSample {
    sums: Sums,
    histogram: [u64; 256],
}

impl WideSample {
    fn new(zero_point: f64) -> Self {
        Self {
            sums: Sums::new(zero_point),
            histogram: [0; 256],
        }
    }

    /// Adds values of `N` bytes, little endian.
    fn add<const N: usize>(&mut self, bytes: &[u8], value: impl Fn([u8; N]) -> f64) {
        let (values, _) = bytes.as_chunks::<N>();
        let mut tables = [[0u32; 256]; N];
        for stored in values.iter().step_by(stride(values.len())) {
            self.sums.add(value(*stored), 1.0);
            count_bytes(&mut tables, stored);
        }
        self.histogram = sum_of_tables(&tables);
    }
}

/// Constants of fewer bytes are counted in one table: adding up several would take longer.
const FEW_BYTES: usize = 1024;

fn histogram(bytes: &[u8]) -> [u64; 256] {
    if bytes.len() < FEW_BYTES {
        let mut table = [0u64; 256];
        bytes.iter().for_each(|&byte| table[usize::from(byte)] += 1);
        return table;
    }
    let mut tables = [[0u32; 256]; 4];
    match stride(bytes.len()) {
        1 => {
            let (groups, rest) = bytes.as_chunks::<4>();
            groups
                .iter()
                .for_each(|group| count_bytes(&mut tables, group));
            count_bytes(&mut tables, rest);
        }
        stride => bytes
            .iter()
            .step_by(stride)
            .for_each(|&byte| tables[0][usize::from(byte)] += 1),
    }
    sum_of_tables(&tables)
}

/// Counts with one table for each position, because consecutive equal bytes in a single table would have to wait for
/// each other's store.
fn count_bytes<const N: usize>(tables: &mut [[u32; 256]; N], bytes: &[u8]) {
    for (table, &byte) in tables.iter_mut().zip(bytes) {
        table[usize::from(byte)] += 1;
    }
}

fn sum_of_tables<const N: usize>(tables: &[[u32; 256]; N]) -> [u64; 256] {
    std::array::from_fn(|bin| tables.iter().map(|table| u64::from(table[bin])).sum())
}

fn entropy_bits(histogram: &[u64; 256]) -> f32 {
    /// Number of cached logarithms. In small constants many bytes occur equally often, and the logarithm is the slowest
    /// operation here.
    const N_KNOWN: usize = 64;
    let total: u64 = histogram.iter().sum();
    let term = |n: u64| {
        let share = n as f64 / total as f64;
        -share * share.log2()
    };
    let mut known = [None; N_KNOWN];
    let terms = histogram.iter().filter(|&&n| n > 0);
    let terms = terms.map(|&n| match known.get_mut(n as usize) {
        Some(known) => *known.get_or_insert_with(|| term(n)),
        None => term(n),
    });
    terms.sum::<f64>().max(0.0) as f32
}

/// 1, or a prime: a stride that shares a factor with the number of channels would look at some
/// channels only.
fn stride(n_units: usize) -> usize {
    let at_least = n_units.div_ceil(MAX_SAMPLES_PER_TENSOR).max(1);
    let is_prime = |n: &usize| {
        (2..)
            .take_while(|d| d * d <= *n)
            .all(|d| !n.is_multiple_of(d))
    };
    (at_least..).find(is_prime).unwrap_or(at_least)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use proptest::test_runner::{RngAlgorithm, TestRng};

    use super::*;
    use crate::graph::analysis::fixtures::{for_each, tensor};

    fn check(tensor_type: TensorType, bytes: &[u8], values: &[f64]) {
        let stats = stats_of_bytes(bytes, &tensor(tensor_type, &[values.len() as i32])).unwrap();
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        let variance = values
            .iter()
            .map(|value| (value - mean).powi(2))
            .sum::<f64>()
            / values.len() as f64;
        let zero_share =
            values.iter().filter(|value| **value == 0.0).count() as f64 / values.len() as f64;
        let entropy: f64 = (0..=255u8)
            .map(|byte| {
                bytes.iter().filter(|other| **other == byte).count() as f64 / bytes.len() as f64
            })
            .filter(|share| *share > 0.0)
            .map(|share| -share * share.log2())
            .sum();
        let Spread {
            std,
            zero_share: found_share,
            entropy_bits,
        } = *stats.spread();
        let difference = [
            (f64::from(std) - variance.sqrt()).abs() / variance.sqrt().max(1.0),
            (f64::from(found_share) - zero_share).abs(),
            (f64::from(entropy_bits) - entropy).abs(),
        ];
        println!("{tensor_type:?}: differences of std, zero share and entropy {difference:?}");
        assert!(
            difference.iter().all(|difference| *difference < 1e-5),
            "{tensor_type:?}: {stats:?}"
        );
    }

    #[test]
    fn statistics_match_their_definitions() {
        // Small values more often than large ones, as in weights.
        let byte = (any::<u8>(), any::<u8>()).prop_map(|(one, other)| one & other);
        for_each(
            16,
            proptest::collection::vec(byte, 512..=4096),
            |mut bytes| {
                bytes.truncate(bytes.len() & !3);
                check_all_types(&bytes);
            },
        );
    }

    /// The bytes as values of each type.
    fn check_all_types(bytes: &[u8]) {
        let int8: Vec<f64> = bytes.iter().map(|&byte| f64::from(byte as i8)).collect();
        check(TensorType::Int8, bytes, &int8);
        let uint8: Vec<f64> = bytes.iter().map(|&byte| f64::from(byte)).collect();
        check(TensorType::UInt8, bytes, &uint8);
        let signed = |nibble: u8| f64::from(nibble) - if nibble > 7 { 16.0 } else { 0.0 };
        let int4: Vec<f64> = bytes
            .iter()
            .flat_map(|&byte| [signed(byte % 16), signed(byte / 16)])
            .collect();
        check(TensorType::Int4, bytes, &int4);
        let int16: Vec<f64> = bytes
            .chunks(2)
            .map(|b| f64::from(i16::from_le_bytes([b[0], b[1]])))
            .collect();
        check(TensorType::Int16, bytes, &int16);
        let floats: Vec<f32> = int8.iter().map(|&value| value as f32 * 0.125).collect();
        let stored: Vec<u8> = floats
            .iter()
            .flat_map(|value| value.to_le_bytes())
            .collect();
        check(
            TensorType::Float32,
            &stored,
            &floats
                .iter()
                .map(|&value| f64::from(value))
                .collect::<Vec<_>>(),
        );
        let halves: Vec<u8> = floats
            .iter()
            .flat_map(|&v| half::f16::from_f32(v).to_le_bytes())
            .collect();
        check(
            TensorType::Float16,
            &halves,
            &floats
                .iter()
                .map(|&value| f64::from(value))
                .collect::<Vec<_>>(),
        );
    }

    #[test]
    fn every_half_precision_number_is_read_as_the_half_crate_reads_it() {
        for bits in 0..=u16::MAX {
            let (ours, theirs) = (float16(bits.to_le_bytes()), half::f16::from_bits(bits));
            let same = ours.to_bits() == theirs.to_f32().to_bits();
            assert!(
                same || !theirs.is_finite() && ours.is_nan(),
                "{bits:#06x}: {ours} and {theirs}"
            );
        }
    }

    #[test]
    fn a_sample_of_a_large_constant_is_close_to_the_whole() {
        // 32 channels of different spread, in the innermost dimension.
        let mut rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
        let mut value = |channel: usize| {
            let numbers = rng.next_u32().to_le_bytes();
            let bell = numbers
                .iter()
                .map(|number| i64::from(number % 64))
                .sum::<i64>()
                - 126;
            (bell * (1 + channel as i64) / 32) as i8 as u8
        };
        let bytes: Vec<u8> = (0..32 * 100_000)
            .map(|position| value(position % 32))
            .collect();
        let sampled =
            stats_of_bytes(&bytes, &tensor(TensorType::Int8, &[bytes.len() as i32])).unwrap();
        let mut sums = Sums::new(0.0);
        let mut counts = [0; 256];
        bytes.iter().for_each(|&byte| {
            sums.add(f64::from(byte as i8), 1.0);
            counts[usize::from(byte)] += 1;
        });
        let (sampled, whole) = (sampled.spread(), sums.spread(entropy_bits(&counts)));
        println!("sampled {sampled:?}, whole {whole:?}");
        assert!((sampled.std / whole.std - 1.0).abs() < 0.01);
        assert!((sampled.zero_share - whole.zero_share).abs() < 0.005);
        assert!((sampled.entropy_bits - whole.entropy_bits).abs() < 0.01);
    }

    #[test]
    fn weights_are_sparse_if_two_of_four_channels_are_zero() {
        let is_sparse = |bytes: &[u8], shape: &[i32]| {
            let stats = stats_of_bytes(bytes, &tensor(TensorType::Int8, shape));
            stats.unwrap().histogram.is_sparse
        };
        assert!(is_sparse(&[1, 0, 0, 2, 3, 4, 0, 0], &[2, 4]));
        assert!(!is_sparse(&[1, 0, 0, 2, 3, 4, 0, 5], &[2, 4]));
        // The groups of four begin anew at each position.
        assert!(is_sparse(&[0, 0, 1, 1, 2, 1, 1, 0, 0, 3], &[2, 5]));
        assert!(!is_sparse(&[0, 0, 1, 1, 2, 1, 1, 0, 0, 3], &[1, 10]));
        assert!(!is_sparse(&[0x80, 0, 0, 0], &[1, 4]));
    }

    #[test]
    fn zero_points_shift_the_zeros_and_not_the_spread() {
        let mut quantised = tensor(TensorType::UInt8, &[4]);
        quantised.quantization = Some(Arc::new(crate::formats::tflite::Quantization {
            scale: vec![1.0],
            zero_point: vec![128],
            quantized_dimension: 0,
        }));
        let stats = stats_of_bytes(&[128, 128, 130, 126], &quantised).unwrap();
        let spread = stats.spread();
        assert_eq!((spread.zero_share, spread.std), (0.5, 2f32.sqrt()));
    }

    #[test]
    fn odd_contents_give_finite_numbers_or_none() {
        let stats = |tensor_type, bytes: &[u8]| stats_of_bytes(bytes, &tensor(tensor_type, &[1]));
        assert_eq!(stats(TensorType::Float32, &f32::NAN.to_le_bytes()), None);
        assert_eq!(stats(TensorType::Float32, &[1, 2, 3]), None);
        assert_eq!(stats(TensorType::Int8, &[]), None);
        assert_eq!(stats(TensorType::String, &[1, 2, 3, 4]), None);
        let extremes: Vec<u8> = [f64::MAX, -f64::MAX, 1.0, f64::INFINITY]
            .iter()
            .flat_map(|v| v.to_le_bytes())
            .collect();
        let std = |tensor_type, bytes: &[u8]| stats(tensor_type, bytes).unwrap().spread().std;
        assert!(std(TensorType::Float64, &extremes).is_finite());
        let floats: Vec<u8> = [f32::MAX, -f32::MAX]
            .iter()
            .flat_map(|v| v.to_le_bytes())
            .collect();
        assert!(std(TensorType::Float32, &floats).is_finite());
    }
}
