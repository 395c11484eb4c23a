//! The two operations over graphs: neighbour sums (eq. 2) and the readout's maximum.
//!
//! Each exists twice: as one pass over memory on the CPU with its gradient written out, and as
//! a composition of the library's own operations for any other device. Tests hold them equal.

use std::sync::Arc;

use burn::backend::autodiff::checkpoint::base::Checkpointer;
use burn::backend::autodiff::grads::Gradients;
use burn::backend::autodiff::ops::{Backward, Ops, OpsKind, unary};
use burn::backend::flex::FlexTensor;
use burn::backend::{Autodiff, Flex};
use burn::tensor::{IndexingUpdateOp, Tensor, TensorData};
use rayon::prelude::*;

use super::batch::Topology;

type CpuAutodiff = Autodiff<Flex>;

/// Nodes per parallel task: enough work to pay for handing it over.
const NODES_PER_TASK: usize = 256;

/// `[n_nodes, w]` → `[n_nodes, 2 w]`: each row followed by the sum of its neighbours' rows.
pub fn concat_neighbour_sum(hidden: Tensor<2>, topology: &Arc<Topology>) -> Tensor<2> {
    if let Ok(tracked) = hidden.clone().try_into_primitive::<CpuAutodiff>() {
        return concat_on_cpu_autodiff(tracked, topology);
    }
    match hidden.clone().try_into_primitive::<Flex>() {
        Ok(plain) => Tensor::from_primitive::<Flex>(concat_forward(&plain, topology)),
        Err(_) => concat_neighbour_sum_portable(hidden, topology),
    }
}

/// [`concat_neighbour_sum`] from operations that every device has.
pub fn concat_neighbour_sum_portable(hidden: Tensor<2>, topology: &Topology) -> Tensor<2> {
    let indices = topology.indices(&hidden.device());
    let sums = hidden.zeros_like();
    if topology.neighbours.is_empty() {
        return Tensor::cat(vec![hidden, sums], 1);
    }
    let messages = hidden.clone().select(0, indices.from.clone());
    let sums = sums.select_assign(0, indices.to.clone(), messages, IndexingUpdateOp::Add);
    Tensor::cat(vec![hidden, sums], 1)
}

/// `[n_nodes, w]` → `[n_graphs, w]`: largest value of each column over each graph's rows.
/// Expects values ≥ 0, as they are after a relu.
pub fn max_per_graph(hidden: Tensor<2>, topology: &Arc<Topology>) -> Tensor<2> {
    if let Ok(tracked) = hidden.clone().try_into_primitive::<CpuAutodiff>() {
        return max_on_cpu_autodiff(tracked, topology);
    }
    match hidden.clone().try_into_primitive::<Flex>() {
        Ok(plain) => Tensor::from_primitive::<Flex>(max_forward(&plain, topology).0),
        Err(_) => max_per_graph_portable(hidden, topology),
    }
}

/// [`max_per_graph`] from operations that every device has: a padded gather.
pub fn max_per_graph_portable(hidden: Tensor<2>, topology: &Topology) -> Tensor<2> {
    let [_, width] = hidden.dims();
    let device = hidden.device();
    let indices = topology.indices(&device);
    let padded = Tensor::cat(vec![hidden, Tensor::zeros([1, width], &device)], 0);
    let rows = padded.select(0, indices.padded_rows.clone());
    rows.reshape([topology.n_graphs(), indices.longest, width])
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

fn concat_forward(hidden: &FlexTensor, topology: &Topology) -> FlexTensor {
    let hidden = hidden.to_contiguous();
    let (n_nodes, width) = rows_and_width(&hidden);
    let rows: &[f32] = hidden.storage();
    let row = |i: usize| &rows[i * width..(i + 1) * width];
    let mut out = vec![0f32; n_nodes * 2 * width];
    let fill = |(i, out_row): (usize, &mut [f32])| {
        let (own, sum) = out_row.split_at_mut(width);
        own.copy_from_slice(row(i));
        topology
            .neighbours_of(i)
            .iter()
            .for_each(|&j| add_row(sum, row(j as usize)));
    };
    out.par_chunks_mut(2 * width)
        .with_min_len(NODES_PER_TASK)
        .enumerate()
        .for_each(fill);
    flex_tensor(out, n_nodes, 2 * width)
}

/// Neighbourhood is symmetric, so the gradient is a neighbour sum too.
fn concat_backward(grad: &FlexTensor, topology: &Topology) -> FlexTensor {
    let grad = grad.to_contiguous();
    let (n_nodes, width) = (topology.n_nodes(), rows_and_width(&grad).1 / 2);
    let grads: &[f32] = grad.storage();
    let mut out = vec![0f32; n_nodes * width];
    let fill = |(i, out_row): (usize, &mut [f32])| {
        out_row.copy_from_slice(&grads[2 * i * width..(2 * i + 1) * width]);
        for &j in topology.neighbours_of(i) {
            let j = j as usize;
            add_row(out_row, &grads[(2 * j + 1) * width..(2 * j + 2) * width]);
        }
    };
    out.par_chunks_mut(width)
        .with_min_len(NODES_PER_TASK)
        .enumerate()
        .for_each(fill);
    flex_tensor(out, n_nodes, width)
}

/// Maxima and, for each, the row that holds it.
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
struct ConcatNeighbourSum;

impl Backward<Flex, 1> for ConcatNeighbourSum {
    type State = Arc<Topology>;

    fn backward(self, ops: Ops<Self::State, 1>, grads: &mut Gradients, _: &mut Checkpointer) {
        let topology = ops.state;
        unary::<Flex, _>(ops.parents, ops.node, grads, |grad| {
            concat_backward(&grad, &topology)
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

fn concat_on_cpu_autodiff(hidden: Tracked, topology: &Arc<Topology>) -> Tensor<2> {
    let out = concat_forward(hidden.primitive(), topology);
    let prep = ConcatNeighbourSum
        .prepare::<burn::backend::autodiff::checkpoint::strategy::NoCheckpointing>([hidden.node()])
        .compute_bound()
        .stateful();
    Tensor::from_primitive::<CpuAutodiff>(match prep {
        OpsKind::Tracked(prep) => prep.finish(topology.clone(), out),
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
