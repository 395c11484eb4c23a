"""Writes whole Keras networks as int8 TFLite files: `keras_networks.py FOLDER`.

The networks are small ones of the kinds that are published most: what no single layer shows is how Vela joins, places
and orders the operators of many. Files are named, converted and compared with Vela as those of `keras_layers.py`.
"""

import tensorflow as tf
from keras import layers, ops

from keras_layers import make, squeeze_and_excite


def convolution(x, channels, size=3, **options):
    return layers.Conv2D(channels, size, padding="same", **{"activation": "relu", **options})(x)


def classified(x, n_classes=10):
    return layers.Dense(n_classes, activation="softmax")(layers.GlobalAveragePooling2D()(x))


def u_net(x, upsample=None):
    """Transposed convolutions on the way up, or another layer and a convolution."""
    skipped = []
    for channels in (8, 16, 24):
        x = convolution(x, channels)
        skipped.append(x)
        x = layers.MaxPooling2D(2)(x)
    x = convolution(x, 40)
    for skip in reversed(skipped):
        channels = skip.shape[-1]
        x = upsample()(x) if upsample else layers.Conv2DTranspose(channels, 2, strides=2)(x)
        x = layers.Concatenate()([x, skip])
        x = layers.SeparableConv2D(channels, 3, padding="same", activation="relu")(x)
    return layers.Conv2D(2, 1, activation="sigmoid")(x)


def hourglass(x, depth=3):
    x = convolution(x, 16)
    inner = convolution(layers.MaxPooling2D(2)(x), 16)
    inner = hourglass(inner, depth - 1) if depth > 1 else inner
    return convolution(layers.Add()([x, layers.UpSampling2D(2)(inner)]), 16)


def branches_of_resolutions(x):
    fine = convolution(x, 16, strides=2)
    coarse = convolution(fine, 32, strides=2)
    for _ in range(2):
        raised = layers.UpSampling2D(2)(layers.Conv2D(16, 1)(coarse))
        lowered = layers.Conv2D(32, 3, strides=2, padding="same")(fine)
        fine = layers.ReLU()(layers.Add()([convolution(fine, 16), raised]))
        coarse = layers.ReLU()(layers.Add()([convolution(coarse, 32), lowered]))
    return layers.Conv2D(5, 1)(layers.Concatenate()([fine, layers.UpSampling2D(2)(coarse)]))


def backbone(x):
    levels = []
    for channels in (16, 24, 32, 48):
        x = convolution(x, channels, strides=2, activation="relu6")
        levels.append(x)
    return levels


def feature_pyramid(x):
    levels = backbone(x)
    top, found = layers.Conv2D(24, 1)(levels[-1]), []
    for level in levels[-2:0:-1]:
        top = layers.Add()([layers.UpSampling2D(2)(top), layers.Conv2D(24, 1)(level)])
        found.append(layers.Reshape((-1, 4))(layers.Conv2D(12, 1)(convolution(top, 24, activation="swish"))))
    return layers.Concatenate(axis=1)(found)


def shared_head(x):
    """One head for three maps, whose weights Vela keeps for all of them."""
    head = [layers.Conv2D(24, 3, padding="same", activation="relu6") for _ in range(2)]
    last, found = layers.Conv2D(9, 3, padding="same"), []
    for level in backbone(x)[1:]:
        level = layers.Conv2D(24, 1)(level)
        for layer in head:
            level = layer(level)
        found.append(layers.Reshape((-1, 3))(last(level)))
    return found


def two_heads(x):
    """Residual blocks whose shortcuts are padded with channels of zeros."""
    x = convolution(x, 24, 5, strides=2)
    for channels, strides in ((24, 1), (32, 2), (48, 2)):
        block = layers.Conv2D(channels, 1)(layers.DepthwiseConv2D(5, strides=strides, padding="same")(x))
        short = x if strides == 1 else layers.MaxPooling2D(2)(x)
        if missing := channels - short.shape[-1]:
            short = ops.pad(short, [[0, 0], [0, 0], [0, 0], [0, missing]])
        x = layers.ReLU()(layers.Add()([block, short]))
    return [layers.Reshape((-1, n // 2))(layers.Conv2D(n, 1)(x)) for n in (2, 32)]


def spatial_pyramid(x):
    """Every other row and column in channels of their own, then maxima of growing windows."""
    x = layers.Concatenate()([x[:, row::2, column::2] for column in range(2) for row in range(2)])
    x = convolution(convolution(x, 24, activation="swish"), 32, strides=2, activation="swish")
    x = convolution(x, 16, 1, activation="swish")
    x = layers.Concatenate()([x] + [layers.MaxPooling2D(size, 1, padding="same")(x) for size in (5, 9, 13)])
    return layers.Conv2D(18, 1)(convolution(x, 32, 1, activation="swish"))


def pooled_pyramid(x):
    x = convolution(convolution(x, 24, strides=2), 32, dilation_rate=2)
    sides = x.shape[1:3]
    pooled = [convolution(layers.AveragePooling2D(size)(x), 8, 1) for size in (2, 4, 8)]
    x = layers.Concatenate()([x] + [layers.Resizing(*sides)(one) for one in pooled])
    return layers.Softmax()(layers.Conv2D(5, 1)(x))


def causal_convolutions(x):
    for dilation in (1, 2, 4, 8):
        inner = layers.Conv1D(28, 3, padding="causal", dilation_rate=dilation, activation="relu")(x)
        x = layers.Add()([layers.Conv1D(28, 1)(x), inner])
    return layers.Dense(9, activation="softmax")(layers.GlobalAveragePooling1D()(x))


def gated_convolutions(x):
    x, skipped = layers.Conv1D(24, 1)(x), []
    for dilation in (1, 2, 4):
        options = {"padding": "causal", "dilation_rate": dilation}
        gate = [layers.Conv1D(24, 2, activation=name, **options)(x) for name in ("tanh", "sigmoid")]
        gated = layers.Multiply()(gate)
        skipped.append(layers.Conv1D(32, 1)(gated))
        x = layers.Add()([x, layers.Conv1D(24, 1)(gated)])
    return layers.Conv1D(16, 1)(layers.ReLU()(layers.Add()(skipped)))


def dense_sequence(x):
    for size in (9, 5, 3):
        x = layers.Concatenate()([x, layers.Conv1D(14, size, padding="same", activation="elu")(x)])
    return layers.Dense(6)(layers.Flatten()(layers.AveragePooling1D(3)(x)))


def normalized_dense(x, width, activation="gelu"):
    inner = layers.Dense(width, activation=activation)(layers.LayerNormalization()(x))
    return layers.Add()([x, layers.Dense(x.shape[-1])(inner)])


def patches(x, channels, size):
    return layers.Reshape((-1, channels))(layers.Conv2D(channels, size, size)(x))


def mixer(x):
    x = patches(x, 48, 8)
    for _ in range(2):
        turned = layers.Permute((2, 1))(layers.LayerNormalization()(x))
        turned = layers.Dense(x.shape[1])(layers.Dense(64, activation="gelu")(turned))
        x = normalized_dense(layers.Add()([x, layers.Permute((2, 1))(turned)]), 96)
    return layers.Dense(10)(layers.GlobalAveragePooling1D()(x))


def vision_transformer(x):
    x = patches(x, 40, 8)
    for _ in range(2):
        normalized = layers.LayerNormalization()(x)
        x = layers.Add()([x, layers.MultiHeadAttention(2, 20)(normalized, normalized)])
        x = normalized_dense(x, 80)
    return layers.Dense(10, activation="softmax")(layers.GlobalAveragePooling1D()(x))


def masked_decoder(x):
    x = layers.Dense(32)(x)
    for _ in range(2):
        normalized = layers.LayerNormalization()(x)
        attention = layers.MultiHeadAttention(4, 8)
        x = layers.Add()([x, attention(normalized, normalized, use_causal_mask=True)])
        x = normalized_dense(x, 64, "relu")
    return layers.Dense(50)(x)


def window_attention(x, side=4):
    x = layers.Conv2D(32, 4, 4)(x)
    n_windows = x.shape[1] // side
    stripes = (n_windows, side, n_windows, side * 32)
    windows = layers.Permute((1, 3, 2, 4))(layers.Reshape(stripes)(x))
    windows = layers.Reshape((n_windows**2, side**2, 32))(windows)
    normalized = layers.LayerNormalization()(windows)
    attention = layers.MultiHeadAttention(2, 16, attention_axes=(2,))
    windows = normalized_dense(layers.Add()([windows, attention(normalized, normalized)]), 64)
    rows = layers.Reshape((n_windows, n_windows, side, side * 32))(windows)
    x = layers.Reshape(x.shape[1:])(layers.Permute((1, 3, 2, 4))(rows))
    return classified(layers.Conv2D(48, 2, 2)(x), 5)


def reduced_attention(x):
    """Queries of all positions, keys and values of every fourth."""
    x = layers.Conv2D(32, 7, strides=4, padding="same")(x)
    side = x.shape[1]
    queries, keys = layers.Reshape((-1, 32))(x), patches(x, 32, 2)
    attention = layers.MultiHeadAttention(1, 32)
    x = layers.Add()([queries, attention(layers.LayerNormalization()(queries), layers.LayerNormalization()(keys))])
    inner = layers.Reshape((side, side, 64))(layers.Dense(64)(layers.LayerNormalization()(x)))
    inner = layers.Activation("gelu")(layers.DepthwiseConv2D(3, padding="same")(inner))
    x = layers.Add()([x, layers.Dense(32)(layers.Reshape((-1, 64))(inner))])
    x = layers.Conv2D(6, 1)(layers.Reshape((side, side, 32))(x))
    return layers.UpSampling2D(4, interpolation="bilinear")(x)


def wide_depthwise(x):
    """Depthwise convolutions of 7 × 7 before a dense layer of each position."""
    x = layers.LayerNormalization()(layers.Conv2D(24, 4, 4)(x))
    for channels in (24, 48):
        for _ in range(2):
            inner = layers.DepthwiseConv2D(7, padding="same")(x)
            inner = layers.Dense(4 * channels, activation="gelu")(layers.LayerNormalization()(inner))
            x = layers.Add()([x, layers.Dense(channels)(inner)])
        x = layers.Conv2D(48, 2, 2)(layers.LayerNormalization()(x))
    return classified(x)


def inverted_bottlenecks(x):
    x = convolution(x, 16, strides=2, activation="relu6")
    for channels, strides in ((16, 1), (24, 2), (24, 1), (40, 2), (40, 1)):
        inner = convolution(x, 4 * x.shape[-1], 1, activation="relu6")
        inner = layers.DepthwiseConv2D(3, strides=strides, padding="same", activation="relu6")(inner)
        inner = layers.Conv2D(channels, 1)(inner)
        x = layers.Add()([x, inner]) if inner.shape == x.shape else inner
    return classified(x)


def excited_bottlenecks(x):
    x = convolution(x, 16, strides=2, activation="hard_silu")
    for channels, strides in ((16, 2), (24, 1), (32, 2)):
        inner = convolution(x, 3 * x.shape[-1], 1, activation="hard_silu")
        inner = layers.DepthwiseConv2D(5, strides=strides, padding="same", activation="hard_silu")(inner)
        x = layers.Conv2D(channels, 1)(squeeze_and_excite(inner))
    return classified(x)


def ghost(x):
    for channels, strides in ((12, 2), (20, 2), (36, 1)):
        first = convolution(x, channels, 1, strides=strides)
        second = layers.DepthwiseConv2D(5, padding="same", activation="relu")(first)
        x = squeeze_and_excite(layers.Concatenate()([first, second]))
    return layers.Dense(7)(layers.Flatten()(layers.AveragePooling2D(4)(x)))


def shuffled_channels(x):
    x = convolution(x, 24, strides=2)
    for _ in range(3):
        kept, inner = x[..., :12], convolution(x[..., 12:], 12, 1)
        inner = convolution(layers.DepthwiseConv2D(3, padding="same")(inner), 12, 1)
        shape = x.shape[1:]
        x = layers.Reshape((*shape[:2], 2, 12))(layers.Concatenate()([kept, inner]))
        x = layers.Reshape(shape)(layers.Permute((1, 2, 4, 3))(x))
    return layers.Dense(5)(layers.GlobalMaxPooling2D()(x))


def grouped_bottlenecks(x):
    x = convolution(x, 32, strides=2)
    for _ in range(2):
        inner = convolution(convolution(x, 32, 1), 32, groups=8)
        x = layers.ReLU()(layers.Add()([x, layers.Conv2D(32, 1)(inner)]))
    return classified(x, 9)


def two_convolutions_added(x):
    for channels, strides in ((16, 2), (32, 2), (48, 1)):
        both = [layers.Conv2D(channels, size, strides=strides, padding="same")(x) for size in (3, 1)]
        x = layers.ReLU()(layers.Add()(both))
    return layers.Dense(11, activation="softmax")(layers.Flatten()(x))


def squeezed_and_expanded(x):
    x = layers.MaxPooling2D(3, 2)(layers.Conv2D(32, 3, strides=2, activation="relu")(x))
    for squeezed, expanded in ((8, 32), (12, 40)):
        x = convolution(x, squeezed, 1)
        x = layers.Concatenate()([convolution(x, expanded, size) for size in (1, 3)])
    return layers.Softmax()(layers.GlobalAveragePooling2D()(convolution(x, 10, 1)))


def attention_of_channels_and_places(x):
    x = convolution(x, 32, strides=2)
    inner, outer = layers.Dense(8, activation="relu"), layers.Dense(32)
    pooled = (layers.GlobalAveragePooling2D()(x), layers.GlobalMaxPooling2D()(x))
    scale = layers.Activation("sigmoid")(layers.Add()([outer(inner(one)) for one in pooled]))
    x = layers.Multiply()([x, layers.Reshape((1, 1, 32))(scale)])
    places = layers.Concatenate()([ops.mean(x, -1, keepdims=True), ops.max(x, -1, keepdims=True)])
    return classified(layers.Multiply()([x, convolution(places, 1, 7, activation="sigmoid")]), 6)


def attention_of_rows_and_columns(x):
    x = convolution(x, 24, strides=2, activation="hard_silu")
    n_rows, turned = x.shape[1], layers.Permute((2, 1, 3))
    both = [ops.mean(x, 2, keepdims=True), turned(ops.mean(x, 1, keepdims=True))]
    both = convolution(layers.Concatenate(axis=1)(both), 8, 1, activation="hard_silu")
    rows = layers.Conv2D(24, 1, activation="sigmoid")(both[:, :n_rows])
    columns = layers.Conv2D(24, 1, activation="sigmoid")(turned(both[:, n_rows:]))
    return classified(layers.Multiply()([x, rows, columns]), 4)


def super_resolution(x):
    x = convolution(convolution(x, 32, 5, activation="tanh"), 16, activation="tanh")
    x = layers.Conv2D(12, 3, padding="same")(x)
    return layers.Lambda(lambda one: tf.nn.depth_to_space(one, 2))(x)


def dense_residuals(x):
    first = x = layers.Conv2D(16, 3, padding="same")(x)
    for _ in range(2):
        parts = [x]
        for _ in range(3):
            joined = layers.Concatenate()(parts) if len(parts) > 1 else x
            parts.append(layers.LeakyReLU(0.2)(layers.Conv2D(8, 3, padding="same")(joined)))
        x = layers.Add()([x, layers.Conv2D(16, 3, padding="same")(layers.Concatenate()(parts))])
    x = layers.UpSampling2D(2)(layers.Add()([first, x]))
    return layers.Conv2D(3, 3, padding="same")(x)


def generator(x):
    x = layers.Reshape((4, 4, 32))(layers.Dense(4 * 4 * 32, activation="relu")(x))
    for channels in (24, 16, 8):
        x = layers.Conv2DTranspose(channels, 4, strides=2, padding="same", activation="relu")(x)
    return layers.Conv2D(3, 3, padding="same", activation="tanh")(x)


def keywords(x):
    x = convolution(x, 64, (10, 4), strides=2)
    for _ in range(3):
        x = convolution(layers.DepthwiseConv2D(3, padding="same", activation="relu")(x), 64, 1)
    return layers.Dense(12, activation="softmax")(layers.Flatten()(layers.AveragePooling2D(x.shape[1:3])(x)))


def autoencoder(x):
    n_values = x.shape[-1]
    for width in (96, 48, 8, 48, 96):
        x = layers.Dense(width, activation="relu")(x)
    return layers.Dense(n_values)(x)


def text_recognition(x):
    x = layers.MaxPooling2D((2, 4))(convolution(x, 16))
    x = layers.Reshape((x.shape[1], -1))(x)
    return layers.Dense(12, activation="softmax")(layers.GRU(24, unroll=True)(x))


def both_directions(x):
    x = layers.MaxPooling1D(2)(layers.Conv1D(16, 5, padding="same", activation="relu")(x))
    x = layers.Bidirectional(layers.LSTM(12, unroll=True, return_sequences=True))(x)
    return layers.Dense(5, activation="softmax")(x)


def cases():
    """Names of networks, shapes without the batch, and the networks."""
    small, middle, large = [(32, 32, 3)], [(48, 48, 3)], [(96, 96, 3)]
    bilinear = lambda: layers.UpSampling2D(2, interpolation="bilinear")
    yield "u_net", middle, u_net
    yield "u_net_of_bilinear_resizes", middle, lambda x: u_net(x, bilinear)
    yield "u_net_of_nearest_resizes", middle, lambda x: u_net(x, lambda: layers.UpSampling2D(2))
    for network in (hourglass, super_resolution, dense_residuals, two_convolutions_added):
        yield network.__name__, small, network
    for network in (feature_pyramid, shared_head, two_heads, spatial_pyramid, pooled_pyramid, reduced_attention):
        yield network.__name__, large, network
    networks = (
        branches_of_resolutions,
        mixer,
        vision_transformer,
        window_attention,
        wide_depthwise,
        inverted_bottlenecks,
        excited_bottlenecks,
        ghost,
        shuffled_channels,
        grouped_bottlenecks,
        squeezed_and_expanded,
        attention_of_channels_and_places,
        attention_of_rows_and_columns,
    )
    for network in networks:
        yield network.__name__, [(64, 64, 3)], network
    for network in (causal_convolutions, gated_convolutions, dense_sequence):
        yield network.__name__, [(60, 8)], network
    yield "masked_decoder", [(20, 16)], masked_decoder
    yield "generator", [(16,)], generator
    yield "keywords", [(49, 10, 1)], keywords
    yield "autoencoder", [(160,)], autoencoder
    yield "text_recognition", [(12, 32, 1)], text_recognition
    yield "both_directions", [(24, 9)], both_directions


if __name__ == "__main__":
    make(cases, __file__)
