//! The operations over graphs: neighbour sums (PerfSAGE's eq. 2) and readouts.
//!
//! Neighbour sums and maxima are implemented twice: in one pass over memory on the CPU with an explicit gradient, and
//! composed of the library's operations for any other device. Tests compare both.

use std::sync::Arc;

use burn::backend::autodiff::checkpoint::base::Checkpointer;
use burn::backend::autodiff::grads::Gradients;
use burn::backend::autodiff::ops::{Backward, Ops, OpsKind, unary};
use burn::backend::flex::FlexTensor;
use burn::backend::{Autodiff, Flex};
use burn::tensor::{Device, IndexingUpdateOp, Tensor, TensorData};
use rayon::prelude::*;

use super::batch::{NodeLists, Topology};

type CpuAutodiff = Autodiff<Flex>;

/// Nodes per parallel task, enough to outweigh the cost of starting it.
const NODES_PER_TASK: usize = 256;

/// The neighbours whose rows are summed for a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Neighbours {
    /// One sum over all neighbours, in both directions of the edges (eq. 2).
    Together,
    /// One sum over predecessors and one over successors.
    Apart,
    /// One sum over predecessors.
    Predecessors,
    /// One sum over successors.
    Successors,
}

impl Neighbours {
    /// For each sum, the nodes that are summed for a node, and the nodes for whose sums it is read.
    fn lists(self, topology: &Topology) -> Vec<[&NodeLists; 2]> {
        let Topology {
            neighbours,
            predecessors,
            successors,
            ..
        } = topology;
        match self {
            Self::Together => vec![[neighbours, neighbours]],
            Self::Apart => vec![[predecessors, successors], [successors, predecessors]],
            Self::Predecessors => vec![[predecessors, successors]],
            Self::Successors => vec![[successors, predecessors]],
        }
    }

    /// `[n_nodes, 1]`: number of rows in the first sum of each node, at least 1.
    pub fn n_summed(self, topology: &Topology, device: &Device) -> Tensor<2> {
        let [summed, _] = self.lists(topology)[0];
        let n_nodes = topology.n_nodes();
        let counts = (0..n_nodes).map(|node| summed.members(node).len().max(1) as f32);
        Tensor::from_data(TensorData::new(counts.collect(), [n_nodes, 1]), device)
    }
}

/// `[n_nodes, w]` → `[n_nodes, (1 + sums) w]`: each row, followed by the sums of its neighbours' rows.
pub fn concat_neighbour_sums(
    hidden: Tensor<2>,
    topology: &Arc<Topology>,
    neighbours: Neighbours,
) -> Tensor<2> {
    if let Ok(tracked) = hidden.clone().try_into_primitive::<CpuAutodiff>() {
        return concat_on_cpu_autodiff(tracked, topology, neighbours);
    }
    match hidden.clone().try_into_primitive::<Flex>() {
        Ok(plain) => Tensor::from_primitive::<Flex>(concat_forward(&plain, topology, neighbours)),
        Err(_) => concat_neighbour_sums_portable(hidden, topology, neighbours),
    }
}

/// [`concat_neighbour_sums`], composed of operations that every device supports.
pub fn concat_neighbour_sums_portable(
    hidden: Tensor<2>,
    topology: &Topology,
    neighbours: Neighbours,
) -> Tensor<2> {
    let device = hidden.device();
    let sum = |[lists, _]: [&NodeLists; 2]| {
        let sums = hidden.zeros_like();
        if lists.is_empty() {
            return sums;
        }
        let [from, to] = lists.indices(&device).clone();
        let messages = hidden.clone().select(0, from);
        sums.select_assign(0, to, messages, IndexingUpdateOp::Add)
    };
    let sums = neighbours.lists(topology).into_iter().map(sum);
    let parts = std::iter::once(hidden.clone()).chain(sums).collect();
    Tensor::cat(parts, 1)
}

/// `[n_nodes, w]` → `[n_graphs, w]`: sum of each column over each graph's rows.
pub fn sum_per_graph(values: Tensor<2>, topology: &Topology) -> Tensor<2> {
    let membership = topology.membership(&values.device()).clone();
    membership.matmul(values)
}

/// `[n_nodes, w]` → `[n_graphs, w]`: mean of each column over each graph's rows.
pub fn mean_per_graph(values: Tensor<2>, topology: &Topology) -> Tensor<2> {
    let n_nodes = topology.graphs().map(|rows| rows.len().max(1) as f32);
    let n_nodes = TensorData::new(n_nodes.collect(), [topology.n_graphs(), 1]);
    let n_nodes = Tensor::from_data(n_nodes, &values.device());
    sum_per_graph(values, topology) / n_nodes
}

/// `[n_graphs, w]` → `[n_nodes, w]`: the row of each node's graph.
pub fn broadcast_to_nodes(values: Tensor<2>, topology: &Topology) -> Tensor<2> {
    let membership = topology.membership(&values.device()).clone();
    membership.transpose().matmul(values)
}

/// `[n_nodes, w]` → `[n_graphs, w]`: largest value of each column over each graph's rows; 0 for a
/// graph without nodes.
pub fn max_per_graph(hidden: Tensor<2>, topology: &Arc<Topology>) -> Tensor<2> {
    if let Ok(tracked) = hidden.clone().try_into_primitive::<CpuAutodiff>() {
        return max_on_cpu_autodiff(tracked, topology);
    }
    match hidden.clone().try_into_primitive::<Flex>() {
        Ok(plain) => Tensor::from_primitive::<Flex>(max_forward(&plain, topology).0),
        Err(_) => max_per_graph_portable(hidden, topology),
    }
}

/// [`max_per_graph`], composed of operations that every device supports: a padded gather. Every graph must have nodes.
pub fn max_per_graph_portable(hidden: Tensor<2>, topology: &Topology) -> Tensor<2> {
    let [_, width] = hidden.dims();
    let device = hidden.device();
    let padded_rows = topology.padded_rows(&device);
    let least = Tensor::full([1, width], f32::MIN, &device);
    let padded = Tensor::cat(vec![hidden, least], 0);
    let rows = padded.select(0, padded_rows.rows.clone());
    rows.reshape([topology.n_graphs(), padded_rows.longest, width])
        .max_dim(1)
        .squeeze_dim(1)
}

fn rows_and_width(tensor: &FlexTensor) -> (usize, usize) {
    let shape = tensor.layout().shape();
    (shape[0], shape[1])
}

fn flex_tensor(values: Vec<f32>, rows: usize, width: usize) -> FlexTensor {
    FlexTensor::from_data(TensorData::new(values, [rows, width]))
}

fn add_row(sum: &mut [f32], row: &[f32]) {
    sum.iter_mut().zip(row).for_each(|(s, r)| *s += r);
}

fn concat_forward(hidden: &FlexTensor, topology: &Topology, neighbours: Neighbours) -> FlexTensor {
    let hidden = hidden.to_contiguous();
    let (n_nodes, width) = rows_and_width(&hidden);
    let rows: &[f32] = hidden.storage();
    let row = |i: usize| &rows[i * width..(i + 1) * width];
    let lists = neighbours.lists(topology);
    let width_out = (1 + lists.len()) * width;
    let mut out = vec![0f32; n_nodes * width_out];
    let fill = |(i, out_row): (usize, &mut [f32])| {
        let (own_features, sums) = out_row.split_at_mut(width);
        own_features.copy_from_slice(row(i));
        for ([summed, _], sum) in lists.iter().zip(sums.chunks_exact_mut(width)) {
            summed
                .members(i)
                .iter()
                .for_each(|&j| add_row(sum, row(j as usize)));
        }
    };
    out.par_chunks_mut(width_out)
        .with_min_len(NODES_PER_TASK)
        .enumerate()
        .for_each(fill);
    flex_tensor(out, n_nodes, width_out)
}

/// The gradient of a sum is passed to all rows that were read: a sum over the opposite lists.
fn concat_backward(grad: &FlexTensor, topology: &Topology, neighbours: Neighbours) -> FlexTensor {
    let grad = grad.to_contiguous();
    let lists = neighbours.lists(topology);
    let (n_nodes, width_in) = rows_and_width(&grad);
    let width = width_in / (1 + lists.len());
    let grads: &[f32] = grad.storage();
    let part = |node: usize, part: usize| {
        let start = node * width_in + part * width;
        &grads[start..start + width]
    };
    let mut out = vec![0f32; n_nodes * width];
    let fill = |(i, out_row): (usize, &mut [f32])| {
        out_row.copy_from_slice(part(i, 0));
        for ([_, readers], k) in lists.iter().zip(1..) {
            readers
                .members(i)
                .iter()
                .for_each(|&j| add_row(out_row, part(j as usize, k)));
        }
    };
    out.par_chunks_mut(width)
        .with_min_len(NODES_PER_TASK)
        .enumerate()
        .for_each(fill);
    flex_tensor(out, n_nodes, width)
}

/// Maxima, each with the row that contains it.
fn max_forward(hidden: &FlexTensor, topology: &Topology) -> (FlexTensor, Vec<u32>) {
    let hidden = hidden.to_contiguous();
    let (_, width) = rows_and_width(&hidden);
    let rows: &[f32] = hidden.storage();
    let mut maxima = vec![0f32; topology.n_graphs() * width];
    let mut holders = vec![0u32; maxima.len()];
    for (graph, range) in topology.graphs().enumerate() {
        let best = &mut maxima[graph * width..(graph + 1) * width];
        let holder = &mut holders[graph * width..(graph + 1) * width];
        holder.fill(range.start as u32);
        if !range.is_empty() {
            best.fill(f32::MIN);
        }
        for i in range {
            let row = &rows[i * width..(i + 1) * width];
            for ((best, holder), &value) in best.iter_mut().zip(holder.iter_mut()).zip(row) {
                let larger = value > *best;
                *best = if larger { value } else { *best };
                *holder = if larger { i as u32 } else { *holder };
            }
        }
    }
    (flex_tensor(maxima, topology.n_graphs(), width), holders)
}

fn max_backward(grad: &FlexTensor, holders: &[u32], n_nodes: usize) -> FlexTensor {
    let grad = grad.to_contiguous();
    let (_, width) = rows_and_width(&grad);
    let grads: &[f32] = grad.storage();
    let mut out = vec![0f32; n_nodes * width];
    for (k, (&g, &row)) in grads.iter().zip(holders).enumerate() {
        out[row as usize * width + k % width] += g;
    }
    flex_tensor(out, n_nodes, width)
}

#[derive(Debug)]
struct ConcatNeighbourSums;

impl Backward<Flex, 1> for ConcatNeighbourSums {
    type State = (Arc<Topology>, Neighbours);

    fn backward(self, ops: Ops<Self::State, 1>, grads: &mut Gradients, _: &mut Checkpointer) {
        let (topology, neighbours) = ops.state;
        unary::<Flex, _>(ops.parents, ops.node, grads, |grad| {
            concat_backward(&grad, &topology, neighbours)
        });
    }
}

#[derive(Debug)]
struct MaxPerGraph;

impl Backward<Flex, 1> for MaxPerGraph {
    type State = (Arc<[u32]>, usize);

    fn backward(self, ops: Ops<Self::State, 1>, grads: &mut Gradients, _: &mut Checkpointer) {
        let (holders, n_nodes) = ops.state;
        unary::<Flex, _>(ops.parents, ops.node, grads, |grad| {
            max_backward(&grad, &holders, n_nodes)
        });
    }
}

type Tracked = <CpuAutodiff as burn::backend::BackendTypes>::FloatTensorPrimitive;

fn concat_on_cpu_autodiff(
    hidden: Tracked,
    topology: &Arc<Topology>,
    neighbours: Neighbours,
) -> Tensor<2> {
    let out = concat_forward(hidden.primitive(), topology, neighbours);
    let prep = ConcatNeighbourSums
        .prepare::<burn::backend::autodiff::checkpoint::strategy::NoCheckpointing>([hidden.node()])
        .compute_bound()
        .stateful();
    Tensor::from_primitive::<CpuAutodiff>(match prep {
        OpsKind::Tracked(prep) => prep.finish((topology.clone(), neighbours), out),
        OpsKind::UnTracked(prep) => prep.finish(out),
    })
}

fn max_on_cpu_autodiff(hidden: Tracked, topology: &Arc<Topology>) -> Tensor<2> {
    let (out, holders) = max_forward(hidden.primitive(), topology);
    let prep = MaxPerGraph
        .prepare::<burn::backend::autodiff::checkpoint::strategy::NoCheckpointing>([hidden.node()])
        .compute_bound()
        .stateful();
    Tensor::from_primitive::<CpuAutodiff>(match prep {
        OpsKind::Tracked(prep) => prep.finish((holders.into(), topology.n_nodes()), out),
        OpsKind::UnTracked(prep) => prep.finish(out),
    })
}
