//! Types of operands, and words of attributes, that ONNX's definitions do not allow.

use super::Converter;
use crate::formats::onnx::proto::Node;
use crate::formats::tflite::TensorType;

/// Operators of numbers with a fraction, by the first operand.
const OF_FLOATS: &str = "Acos Acosh Asin Asinh Atan Atanh Attention AveragePool BatchNormalization Ceil Celu Conv \
    ConvTranspose Cos Cosh DeformConv Elu Exp Floor GRU Gelu GlobalAveragePool GlobalLpPool GlobalMaxPool \
    GroupNormalization HardSigmoid HardSwish Hardmax InstanceNormalization LRN LSTM LayerNormalization LeakyRelu Log \
    LogSoftmax LpNormalization LpPool Mean Mish RMSNormalization RNN Reciprocal RoiAlign Round Selu Sigmoid Sin Sinh \
    Softmax Softplus Softsign Sqrt Sum Swish Tan Tanh ThresholdedRelu";

/// Operators whose second operand has axes, sizes or indices.
const INDEXED: &str = "CumSum Expand Gather GatherElements GatherND Pad Reshape Scatter ScatterElements ScatterND Slice \
    Squeeze TopK Unsqueeze";

/// Operators that broadcast all of their operands to the shape of their result.
pub(super) const BROADCASTING: &[&str] = &[
    "Add",
    "And",
    "BitShift",
    "BitwiseAnd",
    "BitwiseOr",
    "BitwiseXor",
    "Div",
    "Equal",
    "Greater",
    "GreaterOrEqual",
    "Less",
    "LessOrEqual",
    "Max",
    "Mean",
    "Min",
    "Mod",
    "Mul",
    "Or",
    "Pow",
    "Sub",
    "Sum",
    "Where",
    "Xor",
];

/// Operators whose operands have one type, besides [`BROADCASTING`] ones.
const ALIKE: &str = "Clip Concat Conv ConvTranspose DeformConv Einsum Gemm GroupNormalization InstanceNormalization \
    MatMul PRelu Range";

/// Attributes whose values are words: the attribute, its operators, and the words that any of ONNX's versions has for them.
/// ONNX Runtime takes no word for some.
const WORDS: &[(&str, &str, &str)] = &[
    (
        "auto_pad",
        "AveragePool Conv ConvInteger ConvTranspose LpPool MaxPool QLinearConv",
        " NOTSET VALID SAME_UPPER SAME_LOWER",
    ),
    ("mode", "Resize Upsample", "nearest linear cubic bilinear"),
    ("mode", "Pad", "constant reflect edge wrap"),
    (
        "mode",
        "GridSample",
        "bilinear nearest bicubic linear cubic",
    ),
    ("mode", "DepthToSpace SpaceToDepth", "DCR CRD"),
    ("mode", "RoiAlign", "avg max"),
    (
        "coordinate_transformation_mode",
        "Resize",
        "half_pixel half_pixel_symmetric pytorch_half_pixel align_corners asymmetric tf_half_pixel_for_nn \
         tf_crop_and_resize",
    ),
    (
        "coordinate_transformation_mode",
        "RoiAlign",
        "half_pixel output_half_pixel",
    ),
    (
        "nearest_mode",
        "Resize",
        " round_prefer_floor round_prefer_ceil floor ceil",
    ),
    (
        "keep_aspect_ratio_policy",
        "Resize",
        "stretch not_larger not_smaller",
    ),
    ("padding_mode", "GridSample", "zeros border reflection"),
    (
        "reduction",
        "ScatterElements ScatterND",
        "none add mul max min",
    ),
    ("direction", "GRU LSTM RNN", "forward reverse bidirectional"),
    ("direction", "BitShift", "LEFT RIGHT"),
    ("approximate", "Gelu", "none tanh"),
];

/// Functions of recurrent operators, which ONNX Runtime takes in small and large letters.
const ACTIVATIONS: &str = "Affine Elu HardSigmoid LeakyRelu Relu ScaledTanh Sigmoid Softplus Softsign Tanh ThresholdedRelu";

fn lists(words: &str, wanted: &str) -> bool {
    words.split(' ').any(|word| word == wanted)
}

/// Whether an attribute has a word that ONNX does not have there.
pub(super) fn has_unknown_word(node: &Node) -> bool {
    let is_unknown = |&(name, operators, words): &(&str, &str, &str)| {
        let word = || node.text(name).unwrap_or_default();
        lists(operators, node.text.op_type)
            && node.attributes.get(name).is_some()
            && !lists(words, word())
    };
    let is_function = |name: &str| {
        let mut known = ACTIVATIONS.split(' ');
        known.any(|known| known.eq_ignore_ascii_case(name))
    };
    WORDS.iter().any(is_unknown)
        || lists("GRU LSTM RNN", node.text.op_type) && !node.texts("activations").all(is_function)
}

impl<'a> Converter<'a> {
    /// Types that are not known contradict nothing, nor do those of nodes that replace one of ONNX Runtime's, which name
    /// the domain.
    pub(super) fn against_types(&self, node: &Node<'a>) -> Option<&'static str> {
        let of = |at: usize| {
            let name = node.inputs.get(at)?;
            let value = self.names.values.get(name)?;
            let is_known = value.shape.is_some()
                && !self.names.of_guessed_type.contains(name)
                && !matches!(value.tensor_type, TensorType::Unknown(_));
            is_known.then_some(value.tensor_type)
        };
        let name = node.text.op_type;
        if !node.text.domain.is_empty() {
            return None;
        }
        let is_float = |at| of(at).is_none_or(TensorType::is_float);
        if lists(OF_FLOATS, name) && !is_float(0) {
            return Some("an operand that is no number with a fraction");
        }
        let is_index = |one| matches!(one, TensorType::Int32 | TensorType::Int64);
        let is_indexed = lists(INDEXED, name) || name.starts_with("Reduce");
        if is_indexed && !of(1).is_none_or(is_index) {
            return Some("axes, sizes or indices that are no integers");
        }
        let is_truth = |at| of(at).is_none_or(|one| one == TensorType::Bool);
        if matches!(name, "And" | "Not" | "Or" | "Where" | "Xor") && !is_truth(0) {
            return Some("a condition that is no bool");
        }
        let (from, to, step) = match name {
            "Where" => (1, 3, 1),
            "GRU" | "LSTM" | "RNN" => (0, 4, 1),
            "Pad" | "Scatter" | "ScatterElements" | "ScatterND" => (0, 3, 2),
            "Pow" => return None,
            _ if lists(ALIKE, name) || BROADCASTING.contains(&name) => (0, node.inputs.len(), 1),
            _ => return None,
        };
        let mut types = (from..to).step_by(step).filter_map(of);
        let first = types.next()?;
        // Places among values are 32 bits wide here.
        let fits = |other| other == first || is_index(other) && is_index(first);
        (!types.all(fits)).then_some("operands of different types")
    }
}
