//! Accelerators without published rules, the NPUs of phones and boards: latency, learned from what others measured of other
//! networks.
//!
//! A network is the [`work`] of its operators. Each amount of work has a cost on a device under a runtime and with numbers;
//! the costs are fitted to measurements by `litecast-trainer fit-accelerators`, which prints their errors on networks of
//! families that were left out (`docs/method/learned-accelerators.md`). Operators that take many times longer than their
//! work are [`refusals`].

pub mod devices;
pub mod estimate;
pub mod refusals;
mod target;
pub mod work;

use std::sync::Arc;
#[cfg(all(feature = "bundle", not(target_arch = "wasm32")))]
use std::sync::LazyLock;

pub use target::{FAMILY, Parsed, parse_id, targets};

use super::Target;
use crate::target::fitted::Bundle;

/// The constants of this version, if they are compiled into the library. The module of a browser fetches them when such a
/// device is asked for.
pub fn shipped() -> Option<&'static Arc<Bundle>> {
    #[cfg(all(feature = "bundle", not(target_arch = "wasm32")))]
    {
        static SHIPPED: LazyLock<Arc<Bundle>> = LazyLock::new(|| {
            let text = include_bytes!("../../../bundle/accelerators.json");
            let bundle = Bundle::parse(text, &work::NAMES);
            Arc::new(bundle.expect("the shipped constants are those of this version"))
        });
        Some(&SHIPPED)
    }
    #[cfg(not(all(feature = "bundle", not(target_arch = "wasm32"))))]
    None
}

/// [`targets`] of the constants that the library contains.
pub fn shipped_targets() -> Vec<Box<dyn Target>> {
    shipped().map_or(Vec::new(), targets)
}
