//! The builder's operators without weights that compute new values.

use litecast::formats::tflite::Activation;

use super::builder::NetworkBuilder;
use super::network::{Content, ElementType, TensorIdx};
use super::operator_kind::OperatorKind;
use super::quantization::Spread;

const PLAIN_ADD: OperatorKind = OperatorKind::Add {
    activation: Activation::None,
};

impl NetworkBuilder {
    /// Adds ADD without an activation.
    pub fn add(&mut self, name: &str, left: TensorIdx, right: TensorIdx) -> TensorIdx {
        let rms = self.rms_of_sum(left, right);
        self.binary(name, PLAIN_ADD, left, right, rms)
    }

    /// A sum with a fused ReLU.
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

    /// Adds SUB.
    pub fn sub(&mut self, name: &str, left: TensorIdx, right: TensorIdx) -> TensorIdx {
        let rms = self.rms_of_sum(left, right);
        self.binary(name, OperatorKind::Sub, left, right, rms)
    }

    /// Adds MUL.
    pub fn mul(&mut self, name: &str, left: TensorIdx, right: TensorIdx) -> TensorIdx {
        let rms = self.spread(left).rms() * self.spread(right).rms();
        self.binary(name, OperatorKind::Mul, left, right, rms)
    }

    /// Both operands have one scale, which integer kernels require.
    pub fn maximum(&mut self, name: &str, left: TensorIdx, right: TensorIdx) -> TensorIdx {
        self.extremum(name, OperatorKind::Maximum, left, right)
    }

    /// Both operands have one scale, which integer kernels require.
    pub fn minimum(&mut self, name: &str, left: TensorIdx, right: TensorIdx) -> TensorIdx {
        self.extremum(name, OperatorKind::Minimum, left, right)
    }

    fn extremum(
        &mut self,
        name: &str,
        kind: OperatorKind,
        left: TensorIdx,
        right: TensorIdx,
    ) -> TensorIdx {
        let inputs = self.requantized_to_one_scale(name, &[left, right]);
        let shape = broadcast(self.shape(left), self.shape(right));
        self.operator(name, kind, &inputs, shape, self.spread(left))
    }

    /// Adds SQUARED_DIFFERENCE.
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

/// NumPy's broadcasting: shapes are aligned at their ends, and dimensions of 1 are repeated.
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
