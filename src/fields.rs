//! Reads JSON that this project writes itself, fitted constants and manifests, into types that derive `Deserialize`.
//!
//! Of a derived implementation `serde_json` compiles everything: every field once for objects and once for lists, and
//! numbers and names of fields in each. Here a file becomes a [`Value`] first, and a struct asks for the values of its
//! fields one after the other, whatever their order in the file. For the types of constants that takes 27 kB less of the
//! browser's module after brotli. Fields that a type does not know are ignored.

use std::borrow::Cow;
use std::fmt;

use serde::de::value::StrDeserializer;
use serde::de::{
    Deserialize, DeserializeOwned, DeserializeSeed, Deserializer, Error as _, IntoDeserializer,
    MapAccess, SeqAccess, Visitor,
};
use serde::forward_to_deserialize_any;
use serde_json::Error;

/// Reads a file.
///
/// # Errors
/// If it is not JSON, or not what the type expects: the message names the fields that lead to the place.
pub fn from_json<T: DeserializeOwned>(json: &[u8]) -> Result<T, Error> {
    let value: Value = serde_json::from_slice(json)?;
    T::deserialize(&value)
}

/// JSON without a type.
enum Value<'a> {
    /// In the place of a field that a file does not have.
    Absent,
    Null,
    Bool(bool),
    Unsigned(u64),
    Signed(i64),
    Float(f64),
    Text(Cow<'a, str>),
    List(Vec<Self>),
    Fields(Vec<(Self, Self)>),
}

/// The values of a list, or of the fields with `names`.
struct Values<'v> {
    value: &'v Value<'v>,
    names: &'static [&'static str],
    next: usize,
    /// Whether the last value was absent.
    is_absent: bool,
}

/// The entries of a map, in the order of the file.
struct Entries<'v> {
    entries: &'v [(Value<'v>, Value<'v>)],
}

impl<'v> Value<'v> {
    #[cold]
    fn unexpected_kind(&self, expected: &'static str) -> Error {
        let kind = match self {
            Self::Absent => "nothing",
            Self::Null => "null",
            Self::Bool(_) => "a boolean",
            Self::Unsigned(_) | Self::Signed(_) => "another number",
            Self::Float(_) => "a number with a fraction",
            Self::Text(_) => "a text",
            Self::List(_) => "a list",
            Self::Fields(_) => "fields",
        };
        Error::custom(format_args!("expected {expected}, found {kind}"))
    }

    #[inline(never)]
    fn boolean(&self) -> Result<bool, Error> {
        match self {
            Self::Bool(value) => Ok(*value),
            _ => Err(self.unexpected_kind("a boolean")),
        }
    }

    #[inline(never)]
    fn unsigned(&self) -> Result<u64, Error> {
        match self {
            Self::Unsigned(value) => Ok(*value),
            _ => Err(self.unexpected_kind("a whole number from 0")),
        }
    }

    #[inline(never)]
    fn signed(&self) -> Result<i64, Error> {
        match *self {
            Self::Signed(value) => Some(value),
            Self::Unsigned(value) => i64::try_from(value).ok(),
            _ => None,
        }
        .ok_or_else(|| self.unexpected_kind("a whole number"))
    }

    #[inline(never)]
    fn float(&self) -> Result<f64, Error> {
        match *self {
            Self::Float(value) => Ok(value),
            Self::Unsigned(value) => Ok(value as f64),
            Self::Signed(value) => Ok(value as f64),
            _ => Err(self.unexpected_kind("a number")),
        }
    }

    #[inline(never)]
    fn text(&self) -> Result<&str, Error> {
        match self {
            Self::Text(text) => Ok(text),
            _ => Err(self.unexpected_kind("a text")),
        }
    }

    #[inline(never)]
    fn list(&'v self) -> Result<Values<'v>, Error> {
        match self {
            Self::List(_) => Ok(self.values(&[])),
            _ => Err(self.unexpected_kind("a list")),
        }
    }

    /// A struct: by names, or as a list in the order of its fields.
    #[inline(never)]
    fn fields(&'v self, names: &'static [&'static str]) -> Result<Values<'v>, Error> {
        match self {
            Self::Fields(_) | Self::List(_) => Ok(self.values(names)),
            _ => Err(self.unexpected_kind("fields")),
        }
    }

    fn values(&'v self, names: &'static [&'static str]) -> Values<'v> {
        Values {
            value: self,
            names,
            next: 0,
            is_absent: false,
        }
    }

    #[inline(never)]
    fn entries(&'v self) -> Result<Entries<'v>, Error> {
        match self {
            Self::Fields(entries) => Ok(Entries { entries }),
            _ => Err(self.unexpected_kind("fields")),
        }
    }
}

impl<'v> Values<'v> {
    /// The next value; of a field that the file does not have, [`Value::Absent`].
    #[inline(never)]
    fn next(&mut self) -> Option<&'v Value<'v>> {
        let idx = self.next;
        self.next += 1;
        match self.value {
            Value::List(values) => values.get(idx),
            Value::Fields(entries) => {
                let name = self.names.get(idx)?;
                let is_it =
                    |(key, _): &&(Value, Value)| matches!(key, Value::Text(text) if text == name);
                // Most files have the fields of a type in its order.
                let entry = entries.get(idx).filter(is_it);
                let entry = entry.or_else(|| entries.iter().find(is_it));
                Some(entry.map_or(&Value::Absent, |(_, value)| value))
            }
            _ => None,
        }
    }

    /// With the place of an error before its words.
    #[cold]
    fn with_place(&self, error: &Error) -> Error {
        let idx = self.next.saturating_sub(1);
        match (self.value, self.names.get(idx)) {
            (Value::Fields(_), Some(name)) if self.is_absent => {
                Error::custom(format_args!("missing field `{name}`"))
            }
            (Value::Fields(_), Some(name)) => Error::custom(format_args!("{name}: {error}")),
            _ => Error::custom(format_args!("{idx}: {error}")),
        }
    }
}

impl<'v> SeqAccess<'v> for &mut Values<'v> {
    type Error = Error;

    fn next_element_seed<T: DeserializeSeed<'v>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, Error> {
        let Some(value) = self.next() else {
            return Ok(None);
        };
        self.is_absent = matches!(value, Value::Absent);
        match seed.deserialize(value) {
            // The type has a default, or counts the fields.
            Err(_) if self.is_absent => Ok(None),
            read => read.map(Some),
        }
    }

    fn size_hint(&self) -> Option<usize> {
        match self.value {
            Value::List(values) => Some(values.len()),
            _ => None,
        }
    }
}

impl<'v> MapAccess<'v> for Entries<'v> {
    type Error = Error;

    fn next_key_seed<K: DeserializeSeed<'v>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, Error> {
        self.entries
            .first()
            .map(|(key, _)| seed.deserialize(key))
            .transpose()
    }

    fn next_value_seed<V: DeserializeSeed<'v>>(&mut self, seed: V) -> Result<V::Value, Error> {
        let Some(((_, value), rest)) = self.entries.split_first() else {
            return Err(Error::custom("expected a key before its value"));
        };
        self.entries = rest;
        seed.deserialize(value)
    }
}

macro_rules! scalars {
    ($($method:ident $visit:ident $read:ident,)*) => {$(
        fn $method<V: Visitor<'v>>(self, visitor: V) -> Result<V::Value, Error> {
            visitor.$visit(self.$read()?)
        }
    )*};
}

impl<'v> Deserializer<'v> for &'v Value<'v> {
    type Error = Error;

    scalars! {
        deserialize_bool visit_bool boolean,
        deserialize_u8 visit_u64 unsigned,
        deserialize_u16 visit_u64 unsigned,
        deserialize_u32 visit_u64 unsigned,
        deserialize_u64 visit_u64 unsigned,
        deserialize_i8 visit_i64 signed,
        deserialize_i16 visit_i64 signed,
        deserialize_i32 visit_i64 signed,
        deserialize_i64 visit_i64 signed,
        deserialize_f32 visit_f64 float,
        deserialize_f64 visit_f64 float,
        deserialize_char visit_str text,
        deserialize_str visit_str text,
        deserialize_string visit_str text,
        deserialize_identifier visit_str text,
    }

    fn deserialize_any<V: Visitor<'v>>(self, visitor: V) -> Result<V::Value, Error> {
        match self {
            Value::Absent | Value::Null => visitor.visit_unit(),
            Value::Bool(value) => visitor.visit_bool(*value),
            Value::Unsigned(value) => visitor.visit_u64(*value),
            Value::Signed(value) => visitor.visit_i64(*value),
            Value::Float(value) => visitor.visit_f64(*value),
            Value::Text(text) => visitor.visit_str(text),
            Value::List(_) => self.deserialize_seq(visitor),
            Value::Fields(_) => self.deserialize_map(visitor),
        }
    }

    fn deserialize_option<V: Visitor<'v>>(self, visitor: V) -> Result<V::Value, Error> {
        match self {
            Value::Absent | Value::Null => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'v>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_seq<V: Visitor<'v>>(self, visitor: V) -> Result<V::Value, Error> {
        let mut values = self.list()?;
        let read = visitor.visit_seq(&mut values);
        read.map_err(|error| values.with_place(&error))
    }

    fn deserialize_tuple<V: Visitor<'v>>(self, _: usize, visitor: V) -> Result<V::Value, Error> {
        self.deserialize_seq(visitor)
    }

    fn deserialize_tuple_struct<V: Visitor<'v>>(
        self,
        _: &'static str,
        _: usize,
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.deserialize_seq(visitor)
    }

    fn deserialize_map<V: Visitor<'v>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_map(self.entries()?)
    }

    fn deserialize_struct<V: Visitor<'v>>(
        self,
        _: &'static str,
        names: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        let mut values = self.fields(names)?;
        let read = visitor.visit_seq(&mut values);
        read.map_err(|error| values.with_place(&error))
    }

    fn deserialize_enum<V: Visitor<'v>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        let name: StrDeserializer<Error> = self.text()?.into_deserializer();
        visitor.visit_enum(name)
    }

    fn deserialize_ignored_any<V: Visitor<'v>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_unit()
    }

    forward_to_deserialize_any! { <V: Visitor<'v>> bytes byte_buf unit unit_struct }
}

impl<'a> Deserialize<'a> for Value<'a> {
    fn deserialize<D: Deserializer<'a>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Kinds)
    }
}

/// Makes a [`Value`] of any kind of JSON.
struct Kinds;

impl<'a> Visitor<'a> for Kinds {
    type Value = Value<'a>;

    fn expecting(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        formatter.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Value<'a>, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value<'a>, E> {
        Ok(Value::Bool(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value<'a>, E> {
        Ok(Value::Unsigned(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value<'a>, E> {
        Ok(Value::Signed(value))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value<'a>, E> {
        Ok(Value::Float(value))
    }

    fn visit_str<E>(self, text: &str) -> Result<Value<'a>, E> {
        Ok(Value::Text(Cow::Owned(text.to_owned())))
    }

    fn visit_borrowed_str<E>(self, text: &'a str) -> Result<Value<'a>, E> {
        Ok(Value::Text(Cow::Borrowed(text)))
    }

    fn visit_seq<A: SeqAccess<'a>>(self, mut list: A) -> Result<Value<'a>, A::Error> {
        let mut values = Vec::new();
        while let Some(value) = list.next_element()? {
            values.push(value);
        }
        Ok(Value::List(values))
    }

    fn visit_map<A: MapAccess<'a>>(self, mut map: A) -> Result<Value<'a>, A::Error> {
        let mut entries = Vec::new();
        while let Some(entry) = map.next_entry()? {
            entries.push(entry);
        }
        Ok(Value::Fields(entries))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde::{Deserialize, Serialize};

    use super::*;
    use crate::learned::manifest::Manifest;
    use crate::target::boards::Board;
    use crate::target::fitted::Bundle;
    use crate::targets::{cortex_a, cortex_m, edge_tpu, ethos_u};

    /// Reads a file as this module and as `serde_json` does.
    fn assert_same<T: DeserializeOwned + Serialize>(json: &[u8]) {
        let name = std::any::type_name::<T>();
        let read: T = from_json(json).unwrap_or_else(|error| panic!("{name}: {error}"));
        let expected: T = serde_json::from_slice(json).unwrap();
        let [read, expected] = [&read, &expected].map(|one| serde_json::to_string(one).unwrap());
        println!("{name}: {} bytes", json.len());
        assert!(read == expected, "{name}");
    }

    #[test]
    fn files_are_read_as_serde_json_reads_them() {
        assert_same::<Manifest>(include_bytes!("../bundle/manifest.json"));
        assert_same::<Vec<Board>>(include_bytes!("target/boards.json"));
        assert_same::<cortex_a::Constants>(include_bytes!("targets/cortex_a/constants.json"));
        assert_same::<cortex_a::Costs>(include_bytes!("targets/cortex_a/costs.json"));
        assert_same::<cortex_a::SingleOperators>(include_bytes!(
            "targets/cortex_a/single_operators.json"
        ));
        assert_same::<cortex_m::Constants>(include_bytes!("targets/cortex_m/constants.json"));
        assert_same::<edge_tpu::Constants>(include_bytes!("targets/edge_tpu/constants.json"));
        assert_same::<ethos_u::errors::Errors>(include_bytes!("targets/ethos_u/errors.json"));
        assert_same::<ethos_u::silicon::Silicon>(include_bytes!("targets/ethos_u/silicon.json"));
        assert_same::<Bundle>(include_bytes!("../bundle/accelerators.json"));
        assert_same::<Bundle>(include_bytes!("../bundle/gpu.json"));
    }

    #[derive(Debug, Default, PartialEq, Deserialize, Serialize)]
    struct Record {
        count: u8,
        share: f32,
        #[serde(default)]
        name: String,
        end: Option<i16>,
        parts: BTreeMap<String, [f64; 2]>,
    }

    #[test]
    fn fields_may_have_any_order_and_unknown_ones_are_ignored() {
        let json =
            r#"{"parts": {"b\n": [1, -2.5e3]}, "other": [{"x": null}], "share": 3, "count": 7}"#;
        let read: Record = from_json(json.as_bytes()).unwrap();
        assert_eq!(read, serde_json::from_str(json).unwrap());
        assert_eq!((read.count, read.end), (7, None));
    }

    #[test]
    fn an_error_names_the_place() {
        for (json, expected) in [
            ("[", "EOF while parsing"),
            (r#"{"count": 1}"#, "missing field `share`"),
            (
                r#"{"count": 256}"#,
                "count: invalid value: integer `256`, expected u8",
            ),
            (
                r#"{"count": -1}"#,
                "count: expected a whole number from 0, found another number",
            ),
            (
                r#"{"count": 1, "share": 1, "name": 3}"#,
                "name: expected a text, found another number",
            ),
            (
                r#"{"count": 1, "share": 1, "parts": {"a": [1, "b"]}}"#,
                "parts: 1: expected a number, found a text",
            ),
            ("3", "expected fields, found another number"),
        ] {
            let error = from_json::<Record>(json.as_bytes())
                .unwrap_err()
                .to_string();
            println!("{json}: {error}");
            assert!(error.starts_with(expected), "{error}, expected {expected}");
        }
    }

    #[test]
    fn nested_lists_end_before_the_stack_does() {
        let json = "[".repeat(100_000);
        let error = from_json::<Vec<u8>>(json.as_bytes()).unwrap_err();
        assert!(error.to_string().contains("recursion limit"), "{error}");
    }
}
