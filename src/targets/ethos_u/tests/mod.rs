mod cascades;
mod hostile;
mod layouts;
mod movement;
mod network_file;
mod peaks;
mod products;
mod transposes;
mod values;
mod windows;

use std::rc::Rc;
use std::sync::Arc;

use super::accelerator::{ACCELERATORS, Accelerator};
use super::blocks::{self, Block};
use super::configuration::{Configuration, Product};
use super::cycles::Elementwise;
use super::cycles::whole_cycles;
use super::geometry::{Hwc, IfmOfm};
use super::layer::{Kind, Layer, UNCHANGED};
use super::live_ranges::LiveRanges;
use super::lower::one_operation_per_node;
use super::order::Order;
use super::plan::plan;
use super::scheduled_operation::{Execution, ScheduledOperation};
use super::weight_buffers::{Buffer, buffers};
use super::weights::{coded_bytes, encoded_bytes};
use crate::formats::tflite::{BuiltinOptions, OpKind, Operator, Padding, Tensor, TensorType};
use crate::graph::analysis::fixtures::{
    calling, conv_2d, graph_of, model, operator, subgraph, tensor,
};
use crate::graph::analysis::{ByteHistogram, analyze};

const U55: usize = 0;
const U65: usize = 1;
const U85: usize = 2;

fn layer(kind: Kind, ifm: Hwc, ofm: Hwc, kernel: [i64; 2], stride: [i64; 2]) -> Layer {
    Layer {
        kind,
        ifm,
        ofm,
        kernel,
        stride,
        dilation: [1, 1],
        is_sparse: false,
        reversed: None,
        has_table: false,
        upscale: 1,
        n_chained_passes: 0,
        order: UNCHANGED,
        is_brick: IfmOfm::both(true),
        element_bytes: IfmOfm::both(1),
    }
}

fn chosen(accelerator: &Accelerator, layer: &Layer) -> Block {
    blocks::choose(accelerator, layer).expect("a block that fits")
}

fn cycles(accelerator: &Accelerator, layer: &Layer) -> f64 {
    whole_cycles(accelerator, layer, &chosen(accelerator, layer))
}

/// Blocks and cycles of operators whose weights Vela 5.2.0 left off chip, from the tables
/// `perf_debug` and `perf_debug_main` of its database.
#[test]
fn blocks_and_cycles_are_those_of_vela() {
    use Kind::*;
    let conv = |ifm, ofm, side| layer(Convolution, ifm, ofm, [side; 2], [1, 1]);
    let pool = |ifm, ofm| layer(Pooling, ifm, ofm, [2, 2], [2, 2]);
    let rows = [
        (U55, conv([8, 8, 256], [8, 8, 208], 1), [8, 8, 64], 15488.0),
        (U55, conv([8, 8, 208], [8, 8, 416], 3), [8, 8, 64], 218880.0),
        (U55, conv([8, 8, 112], [8, 8, 448], 5), [8, 8, 64], 364832.0),
        (
            U55,
            layer(Depthwise, [24, 8, 276], [24, 8, 276], [1, 3], [1, 1]),
            [24, 8, 16],
            14656.0,
        ),
        (
            U55,
            layer(Depthwise, [20, 2, 112], [10, 2, 112], [3, 1], [2, 1]),
            [10, 2, 64],
            1360.0,
        ),
        (U55, pool([32, 32, 64], [16, 16, 64]), [4, 4, 64], 9184.0),
        (U65, conv([8, 8, 256], [8, 8, 208], 1), [8, 8, 64], 10294.0),
        (U65, conv([8, 8, 208], [8, 8, 416], 3), [8, 8, 64], 111638.0),
        (
            U65,
            conv([32, 32, 48], [32, 32, 40], 5),
            [8, 16, 32],
            113275.0,
        ),
        (U65, pool([32, 32, 64], [16, 16, 64]), [4, 4, 64], 8290.0),
        (U85, conv([8, 8, 208], [8, 8, 416], 3), [8, 8, 32], 265778.0),
        (U85, pool([32, 32, 64], [16, 16, 64]), [15, 16, 16], 11564.0),
        (U85, pool([16, 16, 64], [8, 8, 64]), [8, 8, 64], 5528.0),
    ];
    let mut largest = 0f64;
    for (accelerator_idx, layer, block, expected) in rows {
        let accelerator = &ACCELERATORS[accelerator_idx];
        let actual = cycles(accelerator, &layer);
        let difference = actual / expected - 1.0;
        println!(
            "{} {layer:?}: {actual} of {expected}",
            accelerator.product.name()
        );
        assert_eq!(chosen(accelerator, &layer).ofm, block);
        largest = largest.max(difference.abs());
    }
    println!("largest difference of cycles {largest:.4}");
    assert!(largest < 0.001);
}

/// Blocks and, on Ethos-U55, cycles that Vela 5.2.0 prints for operators with 16-bit inputs: accumulators are wider.
#[test]
fn blocks_and_cycles_of_16_bits_are_those_of_vela() {
    let depthwise = layer(Kind::Depthwise, [32, 32, 32], [32, 32, 32], [3, 3], [1, 1]);
    let points = layer(
        Kind::Convolution,
        [32, 32, 32],
        [16, 16, 64],
        [1, 1],
        [2, 2],
    );
    let rows = [
        (Product::U55x32, depthwise, [7, 7, 16], Some(199_543.0)),
        (Product::U55x32, points, [1, 16, 64], Some(51_868.0)),
        (Product::U55x64, depthwise, [7, 7, 16], Some(100_063.0)),
        (Product::U55x64, points, [1, 16, 32], Some(25_404.0)),
        (Product::U55x128, depthwise, [9, 8, 16], Some(50_808.0)),
        (Product::U55x128, points, [1, 16, 64], Some(13_248.0)),
        (Product::U55x256, depthwise, [8, 16, 16], Some(26_640.0)),
        (Product::U55x256, points, [2, 16, 64], Some(7_744.0)),
        (Product::U85x128, depthwise, [8, 8, 16], None),
        (Product::U85x128, points, [1, 16, 32], None),
        (Product::U85x256, depthwise, [11, 8, 16], None),
        (Product::U85x256, points, [1, 16, 64], None),
        (Product::U85x1024, depthwise, [22, 16, 16], None),
        (Product::U85x1024, points, [4, 16, 64], None),
    ];
    for (product, layer, block, expected) in rows {
        let accelerator = Accelerator::new(&Configuration::new(product));
        let layer = Layer {
            element_bytes: IfmOfm::both(2),
            ..layer
        };
        assert_eq!(
            chosen(&accelerator, &layer).ofm,
            block,
            "{product:?} {layer:?}"
        );
        let cycles = cycles(&accelerator, &layer);
        assert_eq!(cycles, expected.unwrap_or(cycles), "{product:?} {layer:?}");
    }
}

/// Whatever takes some time.
fn something() -> Execution<'static> {
    Execution::Elementwise(Rc::new(Elementwise {
        block: [1; 3],
        read_block: [1; 3],
        shapes: IfmOfm::both([1; 3]),
        element_bytes: IfmOfm::both(1),
        is_brick: IfmOfm::both(false),
        second: None,
        cycles_per_element: 1.0,
    }))
}

/// Nothing is read.
fn idle() -> ScheduledOperation<'static> {
    ScheduledOperation::new(something(), 10.0, IfmOfm::both(0.0))
}

fn weighted<'a>(
    accelerator: &Accelerator,
    layer: Layer,
    weight_bytes: f64,
    histogram: &'a ByteHistogram,
) -> ScheduledOperation<'a> {
    let execution = Execution::Weighted {
        divided: Rc::new((layer, chosen(accelerator, &layer))),
        weight_bytes,
        histogram,
    };
    ScheduledOperation::new(execution, cycles(accelerator, &layer), IfmOfm::both(0.0))
}

/// Weights that are read once are fetched ahead only while there is time; those read for many
/// blocks pay for themselves; nothing is fetched before the first operator.
#[test]
fn weights_are_buffered_where_it_pays() {
    let accelerator = &ACCELERATORS[U55];
    let once = layer(Kind::Convolution, [8, 8, 64], [8, 8, 64], [1, 1], [1, 1]);
    let often = layer(
        Kind::Convolution,
        [64, 64, 64],
        [64, 64, 64],
        [3, 3],
        [1, 1],
    );
    let busy = ScheduledOperation::new(something(), 1e6, IfmOfm::both(0.0));
    let histogram = histogram(&[1, 2]);
    let step = |layer| weighted(accelerator, layer, 4096.0, &histogram);
    let nothing = Buffer::default();
    let room = [f64::INFINITY; 3];
    let after =
        |before, step| buffers(accelerator, &[Some(before), None, Some(step)], &[], &room)[2];
    assert_eq!(after(idle(), step(once)), nothing);
    assert_eq!(after(busy.clone(), step(once)), nothing);
    let fetched = after(busy, step(often));
    assert!(fetched.is_prefetched && fetched.bytes() == 4096.0);
    assert!(!buffers(accelerator, &[Some(step(often))], &[], &room)[0].is_prefetched);
}

/// Whatever weights there are, buffers stay within the SRAM.
#[test]
fn buffers_fit_into_the_sram() {
    for accelerator in ACCELERATORS.iter() {
        let limit = accelerator.sram_limit_bytes as f64;
        for exponent in 4..32 {
            let all: Vec<u8> = (0..=u8::MAX).collect();
            let histogram = ByteHistogram {
                n_bytes: 1 << exponent,
                ..histogram(&all)
            };
            let layer = layer(
                Kind::Convolution,
                [25, 10, 112],
                [25, 10, 276],
                [3, 3],
                [1, 1],
            );
            let block = chosen(accelerator, &layer);
            let bytes = encoded_bytes(accelerator, &layer, &block, &histogram);
            let step = weighted(accelerator, layer, bytes, &histogram);
            let steps = std::array::from_fn::<_, 3, _>(|_| Some(step.clone()));
            for buffer in buffers(accelerator, &steps, &[], &[limit; 3]).at_steps(0..3) {
                assert!(buffer.bytes() <= limit, "2^{exponent}: {buffer:?}");
                // Slices are padded each by itself.
                assert!(buffer.bytes() <= bytes * 1.1, "2^{exponent}: {buffer:?}");
            }
        }
    }
}

fn histogram(bytes: &[u8]) -> ByteHistogram {
    let mut counts = [0; 256];
    bytes
        .iter()
        .for_each(|&byte| counts[usize::from(byte)] += 1);
    ByteHistogram {
        counts: Arc::new(counts),
        zero: 0,
        is_signed: true,
        n_bytes: bytes.len(),
        is_sparse: false,
    }
}

/// With the last slice alone the next operator's weights share the SRAM.
#[test]
fn the_next_weights_lie_beside_the_last_slice() {
    let buffer = |n_slices| Buffer {
        parts: [100.0, 60.0],
        n_slices,
        ..Buffer::default()
    };
    assert_eq!(buffer(2).bytes_beside(90.0), 160.0);
    assert_eq!(buffer(2).bytes_beside(110.0), 170.0);
    assert_eq!(buffer(3).bytes_beside(90.0), 190.0);
    assert_eq!(Buffer::default().bytes_beside(90.0), 90.0);
}

/// Bits of `symbols` in the Golomb-Rice code that takes least, cut off or not, counted one by one.
fn least_bits(symbols: &[usize]) -> usize {
    let bits = |k: usize, is_truncated: bool| -> Option<usize> {
        let of_symbol = |&symbol: &usize| match symbol >> k {
            quotient @ 3.. if is_truncated => (quotient > 31).then_some(0),
            2 if is_truncated => Some(2 + k),
            quotient => (quotient <= 31).then_some(quotient + 1 + k),
        };
        symbols.iter().map(of_symbol).sum()
    };
    let all = (0..=5).flat_map(|k| [bits(k, false), bits(k, true)]);
    all.flatten().min().unwrap()
}

/// Lengths counted symbol by symbol, or with a fixed length each.
#[test]
fn coded_bytes_are_as_many_as_by_hand() {
    let bits = |bytes: &[u8]| 8.0 * coded_bytes(&histogram(bytes), 0.0);
    assert_eq!(bits(&[]), 0.0);
    assert_eq!(bits(&[5; 8]), 8.0);
    assert_eq!(bits(&[5, 5, 5, 5, 1, 1, 1, 1]), 8.0);
    // Ranks in a palette, the most frequent value first.
    let ranks: Vec<usize> = (0..20).flat_map(|rank| vec![rank; 40 - rank]).collect();
    let values: Vec<u8> = ranks.iter().map(|&rank| 100 - rank as u8).collect();
    let least = least_bits(&ranks).min(5 * ranks.len());
    assert_eq!(bits(&values), least as f64);
    // Too many values for a palette, none of them frequent: nine bits, for -128 is there.
    let all: Vec<u8> = (0..=u8::MAX).collect();
    assert_eq!(bits(&all), 9.0 * 256.0);
}

/// The same values with another zero point take as many bits.
#[test]
fn unsigned_weights_are_coded_as_signed_ones() {
    let signed: Vec<u8> = (0..4000)
        .map(|k| (k * 37 % 201) as i16 - 100)
        .map(|v| v as i8 as u8)
        .collect();
    let unsigned = ByteHistogram {
        zero: 110,
        is_signed: false,
        ..histogram(
            &signed
                .iter()
                .map(|&v| (i16::from(v as i8) + 110) as u8)
                .collect::<Vec<_>>(),
        )
    };
    assert_eq!(
        coded_bytes(&unsigned, 0.25),
        coded_bytes(&histogram(&signed), 0.25)
    );
}

/// Mostly zeros: each other value costs itself and the end of a run, each zero a bit at most.
#[test]
fn zeros_are_coded_as_runs() {
    let mut bytes = vec![0; 800];
    (0..200).for_each(|k| bytes[4 * k] = 1 + (k % 4) as u8);
    let expected = 2 * 200;
    let bits = 8.0 * coded_bytes(&histogram(&bytes), 0.0);
    println!("{bits} bits");
    assert!((expected + 201) as f64 <= bits && bits <= (expected + 201 + 600) as f64);
}

/// conv → pad, and conv → conv → add with the padded one, as in a residual block: the branch of the
/// last input comes first.
fn residual_block() -> (Vec<Tensor>, Vec<Operator>) {
    let feature_map = |channels: i32| tensor(TensorType::Int8, &[1, 8, 8, channels]);
    let filter = |channels: i32, input_channels: i32| Tensor {
        buffer_idx: 1,
        ..tensor(TensorType::Int8, &[channels, 1, 1, input_channels])
    };
    let tensors = vec![
        feature_map(3),
        feature_map(16),
        feature_map(32),
        feature_map(32),
        feature_map(32),
        filter(16, 3),
        filter(32, 16),
        filter(32, 32),
        feature_map(32),
    ];
    let conv = |input, filter, output| calling(OpKind::Conv2d, &[input, filter], &[output], CONV);
    let operators = vec![
        conv(0, 5, 1),
        conv(1, 6, 2),
        conv(2, 7, 3),
        operator(OpKind::Pad, &[1], &[4]),
        operator(OpKind::Add, &[3, 4], &[8]),
    ];
    (tensors, operators)
}

const CONV: BuiltinOptions = conv_2d(Padding::Same, [1; 2]);

#[test]
fn branches_run_depth_first_from_the_last_input() {
    let (tensors, operators) = residual_block();
    let model = model(vec![subgraph(tensors, operators)]);
    let graph = graph_of(&model);
    let program = one_operation_per_node(&graph, &analyze(&graph));
    let order = Order::new(&program);
    assert_eq!(order.operations, [0, 3, 1, 2, 4]);
    assert_eq!(order.chain_start, [0, 1, 2, 3, 4]);
    // On Ethos-U85 the sum takes its place in the convolution before it.
    let order = order.with_chains(&program);
    assert_eq!(order.chain_start, [0, 1, 2, 3, 3]);
    assert!(order.is_read_by_next_only(3) && !order.is_read_by_next_only(2));
}

/// Bytes alive by hand: bricks of 16 channels, the interface as it is.
#[test]
fn feature_maps_are_alive_while_they_are_needed() {
    let (tensors, operators) = residual_block();
    let model = model(vec![subgraph(tensors, operators)]);
    let graph = graph_of(&model);
    let analysis = analyze(&graph);
    assert!(analysis.memory_plan.is_some(), "{:?}", analysis.diagnostics);
    let program = one_operation_per_node(&graph, &analysis);
    let order = Order::new(&program);
    let [input, small, large] = [3.0, 16.0, 32.0].map(|channels| 64.0 * channels);
    let alive = |order: &Order, is_apart| {
        let live_ranges = LiveRanges::new(&program, order, is_apart);
        let inside = |range_idx: usize| {
            let mut ranges = live_ranges.ranges();
            ranges.any(|(idx, range)| idx == range_idx && !(is_apart && range.is_interface))
        };
        live_ranges.live_bytes(order.operations.len(), inside)
    };
    // The output of the sum aliases neither input: the inputs are NHCWB16, and callers do not see them.
    let all = [
        input + small,
        small + large,
        small + 2.0 * large,
        3.0 * large,
        3.0 * large,
    ];
    assert_eq!(alive(&order, false), all);
    let inside = [
        small,
        small + large,
        small + 2.0 * large,
        3.0 * large,
        2.0 * large,
    ];
    assert_eq!(alive(&order, true), inside);
    let chained = order.with_chains(&program);
    let inside = [
        small,
        small + large,
        small + 2.0 * large,
        2.0 * large,
        large,
    ];
    assert_eq!(alive(&chained, true), inside);
}

/// The last operator of Coral's DeepLab, whose rows are four times as many as an operation sees. Cycles are those of
/// Vela 5.2.0; on Ethos-U55 and Ethos-U65, of 65,793 poolings of four rows each and what is around them.
#[test]
fn more_rows_than_registers_count_are_reduced_in_parts() {
    let tensors = vec![
        tensor(TensorType::Int8, &[1, 513, 513, 21]),
        Tensor {
            buffer_idx: 2,
            ..tensor(TensorType::Int32, &[1])
        },
        tensor(TensorType::Int64, &[1, 513, 513]),
    ];
    let arg_max = operator(OpKind::ArgMax, &[0, 1], &[2]);
    let mut model = model(vec![subgraph(tensors, vec![arg_max])]);
    let last_axis = 3i32.to_le_bytes();
    model.buffers.push(last_axis[..].into());
    let graph = graph_of(&model);
    for (product, of_vela, tolerance) in [
        (Product::U55x256, 37_023_182.0, 1e-2),
        (Product::U85x256, 22_119_996.0, 1e-3),
    ] {
        let accelerator = Accelerator::new(&Configuration::new(product));
        let planned = plan(&accelerator, &graph, &analyze(&graph));
        let difference = planned[0].cycles / of_vela - 1.0;
        println!("{product:?}: {} cycles of {of_vela}", planned[0].cycles);
        assert!(difference.abs() < tolerance, "{product:?}: {difference}");
    }
}

/// Any shape within the limits gets a block, in bounded time.
#[test]
fn odd_shapes_get_blocks() {
    let sizes = [1, 2, 3, 17, 255, 65536];
    let mut n_without = 0;
    for accelerator in ACCELERATORS.iter() {
        for (kind, height, width, depth) in each_shape(&sizes) {
            for (kernel, stride) in [
                ([1, 1], [1, 1]),
                ([256, 256], [256, 256]),
                ([1, 256], [3, 1]),
            ] {
                let shape = [height, width, depth];
                let layer = layer(kind, shape, shape, kernel, stride);
                match blocks::choose(accelerator, &layer) {
                    Some(_) => assert!(cycles(accelerator, &layer).is_finite()),
                    None => n_without += 1,
                }
            }
        }
    }
    println!("{n_without} shapes without a block");
}

fn each_shape(sizes: &[i64]) -> impl Iterator<Item = (Kind, i64, i64, i64)> {
    let kinds = [
        Kind::Convolution,
        Kind::Depthwise,
        Kind::VectorProduct,
        Kind::Pooling,
    ];
    let n = sizes.len();
    (0..kinds.len() * n * n * n).map(move |idx| {
        let size = |by: usize| sizes[idx / by % n];
        (kinds[idx / (n * n * n)], size(1), size(n), size(n * n))
    })
}
