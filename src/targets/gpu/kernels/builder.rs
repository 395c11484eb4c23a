//! Builds drafts of kernels from operators, one after another.

use super::kernel::{Kernel, Kind};
use super::operators::work;
use super::views::is_moving_transpose;
use crate::formats::tflite::op_row::GpuWork;
use crate::formats::tflite::{BuiltinOptions, OpKind, OperatorCode};
use crate::graph::analysis::macs::macs;
use crate::graph::{Graph, Node};
use crate::targets::gpu::dimensions::{channels, elements, product};

/// A kernel that later operators may still become part of.
pub(super) struct Draft<'m> {
    pub(super) kernel: Kernel,
    pub(super) code: &'m OperatorCode,
    /// Whether the draft has become part of another kernel.
    pub(super) is_merged: bool,
    /// Whether paths from one tensor meet again here.
    pub(super) is_meeting: bool,
    /// Whether a constant after it has been absorbed.
    pub(super) has_tail: bool,
    /// For a softmax: the product that computes its scores, and the drafts between the two.
    pub(super) scores_of: Option<(usize, Vec<usize>)>,
}

/// Elementwise kernels between a tensor and another that is computed from it alone.
#[derive(Clone)]
pub(super) struct Region {
    pub(super) origin: usize,
    pub(super) drafts: Vec<usize>,
}

pub(super) struct Builder<'g, 'm> {
    pub(super) graph: &'g Graph<'m>,
    /// By tensor: the tensor that it is a view of.
    pub(super) viewed: Vec<usize>,
    /// By tensor: the tensor without the padding that a convolution or pool adds around it.
    pub(super) unpadded: Vec<usize>,
    /// By tensor: operators that read it or a view of it.
    pub(super) n_readers: Vec<usize>,
    pub(super) is_constant: Vec<bool>,
    /// By node: whether it moves values in memory although its kind is usually a view ([`is_moving_transpose`]).
    pub(super) is_moved: Vec<bool>,
    /// By tensor: the draft that writes it.
    pub(super) writers: Vec<Option<usize>>,
    pub(super) regions: Vec<Option<Region>>,
    pub(super) drafts: Vec<Draft<'m>>,
}

impl<'g, 'm> Builder<'g, 'm> {
    pub(super) fn new(graph: &'g Graph<'m>) -> Self {
        let n_tensors = graph.subgraph.tensors.len();
        let tensors = graph.subgraph.tensors.iter();
        let is_constant = tensors.map(|tensor| !tensor.is_variable).collect();
        let mut builder = Self {
            graph,
            viewed: (0..n_tensors).collect(),
            unpadded: (0..n_tensors).collect(),
            n_readers: vec![0; n_tensors],
            is_constant,
            is_moved: is_moving_transpose(graph),
            writers: vec![None; n_tensors],
            regions: vec![None; n_tensors],
            drafts: Vec::new(),
        };
        for &input in &graph.subgraph.inputs {
            builder.is_constant[input] = false;
        }
        // The results of operators on constants alone are constants, because exporters fold them to different degrees.
        for node in graph.nodes.iter() {
            let reads_activation = builder.activations(node).next().is_some();
            for &output in &node.operator.outputs {
                builder.is_constant[output] &= !reads_activation;
            }
        }
        let pads = builder.pads();
        for (node_idx, (node, &is_padding)) in graph.nodes.iter().zip(&pads).enumerate() {
            let first = builder.activations(node).next();
            let is_view = builder.is_view(node_idx);
            if let (true, Some(source)) = (is_view || is_padding, first) {
                for &output in &node.operator.outputs {
                    builder.viewed[output] = builder.viewed[source];
                    if is_padding {
                        builder.unpadded[output] = builder.unpadded[source];
                    }
                }
            } else {
                for source in builder.sources(node) {
                    builder.n_readers[source] += 1;
                }
            }
        }
        builder
    }

    /// Whether a node's output is its first input under another name.
    fn is_view(&self, node_idx: usize) -> bool {
        work(&self.graph.nodes[node_idx].operator.code) == GpuWork::View && !self.is_moved[node_idx]
    }

    /// By node: whether it only pads the inputs of convolutions or pools.
    pub(super) fn pads(&self) -> Vec<bool> {
        let mut is_padded = vec![false; self.viewed.len()];
        let mut is_read_otherwise = vec![false; self.viewed.len()];
        for &output in &self.graph.subgraph.outputs {
            is_read_otherwise[output] = true;
        }
        for node in self.graph.nodes.iter() {
            // TFLite can express only some paddings; others become a `PAD`.
            let pads = node.operator.code.kind.row().shape.pads();
            for &input in node.operator.inputs.iter().flatten() {
                let marked = if pads {
                    &mut is_padded
                } else {
                    &mut is_read_otherwise
                };
                marked[input] = true;
            }
        }
        let is_padding = |node: &Node| {
            let mut outputs = node.operator.outputs.iter();
            node.operator.code.kind == OpKind::Pad
                && outputs.all(|&output| is_padded[output] && !is_read_otherwise[output])
        };
        self.graph.nodes.iter().map(is_padding).collect()
    }

    pub(super) fn activations<'n>(
        &'n self,
        node: &'n Node<'m>,
    ) -> impl Iterator<Item = usize> + 'n {
        let inputs = node.operator.inputs.iter().flatten().copied();
        inputs.filter(|&tensor_idx| !self.is_constant[tensor_idx])
    }

    /// Distinct tensors that are read, views resolved, in the order of the inputs.
    pub(super) fn sources(&self, node: &Node<'m>) -> Vec<usize> {
        let mut sources: Vec<usize> = Vec::new();
        for tensor_idx in self.activations(node) {
            let source = self.viewed[tensor_idx];
            // To bound the time for joins of thousands of tensors, compare with the first few sources only.
            if !sources.iter().take(8).any(|&known| known == source) {
                sources.push(source);
            }
        }
        sources
    }

    pub(super) fn elements(&self, tensor_idx: usize) -> f64 {
        elements(self.graph.tensor(self.unpadded[tensor_idx]))
    }

    pub(super) fn shape(&self, tensor_idx: usize) -> &'m [i32] {
        &self.graph.tensor(tensor_idx).shape
    }

    pub(super) fn add(&mut self, node_idx: usize, node: &Node<'m>) {
        let code = &node.operator.code;
        let Some(&output) = node.operator.outputs.first() else {
            return;
        };
        let sources = self.sources(node);
        let is_padding = self.unpadded[output] != output;
        if sources.is_empty() || self.is_view(node_idx) || is_padding {
            return;
        }
        match work(code) {
            GpuWork::Convolution => self.convolution(node_idx, node, output),
            GpuWork::Dense => self.dense(node_idx, node, output),
            GpuWork::Product => self.matrix_product(node_idx, node, output),
            GpuWork::Softmax => self.softmax(node_idx, node, output),
            GpuWork::Normalisation => {
                let draft = self.normalisation(node_idx, node, output);
                self.begin_region(output, sources[0], draft);
            }
            GpuWork::Reduction => self.reduction(node_idx, node, output),
            GpuWork::Unary(_) | GpuWork::Binary | GpuWork::Power | GpuWork::Select => {
                self.elementwise(node_idx, node, output, &sources);
            }
            GpuWork::Recurrent => self.recurrent(node_idx, node),
            // A view that is moved is copied.
            GpuWork::Copy | GpuWork::View => self.other(node_idx, node, Kind::Copy),
            GpuWork::Concatenation if self.reorders_one_tensor(node) => {
                self.other(node_idx, node, Kind::Copy)
            }
            GpuWork::Concatenation => self.other(node_idx, node, Kind::Concatenation),
            GpuWork::Resize => self.other(node_idx, node, Kind::Resize),
            GpuWork::Gather => self.other(node_idx, node, Kind::Gather),
            GpuWork::Other | GpuWork::Pool => self.other(node_idx, node, Kind::Other),
        }
        self.add_folded_scales(node_idx, node, output);
        self.fused_activation(node_idx, node, output);
    }

    /// A draft that reads and writes all activations of a node.
    pub(super) fn draft(&mut self, node_idx: usize, node: &Node<'m>, kernel: Kernel) -> usize {
        let inputs = self.activations(node).map(|t| self.elements(t)).sum();
        let outputs = node.operator.outputs.iter();
        let outputs_sum = outputs.clone().map(|&t| self.elements(t)).sum();
        let kernel = Kernel {
            node_idx,
            sources: self.sources(node),
            output: node.operator.outputs.first().copied().unwrap_or(0),
            inputs,
            outputs: outputs_sum,
            // Those of StarReLU among them.
            writes_float32: node.operator.code.kind.row().gpu == GpuWork::Power,
            ..kernel
        };
        let draft_idx = self.drafts.len();
        for &output in outputs {
            self.writers[output] = Some(draft_idx);
        }
        self.drafts.push(Draft {
            kernel,
            code: &node.operator.code,
            is_merged: false,
            is_meeting: false,
            has_tail: false,
            scores_of: None,
        });
        draft_idx
    }

    /// The draft that computes what `draft` reads first, if nothing else reads it: an earlier one, whatever the file.
    pub(super) fn draft_before(&self, draft: usize) -> Option<usize> {
        let kernel = &self.drafts[draft].kernel;
        let source = *kernel.sources.first()?;
        // Where a kernel is part of an operator, both work on one tensor, one after another.
        let before = if source == kernel.output {
            draft.checked_sub(1)?
        } else {
            self.writers[source].filter(|_| self.n_readers[source] == 1)?
        };
        (before < draft && self.drafts[before].kernel.output == source).then_some(before)
    }

    /// A kernel without products, a pooling where the options say so.
    pub(super) fn other(&mut self, node_idx: usize, node: &Node<'m>, kind: Kind) {
        let (kind, window, stride) = match node.operator.options {
            BuiltinOptions::Pool2D {
                filter_h,
                filter_w,
                stride_h,
                ..
            } => {
                let window = product(&[filter_h, filter_w]);
                (Kind::Pool, window, f64::from(stride_h.max(1)))
            }
            _ => (kind, 0.0, 1.0),
        };
        // Images that are made from tokens have their channels last, and another kernel resizes them.
        let is_bilinear = node.operator.code.kind == OpKind::ResizeBilinear
            && self
                .sources(node)
                .first()
                .is_some_and(|&source| self.shape(source).len() > 3);
        let output = node.operator.outputs.first().filter(|_| is_bilinear);
        let kernel = Kernel {
            window,
            stride,
            columns: output.map_or(0.0, |&output| channels(self.shape(output))),
            ..Kernel::new(kind, node_idx)
        };
        self.draft(node_idx, node, kernel);
    }

    /// Whether the node joins parts of a single tensor in a different order.
    fn reorders_one_tensor(&self, node: &Node<'m>) -> bool {
        let output = node.operator.outputs.first();
        match (self.sources(node).as_slice(), output) {
            (&[one], Some(&output)) => {
                let is_joined = self.activations(node).nth(1).is_some();
                is_joined && self.elements(one) == self.elements(output)
            }
            _ => false,
        }
    }

    pub(super) fn recurrent(&mut self, node_idx: usize, node: &Node<'m>) {
        let constants = node.operator.inputs.iter().flatten().copied();
        let constants = constants.filter(|&t| self.is_constant[t]);
        let kernel = Kernel {
            macs: macs(node.operator, &self.graph.subgraph.tensors).unwrap_or(0) as f64,
            weights: constants.map(|t| self.elements(t)).sum(),
            ..Kernel::new(Kind::Recurrent, node_idx)
        };
        self.draft(node_idx, node, kernel);
    }
}
