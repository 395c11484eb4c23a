//! Attributes of nodes (`AttributeProto`), looked up by name.

use super::limits::{MAX_ATTRIBUTE_VALUES, MAX_NODE_ATTRIBUTES};
use super::wire::{Field, Fields};

/// `AttributeProto`s of a node by name: the first [`MAX_NODE_ATTRIBUTES`]. Those of a node in a function that refer to
/// an attribute of the call are that attribute.
#[derive(Clone, Debug, Default)]
pub(super) struct Attributes<'a> {
    by_name: Box<[(&'a str, &'a [u8])]>,
    /// Number of protobuf fields that reading all of them once takes.
    pub n_fields: usize,
}

/// The message of the attribute with a name.
pub type LookUp<'a, 'f> = dyn Fn(&str) -> Option<&'a [u8]> + 'f;

impl<'a> Attributes<'a> {
    /// The message of the first attribute of this name.
    pub fn get(&self, name: &str) -> Option<&'a [u8]> {
        let mut attributes = self.by_name.iter();
        attributes.find_map(|(other, message)| (*other == name).then_some(*message))
    }

    /// Whether a text, a tensor or a list of integers is as long as only a compiled program is, or a text is the name of
    /// a program's file.
    pub fn has_program(&self) -> bool {
        let is_program = |(_, message): &(&str, &[u8])| {
            let fields = Fields::new(message).flatten();
            let lengths = fields.map(|(number, field)| match (number, field) {
                (TEXT, Field::Bytes(text)) if names_program(text) => MIN_PROGRAM_BYTES,
                (TEXT | TENSOR | INTEGERS, Field::Bytes(bytes)) => bytes.len(),
                (INTEGERS, _) => 1,
                _ => 0,
            });
            lengths.fold(0, usize::saturating_add) >= MIN_PROGRAM_BYTES
        };
        self.by_name.iter().any(is_program)
    }

    pub fn len(&self) -> usize {
        self.by_name.len()
    }

    /// The attributes of a node. `of_call`: those of the call around it, if any. Linear in their bytes.
    pub fn read(node: &'a [u8], of_call: Option<&LookUp<'a, '_>>) -> Self {
        let mut by_name = Vec::new();
        let mut n_fields = 0usize;
        for (number, field) in Fields::new(node).flatten() {
            let Some(message) = field.bytes().filter(|_| number == 5) else {
                continue;
            };
            if by_name.len() >= MAX_NODE_ATTRIBUTES {
                break;
            }
            let Some(name) = attribute_text(message, NAME).filter(|name| !name.is_empty()) else {
                continue;
            };
            let reference =
                of_call.and_then(|of_call| Some((of_call, attribute_text(message, REFERENCE)?)));
            let message = match reference.filter(|(_, reference)| !reference.is_empty()) {
                None => Some(message),
                Some((of_call, reference)) => of_call(reference),
            };
            if let Some(message) = message {
                n_fields = n_fields.saturating_add(fields_in(message));
                by_name.push((name, message));
            }
        }
        Self {
            by_name: by_name.into(),
            n_fields,
        }
    }
}

/// Whether a text ends like the file of a program. Only its end is looked at, however long it is.
fn names_program(text: &[u8]) -> bool {
    let is_ending = |ending: &&str| {
        let rest = text.strip_suffix(ending.as_bytes());
        rest.is_some_and(|rest| rest.ends_with(b"."))
    };
    PROGRAM_ENDINGS.iter().any(is_ending)
}

/// Bytes of a compiled program, at least: more than any list of sizes.
pub(super) const MIN_PROGRAM_BYTES: usize = 1024;

/// Endings of the files of programs: of ONNX Runtime's contexts and TensorRT, AMD, Hailo, Huawei, Qualcomm, Rockchip,
/// OpenVINO, and libraries.
const PROGRAM_ENDINGS: &[&str] = &[
    "bin", "blob", "dlc", "engine", "hef", "om", "plan", "rknn", "so", "trt", "xml", "xmodel",
];

/// Fields of an `AttributeProto`: its name, values of three types, and the name of an attribute of the call.
pub(super) const NAME: u32 = 1;
const TEXT: u32 = 4;
const TENSOR: u32 = 5;
const INTEGERS: u32 = 8;
const REFERENCE: u32 = 21;

/// Text of a field of an `AttributeProto`.
pub(super) fn attribute_text(message: &[u8], wanted: u32) -> Option<&str> {
    let mut fields = Fields::new(message).flatten();
    let attribute = fields.find_map(|(number, field)| (number == wanted).then_some(field));
    attribute?.text()
}

/// Number of fields of an `AttributeProto`, with those of a tensor, and one for each eight bytes of a text or of packed
/// numbers, as far as these are read.
fn fields_in(message: &[u8]) -> usize {
    let counts = Fields::new(message)
        .flatten()
        .map(|(number, field)| match field {
            Field::Bytes(tensor) if number == 5 => Fields::new(tensor).count(),
            Field::Bytes(text) if number == 4 => (text.len() / 8).saturating_add(1),
            Field::Bytes(packed) if matches!(number, 7 | 8) => {
                packed.len().min(MAX_ATTRIBUTE_VALUES) / 8
            }
            _ => 1,
        });
    counts.fold(1, usize::saturating_add)
}
