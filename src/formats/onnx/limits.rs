//! The limits of the reader of ONNX files, each with its reason.

/// Protobuf messages have at most 2 GiB, and a browser's 32-bit memory holds little more than one such file.
pub const MAX_FILE_BYTES: usize = 0x7fff_ffff;

/// Nodes, initialisers and descriptions of values: ten times as many as in the largest deployed networks. The limit
/// bounds the memory for a file in which each of them takes only two bytes.
pub const MAX_NODES: usize = 100_000;
pub const MAX_INITIALIZERS: usize = 200_000;
pub const MAX_VALUE_INFOS: usize = 400_000;

/// Maximum number of inputs and outputs of all nodes together, the same as for a TFLite file.
pub const MAX_OPERANDS: usize = 1 << 19;

/// Operands that every file may have, however short it is: those of functions count once for each call.
const MIN_ALLOWED_OPERANDS: usize = 1 << 16;
/// Minimum number of bytes in a file for each further operand.
const MIN_BYTES_PER_OPERAND: usize = 2;

/// Maximum number of operands of all nodes of a file of this length, where its functions are called.
pub fn max_operands(file_bytes: usize) -> usize {
    (file_bytes / MIN_BYTES_PER_OPERAND)
        .saturating_add(MIN_ALLOWED_OPERANDS)
        .min(MAX_OPERANDS)
}

/// Attributes of all nodes together: ten for each node. Those of long files have a dozen bytes or more each.
const MAX_ATTRIBUTES: usize = 1 << 20;
pub fn max_attributes(file_bytes: usize) -> usize {
    (file_bytes / 16)
        .saturating_add(1 << 17)
        .min(MAX_ATTRIBUTES)
}

/// Dimensions of all values that the file describes or stores, which take up to twelve times their bytes in memory. A
/// network of 100,000 nodes has some 500,000.
pub fn max_dimensions(file_bytes: usize) -> usize {
    (file_bytes / 32).saturating_add(1 << 19)
}

/// Attributes of one node that are read. No operator of ONNX or ONNX Runtime has as many as half of this.
pub const MAX_NODE_ATTRIBUTES: usize = 64;

/// Inputs and outputs of one node, whose values are all in memory at the same time.
pub const MAX_NODE_OPERANDS: usize = 4096;

/// Operators of the converted network, counted once for each of their results. Most nodes become one operator, and a
/// normalisation becomes up to ten. For short files, [`max_operators`](crate::formats::max_operators) allows fewer.
pub const MAX_OPERATORS: usize = 200_000;

/// Characters of the name of an operator that TFLite does not have.
pub const MAX_OPERATOR_NAME_CHARS: usize = 200;

/// No kernel takes more than 8 dimensions.
pub const MAX_RANK: usize = 32;

/// Values of a tensor that is computed while reading because the shapes of others depend on it. Shapes, axes and sizes
/// are short.
pub const MAX_KNOWN_VALUES: usize = 256;

/// Values that are computed while reading, of all tensors together: one byte of memory for each of the file.
const MAX_KNOWN_TOTAL: usize = 4_000_000;
pub fn max_known_total(file_bytes: usize) -> usize {
    (file_bytes / 8)
        .saturating_add(1 << 18)
        .min(MAX_KNOWN_TOTAL)
}

/// Numbers of an attribute that lists them, for the same reason.
pub const MAX_ATTRIBUTE_VALUES: usize = 4096;

/// Bytes of weights whose values are counted in one file, to bound the time: those of a file of 1 GiB. Further weights
/// get the default distribution.
const MAX_COUNTED_BYTES: usize = 1 << 30;

/// The same for a file of this length, whose weights may be counted several times, each time with other slices.
pub fn max_counted_bytes(file_bytes: usize) -> usize {
    file_bytes.saturating_mul(4).min(MAX_COUNTED_BYTES)
}

/// Weights of one tensor whose distribution is counted: a sample, as of a TFLite file.
pub const MAX_SAMPLES: usize = 1 << 16;

/// Nodes and results that are visited, for all inputs together, to find out which inputs are images with channels
/// first. Exporters put only a few nodes before the first convolution.
pub const MAX_LAYOUT_SEARCH: usize = 20_000;

/// Memory that iterations of loops and copies of sequences take in all stages up to a report, for every file and for each
/// of its bytes: of a recurrent network of 300 steps of some thirty nodes. Nodes outside of loops are as many as the file
/// has, but a few bytes say how often a loop runs. No file gets more than [`MAX_REPEATED_BYTES`] and
/// [`MAX_REPEATED_BYTES_PER_BYTE`].
const MIN_ALLOWED_REPEATED_BYTES: usize = 40_000_000;
const REPEATED_BYTES_PER_BYTE: usize = 8;
const MAX_REPEATED_BYTES: usize = 60_000_000;
const MAX_REPEATED_BYTES_PER_BYTE: usize = 2;

/// Memory that iterations and copies may take for a file of this length.
pub fn max_repeated_bytes(file_bytes: usize) -> usize {
    let of_file = |each: usize, every: usize| file_bytes.saturating_mul(each).saturating_add(every);
    of_file(REPEATED_BYTES_PER_BYTE, MIN_ALLOWED_REPEATED_BYTES)
        .min(of_file(MAX_REPEATED_BYTES_PER_BYTE, MAX_REPEATED_BYTES))
}

/// Memory while a node of a body is converted, for the node, each operand, and each protobuf field of its attributes.
pub const NODE_BYTES: usize = 256;
pub const FIELD_BYTES: usize = 32;
/// Kept for what an iteration takes beyond those before it.
pub const RESERVED_BYTES: usize = 250_000;
/// Memory for a value that outlives its iteration, without its dimensions.
pub const VALUE_BYTES: usize = 160;

/// Tensors of one sequence. Where a sequence is read several times, a change copies the list of all of them.
pub const MAX_SEQUENCE: usize = 1024;

/// Depth of bodies of `If`, `Loop` and `Scan` that are read. Exporters nest two or three; a node in a body is read once for each body around
/// it, so that deeper ones would make reading quadratic.
pub const MAX_BODY_DEPTH: usize = 8;

/// Functions that a file defines. Exporters write one for each kind of operator or module.
pub const MAX_FUNCTIONS: usize = 10_000;

/// Depth of functions that call each other: modules in modules, which a stack holds. It also ends functions that call
/// themselves, which ONNX forbids.
pub const MAX_CALL_DEPTH: usize = 32;

/// Bytes that are read for calls of functions, those of a function once for each call: 160,000 nodes of 100 bytes, more
/// than [`MAX_NODES`].
pub const MAX_CALL_BYTES: usize = 1 << 24;

/// Newest opset of ONNX when this reader was written (onnx 1.23), and the newest that may come: ONNX has published one
/// or two a year. What lies beyond, below 1 included, is no opset.
pub const LAST_KNOWN_OPSET: i64 = 28;
pub const MAX_OPSET: i64 = 50;

/// Newest opsets by domain: ONNX's by its table of versions (onnx 1.23), and those that ONNX Runtime 1.31 registers. It
/// gives its operators of channels last the version of ONNX's own.
pub const LAST_KNOWN_OPSETS: &[(&str, i64)] = &[
    ("ai.onnx", LAST_KNOWN_OPSET),
    ("ai.onnx.ml", 5),
    ("ai.onnx.preview.training", 1),
    ("ai.onnx.training", 1),
    ("com.microsoft", 1),
    ("com.microsoft.experimental", 1),
    ("com.microsoft.nchwc", 1),
    ("com.ms.internal.nhwc", LAST_KNOWN_OPSET),
];
