//! The limits of the reader, each with its reason. A file within them is read in time and memory proportional to its
//! length.

/// FlatBuffers address their contents with signed 32-bit offsets, and a browser's 32-bit memory
/// holds little more than one such file.
pub const MAX_FILE_BYTES: usize = 0x7fff_ffff;

/// Root offset and file identifier.
pub const MIN_FILE_BYTES: usize = 8;

/// Tables nest 6 deep in the schema (model, subgraph, tensor, sparsity, dimension, indices): the
/// verifier recurses once a level.
pub const MAX_TABLE_DEPTH: usize = 8;

/// A table takes at least 4 bytes, and 4 more where it is named; a file with more tables than
/// this names the same ones again and again.
pub const MIN_BYTES_PER_TABLE: usize = 8;

/// A network of 100,000 operators has about 400,000 tables. Bounds what one table of 8 bytes
/// becomes in memory (a tensor: about 200 bytes).
pub const MAX_TABLES: usize = 1_000_000;

/// The verifier counts a shared vtable or vector once for each table that names it. Real files
/// share vtables: `tests/reader/margins.rs` prints how far those at hand stay below (1.6 times
/// their length).
pub const MAX_APPARENT_SIZE_FACTOR: usize = 8;

/// Keeps the verifier's sum, which grows by less than a file's length after its last check,
/// within 32 bits.
pub const MAX_APPARENT_BYTES: usize = 0x7fff_ffff;

/// Dimensions, indices, quantisation parameters and letters copied out of the file. A network of
/// 2 GiB with a scale and a zero point for every 1,000 weights has 4 million of those; an entry
/// takes at most 16 bytes in memory.
pub const MAX_COPIED_ENTRIES: usize = 16_000_000;

/// Entries of the lists of sparse constants that are copied, of a file of this many bytes: a network whose lists have more
/// is not made dense. Vectors may be shared, so a file may name more of them than it has.
pub fn max_sparse_entries(file_bytes: usize) -> usize {
    file_bytes.min(4_000_000)
}

/// Entries that every file may have, so that small ones are not bound by their length.
pub const SMALL_FILE_BYTES: usize = 4096;

/// No kernel takes more than 8 dimensions.
pub const MAX_RANK: usize = 32;

/// Maximum number of values of a constant that controls an operator, such as the axes of a reduction or the sides of a
/// padding, which has the most: two for each dimension. Larger constants are not read as such, because many operators
/// that share a large one would each iterate over all of it.
pub const MAX_LAYOUT_VALUES: usize = 2 * MAX_RANK;

/// Inputs, outputs and scratch tensors of all operators and subgraphs together. A network of 100,000
/// operators has about 400,000. Later stages keep up to 200 bytes for each.
pub const MAX_OPERANDS: usize = 1 << 19;

/// Bytes of the file for each operand: converters write every list of operands by itself, four bytes an
/// operand. A file with more operands names the same lists again and again.
pub const MIN_BYTES_PER_OPERAND: usize = 4;

/// Tensors for each operator: its weights, bias and results, and what one operator in some has besides.
pub const TENSORS_PER_OPERATOR: usize = 4;

/// Maximum number of further tensors in a file of this many bytes. A tensor takes about 500 bytes in later stages; one that
/// is stored once and listed many times takes four bytes of the file.
pub fn max_unused_tensors(file_bytes: usize) -> usize {
    (file_bytes / 160).saturating_add(1 << 16)
}

/// Maximum number of characters of a name in a message, so that people can read it.
pub const MAX_SHOWN_NAME_CHARS: usize = 80;

/// Maximum number of diagnostics of one file, for the same reason.
pub const MAX_DIAGNOSTICS: usize = 100;

/// Maximum number of tables in a file of this many bytes.
pub fn max_tables(file_bytes: usize) -> usize {
    file_bytes
        .saturating_add(SMALL_FILE_BYTES)
        .div_ceil(MIN_BYTES_PER_TABLE)
        .min(MAX_TABLES)
}

/// Maximum apparent size for the verifier, for a file of this many bytes.
pub fn max_apparent_bytes(file_bytes: usize) -> usize {
    let proportional = file_bytes.saturating_mul(MAX_APPARENT_SIZE_FACTOR);
    proportional
        .saturating_add(SMALL_FILE_BYTES)
        .min(MAX_APPARENT_BYTES)
}
