//! A TFLite file as plain data. Names are those of `schema.fbs`; indices are checked by the
//! reader, so that later stages may rely on every `usize` here being in range.

use std::borrow::Cow;
use std::sync::Arc;

use serde::Serialize;

use super::op_kind::OpKind;
use super::options::BuiltinOptions;
use super::tensor_type::TensorType;
use crate::diagnostic::Diagnostic;
use crate::formats::UnmatchedDimensions;

/// Index into [`Model::subgraphs`] of the one that a plain inference runs.
pub const MAIN_SUBGRAPH: usize = 0;

/// What a file is: TFLite, ONNX, ncnn's text, or a graph without weights. Nothing behind the readers depends on it but
/// what a report says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "kebab-case")]
pub enum Format {
    Tflite,
    Onnx,
    /// A graph without weights, see `docs/guide/graph-json.md`.
    GraphJson,
    /// ncnn's `.param`, see `docs/guide/ncnn.md`.
    Ncnn,
}

/// A whole file. Weights stay in the bytes the file was read from.
#[derive(Clone, Debug)]
pub struct Model<'a> {
    pub format: Format,
    /// Version of the format: TFLite's schema version, always 3, ONNX's opset, or 1.
    pub version: u32,
    pub description: String,
    /// Length of the file.
    pub file_bytes: usize,
    /// The first one is the main subgraph. At least one.
    pub subgraphs: Vec<Subgraph>,
    /// Constant contents. At least one; the first one is empty, because TFLite reads none of a tensor
    /// that names buffer 0.
    pub buffers: Vec<Buffer<'a>>,
    /// In file order.
    pub metadata: Vec<Metadata>,
    pub signatures: Vec<Signature>,
    /// What was odd but readable.
    pub diagnostics: Vec<Diagnostic>,
    /// Whether a TFLite file of it has yet to be written, because it was read from another format or its types were
    /// changed: scales are then assumed, and a quantiser chooses those that kernels take.
    pub is_converted: bool,
    /// Whether shapes were changed since it was read: constants that say shapes may be those of the file.
    pub is_reshaped: bool,
    /// Sizes that were given for dimensions that the file does not leave open.
    pub unmatched_dimensions: Option<UnmatchedDimensions>,
}

/// Contents of a constant.
#[derive(Clone, Debug, PartialEq)]
pub enum Buffer<'a> {
    /// Borrowed from the file, or written by a reader whose format spells them otherwise.
    Stored(Cow<'a, [u8]>),
    /// Weights whose values the file does not have, or has in another order: how many bytes they take,
    /// and how often each byte occurs among them.
    Described {
        n_bytes: u64,
        counts: Arc<[u64; 256]>,
        /// Number of values that the file has, for example none of a constant that it only says how to fill.
        n_parameters: u64,
    },
}

impl Buffer<'_> {
    /// Without contents: what buffer 0 is.
    pub const EMPTY: Self = Self::Stored(Cow::Borrowed(&[]));

    /// The values; empty where they are only described.
    pub fn bytes(&self) -> &[u8] {
        match self {
            Self::Stored(bytes) => bytes,
            Self::Described { .. } => &[],
        }
    }

    /// Number of bytes, described ones included.
    pub fn n_bytes(&self) -> u64 {
        match self {
            Self::Stored(bytes) => u64::try_from(bytes.len()).unwrap_or(u64::MAX),
            Self::Described { n_bytes, .. } => *n_bytes,
        }
    }

    /// Whether a tensor that names this buffer is no constant.
    pub fn is_empty(&self) -> bool {
        self.n_bytes() == 0
    }
}

impl<'a> From<&'a [u8]> for Buffer<'a> {
    fn from(bytes: &'a [u8]) -> Self {
        Self::Stored(Cow::Borrowed(bytes))
    }
}

/// A named buffer for tools.
#[derive(Clone, Debug, PartialEq)]
pub struct Metadata {
    pub name: String,
    /// Index into [`Model::buffers`].
    pub buffer_idx: usize,
}

/// `SignatureDef`: a named entry point.
#[derive(Clone, Debug, PartialEq)]
pub struct Signature {
    pub key: String,
    pub subgraph_idx: usize,
}

#[derive(Clone, Debug)]
pub struct Subgraph {
    pub name: String,
    pub tensors: Vec<Tensor>,
    /// In execution order.
    pub operators: Vec<Operator>,
    /// Tensor indices.
    pub inputs: Vec<usize>,
    /// Tensor indices.
    pub outputs: Vec<usize>,
}

#[derive(Clone, Debug)]
pub struct Tensor {
    pub name: Box<str>,
    pub tensor_type: TensorType,
    /// Every dimension ≥ 0, and 1 in place of one known only at run time, as converters write
    /// it. Empty for a scalar, and for an unknown rank (`has_rank` tells).
    pub shape: Vec<i32>,
    /// Present where the file has one, and as long as `shape`; −1 marks a dimension known only
    /// at run time.
    pub shape_signature: Option<Box<[i32]>>,
    /// Whether the rank is known. Where neither a dimension nor a constant tells it, a scalar
    /// of an old file (one that never sets the field) counts as unknown.
    pub has_rank: bool,
    /// Index into [`Model::buffers`].
    pub buffer_idx: usize,
    /// Keeps its value between invocations.
    pub is_variable: bool,
    /// Shared by tensors that are known to have the same.
    pub quantization: Option<Arc<Quantization>>,
    pub sparsity: Option<Box<Sparsity>>,
}

/// `QuantizationParameters`: real = scale × (stored − zero point).
#[derive(Clone, Debug, PartialEq)]
pub struct Quantization {
    /// One for the whole tensor, or one per slice of `quantized_dimension`. At least one.
    pub scale: Vec<f32>,
    /// As many as scales.
    pub zero_point: Vec<i64>,
    pub quantized_dimension: i32,
}

/// `SparsityParameters`.
#[derive(Clone, Debug, PartialEq)]
pub struct Sparsity {
    pub traversal_order: Vec<i32>,
    pub block_map: Vec<i32>,
    /// Number of values the file stores for this tensor, where the format tells.
    pub stored_values: Option<u64>,
    /// Levels of storage from the outside in; empty where one of them is not complete.
    pub levels: Vec<Level>,
}

/// What a level stores of its dimension.
#[derive(Clone, Debug, PartialEq)]
pub enum Level {
    /// Every position, of which there are as many.
    Dense(usize),
    /// Below each position of the level outside, those between two segments.
    Sparse {
        segments: Vec<u32>,
        indices: Vec<u32>,
    },
}

#[derive(Clone, Debug)]
pub struct Operator {
    pub code: OperatorCode,
    /// Tensor indices; `None` is an optional input that is absent (−1 in the file).
    pub inputs: Vec<Option<usize>>,
    pub outputs: Vec<usize>,
    /// Scratch tensors that fused LSTM kernels name.
    pub intermediates: Box<[usize]>,
    pub options: BuiltinOptions,
    /// What was made part of the weights when another format was converted, in order: a framework that runs the
    /// network as it was carries it out after the operator. Empty for TFLite files, which do not tell.
    pub folded: Box<[Folded]>,
}

/// A product or sum with a constant that is part of an operator's weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Folded {
    /// [`OpKind::Mul`], [`OpKind::Div`], [`OpKind::Add`] or [`OpKind::Sub`].
    pub kind: OpKind,
    /// Whether the constant is one number, not one for each channel.
    pub is_scalar: bool,
}

/// Which kernel an operator calls.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct OperatorCode {
    pub kind: OpKind,
    /// Name of a custom operator, for example `FlexAddV2`; present exactly where `kind` is
    /// [`OpKind::Custom`]. Shared by all operators of that name.
    pub custom: Option<Arc<str>>,
    pub version: i32,
}

/// Characters of the name of a custom operator. Names of PyTorch's, the longest that are common, have some sixty.
const MAX_CUSTOM_NAME_CHARS: usize = 256;

impl OperatorCode {
    /// The operator with this name in the schema, or else a custom one of that name.
    pub fn from_name(name: &str) -> Self {
        match OpKind::from_name(name) {
            Some(kind) if kind != OpKind::Custom => kind.into(),
            _ => Self {
                kind: OpKind::Custom,
                custom: Some(Self::custom_name(name)),
                version: 1,
            },
        }
    }

    /// The name of a custom operator as reports have it, once for each target that does not run it: the first part of a
    /// long one.
    pub(super) fn custom_name(name: &str) -> Arc<str> {
        match name.char_indices().nth(MAX_CUSTOM_NAME_CHARS) {
            None => name.into(),
            Some((end, _)) => format!("{}…", name.get(..end).unwrap_or_default()).into(),
        }
    }

    /// Name in the schema, for example `CONV_2D`, or a custom operator's own name. `CUSTOM` for
    /// a custom operator without a name, `UNKNOWN` for a number newer than the schema here.
    pub fn name(&self) -> &str {
        match &self.custom {
            Some(name) if !name.is_empty() => name,
            _ => self.kind.name(),
        }
    }
}

impl From<OpKind> for OperatorCode {
    fn from(kind: OpKind) -> Self {
        Self {
            kind,
            custom: None,
            version: 1,
        }
    }
}

impl Tensor {
    /// Number of values of `shape`; `None` where it does not fit 64 bits.
    pub fn element_count(&self) -> Option<u64> {
        // A zero anywhere makes the product zero, whatever the other dimensions are.
        if self.shape.contains(&0) {
            return Some(0);
        }
        self.shape.iter().try_fold(1u64, |count, &dimension| {
            let dimension = u32::try_from(dimension).ok()?;
            match u32::try_from(count) {
                // Without 128 bits, which WebAssembly multiplies by a function.
                Ok(count) => Some(u64::from(count).wrapping_mul(u64::from(dimension))),
                Err(_) => count.checked_mul(u64::from(dimension)),
            }
        })
    }

    /// Whether the number of values fits 64 bits, and that of their bytes where the type tells it.
    pub fn has_countable_size(&self) -> bool {
        match self.tensor_type.bits_per_value() {
            Some(_) => self.byte_len().is_some(),
            None => self.element_count().is_some(),
        }
    }

    /// Bytes of the values without sparsity, those narrower than a byte packed; `None` where
    /// it does not follow from the type, or does not fit 64 bits.
    pub fn byte_len(&self) -> Option<u64> {
        let bits_per_value = u64::from(self.tensor_type.bits_per_value()?);
        Some(
            self.element_count()?
                .checked_mul(bits_per_value)?
                .div_ceil(8),
        )
    }

    /// Whether a dimension is known only at run time.
    pub fn is_dynamic(&self) -> bool {
        self.shape_signature
            .iter()
            .flatten()
            .any(|&dimension| dimension < 0)
    }
}
