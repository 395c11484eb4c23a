//! What an operator computes: the schema's `BuiltinOperator` as a Rust enum.

use std::fmt;

use super::schema::BuiltinOperator;

/// Declares [`OpKind`] from pairs of a variant and the constant of `BuiltinOperator` that it stands for, so
/// that number and name have the schema as their only source.
macro_rules! op_kinds {
    ($($kind:ident = $builtin:ident,)*) => {
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
        }
    };
}

impl fmt::Display for OpKind {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(self.name())
    }
}

op_kinds! {
    Add = ADD,
    AveragePool2d = AVERAGE_POOL_2D,
    Concatenation = CONCATENATION,
    Conv2d = CONV_2D,
    DepthwiseConv2d = DEPTHWISE_CONV_2D,
    DepthToSpace = DEPTH_TO_SPACE,
    Dequantize = DEQUANTIZE,
    EmbeddingLookup = EMBEDDING_LOOKUP,
    Floor = FLOOR,
    FullyConnected = FULLY_CONNECTED,
    HashtableLookup = HASHTABLE_LOOKUP,
    L2Normalization = L2_NORMALIZATION,
    L2Pool2d = L2_POOL_2D,
    LocalResponseNormalization = LOCAL_RESPONSE_NORMALIZATION,
    Logistic = LOGISTIC,
    LshProjection = LSH_PROJECTION,
    Lstm = LSTM,
    MaxPool2d = MAX_POOL_2D,
    Mul = MUL,
    Relu = RELU,
    ReluN1To1 = RELU_N1_TO_1,
    Relu6 = RELU6,
    Reshape = RESHAPE,
    ResizeBilinear = RESIZE_BILINEAR,
    Rnn = RNN,
    Softmax = SOFTMAX,
    SpaceToDepth = SPACE_TO_DEPTH,
    Svdf = SVDF,
    Tanh = TANH,
    ConcatEmbeddings = CONCAT_EMBEDDINGS,
    SkipGram = SKIP_GRAM,
    Call = CALL,
    Custom = CUSTOM,
    EmbeddingLookupSparse = EMBEDDING_LOOKUP_SPARSE,
    Pad = PAD,
    UnidirectionalSequenceRnn = UNIDIRECTIONAL_SEQUENCE_RNN,
    Gather = GATHER,
    BatchToSpaceNd = BATCH_TO_SPACE_ND,
    SpaceToBatchNd = SPACE_TO_BATCH_ND,
    Transpose = TRANSPOSE,
    Mean = MEAN,
    Sub = SUB,
    Div = DIV,
    Squeeze = SQUEEZE,
    UnidirectionalSequenceLstm = UNIDIRECTIONAL_SEQUENCE_LSTM,
    StridedSlice = STRIDED_SLICE,
    BidirectionalSequenceRnn = BIDIRECTIONAL_SEQUENCE_RNN,
    Exp = EXP,
    TopkV2 = TOPK_V2,
    Split = SPLIT,
    LogSoftmax = LOG_SOFTMAX,
    Delegate = DELEGATE,
    BidirectionalSequenceLstm = BIDIRECTIONAL_SEQUENCE_LSTM,
    Cast = CAST,
    Prelu = PRELU,
    Maximum = MAXIMUM,
    ArgMax = ARG_MAX,
    Minimum = MINIMUM,
    Less = LESS,
    Neg = NEG,
    Padv2 = PADV2,
    Greater = GREATER,
    GreaterEqual = GREATER_EQUAL,
    LessEqual = LESS_EQUAL,
    Select = SELECT,
    Slice = SLICE,
    Sin = SIN,
    TransposeConv = TRANSPOSE_CONV,
    SparseToDense = SPARSE_TO_DENSE,
    Tile = TILE,
    ExpandDims = EXPAND_DIMS,
    Equal = EQUAL,
    NotEqual = NOT_EQUAL,
    Log = LOG,
    Sum = SUM,
    Sqrt = SQRT,
    Rsqrt = RSQRT,
    Shape = SHAPE,
    Pow = POW,
    ArgMin = ARG_MIN,
    FakeQuant = FAKE_QUANT,
    ReduceProd = REDUCE_PROD,
    ReduceMax = REDUCE_MAX,
    Pack = PACK,
    LogicalOr = LOGICAL_OR,
    OneHot = ONE_HOT,
    LogicalAnd = LOGICAL_AND,
    LogicalNot = LOGICAL_NOT,
    Unpack = UNPACK,
    ReduceMin = REDUCE_MIN,
    FloorDiv = FLOOR_DIV,
    ReduceAny = REDUCE_ANY,
    Square = SQUARE,
    ZerosLike = ZEROS_LIKE,
    Fill = FILL,
    FloorMod = FLOOR_MOD,
    Range = RANGE,
    ResizeNearestNeighbor = RESIZE_NEAREST_NEIGHBOR,
    LeakyRelu = LEAKY_RELU,
    SquaredDifference = SQUARED_DIFFERENCE,
    MirrorPad = MIRROR_PAD,
    Abs = ABS,
    SplitV = SPLIT_V,
    Unique = UNIQUE,
    Ceil = CEIL,
    ReverseV2 = REVERSE_V2,
    AddN = ADD_N,
    GatherNd = GATHER_ND,
    Cos = COS,
    Where = WHERE,
    Rank = RANK,
    Elu = ELU,
    ReverseSequence = REVERSE_SEQUENCE,
    MatrixDiag = MATRIX_DIAG,
    Quantize = QUANTIZE,
    MatrixSetDiag = MATRIX_SET_DIAG,
    Round = ROUND,
    HardSwish = HARD_SWISH,
    If = IF,
    While = WHILE,
    NonMaxSuppressionV4 = NON_MAX_SUPPRESSION_V4,
    NonMaxSuppressionV5 = NON_MAX_SUPPRESSION_V5,
    ScatterNd = SCATTER_ND,
    SelectV2 = SELECT_V2,
    Densify = DENSIFY,
    SegmentSum = SEGMENT_SUM,
    BatchMatmul = BATCH_MATMUL,
    PlaceholderForGreaterOpCodes = PLACEHOLDER_FOR_GREATER_OP_CODES,
    Cumsum = CUMSUM,
    CallOnce = CALL_ONCE,
    BroadcastTo = BROADCAST_TO,
    Rfft2d = RFFT2D,
    Conv3d = CONV_3D,
    Imag = IMAG,
    Real = REAL,
    ComplexAbs = COMPLEX_ABS,
    Hashtable = HASHTABLE,
    HashtableFind = HASHTABLE_FIND,
    HashtableImport = HASHTABLE_IMPORT,
    HashtableSize = HASHTABLE_SIZE,
    ReduceAll = REDUCE_ALL,
    Conv3dTranspose = CONV_3D_TRANSPOSE,
    VarHandle = VAR_HANDLE,
    ReadVariable = READ_VARIABLE,
    AssignVariable = ASSIGN_VARIABLE,
    BroadcastArgs = BROADCAST_ARGS,
    RandomStandardNormal = RANDOM_STANDARD_NORMAL,
    Bucketize = BUCKETIZE,
    RandomUniform = RANDOM_UNIFORM,
    Multinomial = MULTINOMIAL,
    Gelu = GELU,
    DynamicUpdateSlice = DYNAMIC_UPDATE_SLICE,
    Relu0To1 = RELU_0_TO_1,
    UnsortedSegmentProd = UNSORTED_SEGMENT_PROD,
    UnsortedSegmentMax = UNSORTED_SEGMENT_MAX,
    UnsortedSegmentSum = UNSORTED_SEGMENT_SUM,
    Atan2 = ATAN2,
    UnsortedSegmentMin = UNSORTED_SEGMENT_MIN,
    Sign = SIGN,
    Bitcast = BITCAST,
    BitwiseXor = BITWISE_XOR,
    RightShift = RIGHT_SHIFT,
    StablehloLogistic = STABLEHLO_LOGISTIC,
    StablehloAdd = STABLEHLO_ADD,
    StablehloDivide = STABLEHLO_DIVIDE,
    StablehloMultiply = STABLEHLO_MULTIPLY,
    StablehloMaximum = STABLEHLO_MAXIMUM,
    StablehloReshape = STABLEHLO_RESHAPE,
    StablehloClamp = STABLEHLO_CLAMP,
    StablehloConcatenate = STABLEHLO_CONCATENATE,
    StablehloBroadcastInDim = STABLEHLO_BROADCAST_IN_DIM,
    StablehloConvolution = STABLEHLO_CONVOLUTION,
    StablehloSlice = STABLEHLO_SLICE,
    StablehloCustomCall = STABLEHLO_CUSTOM_CALL,
    StablehloReduce = STABLEHLO_REDUCE,
    StablehloAbs = STABLEHLO_ABS,
    StablehloAnd = STABLEHLO_AND,
    StablehloCosine = STABLEHLO_COSINE,
    StablehloExponential = STABLEHLO_EXPONENTIAL,
    StablehloFloor = STABLEHLO_FLOOR,
    StablehloLog = STABLEHLO_LOG,
    StablehloMinimum = STABLEHLO_MINIMUM,
    StablehloNegate = STABLEHLO_NEGATE,
    StablehloOr = STABLEHLO_OR,
    StablehloPower = STABLEHLO_POWER,
    StablehloRemainder = STABLEHLO_REMAINDER,
    StablehloRsqrt = STABLEHLO_RSQRT,
    StablehloSelect = STABLEHLO_SELECT,
    StablehloSubtract = STABLEHLO_SUBTRACT,
    StablehloTanh = STABLEHLO_TANH,
    StablehloScatter = STABLEHLO_SCATTER,
    StablehloCompare = STABLEHLO_COMPARE,
    StablehloConvert = STABLEHLO_CONVERT,
    StablehloDynamicSlice = STABLEHLO_DYNAMIC_SLICE,
    StablehloDynamicUpdateSlice = STABLEHLO_DYNAMIC_UPDATE_SLICE,
    StablehloPad = STABLEHLO_PAD,
    StablehloIota = STABLEHLO_IOTA,
    StablehloDotGeneral = STABLEHLO_DOT_GENERAL,
    StablehloReduceWindow = STABLEHLO_REDUCE_WINDOW,
    StablehloSort = STABLEHLO_SORT,
    StablehloWhile = STABLEHLO_WHILE,
    StablehloGather = STABLEHLO_GATHER,
    StablehloTranspose = STABLEHLO_TRANSPOSE,
    Dilate = DILATE,
    StablehloRngBitGenerator = STABLEHLO_RNG_BIT_GENERATOR,
    ReduceWindow = REDUCE_WINDOW,
    StablehloComposite = STABLEHLO_COMPOSITE,
    StablehloShiftLeft = STABLEHLO_SHIFT_LEFT,
    StablehloCbrt = STABLEHLO_CBRT,
    StablehloCase = STABLEHLO_CASE,
}

#[cfg(test)]
mod tests {
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
