//! What each operator of a network costs an accelerator, as amounts of work: the terms whose costs are fitted.
//!
//! Amounts are in millions: multiply-accumulates with all sides rounded up to the blocks of a matrix unit, and values, whose
//! bytes are a matter of the precision.

use super::devices::Runtime;
pub use crate::formats::tflite::op_row::AcceleratorWork as Group;
use crate::formats::tflite::{BuiltinOptions, OpKind, OperatorCode};
use crate::graph::analysis::Analysis;
use crate::graph::{Graph, Node};

/// Sides of the blocks in which matrix units compute: channels read, by Hexagon of what is no volume and by others, channels
/// written, and positions along a column and along a row on Hexagon and on others.
const READ_BY_HEXAGON: f64 = 16.0;
const READ: f64 = 4.0;
const WRITTEN: f64 = 32.0;
const SIDE: f64 = 4.0;
const ROW_ON_HEXAGON: f64 = 8.0;
/// Rows of a matrix that has no image's sides.
const ROWS: f64 = 64.0;
/// Channels of an image are stored in blocks of this size.
const STORED: f64 = 32.0;
/// The last axis of what is no image, in vectors of this size.
const VECTOR: f64 = 64.0;
/// Millions of values, of any precision, that an operator reads and writes without leaving the fast memory.
pub const FAST: f64 = 6.0;
/// How often a multiplication counts in a window with gaps.
const DILATED: f64 = 2.0;
/// How often the values of a sum with a constant of more than [`MANY`] values count, such as positions or biases of attention:
/// it is read from the memory outside.
const WITH_CONSTANT: f64 = 4.0;
const MANY: f64 = 4096.0;
/// The same on Hexagon of what computes elements of a sequence, which does not lie in blocks of an image.
const OF_SEQUENCE: f64 = 1.6;
/// The same on Hexagon of changes of layout that read and write more than [`LARGE_LAYOUT`] values: the fast memory holds both tensors.
const WITH_RESULT: f64 = 1.4;
const LARGE_LAYOUT: f64 = 2e6;
/// Milliseconds for a million multiply-accumulates, a million values and an operator, by which chains are compared.
const ROUGH_MS: [f64; 3] = [1e-4, 0.02, 1e-3];
const MILLION: f64 = 1e6;

const N_MULTIPLYING: usize = 7;
/// Those that move values, multiplying operators counted as one.
const N_MOVING: usize = Group::Fused as usize - N_MULTIPLYING + 1;

/// The terms: multiplications by group; weights, and those of convolutions once more; values by group; windows of poolings;
/// values that the fast memory does not hold; values that go into the network and come out; values once more where a window
/// moves by more than one position, and where a sequence becomes an image or an image a sequence; operators by group; matrices
/// of batches; one inference.
pub const NAMES: [&str; N_TERMS] = [
    "macs-window",
    "macs-pointwise",
    "macs-depthwise",
    "macs-matrix",
    "macs-product",
    "macs-transposed",
    "macs-volume",
    "weights",
    "weights-convolution",
    "values-multiplied",
    "values-elementwise",
    "values-curve",
    "values-activation",
    "values-gate",
    "values-pooling",
    "values-resizing",
    "values-layout",
    "values-reshape",
    "values-norm",
    "values-softmax",
    "values-other",
    "windows",
    "values-beyond",
    "values-ends",
    "values-strided",
    "values-flattened",
    "n-multiplied",
    "n-elementwise",
    "n-curve",
    "n-activation",
    "n-gate",
    "n-pooling",
    "n-resizing",
    "n-layout",
    "n-reshape",
    "n-norm",
    "n-softmax",
    "n-other",
    "n-matrices",
    "once",
];
pub const N_TERMS: usize = 40;
pub const WEIGHTS: usize = N_MULTIPLYING;
pub const OF_CONVOLUTIONS: usize = WEIGHTS + 1;
/// The first term of values.
pub const VALUES: usize = OF_CONVOLUTIONS + 1;
pub const WINDOWS: usize = VALUES + N_MOVING;
pub const BEYOND: usize = WINDOWS + 1;
pub const ENDS: usize = BEYOND + 1;
const STRIDED: usize = ENDS + 1;
const FLATTENED: usize = STRIDED + 1;
/// The first term of operators.
pub const OPERATORS: usize = FLATTENED + 1;
const MATRICES: usize = OPERATORS + N_MOVING;
pub const ONCE: usize = MATRICES + 1;

/// One amount for each of [`NAMES`].
pub type Amounts = [f64; N_TERMS];

/// The work of one node.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Work {
    pub group: Group,
    /// Multiply-accumulates, padded to the blocks of Hexagon.
    pub macs: f64,
    pub weights: f64,
    /// Values read and written, as Hexagon stores them.
    pub values: f64,
    /// Both on others.
    elsewhere: [f64; 2],
    /// The same without what blocks add.
    pub elements: f64,
    /// Values in the windows of a pooling.
    pub windows: f64,
    /// Products of two matrices, of which one operator computes a batch.
    pub matrices: f64,
    /// Values that count once more, because they are of a strided window or a reshape that moves them.
    again: f64,
    /// Whether it can run beside the chain of operators that takes longest.
    is_beside: bool,
}

const FUSED: Work = Work {
    group: Group::Fused,
    macs: 0.0,
    weights: 0.0,
    values: 0.0,
    elsewhere: [0.0; 2],
    elements: 0.0,
    windows: 0.0,
    matrices: 0.0,
    again: 0.0,
    is_beside: false,
};

impl Work {
    /// Position of the group among those that move values; `None` where the work is part of another operator.
    fn moving_idx(&self) -> Option<usize> {
        match self.group {
            Group::Fused => None,
            group => Some((group as usize + 1).saturating_sub(N_MULTIPLYING)),
        }
    }

    /// Adds its amounts under a runtime.
    pub fn add_to(&self, amounts: &mut Amounts, runtime: Runtime) {
        let Some(moving) = self.moving_idx() else {
            return;
        };
        let share = if self.is_beside {
            runtime.share_beside()
        } else {
            1.0
        };
        let [macs, values] = if runtime.is_of_hexagon() {
            [self.macs, self.values]
        } else {
            self.elsewhere
        };
        let mut add = |term: usize, amount: f64| amounts[term] += share * amount;
        if (self.group as usize) < N_MULTIPLYING {
            add(self.group as usize, macs);
        }
        add(WEIGHTS, self.weights);
        if self.group != Group::Matrix {
            add(OF_CONVOLUTIONS, self.weights);
        }
        add(VALUES + moving, values);
        add(WINDOWS, self.windows);
        add(BEYOND, (values - FAST).max(0.0));
        add(OPERATORS + moving, 1.0);
        add(MATRICES, self.matrices);
        let is_layout = self.group == Group::Layout;
        add(if is_layout { FLATTENED } else { STRIDED }, self.again);
    }

    /// The sum of its amounts times what one of each costs.
    pub fn cost(&self, costs: &[f64], runtime: Runtime) -> f64 {
        let mut amounts = [0.0; N_TERMS];
        self.add_to(&mut amounts, runtime);
        amounts.iter().zip(costs).map(|(a, c)| a * c).sum()
    }
}

/// The work of a network.
#[derive(Clone, Debug, PartialEq)]
pub struct NetworkWork {
    /// By node.
    pub nodes: Vec<Work>,
    /// Values that go into the network and come out, which are converted there.
    pub ends: f64,
}

impl NetworkWork {
    /// Amounts of the whole network under a runtime.
    pub fn amounts(&self, runtime: Runtime) -> Amounts {
        let mut amounts = [0.0; N_TERMS];
        for work in &self.nodes {
            work.add_to(&mut amounts, runtime);
        }
        amounts[ENDS] = self.ends;
        amounts[ONCE] = 1.0;
        amounts
    }
}

/// The work of a network. What a compiler sees as one operator counts at the first of its nodes.
pub fn network_work(graph: &Graph, analysis: &Analysis) -> NetworkWork {
    let ends = (graph.subgraph.inputs.iter()).chain(&graph.subgraph.outputs);
    let ends = ends.map(|&tensor_idx| {
        let shape = &graph.tensor(tensor_idx).shape;
        values(shape, shape.len() < 4)
    });
    let ends = ends.sum::<f64>() / MILLION;
    let mut nodes = works(graph, analysis);
    let is_longest = longest_chain(graph, &nodes);
    for (work, is_longest) in nodes.iter_mut().zip(is_longest) {
        work.is_beside = !is_longest;
    }
    NetworkWork { nodes, ends }
}

/// By node: whether it is part of the chain that takes longest, in which each operator reads what the one before wrote.
fn longest_chain(graph: &Graph, works: &[Work]) -> Vec<bool> {
    // Of a tensor: when it is written, and by which node.
    let mut written = vec![(0.0, None); graph.subgraph.tensors.len()];
    let mut before = Vec::with_capacity(works.len());
    let mut last = (0.0, None);
    for (node_idx, (node, work)) in graph.nodes.iter().zip(works).enumerate() {
        let [macs, values, operators] = ROUGH_MS;
        let mut end = (0.0, None);
        for &input in node.operator.inputs.iter().flatten() {
            if written[input].0 >= end.0 {
                end = written[input];
            }
        }
        before.push(end.1);
        end.1 = Some(node_idx);
        if work.group != Group::Fused {
            end.0 += macs * work.macs + values * work.values + operators;
        }
        for &output in &node.operator.outputs {
            written[output] = end;
        }
        if end.0 >= last.0 {
            last = end;
        }
    }
    let mut is_longest = vec![false; works.len()];
    while let (_, Some(node_idx)) = last {
        is_longest[node_idx] = true;
        last.1 = before[node_idx];
    }
    is_longest
}

fn works(graph: &Graph, analysis: &Analysis) -> Vec<Work> {
    let groups = groups(graph, analysis);
    let nodes = graph.nodes.iter().enumerate();
    let work = |(idx, node): (usize, &Node)| match groups[idx] {
        (Group::Fused, _) => FUSED,
        (group, last) => {
            let parameters = analysis.costs[idx..=last].iter();
            let parameters: u64 = parameters.map(|cost| cost.parameters).sum();
            let outputs = &graph.nodes[last].operator.outputs;
            measured_work(
                graph,
                node,
                group,
                outputs,
                analysis.costs[idx].macs,
                parameters,
            )
        }
    };
    nodes.map(work).collect()
}

fn measured_work(
    graph: &Graph,
    node: &Node,
    group: Group,
    outputs: &[usize],
    macs: u64,
    parameters: u64,
) -> Work {
    // What moves values need not store them in blocks.
    let is_plain = matches!(
        group,
        Group::Layout | Group::Reshape | Group::Softmax | Group::Norm
    );
    let moved = |is_plain: bool| {
        let values = |tensor_idx: usize| values(&graph.tensor(tensor_idx).shape, is_plain);
        let read = activations(graph, node).map(values);
        // What an operator computes of two tensors, it computes while the second is written.
        let read: f64 = match group {
            Group::Elementwise | Group::Activation | Group::Gate => read.fold(0.0, f64::max),
            _ => read.sum(),
        };
        let written: f64 = outputs.iter().map(|&output| values(output)).sum();
        (read, written)
    };
    let (mut read, mut written) = moved(is_plain);
    let output = outputs.first();
    let shape = output.map_or(&[][..], |&output| graph.tensor(output).shape.as_slice());
    if group == Group::Elementwise && has_large_constant(graph, node) {
        read *= WITH_CONSTANT;
        written *= WITH_CONSTANT;
    }
    let values = match group {
        Group::Elementwise if !is_image(shape) => OF_SEQUENCE * (read + written),
        Group::Layout if read + written > LARGE_LAYOUT => WITH_RESULT * (read + written),
        // What it is part of writes its result.
        Group::Activation if node.operator.code.kind == OpKind::Add => read,
        _ => read + written,
    };
    let (read_elements, written_elements) = moved(true);
    let is_multiplied = (group as usize) < N_MULTIPLYING;
    let [stride, dilation] = stride_and_dilation(node);
    let counts_again = match group {
        Group::Window | Group::Pointwise | Group::Depthwise => stride > 1,
        Group::Layout => node.operator.code.kind == OpKind::Reshape,
        _ => false,
    };
    let gaps = if dilation > 1 { DILATED } else { 1.0 };
    let window = match node.operator.options {
        BuiltinOptions::Pool2D {
            filter_h, filter_w, ..
        } => f64::from(filter_h.max(0)) * f64::from(filter_w.max(0)),
        _ => 0.0,
    };
    let [on_hexagon, elsewhere] = if is_multiplied {
        padded_macs(graph, node, group, macs as f64 * gaps / MILLION)
    } else {
        [0.0; 2]
    };
    Work {
        group,
        macs: on_hexagon,
        weights: if is_multiplied {
            parameters as f64 / MILLION
        } else {
            0.0
        },
        values: values / MILLION,
        elsewhere: [elsewhere, (read + written) / MILLION],
        elements: (read_elements + written_elements) / MILLION,
        windows: written * window / MILLION,
        matrices: if group == Group::Product {
            written_elements / (size(shape, 1) * size(shape, 2)).max(1.0)
        } else {
            0.0
        },
        again: if counts_again { values / MILLION } else { 0.0 },
        is_beside: false,
    }
}

/// Tensors that it reads and that are no constants.
fn activations<'n>(graph: &'n Graph, node: &'n Node) -> impl Iterator<Item = usize> + 'n {
    let inputs = node.operator.inputs.iter().flatten().copied();
    inputs.filter(|&tensor_idx| !graph.is_constant(tensor_idx))
}

fn has_large_constant(graph: &Graph, node: &Node) -> bool {
    let mut inputs = node.operator.inputs.iter().flatten();
    let is_large = |&tensor_idx: &usize| {
        graph.is_constant(tensor_idx) && values(&graph.tensor(tensor_idx).shape, true) > MANY
    };
    matches!(node.operator.code.kind, OpKind::Add | OpKind::Sub) && inputs.any(is_large)
}

pub fn size(shape: &[i32], from_end: usize) -> f64 {
    let axis = shape.len().checked_sub(from_end);
    axis.map_or(1.0, |axis| f64::from(shape[axis].max(0)))
}

/// Values of a tensor as accelerators lay it out: channels in blocks, and others in vectors.
fn values(shape: &[i32], is_plain: bool) -> f64 {
    let product: f64 = shape.iter().map(|&side| f64::from(side.max(0))).product();
    let channels = size(shape, 1);
    let block = if shape.len() >= 4 { STORED } else { VECTOR };
    if channels > 0.0 && !is_plain {
        product / channels * round_up(channels, block)
    } else {
        product
    }
}

fn round_up(size: f64, block: f64) -> f64 {
    (size.max(1.0) / block).ceil() * block
}

/// By how much a side grows where it is rounded up.
fn rounding_growth(size: f64, block: f64) -> f64 {
    round_up(size, block) / size.max(1.0)
}

/// Multiply-accumulates with all sides rounded up to blocks, on Hexagon and on others.
fn padded_macs(graph: &Graph, node: &Node, group: Group, macs: f64) -> [f64; 2] {
    let shape = |tensor_idx: usize| graph.tensor(tensor_idx).shape.as_slice();
    let out = (node.operator.outputs.first()).map_or(&[][..], |&output| shape(output));
    let first = activations(graph, node).next().map_or(&[1][..], shape);
    let is_image = out.len() >= 4 && !matches!(group, Group::Matrix | Group::Product);
    let space = if is_image {
        rounding_growth(size(out, 3), SIDE)
    } else if group == Group::Product {
        rounding_growth(size(out, 2), ROWS)
    } else {
        // Weights are the same for all vectors, whatever the axes that number these.
        let values: f64 = out.iter().map(|&side| f64::from(side.max(0))).product();
        rounding_growth(values / size(out, 1).max(1.0), ROWS)
    };
    let macs = macs * rounding_growth(size(out, 1), WRITTEN) * space;
    let mut padded = [macs; 2];
    let blocks = match group {
        Group::Volume => [[READ, ROW_ON_HEXAGON], [READ, SIDE]],
        _ => [[READ_BY_HEXAGON, ROW_ON_HEXAGON], [READ, SIDE]],
    };
    for (padded, [read, row]) in padded.iter_mut().zip(blocks) {
        if group != Group::Depthwise {
            *padded *= rounding_growth(size(first, 1), read);
        }
        if is_image {
            *padded *= rounding_growth(size(out, 2), row);
        }
    }
    padded
}

/// By how many positions a window moves, and how far apart are those that it reads: the most of any axis.
fn stride_and_dilation(node: &Node) -> [i32; 2] {
    let sliding = node.operator.options.sliding();
    sliding.map_or([1, 1], |sliding| {
        [sliding.strides, sliding.dilations].map(|steps| steps.into_iter().fold(1, i32::max))
    })
}

/// Operators that TFLite does not have. Others are [`Group::Other`], as in the fit.
const CUSTOM: &[(&str, Group)] = &[
    ("ERF", Group::Curve),
    ("GROUP_NORMALIZATION", Group::Norm),
    ("INSTANCE_NORMALIZATION", Group::Norm),
    ("LAYER_NORMALIZATION", Group::Norm),
    ("ONNX:Erf", Group::Curve),
    ("RMS_NORMALIZATION", Group::Norm),
    ("ROLL", Group::Layout),
];

/// The most operators of which a normalisation consists, with reshapes to groups of channels and back.
const MAX_OF_NORMALISATION: usize = 16;

/// How many operators from this one on are one normalisation, as compilers see it: means of values and of squares, all
/// that is computed of both, and a scale and a bias after it.
fn n_of_normalisation(graph: &Graph, n_readers: &[u32], first: usize) -> Option<usize> {
    let nodes = graph.nodes.get(first..)?;
    let start = nodes.first()?;
    let shape = |tensor_idx: usize| graph.tensor(tensor_idx).shape.as_slice();
    let x = activations(graph, start).next()?;
    let (&written, kind) = (start.operator.outputs.first()?, start.operator.code.kind);
    // Groups of channels, or one of all of them.
    let is_split = kind == OpKind::Reshape
        && (size(shape(written), 1) != size(shape(x), 1) || size(shape(written), 2) == 1.0);
    (kind == OpKind::Mean || is_split).then_some(())?;
    // What was computed, and how often it is still read.
    let mut inside: Vec<(usize, u32)> = Vec::new();
    let (mut n_means, mut n_roots, mut found, mut affine) =
        (0, 0, None, &[OpKind::Mul, OpKind::Add][..]);
    for (n, node) in nodes.iter().take(MAX_OF_NORMALISATION).enumerate() {
        let kind = node.operator.code.kind;
        let has_constant = || {
            node.operator
                .inputs
                .iter()
                .flatten()
                .any(|&idx| graph.is_constant(idx))
        };
        match kind {
            OpKind::Mul | OpKind::Add if found.is_some() => {
                let at = affine
                    .iter()
                    .position(|&one| one == kind)
                    .filter(|_| has_constant());
                let Some(at) = at else { break };
                affine = &affine[at + 1..];
            }
            OpKind::Cast if found.is_some() => {}
            _ if found.is_some() => break,
            OpKind::Mean => n_means += 1,
            OpKind::Rsqrt | OpKind::Sqrt => n_roots += 1,
            OpKind::Add
            | OpKind::Div
            | OpKind::Mul
            | OpKind::Reshape
            | OpKind::SquaredDifference
            | OpKind::Square
            | OpKind::Sub => {}
            _ => break,
        }
        for input in activations(graph, node).filter(|&input| input != x) {
            let Some((_, n_left)) = inside.iter_mut().find(|(idx, _)| *idx == input) else {
                return found;
            };
            *n_left = n_left.saturating_sub(1);
        }
        let &[written] = node.operator.outputs.as_slice() else {
            break;
        };
        let is_whole = n_means == 2
            && n_roots == 1
            && shape(written) == shape(x)
            && inside.iter().all(|(_, n_left)| *n_left == 0);
        if is_whole {
            found = Some(n + 1);
        }
        inside.push((written, n_readers[written]));
    }
    found
}

/// Operators of which a Mish consists: `x` times the hyperbolic tangent of its softplus.
const MISH: [OpKind; 5] = [
    OpKind::Exp,
    OpKind::Add,
    OpKind::Log,
    OpKind::Tanh,
    OpKind::Mul,
];

/// Whether a Mish in operators begins here, which has the time of the operator `MISH` of frameworks.
fn is_mish(graph: &Graph, n_readers: &[u32], first: usize) -> bool {
    let Some(nodes) = graph.nodes.get(first..first + MISH.len()) else {
        return false;
    };
    let x = activations(graph, &nodes[0]).next();
    let mut before = x;
    nodes.iter().zip(MISH).all(|(node, kind)| {
        let is_next = node.operator.code.kind == kind
            && activations(graph, node).any(|input| Some(input) == before)
            && activations(graph, node).all(|input| Some(input) == before || Some(input) == x);
        before = node.operator.outputs.first().copied();
        is_next && (kind == OpKind::Mul || before.is_some_and(|idx| n_readers[idx] == 1))
    })
}

/// Group of each node, and the last node of what a compiler sees as one with it.
fn groups(graph: &Graph, analysis: &Analysis) -> Vec<(Group, usize)> {
    let absorbed = absorbed(graph);
    let nodes = &graph.nodes;
    // Of a tensor: whether what wrote it multiplies, or is part of what does; and whether it is a product with a constant, to which
    // a compiler adds another one, as normalisations of batches do.
    const MULTIPLIED: u8 = 1;
    const SCALED: u8 = 2;
    let mut writers = vec![0; graph.subgraph.tensors.len()];
    // Of a tensor: whose logistic function it is.
    let mut logistic_of = vec![None; writers.len()];
    let mut is_end = vec![false; writers.len()];
    for &tensor_idx in (graph.subgraph.inputs.iter()).chain(&graph.subgraph.outputs) {
        is_end[tensor_idx] = true;
    }
    let mut n_readers = vec![0u32; writers.len()];
    let read = nodes
        .iter()
        .flat_map(|node| node.operator.inputs.iter().flatten());
    for &tensor_idx in read.chain(&graph.subgraph.outputs) {
        n_readers[tensor_idx] = n_readers[tensor_idx].saturating_add(1);
    }
    let mut groups: Vec<(Group, usize)> = Vec::with_capacity(nodes.len());
    while let Some(node) = nodes.get(groups.len()) {
        let idx = groups.len();
        if let Some(n_of_norm) = n_of_normalisation(graph, &n_readers, idx) {
            groups.push((Group::Norm, idx + n_of_norm - 1));
            groups.extend((1..n_of_norm).map(|n| (Group::Fused, idx + n)));
            continue;
        }
        if is_mish(graph, &n_readers, idx) {
            groups.push((Group::Other, idx + MISH.len() - 1));
            groups.extend((1..MISH.len()).map(|n| (Group::Fused, idx + n)));
            continue;
        }
        let code = &node.operator.code;
        // What goes in and comes out is converted there.
        let mut operands = activations(graph, node).chain(node.operator.outputs.iter().copied());
        let is_end = matches!(code.kind, OpKind::Quantize | OpKind::Dequantize)
            && operands.any(|idx| is_end[idx]);
        let plain = if absorbed[idx] || is_end {
            Some(Group::Fused)
        } else {
            plain_group(graph, node)
        };
        let multiplying =
            || multiplying_group(graph, node).filter(|_| analysis.costs[idx].macs > 0);
        let of_kind = (plain.or_else(multiplying)).unwrap_or_else(|| moving_group(code));
        let is_after = activations(graph, node)
            .next()
            .is_some_and(|input| writers[input] & MULTIPLIED != 0);
        let mut writer = 0;
        let group = match (of_kind, node.operator.inputs.as_slice()) {
            (Group::Curve, _) if is_after => Group::Activation,
            (Group::Elementwise, &[Some(a), Some(b)]) => {
                let has_constant = graph.is_constant(a) || graph.is_constant(b);
                let either = writers[a] | writers[b];
                match code.kind {
                    OpKind::Add if !has_constant && either & MULTIPLIED != 0 => Group::Activation,
                    OpKind::Add
                        if has_constant
                            && either & SCALED != 0
                            && !has_large_constant(graph, node) =>
                    {
                        Group::Fused
                    }
                    OpKind::Mul if logistic_of[a] == Some(b) || logistic_of[b] == Some(a) => {
                        Group::Gate
                    }
                    OpKind::Mul if has_constant => {
                        writer = SCALED;
                        Group::Elementwise
                    }
                    _ => Group::Elementwise,
                }
            }
            (group, _) => group,
        };
        let is_part = group == Group::Fused && is_after && !absorbed[idx];
        if (group as usize) < N_MULTIPLYING || is_part {
            writer = MULTIPLIED;
        }
        for &output in &node.operator.outputs {
            writers[output] = writer;
            if code.kind == OpKind::Logistic {
                logistic_of[output] = node.operator.inputs.first().copied().flatten();
            }
        }
        groups.push((group, idx));
    }
    groups
}

/// The group of an operator that takes no time of its own, or only that of a change of layout: a clip or a scaling by one number
/// is part of what computes its input, and nothing moves where channels are put beside each other in whole blocks, or where
/// the last axis stays as it is, but for images, which lie in blocks of positions and channels.
fn plain_group(graph: &Graph, node: &Node) -> Option<Group> {
    let operator = node.operator;
    let output = operator.outputs.first();
    let written = output.map_or(&[][..], |&output| graph.tensor(output).shape.as_slice());
    let mut read =
        activations(graph, node).map(|tensor_idx| graph.tensor(tensor_idx).shape.as_slice());
    let moves_nothing = match (operator.code.kind, &operator.options) {
        (OpKind::Maximum | OpKind::Minimum, _) => read.nth(1).is_none(),
        (
            OpKind::Cast,
            BuiltinOptions::Cast {
                in_data_type,
                out_data_type,
            },
        ) => in_data_type.is_float() && out_data_type.is_float(),
        (OpKind::Add | OpKind::Sub | OpKind::Mul | OpKind::Div, _) => {
            let n_before = usize::from(operator.code.kind == OpKind::Div);
            let is_number = |&tensor_idx: &usize| {
                let shape = &graph.tensor(tensor_idx).shape;
                graph.is_constant(tensor_idx) && shape.iter().all(|&side| side == 1)
            };
            let mut inputs = operator.inputs.iter().flatten().skip(n_before);
            inputs.any(is_number) && read.nth(1).is_none()
        }
        (OpKind::Reshape, _) => {
            let read = read.next()?;
            if read.last() == written.last() && is_image(read) != is_image(written) {
                return Some(Group::Layout);
            }
            read.last() == written.last()
        }
        (OpKind::Concatenation, &BuiltinOptions::Concatenation { axis, .. }) => {
            let is_of_channels = written.len() == 4 && matches!(axis, -1 | 3);
            is_of_channels && read.all(|read| size(read, 1) % STORED == 0.0)
        }
        _ => false,
    };
    moves_nothing.then_some(Group::Fused)
}

fn is_image(shape: &[i32]) -> bool {
    matches!(shape, [_, height, width, _] if *height > 1 && *width > 1)
}

/// The group of an operator that multiplies, if it is one. A window that is one position wide along an axis is that of an
/// image, whatever the number of axes.
pub fn multiplying_group(graph: &Graph, node: &Node) -> Option<Group> {
    let group = node.operator.code.kind.row().accelerator;
    if group as usize >= N_MULTIPLYING {
        return None;
    }
    if !matches!(group, Group::Window | Group::Volume) {
        return Some(group);
    }
    let inputs = node.operator.inputs.iter().flatten();
    let mut shapes = inputs
        .filter(|&&tensor_idx| graph.is_constant(tensor_idx))
        .map(|&tensor_idx| graph.tensor(tensor_idx).shape.as_slice());
    let window = shapes.find(|shape| shape.len() >= 4).unwrap_or_default();
    Some(match (group, window) {
        (Group::Volume, [1, ..] | [_, 1, 1, _, _]) => Group::Window,
        (Group::Volume, _) => Group::Volume,
        (_, [_, sides @ .., _]) if sides.iter().any(|&side| side != 1) => Group::Window,
        _ => Group::Pointwise,
    })
}

/// The group of an operator that has nothing to multiply.
fn moving_group(code: &OperatorCode) -> Group {
    let group = match &code.custom {
        Some(custom) => {
            let mut known = CUSTOM.iter();
            known.find(|(name, _)| *name == &**custom).map(|one| one.1)
        }
        None => Some(code.kind.row().accelerator),
    };
    let group = group.filter(|&group| group as usize >= N_MULTIPLYING);
    group.unwrap_or(Group::Other)
}

/// By node: whether its neighbours do its work. Convolutions and poolings pad what they read, a product reads a matrix in any
/// order of its axes, and what was transposed is written in any shape.
fn absorbed(graph: &Graph) -> Vec<bool> {
    // Of a tensor: what reads it, and what wrote it.
    const PADDING: u8 = 1;
    const PRODUCT: u8 = 2;
    const OTHER: u8 = 4;
    const READ: u8 = PADDING | PRODUCT | OTHER;
    const TRANSPOSED: u8 = 8;
    let reader = |kind: OpKind| match kind.row() {
        row if row.shape.pads() => PADDING,
        row if row.accelerator == Group::Product => PRODUCT,
        _ => OTHER,
    };
    let mut tensors = vec![0; graph.subgraph.tensors.len()];
    for node in &graph.nodes {
        let kind = node.operator.code.kind;
        for &tensor_idx in node.operator.inputs.iter().flatten() {
            // Two products are not one.
            let is_second = tensors[tensor_idx] & PRODUCT != 0;
            tensors[tensor_idx] |= if is_second { OTHER } else { reader(kind) };
        }
        for &tensor_idx in &node.operator.outputs {
            if kind == OpKind::Transpose {
                tensors[tensor_idx] |= TRANSPOSED;
            }
        }
    }
    let is_absorbed = |node: &Node| {
        let output = node.operator.outputs.first();
        let read_by = output.map_or(0, |&output| tensors[output] & READ);
        match node.operator.code.kind {
            OpKind::Pad => read_by == PADDING,
            OpKind::Transpose => read_by == PRODUCT,
            OpKind::Reshape => {
                activations(graph, node).any(|input| tensors[input] & TRANSPOSED != 0)
            }
            _ => false,
        }
    };
    graph.nodes.iter().map(is_absorbed).collect()
}
