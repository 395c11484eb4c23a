use super::accelerator::{ACCELERATORS, Accelerator, Hwc};
use super::blocks::{self, Block};
use super::cycles::{Conditions, Part, operator_cycles};
use super::layer::{Kind, Layer};
use super::schedule::{Buffer, Step, Work, buffers};
use super::weights::coded_bytes;
use crate::analysis::ByteHistogram;

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
        is_brick: [true, true],
    }
}

fn chosen(accelerator: &Accelerator, layer: &Layer) -> Block {
    blocks::choose(accelerator, layer).expect("a block that fits")
}

fn cycles(accelerator: &Accelerator, layer: &Layer) -> f64 {
    let conditions = Conditions {
        feature_maps: accelerator.planned_feature_maps(),
        scale_latency_cycles: accelerator.weights_off_chip.latency_cycles,
        part: Part::WHOLE,
    };
    operator_cycles(accelerator, layer, &chosen(accelerator, layer), conditions)
}

/// Blocks and cycles of operators whose weights Vela 5.2.0 left off chip, from the tables
/// `perf_debug` and `perf_debug_main` of its database.
#[test]
fn blocks_and_cycles_are_those_of_vela() {
    use Kind::*;
    let rows = [
        (
            U55,
            layer(Convolution, [8, 8, 256], [8, 8, 208], [1, 1], [1, 1]),
            [8, 8, 64],
            15488.0,
        ),
        (
            U55,
            layer(Convolution, [8, 8, 208], [8, 8, 416], [3, 3], [1, 1]),
            [8, 8, 64],
            218880.0,
        ),
        (
            U55,
            layer(Convolution, [8, 8, 112], [8, 8, 448], [5, 5], [1, 1]),
            [8, 8, 64],
            364832.0,
        ),
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
        (
            U55,
            layer(Pooling, [32, 32, 64], [16, 16, 64], [2, 2], [2, 2]),
            [4, 4, 64],
            9184.0,
        ),
        (
            U65,
            layer(Convolution, [8, 8, 256], [8, 8, 208], [1, 1], [1, 1]),
            [8, 8, 64],
            10294.0,
        ),
        (
            U65,
            layer(Convolution, [8, 8, 208], [8, 8, 416], [3, 3], [1, 1]),
            [8, 8, 64],
            111638.0,
        ),
        (
            U65,
            layer(Convolution, [32, 32, 48], [32, 32, 40], [5, 5], [1, 1]),
            [8, 16, 32],
            113275.0,
        ),
        (
            U65,
            layer(Pooling, [32, 32, 64], [16, 16, 64], [2, 2], [2, 2]),
            [4, 4, 64],
            8290.0,
        ),
        (
            U85,
            layer(Convolution, [8, 8, 208], [8, 8, 416], [3, 3], [1, 1]),
            [8, 8, 32],
            265778.0,
        ),
        (
            U85,
            layer(Pooling, [32, 32, 64], [16, 16, 64], [2, 2], [2, 2]),
            [15, 16, 16],
            11564.0,
        ),
        (
            U85,
            layer(Pooling, [16, 16, 64], [8, 8, 64], [2, 2], [2, 2]),
            [8, 8, 64],
            5528.0,
        ),
    ];
    let mut largest = 0f64;
    for (accelerator_idx, layer, block, expected) in rows {
        let accelerator = &ACCELERATORS[accelerator_idx];
        let found = cycles(accelerator, &layer);
        let difference = found / expected - 1.0;
        println!("{} {layer:?}: {found} of {expected}", accelerator.target);
        assert_eq!(chosen(accelerator, &layer).ofm, block);
        largest = largest.max(difference.abs());
    }
    println!("largest difference of cycles {largest:.4}");
    assert!(largest < 0.001);
}

fn weighted(accelerator: &Accelerator, layer: Layer, weight_bytes: f64) -> Step {
    Step {
        cycles: cycles(accelerator, &layer),
        work: Work::Weighted {
            layer,
            block: chosen(accelerator, &layer),
            weight_bytes,
        },
    }
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
    let idle = Step {
        work: Work::Other,
        cycles: 10.0,
    };
    let busy = Step {
        cycles: 1e6,
        ..idle
    };
    let step = |layer| weighted(accelerator, layer, 4096.0);
    let nothing = Buffer::default();
    assert_eq!(buffers(accelerator, &[idle, step(once)])[1], nothing);
    assert_eq!(buffers(accelerator, &[busy, step(once)])[1], nothing);
    let fetched = buffers(accelerator, &[busy, step(often)])[1];
    assert!(fetched.is_prefetched && fetched.bytes() == 4096.0);
    assert!(!buffers(accelerator, &[step(often)])[0].is_prefetched);
}

/// Whatever weights there are, buffers stay within the SRAM.
#[test]
fn buffers_fit_into_the_sram() {
    for accelerator in &ACCELERATORS {
        let limit = accelerator
            .sram_limit_bytes
            .map_or(f64::INFINITY, |b| b as f64);
        for exponent in 4..32 {
            let layer = layer(
                Kind::Convolution,
                [25, 10, 112],
                [25, 10, 276],
                [3, 3],
                [1, 1],
            );
            let step = weighted(accelerator, layer, 2f64.powi(exponent));
            for buffer in buffers(accelerator, &[step, step, step]) {
                assert!(buffer.bytes() <= limit, "2^{exponent}: {buffer:?}");
                assert!(buffer.bytes() <= 2f64.powi(exponent) * 1.001 || buffer.parts[1] > 0.0);
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
        counts,
        zero: 0,
        n_bytes: bytes.len(),
    }
}

/// Lengths by hand, in bits.
#[test]
fn coded_bytes_are_as_many_as_by_hand() {
    let bits = |bytes: &[u8]| 8.0 * coded_bytes(&histogram(bytes), 0.0);
    // One value needs no bits, two one bit each with a fixed length.
    assert_eq!(bits(&[5; 8]), 0.0);
    assert_eq!(bits(&[5, 5, 5, 5, 1, 1, 1, 1]), 8.0);
    let all: Vec<u8> = (0..=u8::MAX).collect();
    assert_eq!(bits(&all), 8.0 * 256.0);
    // Ranks 0 to 19 of a palette, each once; 0 to 5 bits of remainder, or 5 bits each.
    let few: Vec<u8> = (1..=20).collect();
    let with = |k: u32| (0..20).map(|rank| (rank >> k) + 1 + k).sum::<u32>();
    let least = (0..6).map(with).min().unwrap().min(5 * 20);
    assert_eq!(bits(&few), f64::from(least));
}

/// Any shape within the limits gets a block, in bounded time.
#[test]
fn odd_shapes_get_blocks() {
    let sizes = [1, 2, 3, 17, 255, 65536];
    let mut n_without = 0;
    for accelerator in &ACCELERATORS {
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
