//! The converted network without unused operators and tensors, and its diagnostics.

use std::collections::{BTreeMap, HashSet};

use super::{Converted, Converter};
use crate::diagnostic::{Diagnostic, Severity, some_of};
use crate::formats::onnx::error::ParseError;
use crate::formats::onnx::opsets::UnknownOpset;
use crate::formats::onnx::proto::Dimension;
use crate::formats::shown;
use crate::formats::tflite::{Format, Model};

/// Severity, code and message of a diagnostic.
type Doubt = (Severity, &'static str, String);

impl<'a> Converter<'a> {
    pub(super) fn finish(
        mut self,
        inputs: Vec<usize>,
        file_bytes: usize,
    ) -> Result<Converted, ParseError> {
        let graph = self.graph;
        let mut outputs = Vec::new();
        let is_input: HashSet<usize> = inputs.iter().copied().collect();
        for output in &graph.outputs {
            let Some(value) = self.names.values.get(&output.name).cloned() else {
                return Err(ParseError::UndefinedValue {
                    place: "outputs of the graph".into(),
                    name: shown(&output.name),
                });
            };
            let tensor_idx = match value.tensor_idx() {
                Some(tensor_idx) => Some(tensor_idx),
                None => value
                    .shape
                    .clone()
                    .and_then(|shape| self.constant_tensor(&value, &shape)),
            };
            let of_graph = tensor_idx.filter(|tensor_idx| !is_input.contains(tensor_idx));
            if let Some(tensor) = of_graph.and_then(|idx| self.network.builder.tensors.get_mut(idx))
            {
                tensor.name = (*output.name).into();
            }
            outputs.extend(tensor_idx);
        }
        self.unpack_mixed_operands();
        self.limits.check(|| "graph".into())?;
        let diagnostics = self.diagnostics();
        Ok(Converted {
            unmatched_dimensions: self.unmatched_dimensions(),
            builder: self.network.builder,
            version: u32::try_from(graph.opset).unwrap_or(0),
            file_bytes,
            name: graph.name.to_owned(),
            ends: [inputs, outputs],
            conditions: self.branches.conditions,
            diagnostics,
        })
    }

    pub(super) fn diagnostics(&self) -> Vec<Diagnostic> {
        let mut doubts: Vec<Doubt> = Vec::new();
        doubts.extend(self.graph.unknown_opset.map(opset_doubt));
        doubts.extend(self.doubtful_shapes());
        doubts.extend(self.uncounted_bodies());
        doubts.extend(self.open_batch());
        let diagnostics = doubts
            .into_iter()
            .map(|(severity, code, message)| Diagnostic {
                severity,
                code,
                message,
                operator_idx: None,
            });
        diagnostics.collect()
    }

    fn doubtful_shapes(&self) -> Vec<Doubt> {
        let mut doubts = Vec::new();
        if !self.shapeless.is_empty() {
            let message = format!(
                "the file does not tell the shapes of {} results of nodes: {}",
                self.shapeless.len(),
                by_name(&self.shapeless)
            );
            doubts.push((Severity::Warning, "unknown-shape", message));
        }
        if !self.sized_by_values.is_empty() {
            let message = format!(
                "only values at inference decide how many results {} nodes have, and the most possible are counted: {}",
                self.sized_by_values.len(),
                by_name(&self.sized_by_values)
            );
            doubts.push((Severity::Info, "largest-size-counted", message));
        }
        let declared = self.declared_otherwise();
        doubts.extend(declared.map(|message| (Severity::Warning, "declared-shapes", message)));
        doubts
    }

    /// Functions, branches and iterations that no operator stands for.
    fn uncounted_bodies(&self) -> Vec<Doubt> {
        let mut doubts = Vec::new();
        if self.graph.n_opaque_calls > 0 {
            let message = format!(
                "{} nodes call functions of the file that are nested too deeply or are too long: these nodes cost nothing",
                self.graph.n_opaque_calls
            );
            doubts.push((Severity::Warning, "functions", message));
        }
        if self.branches.n_assumed > 0 {
            let message = format!(
                "{} of {} If: the condition is known only at inference, and the body with more weights is counted",
                self.branches.n_assumed,
                self.graph.branches.len()
            );
            doubts.push((Severity::Info, "costlier-branch-counted", message));
        }
        if !self.loops.partly_counted.is_empty() {
            let counts = counts(&self.loops.partly_counted).into_iter();
            let each = counts.map(|(counted, n_loops)| {
                let n_all = counted
                    .n_all
                    .map_or("an unknown number".into(), |n| n.to_string());
                let name = shown(counted.op_type);
                format!("{} of {n_all} iterations of {name} ({n_loops})", counted.n)
            });
            let message = format!(
                "not all iterations are counted of loops that have many, or a number that is known only at inference: {}",
                some_of(each, ", ")
            );
            doubts.push((Severity::Warning, "iteration-counted-once", message));
        }
        doubts
    }

    fn open_batch(&self) -> Option<Doubt> {
        let assumed = self.dimensions.assumed(&self.graph.inputs);
        (!assumed.is_empty()).then(|| {
            let message = format!(
                "the first dimension is open ({}): counted as {}",
                assumed.join(", "),
                self.dimensions.batch
            );
            (Severity::Info, "dynamic-batch", message)
        })
    }

    /// Values whose declared shape differs from the computed one. Runtimes use the computed shape.
    fn declared_otherwise(&self) -> Option<String> {
        let infos = self.graph.value_infos.iter().chain(&self.graph.outputs);
        let other = infos.filter_map(|info| {
            let declared = info
                .shape
                .as_ref()
                .filter(|declared| !declared.is_empty())?;
            let shape = self.names.values.get(&info.name)?.shape.as_ref()?;
            let is_other = |(declared, actual): (&Dimension, &i64)| match declared {
                Dimension::Size(size) => *size > 0 && size != actual,
                _ => false,
            };
            let differs = declared.len() != shape.len() || declared.iter().zip(shape).any(is_other);
            differs.then_some((info.name, declared, shape))
        });
        let mut names = HashSet::new();
        let other: Vec<_> = other.filter(|(name, ..)| names.insert(*name)).collect();
        let sides = |declared: &[Dimension]| {
            let each = declared.iter().map(|dimension| match dimension {
                Dimension::Size(size) => size.to_string(),
                Dimension::Named(name) => shown(name),
                Dimension::Unknown => "?".to_owned(),
            });
            each.collect::<Vec<_>>().join(", ")
        };
        let each = other.iter().map(|(name, declared, shape)| {
            let name = shown(name);
            format!(
                "`{name}` is declared as [{}], and is {shape:?}",
                sides(declared)
            )
        });
        (!other.is_empty()).then(|| {
            format!(
                "operators give {} values other shapes than the file declares, and these count ({})",
                other.len(),
                some_of(each, "; ")
            )
        })
    }
}

impl Converted {
    pub fn into_model(mut self) -> Model<'static> {
        self.drop_unused();
        let model = self.builder.model(
            Format::Onnx,
            self.version,
            self.file_bytes,
            self.name,
            self.ends,
            self.diagnostics,
        );
        Model {
            unmatched_dimensions: self.unmatched_dimensions,
            ..model
        }
    }

    /// Leaves out operators whose results nothing reads, and tensors that no operator has: constants that were
    /// folded.
    fn drop_unused(&mut self) {
        let Self {
            builder,
            ends,
            conditions,
            ..
        } = self;
        let mut is_read = vec![false; builder.tensors.len()];
        for &read in ends[1].iter().chain(&*conditions) {
            if let Some(is_read) = is_read.get_mut(read) {
                *is_read = true;
            }
        }
        let mut is_kept = vec![false; builder.operators.len()];
        for (operator, is_kept) in builder.operators.iter().zip(&mut is_kept).rev() {
            let mut outputs = operator.outputs.iter();
            *is_kept = outputs.any(|&output| is_read.get(output) == Some(&true));
            for &input in operator.inputs.iter().flatten().filter(|_| *is_kept) {
                if let Some(is_read) = is_read.get_mut(input) {
                    *is_read = true;
                }
            }
        }
        let mut is_kept = is_kept.into_iter();
        (builder.operators).retain(|_| is_kept.next().unwrap_or(true));
        let mut is_used = vec![false; builder.tensors.len()];
        let operands = builder.operators.iter().flat_map(|operator| {
            let inputs = operator.inputs.iter().flatten();
            inputs.chain(&operator.outputs).copied()
        });
        for tensor_idx in operands.chain(ends.iter().flatten().copied()) {
            if let Some(is_used) = is_used.get_mut(tensor_idx) {
                *is_used = true;
            }
        }
        let mut next = 0usize;
        let new: Vec<usize> = (is_used.iter())
            .map(|&is_used| {
                let idx = next;
                next = next.saturating_add(usize::from(is_used));
                idx
            })
            .collect();
        let renumber =
            |tensor_idx: &mut usize| *tensor_idx = new.get(*tensor_idx).copied().unwrap_or(0);
        for operator in &mut builder.operators {
            operator.inputs.iter_mut().flatten().for_each(renumber);
            operator.outputs.iter_mut().for_each(renumber);
        }
        ends.iter_mut().flatten().for_each(renumber);
        let mut is_used = is_used.into_iter();
        (builder.tensors).retain(|_| is_used.next().unwrap_or(true));
    }
}

fn opset_doubt((&(domain, last), opset): UnknownOpset) -> Doubt {
    let is = if opset > last {
        "is newer than this reader"
    } else {
        "does not exist"
    };
    let message = format!(
        "the file has opset {opset} of {domain}, which {is}: its operators are read as those of opset {last}"
    );
    (Severity::Warning, "newer-opset", message)
}

/// Names of operators with how often each occurs.
fn by_name(names: &[&str]) -> String {
    let each = counts(names)
        .into_iter()
        .map(|(name, n)| format!("{} ({n})", shown(name)));
    some_of(each, ", ")
}

/// How often each entry occurs.
fn counts<T: Copy + Ord>(entries: &[T]) -> BTreeMap<T, usize> {
    let mut counts = BTreeMap::new();
    for entry in entries {
        let n: &mut usize = counts.entry(*entry).or_default();
        *n = n.saturating_add(1);
    }
    counts
}
