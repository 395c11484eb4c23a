//! Measures whether a network finds the operators that cost the most.

use burn::tensor::{Device, Tensor};
use litecast::learned::features::N_COLUMNS;
use litecast_trainer::markdown::{Head, table};

use crate::errors::BATCH;
use crate::gnn::batch::Batch;
use crate::gnn::network::GraphNetwork;
use crate::gnn::prepare::Example;
use crate::training_data::{Data, Part};

/// Number of operators that should be found in each graph.
pub const N_COSTLIEST: usize = 10;

/// The share of the costliest operators that is found, for one output.
#[derive(Clone, Debug, PartialEq)]
pub struct Attribution {
    /// Index into [`Data::outputs`].
    pub output: usize,
    /// Mean over graphs of the share of the [`N_COSTLIEST`] costliest operators by label that are also costliest by
    /// estimate, in percent.
    pub found: f64,
    /// Graphs that have labels of operators, and more operators than should be found.
    pub n_graphs: usize,
}

/// One result for each output whose operators have labels; none for a network that estimates whole graphs.
pub fn attribution(model: &GraphNetwork, part: &Part, data: &Data) -> Vec<Attribution> {
    let device = Device::flex();
    let n_outputs = data.outputs.len();
    let mut shares = vec![Vec::new(); n_outputs];
    for examples in part.examples.chunks(BATCH) {
        let examples: Vec<&Example> = examples.iter().collect();
        let batch = Batch::new(&examples, N_COLUMNS, &device);
        let Some(operators) = model.forward(&batch, &data.scaling).operators else {
            return Vec::new();
        };
        let estimates = floats(operators);
        let mut rows = estimates.chunks_exact(n_outputs);
        for example in examples {
            let estimates: Vec<&[f32]> = rows.by_ref().take(example.n_nodes()).collect();
            for (output, shares) in shares.iter_mut().enumerate() {
                let estimated = estimates.iter().map(|row| row[output]).collect();
                let labels = example.operator_labels.iter().skip(output);
                shares.extend(share_found(
                    labels.step_by(n_outputs).copied().collect(),
                    estimated,
                ));
            }
        }
    }
    let summary = |(output, shares): (usize, Vec<f64>)| Attribution {
        output,
        found: 100.0 * shares.iter().sum::<f64>() / shares.len() as f64,
        n_graphs: shares.len(),
    };
    let labelled = shares
        .into_iter()
        .enumerate()
        .filter(|(_, s)| !s.is_empty());
    labelled.map(summary).collect()
}

/// Share of the costliest operators by `labels` that are among the costliest by `estimates`.
fn share_found(labels: Vec<f32>, estimates: Vec<f32>) -> Option<f64> {
    if labels.len() <= N_COSTLIEST || labels.iter().any(|label| label.is_nan()) {
        return None;
    }
    let truth = costliest(&labels);
    let hits = costliest(&estimates)
        .into_iter()
        .filter(|node| truth.contains(node));
    Some(hits.count() as f64 / N_COSTLIEST as f64)
}

fn costliest(values: &[f32]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_unstable_by(|&a, &b| values[b].total_cmp(&values[a]));
    order.truncate(N_COSTLIEST);
    order
}

fn floats(tensor: Tensor<2>) -> Vec<f32> {
    tensor
        .into_data()
        .try_to_vec()
        .expect("the network computes in f32")
}

/// A table with the share of the costliest operators that is found; empty if a network does not estimate operators.
pub fn attribution_table(attributions: &[Attribution], data: &Data) -> String {
    if attributions.is_empty() {
        return String::new();
    }
    let heads = [
        Head::text("output"),
        Head::number("found"),
        Head::number("graphs"),
    ];
    let row = |a: &Attribution| {
        let output = data.output_names()[a.output].clone();
        vec![output, format!("{:.1} %", a.found), a.n_graphs.to_string()]
    };
    format!(
        "\nOf the {N_COSTLIEST} operators with the highest label, these are among the {N_COSTLIEST} with \
         the highest estimate:\n\n{}",
        table(&heads, attributions.iter().map(row))
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_the_costliest() {
        let labels: Vec<f32> = (0..20).map(|i| i as f32).collect();
        assert_eq!(share_found(labels.clone(), labels.clone()), Some(1.0));
        // The costliest ten are 10 to 19; the estimates' costliest ten are 5 to 14.
        let estimates = (0..20).map(|i| ((i + 5) % 20) as f32).collect();
        assert_eq!(share_found(labels.clone(), estimates), Some(0.5));
        assert_eq!(share_found(vec![f32::NAN; 20], labels), None);
    }
}
