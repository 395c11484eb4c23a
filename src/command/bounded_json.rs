//! JSON as a tree of values, which takes up to eighty times the memory of its text: of a text that somebody else wrote, no
//! more than a budget in proportion to its length.

use std::cell::Cell;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Error, Map, Value};

/// Bytes of the values of every text, however short it is.
const MIN_BYTES: usize = 24 << 20;
/// Further bytes of the values for each byte of the text.
const BYTES_PER_BYTE: usize = 2;

/// Of a value in a list, which grows by doubling.
const VALUE_BYTES: usize = 2 * size_of::<Value>();
/// Of the first part of an object, which has room for eleven fields.
const OBJECT_BYTES: usize = 11 * (size_of::<String>() + size_of::<Value>());

struct Budget {
    bytes_left: Cell<usize>,
}

impl Budget {
    fn spend<E: serde::de::Error>(&self, n_bytes: usize) -> Result<(), E> {
        let left = self.bytes_left.get().checked_sub(n_bytes);
        self.bytes_left.set(left.ok_or_else(|| {
            E::custom("it has more values than are read of a report of an older version")
        })?);
        Ok(())
    }
}

/// The values of a text.
pub fn parse(json: &str) -> Result<Value, Error> {
    let budget = Budget {
        bytes_left: Cell::new(MIN_BYTES + BYTES_PER_BYTE * json.len()),
    };
    let mut deserializer = serde_json::Deserializer::from_str(json);
    let value = (&budget).deserialize(&mut deserializer)?;
    deserializer.end()?;
    Ok(value)
}

impl<'de> DeserializeSeed<'de> for &Budget {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        self.spend(VALUE_BYTES)?;
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for &Budget {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        Ok(text.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(value) = entries.next_element_seed(self)? {
            list.push(value);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut fields = Map::new();
        while let Some(name) = entries.next_key::<String>()? {
            if fields.len().is_multiple_of(6) {
                self.spend::<A::Error>(OBJECT_BYTES)?;
            }
            fields.insert(name, entries.next_value_seed(self)?);
        }
        Ok(Value::Object(fields))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_those_of_serde() {
        let json = r#"{"a": [1, -2, 3.5, "x", null, true, {"b": {}}], "c": []}"#;
        assert_eq!(
            parse(json).unwrap(),
            serde_json::from_str::<Value>(json).unwrap()
        );
        assert!(parse("{} 1").is_err());
    }

    #[test]
    fn values_take_no_more_than_their_budget() {
        for (value, n, is_read) in [
            ("{}", 20_000, true),
            ("{\"a\":0}", 20_000, true),
            ("{\"a\":0}", 200_000, false),
            ("0", 1_000_000, false),
        ] {
            let json = format!("[{}]", vec![value; n].join(","));
            assert_eq!(parse(&json).is_ok(), is_read, "{n} {value}");
        }
    }
}
