//! Design spaces: (space, seed, index) → a network, by uniform, independent choices.
//!
//! Each file contains one space or a few similar ones, with one function for each: `(&mut Choices, NetworkBuilder) ->
//! WriterNetwork`. The first four are those of PerfSAGE §3.2.

mod audio_1d;
mod autoencoder;
mod blocks;
mod choices;
mod cnn_cifar10;
mod cnn_imagenet;
mod cnn_kws;
mod deeplab;
mod densenet;
mod detector;
mod efficientnet_lite;
mod form;
mod inception;
mod layers;
mod mixer;
mod mobile_cnn;
mod mobilenet_v1;
mod mobilenet_v2;
mod mobilenet_v3;
pub mod nas_bench_201;
pub mod published;
mod random_operators;
mod recurrent;
mod resnet;
pub mod sample_command;
mod squeezenet;
mod super_resolution;
pub mod table2;
mod text_encoder;
mod transformer;
mod unet;
mod vit_cifar100;

use std::str::FromStr;

pub use choices::Choices;
pub use form::{SampleForm, Weights};

use crate::writer::{
    LayerDistribution, NetworkBuilder, SplitMix64, WeightDistribution, WriterNetwork, to_tflite,
};

struct Family {
    /// Its first 16 bytes differ from those of all other ids: see [`Space::key`].
    id: &'static str,
    network: fn(&mut Choices, NetworkBuilder) -> WriterNetwork,
}

const fn family(
    id: &'static str,
    network: fn(&mut Choices, NetworkBuilder) -> WriterNetwork,
) -> Family {
    Family { id, network }
}

/// All spaces; the paper's come first, in the order of [`Space::PAPER`].
static FAMILIES: &[Family] = &[
    family("cnn-cifar10", cnn_cifar10::network),
    family("cnn-imagenet", cnn_imagenet::network),
    family("cnn-kws", cnn_kws::network),
    family("vit-cifar100", vit_cifar100::network),
    family("nas-bench-201", nas_bench_201::network),
    family("mobilenet-v1", mobilenet_v1::network),
    family("mobilenet-v2", mobilenet_v2::network),
    family("mobilenet-v3", mobilenet_v3::network),
    family("efficientnet", efficientnet_lite::network),
    family("resnet", resnet::network),
    family("resnext", resnet::resnext),
    family("squeezenet", squeezenet::network),
    family("densenet", densenet::network),
    family("inception", inception::network),
    family("unet", unet::network),
    family("deeplab", deeplab::network),
    family("ssd", detector::ssd),
    family("yolo", detector::yolo),
    family("upscaler", super_resolution::network),
    family("upscaler-d2s", super_resolution::depth_to_space),
    family("conv-1d", audio_1d::network),
    family("temporal-conv", audio_1d::temporal),
    family("streaming-kws", audio_1d::streaming),
    family("autoencoder", autoencoder::network),
    family("lstm", recurrent::lstm),
    family("gru", recurrent::gru),
    family("svdf", recurrent::svdf),
    family("text-encoder", text_encoder::network),
    family("mlp-mixer", mixer::mlp_mixer),
    family("convnext", mixer::convnext),
    family("random-operators", random_operators::network),
    family("random-extremes", random_operators::with_extremes),
    family("random-truth", random_operators::with_truth),
];

/// A design space: a row of `FAMILIES`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Space(usize);

impl Space {
    /// Convolutional networks for images of CIFAR-10.
    pub const CNN_CIFAR10: Space = Space(0);
    /// Convolutional networks for images of ImageNet.
    pub const CNN_IMAGENET: Space = Space(1);
    /// Convolutional networks that recognise keywords in speech.
    pub const CNN_KWS: Space = Space(2);
    /// Vision transformers for images of CIFAR-100.
    pub const VIT_CIFAR100: Space = Space(3);
    /// The spaces of PerfSAGE §3.2.
    pub const PAPER: [Space; 4] = [
        Space::CNN_CIFAR10,
        Space::CNN_IMAGENET,
        Space::CNN_KWS,
        Space::VIT_CIFAR100,
    ];

    /// Every design space, in the order of `FAMILIES`.
    pub fn all() -> impl ExactSizeIterator<Item = Space> {
        (0..FAMILIES.len()).map(Space)
    }

    /// Name in files and settings.
    pub fn id(self) -> &'static str {
        FAMILIES[self.0].id
    }

    fn network(self, choices: &mut Choices, builder: NetworkBuilder) -> WriterNetwork {
        (FAMILIES[self.0].network)(choices, builder)
    }

    /// The id, truncated or padded with zeros, which separates the random streams of spaces.
    fn key(self) -> [u8; 16] {
        let mut key = [0; 16];
        for (byte, id_byte) in key.iter_mut().zip(self.id().bytes()) {
            *byte = id_byte;
        }
        key
    }
}

/// Whether a space's graphs are networks, as opposed to a few random operators. True for unknown spaces, for example of
/// files.
pub fn has_networks(id: &str) -> bool {
    !id.starts_with("random-")
}

impl FromStr for Space {
    type Err = String;

    fn from_str(id: &str) -> Result<Self, String> {
        Space::all().find(|space| space.id() == id).ok_or_else(|| {
            let ids: Vec<_> = Space::all().map(Space::id).collect();
            format!("unknown space `{id}`: expected one of {}", ids.join(", "))
        })
    }
}

/// One network of a space, with the arguments from which it can be made again.
#[derive(Clone, Debug, PartialEq)]
pub struct SpaceSample {
    /// The design space.
    pub space: Space,
    /// Seed of the space.
    pub seed: u64,
    /// Number of the network under this seed.
    pub index: u64,
    /// What it is written as.
    pub form: SampleForm,
    /// Distribution that weights are drawn from.
    pub weight_distribution: WeightDistribution,
    /// Quantised to int8, independent of the precision.
    pub network: WriterNetwork,
    values_seed: u64,
}

/// The network number `index` of `space` under `seed`, in int8: a pure function of its arguments.
pub fn sample(space: Space, seed: u64, index: u64) -> SpaceSample {
    let sample = sample_in(SampleForm::default(), space, seed, index);
    sample.expect("one input at a time needs no batch dimension")
}

/// The same network in `form`, which is part of its name; `None` if it has no batch dimension and needs one. See
/// [`WriterNetwork::in_batches_of`].
pub fn sample_in(form: SampleForm, space: Space, seed: u64, index: u64) -> Option<SpaceSample> {
    let mut choices = Choices::new(space.key(), seed, index);
    let mut values = SplitMix64::new(choices.seed());
    let drawn = WeightDistribution::draw(&mut values);
    let weight_distribution = match form.weights {
        Weights::Drawn => drawn,
        Weights::Initial => WeightDistribution::SameInEveryLayer(LayerDistribution::Uniform),
    };
    let values_seed = values.next_u64();
    let name = format!("{}-s{seed}-i{index}", space.id());
    let name = form
        .name_parts()
        .fold(name, |name, part| name + "-" + &part);
    let builder = NetworkBuilder::new(&name, weight_distribution.clone(), values_seed);
    let mut network = space.network(&mut choices, builder);
    if form.batch != 1 {
        network = network.in_batches_of(form.batch.try_into().ok()?)?;
    }
    Some(SpaceSample {
        space,
        seed,
        index,
        form,
        weight_distribution,
        network,
        values_seed,
    })
}

impl SpaceSample {
    /// The bytes of the sample's `.tflite` file.
    pub fn to_tflite(&self) -> Vec<u8> {
        to_tflite(&self.network, self.values_seed, self.form.precision)
    }

    /// Equal for samples that differ only in weight values or precision, so that a split by graph keeps them on one
    /// side. See [`WriterNetwork::structure_hash`].
    pub fn structure_hash(&self) -> u64 {
        self.network.structure_hash()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_space_has_a_random_stream_of_its_own() {
        let keys: BTreeSet<_> = Space::all().map(Space::key).collect();
        assert_eq!(keys.len(), Space::all().len());
    }
}
