//! Small files, and what Vela 5.2.0 estimates for the same files in the configurations that are labelled first.

use std::sync::Arc;

use crate::formats::builder::integers;
use crate::formats::tflite::{
    Activation, BuiltinOptions, OpKind, Operator, Padding, Quantization, Tensor, TensorType,
};
use crate::graph::analysis::analyze;
use crate::graph::analysis::fixtures::{
    STRIDED_SLICE, batch_matmul, calling, concatenation, conv_2d, conv_2d_with, graph_of, model,
    subgraph, tensor, transpose_conv,
};
use crate::targets::ethos_u::accelerator::Accelerator;
use crate::targets::ethos_u::configuration::{Configuration, Product};
use crate::targets::ethos_u::totals::Totals;

/// A network of int8 feature maps with one input; the last tensor is its output.
pub struct NetworkFile {
    pub tensors: Vec<Tensor>,
    constants: Vec<Vec<i32>>,
    pub operators: Vec<Operator>,
    /// Inputs behind the first tensor.
    pub other_inputs: Vec<usize>,
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

    /// A reduction that keeps the dimensions.
    pub fn reduce(&mut self, kind: OpKind, map: usize, axes: &[i32]) -> usize {
        let mut shape = self.shape(map);
        axes.iter().for_each(|&axis| shape[axis as usize] = 1);
        let axes = self.constant(axes);
        let options = BuiltinOptions::Reducer { keep_dims: true };
        self.call_with(kind, &[map, axes], &shape, options)
    }

    /// Every other row and column.
    pub fn strided(&mut self, map: usize, [top, left]: [i32; 2]) -> usize {
        let end = self.shape(map);
        let shape = [end[0], end[1] / 2, end[2] / 2, end[3]];
        let inputs = [
            map,
            self.constant(&[0, top, left, 0]),
            self.constant(&end),
            self.constant(&[1, 2, 2, 1]),
        ];
        self.call_with(OpKind::StridedSlice, &inputs, &shape, STRIDED_SLICE)
    }

    /// A convolution that reads all channels, with weights of this height and width.
    pub fn convolve(
        &mut self,
        map: usize,
        [height, width]: [i32; 2],
        shape: &[i32],
        options: BuiltinOptions,
    ) -> usize {
        let depth = self.shape(map)[3];
        let weights = self.weights(&[shape[3], height, width, depth]);
        self.call_with(OpKind::Conv2d, &[map, weights], shape, options)
    }

    /// A product of matrices, the second of which may be transposed.
    pub fn multiply(&mut self, maps: [usize; 2], shape: &[i32], adj_y: bool) -> usize {
        let options = batch_matmul(false, adj_y);
        self.call_with(OpKind::BatchMatmul, &maps, shape, options)
    }

    /// A transposed convolution that pads, with weights of this side.
    pub fn upscale(&mut self, side: i32, shape: &[i32], stride: i32) -> usize {
        let depth = self.shape(0)[3];
        let sizes = self.constant(shape);
        let weights = self.weights(&[shape[3], side, side, depth]);
        let options = transpose_conv(Padding::Same, [stride; 2]);
        self.call_with(OpKind::TransposeConv, &[sizes, weights, 0], shape, options)
    }

    /// A concatenation along the last dimension.
    pub fn join(&mut self, parts: &[usize]) -> usize {
        let mut shape = self.shape(parts[0]);
        let last = shape.len() - 1;
        shape[last] = parts.iter().map(|&part| self.shape(part)[last]).sum();
        let axis = i32::try_from(last).unwrap();
        self.call_with(OpKind::Concatenation, parts, &shape, concatenation(axis))
    }

    /// Weights whose 32-bit words are multiples of a large odd number.
    pub fn weights(&mut self, shape: &[i32]) -> usize {
        self.weights_from(0, shape)
    }

    /// The same from another multiple on.
    pub fn weights_from(&mut self, first: i32, shape: &[i32]) -> usize {
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

    /// The same with feature maps of 16 bits.
    pub fn of_16_bits(mut self) -> Self {
        for tensor in &mut self.tensors {
            if tensor.tensor_type == TensorType::Int8 {
                tensor.tensor_type = TensorType::Int16;
            }
        }
        self
    }

    /// One operator whose output has the shape of its input.
    pub fn of_one(kind: OpKind, shape: &[i32]) -> Self {
        let mut network = Self::new(shape);
        network.call(kind, &[0], shape);
        network
    }
}

/// A convolution of stride 1 that pads and rectifies.
pub fn with_relu() -> BuiltinOptions {
    conv_2d_with(Padding::Same, [1; 2], Activation::Relu)
}

/// A convolution of stride 1 that does not pad.
pub fn valid() -> BuiltinOptions {
    conv_2d(Padding::Valid, [1; 2])
}

/// A convolution of stride 1 that pads.
pub fn same() -> BuiltinOptions {
    conv_2d(Padding::Same, [1; 2])
}
