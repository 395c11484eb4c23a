//! Kernels → bytes of GPU memory, counted by rules of PyTorch. `litecast-trainer fit-gpu --modelled` compares the
//! count with measurements on an H100.
//!
//! - Automatic mixed precision keeps weights in float32; products use a float16 copy, made once per forward pass.
//!   Products write float16, and copy float32 operands to it first; other kernels write what
//!   [`Kernel::writes_float32`] says.
//! - In float32 and in bfloat16, weights and activations have that type, and there are no copies.
//! - Inference keeps the inputs of the network, and frees an activation after its last reader. The result of a
//!   normalisation stays until the next addition, because a module's caller holds its arguments until it returns.
//! - On tensor cores, cuDNN convolves channels last, and copies the input and the output to a workspace.
//! - Training keeps what the backward pass reads: operands of products in the type of the product, inputs of
//!   normalisations and of activations (for ReLU, its output suffices), the input of a folded batch norm, and the
//!   indices of the largest values of a pool.
//! - The optimiser keeps one (SGD with momentum) or two (Adam) values for each weight, beside the gradient.

use super::kernels::{Function, Kernel, Kind};
use super::specifications::ComputePrecision;

/// CUDA context, loaded kernels and handles of cuBLAS and cuDNN, before any tensor: measured with PyTorch 2.11 on an
/// H100.
pub const BASE_BYTES: f64 = 0.8e9;
/// Workspaces of cuBLAS, and the rounding of the caching allocator.
pub const WORKSPACE_BYTES: f64 = 64e6;
/// Share of activations that PyTorch's caching allocator holds beyond the tensors themselves in inference, where blocks
/// of different sizes follow each other: the median on an H100.
const INFERENCE_FRAGMENTATION: f64 = 0.3;
/// The same in training.
const TRAINING_FRAGMENTATION: f64 = 0.08;
/// Range of the memory of a process relative to the count, which contains 90 % of the measurements on the H100.
pub const RANGE: [f64; 2] = [0.8, 1.5];
/// Bytes of the index of a pool's largest value.
const INDEX_BYTES: f64 = 8.0;

/// Bytes of each value of a network.
struct ValueBytes {
    /// Of the weights that the optimiser changes.
    weight: f64,
    /// Of a copy of the weights of products.
    weight_copy: f64,
    /// Of what products write.
    product: f64,
    /// Of the network's inputs and of what normalisations and softmaxes write.
    normalised: f64,
}

impl ValueBytes {
    fn for_precision(precision: ComputePrecision) -> Self {
        let uniform = |bytes: f64| Self {
            weight: bytes,
            weight_copy: 0.0,
            product: bytes,
            normalised: bytes,
        };
        match precision {
            ComputePrecision::Amp => Self {
                weight: 4.0,
                weight_copy: 2.0,
                product: 2.0,
                normalised: 4.0,
            },
            ComputePrecision::Bfloat16 => uniform(2.0),
            ComputePrecision::Float32 => uniform(4.0),
        }
    }

    fn weight_bytes(&self, kernels: &[Kernel], parameters: f64) -> f64 {
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
pub struct GpuMemory {
    /// Weights, and their copies in another type.
    pub weight_bytes: f64,
    /// Gradients and the optimiser's state; 0 for inference.
    pub state_bytes: f64,
    /// Activations alive at the peak of inference, or kept for the backward pass.
    pub activation_bytes: f64,
    pub workspace_bytes: f64,
    pub base_bytes: f64,
}

impl GpuMemory {
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
        let bytes = ValueBytes::for_precision(precision);
        let activations = batch * peak_bytes(kernels, precision);
        Self {
            weight_bytes: bytes.weight_bytes(kernels, parameters),
            state_bytes: 0.0,
            activation_bytes: activations * (1.0 + INFERENCE_FRAGMENTATION),
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
        let bytes = ValueBytes::for_precision(precision);
        let moments = match optimiser {
            Optimiser::Sgd => 1.0,
            Optimiser::Adam => 2.0,
        };
        let largest = kernels
            .iter()
            .map(|kernel| kernel.outputs)
            .fold(0.0, f64::max);
        // The backward pass holds the gradients of an operator's output and input in addition to what was kept.
        let kept = kept_bytes(kernels, precision);
        let kept = batch * (kept + 2.0 * bytes.product * largest);
        // The forward pass runs the same kernels, so that a step needs no less than inference.
        let forward = Self::inference(kernels, parameters, batch, precision);
        Self {
            weight_bytes: bytes.weight_bytes(kernels, parameters),
            state_bytes: bytes.weight * parameters * (1.0 + moments),
            activation_bytes: forward
                .activation_bytes
                .max(kept * (1.0 + TRAINING_FRAGMENTATION)),
            workspace_bytes: WORKSPACE_BYTES,
            base_bytes: BASE_BYTES,
        }
    }
}

/// A tensor of one input of the network.
#[derive(Clone, Copy, Debug, Default)]
struct Tensor {
    elements: f64,
    bytes_per_value: f64,
    is_written: bool,
    /// Index of the last kernel that reads it; the inputs of the network have none.
    last_reader: Option<usize>,
}

impl Tensor {
    fn bytes(&self) -> f64 {
        self.elements * self.bytes_per_value
    }

    /// Bytes of a copy in the type of products, which a product makes of a wider operand.
    fn copy_bytes(&self, bytes: &ValueBytes) -> f64 {
        if self.bytes_per_value > bytes.product {
            self.elements * bytes.product
        } else {
            0.0
        }
    }
}

/// By index. Linear in kernels and their operands.
fn tensors(kernels: &[Kernel], bytes: &ValueBytes) -> Vec<Tensor> {
    let indices = kernels
        .iter()
        .flat_map(|kernel| kernel.sources.iter().chain([&kernel.output]));
    let n_tensors = indices.max().map_or(0, |&largest| largest + 1);
    let mut tensors = vec![Tensor::default(); n_tensors];
    for (kernel_idx, kernel) in kernels.iter().enumerate() {
        for &source in &kernel.sources {
            let tensor = &mut tensors[source];
            if tensor.is_written {
                tensor.last_reader = Some(kernel_idx);
            } else {
                // An input of the network; its elements are known if the kernel reads nothing else.
                tensor.bytes_per_value = bytes.normalised;
                if let [_] = kernel.sources[..] {
                    tensor.elements = kernel.inputs;
                }
            }
        }
        if kernel.sources.contains(&kernel.output) {
            continue;
        }
        tensors[kernel.output] = Tensor {
            elements: kernel.outputs,
            bytes_per_value: if kernel.writes_float32 {
                bytes.normalised
            } else {
                bytes.product
            },
            is_written: true,
            last_reader: None,
        };
    }
    tensors
}

/// Peak bytes of live activations for one input, with the copies and workspaces of the kernel that runs.
pub fn peak_bytes(kernels: &[Kernel], precision: ComputePrecision) -> f64 {
    let bytes = ValueBytes::for_precision(precision);
    let tensors = tensors(kernels, &bytes);
    let inputs = tensors.iter().filter(|tensor| !tensor.is_written);
    let mut alive: f64 = inputs.map(Tensor::bytes).sum();
    let mut live: Vec<f64> = tensors.iter().map(Tensor::bytes).collect();
    let mut peak = 0.0f64;
    let mut argument: Option<usize> = None;
    for (kernel_idx, kernel) in kernels.iter().enumerate() {
        if !kernel.sources.contains(&kernel.output) {
            alive += tensors[kernel.output].bytes();
        }
        let mut beside = 0.0;
        if kernel.is_product() {
            let copies = kernel.sources.iter();
            beside = copies
                .map(|&source| tensors[source].copy_bytes(&bytes))
                .sum();
        }
        if kernel.is_convolution() && kernel.kind != Kind::Depthwise {
            beside += (kernel.inputs + kernel.outputs) * bytes.product;
        }
        if kernel.has_batch_norm() {
            beside = beside.max(kernel.outputs * bytes.product);
        }
        let argument_bytes = argument
            .filter(|&idx| tensors[idx].last_reader < Some(kernel_idx))
            .map_or(0.0, |idx| tensors[idx].bytes());
        peak = peak.max(alive + beside + argument_bytes);
        for &source in &kernel.sources {
            let is_last = tensors[source].last_reader == Some(kernel_idx);
            if is_last && source != kernel.output {
                alive -= std::mem::take(&mut live[source]);
            }
        }
        match kernel.kind {
            Kind::Normalisation => argument = Some(kernel.output),
            Kind::Addition => argument = None,
            _ => {}
        }
    }
    peak
}

/// Bytes of one input's activations that the backward pass reads, each tensor once.
pub fn kept_bytes(kernels: &[Kernel], precision: ComputePrecision) -> f64 {
    let bytes = ValueBytes::for_precision(precision);
    let tensors = tensors(kernels, &bytes);
    let mut is_kept = vec![false; tensors.len()];
    let mut kept = 0.0;
    for kernel in kernels {
        if kernel.has_batch_norm() {
            kept += kernel.outputs * bytes.product;
        }
        let (reads, writes) = kept_operands(kernel);
        for &source in kernel.sources.iter().filter(|_| reads) {
            let copy = tensors[source].copy_bytes(&bytes);
            if kernel.is_product() && copy > 0.0 {
                kept += copy;
            } else {
                is_kept[source] = true;
            }
        }
        is_kept[kernel.output] |= writes;
        if kernel.kind == Kind::Pool {
            kept += kernel.outputs * INDEX_BYTES;
        }
    }
    let tensors = tensors.iter().zip(is_kept).filter(|(_, kept)| *kept);
    kept + tensors.map(|(tensor, _)| tensor.bytes()).sum::<f64>()
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
