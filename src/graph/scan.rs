//! How many bytes of constants a stage may look at, because many operators may share a large constant.

use crate::formats::tflite::Model;
use crate::work;

/// Bytes of constants that one stage may still look at: at first four times the length of the file and a megabyte.
#[derive(Debug)]
pub struct ScanBudget {
    bytes_left: usize,
}

/// A stage looks at most constants once, and at a few for several operators.
const SCANS: usize = 4;
/// What is left for files whose constants are described only.
const MIN_BYTES: usize = 1 << 20;

impl ScanBudget {
    /// The budget of a new stage.
    pub fn new(model: &Model) -> Self {
        let bytes_left = model.file_bytes.saturating_mul(SCANS);
        Self {
            bytes_left: bytes_left.saturating_add(MIN_BYTES),
        }
    }

    /// The contents or zero points of a constant, to be looked at once; `None` where the budget does not suffice.
    #[cfg_attr(feature = "work", track_caller)]
    pub fn spend<'c, T>(&mut self, values: &'c [T]) -> Option<&'c [T]> {
        self.bytes_left = self.bytes_left.checked_sub(size_of_val(values))?;
        work::count(values.len());
        Some(values)
    }
}
