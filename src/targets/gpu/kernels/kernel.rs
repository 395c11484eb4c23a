//! One kernel launch, described by counts.

pub use crate::formats::tflite::op_row::GpuFunction as Function;

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
    /// An elementwise function of one tensor.
    Activation,
    Addition,
    /// An elementwise operation on two tensors other than an addition, or an addition that broadcasts.
    Elementwise,
    /// An elementwise operation of one tensor with a constant.
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

/// One kernel launch. Counts are per input of the network and independent of the graph's batch size.
#[derive(Clone, Debug, PartialEq)]
pub struct Kernel {
    pub kind: Kind,
    /// Index of the last operator of the kernel in [`Graph::nodes`](crate::graph::Graph::nodes).
    pub node_idx: usize,
    /// Tensors that the kernel reads, as indices into the subgraph, with views resolved.
    pub sources: Vec<usize>,
    pub output: usize,
    pub function: Option<Function>,
    pub macs: f64,
    /// Elements of activations read and written.
    pub inputs: f64,
    pub outputs: f64,
    /// Elements read that are float32 under automatic mixed precision.
    pub float32_inputs: f64,
    /// Whether automatic mixed precision writes the result in float32.
    pub writes_float32: bool,
    /// Elements of constant weights.
    pub weights: f64,
    /// Shape of the work: a product is `rows × depth` times `depth × columns`; a normalisation or softmax has `rows`
    /// vectors of `columns` values. 0 for any other kernel.
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
    /// Whether a mask or bias is added to the scores. Frameworks materialise it for every input.
    pub is_masked: bool,
    /// Height of a convolution's output, rows of another product.
    pub side: f64,
    pub stride: f64,
    pub has_bias: bool,
    /// Whether the channels of what it reads first lie last in memory although the network's lie first: a normalisation of
    /// channels or a product wrote them so.
    pub is_permuted: bool,
    /// Whether an operand is repeated along a dimension.
    pub broadcasts: bool,
    /// Whether the constant operand is one number.
    pub is_scalar: bool,
}

impl Kernel {
    pub(super) fn new(kind: Kind, node_idx: usize) -> Self {
        Self {
            kind,
            node_idx,
            sources: Vec::new(),
            output: 0,
            function: None,
            macs: 0.0,
            inputs: 0.0,
            outputs: 0.0,
            float32_inputs: 0.0,
            writes_float32: false,
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
            is_permuted: false,
            broadcasts: false,
            is_scalar: false,
        }
    }

    pub fn is_convolution(&self) -> bool {
        matches!(
            self.kind,
            Kind::Convolution | Kind::Stem | Kind::Pointwise | Kind::Grouped | Kind::Depthwise
        )
    }

    /// Whether it multiplies matrices, whose operands automatic mixed precision casts to float16.
    pub fn is_product(&self) -> bool {
        let is_product = matches!(
            self.kind,
            Kind::Dense | Kind::MatrixProduct | Kind::Attention | Kind::Recurrent
        );
        is_product || self.is_convolution()
    }

    /// Whether it is a convolution with a bias: in nearly every network, that was a convolution followed by a batch norm,
    /// which writes a result in addition to that of the convolution.
    pub fn has_batch_norm(&self) -> bool {
        self.is_convolution() && self.has_bias
    }

    /// Divides the counts that grow with the batch size by `batch`.
    pub(super) fn per_input(mut self, batch: f64) -> Self {
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
