//! Convolutions, matrix products, and attention, which is made of two matrix products.

use super::builder::{Builder, Draft};
use super::kernel::{Kernel, Kind};
use super::operators::work;
use crate::formats::tflite::op_row::{GpuWork, Work};
use crate::formats::tflite::{BuiltinOptions, OpKind};
use crate::graph::Node;
use crate::targets::gpu::dimensions::{channels, product, rows_of};

/// Fused attention takes batch, heads, positions and channels. PyTorch runs scores with more dimensions, of blocks of an
/// image, as separate kernels.
const MAX_FUSED_RANK: usize = 4;

impl<'m> Builder<'_, 'm> {
    pub(super) fn convolution(&mut self, node_idx: usize, node: &Node<'m>, output: usize) {
        let operator = node.operator;
        let weights = operator.inputs.get(1).copied().flatten();
        let weights_shape = weights.map_or(&[][..], |t| self.shape(t));
        let Some(input) = self.activations(node).last() else {
            return;
        };
        let in_channels = channels(self.shape(input));
        let out_shape = self.shape(output);
        let columns = channels(out_shape);
        let rows = rows_of(out_shape);
        let products = operator.code.kind.row().work;
        let (window, read) = window_and_channels(products, weights_shape);
        let window = product(window).max(1.0);
        let is_depthwise = products == Work::Depthwise;
        let depth = window * read;
        let groups = if is_depthwise {
            in_channels
        } else {
            (in_channels / read).floor().max(1.0)
        };
        let height = out_shape.len().checked_sub(3);
        let side = height.map_or(1.0, |axis| f64::from(out_shape[axis].max(1)));
        let macs = if is_transposed(products) {
            self.elements(input) * columns * window
        } else {
            rows * columns * depth
        };
        let kind = match () {
            () if is_depthwise => Kind::Depthwise,
            () if groups > 1.0 => Kind::Grouped,
            () if in_channels <= 4.0 && side > 16.0 => Kind::Stem,
            () if window <= 1.0 => Kind::Pointwise,
            () => Kind::Convolution,
        };
        let kernel = Kernel {
            macs,
            weights: product(weights_shape),
            rows,
            columns,
            depth,
            window,
            in_channels,
            groups,
            side,
            stride: stride(&operator.options),
            has_bias: operator.inputs.len() > 2 && !is_transposed(products),
            ..Kernel::new(kind, node_idx)
        };
        self.draft(node_idx, node, kernel);
    }

    pub(super) fn dense(&mut self, node_idx: usize, node: &Node<'m>, output: usize) {
        let weights = node.operator.inputs.get(1).copied().flatten();
        let Some(&[columns, depth]) = weights.map(|t| self.shape(t)) else {
            return self.other(node_idx, node, Kind::Other);
        };
        let has_bias = node.operator.inputs.get(2).copied().flatten().is_some();
        let sizes = [columns, depth].map(|d| f64::from(d.max(0)));
        self.product_with_weights(node_idx, node, output, sizes, has_bias);
    }

    pub(super) fn product_with_weights(
        &mut self,
        node_idx: usize,
        node: &Node<'m>,
        output: usize,
        [columns, depth]: [f64; 2],
        has_bias: bool,
    ) {
        let rows = self.elements(output) / columns.max(1.0);
        let kernel = Kernel {
            macs: rows * columns * depth,
            weights: columns * depth,
            rows,
            columns,
            depth,
            window: 1.0,
            in_channels: depth,
            groups: 1.0,
            side: rows,
            has_bias,
            ..Kernel::new(Kind::Dense, node_idx)
        };
        self.draft(node_idx, node, kernel);
    }

    pub(super) fn matrix_product(&mut self, node_idx: usize, node: &Node<'m>, output: usize) {
        let out_shape = self.shape(output);
        let columns = channels(out_shape);
        let input = |position: usize| node.operator.inputs.get(position).copied().flatten();
        let (Some(left), Some(right)) = (input(0), input(1)) else {
            return self.other(node_idx, node, Kind::Other);
        };
        let n_out = self.elements(output);
        if self.is_constant[right] && self.shape(right).len() == 2 {
            let depth = self.elements(right) / columns.max(1.0);
            return self.product_with_weights(node_idx, node, output, [columns, depth], false);
        }
        let rows = match out_shape {
            [.., rows, _] => f64::from((*rows).max(0)),
            _ => 1.0,
        };
        let depth = self.elements(left) / (n_out / columns.max(1.0)).max(1.0);
        let kernel = Kernel {
            macs: n_out * depth,
            rows,
            columns,
            depth,
            window: 1.0,
            in_channels: depth,
            groups: n_out / (rows * columns).max(1.0),
            side: rows,
            ..Kernel::new(Kind::MatrixProduct, node_idx)
        };
        let draft = self.draft(node_idx, node, kernel);
        self.attention(draft, self.viewed[left]);
    }

    /// Turns a product into an attention if its first operand is the softmax of another product.
    pub(super) fn attention(&mut self, draft: usize, left: usize) {
        let Some(softmax) = self.writers[left].filter(|_| self.n_readers[left] == 1) else {
            return;
        };
        let Some((scores, between)) = self.drafts[softmax].scores_of.take() else {
            return;
        };
        let n_scores = self.drafts[softmax].kernel.outputs;
        let product = self.drafts[scores].kernel.clone();
        let is_masked = between
            .iter()
            .any(|&idx| !self.drafts[idx].kernel.is_scalar);
        let kernel = &mut self.drafts[draft].kernel;
        kernel.kind = Kind::Attention;
        kernel.macs += product.macs;
        kernel.inputs = product.inputs + (kernel.inputs - n_scores).max(0.0);
        kernel.scores = n_scores;
        kernel.is_masked = is_masked;
        kernel.in_channels = kernel.columns;
        kernel.rows = product.rows;
        kernel.columns = product.columns;
        kernel.depth = product.depth;
        kernel.groups = product.groups;
        let values = kernel
            .sources
            .iter()
            .copied()
            .filter(|&source| source != left);
        let values: Vec<usize> = values.collect();
        let mut sources = Vec::new();
        let mut scales = Vec::new();
        for source in product.sources {
            let writer = self.writers[source].filter(|_| self.n_readers[source] == 1);
            let scale = writer.filter(|&writer| {
                let kernel = &self.drafts[writer].kernel;
                kernel.kind == Kind::Scale && kernel.is_scalar
            });
            scales.extend(scale);
            let before = scale.and_then(|scale| self.drafts[scale].kernel.sources.first());
            sources.push(before.copied().unwrap_or(source));
        }
        sources.extend(values);
        self.drafts[draft].kernel.sources = sources;
        for merged in between.into_iter().chain(scales).chain([scores, softmax]) {
            self.drafts[merged].is_merged = true;
        }
    }

    pub(super) fn softmax(&mut self, node_idx: usize, node: &Node<'m>, output: usize) {
        let kernel = self.kernel_on_last_dimension(Kind::Softmax, node_idx, output);
        let draft = self.draft(node_idx, node, kernel);
        if self.shape(output).len() > MAX_FUSED_RANK {
            return;
        }
        let mut between = Vec::new();
        let mut next = self.draft_before(draft);
        while let Some(before) = next {
            match self.drafts[before].kernel.kind {
                Kind::MatrixProduct => {
                    self.drafts[draft].scores_of = Some((before, between));
                    return;
                }
                Kind::Scale if self.is_fused_before_softmax(before) => between.push(before),
                _ => return,
            }
            next = self.draft_before(before);
        }
    }

    /// Whether the draft is a scale by one number or a mask.
    pub(super) fn is_fused_before_softmax(&self, draft: usize) -> bool {
        let Draft { kernel, code, .. } = &self.drafts[draft];
        kernel.is_scalar || code.kind == OpKind::Add || work(code) == GpuWork::Select
    }
}

fn is_transposed(products: Work) -> bool {
    matches!(
        products,
        Work::TransposedConvolution | Work::TransposedConvolution3d
    )
}

/// The sides of a convolution's window, and the channels that one of its products reads, from the shape of its weights.
fn window_and_channels(products: Work, weights: &[i32]) -> (&[i32], f64) {
    let (window, read) = match (products, weights) {
        (Work::Convolution | Work::TransposedConvolution, [_, window @ .., read]) => (window, read),
        (Work::Depthwise, [_, window @ .., _]) => (window, &1),
        (Work::Convolution3d, [window @ .., read, _]) => (window, read),
        (Work::TransposedConvolution3d, [window @ .., _, read]) => (window, read),
        _ => (&[][..], &1),
    };
    (window, f64::from((*read).max(1)))
}

fn stride(options: &BuiltinOptions) -> f64 {
    let stride = options.sliding().map_or(1, |sliding| sliding.strides[1]);
    f64::from(stride.max(1))
}
