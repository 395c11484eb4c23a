//! What the compiler's optimiser spends SRAM on.

use serde::{Deserialize, Serialize};

/// Vela's `--optimise`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Deserialize, Serialize)]
pub enum Strategy {
    /// As fast as possible within the arena cache.
    #[default]
    Performance,
    /// With as little SRAM as possible, regardless of the size of the arena cache.
    Size,
}

impl Strategy {
    /// Vela's name of it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Performance => "Performance",
            Self::Size => "Size",
        }
    }
}
