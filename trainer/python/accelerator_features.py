"""What one operator of LiteCast's graph costs an accelerator, as amounts of work: the terms of the physics of
`fit_accelerators.py`. Input is what `litecast facts --json --operators` prints."""

import json
import math

import numpy

# Sides of the blocks in which matrix units compute: channels, and positions along a row and a column.
READ, WRITTEN, ROW, COLUMN = 4, 32, 4, 4
# Channels of an image are stored in blocks.
STORED = 32

CONVOLUTIONS = {"CONV_2D", "DEPTHWISE_CONV_2D", "TRANSPOSE_CONV", "CONV_3D"}
MATRICES = {"FULLY_CONNECTED", "BATCH_MATMUL"}
LAYOUT = {"TRANSPOSE", "CONCATENATION", "GATHER", "GATHER_ND", "SPLIT", "SPLIT_V", "STRIDED_SLICE", "SLICE", "PACK", "UNPACK",
          "PAD", "PADV2", "MIRROR_PAD", "SPACE_TO_DEPTH", "DEPTH_TO_SPACE", "TILE", "BROADCAST_TO", "EXPAND_DIMS", "SQUEEZE",
          "REVERSE_V2", "SCATTER_ND"}  # fmt: skip
POOLING = {"AVERAGE_POOL_2D", "MAX_POOL_2D", "MEAN", "SUM", "REDUCE_MAX", "REDUCE_MIN", "ARG_MAX", "TOPK_V2"}
RESIZING = {"RESIZE_BILINEAR", "RESIZE_NEAREST_NEIGHBOR"}
# One operator of TensorFlow Lite each, of which a normalisation consists; a compiler sees one.
NORMALISATION = ["MEAN", "SUB", "SQUARED_DIFFERENCE", "MEAN", "ADD", "RSQRT", "MUL", "MUL", "ADD"]
CURVES = {"GELU", "LOGISTIC", "TANH", "HARD_SWISH", "EXP", "ELU", "LEAKY_RELU", "PRELU", "POW", "SQRT", "RSQRT", "DIV", "ERF"}

TERMS = [
    "macs_window", "macs_pointwise", "macs_depthwise", "macs_matrix", "macs_product", "macs_transposed", "macs_volume",
    "padded_window", "padded_pointwise", "padded_depthwise", "padded_matrix", "padded_product", "padded_transposed", "padded_volume",
    "weights", "bytes_multiplied", "bytes_elementwise", "bytes_curve", "bytes_pooling", "bytes_resizing", "bytes_layout",
    "bytes_reshape", "bytes_norm", "bytes_softmax", "bytes_other", "windows",
    "n_multiplied", "n_elementwise", "n_curve", "n_pooling", "n_resizing", "n_layout", "n_reshape", "n_norm", "n_softmax",
    "n_other", "ends", "once",
]  # fmt: skip
TERM = {name: at for at, name in enumerate(TERMS)}
# Terms of the physics; multiplications count with their sides rounded up.
USED = {term for term in TERMS if not term.startswith("macs_")} - {"ends"}
# Logarithms of how much more than others of their kind terms are expected to cost.
PRIOR = {"padded_depthwise": 1.0, "padded_volume": 0.7, "windows": -3.0, "bytes_layout": 0.7, "bytes_softmax": 0.7, "bytes_norm": 0.7, "bytes_other": 0.7, "once": 4.6}
# Which scale of a device multiplies a term.
SCALES = ["compute", "memory", "constant"]


def scale_of(term):
    if term.startswith(("macs", "padded")):
        return 0
    return 2 if term.startswith(("n_", "once")) else 1


def up(size, block):
    return -(-max(size, 1) // block) * block


def values(shape):
    """Values of a tensor as accelerators lay images out: channels in blocks."""
    n = math.prod(shape)
    return n // shape[-1] * up(shape[-1], STORED) if len(shape) >= 4 and shape[-1] else n


def kind_of(operator):
    """The group of an operator without multiplications."""
    name = operator["name"]
    for group, names in (("layout", LAYOUT), ("pooling", POOLING), ("resizing", RESIZING), ("curve", CURVES)):
        if name in names:
            return group
    if name in ("RESHAPE", "SOFTMAX"):
        return name.lower()
    if name in ("ADD", "SUB", "MUL", "MAXIMUM", "RELU", "RELU6", "SQUARED_DIFFERENCE", "ABS", "NEG", "RELU_N1_TO_1"):
        return "elementwise"
    return "other"


class Network:
    """Operators with their amounts, and which of them read each other."""

    def __init__(self, path):
        document = json.loads(path.read_text())
        self.name = path.stem
        self.model = document["model"]
        tensors = document["tensors"]
        operators = grouped(document["operators"], tensors)
        self.cliffs = cliffs(document["operators"], tensors)
        self.kinds = [group for _, group in operators]
        self.names = [operator["name"] for operator, _ in operators]
        self.amounts = numpy.zeros((len(operators), len(TERMS)))
        self.shapes = []
        writers = {}
        for at, (operator, _) in enumerate(operators):
            for tensor in operator["outputs"]:
                writers[tensor] = at
        self.edges = [
            (writers[tensor], at)
            for at, (operator, _) in enumerate(operators)
            for tensor in operator["inputs"]
            if tensor in writers and writers[tensor] < at
        ]
        for at, (operator, group) in enumerate(operators):
            self.measure(at, operator, group, tensors)

    def measure(self, at, operator, group, tensors):
        """Amounts in values, not bytes: the precision is a matter of the device. In millions."""
        row = self.amounts[at]
        shape = tensors[operator["outputs"][0]]["shape"] if operator["outputs"] else []
        data = [tensors[t] for t in operator["inputs"] if t is not None and t >= 0]
        # What moves values need not store them in blocks.
        count = math.prod if group in ("layout", "reshape", "softmax", "norm") else values
        n_read = sum(count(t["shape"]) for t in data if not t["constant"]) / 1e6
        n_written = sum(count(tensors[t]["shape"]) for t in operator["outputs"]) / 1e6
        macs = (operator["macs"] or 0) / 1e6
        self.shapes.append(shape)
        if group is None:
            first = next((t["shape"] for t in data if not t["constant"]), [1])
            group, padded = multiplied(operator["name"], shape, first, data, macs)
            row[TERM[f"macs_{group}"]], row[TERM[f"padded_{group}"]] = macs, padded
            row[TERM["weights"]] = operator["parameters"] / 1e6
            row[TERM["bytes_multiplied"]] = n_read + n_written
            row[TERM["n_multiplied"]] = 1
        elif group != "fused":
            row[TERM[f"bytes_{group}"]] = n_read + n_written
            row[TERM[f"n_{group}"]] = 1
            window = operator["attributes"] or {}
            row[TERM["windows"]] = n_written * (window.get("filter_h") or 0) * (window.get("filter_w") or 0)



def multiplied(name, shape, first, data, macs):
    """The group of an operator that multiplies, and its multiplications with all sides rounded up to blocks."""
    n_out, n_in = shape[-1] if shape else 1, first[-1] if first else 1
    if name == "DEPTHWISE_CONV_2D":
        group, channels = "depthwise", up(n_out, WRITTEN) / n_out
    else:
        channels = up(n_out, WRITTEN) / n_out * up(n_in, READ) / max(n_in, 1)
        group = {"FULLY_CONNECTED": "matrix", "BATCH_MATMUL": "product", "TRANSPOSE_CONV": "transposed", "CONV_3D": "volume"}.get(name)
    if group is None:
        weights = next((t["shape"] for t in data if t["constant"] and len(t["shape"]) >= 4), [1, 1, 1, 1])
        group = "pointwise" if math.prod(weights[1:-1]) == 1 else "window"
    if len(shape) >= 4 and group not in ("matrix", "product"):
        rows, columns = shape[-3], shape[-2]
        space = up(rows, COLUMN) / max(rows, 1) * up(columns, ROW) / max(columns, 1)
    else:
        rows = shape[-2] if len(shape) > 1 else 1
        space = up(rows, ROW) / max(rows, 1)
    return group, macs * channels * space


def grouped(operators, tensors):
    """Operators with their group: none for those that multiply; normalisations as one, paddings of convolutions and the
    second half of a clip as part of others."""
    readers = {}
    for operator in operators:
        for tensor in operator["inputs"]:
            readers.setdefault(tensor, []).append(operator["name"])
    found, at = [], 0
    while at < len(operators):
        operator = operators[at]
        names = [one["name"] for one in operators[at : at + len(NORMALISATION)]]
        if names[:6] == NORMALISATION[:6]:
            n = next((n for n in range(len(names), 5, -1) if names[:n] == NORMALISATION[:n]), 6)
            parameters = sum(one["parameters"] for one in operators[at : at + n])
            found.append(({**operator, "outputs": operators[at + n - 1]["outputs"], "parameters": parameters}, "norm"))
            at += n
            continue
        reading = readers.get(operator["outputs"][0], []) if operator["outputs"] else []
        is_padding = operator["name"] == "PAD" and reading and set(reading) <= CONVOLUTIONS | {"AVERAGE_POOL_2D", "MAX_POOL_2D"}
        is_clip = operator["name"] == "MINIMUM" and at > 0 and operators[at - 1]["name"] == "MAXIMUM"
        is_multiplied = operator["macs"] and operator["name"] in CONVOLUTIONS | MATRICES
        found.append((operator, "fused" if is_padding or is_clip else None if is_multiplied else kind_of(operator)))
        at += 1
    return found


def cliffs(operators, tensors):
    """Reasons for which operators run many times slower than their work says, each with the runtimes and precisions where
    they do; nothing stands for all of them."""
    found = set()
    names = [operator["name"] for operator in operators]
    for operator in operators:
        name, window = operator["name"], operator["attributes"] or {}
        shape = tensors[operator["outputs"][0]]["shape"] if operator["outputs"] else []
        if name == "CONV_3D":
            found.add(("a convolution in three dimensions is emulated", "tflite", None))
        if name == "AVERAGE_POOL_2D":
            sides = window["filter_h"], window["filter_w"]
            is_whole = math.prod(shape[1:-1]) == 1
            if not is_whole and sides != (3, 3) and sides != (window["stride_h"], window["stride_w"]):
                found.add(("quantised average pooling of this shape is emulated", None, "w8a8"))
                found.add(("quantised average pooling of this shape is emulated", None, "w8a16"))
        if name == "MAX_POOL_2D" and window["filter_h"] * window["filter_w"] > 25 and shape[-1] < 8:
            found.add(("a large window over few channels is emulated", None, None))
        if name == "SOFTMAX" and math.prod(shape) > 16e6:
            found.add(("a softmax of this size leaves the fast memory", None, None))
        if name in ("ONNX:RoiAlign", "ONNX:NonZero"):
            found.add(("values at inference decide the work", None, None))
        if name == "BATCH_MATMUL":
            found.add(("attention in 8 bits is emulated", None, "w8a8"))
    if any(pair == ("SUM", "SQRT") for pair in zip(names, names[1:])):
        found.add(("a quantised norm of vectors is emulated", None, "w8a8"))
    return sorted(found, key=str)


def amounts(network):
    """Of the whole network: one of each, and the values that come in and go out are those of the ends."""
    total = network.amounts.sum(0)
    total[TERM["once"]] = 1
    return total
