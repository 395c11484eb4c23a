//! Dead output channels: all weights of their filters are zero, so their values are known before the model runs, and a
//! compiler can drop them and the products that read them.
//!
//! The rule follows from published latencies of one network under ST Edge AI before 8.1 and since: the latency of
//! MLPerf Tiny's Visual Wake Words network halves, and half of its products belong to such channels.

use std::collections::HashMap;
use std::rc::Rc;

use crate::formats::tflite::op_row::CoreWork;
use crate::formats::tflite::{OpKind, TensorType};
use crate::graph::scan::ScanBudget;
use crate::graph::{Graph, Node};

/// Live channels by tensor: those that hold computed values. In tensors that are not listed, all channels are live.
#[derive(Debug, Default)]
pub struct LiveChannels {
    by_tensor: HashMap<usize, Rc<TensorChannels>>,
}

/// The channels of a tensor, which those that follow it share.
#[derive(Debug)]
struct TensorChannels {
    is_live: Vec<bool>,
    n_live: usize,
}

impl From<Vec<bool>> for TensorChannels {
    fn from(is_live: Vec<bool>) -> Self {
        Self {
            n_live: is_live.iter().filter(|&&is_live| is_live).count(),
            is_live,
        }
    }
}

impl LiveChannels {
    /// Linear in weight bytes, up to a budget; channels beyond it count as live.
    pub fn new(graph: &Graph) -> Self {
        let mut live = Self::default();
        let mut budget = ScanBudget::new(graph.model);
        for node in graph.nodes.iter() {
            if let Some((output, channels)) = live.written_channels(graph, node, &mut budget) {
                live.by_tensor.insert(output, channels);
            }
        }
        live
    }

    /// Number of live channels of a tensor with `channels` channels.
    pub fn count(&self, tensor_idx: usize, channels: f64) -> f64 {
        let live = self.by_tensor.get(&tensor_idx);
        live.filter(|live| live.is_live.len() as f64 == channels)
            .map_or(channels, |live| live.n_live as f64)
    }

    /// The tensor that an operator writes, and its channels.
    fn written_channels(
        &self,
        graph: &Graph,
        node: &Node,
        budget: &mut ScanBudget,
    ) -> Option<(usize, Rc<TensorChannels>)> {
        let operator = node.operator;
        let output = *operator.outputs.first()?;
        let input = (*operator.inputs.first()?)?;
        let read = self.by_tensor.get(&input).cloned();
        let channels = match operator.code.kind.row().cores {
            CoreWork::Convolution => Rc::new(live_filters(graph, node, 0, budget)?.into()),
            CoreWork::Depthwise => {
                let mut live = live_filters(graph, node, 3, budget)?;
                if let Some(read) = read.filter(|read| read.is_live.len() == live.len()) {
                    for (is_live, is_read_live) in live.iter_mut().zip(&read.is_live) {
                        *is_live &= is_read_live;
                    }
                }
                Rc::new(live.into())
            }
            CoreWork::Pool => read?,
            CoreWork::Elementwise if matches!(operator.code.kind, OpKind::Relu | OpKind::Relu6) => {
                read?
            }
            CoreWork::Conversion
            | CoreWork::Dense
            | CoreWork::Elementwise
            | CoreWork::Free
            | CoreWork::Move
            | CoreWork::Reduction
            | CoreWork::TransposedConvolution
            | CoreWork::Unknown => return None,
        };
        Some((output, channels))
    }
}

/// For each filter, whether it has a weight that is not zero; filters lie along `axis` of the weights.
fn live_filters(
    graph: &Graph,
    node: &Node,
    axis: usize,
    budget: &mut ScanBudget,
) -> Option<Vec<bool>> {
    let weights = (*node.operator.inputs.get(1)?)?;
    let tensor = graph.tensor(weights);
    let stored = graph.constant(weights);
    let n_filters = usize::try_from(*tensor.shape.get(axis)?).ok()?;
    let is_dense = tensor.sparsity.is_none() && tensor.byte_len() == Some(stored.len() as u64);
    if tensor.tensor_type != TensorType::Int8 || n_filters == 0 || !is_dense {
        return None;
    }
    let stored = budget.spend(stored)?;
    Some(match axis {
        0 => live_on_first_axis(stored, n_filters),
        _ => live_on_last_axis(stored, n_filters),
    })
}

/// Which of `n_filters` consecutive filters have a weight that is not zero. A trained filter is recognised by its first bytes.
fn live_on_first_axis(stored: &[u8], n_filters: usize) -> Vec<bool> {
    let mut live = vec![false; n_filters];
    for (is_live, filter) in live
        .iter_mut()
        .zip(stored.chunks((stored.len() / n_filters).max(1)))
    {
        *is_live = filter.iter().any(|&value| value != 0);
    }
    live
}

/// As [`live_on_first_axis`], for interleaved filters: one byte of each in turn.
fn live_on_last_axis(stored: &[u8], n_filters: usize) -> Vec<bool> {
    let mut live = vec![false; n_filters];
    for row in stored.chunks(n_filters) {
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
                live_on_first_axis(&stored, n),
                live_of(&|at| at / (360 / n)),
                "{n} filters"
            );
            assert_eq!(
                live_on_last_axis(&stored, n),
                live_of(&|at| at % n),
                "{n} filters"
            );
        }
        assert_eq!(live_on_first_axis(&[], 2), [false, false]);
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
