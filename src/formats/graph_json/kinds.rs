//! Kinds of operators that TFLite does not have: those of frameworks, and those that are nearly TFLite's, which are
//! misspelt.

use crate::formats::tflite::OpKind;
use crate::formats::tflite::op_row::{GpuFunction, GpuWork};

/// Number of letters and digits from which on one other letter is a slip. Shorter names are too close to each other.
const MIN_LETTERS: usize = 6;
/// Names of `TRANSPOSE_CONV` in other frameworks, which are a letter away from `CONV_3D_TRANSPOSE`.
const OTHER_FRAMEWORKS: [&str; 2] = ["CONV2DTRANSPOSE", "CONVTRANSPOSE2D"];

/// Operators of frameworks that TFLite does not have, none of which multiplies but recurrent ones. It has no bicubic resize,
/// which ONNX files have under that name.
pub const FRAMEWORK_KINDS: &[(GpuWork, &[&str])] = &[
    (GpuWork::View, &["IDENTITY"]),
    (
        GpuWork::Unary(GpuFunction::Other),
        &["ERF", "MISH", "ONNX:Erf", "SOFTPLUS"],
    ),
    (GpuWork::Unary(GpuFunction::Root), &["RECIPROCAL"]),
    (GpuWork::Unary(GpuFunction::Hard), &["HARD_SIGMOID"]),
    (GpuWork::Binary, &["ADDCMUL"]),
    (
        GpuWork::Reduction,
        &["L2_NORM", "VARIANCE", "ONNX:ReduceL2"],
    ),
    (
        GpuWork::Normalisation,
        &[
            "GROUP_NORMALIZATION",
            "INSTANCE_NORMALIZATION",
            "LAYER_NORMALIZATION",
            "RMS_NORMALIZATION",
        ],
    ),
    (GpuWork::Recurrent, &["ONNX:LSTM"]),
    (GpuWork::Resize, &["RESIZE_BICUBIC", "ONNX:Resize"]),
    (GpuWork::Copy, &["ROLL"]),
];

/// Multiply-accumulates of an operator of a framework; `None` where it multiplies or has another name.
pub fn framework_macs(name: &str) -> Option<u64> {
    let mut known = FRAMEWORK_KINDS.iter();
    let is_of =
        |(work, names): &&(GpuWork, &[&str])| *work != GpuWork::Recurrent && names.contains(&name);
    known.find(is_of).map(|_| 0)
}

/// The kind of operator that a custom operator's name seems to mean: the same but for case and separators or, if there
/// is none, in long names one letter.
pub(super) fn meant_by(name: &str) -> Option<OpKind> {
    let asked: String = letters(name).collect();
    if OTHER_FRAMEWORKS.contains(&asked.as_str()) {
        return Some(OpKind::TransposeConv);
    }
    let n_letters = asked.chars().count();
    // Of more than a hundred names, few are as long.
    let is_as_long = |kind: &OpKind| {
        let n_known = kind.name().bytes().filter(|&byte| byte != b'_').count();
        n_known.abs_diff(n_letters) <= 1
    };
    let is_candidate = |kind: &&OpKind| **kind != OpKind::Custom && is_as_long(kind);
    let kinds = || OpKind::ALL.iter().filter(is_candidate);
    let is_same = |kind: &&OpKind| letters(kind.name()).eq(asked.chars());
    let is_meant = |kind: &&OpKind| is_near(letters(kind.name()), asked.chars());
    kinds()
        .find(is_same)
        .or_else(|| kinds().find(is_meant))
        .copied()
}

fn letters(name: &str) -> impl Iterator<Item = char> + Clone {
    let letters = name.chars().filter(|letter| letter.is_alphanumeric());
    letters.map(|letter| letter.to_ascii_uppercase())
}

fn is_near(
    known: impl Iterator<Item = char> + Clone,
    name: impl Iterator<Item = char> + Clone,
) -> bool {
    let (mut known_rest, mut name_rest) = (known.clone(), name);
    loop {
        let (known_here, name_here) = (known_rest.clone(), name_rest.clone());
        let (one, other) = (known_rest.next(), name_rest.next());
        if one != other {
            let is_long = known.count() >= MIN_LETTERS;
            let (mut known_after, mut name_after) = (known_rest.clone(), name_rest.clone());
            let is_swapped = known_after.next() == other && name_after.next() == one;
            // One letter is another, too many or missing, or two are swapped.
            return is_long
                && (known_rest.clone().eq(name_rest.clone())
                    || known_here.eq(name_rest)
                    || known_rest.eq(name_here)
                    || is_swapped && known_after.eq(name_after));
        }
        if one.is_none() {
            return true;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_is_no_custom_operator() {
        for name in [
            "Conv2D",
            "conv_2d",
            "CONV-2D",
            "CONV_D2",
            "CONCATENATIO",
            "SOFTMXA",
        ] {
            assert!(meant_by(name).is_some(), "{name}");
        }
        assert_eq!(meant_by("Conv3D"), Some(OpKind::Conv3d));
        assert_eq!(meant_by("Conv2DTranspose"), Some(OpKind::TransposeConv));
        assert_eq!(meant_by("CONV_3DTRANSPOSE"), Some(OpKind::Conv3dTranspose));
        assert_eq!(meant_by("DepthwiseConv2d"), Some(OpKind::DepthwiseConv2d));
        assert_eq!(meant_by("FULY_CONNECTED"), Some(OpKind::FullyConnected));
    }

    #[test]
    fn other_names_are_custom_operators() {
        for name in [
            "",
            "ERF",
            "ROLL",
            "MISH",
            "LERP",
            "L2_NORM",
            "VARIANCE",
            "SOFTPLUS",
            "HARD_SIGMOID",
            "LOG_SIGMOID",
            "RESIZE_BICUBIC",
            "LAYER_NORMALIZATION",
            "GROUP_NORMALIZATION",
            "RMS_NORMALIZATION",
            "TFLite_Detection_PostProcess",
            "FlexErf",
            "MEAN2",
            "CUSTOM",
        ] {
            assert_eq!(meant_by(name), None, "{name}");
        }
    }
}
