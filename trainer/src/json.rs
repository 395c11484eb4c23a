//! The form of JSON files that the library contains: changes are readable line by line, without the bytes that
//! indentation, a line for each number and digits without meaning take.

use std::io;

use anyhow::Result;
use serde::Serialize;
use serde_json::ser::{CompactFormatter, Formatter, Serializer};

/// Significant digits of fractions. Counts and measurements of the same thing differ in the fourth.
const DIGITS: usize = 6;

/// JSON with a line of its own for each value down to the level `max_level`, where the values of the outermost array or
/// object have level 1. Whatever lies deeper is on the line of what contains it. Fractions have six digits.
pub fn lines<T: Serialize>(value: &T, max_level: usize) -> Result<String> {
    let mut bytes = Vec::new();
    let lines = Lines {
        max_level,
        level: 0,
        is_empty: true,
    };
    value.serialize(&mut Serializer::with_formatter(&mut bytes, lines))?;
    bytes.push(b'\n');
    Ok(String::from_utf8(bytes)?)
}

struct Lines {
    max_level: usize,
    /// Arrays and objects that are open.
    level: usize,
    /// Whether the array or object that was opened or closed last has no value.
    is_empty: bool,
}

impl Lines {
    fn open<W: ?Sized + io::Write>(&mut self, writer: &mut W, bracket: &[u8]) -> io::Result<()> {
        self.level += 1;
        self.is_empty = true;
        writer.write_all(bracket)
    }

    fn separate<W: ?Sized + io::Write>(
        &mut self,
        writer: &mut W,
        is_first: bool,
    ) -> io::Result<()> {
        self.is_empty = false;
        if !is_first {
            writer.write_all(b",")?;
        }
        self.end_line(writer)
    }

    fn end_line<W: ?Sized + io::Write>(&self, writer: &mut W) -> io::Result<()> {
        if self.level <= self.max_level && !self.is_empty {
            writer.write_all(b"\n")
        } else {
            Ok(())
        }
    }

    fn close<W: ?Sized + io::Write>(&mut self, writer: &mut W, bracket: &[u8]) -> io::Result<()> {
        self.end_line(writer)?;
        self.level -= 1;
        self.is_empty = false;
        writer.write_all(bracket)
    }
}

impl Formatter for Lines {
    fn write_f64<W: ?Sized + io::Write>(&mut self, writer: &mut W, value: f64) -> io::Result<()> {
        let rounded = format!("{value:.*e}", DIGITS - 1).parse();
        CompactFormatter.write_f64(writer, rounded.unwrap_or(value))
    }

    fn begin_array<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.open(writer, b"[")
    }

    fn end_array<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.close(writer, b"]")
    }

    fn begin_array_value<W: ?Sized + io::Write>(
        &mut self,
        writer: &mut W,
        first: bool,
    ) -> io::Result<()> {
        self.separate(writer, first)
    }

    fn begin_object<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.open(writer, b"{")
    }

    fn end_object<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.close(writer, b"}")
    }

    fn begin_object_key<W: ?Sized + io::Write>(
        &mut self,
        writer: &mut W,
        first: bool,
    ) -> io::Result<()> {
        self.separate(writer, first)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn fractions_have_six_digits() {
        let written = lines(&[0.1 + 0.2, -1234567.0, 2.0 / 3e9, 0.0], 0).unwrap();
        assert_eq!(written, "[0.3,-1234570.0,6.66667e-10,0.0]\n");
    }

    #[test]
    fn values_below_the_level_share_a_line() {
        let value = json!({"empty": [], "one": [1, {"two": [2, 3]}], "text": "a\nb"});
        assert_eq!(
            lines(&value, 0).unwrap(),
            "{\"empty\":[],\"one\":[1,{\"two\":[2,3]}],\"text\":\"a\\nb\"}\n"
        );
        assert_eq!(
            lines(&value, 2).unwrap(),
            "{\n\"empty\":[],\n\"one\":[\n1,\n{\"two\":[2,3]}\n],\n\"text\":\"a\\nb\"\n}\n"
        );
        assert_eq!(
            serde_json::from_str::<serde_json::Value>(&lines(&value, 2).unwrap()).unwrap(),
            value
        );
    }
}
