//! The builder's operators without weights that compute new values.

use litecast::tflite::Activation;

use super::builder::NetworkBuilder;
use super::network::{Content, ElementType, OperatorKind, TensorIdx};
use super::quantization::Spread;

const PLAIN_ADD: OperatorKind = OperatorKind::Add {
    activation: Activation::None,
};

impl NetworkBuilder {
    pub fn add(&mut self, name: &str, left: TensorIdx, right: TensorIdx) -> TensorIdx {
        let rms = self.rms_of_sum(left, right);
        self.binary(name, PLAIN_ADD, left, right, rms)
    }

    /// A sum, rectified by the activation of the same operator.
    pub fn add_relu(&mut self, name: &str, left: TensorIdx, right: TensorIdx) -> TensorIdx {
        let shape = broadcast(self.shape(left), self.shape(right));
        let kind = OperatorKind::Add {
            activation: Activation::Relu,
        };
        let spread = Spread::rectified(self.rms_of_sum(left, right));
        self.operator(name, kind, &[left, right], shape, spread)
    }

    /// A sum of values that are never negative.
    pub fn add_positive(&mut self, name: &str, left: TensorIdx, right: TensorIdx) -> TensorIdx {
        let shape = broadcast(self.shape(left), self.shape(right));
        let spread = Spread::positive(self.spread(left).rms() + self.spread(right).rms());
        self.operator(name, PLAIN_ADD, &[left, right], shape, spread)
    }

    pub fn sub(&mut self, name: &str, left: TensorIdx, right: TensorIdx) -> TensorIdx {
        let rms = self.rms_of_sum(left, right);
        self.binary(name, OperatorKind::Sub, left, right, rms)
    }

    pub fn mul(&mut self, name: &str, left: TensorIdx, right: TensorIdx) -> TensorIdx {
        let rms = self.spread(left).rms() * self.spread(right).rms();
        self.binary(name, OperatorKind::Mul, left, right, rms)
    }

    pub fn squared_difference(
        &mut self,
        name: &str,
        left: TensorIdx,
        right: TensorIdx,
    ) -> TensorIdx {
        let rms = self.rms_of_sum(left, right).powi(2);
        let shape = broadcast(self.shape(left), self.shape(right));
        self.operator(
            name,
            OperatorKind::SquaredDifference,
            &[left, right],
            shape,
            Spread::positive(2.0 * rms),
        )
    }

    /// Mean over the last dimension, kept as 1.
    pub fn mean_of_last(&mut self, name: &str, input: TensorIdx) -> TensorIdx {
        let mut shape = self.shape(input).to_vec();
        let axis = shape.len() - 1;
        shape[axis] = 1;
        self.mean(name, input, vec![axis as i32], true, shape)
    }

    /// Mean over the tokens of `[1, tokens, features]`.
    pub fn mean_of_tokens(&mut self, name: &str, input: TensorIdx) -> TensorIdx {
        let shape = vec![1, self.channels(input)];
        self.mean(name, input, vec![1], false, shape)
    }

    /// Mean over height and width of an image, as `[1, channels]`.
    pub fn mean_of_pixels(&mut self, name: &str, input: TensorIdx) -> TensorIdx {
        let shape = vec![1, self.channels(input)];
        self.mean(name, input, vec![1, 2], false, shape)
    }

    fn mean(
        &mut self,
        name: &str,
        input: TensorIdx,
        axes: Vec<i32>,
        keep_dims: bool,
        shape: Vec<i32>,
    ) -> TensorIdx {
        let n_axes = axes.len() as i32;
        let axes = self.int32_constant(&format!("{name}/axes"), &[n_axes], axes);
        let spread = self.spread(input);
        self.operator(
            name,
            OperatorKind::Mean { keep_dims },
            &[input, axes],
            shape,
            spread,
        )
    }

    /// Of a value that is never negative (zero point −128): integer kernels refuse others.
    pub fn rsqrt(&mut self, name: &str, input: TensorIdx) -> TensorIdx {
        let spread = Spread::positive(1.0 / self.spread(input).rms().sqrt());
        self.operator(
            name,
            OperatorKind::Rsqrt,
            &[input],
            self.shape(input).to_vec(),
            spread,
        )
    }

    pub fn relu(&mut self, name: &str, input: TensorIdx) -> TensorIdx {
        let spread = Spread::rectified(self.spread(input).rms());
        let shape = self.shape(input).to_vec();
        self.operator(name, OperatorKind::Relu, &[input], shape, spread)
    }

    pub fn tanh(&mut self, name: &str, input: TensorIdx) -> TensorIdx {
        let spread = Spread {
            scale: 1.0 / 128.0,
            zero_point: 0,
            rms_steps: 64.0,
        };
        self.operator(
            name,
            OperatorKind::Tanh,
            &[input],
            self.shape(input).to_vec(),
            spread,
        )
    }

    pub fn gelu(&mut self, name: &str, input: TensorIdx, approximate: bool) -> TensorIdx {
        let spread = Spread::signed(0.7 * self.spread(input).rms(), &mut self.random);
        self.operator(
            name,
            OperatorKind::Gelu { approximate },
            &[input],
            self.shape(input).to_vec(),
            spread,
        )
    }

    /// Over the last dimension.
    pub fn softmax(&mut self, name: &str, input: TensorIdx) -> TensorIdx {
        let rms_steps = 256.0 / f64::from(self.channels(input)).sqrt();
        let spread = Spread {
            scale: 1.0 / 256.0,
            zero_point: -128,
            rms_steps,
        };
        self.operator(
            name,
            OperatorKind::Softmax,
            &[input],
            self.shape(input).to_vec(),
            spread,
        )
    }

    /// `left × right`, or with `adj_y` `left × rightᵀ`, of the last two dimensions.
    pub fn batch_matmul(
        &mut self,
        name: &str,
        left: TensorIdx,
        right: TensorIdx,
        adj_y: bool,
    ) -> TensorIdx {
        let rank = self.shape(left).len();
        let summed = self.channels(left);
        let columns = self.shape(right)[if adj_y { rank - 2 } else { rank - 1 }];
        let mut shape = self.shape(left).to_vec();
        shape[rank - 1] = columns;
        let rms = self.spread(left).rms() * self.spread(right).rms() * f64::from(summed).sqrt();
        let spread = Spread::signed(rms, &mut self.random);
        self.operator(
            name,
            OperatorKind::BatchMatMul { adj_y },
            &[left, right],
            shape,
            spread,
        )
    }

    /// A constant vector of learned values, such as a layer norm's gain.
    pub fn parameters(&mut self, name: &str, shape: &[i32], rms: f64) -> TensorIdx {
        let layer = self.layer_distribution();
        let tensor = self.tensor(
            name,
            shape.to_vec(),
            ElementType::Int8,
            Content::Weights(layer),
        );
        let rms_steps = layer.root_mean_square();
        self.set_spread(
            tensor,
            Spread {
                scale: rms / rms_steps,
                zero_point: 0,
                rms_steps,
            },
        );
        tensor
    }

    fn binary(
        &mut self,
        name: &str,
        kind: OperatorKind,
        left: TensorIdx,
        right: TensorIdx,
        rms: f64,
    ) -> TensorIdx {
        let shape = broadcast(self.shape(left), self.shape(right));
        let spread = Spread::signed(rms, &mut self.random);
        self.operator(name, kind, &[left, right], shape, spread)
    }

    fn rms_of_sum(&self, left: TensorIdx, right: TensorIdx) -> f64 {
        self.spread(left).rms().hypot(self.spread(right).rms())
    }
}

/// NumPy's rule: shapes aligned at their ends, 1 stretches.
pub(super) fn broadcast(left: &[i32], right: &[i32]) -> Vec<i32> {
    let rank = left.len().max(right.len());
    let dim = |shape: &[i32], idx: usize| {
        (idx + shape.len())
            .checked_sub(rank)
            .map_or(1, |idx| shape[idx])
    };
    (0..rank)
        .map(|idx| {
            let (a, b) = (dim(left, idx), dim(right, idx));
            assert!(
                a == b || a == 1 || b == 1,
                "shapes {left:?} and {right:?} do not broadcast"
            );
            a.max(b)
        })
        .collect()
}
