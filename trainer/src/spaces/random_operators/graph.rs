//! A graph of random operators under construction.

use crate::spaces::Choices;
use crate::writer::{NetworkBuilder, TensorIdx, WriterNetwork};

/// The sizes from which shapes are drawn.
pub struct Dims {
    pub sides: &'static [i32],
    pub channels: &'static [i32],
}

/// Maximum number of values of a tensor, so that a graph of the largest tensors is fast to compile.
const MAX_VALUES: i64 = 1 << 18;

/// Adds one operator on a tensor, if the operator supports it.
pub type Step = fn(&mut Graph, TensorIdx) -> Option<TensorIdx>;

/// A graph under construction.
pub struct Graph<'a> {
    pub dims: Dims,
    pub choices: &'a mut Choices,
    pub builder: NetworkBuilder,
    /// All int8 tensors that an operator may read.
    pub values: Vec<TensorIdx>,
    /// Tensors that no int8 operator reads: results of other types, and truth values.
    pub results: Vec<TensorIdx>,
    pub n_named: usize,
}

impl Graph<'_> {
    pub fn name(&mut self, kind: &str) -> String {
        self.n_named += 1;
        format!("{kind}_{}", self.n_named)
    }

    /// Adds an input: usually an image, otherwise rows of features.
    pub fn input(&mut self) {
        let shape = loop {
            let channels = self.choices.pick(self.dims.channels);
            let [height, width] = [(); 2].map(|()| self.choices.pick(self.dims.sides));
            let shape = match self.choices.pick(&[4, 4, 4, 3, 2]) {
                4 => vec![1, height, width, channels],
                3 => vec![1, width, channels],
                _ => vec![1, channels],
            };
            if n_values(&shape) <= MAX_VALUES {
                break shape;
            }
        };
        let name = self.name("input");
        let input = self.builder.input(&name, &shape);
        self.values.push(input);
    }

    /// One of the values; the newest has a probability of one half.
    pub fn operand(&mut self) -> TensorIdx {
        if self.choices.coin() {
            *self.values.last().expect("a graph has an input")
        } else {
            self.choices.pick(&self.values)
        }
    }

    pub fn shape(&self, tensor: TensorIdx) -> Vec<i32> {
        self.builder.shape(tensor).to_vec()
    }

    pub fn rank(&self, tensor: TensorIdx) -> usize {
        self.builder.shape(tensor).len()
    }

    pub fn is_image(&self, tensor: TensorIdx) -> bool {
        self.rank(tensor) == 4 && self.shape(tensor)[0] == 1
    }

    /// Another value of the same shape.
    pub fn value_of_same_shape(&self, tensor: TensorIdx) -> Option<TensorIdx> {
        let shape = self.builder.shape(tensor);
        let is_alike = |&other: &TensorIdx| other != tensor && self.builder.shape(other) == shape;
        self.values.iter().copied().find(is_alike)
    }

    /// Another value of the same shape, or learned values that broadcast to it.
    pub fn second_operand(&mut self, tensor: TensorIdx) -> TensorIdx {
        if let Some(other) = self.value_of_same_shape(tensor) {
            return other;
        }
        let name = self.name("parameters");
        let shape = if self.choices.coin() {
            vec![self.builder.channels(tensor)]
        } else {
            self.shape(tensor)
        };
        self.builder.parameters(&name, &shape, 1.0)
    }

    /// Whether a graph with an output of this shape is fast to compile.
    pub fn is_small(shape: &[i32]) -> bool {
        n_values(shape) <= MAX_VALUES
    }

    /// Tensors without readers become outputs. An input without readers is first read by one operator.
    pub fn finish(mut self) -> WriterNetwork {
        let inputs = self.builder.inputs().to_vec();
        for input in inputs
            .into_iter()
            .filter(|&x| self.builder.is_unread(x))
            .collect::<Vec<_>>()
        {
            let name = self.name("logistic");
            let output = self.builder.logistic(&name, input);
            self.values.push(output);
        }
        let mut outputs = [self.results, self.values].concat();
        outputs.retain(|&tensor| self.builder.is_unread(tensor));
        self.builder.finish(&outputs)
    }
}

/// Number of values of a tensor. The product of drawn dimensions may exceed 32 bits.
fn n_values(shape: &[i32]) -> i64 {
    shape.iter().map(|&dim| i64::from(dim)).product()
}
