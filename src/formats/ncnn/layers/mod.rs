//! Layers → nodes of ONNX. Numbers of parameters and their defaults are those of ncnn's table of operators
//! (`docs/developer-guide/operators.md` of ncnn).

mod elementwise;
mod layouts;
mod products;
mod ranges;
mod sides;
mod windows;

use std::collections::{HashMap, HashSet};

use self::sides::{hints, sides_by_readers, stated_sides};
use super::error::ParseError;
use super::limits::MAX_SEARCHED;
use super::message::Attribute::{self, Float, Integer};
use super::network::{Blob, FLOAT, INT8, INT64, NcnnNetwork, Sides, with_batch};
use super::text::Layer;
use crate::formats::onnx::Dimensions;

/// What a parameter says where a side is left out, and where something else decides.
const ABSENT: i64 = -233;
const SAME_UPPER: i64 = -233;
const SAME_LOWER: i64 = -234;

/// Layers that leave values as they are, in what TFLite has.
const UNCHANGED: &[&str] = &[
    "Split",
    "Noop",
    "Dropout",
    "Cast",
    "Packing",
    "Quantize",
    "Dequantize",
    "Requantize",
];

/// Layers that compute each value from one other, and their counterparts.
const ELEMENTWISE: &[(&str, &str)] = &[
    ("AbsVal", "Abs"),
    ("BNLL", "Softplus"),
    ("ELU", "Elu"),
    ("Erf", "Erf"),
    ("Exp", "Exp"),
    ("GELU", "Gelu"),
    ("HardSigmoid", "HardSigmoid"),
    ("HardSwish", "HardSwish"),
    ("Log", "Log"),
    ("Mish", "Mish"),
    ("SELU", "Selu"),
    ("Sigmoid", "Sigmoid"),
    ("Softplus", "Softplus"),
    ("TanH", "Tanh"),
];

/// The `ModelProto` of the layers, of at most `max_parts` nodes, weights and results. Linear in their text.
pub(super) fn convert(
    layers: &[Layer],
    dimensions: &Dimensions,
    max_parts: usize,
) -> Result<Vec<u8>, ParseError> {
    let mut network = NcnnNetwork::default();
    let readers = readers(layers);
    let mut searched_left = MAX_SEARCHED;
    for layer in layers {
        ranges::check(layer)?;
        let blobs = layer.inputs().map(|name| network.blob(layer, name));
        let inputs: Vec<Blob> = blobs.collect::<Result<_, _>>()?;
        let outputs: Vec<&str> = layer.outputs().collect();
        let mut names = HashSet::new();
        for &output in &outputs {
            network.check_new(layer, output)?;
            if !names.insert(output) {
                return Err(ParseError::DuplicateBlob {
                    place: layer.place(),
                    name: crate::formats::shown(output),
                });
            }
        }
        if layer.kind == "Input" {
            inputs_of_network(
                &mut network,
                layer,
                layers,
                &readers,
                dimensions,
                &mut searched_left,
            );
            network.check_size(layer, max_parts)?;
            continue;
        }
        let mut converter = Converter {
            network: &mut network,
            layer,
        };
        let known = converter.layer(&inputs);
        let hinted = hints(layer).chain(std::iter::repeat(None));
        match known.filter(|known| known.len() >= outputs.len()) {
            Some(known) => {
                for ((&output, mut blob), hinted) in outputs.iter().zip(known).zip(hinted) {
                    blob.sides = blob.sides.or(hinted);
                    network.define(output, blob);
                }
            }
            None => network.unknown(layer, &inputs, outputs.into_iter().zip(hinted)),
        }
        network.check_size(layer, max_parts)?;
    }
    let outputs = layers.iter().filter(|layer| !gathers(layer));
    let outputs = outputs.flat_map(|layer| layer.outputs().map(move |name| (layer, name)));
    let outputs = outputs.filter(|(_, name)| !readers.contains_key(name));
    network.finish(outputs, max_parts)
}

/// Layers that read each blob. One that gathers the results computes nothing, and these stay results.
fn readers<'f>(layers: &[Layer<'f>]) -> HashMap<&'f str, Vec<usize>> {
    let mut readers: HashMap<&str, Vec<usize>> = HashMap::new();
    for (layer_idx, layer) in layers.iter().enumerate() {
        let n_read = if gathers(layer) { 0 } else { usize::MAX };
        for name in layer.inputs().take(n_read) {
            readers.entry(name).or_default().push(layer_idx);
        }
    }
    readers
}

/// Defines what the network reads.
fn inputs_of_network<'f>(
    network: &mut NcnnNetwork<'f>,
    layer: &Layer<'f>,
    layers: &[Layer<'f>],
    readers: &HashMap<&'f str, Vec<usize>>,
    dimensions: &Dimensions,
    searched_left: &mut usize,
) {
    let mut hints = hints(layer);
    for output in layer.outputs() {
        let stated = hints.next().flatten().or_else(|| stated_sides(layer));
        let needed = || sides_by_readers(output, layers, readers, searched_left);
        let known = stated.or_else(needed);
        let reading = readers.get(output).into_iter().flatten();
        let reading = reading.filter_map(|&reader| layers.get(reader));
        // Caches of keys and values, which are empty at first: attention takes what it computes alone.
        let is_cache = |layer: &Layer| layer.kind == "SDPA" && reads_after(layer, 2, output);
        if known.is_none() && reading.clone().all(is_cache) {
            network.define_absent(output);
            continue;
        }
        // The batch is the first dimension of the input. Where no layer tells, it has as many sides as are given, or
        // those of an image.
        let given = |axis: usize| {
            let name = format!("{output}.{axis}");
            let mut named = dimensions.named.iter();
            named
                .find(|(given, _)| *given == name)
                .map(|(_, size)| i64::from(*size))
        };
        let n_given = || (1..=4).rev().find(|&axis| given(axis).is_some());
        let open = known.unwrap_or_else(|| vec![0; n_given().unwrap_or(3)]);
        let sides = open.iter().zip(1..).map(|(&side, axis)| match side {
            1.. => side,
            _ => given(axis).unwrap_or(0),
        });
        let sides = sides.collect();
        let is_index = reading.clone().any(|reader| reader.kind == "Embed");
        network.input(output, if is_index { INT64 } else { FLOAT }, &open, sides);
    }
}

/// Whether a layer reads a blob behind its first operands alone.
fn reads_after(layer: &Layer, n_first: usize, name: &str) -> bool {
    layer
        .inputs()
        .take(n_first.saturating_add(1))
        .all(|input| input != name)
}

/// Whether a layer names several results of the network as one.
fn gathers(layer: &Layer) -> bool {
    layer.kind == "Noop" && layer.n_inputs > 1
}

/// Converts one layer. Handlers return `None` where it has no counterpart, or where sides are needed that are not known.
struct Converter<'n, 'f> {
    network: &'n mut NcnnNetwork<'f>,
    layer: &'n Layer<'f>,
}

impl Converter<'_, '_> {
    fn node(&mut self, op_type: &str, inputs: &[&str], attributes: &[(&str, Attribute)]) -> String {
        self.network.node(self.layer, op_type, inputs, attributes)
    }

    fn integers(&mut self, values: &[i64]) -> String {
        self.network.integers(self.layer, values)
    }

    fn weights(&mut self, dims: &[i64]) -> String {
        self.network.weights(self.layer, FLOAT, dims)
    }

    /// An axis in ONNX, where the batch comes first.
    fn axis(&self, id: i64) -> i64 {
        with_batch_axis(self.layer.whole(id, 0))
    }

    /// The results of the layer.
    fn layer(&mut self, inputs: &[Blob]) -> Option<Vec<Blob>> {
        let layer = self.layer;
        let one = |blob: Option<Blob>| blob.map(|blob| vec![blob]);
        if layer.kind == "MemoryData" {
            let sides = stated_sides(layer)?;
            let value = self.weights(&with_batch(&sides));
            return Some(vec![Blob::new(value, Some(sides))]);
        }
        let x = inputs.first()?;
        if UNCHANGED.contains(&layer.kind) {
            return Some(vec![x.clone(); layer.n_outputs]);
        }
        let same = ELEMENTWISE.iter().find(|(kind, _)| *kind == layer.kind);
        if let Some((_, op_type)) = same {
            let value = self.node(op_type, &[&x.value], &[]);
            return Some(vec![Blob::new(value, x.sides.clone())]);
        }
        let with_other = || Some((x, inputs.get(1)?));
        match layer.kind {
            "Slice" => self.slice(x),
            "SDPA" => self.attention(inputs),
            "LSTM" | "GRU" | "RNN" => one(self.recurrent(x)),
            "Convolution" | "ConvolutionDepthWise" => one(self.convolution(x, 2)),
            "Convolution1D" | "ConvolutionDepthWise1D" => one(self.convolution(x, 1)),
            "Convolution3D" | "ConvolutionDepthWise3D" => one(self.convolution(x, 3)),
            "Deconvolution" | "DeconvolutionDepthWise" => one(self.deconvolution(x, 2)),
            "Deconvolution1D" | "DeconvolutionDepthWise1D" => one(self.deconvolution(x, 1)),
            "Pooling" => one(self.pooling(x, 2)),
            "Pooling1D" => one(self.pooling(x, 1)),
            "Pooling3D" => one(self.pooling(x, 3)),
            "InnerProduct" => {
                let blob = self.inner_product(x, layer.whole(0, 0), layer.whole(2, 0), 1)?;
                one(self.activated(blob))
            }
            "Gemm" => one(self.gemm(inputs)),
            "MatMul" => {
                let (x, y) = with_other()?;
                let sides = [x, y];
                one(self.product(sides, layer.whole(0, 0) != 0))
            }
            "Eltwise" => one(self.eltwise(inputs)),
            "BinaryOp" if layer.whole(1, 0) != 0 => {
                let scalar = self.network.floats(layer, &[layer.float(2, 0.0)]);
                one(self.binary(x, &Blob::new(scalar, Some(vec![1]))))
            }
            "BinaryOp" => {
                let (x, y) = with_other()?;
                one(self.binary(x, y))
            }
            "Scale" if layer.whole(0, 0) == ABSENT => {
                let (x, y) = with_other()?;
                one(self.combined("Mul", x, y))
            }
            "Scale" => {
                let scaled = self.by_channel("Mul", x, layer.whole(0, 0))?;
                match layer.whole(1, 0) {
                    0 => Some(vec![scaled]),
                    _ => one(self.by_channel("Add", &scaled, layer.whole(0, 0))),
                }
            }
            "Bias" => one(self.by_channel("Add", x, layer.whole(0, 0))),
            "PReLU" => one(self.by_channel("PRelu", x, layer.whole(0, 0))),
            "ReLU" if layer.float(0, 0.0) != 0.0 => {
                let slope = [("alpha", Float(layer.float(0, 0.0)))];
                self.like_input("LeakyRelu", x, &slope)
            }
            "ReLU" => self.like_input("Relu", x, &[]),
            "Swish" => {
                let gate = self.node("Sigmoid", &[&x.value], &[]);
                let value = self.node("Mul", &[&x.value, &gate], &[]);
                Some(vec![Blob::new(value, x.sides.clone())])
            }
            "Clip" => {
                let bounds = [layer.float(0, f32::MIN), layer.float(1, f32::MAX)];
                let value = self.clip(&x.value, bounds);
                Some(vec![Blob::new(value, x.sides.clone())])
            }
            "GLU" => one(self.gated(x)),
            "Power" => one(self.power(x)),
            "UnaryOp" => one(self.unary(x)),
            "Softmax" => self.like_input("Softmax", x, &[("axis", Integer(self.axis(0)))]),
            "LRN" if layer.whole(0, 0) == 0 => {
                self.like_input("LRN", x, &[("size", Integer(layer.whole(1, 5)))])
            }
            "BatchNorm" => {
                let n = [layer.whole(0, 0)];
                let weights: [String; 4] = std::array::from_fn(|_| self.weights(&n));
                let [slope, mean, variance, bias] = &weights;
                let inputs = [&*x.value, slope, bias, mean, variance];
                let value = self.node("BatchNormalization", &inputs, &[]);
                Some(vec![Blob::new(value, x.sides.clone())])
            }
            "InstanceNorm" => {
                let n = [layer.whole(0, 0)];
                let (scale, bias) = (self.weights(&n), self.weights(&n));
                let value = self.node("InstanceNormalization", &[&x.value, &scale, &bias], &[]);
                Some(vec![Blob::new(value, x.sides.clone())])
            }
            "LayerNorm" | "RMSNorm" => one(self.normalized(x)),
            "GroupNorm" => one(self.normalized_groups(x)),
            "Flatten" => {
                let value = self.node("Flatten", &[&x.value], &[("axis", Integer(1))]);
                let n = product(x.sides.as_deref().unwrap_or(&[0]));
                Some(vec![Blob::new(value, Some(vec![n.unwrap_or(0)]))])
            }
            "Concat" => one(self.concatenated(inputs)),
            "Crop" => one(self.cropped(x, inputs.len())),
            "ExpandDims" | "Squeeze" => one(self.with_other_rank(x)),
            "Interp" => one(self.resized(x, inputs.len())),
            "Padding" => one(self.padded(x)),
            "Permute" => one(self.permuted(x)),
            "PixelShuffle" => one(self.shuffled_pixels(x)),
            "Reduction" => one(self.reduced(x)),
            "Reorg" => one(self.reorganised(x)),
            "Reshape" => one(self.reshaped(x)),
            "RotaryEmbed" => one(self.rotated(inputs)),
            "ShuffleChannel" => one(self.shuffled_channels(x)),
            "Tile" => one(self.tiled(x)),
            "Embed" => {
                let dims = [layer.whole(1, 0), layer.whole(0, 0)];
                let weights = self.weights(&dims);
                let value = self.node("Gather", &[&weights, &x.value], &[]);
                let [_, width] = dims;
                let sides = x.sides.as_ref().map(|sides| [&**sides, &[width]].concat());
                Some(vec![Blob::new(value, sides)])
            }
            "MultiHeadAttention" => one(self.multi_head(inputs)),
            _ => None,
        }
    }

    fn like_input(
        &mut self,
        op_type: &str,
        x: &Blob,
        attributes: &[(&str, Attribute)],
    ) -> Option<Vec<Blob>> {
        let value = self.node(op_type, &[&x.value], attributes);
        Some(vec![Blob::new(value, x.sides.clone())])
    }

    /// A parameter of windows for each of `n` sides, the outermost first: those of height and depth are that of width,
    /// unless they are given. `ids`: of depth, height and width.
    fn by_side(&self, ids: [i64; 3], n_sides: usize, default: i64) -> Vec<i64> {
        let [depth, height, width] = ids;
        let width = self.layer.whole(width, default);
        let all = [depth, height].map(|id| self.layer.whole(id, width));
        let all = all.into_iter().chain([width]);
        all.skip(3_usize.saturating_sub(n_sides)).collect()
    }

    /// Paddings before and behind each of `n` sides. `ids`: of depth, height and width.
    fn paddings(&self, before: [i64; 3], behind: [i64; 3], n_sides: usize) -> Vec<i64> {
        let first = self.by_side(before, n_sides, 0);
        let ids = behind.into_iter().skip(3_usize.saturating_sub(n_sides));
        let last = ids
            .zip(&first)
            .map(|(id, &before)| self.layer.whole(id, before));
        first.iter().copied().chain(last).collect()
    }

    /// Values in 8 bits in between, where the layer computes in them.
    fn through_int8(&mut self, value: String) -> String {
        if self.layer.whole(8, 0) == 0 {
            return value;
        }
        let scale = self.network.floats(self.layer, &[1.0 / 32.0]);
        let zero = self.network.zero_int8(self.layer);
        let stored = self.node("QuantizeLinear", &[&value, &scale, &zero], &[]);
        self.node("DequantizeLinear", &[&stored, &scale, &zero], &[])
    }

    /// Weights of these dimensions, in 8 bits where the layer computes in them.
    fn stored_weights(&mut self, dims: &[i64]) -> String {
        if self.layer.whole(8, 0) == 0 {
            return self.weights(dims);
        }
        let scale = self.network.floats(self.layer, &[1.0 / 64.0]);
        let zero = self.network.zero_int8(self.layer);
        let stored = self.network.weights(self.layer, INT8, dims);
        self.node("DequantizeLinear", &[&stored, &scale, &zero], &[])
    }
}

/// The product of sides; `None` if it is too large.
fn product(sides: &[i64]) -> Option<i64> {
    let mut sides = sides.iter();
    sides.try_fold(1_i64, |product, side| product.checked_mul(*side))
}

fn rounded_up(size: i64, stride: i64) -> Option<i64> {
    let n = size.checked_sub(1)?.checked_div(stride)?;
    n.checked_add(1)
}

/// A side times a factor, rounded down; `None` if it is not known.
fn scaled(side: i64, factor: f32) -> Option<i64> {
    let side = u16::try_from(side).ok().filter(|&side| side > 0)?;
    let scaled = (f32::from(side) * factor).floor();
    // Whole numbers of this size have an exact decimal form.
    ((1.0..1e7).contains(&scaled)).then(|| format!("{scaled:.0}").parse().ok())?
}

/// An axis of a blob as one of the value with its batch. Axes below 0 count from the innermost side.
fn with_batch_axis(axis: i64) -> i64 {
    if axis < 0 {
        axis
    } else {
        axis.saturating_add(1)
    }
}

/// The place of such an axis among the sides of a blob of this rank.
fn position(axis: i64, rank: usize) -> Option<usize> {
    let n = i64::try_from(rank).ok()?;
    let place = if axis < 0 {
        n.checked_add(axis)?
    } else {
        axis.checked_sub(1)?
    };
    usize::try_from(place).ok().filter(|&place| place < rank)
}

/// The sides of what two blobs make together.
fn broadcast(more: &Blob, fewer: &Blob) -> Option<Sides> {
    let sides = more.sides.clone()?;
    let Some(other) = fewer
        .sides
        .as_ref()
        .filter(|other| other.len() == sides.len())
    else {
        return Some(sides);
    };
    let each = sides.iter().zip(other);
    Some(
        each.map(|(&one, &other)| if one == 1 { other } else { one })
            .collect(),
    )
}
