//! Blocks and cycles of transpositions and of sums over channels on Ethos-U85, which go through the multipliers' blocks.

use crate::targets::ethos_u::accelerator::Accelerator;
use crate::targets::ethos_u::blocks;
use crate::targets::ethos_u::configuration::{Configuration, Product};
use crate::targets::ethos_u::cycles::{Conditions, Part, operator_cycles};
use crate::targets::ethos_u::geometry::{Hwc, IfmOfm};
use crate::targets::ethos_u::layer::{Kind, Layer};

fn accelerator() -> Accelerator {
    Accelerator::of(&Configuration::of(Product::U85x256))
}

/// What one transposition reads, the order in which it writes that, whether IFM and OFM are NHCWB16, and what Vela 5.2.0
/// makes of it: the OFM and IFM block, and the cycles between feature maps in SRAM. From the tables `perf_debug` and
/// `perf_debug_main` of its database, for a depthwise convolution with two outputs for each of 17 channels.
const OF_VELA: [(Hwc, [usize; 3], [bool; 2], [Hwc; 2], f64); 6] = [
    (
        [2, 7, 221],
        [1, 0, 2],
        [false, true],
        [[2, 8, 224], [2, 8, 256]],
        2197.0,
    ),
    (
        [7, 2, 221],
        [1, 0, 2],
        [true, false],
        [[7, 2, 224], [7, 2, 256]],
        2601.0,
    ),
    (
        [14, 13, 17],
        [0, 2, 1],
        [false, false],
        [[13, 8, 32], [13, 8, 32]],
        2696.0,
    ),
    (
        [2, 119, 13],
        [2, 1, 0],
        [false, false],
        [[2, 120, 16], [2, 120, 16]],
        13610.0,
    ),
    (
        [91, 17, 2],
        [0, 2, 1],
        [false, false],
        [[35, 6, 16], [36, 6, 16]],
        3450.0,
    ),
    (
        [13, 7, 34],
        [1, 0, 2],
        [false, false],
        [[13, 8, 32], [13, 8, 32]],
        3718.0,
    ),
];

#[test]
fn blocks_and_cycles_of_transpositions_are_those_of_vela() {
    let accelerator = accelerator();
    for (read, order, [is_brick_ifm, is_brick_ofm], [ofm, ifm], expected) in OF_VELA {
        let layer = Layer {
            order,
            is_brick: IfmOfm {
                ifm: is_brick_ifm,
                ofm: is_brick_ofm,
            },
            ..Layer::of_positions(Kind::Pooling, read, read, IfmOfm::both(1))
        };
        let block = blocks::choose(&accelerator, &layer).expect("a block that fits");
        let written = Layer {
            ofm: order.map(|dimension| read[dimension]),
            ..layer
        };
        let conditions = Conditions {
            feature_maps: IfmOfm::both(accelerator.sram),
            scale_latency_cycles: 0.0,
            part: Part::WHOLE,
        };
        let cycles = operator_cycles(&accelerator, &written, &block, conditions);
        println!(
            "{read:?} {order:?}: block {:?} of {:?}, {cycles} cycles; Vela {ofm:?} of {ifm:?}, {expected}",
            block.ofm, block.ifm
        );
        assert_eq!((block.ofm, block.ifm), (ofm, ifm), "{read:?} {order:?}");
        assert!(
            (cycles / expected - 1.0).abs() < 0.01,
            "{read:?} {order:?}: {cycles}"
        );
    }
}

#[test]
fn blocks_of_sums_hold_64_channels() {
    let layer = Layer::of_positions(Kind::ReduceSum, [1, 100, 257], [1, 100, 1], IfmOfm::both(1));
    let block = blocks::choose(&accelerator(), &layer).expect("a block that fits");
    assert_eq!((block.ofm, block.ifm), ([1, 100, 16], [1, 100, 64]));
}
