//! Errors of a network on labelled graphs, for the choice of the best epoch and for publication.

use burn::tensor::Device;
use litecast::learned::manifest::{ALL, NETWORKS, OutputError, PERFSAGE_SPACES};
use litecast_trainer::metrics::summarise;
use litecast_trainer::spaces::{Space, has_networks};

use crate::gnn::batch::Batch;
use crate::gnn::network::GraphNetwork;
use crate::gnn::prepare::Example;
use crate::training_data::{Data, Part};

/// Graphs per forward pass.
pub const BATCH: usize = 64;

/// Estimates in natural units, by graph, then by output.
pub fn estimates(model: &GraphNetwork, part: &Part, data: &Data, device: &Device) -> Vec<Vec<f32>> {
    let device = device.clone().inner();
    let n_outputs = data.outputs.len();
    let mut estimates = Vec::with_capacity(part.examples.len());
    for examples in part.examples.chunks(BATCH) {
        let examples: Vec<&Example> = examples.iter().collect();
        let batch = Batch::new(&examples, data.scaling.n_columns(), &device);
        let outputs = model.forward(&batch, &data.scaling).standardised;
        let outputs: Vec<f32> = outputs
            .into_data()
            .try_to_vec()
            .expect("the network computes in f32");
        let natural = |row: &[f32]| {
            row.iter()
                .enumerate()
                .map(|(k, &o)| data.scaling.estimate(k, o))
                .collect()
        };
        estimates.extend(outputs.chunks_exact(n_outputs).map(natural));
    }
    estimates
}

/// Capped mean error of each output over all graphs, which determines the best epoch.
pub fn capped_mape_by_output(
    model: &GraphNetwork,
    part: &Part,
    data: &Data,
    device: &Device,
) -> Vec<f64> {
    let errors = errors(&estimates(model, part, data, device), part, data);
    let over_all = errors.iter().filter(|error| error.space == ALL);
    over_all.map(|error| error.error.capped_mape).collect()
}

/// Names of the groups of spaces for which errors are stated, with the indices of the spaces: each space, PerfSAGE's
/// spaces and those of networks together if there are also others, and all spaces.
fn groups(spaces: &[String]) -> Vec<(String, Vec<usize>)> {
    let mut groups: Vec<_> = spaces
        .iter()
        .cloned()
        .zip((0..).map(|idx| vec![idx]))
        .collect();
    let is_of_paper = |idx: &usize| Space::PAPER.iter().any(|space| space.id() == spaces[*idx]);
    let of_paper: Vec<usize> = (0..spaces.len()).filter(is_of_paper).collect();
    if of_paper.len() == Space::PAPER.len() && spaces.len() > of_paper.len() {
        groups.push((PERFSAGE_SPACES.to_owned(), of_paper));
    }
    let of_networks: Vec<usize> = (0..spaces.len())
        .filter(|&idx| has_networks(&spaces[idx]))
        .collect();
    if !of_networks.is_empty() && spaces.len() > of_networks.len() {
        groups.push((NETWORKS.to_owned(), of_networks));
    }
    groups.push((ALL.to_owned(), (0..spaces.len()).collect()));
    groups
}

/// Errors by output and group of spaces.
pub fn errors(estimates: &[Vec<f32>], part: &Part, data: &Data) -> Vec<OutputError> {
    let mut errors = Vec::new();
    for (output, key) in data.outputs.iter().enumerate() {
        for (name, spaces) in groups(&data.spaces) {
            let graphs = (0..estimates.len()).filter(|&g| spaces.contains(&part.space_of[g]));
            let pairs = graphs.map(|g| (estimates[g][output], part.examples[g].labels[output]));
            let (estimates, labels): (Vec<f32>, Vec<f32>) = pairs.unzip();
            errors.push(OutputError {
                target: key.target.clone(),
                metric: key.metric.clone(),
                space: name,
                error: summarise(&estimates, &labels),
            });
        }
    }
    errors
}
