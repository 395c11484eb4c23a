//! Elementwise operators and reductions, and the activations, normalisations and scales that groups of them form.

use super::builder::{Builder, Draft, Region};
use super::kernel::{Function, Kernel, Kind};
use super::operators::{NORMALISATIONS_OF_MAPS, is_of_normalisation, work};
use crate::formats::tflite::op_row::GpuWork;
use crate::formats::tflite::{Activation, OpKind};
use crate::graph::Node;
use crate::targets::gpu::dimensions::{channels, rows_of};

/// Maximum number of consecutive elementwise kernels that are searched for a common origin. The longest published
/// decomposition, GELU by tanh, has nine. Without a limit, a file with one long chain would take quadratic time.
const MAX_REGION: usize = 24;

/// Minimum number of kernels from which a tanh is a GELU. A GELU by tanh consists of a cube, its scale, a sum, another
/// scale, tanh, and a sum, some of which are already merged here. Mish by tanh has two.
const MIN_GELU_BY_TANH: usize = 3;

impl<'m> Builder<'_, 'm> {
    /// Of a kernel that works on vectors along the last dimension.
    pub(super) fn kernel_on_last_dimension(
        &self,
        kind: Kind,
        node_idx: usize,
        output: usize,
    ) -> Kernel {
        let shape = self.shape(output);
        Kernel {
            rows: rows_of(shape),
            columns: channels(shape),
            ..Kernel::new(kind, node_idx)
        }
    }

    pub(super) fn normalisation(
        &mut self,
        node_idx: usize,
        node: &Node<'m>,
        output: usize,
    ) -> usize {
        let mut kernel = self.kernel_on_last_dimension(Kind::Normalisation, node_idx, output);
        if NORMALISATIONS_OF_MAPS.contains(&node.operator.code.name()) {
            kernel.rows = 0.0;
        }
        self.draft(node_idx, node, kernel)
    }

    pub(super) fn reduction(&mut self, node_idx: usize, node: &Node<'m>, output: usize) {
        let kernel = Kernel::new(Kind::Reduction, node_idx);
        let draft = self.draft(node_idx, node, kernel);
        let kernel = &mut self.drafts[draft].kernel;
        kernel.rows = kernel.outputs;
        kernel.columns = (kernel.inputs / kernel.outputs.max(1.0)).floor();
        if let Some(&source) = self.drafts[draft].kernel.sources.first() {
            self.extend_region(output, source, draft);
        }
    }

    pub(super) fn elementwise(
        &mut self,
        node_idx: usize,
        node: &Node<'m>,
        output: usize,
        sources: &[usize],
    ) {
        match *sources {
            [one] => self.single_source(node_idx, node, output, one),
            [one, other] if self.origin(one) == self.origin(other) => {
                self.add_meeting(node_idx, node, output, [one, other]);
            }
            _ => {
                let sizes = || self.activations(node).map(|t| self.elements(t));
                let largest = sizes().fold(0.0, f64::max);
                let broadcasts = sizes().fold(f64::MAX, f64::min) * 2.0 < largest;
                let is_addition = node.operator.code.kind == OpKind::Add && !broadcasts;
                let kind = if is_addition {
                    Kind::Addition
                } else {
                    Kind::Elementwise
                };
                let kernel = Kernel {
                    broadcasts,
                    ..Kernel::new(kind, node_idx)
                };
                self.draft(node_idx, node, kernel);
            }
        }
    }

    pub(super) fn origin(&self, tensor_idx: usize) -> usize {
        let region = self.regions[tensor_idx].as_ref();
        region.map_or(tensor_idx, |region| region.origin)
    }

    /// Handles a node where all paths from one tensor meet: the kernels between the two become part of this kernel.
    pub(super) fn add_meeting(
        &mut self,
        node_idx: usize,
        node: &Node<'m>,
        output: usize,
        sources: [usize; 2],
    ) {
        let origin = self.origin(sources[0]);
        let drafts = |source: usize| {
            let region = self.regions[source].as_ref();
            region.map_or(&[][..], |region| &region.drafts)
        };
        let [left, right] = sources.map(drafts);
        let n_shared = left.iter().zip(right).take_while(|(a, b)| a == b).count();
        let mut merged: Vec<usize> = left[n_shared..]
            .iter()
            .chain(&right[n_shared..])
            .copied()
            .collect();
        let shared = left[..n_shared].to_vec();
        let reduces = merged.iter().any(|&idx| {
            matches!(
                self.drafts[idx].kernel.kind,
                Kind::Reduction | Kind::Normalisation
            )
        });
        if reduces
            && !merged
                .iter()
                .all(|&idx| is_of_normalisation(self.drafts[idx].code))
        {
            // Normalisations with activations inside run operator by operator.
            self.draft(node_idx, node, Kernel::new(Kind::Elementwise, node_idx));
            return;
        }
        // The difference to the mean, which is divided by the root mean square of the differences.
        let is_difference = |last: usize| {
            let draft = &self.drafts[last];
            reduces && draft.is_meeting && draft.code.kind == OpKind::Sub
        };
        let difference = shared.last().copied().filter(|&last| is_difference(last));
        merged.extend(difference);
        let kernel = self.meeting_kernel(node_idx, output, &merged, reduces);
        let draft = self.draft(node_idx, node, kernel);
        let kept = shared.len() - usize::from(difference.is_some());
        let mut drafts = shared;
        drafts.truncate(kept);
        // The paths diverge at the last draft that they share.
        let source = drafts.last().map(|&last| self.drafts[last].kernel.output);
        let source = source.unwrap_or(origin);
        self.drafts[draft].is_meeting = true;
        self.drafts[draft].kernel.inputs = self.elements(source);
        self.drafts[draft].kernel.sources = vec![source];
        for merged in merged {
            self.drafts[merged].is_merged = true;
        }
        drafts.push(draft);
        self.regions[output] = Some(Region { origin, drafts });
    }

    /// The kernel that these drafts are together.
    fn meeting_kernel(
        &mut self,
        node_idx: usize,
        output: usize,
        merged: &[usize],
        reduces: bool,
    ) -> Kernel {
        let kernel = if reduces {
            let mut kernel = self.kernel_on_last_dimension(Kind::Normalisation, node_idx, output);
            if let Some([rows, columns]) = self.rows_of_means(merged) {
                (kernel.rows, kernel.columns) = (rows, columns);
            }
            kernel
        } else {
            Kernel {
                function: Some(self.gated_activation(merged)),
                ..Kernel::new(Kind::Activation, node_idx)
            }
        };
        Kernel { node_idx, ..kernel }
    }

    /// Rows and columns over which drafts normalise by the root of a mean; no rows where it is one of maps. The columns
    /// need not be the last dimension.
    fn rows_of_means(&self, merged: &[usize]) -> Option<[f64; 2]> {
        let mut drafts = merged.iter().map(|&idx| &self.drafts[idx]);
        let has_root =
            (drafts.clone()).any(|draft| matches!(draft.code.kind, OpKind::Rsqrt | OpKind::Sqrt));
        let mean = drafts.find(|draft| draft.code.kind == OpKind::Mean && has_root)?;
        let kernel = &mean.kernel;
        let node = &self.graph.nodes[kernel.node_idx];
        let read = self.shape(self.activations(node).next()?);
        let written = self.shape(kernel.output);
        let n_axes = (read.iter().zip(written))
            .filter(|(side, mean)| side != mean)
            .count();
        let is_along_one = n_axes <= 1 || read.len() != written.len();
        Some(if is_along_one {
            [kernel.rows, kernel.columns]
        } else {
            [0.0, channels(read)]
        })
    }

    /// The activation that these drafts compute together.
    fn gated_activation(&self, merged: &[usize]) -> Function {
        let is_of = |kinds: &'static [OpKind]| {
            let mut codes = merged.iter().map(|&idx| self.drafts[idx].code);
            codes.any(|code| kinds.contains(&code.kind))
        };
        let is_gelu = is_of(&[OpKind::Tanh]) && !is_of(&[OpKind::Exp, OpKind::Log]);
        if merged.len() >= MIN_GELU_BY_TANH && is_gelu {
            Function::Gelu
        } else {
            Function::Gated
        }
    }

    /// Handles an operator on one tensor, possibly with constants.
    pub(super) fn single_source(
        &mut self,
        node_idx: usize,
        node: &Node<'m>,
        output: usize,
        source: usize,
    ) {
        let code = &node.operator.code;
        let constants = node.operator.inputs.iter().flatten();
        let constants = constants.filter(|&&t| self.is_constant[t]);
        let constant = constants.map(|&t| self.elements(t)).fold(0.0, f64::max);
        let function = match work(code) {
            GpuWork::Unary(function) => Some(function),
            _ if constant == 0.0 => Some(Function::Other),
            _ => None,
        };
        if function.is_some() {
            let kernel = Kernel {
                function,
                ..Kernel::new(Kind::Activation, node_idx)
            };
            let draft = self.draft(node_idx, node, kernel);
            return self.extend_region(output, source, draft);
        }
        if self.fuse_with_constant(code.kind, output, source, constant) {
            return;
        }
        let divides = matches!(code.kind, OpKind::Mul | OpKind::Div);
        let parts = (divides && constant <= 1.0).then(|| self.hard_sigmoid_before(source));
        if let Some(parts) = parts.flatten() {
            return self.hard_sigmoid(node_idx, node, output, parts);
        }
        let kernel = Kernel {
            is_scalar: constant <= 1.0,
            ..Kernel::new(Kind::Scale, node_idx)
        };
        let draft = self.draft(node_idx, node, kernel);
        self.extend_region(output, source, draft);
    }

    /// The addition of a number and the ReLU6 after it that compute `source`, if nothing else reads their results.
    fn hard_sigmoid_before(&self, source: usize) -> Option<[usize; 2]> {
        let relu = self.writers[source].filter(|_| self.n_readers[source] == 1)?;
        (self.drafts[relu].kernel.function == Some(Function::Relu6)).then_some(())?;
        let sum = self.draft_before(relu)?;
        let Draft { kernel, code, .. } = &self.drafts[sum];
        let is_sum = kernel.is_scalar && code.kind == OpKind::Add;
        is_sum.then_some([sum, relu])
    }

    /// Merges a hard sigmoid into one kernel, which reads the input of its first part.
    fn hard_sigmoid(&mut self, node_idx: usize, node: &Node<'m>, output: usize, parts: [usize; 2]) {
        let Some(&source) = self.drafts[parts[0]].kernel.sources.first() else {
            return;
        };
        let kernel = Kernel {
            function: Some(Function::Hard),
            ..Kernel::new(Kind::Activation, node_idx)
        };
        let draft = self.draft(node_idx, node, kernel);
        self.drafts[draft].kernel.inputs = self.elements(source);
        self.drafts[draft].kernel.sources = vec![source];
        for part in parts {
            self.drafts[part].is_merged = true;
        }
        self.extend_region(output, source, draft);
    }

    /// Whether an operation with a constant is part of the kernel before it.
    pub(super) fn fuse_with_constant(
        &mut self,
        kind: OpKind,
        output: usize,
        source: usize,
        constant: f64,
    ) -> bool {
        let Some(writer) = self.writers[source].filter(|_| self.n_readers[source] == 1) else {
            return false;
        };
        let is_vector = constant > 1.0;
        let adds_vector = kind == OpKind::Add && is_vector;
        let draft = &mut self.drafts[writer];
        let kernel = &mut draft.kernel;
        match kernel.kind {
            _ if draft.is_merged => return false,
            Kind::Normalisation => {}
            Kind::Activation if draft.is_meeting && !is_vector && !draft.has_tail => {}
            Kind::Scale if draft.code.kind == OpKind::Mul && adds_vector => {
                kernel.kind = Kind::Affine
            }
            Kind::Dense if adds_vector && !kernel.has_bias && constant == kernel.columns => {
                kernel.has_bias = true;
            }
            _ => return false,
        }
        draft.has_tail = true;
        kernel.output = output;
        self.writers[output] = Some(writer);
        self.regions[output] = self.regions[source].clone();
        true
    }

    pub(super) fn begin_region(&mut self, output: usize, origin: usize, draft: usize) {
        self.regions[output] = Some(Region {
            origin,
            drafts: vec![draft],
        });
    }

    pub(super) fn extend_region(&mut self, output: usize, source: usize, draft: usize) {
        let region = self.regions[source].clone();
        match region.filter(|region| region.drafts.len() < MAX_REGION) {
            Some(mut region) => {
                region.drafts.push(draft);
                self.regions[output] = Some(region);
            }
            None => self.begin_region(output, source, draft),
        }
    }

    /// Adds the kernel for a scale, or a scale with a shift, that a converter folded into the weights: a framework runs
    /// it as a separate kernel.
    pub(super) fn add_folded_scales(&mut self, node_idx: usize, node: &Node<'m>, output: usize) {
        for step in &node.operator.folded {
            let last = self.writers[output].map(|writer| &mut self.drafts[writer].kernel);
            match last {
                Some(last) if last.kind == Kind::Scale && step.kind == OpKind::Add => {
                    last.kind = Kind::Affine;
                    continue;
                }
                _ => {}
            }
            let kernel = Kernel {
                is_scalar: step.is_scalar,
                ..Kernel::new(Kind::Scale, node_idx)
            };
            let draft = self.draft(node_idx, node, kernel);
            self.drafts[draft].kernel.inputs = self.elements(output);
            self.drafts[draft].kernel.sources = vec![output];
            self.regions[output] = None;
        }
    }

    pub(super) fn fused_activation(&mut self, node_idx: usize, node: &Node<'m>, output: usize) {
        // Cells compute their own.
        let is_cell = work(&node.operator.code) == GpuWork::Recurrent;
        let function = match node.operator.options.activation() {
            _ if is_cell => return,
            Some(Activation::Relu) => Function::Relu,
            Some(Activation::Relu6) => Function::Relu6,
            None | Some(Activation::None) => return,
            Some(_) => Function::Other,
        };
        let kernel = Kernel {
            function: Some(function),
            ..Kernel::new(Kind::Activation, node_idx)
        };
        let draft = self.draft(node_idx, node, kernel);
        self.drafts[draft].kernel.inputs = self.elements(output);
        self.drafts[draft].kernel.sources = vec![output];
        self.regions[output] = None;
    }
}
