//! Bodies of `If`, of which one counts as part of the graph.

use super::Converter;
use super::value::Value;
use crate::formats::onnx::error::ParseError;
use crate::formats::onnx::names::Name;
use crate::formats::onnx::proto::{Body, Node};

impl<'a> Converter<'a> {
    /// Whether nodes of a body count: those of an `If` if its body is the one that counts and the bodies around it do,
    /// those of a loop while it runs.
    pub(super) fn is_counted(&mut self, body: Option<Body>) -> Result<bool, ParseError> {
        match body {
            None => Ok(true),
            Some(Body::Loop(loop_idx)) => Ok(self.loops.running.contains(&loop_idx)),
            Some(Body::Side {
                branch_idx,
                side_idx,
            }) => {
                let graph = self.graph;
                let around = graph
                    .branches
                    .get(branch_idx)
                    .and_then(|branch| branch.body);
                Ok(self.is_counted(around)? && self.counted_side(branch_idx)? == side_idx)
            }
        }
    }

    /// The body of an `If` that counts: the one that its condition chooses or, where the condition is known only at
    /// inference, the one whose products read more weights or, of as many, the one with more bytes.
    fn counted_side(&mut self, branch_idx: usize) -> Result<usize, ParseError> {
        let graph = self.graph;
        let (Some(&known), Some(branches)) = (
            self.branches.counted.get(branch_idx),
            graph.branches.get(branch_idx),
        ) else {
            return Ok(0);
        };
        if let Some(side_idx) = known {
            return Ok(side_idx);
        }
        let condition = self.names.values.get(&branches.condition);
        let side_idx = match condition.and_then(Value::number) {
            Some(holds) => usize::from(holds == 0.0),
            None => {
                self.branches.n_assumed = self.branches.n_assumed.saturating_add(1);
                // Whichever body runs, the condition is computed.
                self.branches
                    .conditions
                    .extend(condition.and_then(Value::tensor_idx));
                let [first, second] = &branches.sides;
                let weights = self
                    .branches
                    .weights
                    .get(branch_idx)
                    .copied()
                    .unwrap_or_default();
                let is_second = (weights[1], second.n_bytes) > (weights[0], first.n_bytes);
                usize::from(is_second)
            }
        };
        if let Some(place) = self.branches.counted.get_mut(branch_idx) {
            *place = Some(side_idx);
        }
        let side = branches.sides.get(side_idx);
        for (idx, tensor) in side
            .into_iter()
            .flat_map(|side| side.initializers.iter().enumerate())
        {
            self.define_initializer(*tensor, || {
                format!("initializer {idx} in the body of an If")
            })?;
        }
        Ok(side_idx)
    }

    /// The results of an `If` are those of the body that counts.
    pub(super) fn define_branch_results(
        &mut self,
        node: &'a Node<'a>,
        branch_idx: usize,
    ) -> Result<(), ParseError> {
        let graph = self.graph;
        let side_idx = self.counted_side(branch_idx)?;
        let n_before = match side_idx {
            0 => 0,
            _ => graph
                .branches
                .get(branch_idx)
                .map_or(0, |branch| branch.sides[0].n_outputs),
        };
        // The condition comes first.
        let results = node.inputs.iter().skip(n_before.saturating_add(1));
        for (&output, result) in node.outputs.iter().zip(results) {
            let Some(value) = self.names.values.get(result).cloned() else {
                continue;
            };
            self.define_copy(output, value);
        }
        Ok(())
    }

    /// Another name for a tensor, constant or sequence that is read once here.
    pub(super) fn define_copy(&mut self, name: Name<'a>, value: Value<'a>) {
        let aliased = match (value.shape.clone(), value.perm()) {
            (Some(shape), Some(perm)) => self.alias(name, &value, shape, perm),
            _ => None,
        };
        if aliased.is_none() {
            self.names.values.insert(name, Value { name, ..value });
        }
    }
}
