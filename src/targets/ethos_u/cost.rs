//! Cycles and traffic of a scheduled operation, given the memories of its feature maps and weights. Reproduces
//! `EstimateFullOpPerformance` of Vela's `network_performance.cpp`, and `MeasureAccessCycles` of its performance
//! models.

use super::accelerator::{Accelerator, Channel, MemoryPort, N_CHANNELS};
use super::blocks::Block;
use super::configuration::MemoryArea;
use super::cycles::{
    Blocks, CycleContext, Elementwise, Part, inflation, operator_cycles, read_inflation,
    stride_bytes, transpose_cycles, write_inflation,
};
use super::execution::mat_mul::mat_mul_cycles;
use super::geometry::IfmOfm;
use super::layer::Layer;
use super::program::FeatureMap;
use super::scheduled_operation::{Execution, MAX_OTHERS, MatMul, ScheduledOperation};
use super::weight_buffers::Buffer;
use super::weights::scale_bytes;

/// The memories of what a scheduled operation reads and writes.
#[derive(Clone, Copy, Debug)]
pub struct Placement<'a> {
    /// Memories of its first input and its output.
    pub maps: IfmOfm<MemoryPort>,
    /// Memory of its second input, and the feature map.
    pub second: Option<(MemoryPort, &'a FeatureMap)>,
    /// Memory and feature map of each input of the operations chained to it.
    pub others: [Option<(MemoryPort, &'a FeatureMap)>; MAX_OTHERS],
}

/// Cost of all runs of a scheduled operation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cost {
    /// Cycles of the computation, or of the slowest memory if that takes longer.
    pub cycles: f64,
    /// Bytes read and written.
    pub off_chip_bytes: f64,
    pub sram_bytes: f64,
    /// Bytes of weights that the compiler's totals count as read off chip and written to SRAM although they are already
    /// there.
    pub recounted: OvercountedBytes,
}

/// Bytes that the compiler's totals count although nothing moves them.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct OvercountedBytes {
    pub off_chip_bytes: f64,
    pub sram_bytes: f64,
}

impl Cost {
    /// The cost of `n_runs` with its weights in `buffer`. Transfers hide behind `slack_cycles` of the operation before.
    pub fn new(
        accelerator: &Accelerator,
        step: &ScheduledOperation,
        buffer: &Buffer,
        places: &Placement,
        slack_cycles: f64,
        n_runs: f64,
    ) -> Self {
        let run = Run::new(accelerator, step, buffer, places);
        let mut sum = RunCost::new(&run, run.traffic(accelerator, step, places));
        if let Some(stream) = WeightStream::new(accelerator, step, buffer) {
            let off_chip = &accelerator.off_chip;
            (sum.traffic).add(off_chip, Channel::Scales, stream.scale_bytes);
            if buffer.bytes() > 0.0 {
                sum.add_buffered(accelerator, buffer, &stream)
            } else {
                sum.add_streamed(accelerator, &stream)
            }
        }
        if step.table_bytes > 0.0 {
            sum.cycles += (accelerator.table_cycles(step.table_bytes) - slack_cycles).max(0.0);
            sum.off_chip_bytes += step.table_bytes;
        }
        sum.bounded_by_memories(accelerator).repeated(n_runs)
    }
}

/// The encoded weights that one run reads.
struct WeightStream {
    /// Weights and scales, read once.
    bytes: f64,
    /// Scales, over all reads.
    scale_bytes: f64,
    n_reads: f64,
}

impl WeightStream {
    /// `None` for an operation without weights.
    fn new(accelerator: &Accelerator, step: &ScheduledOperation, buffer: &Buffer) -> Option<Self> {
        let Execution::Weighted {
            divided,
            weight_bytes,
            ..
        } = &step.execution
        else {
            return None;
        };
        let (layer, block) = divided.as_ref();
        let n_reads = block.weight_reads(layer) as f64;
        let is_buffered = buffer.bytes() > 0.0;
        let (bytes, once) = if is_buffered {
            (buffer.stream_bytes, buffer.scale_bytes)
        } else {
            let once = scale_bytes(accelerator, layer.computed_channels(), block.micro[2]);
            (*weight_bytes, once)
        };
        Some(Self {
            bytes,
            scale_bytes: once * n_reads,
            n_reads,
        })
    }
}

/// The cost of one run while it is added up.
struct RunCost {
    cycles: f64,
    /// Bytes that the run waits for.
    traffic: Traffic,
    /// Bytes read and written.
    off_chip_bytes: f64,
    sram_bytes: f64,
    recounted: OvercountedBytes,
}

impl RunCost {
    /// Starts with the cycles of a run and the traffic of its feature maps.
    fn new(run: &Run, traffic: Traffic) -> Self {
        let [sram_bytes, off_chip_bytes] = traffic.bytes();
        Self {
            cycles: run.cycles,
            traffic,
            off_chip_bytes,
            sram_bytes,
            recounted: OvercountedBytes::default(),
        }
    }

    /// Adds weights that are fetched into a buffer in SRAM.
    fn add_buffered(&mut self, accelerator: &Accelerator, buffer: &Buffer, stream: &WeightStream) {
        let transfer = |bytes: f64| accelerator.buffering.cycles(bytes) - buffer.slack_cycles;
        let computing = self.cycles + transfer(buffer.first_bytes).max(0.0);
        self.cycles = computing.max(transfer(stream.bytes) + buffer.last_slice_cycles);
        let own_bytes = if buffer.is_shared { 0.0 } else { stream.bytes };
        let fetched_bytes = if buffer.is_prefetched {
            (own_bytes - buffer.first_bytes).max(0.0)
        } else {
            own_bytes
        };
        self.wait_for_buffer(accelerator, buffer, stream);
        self.sram_bytes += fetched_bytes + stream.bytes * stream.n_reads;
        self.off_chip_bytes += own_bytes;
        self.recounted = OvercountedBytes {
            off_chip_bytes: stream.bytes - own_bytes,
            sram_bytes: stream.bytes - fetched_bytes,
        };
    }

    fn wait_for_buffer(
        &mut self,
        accelerator: &Accelerator,
        buffer: &Buffer,
        stream: &WeightStream,
    ) {
        // The compiler counts the wait for a buffer that is already there as if it were fetched again.
        let waited_bytes = if buffer.is_prefetched {
            stream.bytes - buffer.first_bytes
        } else {
            stream.bytes
        };
        // The wait does not include the scales, which have a channel of their own.
        let waited_bytes = (waited_bytes - stream.scale_bytes / stream.n_reads).max(0.0);
        let traffic = &mut self.traffic;
        traffic.add(&accelerator.off_chip, Channel::Copy, waited_bytes);
        traffic.add(&accelerator.sram, Channel::Write, waited_bytes);
        let read_bytes = (stream.bytes * stream.n_reads - stream.scale_bytes).max(0.0);
        traffic.add(&accelerator.sram, Channel::Weights, read_bytes);
    }

    /// Adds weights that are read from off-chip memory while the operation computes.
    fn add_streamed(&mut self, accelerator: &Accelerator, stream: &WeightStream) {
        let read_bytes = stream.bytes * stream.n_reads;
        // Scales are part of the stream, but have a channel of their own.
        let weight_bytes = (read_bytes - stream.scale_bytes).max(0.0);
        (self.traffic).add(&accelerator.off_chip, Channel::Weights, weight_bytes);
        self.off_chip_bytes += read_bytes;
    }

    /// Waits for the slower memory. If the weights are not in off-chip memory, they are in SRAM or in a memory whose
    /// traffic is not counted.
    fn bounded_by_memories(mut self, accelerator: &Accelerator) -> Self {
        self.cycles = (self.cycles)
            .max(accelerator.sram.cycles(&self.traffic.sram))
            .max(accelerator.off_chip.cycles(&self.traffic.off_chip));
        match accelerator.off_chip.area {
            MemoryArea::Dram | MemoryArea::OffChipFlash => {}
            MemoryArea::Sram => self.sram_bytes += std::mem::take(&mut self.off_chip_bytes),
            MemoryArea::OnChipFlash => {
                self.off_chip_bytes = 0.0;
                self.recounted.off_chip_bytes = 0.0;
            }
        }
        self
    }

    fn repeated(self, n_runs: f64) -> Cost {
        Cost {
            cycles: self.cycles * n_runs,
            off_chip_bytes: self.off_chip_bytes * n_runs,
            sram_bytes: self.sram_bytes * n_runs,
            recounted: OvercountedBytes {
                off_chip_bytes: self.recounted.off_chip_bytes * n_runs,
                sram_bytes: self.recounted.sram_bytes * n_runs,
            },
        }
    }
}

/// Bytes that a scheduled operation waits for, by [`Channel`].
#[derive(Clone, Copy, Debug, Default)]
struct Traffic {
    sram: [f64; N_CHANNELS],
    off_chip: [f64; N_CHANNELS],
}

impl Traffic {
    fn add(&mut self, memory: &MemoryPort, channel: Channel, bytes: f64) {
        let by_channel = match memory.area {
            MemoryArea::Sram => &mut self.sram,
            _ => &mut self.off_chip,
        };
        by_channel[channel as usize] += bytes;
    }

    /// Bytes in SRAM and off chip.
    fn bytes(&self) -> [f64; 2] {
        [self.sram, self.off_chip].map(|bytes| bytes.iter().sum())
    }
}

/// One run of a scheduled operation, without waiting for memory.
struct Run {
    cycles: f64,
    /// Bytes that the memories transfer, including unused parts of bursts.
    read_bytes: f64,
    written_bytes: f64,
    second_bytes: f64,
    /// Bytes between the products and the sums of a matrix product, which are written and read again.
    between_bytes: f64,
}

impl Run {
    fn new(
        accelerator: &Accelerator,
        step: &ScheduledOperation,
        buffer: &Buffer,
        places: &Placement,
    ) -> Self {
        let IfmOfm {
            ifm: read_bytes,
            ofm: written_bytes,
        } = step.bytes;
        let run = Self {
            cycles: step.cycles,
            read_bytes,
            written_bytes,
            second_bytes: (step.second.as_ref()).map_or(0.0, |second| second.bytes),
            between_bytes: 0.0,
        };
        match &step.execution {
            Execution::Weighted { divided, .. } | Execution::Unweighted(divided) => {
                run.on_multipliers(accelerator, divided, step, buffer, places)
            }
            Execution::Transpose(divided) => run.transpose(accelerator, divided, places),
            Execution::Elementwise(elementwise) => {
                run.elementwise(accelerator, elementwise, step, places)
            }
            Execution::MatMul(mat_mul) => run.mat_mul(accelerator, mat_mul, step, places),
            Execution::Gather(element_bytes) => run.gather(*element_bytes, places),
            Execution::Cpu => run,
        }
    }

    fn on_multipliers(
        self,
        accelerator: &Accelerator,
        (layer, block): &(Layer, Block),
        step: &ScheduledOperation,
        buffer: &Buffer,
        places: &Placement,
    ) -> Self {
        let scales_from = if buffer.bytes() > 0.0 {
            accelerator.weights_buffered
        } else {
            accelerator.weights_off_chip
        };
        // An output that only chained operations read is in no memory. Its cycles are those of the memory in the first
        // plan.
        let mut memories = places.maps;
        if step.is_chained {
            memories.ofm = accelerator.planned_feature_maps();
        }
        let conditions = CycleContext {
            feature_maps: memories,
            scale_latency_cycles: scales_from.latency_cycles,
            part: Part::WHOLE,
        };
        let mut written = *layer;
        written.is_brick.ofm &= !step.chain_writes_linear;
        if step.joined_channels > 0 {
            written.ofm[2] = step.joined_channels;
        }
        Self {
            cycles: operator_cycles(accelerator, layer, block, conditions),
            ..self.with_burst_inflation(accelerator, &places.maps, &written, block)
        }
    }

    fn transpose(
        self,
        accelerator: &Accelerator,
        (layer, block): &(Layer, Block),
        places: &Placement,
    ) -> Self {
        let run = self.with_burst_inflation(accelerator, &places.maps, layer, block);
        let bytes = IfmOfm {
            ifm: run.read_bytes,
            ofm: run.written_bytes,
        };
        Self {
            cycles: transpose_cycles(&places.maps, bytes),
            ..run
        }
    }

    fn mat_mul(
        self,
        accelerator: &Accelerator,
        mat_mul: &MatMul,
        step: &ScheduledOperation,
        places: &Placement,
    ) -> Self {
        let MatMul {
            product,
            sum: (sum, block),
            n_columns,
        } = mat_mul;
        let parts = (product, sum, block, *n_columns);
        let second = places.second.map_or(accelerator.sram, |(memory, _)| memory);
        Self {
            cycles: mat_mul_cycles(accelerator, parts, &places.maps, second),
            between_bytes: 2.0 * step.bytes.ifm,
            second_bytes: self.second_bytes * read_inflation(&second, sum, block),
            ..self.with_burst_inflation(accelerator, &places.maps, sum, block)
        }
    }

    /// Each element takes a burst of its memory.
    fn gather(mut self, [read, indices, written]: [i64; 3], places: &Placement) -> Self {
        self.read_bytes *= inflation(&places.maps.ifm, read);
        self.written_bytes *= inflation(&places.maps.ofm, written);
        if let Some((memory, _)) = &places.second {
            self.second_bytes *= inflation(memory, indices);
        }
        self
    }

    /// Traffic of feature maps.
    fn traffic(
        &self,
        accelerator: &Accelerator,
        step: &ScheduledOperation,
        places: &Placement,
    ) -> Traffic {
        let IfmOfm { ifm: from, ofm: to } = &places.maps;
        let read_by = match step.execution {
            Execution::Elementwise(_) => Channel::Stream,
            _ => Channel::Input,
        };
        let mut traffic = Traffic::default();
        traffic.add(from, read_by, self.read_bytes);
        traffic.add(to, Channel::Write, self.written_bytes);
        if let Some((memory, _)) = &places.second {
            let read_by = match step.execution {
                Execution::Gather(_) => Channel::Input,
                _ => Channel::Stream,
            };
            traffic.add(memory, read_by, self.second_bytes);
        }
        add_chained_reads(&mut traffic, step, places);
        let between = &accelerator.planned_feature_maps();
        traffic.add(between, Channel::Write, self.between_bytes / 2.0);
        traffic.add(between, Channel::Input, self.between_bytes / 2.0);
        traffic
    }

    fn with_burst_inflation(
        mut self,
        accelerator: &Accelerator,
        IfmOfm { ifm: from, ofm: to }: &IfmOfm<MemoryPort>,
        layer: &Layer,
        block: &Block,
    ) -> Self {
        self.read_bytes *= read_inflation(from, layer, block);
        self.written_bytes *= write_inflation(accelerator, to, layer, block);
        self
    }

    fn elementwise(
        mut self,
        accelerator: &Accelerator,
        elementwise: &Elementwise,
        step: &ScheduledOperation,
        places: &Placement,
    ) -> Self {
        let IfmOfm { ifm: from, ofm: to } = &places.maps;
        let second = places.second.map(|(memory, _)| memory);
        self.cycles = elementwise.cycles(accelerator, &places.maps, second);
        self.read_bytes *= elementwise.read_inflation(
            from,
            elementwise.shapes.ifm,
            elementwise.element_bytes.ifm,
            elementwise.is_brick.ifm,
        );
        let mut written = *elementwise;
        written.is_brick.ofm &= !step.chain_writes_linear;
        if step.joined_channels > 0 {
            written.shapes.ofm[2] = step.joined_channels;
        }
        self.written_bytes *= written.write_inflation(accelerator, to);
        if let Some((second, (memory, map))) = step.second.as_ref().zip(places.second) {
            self.second_bytes *= elementwise.read_inflation(
                &memory,
                second.shape,
                map.element_bytes(),
                !map.is_linear,
            );
        }
        self
    }
}

/// Adds what operations chained to `step` read.
fn add_chained_reads(traffic: &mut Traffic, step: &ScheduledOperation, places: &Placement) {
    // Bursts have the size of the block in which the first operation reads its IFM.
    let block = match &step.execution {
        Execution::Elementwise(elementwise) => Some(elementwise.read_block),
        execution => execution.layer().map(|(_, block)| block.ifm),
    };
    let others = step.others.iter().flat_map(|others| others.iter());
    for (read, place) in others.zip(&places.others) {
        let (Some(read), Some((memory, map))) = (read, place) else {
            continue;
        };
        let inflation = block.map_or(1.0, |block| {
            let blocks = Blocks {
                block,
                stride_bytes: stride_bytes(read.shape, map.element_bytes(), !map.is_linear),
                element_bytes: map.element_bytes(),
                is_brick: !map.is_linear,
            };
            inflation(memory, blocks.read_burst())
        });
        traffic.add(memory, Channel::Stream, read.bytes * inflation);
    }
}
