//! Types of tensors: names and sizes.

use serde::{Serialize, Serializer};

use super::schema;

/// `TensorType` of the schema. `Unknown` holds a number newer than the schema here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TensorType {
    Float32,
    Float16,
    Int32,
    UInt8,
    Int64,
    String,
    Bool,
    Int16,
    Complex64,
    Int8,
    Float64,
    Complex128,
    UInt64,
    Resource,
    Variant,
    UInt32,
    UInt16,
    Int4,
    BFloat16,
    Int2,
    UInt4,
    Float8E4M3FN,
    Float8E5M2,
    Unknown(i8),
}

/// In the order of the schema's numbers, 0 first.
const BY_NUMBER: [TensorType; 23] = {
    use TensorType::*;
    [
        Float32,
        Float16,
        Int32,
        UInt8,
        Int64,
        String,
        Bool,
        Int16,
        Complex64,
        Int8,
        Float64,
        Complex128,
        UInt64,
        Resource,
        Variant,
        UInt32,
        UInt16,
        Int4,
        BFloat16,
        Int2,
        UInt4,
        Float8E4M3FN,
        Float8E5M2,
    ]
};

impl TensorType {
    /// The type with this number in the schema.
    pub fn from_number(number: i8) -> Self {
        let known = usize::try_from(number)
            .ok()
            .and_then(|i| BY_NUMBER.get(i).copied());
        known.unwrap_or(Self::Unknown(number))
    }

    /// Number in the schema.
    pub fn number(self) -> i8 {
        match self {
            Self::Unknown(number) => number,
            known => {
                let number = BY_NUMBER.iter().position(|&t| t == known);
                number.and_then(|n| i8::try_from(n).ok()).unwrap_or(-1)
            }
        }
    }

    /// Name in the schema, for example `INT8`; `UNKNOWN` for a number newer than the schema.
    pub fn name(self) -> &'static str {
        schema::TensorType(self.number())
            .variant_name()
            .unwrap_or("UNKNOWN")
    }

    /// The type with this name, without regard to case.
    pub fn from_name(name: &str) -> Option<Self> {
        let mut types = BY_NUMBER.iter().copied();
        types.find(|tensor_type| tensor_type.name().eq_ignore_ascii_case(name))
    }

    /// Whether values have an exponent.
    pub fn is_float(self) -> bool {
        use TensorType::*;
        matches!(
            self,
            Float16 | Float32 | Float64 | BFloat16 | Float8E4M3FN | Float8E5M2
        )
    }

    /// Whether two types are of one sort of values, which operators may store in different widths. Nothing is known of
    /// handles and newer types.
    pub fn is_alike(self, other: Self) -> bool {
        use TensorType::*;
        let sort = |of: Self| match of {
            Resource | Variant | Unknown(_) => None,
            Complex64 | Complex128 => Some(Complex64),
            Bool | String => Some(of),
            _ if of.is_float() => Some(Float32),
            _ => Some(Int32),
        };
        let sorts = sort(self).zip(sort(other));
        sorts.is_none_or(|(one, other)| one == other)
    }

    /// Bits of one value in a buffer, where values narrower than a byte are packed; `None` for
    /// strings and handles, whose size the type does not tell.
    pub fn bits_per_value(self) -> Option<u32> {
        use TensorType::*;
        Some(match self {
            Int2 => 2,
            Int4 | UInt4 => 4,
            UInt8 | Int8 | Bool | Float8E4M3FN | Float8E5M2 => 8,
            Float16 | BFloat16 | Int16 | UInt16 => 16,
            Float32 | Int32 | UInt32 => 32,
            Int64 | UInt64 | Float64 | Complex64 => 64,
            Complex128 => 128,
            String | Resource | Variant | Unknown(_) => return None,
        })
    }
}

/// By name.
impl Serialize for TensorType {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}
