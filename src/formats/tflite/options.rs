//! Builtin options, as typed fields where an operator's cost or calls depend on them.

use serde::Serialize;

use super::custom_options::CustomOptions;
use super::tensor_type::TensorType;

/// Options of one operator, as `schema.fbs` names them.
///
/// `Absent` where the file has none, `Other` where this crate reads none of the fields. Nothing
/// checks that the options fit the operator: TFLite takes its defaults where they do not.
///
/// A report carries them as they are, the fields by their names. Large ones are boxed: a network has as many options as
/// operators.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
#[non_exhaustive]
pub enum BuiltinOptions {
    Absent,
    Other,
    Foreign(Box<Foreign>),
    Custom(CustomOptions),
    Conv2D {
        padding: Padding,
        stride_h: i32,
        stride_w: i32,
        dilation_h: i32,
        dilation_w: i32,
        activation: Activation,
    },
    /// Of `CONV_3D` and `CONV_3D_TRANSPOSE`.
    Conv3D {
        padding: Padding,
        stride_d: i32,
        stride_h: i32,
        stride_w: i32,
        dilation_d: i32,
        dilation_h: i32,
        dilation_w: i32,
        activation: Activation,
    },
    DepthwiseConv2D {
        padding: Padding,
        stride_h: i32,
        stride_w: i32,
        dilation_h: i32,
        dilation_w: i32,
        depth_multiplier: i32,
        activation: Activation,
    },
    TransposeConv {
        padding: Padding,
        stride_h: i32,
        stride_w: i32,
        activation: Activation,
    },
    /// Of `AVERAGE_POOL_2D`, `MAX_POOL_2D` and `L2_POOL_2D`.
    Pool2D {
        padding: Padding,
        stride_h: i32,
        stride_w: i32,
        filter_h: i32,
        filter_w: i32,
        activation: Activation,
    },
    FullyConnected {
        keep_num_dims: bool,
        activation: Activation,
        /// Whether weights are in an order that the schema does not name.
        #[serde(skip)]
        has_unknown_weights: bool,
    },
    BatchMatMul {
        adj_x: bool,
        adj_y: bool,
    },
    Add {
        activation: Activation,
    },
    Sub {
        activation: Activation,
    },
    Mul {
        activation: Activation,
    },
    Div {
        activation: Activation,
    },
    Softmax {
        beta: f32,
    },
    L2Norm {
        activation: Activation,
    },
    LocalResponseNormalization {
        radius: i32,
        bias: f32,
        alpha: f32,
        beta: f32,
    },
    LeakyRelu {
        alpha: f32,
    },
    Gelu {
        approximate: bool,
    },
    Concatenation {
        axis: i32,
        activation: Activation,
    },
    Split {
        num_splits: i32,
    },
    SplitV {
        num_splits: i32,
    },
    Pack {
        values_count: i32,
        axis: i32,
    },
    Unpack {
        num: i32,
        axis: i32,
    },
    Gather {
        axis: i32,
        batch_dims: i32,
    },
    OneHot {
        axis: i32,
    },
    Reshape {
        new_shape: Vec<i32>,
    },
    Squeeze {
        squeeze_dims: Vec<i32>,
    },
    StridedSlice {
        begin_mask: i32,
        end_mask: i32,
        ellipsis_mask: i32,
        new_axis_mask: i32,
        shrink_axis_mask: i32,
        offset: bool,
    },
    /// Of `MEAN`, `SUM` and the `REDUCE_...` operators.
    Reducer {
        keep_dims: bool,
    },
    ArgMax {
        output_type: TensorType,
    },
    ArgMin {
        output_type: TensorType,
    },
    Cumsum {
        exclusive: bool,
        reverse: bool,
    },
    ReverseSequence {
        seq_dim: i32,
        batch_dim: i32,
    },
    Unique {
        idx_out_type: TensorType,
    },
    Shape {
        out_type: TensorType,
    },
    Cast {
        in_data_type: TensorType,
        out_data_type: TensorType,
    },
    FakeQuant {
        min: f32,
        max: f32,
        num_bits: i32,
        narrow_range: bool,
    },
    MirrorPad {
        mode: MirrorPadMode,
    },
    SpaceToDepth {
        block_size: i32,
    },
    DepthToSpace {
        block_size: i32,
    },
    ResizeBilinear {
        align_corners: bool,
        half_pixel_centers: bool,
    },
    ResizeNearestNeighbor {
        align_corners: bool,
        half_pixel_centers: bool,
    },
    Svdf {
        rank: i32,
        activation: Activation,
    },
    Rnn {
        activation: Activation,
    },
    SequenceRnn {
        time_major: bool,
        activation: Activation,
    },
    BidirectionalSequenceRnn {
        time_major: bool,
        merge_outputs: bool,
        activation: Activation,
    },
    Lstm {
        kernel_type: LstmKernelType,
        /// 0 for no clipping.
        cell_clip: f32,
        /// 0 for no clipping.
        proj_clip: f32,
        activation: Activation,
    },
    UnidirectionalSequenceLstm {
        time_major: bool,
        diagonal_recurrent_tensors: bool,
        /// 0 for no clipping.
        cell_clip: f32,
        /// 0 for no clipping.
        proj_clip: f32,
        activation: Activation,
    },
    BidirectionalSequenceLstm {
        time_major: bool,
        merge_outputs: bool,
        /// 0 for no clipping.
        cell_clip: f32,
        /// 0 for no clipping.
        proj_clip: f32,
        activation: Activation,
    },
    Call {
        subgraph_idx: usize,
    },
    CallOnce {
        init_subgraph_idx: usize,
    },
    If {
        then_subgraph_idx: usize,
        else_subgraph_idx: usize,
    },
    /// Of `WHILE` and `STABLEHLO_WHILE`.
    While {
        cond_subgraph_idx: usize,
        body_subgraph_idx: usize,
    },
    VarHandle(Box<VarHandle>),
    StablehloComposite {
        name: Box<str>,
        decomposition_subgraph_idx: usize,
    },
    StablehloCase {
        branch_subgraph_idxs: Vec<usize>,
    },
    /// Of `STABLEHLO_REDUCE`, `STABLEHLO_REDUCE_WINDOW`, `STABLEHLO_SCATTER` and
    /// `STABLEHLO_SORT`: the subgraph that combines or compares two values.
    StablehloBody {
        body_subgraph_idx: usize,
    },
}

/// Of an operator of another framework, which TFLite does not have.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Foreign {
    /// Multiply-accumulates of one inference, where the reader of its format knows them.
    pub macs: Option<u64>,
    /// Why no kernel of that framework takes the operands, in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub contradiction: Option<&'static str>,
    #[serde(skip)]
    pub meaning: Meaning,
}

/// Who knows what an operator of another framework computes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Meaning {
    /// The framework's documents say it.
    #[default]
    Known,
    /// Its vendor alone; it is a detail of a network whose other operators are known.
    Vendors,
    /// Nobody, because it is a compiled program or values at inference decide it.
    Opaque,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct VarHandle {
    pub container: String,
    pub shared_name: String,
}

impl BuiltinOptions {
    /// The activation fused into the operator, where its options have such a field.
    pub fn activation(&self) -> Option<Activation> {
        use BuiltinOptions::*;
        match *self {
            Conv2D { activation, .. }
            | Conv3D { activation, .. }
            | DepthwiseConv2D { activation, .. }
            | TransposeConv { activation, .. }
            | Pool2D { activation, .. }
            | FullyConnected { activation, .. }
            | Add { activation }
            | Sub { activation }
            | Mul { activation }
            | Div { activation }
            | L2Norm { activation }
            | Concatenation { activation, .. }
            | Svdf { activation, .. }
            | Rnn { activation }
            | SequenceRnn { activation, .. }
            | BidirectionalSequenceRnn { activation, .. }
            | Lstm { activation, .. }
            | UnidirectionalSequenceLstm { activation, .. }
            | BidirectionalSequenceLstm { activation, .. } => Some(activation),
            _ => None,
        }
    }

    /// How the window of a convolution or pooling moves, where the options say so.
    pub fn sliding(&self) -> Option<Sliding> {
        use BuiltinOptions::*;
        let (padding, strides, dilations) = match *self {
            Conv2D {
                padding,
                stride_h,
                stride_w,
                dilation_h,
                dilation_w,
                ..
            }
            | DepthwiseConv2D {
                padding,
                stride_h,
                stride_w,
                dilation_h,
                dilation_w,
                ..
            } => (
                padding,
                [1, stride_h, stride_w],
                [1, dilation_h, dilation_w],
            ),
            Conv3D {
                padding,
                stride_d,
                stride_h,
                stride_w,
                dilation_d,
                dilation_h,
                dilation_w,
                ..
            } => (
                padding,
                [stride_d, stride_h, stride_w],
                [dilation_d, dilation_h, dilation_w],
            ),
            Pool2D {
                padding,
                stride_h,
                stride_w,
                ..
            }
            | TransposeConv {
                padding,
                stride_h,
                stride_w,
                ..
            } => (padding, [1, stride_h, stride_w], [1; 3]),
            _ => return None,
        };
        Some(Sliding {
            padding,
            strides,
            dilations,
        })
    }
}

/// How a window moves along depth, height and width; an image has a depth of 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sliding {
    pub padding: Padding,
    pub strides: [i32; 3],
    pub dilations: [i32; 3],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Padding {
    Same,
    Valid,
}

/// `ActivationFunctionType`: the activation fused into an operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Activation {
    None,
    Relu,
    ReluN1To1,
    Relu6,
    Tanh,
    SignBit,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum MirrorPadMode {
    Reflect,
    Symmetric,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum LstmKernelType {
    /// With peepholes and projection: 20 inputs.
    Full,
    /// 5 inputs.
    Basic,
}
