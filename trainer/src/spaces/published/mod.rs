//! Networks of one size, as their papers define them, by the names under which latencies are published.

mod densenet;
mod efficientdet;
mod facenet;
mod inception_v2;
mod inception_v4;
mod mobile;
mod plain;
mod ssdlite;
mod yolov4_tiny;

use super::layers::Layers;
use super::{Choices, Space};
use crate::writer::{LayerDistribution, Network, NetworkBuilder, TensorIdx, WeightDistribution};

/// What runs on an Edge TPU or a Cortex-A does not depend on weight values.
const WEIGHTS: WeightDistribution =
    WeightDistribution::SameInEveryLayer(LayerDistribution::Uniform);
/// Of the weights of all of these networks, for [`crate::writer::to_tflite`].
pub const WEIGHT_SEED: u64 = 1;

/// EfficientDet-Lite with this name, `EfficientDet-Lite1` or `EfficientDet-Lite3`; `None` for another.
/// `decodes`: with the detection post-processing at its end.
pub fn detector(name: &str, decodes: bool) -> Option<Network> {
    let size = match name {
        "EfficientDet-Lite1" => &efficientdet::LITE_1,
        "EfficientDet-Lite3" => &efficientdet::LITE_3,
        _ => return None,
    };
    let mut choices = Choices::new(Space::CNN_IMAGENET.key(), 0, 0);
    let builder = NetworkBuilder::new(name, WEIGHTS, WEIGHT_SEED);
    let layers = Layers::plain(&mut choices, builder);
    Some(efficientdet::network(size, layers, decodes))
}

/// The int8 network with this name and a square RGB input of `side` pixels; `None` for another name. Classifiers end in
/// SOFTMAX, detectors before boxes are decoded.
///
/// Batch norms are folded where a convolution comes before them, and are MUL and ADD elsewhere.
pub fn network(name: &str, side: i32) -> Option<Network> {
    let outputs: fn(&mut Layers, TensorIdx) -> Vec<TensorIdx> = match name {
        "FaceNet512" => |layers, image| vec![facenet::features(layers, image)],
        "SSDLite MobileNet v2" => ssdlite::outputs,
        "YOLOv4-tiny" => yolov4_tiny::outputs,
        _ => return classifier(name, side),
    };
    Some(built(name, side, outputs))
}

fn classifier(name: &str, side: i32) -> Option<Network> {
    let logits = match name {
        "MobileNet v1 1.0" => |layers: &mut Layers, image| mobile::mobilenet_v1(layers, image, 100),
        "MobileNet v1 0.75" => |layers: &mut Layers, image| mobile::mobilenet_v1(layers, image, 75),
        "MobileNet v1 0.5" => |layers: &mut Layers, image| mobile::mobilenet_v1(layers, image, 50),
        "MobileNet v1 0.25" => |layers: &mut Layers, image| mobile::mobilenet_v1(layers, image, 25),
        "MobileNet v2 1.0" => mobile::mobilenet_v2,
        "MNasNet-A1 0.75" => mobile::mnasnet_a1_75,
        "MobileNet v3 large" => mobile::mobilenet_v3_large,
        "MobileNet v3 small" => mobile::mobilenet_v3_small,
        "EfficientNet-EdgeTpu-S" => mobile::efficientnet_edgetpu_s,
        "Inception V2" => inception_v2::logits,
        "Inception v4" => inception_v4::logits,
        "ResNet-50 V1" => plain::resnet_50,
        "SqueezeNet" => plain::squeezenet,
        "VGG16" => plain::vgg16,
        "DeepFace emotion" => plain::deepface_emotion,
        "DenseNet" => densenet::logits,
        _ => return None,
    };
    Some(built(name, side, |layers, image| {
        let logits: TensorIdx = logits(layers, image);
        vec![layers.builder.softmax("probabilities", logits)]
    }))
}

fn built(
    name: &str,
    side: i32,
    outputs: impl FnOnce(&mut Layers, TensorIdx) -> Vec<TensorIdx>,
) -> Network {
    // Nothing is drawn: the stream is what sampled networks would draw from.
    let mut choices = Choices::new(Space::CNN_IMAGENET.key(), 0, 0);
    let builder = NetworkBuilder::new(name, WEIGHTS, WEIGHT_SEED);
    let mut layers = Layers::plain(&mut choices, builder);
    let image = layers.rgb(side);
    let outputs = outputs(&mut layers, image);
    layers.finish(&outputs)
}
