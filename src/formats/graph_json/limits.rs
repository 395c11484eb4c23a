//! What the reader of graphs refuses, each limit with its reason.

/// A network of 10,000 operators takes about 2 MB. Bounds what a file becomes in memory, about eight times
/// its length.
pub const MAX_FILE_BYTES: usize = 16 << 20;

/// Tensors and operators, ten times as many as the largest networks that people deploy have.
pub const MAX_TENSORS: usize = 200_000;
pub const MAX_OPERATORS: usize = 100_000;

/// Inputs and outputs of all operators together, as of a TFLite file.
pub const MAX_OPERANDS: usize = 1 << 19;

/// As of a TFLite file: no kernel takes more than 8 dimensions.
pub const MAX_RANK: usize = 32;

/// Numbers of a list in an attribute or a constant: two for each dimension, as paddings have.
pub const MAX_VALUES: usize = 2 * MAX_RANK;

/// Different distributions of weights: one takes 2 kB and some 10 microseconds, and networks have hundreds of layers
/// with weights.
pub const MAX_DISTRIBUTIONS: usize = 8192;
