//! Names of values, compared by address: hashing and comparing one takes the same time, however long it is.

use std::collections::{HashMap, HashSet};
use std::hash::{Hash, Hasher};
use std::ops::Deref;

use crate::formats::shown;

/// The name of a value. Names of equal text that the same [`NameTable`] gave are equal, and all empty names are.
#[derive(Clone, Copy, Default)]
pub(super) struct Name<'a>(&'a str);

/// Every name of a file, each once.
#[derive(Default)]
pub(super) struct NameTable<'a>(HashSet<&'a str>);

impl<'a> NameTable<'a> {
    /// The name of this text. Linear in the length of the text.
    pub fn name(&mut self, text: &'a str) -> Name<'a> {
        if let Some(known) = self.0.get(text) {
            return Name(known);
        }
        self.0.insert(text);
        Name(text)
    }
}

impl<'a> Name<'a> {
    /// A name that no [`NameTable`] gives, whatever its text is.
    pub fn unique(text: &'a str) -> Self {
        Self(text)
    }

    fn identity(self) -> (usize, usize) {
        match self.0.len() {
            0 => (0, 0),
            n_bytes => (self.0.as_ptr().addr(), n_bytes),
        }
    }
}

impl Deref for Name<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        self.0
    }
}

/// Names that the bodies around a node define: in another body, the same text names another value.
#[derive(Default)]
pub(super) struct Scopes<'a> {
    names: HashMap<&'a str, Name<'a>>,
    /// What each text named before, in the order in which bodies defined them.
    before: Vec<(&'a str, Option<Name<'a>>)>,
}

impl<'a> Scopes<'a> {
    /// What the innermost body that defines this text names so.
    pub fn get(&self, text: &str) -> Option<Name<'a>> {
        self.names.get(text).copied()
    }

    /// Definitions that hold.
    pub fn len(&self) -> usize {
        self.before.len()
    }

    pub fn define(&mut self, text: &'a str, name: Name<'a>) {
        let before = self.names.insert(text, name);
        self.before.push((text, before));
    }

    /// Forgets all but the first `n` definitions.
    pub fn leave(&mut self, n: usize) {
        for (text, before) in self.before.drain(n.min(self.before.len())..).rev() {
            match before {
                Some(name) => self.names.insert(text, name),
                None => self.names.remove(text),
            };
        }
    }
}

/// As in messages and in the names of further tensors: escaped, and cut where it is long.
impl std::fmt::Display for Name<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter) -> std::fmt::Result {
        formatter.write_str(&shown(self.0))
    }
}

impl std::fmt::Debug for Name<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter) -> std::fmt::Result {
        self.0.fmt(formatter)
    }
}

impl PartialEq for Name<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.identity() == other.identity()
    }
}

impl Eq for Name<'_> {}

impl Hash for Name<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.identity().hash(state);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_texts_have_one_name() {
        let (first, second) = (String::from("value"), String::from("value"));
        let mut table = NameTable::default();
        assert_eq!(table.name(&first), table.name(&second));
        assert_ne!(table.name(&first), table.name("value/1"));
        assert_ne!(table.name(&first), Name::unique(&second));
        assert_eq!(table.name(""), Name::default());
    }
}
