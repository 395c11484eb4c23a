//! Products of matrices and recurrent layers, against what Vela 5.2.0 prints for the same files.

use super::network_file::{NetworkFile, valid};
use crate::formats::tflite::{Activation, BuiltinOptions, OpKind, Tensor, TensorType, VarHandle};
use crate::graph::analysis::fixtures::{
    STRIDED_SLICE, calling, concatenation, fully_connected, tensor,
};
use crate::targets::ethos_u::configuration::{Configuration, Product, VelaIni};

/// Products of 32 bits, of which blocks are summed.
#[test]
fn banks_of_products_have_granules_twice_as_large() {
    let mut network = NetworkFile::new(&[1, 14, 14, 64]);
    let first = network.call(OpKind::Abs, &[0], &[1, 14, 14, 64]);
    let second = network.call(OpKind::Abs, &[first], &[1, 14, 14, 64]);
    network.multiply([first, second], &[1, 14, 14, 14], true);
    network.check_totals(
        &[
            (Product::U55x256, [110530.0, 78800.0, 0.0]),
            (Product::U65x512, [171600.0, 25088.0, 428586.0]),
            (Product::U85x256, [15589.0, 25088.0, 34496.0]),
        ],
        [0.003, 0.011, 0.003],
    );
}

/// A TRANSPOSE of three dimensions and that of the product do not become one, and an input of the network is copied if
/// both transpositions of the product cancel each other.
#[test]
fn products_of_matrices_transpose_the_second_one() {
    let mut network = NetworkFile::new(&[1, 64, 48]);
    let second = network.transpose(0, &[0, 2, 1]);
    network.multiply([0, second], &[1, 64, 64], false);
    network.check(&[
        (Product::U65x512, [336_209.0, 6144.0, 1_257_472.0]),
        (Product::U85x256, [9488.0, 6144.0, 45056.0]),
    ]);
    let mut network = NetworkFile::new(&[1, 4, 64, 48]);
    network.multiply([0, 0], &[1, 4, 64, 64], true);
    network.check(&[
        (Product::U65x512, [1_341_803.0, 12288.0, 5_029_888.0]),
        (Product::U85x256, [23413.0, 12288.0, 180_224.0]),
    ]);
}

#[test]
fn activations_of_a_row_of_products_are_written_into_a_concatenation() {
    for (rows, of_vela) in [
        (3, [[1584.0, 384.0], [1617.0, 192.0], [1886.0, 192.0]]),
        // Seen as two rows of two.
        (4, [[1880.0, 512.0], [1913.0, 384.0], [2138.0, 384.0]]),
    ] {
        let mut network = NetworkFile::new(&[rows, 32]);
        let weights = network.weights(&[32, 32]);
        let inputs = [0, weights];
        let map = network.call_with(
            OpKind::FullyConnected,
            &inputs,
            &[rows, 32],
            fully_connected(Activation::Relu),
        );
        let other = network.call(OpKind::Abs, &[0], &[rows, 32]);
        let map = network.join(&[map, other]);
        network.call(OpKind::Abs, &[map], &[rows, 64]);
        let products = [Product::U55x256, Product::U65x512, Product::U85x256];
        let of_vela: Vec<_> = (products.into_iter().zip(of_vela))
            .map(|(product, [cycles, peak])| (product, [cycles, peak, 0.0]))
            .collect();
        network.check_totals(&of_vela, [0.003, 0.003, f64::INFINITY]);
    }
}

/// Two streaming layers. Variables take memory once for all that read or assign them, and the one whose value is computed
/// first becomes the last output.
#[test]
fn variables_are_alive_during_the_whole_inference() {
    let mut network = NetworkFile::new(&[1, 1, 1, 16]);
    let handles = ["a", "b"].map(|name| {
        let options = BuiltinOptions::VarHandle(Box::new(VarHandle {
            container: String::new(),
            shared_name: name.into(),
        }));
        let handle = network.call_with(OpKind::VarHandle, &[], &[], options);
        network.set_type(handle, TensorType::Resource);
        handle
    });
    let kept = [1, 2, 1, 16];
    let [second, first] =
        [handles[1], handles[0]].map(|handle| network.call(OpKind::ReadVariable, &[handle], &kept));
    let weights = network.weights(&[16, 3, 1, 16]);
    let bias = network.constant(&[0; 16]);
    let bounds = [[0, 1, 0, 0], [1, 3, 1, 16], [1; 4]].map(|values| network.constant(&values));
    let concatenated = |network: &mut NetworkFile, inputs: [usize; 2]| {
        network.call_with(
            OpKind::Concatenation,
            &inputs,
            &[1, 3, 1, 16],
            concatenation(1),
        )
    };
    let convolved = |network: &mut NetworkFile, map: usize| {
        let inputs = [map, weights, bias];
        network.call_with(OpKind::Conv2d, &inputs, &[1, 1, 1, 16], valid())
    };
    let keep = |network: &mut NetworkFile, map: usize, handle: usize| {
        let inputs = [map, bounds[0], bounds[1], bounds[2]];
        let value = network.call_with(OpKind::StridedSlice, &inputs, &kept, STRIDED_SLICE);
        let kind = OpKind::AssignVariable;
        let assign = calling(kind, &[handle, value], &[], BuiltinOptions::Absent);
        network.operators.push(assign);
    };
    let of_first = concatenated(&mut network, [first, 0]);
    let computed = convolved(&mut network, of_first);
    let of_second = concatenated(&mut network, [second, computed]);
    keep(&mut network, of_second, handles[1]);
    keep(&mut network, of_first, handles[0]);
    convolved(&mut network, of_second);
    let of_vela = [
        (
            Product::U85x256,
            "DRAM_Mid",
            "Dedicated_Sram_384KB",
            [4768.0, 1280.0, 2976.0],
        ),
        (
            Product::U85x256,
            "DRAM_Mid",
            "Sram_Only",
            [1209.0, 1680.0, 0.0],
        ),
        (
            Product::U85x512,
            "Flash_High",
            "Shared_Sram",
            [3067.0, 208.0, 2432.0],
        ),
    ];
    let of_vela = of_vela.map(|(product, system, mode, of_vela)| {
        let system = format!("Ethos_U85_SYS_{system}");
        let configuration = Configuration::read(product, VelaIni::shipped(), &system, mode);
        (configuration.expect("sections of Vela's own file"), of_vela)
    });
    network.check_configurations(&of_vela, [0.003, 0.005, 0.003]);
}

#[test]
fn weights_that_are_a_map_are_multiplied_like_one() {
    let mut network = NetworkFile::new(&[4, 16]);
    let weights = network.map(&[8, 16]);
    network.call_with(
        OpKind::FullyConnected,
        &[0, weights],
        &[4, 8],
        fully_connected(Activation::None),
    );
    network.other_inputs.push(weights);
    network.check_totals(
        &[
            (Product::U55x256, [1216.0, 496.0, 0.0]),
            (Product::U85x256, [1467.0, 128.0, 512.0]),
        ],
        [0.003, 0.035, 0.003],
    );
}

/// Keras's attention with one head: two transpositions become one that moves a dimension of 1 alone, and remain apart where
/// the first one reads the view of another map.
#[test]
fn transpositions_of_one_head_remain() {
    let multiply = |network: &mut NetworkFile, keys: usize| {
        network.other_inputs.push(1);
        let first = network.call(OpKind::Abs, &[0], &[1, 1, 64, 32]);
        let transposed = network.transpose(keys, &[0, 2, 3, 1]);
        let shape = [1, 1, 64, 64];
        network.multiply([first, transposed], &shape, false);
    };
    let tolerances = [0.003, 0.02, 0.003];
    let mut network = NetworkFile::new(&[1, 1, 64, 32]);
    let keys = network.map(&[1, 64, 1, 32]);
    let keys = network.call(OpKind::Abs, &[keys], &[1, 64, 1, 32]);
    multiply(&mut network, keys);
    network.check_totals(
        &[
            (Product::U55x256, [96320.0, 16640.0, 0.0]),
            (Product::U65x512, [158_374.0, 4096.0, 333_824.0]),
            (Product::U85x256, [11356.0, 4096.0, 36864.0]),
        ],
        tolerances,
    );
    let mut network = NetworkFile::new(&[1, 1, 64, 32]);
    let keys = network.map(&[1, 64, 32]);
    let keys = network.call(OpKind::Abs, &[keys], &[1, 64, 32]);
    let keys = network.call(OpKind::Reshape, &[keys], &[1, 64, 1, 32]);
    multiply(&mut network, keys);
    network.check_totals(
        &[
            (Product::U55x256, [97088.0, 16640.0, 0.0]),
            (Product::U65x512, [158_084.0, 4096.0, 331_776.0]),
        ],
        tolerances,
    );
}

/// An LSTM that limits its cell state to this range, or not at all.
fn lstm(cell_clip: f32) -> NetworkFile {
    const STEPS: i32 = 4;
    const FEATURES: i32 = 28;
    const UNITS: i32 = 64;
    let mut network = NetworkFile::new(&[1, STEPS, FEATURES]);
    let mut inputs = vec![Some(0)];
    let mut first = 0;
    for width in [FEATURES, UNITS] {
        for _ in 0..4 {
            inputs.push(Some(network.weights_from(first, &[UNITS, width])));
            first += UNITS * width / 4;
        }
    }
    inputs.extend([None; 3]);
    inputs.extend([0; 4].map(|_| Some(network.constant(&[0; UNITS as usize]))));
    inputs.extend([None; 2]);
    for tensor_type in [TensorType::Int8, TensorType::Int16] {
        network.tensors.push(Tensor {
            is_variable: true,
            ..tensor(tensor_type, &[1, UNITS])
        });
        inputs.push(Some(network.tensors.len() - 1));
    }
    inputs.extend([None; 4]);
    let options = BuiltinOptions::UnidirectionalSequenceLstm {
        time_major: false,
        diagonal_recurrent_tensors: false,
        cell_clip,
        proj_clip: 0.0,
        activation: Activation::Tanh,
    };
    let shape = [1, STEPS, UNITS];
    network.call_with(OpKind::UnidirectionalSequenceLstm, &[], &shape, options);
    network.operators[0].inputs = inputs;
    network
}

/// Every time step chains operations, fetches weights and takes memory as the first one does. Gates are limited in
/// place, states stay in memory, and what writes a state performs no activation.
#[test]
fn time_steps_have_feature_maps_of_their_own() {
    let tolerances = [0.003, 0.005, 0.001];
    lstm(10.0).check_totals(
        &[
            (Product::U55x256, [142_688.0, 1200.0, 130_816.0]),
            (Product::U65x512, [60399.0, 5696.0, 144_384.0]),
            (Product::U85x256, [93907.0, 3984.0, 161_984.0]),
        ],
        tolerances,
    );
    lstm(0.0).check_totals(
        &[
            (Product::U55x256, [141_008.0, 1200.0, 130_816.0]),
            (Product::U65x512, [56343.0, 5696.0, 142_848.0]),
            (Product::U85x256, [93843.0, 3984.0, 159_424.0]),
        ],
        tolerances,
    );
}

#[test]
fn products_and_sums_perform_the_activation_behind_them() {
    let mut network = NetworkFile::new(&[1, 32, 64]);
    let columns = network.map(&[1, 64, 48]);
    network.other_inputs.push(columns);
    let product = network.multiply([0, columns], &[1, 32, 48], false);
    network.call(OpKind::Logistic, &[product], &[1, 32, 48]);
    network.check(&[(Product::U85x256, [6023.0, 3072.0, 20480.0])]);
    let mut network = NetworkFile::new(&[1, 16, 16, 32]);
    let sum = network.reduce(OpKind::Sum, 0, &[3]);
    network.call(OpKind::Logistic, &[sum], &[1, 16, 16, 1]);
    network.check(&[
        (Product::U55x256, [2368.0, 8448.0, 0.0]),
        (Product::U65x512, [5870.0, 0.0, 22016.0]),
        (Product::U85x256, [5000.0, 0.0, 18432.0]),
    ]);
}
