//! Options of custom operators, as they are in the file.

use serde::{Serialize, Serializer};

/// Options of kernels have a few hundred bytes; some compilers put a whole program there.
pub const MAX_OPTION_BYTES: usize = 4096;

/// The options of a custom operator, which may be damaged. A report has none of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CustomOptions(pub Box<[u8]>);

impl Serialize for CustomOptions {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_none()
    }
}
