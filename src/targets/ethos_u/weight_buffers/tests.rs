//! Buffers against sums over all slices, one by one.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::graph::analysis::fixtures::for_each;
use crate::targets::ethos_u::accelerator::ACCELERATORS;
use crate::targets::ethos_u::blocks;
use crate::targets::ethos_u::layer::Kind;

/// Output channels of each slice.
fn channels(slicing: Slicing) -> Vec<i64> {
    let first = slicing.first.min(slicing.depth);
    let rest = (first..slicing.depth).step_by(slicing.next.max(1) as usize);
    let rest = rest.map(|from| slicing.next.min(slicing.depth - from));
    std::iter::once(first).chain(rest).collect()
}

fn each<T: Copy>(slices: &Slices<T>) -> Vec<T> {
    let between = slices.between.map(|(value, n)| vec![value; n]);
    let between = between.unwrap_or_default();
    let first = std::iter::once(slices.first);
    first.chain(between).chain(slices.last).collect()
}

fn slicing() -> impl Strategy<Value = Slicing> {
    (1..5000_i64, 1..600_i64, 1..600_i64).prop_map(|(depth, first, next)| Slicing {
        depth,
        first,
        next,
        granule: BRICK_CHANNELS,
    })
}

#[test]
fn slices_have_all_channels() {
    for_each(512, slicing(), |slicing| {
        let slices = slicing.channels();
        assert_eq!(each(&slices), channels(slicing), "{slicing:?}");
        assert_eq!(slices.n(), channels(slicing).len(), "{slicing:?}");
    });
}

/// Numbers of all sizes, of few bits and of many: sums that are exact, that are halfway between two numbers, and others.
fn summand() -> impl Strategy<Value = f64> {
    (0..1_u64 << 53, 0..53_u32, -60..4_i32)
        .prop_map(|(bits, shift, exponent)| (bits >> shift) as f64 * 2.0_f64.powi(exponent))
}

#[test]
fn equal_terms_add_up_as_one_by_one() {
    for_each(
        20_000,
        (summand(), summand(), 0..5000_usize),
        |(start, value, n)| {
            let expected = (0..n).fold(start, |sum, _| sum + value);
            let sum = sum_after_additions(start, value, n);
            assert_eq!(sum.to_bits(), expected.to_bits(), "{start} + {n} * {value}");
        },
    );
}

/// One by one this would take hours.
#[test]
fn a_thousand_billion_terms_are_added_at_once() {
    let n = 1_usize << 40;
    assert_eq!(sum_after_additions(0.0, 1.0, n), n as f64);
    let sum = sum_after_additions(1e-3, 0.1, n);
    assert!((sum / (n as f64 / 10.0) - 1.0).abs() < 1e-4, "{sum}");
}

/// Cycles and bytes of all slices of a choice, one by one.
struct Naive {
    bytes: Vec<f64>,
    parts: [f64; 2],
    computing: f64,
    visible: f64,
    last_slice: f64,
}

impl Naive {
    fn new(choice: &BufferChoice, slicing: Slicing, hidden_cycles: f64, is_double: bool) -> Self {
        let weights = &choice.weights;
        let channels = channels(slicing);
        let of_slice = |&channels: &i64| {
            let share = channels as f64 / slicing.depth as f64;
            let histogram = ByteHistogram {
                n_bytes: (weights.histogram.n_bytes as f64 * share) as usize,
                ..weights.histogram.clone()
            };
            let layer = weights.layer.with_depth(channels);
            encoded_bytes(weights.accelerator, &layer, &weights.block, &histogram)
        };
        let bytes: Vec<f64> = match channels.len() {
            1 => vec![weights.bytes],
            _ => channels.iter().map(of_slice).collect(),
        };
        let largest = |offset: usize| {
            let turn = bytes.iter().skip(offset).step_by(2);
            turn.copied().fold(0.0, f64::max)
        };
        let layer = striped(&weights.layer, weights.stripe);
        let cycles = channels
            .iter()
            .enumerate()
            .map(|(idx, &channels_of_slice)| {
                let part = Part {
                    is_first: idx == 0,
                    is_last: idx == channels.len() - 1,
                };
                weights.slice_cycles(&layer.with_depth(channels_of_slice), part)
            });
        let cycles: Vec<f64> = cycles.collect();
        let behind = cycles.iter().map(|&one| if is_double { one } else { 0.0 });
        let hidden = std::iter::once(hidden_cycles).chain(behind);
        let visible = bytes.iter().zip(hidden).map(|(&bytes, hidden)| {
            (weights.accelerator.buffering.cycles(bytes) - hidden).max(0.0)
        });
        Self {
            parts: [largest(0), largest(1)],
            computing: cycles.iter().sum::<f64>() * weights.n_stripes(),
            visible: visible.sum(),
            last_slice: cycles[cycles.len() - 1],
            bytes,
        }
    }
}

fn convolution(ifm: [i64; 3], depth: i64, kernel: i64) -> Layer {
    Layer {
        ifm,
        ofm: [ifm[0], ifm[1], depth],
        kernel: [kernel; 2],
        is_brick: IfmOfm::both(true),
        ..Layer::single_positions(Kind::Convolution, ifm, ifm, IfmOfm::both(1))
    }
}

fn histogram(layer: &Layer) -> ByteHistogram {
    let n_bytes = layer.kernel[0] * layer.kernel[1] * layer.ifm[2] * layer.ofm[2];
    ByteHistogram {
        counts: Arc::new(std::array::from_fn(|byte| 1 + (byte as u64 * 37) % 251)),
        zero: 0,
        is_signed: true,
        n_bytes: n_bytes as usize,
        is_sparse: false,
    }
}

/// Checks what an operation of this layer takes with slices as the compiler chooses them, and with those of `slicing`.
fn check(accelerator: &Accelerator, layer: Layer, room_bytes: f64, slack_cycles: f64) -> usize {
    let block = blocks::choose(accelerator, &layer).unwrap();
    let histogram = histogram(&layer);
    let execution = Execution::Weighted {
        divided: Rc::new((layer, block)),
        weight_bytes: encoded_bytes(accelerator, &layer, &block, &histogram),
        histogram: &histogram,
    };
    let operation = ScheduledOperation::new(execution, 1e5, IfmOfm::both(1e4));
    let before = Some(Slack {
        cycles: slack_cycles,
        bytes: room_bytes,
        is_sliced: false,
    });
    let choice = BufferChoice::new(accelerator, &[], &operation, room_bytes, before).unwrap();
    let Some(slicing) = choice.slicing() else {
        return 0;
    };
    for is_double in [false, true] {
        let naive = Naive::new(&choice, slicing, slack_cycles, is_double);
        let bytes = choice.weights.slice_bytes(slicing);
        let buffered = choice.buffered(slicing, &bytes, slack_cycles, is_double);
        assert_eq!(each(&bytes), naive.bytes, "{slicing:?}");
        assert_eq!(bytes.sum(), naive.bytes.iter().sum::<f64>(), "{slicing:?}");
        assert_eq!(
            bytes.largest_of_alternate_slices(),
            naive.parts,
            "{slicing:?}"
        );
        let actual = [buffered.computing, buffered.visible, buffered.last_slice];
        let expected = [naive.computing, naive.visible, naive.last_slice];
        let bits = |cycles: [f64; 3]| cycles.map(f64::to_bits);
        assert_eq!(
            bits(actual),
            bits(expected),
            "{layer:?}, {slicing:?}: {actual:?}, {expected:?}"
        );
    }
    channels(slicing).len()
}

#[test]
fn buffers_are_those_of_all_slices_one_by_one() {
    let sides = (1..20_i64, 1..20_i64, 1..300_i64);
    let of_operation = (1..2000_i64, 0..3_usize, 8..20_u32, 0.0..1e5);
    let n_sliced = Cell::new(0);
    for_each(
        400,
        (sides, of_operation),
        |((h, w, c), (depth, kernel, room, slack))| {
            let layer = convolution([h, w, c], depth, [1, 3, 5][kernel]);
            for accelerator in ACCELERATORS.iter() {
                let n_slices = check(accelerator, layer, f64::from(1 << room), slack);
                n_sliced.set(n_sliced.get() + usize::from(n_slices > 3));
            }
        },
    );
    println!(
        "{} of 1200 operations have more than 3 slices",
        n_sliced.get()
    );
    assert!(n_sliced.get() > 100);
}

/// As many slices as an operation can have take three steps.
#[test]
fn thousands_of_slices_are_looked_at_three_times() {
    let layer = convolution([1, 1, 16384], 65535, 1);
    for accelerator in ACCELERATORS.iter() {
        assert!(check(accelerator, layer, 1e6, 0.0) > 1000);
    }
    let slicing = Slicing {
        depth: 65535,
        first: BRICK_CHANNELS,
        next: BRICK_CHANNELS,
        granule: BRICK_CHANNELS,
    };
    let slices = slicing.channels();
    assert_eq!(slices.n(), 4096);
    let n_calls = Cell::new(0);
    let count = |channels: i64| {
        n_calls.set(n_calls.get() + 1);
        channels as f64
    };
    assert_eq!(slices.map(count).sum(), 65535.0);
    assert_eq!(
        slices.map_parts(|channels, _| count(channels)).sum(),
        65535.0
    );
    assert_eq!(n_calls.get(), 2 + 3);
}
