//! Networks of one size, as their papers define them, by the names under which latencies are published.

mod densenet;
mod efficientdet;
mod facenet;
mod inception_v2;
mod inception_v4;
mod mobile;
mod mobiledet;
mod plain;
mod ssd;
mod ssd_fpn;
mod yolov4_tiny;
mod yolox;

use super::layers::Layers;
use super::{Choices, Space};
use crate::writer::{
    LayerDistribution, NetworkBuilder, TensorIdx, WeightDistribution, WriterNetwork,
};

/// What runs on an Edge TPU or a Cortex-A does not depend on weight values.
const WEIGHTS: WeightDistribution =
    WeightDistribution::SameInEveryLayer(LayerDistribution::Uniform);
/// Of the weights of all of these networks, for [`crate::writer::to_tflite`].
pub const WEIGHT_SEED: u64 = 1;

/// The detector with this name, with LOGISTIC of its scores and the detection post-processing of TensorFlow Lite, a custom
/// operator, at its end as in published files; `None` for another name.
pub fn detector(name: &str) -> Option<WriterNetwork> {
    let (side, outputs) = detector_outputs(name)?;
    Some(built(name, side, |layers, image| {
        let [boxes, scores] = outputs(layers, image)[..] else {
            unreachable!("detectors have boxes and scores");
        };
        let scores = layers.builder.logistic("scores", scores);
        layers.builder.detections("detections", boxes, scores)
    }))
}

type Outputs = Box<dyn Fn(&mut Layers, TensorIdx) -> Vec<TensorIdx>>;

/// Side of the published files' images, and what computes boxes and scores.
fn detector_outputs(name: &str) -> Option<(i32, Outputs)> {
    use ssd::Head::{Full, Separable};
    if let Some(size) = name.strip_prefix("EfficientDet-Lite") {
        let size = efficientdet::LITE.get(size.parse::<usize>().ok()?)?;
        let outputs = |layers: &mut Layers, image| efficientdet::outputs(layers, image, size);
        return Some((size.side, Box::new(outputs)));
    }
    type Backbone = fn(&mut Layers, TensorIdx) -> mobile::Features;
    let ssd = |head: ssd::Head, backbone: Backbone| -> Outputs {
        Box::new(move |layers, image| {
            let features = backbone(layers, image);
            ssd::outputs(layers, features, head)
        })
    };
    Some(match name {
        "SSD MobileNet v2" => (300, ssd(Full, mobile::mobilenet_v2_features)),
        "SSDLite MobileNet v2" => (300, ssd(Separable, mobile::mobilenet_v2_features)),
        "SSDLite MobileNet v3 large" => (320, ssd(Separable, mobile::mobilenet_v3_large_features)),
        "SSDLite MobileNet v3 small" => (320, ssd(Separable, mobile::mobilenet_v3_small_features)),
        "SSDLite MobileDet-CPU" => (320, ssd(Separable, mobiledet::features_of_cpu)),
        "SSD MobileNet v1 FPN" => (
            640,
            Box::new(|layers, image| {
                let levels = mobile::mobilenet_v1_features(layers, image, 100);
                ssd_fpn::outputs(layers, levels)
            }),
        ),
        "SSD ResNet-50 v1 FPN" => (
            640,
            Box::new(|layers, image| {
                let levels = plain::resnet_50_features(layers, image);
                ssd_fpn::outputs(layers, levels)
            }),
        ),
        _ => return None,
    })
}

/// The int8 network with this name and a square RGB input of `side` pixels; `None` for another name. Classifiers end in
/// SOFTMAX, detectors before boxes are decoded.
///
/// Batch norms are folded where a convolution comes before them, and are MUL and ADD elsewhere.
pub fn network(name: &str, side: i32) -> Option<WriterNetwork> {
    if let Some((_, outputs)) = detector_outputs(name) {
        return Some(built(name, side, outputs));
    }
    let outputs: fn(&mut Layers, TensorIdx) -> Vec<TensorIdx> = match name {
        "FaceNet512" => |layers, image| vec![facenet::features(layers, image)],
        "YOLOv4-tiny" => yolov4_tiny::outputs,
        "Tiny YOLO v2" => |layers, image| vec![plain::tiny_yolo_v2(layers, image)],
        "YOLOX-Nano" => |layers, image| yolox::outputs(layers, image, &yolox::NANO),
        "YOLOX-Tiny" => |layers, image| yolox::outputs(layers, image, &yolox::TINY),
        _ => return classifier(name, side),
    };
    Some(built(name, side, outputs))
}

fn classifier(name: &str, side: i32) -> Option<WriterNetwork> {
    let logits = match name {
        "MobileNet v1 1.0" => |layers: &mut Layers, image| mobile::mobilenet_v1(layers, image, 100),
        "MobileNet v1 0.75" => |layers: &mut Layers, image| mobile::mobilenet_v1(layers, image, 75),
        "MobileNet v1 0.5" => |layers: &mut Layers, image| mobile::mobilenet_v1(layers, image, 50),
        "MobileNet v1 0.25" => |layers: &mut Layers, image| mobile::mobilenet_v1(layers, image, 25),
        "MobileNet v2 1.4" => |layers: &mut Layers, image| mobile::mobilenet_v2(layers, image, 140),
        "MobileNet v2 1.0" => |layers: &mut Layers, image| mobile::mobilenet_v2(layers, image, 100),
        "MobileNet v2 0.35" => |layers: &mut Layers, image| mobile::mobilenet_v2(layers, image, 35),
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
) -> WriterNetwork {
    // Nothing is drawn: the stream is what sampled networks would draw from.
    let mut choices = Choices::new(Space::CNN_IMAGENET.key(), 0, 0);
    let builder = NetworkBuilder::new(name, WEIGHTS, WEIGHT_SEED);
    let mut layers = Layers::plain(&mut choices, builder);
    let image = layers.rgb(side);
    let outputs = outputs(&mut layers, image);
    layers.finish(&outputs)
}
