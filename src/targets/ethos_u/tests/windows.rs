//! Convolutions and poolings, against what Vela 5.2.0 prints for the same files.

use super::network_file::{NetworkFile, same, valid, with_relu};
use crate::formats::tflite::{OpKind, Padding};
use crate::graph::analysis::fixtures::{conv_2d, pool_2d};
use crate::targets::ethos_u::configuration::Product;

/// As in the patch embeddings of SegFormer, with a padding that Vela cannot unroll: 49 operations for each block. Small
/// buffers of weights are not compared.
#[test]
fn padded_windows_with_wide_strides_are_divided_by_kernel_position() {
    let mut network = NetworkFile::new(&[1, 64, 64, 4]);
    let weights = network.weights(&[32, 7, 7, 4]);
    let bias = network.constant(&[0; 32]);
    let options = conv_2d(Padding::Same, [4; 2]);
    network.call_with(
        OpKind::Conv2d,
        &[0, weights, bias],
        &[1, 16, 16, 32],
        options,
    );
    network.check_totals(
        &[(Product::U85x256, [598_501.0, 0.0, 3_723_840.0])],
        [0.003, f64::INFINITY, 0.003],
    );
}

/// A causal convolution of one dimension as Keras has it. Vela pads in the convolution if the RESHAPE leaves height and
/// width as they are, and copies otherwise.
#[test]
fn windows_pad_behind_a_reshape() {
    let causal = |image: [i32; 4], kernel: [i32; 2], written: [i32; 4]| {
        let mut network = NetworkFile::new(&[1, 64, 16]);
        let sides = network.constant(&[0, 0, 4, 0, 0, 0]);
        let padded = network.call(OpKind::Pad, &[0, sides], &[1, 68, 16]);
        let reshaped = network.call(OpKind::Reshape, &[padded], &image);
        network.convolve(reshaped, kernel, &written, valid());
        network
    };
    causal([1, 1, 68, 16], [1, 5], [1, 1, 64, 32]).check(&[
        (Product::U55x256, [3712.0, 3072.0, 3712.0]),
        (Product::U65x512, [4344.0, 0.0, 12928.0]),
        (Product::U85x256, [3849.0, 0.0, 20320.0]),
    ]);
    causal([1, 68, 1, 16], [5, 1], [1, 64, 1, 32]).check(&[
        (Product::U55x256, [6384.0, 6848.0, 3840.0]),
        (Product::U65x512, [5093.0, 4848.0, 13232.0]),
        (Product::U85x256, [5795.0, 4032.0, 20608.0]),
    ]);
}

fn pooled(
    kind: OpKind,
    input: &[i32],
    output: &[i32],
    [filter, stride]: [i32; 2],
    padding: Padding,
) -> NetworkFile {
    let mut network = NetworkFile::new(input);
    let options = pool_2d(padding, [filter; 2], [stride; 2]);
    network.call_with(kind, &[0], output, options);
    network
}

/// One operation for each position of the output, or on Ethos-U85 for each position of a window with padding. An average
/// is then a sum that is scaled.
#[test]
fn pooling_with_wide_strides_is_divided() {
    use Padding::{Same, Valid};
    let max = OpKind::MaxPool2d;
    pooled(max, &[1, 32, 32, 24], &[1, 8, 8, 24], [4, 4], Valid).check(&[
        (Product::U55x256, [22912.0, 26112.0, 0.0]),
        (Product::U65x512, [64384.0, 0.0, 32768.0]),
        (Product::U85x256, [67520.0, 0.0, 110_592.0]),
    ]);
    pooled(max, &[1, 33, 17, 10], &[1, 9, 5, 10], [3, 4], Same)
        .check(&[(Product::U85x256, [18162.0, 0.0, 75600.0])]);
    pooled(
        OpKind::AveragePool2d,
        &[1, 33, 17, 24],
        &[1, 7, 4, 24],
        [5, 5],
        Same,
    )
    .check_totals(
        &[(Product::U85x256, [37501.0, 3584.0, 69104.0])],
        [0.003, 0.005, 0.03],
    );
}

/// Ethos-U85 runs one convolution for each position inside the stride; what SAME cuts off shifts them.
#[test]
fn wide_strides_are_upscaled_position_by_position() {
    let mut network = NetworkFile::new(&[1, 8, 8, 16]);
    network.upscale(5, &[1, 24, 24, 8], 3);
    network.check(&[(Product::U85x256, [30145.0, 1664.0, 352_272.0])]);
}

/// Windows run once for each input, convolutions of single positions once for all inputs.
#[test]
fn inputs_of_a_batch_run_one_after_another() {
    let mut network = NetworkFile::new(&[3, 16, 16, 8]);
    network.convolve(0, [3, 3], &[3, 16, 16, 16], with_relu());
    network.check(&[
        (Product::U55x256, [16512.0, 24576.0, 4944.0]),
        (Product::U65x512, [14395.0, 13952.0, 35712.0]),
        (Product::U85x256, [26437.0, 14064.0, 79056.0]),
    ]);
    let mut network = NetworkFile::new(&[2, 9, 9, 20]);
    network.convolve(0, [1, 1], &[2, 9, 9, 32], with_relu());
    network.check(&[
        (Product::U55x256, [8722.0, 9616.0, 1184.0]),
        (Product::U65x512, [18184.0, 6384.0, 65712.0]),
        (Product::U85x256, [27918.0, 6624.0, 112_032.0]),
    ]);
    let max = OpKind::MaxPool2d;
    pooled(max, &[3, 16, 16, 8], &[3, 8, 8, 8], [2, 2], Padding::Valid).check(&[
        (Product::U55x256, [1920.0, 7680.0, 0.0]),
        (Product::U65x512, [6006.0, 0.0, 22527.0]),
        (Product::U85x256, [15000.0, 0.0, 61440.0]),
    ]);
    let mut network = NetworkFile::new(&[2, 16, 16, 8]);
    network.upscale(3, &[2, 32, 32, 16], 2);
    network.check(&[
        (Product::U55x256, [17400.0, 38512.0, 3296.0]),
        (Product::U65x512, [12615.0, 1664.0, 46336.0]),
        (Product::U85x256, [84998.0, 1488.0, 442_144.0]),
    ]);
}

/// The copy in SRAM of an input of one dimension, which a RESHAPE shows to a convolution. Reading it off chip would take
/// 20,000 cycles here.
#[test]
fn inputs_behind_a_reshape_are_staged() {
    let mut network = NetworkFile::new(&[1, 200, 64]);
    let map = network.call(OpKind::Reshape, &[0], &[1, 1, 200, 64]);
    let map = network.convolve(map, [1, 5], &[1, 1, 196, 64], valid());
    network.call(OpKind::Abs, &[map], &[1, 1, 196, 64]);
    let of_vela = [(Product::U85x256, [28729.0, 28704.0, 134368.0])];
    network.check_totals(&of_vela, [0.15, 0.6, 0.17]);
}

/// As dilated convolutions of older converters: the blocks and the convolution run as one.
#[test]
fn windows_of_blocks_run_as_one_dilated_window() {
    let mut network = NetworkFile::new(&[1, 8, 8, 16]);
    let [block, padding, cropping] =
        [&[2, 2][..], &[2; 4], &[0; 4]].map(|values| network.constant(values));
    let inputs = [0, block, padding];
    let blocks = network.call(OpKind::SpaceToBatchNd, &inputs, &[4, 6, 6, 16]);
    let map = network.convolve(blocks, [3, 3], &[4, 4, 4, 8], valid());
    network.call(
        OpKind::BatchToSpaceNd,
        &[map, block, cropping],
        &[1, 8, 8, 8],
    );
    network.check(&[
        (Product::U55x256, [1568.0, 1536.0, 1568.0]),
        (Product::U65x512, [1644.0, 0.0, 3840.0]),
        (Product::U85x256, [1716.0, 0.0, 6592.0]),
    ]);
    // In one dimension, padded by the blocks or, as Keras's causal layers with an open batch are, by a PAD before them.
    for pads_before in [false, true] {
        let mut network = NetworkFile::new(&[1, 32, 16]);
        let [sides, block, padding, none] = [&[0, 0, 4, 0, 0, 0][..], &[2], &[2; 2], &[0; 2]]
            .map(|values| network.constant(values));
        network.tensors[sides].shape = vec![3, 2];
        let inputs = if pads_before {
            let padded = network.call(OpKind::Pad, &[0, sides], &[1, 36, 16]);
            [padded, block, none]
        } else {
            [0, block, padding]
        };
        let blocks = network.call(OpKind::SpaceToBatchNd, &inputs, &[2, 18, 16]);
        let blocks = network.call(OpKind::ExpandDims, &[blocks], &[2, 1, 18, 16]);
        let map = network.convolve(blocks, [1, 3], &[2, 1, 16, 8], valid());
        let map = network.call(OpKind::Squeeze, &[map], &[2, 16, 8]);
        network.call(OpKind::BatchToSpaceNd, &[map, block, none], &[1, 32, 8]);
        network.check_totals(
            &[
                (Product::U55x256, [576.0, 768.0, 576.0]),
                (Product::U65x512, [1157.0, 0.0, 1440.0]),
                (Product::U85x256, [1182.0, 0.0, 3248.0]),
            ],
            [0.003, 0.005, 0.006],
        );
    }
}

/// As the first layer of vision transformers: one operation for each position, of which only every other one has a buffer.
#[test]
fn buffers_of_equal_operations_alternate_where_only_a_wait_hides_their_transfer() {
    let mut network = NetworkFile::new(&[1, 64, 64, 3]);
    let weights = network.weights(&[64, 8, 8, 3]);
    let bias = network.constant(&[0; 64]);
    let options = conv_2d(Padding::Valid, [8; 2]);
    let inputs = [0, weights, bias];
    network.call_with(OpKind::Conv2d, &inputs, &[1, 8, 8, 64], options);
    network.check(&[
        (Product::U55x256, [1_194_480.0, 34_896.0, 1_184_768.0]),
        (Product::U65x512, [352_527.0, 18_528.0, 1_398_784.0]),
        (Product::U85x256, [532_952.0, 20_576.0, 1_447_936.0]),
        (Product::U85x512, [333_888.0, 20_592.0, 1_448_960.0]),
    ]);
}

#[test]
fn operators_that_read_one_tensor_of_weights_fill_one_buffer_each() {
    let mut network = NetworkFile::new(&[1, 8, 8, 64]);
    let weights = network.weights(&[64, 3, 3, 64]);
    let mut map = 0;
    for _ in 0..3 {
        map = network.call_with(OpKind::Conv2d, &[map, weights], &[1, 8, 8, 64], same());
    }
    network.check(&[
        (Product::U55x256, [139696.0, 50320.0, 126384.0]),
        (Product::U65x512, [46767.0, 50336.0, 159200.0]),
        (Product::U85x256, [52911.0, 49824.0, 223200.0]),
    ]);
}

/// What is divided into one operation for each input of a batch writes no part of a larger map.
#[test]
fn parts_of_a_batch_are_copied() {
    let mut network = NetworkFile::new(&[2, 20, 18, 16]);
    let part = network.convolve(0, [3, 3], &[2, 20, 18, 16], same());
    network.join(&[part, 0]);
    network.check(&[
        (Product::U55x256, [29748.0, 49216.0, 6272.0]),
        (Product::U65x512, [24998.0, 14656.0, 67712.0]),
        (Product::U85x256, [26622.0, 14272.0, 59264.0]),
    ]);
    let groups = |n_inputs: i32, side: i32| {
        let mut network = NetworkFile::new(&[n_inputs, 20, 18, 32]);
        let weights = network.weights(&[32, side, side, 16]);
        let inputs = [0, weights];
        let shape = [n_inputs, 20, 18, 32];
        network.call_with(OpKind::Conv2d, &inputs, &shape, with_relu());
        network
    };
    groups(2, 3).check(&[
        (Product::U55x256, [56680.0, 60736.0, 12544.0]),
        (Product::U65x512, [53432.0, 37696.0, 132_416.0]),
        (Product::U85x256, [55405.0, 37312.0, 226_048.0]),
    ]);
    // The bits of a stream of a kilobyte are not reproduced.
    groups(3, 1).check_totals(
        &[
            (Product::U55x256, [56848.0, 86912.0, 1040.0]),
            (Product::U65x512, [61683.0, 52368.0, 177_696.0]),
            (Product::U85x256, [57975.0, 52416.0, 312_208.0]),
        ],
        [0.003, 0.005, 0.02],
    );
}

/// The first one has none, because it finds no equal weights before it.
#[test]
fn the_second_convolution_of_a_batch_hides_its_weights_behind_the_first() {
    let mut network = NetworkFile::new(&[3, 1, 10, 16]);
    let map = network.convolve(0, [1, 3], &[3, 1, 10, 56], same());
    network.call(OpKind::Abs, &[map], &[3, 1, 10, 56]);
    network.check(&[
        (Product::U55x256, [13697.0, 6432.0, 12096.0]),
        (Product::U65x512, [6330.0, 6048.0, 19584.0]),
        (Product::U85x256, [7032.0, 6144.0, 26592.0]),
    ]);
}

#[test]
fn convolutions_of_a_batch_perform_no_activation() {
    let mut network = NetworkFile::new(&[2, 12, 13, 16]);
    let map = network.convolve(0, [1, 1], &[2, 12, 13, 56], same());
    network.call(OpKind::Tanh, &[map], &[2, 12, 13, 56]);
    network.check_totals(
        &[
            (Product::U55x256, [17122.0, 24272.0, 2064.0]),
            (Product::U65x512, [27279.0, 19344.0, 78928.0]),
            (Product::U85x256, [24032.0, 19584.0, 153_664.0]),
        ],
        [0.003, 0.005, 0.01],
    );
}

#[test]
fn a_group_of_each_channel_is_a_depthwise_convolution() {
    let mut network = NetworkFile::new(&[1, 10, 10, 32]);
    let weights = network.weights(&[32, 5, 5, 1]);
    network.call_with(OpKind::Conv2d, &[0, weights], &[1, 10, 10, 32], same());
    network.check(&[
        (Product::U55x256, [4114.0, 6400.0, 1344.0]),
        (Product::U65x512, [14011.0, 0.0, 52544.0]),
        (Product::U85x256, [6849.0, 0.0, 30144.0]),
    ]);
}
