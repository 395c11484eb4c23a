//! [`Graph`] → [`Kernel`]s: what a framework launches on a GPU for one input of the network.
//!
//! The same network reaches this crate in several decompositions: layer normalisation as one operator or as
//! means, differences and roots; GELU as one operator or as a chain around `ERF`; attention as products
//! around a softmax. A framework runs each of them as one fused kernel, so they become one [`Kernel`] here:
//!
//! - Operators that only rename values (`RESHAPE`, slices) are no kernels, nor is the padding of a convolution or
//!   pool, which a framework's kernel has inside.
//! - Elementwise operators and reductions between a tensor and the operator where all paths from it meet
//!   again are one activation, or one normalisation if one of them reduces.
//! - A scale and a shift by constants after each other are one affine kernel; after a normalisation they
//!   are part of it; a constant added after a product without bias is its bias.
//! - Product, scale by one number and masks, softmax, product is one attention kernel; with a scale for each
//!   head it is not, for no fused kernel takes that.
//! - An activation that is fused into an operator is a kernel of its own, as in PyTorch.

use super::dimensions::{channels, elements, product, rows_of};
use crate::formats::tflite::{Activation, BuiltinOptions, OpKind, OperatorCode};
use crate::graph::{Graph, Node};

/// What a kernel computes. The order is that of the network's one-hot features.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    Convolution,
    /// The first convolution, of an image's few channels.
    Stem,
    /// A convolution with a window of one.
    Pointwise,
    Grouped,
    Depthwise,
    /// A product with constant weights.
    Dense,
    /// A product of two activations.
    MatrixProduct,
    Attention,
    Softmax,
    Normalisation,
    /// Of one tensor, elementwise.
    Activation,
    Addition,
    /// Of two tensors, elementwise, other than an addition; or an addition that broadcasts.
    Elementwise,
    /// Of one tensor with a constant.
    Scale,
    /// A scale and a shift by constants: an unfolded batch norm.
    Affine,
    Reduction,
    Pool,
    Concatenation,
    /// Padding, and rotation of rows.
    Copy,
    Resize,
    Gather,
    Recurrent,
    Other,
}

impl Kind {
    pub const ALL: [Self; 23] = [
        Self::Convolution,
        Self::Stem,
        Self::Pointwise,
        Self::Grouped,
        Self::Depthwise,
        Self::Dense,
        Self::MatrixProduct,
        Self::Attention,
        Self::Softmax,
        Self::Normalisation,
        Self::Activation,
        Self::Addition,
        Self::Elementwise,
        Self::Scale,
        Self::Affine,
        Self::Reduction,
        Self::Pool,
        Self::Concatenation,
        Self::Copy,
        Self::Resize,
        Self::Gather,
        Self::Recurrent,
        Self::Other,
    ];
}

/// Which function an activation kernel computes, as far as its cost differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Function {
    Relu,
    Relu6,
    Gelu,
    /// Of several operators that meet again: SiLU, GELU in parts.
    Gated,
    Hard,
    Other,
}

impl Function {
    pub const ALL: [Self; 6] = [
        Self::Relu,
        Self::Relu6,
        Self::Gelu,
        Self::Gated,
        Self::Hard,
        Self::Other,
    ];

    fn of(code: &OperatorCode) -> Self {
        match code.kind {
            OpKind::Relu => Self::Relu,
            OpKind::Relu6 => Self::Relu6,
            OpKind::Gelu => Self::Gelu,
            OpKind::HardSwish => Self::Hard,
            OpKind::Custom if code.name().starts_with("HARD") => Self::Hard,
            _ => Self::Other,
        }
    }
}

/// One launch. Counts are of one input of the network, whatever batch the graph has.
#[derive(Clone, Debug, PartialEq)]
pub struct Kernel {
    pub kind: Kind,
    /// Index of the last operator of the kernel in [`Graph::nodes`].
    pub node_idx: usize,
    /// Tensors that it reads and the one that it writes, as indices into the subgraph; views resolved.
    pub sources: Vec<usize>,
    pub output: usize,
    pub function: Option<Function>,
    pub macs: f64,
    /// Elements of activations read and written.
    pub inputs: f64,
    pub outputs: f64,
    /// Elements of constant weights.
    pub weights: f64,
    /// Of a product, `rows × depth` times `depth × columns`; of a normalisation or softmax, `rows` vectors
    /// of `columns` values. 0 where the kernel is neither.
    pub rows: f64,
    pub columns: f64,
    pub depth: f64,
    /// Positions of the window.
    pub window: f64,
    pub in_channels: f64,
    /// Independent products: groups of a convolution, matrices of a batch.
    pub groups: f64,
    /// Elements of an attention's scores, which a fused kernel never writes.
    pub scores: f64,
    /// Whether a mask or bias is added to the scores: frameworks write it out for every input.
    pub is_masked: bool,
    /// Height of a convolution's output, rows of another product.
    pub side: f64,
    pub stride: f64,
    pub has_bias: bool,
    /// Whether an operand is repeated along a dimension.
    pub broadcasts: bool,
    /// Whether the constant operand is one number.
    pub is_scalar: bool,
}

impl Kernel {
    fn new(kind: Kind, node_idx: usize) -> Self {
        Self {
            kind,
            node_idx,
            sources: Vec::new(),
            output: 0,
            function: None,
            macs: 0.0,
            inputs: 0.0,
            outputs: 0.0,
            weights: 0.0,
            rows: 0.0,
            columns: 0.0,
            depth: 0.0,
            window: 0.0,
            in_channels: 0.0,
            groups: 0.0,
            scores: 0.0,
            is_masked: false,
            side: 0.0,
            stride: 1.0,
            has_bias: false,
            broadcasts: false,
            is_scalar: false,
        }
    }

    /// Divides what grows with the batch.
    fn per_input(mut self, batch: f64) -> Self {
        for count in [
            &mut self.macs,
            &mut self.inputs,
            &mut self.outputs,
            &mut self.scores,
        ] {
            *count /= batch;
        }
        match self.kind {
            Kind::MatrixProduct | Kind::Attention => self.groups /= batch,
            _ => self.rows /= batch,
        }
        if self.kind == Kind::Dense {
            self.side /= batch;
        }
        self
    }
}

/// Inputs that the graph as it is takes at a time: the first dimension of its first input, 1 for a vector.
pub fn graph_batch(graph: &Graph) -> u32 {
    let first = graph.subgraph.inputs.first();
    let shape = first.map_or(&[][..], |&tensor_idx| &graph.tensor(tensor_idx).shape);
    match shape {
        [first, _, ..] => u32::try_from(*first).unwrap_or(1).max(1),
        _ => 1,
    }
}

/// The kernels of one inference of one input, in the order of the graph. Linear in operators and their inputs.
pub fn kernels(graph: &Graph) -> Vec<Kernel> {
    let mut builder = Builder::new(graph);
    for (node_idx, node) in graph.nodes.iter().enumerate() {
        builder.add(node_idx, node);
    }
    let batch = f64::from(graph_batch(graph));
    let drafts = builder.drafts.into_iter().filter(|draft| !draft.is_merged);
    drafts.map(|draft| draft.kernel.per_input(batch)).collect()
}

/// A set of operators. Graphs of frameworks have some that TFLite does not: those are custom ones here.
struct Operators {
    builtin: &'static [OpKind],
    custom: &'static [&'static str],
}

impl Operators {
    fn contains(&self, code: &OperatorCode) -> bool {
        match &code.custom {
            Some(name) => self.custom.contains(&name.as_str()),
            None => self.builtin.contains(&code.kind),
        }
    }
}

/// Operators whose output is their first input under another name or in another order. A framework copies
/// only where the next kernel needs it.
const VIEWS: Operators = Operators {
    builtin: &[
        OpKind::Reshape,
        OpKind::Transpose,
        OpKind::StridedSlice,
        OpKind::Slice,
        OpKind::Split,
        OpKind::SplitV,
        OpKind::Unpack,
        OpKind::Squeeze,
        OpKind::ExpandDims,
        OpKind::Shape,
        OpKind::Cast,
        OpKind::BroadcastTo,
        OpKind::Quantize,
        OpKind::Dequantize,
    ],
    custom: &["IDENTITY"],
};

/// Operators whose kernels pad their input themselves. TFLite has words for some paddings only: others are a `PAD`.
const PADDING: &[OpKind] = &[
    OpKind::AveragePool2d,
    OpKind::Conv2d,
    OpKind::Conv3d,
    OpKind::DepthwiseConv2d,
    OpKind::MaxPool2d,
];

const UNARY: Operators = Operators {
    builtin: &[
        OpKind::Abs,
        OpKind::Cos,
        OpKind::Elu,
        OpKind::Exp,
        OpKind::Floor,
        OpKind::Gelu,
        OpKind::HardSwish,
        OpKind::LeakyRelu,
        OpKind::Log,
        OpKind::Logistic,
        OpKind::Neg,
        OpKind::Prelu,
        OpKind::Relu,
        OpKind::Relu6,
        OpKind::Relu0To1,
        OpKind::ReluN1To1,
        OpKind::Round,
        OpKind::Rsqrt,
        OpKind::Sign,
        OpKind::Sin,
        OpKind::Sqrt,
        OpKind::Square,
        OpKind::Tanh,
    ],
    custom: &["ERF", "HARD_SIGMOID", "MISH", "RECIPROCAL", "SOFTPLUS"],
};

const BINARY: Operators = Operators {
    builtin: &[
        OpKind::Add,
        OpKind::Div,
        OpKind::Maximum,
        OpKind::Minimum,
        OpKind::Mul,
        OpKind::Pow,
        OpKind::Select,
        OpKind::SelectV2,
        OpKind::SquaredDifference,
        OpKind::Sub,
    ],
    custom: &["ADDCMUL"],
};

const REDUCTIONS: Operators = Operators {
    builtin: &[
        OpKind::Mean,
        OpKind::ReduceMax,
        OpKind::ReduceMin,
        OpKind::ReduceProd,
        OpKind::Sum,
    ],
    custom: &["L2_NORM", "VARIANCE"],
};

const NORMALISATIONS: Operators = Operators {
    builtin: &[OpKind::L2Normalization],
    custom: &[
        "GROUP_NORMALIZATION",
        "INSTANCE_NORMALIZATION",
        "LAYER_NORMALIZATION",
        "RMS_NORMALIZATION",
    ],
};

/// Normalisations of groups of channels over all positions, which are few and long.
const NORMALISATIONS_OF_MAPS: &[&str] = &["GROUP_NORMALIZATION", "INSTANCE_NORMALIZATION"];

/// What a normalisation is decomposed into.
const OF_NORMALISATIONS: Operators = Operators {
    builtin: &[
        OpKind::Abs,
        OpKind::Add,
        OpKind::Div,
        OpKind::Maximum,
        OpKind::Mean,
        OpKind::Mul,
        OpKind::Pow,
        OpKind::ReduceMax,
        OpKind::Rsqrt,
        OpKind::Sqrt,
        OpKind::Square,
        OpKind::SquaredDifference,
        OpKind::Sub,
        OpKind::Sum,
    ],
    custom: &["L2_NORM", "RECIPROCAL", "VARIANCE"],
};

/// Elementwise kernels behind each other that are looked at for a common origin. The longest published
/// decomposition, GELU by tanh, has nine; without a limit a file of one long chain would take quadratic time.
const MAX_REGION: usize = 24;

/// A kernel that later operators may still become part of.
struct Draft<'m> {
    kernel: Kernel,
    code: &'m OperatorCode,
    /// Part of another kernel.
    is_merged: bool,
    /// Whether paths from one tensor meet again here.
    is_meeting: bool,
    /// Whether a constant after it has been absorbed.
    has_tail: bool,
    /// Of a softmax: the product that makes its scores, and what is between them.
    scores_of: Option<(usize, Vec<usize>)>,
}

/// Elementwise kernels between a tensor and another that is computed from it alone.
#[derive(Clone)]
struct Region {
    origin: usize,
    drafts: Vec<usize>,
    n_reductions: usize,
}

struct Builder<'g, 'm> {
    graph: &'g Graph<'m>,
    /// By tensor: the tensor that it is a view of.
    viewed: Vec<usize>,
    /// By tensor: the tensor that it is with the padding of a convolution or pool around it.
    unpadded: Vec<usize>,
    /// By tensor: operators that read it or a view of it.
    n_readers: Vec<usize>,
    is_constant: Vec<bool>,
    /// By tensor: the draft that writes it.
    writers: Vec<Option<usize>>,
    regions: Vec<Option<Region>>,
    drafts: Vec<Draft<'m>>,
}

impl<'g, 'm> Builder<'g, 'm> {
    fn new(graph: &'g Graph<'m>) -> Self {
        let n_tensors = graph.subgraph.tensors.len();
        let mut builder = Self {
            graph,
            viewed: (0..n_tensors).collect(),
            unpadded: (0..n_tensors).collect(),
            n_readers: vec![0; n_tensors],
            is_constant: vec![true; n_tensors],
            writers: vec![None; n_tensors],
            regions: vec![None; n_tensors],
            drafts: Vec::new(),
        };
        for &input in &graph.subgraph.inputs {
            builder.is_constant[input] = false;
        }
        // What is computed from constants alone is a constant: exports differ in how much they fold.
        for node in &graph.nodes {
            let reads_activation = builder.activations(node).next().is_some();
            for &output in &node.operator.outputs {
                builder.is_constant[output] &= !reads_activation;
            }
        }
        let pads = builder.pads();
        for (node, &is_padding) in graph.nodes.iter().zip(&pads) {
            let first = builder.activations(node).next();
            let is_view = VIEWS.contains(&node.operator.code);
            if let (true, Some(source)) = (is_view || is_padding, first) {
                for &output in &node.operator.outputs {
                    builder.viewed[output] = builder.viewed[source];
                    if is_padding {
                        builder.unpadded[output] = builder.unpadded[source];
                    }
                }
            } else {
                for source in builder.sources(node) {
                    builder.n_readers[source] += 1;
                }
            }
        }
        builder
    }

    /// By node: whether it is the padding of convolutions or pools alone.
    fn pads(&self) -> Vec<bool> {
        let mut is_padded = vec![false; self.viewed.len()];
        let mut is_read_otherwise = vec![false; self.viewed.len()];
        for &output in &self.graph.subgraph.outputs {
            is_read_otherwise[output] = true;
        }
        for node in &self.graph.nodes {
            let pads = PADDING.contains(&node.operator.code.kind);
            for &input in node.operator.inputs.iter().flatten() {
                let marked = if pads {
                    &mut is_padded
                } else {
                    &mut is_read_otherwise
                };
                marked[input] = true;
            }
        }
        let is_padding = |node: &Node| {
            let mut outputs = node.operator.outputs.iter();
            node.operator.code.kind == OpKind::Pad
                && outputs.all(|&output| is_padded[output] && !is_read_otherwise[output])
        };
        self.graph.nodes.iter().map(is_padding).collect()
    }

    fn activations<'n>(&'n self, node: &'n Node<'m>) -> impl Iterator<Item = usize> + 'n {
        let inputs = node.operator.inputs.iter().flatten().copied();
        inputs.filter(|&tensor_idx| !self.is_constant[tensor_idx])
    }

    /// Distinct tensors that are read, views resolved, in the order of the inputs.
    fn sources(&self, node: &Node<'m>) -> Vec<usize> {
        let mut sources: Vec<usize> = Vec::new();
        for tensor_idx in self.activations(node) {
            let source = self.viewed[tensor_idx];
            // Joins of thousands of tensors are compared with their first ones only.
            if !sources.iter().take(8).any(|&known| known == source) {
                sources.push(source);
            }
        }
        sources
    }

    fn elements(&self, tensor_idx: usize) -> f64 {
        elements(self.graph.tensor(self.unpadded[tensor_idx]))
    }

    fn shape(&self, tensor_idx: usize) -> &'m [i32] {
        &self.graph.tensor(tensor_idx).shape
    }

    fn add(&mut self, node_idx: usize, node: &Node<'m>) {
        let code = &node.operator.code;
        let Some(&output) = node.operator.outputs.first() else {
            return;
        };
        let sources = self.sources(node);
        let is_padding = self.unpadded[output] != output;
        if sources.is_empty() || VIEWS.contains(code) || is_padding {
            return;
        }
        match code.kind {
            OpKind::Conv2d | OpKind::DepthwiseConv2d | OpKind::TransposeConv | OpKind::Conv3d => {
                self.convolution(node_idx, node, output);
            }
            OpKind::FullyConnected => self.dense(node_idx, node, output),
            OpKind::BatchMatmul => self.matrix_product(node_idx, node, output),
            OpKind::Softmax | OpKind::LogSoftmax => self.softmax(node_idx, node, output),
            _ if NORMALISATIONS.contains(code) => {
                let draft = self.normalisation(node_idx, node, output);
                self.begin_region(output, sources[0], draft, 1);
            }
            _ if REDUCTIONS.contains(code) => self.reduction(node_idx, node, output),
            _ if UNARY.contains(code) || BINARY.contains(code) => {
                self.elementwise(node_idx, node, output, &sources);
            }
            _ => self.other(node_idx, node),
        }
        self.fused_activation(node_idx, node, output);
    }

    /// A draft that reads and writes all activations of a node.
    fn draft(&mut self, node_idx: usize, node: &Node<'m>, kernel: Kernel) -> usize {
        let inputs = self.activations(node).map(|t| self.elements(t)).sum();
        let outputs = node.operator.outputs.iter();
        let outputs_sum = outputs.clone().map(|&t| self.elements(t)).sum();
        let kernel = Kernel {
            node_idx,
            sources: self.sources(node),
            output: node.operator.outputs.first().copied().unwrap_or(0),
            inputs,
            outputs: outputs_sum,
            ..kernel
        };
        let draft_idx = self.drafts.len();
        for &output in outputs {
            self.writers[output] = Some(draft_idx);
        }
        self.drafts.push(Draft {
            kernel,
            code: &node.operator.code,
            is_merged: false,
            is_meeting: false,
            has_tail: false,
            scores_of: None,
        });
        draft_idx
    }

    fn convolution(&mut self, node_idx: usize, node: &Node<'m>, output: usize) {
        let operator = node.operator;
        let weights = operator.inputs.get(1).copied().flatten();
        let weights_shape = weights.map_or(&[][..], |t| self.shape(t));
        let Some(input) = self.activations(node).last() else {
            return;
        };
        let in_channels = channels(self.shape(input));
        let out_shape = self.shape(output);
        let columns = channels(out_shape);
        let rows = rows_of(out_shape);
        let inner = weights_shape.get(1..weights_shape.len().saturating_sub(1));
        let window = product(inner.unwrap_or_default()).max(1.0);
        let is_depthwise = operator.code.kind == OpKind::DepthwiseConv2d;
        let depth = if is_depthwise {
            window
        } else {
            window * channels(weights_shape)
        };
        let groups = if is_depthwise {
            in_channels
        } else {
            (in_channels / channels(weights_shape)).floor().max(1.0)
        };
        let side = out_shape.get(1).map_or(1.0, |&side| f64::from(side.max(1)));
        let macs = match operator.code.kind {
            OpKind::TransposeConv => self.elements(input) * columns * window,
            _ => rows * columns * depth,
        };
        let kind = match () {
            () if is_depthwise => Kind::Depthwise,
            () if groups > 1.0 => Kind::Grouped,
            () if in_channels <= 4.0 && side > 16.0 => Kind::Stem,
            () if window <= 1.0 => Kind::Pointwise,
            () => Kind::Convolution,
        };
        let kernel = Kernel {
            macs,
            weights: product(weights_shape),
            rows,
            columns,
            depth,
            window,
            in_channels,
            groups,
            side,
            stride: stride(&operator.options),
            has_bias: operator.inputs.len() > 2 && operator.code.kind != OpKind::TransposeConv,
            ..Kernel::new(kind, node_idx)
        };
        self.draft(node_idx, node, kernel);
    }

    fn dense(&mut self, node_idx: usize, node: &Node<'m>, output: usize) {
        let weights = node.operator.inputs.get(1).copied().flatten();
        let Some(&[columns, depth]) = weights.map(|t| self.shape(t)) else {
            return self.other(node_idx, node);
        };
        let has_bias = node.operator.inputs.get(2).copied().flatten().is_some();
        let sizes = [columns, depth].map(|d| f64::from(d.max(0)));
        self.product_with_weights(node_idx, node, output, sizes, has_bias);
    }

    fn product_with_weights(
        &mut self,
        node_idx: usize,
        node: &Node<'m>,
        output: usize,
        [columns, depth]: [f64; 2],
        has_bias: bool,
    ) {
        let rows = self.elements(output) / columns.max(1.0);
        let kernel = Kernel {
            macs: rows * columns * depth,
            weights: columns * depth,
            rows,
            columns,
            depth,
            window: 1.0,
            in_channels: depth,
            groups: 1.0,
            side: rows,
            has_bias,
            ..Kernel::new(Kind::Dense, node_idx)
        };
        self.draft(node_idx, node, kernel);
    }

    fn matrix_product(&mut self, node_idx: usize, node: &Node<'m>, output: usize) {
        let out_shape = self.shape(output);
        let columns = channels(out_shape);
        let input = |position: usize| node.operator.inputs.get(position).copied().flatten();
        let (Some(left), Some(right)) = (input(0), input(1)) else {
            return self.other(node_idx, node);
        };
        let n_out = self.elements(output);
        if self.is_constant[right] && self.shape(right).len() == 2 {
            let depth = self.elements(right) / columns.max(1.0);
            return self.product_with_weights(node_idx, node, output, [columns, depth], false);
        }
        let rows = match out_shape {
            [.., rows, _] => f64::from((*rows).max(0)),
            _ => 1.0,
        };
        let depth = self.elements(left) / (n_out / columns.max(1.0)).max(1.0);
        let kernel = Kernel {
            macs: n_out * depth,
            rows,
            columns,
            depth,
            window: 1.0,
            in_channels: depth,
            groups: n_out / (rows * columns).max(1.0),
            side: rows,
            ..Kernel::new(Kind::MatrixProduct, node_idx)
        };
        let draft = self.draft(node_idx, node, kernel);
        self.attention(draft, self.viewed[left]);
    }

    /// Makes a product an attention where its first operand is a softmax of another product.
    fn attention(&mut self, draft: usize, left: usize) {
        let Some(softmax) = self.writers[left].filter(|_| self.n_readers[left] == 1) else {
            return;
        };
        let Some((scores, between)) = self.drafts[softmax].scores_of.take() else {
            return;
        };
        let n_scores = self.drafts[softmax].kernel.outputs;
        let product = self.drafts[scores].kernel.clone();
        let is_masked = between
            .iter()
            .any(|&idx| !self.drafts[idx].kernel.is_scalar);
        let kernel = &mut self.drafts[draft].kernel;
        kernel.kind = Kind::Attention;
        kernel.macs += product.macs;
        kernel.inputs = product.inputs + (kernel.inputs - n_scores).max(0.0);
        kernel.scores = n_scores;
        kernel.is_masked = is_masked;
        kernel.in_channels = kernel.columns;
        kernel.rows = product.rows;
        kernel.columns = product.columns;
        kernel.depth = product.depth;
        kernel.groups = product.groups;
        let values = kernel
            .sources
            .iter()
            .copied()
            .filter(|&source| source != left);
        let values: Vec<usize> = values.collect();
        let mut sources = Vec::new();
        let mut scales = Vec::new();
        for source in product.sources {
            let writer = self.writers[source].filter(|_| self.n_readers[source] == 1);
            let scale = writer.filter(|&writer| {
                let kernel = &self.drafts[writer].kernel;
                kernel.kind == Kind::Scale && kernel.is_scalar
            });
            scales.extend(scale);
            let before = scale.and_then(|scale| self.drafts[scale].kernel.sources.first());
            sources.push(before.copied().unwrap_or(source));
        }
        sources.extend(values);
        self.drafts[draft].kernel.sources = sources;
        for merged in between.into_iter().chain(scales).chain([scores, softmax]) {
            self.drafts[merged].is_merged = true;
        }
    }

    fn softmax(&mut self, node_idx: usize, node: &Node<'m>, output: usize) {
        let kernel = self.vectors(Kind::Softmax, node_idx, output);
        let draft = self.draft(node_idx, node, kernel);
        let mut between = Vec::new();
        let mut next = self.drafts[draft].kernel.sources.first().copied();
        while let Some(source) = next.filter(|&source| self.n_readers[source] == 1) {
            let Some(writer) = self.writers[source] else {
                return;
            };
            match self.drafts[writer].kernel.kind {
                Kind::MatrixProduct => {
                    self.drafts[draft].scores_of = Some((writer, between));
                    return;
                }
                Kind::Scale if self.is_fused_before_softmax(writer) => between.push(writer),
                _ => return,
            }
            next = self.drafts[writer].kernel.sources.first().copied();
        }
    }

    /// A scale by one number, or a mask.
    fn is_fused_before_softmax(&self, draft: usize) -> bool {
        let Draft { kernel, code, .. } = &self.drafts[draft];
        kernel.is_scalar || [OpKind::Add, OpKind::Select, OpKind::SelectV2].contains(&code.kind)
    }

    /// Of a kernel that works on vectors along the last dimension.
    fn vectors(&self, kind: Kind, node_idx: usize, output: usize) -> Kernel {
        let shape = self.shape(output);
        Kernel {
            rows: rows_of(shape),
            columns: channels(shape),
            ..Kernel::new(kind, node_idx)
        }
    }

    fn normalisation(&mut self, node_idx: usize, node: &Node<'m>, output: usize) -> usize {
        let mut kernel = self.vectors(Kind::Normalisation, node_idx, output);
        if NORMALISATIONS_OF_MAPS.contains(&node.operator.code.name()) {
            kernel.rows = 0.0;
        }
        self.draft(node_idx, node, kernel)
    }

    fn reduction(&mut self, node_idx: usize, node: &Node<'m>, output: usize) {
        let kernel = Kernel::new(Kind::Reduction, node_idx);
        let draft = self.draft(node_idx, node, kernel);
        let kernel = &mut self.drafts[draft].kernel;
        kernel.rows = kernel.outputs;
        kernel.columns = (kernel.inputs / kernel.outputs.max(1.0)).floor();
        if let Some(&source) = self.drafts[draft].kernel.sources.first() {
            self.extend_region(output, source, draft, 1);
        }
    }

    fn elementwise(&mut self, node_idx: usize, node: &Node<'m>, output: usize, sources: &[usize]) {
        match *sources {
            [one] => self.of_one(node_idx, node, output, one),
            [one, other] if self.origin(one) == self.origin(other) => {
                self.meeting(node_idx, node, output, [one, other]);
            }
            _ => {
                let sizes = || self.activations(node).map(|t| self.elements(t));
                let largest = sizes().fold(0.0, f64::max);
                let broadcasts = sizes().fold(f64::MAX, f64::min) * 2.0 < largest;
                let is_addition = node.operator.code.kind == OpKind::Add && !broadcasts;
                let kind = if is_addition {
                    Kind::Addition
                } else {
                    Kind::Elementwise
                };
                let kernel = Kernel {
                    broadcasts,
                    ..Kernel::new(kind, node_idx)
                };
                self.draft(node_idx, node, kernel);
            }
        }
    }

    fn origin(&self, tensor_idx: usize) -> usize {
        let region = self.regions[tensor_idx].as_ref();
        region.map_or(tensor_idx, |region| region.origin)
    }

    /// All paths from one tensor meet here: what lies on only one of them becomes part of this kernel.
    fn meeting(&mut self, node_idx: usize, node: &Node<'m>, output: usize, sources: [usize; 2]) {
        let origin = self.origin(sources[0]);
        let drafts = |source: usize| {
            let region = self.regions[source].as_ref();
            region.map_or(&[][..], |region| &region.drafts)
        };
        let [left, right] = sources.map(drafts);
        let n_shared = left.iter().zip(right).take_while(|(a, b)| a == b).count();
        let mut merged: Vec<usize> = left[n_shared..]
            .iter()
            .chain(&right[n_shared..])
            .copied()
            .collect();
        let shared = left[..n_shared].to_vec();
        let n_reductions = sources
            .iter()
            .filter_map(|&source| self.regions[source].as_ref())
            .map(|region| region.n_reductions)
            .sum::<usize>();
        let reduces = n_reductions > 0;
        if reduces
            && !merged
                .iter()
                .all(|&idx| OF_NORMALISATIONS.contains(self.drafts[idx].code))
        {
            // Normalisations with activations inside run operator by operator.
            self.draft(node_idx, node, Kernel::new(Kind::Elementwise, node_idx));
            return;
        }
        // The difference to the mean, which the root of its squares' mean divides.
        let difference = shared
            .last()
            .copied()
            .filter(|&last| reduces && self.drafts[last].is_meeting);
        merged.extend(difference);
        let mut kernel = match reduces {
            true => self.vectors(Kind::Normalisation, node_idx, output),
            false => Kernel {
                function: Some(Function::Gated),
                ..Kernel::new(Kind::Activation, node_idx)
            },
        };
        kernel.node_idx = node_idx;
        let draft = self.draft(node_idx, node, kernel);
        self.drafts[draft].is_meeting = true;
        self.drafts[draft].kernel.inputs = self.elements(origin);
        self.drafts[draft].kernel.sources = vec![origin];
        for merged in merged {
            self.drafts[merged].is_merged = true;
        }
        let kept = shared.len() - usize::from(difference.is_some());
        let mut drafts = shared;
        drafts.truncate(kept);
        drafts.push(draft);
        self.regions[output] = Some(Region {
            origin,
            drafts,
            n_reductions: usize::from(reduces),
        });
    }

    /// Of one tensor, perhaps with constants.
    fn of_one(&mut self, node_idx: usize, node: &Node<'m>, output: usize, source: usize) {
        let code = &node.operator.code;
        let constants = node.operator.inputs.iter().flatten();
        let constants = constants.filter(|&&t| self.is_constant[t]);
        let constant = constants.map(|&t| self.elements(t)).fold(0.0, f64::max);
        if UNARY.contains(code) || constant == 0.0 {
            let kernel = Kernel {
                function: Some(Function::of(code)),
                ..Kernel::new(Kind::Activation, node_idx)
            };
            let draft = self.draft(node_idx, node, kernel);
            return self.extend_region(output, source, draft, 0);
        }
        if self.absorb(code.kind, output, source, constant) {
            return;
        }
        let kernel = Kernel {
            is_scalar: constant <= 1.0,
            ..Kernel::new(Kind::Scale, node_idx)
        };
        let draft = self.draft(node_idx, node, kernel);
        self.extend_region(output, source, draft, 0);
    }

    /// Whether an operation with a constant is part of the kernel before it.
    fn absorb(&mut self, kind: OpKind, output: usize, source: usize, constant: f64) -> bool {
        let Some(writer) = self.writers[source].filter(|_| self.n_readers[source] == 1) else {
            return false;
        };
        let is_vector = constant > 1.0;
        let adds_vector = kind == OpKind::Add && is_vector;
        let draft = &mut self.drafts[writer];
        let kernel = &mut draft.kernel;
        match kernel.kind {
            _ if draft.is_merged => return false,
            Kind::Normalisation if is_vector => {}
            Kind::Activation if draft.is_meeting && !is_vector && !draft.has_tail => {}
            Kind::Scale if draft.code.kind == OpKind::Mul && adds_vector => {
                kernel.kind = Kind::Affine
            }
            Kind::Dense if adds_vector && !kernel.has_bias && constant == kernel.columns => {
                kernel.has_bias = true;
            }
            _ => return false,
        }
        draft.has_tail = true;
        kernel.output = output;
        self.writers[output] = Some(writer);
        self.regions[output] = self.regions[source].clone();
        true
    }

    fn begin_region(&mut self, output: usize, origin: usize, draft: usize, n_reductions: usize) {
        self.regions[output] = Some(Region {
            origin,
            drafts: vec![draft],
            n_reductions,
        });
    }

    fn extend_region(&mut self, output: usize, source: usize, draft: usize, n_reductions: usize) {
        let region = self.regions[source].clone();
        match region.filter(|region| region.drafts.len() < MAX_REGION) {
            Some(mut region) => {
                region.drafts.push(draft);
                region.n_reductions += n_reductions;
                self.regions[output] = Some(region);
            }
            None => self.begin_region(output, source, draft, n_reductions),
        }
    }

    fn other(&mut self, node_idx: usize, node: &Node<'m>) {
        let (kind, window, stride) = match (node.operator.code.kind, &node.operator.options) {
            (
                _,
                BuiltinOptions::Pool2D {
                    filter_h,
                    filter_w,
                    stride_h,
                    ..
                },
            ) => {
                let window = product(&[*filter_h, *filter_w]);
                (Kind::Pool, window, f64::from((*stride_h).max(1)))
            }
            (OpKind::Concatenation | OpKind::Pack, _) => (Kind::Concatenation, 0.0, 1.0),
            (OpKind::Pad | OpKind::Padv2 | OpKind::MirrorPad, _) => (Kind::Copy, 0.0, 1.0),
            (OpKind::ResizeBilinear | OpKind::ResizeNearestNeighbor, _) => (Kind::Resize, 0.0, 1.0),
            (OpKind::Gather | OpKind::GatherNd | OpKind::EmbeddingLookup, _) => {
                (Kind::Gather, 0.0, 1.0)
            }
            (
                OpKind::UnidirectionalSequenceLstm
                | OpKind::UnidirectionalSequenceRnn
                | OpKind::Lstm,
                _,
            ) => {
                return self.recurrent(node_idx, node);
            }
            _ if node.operator.code.name() == "ROLL" => (Kind::Copy, 0.0, 1.0),
            _ => (Kind::Other, 0.0, 1.0),
        };
        let kernel = Kernel {
            window,
            stride,
            ..Kernel::new(kind, node_idx)
        };
        self.draft(node_idx, node, kernel);
    }

    /// Each step multiplies all matrices.
    fn recurrent(&mut self, node_idx: usize, node: &Node<'m>) {
        let inputs = || node.operator.inputs.iter().flatten().copied();
        let steps = inputs().next().map_or(0.0, |t| rows_of(self.shape(t)));
        let constants = || inputs().filter(|&t| self.is_constant[t]);
        let matrices = constants().filter(|&t| self.shape(t).len() == 2);
        let per_step: f64 = matrices.map(|t| self.elements(t)).sum();
        let kernel = Kernel {
            macs: steps * per_step,
            weights: constants().map(|t| self.elements(t)).sum(),
            ..Kernel::new(Kind::Recurrent, node_idx)
        };
        self.draft(node_idx, node, kernel);
    }

    fn fused_activation(&mut self, node_idx: usize, node: &Node<'m>, output: usize) {
        let function = match activation(&node.operator.options) {
            Some(Activation::Relu) => Function::Relu,
            Some(Activation::Relu6) => Function::Relu6,
            None | Some(Activation::None) => return,
            Some(_) => Function::Other,
        };
        let kernel = Kernel {
            function: Some(function),
            ..Kernel::new(Kind::Activation, node_idx)
        };
        let draft = self.draft(node_idx, node, kernel);
        self.drafts[draft].kernel.inputs = self.elements(output);
        self.drafts[draft].kernel.sources = vec![output];
        self.regions[output] = None;
    }
}

fn stride(options: &BuiltinOptions) -> f64 {
    let stride = match options {
        BuiltinOptions::Conv2D { stride_h, .. }
        | BuiltinOptions::Conv3D { stride_h, .. }
        | BuiltinOptions::DepthwiseConv2D { stride_h, .. }
        | BuiltinOptions::TransposeConv { stride_h, .. } => *stride_h,
        _ => 1,
    };
    f64::from(stride.max(1))
}

fn activation(options: &BuiltinOptions) -> Option<Activation> {
    match options {
        BuiltinOptions::Conv2D { activation, .. }
        | BuiltinOptions::Conv3D { activation, .. }
        | BuiltinOptions::DepthwiseConv2D { activation, .. }
        | BuiltinOptions::TransposeConv { activation, .. }
        | BuiltinOptions::FullyConnected { activation, .. }
        | BuiltinOptions::Add { activation }
        | BuiltinOptions::Sub { activation }
        | BuiltinOptions::Mul { activation }
        | BuiltinOptions::Div { activation } => Some(*activation),
        _ => None,
    }
}
