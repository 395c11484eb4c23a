//! Windows between SPACE_TO_BATCH_ND and BATCH_TO_SPACE_ND, which run as one dilated window. Reproduces
//! `RewriteSpaceToBatchConvBatchToSpace` of Vela.

use crate::formats::tflite::{OpKind, integers};
use crate::graph::Graph;

/// A convolution whose input is divided into blocks and whose output is put together again.
pub struct DilatedWindow {
    /// Node of the convolution.
    pub window: usize,
    /// Nodes of the operators around it, which do not run.
    pub around: Vec<usize>,
    /// Tensor that is divided into blocks.
    pub input: usize,
    /// Tensor that is put together.
    pub output: usize,
    /// Height and width of a block.
    pub dilation: [i64; 2],
}

/// All of a graph, in topological order. Linear in nodes and edges.
pub fn dilated_windows(graph: &Graph) -> Vec<DilatedWindow> {
    let kind = |node_idx: usize| graph.nodes[node_idx].operator.code.kind;
    if !(0..graph.nodes.len()).any(|node_idx| kind(node_idx) == OpKind::SpaceToBatchNd) {
        return Vec::new();
    }
    let n_tensors = graph.subgraph.tensors.len();
    let mut readers: Vec<Vec<usize>> = vec![Vec::new(); n_tensors];
    let mut writer = vec![None; n_tensors];
    for edge in &graph.edges {
        readers[edge.tensor_idx].push(edge.dst);
        writer[edge.tensor_idx] = Some(edge.src);
    }
    let is_window =
        |&node_idx: &usize| matches!(kind(node_idx), OpKind::Conv2d | OpKind::DepthwiseConv2d);
    let ends = |node_idx: usize| {
        let operator = graph.nodes[node_idx].operator;
        Some((
            operator.inputs.first().copied().flatten()?,
            *operator.outputs.first()?,
        ))
    };
    let mut is_output = vec![false; n_tensors];
    for &output in &graph.subgraph.outputs {
        is_output[output] = true;
    }
    let only_reader = |tensor_idx: usize| match readers[tensor_idx][..] {
        [reader] if !is_output[tensor_idx] => Some(reader),
        _ => None,
    };
    let is_view = |node_idx: usize| {
        use OpKind::{ExpandDims, Reshape, Squeeze};
        let keeps_sizes = || {
            let (read, written) = ends(node_idx)?;
            let [read, written] = [read, written].map(|tensor_idx| {
                let shape = &graph.tensor(tensor_idx).shape;
                shape.iter().filter(|&&size| size != 1).collect::<Vec<_>>()
            });
            Some(read == written)
        };
        matches!(kind(node_idx), ExpandDims | Reshape | Squeeze) && keeps_sizes() == Some(true)
    };
    let dilated_at = |window: usize| {
        let (mut read, mut written) = ends(window)?;
        let mut around = Vec::new();
        only_reader(read)?;
        let mut before = writer[read]?;
        if is_view(before) {
            around.push(before);
            read = ends(before)?.0;
            only_reader(read)?;
            before = writer[read]?;
        }
        let mut behind = only_reader(written)?;
        if is_view(behind) {
            around.push(behind);
            written = ends(behind)?.1;
            behind = only_reader(written)?;
        }
        if [before, behind].map(kind) != [OpKind::SpaceToBatchNd, OpKind::BatchToSpaceNd] {
            return None;
        }
        around.extend([before, behind]);
        let blocks = graph.nodes[before]
            .operator
            .inputs
            .get(1)
            .copied()
            .flatten()?;
        let mut sides = integers(graph.constant(blocks)).map(i64::from);
        let height = sides.next()?;
        let dilation = [height, sides.next().unwrap_or(height)];
        dilation
            .iter()
            .all(|&side| side > 0)
            .then_some(DilatedWindow {
                window,
                around,
                input: ends(before)?.0,
                output: ends(behind)?.1,
                dilation,
            })
    };
    (0..graph.nodes.len())
        .filter(is_window)
        .filter_map(dilated_at)
        .collect()
}
