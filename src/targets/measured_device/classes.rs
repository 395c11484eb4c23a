//! Operators that one kernel of a runtime computes, or kernels whose speed changes alike from device to device.

use serde::{Deserialize, Serialize};

use crate::formats::tflite::BuiltinOptions;

/// A class of kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Class {
    /// With a kernel of more than one position.
    Convolution,
    /// With a kernel of one position.
    Pointwise,
    Depthwise,
    /// Products of matrices.
    Dense,
    /// One value from each value or pair of values.
    Elementwise,
    /// Pooling and reductions.
    Reduction,
    /// Softmax and normalisations.
    Normalisation,
    /// Changes of place and shape without arithmetic, and interpolation.
    Movement,
    /// Recurrent operators and all others.
    Other,
    /// Convolutions to which runtimes may apply Winograd's algorithm: 3x3, of stride 1, on eight channels and more.
    Winograd,
    /// The same on many channels, whose products outweigh what the transforms of the algorithm take.
    WideWinograd,
    /// One value from each value by a function that takes much arithmetic, such as an exponential or a root.
    Curve,
}

/// Number of classes.
pub const N_CLASSES: usize = 12;

impl Class {
    pub const ALL: [Self; N_CLASSES] = [
        Self::Convolution,
        Self::Pointwise,
        Self::Depthwise,
        Self::Dense,
        Self::Elementwise,
        Self::Reduction,
        Self::Normalisation,
        Self::Movement,
        Self::Other,
        Self::Winograd,
        Self::WideWinograd,
        Self::Curve,
    ];

    /// Classes that documents of older versions do not have, in their order, each with the class that it was part of.
    pub(super) const LATER: [(Self, Self); 3] = [
        (Self::Winograd, Self::Convolution),
        (Self::WideWinograd, Self::Winograd),
        (Self::Curve, Self::Elementwise),
    ];

    /// Position in [`Self::ALL`].
    pub fn idx(self) -> usize {
        self as usize
    }

    /// In words, in the plural.
    pub fn words(self) -> &'static str {
        match self {
            Self::Convolution => "convolutions",
            Self::Pointwise => "1x1 convolutions",
            Self::Depthwise => "depthwise convolutions",
            Self::Dense => "matrix products",
            Self::Elementwise => "elementwise operators",
            Self::Reduction => "pooling and reductions",
            Self::Normalisation => "softmax and normalisations",
            Self::Movement => "movements of data",
            Self::Other => "other operators",
            Self::Winograd => "3x3 convolutions of stride 1",
            Self::WideWinograd => "3x3 convolutions of stride 1 on 128 channels and more",
            Self::Curve => "exponentials and other curves",
        }
    }
}

/// Classes with parts of the names of operators in lower case, letters and digits alone; the first row with one that a name
/// contains. Names are those of TFLite, ONNX, ncnn, MNN and ExecuTorch.
const PARTS: &[(Class, &str)] = &[
    (Class::Depthwise, "depthwise convolutiondw dwconv"),
    (Class::Movement, "convertlayout converttensor raster"),
    (Class::Elementwise, "convert"),
    (Class::Convolution, "conv"),
    (
        Class::Dense,
        "fullyconnected matmul matrixmultiply innerproduct gemm dense addmm einsum",
    ),
    (Class::Other, "lstm rnn gru"),
    (Class::Dense, "attention"),
    (Class::Normalisation, "softmax norm mvn lrn"),
    (Class::Other, "unpool"),
    (Class::Reduction, "pool mean reduc argm sum"),
    (Class::Elementwise, "quantize hard"),
    (
        Class::Movement,
        "resize interp upsample pad concat cat reshape reorder transpose permute slice split gather squeeze flatten pack \
         tile expand broadcast space copy crop shuffle embedding identity shape",
    ),
    (
        Class::Curve,
        "logistic sigmoid tanh swish silu gelu mish softplus exp pow sqrt squareroot erf",
    ),
    (
        Class::Elementwise,
        "lu clip clamp add sub mul div eltwise binary unary min max square log abs neg cast where select equal greater less",
    ),
    // Last, for QLinearAdd, QuantizeLinear and RESIZE_BILINEAR.
    (Class::Dense, "linear"),
];

/// Vertical stride of a convolution.
pub fn stride_h(options: &BuiltinOptions) -> Option<i32> {
    match options {
        BuiltinOptions::Conv2D { stride_h, .. } => Some(*stride_h),
        _ => None,
    }
}

/// Channels from which on runtimes have Winograd's algorithm.
const MIN_WINOGRAD_CHANNELS: i32 = 8;
/// Channels, read and written, from which on the algorithm is faster for each product: errors on processors under ncnn are
/// smaller with this than with a half, a quarter and three quarters of it.
const MIN_WIDE_CHANNELS: i32 = 128;

/// Class of an operator by its name in whatever tool; of convolutions also by the shape of their weights (height and width of
/// the kernel are its second and third size) and their vertical stride, where these are known.
pub fn operator_class(name: &str, weights_shape: Option<&[i32]>, stride_h: Option<i32>) -> Class {
    let letters = name.chars().filter(char::is_ascii_alphanumeric);
    let name: String = letters.map(|c| c.to_ascii_lowercase()).collect();
    let mut rows = PARTS.iter();
    let class = rows
        .find(|(_, parts)| parts.split(' ').any(|part| name.contains(part)))
        .map_or(Class::Other, |(class, _)| *class);
    match (class, weights_shape) {
        (Class::Convolution, Some([_, 1, 1, _])) => Class::Pointwise,
        (Class::Convolution, Some([written, 3, 3, read]))
            if stride_h == Some(1) && *read >= MIN_WINOGRAD_CHANNELS =>
        {
            match *read.min(written) >= MIN_WIDE_CHANNELS {
                true => Class::WideWinograd,
                false => Class::Winograd,
            }
        }
        (class, _) => class,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_tools_have_the_class_of_their_kernel() {
        for (name, expected) in [
            ("CONV_2D", Class::Convolution),
            ("Convolution (NHWC, F32) IGEMM", Class::Convolution),
            ("ConvolutionDepthWise", Class::Depthwise),
            ("DEPTHWISE_CONV_2D", Class::Depthwise),
            ("Convolution (NHWC, F32) DWConv", Class::Depthwise),
            ("FusedMatMul", Class::Dense),
            ("Batch Matrix Multiply (NC, F32) GEMM", Class::Dense),
            ("QLinearAdd", Class::Elementwise),
            ("QLinearConcat", Class::Movement),
            ("QuantizeLinear", Class::Elementwise),
            ("RESIZE_BILINEAR", Class::Movement),
            ("ConvertTensor", Class::Movement),
            ("native_call_linear.out", Class::Dense),
            ("native_call_addmm.out", Class::Dense),
            ("FULLY_CONNECTED", Class::Dense),
            ("BatchNormalization", Class::Normalisation),
            ("SOFTMAX", Class::Normalisation),
            ("GlobalAveragePool", Class::Reduction),
            ("Reduction", Class::Reduction),
            ("Einsum", Class::Dense),
            ("MVN", Class::Normalisation),
            ("LRN", Class::Normalisation),
            ("ReorderOutput", Class::Movement),
            ("HardSigmoid", Class::Elementwise),
            ("LOGISTIC", Class::Curve),
            ("QuickGelu", Class::Curve),
            ("EXPAND_DIMS", Class::Movement),
            ("RELU6", Class::Elementwise),
            ("UNIDIRECTIONAL_SEQUENCE_LSTM", Class::Other),
        ] {
            assert_eq!(operator_class(name, None, None), expected, "{name}");
        }
        for (shape, stride, expected) in [
            ([8, 1, 1, 4], 1, Class::Pointwise),
            ([8, 3, 1, 4], 1, Class::Convolution),
            ([8, 3, 3, 16], 1, Class::Winograd),
            ([128, 3, 3, 64], 1, Class::Winograd),
            ([128, 3, 3, 256], 1, Class::WideWinograd),
            ([8, 3, 3, 16], 2, Class::Convolution),
            ([8, 3, 3, 3], 1, Class::Convolution),
        ] {
            let class = operator_class("CONV_2D", Some(&shape), Some(stride));
            assert_eq!(class, expected, "{shape:?}, stride {stride}");
        }
    }
}
