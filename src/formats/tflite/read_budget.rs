//! State that the readers of one file's parts share: counts, limits and diagnostics.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hash, Hasher};
use std::sync::Arc;

use flatbuffers::{Follow, Vector};
use foldhash::fast::FixedState;

use super::error::{ParseError, shown};
use super::limits::{
    MAX_APPARENT_SIZE_FACTOR, MAX_COPIED_ENTRIES, MAX_DIAGNOSTICS, MAX_OPERANDS,
    MIN_BYTES_PER_OPERAND, SMALL_FILE_BYTES, TENSORS_PER_OPERATOR, max_sparse_entries,
    max_unused_tensors,
};
use super::model::{OperatorCode, Quantization};
use crate::diagnostic::{Diagnostic, Severity};
use crate::formats::max_operators;

pub(super) struct ReadBudget {
    pub n_buffers: usize,
    pub n_subgraphs: usize,
    pub codes: Vec<OperatorCode>,
    pub diagnostics: Diagnostics,
    /// By the hash of its [`bits`], the first one.
    quantizations: HashMap<u64, Arc<Quantization>, FixedState>,
    entries_limit: usize,
    entries_left: usize,
    operands_limit: usize,
    operands_left: usize,
    operators_limit: usize,
    operators_left: usize,
    tensors_left: usize,
    sparse_entries_left: usize,
}

impl ReadBudget {
    pub fn new(file_bytes: usize) -> Self {
        let entries_limit = file_bytes
            .saturating_mul(MAX_APPARENT_SIZE_FACTOR)
            .saturating_add(SMALL_FILE_BYTES)
            .min(MAX_COPIED_ENTRIES);
        let operands_limit = file_bytes
            .saturating_add(SMALL_FILE_BYTES)
            .div_ceil(MIN_BYTES_PER_OPERAND)
            .min(MAX_OPERANDS);
        let operators_limit = max_operators(file_bytes);
        Self {
            n_buffers: 0,
            n_subgraphs: 0,
            codes: Vec::new(),
            diagnostics: Diagnostics::default(),
            quantizations: HashMap::default(),
            entries_limit,
            entries_left: entries_limit,
            operands_limit,
            operands_left: operands_limit,
            operators_limit,
            operators_left: operators_limit,
            tensors_left: max_unused_tensors(file_bytes),
            sparse_entries_left: max_sparse_entries(file_bytes),
        }
    }

    /// Counts one more operator.
    pub fn count_operator(&mut self, place: &OperatorPlace) -> Result<(), ParseError> {
        let left = self.operators_left.checked_sub(1);
        self.operators_left = left.ok_or_else(|| ParseError::LimitExceeded {
            place: place.to_string(),
            what: "operators in a file of this size up to here",
            limit: self.operators_limit,
            found: "more".into(),
        })?;
        Ok(())
    }

    /// Counts the tensors of a subgraph with so many operators.
    pub fn count_tensors(&mut self, n: usize, n_operators: usize) -> Result<(), ParseError> {
        let n_used = n_operators
            .min(self.operators_left)
            .saturating_mul(TENSORS_PER_OPERATOR);
        let limit = self.tensors_left.saturating_add(n_used);
        let left = limit.checked_sub(n).map(|left| left.min(self.tensors_left));
        self.tensors_left = left.ok_or_else(|| ParseError::LimitExceeded {
            place: "model".into(),
            what: "tensors in a file of this size up to here",
            limit,
            found: n.to_string(),
        })?;
        Ok(())
    }

    /// A copy of a list of tensor indices, which counts as operands too.
    pub fn copy_operands(
        &mut self,
        indices: Option<Vector<'_, i32>>,
        place: &impl std::fmt::Display,
    ) -> Result<Vec<i32>, ParseError> {
        let n = indices.map_or(0, |indices| indices.len());
        let exceeded = || ParseError::LimitExceeded {
            place: place.to_string(),
            what: "operands in the file up to here",
            limit: self.operands_limit,
            found: "more".into(),
        };
        self.operands_left = self.operands_left.checked_sub(n).ok_or_else(exceeded)?;
        self.copy(indices)
    }

    /// Subtracts `n` from the number of entries that may still be copied from the file.
    pub fn spend(&mut self, n: usize) -> Result<(), ParseError> {
        let left = self
            .entries_left
            .checked_sub(n)
            .ok_or_else(|| ParseError::LimitExceeded {
                place: "model".into(),
                what: "dimensions, indices, parameters and letters",
                limit: self.entries_limit,
                found: "more".into(),
            })?;
        self.entries_left = left;
        Ok(())
    }

    /// A copy of a vector of the file; empty where the file has none.
    pub fn copy<'a, T>(
        &mut self,
        vector: Option<Vector<'a, T>>,
    ) -> Result<Vec<T::Inner>, ParseError>
    where
        T: Follow<'a> + 'a,
    {
        let Some(vector) = vector else {
            return Ok(Vec::new());
        };
        self.spend(vector.len())?;
        Ok(vector.iter().collect())
    }

    /// A copy of a list of a sparse constant; `None` where one is negative, and where the file has more than are copied.
    pub fn copy_sparse_entries<'a, T>(&mut self, list: Vector<'a, T>) -> Option<Vec<u32>>
    where
        T: Follow<'a> + 'a,
        T::Inner: TryInto<u32>,
    {
        self.sparse_entries_left = self.sparse_entries_left.checked_sub(list.len())?;
        list.iter().map(|entry| entry.try_into().ok()).collect()
    }

    /// A copy of a string of the file; empty where the file has none.
    pub fn copy_str(&mut self, text: Option<&str>) -> Result<String, ParseError> {
        let text = text.unwrap_or_default();
        self.spend(text.len())?;
        Ok(text.to_owned())
    }

    /// `quantization`, shared with the tensors that have the same: large networks have a hundred thousand of them.
    pub fn share_quantization(&mut self, quantization: Quantization) -> Arc<Quantization> {
        let mut hasher = FixedState::default().build_hasher();
        bits(&quantization).for_each(|bits| bits.hash(&mut hasher));
        match self.quantizations.get(&hasher.finish()) {
            Some(known) if bits(known).eq(bits(&quantization)) => known.clone(),
            Some(_) => Arc::new(quantization),
            None => {
                let first = Arc::new(quantization);
                self.quantizations.insert(hasher.finish(), first.clone());
                first
            }
        }
    }

    /// The operator code with this index.
    pub fn code(
        &mut self,
        code_idx: u32,
        place: &OperatorPlace,
    ) -> Result<OperatorCode, ParseError> {
        let count = self.codes.len();
        let code = usize::try_from(code_idx)
            .ok()
            .and_then(|i| self.codes.get(i))
            .cloned();
        let code = code.ok_or_else(|| ParseError::IndexOutOfRange {
            place: place.to_string(),
            what: "operator code index",
            index: code_idx.into(),
            holder: "the file".into(),
            count,
            counted: "operator codes",
        })?;
        self.spend(code.custom.as_ref().map_or(0, |name| name.len()))?;
        Ok(code)
    }

    /// The subgraph with this index, that an operator runs.
    pub fn subgraph_idx(&self, index: i64, place: &OperatorPlace) -> Result<usize, ParseError> {
        checked_index(index, self.n_subgraphs).ok_or_else(|| ParseError::IndexOutOfRange {
            place: place.to_string(),
            what: "subgraph index",
            index,
            holder: "the file".into(),
            count: self.n_subgraphs,
            counted: "subgraphs",
        })
    }
}

/// All that a quantization says: unlike numbers, bits tell -0 from 0, and are equal where no number is.
fn bits(quantization: &Quantization) -> impl Iterator<Item = u64> {
    let dimension = u64::from(quantization.quantized_dimension.cast_unsigned());
    let scale = quantization
        .scale
        .iter()
        .map(|scale| u64::from(scale.to_bits()));
    let zero_point = quantization
        .zero_point
        .iter()
        .map(|zero| zero.cast_unsigned());
    std::iter::once(dimension).chain(scale).chain(zero_point)
}

/// `index` where it is one of `count`.
pub(super) fn checked_index(index: i64, count: usize) -> Option<usize> {
    usize::try_from(index).ok().filter(|&index| index < count)
}

/// Diagnostics of one file: the first [`MAX_DIAGNOSTICS`], and the number of further ones.
#[derive(Default)]
pub(super) struct Diagnostics {
    kept: Vec<Diagnostic>,
    n_dropped: usize,
}

impl Diagnostics {
    /// `message` is called only where the diagnostic is kept.
    pub fn push(
        &mut self,
        severity: Severity,
        code: &'static str,
        message: impl FnOnce() -> String,
    ) {
        if self.kept.len() < MAX_DIAGNOSTICS {
            self.kept.push(Diagnostic {
                severity,
                code,
                message: message(),
                operator_idx: None,
            });
        } else {
            self.n_dropped = self.n_dropped.saturating_add(1);
        }
    }

    pub fn into_vec(mut self) -> Vec<Diagnostic> {
        if self.n_dropped > 0 {
            self.kept.push(Diagnostic {
                severity: Severity::Info,
                code: "more-diagnostics",
                message: format!("{} more diagnostics are not listed", self.n_dropped),
                operator_idx: None,
            });
        }
        self.kept
    }
}

/// Where a tensor is, for messages.
pub(super) struct TensorPlace<'a> {
    pub subgraph_idx: usize,
    pub tensor_idx: usize,
    pub name: &'a str,
}

impl std::fmt::Display for TensorPlace<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        let Self {
            subgraph_idx,
            tensor_idx,
            name,
        } = self;
        write!(
            f,
            "tensor `{}` (subgraph {subgraph_idx}, tensor {tensor_idx})",
            shown(name)
        )
    }
}

/// Where an operator is, for messages. The name is empty until the operator code is read.
#[derive(Clone, Copy)]
pub(super) struct OperatorPlace<'a> {
    pub subgraph_idx: usize,
    pub operator_idx: usize,
    pub name: &'a str,
}

impl std::fmt::Display for OperatorPlace<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        let Self {
            subgraph_idx,
            operator_idx,
            name,
        } = self;
        let separator = if name.is_empty() { "" } else { " " };
        write!(
            f,
            "operator{separator}{} (subgraph {subgraph_idx}, operator {operator_idx})",
            shown(name)
        )
    }
}
