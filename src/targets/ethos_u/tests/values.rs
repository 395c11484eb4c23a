//! What computes values one by one or along an axis, against what Vela 5.2.0 prints for the same files.

use super::network_file::NetworkFile;
use crate::formats::tflite::{BuiltinOptions, OpKind, TensorType};
use crate::graph::analysis::fixtures::{ADD, MUL, SUB};
use crate::targets::ethos_u::configuration::Product;

#[test]
fn activations_of_their_own_are_in_no_cascade() {
    let mut network = NetworkFile::new(&[1, 128, 128, 32]);
    let map = network.call(OpKind::Logistic, &[0], &[1, 128, 128, 32]);
    network.call(OpKind::Abs, &[map], &[1, 128, 128, 32]);
    network.check(&[
        (Product::U55x256, [459392.0, 1048576.0, 256.0]),
        (Product::U65x512, [1537911.0, 0.0, 5767424.0]),
        (Product::U85x256, [399999.0, 0.0, 4743680.0]),
    ]);
}

/// Vela 5.2.0 sums along the first axis alone.
#[test]
fn sums_transpose_the_first_axis_to_the_channels() {
    for axes in [&[1][..], &[1, 2]] {
        let mut network = NetworkFile::new(&[1, 17, 23, 40]);
        network.reduce(OpKind::Sum, 0, axes);
        network.check(&[
            (Product::U55x256, [10867.0, 31296.0, 0.0]),
            (Product::U65x512, [27220.0, 15648.0, 77280.0]),
            (Product::U85x256, [139_865.0, 29440.0, 460_920.0]),
        ]);
    }
}

#[test]
fn many_rows_of_a_softmax_are_those_of_vela() {
    NetworkFile::of_one(OpKind::Softmax, &[1000, 8]).check(&[
        (Product::U55x256, [249_756.0, 260_000.0, 128_656.0]),
        (Product::U65x512, [153_127.0, 260_000.0, 416_656.0]),
        (Product::U85x256, [304_474.0, 260_000.0, 211_072.0]),
    ]);
    NetworkFile::of_one(OpKind::Softmax, &[200, 16])
        .of_16_bits()
        .check(&[
            (Product::U55x256, [59429.0, 33600.0, 25992.0]),
            (Product::U65x512, [53202.0, 33600.0, 175_112.0]),
            (Product::U85x256, [29363.0, 33600.0, 67200.0]),
        ]);
}

/// A single row, where Ethos-U85 reads one of two numbers; rows that do not all fit into SRAM; and so many that Ethos-U65
/// cascades elementwise operations in the deeper shapes in which they see them.
#[test]
fn softmaxes_of_one_row_and_of_large_maps_are_those_of_vela() {
    NetworkFile::of_one(OpKind::Softmax, &[1, 10]).check_totals(
        &[
            (Product::U55x256, [887.0, 320.0, 272.0]),
            (Product::U65x512, [1806.0, 320.0, 784.0]),
            (Product::U85x256, [1327.0, 320.0, 560.0]),
        ],
        [0.003, 0.0, 0.0],
    );
    NetworkFile::of_one(OpKind::Softmax, &[1, 300, 256]).check(&[
        (Product::U55x256, [1_190_210.0, 616_800.0, 614_928.0]),
        (Product::U65x512, [1_254_123.0, 308_400.0, 4_615_728.0]),
        (Product::U85x256, [2_874_084.0, 308_400.0, 9_414_908.0]),
    ]);
    NetworkFile::of_one(OpKind::Softmax, &[65_536, 2]).check(&[
        (Product::U65x512, [9_841_604.0, 262_144.0, 33_293_096.0]),
        (Product::U85x256, [7_410_546.0, 131_072.0, 15_998_976.0]),
    ]);
    // What a chain passes on has rates of its own.
    NetworkFile::of_one(OpKind::Softmax, &[200, 16])
        .of_16_bits()
        .check(&[
            (Product::U85x128, [52504.0, 33600.0, 59904.0]),
            (Product::U85x512, [25511.0, 33600.0, 67200.0]),
        ]);
}

/// Elementwise operations of 16 bits whose other input is a number, and that need no table.
#[test]
fn the_output_stage_computes_16_bits_without_tables() {
    let shape = [1, 12, 12, 8];
    NetworkFile::of_one(OpKind::Neg, &shape)
        .of_16_bits()
        .check(&[
            (Product::U55x256, [864.0, 2304.0, 16.0]),
            (Product::U65x512, [4919.0, 0.0, 18448.0]),
            (Product::U85x256, [865.0, 0.0, 4608.0]),
        ]);
    NetworkFile::of_one(OpKind::LeakyRelu, &shape)
        .of_16_bits()
        .check(&[
            (Product::U55x256, [1152.0, 2304.0, 0.0]),
            (Product::U65x512, [9830.0, 0.0, 36864.0]),
            (Product::U85x256, [865.0, 0.0, 4608.0]),
        ]);
}

/// Ethos-U85 computes it in the output stage, others only where the scale stays.
#[test]
fn a_wide_leaky_relu_that_changes_the_scale_takes_several_operations() {
    for (alpha, scale, of_vela) in [
        (
            0.1,
            0.1,
            [[33600.0, 76800.0, 170.0], [52160.0, 76800.0, 153770.0]],
        ),
        (
            1.5,
            0.1,
            [[43576.0, 76800.0, 170.0], [57180.0, 76800.0, 153770.0]],
        ),
        (
            -0.5,
            0.1,
            [[43576.0, 76800.0, 170.0], [57180.0, 76800.0, 153770.0]],
        ),
        (
            0.1,
            0.05,
            [[17600.0, 44800.0, 0.0], [44160.0, 25600.0, 153600.0]],
        ),
    ] {
        let shape = [1, 20, 20, 24];
        let mut network = NetworkFile::new(&shape);
        let map = network.call(OpKind::Abs, &[0], &shape);
        let leaky = network.call_with(
            OpKind::LeakyRelu,
            &[map],
            &shape,
            BuiltinOptions::LeakyRelu { alpha },
        );
        let end = network.call(OpKind::Abs, &[leaky], &shape);
        for (map, scale) in [(0, 0.05), (map, 0.05), (leaky, scale), (end, scale)] {
            network.set_scale(map, scale, 0);
        }
        let [u55, u65] = of_vela;
        network.of_16_bits().check_totals(
            &[
                (Product::U55x256, u55),
                (Product::U65x512, u65),
                (Product::U85x256, [14423.0, 0.0, 115200.0]),
            ][..if alpha < 0.0 { 2 } else { 3 }],
            [0.003, 0.003, 0.01],
        );
    }
}

/// As Keras's GlobalMaxPooling2D: Ethos-U85 pools the height as it is.
#[test]
fn maxima_over_height_and_width_take_two_passes() {
    let reduced = |kind, shape: [i32; 4]| {
        let mut network = NetworkFile::new(&shape);
        network.reduce(kind, 0, &[1, 2]);
        network
    };
    reduced(OpKind::ReduceMax, [1, 12, 12, 8]).check(&[
        (Product::U55x256, [1075.0, 1248.0, 0.0]),
        (Product::U65x512, [1493.0, 96.0, 1984.0]),
        (Product::U85x256, [4103.0, 192.0, 12352.0]),
    ]);
    reduced(OpKind::ReduceMin, [1, 16, 16, 32]).check(&[
        (Product::U55x256, [12014.0, 8704.0, 0.0]),
        (Product::U65x512, [6088.0, 8704.0, 8320.0]),
        (Product::U85x256, [2975.0, 512.0, 8448.0]),
    ]);
}

/// A constant beside a single value, as in a normalisation of few inputs.
#[test]
fn a_scalar_beside_a_scalar_is_read() {
    let mut network = NetworkFile::new(&[1, 1]);
    let map = network.call(OpKind::Abs, &[0], &[1, 1]);
    let scalar = network.constant(&[5]);
    network.set_type(scalar, TensorType::Int8);
    let map = network.call_with(OpKind::Add, &[map, scalar], &[1, 1], ADD);
    network.call(OpKind::Abs, &[map], &[1, 1]);
    network.check_totals(
        &[
            (Product::U55x256, [262.0, 32.0, 256.0]),
            (Product::U65x512, [136.0, 16.0, 272.0]),
            (Product::U85x256, [12.0, 0.0, 8.0]),
        ],
        [0.01, 0.003, 0.003],
    );
}

/// A second input that is one number for each position in the outer dimensions, and one that is a part.
#[test]
fn each_run_sees_a_part_of_both_inputs() {
    let difference = |other: [i32; 5]| {
        let mut network = NetworkFile::new(&[2, 5, 6, 4, 16]);
        let other = network.map(&other);
        network.other_inputs.push(other);
        network.call_with(OpKind::Sub, &[0, other], &[2, 5, 6, 4, 16], SUB);
        network
    };
    difference([2, 1, 1, 1, 1]).check(&[
        (Product::U55x256, [2880.0, 7696.0, 0.0]),
        (Product::U65x512, [4090.0, 0.0, 15360.0]),
        (Product::U85x256, [1440.0, 0.0, 7680.0]),
    ]);
    difference([2, 5, 1, 4, 16]).check(&[
        (Product::U55x256, [2880.0, 8320.0, 0.0]),
        (Product::U65x512, [6140.0, 0.0, 23040.0]),
        (Product::U85x256, [1680.0, 0.0, 8320.0]),
    ]);
}

/// What is inside of a chain may be in bricks, its output for callers is not.
#[test]
fn chains_write_bursts_of_their_last_output() {
    let mut network = NetworkFile::new(&[1, 14, 14, 48]);
    let other = network.map(&[1, 14, 14, 48]);
    network.other_inputs.push(other);
    let product = network.call_with(OpKind::Mul, &[0, other], &[1, 14, 14, 48], MUL);
    network.call(OpKind::Abs, &[product], &[1, 14, 14, 48]);
    network.check(&[
        (Product::U85x256, [7840.0, 0.0, 94080.0]),
        (Product::U85x2048, [7840.0, 0.0, 94080.0]),
    ]);
}

/// A maximum over channels whose output lacks their dimension.
#[test]
fn maxima_that_lose_a_dimension_see_the_output_in_its_own_shape() {
    let mut network = NetworkFile::new(&[1, 8, 8, 16]);
    let axes = network.constant(&[3]);
    network.call_with(
        OpKind::ReduceMax,
        &[0, axes],
        &[1, 8, 8],
        BuiltinOptions::Reducer { keep_dims: false },
    );
    network.check(&[
        (Product::U55x256, [1361.0, 1088.0, 0.0]),
        (Product::U65x512, [2086.0, 0.0, 7168.0]),
        (Product::U85x256, [3441.0, 0.0, 2560.0]),
    ]);
}
