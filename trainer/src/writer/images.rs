//! The builder's operators of images that have no weights, and the transposed convolution.

use litecast::formats::tflite::{Activation, Padding};

use super::builder::NetworkBuilder;
use super::network::TensorIdx;
use super::operator_kind::{OperatorKind, Sampling};
use super::window::Window;

/// The number of detections in published detectors.
const MAX_DETECTIONS: i32 = 100;

impl NetworkBuilder {
    /// Adds AVERAGE_POOL_2D.
    pub fn average_pool2d(&mut self, name: &str, input: TensorIdx, window: Window) -> TensorIdx {
        let kind = OperatorKind::AveragePool2D {
            filter: window.kernel,
            stride: window.stride,
            padding: window.padding,
        };
        self.pool2d(name, kind, input, window)
    }

    /// Adds MAX_POOL_2D.
    pub fn max_pool2d(&mut self, name: &str, input: TensorIdx, window: Window) -> TensorIdx {
        let kind = OperatorKind::MaxPool2D {
            filter: window.kernel,
            stride: window.stride,
            padding: window.padding,
        };
        self.pool2d(name, kind, input, window)
    }

    fn pool2d(
        &mut self,
        name: &str,
        kind: OperatorKind,
        input: TensorIdx,
        window: Window,
    ) -> TensorIdx {
        let shape = window.output_shape(self.shape(input), self.channels(input));
        self.operator(name, kind, &[input], shape, self.spread(input))
    }

    /// Detection post-processing of TensorFlow Lite: boxes, classes and scores of the best anchors, and their number.
    /// `boxes` and `scores` are `[1, anchors, values]`.
    pub fn detections(
        &mut self,
        name: &str,
        boxes: TensorIdx,
        scores: TensorIdx,
    ) -> Vec<TensorIdx> {
        let spread = self.spread(boxes);
        let n_anchors = self.shape(boxes)[1];
        let anchors = self.zeros(&format!("{name}/anchors"), &[n_anchors, 4]);
        let mut output =
            |part: &str, shape: Vec<i32>| self.activation(&format!("{name}/{part}"), shape, spread);
        let outputs = vec![
            output("boxes", vec![1, MAX_DETECTIONS, 4]),
            output("classes", vec![1, MAX_DETECTIONS]),
            output("scores", vec![1, MAX_DETECTIONS]),
            output("count", vec![1]),
        ];
        self.add_operator(
            OperatorKind::DetectionPostprocess,
            &[boxes, scores, anchors],
            &outputs,
        );
        outputs
    }

    /// To `size`, `[height, width]`.
    pub fn resize_bilinear(
        &mut self,
        name: &str,
        input: TensorIdx,
        size: [i32; 2],
        sampling: Sampling,
    ) -> TensorIdx {
        self.resize(name, OperatorKind::ResizeBilinear { sampling }, input, size)
    }

    /// To `size`, `[height, width]`.
    pub fn resize_nearest(
        &mut self,
        name: &str,
        input: TensorIdx,
        size: [i32; 2],
        sampling: Sampling,
    ) -> TensorIdx {
        let kind = OperatorKind::ResizeNearestNeighbor { sampling };
        self.resize(name, kind, input, size)
    }

    fn resize(
        &mut self,
        name: &str,
        kind: OperatorKind,
        input: TensorIdx,
        size: [i32; 2],
    ) -> TensorIdx {
        let target = self.int32_constant(&format!("{name}/size"), &[2], size.to_vec());
        let shape = vec![self.shape(input)[0], size[0], size[1], self.channels(input)];
        self.operator(name, kind, &[input, target], shape, self.spread(input))
    }

    /// `[height, width, block² channels]` → `[block height, block width, channels]`.
    pub fn depth_to_space(&mut self, name: &str, input: TensorIdx, block: i32) -> TensorIdx {
        let [batch, height, width, channels] = self.image(input);
        let shape = vec![
            batch,
            height * block,
            width * block,
            channels / (block * block),
        ];
        let kind = OperatorKind::DepthToSpace { block };
        self.operator(name, kind, &[input], shape, self.spread(input))
    }

    /// A learned upsampling: each pixel is multiplied with the whole window, and windows are added at distances of the
    /// stride.
    pub fn transpose_conv(
        &mut self,
        name: &str,
        input: TensorIdx,
        filters: i32,
        window: Window,
    ) -> TensorIdx {
        let [batch, height, width, channels] = self.image(input);
        let side = |axis: usize, side: i32| match window.padding {
            Padding::Same => side * window.stride[axis],
            Padding::Valid => {
                (side - 1) * window.stride[axis] + window.kernel[axis].max(window.stride[axis])
            }
        };
        let shape = vec![batch, side(0, height), side(1, width), filters];
        let target = self.int32_constant(&format!("{name}/shape"), &[4], shape.clone());
        let [kernel_height, kernel_width] = window.kernel;
        let kind = OperatorKind::TransposeConv {
            stride: window.stride,
            padding: window.padding,
        };
        let overlap = window.stride[0] * window.stride[1];
        let fan_in = (kernel_height * kernel_width * channels / overlap).max(1);
        let layer = self.layer_quantization(input, fan_in, filters, 0, Activation::None);
        let weights = vec![filters, kernel_height, kernel_width, channels];
        let [weights, bias] = self.layer_constants(name, weights, &layer);
        let inputs = [target, weights, input, bias];
        self.operator(name, kind, &inputs, shape, layer.output)
    }

    /// Batch, height, width, channels.
    pub fn image(&self, tensor: TensorIdx) -> [i32; 4] {
        self.shape(tensor)
            .try_into()
            .expect("an image has four dimensions")
    }
}
