//! Sizes of dimensions that an ONNX file leaves open.

use std::collections::HashSet;

use super::proto::{Dimension, ValueInfo};
use crate::formats::{UnmatchedDimensions, shown};

/// Sizes that a file may leave open.
#[derive(Clone, Copy, Debug)]
pub struct Dimensions<'d> {
    /// Size of an input's first dimension, if `named` has none for it.
    pub batch: u32,
    /// By name: `sequence`, or `input.1` for the second dimension of the input `input`.
    pub named: &'d [(String, u32)],
}

impl Dimensions<'_> {
    /// The size of a tensor's dimension; `None` if the caller has to give it. `position`: of an input. `is_batch` tells
    /// whether an open dimension of this name, if it has one, is the batch.
    pub(super) fn size(
        &self,
        tensor: &str,
        position: Option<usize>,
        axis: usize,
        dimension: Dimension,
        is_batch: impl Fn(Option<&str>) -> bool,
    ) -> Option<i64> {
        let name = match dimension {
            Dimension::Size(size) if size > 0 => return Some(size),
            Dimension::Named(name) => Some(name),
            _ => None,
        };
        let is_at = |wanted: &str| {
            let by_place = |(tensor_given, axis_given): (&str, &str)| {
                let is_tensor = tensor_given == tensor
                    || position.is_some_and(|position| tensor_given.parse() == Ok(position));
                is_tensor && axis_given.parse() == Ok(axis)
            };
            wanted.rsplit_once('.').is_some_and(by_place)
        };
        let named = self.named.iter();
        let by_name = named.clone().find(|(given, _)| Some(&**given) == name);
        let given = by_name.or_else(|| named.clone().find(|(given, _)| is_at(given)));
        match given {
            Some((_, size)) => Some(i64::from(*size)),
            // An empty cache of keys. Some exporters write 0 for an open batch.
            None if axis > 0 && dimension == Dimension::Size(0) => Some(0),
            None if is_batch(name) => Some(i64::from(self.batch)),
            None => None,
        }
    }

    /// The name under which the caller has to give the size of a dimension.
    pub(super) fn wanted(tensor: &str, axis: usize, dimension: Dimension) -> String {
        match dimension {
            Dimension::Named(name) => shown(name),
            _ => format!("{}.{axis}", shown(tensor)),
        }
    }

    /// The sizes in `named` that are those of no open dimension of `inputs` or of the `described` results of nodes. Linear
    /// in the dimensions.
    pub(super) fn unmatched<'v>(
        &self,
        inputs: &[ValueInfo<'v>],
        described: impl Iterator<Item = &'v ValueInfo<'v>>,
    ) -> Option<UnmatchedDimensions> {
        let mut unused: HashSet<&str> = self.named.iter().map(|(name, _)| &**name).collect();
        if unused.is_empty() {
            return None;
        }
        let mut open = Vec::new();
        let of_inputs = inputs
            .iter()
            .enumerate()
            .map(|(position, input)| (input, Some(position)));
        for (value, position) in of_inputs.chain(described.map(|value| (value, None))) {
            for (axis, dimension) in value.shape.iter().flatten().enumerate() {
                let by_place = format!("{}.{axis}", &*value.name);
                let name = match *dimension {
                    Dimension::Size(size) if size > 0 => continue,
                    Dimension::Named(name) => name,
                    _ => &by_place,
                };
                if position.is_some() && open.len() < 64 {
                    open.push(name.to_owned());
                }
                unused.remove(name);
                unused.remove(&*by_place);
                position.map(|position| unused.remove(&*format!("{position}.{axis}")));
            }
        }
        let names = self.named.iter().map(|(name, _)| &**name);
        let names = names.filter(|name| unused.contains(name));
        UnmatchedDimensions::new(names, open.into_iter())
    }

    /// Names of the first dimensions that are set to the batch size.
    pub(super) fn assumed(&self, inputs: &[ValueInfo]) -> Vec<String> {
        let first = |input: &ValueInfo| {
            let dimension = *input.shape.as_ref()?.first()?;
            let name = match dimension {
                Dimension::Size(size) if size > 0 => return None,
                Dimension::Named(name) => shown(name),
                _ => format!("{}.0", shown(&input.name)),
            };
            (!self.named.iter().any(|(named, _)| *named == name)).then_some(name)
        };
        let mut names: Vec<String> = inputs.iter().take(20).filter_map(first).collect();
        names.dedup();
        names
    }
}
