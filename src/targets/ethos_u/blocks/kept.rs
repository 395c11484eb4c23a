//! Blocks that were chosen before.

use std::collections::HashMap;
use std::hash::Hash;

use foldhash::fast::RandomState;

/// Operations whose blocks are kept, of some 300 bytes each: those of a search over a design space, whose networks
/// share most of theirs.
pub const MAX_KEPT: usize = 8192;

/// Blocks by what they follow from, at most [`MAX_KEPT`]. By a hash that takes less time than the one of the standard
/// library, which takes a tenth of an estimate in a browser: who finds collisions has at most that many.
pub struct Kept<K, V> {
    /// Each with the plan that asked for it last.
    values: HashMap<K, (V, u64), RandomState>,
    /// Number of the plan that is being made.
    plan: u64,
    /// Different ones that the plan may still ask for.
    n_left: usize,
    is_spent: bool,
}

impl<K, V> Default for Kept<K, V> {
    fn default() -> Self {
        Self {
            values: HashMap::default(),
            plan: 0,
            n_left: usize::MAX,
            is_spent: false,
        }
    }
}

impl<K: Eq + Hash, V: Copy> Kept<K, V> {
    /// Begins a plan that may ask for so many different blocks. They are counted whether or not they are kept, so that
    /// a plan does not depend on those before it.
    pub fn begin(&mut self, n_different: usize) {
        // All that the plan asks for stays, and is counted once.
        if self.values.len().saturating_add(n_different) > MAX_KEPT {
            self.values.clear();
        }
        self.plan += 1;
        self.n_left = n_different;
        self.is_spent = false;
    }

    /// Ends the plan: whether it asked for more. What is asked for outside of plans has no limit.
    pub fn end(&mut self) -> bool {
        self.n_left = usize::MAX;
        std::mem::take(&mut self.is_spent)
    }

    /// The block that is kept, or else that of `choose`, which is kept from then on. `None` once the plan has asked for
    /// as many others as it may.
    pub fn get_or(&mut self, key: K, choose: impl FnOnce() -> V) -> Option<V> {
        // All at once, which needs no order of use: the next networks fill it again.
        if self.values.len() >= MAX_KEPT && self.n_left == usize::MAX {
            self.values.clear();
        }
        let plan = self.plan;
        let known = self.values.get_mut(&key);
        if let Some((value, _)) = known.as_ref().filter(|(_, asked)| *asked == plan) {
            return Some(*value);
        }
        if self.n_left == 0 {
            self.is_spent = true;
            return None;
        }
        if self.n_left != usize::MAX {
            self.n_left -= 1;
        }
        let value = match known {
            Some((value, asked)) => {
                *asked = plan;
                *value
            }
            None => {
                let value = choose();
                self.values.insert(key, (value, plan));
                value
            }
        };
        Some(value)
    }
}
