//! Writes the messages of `onnx.proto` that a network becomes. Field numbers are those of `onnx.proto`.

use prost::encoding::{WireType, encode_key, encode_varint};

/// A protobuf message that is being written.
#[derive(Clone, Debug, Default)]
pub(super) struct Message(Vec<u8>);

/// The value of a node's attribute.
#[derive(Clone, Copy)]
pub(super) enum Attribute<'v> {
    Integer(i64),
    Integers(&'v [i64]),
    Float(f32),
    Text(&'v str),
}

impl Message {
    pub fn into_bytes(self) -> Vec<u8> {
        self.0
    }

    pub fn integer(&mut self, field: u32, value: i64) {
        encode_key(field, WireType::Varint, &mut self.0);
        encode_varint(u64::from_le_bytes(value.to_le_bytes()), &mut self.0);
    }

    pub fn bytes(&mut self, field: u32, bytes: &[u8]) {
        encode_key(field, WireType::LengthDelimited, &mut self.0);
        encode_varint(u64::try_from(bytes.len()).unwrap_or(0), &mut self.0);
        self.0.extend_from_slice(bytes);
    }

    pub fn message(&mut self, field: u32, message: &Self) {
        self.bytes(field, &message.0);
    }

    /// An `AttributeProto`, as a field of a `NodeProto`.
    pub fn attribute(&mut self, name: &str, value: Attribute) {
        let mut attribute = Self::default();
        attribute.bytes(1, name.as_bytes());
        let of_type = match value {
            Attribute::Float(value) => {
                encode_key(2, WireType::ThirtyTwoBit, &mut attribute.0);
                attribute.0.extend_from_slice(&value.to_le_bytes());
                1
            }
            Attribute::Integer(value) => {
                attribute.integer(3, value);
                2
            }
            Attribute::Text(text) => {
                attribute.bytes(4, text.as_bytes());
                3
            }
            Attribute::Integers(values) => {
                values.iter().for_each(|&value| attribute.integer(8, value));
                7
            }
        };
        attribute.integer(20, of_type);
        self.message(5, &attribute);
    }

    /// A `TensorProto`. Without values they lie in another file.
    pub fn tensor(name: &str, data_type: i64, dims: &[i64], values: Option<&[u8]>) -> Self {
        let mut tensor = Self::default();
        dims.iter().for_each(|&side| tensor.integer(1, side));
        tensor.integer(2, data_type);
        tensor.bytes(8, name.as_bytes());
        match values {
            Some(values) => tensor.bytes(9, values),
            None => tensor.integer(14, 1),
        }
        tensor
    }

    /// A `ValueInfoProto`. A side that is not above 0 is left open.
    pub fn value(name: &str, data_type: i64, sides: Option<&[i64]>) -> Self {
        let [mut value, mut of_type, mut tensor] = [const { Self(Vec::new()) }; 3];
        tensor.integer(1, data_type);
        if let Some(sides) = sides {
            let mut shape = Self::default();
            for &side in sides {
                let mut dimension = Self::default();
                if side > 0 {
                    dimension.integer(1, side);
                }
                shape.message(1, &dimension);
            }
            tensor.message(2, &shape);
        }
        of_type.message(1, &tensor);
        value.bytes(1, name.as_bytes());
        value.message(2, &of_type);
        value
    }
}
