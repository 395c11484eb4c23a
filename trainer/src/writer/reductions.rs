//! The builder's operators that reduce dimensions.

use super::builder::NetworkBuilder;
use super::network::{Content, ElementType, TensorIdx};
use super::operator_kind::OperatorKind;
use super::quantization::Spread;

/// Which reduction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reduction {
    /// MEAN.
    Mean,
    /// SUM.
    Sum,
    /// REDUCE_MAX.
    Max,
    /// REDUCE_MIN.
    Min,
}

impl NetworkBuilder {
    /// Mean over the last dimension, kept as 1.
    pub fn mean_of_last(&mut self, name: &str, input: TensorIdx) -> TensorIdx {
        let axis = self.shape(input).len() - 1;
        self.reduce(name, Reduction::Mean, input, &[axis], true)
    }

    /// Mean over the tokens of `[1, tokens, features]`.
    pub fn mean_of_tokens(&mut self, name: &str, input: TensorIdx) -> TensorIdx {
        self.reduce(name, Reduction::Mean, input, &[1], false)
    }

    /// Mean over height and width of an image, as `[1, channels]`.
    pub fn mean_of_pixels(&mut self, name: &str, input: TensorIdx) -> TensorIdx {
        self.reduce(name, Reduction::Mean, input, &[1, 2], false)
    }

    /// Reduces `axes`, which are kept as 1 or removed.
    pub fn reduce(
        &mut self,
        name: &str,
        reduction: Reduction,
        input: TensorIdx,
        axes: &[usize],
        keep_dims: bool,
    ) -> TensorIdx {
        let dims = self.shape(input).iter().enumerate();
        let shape: Vec<i32> = dims
            .filter(|(axis, _)| keep_dims || !axes.contains(axis))
            .map(|(axis, &dim)| if axes.contains(&axis) { 1 } else { dim })
            .collect();
        let n_reduced: i32 = axes.iter().map(|&axis| self.shape(input)[axis]).product();
        let before = self.spread(input);
        let (kind, spread) = match reduction {
            Reduction::Mean => (OperatorKind::Mean { keep_dims }, before),
            Reduction::Max => (OperatorKind::ReduceMax { keep_dims }, before),
            Reduction::Min => (OperatorKind::ReduceMin { keep_dims }, before),
            Reduction::Sum => {
                let rms = before.rms() * f64::from(n_reduced).sqrt();
                let spread = Spread::signed(2.0 * rms, &mut self.random);
                (OperatorKind::Sum { keep_dims }, spread)
            }
        };
        let values = axes.iter().map(|&axis| axis as i32).collect();
        let axes = self.int32_constant(&format!("{name}/axes"), &[axes.len() as i32], values);
        self.operator(name, kind, &[input, axes], shape, spread)
    }

    /// Index of the largest value of the last dimension, as int32.
    pub fn arg_max(&mut self, name: &str, input: TensorIdx) -> TensorIdx {
        let mut shape = self.shape(input).to_vec();
        let axis = shape.len() as i32 - 1;
        shape.pop();
        let axis = self.int32_constant(&format!("{name}/axis"), &[], vec![axis]);
        let output = self.tensor(name, shape, ElementType::Int32, Content::Activation);
        self.add_operator(OperatorKind::ArgMax, &[input, axis], &[output]);
        output
    }
}
