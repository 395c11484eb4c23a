//! What a step costs with its feature maps and weights where they lie.

use super::accelerator::{Accelerator, Memory};
use super::blocks::{Block, SPLIT_DEPTH, round_up};
use super::cycles::{
    Conditions, Elementwise, Part, move_cycles, operator_cycles, read_inflation, write_inflation,
};
use super::layer::{Layer, SCALE_BYTES};
use super::program::Map;
use super::schedule::Buffer;
use super::step::mat_mul::mat_mul_cycles;
use super::step::{Step, Work};
use super::weights::ALIGNMENT_BYTES;

/// Where what a step reads and writes lies.
#[derive(Clone, Copy, Debug)]
pub struct Places<'a> {
    /// Of its input and its output.
    pub maps: [Memory; 2],
    /// Of its second input, and what that is.
    pub second: Option<(Memory, &'a Map)>,
    /// Bytes that operations chained to it read in SRAM, and off chip.
    pub other_bytes: [f64; 2],
}

/// Of all pieces of a step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cost {
    /// It takes so many: computing, or waiting for memory.
    pub cycles: f64,
    /// Read and written.
    pub off_chip_bytes: f64,
    pub sram_bytes: f64,
}

impl Cost {
    /// With its weights in such a `buffer`.
    pub fn of(accelerator: &Accelerator, step: &Step, buffer: &Buffer, places: &Places) -> Self {
        let run = Run::of(accelerator, step, buffer, places);
        let mut own = run.cycles;
        let [from, to] = &places.maps;
        let off_chip = |memory: &Memory, bytes: f64| match memory.is_off_chip {
            true => bytes,
            false => 0.0,
        };
        let [sram_others, off_chip_others] = places.other_bytes;
        let read = off_chip(from, run.read_bytes);
        let written = off_chip(to, run.written_bytes);
        let second =
            (places.second.as_ref()).map_or(0.0, |(memory, _)| off_chip(memory, run.second_bytes));
        let mut off_chip_bytes = read + written + second;
        let moved = run.read_bytes + run.written_bytes + run.second_bytes;
        let mut sram_bytes = moved - off_chip_bytes + sram_others;
        off_chip_bytes += off_chip_others;
        let (fetched, streamed) = match step.work {
            Work::Elementwise(_) => (0.0, read + second + off_chip_others),
            _ => (read, second + off_chip_others),
        };
        let mut off_chip_cycles = accelerator.off_chip_cycles(fetched, streamed, written);
        match accelerator.planned_feature_maps().is_off_chip {
            true => {
                off_chip_bytes += run.between_bytes;
                off_chip_cycles += accelerator.off_chip_cycles(run.between_bytes, 0.0, 0.0);
            }
            false => sram_bytes += run.between_bytes,
        }
        if let Work::Weighted {
            layer,
            block,
            weight_bytes,
            ..
        } = step.work
        {
            let is_buffered = buffer.bytes() > 0.0;
            let all_reads_bytes = weight_bytes * block.weight_reads(&layer) as f64;
            let off_chip_weight_bytes = match is_buffered {
                true => weight_bytes,
                false => all_reads_bytes,
            };
            let fetched_before = match buffer.is_prefetched {
                true => buffer.first_bytes,
                false => 0.0,
            };
            let fetched_during = off_chip_weight_bytes - fetched_before;
            if is_buffered {
                let transfer =
                    |bytes: f64| accelerator.buffering.cycles(bytes) - buffer.slack_cycles;
                let computing = own + transfer(buffer.first_bytes).max(0.0);
                own = computing.max(transfer(weight_bytes) + buffer.last_slice_cycles);
                sram_bytes += fetched_during + all_reads_bytes;
            }
            let scale_bytes =
                scale_bytes(accelerator, layer.ofm[2]) * block.weight_reads(&layer) as f64;
            let scales = scale_bytes * accelerator.scale_cycles_per_byte;
            // What comes from a buffer was moved there with the scales, what does not comes without.
            let stream_bytes = match is_buffered {
                true => fetched_during,
                false => (fetched_during - scale_bytes).max(0.0),
            };
            let weights = stream_bytes * accelerator.weights_off_chip.cycles_per_byte;
            off_chip_cycles = match accelerator.is_u85() {
                true => off_chip_cycles.max(weights).max(scales),
                false => off_chip_cycles + weights + scales,
            };
            off_chip_bytes += off_chip_weight_bytes;
        }
        let cycles = own
            .max(off_chip_cycles)
            .max(sram_bytes / accelerator.sram.bytes_per_cycle);
        Self {
            cycles: cycles * step.pieces,
            off_chip_bytes: off_chip_bytes * step.pieces,
            sram_bytes: sram_bytes * step.pieces,
        }
    }
}

/// One piece of a step while nothing but its blocks is waited for.
struct Run {
    cycles: f64,
    /// As the memories move them, which may be more than is asked for.
    read_bytes: f64,
    written_bytes: f64,
    second_bytes: f64,
    /// Written and read again, where feature maps lie at first.
    between_bytes: f64,
}

impl Run {
    fn of(accelerator: &Accelerator, step: &Step, buffer: &Buffer, places: &Places) -> Self {
        let [read_bytes, written_bytes] = step.bytes;
        let run = Self {
            cycles: step.cycles,
            read_bytes,
            written_bytes,
            second_bytes: step.second.map_or(0.0, |(_, bytes)| bytes),
            between_bytes: 0.0,
        };
        match &step.work {
            Work::Weighted { layer, block, .. } | Work::Unweighted { layer, block } => {
                let scales_from = match buffer.bytes() > 0.0 {
                    true => accelerator.weights_buffered,
                    false => accelerator.weights_off_chip,
                };
                let conditions = Conditions {
                    feature_maps: places.maps,
                    scale_latency_cycles: scales_from.latency_cycles,
                    part: Part::WHOLE,
                };
                Self {
                    cycles: operator_cycles(accelerator, layer, block, conditions),
                    ..run.inflated(accelerator, &places.maps, layer, block)
                }
            }
            Work::Move { layer, block } => {
                let run = run.inflated(accelerator, &places.maps, layer, block);
                Self {
                    cycles: move_cycles(places.maps, [run.read_bytes, run.written_bytes]),
                    ..run
                }
            }
            Work::Elementwise(elementwise) => run.elementwise(accelerator, elementwise, places),
            Work::MatMul {
                product,
                sum: (sum, block),
                n_columns,
            } => {
                let parts = (product, sum, block, *n_columns);
                let second = places.second.as_ref();
                let second = second.map_or(1.0, |(memory, _)| read_inflation(memory, sum, block));
                Self {
                    cycles: mat_mul_cycles(accelerator, parts, places.maps),
                    between_bytes: 2.0 * read_bytes,
                    second_bytes: run.second_bytes * second,
                    ..run.inflated(accelerator, &places.maps, sum, block)
                }
            }
            Work::Cpu => run,
        }
    }

    fn inflated(
        mut self,
        accelerator: &Accelerator,
        [from, to]: &[Memory; 2],
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
        places: &Places,
    ) -> Self {
        let [from, to] = &places.maps;
        let [ifm, _] = elementwise.shapes;
        let [ifm_bytes, _] = elementwise.element_bytes;
        let [is_brick, _] = elementwise.is_brick;
        self.cycles = elementwise.cycles(accelerator, places.maps);
        self.read_bytes *= elementwise.read_inflation(from, ifm, ifm_bytes, is_brick);
        self.written_bytes *= elementwise.write_inflation(accelerator, to);
        if let Some((memory, second)) = &places.second {
            self.second_bytes *= elementwise.read_inflation(
                memory,
                second.shape,
                second.element_bytes,
                !second.is_linear,
            );
        }
        self
    }
}

/// Biases and scales of so many output channels.
fn scale_bytes(accelerator: &Accelerator, depth: i64) -> f64 {
    match accelerator.is_u85() {
        true => (SCALE_BYTES * round_up(depth, SPLIT_DEPTH)) as f64,
        false => round_up(SCALE_BYTES * depth, ALIGNMENT_BYTES) as f64,
    }
}
