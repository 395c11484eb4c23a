//! Kernels → bytes of GPU memory, counted by rules of PyTorch. No measurements of the memory of these networks are
//! published, so it is modelled, and the trainer compares the count with the bytes that PyTorch allocates for the
//! tensors of a network.
//!
//! - Automatic mixed precision keeps weights in float32; products use a float16 copy, made once per forward pass.
//!   Activations are float16, except those that normalisations and softmaxes write, which are float32.
//! - In float32 and in bfloat16, weights and activations have that type, and there are no copies.
//! - Inference frees an activation after its last reader.
//! - Training keeps what the backward pass reads: operands of products, inputs of normalisations and of activations
//!   (for ReLU, its output suffices), and the input of a folded batch norm.
//! - The optimiser keeps one (SGD with momentum) or two (Adam) values for each weight, beside the gradient.

use super::kernels::{Function, Kernel, Kind};
use super::specifications::ComputePrecision;

/// CUDA context, loaded kernels and handles of cuBLAS and cuDNN, before any tensor: 0.4 to 0.8 GB with
/// PyTorch 2 on Ampere and later.
pub const BASE_BYTES: f64 = 0.6e9;
/// Workspaces of cuBLAS and cuDNN, and the rounding of the caching allocator.
pub const WORKSPACE_BYTES: f64 = 64e6;
/// Share of activations that PyTorch's caching allocator holds beyond the tensors themselves.
pub const FRAGMENTATION: f64 = 0.08;

/// Bytes of each value of a network.
struct ValueBytes {
    /// Of the weights that the optimiser changes.
    weight: f64,
    /// Of a copy of the weights of products.
    weight_copy: f64,
    activation: f64,
    /// Of what normalisations and softmaxes write.
    normalised: f64,
}

impl ValueBytes {
    fn of(precision: ComputePrecision) -> Self {
        let uniform = |bytes: f64| Self {
            weight: bytes,
            weight_copy: 0.0,
            activation: bytes,
            normalised: bytes,
        };
        match precision {
            ComputePrecision::Amp => Self {
                weight: 4.0,
                weight_copy: 2.0,
                activation: 2.0,
                normalised: 4.0,
            },
            ComputePrecision::Bfloat16 => uniform(2.0),
            ComputePrecision::Float32 => uniform(4.0),
        }
    }

    fn of_weights(&self, kernels: &[Kernel], parameters: f64) -> f64 {
        let multiplied: f64 = kernels.iter().map(|kernel| kernel.weights).sum();
        self.weight * parameters + self.weight_copy * multiplied
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Optimiser {
    /// Stochastic gradient descent with momentum.
    Sgd,
    Adam,
}

/// GPU memory of one step of `batch` inputs, by use.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Memory {
    /// Weights, and their copies in another type.
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
    pub fn inference(
        kernels: &[Kernel],
        parameters: f64,
        batch: f64,
        precision: ComputePrecision,
    ) -> Self {
        let bytes = ValueBytes::of(precision);
        let activations = batch * peak_bytes(kernels, bytes.activation, bytes.normalised);
        Self {
            weight_bytes: bytes.of_weights(kernels, parameters),
            state_bytes: 0.0,
            activation_bytes: activations * (1.0 + FRAGMENTATION),
            workspace_bytes: WORKSPACE_BYTES,
            base_bytes: BASE_BYTES,
        }
    }

    /// Memory of one training step. Linear in kernels.
    pub fn training(
        kernels: &[Kernel],
        parameters: f64,
        batch: f64,
        optimiser: Optimiser,
        precision: ComputePrecision,
    ) -> Self {
        let bytes = ValueBytes::of(precision);
        let moments = match optimiser {
            Optimiser::Sgd => 1.0,
            Optimiser::Adam => 2.0,
        };
        let largest = kernels
            .iter()
            .map(|kernel| kernel.outputs)
            .fold(0.0, f64::max);
        // The backward pass holds the gradients of an operator's output and input in addition to what was kept.
        let kept = kept_bytes(kernels, bytes.activation, bytes.normalised);
        let kept = batch * (kept + 2.0 * bytes.activation * largest);
        Self {
            weight_bytes: bytes.of_weights(kernels, parameters),
            state_bytes: bytes.weight * parameters * (1.0 + moments),
            activation_bytes: kept * (1.0 + FRAGMENTATION),
            workspace_bytes: WORKSPACE_BYTES,
            base_bytes: BASE_BYTES,
        }
    }
}

/// Whether automatic mixed precision runs the kernel in float32.
fn is_normalised(kernel: &Kernel) -> bool {
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
/// that reads it. Its values have `bytes` each, or `normalised` each if a normalisation or softmax writes them.
pub fn peak_bytes(kernels: &[Kernel], bytes: f64, normalised: f64) -> f64 {
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
            let written = kernel.outputs
                * if is_normalised(kernel) {
                    normalised
                } else {
                    bytes
                };
            bytes_of[kernel.output] = written;
            alive += written;
        }
        // A folded batch norm writes its result in addition to that of the convolution.
        let batch_norm = if has_batch_norm(kernel) {
            kernel.outputs * bytes
        } else {
            0.0
        };
        peak = peak.max(alive + batch_norm);
        for &source in &kernel.sources {
            if last_reader[source] == Some(kernel_idx) {
                alive -= std::mem::take(&mut bytes_of[source]);
            }
        }
    }
    peak
}

/// Bytes of one input's activations that the backward pass reads, each tensor once.
pub fn kept_bytes(kernels: &[Kernel], bytes: f64, normalised: f64) -> f64 {
    let mut is_kept = vec![false; n_tensors(kernels)];
    let mut elements = vec![None; is_kept.len()];
    let mut kept = 0.0;
    for kernel in kernels {
        let written = if is_normalised(kernel) {
            normalised
        } else {
            bytes
        };
        if elements[kernel.output].is_none() {
            elements[kernel.output] = Some(kernel.outputs * written);
        }
        if has_batch_norm(kernel) {
            kept += kernel.outputs * bytes;
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
            kept += kernel.outputs * bytes;
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
