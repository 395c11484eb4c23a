//! What a row of the table of operators ([`OpKind::row`](super::OpKind::row)) says of a kind: classes that rules match on
//! exhaustively, so that a kind that is added is decided everywhere, and a class that is added does not compile until every
//! rule decides it.

/// What is known of a kind of operators.
#[derive(Clone, Copy, Debug)]
pub struct OperatorRow {
    /// What the page colours. A network with operators of [`Category::Control`] keeps its order.
    pub category: Category,
    pub effect: Effect,
    /// The rule for the shapes of its results, by which batch size, resolution and width change them too.
    pub shape: ShapeRule,
    /// The rule for the integers that it computes of sizes.
    pub values: Values,
    /// The rule for its multiply-accumulates.
    pub work: Work,
    /// How cores without wide vectors work through it.
    pub cores: CoreWork,
    /// Which kernel a framework launches for it on a GPU.
    pub gpu: GpuWork,
    /// Which group of the work of an accelerator it belongs to.
    pub accelerator: AcceleratorWork,
    /// The role of each input, a letter each: `x` data, `w` a matrix or filter of weights, `v` a vector of parameters, `b` a
    /// bias, `c` a constant that controls the operator (shapes, axes, paddings, indices), `s` a state that is kept from one
    /// inference to the next. Inputs beyond the last letter are data.
    pub roles: &'static str,
}

impl OperatorRow {
    /// Of a number that the schema does not have.
    pub(super) const UNKNOWN: Self = Self {
        category: Category::Other,
        effect: Effect::Runs,
        shape: ShapeRule::Unknown,
        values: Values::Unknown,
        work: Work::Unknown,
        cores: CoreWork::Unknown,
        gpu: GpuWork::Other,
        accelerator: AcceleratorWork::Other,
        roles: "",
    };

    /// Positions of the inputs with a role.
    pub fn inputs_of(&self, role: u8) -> impl Iterator<Item = usize> {
        let roles = self.roles.bytes().enumerate();
        roles.filter_map(move |(position, one)| (one == role).then_some(position))
    }
}

/// Operators that people think of together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Category {
    Convolution,
    Depthwise,
    Matrix,
    Recurrent,
    Arithmetic,
    Activation,
    Reduction,
    Movement,
    Conversion,
    /// Control flow, variables and tables.
    Control,
    Other,
}

/// What becomes of the values that an operator reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Other values follow from them.
    Computes,
    /// The same numbers are written in another type.
    Converts,
    /// They are copied to other places, which no compiler avoids.
    Moves,
    /// All of them stay where they are: the result is the input under another shape.
    Renames,
    /// The result is a part or a sequence of inputs, or the input in another order, which compilers need not copy.
    Views,
    /// What the operator does is in another subgraph, in a library, or outside of the graph.
    Runs,
}

/// How the shapes of an operator's results follow from its inputs. The rules are `graph/shapes/rules.rs`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShapeRule {
    /// Elementwise, on one input or on several that are broadcast.
    Broadcast,
    /// Elementwise; the result has the shape of the second input.
    Select,
    /// Works along the last dimension and keeps the shape.
    AlongLast,
    /// Works along the dimensions that input 1 names and keeps the shape.
    AlongAxes,
    /// Has the shape of the first input, whatever the other inputs are.
    LikeFirst,
    /// The first input with a part replaced.
    Update,
    /// One value replaces all values along the dimensions that input 1 names.
    Reduce,
    /// The index of one value along a dimension.
    Best,
    TopK,
    Convolution,
    Depthwise,
    Convolution3d,
    TransposedConvolution,
    TransposedConvolution3d,
    Pool,
    Dense,
    Product,
    Svdf,
    Rnn,
    Lstm,
    Concatenate,
    Pack,
    Unpack,
    Split,
    SplitBySizes,
    Reshape,
    Squeeze,
    ExpandDims,
    Pad,
    Tile,
    Slice,
    StridedSlice,
    Transpose,
    Resize,
    DepthToSpace,
    SpaceToDepth,
    BatchToSpace,
    SpaceToBatch,
    Gather,
    GatherByTuples,
    LookUp,
    OneHot,
    /// Input 1 states the shape, to which input 0 is repeated.
    BroadcastTo,
    /// The input at this position states the shape.
    Stated(u8),
    /// The sizes of the input.
    ShapeOf,
    /// The number of the input's dimensions.
    RankOf,
    /// As no other kind has it.
    Own,
    /// No rule, or shapes that depend on data.
    Unknown,
}

impl ShapeRule {
    /// Whether weights determine the number of output channels, which another width changes.
    pub fn has_units(self) -> bool {
        matches!(
            self,
            Self::Convolution | Self::Dense | Self::TransposedConvolution
        )
    }

    /// Whether frameworks and compilers have kernels that pad what they read, so that a `PAD` before the operator takes
    /// nothing.
    pub fn pads(self) -> bool {
        matches!(
            self,
            Self::Convolution | Self::Convolution3d | Self::Depthwise | Self::Pool
        )
    }
}

/// Which integers an operator computes of sizes that shapes follow from. The rules are `graph/shapes/inference/values.rs`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Values {
    /// No rule; the shapes that follow are not known.
    Unknown,
    /// The sizes of the input.
    Sizes,
    /// Those of the input, in the same order.
    Kept,
    Joined,
    Packed,
    Unpacked,
    Sliced,
    Strided,
    Gathered,
    /// Of pairs.
    Sums,
    Differences,
    Products,
    /// Rounded towards zero.
    Quotients,
    /// Quotients rounded down.
    Floors,
    Remainders,
    Larger,
    Smaller,
    /// Of all.
    Product,
    Sum,
}

/// Which products of an operator are multiply-accumulates. The rules are `graph/analysis/macs.rs`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// None.
    Nothing,
    Convolution,
    Depthwise,
    Convolution3d,
    TransposedConvolution,
    TransposedConvolution3d,
    Dense,
    Product,
    Svdf,
    /// All weights once for each step and each input of the batch.
    Recurrent,
    /// Weighted rows of a table.
    SparseLookup,
    /// Not defined by the schema, or not counted.
    Unknown,
}

/// How cores without wide vectors work through an operator. The rules are `targets/cortex_m/operator_counts.rs`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CoreWork {
    Convolution,
    TransposedConvolution,
    Depthwise,
    Dense,
    Pool,
    Reduction,
    Elementwise,
    Move,
    Conversion,
    /// Computes shapes, or only renames a tensor.
    Free,
    /// No rule for its counts.
    Unknown,
}

/// Which kernel frameworks launch for an operator on a GPU. The rules are `targets/gpu/kernels/`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GpuWork {
    /// None: the output is the first input under another name or in another order. A framework copies only where the next
    /// kernel needs it.
    View,
    Unary(GpuFunction),
    Binary,
    /// One of two tensors by a third, which masks scores of attention.
    Select,
    /// A power of each value, which PyTorch computes in float32.
    Power,
    Reduction,
    Normalisation,
    Convolution,
    Dense,
    Product,
    Softmax,
    Pool,
    Concatenation,
    Copy,
    Resize,
    Gather,
    Recurrent,
    /// A kernel that reads and writes all activations once.
    Other,
}

/// Which function an activation kernel computes, as far as its cost differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GpuFunction {
    Relu,
    Relu6,
    Gelu,
    /// A function made of several operators on paths that meet again, such as SiLU, or a decomposed GELU.
    Gated,
    Hard,
    /// A root, a magnitude or a reciprocal, of which normalisations consist.
    Root,
    Other,
}

/// Kinds of operators that accelerators run in different ways. The first seven multiply. The rules are
/// `targets/learned_accelerators/work.rs`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AcceleratorWork {
    Window,
    Pointwise,
    Depthwise,
    Matrix,
    /// Of two activations.
    Product,
    Transposed,
    Volume,
    Elementwise,
    Curve,
    /// A curve of what an operator writes that multiplies, or a sum with it.
    Activation,
    /// A value times its logistic function.
    Gate,
    Pooling,
    Resizing,
    Layout,
    Reshape,
    Norm,
    Softmax,
    Other,
    /// Part of another operator.
    Fused,
}
