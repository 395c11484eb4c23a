//! Blocks that were chosen before.

use std::collections::HashMap;
use std::hash::Hash;

use foldhash::fast::RandomState;

/// Operations whose blocks are kept, of some 300 bytes each: those of a search over a design space, whose networks
/// share most of theirs.
pub const MAX_KEPT: usize = 8192;

/// Blocks by what they follow from, at most [`MAX_KEPT`]. By a hash that takes less time than the one of the standard
/// library, which takes a tenth of an estimate in a browser: who finds collisions has at most that many.
pub struct Kept<K, V>(HashMap<K, V, RandomState>);

impl<K, V> Default for Kept<K, V> {
    fn default() -> Self {
        Self(HashMap::default())
    }
}

impl<K: Eq + Hash, V: Copy> Kept<K, V> {
    /// The block that is kept, or else that of `choose`, which is kept from then on.
    pub fn get_or(&mut self, key: K, choose: impl FnOnce() -> V) -> V {
        // All at once, which needs no order of use: the next networks fill it again.
        if self.0.len() >= MAX_KEPT {
            self.0.clear();
        }
        *self.0.entry(key).or_insert_with(choose)
    }
}
