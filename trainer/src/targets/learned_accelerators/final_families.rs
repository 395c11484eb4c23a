//! Families that no one evaluates while rules, terms and priors are chosen.

use crate::targets::gpu::final_families::{is_drawn, rule_of};

/// Decides which families are final. It never changes.
const SEED: &str = "litecast final accelerators 1";

/// Whether the errors on this family are looked at only by `--final`.
pub fn is_final(family: &str) -> bool {
    is_drawn(SEED, family)
}

/// In words, for the results.
pub fn rule() -> String {
    rule_of(SEED)
}
