//! Flash under ST Edge AI: weights, which are counted, and code, which is estimated.

use super::operator_counts::{Kind, kind};
use crate::graph::Graph;
use crate::graph::analysis::Analysis;
use crate::targets::tflite_micro::Bytes;

/// Bytes of weights and biases, each constant counted once. Linear.
pub fn weights_flash_bytes(analysis: &Analysis) -> u64 {
    analysis.totals.weight_bytes
}

/// Code and tables of the runtime and the generated network. Linear.
///
/// A fit to the figures that ST publishes for 45 networks. With a family of networks left out, it is off by 12 % in the
/// mean and 36 % at most (`docs/method/microcontrollers.md`).
pub fn st_code_flash_bytes(graph: &Graph) -> Bytes {
    let nodes = graph.nodes.iter().map(|node| node.operator);
    let convolutions = nodes.filter(|operator| {
        matches!(
            kind(operator.code.kind),
            Kind::Convolution | Kind::Depthwise
        )
    });
    let channels: u64 = convolutions
        .filter_map(|operator| graph.tensor(*operator.outputs.first()?).shape.last())
        .filter_map(|&channels| u64::try_from(channels).ok())
        .fold(0, u64::saturating_add);
    let value = ST_RUNTIME_BYTES
        .saturating_add((graph.nodes.len() as u64).saturating_mul(ST_OPERATOR_BYTES))
        .saturating_add(channels.saturating_mul(ST_CHANNEL_BYTES));
    Bytes {
        value,
        lo: (value as f64 / ST_CODE_FACTOR) as u64,
        hi: (value as f64 * ST_CODE_FACTOR) as u64,
    }
}

const ST_RUNTIME_BYTES: u64 = 40_400;
const ST_OPERATOR_BYTES: u64 = 367;
/// Bytes for the scales of a channel.
const ST_CHANNEL_BYTES: u64 = 6;
/// Half width of the interval, as a factor. Nine of ten estimates with a family of networks left out are off by a
/// quarter at most.
const ST_CODE_FACTOR: f64 = 1.35;
