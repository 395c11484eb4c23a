"""Writes weightless graphs (operators, shapes, attributes) of timm's and torchvision's image models.

usage: export_timm.py OUT.parquet [--models LIST.csv] [--torchvision] [--json FOLDER]

LIST.csv has the columns model and infer_img_size or train_img_size, as timm's result tables do; it may
be given several times. Every model runs once on torch's meta device for one image: no weights are made
and none are downloaded, and a model takes about 0.3 s. One row a model and image size in OUT.parquet: source, model,
image_size, parameters, graph (JSON, format "litecast-graph" version 1). With --json each graph becomes
a file, too.

The vocabulary is TensorFlow Lite's: NHWC feature maps, weights OHWI, batch norms folded into the
convolution before them, activations fused where TensorFlow Lite has a code for them. Operators
without a counterpart keep a name of their own (LAYER_NORMALIZATION, GROUP_NORMALIZATION, ERF).

Needs torch, torchvision, timm and pyarrow (5.8 GB): an environment of its own, which no test needs.
"""

import argparse
import contextlib
import csv
import json
import math
import pathlib
import sys
import warnings

import pyarrow
import pyarrow.parquet
import torch
from torch.utils._python_dispatch import TorchDispatchMode

BATCH_NORMS = {
    "native_batch_norm",
    "cudnn_batch_norm",
    "_native_batch_norm_legit_no_training",
    "_batch_norm_no_update",
}
RESHAPES = {
    "view", "_unsafe_view", "_reshape_alias", "reshape", "squeeze", "unsqueeze", "expand", "as_strided",
    "unflatten", "flatten", "as_strided_", "squeeze_", "unsqueeze_",
}  # fmt: skip
# The same values under another name.
ALIASES = {
    "detach", "alias", "lift_fresh", "clone", "_to_copy", "contiguous", "view_as_real", "lift_fresh_copy",
    "native_dropout", "dropout", "copy_",
}  # fmt: skip
# Tensors of a shape, with values that depend on no other tensor's.
CREATED = {
    "new_zeros", "new_ones", "new_full", "new_empty", "zeros_like", "ones_like", "full_like", "empty_like", "new_empty_strided",
}  # fmt: skip
TRANSPOSES = {"permute", "transpose", "t", "movedim"}
SLICES = {"slice", "select", "narrow"}
SPLITS = {"split", "split_with_sizes", "chunk", "unbind", "unsafe_split", "unsafe_chunk"}
# aten's name → our kind, for operators of tensors that keep or broadcast shapes.
ELEMENTWISE = {
    "add": "ADD", "add_": "ADD", "sub": "SUB", "sub_": "SUB", "rsub": "SUB", "mul": "MUL", "mul_": "MUL",
    "div": "DIV", "div_": "DIV", "sigmoid": "LOGISTIC", "sigmoid_": "LOGISTIC", "tanh": "TANH",
    "tanh_": "TANH", "relu": "RELU", "relu_": "RELU", "gelu": "GELU", "gelu_": "GELU",
    "hardswish": "HARD_SWISH", "hardswish_": "HARD_SWISH", "elu": "ELU", "elu_": "ELU",
    "leaky_relu": "LEAKY_RELU", "leaky_relu_": "LEAKY_RELU", "hardsigmoid": "HARD_SIGMOID",
    "hardsigmoid_": "HARD_SIGMOID", "pow": "POW", "sqrt": "SQRT", "rsqrt": "RSQRT", "exp": "EXP",
    "exp_": "EXP", "log": "LOG", "neg": "NEG", "abs": "ABS", "erf": "ERF", "maximum": "MAXIMUM",
    "minimum": "MINIMUM", "clamp_min": "MAXIMUM", "clamp_min_": "MAXIMUM", "clamp": "MINIMUM",
    "clamp_": "MINIMUM", "clamp_max": "MINIMUM", "softplus": "SOFTPLUS", "mish": "MISH", "mish_": "MISH",
    "where": "SELECT_V2", "masked_fill": "SELECT_V2", "masked_fill_": "SELECT_V2", "cos": "COS",
    "sin": "SIN", "reciprocal": "RECIPROCAL", "_prelu_kernel": "PRELU", "square": "SQUARE",
    "ge": "GREATER_EQUAL", "gt": "GREATER", "le": "LESS_EQUAL", "lt": "LESS", "eq": "EQUAL",
    "ne": "NOT_EQUAL", "logical_not": "LOGICAL_NOT", "logical_and": "LOGICAL_AND", "bitwise_and": "LOGICAL_AND",
    "floor_divide": "FLOOR_DIV", "remainder": "FLOOR_MOD", "floor": "FLOOR", "round": "ROUND", "sign": "SIGN",
    "log_sigmoid_forward": "LOG_SIGMOID", "addcmul": "ADDCMUL", "addcmul_": "ADDCMUL", "lerp": "LERP",
    "bitwise_not": "LOGICAL_NOT", "log1p": "LOG", "frac": "FLOOR_MOD",
}  # fmt: skip
POWERS = {2: "SQUARE", 0.5: "SQRT", -0.5: "RSQRT"}
BINARY = {"ADD", "SUB", "MUL", "DIV", "POW", "MAXIMUM", "MINIMUM", "FLOOR_DIV", "FLOOR_MOD"}
REDUCTIONS = {
    "mean": "MEAN", "sum": "SUM", "amax": "REDUCE_MAX", "amin": "REDUCE_MIN", "argmax": "ARG_MAX",
    "linalg_vector_norm": "L2_NORM", "var_mean": "VARIANCE", "var": "VARIANCE", "std": "VARIANCE",
    "cumsum": "CUMSUM", "max": "REDUCE_MAX", "prod": "REDUCE_PROD", "std_mean": "VARIANCE",
}  # fmt: skip
# Axes of torch's images in the order of TensorFlow Lite's.
NHWC = [0, 2, 3, 1]
# Operators that take images alone, whatever four dimensions came from.
OF_IMAGES = BATCH_NORMS | {
    "convolution", "_convolution", "mkldnn_convolution", "_adaptive_avg_pool2d", "adaptive_avg_pool2d",
    "adaptive_max_pool2d",
}  # fmt: skip
WITH_AXES = {"MEAN", "SUM", "REDUCE_MAX", "REDUCE_MIN", "REDUCE_PROD"}
ACTIVATIONS = {"RELU": "RELU", "RELU6": "RELU6", "TANH": "TANH"}
FUSING = {"CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED", "ADD", "MUL", "SUB"}


class Recorder(TorchDispatchMode):
    """Operators in the order in which they run, as dictionaries of the graph format."""

    def __init__(self):
        super().__init__()
        self.names = {}
        self.kept = []
        self.tensors = {}
        # Tensor names whose four dimensions are N, H, W, C where torch has N, C, H, W.
        self.images = set()
        self.constants = set()
        self.operators = []
        self.unknown = set()

    def name(self, tensor):
        """A tensor that no recorded operator wrote is a constant."""
        if id(tensor) not in self.names:
            name = f"c{len(self.kept)}"
            self.constants.add(name)
            self.bind(tensor, name, False)
        return self.names[id(tensor)]

    def bind(self, tensor, name, is_image):
        self.names[id(tensor)] = name
        self.kept.append(tensor)
        shape = list(tensor.shape)
        if is_image and len(shape) == 4:
            shape = [shape[0], shape[2], shape[3], shape[1]]
            self.images.add(name)
        self.tensors[name] = {"shape": shape, "type": type_name(tensor.dtype)}

    def new(self, tensor, is_image=False):
        name = f"t{len(self.kept)}"
        self.bind(tensor, name, is_image)
        return name

    def constant(self, shape, of_type="float32"):
        name = f"c{len(self.kept)}"
        self.kept.append(None)
        self.constants.add(name)
        self.tensors[name] = {"shape": list(shape), "type": of_type}
        return name

    def alias(self, tensor, name):
        self.names[id(tensor)] = name
        self.kept.append(tensor)

    def emit(self, kind, inputs, outputs, macs=None, **attributes):
        """`macs` of an operator that TensorFlow Lite does not have."""
        operator = {"kind": kind, "inputs": inputs, "outputs": outputs, "attributes": attributes}
        self.operators.append(operator if macs is None else {**operator, "macs": macs})

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        out = function(*args, **kwargs)
        self.record(function._schema.name.split("::")[1], args, kwargs, out)
        return out

    def record(self, op, args, kwargs, out):
        outs = [o for o in (out if isinstance(out, (tuple, list)) else [out]) if is_tensor(o)]
        given = []
        for arg in list(args) + list(kwargs.values()):
            given.extend([arg] if is_tensor(arg) else [a for a in arg if is_tensor(a)] if isinstance(arg, (list, tuple)) else [])
        if not outs or not given:
            return
        inputs = [self.name(a) for a in given]
        if op in CREATED or all(name in self.constants for name in inputs):
            # Computed from parameters alone: an export has the result as a constant.
            for o in outs:
                name = f"c{len(self.kept)}"
                self.constants.add(name)
                self.bind(o, name, False)
            return
        of_images = op in OF_IMAGES or op.startswith(("max_pool2d", "avg_pool2d", "upsample_", "_upsample_"))
        if of_images and given[0].dim() == 4:
            inputs[0] = self.operand(given[0], True)
        image = any(name in self.images for name in inputs) and outs[0].dim() == 4
        if op in ("convolution", "_convolution", "mkldnn_convolution"):
            self.convolution(args, inputs, outs[0])
        elif op in BATCH_NORMS:
            self.batch_norm(args, inputs, outs[0])
        elif op in ("addmm", "mm", "linear"):
            self.fully_connected(op, args, inputs, outs[0])
        elif op in ("bmm", "baddbmm", "matmul", "mv", "dot"):
            self.product(given[-2:], outs[0])
        elif op in ALIASES:
            source = self.name(args[1]) if op == "copy_" else inputs[0]
            self.alias(outs[0], source)
        elif op in RESHAPES and outs[0].numel() != given[0].numel():
            # An expansion, or a window of the values.
            kind = "BROADCAST_TO" if outs[0].numel() > given[0].numel() else "STRIDED_SLICE"
            self.emit(kind, [self.plain(given[0])], [self.new(outs[0])])
        elif op in RESHAPES:
            self.emit("RESHAPE", inputs[:1], [self.new(outs[0], image and outs[0].shape == given[0].shape)])
        elif op in TRANSPOSES:
            self.transpose(op, args, inputs[0], outs[0])
        elif op in SLICES:
            self.emit("STRIDED_SLICE", inputs[:1], [self.new(outs[0], image)])
        elif op in SPLITS:
            self.emit("SPLIT" if op != "unbind" else "UNPACK", inputs[:1], [self.new(o, image) for o in outs])
        elif op == "silu" or op == "silu_":
            gate = self.like(outs[0], image)
            self.emit("LOGISTIC", inputs[:1], [gate])
            self.emit("MUL", [inputs[0], gate], [self.new(outs[0], image)], activation="NONE")
        elif op in ("hardtanh", "hardtanh_"):
            is_relu6 = tuple(args[1:3]) == (0.0, 6.0)
            self.emit("RELU6" if is_relu6 else "RELU_N1_TO_1", inputs[:1], [self.new(outs[0], image)])
        elif op in ELEMENTWISE:
            operands = [self.operand(tensor, image) if image else self.plain(tensor) for tensor in given]
            if op == "pow" and args[1] in POWERS:
                self.emit(POWERS[args[1]], operands, [self.new(outs[0], image)])
                return
            if len(operands) == 1 and ELEMENTWISE[op] in BINARY:
                # The other operand is a number, which TensorFlow Lite and ONNX have as a constant.
                number = self.constant([], self.tensors[operands[0]]["type"])
                operands = [number, *operands] if op == "rsub" else [*operands, number]
            self.emit(ELEMENTWISE[op], operands, [self.new(outs[0], image)])
        elif op in REDUCTIONS:
            self.reduction(op, args, inputs[0], outs)
        elif op in ("_softmax", "_log_softmax"):
            self.emit("SOFTMAX", inputs[:1], [self.new(outs[0], image)])
        elif op == "native_layer_norm":
            self.emit("LAYER_NORMALIZATION", inputs, [self.new(outs[0], image)])
        elif op in ("native_group_norm", "_native_batch_norm_legit"):
            self.emit("GROUP_NORMALIZATION", inputs, [self.new(outs[0], image)])
        elif op in ("_fused_rms_norm", "rms_norm"):
            self.emit("RMS_NORMALIZATION", inputs, [self.new(outs[0], image)])
        elif op.startswith("max_pool"):
            self.pool("MAX_POOL_2D", args, inputs[0], outs[0])
        elif op.startswith("avg_pool"):
            self.pool("AVERAGE_POOL_2D", args, inputs[0], outs[0])
        elif "adaptive_avg_pool" in op or "adaptive_max_pool" in op:
            sizes = list(zip(given[0].shape[2:], outs[0].shape[2:]))
            stride = [i // max(o, 1) for i, o in sizes]
            # The last window ends where the input does.
            sides = [i - (o - 1) * s for (i, o), s in zip(sizes, stride)]
            self.pool("AVERAGE_POOL_2D" if "avg" in op else "MAX_POOL_2D", [None, sides, stride], inputs[0], outs[0])
        elif op == "cat":
            operands = [self.operand(tensor, image) if image else self.plain(tensor) for tensor in given]
            rank = outs[0].dim()
            axis = (args[1] if len(args) > 1 else 0) % rank
            if image and axis:
                axis = axis - 1 if axis > 1 else rank - 1
            self.emit("CONCATENATION", operands, [self.new(outs[0], image)], axis=axis)
        elif op == "stack":
            self.emit("PACK", [self.plain(tensor) for tensor in given], [self.new(outs[0])])
        elif op in ("constant_pad_nd", "reflection_pad2d", "replication_pad2d"):
            self.emit("PAD", inputs[:1], [self.new(outs[0], image)])
        elif op.startswith("upsample_nearest"):
            self.emit("RESIZE_NEAREST_NEIGHBOR", inputs[:1], [self.new(outs[0], image)])
        elif op.startswith(("upsample_", "_upsample_")):
            self.emit("RESIZE_BICUBIC" if "bicubic" in op else "RESIZE_BILINEAR", inputs[:1], [self.new(outs[0], image)])
        elif op in ("index", "gather", "index_select", "embedding"):
            self.emit("GATHER", inputs, [self.new(outs[0], image)])
        elif op == "roll":
            # A dimension at a time, as PyTorch runs it and exports have it.
            source = inputs[0]
            for _ in args[2][1:] if len(args) > 2 else []:
                between = self.like(outs[0], image)
                self.emit("ROLL", [source], [between])
                source = between
            self.emit("ROLL", [source], [self.new(outs[0], image)])
        else:
            self.unknown.add(op)
            self.emit(op.strip("_").upper(), inputs, [self.new(o, image) for o in outs])

    def operand(self, operand, is_image):
        """The name of an operand that is broadcast to a result: beside an image its axes are in NHWC, too."""
        name = self.name(operand)
        if not is_image or name in self.images or operand.dim() == 0:
            return name
        of_type = self.tensors[name]["type"]
        padded = [1] * (4 - operand.dim()) + list(operand.shape)
        turned = [padded[axis] for axis in NHWC]
        if name in self.constants:
            return self.constant(turned, of_type)
        if operand.dim() < 4:
            name = self.moved("RESHAPE", name, padded)
        return self.moved("TRANSPOSE", name, turned, perm=NHWC)

    def plain(self, tensor):
        """The name of a tensor with its axes in torch's order, in which torch has its values: nothing is moved."""
        name = self.name(tensor)
        return self.moved("RESHAPE", name, list(tensor.shape)) if name in self.images else name

    def product(self, factors, out):
        """Vectors become matrices of one row or column, as in an export."""
        names = [self.plain(factor) for factor in factors]
        if all(factor.dim() > 1 for factor in factors):
            self.emit("BATCH_MATMUL", names, [self.new(out)])
            return
        sides = [list(factor.shape) for factor in factors]
        sides = [[1, *sides[0]] if len(sides[0]) == 1 else sides[0], [*sides[1], 1] if len(sides[1]) == 1 else sides[1]]
        names = [
            name if list(factor.shape) == side else self.moved("RESHAPE", name, side)
            for name, factor, side in zip(names, factors, sides)
        ]
        between = f"t{len(self.kept)}"
        self.kept.append(None)
        self.tensors[between] = {"shape": [*sides[0][:-1], sides[1][-1]], "type": "float32"}
        self.emit("BATCH_MATMUL", names, [between])
        self.emit("RESHAPE", [between], [self.new(out)])

    def moved(self, kind, source, shape, **attributes):
        """The same values in another shape, as a tensor that torch never made."""
        name = f"t{len(self.kept)}"
        self.kept.append(None)
        self.tensors[name] = {"shape": shape, "type": self.tensors[source]["type"]}
        self.emit(kind, [source], [name], **attributes)
        if attributes.get("perm") == NHWC:
            self.images.add(name)
        return name

    def like(self, tensor, is_image):
        """A further tensor of the same shape, which torch never made."""
        name = f"t{len(self.kept)}"
        self.kept.append(None)
        shape = list(tensor.shape)
        if is_image and len(shape) == 4:
            shape = [shape[0], shape[2], shape[3], shape[1]]
        self.tensors[name] = {"shape": shape, "type": type_name(tensor.dtype)}
        return name

    def convolution(self, args, inputs, out):
        data, weight, bias, stride, padding, dilation, transposed, _, groups = args[:9]
        if weight.dim() == 3:
            # One spatial dimension: the window has height 1.
            stride, dilation, padding = [1, *stride], [1, *dilation], [0, *padding]
        sides = list(weight.shape[2:]) if weight.dim() != 3 else [1, weight.shape[2]]
        n_in, n_out = data.shape[1], out.shape[1]
        source = inputs[0]
        if weight.dim() == 3:
            # An image of height 1.
            n, channels, length = data.shape
            turned = self.moved("TRANSPOSE", source, [n, length, channels], perm=[0, 2, 1])
            source = self.moved("RESHAPE", turned, [n, 1, length, channels])
        elif weight.dim() == 5:
            n, channels, *volume = data.shape
            source = self.moved("TRANSPOSE", source, [n, *volume, channels], perm=[0, 2, 3, 4, 1])
        constants = [] if bias is None else [self.name(bias)]
        is_depthwise = groups == n_in and groups > 1 and not transposed
        shape = [1, *sides, n_out] if is_depthwise else [n_out, *sides, n_in // groups]
        kind = "TRANSPOSE_CONV" if transposed else "DEPTHWISE_CONV_2D" if is_depthwise else "CONV_2D"
        if weight.dim() == 5:
            kind, shape = "CONV_3D", [*sides, n_in // groups, n_out]
        name = self.new(out, True) if weight.dim() == 4 else self.channels_last(out)
        shown = self.tensors[source]["shape"][1:-1]
        padding_name = "SAME"
        if not transposed:
            padding_name = padding_of(shown, self.tensors[name]["shape"][1:-1], sides, stride, dilation)
        if padding_name is None:
            source, padding_name = self.padded(source, padding), "VALID"
        if self.name(weight) in self.constants:
            weights = self.constant(shape)
        else:
            weights = self.name(weight)
        if transposed:
            self.transposed_convolution(data, out, source, weights, constants, name, list(stride), groups)
            return
        dilations = {"dilation": list(dilation)}
        self.emit(kind, [source, weights, *constants], [name], stride=list(stride), **dilations,
                  padding=padding_name, activation="NONE")  # fmt: skip
        if weight.dim() == 3:
            n, channels, length = out.shape
            rows = self.moved("RESHAPE", name, [n, length, channels])
            self.emit("TRANSPOSE", [rows], [self.new(out)], perm=[0, 2, 1])
        elif weight.dim() == 5:
            self.emit("TRANSPOSE", [name], [self.new(out)], perm=[0, 4, 1, 2, 3])

    def transposed_convolution(self, data, out, source, weights, constants, name, stride, groups):
        if groups > 1:
            # TensorFlow Lite has none with groups.
            of_input = math.prod(self.tensors[weights]["shape"]) // data.shape[1]
            self.emit("GROUPED_TRANSPOSE_CONV", [source, weights, *constants], [name], macs=data.numel() * of_input)
            return
        sizes = self.constant([4], "int32")
        self.tensors[sizes]["values"] = self.tensors[name]["shape"]
        needed = [o - i * s for i, o, s in zip(self.tensors[source]["shape"][1:3], self.tensors[name]["shape"][1:3], stride)]
        padding = "SAME" if not any(needed) else "VALID"
        self.emit("TRANSPOSE_CONV", [sizes, weights, source, *constants], [name], stride=stride, padding=padding)

    def channels_last(self, tensor):
        """The result of a convolution in one or three dimensions: an image of height 1, or a volume."""
        n, channels, *sides = tensor.shape
        name = f"t{len(self.kept)}"
        self.kept.append(None)
        sides = sides if len(sides) == 3 else [1, *sides]
        self.tensors[name] = {"shape": [n, *sides, channels], "type": type_name(tensor.dtype)}
        return name

    def padded(self, source, padding):
        """The padding that TensorFlow Lite has no name for, as an operator of its own."""
        shape = self.tensors[source]["shape"]
        pairs = [[0, 0], *([p, p] for p in padding), [0, 0]]
        name = f"t{len(self.kept)}"
        self.kept.append(None)
        self.tensors[name] = {"shape": [d + a + b for d, (a, b) in zip(shape, pairs)], "type": "float32"}
        self.emit("PAD", [source], [name], paddings=pairs)
        return name

    def pool(self, kind, args, source, out):
        sides = list(args[1])
        stride = list(args[2]) if len(args) > 2 and args[2] else sides
        name = self.new(out, True)
        shapes = [self.tensors[t]["shape"][1:-1] for t in (source, name)]
        padding = padding_of(*shapes, sides, stride, [1, 1])
        if padding is None:
            # Rounded up, or padded by more than SAME: what is added is the difference.
            needed = [(o - 1) * s + k - i for i, o, s, k in zip(*shapes, stride, sides)]
            source, padding = self.padded_by(source, needed), "VALID"
        self.emit(kind, [source], [name], filter=sides, stride=stride, padding=padding)

    def padded_by(self, source, needed):
        shape = self.tensors[source]["shape"]
        pairs = [[0, 0], *([n // 2, n - n // 2] for n in needed), [0, 0]]
        name = f"t{len(self.kept)}"
        self.kept.append(None)
        self.tensors[name] = {"shape": [d + a + b for d, (a, b) in zip(shape, pairs)], "type": "float32"}
        self.emit("PAD", [source], [name], paddings=pairs)
        return name

    def batch_norm(self, args, inputs, out):
        """Folded where the convolution or layer before it has no other reader; that is known at the end."""
        if out.dim() == 3:
            # Channels come before the values of each.
            inputs = [inputs[0], *(self.constant([out.shape[1], 1]) for _ in inputs[1:])]
        self.emit("BATCH_NORMALIZATION", inputs, [self.new(out, inputs[0] in self.images or out.dim() == 4)])

    def fully_connected(self, op, args, inputs, out):
        data, weight, bias = args[-2], args[-1], args[0] if op == "addmm" else None
        if op == "linear":
            data, weight, bias = args[0], args[1], args[2] if len(args) > 2 else None
        name = self.new(out)
        if self.name(weight) not in self.constants:
            self.emit("BATCH_MATMUL", [self.name(data), self.name(weight)], [name])
            return
        n_in = data.shape[-1]
        weights = self.constant([out.shape[-1], n_in])
        biases = [] if bias is None else [self.name(bias)]
        self.emit("FULLY_CONNECTED", [self.name(data), weights, *biases], [name], activation="NONE")

    def reduction(self, op, args, source, outs):
        """Axes of an image are those of NHWC."""
        rank = len(self.tensors[source]["shape"])
        dims = next((list(a) for a in args[1:] if isinstance(a, (list, tuple))), None)
        if op in ("max", "prod") and len(args) > 1:
            dims = [args[1]]
        dims = list(range(rank)) if not dims else [d % rank for d in dims]
        if source in self.images:
            dims = sorted([0, 3, 1, 2][d] for d in dims)
        axes = {"axes": dims} if REDUCTIONS[op] in WITH_AXES else {}
        if op == "max" and len(outs) > 1:
            self.emit("ARG_MAX", [source], [self.new(outs.pop())], axis=dims[0])
        for o in outs:
            keeps = o.dim() == rank
            kept = {"keep_dims": keeps} if axes else {}
            self.emit(REDUCTIONS[op], [source], [self.new(o, keeps and source in self.images)], **axes, **kept)

    def transpose(self, op, args, source, out):
        n = out.dim()
        if op == "permute" or op == "movedim":
            order = [d % n for d in args[1]] if op == "permute" else list(range(n))
        else:
            order = list(range(n))
            a, b = (args[1] % n, args[2] % n) if op == "transpose" else (0, n - 1)
            if n > 1:
                order[a], order[b] = order[b], order[a]
        if source in self.images and order == [0, 2, 3, 1]:
            # NHWC is how the feature map lies already.
            self.emit("RESHAPE", [source], [self.new(out)])
        elif order == [0, 3, 1, 2]:
            # Back to torch's order: an image again.
            self.emit("RESHAPE", [source], [self.new(out, True)])
        else:
            self.emit("TRANSPOSE", [source], [self.new(out)], perm=order)


def padding_of(inputs, outputs, window, stride, dilation):
    """TensorFlow Lite's name for the padding that gives outputs of these sizes; none where it has none."""
    same = [-(-i // s) for i, s in zip(inputs, stride)]
    valid = [-(-(i - (k - 1) * d) // s) for i, k, s, d in zip(inputs, window, stride, dilation)]
    return "VALID" if valid == list(outputs) else "SAME" if same == list(outputs) else None


def is_tensor(value):
    return isinstance(value, torch.Tensor)


def type_name(dtype):
    return {torch.int64: "int64", torch.int32: "int32", torch.bool: "bool", torch.float16: "float16"}.get(dtype, "float32")


def explicit_attention(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False):
    """torch.nn.functional.scaled_dot_product_attention by the operators that an export writes."""
    scale = 1 / math.sqrt(query.shape[-1]) if scale is None else scale
    scores = (query * scale) @ key.transpose(-2, -1)
    if attn_mask is not None:
        scores = scores + attn_mask
    return scores.softmax(dim=-1) @ value


def recording_lstm(recorder):
    """torch.nn.LSTM.forward that records one operator instead of one a step and gate."""

    def forward(self, data, state=None):
        n_directions = 2 if self.bidirectional else 1
        out = data.new_empty(*data.shape[:-1], n_directions * self.hidden_size)
        source = recorder.name(data)
        n_in, n_cells = data.shape[-1], self.hidden_size
        single = data.new_empty(*data.shape[:-1], n_cells)
        parts = []
        for _ in range(n_directions):
            gates = [recorder.constant([n_cells, n]) for n in [n_in] * 4 + [n_cells] * 4]
            biases = [recorder.constant([n_cells]) for _ in range(4)]
            states = [recorder.constant([data.shape[0], n_cells]) for _ in range(2)]
            for state in states:
                recorder.constants.discard(state)
                recorder.tensors[state]["variable"] = True
            parts.append(recorder.new(out if n_directions == 1 else single))
            inputs = [source, *gates, None, None, None, *biases, None, None, *states]
            recorder.emit("UNIDIRECTIONAL_SEQUENCE_LSTM", inputs, parts[-1:], activation="TANH")
        if n_directions > 1:
            recorder.emit("CONCATENATION", parts, [recorder.new(out)], axis=out.dim() - 1)
        return out, None

    return forward


def folded(operators, constants, tensors):
    """Batch norms go into the convolution before them, activations into TensorFlow Lite's codes."""
    readers = {}
    for operator in operators:
        for name in operator["inputs"]:
            readers[name] = readers.get(name, 0) + 1
    writer, renamed, kept = {}, {}, []
    for operator in operators:
        operator["inputs"] = [renamed.get(name, name) for name in operator["inputs"]]
        kind, source = operator["kind"], operator["inputs"][0]
        before = writer.get(source)
        alone = before is not None and readers.get(source, 0) == 1 and before["attributes"].get("activation") == "NONE"
        output = operator["outputs"][0]
        if kind == "BATCH_NORMALIZATION" and alone and before["kind"] in ("CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED", "TRANSPOSE_CONV"):
            if len(before["inputs"]) == 2:
                bias = f"b{output}"
                constants.add(bias)
                tensors[bias] = {"shape": [tensors[output]["shape"][-1]], "type": "float32"}
                before["inputs"].append(bias)
            renamed[output] = source
            readers[source] = readers.get(output, 0)
            continue
        if kind == "BATCH_NORMALIZATION":
            operator = {"kind": "MUL", "inputs": operator["inputs"][:2], "outputs": [f"{output}m"], "attributes": {"activation": "NONE"}}
            tensors[f"{output}m"] = tensors[output]
            readers[f"{output}m"] = 1
            kept.append(operator)
            operator = {"kind": "ADD", "inputs": [f"{output}m", operator["inputs"][1]], "outputs": [output], "attributes": {"activation": "NONE"}}
        if kind in ACTIVATIONS and alone and before["kind"] in FUSING:
            before["attributes"]["activation"] = ACTIVATIONS[kind]
            renamed[output] = source
            readers[source] = readers.get(output, 0)
            continue
        if operator["kind"] in FUSING:
            operator["attributes"].setdefault("activation", "NONE")
        for name in operator["outputs"]:
            writer[name] = operator
        kept.append(operator)
    return kept, renamed


def graph_of(network, name, sides):
    """The graph of one inference of one input, on torch's meta device."""
    with torch.device("meta"):
        data = torch.empty(sides)
    return graph_of_inputs(network, name, [data], torch.device("meta"))


def graph_of_inputs(network, name, data, *contexts):
    """The graph of one inference of these tensors, which runs in the contexts beneath the recorder."""
    recorder = Recorder()
    torch.nn.LSTM.forward = recording_lstm(recorder)
    names = ["x"] if len(data) == 1 else [f"x{at}" for at in range(len(data))]
    with contextlib.ExitStack() as stack:
        for context in contexts:
            stack.enter_context(context)
        stack.enter_context(recorder)
        stack.enter_context(torch.no_grad())
        for tensor, input_name in zip(data, names):
            # Heads of attention and masks have four axes, too.
            recorder.bind(tensor, input_name, tensor.dim() == 4 and tensor.shape[0] == 1 and tensor.shape[2] > 1)
        out = network(*data)
    outs = [one for one in flattened(out) if is_tensor(one)]
    operators, renamed = folded(recorder.operators, recorder.constants, recorder.tensors)
    outputs = [recorder.names[id(o)] for o in outs if id(o) in recorder.names]
    outputs = [renamed.get(name, name) for name in outputs]
    operators = live(operators, set(outputs))
    used = set(names).union(*(o["inputs"] + o["outputs"] for o in operators))
    tensors = [
        {"name": key, **value, **({"constant": True} if key in recorder.constants or key.startswith("b") else {})}
        for key, value in recorder.tensors.items()
        if key in used
    ]
    if recorder.unknown:
        print(name, "has operators without a TensorFlow Lite counterpart:", *sorted(recorder.unknown), file=sys.stderr)
    return {"format": "litecast-graph", "version": 1, "name": name, "inputs": names, "outputs": outputs,
            "tensors": tensors, "operators": operators}  # fmt: skip


def flattened(results):
    """The results of a network, however they are nested."""
    if isinstance(results, dict):
        results = results.values()
    elif not isinstance(results, (tuple, list)):
        return [results]
    return [one for result in results for one in flattened(result)]


def live(operators, needed):
    """Without operators whose outputs nobody reads."""
    kept = []
    for operator in reversed(operators):
        if any(name in needed for name in operator["outputs"]):
            needed.update(operator["inputs"])
            kept.append(operator)
    return kept[::-1]


def timm_network(model, side):
    import timm

    with torch.device("meta"):
        for options in ({"img_size": side}, {}):
            with contextlib.suppress(Exception):
                return timm.create_model(model, pretrained=False, **options).eval()
    # Computes its widths with tensors.
    return timm.create_model(model, pretrained=False).eval().to("meta")


def torchvision_network(model):
    import torchvision

    try:
        with torch.device("meta"):
            return torchvision.models.get_model(model, weights=None).eval()
    except NotImplementedError:
        # Computes its widths with tensors.
        return torchvision.models.get_model(model, weights=None).eval().to("meta")


def listed(tables):
    """Model names and image sizes of timm's result tables."""
    wanted = set()
    for table in tables:
        with open(table) as file:
            for row in csv.DictReader(file):
                side = row.get("infer_img_size") or row.get("train_img_size")
                if side:
                    wanted.add((row["model"], int(float(side))))
    return sorted(wanted)


def main():
    warnings.filterwarnings("ignore")
    parser = argparse.ArgumentParser()
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--models", action="append", default=[])
    parser.add_argument("--torchvision", action="store_true")
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--only", help="models whose name has this part")
    args = parser.parse_args()
    torch.set_num_threads(1)
    torch.nn.functional.scaled_dot_product_attention = explicit_attention
    # Networks turn it off around single products; the meta device does not have it.
    torch.autocast = lambda *_, **__: contextlib.nullcontext()
    wanted = [("timm", model, side) for model, side in listed(args.models)]
    if args.torchvision:
        import torchvision

        names = torchvision.models.list_models(module=torchvision.models)
        wanted += [("torchvision", name, 299 if name == "inception_v3" else 224) for name in names]
    rows, failed = [], 0
    for source, model, side in wanted:
        if args.only and args.only not in model:
            continue
        try:
            if source == "timm":
                network = timm_network(model, side)
            else:
                network = torchvision_network(model)
            graph = graph_of(network, model, (1, 3, side, side))
        except Exception as error:
            failed += 1
            print(model, side, str(error)[:100].replace("\n", " "), file=sys.stderr, flush=True)
            continue
        text = json.dumps(graph, separators=(",", ":"))
        n_parameters = sum(p.numel() for p in network.parameters())
        rows.append({"source": source, "model": model, "image_size": side, "parameters": n_parameters, "graph": text})
        if args.json:
            args.json.mkdir(parents=True, exist_ok=True)
            (args.json / f"{model}-{side}.graph.json").write_text(text)
    table = pyarrow.Table.from_pylist(rows)
    pyarrow.parquet.write_table(table, args.out, compression="zstd", compression_level=15)
    print(f"{len(rows)} graphs, {failed} of {len(wanted)} failed", flush=True)


if __name__ == "__main__":
    main()
