//! Sequences of tensors: lists of values that are known while reading.

use super::Converter;
use super::layouts::equal_sizes;
use super::loops::undetermined;
use super::value::{Known, Value, axis};
use crate::formats::onnx::limits::MAX_SEQUENCE;
use crate::formats::onnx::proto::Node;
use crate::formats::tflite::TensorType;

impl<'a> Converter<'a> {
    pub(super) fn sequence(&mut self, node: &'a Node<'a>) -> Option<()> {
        let output = self.output(node)?;
        match node.text.op_type {
            "SequenceEmpty" => self.define_sequence(output, Vec::new()),
            "SequenceConstruct" => {
                let values = (0..node.inputs.len()).map(|at| self.input(node, at));
                let values: Vec<Value> = values.collect::<Option<_>>()?;
                (values.len() <= MAX_SEQUENCE).then_some(())?;
                self.define_sequence(output, values);
            }
            "SplitToSequence" => {
                let values = self.split_values(node, output)?;
                self.define_sequence(output, values);
            }
            "SequenceInsert" => {
                let mut values = self.values_of(node)?;
                let at = self.place_in(node, 2, &values, values.len())?;
                (values.len() < MAX_SEQUENCE && at <= values.len()).then_some(())?;
                values.insert(at, self.input(node, 1)?);
                self.define_sequence(output, values);
            }
            "SequenceErase" => {
                let mut values = self.values_of(node)?;
                let at = self.place_in(node, 1, &values, values.len().checked_sub(1)?)?;
                (at < values.len()).then_some(())?;
                values.remove(at);
                self.define_sequence(output, values);
            }
            "SequenceAt" => {
                let values = self.values_of(node)?;
                let at = self.place_in(node, 1, &values, usize::MAX)?;
                let value = values.get(at)?.clone();
                // What the sequence itself reads stays, for another node may take the same value from it.
                let reads =
                    (value.tensor_idx()).map(|tensor| self.reads.entry(tensor).or_default());
                if let Some(reads) = reads {
                    *reads = reads.saturating_add(1);
                }
                self.copy(output, value);
            }
            "SequenceLength" => {
                let n = i64::try_from(self.values_of(node)?.len()).ok()?;
                let known = Some(Known::Integers(vec![n]));
                self.constant(output, TensorType::Int64, Vec::new(), known)?;
            }
            "ConcatFromSequence" => {
                let values = self.values_of(node)?;
                match node.integer("new_axis") {
                    Some(1) => {
                        (node.integer("axis")? == 0).then_some(())?;
                        self.pack(output, &values)?;
                    }
                    _ => self.concat_values(node, output, &values)?,
                }
            }
            _ => return None,
        }
        Some(())
    }

    /// The parts of a `SplitToSequence`: of given sizes, all of one size, or single ones, which may lose their dimension.
    fn split_values(&mut self, node: &'a Node<'a>, output: &'a str) -> Option<Vec<Value<'a>>> {
        let (x, shape) = self.shaped(node, 0)?;
        let along = axis(node.integer("axis").unwrap_or(0), shape.len())?;
        let side = *shape.get(along)?;
        let is_given = node.inputs.get(1).is_some_and(|name| !name.is_empty());
        let each = match is_given {
            true if self.shape(node, 1)?.is_empty() => Some(self.whole_of(node, 1)?),
            true => None,
            false => Some(1),
        };
        let sizes = match each {
            None => self.integers_of(node, 1)?,
            Some(each) => {
                let n = (side.checked_add(each)?.checked_sub(1)?).checked_div(each)?;
                (each > 0 && usize::try_from(n).ok()? <= MAX_SEQUENCE).then_some(())?;
                equal_sizes(side, each, n)?
            }
        };
        (1..=MAX_SEQUENCE).contains(&sizes.len()).then_some(())?;
        let parts = self.parts(&x, &shape, along, &sizes, &[])?;
        if is_given || node.integer("keepdims") != Some(0) {
            return Some(parts);
        }
        let squeezed = parts.into_iter().map(|part| {
            let own = part.shape.clone()?;
            let mut shape = own.clone();
            shape.remove(along);
            self.reshape(output, &part, &own, shape)?;
            // The name is that of the sequence.
            let part = self.values.remove(output)?;
            Some(Value { name: "", ..part })
        });
        squeezed.collect()
    }

    pub(super) fn define_sequence(&mut self, name: &'a str, values: Vec<Value<'a>>) {
        self.values.insert(name, undetermined(name));
        self.sequences.insert(name, values);
    }

    /// Tensors of the sequence that a node reads first.
    fn values_of(&self, node: &Node<'a>) -> Option<Vec<Value<'a>>> {
        self.sequences.get(node.inputs.first()?).cloned()
    }

    /// A place in a sequence that a constant input gives, negative ones from the end; `default` if it is left out.
    fn place_in(
        &self,
        node: &Node<'a>,
        position: usize,
        values: &[Value<'a>],
        default: usize,
    ) -> Option<usize> {
        match node.inputs.get(position).filter(|name| !name.is_empty()) {
            None => Some(default),
            Some(_) => {
                let at = self.whole_of(node, position)?;
                axis(at, values.len()).or_else(|| usize::try_from(at).ok())
            }
        }
    }
}
