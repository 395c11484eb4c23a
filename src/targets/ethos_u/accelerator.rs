//! An accelerator with its memories, as Vela 5.2.0 configures it for a [`Configuration`].
//!
//! Shapes and memories of blocks, cycles of the output stage and words in flight are those of Vela's architecture files
//! (`ethos_u55.cpp`, `ethos_u65.cpp`, `ethos_u85.cpp` and `ethos_u85_performance.cpp`).

use std::sync::LazyLock;

use super::configuration::{
    Configuration, Family, MemoryArea, MemoryParameters, Placement, Product, Strategy,
    SystemConfiguration,
};
use super::geometry::Hwc;
use super::layer::{Kind, Layer, UNCHANGED};
use super::program::Arithmetic;

/// The channels that move bytes between an accelerator and its memories.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Channel {
    /// From memory to memory.
    Copy,
    /// Inputs of elementwise operations, and upscaled inputs.
    Stream,
    Weights,
    /// Inputs of the multipliers.
    Input,
    Scales,
    Write,
}

/// Number of channels.
pub const N_CHANNELS: usize = 6;

/// A memory that operations read from and write to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MemoryPort {
    /// Bytes per cycle of the accelerator's clock.
    pub bytes_per_cycle: f64,
    /// Cycles per byte if only one [`Channel`] moves bytes; 0 if only the memory limits it.
    pub channel_cycles_per_byte: [f64; N_CHANNELS],
    pub read_latency_cycles: f64,
    pub write_latency_cycles: f64,
    /// Bytes of one burst. A shorter transfer takes as long as a burst.
    pub burst_bytes: i64,
    pub area: MemoryArea,
}

impl MemoryPort {
    /// Cycles to move these numbers of bytes by all [`Channel`]s at the same time.
    pub fn cycles(&self, bytes: &[f64; N_CHANNELS]) -> f64 {
        let channels = bytes.iter().zip(&self.channel_cycles_per_byte);
        let at_once = bytes.iter().sum::<f64>() / self.bytes_per_cycle;
        channels.fold(at_once, |most, (bytes, cycles_per_byte)| {
            most.max(bytes * cycles_per_byte)
        })
    }
}

/// The speed of a transfer: latency, and bytes over bandwidth.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Transfer {
    pub cycles_per_byte: f64,
    pub latency_cycles: f64,
}

impl Transfer {
    pub fn cycles(&self, bytes: f64) -> f64 {
        bytes * self.cycles_per_byte + self.latency_cycles
    }
}

/// Cycles of a copy from one memory to another: the slower of both ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Copying {
    pub read: Transfer,
    pub write: Transfer,
}

impl Copying {
    pub fn cycles(&self, bytes: f64) -> f64 {
        self.read.cycles(bytes).max(self.write.cycles(bytes))
    }
}

/// How the accelerator's own memory holds a block's inputs and accumulators.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum BlockMemory {
    /// Banks of 1 KiB that inputs and accumulators share. Both are double-buffered and allocated in whole granules.
    Banks {
        n_banks: i64,
        /// Banks at the end that are reserved for a lookup table of an activation.
        n_end_banks: i64,
        input_granule: i64,
        /// For accumulators of 32 and of 40 bits.
        accumulator_granules: [i64; 2],
    },
    /// Separate memories for inputs and accumulators.
    Apart {
        input_bytes: i64,
        accumulator_bytes: i64,
        /// Buffers of elementwise operations: for outputs, and for chained or broadcast inputs.
        output_buffer_bytes: i64,
        chain_buffer_bytes: i64,
    },
}

/// Cycles for an output element in the output stage.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum OutputCycles {
    /// Ethos-U55 and U65: by operation.
    ByOperation {
        /// Elementwise operations on 32 bits.
        wide_unary: f64,
        wide_binary: f64,
        /// 32-bit products of narrower numbers.
        product_to_wide: f64,
        /// Products, and sums in 40-bit accumulators.
        product: f64,
        sum: f64,
        max_pooling: f64,
        other: f64,
        /// Lower bound if the output goes through a lookup table.
        table: f64,
    },
    /// Ethos-U85: by the width of what is written.
    ByWidth {
        /// 8, 16, 32 and 64 bits.
        output: [f64; 4],
        /// Two 32-bit inputs: to a narrower output, and to 32 bits.
        wide_binary: [f64; 2],
        /// RESIZE of 8 and of 16 bits, for factors below `min_high_ratio` and for factors of at least this.
        resize_low: [f64; 2],
        resize_high: [f64; 2],
        min_high_ratio: i64,
    },
}

impl OutputCycles {
    const fn times(self, factor: f64) -> Self {
        match self {
            Self::ByOperation {
                wide_unary,
                wide_binary,
                product_to_wide,
                product,
                sum,
                max_pooling,
                other,
                table,
            } => Self::ByOperation {
                wide_unary: wide_unary * factor,
                wide_binary: wide_binary * factor,
                product_to_wide: product_to_wide * factor,
                product: product * factor,
                sum: sum * factor,
                max_pooling: max_pooling * factor,
                other: other * factor,
                table: table * factor,
            },
            other => other,
        }
    }

    /// One pass over elements of 8 bits.
    pub fn pass(&self) -> f64 {
        match *self {
            Self::ByOperation { other, .. } => other,
            Self::ByWidth { output, .. } => output[0],
        }
    }

    /// Cycles per output element of an operation on the multipliers.
    pub fn for_layer(&self, layer: &Layer) -> f64 {
        let rate = match *self {
            Self::ByOperation {
                product,
                max_pooling,
                other,
                ..
            } => {
                let is_wide = layer.element_bytes.ifm == 2 && !layer.kind.is_pooling();
                let rate = match layer.kind {
                    Kind::MaxPooling => max_pooling,
                    _ if is_wide => product,
                    _ => other,
                };
                self.with_table(rate, layer.has_table)
            }
            // An operation that only permutes or reverses dimensions is as fast as an activation.
            Self::ByWidth { output, .. }
                if layer.order != UNCHANGED || layer.reversed.is_some() =>
            {
                let n_passes = if layer.is_written_slowly() { 2.0 } else { 1.0 };
                n_passes * output[0]
            }
            Self::ByWidth { output, .. } if layer.n_chained_passes > 0 => output[0],
            Self::ByWidth { output, .. } => output[width(layer.element_bytes.ofm)],
        };
        rate + self.pass() * layer.n_chained_passes as f64
    }

    /// Cycles per output element of an elementwise operation, by the bytes of an input and an output element.
    pub fn for_elementwise(
        &self,
        arithmetic: Option<Arithmetic>,
        [input_bytes, output_bytes]: [i64; 2],
        has_table: bool,
    ) -> f64 {
        match *self {
            Self::ByOperation {
                wide_unary,
                wide_binary,
                product_to_wide,
                product,
                sum,
                other,
                ..
            } => {
                let rate = match (arithmetic, input_bytes, output_bytes) {
                    (None, 4, _) => wide_unary,
                    (Some(_), 4, _) => wide_binary,
                    (Some(Arithmetic::Product), _, 4) => product_to_wide,
                    (Some(Arithmetic::Product), ..) => product,
                    (Some(Arithmetic::Sum), ..) => sum,
                    _ => other,
                };
                self.with_table(rate, has_table)
            }
            Self::ByWidth {
                output,
                wide_binary,
                ..
            } => match arithmetic {
                Some(Arithmetic::Quotient) => QUOTIENT_CYCLES,
                Some(_) if input_bytes == 4 => wide_binary[usize::from(output_bytes == 4)],
                _ => output[width(output_bytes)],
            },
        }
    }

    /// The same in a chain: what is passed on to the next operation has a rate of its own where it, or what is read, has
    /// 32 bits.
    pub fn in_chain(
        &self,
        arithmetic: Option<Arithmetic>,
        bytes: [i64; 2],
        is_passed_on: bool,
    ) -> f64 {
        match *self {
            Self::ByWidth { wide_binary, .. }
                if is_passed_on
                    && bytes.contains(&4)
                    && arithmetic != Some(Arithmetic::Quotient) =>
            {
                wide_binary[0]
            }
            _ => self.for_elementwise(arithmetic, bytes, false),
        }
    }

    /// Cycles per element of products that are then summed in 32 bits.
    pub fn product_to_wide(&self) -> f64 {
        self.for_elementwise(Some(Arithmetic::Product), [1, 4], false)
    }

    /// Cycles per output element of a RESIZE, by the bytes of an input element and the factor on rows or columns.
    pub fn for_resize(&self, input_bytes: i64, ratio: i64) -> f64 {
        match *self {
            Self::ByOperation { other, .. } => other,
            Self::ByWidth {
                resize_low,
                resize_high,
                min_high_ratio,
                ..
            } => {
                let cycles = if ratio >= min_high_ratio {
                    resize_high
                } else {
                    resize_low
                };
                cycles[usize::from(input_bytes > 1)]
            }
        }
    }

    fn with_table(&self, without_table: f64, has_table: bool) -> f64 {
        match *self {
            Self::ByOperation { table, .. } if has_table => without_table.max(table),
            _ => without_table,
        }
    }
}

/// Cycles of Ethos-U85 to divide an element, whatever its width.
pub const QUOTIENT_CYCLES: f64 = 33.0;

/// Index of a width in [`OutputCycles::ByWidth`].
fn width(element_bytes: i64) -> usize {
    match element_bytes {
        ..=1 => 0,
        2 => 1,
        3..=4 => 2,
        _ => 3,
    }
}

/// Micro blocks of the multipliers in order of preference, by kind of operation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MicroBlocks {
    /// Convolutions and products of vectors.
    pub products: &'static [Hwc],
    /// Products of matrices.
    pub matrix_products: &'static [Hwc],
    /// Operators that do not sum over channels, of 8 bits and of 16.
    pub by_channel: [&'static [Hwc]; 2],
    /// Sums over channels.
    pub sums: &'static [Hwc],
    pub elementwise: &'static [Hwc],
}

impl MicroBlocks {
    const fn same(blocks: &'static [Hwc]) -> Self {
        Self {
            products: blocks,
            matrix_products: blocks,
            by_channel: [blocks; 2],
            sums: blocks,
            elementwise: blocks,
        }
    }
}

/// The core of an accelerator, without memories.
struct Core {
    n_cores: i64,
    /// Number of encoded weight streams.
    n_weight_streams: i64,
    micro_blocks: MicroBlocks,
    max_block: Hwc,
    memory: BlockMemory,
    output: OutputCycles,
    /// Words of 16 bytes that each [`Channel`] may have in flight; writes are limited only by their number. `None` if a
    /// channel is as fast as the memory.
    channel_words: Option<[f64; N_CHANNELS]>,
}

const fn banks(n_banks: i64, input_granule: i64, accumulator_granules: [i64; 2]) -> BlockMemory {
    BlockMemory::Banks {
        n_banks,
        n_end_banks: if n_banks > 16 { 2 } else { 0 },
        input_granule,
        accumulator_granules,
    }
}

const fn by_operation(cycles: [f64; 7]) -> OutputCycles {
    OutputCycles::ByOperation {
        wide_unary: cycles[0],
        wide_binary: cycles[1],
        product_to_wide: cycles[2],
        product: cycles[3],
        sum: cycles[4],
        max_pooling: cycles[5],
        other: cycles[6],
        table: 1.0,
    }
}

const fn core_u55(micro_block: &'static [Hwc], memory: BlockMemory, output: OutputCycles) -> Core {
    Core {
        n_cores: 1,
        n_weight_streams: 1,
        micro_blocks: MicroBlocks::same(micro_block),
        max_block: [32, 64, 128],
        memory,
        output,
        channel_words: None,
    }
}

const CORE_U55_32: Core = core_u55(
    &[[1, 1, 4]],
    banks(16, 2, [4, 4]),
    by_operation([2.0, 3.0, 3.0, 3.0, 6.0, 1.0, 2.0]),
);
const CORE_U55_64: Core = core_u55(
    &[[1, 1, 8]],
    banks(16, 2, [4, 8]),
    by_operation([1.0, 1.5, 1.5, 1.5, 3.0, 0.5, 1.0]),
);
const CORE_U55_128: Core = core_u55(
    &[[1, 2, 8]],
    banks(24, 4, [8, 12]),
    by_operation([0.75, 1.25, 0.75, 0.75, 1.5, 0.25, 0.5]),
);
/// Ethos-U55 with 256 MACs, Ethos-U65 with 256, and each core of Ethos-U65 with 512.
const CORE_256: Core = core_u55(
    &[[2, 2, 8]],
    banks(48, 8, [16, 20]),
    by_operation([0.625, 1.125, 0.5, 0.375, 0.75, 0.125, 0.25]),
);
const CORE_U65_512: Core = Core {
    n_cores: 2,
    n_weight_streams: 2,
    output: CORE_256.output.times(0.5),
    ..CORE_256
};

/// `bytes`: sizes of the memories for inputs, accumulators, outputs of elementwise operations, and chained inputs.
/// `cycles`: cycles per output element as in [`OutputCycles::ByWidth`].
const fn core_u85(
    n_weight_streams: i64,
    micro_blocks: MicroBlocks,
    bytes: [i64; 4],
    channel_words: [f64; 5],
    output: OutputCycles,
) -> Core {
    let [copy, stream, weights, input, scales] = channel_words;
    Core {
        n_cores: 1,
        n_weight_streams,
        micro_blocks,
        max_block: [128, 128, 1024],
        memory: BlockMemory::Apart {
            input_bytes: bytes[0],
            accumulator_bytes: bytes[1],
            output_buffer_bytes: bytes[2],
            chain_buffer_bytes: bytes[3],
        },
        output,
        channel_words: Some([copy, stream, weights, input, scales, f64::INFINITY]),
    }
}

const fn by_width(
    output: [f64; 4],
    wide_binary: [f64; 2],
    resize_low: [f64; 2],
    resize_high: [f64; 2],
    min_high_ratio: i64,
) -> OutputCycles {
    OutputCycles::ByWidth {
        output,
        wide_binary,
        resize_low,
        resize_high,
        min_high_ratio,
    }
}

const CORE_U85_128: Core = core_u85(
    1,
    MicroBlocks {
        products: &[[1, 2, 8]],
        matrix_products: &[[1, 2, 8]],
        by_channel: [&[[1, 1, 16]], &[[1, 2, 8]]],
        sums: &[[1, 2, 8]],
        elementwise: &[[1, 2, 8], [1, 1, 16]],
    },
    [8 << 10, 8 << 10, 2048, 768],
    [64.0, 64.0, 128.0, 104.0, 16.0],
    by_width([0.5, 0.5, 0.5, 1.0], [1.0, 1.0], [0.5, 1.0], [0.5, 1.0], 0),
);
const CORE_U85_256: Core = core_u85(
    1,
    MicroBlocks {
        products: &[[1, 4, 8], [2, 2, 8]],
        matrix_products: &[[1, 4, 8], [2, 2, 8]],
        by_channel: [&[[1, 2, 16]], &[[1, 4, 8], [2, 2, 8]]],
        sums: &[[1, 4, 8], [2, 2, 8]],
        elementwise: &[[1, 2, 16], [1, 4, 8], [2, 2, 8]],
    },
    [16 << 10, 16 << 10, 2048, 1536],
    [104.0, 104.0, 128.0, 128.0, 16.0],
    by_width(
        [0.25, 0.25, 0.25, 0.5],
        [0.5, 0.5],
        [0.25, 0.5],
        [0.25, 0.5],
        0,
    ),
);
const CORE_U85_512: Core = core_u85(
    2,
    MicroBlocks::same(&[[2, 2, 16], [1, 4, 16]]),
    [16 << 10, 32 << 10, 4096, 3072],
    [128.0, 128.0, 256.0, 128.0, 16.0],
    by_width(
        [0.125, 0.125, 0.25, 0.5],
        [0.25, 0.25],
        [0.125, 0.25],
        [0.125, 0.25],
        1,
    ),
);
const CORE_U85_1024: Core = core_u85(
    4,
    MicroBlocks {
        products: &[[2, 2, 32], [1, 4, 32], [2, 4, 16]],
        matrix_products: &[[2, 2, 32], [1, 4, 32]],
        by_channel: [&[[2, 4, 16]]; 2],
        sums: &[[2, 4, 16]],
        elementwise: &[[2, 2, 32], [1, 4, 32], [2, 4, 16]],
    },
    [16 << 10, 64 << 10, 4096, 6144],
    [256.0, 256.0, 416.0, 256.0, 16.0],
    by_width(
        [0.0625, 0.125, 0.25, 0.5],
        [0.125, 0.25],
        [0.125, 0.125],
        [0.0625, 0.125],
        2,
    ),
);
const CORE_U85_2048: Core = core_u85(
    4,
    MicroBlocks {
        products: &[[2, 2, 64], [1, 4, 64], [4, 4, 16]],
        matrix_products: &[[2, 2, 64], [1, 4, 64]],
        by_channel: [&[[4, 4, 16]]; 2],
        sums: &[[4, 4, 16]],
        elementwise: &[[2, 2, 64], [1, 4, 64], [4, 4, 16]],
    },
    [32 << 10, 128 << 10, 8192, 12288],
    [256.0, 256.0, 512.0, 256.0, 16.0],
    by_width(
        [0.03125, 0.0625, 0.125, 0.25],
        [0.0625, 0.125],
        [0.0625, 0.0625],
        [0.03125, 0.0625],
        4,
    ),
);

const fn core(product: Product) -> &'static Core {
    match product {
        Product::U55x32 => &CORE_U55_32,
        Product::U55x64 => &CORE_U55_64,
        Product::U55x128 => &CORE_U55_128,
        Product::U55x256 | Product::U65x256 => &CORE_256,
        Product::U65x512 => &CORE_U65_512,
        Product::U85x128 => &CORE_U85_128,
        Product::U85x256 => &CORE_U85_256,
        Product::U85x512 => &CORE_U85_512,
        Product::U85x1024 => &CORE_U85_1024,
        Product::U85x2048 => &CORE_U85_2048,
    }
}

/// One Ethos-U with its memories.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Accelerator {
    pub product: Product,
    /// Cores that share an operator's output channels.
    pub n_cores: i64,
    /// Number of encoded weight streams.
    pub n_weight_streams: i64,
    pub micro_blocks: MicroBlocks,
    pub max_block: Hwc,
    pub memory: BlockMemory,
    pub output: OutputCycles,
    pub clock_hz: f64,
    /// Multiply-accumulates of 8 bits.
    pub macs_per_cycle: f64,
    pub sram: MemoryPort,
    /// The memory of the weights and of the feature maps that the compiler does not keep in SRAM. It is the SRAM itself
    /// if there is no other memory.
    pub off_chip: MemoryPort,
    /// Copies of weights from off-chip memory to SRAM.
    pub buffering: Copying,
    /// Weight reads, directly from off-chip memory or from a buffer in SRAM.
    pub weights_off_chip: Transfer,
    pub weights_buffered: Transfer,
    /// Input reads of the multipliers, from off-chip memory and from SRAM.
    pub input_off_chip: Transfer,
    pub input_in_sram: Transfer,
    /// Whether the SRAM is a cache: feature maps are off chip until the compiler moves them.
    pub has_dedicated_sram: bool,
    /// SRAM that the compiler may fill.
    pub sram_limit_bytes: i64,
    pub strategy: Strategy,
    /// SRAM for copies of the graph's inputs.
    pub staged_input_bytes: i64,
}

impl Accelerator {
    /// The accelerator of a configuration, as Vela 5.2.0 sets it up.
    pub fn new(configuration: &Configuration) -> Self {
        let product = configuration.product;
        let Core {
            n_cores,
            n_weight_streams,
            micro_blocks,
            max_block,
            memory,
            output,
            channel_words,
        } = *core(product);
        let memory_of = |area: MemoryArea| {
            let system = &configuration.system;
            MemoryPort::new(system, area, channel_words.as_ref())
        };
        let placement = configuration.memory_mode.placement;
        let sram = memory_of(MemoryArea::Sram);
        let off_chip = match placement {
            Placement::SramOnly => sram,
            Placement::Shared { constants } => memory_of(constants),
            Placement::Dedicated => memory_of(MemoryArea::Dram),
        };
        let limit_bytes = configuration.arena_cache_bytes();
        Self {
            product,
            n_cores,
            n_weight_streams,
            micro_blocks,
            max_block,
            memory,
            output,
            clock_hz: configuration.system.clock_hz,
            macs_per_cycle: f64::from(product.macs_per_cycle()),
            sram,
            off_chip,
            buffering: Copying {
                read: off_chip.transfer(Channel::Copy),
                write: sram.transfer(Channel::Write),
            },
            weights_off_chip: off_chip.transfer(Channel::Weights),
            weights_buffered: sram.transfer(Channel::Weights),
            input_off_chip: off_chip.transfer(Channel::Input),
            input_in_sram: sram.transfer(Channel::Input),
            has_dedicated_sram: placement == Placement::Dedicated,
            sram_limit_bytes: limit_bytes.min(MAX_LIMIT_BYTES),
            strategy: configuration.strategy,
            // The compiler stores this size in 32 bits, in which the largest sizes overflow to 0.
            staged_input_bytes: i64::from(limit_bytes as i32),
        }
    }

    pub fn is_u85(&self) -> bool {
        self.product.family() == Family::U85
    }

    /// Cycles per byte of weights in the fast format of Ethos-U85. From 1024 MACs on, half as many words are in flight.
    pub fn fast_weights_cycles_per_byte(&self) -> f64 {
        let cycles_per_byte = self.off_chip.channel_cycles_per_byte[Channel::Weights as usize];
        let cycles_per_byte = if self.macs_per_cycle >= 1024.0 {
            2.0 * cycles_per_byte
        } else {
            cycles_per_byte
        };
        cycles_per_byte.max(1.0 / self.off_chip.bytes_per_cycle)
    }

    /// Cycles to fetch a lookup table of this size from the memory of constants. The accelerator's internal memory
    /// accepts one byte per cycle.
    pub fn table_cycles(&self, bytes: f64) -> f64 {
        self.buffering.read.cycles(bytes).max(bytes)
    }

    /// The memory of feature maps in the compiler's first plan, from which it decides about weight buffers: off-chip
    /// memory if the SRAM is too small for all of them.
    pub fn planned_feature_maps(&self) -> MemoryPort {
        if self.has_dedicated_sram {
            self.off_chip
        } else {
            self.sram
        }
    }
}

/// Upper limit of the SRAM of a schedule.
const MAX_LIMIT_BYTES: i64 = 1 << 30;
/// Utilisation of the bursts in flight, and of each burst.
const USED: f64 = 0.8;
const WORD_BYTES: i64 = 16;

impl MemoryPort {
    fn new(
        system: &SystemConfiguration,
        area: MemoryArea,
        channel_words: Option<&[f64; N_CHANNELS]>,
    ) -> Self {
        let parameters = system.memory(area);
        let mut memory = Self {
            bytes_per_cycle: system.bytes_per_cycle(area),
            channel_cycles_per_byte: [0.0; N_CHANNELS],
            read_latency_cycles: parameters.read_latency_cycles as f64,
            write_latency_cycles: parameters.write_latency_cycles as f64,
            burst_bytes: parameters.burst_bytes,
            area,
        };
        if let Some(words) = channel_words {
            memory.channel_cycles_per_byte = channel_cycles_per_byte(&parameters, words);
        }
        memory
    }

    /// Latency and bandwidth of one channel alone.
    fn transfer(&self, channel: Channel) -> Transfer {
        let channel_cycles_per_byte = self.channel_cycles_per_byte[channel as usize];
        Transfer {
            cycles_per_byte: channel_cycles_per_byte.max(1.0 / self.bytes_per_cycle),
            latency_cycles: match channel {
                Channel::Write => self.write_latency_cycles,
                _ => self.read_latency_cycles,
            },
        }
    }
}

/// Cycles per byte of the channels of an Ethos-U85: each channel waits for the bursts that it may have in flight.
fn channel_cycles_per_byte(
    memory: &MemoryParameters,
    channel_words: &[f64; N_CHANNELS],
) -> [f64; N_CHANNELS] {
    let words_in_burst = (memory.burst_bytes / WORD_BYTES).max(1) as f64;
    std::array::from_fn(|channel| {
        let (most, latency_cycles) = if channel == Channel::Write as usize {
            (memory.max_writes, memory.write_latency_cycles)
        } else {
            (memory.max_reads, memory.read_latency_cycles)
        };
        let most = (most * memory.ports_used) as f64;
        let n_bursts = (channel_words[channel] / words_in_burst).min(USED * most);
        latency_cycles as f64 / (USED * n_bursts * memory.burst_bytes as f64)
    })
}

/// The product of each family that every report is of, in its default configuration.
pub const DEFAULT_PRODUCTS: [Product; 3] = [Product::U55x256, Product::U65x512, Product::U85x256];

/// The accelerators of [`DEFAULT_PRODUCTS`], whose plans are features of networks.
pub static ACCELERATORS: LazyLock<[Accelerator; 3]> = LazyLock::new(|| {
    DEFAULT_PRODUCTS.map(|product| Accelerator::new(&Configuration::new(product)))
});
