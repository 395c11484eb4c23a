//! The accelerators and their memories, as Vela configures them.

use super::geometry::Hwc;
use super::layer::{Kind, Layer};
use super::program::Arithmetic;

/// What moves bytes between an accelerator and its memories.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Channel {
    /// From memory to memory.
    Copy,
    /// What elementwise operations read, and what is enlarged.
    Stream,
    Weights,
    /// What the multipliers read.
    Input,
    Scales,
    Write,
}

/// How many there are.
pub const N_CHANNELS: usize = 6;

/// Where bytes come from and go to.
#[derive(Clone, Copy, Debug)]
pub struct Memory {
    /// Bytes in a cycle of the accelerator's clock.
    pub bytes_per_cycle: f64,
    /// Cycles for a byte of each [`Channel`] by itself, 0 where nothing but the memory limits it.
    pub channel_cycles_per_byte: [f64; N_CHANNELS],
    pub read_latency_cycles: f64,
    pub write_latency_cycles: f64,
    /// Bytes that one burst moves: a shorter one takes as long.
    pub burst_bytes: i64,
    pub is_off_chip: bool,
}

impl Memory {
    /// Cycles to move so many bytes by each [`Channel`] at once.
    pub fn cycles(&self, bytes: &[f64; N_CHANNELS]) -> f64 {
        let channels = bytes.iter().zip(&self.channel_cycles_per_byte);
        let at_once = bytes.iter().sum::<f64>() / self.bytes_per_cycle;
        channels.fold(at_once, |most, (bytes, cycles_per_byte)| {
            most.max(bytes * cycles_per_byte)
        })
    }
}

/// Cycles to move some bytes: latency and bytes over bandwidth.
#[derive(Clone, Copy, Debug)]
pub struct Transfer {
    pub cycles_per_byte: f64,
    pub latency_cycles: f64,
}

impl Transfer {
    pub fn cycles(&self, bytes: f64) -> f64 {
        bytes * self.cycles_per_byte + self.latency_cycles
    }
}

/// How the accelerator's own memory holds a block's inputs and accumulators.
#[derive(Clone, Copy, Debug)]
pub enum BlockMemory {
    /// Banks of 1 KiB that inputs and accumulators share, both twice, in whole granules.
    Banks {
        n_banks: i64,
        input_granule: i64,
        accumulator_granule: i64,
    },
    /// A memory for each.
    Apart {
        input_bytes: i64,
        accumulator_bytes: i64,
    },
}

/// Cycles for an output element in the output stage.
#[derive(Clone, Copy, Debug)]
pub struct OutputCycles {
    /// Of elementwise operations on 32 bits.
    pub wide_unary: f64,
    pub wide_binary: f64,
    /// Of 32-bit products of narrower numbers.
    pub product_to_wide: f64,
    /// Of products, and of sums in 40-bit accumulators.
    pub product: f64,
    pub sum: f64,
    pub max_pooling: f64,
    pub other: f64,
    /// Least where it is looked up in a table of activations.
    pub table: f64,
}

impl OutputCycles {
    const fn times(&self, factor: f64) -> Self {
        Self {
            wide_unary: self.wide_unary * factor,
            wide_binary: self.wide_binary * factor,
            product_to_wide: self.product_to_wide * factor,
            product: self.product * factor,
            sum: self.sum * factor,
            max_pooling: self.max_pooling * factor,
            other: self.other * factor,
            table: self.table * factor,
        }
    }

    /// Of an operation that goes through the multipliers.
    pub fn of_layer(&self, layer: &Layer) -> f64 {
        let is_wide = layer.element_bytes[0] == 2 && !layer.kind.is_pooling();
        let own = match layer.kind {
            Kind::MaxPooling => self.max_pooling,
            _ if is_wide => self.product,
            _ => self.other,
        };
        self.with_table(own, layer.has_table) + self.other * layer.n_chained_passes as f64
    }

    /// Of an elementwise operation on elements of so many bytes, input and output.
    pub fn of_elementwise(
        &self,
        arithmetic: Option<Arithmetic>,
        element_bytes: [i64; 2],
        has_table: bool,
    ) -> f64 {
        let own = match (arithmetic, element_bytes) {
            (None, [4, _]) => self.wide_unary,
            (Some(_), [4, _]) => self.wide_binary,
            (Some(Arithmetic::Product), [_, 4]) => self.product_to_wide,
            (Some(Arithmetic::Product), _) => self.product,
            (Some(Arithmetic::Sum), _) => self.sum,
            _ => self.other,
        };
        self.with_table(own, has_table)
    }

    fn with_table(&self, own: f64, has_table: bool) -> f64 {
        match has_table {
            true => own.max(self.table),
            false => own,
        }
    }
}

/// One Ethos-U in one system configuration and memory mode of Arm's `vela.ini`.
#[derive(Clone, Copy, Debug)]
pub struct Accelerator {
    /// Id of the target that it is.
    pub target: &'static str,
    /// Cores that share an operator's output channels.
    pub n_cores: i64,
    /// What the multipliers compute at once, in order of preference.
    pub micro_blocks: &'static [Hwc],
    /// The same for operators that do not sum over channels.
    pub micro_blocks_by_channel: &'static [Hwc],
    pub max_block: Hwc,
    pub memory: BlockMemory,
    pub output: OutputCycles,
    pub clock_hz: f64,
    /// Multiply-accumulates of 8 bits.
    pub macs_per_cycle: f64,
    pub sram: Memory,
    /// Holds the weights, and feature maps as long as the compiler has found no room for them.
    pub off_chip: Memory,
    /// Weights off chip → SRAM.
    pub buffering: Transfer,
    /// Weights read where they lie off chip, and from a buffer in SRAM.
    pub weights_off_chip: Transfer,
    pub weights_buffered: Transfer,
    /// SRAM that may be used; none where it holds all feature maps anyway.
    pub sram_limit_bytes: Option<i64>,
}

impl Accelerator {
    pub fn is_u85(&self) -> bool {
        matches!(self.memory, BlockMemory::Apart { .. })
    }

    /// Bytes of SRAM that may be used, infinitely many where nothing limits them.
    pub fn sram_bytes(&self) -> f64 {
        self.sram_limit_bytes
            .map_or(f64::INFINITY, |bytes| bytes as f64)
    }

    /// Where the compiler's first plan has feature maps, from which it decides about weights: off chip
    /// where the SRAM is too small for all.
    pub fn planned_feature_maps(&self) -> Memory {
        match self.sram_limit_bytes {
            Some(_) => self.off_chip,
            None => self.sram,
        }
    }
}

const fn transfer(cycles_per_byte: f64, latency_cycles: f64) -> Transfer {
    Transfer {
        cycles_per_byte,
        latency_cycles,
    }
}

const fn sram(bytes_per_cycle: f64, burst_bytes: i64) -> Memory {
    Memory {
        bytes_per_cycle,
        channel_cycles_per_byte: [0.0; N_CHANNELS],
        read_latency_cycles: 32.0,
        write_latency_cycles: 32.0,
        burst_bytes,
        is_off_chip: false,
    }
}

const fn dram(bytes_per_cycle: f64) -> Memory {
    Memory {
        bytes_per_cycle,
        channel_cycles_per_byte: [0.0; N_CHANNELS],
        read_latency_cycles: 500.0,
        write_latency_cycles: 250.0,
        burst_bytes: 128,
        is_off_chip: true,
    }
}

const FLASH: Memory = Memory {
    bytes_per_cycle: 1.0,
    channel_cycles_per_byte: [0.0; N_CHANNELS],
    read_latency_cycles: 64.0,
    write_latency_cycles: 0.0,
    burst_bytes: 128,
    is_off_chip: true,
};

/// What each [`Channel`] of Ethos-U85 with 256 MACs may have under way, in words of 16 bytes; writes are
/// limited by their number alone.
const WORDS_U85_256: [f64; N_CHANNELS] = [104.0, 104.0, 128.0, 128.0, 16.0, f64::INFINITY];
/// Share of the bursts under way, and of each of them, that is made use of.
const USED: f64 = 0.8;

/// A memory of Ethos-U85 with 256 MACs, of which so many bursts are read and written at once at most.
const fn with_channels(mut memory: Memory, max_reads: f64, max_writes: f64) -> Memory {
    let words_in_burst = memory.burst_bytes as f64 / 16.0;
    let mut channel = 0;
    while channel < N_CHANNELS {
        let (most, latency_cycles) = match channel == Channel::Write as usize {
            true => (max_writes, memory.write_latency_cycles),
            false => (max_reads, memory.read_latency_cycles),
        };
        let n_bursts = (WORDS_U85_256[channel] / words_in_burst).min(USED * most);
        let bytes = USED * n_bursts * memory.burst_bytes as f64;
        memory.channel_cycles_per_byte[channel] = latency_cycles / bytes;
        channel += 1;
    }
    memory
}

/// Two ports, each with 8 bursts under way.
const SRAM_U85: Memory = with_channels(sram(32.0, 64), 16.0, 16.0);
const DRAM_U85: Memory = with_channels(dram(12.0), 64.0, 32.0);

const fn by_channel(memory: &Memory, channel: Channel) -> Transfer {
    let cycles_per_byte = memory.channel_cycles_per_byte[channel as usize];
    transfer(cycles_per_byte, memory.read_latency_cycles)
}

/// Of Ethos-U55 with 256 MACs.
const OUTPUT_256: OutputCycles = OutputCycles {
    wide_unary: 0.625,
    wide_binary: 1.125,
    product_to_wide: 0.5,
    product: 0.375,
    sum: 0.75,
    max_pooling: 0.125,
    other: 0.25,
    table: 1.0,
};

/// Of Ethos-U85 with 256 MACs.
const OUTPUT_U85_256: OutputCycles = OutputCycles {
    wide_unary: 0.25,
    wide_binary: 0.5,
    product_to_wide: 0.25,
    product: 0.25,
    sum: 0.25,
    max_pooling: 0.25,
    other: 0.25,
    table: 0.25,
};

/// Of Ethos-U55 with 256 MACs and of each core of Ethos-U65 with 512.
const BANKS: BlockMemory = BlockMemory::Banks {
    n_banks: 48,
    input_granule: 8,
    accumulator_granule: 16,
};

/// Those that the project has labels for. Clocks, latencies and bursts are those of Vela's `vela.ini`,
/// shapes and memories of blocks, and words of channels, those of its architecture files.
pub const ACCELERATORS: [Accelerator; 3] = [
    Accelerator {
        target: "ethos-u55-256",
        n_cores: 1,
        micro_blocks: &[[2, 2, 8]],
        micro_blocks_by_channel: &[[2, 2, 8]],
        max_block: [32, 64, 128],
        memory: BANKS,
        output: OUTPUT_256,
        clock_hz: 500e6,
        macs_per_cycle: 256.0,
        sram: sram(8.0, 32),
        off_chip: FLASH,
        buffering: transfer(1.0, 64.0),
        weights_off_chip: transfer(1.0, 64.0),
        weights_buffered: transfer(1.0 / 8.0, 32.0),
        sram_limit_bytes: None,
    },
    Accelerator {
        target: "ethos-u65-512",
        n_cores: 2,
        micro_blocks: &[[2, 2, 8]],
        micro_blocks_by_channel: &[[2, 2, 8]],
        max_block: [32, 64, 128],
        memory: BANKS,
        output: OUTPUT_256.times(0.5),
        clock_hz: 1e9,
        macs_per_cycle: 512.0,
        sram: sram(16.0, 32),
        off_chip: dram(3.75),
        buffering: transfer(1.0 / 3.75, 500.0),
        weights_off_chip: transfer(1.0 / 3.75, 500.0),
        weights_buffered: transfer(1.0 / 16.0, 32.0),
        sram_limit_bytes: Some(384 << 10),
    },
    Accelerator {
        target: "ethos-u85-256",
        n_cores: 1,
        micro_blocks: &[[1, 4, 8], [2, 2, 8]],
        micro_blocks_by_channel: &[[1, 2, 16]],
        max_block: [128, 128, 1024],
        memory: BlockMemory::Apart {
            input_bytes: 16 << 10,
            accumulator_bytes: 16 << 10,
        },
        output: OUTPUT_U85_256,
        clock_hz: 1e9,
        macs_per_cycle: 256.0,
        sram: SRAM_U85,
        off_chip: DRAM_U85,
        buffering: by_channel(&DRAM_U85, Channel::Copy),
        weights_off_chip: by_channel(&DRAM_U85, Channel::Weights),
        weights_buffered: by_channel(&SRAM_U85, Channel::Weights),
        sram_limit_bytes: Some(384 << 10),
    },
];
