"""Layers that are called as those of Keras, and give graphs without weights.

    x = inputs = Input((96, 96, 3))
    x = Conv2D(16, 3, strides=2, padding="same", activation="relu6")(x)
    x = GlobalAveragePooling2D()(x)
    graph = Model(inputs, Dense(10)(x)).graph()
"""

from graphs import Graph

ACTIVATIONS = {"relu": "RELU", "relu6": "RELU6"}


def Input(shape):
    return Graph().input([1, *shape])


class _Window:
    def __init__(self, kernel_size, strides=1, padding="valid", activation=None):
        self.kernel, self.strides, self.padding, self.activation = kernel_size, strides, padding, activation

    def _convolved(self, kind, x, weights, channels):
        attributes = {"stride": [self.strides, self.strides], "padding": self.padding.upper()}
        if self.activation:
            attributes["activation"] = ACTIVATIONS[self.activation]
        sides = [self._side(side) for side in x.shape[1:3]]
        return x.graph.weighted(kind, x, weights, channels, [1, *sides, channels], **attributes)

    def _side(self, side):
        reach = side if self.padding == "same" else side - self.kernel + 1
        return -(-reach // self.strides)


class Conv2D(_Window):
    def __init__(self, filters, kernel_size, **options):
        super().__init__(kernel_size, **options)
        self.filters = filters

    def __call__(self, x):
        weights = [self.filters, self.kernel, self.kernel, x.shape[3]]
        return self._convolved("CONV_2D", x, weights, self.filters)


class DepthwiseConv2D(_Window):
    def __call__(self, x):
        channels = x.shape[3]
        return self._convolved("DEPTHWISE_CONV_2D", x, [1, self.kernel, self.kernel, channels], channels)


class Add:
    def __call__(self, inputs):
        return inputs[0].graph.apply("ADD", inputs, inputs[0].shape)


class GlobalAveragePooling2D:
    def __call__(self, x):
        _, height, width, channels = x.shape
        pooled = x.graph.apply(
            "AVERAGE_POOL_2D", [x], [1, 1, 1, channels], filter=[height, width], stride=[1, 1], padding="VALID"
        )
        return x.graph.apply("RESHAPE", [pooled], [1, channels], shape=[1, channels])


class Dense:
    def __init__(self, units):
        self.units = units

    def __call__(self, x):
        return x.graph.weighted("FULLY_CONNECTED", x, [self.units, x.shape[1]], self.units, [1, self.units])


class Model:
    def __init__(self, inputs, outputs):
        self.inputs, self.outputs = inputs, outputs

    def graph(self, name=""):
        return self.outputs.graph.document(self.outputs, name)
