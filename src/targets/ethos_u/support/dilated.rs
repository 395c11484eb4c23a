//! Windows between SPACE_TO_BATCH_ND and BATCH_TO_SPACE_ND, which run as one dilated window. Reproduces
//! `RewriteSpaceToBatchConvBatchToSpace` of Vela.

use std::collections::HashMap;
use std::rc::Rc;

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

/// Dilated windows by the nodes that they replace.
pub type DilatedParts = HashMap<usize, Rc<DilatedWindow>>;

/// All of a graph, in topological order. Linear in nodes and edges.
pub fn dilated_windows(graph: &Graph) -> Vec<DilatedWindow> {
    let kinds = || graph.nodes.iter().map(|node| node.operator.code.kind);
    if !kinds().any(|kind| kind == OpKind::SpaceToBatchNd) {
        return Vec::new();
    }
    let neighbours = Neighbours::new(graph);
    let is_window = |kind: OpKind| matches!(kind, OpKind::Conv2d | OpKind::DepthwiseConv2d);
    kinds()
        .enumerate()
        .filter(|(_, kind)| is_window(*kind))
        .filter_map(|(node_idx, _)| neighbours.dilated_window(node_idx))
        .collect()
}

/// Which nodes write and read the tensors of a graph.
struct Neighbours<'g> {
    graph: &'g Graph<'g>,
    readers: Vec<Vec<usize>>,
    writer: Vec<Option<usize>>,
    is_output: Vec<bool>,
}

impl<'g> Neighbours<'g> {
    fn new(graph: &'g Graph<'g>) -> Self {
        let n_tensors = graph.subgraph.tensors.len();
        let mut neighbours = Self {
            graph,
            readers: vec![Vec::new(); n_tensors],
            writer: vec![None; n_tensors],
            is_output: vec![false; n_tensors],
        };
        for edge in &graph.edges {
            neighbours.readers[edge.tensor_idx].push(edge.dst);
            neighbours.writer[edge.tensor_idx] = Some(edge.src);
        }
        for &output in &graph.subgraph.outputs {
            neighbours.is_output[output] = true;
        }
        neighbours
    }

    fn kind(&self, node_idx: usize) -> OpKind {
        self.graph.nodes[node_idx].operator.code.kind
    }

    /// First input and first output of a node.
    fn ends(&self, node_idx: usize) -> Option<(usize, usize)> {
        let operator = self.graph.nodes[node_idx].operator;
        Some((
            operator.inputs.first().copied().flatten()?,
            *operator.outputs.first()?,
        ))
    }

    fn only_reader(&self, tensor_idx: usize) -> Option<usize> {
        match self.readers[tensor_idx][..] {
            [reader] if !self.is_output[tensor_idx] => Some(reader),
            _ => None,
        }
    }

    /// Whether a node only adds or removes dimensions of size 1.
    fn is_view(&self, node_idx: usize) -> bool {
        use OpKind::{ExpandDims, Reshape, Squeeze};
        let keeps_sizes = || {
            let (read, written) = self.ends(node_idx)?;
            let [read, written] = [read, written].map(|tensor_idx| {
                let shape = &self.graph.tensor(tensor_idx).shape;
                shape.iter().filter(|&&size| size != 1).collect::<Vec<_>>()
            });
            Some(read == written)
        };
        matches!(self.kind(node_idx), ExpandDims | Reshape | Squeeze) && keeps_sizes() == Some(true)
    }

    /// The dilated window that a node and those around it are, if they are one.
    fn dilated_window(&self, window: usize) -> Option<DilatedWindow> {
        let (mut read, mut written) = self.ends(window)?;
        let mut around = Vec::new();
        self.only_reader(read)?;
        let mut before = self.writer[read]?;
        if self.is_view(before) {
            around.push(before);
            read = self.ends(before)?.0;
            self.only_reader(read)?;
            before = self.writer[read]?;
        }
        let mut behind = self.only_reader(written)?;
        if self.is_view(behind) {
            around.push(behind);
            written = self.ends(behind)?.1;
            behind = self.only_reader(written)?;
        }
        let kinds = [before, behind].map(|node_idx| self.kind(node_idx));
        if kinds != [OpKind::SpaceToBatchNd, OpKind::BatchToSpaceNd] {
            return None;
        }
        around.extend([before, behind]);
        let inputs = &self.graph.nodes[before].operator.inputs;
        let blocks = inputs.get(1).copied().flatten()?;
        let mut sides = integers(self.graph.constant(blocks)).map(i64::from);
        let height = sides.next()?;
        let dilation = [height, sides.next().unwrap_or(height)];
        let is_positive = dilation.iter().all(|&side| side > 0);
        is_positive.then_some(DilatedWindow {
            window,
            around,
            input: self.ends(before)?.0,
            output: self.ends(behind)?.1,
            dilation,
        })
    }
}
