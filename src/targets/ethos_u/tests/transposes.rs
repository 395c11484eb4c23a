//! Blocks and cycles of transpositions and of sums over channels on Ethos-U85, which go through the multipliers' blocks.

use crate::targets::ethos_u::accelerator::Accelerator;
use crate::targets::ethos_u::blocks;
use crate::targets::ethos_u::configuration::{Configuration, Product};
use crate::targets::ethos_u::cycles::{CycleContext, Part, operator_cycles};
use crate::targets::ethos_u::geometry::{Hwc, IfmOfm};
use crate::targets::ethos_u::layer::{Kind, Layer};

fn accelerator() -> Accelerator {
    Accelerator::new(&Configuration::new(Product::U85x256))
}

/// One transposition as Vela 5.2.0 makes it, between feature maps in SRAM.
struct Transposition {
    read: Hwc,
    /// In which the dimensions that were read are written.
    order: [usize; 3],
    /// Whether they are NHCWB16.
    is_brick: IfmOfm<bool>,
    block: IfmOfm<Hwc>,
    cycles: f64,
}

/// From the tables `perf_debug` and `perf_debug_main` of Vela's database, for a depthwise convolution with two outputs
/// for each of 17 channels.
const OF_VELA: [Transposition; 6] = [
    Transposition {
        read: [2, 7, 221],
        order: [1, 0, 2],
        is_brick: IfmOfm {
            ifm: false,
            ofm: true,
        },
        block: IfmOfm {
            ifm: [2, 8, 256],
            ofm: [2, 8, 224],
        },
        cycles: 2197.0,
    },
    Transposition {
        read: [7, 2, 221],
        order: [1, 0, 2],
        is_brick: IfmOfm {
            ifm: true,
            ofm: false,
        },
        block: IfmOfm {
            ifm: [7, 2, 256],
            ofm: [7, 2, 224],
        },
        cycles: 2601.0,
    },
    Transposition {
        read: [14, 13, 17],
        order: [0, 2, 1],
        is_brick: IfmOfm {
            ifm: false,
            ofm: false,
        },
        block: IfmOfm {
            ifm: [13, 8, 32],
            ofm: [13, 8, 32],
        },
        cycles: 2696.0,
    },
    Transposition {
        read: [2, 119, 13],
        order: [2, 1, 0],
        is_brick: IfmOfm {
            ifm: false,
            ofm: false,
        },
        block: IfmOfm {
            ifm: [2, 120, 16],
            ofm: [2, 120, 16],
        },
        cycles: 13610.0,
    },
    Transposition {
        read: [91, 17, 2],
        order: [0, 2, 1],
        is_brick: IfmOfm {
            ifm: false,
            ofm: false,
        },
        block: IfmOfm {
            ifm: [36, 6, 16],
            ofm: [35, 6, 16],
        },
        cycles: 3450.0,
    },
    Transposition {
        read: [13, 7, 34],
        order: [1, 0, 2],
        is_brick: IfmOfm {
            ifm: false,
            ofm: false,
        },
        block: IfmOfm {
            ifm: [13, 8, 32],
            ofm: [13, 8, 32],
        },
        cycles: 3718.0,
    },
];

#[test]
fn blocks_and_cycles_of_transpositions_are_those_of_vela() {
    let accelerator = accelerator();
    for of_vela in OF_VELA {
        let Transposition {
            read,
            order,
            is_brick,
            block: IfmOfm { ifm, ofm },
            cycles: expected,
        } = of_vela;
        let layer = Layer {
            order,
            is_brick,
            ..Layer::single_positions(Kind::Pooling, read, read, IfmOfm::both(1))
        };
        let block = blocks::choose(&accelerator, &layer).expect("a block that fits");
        let written = Layer {
            ofm: order.map(|dimension| read[dimension]),
            ..layer
        };
        let conditions = CycleContext {
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
    let layer =
        Layer::single_positions(Kind::ReduceSum, [1, 100, 257], [1, 100, 1], IfmOfm::both(1));
    let block = blocks::choose(&accelerator(), &layer).expect("a block that fits");
    assert_eq!((block.ofm, block.ifm), ([1, 100, 16], [1, 100, 64]));
}
