//! What the reader of ONNX files refuses, each limit with its reason.

/// Protobuf messages have at most 2 GiB, and a browser's 32-bit memory holds little more than one such file.
pub const MAX_FILE_BYTES: usize = 0x7fff_ffff;

/// Nodes, initialisers and descriptions of values: ten times as many as the largest networks that people
/// deploy have. Bounds what two bytes of a file become in memory.
pub const MAX_NODES: usize = 100_000;
pub const MAX_INITIALIZERS: usize = 200_000;
pub const MAX_VALUE_INFOS: usize = 400_000;

/// Inputs and outputs of all nodes together, as of a TFLite file.
pub const MAX_OPERANDS: usize = 1 << 19;

/// The same of one node: values of all of them are at hand at a time.
pub const MAX_NODE_OPERANDS: usize = 4096;

/// Operators of the converted network, those with several results as often: a node becomes up to ten (a normalisation), most become one. Of short files
/// [`max_operators`](crate::formats::max_operators) allows fewer.
pub const MAX_OPERATORS: usize = 200_000;

/// No kernel takes more than 8 dimensions.
pub const MAX_RANK: usize = 32;

/// Values of a tensor that is computed while reading, because others' shapes depend on it: shapes, axes and
/// sizes are short.
pub const MAX_KNOWN_VALUES: usize = 256;

/// The same of all tensors together.
pub const MAX_KNOWN_TOTAL: usize = 4_000_000;

/// Numbers of an attribute that lists them, for the same reason.
pub const MAX_ATTRIBUTE_VALUES: usize = 4096;

/// Weights whose values are looked at in one file, a bound on time: those of a file of 1 GiB. Others have the
/// default distribution.
pub const MAX_COUNTED_BYTES: usize = 1 << 30;

/// Weights of one tensor whose distribution is counted: a sample, as of a TFLite file.
pub const MAX_SAMPLES: usize = 1 << 16;

/// Nodes and results looked at to tell which inputs are images with channels first, of all inputs together. Exporters
/// put a few before the first convolution.
pub const MAX_LAYOUT_SEARCH: usize = 20_000;
