//! ncnn's networks (`.param`) → [`Model`]. A layer is read as the operators of ONNX that compute the same, so that shapes,
//! layouts and what becomes one operator in TFLite follow the same rules as for ONNX files. `docs/guide/ncnn.md` says what becomes
//! of each layer and how it was checked.

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

mod error;
mod layers;
pub mod limits;
mod message;
mod network;
mod text;

pub use error::ParseError;

use self::limits::{MAX_FILE_BYTES, max_parts};
use super::onnx::{self, Dimensions};
use super::shown;
use super::tflite::{Format, Model, OperatorCode};

/// The first line of every `.param`, and the first four bytes of its binary form.
const MAGIC: &[u8] = b"7767517";
const BINARY_MAGIC: [u8; 4] = 7_767_517_u32.to_le_bytes();

/// Whether the file begins as ncnn's networks do.
pub fn is_ncnn(file: &[u8]) -> bool {
    let text = file.trim_ascii_start();
    let is_text = text
        .strip_prefix(MAGIC)
        .is_some_and(|rest| rest.first().is_some_and(u8::is_ascii_whitespace));
    is_text || file.starts_with(&BINARY_MAGIC)
}

/// Reads a whole network, in time and memory proportional to the length of its text. `dimensions`: sizes of inputs that the
/// file leaves open.
///
/// # Errors
/// [`ParseError`] if the text is not a network, is in its binary form, names a blob that no layer before writes, leaves
/// sizes open that `dimensions` does not contain, or exceeds [`limits`]. Layers without a counterpart keep their names
/// (`ncnn:PriorBox`).
pub fn parse(file: &[u8], dimensions: &Dimensions) -> Result<Model<'static>, ParseError> {
    let file_bytes = file.len();
    if file_bytes > MAX_FILE_BYTES {
        return Err(ParseError::TooLarge { file_bytes });
    }
    if file.starts_with(&BINARY_MAGIC) {
        return Err(ParseError::Binary);
    }
    let text = std::str::from_utf8(file).map_err(|error| ParseError::Malformed {
        place: format!("byte {}", error.valid_up_to()),
        expected: "UTF-8",
        found: "other bytes".into(),
    })?;
    let layers = text::layers(text)?;
    let converted = layers::convert(&layers, dimensions, max_parts(file_bytes))?;
    let mut model = onnx::parse_converted(&converted, file_bytes, dimensions)?;
    (model.format, model.file_bytes, model.version) = (Format::Ncnn, file_bytes, 1);
    let operators = model
        .subgraphs
        .iter_mut()
        .flat_map(|one| &mut one.operators);
    for operator in operators {
        let name = operator.code.custom.as_deref().unwrap_or_default();
        if let Some(layer) = name.strip_prefix("ONNX:ncnn.") {
            operator.code =
                OperatorCode::from_name(&format!("{}:{}", network::DOMAIN, shown(layer)));
        }
    }
    Ok(model)
}
