//! Checks that the shapes and types of an operator's operands are consistent with each other.

use std::collections::BTreeSet;

use super::calls::Calls;
use super::window::windows;
use crate::diagnostic::{Diagnostic, Severity, some_of};
use crate::formats::tflite::op_row::{Effect, ShapeRule, Work};
use crate::formats::tflite::{
    Buffer, BuiltinOptions, Format, Model, OpKind, Operator, Tensor, TensorType,
};
use crate::graph::shapes::inference::{self, Outputs, Unshaped};
use crate::graph::{Graph, Node};

/// An operator with a combination of operands that no kernel supports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contradiction {
    /// Index into [`Graph::nodes`].
    pub node_idx: usize,
    /// In words.
    pub why: &'static str,
}

/// The contradictions of a graph in topological order, each operator once. An operator that runs other subgraphs is
/// included if an operator in them has a contradiction; if several run the same subgraph, only the first is included.
/// Unknown shapes, and dimensions that are known only at run time, never contradict. Linear in operands.
pub fn contradictions(graph: &Graph) -> Vec<Contradiction> {
    let mut visited = BTreeSet::from([graph.subgraph_idx]);
    let mut of_node = |(node_idx, node): (usize, &Node)| {
        let tensors = &graph.subgraph.tensors;
        let why = contradiction(graph.model, tensors, node.operator)
            .or_else(|| contradiction_in_called(graph.model, node.operator, &mut visited))?;
        Some(Contradiction { node_idx, why })
    };
    let nodes = graph.nodes.iter().enumerate();
    nodes.filter_map(&mut of_node).collect()
}

/// The first contradiction in the subgraphs that an operator runs, directly or indirectly, and that were not visited
/// before.
fn contradiction_in_called(
    model: &Model,
    operator: &Operator,
    visited: &mut BTreeSet<usize>,
) -> Option<&'static str> {
    let mut left = Calls::from_options(&operator.options).subgraphs().to_vec();
    let mut first = None;
    while let Some(subgraph_idx) = left.pop() {
        if !visited.insert(subgraph_idx) {
            continue;
        }
        let Some(subgraph) = model.subgraphs.get(subgraph_idx) else {
            continue;
        };
        for operator in subgraph.operators.iter() {
            left.extend(Calls::from_options(&operator.options).subgraphs());
            first = first.or_else(|| contradiction(model, &subgraph.tensors, operator));
        }
    }
    first
}

/// A diagnostic that every number that follows from shapes is uncertain.
pub fn doubt(graph: &Graph, contradictions: &[Contradiction]) -> Option<Diagnostic> {
    let node = |one: &Contradiction| &graph.nodes[one.node_idx];
    let first = node(contradictions.first()?);
    let each = contradictions.iter().map(|one| {
        let (name, idx) = (node(one).operator.code.name(), node(one).operator_idx);
        format!("{name} {idx}: {}", one.why)
    });
    Some(Diagnostic {
        severity: Severity::Warning,
        code: "contradicting-shapes",
        message: format!(
            "operands of {} of {} operators contradict each other ({})",
            contradictions.len(),
            graph.nodes.len(),
            some_of(each, "; ")
        ),
        operator_idx: Some(first.operator_idx),
    })
}

/// Whether the result has the size that a constant states. In a network that was changed, the constant may state the old
/// size.
fn is_shaped_by_values(kind: OpKind) -> bool {
    use ShapeRule::{
        BroadcastTo, Reshape, Resize, Slice, Stated, StridedSlice, TransposedConvolution,
        TransposedConvolution3d,
    };
    matches!(
        kind.row().shape,
        BroadcastTo
            | Reshape
            | Resize
            | Slice
            | Stated(_)
            | StridedSlice
            | TransposedConvolution
            | TransposedConvolution3d
    )
}

/// Why no kernel supports the operands of an operator.
fn contradiction(model: &Model, tensors: &[Tensor], operator: &Operator) -> Option<&'static str> {
    if let BuiltinOptions::Foreign(foreign) = &operator.options {
        return foreign.contradiction;
    }
    if let Some(why) = against_subgraphs(model, tensors, operator) {
        return Some(why);
    }
    let call = OperatorCall {
        tensors,
        buffers: &model.buffers,
        operator,
    };
    // Operators of other formats became those of TFLite, in their own types, and frameworks whose graphs are exported
    // convert types without an operator.
    let of_types = match model.format {
        Format::Tflite => call.against_types(),
        Format::GraphJson | Format::Onnx | Format::Ncnn => None,
    };
    if let Some(why) = of_types {
        return Some(why);
    }
    if !is_shaped_by_values(operator.code.kind) {
        return call.against_rule();
    }
    let by_value = || {
        if model.is_reshaped {
            None
        } else {
            call.against_rule()
        }
    };
    call.against_operands().or_else(by_value)
}

/// Compares the operands of an operator that runs subgraphs with the inputs and outputs of these subgraphs: their
/// number, and the shapes that both sides know, because work in the subgraph is counted by them. Linear in the
/// operator's operands.
fn against_subgraphs(
    model: &Model,
    tensors: &[Tensor],
    operator: &Operator,
) -> Option<&'static str> {
    let fits = |idx: usize, read: &[Option<usize>], written: &[usize]| {
        let Some(subgraph) = model.subgraphs.get(idx) else {
            return true;
        };
        let fits = |outside: Option<usize>, inside: usize| {
            let outside = outside.map(|tensor_idx| &tensors[tensor_idx]);
            outside.is_none_or(|outside| is_alike(model, outside, &subgraph.tensors[inside]))
        };
        let written: Vec<Option<usize>> = written.iter().copied().map(Some).collect();
        let sides = [(read, &subgraph.inputs), (&*written, &subgraph.outputs)];
        sides.into_iter().all(|(outside, inside)| {
            let mut pairs = outside.iter().zip(inside);
            outside.len() == inside.len() && pairs.all(|(outside, inside)| fits(*outside, *inside))
        })
    };
    let (read, written) = (&*operator.inputs, &*operator.outputs);
    let is_possible = match Calls::from_options(&operator.options) {
        Calls::Nothing | Calls::Initially(_) => true,
        Calls::Always([callee]) => fits(callee, read, written),
        // The first operand selects the branch that runs.
        Calls::OneOf(branches) => {
            let read = read.get(1..).unwrap_or_default();
            branches
                .into_iter()
                .all(|branch| fits(branch, read, written))
        }
        Calls::Loop([condition, body]) => {
            let taken = model
                .subgraphs
                .get(condition)
                .map(|subgraph| subgraph.inputs.len());
            taken.is_none_or(|n_taken| n_taken == read.len()) && fits(body, read, written)
        }
    };
    (!is_possible).then_some("a subgraph that takes or gives other operands")
}

/// Whether two tensors may have the same shape. Unknown dimensions may have any size.
fn is_alike(model: &Model, one: &Tensor, other: &Tensor) -> bool {
    let is_known = |tensor: &Tensor| tensor.has_rank && !tensor.is_dynamic();
    let are_known = is_known(one) && is_known(other) && !model.is_reshaped;
    !are_known || one.shape == other.shape
}

/// One operator of a subgraph.
struct OperatorCall<'c> {
    tensors: &'c [Tensor],
    buffers: &'c [Buffer<'c>],
    operator: &'c Operator,
}

/// Sizes of dimensions; `None` for a dimension that is known only at run time.
type Sizes = Vec<Option<i32>>;

/// Substitute for the size of a dimension that is known only at run time: large, and a multiple of common divisors.
const OPEN_SIZE: i32 = 5040;

const OTHER_SHAPE: &str = "the output has another shape than the inputs give it";

impl OperatorCall<'_> {
    /// Whether a tensor has open dimensions. Those of a constant are known, whatever its signature says.
    fn is_open(&self, tensor: &Tensor) -> bool {
        let buffer = self.buffers.get(tensor.buffer_idx);
        tensor.is_dynamic() && buffer.is_none_or(Buffer::is_empty)
    }

    fn is_open_at(&self, tensor: &Tensor, at: usize) -> bool {
        let mut signature = tensor.shape_signature.iter().flatten();
        self.is_open(tensor) && signature.nth(at).is_some_and(|&size| size < 0)
    }

    fn operands(&self) -> impl Iterator<Item = &Tensor> {
        let places = self.operator.inputs.iter().flatten();
        let places = places.chain(&self.operator.outputs);
        places.map(|&tensor_idx| &self.tensors[tensor_idx])
    }

    /// Checks the stored shapes of the results against those that LiteRT computes when it loads the file.
    fn against_rule(&self) -> Option<&'static str> {
        if self.operands().any(|tensor| self.is_open(tensor)) {
            return self.against_rule_open();
        }
        let why = self.against_rule_of(self.operator)?;
        let fits = self.fits_along_another_axis() || self.fits_with_other_dimensions();
        (!fits).then_some(why)
    }

    fn against_rule_of(&self, operator: &Operator) -> Option<&'static str> {
        match inference::outputs(self.tensors, self.buffers, operator) {
            Ok(shapes) => self.differs(&[shapes]),
            Err(Unshaped::Contradiction(why)) => Some(why),
            Err(Unshaped::Unknown) => None,
        }
    }

    /// Whether the shapes fit a dense layer with the opposite value of the option that keeps dimensions. Exporters
    /// leave the option out, and the work is the same.
    fn fits_with_other_dimensions(&self) -> bool {
        let mut operator = self.operator.clone();
        let BuiltinOptions::FullyConnected { keep_num_dims, .. } = &mut operator.options else {
            return false;
        };
        *keep_num_dims = !*keep_num_dims;
        self.against_rule_of(&operator).is_none()
    }

    /// Whether the shapes fit the same operator along another axis than 0. Exporters of graphs leave the axis out, and
    /// the work is the same along any axis.
    fn fits_along_another_axis(&self) -> bool {
        let rank = self.operands().map(|tensor| tensor.shape.len()).max();
        (0..rank.unwrap_or(0)).any(|at| {
            let mut operator = self.operator.clone();
            let (BuiltinOptions::Concatenation { axis, .. }
            | BuiltinOptions::Gather { axis, .. }
            | BuiltinOptions::Pack { axis, .. }
            | BuiltinOptions::Unpack { axis, .. }) = &mut operator.options
            else {
                return false;
            };
            // The one of an option that is left out.
            if *axis != 0 {
                return false;
            }
            *axis = at as i32;
            self.against_rule_of(&operator).is_none()
        })
    }

    /// [`Self::against_rule`] where dimensions are known only at run time: checks what must hold for any size.
    fn against_rule_open(&self) -> Option<&'static str> {
        let beyond_first =
            |tensor: &Tensor| (1..tensor.shape.len()).any(|at| self.is_open_at(tensor, at));
        let is_batch = !self.operands().any(beyond_first);
        let output = &self.tensors[*self.operator.outputs.first()?];
        let sizes = [None, Some(OPEN_SIZE), output.shape.first().copied()];
        let (mut known, mut refused) = (Vec::new(), None);
        for size in sizes {
            match self.with_open(size) {
                Ok(shapes) => known.push(shapes),
                Err(Unshaped::Contradiction(why)) => refused = refused.or(Some(why)),
                Err(Unshaped::Unknown) => return None,
            }
        }
        match known.len() {
            // With several open dimensions, a combination of sizes that is not tried may be valid.
            0 => refused.filter(|_| is_batch),
            n_known if n_known == sizes.len() => self.differs(&known),
            _ => None,
        }
    }

    /// The result of the rule with `size` in place of every open dimension, or with the stored sizes if `size` is
    /// `None`.
    fn with_open(&self, size: Option<i32>) -> Result<Outputs, Unshaped> {
        let copy = |tensor: &Tensor| {
            let sizes = tensor.shape.iter().enumerate();
            let size = |(at, &stored): (usize, &i32)| match size {
                Some(size) if self.is_open_at(tensor, at) => size,
                _ => stored,
            };
            // Leave out the lists of quantisation, which are long: many operators may read the same operand.
            Tensor {
                name: Box::default(),
                tensor_type: tensor.tensor_type,
                shape: sizes.map(size).collect(),
                shape_signature: None,
                has_rank: tensor.has_rank,
                buffer_idx: tensor.buffer_idx,
                is_variable: tensor.is_variable,
                quantization: None,
                sparsity: None,
            }
        };
        let tensors: Vec<Tensor> = self.operands().map(copy).collect();
        let mut places = 0..tensors.len();
        let mut operator = self.operator.clone();
        for tensor_idx in operator.inputs.iter_mut().flatten() {
            *tensor_idx = places.next().unwrap_or_default();
        }
        for tensor_idx in &mut operator.outputs {
            *tensor_idx = places.next().unwrap_or_default();
        }
        inference::outputs(&tensors, self.buffers, &operator)
    }

    /// Whether the stored shape of an output equals none of the computed ones. Dimensions in which the computed shapes
    /// differ depend on a size that is known only at run time.
    fn differs(&self, computed: &[Outputs]) -> Option<&'static str> {
        let (first, others) = computed.split_first()?;
        let mut others: Vec<_> = others.iter().map(Outputs::each).collect();
        for (&output, shape) in self.operator.outputs.iter().zip(first.each()) {
            let others: Vec<&[i64]> = others.iter_mut().filter_map(Iterator::next).collect();
            let tensor = &self.tensors[output];
            if !tensor.has_rank {
                continue;
            }
            let is_fixed = |at: usize| {
                let is_alike = |other: &&[i64]| other.get(at) == shape.get(at);
                !self.is_open_at(tensor, at) && others.iter().all(is_alike)
            };
            let pairs = || tensor.shape.iter().zip(shape).enumerate();
            let differs = |(at, (&found, &size)): (usize, (&i32, &i64))| {
                i64::from(found) != size && is_fixed(at)
            };
            if tensor.shape.len() != shape.len() || pairs().any(differs) {
                return Some(OTHER_SHAPE);
            }
        }
        None
    }

    fn type_at(&self, place: usize) -> Option<TensorType> {
        let tensor_idx = self.operator.inputs.get(place).copied().flatten()?;
        Some(self.tensors[tensor_idx].tensor_type)
    }

    /// Checks that a kernel gets numbers of one type, beside floats perhaps weights of few bits, and makes results of that
    /// type, unless it is a result's purpose to have another. Linear in operands.
    fn against_types(&self) -> Option<&'static str> {
        use ShapeRule as R;
        let kind = self.operator.code.kind;
        let row = kind.row();
        if matches!(row.effect, Effect::Converts | Effect::Runs) {
            return None;
        }
        let of_role = |role| row.inputs_of(role).filter_map(|place| self.type_at(place));
        let is_integer = |one| TensorType::Int32.is_alike(one);
        if kind != OpKind::Range && !of_role(b'c').all(is_integer) {
            return Some("axes, sizes or indices that are no integers");
        }
        let is_choice = matches!(kind, OpKind::Select | OpKind::SelectV2);
        if is_choice && self.type_at(0) != Some(TensorType::Bool) {
            return Some("a condition that is no bool");
        }
        let data = row.inputs_of(b'x').next().unwrap_or(is_choice.into());
        let of_data = self.type_at(data)?;
        let mut others =
            (data + 1..self.operator.inputs.len()).filter_map(|place| self.type_at(place));
        let are_operands = match row.shape {
            R::Broadcast | R::Concatenate | R::Pack | R::Select if row.roles.is_empty() => {
                others.all(|other| other == of_data)
            }
            R::Product => others.all(|other| multiplies(of_data, other)),
            _ => true,
        };
        let is_layer = !matches!(row.work, Work::Nothing | Work::SparseLookup);
        let mut weights = of_role(b'w').filter(|_| is_layer).chain(of_role(b'v'));
        let mut added = of_role(b'b');
        if !are_operands
            || !weights.all(|weights| multiplies(of_data, weights))
            || !added.all(|added| of_data.is_alike(added))
        {
            return Some("operands of different types");
        }
        let output = self.tensors[*self.operator.outputs.first()?].tensor_type;
        (!has_results_of_its_own(kind) && !of_data.is_alike(output))
            .then_some("a result of another type than the input")
    }

    fn sizes(&self, tensor_idx: usize) -> Option<Sizes> {
        let tensor = &self.tensors[tensor_idx];
        let sizes = tensor.shape.iter().enumerate();
        let size = |(at, &size)| (!self.is_open_at(tensor, at)).then_some(size);
        tensor.has_rank.then(|| sizes.map(size).collect())
    }

    /// Checks what must hold for any value of the constant.
    fn against_operands(&self) -> Option<&'static str> {
        let input = |place: usize| {
            let tensor_idx = self.operator.inputs.get(place).copied().flatten()?;
            self.sizes(tensor_idx)
        };
        let output = self.sizes(*self.operator.outputs.first()?)?;
        match self.operator.code.kind.row().shape {
            ShapeRule::BroadcastTo => broadcast_to(&input(0)?, &output),
            ShapeRule::Reshape => {
                let differs = count(&input(0)?)? != count(&output)?;
                differs.then_some("input and output differ in size")
            }
            ShapeRule::Resize => resized(&input(0)?, &output),
            ShapeRule::Slice => sliced(&input(0)?, &output),
            ShapeRule::StridedSlice => {
                let is_larger = count(&output)? > count(&input(0)?)?;
                is_larger.then_some("the output is larger than the input")
            }
            ShapeRule::TransposedConvolution | ShapeRule::TransposedConvolution3d => {
                transposed(&input(2)?, &input(1)?, &output, &self.operator.options)
            }
            _ => None,
        }
    }
}

/// Whether the results are other things than the operands: truths, places, sizes or parts of complex numbers.
fn has_results_of_its_own(kind: OpKind) -> bool {
    use OpKind::{
        Bitcast, Bucketize, ComplexAbs, Equal, Greater, GreaterEqual, Imag, Less, LessEqual,
        NotEqual, Real,
    };
    use ShapeRule as R;
    matches!(
        kind,
        Bitcast
            | Bucketize
            | ComplexAbs
            | Equal
            | Greater
            | GreaterEqual
            | Imag
            | Less
            | LessEqual
            | NotEqual
            | Real
    ) || matches!(
        kind.row().shape,
        R::Best
            | R::LookUp
            | R::OneHot
            | R::Own
            | R::RankOf
            | R::ShapeOf
            | R::Stated(_)
            | R::Unknown
    )
}

/// Whether kernels multiply inputs with weights of these types. Those for floats unpack weights of up to eight bits.
fn multiplies(input: TensorType, weights: TensorType) -> bool {
    let is_packed = !weights.is_float() && weights.bits_per_value().is_some_and(|bits| bits <= 8);
    input.is_alike(weights) || input.is_float() && is_packed && weights != TensorType::Bool
}

/// Number of values; `None` if a dimension is known only at run time. A float, so that any product of dimensions fits.
fn count(sizes: &[Option<i32>]) -> Option<f64> {
    let sizes = sizes.iter().map(|&size| size.map(f64::from));
    sizes.product()
}

/// Whether two dimensions may be the same.
fn agree(one: Option<i32>, other: Option<i32>) -> bool {
    one.zip(other).is_none_or(|(one, other)| one == other)
}

/// Compares dimensions from the last one on: they must be equal, or 1 in the input.
fn broadcast_to(input: &[Option<i32>], output: &[Option<i32>]) -> Option<&'static str> {
    let mut pairs = input.iter().rev().zip(output.iter().rev());
    let fits = |(&size, &to): (&Option<i32>, &Option<i32>)| size == Some(1) || agree(size, to);
    let is_possible = input.len() <= output.len() && pairs.all(fits);
    (!is_possible).then_some("the input does not broadcast to the output")
}

/// Only rows and columns may change.
fn resized(input: &[Option<i32>], output: &[Option<i32>]) -> Option<&'static str> {
    let (&[n, _, _, c], &[out_n, _, _, out_c]) = (input, output) else {
        return Some(RANK);
    };
    (!agree(n, out_n) || !agree(c, out_c)).then_some("input and output differ in channels or batch")
}

const RANK: &str = "an operand's number of dimensions";

fn sliced(input: &[Option<i32>], output: &[Option<i32>]) -> Option<&'static str> {
    let mut pairs = input.iter().zip(output);
    let fits = |(size, part): (&Option<i32>, &Option<i32>)| {
        size.zip(*part).is_none_or(|(size, part)| part <= size)
    };
    let is_part = input.len() == output.len() && pairs.all(fits);
    (!is_part).then_some("the output is larger than the input")
}

/// Filter `[out, h, w, in]`, or `[d, h, w, out, in]` for volumes. A transposed convolution is the gradient of a
/// convolution whose input has the size of this operator's output, and the other way round.
fn transposed(
    input: &[Option<i32>],
    filter: &[Option<i32>],
    output: &[Option<i32>],
    options: &BuiltinOptions,
) -> Option<&'static str> {
    let (&[n, ref sides @ .., c], &[out_n, ref out_sides @ .., out_c]) = (input, output) else {
        return Some(RANK);
    };
    let (window, out, depth) = match *filter {
        [out, ref window @ .., depth] if window.len() == 2 => (window, out, depth),
        [ref window @ .., out, depth] if window.len() == 3 => (window, out, depth),
        _ => return Some(RANK),
    };
    if [sides.len(), out_sides.len()] != [window.len(); 2] {
        return Some(RANK);
    }
    if !agree(depth, c) {
        return Some("the filter's depth is not that of the input");
    }
    if !agree(out, out_c) {
        return Some("the filter has another number of channels than the output");
    }
    if !agree(n, out_n) {
        return Some("input and output differ in batch");
    }
    let (padding, strides) = match *options {
        BuiltinOptions::TransposeConv {
            padding,
            stride_h,
            stride_w,
            ..
        } => (padding, vec![stride_h, stride_w]),
        BuiltinOptions::Conv3D {
            padding,
            stride_d,
            stride_h,
            stride_w,
            ..
        } => (padding, vec![stride_d, stride_h, stride_w]),
        _ => return None,
    };
    // The kernel accepts any output size. A difference of one window is a choice of padding.
    let fits = |at: usize| {
        let sizes = sides[at].zip(window[at]).zip(out_sides[at]);
        sizes.is_none_or(|((size, filter), to)| {
            let n_windows = windows(to, filter, strides[at], 1, padding);
            n_windows.abs_diff(i64::from(size)) <= 1
        })
    };
    let is_possible = strides.len() == window.len() && (0..window.len()).all(fits);
    (!is_possible).then_some("the output's rows or columns are not those of the window")
}

#[cfg(test)]
mod tests;
