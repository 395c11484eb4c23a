//! Shapes of an operator's operands against each other.

use std::collections::BTreeSet;

use super::calls::Calls;
use super::window::windows;
use crate::diagnostic::{Diagnostic, Severity, some_of};
use crate::formats::tflite::{Buffer, BuiltinOptions, Model, OpKind, Operator, Tensor};
use crate::graph::missing_shapes::{self, Outputs, Unshaped};
use crate::graph::{Graph, Node};

/// An operator whose operands no kernel takes together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contradiction {
    /// Index into [`Graph::nodes`].
    pub node_idx: usize,
    /// In words.
    pub why: &'static str,
}

/// In topological order, each operator once. One that runs other subgraphs counts where an operator in them
/// contradicts, the first alone of those that run the same. Unknown shapes, and dimensions that are known only at run
/// time, contradict nothing. Linear in operands.
pub fn contradictions(graph: &Graph) -> Vec<Contradiction> {
    let mut seen = BTreeSet::from([graph.subgraph_idx]);
    let mut of_node = |(node_idx, node): (usize, &Node)| {
        let tensors = &graph.subgraph.tensors;
        let why = contradiction(tensors, graph.buffers, node.operator)
            .or_else(|| in_called(graph.model, node.operator, &mut seen))?;
        Some(Contradiction { node_idx, why })
    };
    let nodes = graph.nodes.iter().enumerate();
    nodes.filter_map(&mut of_node).collect()
}

/// The first contradiction in subgraphs that an operator runs, directly or not, and that were not seen before.
fn in_called(
    model: &Model,
    operator: &Operator,
    seen: &mut BTreeSet<usize>,
) -> Option<&'static str> {
    let mut left = Calls::of(&operator.options).subgraphs().to_vec();
    let mut first = None;
    while let Some(subgraph_idx) = left.pop() {
        if !seen.insert(subgraph_idx) {
            continue;
        }
        let Some(subgraph) = model.subgraphs.get(subgraph_idx) else {
            continue;
        };
        for operator in &subgraph.operators {
            left.extend(Calls::of(&operator.options).subgraphs());
            first = first.or_else(|| contradiction(&subgraph.tensors, &model.buffers, operator));
        }
    }
    first
}

/// The same as a doubt about every number that follows from shapes.
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

/// Kinds whose result is as large as a constant says: where the network is changed, that constant may be the old one.
const SHAPED_BY_VALUES: &[OpKind] = &[
    OpKind::BroadcastTo,
    OpKind::Fill,
    OpKind::Reshape,
    OpKind::ResizeBilinear,
    OpKind::ResizeNearestNeighbor,
    OpKind::ScatterNd,
    OpKind::Slice,
    OpKind::SparseToDense,
    OpKind::StridedSlice,
    OpKind::TransposeConv,
];

/// Why no kernel takes the operands of an operator.
fn contradiction(
    tensors: &[Tensor],
    buffers: &[Buffer],
    operator: &Operator,
) -> Option<&'static str> {
    if let BuiltinOptions::Foreign { contradiction, .. } = operator.options {
        return contradiction;
    }
    let call = Call {
        tensors,
        buffers,
        operator,
    };
    match SHAPED_BY_VALUES.contains(&operator.code.kind) {
        true => call.against_operands(),
        false => call.against_rule(),
    }
}

/// One operator of a subgraph.
struct Call<'c> {
    tensors: &'c [Tensor],
    buffers: &'c [Buffer<'c>],
    operator: &'c Operator,
}

/// Sizes of dimensions; none for one that is known only at run time.
type Sizes = Vec<Option<i32>>;

/// Stands for a dimension that is known only at run time: large, and a multiple of what networks divide by.
const MANY: i32 = 5040;

const OTHER_SHAPE: &str = "the output has another shape than the inputs give it";

impl Call<'_> {
    /// Dimensions of a constant are known, whatever its signature says.
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

    /// Results of another shape than the operator gives them when LiteRT loads the file, or none.
    fn against_rule(&self) -> Option<&'static str> {
        if self.operands().any(|tensor| self.is_open(tensor)) {
            return self.against_rule_open();
        }
        let why = self.against_rule_of(self.operator)?;
        let fits = self.fits_along_another_axis() || self.fits_with_other_dimensions();
        (!fits).then_some(why)
    }

    fn against_rule_of(&self, operator: &Operator) -> Option<&'static str> {
        match missing_shapes::outputs(self.tensors, self.buffers, operator) {
            Ok(shapes) => self.differs(&[shapes]),
            Err(Unshaped::Contradiction(why)) => Some(why),
            Err(Unshaped::Unknown) => None,
        }
    }

    /// Whether the shapes are those of a dense layer that keeps its dimensions, or does not, where its option says the
    /// other: exporters leave it out, and the work is the same.
    fn fits_with_other_dimensions(&self) -> bool {
        let mut operator = self.operator.clone();
        let BuiltinOptions::FullyConnected { keep_num_dims, .. } = &mut operator.options else {
            return false;
        };
        *keep_num_dims = !*keep_num_dims;
        self.against_rule_of(&operator).is_none()
    }

    /// Whether the shapes are those of the same operator along another axis. Exporters of graphs leave the axis out, and
    /// its work is the same along any.
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
            *axis = at as i32;
            self.against_rule_of(&operator).is_none()
        })
    }

    /// The same where dimensions are known only at run time: what holds however large they are.
    fn against_rule_open(&self) -> Option<&'static str> {
        let beyond_first =
            |tensor: &Tensor| (1..tensor.shape.len()).any(|at| self.is_open_at(tensor, at));
        let is_batch = !self.operands().any(beyond_first);
        let output = &self.tensors[*self.operator.outputs.first()?];
        let sizes = [None, Some(MANY), output.shape.first().copied()];
        let (mut known, mut refused) = (Vec::new(), None);
        for size in sizes {
            match self.with_open(size) {
                Ok(shapes) => known.push(shapes),
                Err(Unshaped::Contradiction(why)) => refused = refused.or(Some(why)),
                Err(Unshaped::Unknown) => return None,
            }
        }
        match known.len() {
            // Sizes of several open dimensions may be right together that are not tried.
            0 => refused.filter(|_| is_batch),
            n_known if n_known == sizes.len() => self.differs(&known),
            _ => None,
        }
    }

    /// What the rule says with one size in place of every open dimension; with those that are stored where it is none.
    fn with_open(&self, size: Option<i32>) -> Result<Outputs, Unshaped> {
        let copy = |tensor: &Tensor| {
            let sizes = tensor.shape.iter().enumerate();
            let size = |(at, &stored): (usize, &i32)| match size {
                Some(size) if self.is_open_at(tensor, at) => size,
                _ => stored,
            };
            // Lists of quantisation, which are long, are left out: an operand may be read by many operators.
            Tensor {
                name: String::new(),
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
        missing_shapes::outputs(&tensors, self.buffers, &operator)
    }

    /// Outputs whose stored shape is none of the computed ones. Dimensions in which those differ depend on a size that
    /// is known only at run time.
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

    fn sizes(&self, tensor_idx: usize) -> Option<Sizes> {
        let tensor = &self.tensors[tensor_idx];
        let sizes = tensor.shape.iter().enumerate();
        let size = |(at, &size)| (!self.is_open_at(tensor, at)).then_some(size);
        tensor.has_rank.then(|| sizes.map(size).collect())
    }

    /// What holds whatever the constant says.
    fn against_operands(&self) -> Option<&'static str> {
        let input = |place: usize| {
            let tensor_idx = self.operator.inputs.get(place).copied().flatten()?;
            self.sizes(tensor_idx)
        };
        let output = self.sizes(*self.operator.outputs.first()?)?;
        match self.operator.code.kind {
            OpKind::BroadcastTo => broadcast_to(&input(0)?, &output),
            OpKind::Reshape => {
                let differs = count(&input(0)?)? != count(&output)?;
                differs.then_some("input and output differ in size")
            }
            OpKind::ResizeBilinear | OpKind::ResizeNearestNeighbor => resized(&input(0)?, &output),
            OpKind::Slice => sliced(&input(0)?, &output),
            OpKind::StridedSlice => {
                let is_larger = count(&output)? > count(&input(0)?)?;
                is_larger.then_some("the output is larger than the input")
            }
            OpKind::TransposeConv => {
                transposed(&input(2)?, &input(1)?, &output, &self.operator.options)
            }
            _ => None,
        }
    }
}

/// None where a dimension is known only at run time. As a float, which any product of dimensions fits.
fn count(sizes: &[Option<i32>]) -> Option<f64> {
    let sizes = sizes.iter().map(|&size| size.map(f64::from));
    sizes.product()
}

/// Whether two dimensions may be the same.
fn agree(one: Option<i32>, other: Option<i32>) -> bool {
    one.zip(other).is_none_or(|(one, other)| one == other)
}

/// Dimensions from the last on: equal, or 1 in the input.
fn broadcast_to(input: &[Option<i32>], output: &[Option<i32>]) -> Option<&'static str> {
    let mut pairs = input.iter().rev().zip(output.iter().rev());
    let fits = |(&size, &to): (&Option<i32>, &Option<i32>)| size == Some(1) || agree(size, to);
    let is_possible = input.len() <= output.len() && pairs.all(fits);
    (!is_possible).then_some("the input does not broadcast to the output")
}

/// Rows and columns change alone.
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

/// Filter `[out, h, w, in]`. The convolution that it is the gradient of makes the input's rows of the output's.
fn transposed(
    input: &[Option<i32>],
    filter: &[Option<i32>],
    output: &[Option<i32>],
    options: &BuiltinOptions,
) -> Option<&'static str> {
    let (&[n, h, w, c], &[out, filter_h, filter_w, depth], &[out_n, out_h, out_w, out_c]) =
        (input, filter, output)
    else {
        return Some(RANK);
    };
    if !agree(depth, c) {
        return Some("the filter's depth is not that of the input");
    }
    if !agree(out, out_c) {
        return Some("the filter has another number of channels than the output");
    }
    if !agree(n, out_n) {
        return Some("input and output differ in batch");
    }
    let &BuiltinOptions::TransposeConv {
        padding,
        stride_h,
        stride_w,
        ..
    } = options
    else {
        return None;
    };
    // The kernel takes any size of output. Off by one window is a choice of padding.
    let fits = |size: Option<i32>, filter: Option<i32>, to: Option<i32>, stride| {
        let sizes = size.zip(filter).zip(to);
        sizes.is_none_or(|((size, filter), to)| {
            let seen = windows(to, filter, stride, 1, padding);
            seen.abs_diff(i64::from(size)) <= 1
        })
    };
    let is_possible = fits(h, filter_h, out_h, stride_h) && fits(w, filter_w, out_w, stride_w);
    (!is_possible).then_some("the output's rows or columns are not those of the window")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::tflite::Padding;
    use crate::formats::tflite::{Activation, TensorType};
    use crate::graph::analysis::fixtures::{calling, graph_of, model, subgraph, tensor};

    fn options() -> BuiltinOptions {
        BuiltinOptions::Conv2D {
            padding: Padding::Same,
            stride_h: 2,
            stride_w: 2,
            dilation_h: 1,
            dilation_w: 1,
            activation: Activation::None,
        }
    }

    /// Why an operator contradicts itself whose inputs and output have these shapes.
    fn of(kind: OpKind, options: BuiltinOptions, shapes: &[&[i32]]) -> Option<&'static str> {
        let tensors: Vec<Tensor> = shapes
            .iter()
            .map(|shape| tensor(TensorType::Int8, shape))
            .collect();
        of_tensors(kind, options, tensors)
    }

    /// The last tensor is the output.
    fn of_tensors(
        kind: OpKind,
        options: BuiltinOptions,
        tensors: Vec<Tensor>,
    ) -> Option<&'static str> {
        let inputs: Vec<usize> = (0..tensors.len() - 1).collect();
        let operator = calling(kind, &inputs, &[tensors.len() - 1], options);
        let model = model(vec![subgraph(tensors, vec![operator])]);
        let all = contradictions(&graph_of(&model));
        all.first().map(|one| one.why)
    }

    fn of_convolution(input: &[i32], filter: &[i32], output: &[i32]) -> Option<&'static str> {
        of(OpKind::Conv2d, options(), &[input, filter, output])
    }

    #[test]
    fn shapes_of_a_convolution() {
        assert_eq!(
            of_convolution(&[1, 7, 8, 6], &[9, 3, 3, 6], &[1, 4, 4, 9]),
            None
        );
        assert_eq!(
            of_convolution(&[1, 7, 8, 6], &[9, 3, 3, 2], &[1, 4, 4, 9]),
            None,
            "three groups"
        );
        for (input, filter, output) in [
            ([1, 7, 8, 6], [9, 3, 3, 4], [1, 4, 4, 9]),
            ([1, 7, 8, 6], [1, 3, 3, 6], [1, 4, 4, 9]),
            ([1, 7, 8, 6], [9, 3, 3, 6], [1, 7, 8, 9]),
            ([1, 7, 8, 6], [9, 3, 3, 0], [1, 4, 4, 9]),
        ] {
            assert!(
                of_convolution(&input, &filter, &output).is_some(),
                "{filter:?}"
            );
        }
    }

    #[test]
    fn operands_that_broadcast() {
        let add = |one: &[i32], other: &[i32], output: &[i32]| {
            of(OpKind::Add, BuiltinOptions::Absent, &[one, other, output])
        };
        assert_eq!(add(&[1, 4, 4, 8], &[8], &[1, 4, 4, 8]), None);
        assert_eq!(add(&[4, 1], &[1, 5], &[4, 5]), None);
        assert!(add(&[4, 2], &[1, 5], &[4, 5]).is_some());
        assert!(add(&[4, 1], &[1, 5], &[4, 1]).is_some());
    }

    fn of_kind(kind: OpKind, shapes: &[&[i32]]) -> Option<&'static str> {
        let options = match kind {
            OpKind::BatchMatmul => BuiltinOptions::BatchMatMul {
                adj_x: false,
                adj_y: false,
            },
            OpKind::Concatenation => BuiltinOptions::Concatenation {
                axis: -1,
                activation: Activation::None,
            },
            OpKind::Conv2d => options(),
            OpKind::DepthToSpace => BuiltinOptions::DepthToSpace { block_size: 2 },
            OpKind::DepthwiseConv2d => BuiltinOptions::DepthwiseConv2D {
                padding: Padding::Same,
                stride_h: 1,
                stride_w: 1,
                depth_multiplier: 0,
                dilation_h: 1,
                dilation_w: 1,
                activation: Activation::None,
            },
            OpKind::Pack => BuiltinOptions::Pack {
                values_count: 2,
                axis: 0,
            },
            OpKind::Svdf => BuiltinOptions::Svdf {
                rank: 2,
                activation: Activation::None,
            },
            OpKind::TransposeConv => BuiltinOptions::TransposeConv {
                padding: Padding::Same,
                stride_h: 2,
                stride_w: 2,
                activation: Activation::None,
            },
            OpKind::Unpack => BuiltinOptions::Unpack { num: 1, axis: 0 },
            _ => BuiltinOptions::Absent,
        };
        of(kind, options, shapes)
    }

    /// By kind: operands that a kernel takes, then some that none takes.
    type Cases<'c> = (OpKind, &'c [&'c [i32]], &'c [&'c [&'c [i32]]]);

    #[test]
    fn operands_by_kind() {
        let cases: &[Cases] = &[
            (
                OpKind::BatchMatmul,
                &[&[4, 2, 3], &[4, 3, 7], &[4, 2, 7]],
                &[
                    &[&[4, 2, 3], &[4, 5, 7], &[4, 2, 7]],
                    &[&[4, 2, 3], &[3, 3, 7], &[4, 2, 7]],
                    &[&[3], &[3, 7], &[7]],
                ],
            ),
            (
                OpKind::BroadcastTo,
                &[&[1, 5], &[3], &[2, 4, 5]],
                &[&[&[3, 5], &[3], &[2, 4, 5]], &[&[1, 1, 5], &[2], &[4, 5]]],
            ),
            (
                OpKind::Concatenation,
                &[&[2, 3], &[2, 4], &[2, 7]],
                &[&[&[2, 3], &[1, 4], &[2, 7]], &[&[2, 3], &[4], &[2, 7]]],
            ),
            (
                OpKind::Conv2d,
                &[&[1, 8, 8, 6], &[4, 3, 3, 3], &[4], &[1, 4, 4, 4]],
                &[
                    &[&[1, 8, 8, 6], &[4, 3, 3, 3], &[3], &[1, 4, 4, 4]],
                    &[&[1, 8, 8, 6], &[5, 3, 3, 3], &[5], &[1, 4, 4, 5]],
                    &[&[8, 8, 6], &[4, 3, 3, 3], &[4], &[1, 4, 4, 4]],
                    &[&[], &[4, 3, 3, 3], &[4], &[1, 4, 4, 4]],
                ],
            ),
            (
                OpKind::DepthToSpace,
                &[&[1, 3, 3, 8], &[1, 6, 6, 2]],
                &[&[&[1, 3, 3, 7], &[1, 6, 6, 1]]],
            ),
            (
                OpKind::DepthwiseConv2d,
                &[&[1, 8, 8, 6], &[1, 3, 3, 12], &[12], &[1, 8, 8, 12]],
                &[
                    &[&[1, 8, 8, 6], &[9, 3, 3, 12], &[12], &[1, 8, 8, 12]],
                    &[&[1, 8, 8, 6], &[1, 3, 3, 13], &[13], &[1, 8, 8, 13]],
                    &[&[1, 8, 8, 6], &[1, 3, 3, 12], &[6], &[1, 8, 8, 12]],
                ],
            ),
            (
                OpKind::DynamicUpdateSlice,
                &[&[4, 4], &[1, 4], &[2], &[4, 4]],
                &[
                    &[&[4, 4], &[5, 4], &[2], &[4, 4]],
                    &[&[4, 4], &[4], &[2], &[4, 4]],
                ],
            ),
            (
                OpKind::FullyConnected,
                &[&[2, 6], &[5, 6], &[5], &[2, 5]],
                &[
                    &[&[2, 6], &[5, 6], &[4], &[2, 5]],
                    &[&[2, 5], &[5, 6], &[5], &[2, 5]],
                ],
            ),
            (
                OpKind::Pack,
                &[&[4], &[4], &[2, 4]],
                &[&[&[4], &[5], &[2, 4]]],
            ),
            (
                OpKind::Prelu,
                &[&[1, 4, 4, 8], &[1, 1, 8], &[1, 4, 4, 8]],
                &[&[&[1, 4, 4, 8], &[1, 1, 7], &[1, 4, 4, 8]]],
            ),
            (
                OpKind::Reshape,
                &[&[4, 6], &[2], &[3, 8]],
                &[
                    &[&[4, 6], &[1], &[25]],
                    &[&[4, 6], &[1], &[]],
                    &[&[], &[1], &[24]],
                ],
            ),
            (
                OpKind::ResizeBilinear,
                &[&[1, 4, 4, 8], &[2], &[1, 9, 9, 8]],
                &[
                    &[&[1, 4, 4, 8], &[2], &[1, 9, 9, 7]],
                    &[&[1, 4, 4, 8], &[2], &[2, 9, 9, 8]],
                ],
            ),
            (
                OpKind::Rnn,
                &[&[1, 8], &[5, 8], &[5, 5], &[5], &[1, 5], &[1, 5]],
                &[
                    &[&[1, 8], &[5, 9], &[5, 5], &[5], &[1, 5], &[1, 5]],
                    &[&[1, 8], &[5, 8], &[6, 2], &[5], &[1, 5], &[1, 5]],
                ],
            ),
            (
                OpKind::SelectV2,
                &[&[1, 1, 4], &[2, 3, 4], &[4], &[2, 3, 4]],
                &[&[&[1, 2, 3], &[2, 3, 4], &[4], &[2, 3, 4]]],
            ),
            (
                OpKind::Slice,
                &[&[4, 6], &[2], &[2], &[4, 5]],
                &[
                    &[&[4, 6], &[2], &[2], &[5, 4]],
                    &[&[4, 6], &[2], &[2], &[4]],
                ],
            ),
            (
                OpKind::StridedSlice,
                &[&[4, 6], &[2], &[2], &[2], &[1, 4, 5]],
                &[&[&[4, 6], &[2], &[2], &[2], &[5, 5]]],
            ),
            (
                OpKind::Svdf,
                &[&[1, 8], &[6, 8], &[6, 9], &[3], &[1, 54], &[1, 3]],
                &[
                    &[&[1, 8], &[6, 7], &[6, 9], &[3], &[1, 54], &[1, 3]],
                    &[&[1, 8], &[6, 8], &[5, 9], &[3], &[1, 54], &[1, 3]],
                    &[&[1, 8], &[6, 8], &[6, 9], &[6], &[1, 54], &[1, 3]],
                    &[&[1, 8], &[6, 8], &[6, 9], &[3], &[1, 80], &[1, 3]],
                    &[&[1, 8], &[5, 8], &[5, 9], &[3], &[1, 45], &[1, 3]],
                ],
            ),
            (
                OpKind::TransposeConv,
                &[&[4], &[5, 3, 3, 6], &[1, 4, 4, 6], &[1, 8, 7, 5]],
                &[
                    &[&[4], &[5, 3, 3, 6], &[1, 4, 4, 6], &[1, 1, 1, 5]],
                    &[&[4], &[5, 3, 3, 6], &[1, 4, 4, 6], &[1, 80, 8, 5]],
                    &[&[4], &[5, 3, 3, 6], &[1, 4, 4, 6], &[2, 8, 8, 5]],
                    &[&[4], &[5, 3, 3, 7], &[1, 4, 4, 6], &[1, 8, 8, 5]],
                    &[&[4], &[4, 3, 3, 6], &[1, 4, 4, 6], &[1, 8, 8, 5]],
                ],
            ),
            (OpKind::Unpack, &[&[1, 5], &[5]], &[&[&[4, 5], &[5]]]),
        ];
        for (kind, right, wrong) in cases {
            assert_eq!(of_kind(*kind, right), None, "{kind:?}");
            for shapes in *wrong {
                assert!(of_kind(*kind, shapes).is_some(), "{kind:?} {shapes:?}");
            }
        }
    }

    /// A shape with the dimensions that are known only at run time as −1; 1 is stored for them.
    fn open(signature: &[i32]) -> Tensor {
        let stored: Vec<i32> = signature.iter().map(|size| size.abs()).collect();
        Tensor {
            shape_signature: Some(signature.to_vec()),
            ..tensor(TensorType::Int8, &stored)
        }
    }

    #[test]
    fn dimensions_known_at_run_time_contradict_nothing() {
        let convolution = |input: &[i32], filter: &[i32], output: &[i32]| {
            let tensors = vec![open(input), open(filter), open(output)];
            of_tensors(OpKind::Conv2d, options(), tensors)
        };
        let filter = &[9, 3, 3, 6];
        for (input, output) in [
            ([-1, 7, 8, 6], [-1, 4, 4, 9]),
            ([-1, 7, 8, 6], [1, 4, 4, 9]),
            ([-1, 7, 8, 6], [3, 4, 4, 9]),
            ([1, 7, 8, 6], [-1, 4, 4, 9]),
            ([1, -1, -1, 6], [1, -1, -1, 9]),
            ([1, -1, 8, 6], [1, 50, 4, 9]),
        ] {
            assert_eq!(convolution(&input, filter, &output), None, "{input:?}");
        }
        for (input, output) in [
            ([-1, 7, 8, 6], [-1, 2, 2, 9]),
            ([-1, 7, 8, 5], [-1, 4, 4, 9]),
            ([1, 7, 8, 6], [-1, 4, 4, 8]),
            ([1, -1, 8, 6], [1, -1, 5, 9]),
        ] {
            assert!(convolution(&input, filter, &output).is_some(), "{input:?}");
        }
    }

    /// A branch is estimated with the graph.
    #[test]
    fn contradictions_in_called_subgraphs() {
        let tensors = || {
            vec![
                tensor(TensorType::Int8, &[1, 8, 8, 1]),
                tensor(TensorType::Int8, &[8, 3, 3, 1]),
                tensor(TensorType::Int8, &[1, 2, 2, 8]),
            ]
        };
        let call = || {
            calling(
                OpKind::Call,
                &[0],
                &[2],
                BuiltinOptions::Call { subgraph_idx: 1 },
            )
        };
        let inner = calling(OpKind::Conv2d, &[0, 1], &[2], options());
        let recursive = vec![inner, call()];
        let model = model(vec![
            subgraph(tensors(), vec![call(), call()]),
            subgraph(tensors(), recursive),
        ]);
        let all = contradictions(&graph_of(&model));
        assert_eq!(all.len(), 1);
    }

    /// The file says 97 million weights for one channel, and eight channels of output.
    #[test]
    fn operands_that_contradict_each_other_leave_no_estimate() {
        let tensors = vec![
            tensor(TensorType::Int8, &[1, 8, 8, 1]),
            tensor(TensorType::Int8, &[1, 3024, 4032, 1]),
            tensor(TensorType::Int8, &[1, 4, 4, 8]),
        ];
        let operator = calling(OpKind::Conv2d, &[0, 1], &[2], options());
        let model = model(vec![subgraph(tensors, vec![operator])]);
        let graph = graph_of(&model);
        let analysis = crate::graph::analysis::analyze(&graph);
        let doubt =
            (analysis.diagnostics.iter()).find(|doubt| doubt.code == "contradicting-shapes");
        println!("{}", doubt.unwrap().message);
        let network = crate::targets::Network::new(&graph, &analysis);
        for target in crate::targets::registry() {
            for metric in target.estimate(&network).metrics {
                let is_arena = metric.metric == crate::targets::Metric::Arena;
                assert_eq!(metric.outcome.is_estimate(), is_arena, "{metric:?}");
            }
        }
    }
}
