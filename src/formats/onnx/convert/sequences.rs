//! Sequences of tensors: lists of values that are known while reading.

use std::rc::Rc;

use super::Converter;
use super::layouts::equal_sizes;
use super::value::{Known, Place, Value, axis};
use crate::formats::builder::OPERAND_BYTES;
use crate::formats::onnx::limits::MAX_SEQUENCE;
use crate::formats::onnx::names::Name;
use crate::formats::onnx::proto::Node;
use crate::formats::tflite::TensorType;

/// Values that all copies of a sequence share.
type Sequence<'a> = Rc<Vec<Rc<Value<'a>>>>;

impl<'a> Converter<'a> {
    pub(super) fn sequence(&mut self, node: &'a Node<'a>) -> Option<()> {
        let output = self.output(node)?;
        match node.text.op_type {
            "SequenceEmpty" => self.define_sequence(output, Vec::new()),
            "SequenceConstruct" => {
                self.construct_sequence(node, output)?;
            }
            "SplitToSequence" => {
                let values = self.split_values(node, output)?;
                self.define_sequence(output, values);
            }
            "SequenceInsert" => {
                let n = self.values_of(node)?.len();
                let at = self.sequence_position(node, 2, n, n)?;
                (n < MAX_SEQUENCE && at <= n).then_some(())?;
                let value = Rc::new(self.input(node, 1)?);
                self.change_sequence(node, output, |values| values.insert(at, value))?;
            }
            "SequenceErase" => {
                let n = self.values_of(node)?.len();
                let at = self.sequence_position(node, 1, n, n.checked_sub(1)?)?;
                (at < n).then_some(())?;
                self.change_sequence(node, output, |values| drop(values.remove(at)))?;
            }
            "SequenceAt" => {
                let values = self.values_of(node)?;
                let at = self.sequence_position(node, 1, values.len(), usize::MAX)?;
                let value = Value::clone(values.get(at)?);
                // What the sequence itself reads stays, for another node may take the same value from it.
                let reads = (value.tensor_idx())
                    .map(|tensor| self.network.reads.entry(tensor).or_default());
                if let Some(reads) = reads {
                    *reads = reads.saturating_add(1);
                }
                self.define_copy(output, value);
            }
            "SequenceLength" => {
                let n = i64::try_from(self.values_of(node)?.len()).ok()?;
                let known = Some(Known::Integers(vec![n]));
                self.constant(output, TensorType::Int64, Vec::new(), known)?;
            }
            "ConcatFromSequence" => {
                let values = self.values_of(node)?.clone();
                // The file lists none of these operands.
                self.limits
                    .spend_bytes(values.len().saturating_mul(OPERAND_BYTES))?;
                let values: Vec<Value> = values.iter().map(|value| Value::clone(value)).collect();
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

    fn construct_sequence(&mut self, node: &'a Node<'a>, output: Name<'a>) -> Option<()> {
        (node.inputs.len() <= MAX_SEQUENCE).then_some(())?;
        let mut values: Vec<Rc<Value>> = Vec::with_capacity(node.inputs.len());
        for (at, name) in node.inputs.iter().enumerate() {
            let before = at.checked_sub(1).and_then(|at| node.inputs.get(at));
            // The same value once more.
            if let Some(value) = values.last().filter(|_| before == Some(name)).cloned() {
                values.push(value);
                continue;
            }
            let value = self.input(node, at)?;
            self.limits.spend_value(&value)?;
            values.push(Rc::new(value));
        }
        self.names
            .values
            .insert(output, sequence_value(output, Rc::new(values)));
        Some(())
    }

    /// The parts of a `SplitToSequence`: of given sizes, all of one size, or single ones, which may lose their dimension.
    fn split_values(&mut self, node: &'a Node<'a>, output: Name<'a>) -> Option<Vec<Value<'a>>> {
        let (x, shape) = self.input_with_shape(node, 0)?;
        let along = axis(node.integer("axis").unwrap_or(0), shape.len())?;
        let side = *shape.get(along)?;
        let is_given = node.inputs.get(1).is_some_and(|name| !name.is_empty());
        let each = if !is_given {
            Some(1)
        } else if self.shape(node, 1)?.is_empty() {
            Some(self.whole_number_of(node, 1)?)
        } else {
            None
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
        let parts = self.undefined_parts(&x, &shape, along, &sizes, &[])?;
        if is_given || node.integer("keepdims") != Some(0) {
            return Some(parts);
        }
        let squeezed = parts.into_iter().map(|part| {
            let part_shape = part.shape.clone()?;
            let mut shape = part_shape.clone();
            shape.remove(along);
            self.reshape(output, &part, &part_shape, shape)?;
            // The name is that of the sequence.
            let part = self.names.values.remove(&output)?;
            Some(Value {
                name: Name::default(),
                ..part
            })
        });
        squeezed.collect()
    }

    fn define_sequence(&mut self, name: Name<'a>, values: Vec<Value<'a>>) {
        let values = values.into_iter().map(Rc::new).collect();
        self.names
            .values
            .insert(name, sequence_value(name, Rc::new(values)));
    }

    /// The sequence that a node reads first, with a change. It is copied only where something else reads it too.
    fn change_sequence(
        &mut self,
        node: &Node<'a>,
        output: Name<'a>,
        change: impl FnOnce(&mut Vec<Rc<Value<'a>>>),
    ) -> Option<()> {
        let name = node.inputs.first()?;
        let mut values = match self.names.uses.get(name) {
            Some(1) => {
                let value = self.names.values.get_mut(name)?;
                let Place::Sequence(values) = &mut value.place else {
                    return None;
                };
                std::mem::take(values)
            }
            _ => self.values_of(node)?.clone(),
        };
        if Rc::get_mut(&mut values).is_none() {
            const ENTRY_BYTES: usize = 16;
            self.limits
                .spend_bytes(values.len().saturating_mul(ENTRY_BYTES))?;
        }
        change(Rc::make_mut(&mut values));
        self.names
            .values
            .insert(output, sequence_value(output, values));
        Some(())
    }

    /// Tensors of the sequence that a node reads first.
    fn values_of(&self, node: &Node<'a>) -> Option<&Sequence<'a>> {
        self.names.values.get(node.inputs.first()?)?.sequence()
    }

    /// A place in a sequence of `n` that a constant input gives, negative ones from the end; `default` if it is left out.
    fn sequence_position(
        &self,
        node: &Node<'a>,
        position: usize,
        n: usize,
        default: usize,
    ) -> Option<usize> {
        match node.inputs.get(position).filter(|name| !name.is_empty()) {
            None => Some(default),
            Some(_) => {
                let at = self.whole_number_of(node, position)?;
                axis(at, n).or_else(|| usize::try_from(at).ok())
            }
        }
    }
}

fn sequence_value<'a>(name: Name<'a>, values: Sequence<'a>) -> Value<'a> {
    Value {
        name,
        tensor_type: TensorType::Float32,
        shape: None,
        place: Place::Sequence(values),
    }
}
