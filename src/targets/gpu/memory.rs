//! Kernels → bytes of GPU memory, counted by rules of PyTorch's automatic mixed precision. No measurements of the
//! memory of these networks are published, so it is modelled, and the trainer compares the count with the bytes that
//! PyTorch allocates for the tensors of a network.
//!
//! - Weights stay in float32; products use a float16 copy, made once per forward pass.
//! - Activations are float16, except those that normalisations and softmaxes write, which are float32.
//! - Inference frees an activation after its last reader.
//! - Training keeps what the backward pass reads: operands of products, inputs of normalisations and of activations
//!   (for ReLU, its output suffices), and the input of a folded batch norm.
//! - The optimiser keeps one (SGD with momentum) or two (Adam) float32 values for each weight, beside the gradient.

use super::kernels::{Function, Kernel, Kind};

/// CUDA context, loaded kernels and handles of cuBLAS and cuDNN, before any tensor: 0.4 to 0.8 GB with
/// PyTorch 2 on Ampere and later.
pub const BASE_BYTES: f64 = 0.6e9;
/// Workspaces of cuBLAS and cuDNN, and the rounding of the caching allocator.
pub const WORKSPACE_BYTES: f64 = 64e6;
/// Share of activations that PyTorch's caching allocator holds beyond the tensors themselves.
pub const FRAGMENTATION: f64 = 0.08;

/// Bytes of each value.
const HALF: f64 = 2.0;
const SINGLE: f64 = 4.0;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Optimiser {
    /// Stochastic gradient descent with momentum.
    Sgd,
    Adam,
}

/// GPU memory of one step of `batch` inputs, by use.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Memory {
    /// Weights in float32 and their copies in float16.
    pub weight_bytes: f64,
    /// Gradients and the optimiser's state; 0 for inference.
    pub state_bytes: f64,
    /// Activations alive at the peak of inference, or kept for the backward pass.
    pub activation_bytes: f64,
    pub workspace_bytes: f64,
    pub base_bytes: f64,
}

impl Memory {
    pub fn total_bytes(&self) -> f64 {
        self.weight_bytes
            + self.state_bytes
            + self.activation_bytes
            + self.workspace_bytes
            + self.base_bytes
    }

    /// Memory of one forward pass. Linear in kernels.
    pub fn inference(kernels: &[Kernel], parameters: f64, batch: f64) -> Self {
        let activations = batch * peak_bytes(kernels, HALF, SINGLE);
        Self {
            weight_bytes: weight_bytes(kernels, parameters),
            state_bytes: 0.0,
            activation_bytes: activations * (1.0 + FRAGMENTATION),
            workspace_bytes: WORKSPACE_BYTES,
            base_bytes: BASE_BYTES,
        }
    }

    /// Memory of one training step. Linear in kernels.
    pub fn training(kernels: &[Kernel], parameters: f64, batch: f64, optimiser: Optimiser) -> Self {
        let moments = match optimiser {
            Optimiser::Sgd => 1.0,
            Optimiser::Adam => 2.0,
        };
        let largest = kernels
            .iter()
            .map(|kernel| kernel.outputs)
            .fold(0.0, f64::max);
        // The backward pass holds the gradients of an operator's output and input in addition to what was kept.
        let kept = batch * (kept_bytes(kernels, HALF, SINGLE) + 2.0 * HALF * largest);
        Self {
            weight_bytes: weight_bytes(kernels, parameters),
            state_bytes: SINGLE * parameters * (1.0 + moments),
            activation_bytes: kept * (1.0 + FRAGMENTATION),
            workspace_bytes: WORKSPACE_BYTES,
            base_bytes: BASE_BYTES,
        }
    }
}

fn weight_bytes(kernels: &[Kernel], parameters: f64) -> f64 {
    let multiplied: f64 = kernels.iter().map(|kernel| kernel.weights).sum();
    SINGLE * parameters + HALF * multiplied
}

/// Whether automatic mixed precision runs the kernel in float32.
fn is_single(kernel: &Kernel) -> bool {
    matches!(kernel.kind, Kind::Normalisation | Kind::Softmax)
}

/// In nearly every network, a convolution with a bias was a convolution followed by a batch norm, which keeps the
/// result of the convolution in addition to its own.
fn has_batch_norm(kernel: &Kernel) -> bool {
    let is_convolution = matches!(
        kernel.kind,
        Kind::Convolution | Kind::Stem | Kind::Pointwise | Kind::Grouped | Kind::Depthwise
    );
    is_convolution && kernel.has_bias
}

/// Peak bytes of live activations for one input. An activation lives from the kernel that writes it to the last kernel
/// that reads it; its values have `half` bytes, or `single` bytes if they are float32.
pub fn peak_bytes(kernels: &[Kernel], half: f64, single: f64) -> f64 {
    let n_tensors = n_tensors(kernels);
    let mut last_reader = vec![None; n_tensors];
    for (kernel_idx, kernel) in kernels.iter().enumerate() {
        for &source in &kernel.sources {
            last_reader[source] = Some(kernel_idx);
        }
    }
    let mut bytes_of = vec![0.0; n_tensors];
    let mut alive = 0.0;
    let mut peak = 0.0f64;
    for (kernel_idx, kernel) in kernels.iter().enumerate() {
        let is_in_place = kernel.sources.first() == Some(&kernel.output);
        if !is_in_place {
            let written = kernel.outputs * if is_single(kernel) { single } else { half };
            bytes_of[kernel.output] = written;
            alive += written;
        }
        // A folded batch norm writes its result in addition to that of the convolution.
        let normalised = if has_batch_norm(kernel) {
            kernel.outputs * half
        } else {
            0.0
        };
        peak = peak.max(alive + normalised);
        for &source in &kernel.sources {
            if last_reader[source] == Some(kernel_idx) {
                alive -= std::mem::take(&mut bytes_of[source]);
            }
        }
    }
    peak
}

/// Bytes of one input's activations that the backward pass reads, each tensor once.
pub fn kept_bytes(kernels: &[Kernel], half: f64, single: f64) -> f64 {
    let mut is_kept = vec![false; n_tensors(kernels)];
    let mut elements = vec![None; is_kept.len()];
    let mut kept = 0.0;
    for kernel in kernels {
        let bytes = if is_single(kernel) { single } else { half };
        if elements[kernel.output].is_none() {
            elements[kernel.output] = Some(kernel.outputs * bytes);
        }
        if has_batch_norm(kernel) {
            kept += kernel.outputs * half;
        }
        let (reads, writes) = kept_operands(kernel);
        if reads {
            kernel
                .sources
                .iter()
                .for_each(|&source| is_kept[source] = true);
        }
        is_kept[kernel.output] |= writes;
        // The indices of the largest values, and the statistics of keys and queries, are small compared with these.
        if kernel.kind == Kind::Pool {
            kept += kernel.outputs * half;
        }
    }
    let tensors = is_kept.iter().zip(&elements).filter(|(kept, _)| **kept);
    kept + tensors.filter_map(|(_, bytes)| *bytes).sum::<f64>()
}

/// Whether the backward pass reads the operands, and whether it reads the result.
fn kept_operands(kernel: &Kernel) -> (bool, bool) {
    match kernel.kind {
        Kind::Activation if kernel.function == Some(Function::Relu) => (false, true),
        Kind::Softmax => (false, true),
        Kind::Attention => (true, true),
        Kind::Convolution
        | Kind::Stem
        | Kind::Pointwise
        | Kind::Grouped
        | Kind::Depthwise
        | Kind::Dense
        | Kind::MatrixProduct
        | Kind::Normalisation
        | Kind::Activation
        | Kind::Elementwise
        | Kind::Scale
        | Kind::Affine
        | Kind::Recurrent
        | Kind::Pool => (true, false),
        Kind::Addition
        | Kind::Reduction
        | Kind::Concatenation
        | Kind::Copy
        | Kind::Resize
        | Kind::Gather
        | Kind::Other => (false, false),
    }
}

fn n_tensors(kernels: &[Kernel]) -> usize {
    let indices = kernels
        .iter()
        .flat_map(|kernel| kernel.sources.iter().chain([&kernel.output]));
    indices.max().map_or(0, |&largest| largest + 1)
}
