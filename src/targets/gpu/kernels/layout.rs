//! Where channels lie in memory, by rules of PyTorch 2.9.

use super::kernel::{Kernel, Kind};

/// Sets [`Kernel::is_permuted`]: a kernel of eager mode keeps the order of what it reads first, but products and
/// normalisations of channels write channels last. Linear in kernels and their operands.
pub(super) fn mark_permuted(kernels: &mut [Kernel], n_tensors: usize) {
    let mut is_last = vec![false; n_tensors];
    for kernel in kernels {
        let mut sources = kernel.sources.iter().map(|&source| is_last[source]);
        let all = sources.clone().all(|is_last| is_last);
        kernel.is_permuted = sources.next().unwrap_or(false);
        is_last[kernel.output] = match kernel.kind {
            Kind::Dense | Kind::MatrixProduct | Kind::Attention | Kind::Recurrent => true,
            // Those of whole maps have no rows.
            Kind::Normalisation => kernel.rows > 0.0,
            Kind::Concatenation => all,
            Kind::Convolution
            | Kind::Stem
            | Kind::Pointwise
            | Kind::Grouped
            | Kind::Depthwise
            | Kind::Softmax
            | Kind::Activation
            | Kind::Addition
            | Kind::Elementwise
            | Kind::Scale
            | Kind::Affine
            | Kind::Reduction
            | Kind::Pool
            | Kind::Copy
            | Kind::Resize
            | Kind::Gather
            | Kind::Other => kernel.is_permuted,
        };
    }
}

/// How long PyTorch expects convolutions to take with channels last, relative to channels first: of groups, of few
/// channels, of at most half as many outputs as inputs, and of others.
const GROUPED: f64 = 1.358;
const FEW_CHANNELS: f64 = 0.783;
const NARROWING: f64 = 0.725;
const OTHERS: f64 = 0.823;
const MAX_FEW_CHANNELS: f64 = 64.0;

/// Whether `torch.compile` makes all convolutions of a network channels last: the function `decide_layout_opt` of
/// `torch/_inductor/graph.py`, without its exceptions for networks of very few convolutions.
pub fn is_compiled_channels_last(kernels: &[Kernel]) -> bool {
    let added = |kernel: &Kernel| {
        let is_depthwise = kernel.kind == Kind::Depthwise;
        let depth = if is_depthwise {
            1.0
        } else {
            kernel.depth / kernel.window.max(1.0)
        };
        let share = if kernel.groups > 1.0 && depth > 1.0 {
            GROUPED
        } else if kernel.columns.max(depth) <= MAX_FEW_CHANNELS {
            FEW_CHANNELS
        } else if kernel.columns * 2.0 <= depth && kernel.window > 1.0 {
            NARROWING
        } else {
            OTHERS
        };
        kernel.macs * (share - 1.0)
    };
    let convolutions = kernels.iter().filter(|kernel| kernel.is_convolution());
    convolutions.map(added).sum::<f64>() <= 0.0
}
