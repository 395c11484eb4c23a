//! Sizes of dimensions that an ONNX file leaves open.

use super::proto::{Dimension, ValueInfo};
use crate::formats::shown;

/// Sizes that a file may leave open.
#[derive(Clone, Copy, Debug)]
pub struct Dimensions<'d> {
    /// Size of an input's first dimension, if `named` has none for it.
    pub batch: u32,
    /// By name: `sequence`, or `input.1` for the second dimension of the input `input`.
    pub named: &'d [(String, u32)],
}

impl Dimensions<'_> {
    /// The size of a tensor's dimension, or the name under which the caller has to give it. `position`: of an input. A name
    /// that `is_first` tells of is that of an input's first dimension, and the batch wherever it stands.
    pub(super) fn size(
        &self,
        tensor: &str,
        position: Option<usize>,
        axis: usize,
        dimension: Dimension,
        is_first: impl Fn(&str) -> bool,
    ) -> Result<i64, String> {
        let by_place = format!("{tensor}.{axis}");
        let name = match dimension {
            Dimension::Size(size) if size > 0 => return Ok(size),
            Dimension::Named(name) => name,
            _ => &by_place,
        };
        let found = |wanted: &str| self.named.iter().find(|(name, _)| name == wanted);
        let found = found(name)
            .or_else(|| found(&by_place))
            .or_else(|| found(&format!("{}.{axis}", position?)));
        match found {
            Some((_, size)) => Ok(i64::from(*size)),
            None if axis == 0 || is_first(name) => Ok(i64::from(self.batch)),
            None => Err(shown(name)),
        }
    }

    /// Names of the first dimensions that are set to the batch size.
    pub(super) fn assumed(&self, inputs: &[ValueInfo]) -> Vec<String> {
        let first = |input: &ValueInfo| {
            let dimension = *input.shape.as_ref()?.first()?;
            let name = match dimension {
                Dimension::Size(size) if size > 0 => return None,
                Dimension::Named(name) => shown(name),
                _ => format!("{}.0", shown(input.name)),
            };
            (!self.named.iter().any(|(named, _)| *named == name)).then_some(name)
        };
        let mut names: Vec<String> = inputs.iter().take(20).filter_map(first).collect();
        names.dedup();
        names
    }
}
