//! [`Graph`] and [`Analysis`] → [`Features`] of networks that read the compiler's plan.

use super::accelerator::ACCELERATORS;
use super::geometry::brick_padding;
use super::live_ranges::LiveRanges;
use super::lower::one_operation_per_node;
use super::order::Order;
use super::plan::plan;
use super::weights::coded_bytes;
use crate::graph::Graph;
use crate::graph::analysis::Analysis;
use crate::learned::features::{self, CompilerPlan, Features};

/// The predictor's input for one graph. The trainer uses it as well.
pub fn features(graph: &Graph, analysis: &Analysis) -> Features {
    let (execution_order, live_feature_map_bytes) = whole_operators(graph, analysis);
    let coded_weight_bytes = (0..graph.nodes.len())
        .map(|node_idx| coded_weight_bytes(graph, analysis, node_idx))
        .collect();
    let compiler = CompilerPlan {
        live_feature_map_bytes,
        execution_order,
        coded_weight_bytes,
        operators: (ACCELERATORS.each_ref()).map(|accelerator| plan(accelerator, graph, analysis)),
    };
    features::extract(graph, analysis, &compiler)
}

/// The order in which unchanged operators run, and by step the live bytes of feature maps.
fn whole_operators(graph: &Graph, analysis: &Analysis) -> (Vec<usize>, Vec<f64>) {
    let program = one_operation_per_node(graph, analysis);
    let order = Order::new(&program);
    let live_ranges = LiveRanges::new(&program, &order, false);
    let live_bytes = live_ranges.live_bytes(graph.nodes.len(), |_| true);
    (order.operations, live_bytes)
}

fn coded_weight_bytes(graph: &Graph, analysis: &Analysis, node_idx: usize) -> f64 {
    let Some(weights) = &analysis.costs[node_idx].weights else {
        return 0.0;
    };
    let mut inputs = graph.nodes[node_idx].operator.inputs.iter().flatten();
    let activation = inputs.find(|&&t| !graph.is_constant(t));
    // In single precision, like the channels in the feature table.
    let channels = activation.map_or(0.0, |&t| {
        let shape = &graph.tensor(t).shape;
        shape.last().map_or(1.0, |&channels| channels as f32)
    });
    coded_bytes(&weights.histogram, brick_padding(f64::from(channels)) - 1.0)
}
