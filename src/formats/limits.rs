//! Limits of files of any format. Each format has its own besides.

/// Operators of any file, however short.
const MIN_ALLOWED_OPERATORS: usize = 16_384;
/// Bytes that an operator takes in a file at least, beyond so many: one with names, shapes and a tensor of its own takes
/// 150 and more, one that shares all of them with others takes 16, so that a file of 2 MB could ask for the memory of a
/// file of 20.
const MIN_BYTES_PER_OPERATOR: usize = 100;

/// Operators that a file of so many bytes may have or become.
pub fn max_operators(file_bytes: usize) -> usize {
    MIN_ALLOWED_OPERATORS.saturating_add(file_bytes / MIN_BYTES_PER_OPERATOR)
}
