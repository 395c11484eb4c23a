//! The limits of the reader of graphs, each with its reason.

/// A network of 10,000 operators takes about 2 MB. The limit bounds the memory for a file, which is about eight times
/// its length.
pub const MAX_FILE_BYTES: usize = 16 << 20;

/// Ten times the number of tensors and operators in the largest deployed networks.
pub const MAX_TENSORS: usize = 200_000;
pub const MAX_OPERATORS: usize = 100_000;

/// Maximum number of inputs and outputs of all operators together, the same as for a TFLite file.
pub const MAX_OPERANDS: usize = 1 << 19;

/// As of a TFLite file: no kernel takes more than 8 dimensions.
pub const MAX_RANK: usize = 32;

/// Numbers of a list in an attribute or a constant: two for each dimension, as paddings have.
pub const MAX_VALUES: usize = 2 * MAX_RANK;

/// Maximum number of different weight distributions. One takes 2 kB and about 10 microseconds, and networks have
/// hundreds of layers with weights.
pub const MAX_DISTRIBUTIONS: usize = 8192;
