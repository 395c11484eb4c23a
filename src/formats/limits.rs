//! Limits of files of any format. Each format has further limits of its own.

/// Number of operators that every file may have, however short it is.
const MIN_ALLOWED_OPERATORS: usize = 16_384;
/// Minimum number of bytes in a file for each further operator. An operator with its own names, shapes and tensor takes
/// 150 bytes or more, but one that shares all of them with others takes 16, so that a file of 2 MB could need the
/// memory of a file of 20 MB.
const MIN_BYTES_PER_OPERATOR: usize = 100;

/// Maximum number of operators that a file of `file_bytes` may contain or be converted to.
pub fn max_operators(file_bytes: usize) -> usize {
    MIN_ALLOWED_OPERATORS.saturating_add(file_bytes / MIN_BYTES_PER_OPERATOR)
}
