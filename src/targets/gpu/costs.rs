//! [`Kernel`]s → [`Amounts`]: a fixed list of amounts, each with a cost that is fitted and never negative. A network's
//! time is the sum over its kernels of amounts times costs. This is a roofline whose ceilings depend on the kind of
//! kernel and its shape.

use super::kernels::{Function, Kernel, Kind, is_compiled_channels_last};
use super::specifications::{Gpu, Layout};
use crate::target::fitted::Mode;

/// Amounts of all kernels, by [`NAMES`]: 10⁹ multiply-accumulates, 10⁶ elements, or launches.
pub type Amounts = [f64; N_COSTS];

macro_rules! costs {
    ($($variant:ident $name:literal,)*) => {
        /// One cost of the list.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        enum Cost { $($variant,)* }
        /// Stable identifiers, in the order of [`Amounts`]. Their digest is the schema of the constants.
        pub const NAMES: [&str; N_COSTS] = [$($name,)*];
        pub const N_COSTS: usize = [$($name,)*].len();
    };
}

costs! {
    ConvolutionMacs "convolution_macs",
    ConvolutionReads "convolution_reads",
    ConvolutionWrites "convolution_writes",
    ConvolutionUnaligned "convolution_unaligned_macs",
    ConvolutionUnpadded "convolution_unpadded_macs",
    ConvolutionPadding "convolution_padding_macs",
    ConvolutionSmall "convolution_small_map_macs",
    FirstValues "first_values",
    StemMacs "stem_macs",
    StemReads "stem_reads",
    StemWrites "stem_writes",
    PointwiseMacs "pointwise_macs",
    PointwiseReads "pointwise_reads",
    PointwiseWrites "pointwise_writes",
    PointwiseUnaligned "pointwise_unaligned_macs",
    PointwisePadding "pointwise_padding_macs",
    PointwiseSmall "pointwise_small_map_macs",
    GroupedMacs "grouped_macs",
    GroupedReads "grouped_reads",
    GroupedWrites "grouped_writes",
    GroupedUnaligned "grouped_unaligned_macs",
    GroupedThin "grouped_thin_macs",
    GroupedSlow "grouped_slow_values",
    GroupedOdd "grouped_odd_values",
    GroupedNarrow "grouped_narrow_values",
    DepthwiseMacs "depthwise_macs",
    DepthwiseReads "depthwise_reads",
    DepthwiseWrites "depthwise_writes",
    DepthwiseWide "depthwise_wide_macs",
    DepthwiseHuge "depthwise_huge_macs",
    DepthwisePermuted "depthwise_permuted_macs",
    DepthwisePermutedWide "depthwise_permuted_wide_macs",
    DepthwisePermutedHuge "depthwise_permuted_huge_macs",
    DepthwisePermutedVast "depthwise_permuted_vast_macs",
    DepthwiseStrided "depthwise_strided_reads",
    DepthwiseUnaligned "depthwise_unaligned_reads",
    DenseMacs "dense_macs",
    DenseReads "dense_reads",
    DenseWrites "dense_writes",
    DenseUnaligned "dense_unaligned_macs",
    DensePadding "dense_padding_macs",
    ProductMacs "matrix_product_macs",
    ProductReads "matrix_product_reads",
    ProductWrites "matrix_product_writes",
    ProductMatrices "matrix_product_matrices",
    AttentionMacs "attention_macs",
    AttentionReads "attention_reads",
    AttentionWrites "attention_writes",
    AttentionScores "attention_scores",
    AttentionMatrices "attention_matrices",
    AttentionThin "attention_thin_macs",
    AttentionMask "attention_masked_scores",
    AttentionUnaligned "attention_unaligned_masked_scores",
    AttentionRows "attention_rows",
    BatchNorm "biased_convolution_writes",
    Softmax "softmax_elements",
    Normalisation "normalisation_elements",
    NormalisationRows "normalisation_rows",
    NormalisationUnaligned "normalisation_unaligned_elements",
    Relu "relu_elements",
    Gelu "gelu_elements",
    Gated "gated_activation_elements",
    OtherActivation "other_activation_elements",
    Addition "addition_elements",
    Elementwise "elementwise_elements",
    Scale "scale_elements",
    Affine "affine_elements",
    Reduction "reduction_reads",
    ReductionRows "reduction_rows",
    Pool "pool_elements",
    PoolWindow "pool_window_elements",
    Concatenation "concatenation_elements",
    Copy "copy_elements",
    Resize "resize_elements",
    ResizePlanes "resize_planes",
    Gather "gather_elements",
    RecurrentMacs "recurrent_macs",
    Other "other_elements",
    Launches "launches",
    Casts "casts",
}

/// A prior for one cost, in milliseconds, because too few measured networks determine it.
///
/// For channels-first bilinear resizing, PyTorch starts one thread for each position of the output. The thread reads
/// all channels of all inputs one after another, and each read waits for memory: about 300 ns on any GPU. `torch.compile`
/// writes other kernels, for which this cost is 0.
pub const PRIOR_MS: (usize, f64) = (Cost::ResizePlanes as usize, 0.3);

/// Index of the cost of launches, the only cost that is not time of a kernel.
pub const LAUNCHES: usize = Cost::Launches as usize;

/// Tile of a matrix product on tensor cores: columns and depth are padded to multiples of these.
const TILE: [f64; 2] = [64.0, 32.0];
/// Tile of the scores of a fused attention: rows and columns are padded to multiples of these.
const ATTENTION_TILE: [f64; 2] = [128.0, 64.0];
/// Tensor cores take operands whose lengths are multiples of this many float16 values; others are padded.
const ALIGNMENT: f64 = 8.0;
/// Height of a feature map below which a tile of positions is not full.
const SMALL_MAP: f64 = 8.0;
/// Training with channels last has fast kernels for groups of at most so many channels, if there are many channels or
/// groups, and each group reads as many channels as it writes. By the measurements of the families that are not final.
const MAX_FAST_GROUP: f64 = 48.0;
const MAX_FEW_CHANNELS: f64 = 128.0;
const MANY_GROUPS: f64 = 32.0;
/// The slow kernels take a time for each value that grows with the channels of a group, up to so many.
const SLOW_GROUP: f64 = 32.0;
/// With channels last, groups that read fewer channels than this have a slow kernel.
const NARROW_GROUP: f64 = 4.0;
/// Heads with fewer channels than this leave tiles of fused attention unused.
const THIN_HEAD: f64 = 32.0;

/// How a network runs, as far as the amounts of its kernels depend on it.
#[derive(Clone, Copy, Debug)]
pub struct Execution {
    /// See [`Gpu::is_mixed`].
    is_mixed: bool,
    /// Whether all convolutions have their channels last, whatever they read.
    is_channels_last: bool,
    mode: Mode,
}

impl Execution {
    /// Of the network of these kernels.
    pub fn new(kernels: &[Kernel], gpu: &Gpu, mode: Mode) -> Self {
        Self {
            is_mixed: gpu.is_mixed(),
            is_channels_last: match gpu.layout {
                Layout::First => false,
                Layout::Last => true,
                Layout::Compiled => is_compiled_channels_last(kernels),
            },
            mode,
        }
    }
}

/// Amounts of one kernel per input, if `batch` inputs run together. Launches and casts of weights happen once per
/// batch. In mixed precision, products cast what they read in float32, and in inference a value in float32 counts as
/// two; in training that would raise the errors on left-out families.
pub fn amounts(kernel: &Kernel, batch: f64, execution: Execution) -> Amounts {
    let mut work = KernelWork::new(kernel, execution);
    let KernelWork {
        macs,
        reads,
        writes,
        ..
    } = work;
    let moved = reads + writes;
    match kernel.kind {
        Kind::Convolution => work.add_product_costs([
            Cost::ConvolutionMacs,
            Cost::ConvolutionReads,
            Cost::ConvolutionWrites,
            Cost::ConvolutionUnaligned,
            Cost::ConvolutionPadding,
            Cost::ConvolutionSmall,
        ]),
        Kind::Stem => {
            work.add(Cost::StemMacs, macs);
            work.add(Cost::StemReads, reads);
            work.add(Cost::StemWrites, writes);
        }
        Kind::Pointwise => work.add_product_costs([
            Cost::PointwiseMacs,
            Cost::PointwiseReads,
            Cost::PointwiseWrites,
            Cost::PointwiseUnaligned,
            Cost::PointwisePadding,
            Cost::PointwiseSmall,
        ]),
        Kind::Grouped => work.add_grouped_convolution(),
        Kind::Depthwise => work.add_depthwise_convolution(),
        Kind::Dense => {
            work.add(Cost::DenseMacs, macs);
            work.add(Cost::DenseReads, reads);
            work.add(Cost::DenseWrites, writes);
            work.add(Cost::DenseUnaligned, work.unaligned());
            work.add(Cost::DensePadding, work.padding());
        }
        Kind::MatrixProduct => {
            work.add(Cost::ProductMacs, macs);
            work.add(Cost::ProductReads, reads);
            work.add(Cost::ProductWrites, writes);
            work.add(Cost::ProductMatrices, kernel.groups / 1e3);
        }
        Kind::Attention => work.add_attention(),
        Kind::Softmax => work.add(Cost::Softmax, moved),
        Kind::Normalisation => work.add_normalisation(),
        Kind::Activation => {
            let cost = match kernel.function {
                Some(Function::Relu | Function::Relu6) => Cost::Relu,
                Some(Function::Gelu) => Cost::Gelu,
                Some(Function::Gated) => Cost::Gated,
                _ => Cost::OtherActivation,
            };
            work.add(cost, moved);
        }
        Kind::Addition => work.add(Cost::Addition, moved),
        Kind::Elementwise => work.add(Cost::Elementwise, moved),
        Kind::Scale => work.add(Cost::Scale, moved),
        Kind::Affine => work.add(Cost::Affine, moved),
        Kind::Reduction => {
            work.add(Cost::Reduction, reads);
            work.add(Cost::ReductionRows, kernel.rows / 1e3);
        }
        Kind::Pool => {
            work.add(Cost::Pool, moved);
            work.add(Cost::PoolWindow, writes * kernel.window);
        }
        Kind::Concatenation => work.add(Cost::Concatenation, moved),
        Kind::Copy => work.add(Cost::Copy, moved),
        Kind::Resize => {
            work.add(Cost::Resize, moved);
            work.add(Cost::ResizePlanes, kernel.columns / 1e3);
        }
        Kind::Gather => work.add(Cost::Gather, moved),
        // At least the products of the matrices; the wait from one time step to the next is added to them.
        Kind::Recurrent => {
            work.add(Cost::DenseMacs, macs);
            work.add(Cost::RecurrentMacs, macs);
        }
        Kind::Other => work.add(Cost::Other, moved),
    }
    let is_dense = matches!(
        kernel.kind,
        Kind::Convolution | Kind::Stem | Kind::Pointwise
    );
    if is_dense && !work.is_permuted {
        // Tensor cores take channels last: maps with channels first are copied.
        work.add(Cost::FirstValues, moved);
    }
    if execution.is_channels_last && execution.mode == Mode::Training {
        work.add_slow_training();
    }
    if kernel.has_batch_norm() {
        work.add(Cost::BatchNorm, writes);
    }
    work.add(Cost::Launches, 1.0 / batch);
    let is_cast = execution.is_mixed && kernel.is_product();
    let operands = if is_cast { kernel.float32_inputs } else { 0.0 };
    work.add(Cost::Casts, (kernel.weights / batch + operands) / 1e6);
    work.amounts
}

/// What one kernel computes and moves, with its amounts so far.
struct KernelWork<'k> {
    kernel: &'k Kernel,
    /// 10⁹ multiply-accumulates.
    macs: f64,
    /// 10⁶ values of two bytes.
    reads: f64,
    writes: f64,
    /// Of one product.
    depth: f64,
    /// Whether a convolution has its channels last.
    is_permuted: bool,
    amounts: Amounts,
}

impl<'k> KernelWork<'k> {
    fn new(kernel: &'k Kernel, execution: Execution) -> Self {
        let macs = kernel.macs / 1e9;
        let (mut reads, mut writes) = (kernel.inputs, kernel.outputs);
        let counts_float32 = execution.is_mixed && execution.mode == Mode::Inference;
        if counts_float32 && !kernel.is_product() {
            reads += kernel.float32_inputs;
            if kernel.writes_float32 {
                writes *= 2.0;
            }
        }
        Self {
            kernel,
            macs,
            reads: reads / 1e6,
            writes: writes / 1e6,
            depth: kernel.depth / kernel.window.max(1.0),
            is_permuted: execution.is_channels_last || kernel.is_permuted,
            amounts: [0.0; N_COSTS],
        }
    }

    fn add(&mut self, cost: Cost, amount: f64) {
        self.amounts[cost as usize] += amount;
    }

    /// Multiply-accumulates that are added so that tensor cores take the operands.
    fn unaligned(&self) -> f64 {
        self.macs * padding([self.kernel.columns, self.depth], [ALIGNMENT; 2]).min(MAX_PADDING)
    }

    /// Multiply-accumulates that are added to fill tiles.
    fn padding(&self) -> f64 {
        self.macs * padding([self.kernel.columns, self.kernel.depth], TILE).min(MAX_PADDING)
    }

    /// Costs of products, reads, writes, and of products that are not aligned, padded, or of small feature maps.
    fn add_product_costs(
        &mut self,
        [products, read, written, unaligned, padded, small]: [Cost; 6],
    ) {
        let Self { kernel, macs, .. } = *self;
        self.add(products, macs);
        self.add(read, self.reads);
        self.add(written, self.writes);
        self.add(unaligned, self.unaligned());
        self.add(padded, self.padding());
        self.add(small, if kernel.side <= SMALL_MAP { macs } else { 0.0 });
    }

    fn add_grouped_convolution(&mut self) {
        let Self {
            kernel,
            macs,
            reads,
            writes,
            depth,
            ..
        } = *self;
        let columns = kernel.columns / kernel.groups.max(1.0);
        let is_unaligned = !is_multiple(columns) || !is_multiple(depth);
        self.add(Cost::GroupedMacs, macs);
        self.add(Cost::GroupedReads, reads);
        self.add(Cost::GroupedWrites, writes);
        self.add(
            Cost::GroupedUnaligned,
            if is_unaligned { macs } else { 0.0 },
        );
        self.add(
            Cost::GroupedThin,
            macs * ALIGNMENT / columns.min(depth).max(1.0),
        );
        if self.is_permuted && !(columns as u64).is_power_of_two() {
            self.add(Cost::GroupedOdd, reads + writes);
        }
        if self.is_permuted && depth < NARROW_GROUP {
            self.add(Cost::GroupedNarrow, reads + writes);
        }
    }

    /// Costs that only training with channels last has: it has no fast kernels for some groups, and pads no channels.
    fn add_slow_training(&mut self) {
        let kernel = self.kernel;
        let columns = kernel.columns / kernel.groups.max(1.0);
        let is_slow = columns > MAX_FAST_GROUP
            || kernel.columns <= MAX_FEW_CHANNELS && kernel.groups < MANY_GROUPS
            || columns != self.depth;
        if kernel.kind == Kind::Grouped && is_slow {
            let share = (columns / SLOW_GROUP).min(1.0);
            self.add(Cost::GroupedSlow, (self.reads + self.writes) * share);
        }
        if kernel.kind == Kind::Convolution && self.unaligned() > 0.0 {
            self.add(Cost::ConvolutionUnpadded, self.macs);
        }
    }

    fn add_depthwise_convolution(&mut self) {
        let Self {
            kernel,
            macs,
            reads,
            writes,
            ..
        } = *self;
        self.add(Cost::DepthwiseReads, reads);
        self.add(Cost::DepthwiseWrites, writes);
        // Kernels for channels last are others.
        let costs = if self.is_permuted {
            [
                (Cost::DepthwisePermuted, 0.0),
                (Cost::DepthwisePermutedWide, 9.0),
                (Cost::DepthwisePermutedHuge, 25.0),
                (Cost::DepthwisePermutedVast, 49.0),
            ]
            .as_slice()
        } else {
            &[
                (Cost::DepthwiseMacs, 0.0),
                (Cost::DepthwiseWide, 9.0),
                (Cost::DepthwiseHuge, 25.0),
            ]
        };
        for &(cost, window) in costs {
            if kernel.window > window {
                self.add(cost, macs);
            }
        }
        self.add(
            Cost::DepthwiseStrided,
            if kernel.stride > 1.0 { reads } else { 0.0 },
        );
        let is_aligned = is_multiple(kernel.columns);
        self.add(
            Cost::DepthwiseUnaligned,
            if is_aligned { 0.0 } else { reads },
        );
    }

    fn add_attention(&mut self) {
        let Self {
            kernel,
            macs,
            reads,
            writes,
            ..
        } = *self;
        let tiles = 1.0 + padding([kernel.rows, kernel.columns], ATTENTION_TILE);
        let [macs, scores] = [macs, kernel.scores / 1e6].map(|amount| amount * tiles);
        self.add(Cost::AttentionMacs, macs);
        self.add(Cost::AttentionReads, reads);
        self.add(Cost::AttentionWrites, writes);
        self.add(Cost::AttentionScores, scores);
        self.add(Cost::AttentionMatrices, kernel.groups / 1e3);
        self.add(Cost::AttentionRows, kernel.groups * kernel.rows / 1e6);
        if kernel.is_masked {
            self.add(Cost::AttentionMask, scores);
            let is_aligned = is_multiple(kernel.columns);
            self.add(
                Cost::AttentionUnaligned,
                if is_aligned { 0.0 } else { scores },
            );
        }
        let is_thin = kernel.depth < THIN_HEAD || !is_multiple(kernel.depth);
        self.add(Cost::AttentionThin, if is_thin { macs } else { 0.0 });
    }

    fn add_normalisation(&mut self) {
        let Self {
            kernel,
            reads,
            writes,
            ..
        } = *self;
        self.add(Cost::Normalisation, reads + writes);
        self.add(Cost::NormalisationRows, kernel.rows / 1e3);
        let is_aligned = is_multiple(kernel.columns);
        self.add(
            Cost::NormalisationUnaligned,
            if is_aligned { 0.0 } else { reads },
        );
    }
}

fn is_multiple(length: f64) -> bool {
    length % ALIGNMENT == 0.0
}

/// What padding two lengths to whole tiles adds, relative to their product.
fn padding(lengths: [f64; 2], tile: [f64; 2]) -> f64 {
    let padded = |idx: usize| (lengths[idx] / tile[idx]).ceil() * tile[idx] / lengths[idx].max(1.0);
    padded(0) * padded(1) - 1.0
}

/// Padding of a product counts up to this: products with smaller matrices wait for memory, not for tensor cores.
const MAX_PADDING: f64 = 8.0;
