//! Transpositions, parts and copies, against what Vela 5.2.0 prints for the same files.

use super::network_file::{NetworkFile, same, with_relu};
use crate::formats::tflite::{Activation, BuiltinOptions, OpKind, Padding};
use crate::graph::analysis::fixtures::{ADD, conv_2d_with};
use crate::targets::ethos_u::configuration::Product;

fn transposed(input: &[i32], orders: &[&[i32]]) -> NetworkFile {
    let mut network = NetworkFile::new(input);
    let mut map = 0;
    for order in orders {
        map = network.transpose(map, order);
    }
    network
}

#[test]
fn transposes_move_memory() {
    transposed(&[1, 12, 20, 24], &[&[0, 2, 1, 3]]).check(&[
        (Product::U55x256, [2160.0, 11520.0, 0.0]),
        (Product::U65x512, [9728.0, 0.0, 36480.0]),
        (Product::U85x256, [12890.0, 0.0, 88320.0]),
    ]);
    transposed(&[1, 12, 20, 24], &[&[0, 3, 1, 2]]).check(&[
        (Product::U55x256, [5040.0, 11520.0, 0.0]),
        (Product::U65x512, [14574.0, 5760.0, 51840.0]),
        (Product::U85x256, [19335.0, 0.0, 109_440.0]),
    ]);
}

/// Dimensions of 1 count where they are not the first, and more than four dimensions are swapped like four.
#[test]
fn transposes_of_many_dimensions_take_several_passes() {
    transposed(&[64, 1, 4, 24], &[&[1, 2, 0, 3]]).check(&[
        (Product::U55x256, [4608.0, 12288.0, 0.0]),
        (Product::U65x512, [16041.0, 6144.0, 57344.0]),
        (Product::U85x256, [26437.0, 6144.0, 113_664.0]),
    ]);
    transposed(&[1, 20, 20, 3, 85], &[&[0, 3, 1, 2, 4]]).check(&[
        (Product::U55x256, [459_000.0, 204_000.0, 0.0]),
        (Product::U65x512, [371_350.0, 204_000.0, 816_000.0]),
        (Product::U85x256, [1_480_765.0, 204_000.0, 2_856_000.0]),
    ]);
}

#[test]
fn two_transposes_in_turn_are_one() {
    transposed(&[1, 24, 40, 48], &[&[0, 3, 1, 2], &[0, 3, 2, 1]]).check(&[
        (Product::U55x256, [17280.0, 92160.0, 0.0]),
        (Product::U65x512, [98304.0, 0.0, 368_640.0]),
        (Product::U85x256, [40800.0, 0.0, 489_600.0]),
    ]);
}

/// A RESHAPE that drops a dimension of 1 comes behind the TRANSPOSE that alone reads it.
#[test]
fn transposes_see_the_shape_before_dimensions_of_one_are_dropped() {
    let mut network = NetworkFile::new(&[3, 1, 10, 24]);
    let map = network.call(OpKind::Abs, &[0], &[3, 1, 10, 24]);
    let map = network.call(OpKind::Reshape, &[map], &[3, 10, 24]);
    network.transpose(map, &[1, 0, 2]);
    network.check(&[
        (Product::U55x256, [1620.0, 1440.0, 0.0]),
        (Product::U65x512, [3799.0, 1440.0, 12240.0]),
        (Product::U85x256, [4875.0, 4992.0, 8640.0]),
    ]);
}

/// Those of a resize, which write a part of a concatenation that has more channels than they read.
#[test]
fn slices_of_depthwise_convolutions_read_all_channels() {
    let resized = |network: &mut NetworkFile, map: usize, depth: i32| {
        let size = network.constant(&[40, 40]);
        let options = BuiltinOptions::ResizeBilinear {
            align_corners: false,
            half_pixel_centers: true,
        };
        network.call_with(
            OpKind::ResizeBilinear,
            &[map, size],
            &[1, 40, 40, depth],
            options,
        )
    };
    let mut network = NetworkFile::new(&[1, 20, 20, 16]);
    let map = network.call(OpKind::Abs, &[0], &[1, 20, 20, 16]);
    let part = resized(&mut network, map, 16);
    let map = network.convolve(0, [1, 1], &[1, 20, 20, 48], same());
    let other = resized(&mut network, map, 48);
    let map = network.join(&[other, part]);
    network.call(OpKind::Abs, &[map], &[1, 40, 40, 64]);
    network.check_totals(
        &[
            (Product::U55x256, [406116.0, 133472.0, 13568.0]),
            (Product::U65x512, [454236.0, 127104.0, 839584.0]),
        ],
        [0.003, 0.005, 0.09],
    );
}

#[test]
fn activations_behind_transposes_cost_nothing() {
    let mut network = transposed(&[1, 24, 24, 16], &[&[0, 2, 1, 3]]);
    let shape = network.shape(1);
    let map = network.operators[0].outputs[0];
    network.call(OpKind::Relu, &[map], &shape);
    network.check(&[
        (Product::U55x256, [2304.0, 18432.0, 0.0]),
        (Product::U65x512, [9830.0, 0.0, 36864.0]),
        (Product::U85x256, [8062.0, 0.0, 26112.0]),
    ]);
}

#[test]
fn commands_of_ethos_u85_write_transposed() {
    let mut network = NetworkFile::new(&[1, 16, 16, 32]);
    let map = network.call(OpKind::Logistic, &[0], &[1, 16, 16, 32]);
    network.transpose(map, &[0, 3, 1, 2]);
    network.check(&[
        (Product::U55x256, [9920.0, 16384.0, 256.0]),
        (Product::U85x256, [7285.0, 0.0, 85760.0]),
    ]);
    let mut network = NetworkFile::new(&[1, 16, 16, 32]);
    let map = network.call_with(OpKind::Add, &[0, 0], &[1, 16, 16, 32], ADD);
    network.transpose(map, &[0, 3, 1, 2]);
    network.check(&[
        (Product::U65x512, [10012.0, 16384.0, 32768.0]),
        (Product::U85x256, [6826.0, 0.0, 81920.0]),
    ]);
}

/// The first layer of YOLOX and YOLOv5.
#[test]
fn every_other_row_and_column_is_read_between_all() {
    let mut network = NetworkFile::new(&[1, 64, 64, 3]);
    let parts = [[0, 0], [0, 1], [1, 0], [1, 1]].map(|from| network.strided(0, from));
    network.join(&parts);
    network.check(&[
        (Product::U55x256, [16908.0, 24576.0, 0.0]),
        (Product::U65x512, [104_856.0, 0.0, 393_216.0]),
        (Product::U85x256, [36412.0, 0.0, 196_608.0]),
    ]);
}

/// A convolution performs its activation where both write a part of a concatenation, however few channels it has; and
/// the maxima of channels count all channels of the concatenation.
#[test]
fn parts_of_a_concatenation_are_written_as_the_whole_is_seen() {
    let mut network = NetworkFile::new(&[1, 20, 20, 8]);
    let map = network.call(OpKind::Abs, &[0], &[1, 20, 20, 8]);
    let options = conv_2d_with(Padding::Same, [1; 2], Activation::Relu6);
    let part = network.convolve(map, [1, 1], &[1, 20, 20, 4], options);
    network.join(&[map, part]);
    network.check_totals(
        &[
            (Product::U55x256, [6288.0, 11328.0, 128.0]),
            (Product::U65x512, [11421.0, 6576.0, 32176.0]),
            (Product::U85x256, [17936.0, 6656.0, 89856.0]),
        ],
        [0.003, 0.01, 0.13],
    );
    let mut network = NetworkFile::new(&[1, 12, 12, 16]);
    let map = network.call(OpKind::Abs, &[0], &[1, 12, 12, 16]);
    let part = network.reduce(OpKind::ReduceMax, map, &[3]);
    network.join(&[map, part]);
    network.check(&[
        (Product::U55x256, [44865.0, 4752.0, 0.0]),
        (Product::U65x512, [24506.0, 2304.0, 43776.0]),
        (Product::U85x256, [87698.0, 2304.0, 24192.0]),
    ]);
}

/// A part as deep as its block writes bursts of the concatenation, which is deeper.
#[test]
fn activations_write_bursts_of_the_whole_concatenation() {
    let mut network = NetworkFile::new(&[1, 56, 56, 12]);
    let map = network.call(OpKind::Tanh, &[0], &[1, 56, 56, 12]);
    let parts =
        [8, 16, 8].map(|depth| network.convolve(map, [1, 1], &[1, 56, 56, depth], with_relu()));
    network.join(&parts);
    network.check(&[
        (Product::U55x256, [58962.0, 151_216.0, 1184.0]),
        (Product::U65x512, [120_233.0, 50944.0, 447_296.0]),
        (Product::U85x256, [347_810.0, 51040.0, 2_797_008.0]),
        (Product::U85x2048, [275_623.0, 51328.0, 2_711_408.0]),
    ]);
}

/// As Keras's ZeroPadding3D.
#[test]
fn five_dimensions_are_padded_by_copies_of_three() {
    let mut network = NetworkFile::new(&[1, 2, 8, 8, 4]);
    let sides = network.constant(&[0, 0, 1, 1, 0, 0, 0, 0, 0, 0]);
    network.tensors[sides].shape = vec![5, 2];
    network.call(OpKind::Pad, &[0, sides], &[1, 4, 8, 8, 4]);
    network.check(&[
        (Product::U55x256, [2636.0, 1536.0, 512.0]),
        (Product::U65x512, [7958.0, 0.0, 23040.0]),
        (Product::U85x256, [5442.0, 0.0, 12800.0]),
    ]);
}

#[test]
fn what_permutes_nothing_between_input_and_output_is_a_copy() {
    let mut network = NetworkFile::new(&[1, 8, 8, 16]);
    network.transpose(0, &[0, 1, 2, 3]);
    network.check(&[
        (Product::U55x256, [864.0, 1024.0, 0.0]),
        (Product::U65x512, [1530.0, 0.0, 4437.0]),
        (Product::U85x256, [1596.0, 0.0, 2560.0]),
    ]);
}

/// Each element of the output is written by itself.
#[test]
fn entries_are_scattered_one_element_at_a_time() {
    let mut network = NetworkFile::new(&[3, 6, 6, 4]);
    let (places, sizes) = (
        network.constant(&[1, 3, 4]),
        network.constant(&[8, 6, 6, 4]),
    );
    network.tensors[places].shape = vec![3, 1];
    network.call(OpKind::ScatterNd, &[places, 0, sizes], &[8, 6, 6, 4]);
    network.check(&[(Product::U85x256, [14062.0, 0.0, 147_456.0])]);
}

/// The copy of the last input comes first.
#[test]
fn inputs_of_a_pack_are_copied_from_the_last_one_on() {
    let mut network = NetworkFile::new(&[4, 64]);
    let mut maps = vec![0];
    for place in 0..3 {
        maps.push(network.call(OpKind::Abs, &[maps[place]], &[4, 64]));
    }
    let options = BuiltinOptions::Pack {
        values_count: 3,
        axis: 0,
    };
    network.call_with(OpKind::Pack, &maps[1..], &[3, 4, 64], options);
    network.check(&[
        (Product::U55x256, [1680.0, 1536.0, 0.0]),
        (Product::U65x512, [2360.0, 768.0, 3328.0]),
        (Product::U85x256, [2180.0, 768.0, 6400.0]),
    ]);
}

#[test]
fn an_input_that_others_read_is_copied_before_its_reshape() {
    let mut network = NetworkFile::new(&[1, 16, 8]);
    let shaped = network.call(OpKind::Reshape, &[0], &[1, 16, 1, 8]);
    let map = network.call(OpKind::Abs, &[0], &[1, 16, 8]);
    network.call_with(OpKind::Add, &[shaped, map], &[1, 16, 16, 8], ADD);
    network.check(&[
        (Product::U55x256, [4891.0, 6400.0, 2048.0]),
        (Product::U65x512, [3389.0, 4480.0, 4480.0]),
        (Product::U85x256, [2839.0, 384.0, 17408.0]),
    ]);
}
