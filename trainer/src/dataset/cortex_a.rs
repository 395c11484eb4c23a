//! Counted instructions → values of the table of labels.

use std::collections::BTreeMap;

use crate::labels::litert_qemu::Instructions;

/// Value by metric id.
pub fn values(instructions: &Instructions) -> BTreeMap<String, f64> {
    BTreeMap::from([("instructions".to_owned(), instructions.total() as f64)])
}
