//! What an operator computes: the schema's `BuiltinOperator` as a Rust enum.

use std::fmt;

use super::op_row::{
    AcceleratorWork, Category, CoreWork, Effect, GpuFunction, GpuWork, OperatorRow, ShapeRule,
    Values, Work,
};
use super::schema::BuiltinOperator;

/// Declares [`OpKind`] and the row of each kind. A row has a variant, the constant of `BuiltinOperator` that it stands for,
/// so that number and name have the schema as their only source, the schema's table of its options, and the fields of
/// [`OperatorRow`] in their order.
macro_rules! op_kinds {
    ($($kind:ident = $builtin:ident : $options:ident, $category:ident, $effect:ident,
       $shape:ident $(($place:literal))?, $values:ident, $work:ident, $cores:ident, $gpu:ident $(($function:ident))?,
       $accelerator:ident, $roles:literal;)*) => {
        /// The kind of an operator, one variant for each `BuiltinOperator` of the schema.
        ///
        /// Operators that TFLite does not have, those of other formats included, are all
        /// [`Custom`](Self::Custom); [`OperatorCode::custom`](super::OperatorCode::custom) has their name.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[allow(missing_docs)]
        pub enum OpKind {
            $($kind,)*
            /// A number that the schema here does not have: the file is newer.
            Unknown(i32),
        }

        impl OpKind {
            /// All kinds of the schema, in the order of their numbers.
            pub const ALL: &[Self] = &[$(Self::$kind,)*];

            /// The kind with this number in the schema.
            pub fn from_number(number: i32) -> Self {
                match BuiltinOperator(number) {
                    $(BuiltinOperator::$builtin => Self::$kind,)*
                    BuiltinOperator(number) => Self::Unknown(number),
                }
            }

            /// The kind with this name in the schema, for example `CONV_2D`.
            pub fn from_name(name: &str) -> Option<Self> {
                match name {
                    $(stringify!($builtin) => Some(Self::$kind),)*
                    _ => None,
                }
            }

            /// The number in the schema.
            pub fn number(self) -> i32 {
                match self {
                    $(Self::$kind => BuiltinOperator::$builtin.0,)*
                    Self::Unknown(number) => number,
                }
            }

            /// The name in the schema, for example `CONV_2D`; `UNKNOWN` for a number that it does not have.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$kind => stringify!($builtin),)*
                    Self::Unknown(_) => "UNKNOWN",
                }
            }

            /// The schema's table of its options, for example `Conv2DOptions`; `NONE` for a kind without options.
            pub fn options_table(self) -> &'static str {
                match self {
                    $(Self::$kind => stringify!($options),)*
                    Self::Unknown(_) => "NONE",
                }
            }

            /// What is known of the kind.
            pub fn row(self) -> &'static OperatorRow {
                match self {
                    $(Self::$kind => const { &OperatorRow {
                        category: Category::$category,
                        effect: Effect::$effect,
                        shape: ShapeRule::$shape $(($place))?,
                        values: Values::$values,
                        work: Work::$work,
                        cores: CoreWork::$cores,
                        gpu: GpuWork::$gpu $((GpuFunction::$function))?,
                        accelerator: AcceleratorWork::$accelerator,
                        roles: $roles,
                    } },)*
                    Self::Unknown(_) => &OperatorRow::UNKNOWN,
                }
            }
        }
    };
}

impl OpKind {
    /// Whether it writes the numbers that it reads in another type.
    pub fn is_conversion(self) -> bool {
        self.row().effect == Effect::Converts
    }
}

impl fmt::Display for OpKind {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(self.name())
    }
}

// Kind, name: options, category, effect, shape, values, products, cores, GPU, accelerator, roles of operands.
op_kinds! {
    Add                    = ADD                    : AddOptions,            Arithmetic,  Computes, Broadcast,     Sums,        Nothing,      Elementwise,  Binary,        Elementwise, "";
    AveragePool2d          = AVERAGE_POOL_2D        : Pool2DOptions,         Reduction,   Computes, Pool,          Unknown,     Nothing,      Pool,         Pool,          Pooling,     "";
    Concatenation          = CONCATENATION          : ConcatenationOptions,  Movement,    Views,    Concatenate,   Joined,      Nothing,      Move,         Concatenation, Layout,      "";
    Conv2d                 = CONV_2D                : Conv2DOptions,         Convolution, Computes, Convolution,   Unknown,     Convolution,  Convolution,  Convolution,   Window,      "xwb";
    DepthwiseConv2d        = DEPTHWISE_CONV_2D      : DepthwiseConv2DOptions, Depthwise,   Computes, Depthwise,     Unknown,     Depthwise,    Depthwise,    Convolution,   Depthwise,   "xwb";
    DepthToSpace           = DEPTH_TO_SPACE         : DepthToSpaceOptions,   Movement,    Moves,    DepthToSpace,  Unknown,     Nothing,      Move,         Other,         Layout,      "";
    Dequantize             = DEQUANTIZE             : DequantizeOptions,     Conversion,  Converts, Broadcast,     Unknown,     Nothing,      Conversion,   View,          Elementwise, "";
    EmbeddingLookup        = EMBEDDING_LOOKUP       : NONE,                  Movement,    Moves,    LookUp,        Unknown,     Nothing,      Move,         Gather,        Other,       "xw";
    Floor                  = FLOOR                  : NONE,                  Arithmetic,  Computes, Broadcast,     Unknown,     Nothing,      Elementwise,  Unary(Other),  Other,       "";
    FullyConnected         = FULLY_CONNECTED        : FullyConnectedOptions, Matrix,      Computes, Dense,         Unknown,     Dense,        Dense,        Dense,         Matrix,      "xwb";
    HashtableLookup        = HASHTABLE_LOOKUP       : NONE,                  Movement,    Moves,    Own,           Unknown,     Nothing,      Unknown,      Other,         Other,       "";
    L2Normalization        = L2_NORMALIZATION       : L2NormOptions,         Activation,  Computes, AlongLast,     Unknown,     Nothing,      Elementwise,  Normalisation, Other,       "";
    L2Pool2d               = L2_POOL_2D             : Pool2DOptions,         Reduction,   Computes, Pool,          Unknown,     Nothing,      Pool,         Pool,          Other,       "";
    LocalResponseNormalization = LOCAL_RESPONSE_NORMALIZATION : LocalResponseNormalizationOptions, Activation,  Computes, AlongLast,     Unknown,     Nothing,      Unknown,      Other,         Other,       "";
    Logistic               = LOGISTIC               : NONE,                  Activation,  Computes, Broadcast,     Unknown,     Nothing,      Elementwise,  Unary(Other),  Curve,       "";
    LshProjection          = LSH_PROJECTION         : LSHProjectionOptions,  Movement,    Computes, Unknown,       Unknown,     Nothing,      Unknown,      Other,         Other,       "";
    Lstm                   = LSTM                   : LSTMOptions,           Recurrent,   Computes, Lstm,          Unknown,     Recurrent,    Unknown,      Recurrent,     Other,       "xwwwwwwwwvvvbbbbwbssvvvv";
    MaxPool2d              = MAX_POOL_2D            : Pool2DOptions,         Reduction,   Computes, Pool,          Unknown,     Nothing,      Pool,         Pool,          Pooling,     "";
    Mul                    = MUL                    : MulOptions,            Arithmetic,  Computes, Broadcast,     Products,    Nothing,      Elementwise,  Binary,        Elementwise, "";
    Relu                   = RELU                   : NONE,                  Activation,  Computes, Broadcast,     Unknown,     Nothing,      Elementwise,  Unary(Relu),   Fused,       "";
    ReluN1To1              = RELU_N1_TO_1           : NONE,                  Activation,  Computes, Broadcast,     Unknown,     Nothing,      Elementwise,  Unary(Other),  Fused,       "";
    Relu6                  = RELU6                  : NONE,                  Activation,  Computes, Broadcast,     Unknown,     Nothing,      Elementwise,  Unary(Relu6),  Fused,       "";
    Reshape                = RESHAPE                : ReshapeOptions,        Movement,    Renames,  Reshape,       Kept,        Nothing,      Free,         View,          Reshape,     "xc";
    ResizeBilinear         = RESIZE_BILINEAR        : ResizeBilinearOptions, Movement,    Computes, Resize,        Unknown,     Nothing,      Move,         Resize,        Resizing,    "xc";
    Rnn                    = RNN                    : RNNOptions,            Recurrent,   Computes, Rnn,           Unknown,     Recurrent,    Unknown,      Recurrent,     Other,       "xwwbs";
    Softmax                = SOFTMAX                : SoftmaxOptions,        Activation,  Computes, AlongLast,     Unknown,     Nothing,      Elementwise,  Softmax,       Softmax,     "";
    SpaceToDepth           = SPACE_TO_DEPTH         : SpaceToDepthOptions,   Movement,    Moves,    SpaceToDepth,  Unknown,     Nothing,      Move,         Other,         Layout,      "";
    Svdf                   = SVDF                   : SVDFOptions,           Recurrent,   Computes, Svdf,          Unknown,     Svdf,         Dense,        Recurrent,     Other,       "xwwbs";
    Tanh                   = TANH                   : NONE,                  Activation,  Computes, Broadcast,     Unknown,     Nothing,      Elementwise,  Unary(Other),  Curve,       "";
    ConcatEmbeddings       = CONCAT_EMBEDDINGS      : ConcatEmbeddingsOptions, Movement,    Moves,    Unknown,       Unknown,     Nothing,      Unknown,      Other,         Other,       "";
    SkipGram               = SKIP_GRAM              : SkipGramOptions,       Movement,    Moves,    Unknown,       Unknown,     Nothing,      Unknown,      Other,         Other,       "";
    Call                   = CALL                   : CallOptions,           Control,     Runs,     Unknown,       Unknown,     Nothing,      Unknown,      Other,         Other,       "";
    Custom                 = CUSTOM                 : NONE,                  Other,       Runs,     Unknown,       Unknown,     Unknown,      Unknown,      Other,         Other,       "";
    EmbeddingLookupSparse  = EMBEDDING_LOOKUP_SPARSE : EmbeddingLookupSparseOptions, Movement,    Computes, Unknown,       Unknown,     SparseLookup, Unknown,      Other,         Other,       "xxxxw";
    Pad                    = PAD                    : PadOptions,            Movement,    Moves,    Pad,           Unknown,     Nothing,      Move,         Copy,          Layout,      "xc";
    UnidirectionalSequenceRnn = UNIDIRECTIONAL_SEQUENCE_RNN : SequenceRNNOptions,    Recurrent,   Computes, Rnn,           Unknown,     Recurrent,    Unknown,      Recurrent,     Other,       "xwwbs";
    Gather                 = GATHER                 : GatherOptions,         Movement,    Moves,    Gather,        Gathered,    Nothing,      Move,         Gather,        Layout,      "xc";
    BatchToSpaceNd         = BATCH_TO_SPACE_ND      : BatchToSpaceNDOptions, Movement,    Moves,    BatchToSpace,  Unknown,     Nothing,      Move,         Other,         Other,       "xcc";
    SpaceToBatchNd         = SPACE_TO_BATCH_ND      : SpaceToBatchNDOptions, Movement,    Moves,    SpaceToBatch,  Unknown,     Nothing,      Move,         Other,         Other,       "xcc";
    Transpose              = TRANSPOSE              : TransposeOptions,      Movement,    Views,    Transpose,     Unknown,     Nothing,      Move,         View,          Layout,      "xc";
    Mean                   = MEAN                   : ReducerOptions,        Reduction,   Computes, Reduce,        Unknown,     Nothing,      Reduction,    Reduction,     Pooling,     "xc";
    Sub                    = SUB                    : SubOptions,            Arithmetic,  Computes, Broadcast,     Differences, Nothing,      Elementwise,  Binary,        Elementwise, "";
    Div                    = DIV                    : DivOptions,            Arithmetic,  Computes, Broadcast,     Quotients,   Nothing,      Elementwise,  Binary,        Curve,       "";
    Squeeze                = SQUEEZE                : SqueezeOptions,        Movement,    Renames,  Squeeze,       Kept,        Nothing,      Free,         View,          Layout,      "";
    UnidirectionalSequenceLstm = UNIDIRECTIONAL_SEQUENCE_LSTM : UnidirectionalSequenceLSTMOptions, Recurrent,   Computes, Lstm,          Unknown,     Recurrent,    Dense,        Recurrent,     Other,       "xwwwwwwwwvvvbbbbwbssvvvv";
    StridedSlice           = STRIDED_SLICE          : StridedSliceOptions,   Movement,    Views,    StridedSlice,  Strided,     Nothing,      Move,         View,          Layout,      "xccc";
    BidirectionalSequenceRnn = BIDIRECTIONAL_SEQUENCE_RNN : BidirectionalSequenceRNNOptions, Recurrent,   Computes, Own,           Unknown,     Recurrent,    Unknown,      Recurrent,     Other,       "xwwbswwbsxww";
    Exp                    = EXP                    : ExpOptions,            Arithmetic,  Computes, Broadcast,     Unknown,     Nothing,      Elementwise,  Unary(Other),  Curve,       "";
    TopkV2                 = TOPK_V2                : TopKV2Options,         Reduction,   Computes, TopK,          Unknown,     Nothing,      Unknown,      Other,         Pooling,     "xc";
    Split                  = SPLIT                  : SplitOptions,          Movement,    Views,    Split,         Unknown,     Nothing,      Move,         View,          Layout,      "cx";
    LogSoftmax             = LOG_SOFTMAX            : LogSoftmaxOptions,     Activation,  Computes, AlongLast,     Unknown,     Nothing,      Elementwise,  Softmax,       Other,       "";
    Delegate               = DELEGATE               : NONE,                  Control,     Runs,     Unknown,       Unknown,     Unknown,      Unknown,      Other,         Other,       "";
    BidirectionalSequenceLstm = BIDIRECTIONAL_SEQUENCE_LSTM : BidirectionalSequenceLSTMOptions, Recurrent,   Computes, Own,           Unknown,     Recurrent,    Unknown,      Recurrent,     Other,       "xwwwwwwwwvvvbbbbwbwwwwwwwwvvvbbbbwbssssxwwwwwwww";
    Cast                   = CAST                   : CastOptions,           Conversion,  Converts, Broadcast,     Kept,        Nothing,      Move,         View,          Elementwise, "";
    Prelu                  = PRELU                  : NONE,                  Activation,  Computes, Broadcast,     Unknown,     Nothing,      Elementwise,  Unary(Other),  Fused,       "xv";
    Maximum                = MAXIMUM                : MaximumMinimumOptions, Arithmetic,  Computes, Broadcast,     Larger,      Nothing,      Elementwise,  Binary,        Elementwise, "";
    ArgMax                 = ARG_MAX                : ArgMaxOptions,         Reduction,   Computes, Best,          Unknown,     Nothing,      Reduction,    Other,         Pooling,     "xc";
    Minimum                = MINIMUM                : MaximumMinimumOptions, Arithmetic,  Computes, Broadcast,     Smaller,     Nothing,      Elementwise,  Binary,        Elementwise, "";
    Less                   = LESS                   : LessOptions,           Arithmetic,  Computes, Broadcast,     Unknown,     Nothing,      Elementwise,  Other,         Other,       "";
    Neg                    = NEG                    : NegOptions,            Arithmetic,  Computes, Broadcast,     Unknown,     Nothing,      Elementwise,  Unary(Other),  Elementwise, "";
    Padv2                  = PADV2                  : PadV2Options,          Movement,    Moves,    Pad,           Unknown,     Nothing,      Move,         Copy,          Layout,      "xc";
    Greater                = GREATER                : GreaterOptions,        Arithmetic,  Computes, Broadcast,     Unknown,     Nothing,      Elementwise,  Other,         Other,       "";
    GreaterEqual           = GREATER_EQUAL          : GreaterEqualOptions,   Arithmetic,  Computes, Broadcast,     Unknown,     Nothing,      Elementwise,  Other,         Other,       "";
    LessEqual              = LESS_EQUAL             : LessEqualOptions,      Arithmetic,  Computes, Broadcast,     Unknown,     Nothing,      Elementwise,  Other,         Other,       "";
    Select                 = SELECT                 : SelectOptions,         Arithmetic,  Computes, Select,        Unknown,     Nothing,      Elementwise,  Select,        Other,       "";
    Slice                  = SLICE                  : SliceOptions,          Movement,    Views,    Slice,         Sliced,      Nothing,      Move,         View,          Layout,      "xcc";
    Sin                    = SIN                    : NONE,                  Arithmetic,  Computes, Broadcast,     Unknown,     Nothing,      Elementwise,  Unary(Other),  Other,       "";
    TransposeConv          = TRANSPOSE_CONV         : TransposeConvOptions,  Convolution, Computes, TransposedConvolution, Unknown,     TransposedConvolution, TransposedConvolution, Convolution,   Transposed,  "cwxb";
    SparseToDense          = SPARSE_TO_DENSE        : SparseToDenseOptions,  Movement,    Moves,    Stated(1),     Unknown,     Nothing,      Unknown,      Other,         Other,       "cc";
    Tile                   = TILE                   : TileOptions,           Movement,    Moves,    Tile,          Unknown,     Nothing,      Move,         Other,         Layout,      "xc";
    ExpandDims             = EXPAND_DIMS            : ExpandDimsOptions,     Movement,    Renames,  ExpandDims,    Kept,        Nothing,      Free,         View,          Layout,      "xc";
    Equal                  = EQUAL                  : EqualOptions,          Arithmetic,  Computes, Broadcast,     Unknown,     Nothing,      Elementwise,  Other,         Other,       "";
    NotEqual               = NOT_EQUAL              : NotEqualOptions,       Arithmetic,  Computes, Broadcast,     Unknown,     Nothing,      Elementwise,  Other,         Other,       "";
    Log                    = LOG                    : NONE,                  Arithmetic,  Computes, Broadcast,     Unknown,     Nothing,      Elementwise,  Unary(Other),  Other,       "";
    Sum                    = SUM                    : ReducerOptions,        Reduction,   Computes, Reduce,        Sum,         Nothing,      Reduction,    Reduction,     Pooling,     "xc";
    Sqrt                   = SQRT                   : NONE,                  Arithmetic,  Computes, Broadcast,     Unknown,     Nothing,      Elementwise,  Unary(Root),   Curve,       "";
    Rsqrt                  = RSQRT                  : NONE,                  Arithmetic,  Computes, Broadcast,     Unknown,     Nothing,      Elementwise,  Unary(Root),   Curve,       "";
    Shape                  = SHAPE                  : ShapeOptions,          Movement,    Views,    ShapeOf,       Sizes,       Nothing,      Free,         View,          Other,       "";
    Pow                    = POW                    : PowOptions,            Arithmetic,  Computes, Broadcast,     Unknown,     Nothing,      Elementwise,  Power,         Curve,       "";
    ArgMin                 = ARG_MIN                : ArgMinOptions,         Reduction,   Computes, Best,          Unknown,     Nothing,      Reduction,    Other,         Other,       "xc";
    FakeQuant              = FAKE_QUANT             : FakeQuantOptions,      Conversion,  Computes, Broadcast,     Unknown,     Nothing,      Unknown,      Other,         Other,       "";
    ReduceProd             = REDUCE_PROD            : ReducerOptions,        Reduction,   Computes, Reduce,        Product,     Nothing,      Unknown,      Reduction,     Other,       "xc";
    ReduceMax              = REDUCE_MAX             : ReducerOptions,        Reduction,   Computes, Reduce,        Unknown,     Nothing,      Reduction,    Reduction,     Pooling,     "xc";
    Pack                   = PACK                   : PackOptions,           Movement,    Views,    Pack,          Packed,      Nothing,      Move,         Concatenation, Layout,      "";
    LogicalOr              = LOGICAL_OR             : LogicalOrOptions,      Arithmetic,  Computes, Broadcast,     Unknown,     Nothing,      Elementwise,  Other,         Other,       "";
    OneHot                 = ONE_HOT                : OneHotOptions,         Movement,    Moves,    OneHot,        Unknown,     Nothing,      Unknown,      Other,         Other,       "xc";
    LogicalAnd             = LOGICAL_AND            : LogicalAndOptions,     Arithmetic,  Computes, Broadcast,     Unknown,     Nothing,      Elementwise,  Other,         Other,       "";
    LogicalNot             = LOGICAL_NOT            : LogicalNotOptions,     Arithmetic,  Computes, Broadcast,     Unknown,     Nothing,      Elementwise,  Other,         Other,       "";
    Unpack                 = UNPACK                 : UnpackOptions,         Movement,    Views,    Unpack,        Unpacked,    Nothing,      Move,         View,          Layout,      "";
    ReduceMin              = REDUCE_MIN             : ReducerOptions,        Reduction,   Computes, Reduce,        Unknown,     Nothing,      Reduction,    Reduction,     Pooling,     "xc";
    FloorDiv               = FLOOR_DIV              : FloorDivOptions,       Arithmetic,  Computes, Broadcast,     Floors,      Nothing,      Elementwise,  Other,         Other,       "";
    ReduceAny              = REDUCE_ANY             : ReducerOptions,        Reduction,   Computes, Reduce,        Unknown,     Nothing,      Reduction,    Other,         Other,       "xc";
    Square                 = SQUARE                 : SquareOptions,         Arithmetic,  Computes, Broadcast,     Unknown,     Nothing,      Elementwise,  Power,         Elementwise, "";
    ZerosLike              = ZEROS_LIKE             : ZerosLikeOptions,      Movement,    Computes, Broadcast,     Unknown,     Nothing,      Move,         Other,         Other,       "";
    Fill                   = FILL                   : FillOptions,           Movement,    Moves,    Stated(0),     Unknown,     Nothing,      Move,         Other,         Other,       "cx";
    FloorMod               = FLOOR_MOD              : FloorModOptions,       Arithmetic,  Computes, Broadcast,     Remainders,  Nothing,      Elementwise,  Other,         Other,       "";
    Range                  = RANGE                  : RangeOptions,          Movement,    Moves,    Own,           Unknown,     Nothing,      Unknown,      Other,         Other,       "ccc";
    ResizeNearestNeighbor  = RESIZE_NEAREST_NEIGHBOR : ResizeNearestNeighborOptions, Movement,    Computes, Resize,        Unknown,     Nothing,      Move,         Resize,        Resizing,    "xc";
    LeakyRelu              = LEAKY_RELU             : LeakyReluOptions,      Activation,  Computes, Broadcast,     Unknown,     Nothing,      Elementwise,  Unary(Other),  Fused,       "";
    SquaredDifference      = SQUARED_DIFFERENCE     : SquaredDifferenceOptions, Arithmetic,  Computes, Broadcast,     Unknown,     Nothing,      Elementwise,  Binary,        Elementwise, "";
    MirrorPad              = MIRROR_PAD             : MirrorPadOptions,      Movement,    Moves,    Pad,           Unknown,     Nothing,      Move,         Copy,          Layout,      "xc";
    Abs                    = ABS                    : AbsOptions,            Arithmetic,  Computes, Broadcast,     Unknown,     Nothing,      Elementwise,  Unary(Root),   Elementwise, "";
    SplitV                 = SPLIT_V                : SplitVOptions,         Movement,    Views,    SplitBySizes,  Unknown,     Nothing,      Move,         View,          Layout,      "xcc";
    Unique                 = UNIQUE                 : UniqueOptions,         Reduction,   Computes, Unknown,       Unknown,     Nothing,      Unknown,      Other,         Other,       "";
    Ceil                   = CEIL                   : NONE,                  Arithmetic,  Computes, Broadcast,     Unknown,     Nothing,      Elementwise,  Unary(Other),  Other,       "";
    ReverseV2              = REVERSE_V2             : ReverseV2Options,      Movement,    Moves,    AlongAxes,     Unknown,     Nothing,      Move,         Other,         Layout,      "xc";
    AddN                   = ADD_N                  : AddNOptions,           Arithmetic,  Computes, Broadcast,     Unknown,     Nothing,      Elementwise,  Other,         Other,       "";
    GatherNd               = GATHER_ND              : GatherNdOptions,       Movement,    Moves,    GatherByTuples, Unknown,     Nothing,      Move,         Gather,        Layout,      "xc";
    Cos                    = COS                    : CosOptions,            Arithmetic,  Computes, Broadcast,     Unknown,     Nothing,      Elementwise,  Unary(Other),  Other,       "";
    Where                  = WHERE                  : WhereOptions,          Arithmetic,  Moves,    Unknown,       Unknown,     Nothing,      Unknown,      Other,         Other,       "";
    Rank                   = RANK                   : RankOptions,           Movement,    Views,    RankOf,        Unknown,     Nothing,      Free,         Other,         Other,       "";
    Elu                    = ELU                    : NONE,                  Activation,  Computes, Broadcast,     Unknown,     Nothing,      Elementwise,  Unary(Other),  Curve,       "";
    ReverseSequence        = REVERSE_SEQUENCE       : ReverseSequenceOptions, Movement,    Moves,    LikeFirst,     Unknown,     Nothing,      Unknown,      Other,         Other,       "xc";
    MatrixDiag             = MATRIX_DIAG            : MatrixDiagOptions,     Movement,    Moves,    Own,           Unknown,     Nothing,      Unknown,      Other,         Other,       "";
    Quantize               = QUANTIZE               : QuantizeOptions,       Conversion,  Converts, Broadcast,     Unknown,     Nothing,      Conversion,   View,          Elementwise, "";
    MatrixSetDiag          = MATRIX_SET_DIAG        : MatrixSetDiagOptions,  Movement,    Moves,    LikeFirst,     Unknown,     Nothing,      Unknown,      Other,         Other,       "";
    Round                  = ROUND                  : NONE,                  Arithmetic,  Computes, Broadcast,     Unknown,     Nothing,      Elementwise,  Unary(Other),  Other,       "";
    HardSwish              = HARD_SWISH             : HardSwishOptions,      Activation,  Computes, Broadcast,     Unknown,     Nothing,      Elementwise,  Unary(Hard),   Curve,       "";
    If                     = IF                     : IfOptions,             Control,     Runs,     Unknown,       Unknown,     Nothing,      Unknown,      Other,         Other,       "";
    While                  = WHILE                  : WhileOptions,          Control,     Runs,     Unknown,       Unknown,     Nothing,      Unknown,      Other,         Other,       "";
    NonMaxSuppressionV4    = NON_MAX_SUPPRESSION_V4 : NonMaxSuppressionV4Options, Reduction,   Computes, Own,           Unknown,     Nothing,      Unknown,      Other,         Other,       "";
    NonMaxSuppressionV5    = NON_MAX_SUPPRESSION_V5 : NonMaxSuppressionV5Options, Reduction,   Computes, Own,           Unknown,     Nothing,      Unknown,      Other,         Other,       "";
    ScatterNd              = SCATTER_ND             : ScatterNdOptions,      Movement,    Moves,    Stated(2),     Unknown,     Nothing,      Unknown,      Other,         Layout,      "cxc";
    SelectV2               = SELECT_V2              : SelectV2Options,       Arithmetic,  Computes, Broadcast,     Unknown,     Nothing,      Elementwise,  Select,        Other,       "";
    Densify                = DENSIFY                : DensifyOptions,        Conversion,  Moves,    LikeFirst,     Unknown,     Nothing,      Unknown,      Other,         Other,       "";
    SegmentSum             = SEGMENT_SUM            : SegmentSumOptions,     Reduction,   Computes, Own,           Unknown,     Nothing,      Unknown,      Other,         Other,       "xc";
    BatchMatmul            = BATCH_MATMUL           : BatchMatMulOptions,    Matrix,      Computes, Product,       Unknown,     Product,      Dense,        Product,       Product,     "";
    PlaceholderForGreaterOpCodes = PLACEHOLDER_FOR_GREATER_OP_CODES : NONE,                  Other,       Runs,     Unknown,       Unknown,     Unknown,      Unknown,      Other,         Other,       "";
    Cumsum                 = CUMSUM                 : CumsumOptions,         Reduction,   Computes, AlongAxes,     Unknown,     Nothing,      Reduction,    Other,         Other,       "xc";
    CallOnce               = CALL_ONCE              : CallOnceOptions,       Control,     Runs,     Unknown,       Unknown,     Nothing,      Free,         Other,         Other,       "";
    BroadcastTo            = BROADCAST_TO           : BroadcastToOptions,    Movement,    Views,    BroadcastTo,   Unknown,     Nothing,      Move,         View,          Layout,      "xc";
    Rfft2d                 = RFFT2D                 : Rfft2dOptions,         Arithmetic,  Computes, Own,           Unknown,     Unknown,      Unknown,      Other,         Other,       "xc";
    Conv3d                 = CONV_3D                : Conv3DOptions,         Convolution, Computes, Convolution3d, Unknown,     Convolution3d, Unknown,      Convolution,   Volume,      "xwb";
    Imag                   = IMAG                   : NONE,                  Arithmetic,  Computes, Broadcast,     Unknown,     Nothing,      Unknown,      Other,         Other,       "";
    Real                   = REAL                   : NONE,                  Arithmetic,  Computes, Broadcast,     Unknown,     Nothing,      Unknown,      Other,         Other,       "";
    ComplexAbs             = COMPLEX_ABS            : NONE,                  Arithmetic,  Computes, Broadcast,     Unknown,     Nothing,      Unknown,      Other,         Other,       "";
    Hashtable              = HASHTABLE              : HashtableOptions,      Control,     Runs,     Unknown,       Unknown,     Nothing,      Unknown,      Other,         Other,       "";
    HashtableFind          = HASHTABLE_FIND         : HashtableFindOptions,  Control,     Runs,     Unknown,       Unknown,     Nothing,      Unknown,      Other,         Other,       "";
    HashtableImport        = HASHTABLE_IMPORT       : HashtableImportOptions, Control,     Runs,     Unknown,       Unknown,     Nothing,      Unknown,      Other,         Other,       "";
    HashtableSize          = HASHTABLE_SIZE         : HashtableSizeOptions,  Control,     Runs,     Unknown,       Unknown,     Nothing,      Unknown,      Other,         Other,       "";
    ReduceAll              = REDUCE_ALL             : ReducerOptions,        Reduction,   Computes, Reduce,        Unknown,     Nothing,      Reduction,    Other,         Other,       "xc";
    Conv3dTranspose        = CONV_3D_TRANSPOSE      : Conv3DOptions,         Convolution, Computes, TransposedConvolution3d, Unknown,     TransposedConvolution3d, Unknown,      Convolution,   Other,       "cwxb";
    VarHandle              = VAR_HANDLE             : VarHandleOptions,      Control,     Runs,     Unknown,       Unknown,     Nothing,      Free,         Other,         Other,       "";
    ReadVariable           = READ_VARIABLE          : ReadVariableOptions,   Control,     Moves,    Unknown,       Unknown,     Nothing,      Move,         Other,         Other,       "";
    AssignVariable         = ASSIGN_VARIABLE        : AssignVariableOptions, Control,     Views,    Unknown,       Unknown,     Nothing,      Move,         Other,         Other,       "";
    BroadcastArgs          = BROADCAST_ARGS         : NONE,                  Movement,    Views,    Own,           Unknown,     Nothing,      Unknown,      Other,         Other,       "cc";
    RandomStandardNormal   = RANDOM_STANDARD_NORMAL : RandomOptions,         Arithmetic,  Computes, Stated(0),     Unknown,     Nothing,      Unknown,      Other,         Other,       "c";
    Bucketize              = BUCKETIZE              : BucketizeOptions,      Arithmetic,  Computes, Broadcast,     Unknown,     Nothing,      Unknown,      Other,         Other,       "";
    RandomUniform          = RANDOM_UNIFORM         : RandomOptions,         Arithmetic,  Computes, Stated(0),     Unknown,     Nothing,      Unknown,      Other,         Other,       "c";
    Multinomial            = MULTINOMIAL            : RandomOptions,         Arithmetic,  Computes, Own,           Unknown,     Nothing,      Unknown,      Other,         Other,       "xc";
    Gelu                   = GELU                   : GeluOptions,           Activation,  Computes, Broadcast,     Unknown,     Nothing,      Elementwise,  Unary(Gelu),   Curve,       "";
    DynamicUpdateSlice     = DYNAMIC_UPDATE_SLICE   : DynamicUpdateSliceOptions, Movement,    Views,    Update,        Unknown,     Nothing,      Move,         Other,         Other,       "xxc";
    Relu0To1               = RELU_0_TO_1            : NONE,                  Activation,  Computes, Broadcast,     Unknown,     Nothing,      Elementwise,  Unary(Other),  Fused,       "";
    UnsortedSegmentProd    = UNSORTED_SEGMENT_PROD  : UnsortedSegmentProdOptions, Reduction,   Computes, Own,           Unknown,     Nothing,      Unknown,      Other,         Other,       "xcc";
    UnsortedSegmentMax     = UNSORTED_SEGMENT_MAX   : UnsortedSegmentMaxOptions, Reduction,   Computes, Own,           Unknown,     Nothing,      Unknown,      Other,         Other,       "xcc";
    UnsortedSegmentSum     = UNSORTED_SEGMENT_SUM   : UnsortedSegmentSumOptions, Reduction,   Computes, Own,           Unknown,     Nothing,      Unknown,      Other,         Other,       "xcc";
    Atan2                  = ATAN2                  : ATan2Options,          Arithmetic,  Computes, Broadcast,     Unknown,     Nothing,      Unknown,      Other,         Other,       "";
    UnsortedSegmentMin     = UNSORTED_SEGMENT_MIN   : UnsortedSegmentMinOptions, Reduction,   Computes, Own,           Unknown,     Nothing,      Unknown,      Other,         Other,       "xcc";
    Sign                   = SIGN                   : SignOptions,           Arithmetic,  Computes, Broadcast,     Unknown,     Nothing,      Unknown,      Unary(Other),  Other,       "";
    Bitcast                = BITCAST                : BitcastOptions,        Conversion,  Views,    Own,           Unknown,     Nothing,      Unknown,      Other,         Other,       "";
    BitwiseXor             = BITWISE_XOR            : BitwiseXorOptions,     Arithmetic,  Computes, Broadcast,     Unknown,     Nothing,      Unknown,      Other,         Other,       "";
    RightShift             = RIGHT_SHIFT            : RightShiftOptions,     Arithmetic,  Computes, Broadcast,     Unknown,     Nothing,      Unknown,      Other,         Other,       "";
    StablehloLogistic      = STABLEHLO_LOGISTIC     : NONE,                  Activation,  Computes, Broadcast,     Unknown,     Nothing,      Unknown,      Other,         Other,       "";
    StablehloAdd           = STABLEHLO_ADD          : NONE,                  Arithmetic,  Computes, Broadcast,     Unknown,     Nothing,      Unknown,      Other,         Other,       "";
    StablehloDivide        = STABLEHLO_DIVIDE       : NONE,                  Arithmetic,  Computes, Broadcast,     Unknown,     Nothing,      Unknown,      Other,         Other,       "";
    StablehloMultiply      = STABLEHLO_MULTIPLY     : NONE,                  Arithmetic,  Computes, Broadcast,     Unknown,     Nothing,      Unknown,      Other,         Other,       "";
    StablehloMaximum       = STABLEHLO_MAXIMUM      : NONE,                  Arithmetic,  Computes, Broadcast,     Unknown,     Nothing,      Unknown,      Other,         Other,       "";
    StablehloReshape       = STABLEHLO_RESHAPE      : NONE,                  Movement,    Views,    Unknown,       Unknown,     Nothing,      Unknown,      Other,         Other,       "";
    StablehloClamp         = STABLEHLO_CLAMP        : NONE,                  Arithmetic,  Computes, Unknown,       Unknown,     Nothing,      Unknown,      Other,         Other,       "";
    StablehloConcatenate   = STABLEHLO_CONCATENATE  : StablehloConcatenateOptions, Movement,    Views,    Unknown,       Unknown,     Nothing,      Unknown,      Other,         Other,       "";
    StablehloBroadcastInDim = STABLEHLO_BROADCAST_IN_DIM : StablehloBroadcastInDimOptions, Movement,    Views,    Unknown,       Unknown,     Nothing,      Unknown,      Other,         Other,       "";
    StablehloConvolution   = STABLEHLO_CONVOLUTION  : StablehloConvolutionOptions, Convolution, Computes, Unknown,       Unknown,     Unknown,      Unknown,      Other,         Other,       "";
    StablehloSlice         = STABLEHLO_SLICE        : StablehloSliceOptions, Movement,    Views,    Unknown,       Unknown,     Nothing,      Unknown,      Other,         Other,       "";
    StablehloCustomCall    = STABLEHLO_CUSTOM_CALL  : StablehloCustomCallOptions, Control,     Runs,     Unknown,       Unknown,     Unknown,      Unknown,      Other,         Other,       "";
    StablehloReduce        = STABLEHLO_REDUCE       : StablehloReduceOptions, Reduction,   Computes, Unknown,       Unknown,     Nothing,      Unknown,      Other,         Other,       "";
    StablehloAbs           = STABLEHLO_ABS          : NONE,                  Arithmetic,  Computes, Broadcast,     Unknown,     Nothing,      Unknown,      Other,         Other,       "";
    StablehloAnd           = STABLEHLO_AND          : NONE,                  Arithmetic,  Computes, Broadcast,     Unknown,     Nothing,      Unknown,      Other,         Other,       "";
    StablehloCosine        = STABLEHLO_COSINE       : NONE,                  Arithmetic,  Computes, Broadcast,     Unknown,     Nothing,      Unknown,      Other,         Other,       "";
    StablehloExponential   = STABLEHLO_EXPONENTIAL  : NONE,                  Arithmetic,  Computes, Broadcast,     Unknown,     Nothing,      Unknown,      Other,         Other,       "";
    StablehloFloor         = STABLEHLO_FLOOR        : NONE,                  Arithmetic,  Computes, Broadcast,     Unknown,     Nothing,      Unknown,      Other,         Other,       "";
    StablehloLog           = STABLEHLO_LOG          : NONE,                  Arithmetic,  Computes, Broadcast,     Unknown,     Nothing,      Unknown,      Other,         Other,       "";
    StablehloMinimum       = STABLEHLO_MINIMUM      : NONE,                  Arithmetic,  Computes, Broadcast,     Unknown,     Nothing,      Unknown,      Other,         Other,       "";
    StablehloNegate        = STABLEHLO_NEGATE       : NONE,                  Arithmetic,  Computes, Broadcast,     Unknown,     Nothing,      Unknown,      Other,         Other,       "";
    StablehloOr            = STABLEHLO_OR           : NONE,                  Arithmetic,  Computes, Broadcast,     Unknown,     Nothing,      Unknown,      Other,         Other,       "";
    StablehloPower         = STABLEHLO_POWER        : NONE,                  Arithmetic,  Computes, Broadcast,     Unknown,     Nothing,      Unknown,      Other,         Other,       "";
    StablehloRemainder     = STABLEHLO_REMAINDER    : NONE,                  Arithmetic,  Computes, Broadcast,     Unknown,     Nothing,      Unknown,      Other,         Other,       "";
    StablehloRsqrt         = STABLEHLO_RSQRT        : NONE,                  Arithmetic,  Computes, Broadcast,     Unknown,     Nothing,      Unknown,      Other,         Other,       "";
    StablehloSelect        = STABLEHLO_SELECT       : NONE,                  Arithmetic,  Computes, Unknown,       Unknown,     Nothing,      Unknown,      Other,         Other,       "";
    StablehloSubtract      = STABLEHLO_SUBTRACT     : NONE,                  Arithmetic,  Computes, Broadcast,     Unknown,     Nothing,      Unknown,      Other,         Other,       "";
    StablehloTanh          = STABLEHLO_TANH         : NONE,                  Activation,  Computes, Broadcast,     Unknown,     Nothing,      Unknown,      Other,         Other,       "";
    StablehloScatter       = STABLEHLO_SCATTER      : StablehloScatterOptions, Movement,    Moves,    Unknown,       Unknown,     Nothing,      Unknown,      Other,         Other,       "";
    StablehloCompare       = STABLEHLO_COMPARE      : StablehloCompareOptions, Arithmetic,  Computes, Unknown,       Unknown,     Nothing,      Unknown,      Other,         Other,       "";
    StablehloConvert       = STABLEHLO_CONVERT      : NONE,                  Conversion,  Computes, Unknown,       Unknown,     Nothing,      Unknown,      Other,         Other,       "";
    StablehloDynamicSlice  = STABLEHLO_DYNAMIC_SLICE : StablehloDynamicSliceOptions, Movement,    Views,    Unknown,       Unknown,     Nothing,      Unknown,      Other,         Other,       "";
    StablehloDynamicUpdateSlice = STABLEHLO_DYNAMIC_UPDATE_SLICE : NONE,                  Movement,    Views,    Unknown,       Unknown,     Nothing,      Unknown,      Other,         Other,       "";
    StablehloPad           = STABLEHLO_PAD          : StablehloPadOptions,   Movement,    Moves,    Unknown,       Unknown,     Nothing,      Unknown,      Other,         Other,       "";
    StablehloIota          = STABLEHLO_IOTA         : StablehloIotaOptions,  Movement,    Moves,    Unknown,       Unknown,     Nothing,      Unknown,      Other,         Other,       "";
    StablehloDotGeneral    = STABLEHLO_DOT_GENERAL  : StablehloDotGeneralOptions, Matrix,      Computes, Unknown,       Unknown,     Unknown,      Unknown,      Other,         Other,       "";
    StablehloReduceWindow  = STABLEHLO_REDUCE_WINDOW : StablehloReduceWindowOptions, Reduction,   Computes, Unknown,       Unknown,     Nothing,      Unknown,      Other,         Other,       "";
    StablehloSort          = STABLEHLO_SORT         : StablehloSortOptions,  Reduction,   Computes, Unknown,       Unknown,     Nothing,      Unknown,      Other,         Other,       "";
    StablehloWhile         = STABLEHLO_WHILE        : StablehloWhileOptions, Control,     Runs,     Unknown,       Unknown,     Nothing,      Unknown,      Other,         Other,       "";
    StablehloGather        = STABLEHLO_GATHER       : StablehloGatherOptions, Movement,    Moves,    Unknown,       Unknown,     Nothing,      Unknown,      Other,         Other,       "";
    StablehloTranspose     = STABLEHLO_TRANSPOSE    : StablehloTransposeOptions, Movement,    Views,    Unknown,       Unknown,     Nothing,      Unknown,      Other,         Other,       "";
    Dilate                 = DILATE                 : DilateOptions,         Movement,    Moves,    Unknown,       Unknown,     Nothing,      Unknown,      Other,         Other,       "xc";
    StablehloRngBitGenerator = STABLEHLO_RNG_BIT_GENERATOR : StablehloRngBitGeneratorOptions, Arithmetic,  Computes, Unknown,       Unknown,     Nothing,      Unknown,      Other,         Other,       "";
    ReduceWindow           = REDUCE_WINDOW          : ReduceWindowOptions,   Reduction,   Computes, Unknown,       Unknown,     Nothing,      Unknown,      Other,         Other,       "";
    StablehloComposite     = STABLEHLO_COMPOSITE    : StableHLOCompositeOptions, Control,     Runs,     Unknown,       Unknown,     Nothing,      Unknown,      Other,         Other,       "";
    StablehloShiftLeft     = STABLEHLO_SHIFT_LEFT   : StablehloShiftLeftOptions, Arithmetic,  Computes, Unknown,       Unknown,     Nothing,      Unknown,      Other,         Other,       "";
    StablehloCbrt          = STABLEHLO_CBRT         : NONE,                  Arithmetic,  Computes, Unknown,       Unknown,     Nothing,      Unknown,      Other,         Other,       "";
    StablehloCase          = STABLEHLO_CASE         : StablehloCaseOptions,  Control,     Runs,     Unknown,       Unknown,     Nothing,      Unknown,      Other,         Other,       "";
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn kinds_are_those_of_the_schema() {
        let schema = BuiltinOperator::ENUM_VALUES;
        assert_eq!(OpKind::ALL.len(), schema.len());
        for (kind, builtin) in OpKind::ALL.iter().zip(schema) {
            assert_eq!(Some(kind.name()), builtin.variant_name());
            assert_eq!(kind.number(), builtin.0, "{kind}");
            assert_eq!(OpKind::from_number(builtin.0), *kind);
            assert_eq!(OpKind::from_name(kind.name()), Some(*kind));
        }
    }

    /// Every table of options belongs to a kind, and every kind that has one names one of the schema.
    #[test]
    fn options_are_those_of_the_schema() {
        use super::super::schema::{BuiltinOptions, BuiltinOptions2};
        let first = BuiltinOptions::ENUM_VALUES
            .iter()
            .map(|one| one.variant_name());
        let second = BuiltinOptions2::ENUM_VALUES
            .iter()
            .map(|one| one.variant_name());
        let schema: BTreeSet<&str> = first.chain(second).flatten().collect();
        let named = OpKind::ALL
            .iter()
            .map(|kind| kind.options_table())
            .collect();
        assert_eq!(schema, named);
    }

    /// Letters that no rule reads would be silently ignored.
    #[test]
    fn roles_are_known_letters() {
        for kind in OpKind::ALL {
            let roles = kind.row().roles;
            assert!(
                roles.chars().all(|role| "xwvbcs".contains(role)),
                "{kind}: {roles}"
            );
        }
    }

    #[test]
    fn numbers_and_names_that_the_schema_does_not_have_are_none_of_its_kinds() {
        let next = BuiltinOperator::ENUM_MAX + 1;
        for number in [next, -1, i32::MAX, i32::MIN] {
            assert_eq!(OpKind::from_number(number), OpKind::Unknown(number));
            assert_eq!(OpKind::Unknown(number).number(), number);
        }
        assert_eq!(OpKind::from_name("UNKNOWN"), None);
        assert_eq!(OpKind::from_name("conv_2d"), None);
    }
}
