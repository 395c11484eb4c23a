//! Small files against what Vela 5.2.0 estimates for the same files in the configurations that are labelled first.

use std::sync::Arc;

use crate::formats::builder::integers;
use crate::formats::tflite::{
    Activation, BuiltinOptions, OpKind, Operator, Padding, Quantization, Tensor, TensorType,
    VarHandle,
};
use crate::graph::analysis::analyze;
use crate::graph::analysis::fixtures::{calling, graph_of, model, subgraph, tensor};
use crate::targets::ethos_u::accelerator::Accelerator;
use crate::targets::ethos_u::configuration::{Configuration, Product, VelaIni};
use crate::targets::ethos_u::totals::Totals;

/// A network of int8 feature maps with one input; the last tensor is its output.
pub struct NetworkFile {
    tensors: Vec<Tensor>,
    constants: Vec<Vec<i32>>,
    operators: Vec<Operator>,
    /// Inputs behind the first tensor.
    other_inputs: Vec<usize>,
}

impl NetworkFile {
    pub fn new(input: &[i32]) -> Self {
        Self {
            tensors: vec![tensor(TensorType::Int8, input)],
            constants: Vec::new(),
            operators: Vec::new(),
            other_inputs: Vec::new(),
        }
    }

    pub fn map(&mut self, shape: &[i32]) -> usize {
        self.tensors.push(tensor(TensorType::Int8, shape));
        self.tensors.len() - 1
    }

    pub fn constant(&mut self, values: &[i32]) -> usize {
        self.constants.push(values.to_vec());
        self.tensors.push(Tensor {
            // The buffers of the fixture come before.
            buffer_idx: 1 + self.constants.len(),
            ..tensor(TensorType::Int32, &[values.len() as i32])
        });
        self.tensors.len() - 1
    }

    pub fn shape(&self, map: usize) -> Vec<i32> {
        self.tensors[map].shape.clone()
    }

    pub fn set_type(&mut self, map: usize, tensor_type: TensorType) {
        self.tensors[map].tensor_type = tensor_type;
    }

    pub fn set_scale(&mut self, map: usize, scale: f32, zero_point: i64) {
        self.tensors[map].quantization = Some(Arc::new(Quantization {
            scale: vec![scale],
            zero_point: vec![zero_point],
            quantized_dimension: 0,
        }));
    }

    pub fn call(&mut self, kind: OpKind, inputs: &[usize], shape: &[i32]) -> usize {
        self.call_with(kind, inputs, shape, BuiltinOptions::Absent)
    }

    pub fn call_with(
        &mut self,
        kind: OpKind,
        inputs: &[usize],
        shape: &[i32],
        options: BuiltinOptions,
    ) -> usize {
        let output = self.map(shape);
        self.operators
            .push(calling(kind, inputs, &[output], options));
        output
    }

    pub fn transpose(&mut self, map: usize, order: &[i32]) -> usize {
        let shape = self.shape(map);
        let written: Vec<i32> = order
            .iter()
            .map(|&dimension| shape[dimension as usize])
            .collect();
        let order = self.constant(order);
        self.call(OpKind::Transpose, &[map, order], &written)
    }

    fn sum(&mut self, map: usize, axes: &[i32]) -> usize {
        let mut shape = self.shape(map);
        axes.iter().for_each(|&axis| shape[axis as usize] = 1);
        let axes = self.constant(axes);
        let options = BuiltinOptions::Reducer { keep_dims: true };
        self.call_with(OpKind::Sum, &[map, axes], &shape, options)
    }

    /// Every other row and column.
    fn strided(&mut self, map: usize, [top, left]: [i32; 2]) -> usize {
        let end = self.shape(map);
        let shape = [end[0], end[1] / 2, end[2] / 2, end[3]];
        let inputs = [
            map,
            self.constant(&[0, top, left, 0]),
            self.constant(&end),
            self.constant(&[1, 2, 2, 1]),
        ];
        let options = BuiltinOptions::StridedSlice {
            begin_mask: 0,
            end_mask: 0,
            ellipsis_mask: 0,
            new_axis_mask: 0,
            shrink_axis_mask: 0,
            offset: false,
        };
        self.call_with(OpKind::StridedSlice, &inputs, &shape, options)
    }

    /// Weights whose 32-bit words are multiples of a large odd number.
    pub fn weights(&mut self, shape: &[i32]) -> usize {
        self.weights_from(0, shape)
    }

    /// The same from another multiple on.
    fn weights_from(&mut self, first: i32, shape: &[i32]) -> usize {
        let n_words = shape.iter().product::<i32>() / 4;
        let words: Vec<i32> = (first..first + n_words)
            .map(|word| word.wrapping_mul(0x9E37_79B1_u32 as i32))
            .collect();
        let weights = self.constant(&words);
        self.tensors[weights] = Tensor {
            buffer_idx: self.tensors[weights].buffer_idx,
            ..tensor(TensorType::Int8, shape)
        };
        weights
    }

    /// Checks cycles and off-chip bytes, within 0.3 %, and bytes of the SRAM peak, within 0.5 %, of each product.
    pub fn check(self, of_vela: &[(Product, [f64; 3])]) {
        self.check_totals(of_vela, [0.003, 0.005, 0.003]);
    }

    pub fn check_totals(self, of_vela: &[(Product, [f64; 3])], tolerances: [f64; 3]) {
        let of_vela = of_vela.iter();
        let of_vela: Vec<_> = of_vela
            .map(|&(product, of_vela)| (Configuration::new(product), of_vela))
            .collect();
        self.check_configurations(&of_vela, tolerances);
    }

    pub fn check_configurations(self, of_vela: &[(Configuration, [f64; 3])], tolerances: [f64; 3]) {
        let mut model = model(vec![subgraph(self.tensors, self.operators)]);
        model.subgraphs[0].inputs.extend(self.other_inputs);
        for values in &self.constants {
            model.buffers.push(integers(values));
        }
        let graph = graph_of(&model);
        for (configuration, of_vela) in of_vela {
            let product = configuration.product;
            let accelerator = Accelerator::new(configuration);
            let totals = Totals::new(&accelerator, &graph, &analyze(&graph));
            let cycles: f64 = totals.operators.iter().map(|one| one.cycles).sum();
            let ours = [cycles, totals.sram_peak_bytes, totals.offchip_traffic_bytes];
            println!("{product:?}: {ours:?}, Vela {of_vela:?}");
            for ((ours, of_vela), tolerance) in ours.iter().zip(of_vela).zip(tolerances) {
                assert!(
                    tolerance.is_infinite() || (ours - of_vela).abs() <= tolerance * of_vela,
                    "{product:?}: {ours} instead of {of_vela}"
                );
            }
        }
    }
}

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

/// Products of 32 bits, of which blocks are summed.
#[test]
fn banks_of_products_have_granules_twice_as_large() {
    let mut network = NetworkFile::new(&[1, 14, 14, 64]);
    let first = network.call(OpKind::Abs, &[0], &[1, 14, 14, 64]);
    let second = network.call(OpKind::Abs, &[first], &[1, 14, 14, 64]);
    let options = BuiltinOptions::BatchMatMul {
        adj_x: false,
        adj_y: true,
    };
    let inputs = [first, second];
    network.call_with(OpKind::BatchMatmul, &inputs, &[1, 14, 14, 14], options);
    network.check_totals(
        &[
            (Product::U55x256, [110530.0, 78800.0, 0.0]),
            (Product::U65x512, [171600.0, 25088.0, 428586.0]),
            (Product::U85x256, [15589.0, 25088.0, 34496.0]),
        ],
        [0.003, 0.011, 0.003],
    );
}

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
    let weights = network.weights(&[48, 1, 1, 16]);
    let map = network.call_with(OpKind::Conv2d, &[0, weights], &[1, 20, 20, 48], same());
    let other = resized(&mut network, map, 48);
    let options = BuiltinOptions::Concatenation {
        axis: 3,
        activation: Activation::None,
    };
    let joined = [other, part];
    let map = network.call_with(OpKind::Concatenation, &joined, &[1, 40, 40, 64], options);
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
    let options = BuiltinOptions::Add {
        activation: Activation::None,
    };
    let map = network.call_with(OpKind::Add, &[0, 0], &[1, 16, 16, 32], options);
    network.transpose(map, &[0, 3, 1, 2]);
    network.check(&[
        (Product::U65x512, [10012.0, 16384.0, 32768.0]),
        (Product::U85x256, [6826.0, 0.0, 81920.0]),
    ]);
}

/// A TRANSPOSE of three dimensions and that of the product do not become one, and an input of the network is copied if
/// both transpositions of the product cancel each other.
#[test]
fn products_of_matrices_transpose_the_second_one() {
    let options = |adj_y| BuiltinOptions::BatchMatMul {
        adj_x: false,
        adj_y,
    };
    let mut network = NetworkFile::new(&[1, 64, 48]);
    let second = network.transpose(0, &[0, 2, 1]);
    let inputs = [0, second];
    network.call_with(OpKind::BatchMatmul, &inputs, &[1, 64, 64], options(false));
    network.check(&[
        (Product::U65x512, [336_209.0, 6144.0, 1_257_472.0]),
        (Product::U85x256, [9488.0, 6144.0, 45056.0]),
    ]);
    let mut network = NetworkFile::new(&[1, 4, 64, 48]);
    network.call_with(OpKind::BatchMatmul, &[0, 0], &[1, 4, 64, 64], options(true));
    network.check(&[
        (Product::U65x512, [1_341_803.0, 12288.0, 5_029_888.0]),
        (Product::U85x256, [23413.0, 12288.0, 180_224.0]),
    ]);
}

/// Vela 5.2.0 sums along the first axis alone.
#[test]
fn sums_transpose_the_first_axis_to_the_channels() {
    for axes in [&[1][..], &[1, 2]] {
        let mut network = NetworkFile::new(&[1, 17, 23, 40]);
        network.sum(0, axes);
        network.check(&[
            (Product::U55x256, [10867.0, 31296.0, 0.0]),
            (Product::U65x512, [27220.0, 15648.0, 77280.0]),
            (Product::U85x256, [139_865.0, 29440.0, 460_920.0]),
        ]);
    }
}

/// The first layer of YOLOX and YOLOv5.
#[test]
fn every_other_row_and_column_is_read_between_all() {
    let mut network = NetworkFile::new(&[1, 64, 64, 3]);
    let parts = [[0, 0], [0, 1], [1, 0], [1, 1]].map(|from| network.strided(0, from));
    let options = BuiltinOptions::Concatenation {
        axis: -1,
        activation: Activation::None,
    };
    network.call_with(OpKind::Concatenation, &parts, &[1, 32, 32, 12], options);
    network.check(&[
        (Product::U55x256, [16908.0, 24576.0, 0.0]),
        (Product::U65x512, [104_856.0, 0.0, 393_216.0]),
        (Product::U85x256, [36412.0, 0.0, 196_608.0]),
    ]);
}

/// As in the patch embeddings of SegFormer, with a padding that Vela cannot unroll: 49 operations for each block. Small
/// buffers of weights are not compared.
#[test]
fn padded_windows_with_wide_strides_are_divided_by_kernel_position() {
    let mut network = NetworkFile::new(&[1, 64, 64, 4]);
    let weights = network.weights(&[32, 7, 7, 4]);
    let bias = network.constant(&[0; 32]);
    let options = BuiltinOptions::Conv2D {
        padding: Padding::Same,
        stride_w: 4,
        stride_h: 4,
        dilation_w: 1,
        dilation_h: 1,
        activation: Activation::None,
    };
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

/// A convolution with weights of this height and width, and with no stride or activation.
fn convolved(
    network: &mut NetworkFile,
    map: usize,
    [height, width]: [i32; 2],
    shape: &[i32; 4],
) -> usize {
    let depth = network.shape(map)[3];
    let weights = network.weights(&[shape[3], height, width, depth]);
    let options = BuiltinOptions::Conv2D {
        padding: Padding::Valid,
        stride_w: 1,
        stride_h: 1,
        dilation_w: 1,
        dilation_h: 1,
        activation: Activation::None,
    };
    network.call_with(OpKind::Conv2d, &[map, weights], shape, options)
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
        convolved(&mut network, reshaped, kernel, &written);
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
    let options = BuiltinOptions::Pool2D {
        padding,
        stride_h: stride,
        stride_w: stride,
        filter_h: filter,
        filter_w: filter,
        activation: Activation::None,
    };
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
    let shape = network.constant(&[1, 24, 24, 8]);
    let weights = network.weights(&[8, 5, 5, 16]);
    let options = BuiltinOptions::TransposeConv {
        padding: Padding::Same,
        stride_h: 3,
        stride_w: 3,
        activation: Activation::None,
    };
    network.call_with(
        OpKind::TransposeConv,
        &[shape, weights, 0],
        &[1, 24, 24, 8],
        options,
    );
    network.check(&[(Product::U85x256, [30145.0, 1664.0, 352_272.0])]);
}

/// Windows run once for each input, convolutions of single positions once for all inputs.
#[test]
fn inputs_of_a_batch_run_one_after_another() {
    let mut network = NetworkFile::new(&[3, 16, 16, 8]);
    let weights = network.weights(&[16, 3, 3, 8]);
    let options = |activation| BuiltinOptions::Conv2D {
        padding: Padding::Same,
        stride_w: 1,
        stride_h: 1,
        dilation_w: 1,
        dilation_h: 1,
        activation,
    };
    let relu = Activation::Relu;
    network.call_with(
        OpKind::Conv2d,
        &[0, weights],
        &[3, 16, 16, 16],
        options(relu),
    );
    network.check(&[
        (Product::U55x256, [16512.0, 24576.0, 4944.0]),
        (Product::U65x512, [14395.0, 13952.0, 35712.0]),
        (Product::U85x256, [26437.0, 14064.0, 79056.0]),
    ]);
    let mut network = NetworkFile::new(&[2, 9, 9, 20]);
    let weights = network.weights(&[32, 1, 1, 20]);
    network.call_with(OpKind::Conv2d, &[0, weights], &[2, 9, 9, 32], options(relu));
    network.check(&[
        (Product::U55x256, [8722.0, 9616.0, 1184.0]),
        (Product::U65x512, [18184.0, 6384.0, 65712.0]),
        (Product::U85x256, [27918.0, 6624.0, 112_032.0]),
    ]);
    pooled(
        OpKind::MaxPool2d,
        &[3, 16, 16, 8],
        &[3, 8, 8, 8],
        [2, 2],
        Padding::Valid,
    )
    .check(&[
        (Product::U55x256, [1920.0, 7680.0, 0.0]),
        (Product::U65x512, [6006.0, 0.0, 22527.0]),
        (Product::U85x256, [15000.0, 0.0, 61440.0]),
    ]);
    let mut network = NetworkFile::new(&[2, 16, 16, 8]);
    let shape = network.constant(&[2, 32, 32, 16]);
    let weights = network.weights(&[16, 3, 3, 8]);
    let options = BuiltinOptions::TransposeConv {
        padding: Padding::Same,
        stride_h: 2,
        stride_w: 2,
        activation: Activation::None,
    };
    network.call_with(
        OpKind::TransposeConv,
        &[shape, weights, 0],
        &[2, 32, 32, 16],
        options,
    );
    network.check(&[
        (Product::U55x256, [17400.0, 38512.0, 3296.0]),
        (Product::U65x512, [12615.0, 1664.0, 46336.0]),
        (Product::U85x256, [84998.0, 1488.0, 442_144.0]),
    ]);
}

impl NetworkFile {
    /// The same with feature maps of 16 bits.
    fn of_16_bits(mut self) -> Self {
        for tensor in &mut self.tensors {
            if tensor.tensor_type == TensorType::Int8 {
                tensor.tensor_type = TensorType::Int16;
            }
        }
        self
    }

    /// One operator whose output has the shape of its input.
    fn of_one(kind: OpKind, shape: &[i32]) -> Self {
        let mut network = Self::new(shape);
        network.call(kind, &[0], shape);
        network
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

/// A convolution performs its activation where both write a part of a concatenation, however few channels it has; and
/// the maxima of channels count all channels of the concatenation.
#[test]
fn parts_of_a_concatenation_are_written_as_the_whole_is_seen() {
    let joined = |network: &mut NetworkFile, parts: [usize; 2]| {
        let [first, second] = parts.map(|part| network.shape(part));
        let shape = [1, first[1], first[2], first[3] + second[3]];
        let options = BuiltinOptions::Concatenation {
            axis: 3,
            activation: Activation::None,
        };
        network.call_with(OpKind::Concatenation, &parts, &shape, options)
    };
    let mut network = NetworkFile::new(&[1, 20, 20, 8]);
    let map = network.call(OpKind::Abs, &[0], &[1, 20, 20, 8]);
    let weights = network.weights(&[4, 1, 1, 8]);
    let options = BuiltinOptions::Conv2D {
        padding: Padding::Same,
        stride_h: 1,
        stride_w: 1,
        dilation_h: 1,
        dilation_w: 1,
        activation: Activation::Relu6,
    };
    let part = network.call_with(OpKind::Conv2d, &[map, weights], &[1, 20, 20, 4], options);
    joined(&mut network, [map, part]);
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
    let axes = network.constant(&[3]);
    let options = BuiltinOptions::Reducer { keep_dims: true };
    let part = network.call_with(OpKind::ReduceMax, &[map, axes], &[1, 12, 12, 1], options);
    joined(&mut network, [map, part]);
    network.check(&[
        (Product::U55x256, [44865.0, 4752.0, 0.0]),
        (Product::U65x512, [24506.0, 2304.0, 43776.0]),
        (Product::U85x256, [87698.0, 2304.0, 24192.0]),
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

/// As Keras's GlobalMaxPooling2D: Ethos-U85 pools the height as it is.
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
        let options = BuiltinOptions::LeakyRelu { alpha };
        let leaky = network.call_with(OpKind::LeakyRelu, &[map], &shape, options);
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

/// The copy in SRAM of an input of one dimension, which a RESHAPE shows to a convolution. Reading it off chip would take
/// 20,000 cycles here.
#[test]
fn inputs_behind_a_reshape_are_staged() {
    let mut network = NetworkFile::new(&[1, 200, 64]);
    let map = network.call(OpKind::Reshape, &[0], &[1, 1, 200, 64]);
    let weights = network.weights(&[64, 1, 5, 64]);
    let options = BuiltinOptions::Conv2D {
        padding: Padding::Valid,
        stride_h: 1,
        stride_w: 1,
        dilation_h: 1,
        dilation_w: 1,
        activation: Activation::None,
    };
    let map = network.call_with(OpKind::Conv2d, &[map, weights], &[1, 1, 196, 64], options);
    network.call(OpKind::Abs, &[map], &[1, 1, 196, 64]);
    let of_vela = [(Product::U85x256, [28729.0, 28704.0, 134368.0])];
    network.check_totals(&of_vela, [0.15, 0.6, 0.17]);
}

#[test]
fn maxima_over_height_and_width_take_two_passes() {
    let reduced = |kind, shape: [i32; 4]| {
        let mut network = NetworkFile::new(&shape);
        let axes = network.constant(&[1, 2]);
        let options = BuiltinOptions::Reducer { keep_dims: true };
        network.call_with(kind, &[0, axes], &[1, 1, 1, shape[3]], options);
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

/// As dilated convolutions of older converters: the blocks and the convolution run as one.
#[test]
fn windows_of_blocks_run_as_one_dilated_window() {
    let valid = |network: &mut NetworkFile, inputs: &[usize], shape: &[i32]| {
        let options = BuiltinOptions::Conv2D {
            padding: Padding::Valid,
            stride_h: 1,
            stride_w: 1,
            dilation_h: 1,
            dilation_w: 1,
            activation: Activation::None,
        };
        network.call_with(OpKind::Conv2d, inputs, shape, options)
    };
    let mut network = NetworkFile::new(&[1, 8, 8, 16]);
    let [block, padding, cropping] =
        [&[2, 2][..], &[2; 4], &[0; 4]].map(|values| network.constant(values));
    let weights = network.weights(&[8, 3, 3, 16]);
    let inputs = [0, block, padding];
    let blocks = network.call(OpKind::SpaceToBatchNd, &inputs, &[4, 6, 6, 16]);
    let map = valid(&mut network, &[blocks, weights], &[4, 4, 4, 8]);
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
        let weights = network.weights(&[8, 1, 3, 16]);
        let inputs = if pads_before {
            let padded = network.call(OpKind::Pad, &[0, sides], &[1, 36, 16]);
            [padded, block, none]
        } else {
            [0, block, padding]
        };
        let blocks = network.call(OpKind::SpaceToBatchNd, &inputs, &[2, 18, 16]);
        let blocks = network.call(OpKind::ExpandDims, &[blocks], &[2, 1, 18, 16]);
        let map = valid(&mut network, &[blocks, weights], &[2, 1, 16, 8]);
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
    let options = BuiltinOptions::Conv2D {
        padding: Padding::Valid,
        stride_h: 8,
        stride_w: 8,
        dilation_h: 1,
        dilation_w: 1,
        activation: Activation::None,
    };
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
    let weights = network.weights(&[16, 3, 3, 16]);
    let part = network.call_with(OpKind::Conv2d, &[0, weights], &[2, 20, 18, 16], same());
    let options = BuiltinOptions::Concatenation {
        axis: 3,
        activation: Activation::None,
    };
    network.call_with(OpKind::Concatenation, &[part, 0], &[2, 20, 18, 32], options);
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
    let weights = network.weights(&[56, 1, 3, 16]);
    let map = network.call_with(OpKind::Conv2d, &[0, weights], &[3, 1, 10, 56], same());
    network.call(OpKind::Abs, &[map], &[3, 1, 10, 56]);
    network.check(&[
        (Product::U55x256, [13697.0, 6432.0, 12096.0]),
        (Product::U65x512, [6330.0, 6048.0, 19584.0]),
        (Product::U85x256, [7032.0, 6144.0, 26592.0]),
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
        let options = BuiltinOptions::FullyConnected {
            keep_num_dims: false,
            activation: Activation::Relu,
            has_unknown_weights: false,
        };
        let inputs = [0, weights];
        let map = network.call_with(OpKind::FullyConnected, &inputs, &[rows, 32], options);
        let other = network.call(OpKind::Abs, &[0], &[rows, 32]);
        let options = BuiltinOptions::Concatenation {
            axis: 1,
            activation: Activation::None,
        };
        let joined = [map, other];
        let map = network.call_with(OpKind::Concatenation, &joined, &[rows, 64], options);
        network.call(OpKind::Abs, &[map], &[rows, 64]);
        let products = [Product::U55x256, Product::U65x512, Product::U85x256];
        let of_vela: Vec<_> = (products.into_iter().zip(of_vela))
            .map(|(product, [cycles, peak])| (product, [cycles, peak, 0.0]))
            .collect();
        network.check_totals(&of_vela, [0.003, 0.003, f64::INFINITY]);
    }
}

/// A constant beside a single value, as in a normalisation of few inputs.
#[test]
fn a_scalar_beside_a_scalar_is_read() {
    let mut network = NetworkFile::new(&[1, 1]);
    let map = network.call(OpKind::Abs, &[0], &[1, 1]);
    let scalar = network.constant(&[5]);
    network.set_type(scalar, TensorType::Int8);
    let options = BuiltinOptions::Add {
        activation: Activation::None,
    };
    let map = network.call_with(OpKind::Add, &[map, scalar], &[1, 1], options);
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

#[test]
fn convolutions_of_a_batch_perform_no_activation() {
    let mut network = NetworkFile::new(&[2, 12, 13, 16]);
    let weights = network.weights(&[56, 1, 1, 16]);
    let map = network.call_with(OpKind::Conv2d, &[0, weights], &[2, 12, 13, 56], same());
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

/// A second input that is one number for each position in the outer dimensions, and one that is a part.
#[test]
fn each_run_sees_a_part_of_both_inputs() {
    let difference = |other: [i32; 5]| {
        let mut network = NetworkFile::new(&[2, 5, 6, 4, 16]);
        let other = network.map(&other);
        network.other_inputs.push(other);
        let options = BuiltinOptions::Sub {
            activation: Activation::None,
        };
        network.call_with(OpKind::Sub, &[0, other], &[2, 5, 6, 4, 16], options);
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

/// A part as deep as its block writes bursts of the concatenation, which is deeper.
#[test]
fn activations_write_bursts_of_the_whole_concatenation() {
    let mut network = NetworkFile::new(&[1, 56, 56, 12]);
    let map = network.call(OpKind::Tanh, &[0], &[1, 56, 56, 12]);
    let parts = [8, 16, 8].map(|depth| {
        let weights = network.weights(&[depth, 1, 1, 12]);
        let shape = [1, 56, 56, depth];
        network.call_with(OpKind::Conv2d, &[map, weights], &shape, with_relu())
    });
    let options = BuiltinOptions::Concatenation {
        axis: 3,
        activation: Activation::None,
    };
    network.call_with(OpKind::Concatenation, &parts, &[1, 56, 56, 32], options);
    network.check(&[
        (Product::U55x256, [58962.0, 151_216.0, 1184.0]),
        (Product::U65x512, [120_233.0, 50944.0, 447_296.0]),
        (Product::U85x256, [347_810.0, 51040.0, 2_797_008.0]),
        (Product::U85x2048, [275_623.0, 51328.0, 2_711_408.0]),
    ]);
}

/// What is inside of a chain may be in bricks, its output for callers is not.
#[test]
fn chains_write_bursts_of_their_last_output() {
    let mut network = NetworkFile::new(&[1, 14, 14, 48]);
    let other = network.map(&[1, 14, 14, 48]);
    network.other_inputs.push(other);
    let options = BuiltinOptions::Mul {
        activation: Activation::None,
    };
    let product = network.call_with(OpKind::Mul, &[0, other], &[1, 14, 14, 48], options);
    network.call(OpKind::Abs, &[product], &[1, 14, 14, 48]);
    network.check(&[
        (Product::U85x256, [7840.0, 0.0, 94080.0]),
        (Product::U85x2048, [7840.0, 0.0, 94080.0]),
    ]);
}

/// A convolution of stride 1 that pads and rectifies.
fn with_relu() -> BuiltinOptions {
    BuiltinOptions::Conv2D {
        padding: Padding::Same,
        stride_h: 1,
        stride_w: 1,
        dilation_h: 1,
        dilation_w: 1,
        activation: Activation::Relu,
    }
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

/// A convolution of stride 1 that pads.
fn same() -> BuiltinOptions {
    BuiltinOptions::Conv2D {
        padding: Padding::Same,
        stride_h: 1,
        stride_w: 1,
        dilation_h: 1,
        dilation_w: 1,
        activation: Activation::None,
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
        let options = BuiltinOptions::Concatenation {
            axis: 1,
            activation: Activation::None,
        };
        network.call_with(OpKind::Concatenation, &inputs, &[1, 3, 1, 16], options)
    };
    let convolved = |network: &mut NetworkFile, map: usize| {
        let options = BuiltinOptions::Conv2D {
            padding: Padding::Valid,
            stride_h: 1,
            stride_w: 1,
            dilation_h: 1,
            dilation_w: 1,
            activation: Activation::None,
        };
        let inputs = [map, weights, bias];
        network.call_with(OpKind::Conv2d, &inputs, &[1, 1, 1, 16], options)
    };
    let keep = |network: &mut NetworkFile, map: usize, handle: usize| {
        let options = BuiltinOptions::StridedSlice {
            begin_mask: 0,
            end_mask: 0,
            ellipsis_mask: 0,
            new_axis_mask: 0,
            shrink_axis_mask: 0,
            offset: false,
        };
        let inputs = [map, bounds[0], bounds[1], bounds[2]];
        let value = network.call_with(OpKind::StridedSlice, &inputs, &kept, options);
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

/// A maximum over channels whose output lacks their dimension.
#[test]
fn maxima_that_lose_a_dimension_see_the_output_in_its_own_shape() {
    let mut network = NetworkFile::new(&[1, 8, 8, 16]);
    let axes = network.constant(&[3]);
    let options = BuiltinOptions::Reducer { keep_dims: false };
    network.call_with(OpKind::ReduceMax, &[0, axes], &[1, 8, 8], options);
    network.check(&[
        (Product::U55x256, [1361.0, 1088.0, 0.0]),
        (Product::U65x512, [2086.0, 0.0, 7168.0]),
        (Product::U85x256, [3441.0, 0.0, 2560.0]),
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

#[test]
fn weights_that_are_a_map_are_multiplied_like_one() {
    let mut network = NetworkFile::new(&[4, 16]);
    let weights = network.map(&[8, 16]);
    let options = BuiltinOptions::FullyConnected {
        has_unknown_weights: false,
        activation: Activation::None,
        keep_num_dims: false,
    };
    network.call_with(OpKind::FullyConnected, &[0, weights], &[4, 8], options);
    network.other_inputs.push(weights);
    network.check_totals(
        &[
            (Product::U55x256, [1216.0, 496.0, 0.0]),
            (Product::U85x256, [1467.0, 128.0, 512.0]),
        ],
        [0.003, 0.035, 0.003],
    );
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

/// Keras's attention with one head: two transpositions become one that moves a dimension of 1 alone, and remain apart where
/// the first one reads the view of another map.
#[test]
fn transpositions_of_one_head_remain() {
    let multiply = |network: &mut NetworkFile, keys: usize| {
        network.other_inputs.push(1);
        let first = network.call(OpKind::Abs, &[0], &[1, 1, 64, 32]);
        let transposed = network.transpose(keys, &[0, 2, 3, 1]);
        let options = BuiltinOptions::BatchMatMul {
            adj_x: false,
            adj_y: false,
        };
        let shape = [1, 1, 64, 64];
        network.call_with(OpKind::BatchMatmul, &[first, transposed], &shape, options);
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
    let options = BuiltinOptions::Add {
        activation: Activation::None,
    };
    network.call_with(OpKind::Add, &[shaped, map], &[1, 16, 16, 8], options);
    network.check(&[
        (Product::U55x256, [4891.0, 6400.0, 2048.0]),
        (Product::U65x512, [3389.0, 4480.0, 4480.0]),
        (Product::U85x256, [2839.0, 384.0, 17408.0]),
    ]);
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
    let options = BuiltinOptions::BatchMatMul {
        adj_x: false,
        adj_y: false,
    };
    let product = network.call_with(OpKind::BatchMatmul, &[0, columns], &[1, 32, 48], options);
    network.call(OpKind::Logistic, &[product], &[1, 32, 48]);
    network.check(&[(Product::U85x256, [6023.0, 3072.0, 20480.0])]);
    let mut network = NetworkFile::new(&[1, 16, 16, 32]);
    let sum = network.sum(0, &[3]);
    network.call(OpKind::Logistic, &[sum], &[1, 16, 16, 1]);
    network.check(&[
        (Product::U55x256, [2368.0, 8448.0, 0.0]),
        (Product::U65x512, [5870.0, 0.0, 22016.0]),
        (Product::U85x256, [5000.0, 0.0, 18432.0]),
    ]);
}
