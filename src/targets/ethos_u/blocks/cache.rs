//! A cache of chosen blocks.

use std::collections::HashMap;
use std::hash::Hash;

use foldhash::fast::RandomState;

/// Maximum number of cached operations, of about 300 bytes each: enough for a search over a design space, whose
/// networks share most of their operations.
pub const MAX_CACHED_BLOCKS: usize = 8192;

/// Blocks by the key that determines them, at most [`MAX_CACHED_BLOCKS`]. The hash is faster than that of the standard
/// library, which takes a tenth of the time of an estimate in a browser. An attacker who finds collisions can cause at
/// most this number of them.
pub struct BlockCache<K, V> {
    /// Each value with the number of the plan that used it last.
    values: HashMap<K, (V, u64), RandomState>,
    /// Number of the plan that is being made.
    plan: u64,
    /// Number of different keys that the plan may still use.
    n_left: usize,
    is_spent: bool,
}

impl<K, V> Default for BlockCache<K, V> {
    fn default() -> Self {
        Self {
            values: HashMap::default(),
            plan: 0,
            n_left: usize::MAX,
            is_spent: false,
        }
    }
}

impl<K: Eq + Hash, V: Copy> BlockCache<K, V> {
    /// Begins a plan that may use `n_different` different blocks. Cached blocks count as well, so that a plan does not
    /// depend on earlier plans.
    pub fn begin(&mut self, n_different: usize) {
        // Everything that the plan uses stays in the cache, and is counted once.
        if self.values.len().saturating_add(n_different) > MAX_CACHED_BLOCKS {
            self.values.clear();
        }
        self.plan += 1;
        self.n_left = n_different;
        self.is_spent = false;
    }

    /// Ends the plan. Returns whether it needed more blocks than allowed. Outside of plans there is no limit.
    pub fn end(&mut self) -> bool {
        self.n_left = usize::MAX;
        std::mem::take(&mut self.is_spent)
    }

    /// The cached block, or else the result of `choose`, which is then cached. `None` if the plan has already used its
    /// number of different blocks.
    pub fn get_or(&mut self, key: K, choose: impl FnOnce() -> V) -> Option<V> {
        // Clear the whole cache, which needs no order of use; the next networks fill it again.
        if self.values.len() >= MAX_CACHED_BLOCKS && self.n_left == usize::MAX {
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
