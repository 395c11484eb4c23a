//! Bodies of `Loop` and `Scan`: each iteration is converted as if its nodes stood in the graph.

use std::collections::HashSet;
use std::iter;

use super::Converter;
use super::patterns::Patterns;
use super::state::PartlyCounted;
use super::value::{Constant, Known, Place, Value, axis, identity};
use crate::formats::builder::OPERAND_BYTES;
use crate::formats::onnx::error::ParseError;
use crate::formats::onnx::limits::{
    FIELD_BYTES, MAX_NODE_OPERANDS, NODE_BYTES, RESERVED_BYTES, VALUE_BYTES,
};
use crate::formats::onnx::names::Name;
use crate::formats::onnx::proto::{Graph, LoopBody, Node, Tensor};
use crate::formats::tflite::{BuiltinOptions, OpKind, OperatorCode, TensorType};

/// What a `Loop` or `Scan` does with its operands.
struct Iterations<'a> {
    /// Number of iterations; absent if only values at inference decide it.
    n: Option<usize>,
    /// Initial values of the states.
    states: Vec<Value<'a>>,
    /// Inputs of a `Scan` of which each iteration takes one slice along an axis.
    sliced: Vec<(Value<'a>, usize)>,
    /// A `Loop`'s body reads the iteration's number and its condition first, and writes the next condition first.
    has_condition: bool,
}

/// The results of iterations.
#[derive(Default)]
struct Results<'a> {
    states: Vec<Value<'a>>,
    /// By result that grows with each iteration: the slices.
    slices: Vec<Vec<Value<'a>>>,
}

impl<'a> Converter<'a> {
    /// Names that loops read beside the nodes in their bodies: their results, and once more what their bodies read from
    /// outside, which a single iteration is not the last to read.
    pub(super) fn further_uses(graph: &'a Graph<'a>) -> impl Iterator<Item = Name<'a>> {
        graph.loops.iter().flat_map(|body| {
            let nodes = || graph.nodes.get(body.nodes.clone()).unwrap_or_default();
            let inside: HashSet<Name> = (nodes().iter().flat_map(|node| &node.outputs))
                .chain(&body.inputs)
                .copied()
                .collect();
            let read = nodes().iter().flat_map(|node| &node.inputs).copied();
            let captured = read.filter(move |name| !inside.contains(name));
            body.outputs.iter().copied().chain(captured)
        })
    }

    /// By loop: bytes of memory for one iteration, without the operators that it adds. Linear in nodes and their depth.
    pub(super) fn bytes_by_loop(graph: &Graph) -> Vec<usize> {
        let of_node = |node: &Node| {
            let n_operands = node.inputs.len().saturating_add(node.outputs.len());
            let of_operands = n_operands.saturating_mul(OPERAND_BYTES);
            let of_fields = node.attributes.n_fields.saturating_mul(FIELD_BYTES);
            NODE_BYTES
                .saturating_add(of_operands)
                .saturating_add(of_fields)
        };
        let of_tensor = |tensor: &Tensor| {
            let of_fields = tensor.n_fields().saturating_mul(FIELD_BYTES);
            VALUE_BYTES.saturating_add(of_fields)
        };
        let sum = |bytes: &mut dyn Iterator<Item = usize>| bytes.fold(0, usize::saturating_add);
        let of_loop = |body: &LoopBody| {
            let nodes = graph.nodes.get(body.nodes.clone()).unwrap_or_default();
            let branches = graph.branches.get(body.branches.clone());
            let sides = branches
                .unwrap_or_default()
                .iter()
                .flat_map(|branch| &branch.sides);
            let loops = graph.loops.get(body.loops.clone()).unwrap_or_default();
            // Their names are looked up in each iteration, even where they define nothing.
            let tensors = (sides.flat_map(|side| &side.initializers))
                .chain(loops.iter().flat_map(|body| &body.initializers));
            let n_ends = body.inputs.len().saturating_add(body.outputs.len());
            sum(&mut [
                NODE_BYTES,
                n_ends.saturating_mul(VALUE_BYTES),
                sum(&mut nodes.iter().map(of_node)),
                sum(&mut body.initializers.iter().chain(tensors).map(of_tensor)),
            ]
            .into_iter())
        };
        graph.loops.iter().map(of_loop).collect()
    }

    /// Whether there is room for `n` iterations that take `each` bytes.
    fn has_room(&self, n_iterations: usize, iteration_bytes: usize) -> bool {
        let all = iteration_bytes
            .saturating_mul(n_iterations)
            .saturating_add(RESERVED_BYTES);
        self.limits.repeated_left.is_some_and(|left| all <= left)
    }

    /// Converts a `Loop` or `Scan`: all iterations or, if they are too many or nobody knows how many, some and an
    /// operator that stands for the others.
    pub(super) fn repeat(
        &mut self,
        patterns: &Patterns<'a>,
        node: &'a Node<'a>,
        loop_idx: usize,
    ) -> Result<(), ParseError> {
        let graph = self.graph;
        let body = graph.loops.get(loop_idx);
        let Some((body, iterations)) = body.and_then(|body| {
            let iterations = self.iterations(node, body)?;
            self.has_free_names(body).then_some((body, iterations))
        }) else {
            self.unknown_operator(node, None);
            return Ok(());
        };
        let each = self
            .loops
            .iteration_bytes
            .get(loop_idx)
            .copied()
            .unwrap_or(0);
        let n_all = iterations.n;
        let has_all = n_all.filter(|&n| self.has_room(n, each));
        if has_all.is_none() && !self.has_room(1, each) {
            self.unknown_operator(node, None);
            return Ok(());
        }
        if self.loops.running.is_empty() {
            self.loops.paid_bytes = self.network.builder.n_bytes();
        }
        self.loops.running.push(loop_idx);
        let mut results = Results {
            states: iterations.states.clone(),
            ..Results::default()
        };
        let (n, is_complete) =
            self.iterate_all(patterns, body, &iterations, (has_all, each), &mut results)?;
        self.loops.running.pop();
        if !is_complete {
            let op_type = node.text.op_type;
            self.loops
                .partly_counted
                .push(PartlyCounted { op_type, n, n_all });
            self.append_others(node, &mut results);
        }
        self.define_results(node, results);
        Ok(())
    }

    /// Iterates `n_all` times, or once where the number is not known, as long as there is room: `iteration_bytes` is
    /// spent for each iteration beside what it adds. Returns how many iterations there were, and whether they were all.
    fn iterate_all(
        &mut self,
        patterns: &Patterns<'a>,
        body: &'a LoopBody<'a>,
        iterations: &Iterations<'a>,
        (n_all, iteration_bytes): (Option<usize>, usize),
        results: &mut Results<'a>,
    ) -> Result<(usize, bool), ParseError> {
        let (mut n, mut is_last) = (0usize, n_all == Some(0));
        while !is_last {
            let before = self.limits.repeated_left;
            self.limits.spend_bytes(iteration_bytes);
            let step = n_all.is_some().then_some(n);
            let goes_on = self.iterate(patterns, body, iterations, step, results)?;
            n = n.saturating_add(1);
            is_last = !goes_on || n_all == Some(n);
            // The first iteration adds constants that others share, so that the second one tells what each takes.
            let spent = before.zip(self.limits.repeated_left);
            let spent = spent.map_or(0, |(before, left)| before.saturating_sub(left));
            let n_left = n_all.map_or(0, |n_all| n_all.saturating_sub(n));
            let (n_next, spent) = match n {
                1 => (n_left, spent / 4),
                2 => (n_left, spent),
                _ => (1, spent),
            };
            if n_all.is_none() || !self.has_room(n_next, spent) {
                break;
            }
        }
        Ok((n, is_last))
    }

    /// `None` if the operands do not fit the body.
    fn iterations(&self, node: &Node<'a>, body: &LoopBody<'a>) -> Option<Iterations<'a>> {
        let values = |names: &[Name<'a>]| -> Option<Vec<Value<'a>>> {
            names
                .iter()
                .map(|name| self.names.values.get(name).cloned())
                .collect()
        };
        let has_condition = node.text.op_type == "Loop";
        let (states, sliced, n) = if has_condition {
            let states = values(node.inputs.get(2..)?)?;
            let n = if node.inputs.first()?.is_empty() {
                None
            } else {
                self.whole_number_of(node, 0).map(|n| n.max(0))
            };
            let holds = self.whole_number_of(node, 1);
            (
                states,
                Vec::new(),
                if holds == Some(0) { Some(0) } else { n },
            )
        } else {
            let n_sliced = usize::try_from(node.integer("num_scan_inputs")?).ok()?;
            let n_states = node.inputs.len().checked_sub(n_sliced)?;
            let (states, sliced) = node.inputs.split_at_checked(n_states)?;
            let axes = node.integers("scan_input_axes").unwrap_or_default();
            let sliced = values(sliced)?.into_iter().enumerate().map(|(at, value)| {
                let along = axis(axes.get(at).copied().unwrap_or(0), value.rank()?)?;
                Some((value, along))
            });
            let sliced: Vec<(Value, usize)> = sliced.collect::<Option<_>>()?;
            let (first, along) = sliced.first()?;
            let n = first.shape.as_ref()?.get(*along).copied();
            (values(states)?, sliced, n)
        };
        let n_own = if has_condition { 2usize } else { 0 };
        let n_inputs = n_own.checked_add(states.len())?.checked_add(sliced.len())?;
        let n_conditions = usize::from(has_condition);
        let n_results = body.outputs.len().checked_sub(n_conditions)?;
        let fits = body.inputs.len() == n_inputs
            && n_results >= states.len()
            && n_results >= node.outputs.len();
        fits.then_some(Iterations {
            n: n.and_then(|n| usize::try_from(n).ok()),
            states,
            sliced,
            has_condition,
        })
    }

    /// Whether no value has a name of the body yet.
    fn has_free_names(&self, body: &LoopBody<'a>) -> bool {
        let mut names = self.names_in(body);
        names.all(|name| name.is_empty() || !self.names.values.contains_key(&name))
    }

    /// All names that a body defines, at any depth.
    fn names_in(&self, body: &LoopBody<'a>) -> impl Iterator<Item = Name<'a>> + use<'a> {
        let graph = self.graph;
        let nodes = graph.nodes.get(body.nodes.clone()).unwrap_or_default();
        let branches = graph
            .branches
            .get(body.branches.clone())
            .unwrap_or_default();
        let loops = graph.loops.get(body.loops.clone()).unwrap_or_default();
        let of_sides = branches
            .iter()
            .flat_map(|branch| &branch.sides)
            .flat_map(|side| &side.initializers);
        let of_loops = loops.iter().flat_map(|body| &body.initializers);
        let initializers = of_sides.chain(of_loops).map(|tensor| tensor.name);
        let body_names = body.initializers.iter().map(|tensor| tensor.name);
        let body_names: Vec<Name<'a>> = body_names.chain(body.inputs.iter().copied()).collect();
        let outputs = nodes.iter().flat_map(|node| node.outputs.iter().copied());
        outputs.chain(initializers).chain(body_names)
    }

    /// Converts one iteration, whose number may be unknown. Returns whether another one may follow.
    fn iterate(
        &mut self,
        patterns: &Patterns<'a>,
        body: &'a LoopBody<'a>,
        iterations: &Iterations<'a>,
        step: Option<usize>,
        results: &mut Results<'a>,
    ) -> Result<bool, ParseError> {
        let mut inputs = body.inputs.iter().copied();
        if iterations.has_condition {
            self.n_stored = 0;
            let number = step.and_then(|step| i64::try_from(step).ok());
            let known_inputs = [(TensorType::Int64, number), (TensorType::Bool, Some(1))];
            for ((of_type, known), name) in known_inputs.into_iter().zip(inputs.by_ref()) {
                let known = known.map(|known| Known::Integers(vec![known]));
                self.constant(name, of_type, Vec::new(), known);
            }
        }
        for (state, name) in results.states.drain(..).zip(inputs.by_ref()) {
            self.define_copy(name, state);
        }
        for ((value, along), name) in iterations.sliced.iter().zip(inputs) {
            if self
                .slice_at(name, value, *along, step.unwrap_or(0))
                .is_none()
            {
                self.undetermined(name);
            }
        }
        for (idx, tensor) in body.initializers.iter().enumerate() {
            let place = || format!("initializer {idx} in the body of a loop");
            self.define_initializer(*tensor, place)?;
        }
        self.run(patterns, body.nodes.clone())?;
        let mut outputs = body
            .outputs
            .iter()
            .map(|name| self.names.values.get(name).cloned());
        let next = if iterations.has_condition {
            outputs.next()
        } else {
            None
        };
        let is_last = next.flatten().and_then(|next| next.number()) == Some(0.0);
        let values: Vec<Option<Value>> = outputs.collect();
        self.keep_results(values, iterations.states.len(), results);
        self.forget(body);
        self.limits.check(|| "an iteration of a loop".into())?;
        Ok(!is_last)
    }

    /// Adds what one iteration gives: states for the next one, and a slice of each result.
    fn keep_results(
        &mut self,
        values: Vec<Option<Value<'a>>>,
        n_states: usize,
        results: &mut Results<'a>,
    ) {
        for (at, value) in values.into_iter().enumerate() {
            let value = value.unwrap_or_else(|| undetermined(Name::default()));
            self.limits.spend_value(&value);
            match at.checked_sub(n_states) {
                None => results.states.push(value),
                Some(place) => match results.slices.get_mut(place) {
                    Some(slices) => slices.push(value),
                    None => results.slices.push(vec![value]),
                },
            }
        }
    }

    /// Removes the values of an iteration, so that the next one can define them again.
    fn forget(&mut self, body: &LoopBody<'a>) {
        for name in self.names_in(body) {
            self.names.values.remove(&name);
        }
        for branch_idx in body.branches.clone() {
            if let Some(side) = self.branches.counted.get_mut(branch_idx) {
                *side = None;
            }
        }
    }

    /// One slice along an axis, which goes away.
    fn slice_at(
        &mut self,
        name: Name<'a>,
        value: &Value<'a>,
        along: usize,
        step: usize,
    ) -> Option<()> {
        let shape = value.shape.clone()?;
        let first = i64::try_from(step).ok()?;
        let mut cuts: Vec<[i64; 3]> = shape.iter().map(|&side| [0, side, 1]).collect();
        *cuts.get_mut(along)? = [first, first.checked_add(1)?, 1];
        self.strided_slice(name, value, &cuts, shape, Some(along))
    }

    /// Adds an operator that stands for the iterations that are not counted, between the results of those that are and
    /// their readers. How many slices there are is unknown then: one value of unknown shape stands for them.
    fn append_others(&mut self, node: &Node<'a>, results: &mut Results<'a>) {
        let (mut inputs, mut outputs) = (Vec::new(), Vec::new());
        for slices in &mut results.slices {
            let earlier = slices.split_off(1.min(slices.len()));
            inputs.extend(earlier.iter().filter_map(Value::tensor_idx).map(Some));
        }
        let of_slices = results
            .slices
            .iter_mut()
            .flatten()
            .map(|value| (value, false));
        let of_states = results.states.iter_mut().map(|value| (value, true));
        for (value, is_state) in of_states.chain(of_slices) {
            let shape = value.shape.take().filter(|_| is_state);
            let Place::Tensor { tensor_idx, .. } = &mut value.place else {
                value.shape = shape;
                continue;
            };
            let sides = self.network.builder.tensors.get(*tensor_idx);
            let sides = sides
                .filter(|_| shape.is_some())
                .map(|tensor| tensor.shape.clone());
            let has_rank = sides.is_some();
            let after =
                self.network
                    .builder
                    .tensor("", value.tensor_type, sides.unwrap_or_default());
            if let Some(tensor) = self.network.builder.tensors.get_mut(after) {
                tensor.has_rank = has_rank;
            }
            if !has_rank {
                self.shapeless.push(node.text.op_type);
            }
            value.shape = shape;
            inputs.push(Some(std::mem::replace(tensor_idx, after)));
            outputs.push(after);
        }
        if outputs.is_empty() || self.limits.spend_operator(outputs.len()).is_none() {
            return;
        }
        let code = OperatorCode::from_name(&Self::foreign_name(node));
        let options = BuiltinOptions::Foreign(Box::default());
        self.network
            .builder
            .operator(code, inputs, outputs, options);
    }

    /// The states after the last iteration, and the slices of all iterations in one tensor each.
    fn define_results(&mut self, node: &'a Node<'a>, results: Results<'a>) {
        let mut outputs = node.outputs.iter().copied();
        for (state, name) in results.states.into_iter().zip(outputs.by_ref()) {
            if !name.is_empty() {
                self.define_copy(name, state);
            }
        }
        for (slices, name) in results.slices.into_iter().zip(outputs) {
            match slices.as_slice() {
                _ if name.is_empty() => {}
                [one] if one.shape.is_none() => self.define_copy(name, one.clone()),
                slices => {
                    if self.pack(name, slices).is_none() {
                        self.undetermined(name);
                    }
                }
            }
        }
    }

    /// Tensors of equal shapes along a new first dimension.
    pub(super) fn pack(&mut self, output: Name<'a>, values: &[Value<'a>]) -> Option<()> {
        let first = values.first()?;
        let shape = first.shape.as_ref()?;
        let is_equal = values
            .iter()
            .all(|value| value.shape.as_ref() == Some(shape));
        (is_equal && values.len() <= MAX_NODE_OPERANDS).then_some(())?;
        let perm = identity(shape.len());
        let inputs: Vec<Option<usize>> = (values.iter())
            .map(|value| Some(Some(self.tensor_in_order(value, &perm)?)))
            .collect::<Option<_>>()?;
        let values_count = i32::try_from(values.len()).ok()?;
        let shape: Vec<i64> = iter::once(i64::from(values_count))
            .chain(shape.iter().copied())
            .collect();
        let perm = identity(shape.len());
        let options = BuiltinOptions::Pack {
            axis: 0,
            values_count,
        };
        self.operator(
            OpKind::Pack,
            inputs,
            output,
            first.tensor_type,
            shape,
            perm,
            options,
        )
    }

    fn undetermined(&mut self, name: Name<'a>) {
        self.names.values.insert(name, undetermined(name));
    }
}

/// A value of which nothing is known.
pub(super) fn undetermined(name: Name<'_>) -> Value<'_> {
    Value {
        name,
        tensor_type: TensorType::Float32,
        shape: None,
        place: Place::Constant(Constant::default()),
    }
}
