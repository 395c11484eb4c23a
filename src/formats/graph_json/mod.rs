//! `litecast-graph` JSON → [`Model`]: operators, shapes, types and attributes without weights.
//! `docs/guide/graph-json.md` is the format's reference.

// The document is untrusted: nothing here may panic on its values.
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
mod document;
mod error;
mod kinds;
pub mod limits;
mod tensor;

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::fmt::Display;
use std::sync::Arc;

pub use error::ParseError;
use error::Place;
pub use kinds::FRAMEWORK_KINDS;

use foldhash::fast::RandomState;

use self::attributes::Attributes;
use self::document::{Document, OperatorEntry, TensorEntry, Text};
use self::limits::*;
use self::tensor::Distribution;
use super::builder::{self, Builder};
use super::distribution::{self, DEFAULT_ENTROPY_BITS, DEFAULT_ZERO_SHARE};
use super::tflite::{
    BuiltinOptions, Foreign, Format, Meaning, Model, OpKind, OperatorCode, TensorType,
};
use super::{max_operators, shown};

/// What `format` has to be.
const FORMAT: &str = "litecast-graph";

/// Bytes from the start in which a graph names its format.
const HEAD_BYTES: usize = 4096;

/// The text behind the byte order mark that some editors put before UTF-8.
fn without_mark(file: &[u8]) -> &[u8] {
    file.strip_prefix(b"\xef\xbb\xbf").unwrap_or(file)
}

/// Whether the file says that it is such a graph: a JSON object whose first bytes name the format.
pub fn is_graph(file: &[u8]) -> bool {
    let file = without_mark(file);
    let head = file.get(..HEAD_BYTES).unwrap_or(file);
    let mut windows = head.windows(FORMAT.len());
    head.trim_ascii_start().first() == Some(&b'{')
        && windows.any(|window| window == FORMAT.as_bytes())
}

/// Reads a whole document, in time and memory proportional to its length.
///
/// # Errors
/// [`ParseError`] if the document is not a graph, names something that it does not define, or exceeds [`limits`].
pub fn parse(file: &[u8]) -> Result<Model<'static>, ParseError> {
    let file_bytes = file.len();
    if file_bytes > MAX_FILE_BYTES {
        return Err(ParseError::TooLarge { file_bytes });
    }
    let document: Document =
        serde_json::from_slice(without_mark(file)).map_err(|error| ParseError::Malformed {
            problem: error.to_string(),
        })?;
    if *document.format != *FORMAT {
        return Err(ParseError::NotAGraph {
            found: shown(&document.format),
        });
    }
    if document.version != 1 {
        return Err(ParseError::UnsupportedVersion {
            found: document.version,
        });
    }
    check_counts(&document, file_bytes)?;
    Reader::default().read(document, file_bytes)
}

fn check_counts(document: &Document, file_bytes: usize) -> Result<(), ParseError> {
    let operators = &document.operators;
    let operands = operators
        .iter()
        .map(|one| one.inputs.len().saturating_add(one.outputs.len()));
    let n_operands = operands.fold(
        document.inputs.len().saturating_add(document.outputs.len()),
        usize::saturating_add,
    );
    let counts = [
        ("tensors", MAX_TENSORS, document.tensors.len()),
        (
            "operators of a file of this size",
            max_operators(file_bytes).min(MAX_OPERATORS),
            operators.len(),
        ),
        ("operands", MAX_OPERANDS, n_operands),
    ];
    for (what, limit, count) in counts {
        if count > limit {
            return Err(ParseError::LimitExceeded {
                what,
                limit,
                found: count,
            });
        }
    }
    Ok(())
}

#[derive(Default)]
struct Reader<'d> {
    /// Index of each tensor.
    names: HashMap<Text<'d>, usize, RandomState>,
    /// Tensors that operators write.
    written: HashSet<usize>,
    /// Distributions by the bits of share of zeros and entropy, and by the stored value of zeros.
    distributions: HashMap<([u32; 2], u8), Arc<[u64; 256]>>,
}

impl<'d> Reader<'d> {
    fn read(
        mut self,
        document: Document<'d>,
        file_bytes: usize,
    ) -> Result<Model<'static>, ParseError> {
        let mut builder = Builder::new();
        for (tensor_idx, entry) in document.tensors.into_iter().enumerate() {
            self.tensor(&mut builder, entry, tensor_idx)?;
        }
        for (operator_idx, entry) in document.operators.into_iter().enumerate() {
            self.operator(&mut builder, entry, operator_idx)?;
        }
        let ends = |names: &[Text], what: &str| -> Result<Vec<usize>, ParseError> {
            let ends = names.iter().map(|name| self.tensor_idx(name, what));
            ends.collect()
        };
        let ends = [
            ends(&document.inputs, "inputs of the graph")?,
            ends(&document.outputs, "outputs of the graph")?,
        ];
        let version = document.version;
        Ok(builder.model(
            Format::GraphJson,
            version,
            file_bytes,
            document.name,
            ends,
            Vec::new(),
        ))
    }

    fn tensor_idx(&self, name: &str, place: impl Display) -> Result<usize, ParseError> {
        let known = self.names.get(name).copied();
        known.ok_or_else(|| ParseError::UnknownTensor {
            place: place.to_string(),
            name: shown(name),
        })
    }

    fn distribution(
        &mut self,
        Distribution {
            zero_share,
            entropy_bits,
        }: Distribution,
        zero_point: i64,
    ) -> Result<&Arc<[u64; 256]>, ParseError> {
        let [zero, ..] = zero_point.to_le_bytes();
        let n_distributions = self.distributions.len();
        match self
            .distributions
            .entry(([zero_share.to_bits(), entropy_bits.to_bits()], zero))
        {
            Entry::Occupied(known) => Ok(known.into_mut()),
            Entry::Vacant(_) if n_distributions >= MAX_DISTRIBUTIONS => {
                Err(ParseError::LimitExceeded {
                    what: "different distributions of weights",
                    limit: MAX_DISTRIBUTIONS,
                    found: n_distributions.saturating_add(1),
                })
            }
            Entry::Vacant(new) => {
                let is_default =
                    (zero_share, entropy_bits) == (DEFAULT_ZERO_SHARE, DEFAULT_ENTROPY_BITS);
                let counts = if is_default {
                    distribution::default_counts().clone()
                } else {
                    distribution::counts(zero_share, entropy_bits)
                };
                Ok(new.insert(match zero {
                    0 => counts,
                    zero => distribution::shifted_by_zero_point(&counts, zero),
                }))
            }
        }
    }

    fn tensor(
        &mut self,
        builder: &mut Builder,
        entry: TensorEntry<'d>,
        tensor_idx: usize,
    ) -> Result<(), ParseError> {
        let invalid = |(expected, found)| tensor::invalid(&entry, tensor_idx, expected, found);
        let tensor_type = tensor::tensor_type(&entry).map_err(invalid)?;
        let shape = tensor::shape(&entry).map_err(invalid)?;
        builder.tensor(&entry.name, tensor_type, shape);
        let Some(added) = builder.tensors.last_mut() else {
            return Ok(());
        };
        tensor::check_size(added).map_err(invalid)?;
        added.is_variable = entry.variable;
        added.quantization = tensor::quantization(&entry).map_err(invalid)?;
        let buffer = match &entry.values {
            Some(values) => Some(tensor::values(values, added).map_err(invalid)?),
            None if entry.constant => {
                let distribution = tensor::distribution(&entry).map_err(invalid)?;
                let zero_point = (added.quantization.as_ref())
                    .filter(|_| tensor_type == TensorType::UInt8)
                    .and_then(|quantization| quantization.zero_point.first().copied());
                let counts = self.distribution(distribution, zero_point.unwrap_or(0))?;
                Some(builder::described(added, counts))
            }
            None => None,
        };
        if let Some(buffer) = buffer {
            builder.set_buffer(tensor_idx, buffer);
        }
        match self.names.insert(entry.name, tensor_idx) {
            None => Ok(()),
            Some(_) => Err(ParseError::DuplicateTensor {
                tensor_idx,
                name: (builder.tensors.last()).map_or_else(String::new, |added| shown(&added.name)),
            }),
        }
    }

    fn operator(
        &mut self,
        builder: &mut Builder,
        entry: OperatorEntry,
        operator_idx: usize,
    ) -> Result<(), ParseError> {
        let place = Place {
            kind: &entry.kind,
            operator_idx,
        };
        let mut inputs = Vec::with_capacity(entry.inputs.len());
        for name in &entry.inputs {
            let input = name.as_ref().map(|name| self.tensor_idx(name, place));
            inputs.push(input.transpose()?);
        }
        let outputs = entry
            .outputs
            .iter()
            .map(|name| self.tensor_idx(name, place));
        let outputs: Vec<usize> = outputs.collect::<Result<_, _>>()?;
        for (&output, name) in outputs.iter().zip(&entry.outputs) {
            if !self.written.insert(output) {
                return Err(ParseError::InvalidValue {
                    place: place.to_string(),
                    expected: "outputs that nothing else writes",
                    found: format!("`{}`", shown(name)),
                });
            }
        }
        let code = OperatorCode::from_name(&entry.kind);
        // Whoever says what an operator multiplies means one of their own.
        if let (OpKind::Custom, None, Some(meant)) =
            (code.kind, entry.macs, kinds::meant_by(&entry.kind))
        {
            return Err(ParseError::UnknownKind {
                place: place.to_string(),
                meant: meant.name(),
            });
        }
        let options = match code.kind {
            OpKind::Custom => BuiltinOptions::Foreign(Box::new(Foreign {
                macs: entry.macs.or_else(|| kinds::framework_macs(&entry.kind)),
                contradiction: None,
                meaning: Meaning::Known,
            })),
            kind => {
                let attributes = Attributes::new(place, kind, entry.attributes);
                options_and_inputs(builder, attributes, place, &mut inputs, outputs.len())?
            }
        };
        builder.operator(code, inputs, outputs, options);
        Ok(())
    }
}

/// The options of an operator. Attributes that stand for inputs become constants among them.
fn options_and_inputs(
    builder: &mut Builder,
    mut attributes: Attributes,
    place: Place,
    inputs: &mut Vec<Option<usize>>,
    n_outputs: usize,
) -> Result<BuiltinOptions, ParseError> {
    for (name, position, values) in attributes.lists()? {
        if position > inputs.len() {
            return Err(ParseError::InvalidValue {
                place: place.to_string(),
                expected: "the inputs before an attribute that stands for one",
                found: format!("{} inputs and `{name}`", inputs.len()),
            });
        }
        let n = i32::try_from(values.len()).unwrap_or(i32::MAX);
        let pairs = name == "paddings" && n % 2 == 0;
        let shape = if pairs { vec![n / 2, 2] } else { vec![n] };
        let constant = builder.integers(
            &format!("{}/{name}/{}", shown(place.kind), place.operator_idx),
            shape,
            &values,
        );
        inputs.insert(position, Some(constant));
    }
    let options = attributes.options(inputs.len(), n_outputs)?;
    attributes.finish()?;
    Ok(options)
}
