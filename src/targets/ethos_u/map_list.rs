//! Lists of a few feature maps. Most operations read and write one or two, which need no memory of their own.

use std::ops::{Deref, DerefMut};

use crate::work;

/// Indices of feature maps, in order.
#[derive(Clone, Debug)]
pub enum MapList {
    One([usize; 1]),
    Two([usize; 2]),
    /// Any other number.
    Other(Box<[usize]>),
}

impl Deref for MapList {
    type Target = [usize];

    #[cfg_attr(feature = "work", track_caller)]
    fn deref(&self) -> &[usize] {
        work::count(1);
        match self {
            Self::One(list) => list,
            Self::Two(list) => list,
            Self::Other(list) => list,
        }
    }
}

impl DerefMut for MapList {
    fn deref_mut(&mut self) -> &mut [usize] {
        match self {
            Self::One(list) => list,
            Self::Two(list) => list,
            Self::Other(list) => list,
        }
    }
}

impl PartialEq for MapList {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl From<&[usize]> for MapList {
    fn from(list: &[usize]) -> Self {
        match *list {
            [one] => Self::One([one]),
            [one, two] => Self::Two([one, two]),
            _ => Self::Other(list.into()),
        }
    }
}

impl From<Vec<usize>> for MapList {
    fn from(list: Vec<usize>) -> Self {
        list.as_slice().into()
    }
}

impl From<usize> for MapList {
    fn from(one: usize) -> Self {
        Self::One([one])
    }
}

impl FromIterator<usize> for MapList {
    fn from_iter<I: IntoIterator<Item = usize>>(list: I) -> Self {
        let mut list = list.into_iter();
        match (list.next(), list.next(), list.next()) {
            (Some(one), None, _) => Self::One([one]),
            (Some(one), Some(two), None) => Self::Two([one, two]),
            (one, two, three) => {
                let first = [one, two, three].into_iter().flatten();
                Self::Other(first.chain(list).collect())
            }
        }
    }
}

impl<'l> IntoIterator for &'l MapList {
    type Item = &'l usize;
    type IntoIter = std::slice::Iter<'l, usize>;

    #[cfg_attr(feature = "work", track_caller)]
    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}
