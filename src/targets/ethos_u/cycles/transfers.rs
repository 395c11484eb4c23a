//! Transfers of feature maps: bytes, bursts, and the time of a block.
//!
//! Reproduces `MeasureElementAccess`, `ElementTransferToBytes` and the block transfers of `EstimateMacOpCycles` in
//! Vela's `ethos_u55_performance.cpp` and `ethos_u85_performance.cpp`.

use crate::targets::ethos_u::accelerator::{Accelerator, MemoryPort};
use crate::targets::ethos_u::blocks::{Block, SUB_KERNEL};
use crate::targets::ethos_u::geometry::{BRICK_CHANNELS, Hwc, ceil_div, round_up};
use crate::targets::ethos_u::layer::Layer;

/// Maximum bytes per AXI burst of a write when the feature map is NHWC.
const MAX_WRITE_BYTES: i64 = 64;

/// The part of a block that is inside of `shape`.
pub fn clipped_block(block: Hwc, shape: Hwc) -> Hwc {
    std::array::from_fn(|axis| block[axis].min(shape[axis]))
}

/// Cycles to transfer this many bytes of a block. Bursts shorter than those of the memory take as long.
pub fn block_transfer(memory: &MemoryPort, latency: f64, bytes: i64, burst: i64) -> f64 {
    let burst = burst.clamp(1, memory.burst_bytes);
    latency + ((bytes * memory.burst_bytes / burst) as f64 / memory.bytes_per_cycle).floor()
}

/// The layout of the blocks of a feature map.
#[derive(Clone, Copy, Debug)]
pub struct Blocks {
    pub block: Hwc,
    /// Bytes between adjacent positions of NHWC, or between bricks of NHCWB16. A block with as many channels as this counts
    /// as contiguous along a row: Vela compares channels with bytes.
    pub stride_bytes: i64,
    pub element_bytes: i64,
    /// Whether it is NHCWB16.
    pub is_brick: bool,
}

impl Blocks {
    pub fn ifm_blocks(layer: &Layer, block: &Block) -> Self {
        let (element_bytes, is_brick) = (layer.element_bytes.ifm, layer.is_brick.ifm);
        Self {
            stride_bytes: stride_bytes(layer.ifm, element_bytes, is_brick),
            block: block.ifm,
            element_bytes,
            is_brick,
        }
    }

    pub fn ofm_blocks(layer: &Layer, block: &Block) -> Self {
        let (element_bytes, is_brick) = (layer.element_bytes.ofm, layer.is_brick.ofm);
        Self {
            stride_bytes: stride_bytes(layer.ofm, element_bytes, is_brick),
            block: block.ofm,
            element_bytes,
            is_brick,
        }
    }

    /// Contiguous bytes of a read.
    pub fn read_burst(&self) -> i64 {
        let [_, width, depth] = self.block;
        let is_contiguous = self.stride_bytes == depth;
        let n_elements = if is_contiguous {
            width * depth
        } else if self.is_brick {
            BRICK_CHANNELS * width
        } else {
            depth
        };
        n_elements * self.element_bytes
    }

    /// Contiguous bytes of a write.
    pub fn write_burst(&self, accelerator: &Accelerator) -> i64 {
        let [_, width, depth] = self.block;
        let most = BRICK_CHANNELS * accelerator.n_cores;
        let is_contiguous = self.stride_bytes == depth;
        let n_elements = if is_contiguous && (self.is_brick || depth <= BRICK_CHANNELS) {
            width * depth
        } else if self.is_brick {
            width * most
        } else {
            depth.min(most).min(MAX_WRITE_BYTES / self.element_bytes)
        };
        n_elements * self.element_bytes
    }
}

/// [`Blocks::stride_bytes`] of a feature map.
pub fn stride_bytes([_, width, depth]: Hwc, element_bytes: i64, is_brick: bool) -> i64 {
    element_bytes
        * if is_brick {
            width * BRICK_CHANNELS
        } else {
            depth
        }
}

/// Bytes that `memory` moves per byte of a transfer in such bursts.
pub fn inflation(memory: &MemoryPort, burst: i64) -> f64 {
    memory.burst_bytes as f64 / burst.clamp(1, memory.burst_bytes) as f64
}

/// Bytes that `memory` moves per byte of the IFM.
pub fn read_inflation(memory: &MemoryPort, layer: &Layer, block: &Block) -> f64 {
    let burst = Blocks::ifm_blocks(layer, block).read_burst();
    inflation(memory, burst)
}

/// Bytes that `memory` moves per byte of the OFM.
pub fn write_inflation(
    accelerator: &Accelerator,
    memory: &MemoryPort,
    layer: &Layer,
    block: &Block,
) -> f64 {
    let burst = Blocks::ofm_blocks(layer, block).write_burst(accelerator);
    inflation(memory, burst)
}

/// Bytes read of the IFM. Overlapping blocks, parts of the kernel and blocks in depth read bytes again.
pub fn read_bytes(layer: &Layer, block: &Block) -> f64 {
    let ifm = clipped_block(block.ifm, layer.ifm);
    let ofm = clipped_block(block.ofm, layer.ofm);
    let n_blocks = |axis: usize| ceil_div(layer.ofm[axis], ofm[axis]) as f64;
    let n_parts = |axis: usize| ceil_div(layer.kernel[axis], SUB_KERNEL) as f64;
    let depth = if layer.is_brick.ifm {
        round_up(layer.ifm[2], BRICK_CHANNELS)
    } else {
        layer.ifm[2]
    };
    let mut bytes = (ifm[0] * ifm[1] * depth) as f64 * n_parts(0) * n_parts(1);
    bytes *= n_blocks(0) * n_blocks(1);
    if !layer.kind.is_by_channel() {
        bytes *= n_blocks(2);
    }
    bytes * layer.element_bytes.ifm as f64
}

/// Bytes written of the OFM.
pub fn written_bytes(layer: &Layer) -> f64 {
    let depth = if layer.is_brick.ofm {
        round_up(layer.ofm[2], BRICK_CHANNELS)
    } else {
        layer.ofm[2]
    };
    (layer.ofm[0] * layer.ofm[1] * depth * layer.element_bytes.ofm) as f64
}
