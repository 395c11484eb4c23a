//! Cycles and traffic of a scheduled operation, given the memories of its feature maps and weights. Reproduces
//! `EstimateFullOpPerformance` of Vela's `network_performance.cpp`, and `MeasureAccessCycles` of its performance
//! models.

use super::accelerator::{Accelerator, Channel, Memory, N_CHANNELS};
use super::blocks::Block;
use super::configuration::MemoryArea;
use super::cycles::{
    Blocks, Conditions, Elementwise, Part, inflation, operator_cycles, read_inflation,
    transpose_cycles, write_inflation,
};
use super::geometry::IfmOfm;
use super::layer::Layer;
use super::program::FeatureMap;
use super::scheduled_operation::{Execution, MAX_OTHERS, MatMul, ScheduledOperation};
use super::scheduling::mat_mul::mat_mul_cycles;
use super::weight_buffers::Buffer;
use super::weights::scale_bytes;

/// The memories of what a scheduled operation reads and writes.
#[derive(Clone, Copy, Debug)]
pub struct Placement<'a> {
    /// Memories of its first input and its output.
    pub maps: IfmOfm<Memory>,
    /// Memory of its second input, and the feature map.
    pub second: Option<(Memory, &'a FeatureMap)>,
    /// The same for what operations chained to it read.
    pub others: [Option<(Memory, &'a FeatureMap)>; MAX_OTHERS],
}

/// Cost of all runs of a scheduled operation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cost {
    /// Cycles of computing, or of the memory that takes longer.
    pub cycles: f64,
    /// Bytes read and written.
    pub off_chip_bytes: f64,
    pub sram_bytes: f64,
    /// Bytes of weights that the compiler's totals count as read off chip and written to SRAM although they are already
    /// there.
    pub recounted: Recounted,
}

/// Bytes that the compiler's totals count although nothing moves them.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Recounted {
    pub off_chip_bytes: f64,
    pub sram_bytes: f64,
}

impl Cost {
    /// The cost with its weights in `buffer`. Transfers hide behind `slack_cycles` of the operation before.
    pub fn of(
        accelerator: &Accelerator,
        step: &ScheduledOperation,
        buffer: &Buffer,
        places: &Placement,
        slack_cycles: f64,
    ) -> Self {
        let run = Run::of(accelerator, step, buffer, places);
        let mut own = run.cycles;
        let mut traffic = run.traffic(accelerator, step, places);
        let mut recounted = Recounted::default();
        let [mut sram_bytes, mut off_chip_bytes] = traffic.bytes();
        if let Execution::Weighted {
            divided,
            weight_bytes,
            ..
        } = &step.execution
        {
            let ((layer, block), weight_bytes) = (**divided, *weight_bytes);
            let n_reads = block.weight_reads(&layer) as f64;
            let is_buffered = buffer.bytes() > 0.0 && !accelerator.uses_trained_rules;
            let (weight_bytes, scale_bytes) = match is_buffered {
                true => (buffer.stream_bytes, buffer.scale_bytes * n_reads),
                false => {
                    let once = scale_bytes(accelerator, layer.ofm[2], block.micro[2]);
                    (weight_bytes, once * n_reads)
                }
            };
            let off_chip = &accelerator.off_chip;
            traffic.add(off_chip, Channel::Scales, scale_bytes);
            if buffer.bytes() > 0.0 {
                let transfer =
                    |bytes: f64| accelerator.buffering.cycles(bytes) - buffer.slack_cycles;
                let computing = own + transfer(buffer.first_bytes).max(0.0);
                own = computing.max(transfer(weight_bytes) + buffer.last_slice_cycles);
                let own_bytes = if buffer.is_shared { 0.0 } else { weight_bytes };
                let fetched_bytes = match buffer.is_prefetched {
                    true => (own_bytes - buffer.first_bytes).max(0.0),
                    false => own_bytes,
                };
                let read_bytes = weight_bytes * n_reads;
                // The wait does not include the scales, which have a channel of their own.
                let of_scales = match accelerator.uses_trained_rules {
                    true => 0.0,
                    false => scale_bytes,
                };
                // The compiler counts the wait for a buffer that is already there as if it were fetched again.
                let waited_bytes = match (accelerator.uses_trained_rules, buffer.is_prefetched) {
                    (true, _) => fetched_bytes,
                    (false, true) => weight_bytes - buffer.first_bytes,
                    (false, false) => weight_bytes,
                };
                let waited_bytes = (waited_bytes - of_scales / n_reads).max(0.0);
                traffic.add(off_chip, Channel::Copy, waited_bytes);
                traffic.add(&accelerator.sram, Channel::Write, waited_bytes);
                let stream_bytes = (read_bytes - of_scales).max(0.0);
                traffic.add(&accelerator.sram, Channel::Weights, stream_bytes);
                sram_bytes += fetched_bytes + read_bytes;
                off_chip_bytes += own_bytes;
                recounted = Recounted {
                    off_chip_bytes: (weight_bytes - own_bytes) * step.pieces,
                    sram_bytes: (weight_bytes - fetched_bytes) * step.pieces,
                };
            } else {
                let read_bytes = weight_bytes * n_reads;
                // Scales are part of the stream, but have a channel of their own.
                let stream_bytes = (read_bytes - scale_bytes).max(0.0);
                traffic.add(off_chip, Channel::Weights, stream_bytes);
                off_chip_bytes += read_bytes;
            }
        }
        if step.table_bytes > 0.0 && !accelerator.uses_trained_rules {
            own += (accelerator.table_cycles(step.table_bytes) - slack_cycles).max(0.0);
            off_chip_bytes += step.table_bytes;
        }
        let cycles = own
            .max(accelerator.sram.cycles(&traffic.sram))
            .max(accelerator.off_chip.cycles(&traffic.off_chip));
        // If the weights are not in off-chip memory, they are in SRAM or in a memory whose traffic is not counted.
        match accelerator.off_chip.area {
            MemoryArea::Dram | MemoryArea::OffChipFlash => {}
            MemoryArea::Sram => sram_bytes += std::mem::take(&mut off_chip_bytes),
            MemoryArea::OnChipFlash => {
                off_chip_bytes = 0.0;
                recounted.off_chip_bytes = 0.0;
            }
        }
        Self {
            cycles: cycles * step.pieces,
            off_chip_bytes: off_chip_bytes * step.pieces,
            sram_bytes: sram_bytes * step.pieces,
            recounted,
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
    fn add(&mut self, memory: &Memory, channel: Channel, bytes: f64) {
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

/// One run of a scheduled operation, if its data arrive in time.
struct Run {
    cycles: f64,
    /// Bytes that the memories move, which may be more than the operation asks for.
    read_bytes: f64,
    written_bytes: f64,
    second_bytes: f64,
    /// Bytes written and read again between the products and sums of a matrix product.
    between_bytes: f64,
}

impl Run {
    fn of(
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
            second_bytes: step.second.map_or(0.0, |second| second.bytes),
            between_bytes: 0.0,
        };
        match &step.execution {
            Execution::Weighted { divided, .. } | Execution::Unweighted(divided) => {
                let (layer, block) = divided.as_ref();
                let scales_from = match buffer.bytes() > 0.0 {
                    true => accelerator.weights_buffered,
                    false => accelerator.weights_off_chip,
                };
                // An output that only chained operations read is in no memory; it counts with the memory of the first
                // plan.
                let mut memories = places.maps;
                if step.is_chained {
                    memories.ofm = accelerator.planned_feature_maps();
                }
                let conditions = Conditions {
                    feature_maps: memories,
                    scale_latency_cycles: scales_from.latency_cycles,
                    part: Part::WHOLE,
                };
                Self {
                    cycles: operator_cycles(accelerator, layer, block, conditions),
                    ..run.inflated(accelerator, &places.maps, layer, block)
                }
            }
            Execution::Transpose(divided) => {
                let (layer, block) = divided.as_ref();
                let run = run.inflated(accelerator, &places.maps, layer, block);
                let bytes = IfmOfm {
                    ifm: run.read_bytes,
                    ofm: run.written_bytes,
                };
                Self {
                    cycles: transpose_cycles(&places.maps, bytes),
                    ..run
                }
            }
            Execution::Elementwise(elementwise) => {
                run.elementwise(accelerator, elementwise, step, places)
            }
            Execution::MatMul(mat_mul) => {
                let MatMul {
                    product,
                    sum: (sum, block),
                    n_columns,
                } = mat_mul.as_ref();
                let parts = (product, sum, block, *n_columns);
                let second = places.second.map_or(accelerator.sram, |(memory, _)| memory);
                Self {
                    cycles: mat_mul_cycles(accelerator, parts, &places.maps, second),
                    between_bytes: 2.0 * read_bytes,
                    second_bytes: run.second_bytes * read_inflation(&second, sum, block),
                    ..run.inflated(accelerator, &places.maps, sum, block)
                }
            }
            Execution::Cpu => run,
        }
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
            traffic.add(memory, Channel::Stream, self.second_bytes);
        }
        let block = step.execution.layer().map(|(_, block)| block.ifm);
        let others = step.others.iter().flat_map(|others| others.iter());
        for (read, place) in others.zip(&places.others) {
            if let (Some(read), Some((memory, map))) = (read, place) {
                // Bursts are those of the block in which the multipliers read.
                let inflation =
                    block
                        .filter(|_| !accelerator.uses_trained_rules)
                        .map_or(1.0, |block| {
                            let blocks = Blocks {
                                block,
                                depth: read.shape[2],
                                element_bytes: map.element_bytes,
                                is_brick: !map.is_linear,
                            };
                            inflation(memory, blocks.read_burst())
                        });
                traffic.add(memory, Channel::Stream, read.bytes * inflation);
            }
        }
        let between = &accelerator.planned_feature_maps();
        traffic.add(between, Channel::Write, self.between_bytes / 2.0);
        traffic.add(between, Channel::Input, self.between_bytes / 2.0);
        traffic
    }

    fn inflated(
        mut self,
        accelerator: &Accelerator,
        IfmOfm { ifm: from, ofm: to }: &IfmOfm<Memory>,
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
        self.written_bytes *= elementwise.write_inflation(accelerator, to);
        if let Some((second, (memory, map))) = step.second.zip(places.second) {
            self.second_bytes *= elementwise.read_inflation(
                &memory,
                second.shape,
                map.element_bytes,
                !map.is_linear,
            );
        }
        self
    }
}
