//! What decides how much memory feature maps take, against what Vela 5.2.0 prints for the same files.

use super::network_file::NetworkFile;
use crate::formats::tflite::{Activation, BuiltinOptions, OpKind, Padding, TensorType};
use crate::graph::analysis::fixtures::{conv_2d_with, fully_connected, pool_2d};
use crate::targets::ethos_u::configuration::Product::{U55x256, U65x256, U65x512, U85x256};
use crate::targets::ethos_u::configuration::{Configuration, VelaIni};

/// A few elements take one unit of memory in bricks, not one for each element.
#[test]
fn maps_of_few_elements_take_a_unit_of_memory() {
    let mut network = NetworkFile::new(&[1, 3]);
    let negated = network.call(OpKind::Neg, &[0], &[1, 3]);
    network.call(OpKind::Abs, &[negated], &[1, 3]);
    // Vela counts cycles in whole numbers, of which there are few here.
    let of_vela = [(U55x256, [16.0, 32.0, 0.0]), (U65x512, [78.0, 16.0, 96.0])];
    network.check_totals(&of_vela, [f64::INFINITY, 0.0, 0.0]);
}

/// An activation reads a part of its input in place, although a transposition gets a copy of the part.
#[test]
fn readers_of_a_part_read_it_in_place_beside_a_copy() {
    let shape = [1, 16, 16, 16];
    let mut network = NetworkFile::new(&[1, 16, 32, 16]);
    let bounds = [
        network.constant(&[0, 0, 16, 0]),
        network.constant(&[1, 16, 16, 16]),
    ];
    let part = network.call(OpKind::Slice, &[0, bounds[0], bounds[1]], &shape);
    let activated = network.call(OpKind::Logistic, &[part], &shape);
    let transposed = network.transpose(part, &[0, 2, 1, 3]);
    network.call(OpKind::Add, &[activated, transposed], &shape);
    network.check(&[
        (U55x256, [10_560.0, 16_384.0, 256.0]),
        (U65x512, [7516.0, 8192.0, 22_272.0]),
    ]);
}

/// A map that is seen in another shape takes the bytes that this shape needs.
#[test]
fn reshaped_maps_take_the_memory_of_their_last_shape() {
    let mut network = NetworkFile::new(&[1, 88, 44, 1]);
    let options = pool_2d(Padding::Valid, [2; 2], [2; 2]);
    let pooled = network.call_with(OpKind::MaxPool2d, &[0], &[1, 44, 22, 1], options);
    let sizes = network.constant(&[1, 44, 22]);
    let flat = network.call(OpKind::Reshape, &[pooled, sizes], &[1, 44, 22]);
    network.reduce(OpKind::ReduceMax, flat, &[2]);
    network.check(&[
        (U55x256, [7654.0, 5280.0, 0.0]),
        (U65x512, [25_469.0, 1408.0, 90_816.0]),
        (U85x256, [17_822.0, 1408.0, 41_824.0]),
    ]);
}

/// Callers read the first bit of truth values, which one more operation keeps.
#[test]
fn truth_values_are_converted_at_the_ends() {
    let shape = [1, 7, 13, 16];
    let mut network = NetworkFile::new(&shape);
    let activated = network.call(OpKind::Logistic, &[0], &shape);
    let compared = network.call(OpKind::GreaterEqual, &[activated, 0], &shape);
    let negated = network.call(OpKind::LogicalNot, &[compared], &shape);
    for map in [compared, negated] {
        network.set_type(map, TensorType::Bool);
    }
    network.check(&[(U85x256, [3828.0, 0.0, 3168.0])]);
}

/// Ethos-U85 looks up the results of a resize while it writes them.
#[test]
fn a_resize_performs_the_activation_behind_it() {
    let mut network = NetworkFile::new(&[1, 16, 8, 4]);
    let sizes = network.constant(&[32, 16]);
    let options = BuiltinOptions::ResizeNearestNeighbor {
        align_corners: false,
        half_pixel_centers: false,
    };
    let shape = [1, 32, 16, 4];
    let resized = network.call_with(OpKind::ResizeNearestNeighbor, &[0, sizes], &shape, options);
    network.call(OpKind::Logistic, &[resized], &shape);
    network.check(&[(U85x256, [1706.0, 0.0, 20_480.0])]);
}

/// Behind an activation, the next operation of a chain is compared with the shape that the activation sees.
#[test]
fn chains_go_on_behind_the_activation_of_a_product() {
    let shape = [1, 12, 16, 24];
    let mut network = NetworkFile::new(&[1, 12, 16, 32]);
    let weights = network.weights(&[24, 32]);
    let options = BuiltinOptions::FullyConnected {
        has_unknown_weights: false,
        keep_num_dims: true,
        activation: Activation::Relu,
    };
    let computed = network.call_with(OpKind::FullyConnected, &[0, weights], &shape, options);
    let negated = network.call(OpKind::Neg, &[computed], &shape);
    network.call(OpKind::Abs, &[negated], &shape);
    // The peak on Ethos-U85 is the weight stream, whose bits are estimated.
    let of_vela = [
        (U55x256, [9840.0, 13_424.0, 1136.0]),
        (U65x512, [12_584.0, 7360.0, 33_984.0]),
        (U85x256, [14_999.0, 1584.0, 87_600.0]),
    ];
    network.check_totals(&of_vela, [0.003, 0.035, 0.003]);
}

/// A reversal stays an operation behind an activation that sees a shallow map in a deeper shape.
#[test]
fn shallow_activations_write_nothing_in_reverse() {
    let shape = [1, 30, 8, 3];
    let mut network = NetworkFile::new(&shape);
    let activated = network.call(OpKind::Logistic, &[0], &shape);
    let axis = network.constant(&[1]);
    network.call(OpKind::ReverseV2, &[activated, axis], &shape);
    network.check(&[(U85x256, [5227.0, 720.0, 7456.0])]);
}

/// No command performs two activations: the first one writes a map of its own, in bricks.
#[test]
fn a_table_behind_an_activation_is_an_operation() {
    let shape = [1, 8, 32, 4];
    let mut network = NetworkFile::new(&[1, 8, 32, 3]);
    let weights = network.weights(&[4, 3, 3, 3]);
    let options = conv_2d_with(Padding::Same, [1; 2], Activation::Relu);
    let computed = network.call_with(OpKind::Conv2d, &[0, weights], &shape, options);
    network.call(OpKind::Logistic, &[computed], &shape);
    let of_vela = [
        (U55x256, [3712.0, 5120.0, 480.0]),
        (U65x512, [5980.0, 5120.0, 14_229.0]),
        (U85x256, [5059.0, 5120.0, 9312.0]),
    ];
    network.check_totals(&of_vela, [0.003, 0.005, 0.005]);
}

/// Behind five dimensions of different shapes, one operation for each position writes its part alone.
#[test]
fn broadcasts_take_three_dimensions_at_a_time() {
    let shape = [1, 6, 8, 2, 8];
    let mut network = NetworkFile::new(&shape);
    let factors = network.weights(&[1, 1, 1, 2, 8]);
    let product = network.call(OpKind::Mul, &[0, factors], &shape);
    network.call(OpKind::Add, &[product, factors], &shape);
    network.check(&[
        (U55x256, [18_432.0, 2304.0, 18_432.0]),
        (U65x512, [8190.0, 1536.0, 30_720.0]),
        (U85x256, [3228.0, 1536.0, 14_592.0]),
    ]);
}

/// Of a single channel, a maximum takes the place of its input and looks up the index.
#[test]
fn indices_of_single_values_are_looked_up_in_place() {
    let mut network = NetworkFile::new(&[1, 40, 30, 1]);
    let axis = network.constant(&[3]);
    let place = network.call(OpKind::ArgMax, &[0, axis], &[1, 40, 30]);
    network.set_type(place, TensorType::Int32);
    network.check(&[
        (U55x256, [22_096.0, 7200.0, 40.0]),
        (U65x512, [17_806.0, 2432.0, 29_800.0]),
        (U85x256, [20_702.0, 0.0, 19_840.0]),
    ]);
}

/// Pooling sees places as rows. The table of indices is an operation of its own, which waits for 2 KB, where these rows are
/// not the height and the width of the graph.
#[test]
fn tables_of_indices_are_fetched_where_pooling_sees_another_shape() {
    let indices = |shape: &[i32], of_vela: [(_, [f64; 3]); 2]| {
        let mut network = NetworkFile::new(shape);
        let (&channels, places) = shape.split_last().expect("channels");
        assert!(channels > 1);
        let axis = network.constant(&[places.len() as i32]);
        let place = network.call(OpKind::ArgMax, &[0, axis], places);
        network.set_type(place, TensorType::Int32);
        network.check_totals(&of_vela, [0.003, 0.005, 0.006]);
    };
    let of_image = [
        (U55x256, [116_650.0, 75_856.0, 2432.0]),
        (U65x512, [108_343.0, 52_800.0, 214_736.0]),
    ];
    indices(&[1, 40, 30, 21], of_image);
    let of_few = [
        (U55x256, [2765.0, 576.0, 2368.0]),
        (U65x512, [2202.0, 544.0, 3680.0]),
    ];
    indices(&[1, 4, 4, 4], of_few);
    let of_one_place = [
        (U55x256, [362.0, 64.0, 144.0]),
        (U65x512, [991.0, 64.0, 272.0]),
    ];
    indices(&[1, 1, 1, 12], of_one_place);
}

/// In an SRAM that holds constants, too, three layers share one stream of weights, but each has scales of its own, and the
/// activations share their table.
#[test]
fn shared_weights_have_scales_for_each_pair_of_scales_of_maps() {
    let shape = [1, 16];
    let mut network = NetworkFile::new(&shape);
    network.set_scale(0, 0.05, 0);
    let weights = network.weights(&[16, 16]);
    network.set_scale(weights, 0.01, 0);
    let multiplied = |network: &mut NetworkFile, input: usize, scale: f32| {
        let kind = OpKind::FullyConnected;
        let product = network.call_with(
            kind,
            &[input, weights],
            &shape,
            fully_connected(Activation::None),
        );
        network.set_scale(product, scale, 0);
        product
    };
    let first = multiplied(&mut network, 0, 0.04);
    let second = multiplied(&mut network, first, 0.03);
    let third = multiplied(&mut network, second, 0.04);
    let activated = [first, third].map(|product| {
        let activated = network.call(OpKind::Logistic, &[product], &shape);
        network.set_scale(activated, 1.0 / 256.0, -128);
        activated
    });
    let sum = network.call(OpKind::Add, &activated, &shape);
    network.set_scale(sum, 0.01, 0);
    let of_vela = [
        (U55x256, "Ethos_U55_High_End_Embedded", 683.0),
        (U65x256, "Ethos_U65_High_End", 677.0),
    ];
    let of_vela = of_vela.map(|(product, system, cycles)| {
        let ini = VelaIni::shipped();
        let configuration = Configuration::read(product, ini, system, "Sram_Only");
        let configuration = configuration.expect("sections of Vela's own file");
        (configuration, [cycles, 1136.0, 0.0])
    });
    network.check_configurations(&of_vela, [0.003, 0.0, 0.0]);
}

/// A table is stored once for activations with the same function, scales and zero points.
#[test]
fn tables_differ_by_function_and_zero_point() {
    let shape = [1, 8, 8, 16];
    let peak_of = |kinds: [OpKind; 2], second_zero_point, peak_bytes| {
        let mut network = NetworkFile::new(&shape);
        network.set_scale(0, 0.05, 3);
        let activated = kinds.map(|kind| network.call(kind, &[0], &shape));
        network.set_scale(activated[0], 1.0 / 128.0, 0);
        network.set_scale(activated[1], 1.0 / 128.0, second_zero_point);
        let sum = network.call(OpKind::Add, &activated, &shape);
        network.set_scale(sum, 0.02, 0);
        let of_vela = [
            (U55x256, "Ethos_U55_High_End_Embedded", 2752.0),
            (U65x256, "Ethos_U65_High_End", 2608.0),
            (U85x256, "Ethos_U85_SYS_DRAM_Mid", 2304.0),
        ];
        let of_vela = of_vela.map(|(product, system, cycles)| {
            let ini = VelaIni::shipped();
            let configuration = Configuration::read(product, ini, system, "Sram_Only");
            let configuration = configuration.expect("sections of Vela's own file");
            (configuration, [cycles, peak_bytes, 0.0])
        });
        network.check_configurations(&of_vela, [0.003, 0.0, 0.0]);
    };
    peak_of([OpKind::Logistic, OpKind::Logistic], 0, 3328.0);
    peak_of([OpKind::Tanh, OpKind::Logistic], 0, 3584.0);
    peak_of([OpKind::Logistic, OpKind::Logistic], -5, 3584.0);
}
