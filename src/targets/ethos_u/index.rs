//! Indices in half the memory of Rust's own: plans of large networks have lists of them, by a hundred thousand steps
//! and by twice as many feature maps.

/// An index that may be absent. The default is absent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OptionalIndex(u32);

impl OptionalIndex {
    pub const NONE: Self = Self(u32::MAX);

    pub fn get(self) -> Option<usize> {
        (self != Self::NONE).then_some(self.0 as usize)
    }
}

impl Default for OptionalIndex {
    fn default() -> Self {
        Self::NONE
    }
}

impl From<usize> for OptionalIndex {
    fn from(index: usize) -> Self {
        Self(compact(index))
    }
}

impl From<Option<usize>> for OptionalIndex {
    fn from(index: Option<usize>) -> Self {
        index.map_or(Self::NONE, Self::from)
    }
}

/// The first and the last of some steps, or no steps. The default is none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Steps {
    first: OptionalIndex,
    last: OptionalIndex,
}

impl Steps {
    pub const NONE: Self = Self {
        first: OptionalIndex::NONE,
        last: OptionalIndex::NONE,
    };

    pub fn get(self) -> Option<(usize, usize)> {
        self.first.get().zip(self.last.get())
    }

    pub fn is_none(self) -> bool {
        self == Self::NONE
    }
}

impl From<Option<(usize, usize)>> for Steps {
    fn from(steps: Option<(usize, usize)>) -> Self {
        steps.map_or(Self::NONE, |(first, last)| Self {
            first: first.into(),
            last: last.into(),
        })
    }
}

/// An index in 32 bits. The limits of files allow fewer operators and tensors than that.
pub fn compact(index: usize) -> u32 {
    debug_assert!(u32::try_from(index).is_ok());
    index as u32
}

/// The indices below `n`.
pub fn compact_up_to(n: usize) -> Vec<u32> {
    (0..compact(n)).collect()
}
