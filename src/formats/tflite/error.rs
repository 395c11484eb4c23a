//! Why a file cannot be read.

use flatbuffers::{ErrorTraceDetail, InvalidFlatbuffer};

use super::limits::{
    MAX_FILE_BYTES, MAX_SHOWN_NAME_CHARS, MAX_TABLE_DEPTH, MIN_FILE_BYTES, max_apparent_bytes,
    max_tables,
};

/// The file is not a TFLite file, is damaged, or exceeds the limits of this reader. Messages say what was expected,
/// what was found and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ParseError {
    #[error("expected a TFLite file of at least {MIN_FILE_BYTES} bytes, found {file_bytes} bytes")]
    TooShort { file_bytes: usize },
    #[error("expected a file of at most {MAX_FILE_BYTES} bytes (2 GiB), found {file_bytes} bytes")]
    TooLarge { file_bytes: usize },
    #[error("expected a TFLite file (`TFL3` at byte 4), found {found}")]
    NotTflite { found: String },
    #[error("expected schema version 3, found {found}")]
    UnsupportedVersion { found: String },
    /// Something lies beyond the last byte.
    #[error(
        "{place}: expected data up to byte {end}, but the file ends at byte {file_bytes}; it is truncated or damaged"
    )]
    Truncated {
        place: String,
        end: usize,
        file_bytes: usize,
    },
    /// A buffer stored behind the FlatBuffer.
    #[error(
        "buffer {buffer_idx}: expected {size} bytes at byte {offset}, but the file ends at byte {file_bytes}; it is truncated or damaged"
    )]
    BufferOutOfFile {
        buffer_idx: usize,
        offset: u64,
        size: u64,
        file_bytes: usize,
    },
    #[error("{place}: {problem}; the file is damaged")]
    Malformed { place: String, problem: String },
    #[error("{place}: expected at most {limit} {what}, found {found}")]
    LimitExceeded {
        place: String,
        what: &'static str,
        limit: usize,
        found: String,
    },
    /// An index is out of range; `holder` and `count` say what exists.
    #[error("{place}: {what} {index}, but {holder} has {count} {counted}")]
    IndexOutOfRange {
        place: String,
        what: &'static str,
        index: i64,
        holder: String,
        count: usize,
        counted: &'static str,
    },
    #[error("{place}: expected {expected}, found {what} {found}")]
    InvalidOption {
        place: String,
        what: &'static str,
        expected: &'static str,
        found: i32,
    },
    #[error("{place}: expected a size of less than 2^64 bits, found shape {shape}")]
    ShapeOverflow { place: String, shape: String },
    #[error(
        "{place}: expected its values in this file, found them in external buffer {id}; only files that hold their weights can be read"
    )]
    ExternalBuffer { place: String, id: u32 },
    #[error("expected at least one subgraph, found none")]
    NoSubgraph,
}

impl ParseError {
    /// Stable identifier for programs, kebab-case.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::TooShort { .. } | Self::Truncated { .. } | Self::BufferOutOfFile { .. } => {
                "truncated"
            }
            Self::TooLarge { .. } => "too-large",
            Self::NotTflite { .. } => "not-tflite",
            Self::UnsupportedVersion { .. } => "unsupported-version",
            Self::Malformed { .. } => "malformed",
            Self::LimitExceeded { .. } => "limit-exceeded",
            Self::IndexOutOfRange { .. } => "index-out-of-range",
            Self::InvalidOption { .. } => "invalid-option",
            Self::ShapeOverflow { .. } => "shape-overflow",
            Self::ExternalBuffer { .. } => "external-buffer",
            Self::NoSubgraph => "no-subgraph",
        }
    }

    /// What the FlatBuffers verifier found in a file of `file_bytes`.
    pub(super) fn from_verifier(invalid: InvalidFlatbuffer, file_bytes: usize) -> Self {
        use InvalidFlatbuffer::*;
        let malformed = |trace: &[ErrorTraceDetail], problem: String| Self::Malformed {
            place: place_in_file(trace),
            problem,
        };
        match &invalid {
            RangeOutOfBounds { range, error_trace } => Self::Truncated {
                place: place_in_file(error_trace.as_ref()),
                end: range.end,
                file_bytes,
            },
            MissingRequiredField {
                required,
                error_trace,
            } => malformed(
                error_trace.as_ref(),
                format!("expected a field `{required}`, found none"),
            ),
            InconsistentUnion {
                field,
                field_type,
                error_trace,
            } => malformed(
                error_trace.as_ref(),
                format!("expected both `{field}` and `{field_type}`, found one of them"),
            ),
            Utf8Error {
                range, error_trace, ..
            } => malformed(
                error_trace.as_ref(),
                format!(
                    "expected UTF-8 in bytes {} to {}, found other bytes",
                    range.start, range.end
                ),
            ),
            MissingNullTerminator { range, error_trace } => malformed(
                error_trace.as_ref(),
                format!(
                    "expected a string that ends with a zero at byte {}, found none",
                    range.end
                ),
            ),
            Unaligned {
                position,
                error_trace,
                ..
            } => malformed(
                error_trace.as_ref(),
                format!("expected an aligned value, found one at byte {position}"),
            ),
            SignedOffsetOutOfBounds {
                soffset,
                position,
                error_trace,
            } => malformed(
                error_trace.as_ref(),
                format!(
                    "expected a table, found offset {soffset} at byte {position}, which leaves the file"
                ),
            ),
            TooManyTables => too_many(
                file_bytes,
                "tables, shared ones counted each time",
                max_tables(file_bytes),
            ),
            ApparentSizeTooLarge => too_many(
                file_bytes,
                "bytes of content, shared parts counted each time",
                max_apparent_bytes(file_bytes),
            ),
            DepthLimitReached => malformed(
                &[],
                format!("expected at most {MAX_TABLE_DEPTH} nested tables, found more"),
            ),
        }
    }
}

/// The verifier does not count beyond its limit.
fn too_many(file_bytes: usize, what: &'static str, limit: usize) -> ParseError {
    let place = format!("a file of {file_bytes} bytes");
    ParseError::LimitExceeded {
        place,
        what,
        limit,
        found: "more".into(),
    }
}

/// `subgraphs[0].tensors[12].name`; the verifier traces from the inside out.
fn place_in_file(trace: &[ErrorTraceDetail]) -> String {
    let mut place = String::new();
    for step in trace.iter().rev() {
        match step {
            ErrorTraceDetail::VectorElement { index, .. } => place += &format!("[{index}]"),
            ErrorTraceDetail::TableField { field_name, .. } if place.is_empty() => {
                place += field_name
            }
            ErrorTraceDetail::TableField { field_name, .. } => place += &format!(".{field_name}"),
            ErrorTraceDetail::UnionVariant { variant, .. } => place += &format!(" as {variant}"),
        }
    }
    if place.is_empty() {
        "model".into()
    } else {
        place
    }
}

/// A name from the file as a message shows it: short, without control characters.
pub fn shown(name: &str) -> String {
    // Nearly every name: reports have one for each custom operator.
    let is_plain =
        |byte: u8| (byte.is_ascii_graphic() || byte == b' ') && !b"\"'\\".contains(&byte);
    if name.len() <= MAX_SHOWN_NAME_CHARS && name.bytes().all(is_plain) {
        return name.to_owned();
    }
    let mut shown: String = name
        .chars()
        .take(MAX_SHOWN_NAME_CHARS)
        .flat_map(char::escape_debug)
        .collect();
    if name.chars().nth(MAX_SHOWN_NAME_CHARS).is_some() {
        shown.push('…');
    }
    shown
}
