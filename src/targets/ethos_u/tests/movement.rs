//! What moves, repeats, enlarges or divides values, against what Vela 5.2.0 prints for the same files.

use super::network_file::NetworkFile;
use crate::formats::tflite::{Activation, BuiltinOptions, OpKind, Padding, TensorType};
use crate::graph::analysis::fixtures::{ADD, pool_2d};
use crate::targets::ethos_u::configuration::Product::{self, U55x256, U65x512, U85x256};

impl NetworkFile {
    fn reshape(&mut self, map: usize, shape: &[i32]) -> usize {
        let sizes = self.constant(shape);
        self.call(OpKind::Reshape, &[map, sizes], shape)
    }

    fn tile(&mut self, map: usize, multiples: &[i32]) -> usize {
        let shape = self.shape(map);
        let sizes: Vec<i32> = (shape.iter().zip(multiples))
            .map(|(&one, &n)| one * n)
            .collect();
        let multiples = self.constant(multiples);
        self.call(OpKind::Tile, &[map, multiples], &sizes)
    }

    fn reverse(&mut self, map: usize, axis: i32) -> usize {
        let shape = self.shape(map);
        let axis = self.constant(&[axis]);
        self.call(OpKind::ReverseV2, &[map, axis], &shape)
    }

    /// Mirrors rows and columns, as many on both sides.
    fn mirror(&mut self, map: usize, [rows, columns]: [i32; 2]) -> usize {
        let [batch, height, width, depth] = self.shape(map)[..] else {
            panic!("four dimensions");
        };
        let sides = self.constant(&[0, 0, rows, rows, columns, columns, 0, 0]);
        let shape = [batch, height + 2 * rows, width + 2 * columns, depth];
        self.call(OpKind::MirrorPad, &[map, sides], &shape)
    }

    fn resize(&mut self, options: BuiltinOptions, side: i32) -> usize {
        let kind = match options {
            BuiltinOptions::ResizeBilinear { .. } => OpKind::ResizeBilinear,
            _ => OpKind::ResizeNearestNeighbor,
        };
        let sizes = self.constant(&[side; 2]);
        let depth = self.shape(0)[3];
        self.call_with(kind, &[0, sizes], &[1, side, side, depth], options)
    }

    fn divide(&mut self, one: usize, other: usize) -> usize {
        let options = BuiltinOptions::Div {
            activation: Activation::None,
        };
        let shape = self.shape(one);
        self.call_with(OpKind::Div, &[one, other], &shape, options)
    }

    fn logistic(&mut self, map: usize) -> usize {
        let shape = self.shape(map);
        self.call(OpKind::Logistic, &[map], &shape)
    }
}

const NEAREST: BuiltinOptions = BuiltinOptions::ResizeNearestNeighbor {
    align_corners: false,
    half_pixel_centers: false,
};

/// UpSampling2D of Keras repeats rows and columns of five dimensions: one copy for each row.
#[test]
fn repetitions_copy_three_dimensions_at_a_time() {
    let mut network = NetworkFile::new(&[1, 20, 20, 8]);
    let map = network.reshape(0, &[1, 20, 1, 20, 8]);
    let map = network.tile(map, &[1, 1, 2, 1, 1]);
    let map = network.reshape(map, &[1, 40, 20, 1, 8]);
    let map = network.tile(map, &[1, 1, 1, 2, 1]);
    network.reshape(map, &[1, 40, 40, 8]);
    network.check(&[
        (U55x256, [31080.0, 19200.0, 0.0]),
        (U65x512, [106_640.0, 6400.0, 122_880.0]),
        (U85x256, [115_120.0, 6400.0, 153_600.0]),
    ]);
    let mut network = NetworkFile::new(&[1, 1, 1, 32]);
    network.tile(0, &[1, 48, 48, 1]);
    network.check(&[
        (U55x256, [98544.0, 75264.0, 0.0]),
        (U65x512, [185_664.0, 1536.0, 592_896.0]),
        (U85x256, [141_552.0, 1536.0, 592_896.0]),
    ]);
}

#[test]
fn packs_copy_three_dimensions_at_a_time() {
    let mut network = NetworkFile::new(&[1, 32, 32, 16]);
    let options = BuiltinOptions::Pack {
        axis: 2,
        values_count: 2,
    };
    network.call_with(OpKind::Pack, &[0, 0], &[1, 32, 2, 32, 16], options);
    network.check(&[
        (U55x256, [42624.0, 49152.0, 0.0]),
        (U65x512, [76864.0, 0.0, 73728.0]),
        (U85x256, [74496.0, 0.0, 73728.0]),
    ]);
}

#[test]
fn blocks_of_enlarged_maps_read_the_nearest_values() {
    let mut network = NetworkFile::new(&[1, 16, 16, 32]);
    network.resize(NEAREST, 32);
    network.check(&[
        (U55x256, [18784.0, 40960.0, 0.0]),
        (U65x512, [102_673.0, 0.0, 385_024.0]),
        (U85x256, [27306.0, 0.0, 327_680.0]),
    ]);
    let mut network = NetworkFile::new(&[1, 24, 24, 16]);
    let options = BuiltinOptions::ResizeBilinear {
        align_corners: false,
        half_pixel_centers: false,
    };
    network.resize(options, 96);
    network.check(&[
        (U55x256, [318_238.0, 184_320.0, 0.0]),
        (U65x512, [161_242.0, 36864.0, 162_816.0]),
        (U85x256, [36864.0, 0.0, 156_672.0]),
    ]);
    // Between pixel centres, the columns of the frame are copied from its rows.
    let mut network = NetworkFile::new(&[1, 12, 12, 8]);
    let options = BuiltinOptions::ResizeBilinear {
        align_corners: false,
        half_pixel_centers: true,
    };
    network.resize(options, 24);
    network.check(&[
        (U55x256, [10_076.0, 6368.0, 384.0]),
        (U65x512, [12_245.0, 1824.0, 22_304.0]),
        (U85x256, [3840.0, 0.0, 46_080.0]),
    ]);
    // The same size is a copy.
    let mut network = NetworkFile::new(&[1, 16, 16, 32]);
    network.resize(NEAREST, 16);
    network.check(&[
        (U55x256, [4480.0, 8192.0, 0.0]),
        (U65x512, [10922.0, 0.0, 40960.0]),
        (U85x256, [6249.0, 0.0, 73728.0]),
    ]);
}

/// On the others, the CPU divides.
#[test]
fn ethos_u85_divides_slowly() {
    let mut network = NetworkFile::new(&[1, 16, 16, 32]);
    network.divide(0, 0);
    network.check(&[(U85x256, [270_336.0, 0.0, 81920.0])]);
    let mut network = NetworkFile::new(&[1, 16, 16, 32]);
    let activated = network.logistic(0);
    let sum = network.call_with(OpKind::Add, &[0, activated], &[1, 16, 16, 32], ADD);
    network.divide(sum, activated);
    network.check(&[
        (U55x256, [10944.0, 24576.0, 256.0]),
        (U65x512, [24029.0, 0.0, 90368.0]),
        (U85x256, [279_212.0, 0.0, 46336.0]),
    ]);
}

#[test]
fn entries_are_gathered_by_bursts() {
    let mut network = NetworkFile::new(&[64, 32]);
    let indices = network.constant(&[1, 2, 3, 4, 5]);
    let options = BuiltinOptions::Gather {
        axis: 0,
        batch_dims: 0,
    };
    network.call_with(OpKind::Gather, &[0, indices], &[5, 32], options);
    network.check(&[(U85x256, [1953.0, 0.0, 21760.0])]);
}

/// Reversed columns take twice the time, reversed channels have shallow blocks, and what comes before writes reversed.
#[test]
fn dimensions_are_reversed_on_ethos_u85() {
    let rows: [(&[i32], i32, [f64; 3]); 2] = [
        (&[1, 24, 24, 16], 2, [8062.0, 0.0, 26112.0]),
        (&[10, 40], 1, [1332.0, 0.0, 6400.0]),
    ];
    for (shape, axis, of_vela) in rows {
        let mut network = NetworkFile::new(shape);
        network.reverse(0, axis);
        network.check(&[(U85x256, of_vela)]);
    }
    let mut network = NetworkFile::new(&[1, 24, 24, 16]);
    let options = pool_2d(Padding::Valid, [2; 2], [2; 2]);
    let pooled = network.call_with(OpKind::MaxPool2d, &[0], &[1, 12, 12, 16], options);
    network.reverse(pooled, 1);
    network.check(&[
        (U55x256, [2848.0, 11520.0, 0.0]),
        (U65x512, [6075.0, 0.0, 22784.0]),
        (U85x256, [3438.0, 0.0, 11520.0]),
    ]);
}

/// Columns are copied from the output, and what only columns follow is written in place.
#[test]
fn mirrored_columns_are_read_from_the_output() {
    let mut network = NetworkFile::new(&[1, 24, 24, 16]);
    network.mirror(0, [2, 2]);
    network.check(&[
        (U55x256, [7680.0, 21760.0, 0.0]),
        (U65x512, [16750.0, 0.0, 55552.0]),
        (U85x256, [11724.0, 0.0, 55552.0]),
    ]);
    let mut network = NetworkFile::new(&[1, 24, 24, 16]);
    let mirrored = network.mirror(0, [3, 0]);
    network.logistic(mirrored);
    network.check(&[
        (U55x256, [13056.0, 20736.0, 256.0]),
        (U65x512, [16063.0, 11520.0, 46848.0]),
        (U85x256, [17231.0, 11520.0, 35328.0]),
    ]);
    let mut network = NetworkFile::new(&[1, 24, 24, 16]);
    let activated = network.logistic(0);
    network.mirror(activated, [0, 3]);
    network.check(&[
        (U55x256, [7264.0, 20736.0, 256.0]),
        (U65x512, [13356.0, 0.0, 47488.0]),
        (U85x256, [11350.0, 0.0, 36736.0]),
    ]);
}

/// A map that is multiplied with itself is read in its own order and in another one. The 32-bit products of
/// Ethos-U55 take 256 bytes more than their elements.
#[test]
fn products_of_a_map_with_itself_keep_it() {
    let mut network = NetworkFile::new(&[1, 64, 32]);
    let map = network.logistic(0);
    network.multiply([map, map], &[1, 64, 64], true);
    let of_vela: [(Product, [f64; 3]); 3] = [
        (U55x256, [97658.0, 16640.0, 256.0]),
        (U65x512, [161_378.0, 4096.0, 345_344.0]),
        (U85x256, [8044.0, 4096.0, 35072.0]),
    ];
    network.check_totals(&of_vela, [0.003, 0.016, 0.003]);
}

/// A lookup table is fetched while nothing else runs.
#[test]
fn tables_behind_the_cpu_are_waited_for() {
    let mut network = NetworkFile::new(&[1, 16, 16, 32]);
    let map = network.call(OpKind::Abs, &[0], &[1, 16, 16, 32]);
    let map = network.logistic(map);
    let map = network.call(OpKind::L2Normalization, &[map], &[1, 16, 16, 32]);
    network.logistic(map);
    network.check(&[
        (U55x256, [12992.0, 16384.0, 256.0]),
        (U65x512, [21844.0, 0.0, 82176.0]),
        (U85x256, [15232.0, 0.0, 152_832.0]),
    ]);
}

/// A convolution reads a copy of what the CPU computed. Small buffers of weights are not compared.
#[test]
fn results_of_the_cpu_are_staged() {
    let mut network = NetworkFile::new(&[1, 32, 32, 64]);
    let map = network.call(OpKind::L2Normalization, &[0], &[1, 32, 32, 64]);
    let weights = network.weights(&[32, 3, 3, 64]);
    let bias = network.constant(&[0; 32]);
    let shape = [1, 32, 32, 32];
    network.call_with(OpKind::Conv2d, &[map, weights, bias], &shape, super::CONV);
    network.check_totals(
        &[
            (U55x256, [86964.0, 131_072.0, 21088.0]),
            (U65x512, [91428.0, 86656.0, 348_800.0]),
            (U85x256, [499_999.0, 0.0, 2_067_200.0]),
        ],
        [0.031, 0.005, 0.005],
    );
}

/// Values of 64 bits are moved as they are, and permuted in halves.
#[test]
fn ethos_u85_moves_values_of_64_bits() {
    let moved = |move_values: fn(&mut NetworkFile) -> usize, of_vela: [f64; 3]| {
        let mut network = NetworkFile::new(&[1, 12, 12, 8]);
        let output = move_values(&mut network);
        for map in [0, output] {
            network.set_type(map, TensorType::Int64);
        }
        network.check(&[(U85x256, of_vela)]);
    };
    moved(
        |network| network.reshape(0, &[1, 1152]),
        [11294.0, 0.0, 33792.0],
    );
    moved(
        |network| network.transpose(0, &[0, 3, 1, 2]),
        [167_737.0, 36864.0, 129_024.0],
    );
    moved(
        |network| network.tile(0, &[1, 2, 1, 2]),
        [60296.0, 36864.0, 104_448.0],
    );
}

#[test]
fn casts_are_sums_or_comparisons_on_ethos_u85() {
    use TensorType::{Bool, Int8, Int16, Int64};
    for (types, of_vela) in [
        ([Int8, Bool], [3461.0, 0.0, 9216.0]),
        ([Bool, Int8], [3461.0, 0.0, 9216.0]),
        ([Int16, Int8], [960.0, 0.0, 11520.0]),
        ([Int8, Int64], [5218.0, 4608.0, 27648.0]),
    ] {
        let mut network = NetworkFile::new(&[1, 12, 12, 8]);
        let output = network.call(OpKind::Cast, &[0], &[1, 12, 12, 8]);
        for (map, tensor_type) in [0, output].into_iter().zip(types) {
            network.set_type(map, tensor_type);
        }
        network.check(&[(U85x256, of_vela)]);
    }
}

/// Registers count 65,536 rows: the others are another operation.
#[test]
fn maxima_of_many_rows_take_two_operations() {
    let mut network = NetworkFile::new(&[1, 300, 300, 5]);
    network.reduce(OpKind::ReduceMax, 0, &[3]);
    network.check(&[
        (U55x256, [900_176.0, 540_000.0, 0.0]),
        (U65x512, [2_303_999.0, 0.0, 8_640_000.0]),
        (U85x256, [1_804_112.0, 0.0, 4_324_480.0]),
    ]);
    let mut network = NetworkFile::new(&[140_000, 3, 5]);
    network.reduce(OpKind::ReduceMax, 0, &[1]);
    network.check(&[
        (U55x256, [1_400_000.0, 2_800_000.0, 0.0]),
        (U65x512, [11_946_666.0, 0.0, 44_800_000.0]),
        (U85x256, [5_128_125.0, 0.0, 22_403_840.0]),
    ]);
}

/// The maxima of an axis are written at the rate of average pooling, which is half that of max pooling.
#[test]
fn maxima_of_an_axis_are_written_slowly() {
    let mut network = NetworkFile::new(&[1, 8, 8, 4]);
    network.reduce(OpKind::ReduceMax, 0, &[1]);
    network.check(&[
        (Product::U55x32, [232.0, 288.0, 0.0]),
        (Product::U55x64, [272.0, 288.0, 0.0]),
    ]);
}

/// Its producer does not write the output in place of it.
#[test]
fn padding_by_nothing_is_a_copy() {
    let mut network = NetworkFile::new(&[1, 16, 16, 24]);
    let map = network.reduce(OpKind::ReduceMax, 0, &[3]);
    network.mirror(map, [0, 0]);
    network.check(&[
        (U55x256, [12746.0, 6400.0, 0.0]),
        (U65x512, [33298.0, 256.0, 123_392.0]),
        (U85x256, [28996.0, 256.0, 72512.0]),
    ]);
}

/// Averages, and a resize that Ethos-U55 and U65 make of them.
#[test]
fn pooling_performs_the_activation_behind_it() {
    let mut network = NetworkFile::new(&[1, 16, 16, 24]);
    let options = pool_2d(Padding::Valid, [2; 2], [2; 2]);
    let pooled = network.call_with(OpKind::AveragePool2d, &[0], &[1, 8, 8, 24], options);
    network.logistic(pooled);
    network.check(&[
        (U55x256, [3456.0, 7680.0, 0.0]),
        (U65x512, [16404.0, 0.0, 61440.0]),
        (U85x256, [7499.0, 0.0, 36864.0]),
    ]);
    let mut network = NetworkFile::new(&[1, 8, 8, 16]);
    let resized = network.resize(NEAREST, 16);
    network.logistic(resized);
    network.check(&[
        (U55x256, [6248.0, 5120.0, 0.0]),
        (U65x512, [4691.0, 0.0, 8192.0]),
    ]);
}
