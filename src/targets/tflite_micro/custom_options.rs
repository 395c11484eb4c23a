//! Options of custom operators: a map of FlexBuffers, as the kernels of TensorFlow Lite Micro read it.

use crate::formats::tflite::CustomOptions;

/// Types of values, by their numbers.
const INT: u8 = 1;
const UINT: u8 = 2;
const FLOAT: u8 = 3;
const INDIRECT_INT: u8 = 6;
const INDIRECT_FLOAT: u8 = 8;
const MAP: u8 = 9;
const BOOL: u8 = 26;

/// The number under a key: 0 for what is no number, as the kernels read it, `None` where there is no such key. The map
/// has its keys in order, in which they are looked up.
pub fn number(options: &CustomOptions, key: &str) -> Option<f64> {
    let map = Map::root(&options.0)?;
    let (mut start, mut end) = (0, map.n_values);
    while start < end {
        let middle = start + (end - start) / 2;
        match map.key(middle)?.cmp(key.as_bytes()) {
            std::cmp::Ordering::Less => start = middle + 1,
            std::cmp::Ordering::Greater => end = middle,
            std::cmp::Ordering::Equal => return Some(map.number(middle).unwrap_or(0.0)),
        }
    }
    None
}

/// Places in a buffer: values are as wide as their container says, and offsets lead backwards.
struct Map<'b> {
    bytes: &'b [u8],
    /// Of the first value.
    at: usize,
    width: usize,
    n_values: usize,
    /// Of the offset to the first key.
    keys_at: usize,
    key_width: usize,
}

impl<'b> Map<'b> {
    /// The buffer ends with the root, its type and its width.
    fn root(bytes: &'b [u8]) -> Option<Self> {
        let [.., packed, root_width] = *bytes else {
            return None;
        };
        let root_at = bytes.len().checked_sub(2 + usize::from(root_width))?;
        if packed >> 2 != MAP {
            return None;
        }
        let at = target(bytes, root_at, root_width.into())?;
        let width = 1 << (packed & 3);
        let before = |n: usize| at.checked_sub(n * width);
        Some(Self {
            bytes,
            at,
            width,
            n_values: whole(bytes, before(1)?, width)?,
            keys_at: target(bytes, before(3)?, width)?,
            key_width: whole(bytes, before(2)?, width)?,
        })
    }

    fn key(&self, idx: usize) -> Option<&'b [u8]> {
        let at = self.keys_at.checked_add(idx.checked_mul(self.key_width)?)?;
        let key = self.bytes.get(target(self.bytes, at, self.key_width)?..)?;
        key.split(|byte| *byte == 0).next()
    }

    fn number(&self, idx: usize) -> Option<f64> {
        let types_at = self
            .at
            .checked_add(self.n_values.checked_mul(self.width)?)?;
        let packed = *self.bytes.get(types_at.checked_add(idx)?)?;
        let at = self.at + idx * self.width;
        let (of_type, at, width) = match packed >> 2 {
            indirect @ INDIRECT_INT..=INDIRECT_FLOAT => {
                let at = target(self.bytes, at, self.width)?;
                (indirect - INDIRECT_INT + INT, at, 1 << (packed & 3))
            }
            of_type => (of_type, at, self.width),
        };
        let stored = self.bytes.get(at..at.checked_add(width)?)?;
        match (of_type, stored) {
            (INT, &[a]) => Some(f64::from(a as i8)),
            (INT, &[a, b]) => Some(f64::from(i16::from_le_bytes([a, b]))),
            (INT, &[a, b, c, d]) => Some(f64::from(i32::from_le_bytes([a, b, c, d]))),
            (INT, _) => Some(i64::from_le_bytes(stored.try_into().ok()?) as f64),
            (FLOAT, &[a, b, c, d]) => Some(f64::from(f32::from_le_bytes([a, b, c, d]))),
            (FLOAT, _) => Some(f64::from_le_bytes(stored.try_into().ok()?)),
            (UINT | BOOL, _) => Some(whole(self.bytes, at, width)? as f64),
            _ => None,
        }
    }
}

fn whole(bytes: &[u8], at: usize, width: usize) -> Option<usize> {
    let stored = bytes.get(at..at.checked_add(width)?)?;
    let mut number = [0; 8];
    number.get_mut(..width)?.copy_from_slice(stored);
    usize::try_from(u64::from_le_bytes(number)).ok()
}

/// Where the offset that is stored at `at` leads.
fn target(bytes: &[u8], at: usize, width: usize) -> Option<usize> {
    at.checked_sub(whole(bytes, at, width)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Made by the Python package `flatbuffers` from `{"a": -3, "b": 0.5, "c": True, "d": 70000, "e": "x"}`.
    const BYTES: &[u8] = &[
        97, 0, 98, 0, 99, 0, 100, 0, 101, 0, 1, 120, 0, 5, 14, 13, 12, 11, 10, 0, 6, 0, 0, 0, 1, 0,
        0, 0, 5, 0, 0, 0, 253, 255, 255, 255, 0, 0, 0, 63, 1, 0, 0, 0, 112, 17, 1, 0, 37, 0, 0, 0,
        6, 14, 106, 6, 20, 25, 38, 1,
    ];

    #[test]
    fn numbers_are_read_by_their_keys() {
        let options = CustomOptions(BYTES.into());
        let found = ["a", "b", "c", "d", "e", "f"].map(|key| number(&options, key));
        assert_eq!(
            found,
            [
                Some(-3.0),
                Some(0.5),
                Some(1.0),
                Some(70000.0),
                Some(0.0),
                None
            ]
        );
        // Any part of it, and any other byte in it, gives some answer.
        for at in 0..BYTES.len() {
            for value in [0, 1, 2, 4, 127, 255] {
                let mut damaged = BYTES.to_vec();
                damaged[at] = value;
                number(&CustomOptions(damaged.into()), "c");
                number(&CustomOptions(BYTES[at..].into()), "c");
                number(&CustomOptions(BYTES[..at].into()), "c");
            }
        }
    }
}
