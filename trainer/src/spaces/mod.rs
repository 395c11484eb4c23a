//! Design spaces of PerfSAGE §3.2: (space, seed, index) → a network, by uniform, independent choices.
//!
//! One file a space, and one function in it: `network(&mut Choices, NetworkBuilder) -> Network`.

mod choices;
mod cnn_cifar10;
mod cnn_imagenet;
mod cnn_kws;
mod mobile_cnn;
pub mod sample_command;
pub mod table2;
mod vit_cifar100;

use std::str::FromStr;

pub use choices::Choices;

use crate::writer::{Network, NetworkBuilder, SplitMix64, WeightDistribution, to_tflite};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Space {
    CnnCifar10,
    CnnImagenet,
    CnnKws,
    VitCifar100,
}

/// One network of a space, with everything needed to make it again.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    pub space: Space,
    pub seed: u64,
    pub index: u64,
    pub weight_distribution: WeightDistribution,
    pub network: Network,
    values_seed: u64,
}

impl Space {
    pub const ALL: [Space; 4] = [
        Space::CnnCifar10,
        Space::CnnImagenet,
        Space::CnnKws,
        Space::VitCifar100,
    ];

    pub fn id(self) -> &'static str {
        match self {
            Space::CnnCifar10 => "cnn-cifar10",
            Space::CnnImagenet => "cnn-imagenet",
            Space::CnnKws => "cnn-kws",
            Space::VitCifar100 => "vit-cifar100",
        }
    }

    fn network(self, choices: &mut Choices, builder: NetworkBuilder) -> Network {
        match self {
            Space::CnnCifar10 => cnn_cifar10::network(choices, builder),
            Space::CnnImagenet => cnn_imagenet::network(choices, builder),
            Space::CnnKws => cnn_kws::network(choices, builder),
            Space::VitCifar100 => vit_cifar100::network(choices, builder),
        }
    }

    /// The id, filled with zeros: keeps the random streams of spaces apart.
    fn key(self) -> [u8; 16] {
        let mut key = [0; 16];
        for (byte, id_byte) in key.iter_mut().zip(self.id().bytes()) {
            *byte = id_byte;
        }
        key
    }
}

impl FromStr for Space {
    type Err = String;

    fn from_str(id: &str) -> Result<Self, String> {
        let ids = Space::ALL.map(Space::id).join(", ");
        let unknown = || format!("unknown space `{id}`: expected one of {ids}");
        Space::ALL
            .into_iter()
            .find(|space| space.id() == id)
            .ok_or_else(unknown)
    }
}

/// The network number `index` of `space` under `seed`: a pure function of its arguments.
pub fn sample(space: Space, seed: u64, index: u64) -> Sample {
    let mut choices = Choices::new(space, seed, index);
    let mut values = SplitMix64::new(choices.seed());
    let weight_distribution = WeightDistribution::draw(&mut values);
    let values_seed = values.next_u64();
    let name = format!("{}-s{seed}-i{index}", space.id());
    let builder = NetworkBuilder::new(&name, weight_distribution.clone(), values_seed);
    let network = space.network(&mut choices, builder);
    Sample {
        space,
        seed,
        index,
        weight_distribution,
        network,
        values_seed,
    }
}

impl Sample {
    /// The bytes of the sample's `.tflite` file.
    pub fn to_tflite(&self) -> Vec<u8> {
        to_tflite(&self.network, self.values_seed)
    }

    /// Equal for samples that differ in weight values alone, so that a split by graph keeps them on
    /// one side. See [`Network::structure_hash`].
    pub fn structure_hash(&self) -> u64 {
        self.network.structure_hash()
    }
}
