"""Modules that are put together as those of PyTorch, and give graphs without weights.

    stem = Sequential(Conv2d(3, 16, 3, stride=2, padding=1), BatchNorm2d(16), ReLU6())
    net = Sequential(stem, AdaptiveAvgPool2d(1), Flatten(), Linear(16, 10))
    graph = export(net, (1, 3, 96, 96))

PyTorch pads all sides alike. Where TFLite's SAME does not, there is an operator PAD, as converters write one.
"""

from graphs import Graph


def export(module, shape, name=""):
    """The graph of a module on an input of `(1, channels, height, width)`."""
    graph = Graph()
    _, channels, height, width = shape
    return graph.document(module(graph.input([1, height, width, channels])), name)


class Module:
    def __call__(self, x):
        return self.forward(x)


class Sequential(Module):
    def __init__(self, *modules):
        self.modules = modules

    def forward(self, x):
        for module in self.modules:
            x = module(x)
        return x


class Conv2d(Module):
    def __init__(self, in_channels, out_channels, kernel_size, stride=1, padding=0, groups=1):
        if groups not in (1, in_channels) or (groups > 1 and out_channels != in_channels):
            raise ValueError("expected one group, or one for each channel")
        self.in_channels, self.out_channels, self.kernel = in_channels, out_channels, kernel_size
        self.stride, self.padding, self.groups = stride, padding, groups

    def forward(self, x):
        if x.shape[3] != self.in_channels:
            raise ValueError(f"expected {self.in_channels} channels, found {x.shape[3]}")
        sides = [(side + 2 * self.padding - self.kernel) // self.stride + 1 for side in x.shape[1:3]]
        mode = "VALID"
        if self.padding and all(self._is_same(side, out) for side, out in zip(x.shape[1:3], sides)):
            mode = "SAME"
        elif self.padding:
            around = [self.padding, self.padding]
            height, width = (side + 2 * self.padding for side in x.shape[1:3])
            padded = [1, height, width, x.shape[3]]
            x = x.graph.apply("PAD", [x], padded, paddings=[[0, 0], around, around, [0, 0]])
        is_depthwise = self.groups > 1
        kind = "DEPTHWISE_CONV_2D" if is_depthwise else "CONV_2D"
        weights = [1 if is_depthwise else self.out_channels, self.kernel, self.kernel, self.in_channels]
        shape = [1, *sides, self.out_channels]
        stride = [self.stride, self.stride]
        return x.graph.weighted(kind, x, weights, self.out_channels, shape, stride=stride, padding=mode)

    def _is_same(self, side, out):
        """Whether SAME pads as much before as after, and as much as is asked for."""
        missing = max((out - 1) * self.stride + self.kernel - side, 0)
        return out == -(-side // self.stride) and missing == 2 * self.padding


class BatchNorm2d(Module):
    """Is folded into the convolution before it."""

    def __init__(self, channels):
        self.channels = channels

    def forward(self, x):
        return x


class ReLU6(Module):
    def forward(self, x):
        return x.graph.activate(x, "RELU6")


class Residual(Module):
    """`x + body(x)`."""

    def __init__(self, body):
        self.body = body

    def forward(self, x):
        return x.graph.apply("ADD", [x, self.body(x)], x.shape)


class AdaptiveAvgPool2d(Module):
    def __init__(self, output_size):
        if output_size != 1:
            raise ValueError("expected an output of 1")

    def forward(self, x):
        _, height, width, channels = x.shape
        return x.graph.apply(
            "AVERAGE_POOL_2D", [x], [1, 1, 1, channels], filter=[height, width], stride=[1, 1], padding="VALID"
        )


class Flatten(Module):
    def forward(self, x):
        n = x.shape[1] * x.shape[2] * x.shape[3]
        return x.graph.apply("RESHAPE", [x], [1, n], shape=[1, n])


class Linear(Module):
    def __init__(self, in_features, out_features):
        self.in_features, self.out_features = in_features, out_features

    def forward(self, x):
        weights = [self.out_features, self.in_features]
        return x.graph.weighted("FULLY_CONNECTED", x, weights, self.out_features, [1, self.out_features])
