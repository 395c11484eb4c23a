//! Bytes → [`Model`]: a verified reader of TensorFlow Lite files (schema version 3).
//!
//! Later stages depend only on the plain types of [`model`] and [`options`].

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

mod buffers;
mod custom_options;
mod error;
mod identify;
pub mod limits;
pub mod model;
mod op_kind;
pub mod op_row;
mod operators;
pub mod options;
mod read_budget;
mod read_options;
mod sparsity;
mod tensor_type;
mod tensors;
mod values;

#[rustfmt::skip]
#[allow(clippy::all, clippy::pedantic, clippy::restriction, missing_docs, unused, non_snake_case, unsafe_op_in_unsafe_fn, mismatched_lifetime_syntaxes)]
mod schema_generated;
mod unaligned;

pub use custom_options::CustomOptions;
pub use error::{ParseError, shown};
pub use identify::is_tflite;
pub use model::*;
pub use op_kind::OpKind;
pub use options::*;
/// Code that `flatc` generated from `schema.fbs`. Public for programs that write files.
pub use schema_generated::tflite as schema;
pub use tensor_type::TensorType;
pub use values::{dimension, integers, long_integers};

use flatbuffers::VerifierOptions;
use limits::*;
use read_budget::{ReadBudget, checked_index};

use crate::diagnostic::Severity::Warning;

/// Reads a whole file. Weights are not copied; time and memory are proportional to the file's
/// length, and within [`limits`].
///
/// # Errors
/// [`ParseError`] if the file is not a TFLite file, is damaged, keeps its weights in other files or exceeds [`limits`].
/// What is unusual but readable is in [`Model::diagnostics`].
pub fn parse(file: &[u8]) -> Result<Model<'_>, ParseError> {
    check_envelope(file)?;
    let model = flatbuffers::root_with_opts::<schema::Model>(&verifier_options(file.len()), file)
        .map_err(|invalid| ParseError::from_verifier(invalid, file.len()))?;
    if model.version() != 3 {
        return Err(ParseError::UnsupportedVersion {
            found: model.version().to_string(),
        });
    }
    read_model(file, model)
}

fn check_envelope(file: &[u8]) -> Result<(), ParseError> {
    let file_bytes = file.len();
    if file_bytes > MAX_FILE_BYTES {
        return Err(ParseError::TooLarge { file_bytes });
    }
    if identify::is_tflite(file) {
        return Ok(());
    }
    if file_bytes < MIN_FILE_BYTES {
        return Err(ParseError::TooShort { file_bytes });
    }
    Err(match file.get(4..8) {
        Some(&[b'T', b'F', b'L', version @ b'0'..=b'9']) => ParseError::UnsupportedVersion {
            found: char::from(version).to_string(),
        },
        _ => ParseError::NotTflite {
            found: identify::describe(file),
        },
    })
}

fn verifier_options(file_bytes: usize) -> VerifierOptions {
    VerifierOptions {
        max_depth: MAX_TABLE_DEPTH,
        max_tables: max_tables(file_bytes),
        max_apparent_size: max_apparent_bytes(file_bytes),
        // Rust does not need the zero after a string, and not every writer puts it there.
        ignore_missing_null_terminator: true,
    }
}

fn read_model<'a>(file: &'a [u8], model: schema::Model<'a>) -> Result<Model<'a>, ParseError> {
    let buffers = buffers::read(file, &model)?;
    let mut context = ReadBudget::new(file.len());
    context.n_buffers = buffers.len();
    context.n_subgraphs = model.subgraphs().map_or(0, |subgraphs| subgraphs.len());
    context.codes = operators::read_codes(&mut context, &model)?;
    let subgraphs = read_subgraphs(&mut context, &model, &buffers)?;
    Ok(Model {
        format: Format::Tflite,
        version: model.version(),
        description: context.copy_str(model.description())?,
        file_bytes: file.len(),
        subgraphs,
        metadata: read_metadata(&mut context, &model)?,
        signatures: read_signatures(&mut context, &model)?,
        buffers: buffers.into_iter().map(Buffer::from).collect(),
        diagnostics: context.diagnostics.into_vec(),
        is_converted: false,
        is_reshaped: false,
        unmatched_dimensions: None,
    })
}

fn read_subgraphs(
    context: &mut ReadBudget,
    model: &schema::Model,
    buffers: &[&[u8]],
) -> Result<Vec<Subgraph>, ParseError> {
    if context.n_subgraphs == 0 {
        return Err(ParseError::NoSubgraph);
    }
    let subgraphs = model.subgraphs().into_iter().flatten().enumerate();
    subgraphs
        .map(|(idx, subgraph)| read_subgraph(context, subgraph, idx, buffers))
        .collect()
}

fn read_subgraph(
    context: &mut ReadBudget,
    subgraph: schema::SubGraph,
    subgraph_idx: usize,
    buffers: &[&[u8]],
) -> Result<Subgraph, ParseError> {
    let name = context.copy_str(subgraph.name())?;
    let tensors = tensors::read(context, subgraph, subgraph_idx, buffers)?;
    let operators = operators::read(context, subgraph, subgraph_idx, tensors.len())?;
    let mut ends = |stored, what| {
        let place = format!("subgraph {subgraph_idx}");
        let stored = context.copy_operands(stored, &place)?;
        operators::read_subgraph_ends(context, &stored, what, subgraph_idx, &name, tensors.len())
    };
    let inputs = ends(subgraph.inputs(), "input tensor index")?;
    let outputs = ends(subgraph.outputs(), "output tensor index")?;
    Ok(Subgraph {
        inputs,
        outputs,
        tensors,
        operators,
        name,
    })
}

/// Metadata are for tools: one that names no buffer is left out, with a diagnostic.
fn read_metadata(
    context: &mut ReadBudget,
    model: &schema::Model,
) -> Result<Vec<Metadata>, ParseError> {
    let mut metadata = Vec::new();
    for (metadata_idx, entry) in model.metadata().into_iter().flatten().enumerate() {
        let name = context.copy_str(entry.name())?;
        let (index, n_buffers) = (entry.buffer(), context.n_buffers);
        match checked_index(index.into(), n_buffers) {
            Some(buffer_idx) => metadata.push(Metadata { name, buffer_idx }),
            None => context.diagnostics.push(Warning, "metadata-buffer", || {
                format!("metadata {metadata_idx}: buffer index {index}, but the file has {n_buffers} buffers")
            }),
        }
    }
    Ok(metadata)
}

/// Signatures name entry points: one that names no subgraph is left out, with a diagnostic.
fn read_signatures(
    context: &mut ReadBudget,
    model: &schema::Model,
) -> Result<Vec<Signature>, ParseError> {
    let mut signatures = Vec::new();
    for (signature_idx, entry) in model.signature_defs().into_iter().flatten().enumerate() {
        let key = context.copy_str(entry.signature_key())?;
        let (index, n_subgraphs) = (entry.subgraph_index(), context.n_subgraphs);
        match checked_index(index.into(), n_subgraphs) {
            Some(subgraph_idx) => signatures.push(Signature { key, subgraph_idx }),
            None => context.diagnostics.push(Warning, "signature-subgraph", || {
                format!("signature {signature_idx}: subgraph index {index}, but the file has {n_subgraphs} subgraphs")
            }),
        }
    }
    Ok(signatures)
}
