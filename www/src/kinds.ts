/** Kinds of operators: what the drawing colours. */

/** Kinds of operators, each with a colour. */
export type Kind =
  | "convolution"
  | "depthwise"
  | "matrix"
  | "recurrent"
  | "arithmetic"
  | "activation"
  | "reduction"
  | "movement"
  | "conversion"
  | "control"
  | "other";

/** Names of the kinds in legends. */
export const KIND_NAMES: Record<Kind, string> = {
  convolution: "Convolution",
  depthwise: "Depthwise convolution",
  matrix: "Matrix product",
  recurrent: "Recurrent",
  arithmetic: "Arithmetic",
  activation: "Activation, normalisation",
  reduction: "Pooling, reduction",
  movement: "Data movement",
  conversion: "Precision change",
  control: "Control flow",
  other: "Custom and other",
};

const MEMBERS: Record<Exclude<Kind, "other">, string> = {
  convolution: "CONV_2D CONV_3D TRANSPOSE_CONV CONV_3D_TRANSPOSE",
  depthwise: "DEPTHWISE_CONV_2D",
  matrix: "FULLY_CONNECTED BATCH_MATMUL STABLEHLO_DOT_GENERAL",
  recurrent:
    "LSTM RNN UNIDIRECTIONAL_SEQUENCE_LSTM UNIDIRECTIONAL_SEQUENCE_RNN BIDIRECTIONAL_SEQUENCE_LSTM " +
    "BIDIRECTIONAL_SEQUENCE_RNN SVDF",
  arithmetic:
    "ADD SUB MUL DIV ADD_N MAXIMUM MINIMUM POW SQUARED_DIFFERENCE FLOOR_DIV FLOOR_MOD ABS NEG EXP LOG SIN COS SQRT " +
    "RSQRT SQUARE FLOOR CEIL ROUND SIGN ATAN2 EQUAL NOT_EQUAL GREATER GREATER_EQUAL LESS LESS_EQUAL LOGICAL_AND " +
    "LOGICAL_OR LOGICAL_NOT BITWISE_XOR RIGHT_SHIFT SELECT SELECT_V2 WHERE",
  activation:
    "RELU RELU6 RELU_N1_TO_1 RELU_0_TO_1 PRELU LEAKY_RELU ELU GELU HARD_SWISH LOGISTIC TANH SOFTMAX LOG_SOFTMAX " +
    "L2_NORMALIZATION LOCAL_RESPONSE_NORMALIZATION",
  reduction:
    "AVERAGE_POOL_2D MAX_POOL_2D L2_POOL_2D MEAN SUM REDUCE_MAX REDUCE_MIN REDUCE_PROD REDUCE_ANY REDUCE_ALL " +
    "ARG_MAX ARG_MIN CUMSUM TOPK_V2 SEGMENT_SUM",
  movement:
    "RESHAPE TRANSPOSE CONCATENATION SPLIT SPLIT_V SLICE STRIDED_SLICE PAD PADV2 MIRROR_PAD PACK UNPACK SQUEEZE " +
    "EXPAND_DIMS GATHER GATHER_ND SCATTER_ND TILE BROADCAST_TO RESIZE_BILINEAR RESIZE_NEAREST_NEIGHBOR " +
    "DEPTH_TO_SPACE SPACE_TO_DEPTH SPACE_TO_BATCH_ND BATCH_TO_SPACE_ND REVERSE_V2 SHAPE FILL RANGE ZEROS_LIKE RANK " +
    "DYNAMIC_UPDATE_SLICE EMBEDDING_LOOKUP ONE_HOT",
  conversion: "QUANTIZE DEQUANTIZE CAST FAKE_QUANT DENSIFY BITCAST",
  control: "IF WHILE CALL CALL_ONCE VAR_HANDLE READ_VARIABLE ASSIGN_VARIABLE STABLEHLO_COMPOSITE",
};

const KIND_OF = new Map<string, Kind>(
  Object.entries(MEMBERS).flatMap(([kind, names]) => names.split(" ").map((name) => [name, kind as Kind] as const)),
);

/** The kind of an operator by its name in the schema. */
export function kindOf(operator: { name: string; custom: boolean }): Kind {
  return operator.custom ? "other" : (KIND_OF.get(operator.name) ?? "other");
}

/** Operators of each kind and what they cost together, or the largest where costs are no sum; the costliest kind first. */
export function costsByKind(operators: readonly { name: string; custom: boolean }[], costs: readonly number[], is_sum: boolean): [Kind, { n: number; cost: number }][] {
  const kinds = new Map<Kind, { n: number; cost: number }>();
  operators.forEach((operator, index) => {
    const kind = kindOf(operator);
    const { n, cost } = kinds.get(kind) ?? { n: 0, cost: 0 };
    const value = costs[index] ?? 0;
    kinds.set(kind, { n: n + 1, cost: is_sum ? cost + value : Math.max(cost, value) });
  });
  return [...kinds].sort(([, a], [, b]) => b.cost - a.cost || b.n - a.n);
}
