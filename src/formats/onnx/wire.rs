//! Protobuf messages field by field, borrowed from the file.
//!
//! Types generated from `onnx.proto` would copy every weight, and would take a hundred bytes of memory for an empty
//! message of two bytes. A hostile file could exhaust a browser's memory in this way. Fields are therefore read one by
//! one with prost's own primitives, and only the requested ones are kept.

use prost::encoding::{WireType, decode_key, decode_varint};

/// The bytes are not a protobuf message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Malformed;

pub(super) type Read<T> = Result<T, Malformed>;

/// Why reading failed: [`Malformed`], or a limit that was exceeded.
pub(super) enum Failure {
    Malformed(&'static str),
    TooMany(&'static str, usize),
    /// Dimensions of one value: where, and how many.
    TooManyDimensions(String, usize),
    NoGraph,
}

pub(super) fn at(place: &'static str) -> impl Fn(Malformed) -> Failure {
    move |Malformed| Failure::Malformed(place)
}

/// One field's value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Field<'a> {
    Varint(u64),
    Fixed64([u8; 8]),
    Fixed32([u8; 4]),
    /// A message, text, or numbers packed together.
    Bytes(&'a [u8]),
}

impl<'a> Field<'a> {
    pub fn bytes(self) -> Option<&'a [u8]> {
        match self {
            Self::Bytes(bytes) => Some(bytes),
            _ => None,
        }
    }

    pub fn text(self) -> Option<&'a str> {
        std::str::from_utf8(self.bytes()?).ok()
    }

    /// An `int64` or `int32`, which protobuf stores as 64 bits.
    pub fn integer(self) -> Option<i64> {
        match self {
            Self::Varint(value) => Some(i64::from_le_bytes(value.to_le_bytes())),
            _ => None,
        }
    }

    pub fn float(self) -> Option<f32> {
        match self {
            Self::Fixed32(bytes) => Some(f32::from_le_bytes(bytes)),
            _ => None,
        }
    }
}

/// The fields of a message in their order: number and value. Ends after the first that is malformed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fields<'a> {
    rest: &'a [u8],
}

impl<'a> Fields<'a> {
    pub fn new(message: &'a [u8]) -> Self {
        Self { rest: message }
    }

    fn take<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        let (first, rest) = self.rest.split_first_chunk::<N>().ok_or(Malformed)?;
        self.rest = rest;
        Ok(*first)
    }

    fn field(&mut self) -> Result<(u32, Field<'a>), Malformed> {
        let (number, wire_type) = decode_key(&mut self.rest).map_err(|_| Malformed)?;
        let field = match wire_type {
            WireType::Varint => {
                Field::Varint(decode_varint(&mut self.rest).map_err(|_| Malformed)?)
            }
            WireType::SixtyFourBit => Field::Fixed64(self.take()?),
            WireType::ThirtyTwoBit => Field::Fixed32(self.take()?),
            WireType::LengthDelimited => {
                let length = decode_varint(&mut self.rest).map_err(|_| Malformed)?;
                let length = usize::try_from(length).map_err(|_| Malformed)?;
                let (bytes, rest) = self.rest.split_at_checked(length).ok_or(Malformed)?;
                self.rest = rest;
                Field::Bytes(bytes)
            }
            // Groups, which ONNX does not use.
            _ => return Err(Malformed),
        };
        Ok((number, field))
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = Result<(u32, Field<'a>), Malformed>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let field = self.field();
        if field.is_err() {
            self.rest = &[];
        }
        Some(field)
    }
}

/// Numbers packed together, at most `limit` of them.
pub(super) fn packed_integers(bytes: &[u8], limit: usize) -> Result<Vec<i64>, Malformed> {
    let mut rest = bytes;
    let mut values = Vec::new();
    while !rest.is_empty() && values.len() < limit {
        let value = decode_varint(&mut rest).map_err(|_| Malformed)?;
        values.push(i64::from_le_bytes(value.to_le_bytes()));
    }
    Ok(values)
}
