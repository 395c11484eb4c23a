//! The common network of CNN-ImageNet and CNN-CIFAR10: blocks of nodes like those of EfficientNet-EdgeTPU.

use litecast::formats::tflite::{Activation, Padding};

use super::Choices;
use crate::writer::{NetworkBuilder, TensorIdx, Window, WriterNetwork};

/// The differences between the two spaces.
pub struct MobileCnn {
    /// Height and width of the RGB input.
    pub image_side: i32,
    pub n_classes: i32,
    pub stem_channels: &'static [i32],
    pub stem_stride: i32,
    pub blocks: &'static [Block],
    pub head_channels: i32,
    /// Minimum number of a block's nodes that are not the identity.
    pub least_depth: usize,
    /// Whether optional shortcuts also span single nodes, not only blocks.
    pub node_shortcuts: bool,
}

pub struct Block {
    /// Options of each node's output channels.
    pub channels: [i32; 6],
    /// Stride of the block's first node.
    pub stride: i32,
}

/// Nodes of a block, including identities.
const NODES_PER_BLOCK: usize = 5;
const KERNELS: [i32; 2] = [3, 5];
/// 1 is a depthwise-separable convolution in an inverted bottleneck, and a plain convolution in a fused one.
const EXPANSIONS: [i32; 4] = [1, 2, 4, 6];

/// A network under construction, with the choices for all of its layers.
struct Sampler<'a> {
    choices: &'a mut Choices,
    builder: NetworkBuilder,
    activation: Activation,
    /// Whether strided layers are written as PAD and VALID padding, as in Keras, instead of SAME.
    explicit_padding: bool,
    least_depth: usize,
    node_shortcuts: bool,
}

pub fn network(space: &MobileCnn, choices: &mut Choices, builder: NetworkBuilder) -> WriterNetwork {
    let activation = choices.pick(&[Activation::Relu, Activation::Relu6]);
    let explicit_padding = choices.coin();
    let mut sampler = Sampler {
        choices,
        builder,
        activation,
        explicit_padding,
        least_depth: space.least_depth,
        node_shortcuts: space.node_shortcuts,
    };
    let input = sampler
        .builder
        .input("image", &[1, space.image_side, space.image_side, 3]);
    let stem_channels = sampler.choices.pick(space.stem_channels);
    let mut tensor = sampler.conv2d(
        "stem",
        input,
        stem_channels,
        3,
        space.stem_stride,
        activation,
    );
    for (idx, block) in space.blocks.iter().enumerate() {
        tensor = sampler.block(&format!("block{}", idx + 1), tensor, block);
    }
    let head = sampler.builder.conv2d(
        "head",
        tensor,
        space.head_channels,
        Window::point(),
        activation,
    );
    let as_convolution = sampler.choices.coin();
    let logits = classifier(&mut sampler.builder, head, space.n_classes, as_convolution);
    sampler.builder.finish(&[logits])
}

/// Global average pool and dense layer: a 1×1 convolution before the RESHAPE, or FULLY_CONNECTED after it. Both are
/// written by converters.
pub fn classifier(
    builder: &mut NetworkBuilder,
    features: TensorIdx,
    n_classes: i32,
    as_convolution: bool,
) -> TensorIdx {
    let [height, width] = [builder.shape(features)[1], builder.shape(features)[2]];
    let window = Window::rect([height, width], [height, width], Padding::Valid);
    let pooled = builder.average_pool2d("pool", features, window);
    if as_convolution {
        let scores = builder.conv2d(
            "classifier",
            pooled,
            n_classes,
            Window::point(),
            Activation::None,
        );
        return builder.reshape("logits", scores, &[1, n_classes]);
    }
    let channels = builder.channels(pooled);
    let flat = builder.reshape("flatten", pooled, &[1, channels]);
    builder.fully_connected("logits", flat, n_classes, Activation::None)
}

impl Sampler<'_> {
    /// A block draws the number of its nodes that are not the identity. (If each node were drawn independently, the
    /// shallow and deep networks of the paper would occur only in tens of thousands of samples.)
    fn block(&mut self, name: &str, input: TensorIdx, block: &Block) -> TensorIdx {
        let depth = self.choices.between(self.least_depth, NODES_PER_BLOCK);
        let residual = self.choices.coin();
        let mut tensor = input;
        for idx in 0..depth {
            let stride = if idx == 0 { block.stride } else { 1 };
            tensor = self.node(&format!("{name}/node{}", idx + 1), tensor, block, stride);
        }
        if depth == 0 && block.stride > 1 {
            let window = Window::square(block.stride, block.stride, Padding::Same);
            return self
                .builder
                .average_pool2d(&format!("{name}/pool"), tensor, window);
        }
        if residual && depth > 0 {
            self.shortcut(name, input, tensor, block.stride)
        } else {
            tensor
        }
    }

    fn node(&mut self, name: &str, input: TensorIdx, block: &Block, stride: i32) -> TensorIdx {
        let fused = self.choices.coin();
        let channels = self.choices.pick(&block.channels);
        let kernel = self.choices.pick(&KERNELS);
        let expansion = self.choices.pick(&EXPANSIONS);
        let residual = self.node_shortcuts && self.choices.coin();
        let output = if fused {
            self.fused_mbconv(name, input, channels, kernel, stride, expansion)
        } else {
            self.inverted_bottleneck(name, input, channels, kernel, stride, expansion)
        };
        if residual {
            self.shortcut(name, input, output, stride)
        } else {
            output
        }
    }

    fn inverted_bottleneck(
        &mut self,
        name: &str,
        input: TensorIdx,
        channels: i32,
        kernel: i32,
        stride: i32,
        expansion: i32,
    ) -> TensorIdx {
        let mut tensor = input;
        if expansion > 1 {
            let expanded = self.builder.channels(input) * expansion;
            let expand = format!("{name}/expand");
            tensor =
                self.builder
                    .conv2d(&expand, tensor, expanded, Window::point(), self.activation);
        }
        let depthwise = format!("{name}/depthwise");
        let (tensor, window) = self.strided(&depthwise, tensor, kernel, stride);
        let tensor = self
            .builder
            .depthwise_conv2d(&depthwise, tensor, window, self.activation);
        let project = format!("{name}/project");
        self.builder.conv2d(
            &project,
            tensor,
            channels,
            Window::point(),
            Activation::None,
        )
    }

    fn fused_mbconv(
        &mut self,
        name: &str,
        input: TensorIdx,
        channels: i32,
        kernel: i32,
        stride: i32,
        expansion: i32,
    ) -> TensorIdx {
        if expansion == 1 {
            return self.conv2d(
                &format!("{name}/conv"),
                input,
                channels,
                kernel,
                stride,
                self.activation,
            );
        }
        let expanded = self.builder.channels(input) * expansion;
        let tensor = self.conv2d(
            &format!("{name}/expand"),
            input,
            expanded,
            kernel,
            stride,
            self.activation,
        );
        let project = format!("{name}/project");
        self.builder.conv2d(
            &project,
            tensor,
            channels,
            Window::point(),
            Activation::None,
        )
    }

    fn conv2d(
        &mut self,
        name: &str,
        input: TensorIdx,
        filters: i32,
        kernel: i32,
        stride: i32,
        activation: Activation,
    ) -> TensorIdx {
        let (input, window) = self.strided(name, input, kernel, stride);
        self.builder
            .conv2d(name, input, filters, window, activation)
    }

    /// The input and window of a layer with `kernel` and `stride`, with explicit padding if that is the style of this
    /// network.
    fn strided(
        &mut self,
        name: &str,
        input: TensorIdx,
        kernel: i32,
        stride: i32,
    ) -> (TensorIdx, Window) {
        if stride == 1 || !self.explicit_padding {
            return (input, Window::square(kernel, stride, Padding::Same));
        }
        let sides = [kernel / 2, kernel / 2];
        let padded = self.builder.pad(
            &format!("{name}/pad"),
            input,
            &[[0, 0], sides, sides, [0, 0]],
        );
        (padded, Window::square(kernel, stride, Padding::Valid))
    }

    /// `output` plus `input`, which is average-pooled to the same resolution and padded to the same channels. If
    /// `output` has fewer channels, no shortcut without parameters is possible, and the result is `output`.
    fn shortcut(
        &mut self,
        name: &str,
        input: TensorIdx,
        output: TensorIdx,
        stride: i32,
    ) -> TensorIdx {
        let more_channels = self.builder.channels(output) - self.builder.channels(input);
        if more_channels < 0 {
            return output;
        }
        let mut tensor = input;
        if stride > 1 {
            let window = Window::square(stride, stride, Padding::Same);
            tensor = self
                .builder
                .average_pool2d(&format!("{name}/shortcut_pool"), tensor, window);
        }
        if more_channels > 0 {
            let paddings = [[0, 0], [0, 0], [0, 0], [0, more_channels]];
            tensor = self
                .builder
                .pad(&format!("{name}/shortcut_pad"), tensor, &paddings);
        }
        self.builder.add(&format!("{name}/add"), output, tensor)
    }
}
