//! Cycles of operations in the output stage only, element by element.
//!
//! Reproduces `EstimateElementwiseCycles` of Vela's `ethos_u55_performance.cpp` and `ethos_u85_performance.cpp`.

use std::hash::{Hash, Hasher};

use super::transfers::{Blocks, block_transfer, clipped_block, inflation, stride_bytes};
use crate::targets::ethos_u::accelerator::{Accelerator, MemoryPort};
use crate::targets::ethos_u::geometry::{BRICK_CHANNELS, Hwc, IfmOfm, round_up, volume};

/// Issuing the commands of a block takes at least a quarter of the sum of its times.
const ISSUE_DIVISOR: f64 = 4.0;

/// An elementwise operation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Elementwise {
    pub block: Hwc,
    /// The block of its inputs, which differs from that of its OFM where it enlarges them.
    pub read_block: Hwc,
    /// Shapes of IFM and OFM.
    pub shapes: IfmOfm<Hwc>,
    pub element_bytes: IfmOfm<i64>,
    /// Whether IFM and OFM are NHCWB16.
    pub is_brick: IfmOfm<bool>,
    /// Shape of IFM2, and whether it is NHCWB16.
    pub second: Option<(Hwc, bool)>,
    pub cycles_per_element: f64,
}

/// Its cycles are a number.
impl Eq for Elementwise {}

impl Hash for Elementwise {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.shapes, self.second).hash(state);
    }
}

impl Elementwise {
    /// Cycles with IFM and OFM in `memories` and IFM2 in `second`.
    pub fn cycles(
        &self,
        accelerator: &Accelerator,
        memories: &IfmOfm<MemoryPort>,
        second: Option<MemoryPort>,
    ) -> f64 {
        let IfmOfm { ifm: from, ofm: to } = memories;
        let [h, w, c] = self.shapes.ofm;
        let depth = if self.is_brick.ofm {
            round_up(c, BRICK_CHANNELS)
        } else {
            c
        };
        let n_elements = (h * w * depth) as f64;
        let IfmOfm {
            ifm: input_bytes,
            ofm: output_bytes,
        } = self.element_bytes;
        let bytes = |block: Hwc, shape: Hwc, element_bytes: i64| {
            volume(clipped_block(block, shape)) * element_bytes
        };
        // Both inputs have elements of the same size.
        let read = |memory: &MemoryPort, shape: Hwc, is_brick: bool| {
            block_transfer(
                memory,
                memory.read_latency_cycles,
                bytes(self.read_block, shape, input_bytes),
                self.blocks(shape, input_bytes, is_brick).read_burst(),
            )
        };
        let first = read(from, self.shapes.ifm, self.is_brick.ifm);
        let second = (self.second.zip(second)).map_or(0.0, |((shape, is_brick), memory)| {
            read(&memory, shape, is_brick)
        });
        let read = first.max(second);
        let written = block_transfer(
            to,
            to.write_latency_cycles,
            bytes(self.block, self.shapes.ofm, output_bytes),
            self.write_burst(accelerator),
        );
        let block_cycles = read.max(written) / volume(self.block) as f64;
        let issue = (block_cycles + self.cycles_per_element) / ISSUE_DIVISOR;
        (n_elements * issue.max(self.cycles_per_element)).ceil()
    }

    /// The blocks of an input of this shape.
    fn blocks(&self, shape: Hwc, element_bytes: i64, is_brick: bool) -> Blocks {
        Blocks {
            block: self.read_block,
            stride_bytes: stride_bytes(shape, element_bytes, is_brick),
            element_bytes,
            is_brick,
        }
    }

    /// Bytes that `memory` moves per byte of an input.
    pub fn read_inflation(
        &self,
        memory: &MemoryPort,
        shape: Hwc,
        element_bytes: i64,
        is_brick: bool,
    ) -> f64 {
        inflation(
            memory,
            self.blocks(shape, element_bytes, is_brick).read_burst(),
        )
    }

    fn write_burst(&self, accelerator: &Accelerator) -> i64 {
        let written = self.blocks(self.shapes.ofm, self.element_bytes.ofm, self.is_brick.ofm);
        Blocks {
            block: self.block,
            ..written
        }
        .write_burst(accelerator)
    }

    /// Bytes that `memory` moves per byte of the OFM.
    pub fn write_inflation(&self, accelerator: &Accelerator, memory: &MemoryPort) -> f64 {
        inflation(memory, self.write_burst(accelerator))
    }
}
