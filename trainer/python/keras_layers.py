"""Writes Keras layers as int8 TFLite files, each in three sizes: `keras_layers.py FOLDER`.

Needs tensorflow-cpu, in an environment of its own: nothing else of the project does. A file is `LAYER-INDEX.tflite`; one
that exists is not made again. `layer_table.py` compares such files with Vela. Layers that the converter cannot write
with integer operators alone are printed, and so are the layers of Keras that no case contains. Weights and calibration
values are drawn from one seed.

Recurrent layers keep their state in a loop, and calibrating a loop ends the process. They are therefore unrolled, as
their option `unroll` does. Every file is converted in a child process, which is started again after the file that
ended it.
"""

import inspect
import json
import os
import subprocess
import sys
from pathlib import Path

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import keras
import numpy
import tensorflow as tf
from keras import layers

SEED = 1
IMAGES = [(8, 8, 4), (16, 16, 16), (24, 20, 40)]
SEQUENCES = [(16, 4), (48, 16), (100, 32)]
VECTORS = [(16,), (100,), (512,)]
VOLUMES = [(4, 6, 6, 2), (6, 8, 8, 4), (8, 12, 12, 8)]
SHORT_SEQUENCES = [(4, 8), (8, 16), (12, 40)]
VIDEOS = [(3, 8, 8, 2), (4, 10, 10, 4), (4, 16, 16, 8)]
MAX_SHAPES = 3
ACTIVATIONS = (
    "relu relu6 sigmoid tanh softmax elu selu gelu silu softplus softsign hard_sigmoid hard_silu exponential leaky_relu "
    "mish log_softmax celu glu squareplus hard_tanh tanh_shrink soft_shrink sparse_plus"
)


def beside(layer):
    """A layer of two inputs: the network's, and what a convolution of single positions makes of it."""
    return lambda x: layer([x, layers.Conv2D(x.shape[-1], 1)(x)])


def projected(layer):
    return lambda x: layer([x, layers.Dense(x.shape[-1])(x)])


def pyramid(x):
    """Maps of three convolutions, side by side in channels that fill no brick."""
    return layers.Concatenate()([x, layers.Conv2D(8, 1)(x), layers.Conv2D(5, 1)(x)])


def normalized_convolution(x):
    return layers.ReLU()(layers.BatchNormalization()(layers.Conv2D(16, 3, padding="same")(x)))


def squeeze_and_excite(x):
    scale = layers.Dense(4, activation="relu")(layers.GlobalAveragePooling2D()(x))
    scale = layers.Dense(x.shape[-1], activation="sigmoid")(scale)
    return layers.Multiply()([x, layers.Reshape((1, 1, x.shape[-1]))(scale)])


def windows():
    """Convolutions and pooling, by padding and stride."""
    for padding in ("same", "valid"):
        for strides in (1, 2, 4):
            options = {"strides": strides, "padding": padding}
            name = f"{padding}-s{strides}"
            yield f"Conv2D-{name}", IMAGES, layers.Conv2D(16, 3, **options)
            yield f"DepthwiseConv2D-{name}", IMAGES, layers.DepthwiseConv2D(3, **options)
            yield f"MaxPooling2D-{name}", IMAGES, layers.MaxPooling2D(3, **options)
            yield f"AveragePooling2D-{name}", IMAGES, layers.AveragePooling2D(3, **options)
            yield f"Conv1D-{name}", SEQUENCES, layers.Conv1D(16, 3, **options)
        for strides in (1, 2, 3):
            name = f"Conv2DTranspose-{padding}-s{strides}"
            yield name, IMAGES, layers.Conv2DTranspose(8, 3, strides=strides, padding=padding)
        yield f"Conv2D-{padding}-d2", IMAGES, layers.Conv2D(16, 3, dilation_rate=2, padding=padding)
        yield f"SeparableConv2D-{padding}", IMAGES, layers.SeparableConv2D(16, 3, padding=padding)
        yield f"MaxPooling1D-{padding}", SEQUENCES, layers.MaxPooling1D(2, padding=padding)
        yield f"AveragePooling1D-{padding}", SEQUENCES, layers.AveragePooling1D(2, padding=padding)
        yield f"Conv1DTranspose-{padding}", SEQUENCES, layers.Conv1DTranspose(8, 3, strides=2, padding=padding)
        yield f"DepthwiseConv1D-{padding}", SEQUENCES, layers.DepthwiseConv1D(3, padding=padding)
        yield f"SeparableConv1D-{padding}", SEQUENCES, layers.SeparableConv1D(8, 3, padding=padding)
    yield "Conv2D-groups", IMAGES, layers.Conv2D(16, 3, groups=4, padding="same")
    yield "Conv2D-relu", IMAGES, layers.Conv2D(16, 3, activation="relu", padding="same")
    yield "Conv2D-d3", IMAGES, layers.Conv2D(8, 3, dilation_rate=3, padding="same")
    yield "DepthwiseConv2D-mult2", IMAGES, layers.DepthwiseConv2D(3, depth_multiplier=2, padding="same")
    yield "Conv1D-causal", SEQUENCES, layers.Conv1D(16, 3, padding="causal")
    yield "Conv1D-causal-d2", SEQUENCES, layers.Conv1D(16, 3, padding="causal", dilation_rate=2)
    yield "Conv1D-relu", SEQUENCES, layers.Conv1D(16, 3, activation="relu", padding="same")


def cases():
    """Names of layers, shapes without the batch, and the layers."""
    for name in ACTIVATIONS.split():
        yield f"Activation-{name}", IMAGES, layers.Activation(name)
    for name in ("ReLU", "LeakyReLU", "ELU", "Softmax"):
        yield name, IMAGES, getattr(layers, name)()
    yield "PReLU", IMAGES, lambda x: layers.PReLU()(x)
    yield "PReLU-shared", IMAGES, lambda x: layers.PReLU(shared_axes=[1, 2])(x)
    yield "ReLU-max", IMAGES, layers.ReLU(max_value=4.0)
    yield "ReLU-threshold", IMAGES, layers.ReLU(threshold=0.5)
    yield from windows()
    yield "Dense", VECTORS, lambda x: layers.Dense(32)(x)
    yield "Dense-no-bias", VECTORS, lambda x: layers.Dense(32, use_bias=False)(x)
    yield "Dense-relu", VECTORS, lambda x: layers.Dense(32, activation="relu")(x)
    yield "Dense-softmax", VECTORS, lambda x: layers.Dense(10, activation="softmax")(x)
    yield "Dense-sequence", SEQUENCES, lambda x: layers.Dense(32)(x)
    yield "Dense-image", IMAGES, lambda x: layers.Dense(32, activation="relu")(x)
    yield "EinsumDense", SEQUENCES, lambda x: layers.EinsumDense("abc,cd->abd", output_shape=(None, 32))(x)
    for name, shapes in (("2D", IMAGES), ("1D", SEQUENCES)):
        yield f"GlobalAveragePooling{name}", shapes, getattr(layers, f"GlobalAveragePooling{name}")()
        yield f"GlobalMaxPooling{name}", shapes, getattr(layers, f"GlobalMaxPooling{name}")()
        for kind in ("Average", "Max"):
            layer = getattr(layers, f"Global{kind}Pooling{name}")(keepdims=True)
            yield f"Global{kind}Pooling{name}-keepdims", shapes, layer
        yield f"ZeroPadding{name}", shapes, getattr(layers, f"ZeroPadding{name}")(2)
        yield f"Cropping{name}", shapes, getattr(layers, f"Cropping{name}")(2)
        yield f"UpSampling{name}", shapes, getattr(layers, f"UpSampling{name}")(2)
    yield "UpSampling2D-bilinear", IMAGES, layers.UpSampling2D(2, interpolation="bilinear")
    yield "UpSampling2D-bilinear-4", IMAGES, layers.UpSampling2D(4, interpolation="bilinear")
    yield "UpSampling2D-3", IMAGES, layers.UpSampling2D(3)
    yield "Resizing", IMAGES, layers.Resizing(32, 32)
    yield "Resizing-nearest", IMAGES, layers.Resizing(32, 32, interpolation="nearest")
    yield "CenterCrop", IMAGES, layers.CenterCrop(6, 6)
    yield "Rescaling", IMAGES, layers.Rescaling(1 / 255.0)
    yield "Normalization", IMAGES, layers.Normalization(mean=0.5, variance=2.0)
    yield "Flatten", IMAGES, layers.Flatten()
    yield "Reshape", IMAGES, lambda x: layers.Reshape((-1, x.shape[-1]))(x)
    yield "Permute", IMAGES, layers.Permute((3, 1, 2))
    yield "Permute-columns", IMAGES, layers.Permute((2, 1, 3))
    yield "Permute-sequence", SEQUENCES, layers.Permute((2, 1))
    yield "RepeatVector", VECTORS, layers.RepeatVector(8)
    for name in ("BatchNormalization", "LayerNormalization"):
        yield name, IMAGES, lambda x, name=name: getattr(layers, name)()(x)
    yield "LayerNormalization-sequence", SEQUENCES, lambda x: layers.LayerNormalization()(x)
    yield "RMSNormalization", SEQUENCES, lambda x: layers.RMSNormalization()(x)
    yield "GroupNormalization", IMAGES, lambda x: layers.GroupNormalization(2)(x)
    yield "UnitNormalization", SEQUENCES, layers.UnitNormalization()
    yield "SpectralNormalization", IMAGES, lambda x: layers.SpectralNormalization(layers.Conv2D(8, 3))(x)
    yield "Conv2D-BatchNormalization-ReLU", IMAGES, normalized_convolution
    for name in ("Add", "Subtract", "Multiply", "Average", "Maximum", "Minimum", "Concatenate"):
        yield name, IMAGES, beside(getattr(layers, name)())
    yield "Concatenate-height", IMAGES, beside(layers.Concatenate(axis=1))
    yield "Concatenate-pyramid", IMAGES, pyramid
    yield "Dot", SEQUENCES, projected(layers.Dot(axes=2))
    yield "Dot-rows", SEQUENCES, projected(layers.Dot(axes=(1, 1)))
    yield "TimeDistributed", SEQUENCES, lambda x: layers.TimeDistributed(layers.Dense(8))(x)
    yield "TimeDistributed-Conv2D", VIDEOS, lambda x: layers.TimeDistributed(layers.Conv2D(8, 3))(x)
    yield "MultiHeadAttention", SEQUENCES, lambda x: layers.MultiHeadAttention(2, 8)(x, x)
    yield "GroupQueryAttention", SEQUENCES, lambda x: layers.GroupQueryAttention(8, 4, 2)(x, x)
    yield "Attention", SEQUENCES, projected(layers.Attention())
    yield "AdditiveAttention", SEQUENCES, projected(layers.AdditiveAttention())
    yield "SqueezeExcite", IMAGES, squeeze_and_excite
    yield from volumes()
    yield from recurrent()
    for name in ("Identity", "Dropout", "SpatialDropout2D", "GaussianNoise", "ActivityRegularization"):
        arguments = () if name in ("Identity", "ActivityRegularization") else (0.5,)
        layer = getattr(layers, name)(*arguments)
        yield name, IMAGES, lambda x, layer=layer: layer(layers.Conv2D(8, 3)(x))


def volumes():
    """Layers of three dimensions."""
    yield "Conv3D", VOLUMES, layers.Conv3D(4, 3, padding="same")
    yield "Conv3DTranspose", VOLUMES, layers.Conv3DTranspose(4, 3, strides=2, padding="same")
    yield "MaxPooling3D", VOLUMES, layers.MaxPooling3D(2)
    yield "AveragePooling3D", VOLUMES, layers.AveragePooling3D(2)
    yield "ZeroPadding3D", VOLUMES, layers.ZeroPadding3D(1)
    yield "Cropping3D", VOLUMES, layers.Cropping3D(1)
    yield "UpSampling3D", VOLUMES, layers.UpSampling3D(2)
    yield "GlobalAveragePooling3D", VOLUMES, layers.GlobalAveragePooling3D()
    yield "GlobalMaxPooling3D", VOLUMES, layers.GlobalMaxPooling3D()
    for name, shapes, sizes in (("1D", SEQUENCES, 4), ("2D", IMAGES, (4, 4)), ("3D", VOLUMES, (2, 3, 3))):
        for kind in ("Average", "Max"):
            yield f"Adaptive{kind}Pooling{name}", shapes, getattr(layers, f"Adaptive{kind}Pooling{name}")(sizes)


def recurrent():
    """Recurrent layers, one operator for each step of time."""
    for name in ("LSTM", "GRU", "SimpleRNN"):
        layer = getattr(layers, name)
        yield name, SHORT_SEQUENCES, lambda x, layer=layer: layer(16, unroll=True)(x)
        yield (
            f"{name}-sequence",
            SHORT_SEQUENCES,
            lambda x, layer=layer: layer(16, unroll=True, return_sequences=True)(x),
        )
        yield (
            f"Bidirectional-{name}",
            SHORT_SEQUENCES,
            lambda x, layer=layer: layers.Bidirectional(layer(8, unroll=True))(x),
        )
    cells = lambda: layers.StackedRNNCells([layers.LSTMCell(8), layers.GRUCell(8)])
    yield "RNN-stacked", SHORT_SEQUENCES, lambda x: layers.RNN(cells(), unroll=True)(x)


def converted(shape, layer, random):
    """The bytes of a network of one layer with integer operators alone."""
    x = keras.Input(shape, batch_size=1)
    converter = tf.lite.TFLiteConverter.from_keras_model(keras.Model(x, layer(x)))
    converter.optimizations = [tf.lite.Optimize.DEFAULT]
    converter.representative_dataset = lambda: (
        [random.normal(0, 1, (1, *shape)).astype(numpy.float32)] for _ in range(3)
    )
    converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS_INT8]
    converter.inference_input_type = converter.inference_output_type = tf.int8
    return converter.convert()


def write(folder, cases):
    """Converts what FOLDER lacks. `failures.json` has the files that no converter wrote, with its reason; a file stands
    there while it is converted, for the converter may end the process."""
    record = folder / "failures.json"
    failures = json.loads(record.read_text()) if record.exists() else {}
    # A layer is built for one number of channels.
    for index in range(MAX_SHAPES):
        for name, shapes, layer in cases():
            path = folder / f"{name}-{index}.tflite"
            if index >= len(shapes) or path.exists() or path.name in failures:
                continue
            failures[path.name] = "the converter ended the process"
            record.write_text(json.dumps(failures))
            keras.utils.set_random_seed(SEED)
            try:
                path.write_bytes(converted(shapes[index], layer, numpy.random.default_rng(SEED)))
                del failures[path.name]
            except Exception as error:  # The converter raises its own errors and TensorFlow's.
                failures[path.name] = str(error).splitlines()[0][:100]
            record.write_text(json.dumps(failures))


def names_without_case():
    """Layers of Keras that no case names."""
    names = {part for name, _, _ in cases() for part in name.split("-")}
    classes = inspect.getmembers(layers, inspect.isclass)
    return sorted({name for name, one in classes if issubclass(one, layers.Layer) and name == one.__name__} - names)


def make(cases, script):
    """The command of a script with these cases: fills the folder of its argument. Returns whether it is complete; with
    `--write` behind the folder it is the child process, which converts until a file ends it."""
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    if sys.argv[2:] == ["--write"]:
        write(folder, cases)
        return False
    for _ in cases():
        # Every further child has at least one file less to convert.
        if not subprocess.run([sys.executable, script, str(folder), "--write"], check=False).returncode:
            break
    failures = json.loads((folder / "failures.json").read_text())
    for name, reason in failures.items():
        print(f"{name}: {reason}")
    print(f"{len(list(folder.glob('*.tflite')))} files in {folder}")
    return True


if __name__ == "__main__":
    if make(cases, __file__):
        print("no case:", " ".join(names_without_case()))
