//! ONNX files → [`Model`]: the network in TFLite's operators. `docs/guide/onnx.md` says what becomes of each
//! operator and how it was checked.

// The file is untrusted: nothing here may panic on its values.
#![deny(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::todo,
    clippy::unimplemented,
    clippy::unreachable,
    clippy::indexing_slicing,
    clippy::string_slice,
    clippy::arithmetic_side_effects,
    clippy::as_conversions
)]

mod attributes;
mod contrib;
mod convert;
mod dimensions;
mod error;
mod functions;
pub mod limits;
mod names;
mod opsets;
mod order;
mod proto;
mod tensors;
mod wire;

pub use dimensions::Dimensions;
pub use error::ParseError;

use self::functions::Names;
use self::limits::{MAX_FILE_BYTES, MAX_OPSET};
use self::wire::Failure;
use super::tflite::Model;

/// Whether the file may be an ONNX file: a `ModelProto` starts with its version and then another field of
/// its own.
pub fn is_onnx(file: &[u8]) -> bool {
    matches!(
        file,
        [
            0x08,
            1..=20,
            0x12 | 0x1a | 0x22 | 0x2a | 0x32 | 0x3a | 0x42 | 0x72,
            ..
        ]
    )
}

/// Reads a whole file, in time and memory proportional to its length. Weights are not copied; those in other
/// files are not needed.
///
/// # Errors
/// [`ParseError`] if the file is not an ONNX file, is damaged, leaves sizes open that `dimensions` does not contain, or
/// exceeds [`limits`]. Operators that TFLite does not have keep their names (`ONNX:Einsum`).
pub fn parse(file: &[u8], dimensions: &Dimensions) -> Result<Model<'static>, ParseError> {
    parse_converted(file, file.len(), dimensions)
}

/// [`parse`] for a file that another one of `file_bytes` became, to whose length time and memory are proportional.
pub(super) fn parse_converted(
    file: &[u8],
    file_bytes: usize,
    dimensions: &Dimensions,
) -> Result<Model<'static>, ParseError> {
    if file_bytes > MAX_FILE_BYTES {
        return Err(ParseError::TooLarge { file_bytes });
    }
    let names = Names::new();
    let mut graph = proto::read(file, file_bytes, &names, contrib::replaced).map_err(
        |failure| match failure {
            Failure::Malformed(place) => ParseError::Malformed {
                place: place.into(),
                problem: "expected the fields of `onnx.proto`".into(),
            },
            Failure::TooMany(what, limit) => ParseError::LimitExceeded {
                place: "graph".into(),
                what,
                limit,
                found: "more".into(),
            },
            Failure::TooManyDimensions(place, found) => {
                ParseError::too_many_dimensions(place, found)
            }
            Failure::NoGraph => ParseError::NoGraph,
        },
    )?;
    if !(1..=MAX_OPSET).contains(&graph.opset) {
        return Err(ParseError::UnsupportedOpset { found: graph.opset });
    }
    order::sort(&mut graph);
    let converted = convert::convert(&graph, dimensions, file_bytes)?;
    drop(graph);
    Ok(converted.into_model())
}
