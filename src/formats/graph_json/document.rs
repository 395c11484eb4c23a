//! The fields of the document, before they are checked against each other.

use std::borrow::{Borrow, Cow};
use std::collections::BTreeMap;
use std::fmt;
use std::ops::Deref;

use serde::de::{self, Deserialize, Deserializer, SeqAccess, Visitor};

use super::limits::MAX_VALUES;

/// A string of the document, which is copied only if it has escapes, because names are most of a graph.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Text<'d>(Cow<'d, str>);

impl Deref for Text<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

// As letters, which `Cow` compares and hashes, too.
impl Borrow<str> for Text<'_> {
    fn borrow(&self) -> &str {
        self
    }
}

impl<'de: 'd, 'd> Deserialize<'de> for Text<'d> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(TextVisitor)
    }
}

struct TextVisitor;

impl<'de> Visitor<'de> for TextVisitor {
    type Value = Text<'de>;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("a string")
    }

    fn visit_borrowed_str<E: de::Error>(self, text: &'de str) -> Result<Text<'de>, E> {
        Ok(Text(Cow::Borrowed(text)))
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Text<'de>, E> {
        Ok(Text(Cow::Owned(text.to_owned())))
    }
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Document<'d> {
    #[serde(borrow)]
    pub format: Text<'d>,
    pub version: u32,
    #[serde(default)]
    pub name: String,
    pub inputs: Vec<Text<'d>>,
    pub outputs: Vec<Text<'d>>,
    pub tensors: Vec<TensorEntry<'d>>,
    pub operators: Vec<OperatorEntry<'d>>,
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TensorEntry<'d> {
    #[serde(borrow)]
    pub name: Text<'d>,
    pub shape: Vec<i64>,
    #[serde(rename = "type")]
    pub tensor_type: Text<'d>,
    #[serde(default)]
    pub constant: bool,
    pub values: Option<Attribute>,
    pub zero_share: Option<f32>,
    pub entropy_bits: Option<f32>,
    pub scale: Option<f32>,
    pub zero_point: Option<i64>,
    #[serde(default)]
    pub variable: bool,
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct OperatorEntry<'d> {
    #[serde(borrow)]
    pub kind: Text<'d>,
    /// `null` for an optional input that is left out.
    pub inputs: Vec<Option<Text<'d>>>,
    pub outputs: Vec<Text<'d>>,
    #[serde(default)]
    pub attributes: BTreeMap<Text<'d>, Attribute>,
    pub macs: Option<u64>,
}

/// The value of an attribute. Lists in a list are joined: paddings are pairs.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Attribute {
    Absent,
    Flag(bool),
    Integer(i64),
    Number(f64),
    Text(String),
    Integers(Vec<i64>),
    /// A list with elements other than integers, which no operator of TFLite has.
    Other,
}

impl fmt::Display for Attribute {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Self::Absent => f.write_str("null"),
            Self::Flag(value) => value.fmt(f),
            Self::Integer(value) => value.fmt(f),
            Self::Number(value) => value.fmt(f),
            Self::Text(value) => write!(f, "`{}`", crate::formats::shown(value)),
            Self::Integers(values) => write!(f, "{values:?}"),
            Self::Other => f.write_str("another value"),
        }
    }
}

impl<'de> Deserialize<'de> for Attribute {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AttributeVisitor)
    }
}

struct AttributeVisitor;

impl<'de> Visitor<'de> for AttributeVisitor {
    type Value = Attribute;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("a truth value, a number, a text or a list of whole numbers")
    }

    fn visit_unit<E: de::Error>(self) -> Result<Attribute, E> {
        Ok(Attribute::Absent)
    }

    fn visit_bool<E: de::Error>(self, value: bool) -> Result<Attribute, E> {
        Ok(Attribute::Flag(value))
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<Attribute, E> {
        Ok(Attribute::Integer(value))
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<Attribute, E> {
        Ok(Attribute::Integer(i64::try_from(value).unwrap_or(i64::MAX)))
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<Attribute, E> {
        Ok(Attribute::Number(value))
    }

    fn visit_str<E: de::Error>(self, value: &str) -> Result<Attribute, E> {
        Ok(Attribute::Text(value.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut entries: A) -> Result<Attribute, A::Error> {
        let mut joined = Vec::new();
        let mut is_whole = true;
        while let Some(entry) = entries.next_element::<Attribute>()? {
            match entry {
                Attribute::Integer(value) => joined.push(value),
                Attribute::Integers(values) => joined.extend(values),
                _ => is_whole = false,
            }
            if joined.len() > MAX_VALUES {
                return Err(de::Error::invalid_length(
                    joined.len(),
                    &"a list of at most 64 numbers",
                ));
            }
        }
        Ok(if is_whole {
            Attribute::Integers(joined)
        } else {
            Attribute::Other
        })
    }

    fn visit_map<A: de::MapAccess<'de>>(self, mut entries: A) -> Result<Attribute, A::Error> {
        while entries
            .next_entry::<de::IgnoredAny, de::IgnoredAny>()?
            .is_some()
        {}
        Ok(Attribute::Other)
    }
}
