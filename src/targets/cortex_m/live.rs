//! Dead output channels: all weights of their filters are zero, so their values are known before the model runs, and a
//! compiler can drop them and the products that read them.
//!
//! The rule follows from published latencies of one network under ST Edge AI before 8.1 and since: the latency of
//! MLPerf Tiny's Visual Wake Words network halves, and half of its products belong to such channels.

use std::collections::HashMap;

use crate::formats::tflite::{OpKind, TensorType};
use crate::graph::{Graph, Node};

/// Maximum number of weight bytes that are scanned in one graph. It bounds the time, because many operators may share a
/// large constant. Channels beyond it count as live.
const MAX_SCANNED_BYTES: usize = 64 << 20;

/// Live channels by tensor: those that hold computed values. In tensors that are not listed, all channels are live.
#[derive(Debug, Default)]
pub struct LiveChannels {
    by_tensor: HashMap<usize, Vec<bool>>,
    scanned_bytes: usize,
}

impl LiveChannels {
    /// Linear in weight bytes, up to a limit.
    pub fn new(graph: &Graph) -> Self {
        let mut live = Self::default();
        for node in graph.nodes.iter() {
            if let Some((output, channels)) = live.of_node(graph, node) {
                live.by_tensor.insert(output, channels);
            }
        }
        live
    }

    /// Number of live channels of a tensor with `channels` channels.
    pub fn count(&self, tensor_idx: usize, channels: f64) -> f64 {
        let live = self.by_tensor.get(&tensor_idx);
        live.filter(|live| live.len() as f64 == channels)
            .map_or(channels, |live| {
                live.iter().filter(|&&is_live| is_live).count() as f64
            })
    }

    fn of_node(&mut self, graph: &Graph, node: &Node) -> Option<(usize, Vec<bool>)> {
        let operator = node.operator;
        let output = *operator.outputs.first()?;
        let input = (*operator.inputs.first()?)?;
        let read = self.by_tensor.get(&input).cloned();
        let channels = match operator.code.kind {
            OpKind::Conv2d => self.of_filters(graph, node, 0)?,
            OpKind::DepthwiseConv2d => {
                let live = self.of_filters(graph, node, 3)?;
                match read {
                    Some(read) if read.len() == live.len() => live
                        .iter()
                        .zip(read)
                        .map(|(live, read)| *live && read)
                        .collect(),
                    _ => live,
                }
            }
            OpKind::AveragePool2d | OpKind::MaxPool2d | OpKind::Relu | OpKind::Relu6 => read?,
            _ => return None,
        };
        Some((output, channels))
    }

    /// For each filter, whether it has a weight that is not zero; filters lie along `axis` of the weights.
    fn of_filters(&mut self, graph: &Graph, node: &Node, axis: usize) -> Option<Vec<bool>> {
        let weights = (*node.operator.inputs.get(1)?)?;
        let tensor = graph.tensor(weights);
        let stored = graph.constant(weights);
        let filters = usize::try_from(*tensor.shape.get(axis)?).ok()?;
        self.scanned_bytes = self.scanned_bytes.saturating_add(stored.len());
        let is_dense = tensor.sparsity.is_none() && tensor.byte_len() == Some(stored.len() as u64);
        if tensor.tensor_type != TensorType::Int8
            || filters == 0
            || !is_dense
            || self.scanned_bytes > MAX_SCANNED_BYTES
        {
            return None;
        }
        Some(match axis {
            0 => first_axis(stored, filters),
            _ => last_axis(stored, filters),
        })
    }
}

/// Which of `n` consecutive filters have a weight that is not zero. A trained filter is recognised by its first bytes.
fn first_axis(stored: &[u8], n: usize) -> Vec<bool> {
    let mut live = vec![false; n];
    for (is_live, filter) in live
        .iter_mut()
        .zip(stored.chunks((stored.len() / n).max(1)))
    {
        *is_live = filter.iter().any(|&value| value != 0);
    }
    live
}

/// As [`first_axis`], for interleaved filters: one byte of each in turn.
fn last_axis(stored: &[u8], n: usize) -> Vec<bool> {
    let mut live = vec![false; n];
    for row in stored.chunks(n) {
        for (is_live, &value) in live.iter_mut().zip(row) {
            *is_live |= value != 0;
        }
    }
    live
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::analysis::fixtures::{graph_of, model, operator, subgraph, tensor};

    /// Compares with finding the filter of each byte separately.
    #[test]
    fn rows_of_bytes_belong_to_the_filters_that_each_byte_does() {
        let stored: Vec<u8> = (0..360u32).map(|idx| u8::from(idx % 7 == 3)).collect();
        for n in [1, 2, 5, 24, 90, 180, 360] {
            let live_of = |filter_of: &dyn Fn(usize) -> usize| -> Vec<bool> {
                let is_live =
                    |filter| (0..360).any(|at| filter_of(at) == filter && stored[at] != 0);
                (0..n).map(is_live).collect()
            };
            assert_eq!(
                first_axis(&stored, n),
                live_of(&|at| at / (360 / n)),
                "{n} filters"
            );
            assert_eq!(last_axis(&stored, n), live_of(&|at| at % n), "{n} filters");
        }
        assert_eq!(first_axis(&[], 2), [false, false]);
    }

    /// Three filters of two values, the second of zeros; then one window for each channel, the third
    /// of zeros.
    #[test]
    fn filters_of_zeros_are_dead_and_stay_dead() {
        let constant = |buffer_idx: usize, shape: &[i32]| crate::formats::tflite::Tensor {
            buffer_idx,
            ..tensor(TensorType::Int8, shape)
        };
        let tensors = vec![
            tensor(TensorType::Int8, &[1, 4, 4, 2]),
            constant(1, &[3, 1, 1, 2]),
            tensor(TensorType::Int8, &[1, 4, 4, 3]),
            constant(2, &[1, 1, 2, 3]),
            tensor(TensorType::Int8, &[1, 4, 4, 3]),
        ];
        let operators = vec![
            operator(OpKind::Conv2d, &[0, 1], &[2]),
            operator(OpKind::DepthwiseConv2d, &[2, 3], &[4]),
        ];
        let mut model = model(vec![subgraph(tensors, operators)]);
        let buffers: [&[u8]; 3] = [&[], &[1, 0, 0, 0, 0, 5], &[1, 1, 0, 1, 1, 0]];
        model.buffers = buffers.map(Into::into).into();
        let live = LiveChannels::new(&graph_of(&model));
        assert_eq!(live.count(0, 2.0), 2.0, "an input is alive");
        assert_eq!(live.count(2, 3.0), 2.0);
        assert_eq!(live.count(4, 3.0), 1.0);
    }
}
