//! The builder's operators of one operand that compute each value from one value.

use super::builder::NetworkBuilder;
use super::network::TensorIdx;
use super::operator_kind::OperatorKind;
use super::quantization::Spread;

impl NetworkBuilder {
    /// Adds RELU.
    pub fn relu(&mut self, name: &str, input: TensorIdx) -> TensorIdx {
        let spread = Spread::rectified(self.spread(input).rms());
        self.unary(name, OperatorKind::Relu, input, spread)
    }

    /// Adds RELU6.
    pub fn relu6(&mut self, name: &str, input: TensorIdx) -> TensorIdx {
        let spread = Spread::rectified(self.spread(input).rms());
        self.unary(name, OperatorKind::Relu6, input, spread)
    }

    /// Adds RELU_N1_TO_1.
    pub fn relu_n1_to_1(&mut self, name: &str, input: TensorIdx) -> TensorIdx {
        self.unary(name, OperatorKind::ReluN1To1, input, UNIT)
    }

    /// Adds RELU_0_TO_1.
    pub fn relu_0_to_1(&mut self, name: &str, input: TensorIdx) -> TensorIdx {
        self.unary(name, OperatorKind::Relu0To1, input, SHARE)
    }

    /// `slope_permille`: a thousand times the factor of negative values.
    pub fn leaky_relu(&mut self, name: &str, input: TensorIdx, slope_permille: u32) -> TensorIdx {
        let spread = Spread::signed(0.75 * self.spread(input).rms(), &mut self.random);
        let kind = OperatorKind::LeakyRelu { slope_permille };
        self.unary(name, kind, input, spread)
    }

    /// One learned slope a channel.
    pub fn prelu(&mut self, name: &str, input: TensorIdx) -> TensorIdx {
        let mut shape = vec![1; self.shape(input).len() - 1];
        *shape.last_mut().expect("PRELU takes a tensor of rank 2") = self.channels(input);
        let slopes = self.parameters(&format!("{name}/slopes"), &shape, 0.2);
        let spread = Spread::signed(0.75 * self.spread(input).rms(), &mut self.random);
        let shape = self.shape(input).to_vec();
        self.operator(name, OperatorKind::Prelu, &[input, slopes], shape, spread)
    }

    /// Adds ELU.
    pub fn elu(&mut self, name: &str, input: TensorIdx) -> TensorIdx {
        let spread = Spread::signed(0.75 * self.spread(input).rms(), &mut self.random);
        self.unary(name, OperatorKind::Elu, input, spread)
    }

    /// Adds HARD_SWISH.
    pub fn hard_swish(&mut self, name: &str, input: TensorIdx) -> TensorIdx {
        let spread = Spread::signed(0.7 * self.spread(input).rms(), &mut self.random);
        self.unary(name, OperatorKind::HardSwish, input, spread)
    }

    /// Adds GELU, by the formula with tanh if `approximate`.
    pub fn gelu(&mut self, name: &str, input: TensorIdx, approximate: bool) -> TensorIdx {
        let spread = Spread::signed(0.7 * self.spread(input).rms(), &mut self.random);
        self.unary(name, OperatorKind::Gelu { approximate }, input, spread)
    }

    /// Adds TANH.
    pub fn tanh(&mut self, name: &str, input: TensorIdx) -> TensorIdx {
        self.unary(name, OperatorKind::Tanh, input, UNIT)
    }

    /// Adds LOGISTIC.
    pub fn logistic(&mut self, name: &str, input: TensorIdx) -> TensorIdx {
        self.unary(name, OperatorKind::Logistic, input, SHARE)
    }

    /// Adds EXP.
    pub fn exp(&mut self, name: &str, input: TensorIdx) -> TensorIdx {
        let spread = Spread::positive(libm::exp(self.spread(input).rms().min(8.0)));
        self.unary(name, OperatorKind::Exp, input, spread)
    }

    /// Of a value that is never negative.
    pub fn log(&mut self, name: &str, input: TensorIdx) -> TensorIdx {
        let rms = 1.0 + libm::log(self.spread(input).rms()).abs();
        let spread = Spread::signed(rms, &mut self.random);
        self.unary(name, OperatorKind::Log, input, spread)
    }

    /// Adds ABS.
    pub fn abs(&mut self, name: &str, input: TensorIdx) -> TensorIdx {
        let spread = Spread::positive(self.spread(input).rms());
        self.unary(name, OperatorKind::Abs, input, spread)
    }

    /// Adds NEG.
    pub fn neg(&mut self, name: &str, input: TensorIdx) -> TensorIdx {
        let spread = self.spread(input);
        self.unary(name, OperatorKind::Neg, input, spread)
    }

    /// Of a value that is never negative (zero point −128): integer kernels refuse others.
    pub fn rsqrt(&mut self, name: &str, input: TensorIdx) -> TensorIdx {
        let spread = Spread::positive(1.0 / self.spread(input).rms().sqrt());
        self.unary(name, OperatorKind::Rsqrt, input, spread)
    }

    /// Over the last dimension.
    pub fn softmax(&mut self, name: &str, input: TensorIdx) -> TensorIdx {
        let rms_steps = 256.0 / f64::from(self.channels(input)).sqrt();
        let spread = Spread { rms_steps, ..SHARE };
        self.unary(name, OperatorKind::Softmax, input, spread)
    }

    /// The same values in another scale.
    pub fn quantize(&mut self, name: &str, input: TensorIdx, spread: Spread) -> TensorIdx {
        self.unary(name, OperatorKind::Quantize, input, spread)
    }

    /// The same values in a scale of the builder's choice.
    pub fn requantize(&mut self, name: &str, input: TensorIdx) -> TensorIdx {
        let factor = self.random.between(0.7, 1.3);
        let spread = Spread::signed(factor * self.spread(input).rms(), &mut self.random);
        self.quantize(name, input, spread)
    }

    fn unary(
        &mut self,
        name: &str,
        kind: OperatorKind,
        input: TensorIdx,
        spread: Spread,
    ) -> TensorIdx {
        let shape = self.shape(input).to_vec();
        self.operator(name, kind, &[input], shape, spread)
    }
}

/// Of values in −1..1, as integer kernels fix it.
const UNIT: Spread = Spread {
    scale: 1.0 / 128.0,
    zero_point: 0,
    rms_steps: 64.0,
};

/// Of values in 0..1, as integer kernels fix it.
const SHARE: Spread = Spread {
    scale: 1.0 / 256.0,
    zero_point: -128,
    rms_steps: 140.0,
};
