//! The common interface of all architectures, for training, measuring and exporting.

use burn::module::{Module, ModuleMapper, Param, ParamId};
use burn::tensor::{Device, Tensor, TensorData};
use litecast_trainer::onnx::stored;

use super::batch::Batch;
use super::eagle::Eagle;
use super::per_operator::PerOperator;
use super::perfsage::PerfSage;
use super::prepare::Scaling;
use super::sage::{DIPPM, NNLP, Sage};
use super::seernet::SeerNet;
use super::shape::{Architecture, Shape};

/// All weights of one architecture.
#[derive(Module, Debug)]
#[allow(clippy::large_enum_variant)]
pub enum GraphNetwork {
    /// PerfSAGE: one graph network whose operators' values are summed.
    PerfSage(PerfSage),
    /// A small network for each operator, corrected over the graph.
    PerOperator(PerOperator),
    /// DIPPM's GraphSAGE, from the whole graph.
    Dippm(Sage),
    /// NNLP's GraphSAGE, from the whole graph.
    Nnlp(Sage),
    /// SeerNet, which attends to the nodes of the graph.
    SeerNet(SeerNet),
    /// EAGLE's graph convolutions.
    Eagle(Eagle),
}

/// The outputs of a network for a batch.
pub struct Outputs {
    /// `[n_graphs, n_outputs]`: standardised logarithms of the estimates.
    pub standardised: Tensor<2>,
    /// `[n_nodes, n_outputs]` in natural units, if the network estimates operators.
    pub operators: Option<Tensor<2>>,
    /// The same after the first pass, for networks with two passes.
    pub first_operators: Option<Tensor<2>>,
}

impl Outputs {
    /// The outputs of a network that does not estimate operators.
    fn from_graphs(standardised: Tensor<2>) -> Self {
        Self {
            standardised,
            operators: None,
            first_operators: None,
        }
    }
}

impl GraphNetwork {
    /// Random weights; [`Device::seed`] beforehand makes them repeatable.
    pub fn new(shape: &Shape, device: &Device) -> Self {
        match shape.architecture {
            Architecture::Perfsage => Self::PerfSage(PerfSage::new(shape, device)),
            Architecture::PerOperator => Self::PerOperator(PerOperator::new(shape, device)),
            Architecture::Dippm => Self::Dippm(Sage::new(shape, DIPPM, device)),
            Architecture::Nnlp => Self::Nnlp(Sage::new(shape, NNLP, device)),
            Architecture::Seernet => Self::SeerNet(SeerNet::new(shape, device)),
            Architecture::Eagle => Self::Eagle(Eagle::new(shape, device)),
        }
    }

    /// The outputs for a batch.
    pub fn forward(&self, batch: &Batch, scaling: &Scaling) -> Outputs {
        match self {
            Self::PerfSage(network) => Outputs::from_graphs(network.forward(batch)),
            Self::Dippm(network) => Outputs::from_graphs(network.forward(batch, DIPPM)),
            Self::Nnlp(network) => Outputs::from_graphs(network.forward(batch, NNLP)),
            Self::SeerNet(network) => {
                Outputs::from_graphs(network.forward(batch, &scaling.columns))
            }
            Self::Eagle(network) => Outputs::from_graphs(network.forward(batch)),
            Self::PerOperator(network) => {
                let outputs = network.forward(batch, scaling);
                Outputs {
                    standardised: scaling.log_labels.standardise(outputs.graphs.log()),
                    operators: Some(outputs.operators),
                    first_operators: Some(outputs.first_operators),
                }
            }
        }
    }

    /// The weights that affect one output only: those of the last layer, if there is one.
    pub fn heads(&self) -> Vec<ParamId> {
        let layer = match self {
            Self::PerfSage(network) => &network.output,
            Self::Dippm(network) | Self::Nnlp(network) => &network.output,
            Self::SeerNet(network) => &network.output,
            Self::Eagle(network) => &network.output,
            Self::PerOperator(_) => return Vec::new(),
        };
        let bias = layer.bias.iter().map(|bias| bias.id);
        bias.chain([layer.weight.id]).collect()
    }

    /// Rounds every weight as in the exported file, see [`stored`].
    pub fn as_stored(self) -> Self {
        self.map(&mut RoundAsStored)
    }
}

struct RoundAsStored;

impl ModuleMapper for RoundAsStored {
    fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
        param.map(|weights| {
            let device = weights.device();
            let shape = weights.shape();
            let values: Vec<f32> = weights
                .into_data()
                .iter::<f32>()
                .map(|weight| stored(weight).to_f32())
                .collect();
            Tensor::from_data(TensorData::new(values, shape), &device)
        })
    }
}
