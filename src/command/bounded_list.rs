//! Lists of a report that somebody else wrote. A list may take twelve times the memory of its text while it grows, so all
//! lists of a report have one budget in proportion to the report's length.

use std::cell::Cell;
use std::fmt;
use std::marker::PhantomData;

use serde::de::{Deserialize, Deserializer, Error, SeqAccess, Visitor};

/// Bytes of the lists of every report, however short it is.
const MIN_BYTES: usize = 32 << 20;
/// Further bytes for each byte of a report, which may be all zeros: four characters for the eight bytes of a number.
const BYTES_PER_BYTE: usize = 2;

thread_local! {
    static BYTES_LEFT: Cell<usize> = const { Cell::new(0) };
}

/// Begins with a report of this length.
pub fn begin(report_bytes: usize) {
    BYTES_LEFT.set(MIN_BYTES + BYTES_PER_BYTE * report_bytes);
}

/// Whether a list of the last report was refused.
pub fn is_exhausted() -> bool {
    BYTES_LEFT.get() == 0
}

/// The list with room for as many entries. Both are paid for while one is copied to the other.
fn with_capacity<T, E: Error>(mut list: Vec<T>, capacity: usize) -> Result<Vec<T>, E> {
    let bytes_of = |entries: usize| entries.saturating_mul(size_of::<T>().max(1));
    let left = BYTES_LEFT.get().checked_sub(bytes_of(capacity));
    let left = left.ok_or_else(|| {
        BYTES_LEFT.set(0);
        E::custom("it has longer lists than are read of a report")
    })?;
    let before = bytes_of(list.capacity());
    list.reserve_exact(capacity - list.len());
    BYTES_LEFT.set(left + before);
    Ok(list)
}

struct List<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for List<T> {
    type Value = Vec<T>;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut entries: A) -> Result<Vec<T>, A::Error> {
        let mut list = Vec::new();
        while let Some(entry) = entries.next_element()? {
            if list.len() == list.capacity() {
                let more = (list.len() / 2).max(4);
                let capacity = list.len() + more;
                list = with_capacity(list, capacity)?;
            }
            list.push(entry);
        }
        let spare = (list.capacity() - list.len()) * size_of::<T>();
        list.shrink_to_fit();
        BYTES_LEFT.set(BYTES_LEFT.get() + spare);
        Ok(list)
    }
}

/// For `deserialize_with`.
pub fn list<'de, D: Deserializer<'de>, T: Deserialize<'de>>(from: D) -> Result<Vec<T>, D::Error> {
    from.deserialize_seq(List(PhantomData))
}

/// For `deserialize_with` of a list that may be null.
pub fn list_or_null<'de, D, T>(from: D) -> Result<Option<Vec<T>>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    struct Wrapped<T>(Vec<T>);
    impl<'de, T: Deserialize<'de>> Deserialize<'de> for Wrapped<T> {
        fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
            list(from).map(Self)
        }
    }
    let list: Option<Wrapped<T>> = Option::deserialize(from)?;
    Ok(list.map(|wrapped| wrapped.0))
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Deserialize)]
    struct Lists {
        #[serde(deserialize_with = "list")]
        numbers: Vec<f64>,
        #[serde(default, deserialize_with = "list_or_null")]
        words: Option<Vec<String>>,
    }

    fn parsed(numbers: usize, words: usize, report_bytes: usize) -> Option<usize> {
        let [numbers, words] =
            [("0", numbers), ("\"\"", words)].map(|(entry, n)| vec![entry; n].join(","));
        begin(report_bytes);
        let json = format!("{{\"numbers\":[{numbers}],\"words\":[{words}]}}");
        let lists: Result<Lists, _> = serde_json::from_str(&json);
        assert_eq!(lists.is_err(), is_exhausted());
        let lists = lists.ok()?;
        assert_eq!(lists.numbers.capacity(), lists.numbers.len());
        Some(lists.numbers.len() + lists.words.map_or(0, |words| words.len()))
    }

    #[test]
    fn lists_of_a_report_have_one_budget() {
        assert_eq!(parsed(1_000_000, 300_000, 0), Some(1_300_000));
        assert_eq!(parsed(4_000_000, 0, 0), None);
        assert_eq!(parsed(0, 1_500_000, 0), None);
        assert_eq!(parsed(1_500_000, 1_000_000, 0), None);
        assert_eq!(parsed(1_500_000, 1_000_000, 40_000_000), Some(2_500_000));
        begin(0);
        let null: Lists = serde_json::from_str("{\"numbers\":[],\"words\":null}").unwrap();
        assert_eq!(null.words, None);
    }
}
