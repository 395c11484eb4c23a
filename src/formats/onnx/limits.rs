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

/// Inputs and outputs of one node, whose values are all in memory at the same time.
pub const MAX_NODE_OPERANDS: usize = 4096;

/// Operators of the converted network, counted once for each of their results. Most nodes become one operator, and a
/// normalisation becomes up to ten. For short files, [`max_operators`](crate::formats::max_operators) allows fewer.
pub const MAX_OPERATORS: usize = 200_000;

/// No kernel takes more than 8 dimensions.
pub const MAX_RANK: usize = 32;

/// Values of a tensor that is computed while reading because the shapes of others depend on it. Shapes, axes and sizes
/// are short.
pub const MAX_KNOWN_VALUES: usize = 256;

/// Values that are computed while reading, of all tensors together.
pub const MAX_KNOWN_TOTAL: usize = 4_000_000;

/// Numbers of an attribute that lists them, for the same reason.
pub const MAX_ATTRIBUTE_VALUES: usize = 4096;

/// Bytes of weights whose values are counted in one file, to bound the time: those of a file of 1 GiB. Further weights
/// get the default distribution.
pub const MAX_COUNTED_BYTES: usize = 1 << 30;

/// Weights of one tensor whose distribution is counted: a sample, as of a TFLite file.
pub const MAX_SAMPLES: usize = 1 << 16;

/// Nodes and results that are visited, for all inputs together, to find out which inputs are images with channels
/// first. Exporters put only a few nodes before the first convolution.
pub const MAX_LAYOUT_SEARCH: usize = 20_000;

/// Nodes in bodies of loops that are converted, each once for every iteration: of a recurrent network with a thousand
/// steps, some thirty nodes a step. For short files it is half of what
/// [`max_operators`](crate::formats::max_operators) allows.
pub const MAX_REPEATED_NODES: usize = 1 << 15;

/// Tensors of one sequence. Appending one copies the list of all of them.
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
