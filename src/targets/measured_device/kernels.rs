//! Operators → what a runtime's kernels are expected to take, where that is known better than from the operators of a target.

use serde::{Deserialize, Serialize};

use super::classes::{Class, operator_class, stride_h};
use crate::formats::tflite::{Activation, BuiltinOptions, Operator};

/// Whose kernels the operators of a device are scaled from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Kernels {
    /// Those of the base.
    #[default]
    Base,
    /// Those of ncnn on a processor that nobody has: a billion multiplications take 0.23 seconds.
    Ncnn,
}

impl Kernels {
    pub fn is_base(&self) -> bool {
        *self == Self::Base
    }

    /// In words, on this base.
    pub fn words(self, base: &str) -> String {
        match self {
            Self::Base => format!("the operators of {base}"),
            Self::Ncnn => "what ncnn's kernels are expected to take".to_owned(),
        }
    }

    /// Classes that its kernels are of.
    pub fn classes(self) -> impl Iterator<Item = Class> {
        let is_one = move |class: &Class| match self {
            Self::Base => true,
            // Winograd's kernel is one for all channels.
            Self::Ncnn => *class != Class::WideWinograd,
        };
        Class::ALL.into_iter().filter(is_one)
    }

    /// Class and milliseconds of each operator, whose parts on the base are these.
    pub fn costs<'n>(
        self,
        operators: &[KernelOperator],
        base_ms: &[f64],
        shape: impl Fn(usize) -> &'n [i32],
    ) -> Vec<(Class, f64)> {
        match self {
            Self::Base => {
                let classes = operators.iter().map(|operator| operator.class(&shape));
                classes.zip(base_ms.iter().copied()).collect()
            }
            Self::Ncnn => ncnn_costs(operators, shape),
        }
    }
}

/// What costs of kernels depend on.
#[derive(Clone, Copy, Debug)]
pub struct KernelOperator<'n> {
    /// Kind, as TFLite calls it.
    pub name: &'n str,
    /// Of tensors.
    pub inputs: &'n [Option<usize>],
    pub outputs: &'n [usize],
    pub stride_h: Option<i32>,
    pub dilation_h: Option<i32>,
    /// Whether an activation is fused into it.
    pub has_activation: bool,
}

impl<'n> From<&'n Operator> for KernelOperator<'n> {
    fn from(operator: &'n Operator) -> Self {
        let dilation_h = match operator.options {
            BuiltinOptions::Conv2D { dilation_h, .. } => Some(dilation_h),
            _ => None,
        };
        Self {
            name: operator.code.name(),
            inputs: &operator.inputs,
            outputs: &operator.outputs,
            stride_h: stride_h(&operator.options),
            dilation_h,
            has_activation: !matches!(operator.options.activation(), None | Some(Activation::None)),
        }
    }
}

impl KernelOperator<'_> {
    pub fn class<'n>(&self, shape: impl Fn(usize) -> &'n [i32]) -> Class {
        let weights = self.inputs.get(1).copied().flatten();
        operator_class(self.name, weights.map(shape), self.stride_h)
    }
}

/// In nanoseconds.
mod cost {
    pub const MULTIPLICATION: f64 = 0.23;
    /// A pointwise convolution reads its input again for each block of channels that it writes.
    pub const FEW_CHANNELS: f64 = 16.0;
    /// A value that a convolution's windows are copied to.
    pub const WINDOW_VALUE: f64 = 2.0;
    pub const WINOGRAD_MULTIPLICATION: f64 = 0.25;
    /// Of a tile, there and back.
    pub const TRANSFORMED_VALUE: f64 = 5.0;
    /// Read and written by a depthwise convolution, of which the memory is the limit.
    pub const DEPTHWISE_VALUE: f64 = 3.0;
    /// Weights of matrix products are read once, from the memory.
    pub const WEIGHT: f64 = 1.0;
    /// Read or written by what does little arithmetic.
    pub const VALUE: f64 = 2.0;
    pub const CURVE: f64 = 6.0;
    pub const NORMALISED_VALUE: f64 = 10.0;
    pub const OTHER_VALUE: f64 = 3.0;
}

/// Class and milliseconds of each operator under ncnn; none for what is no kernel of its own there. `shape` is that of a tensor.
/// Linear in operators and operands.
///
/// Rules of ncnn's kernels for Arm (commit 0043a53a, BSD-3-Clause): 3×3 convolutions of stride 1 with eight channels and more on
/// either side use Winograd's algorithm, on tiles of 6×6 results for at most 128 channels on both sides, of 4×4 for at least eight on
/// both, and else of 2×2. Other convolutions are products of matrices, for which windows are copied. Paddings are part of
/// convolutions and pools, and an activation behind arithmetic is an operator of its own.
fn ncnn_costs<'n>(
    operators: &[KernelOperator],
    shape: impl Fn(usize) -> &'n [i32],
) -> Vec<(Class, f64)> {
    let operands = |operator: &KernelOperator| {
        let inputs = operator.inputs.iter().flatten().copied().max();
        inputs.max(operator.outputs.iter().copied().max())
    };
    let last = operators.iter().filter_map(operands).max();
    let n_tensors = last.map_or(0, |last| last + 1);
    // Once for each tensor, because many operators may read one of many dimensions.
    let values: Vec<f64> = (0..n_tensors).map(|idx| n_values(shape(idx))).collect();
    let mut uses = vec![Use::default(); n_tensors];
    for operator in operators {
        let has_windows = operator.name.contains("CONV") || operator.name.contains("POOL");
        for &tensor in operator.inputs.iter().flatten() {
            match has_windows {
                true => uses[tensor].has_windows = true,
                false => uses[tensor].has_others = true,
            }
        }
        if let ("LOGISTIC", [Some(value)], [tensor]) =
            (operator.name, operator.inputs, operator.outputs)
        {
            uses[*tensor].logistic_of = Some(*value);
        }
    }
    let is_part_of_another =
        |operator: &KernelOperator| match (operator.name, operator.inputs, operator.outputs) {
            ("PAD" | "PADV2", _, [written]) => {
                uses[*written].has_windows && !uses[*written].has_others
            }
            // A value times its logistic function is one kernel.
            ("MUL", [Some(a), Some(b)], _) => {
                uses[*a].logistic_of == Some(*b) || uses[*b].logistic_of == Some(*a)
            }
            _ => false,
        };
    let mut costs = Vec::with_capacity(operators.len());
    for operator in operators {
        let (class, ns) = ncnn_cost(operator, &values, &shape);
        let is_free = is_part_of_another(operator);
        costs.push((class, if is_free { 0.0 } else { ns * 1e-6 }));
    }
    costs
}

/// Who reads a tensor, and what it is the logistic function of.
#[derive(Clone, Copy, Default)]
struct Use {
    has_windows: bool,
    has_others: bool,
    logistic_of: Option<usize>,
}

/// Nanoseconds, where tensors have so many values.
fn ncnn_cost<'n>(
    operator: &KernelOperator,
    values: &[f64],
    shape: impl Fn(usize) -> &'n [i32],
) -> (Class, f64) {
    let input = |idx: usize| operator.inputs.get(idx).copied().flatten();
    let class = operator.class(&shape);
    let n_read: f64 = operator.inputs.iter().flatten().map(|&t| values[t]).sum();
    let n_written: f64 = operator.outputs.iter().map(|&t| values[t]).sum();
    let n_first = input(0).map_or(0.0, |t| values[t]);
    let n_moved = cost::VALUE * (n_first + n_written);
    let ns = match class {
        Class::Convolution | Class::Pointwise | Class::Winograd | Class::WideWinograd => {
            return convolution(operator, class, values, shape);
        }
        Class::Depthwise => cost::DEPTHWISE_VALUE * (n_first + n_written),
        Class::Dense => {
            let inner = match input(1).map(&shape) {
                Some([_, inner]) => Some(inner),
                _ => input(0).and_then(|t| shape(t).last()),
            };
            cost::WEIGHT * n_written * inner.map_or(1.0, |&inner| size(inner))
        }
        Class::Elementwise => {
            let of_activation = if operator.has_activation {
                2.0 * n_written
            } else {
                0.0
            };
            cost::VALUE * (n_read + n_written + of_activation)
        }
        Class::Curve => cost::CURVE * n_written,
        Class::Reduction => n_moved,
        Class::Movement => match operator.name {
            "RESHAPE" | "SQUEEZE" | "EXPAND_DIMS" => 0.0,
            "CONCATENATION" => cost::VALUE * 2.0 * n_written,
            _ => n_moved,
        },
        Class::Normalisation => cost::NORMALISED_VALUE * (n_read + n_written),
        Class::Other => cost::OTHER_VALUE * (n_read + n_written),
    };
    (class, ns)
}

fn convolution<'n>(
    operator: &KernelOperator,
    class: Class,
    values: &[f64],
    shape: impl Fn(usize) -> &'n [i32],
) -> (Class, f64) {
    let input = |idx: usize| operator.inputs.get(idx).copied().flatten();
    let (Some(weights), Some(&written)) = (input(1), operator.outputs.first()) else {
        return (class, 0.0);
    };
    let n_written_channels = shape(written)
        .last()
        .map_or(1.0, |&channels| size(channels));
    // Each position that is written, or of a transposed convolution read, is multiplied with all weights.
    let n_products = match (operator.name, shape(weights), input(2)) {
        ("TRANSPOSE_CONV" | "CONV_3D_TRANSPOSE", &[.., n_in], Some(read)) => {
            values[read] * values[weights] / size(n_in).max(1.0)
        }
        _ => values[weights] * values[written] / n_written_channels.max(1.0),
    };
    let (&[n_out, kernel_h, kernel_w, n_in], &[batch, height, width, _]) =
        (shape(weights), shape(written))
    else {
        return (class, cost::MULTIPLICATION * n_products);
    };
    let [n_out, n_in, batch, height, width] = [n_out, n_in, batch, height, width].map(size);
    let is_winograd = operator.name == "CONV_2D"
        && (kernel_h, kernel_w) == (3, 3)
        && operator.stride_h == Some(1)
        && operator.dilation_h.unwrap_or(1) == 1
        && n_in.max(n_out) >= 8.0;
    if class == Class::Pointwise {
        let of_few = 1.0 + cost::FEW_CHANNELS / n_out.max(1.0);
        (class, cost::MULTIPLICATION * n_products * of_few)
    } else if is_winograd {
        let tile = match (n_in.min(n_out), n_in.max(n_out)) {
            (_, ..=128.0) => 6.0,
            (8.0.., _) => 4.0,
            _ => 2.0,
        };
        let n_tiles = batch * (height / tile).ceil() * (width / tile).ceil();
        let n_points = n_tiles * (tile + 2.0) * (tile + 2.0);
        let of_products = cost::WINOGRAD_MULTIPLICATION * n_in * n_out;
        let of_transforms = cost::TRANSFORMED_VALUE * (n_in + n_out);
        (Class::Winograd, n_points * (of_products + of_transforms))
    } else {
        let n_window_values = n_products / n_out.max(1.0);
        let of_windows = cost::WINDOW_VALUE * n_window_values;
        (
            Class::Convolution,
            cost::MULTIPLICATION * n_products + of_windows,
        )
    }
}

fn size(size: i32) -> f64 {
    f64::from(size.max(0))
}

fn n_values(shape: &[i32]) -> f64 {
    shape.iter().map(|&one| size(one)).product()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Shapes of tensors by position.
    fn costs(operators: &[KernelOperator], shapes: &[&'static [i32]]) -> Vec<(Class, f64)> {
        ncnn_costs(operators, |idx| shapes[idx])
    }

    fn operator<'n>(
        name: &'n str,
        inputs: &'n [Option<usize>],
        outputs: &'n [usize],
    ) -> KernelOperator<'n> {
        KernelOperator {
            name,
            inputs,
            outputs,
            stride_h: Some(1),
            dilation_h: Some(1),
            has_activation: false,
        }
    }

    #[test]
    fn convolutions_of_three_by_three_use_tiles() {
        let convolution = operator("CONV_2D", &[Some(0), Some(1)], &[2]);
        // Points of tiles, products and transformed channels by hand.
        for (shapes, n_points, products, channels) in [
            (
                [&[1, 56, 56, 64][..], &[64, 3, 3, 64], &[1, 56, 56, 64]],
                100 * 64,
                64 * 64,
                128,
            ),
            (
                [&[1, 14, 14, 256], &[256, 3, 3, 256], &[1, 14, 14, 256]],
                16 * 36,
                256 * 256,
                512,
            ),
            (
                [&[1, 7, 7, 4], &[256, 3, 3, 4], &[1, 7, 7, 256]],
                16 * 16,
                4 * 256,
                260,
            ),
        ] {
            let [(class, ms)] = costs(&[convolution], &shapes)[..] else {
                panic!("one operator")
            };
            let expected_ns =
                f64::from(n_points) * (0.25 * f64::from(products) + 5.0 * f64::from(channels));
            println!("{shapes:?}: {ms} ms, expected {} ms", expected_ns * 1e-6);
            assert_eq!(class, Class::Winograd);
            assert!((ms / (expected_ns * 1e-6) - 1.0).abs() < 1e-9);
        }
        let shapes: [&[i32]; 3] = [&[1, 57, 57, 64], &[64, 3, 3, 64], &[1, 28, 28, 64]];
        let strided = KernelOperator {
            stride_h: Some(2),
            ..convolution
        };
        let dilated = KernelOperator {
            dilation_h: Some(2),
            ..convolution
        };
        let expected = 28.0 * 28.0 * 9.0 * 64.0 * (64.0 * 0.23 + 2.0) * 1e-6;
        for other in [strided, dilated] {
            let (class, ms) = costs(&[other], &shapes)[0];
            println!("{ms} ms, expected {expected} ms");
            assert_eq!(class, Class::Convolution);
            assert!((ms / expected - 1.0).abs() < 1e-9);
        }
    }

    /// Each value that is read meets every window and channel that is written.
    #[test]
    fn transposed_convolutions_multiply_what_they_read() {
        let image: [&[i32]; 4] = [&[4], &[6, 2, 2, 3], &[1, 5, 5, 3], &[1, 10, 10, 6]];
        let volume: [&[i32]; 4] = [&[5], &[2, 2, 2, 5, 3], &[1, 2, 2, 2, 3], &[1, 4, 4, 4, 5]];
        let image_ms = 25.0 * 3.0 * 4.0 * (6.0 * 0.23 + 2.0) * 1e-6;
        let volume_ms = 8.0 * 3.0 * 8.0 * 5.0 * 0.23 * 1e-6;
        for (name, shapes, expected) in [
            ("TRANSPOSE_CONV", image, image_ms),
            ("CONV_3D_TRANSPOSE", volume, volume_ms),
        ] {
            let transposed = operator(name, &[Some(0), Some(1), Some(2)], &[3]);
            let (class, ms) = costs(&[transposed], &shapes)[0];
            println!("{name}: {ms} ms, expected {expected} ms");
            assert_eq!(class, Class::Convolution);
            assert!((ms / expected - 1.0).abs() < 1e-9);
        }
    }

    #[test]
    fn paddings_of_windows_and_factors_of_curves_are_no_kernels() {
        let image: &[i32] = &[1, 8, 8, 4];
        let n_values = 8.0 * 8.0 * 4.0;
        let pad = operator("PAD", &[Some(0), None], &[1]);
        let pool = operator("MAX_POOL_2D", &[Some(1)], &[2]);
        let add = operator("ADD", &[Some(1), Some(2)], &[3]);
        let logistic = operator("LOGISTIC", &[Some(3)], &[4]);
        let product = operator("MUL", &[Some(3), Some(4)], &[5]);
        let square = operator("MUL", &[Some(4), Some(4)], &[5]);
        let shapes = [image; 6];
        let all = [pad, pool, logistic, product];
        let ms: Vec<f64> = costs(&all, &shapes).iter().map(|(_, ms)| *ms).collect();
        println!("{ms:?}");
        assert_eq!((ms[0], ms[3]), (0.0, 0.0));
        assert!((ms[2] / (6e-6 * n_values) - 1.0).abs() < 1e-9);
        let all = [pad, pool, add, logistic, square];
        let ms: Vec<f64> = costs(&all, &shapes).iter().map(|(_, ms)| *ms).collect();
        println!("{ms:?}");
        assert!((ms[0] / (4e-6 * n_values) - 1.0).abs() < 1e-9);
        assert!((ms[4] / (6e-6 * n_values) - 1.0).abs() < 1e-9);
    }
}
