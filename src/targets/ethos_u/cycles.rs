//! Cycles of an operator whose data arrive in time.

use super::accelerator::{Accelerator, Memory};
use super::blocks::{Block, SUB_KERNEL};
use super::configuration::Product;
use super::geometry::{BRICK_CHANNELS, Hwc, ceil_div, round_up, volume};
use super::layer::{Kind, Layer, SCALE_BYTES};

/// Written at once at most, where a feature map lies as the file has it.
const MAX_WRITE_BYTES: i64 = 64;

fn capped(block: Hwc, shape: Hwc) -> Hwc {
    std::array::from_fn(|axis| block[axis].min(shape[axis]))
}

/// Cycles that multipliers need for a block.
fn multiplier_cycles(
    accelerator: &Accelerator,
    layer: &Layer,
    block: &Block,
    micro: Hwc,
    ofm: Hwc,
) -> i64 {
    let ifm_depth = block.ifm[2].min(layer.ifm[2]);
    let element_bytes = layer.element_bytes[0];
    let n: Hwc = std::array::from_fn(|axis| ceil_div(ofm[axis], micro[axis]));
    let positions = n[0] * n[1];
    let weights_decoded = match accelerator.is_u85() {
        true => 32 * micro[2] / (8 * accelerator.n_weight_streams),
        false => 32 * micro[2] / 8,
    };
    let is_smallest = accelerator.product == Product::U55x32;
    let limit = match layer.kind {
        Kind::VectorProduct | Kind::MatrixProduct | Kind::ReduceSum => 1,
        _ => SUB_KERNEL,
    };
    let mut cycles = 0;
    for part_h in parts(layer.kernel[0], limit) {
        for part_w in parts(layer.kernel[1], limit) {
            let elements = part_h * part_w;
            let (steps, own) = match layer.kind {
                Kind::Pooling | Kind::MaxPooling | Kind::Copy => {
                    let times = if is_smallest { 1 } else { 4 * element_bytes };
                    (1, elements.max(4) * positions * n[2] * times)
                }
                Kind::Depthwise => {
                    let steps = ceil_div(elements, 4);
                    let once = weights_decoded.max(4 * positions * element_bytes);
                    (steps, once * steps * n[2])
                }
                _ if block.is_part_kernel => {
                    let at_once = if element_bytes == 2 { 2 } else { 4 };
                    let steps = ceil_div(elements, at_once);
                    let once = weights_decoded.max(4 * positions) * steps * n[2];
                    (steps, once * ceil_div(ifm_depth, 8))
                }
                _ => {
                    let (channel_steps, times) = if accelerator.is_u85() {
                        (ifm_depth / 8, element_bytes)
                    } else {
                        (4, 1)
                    };
                    let once = weights_decoded.max(channel_steps * positions);
                    (elements, once * elements * n[2] * times)
                }
            };
            let once = if is_smallest { 3 } else { 2 };
            let mut delay = match (positions, n[2]) {
                (1, 1) => once * steps,
                (1, depth) if steps > 1 => once * (steps - 1) * depth,
                _ => 0,
            };
            if block.is_part_kernel {
                delay *= ceil_div(ifm_depth, 8);
            }
            cycles += if layer.is_sparse { own / 2 } else { own } + delay;
        }
    }
    if !layer.kind.is_by_channel() {
        cycles *= ceil_div(layer.ifm[2], ifm_depth);
    }
    cycles / accelerator.n_cores
}

fn parts(size: i64, limit: i64) -> impl Iterator<Item = i64> {
    let n_parts = ceil_div(size, limit).max(1);
    (0..n_parts).map(move |part| (size - part * limit).min(limit))
}

/// Cycles to move a block of a feature map in bricks.
fn block_transfer(memory: &Memory, latency: f64, bytes: i64, burst: i64) -> f64 {
    let burst = burst.clamp(1, memory.burst_bytes);
    latency + ((bytes * memory.burst_bytes / burst) as f64 / memory.bytes_per_cycle).floor()
}

/// Which slice of an operator: the first waits for its input, the last for its output.
#[derive(Clone, Copy, Debug)]
pub struct Part {
    pub is_first: bool,
    pub is_last: bool,
}

impl Part {
    pub const WHOLE: Part = Part {
        is_first: true,
        is_last: true,
    };
}

/// What an operator's cycles depend on besides itself.
#[derive(Clone, Copy, Debug)]
pub struct Conditions {
    /// Where its input and output lie.
    pub feature_maps: [Memory; 2],
    /// Latency of the memory where its scales lie.
    pub scale_latency_cycles: f64,
    pub part: Part,
}

/// How blocks of a feature map lie in memory.
#[derive(Clone, Copy, Debug)]
struct Blocks {
    block: Hwc,
    /// Channels of the feature map, as its layout is told from those of a block.
    depth: i64,
    element_bytes: i64,
    /// Whether in bricks of channels.
    is_brick: bool,
}

impl Blocks {
    fn of_input(layer: &Layer, block: &Block) -> Self {
        Self::of(layer, 0, layer.ifm, block.ifm)
    }

    fn of_output(layer: &Layer, block: &Block) -> Self {
        Self::of(layer, 1, layer.ofm, block.ofm)
    }

    /// `end`: 0 of the input, 1 of the output.
    fn of(layer: &Layer, end: usize, [_, _, depth]: Hwc, block: Hwc) -> Self {
        Self {
            block,
            depth,
            element_bytes: layer.element_bytes[end],
            is_brick: layer.is_brick[end],
        }
    }

    /// Bytes that are read at once.
    fn read_burst(&self) -> i64 {
        let [_, width, depth] = self.block;
        let n_elements = match self.is_brick {
            true => BRICK_CHANNELS * width,
            false if self.depth == depth => width * depth,
            false => depth,
        };
        n_elements * self.element_bytes
    }

    /// Bytes that are written at once.
    fn write_burst(&self, accelerator: &Accelerator) -> i64 {
        let [_, width, depth] = self.block;
        let most = BRICK_CHANNELS * accelerator.n_cores;
        let n_elements = match self.is_brick {
            true => width * most,
            false if self.depth == depth && depth <= BRICK_CHANNELS => width * depth,
            false => depth.min(most).min(MAX_WRITE_BYTES / self.element_bytes),
        };
        n_elements * self.element_bytes
    }
}

/// How many bytes of `memory` are moved for one, where so many are read or written at once.
fn inflation(memory: &Memory, burst: i64) -> f64 {
    memory.burst_bytes as f64 / burst.clamp(1, memory.burst_bytes) as f64
}

/// How many bytes of `memory` are moved for one of the input, where less is read at once than moved.
pub fn read_inflation(memory: &Memory, layer: &Layer, block: &Block) -> f64 {
    inflation(memory, Blocks::of_input(layer, block).read_burst())
}

/// How many bytes of `memory` are moved for one of the output.
pub fn write_inflation(
    accelerator: &Accelerator,
    memory: &Memory,
    layer: &Layer,
    block: &Block,
) -> f64 {
    let burst = Blocks::of_output(layer, block).write_burst(accelerator);
    inflation(memory, burst)
}

/// Bytes of the feature map read, as often as blocks overlap or share it.
pub fn read_bytes(layer: &Layer, block: &Block) -> f64 {
    let ifm = capped(block.ifm, layer.ifm);
    let ofm = capped(block.ofm, layer.ofm);
    let n_blocks = |axis: usize| ceil_div(layer.ofm[axis], ofm[axis]) as f64;
    let n_parts = |axis: usize| ceil_div(layer.kernel[axis], SUB_KERNEL) as f64;
    let depth = match layer.is_brick[0] {
        true => round_up(layer.ifm[2], BRICK_CHANNELS),
        false => layer.ifm[2],
    };
    let mut bytes = (ifm[0] * ifm[1] * depth) as f64 * n_parts(0) * n_parts(1);
    bytes *= n_blocks(0) * n_blocks(1);
    if !layer.kind.is_by_channel() {
        bytes *= n_blocks(2);
    }
    bytes * layer.element_bytes[0] as f64
}

/// Bytes of the feature map written.
pub fn written_bytes(layer: &Layer) -> f64 {
    let depth = match layer.is_brick[1] {
        true => round_up(layer.ofm[2], BRICK_CHANNELS),
        false => layer.ofm[2],
    };
    (layer.ofm[0] * layer.ofm[1] * depth * layer.element_bytes[1]) as f64
}

/// Cycles to read and write so many bytes at once.
pub fn transpose_cycles([from, to]: [Memory; 2], [read_bytes, written_bytes]: [f64; 2]) -> f64 {
    let read = from.read_latency_cycles + read_bytes / from.bytes_per_cycle;
    read.max(to.write_latency_cycles + written_bytes / to.bytes_per_cycle)
}

/// An operation that goes through the output stage only, element by element.
#[derive(Clone, Copy, Debug)]
pub struct Elementwise {
    pub block: Hwc,
    /// Input and output.
    pub shapes: [Hwc; 2],
    pub element_bytes: [i64; 2],
    /// Whether they lie in bricks of channels.
    pub is_brick: [bool; 2],
    /// Shape of its second input, and whether that lies in bricks.
    pub second: Option<(Hwc, bool)>,
    pub cycles_per_element: f64,
}

impl Elementwise {
    /// Cycles where input and output, and the second input, lie in such memories: what is issued for each
    /// block takes its time too.
    pub fn cycles(
        &self,
        accelerator: &Accelerator,
        [from, to]: [Memory; 2],
        second: Option<Memory>,
    ) -> f64 {
        let [h, w, c] = self.shapes[1];
        let depth = match self.is_brick[1] {
            true => round_up(c, BRICK_CHANNELS),
            false => c,
        };
        let n_elements = (h * w * depth) as f64;
        let [input_bytes, output_bytes] = self.element_bytes;
        let bytes =
            |shape: Hwc, element_bytes: i64| volume(capped(self.block, shape)) * element_bytes;
        // Numbers are as wide in both inputs.
        let read = |memory: &Memory, shape: Hwc, is_brick: bool| {
            block_transfer(
                memory,
                memory.read_latency_cycles,
                bytes(shape, input_bytes),
                self.blocks(shape, input_bytes, is_brick).read_burst(),
            )
        };
        let first = read(&from, self.shapes[0], self.is_brick[0]);
        let second = (self.second.zip(second)).map_or(0.0, |((shape, is_brick), memory)| {
            read(&memory, shape, is_brick)
        });
        let read = first.max(second);
        let written = block_transfer(
            &to,
            to.write_latency_cycles,
            bytes(self.shapes[1], output_bytes),
            self.write_burst(accelerator),
        );
        let block_cycles = read.max(written) / volume(self.block) as f64;
        let issue = (block_cycles + self.cycles_per_element) / 4.0;
        (n_elements * issue.max(self.cycles_per_element)).ceil()
    }

    /// Of an input or output of such a shape, whose channels the compiler counts in bytes here.
    fn blocks(&self, shape: Hwc, element_bytes: i64, is_brick: bool) -> Blocks {
        Blocks {
            block: self.block,
            depth: shape[2] * element_bytes,
            element_bytes,
            is_brick,
        }
    }

    /// How many bytes of `memory` are moved for one of such an input.
    pub fn read_inflation(
        &self,
        memory: &Memory,
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
        self.blocks(self.shapes[1], self.element_bytes[1], self.is_brick[1])
            .write_burst(accelerator)
    }

    /// How many bytes of `memory` are moved for one of the output.
    pub fn write_inflation(&self, accelerator: &Accelerator, memory: &Memory) -> f64 {
        inflation(memory, self.write_burst(accelerator))
    }
}

/// Cycles of a part of `layer` in such blocks; scales come from where the weights are.
pub fn operator_cycles(
    accelerator: &Accelerator,
    layer: &Layer,
    block: &Block,
    conditions: Conditions,
) -> f64 {
    let mut micro = block.micro;
    let mut ofm = capped(block.ofm, layer.ofm);
    if !accelerator.is_u85()
        && micro[0] == 2
        && layer.is_row()
        && layer.ofm[1] % 2 == 0
        && layer.kind.has_weights()
        && layer.kind != Kind::Depthwise
    {
        micro = [1, 4, micro[2]];
        ofm[0] = 1;
    }
    let ifm = capped(block.ifm, layer.ifm);
    let mac = multiplier_cycles(accelerator, layer, block, micro, ofm) as f64;
    let scales = match layer.kind.has_weights() {
        true => (SCALE_BYTES * ofm[2]) as f64 * conditions.scale_latency_cycles / 256.0,
        false => 0.0,
    };
    let output_cycles = accelerator.output.of_layer(layer);
    let output = (output_cycles * volume(ofm) as f64).ceil().max(scales);
    let micros = |shape: Hwc| -> f64 {
        (0..3)
            .map(|axis| ceil_div(shape[axis], micro[axis]) as f64)
            .product()
    };
    let n_blocks = micros(layer.ofm) / micros(ofm);
    let [from, to] = &conditions.feature_maps;
    let write_burst = Blocks::of_output(layer, block).write_burst(accelerator);
    let read = block_transfer(
        from,
        from.read_latency_cycles,
        volume(ifm) * layer.element_bytes[0],
        Blocks::of_input(layer, block).read_burst(),
    );
    let written = block_transfer(
        to,
        to.write_latency_cycles,
        volume(ofm) * layer.element_bytes[1],
        write_burst,
    );
    let apart = if n_blocks > 1.0 {
        (written - read).abs()
    } else {
        0.0
    };
    let issue = (apart + mac + output) / 4.0;
    let (mac, output) = (mac.max(issue), output.max(issue));
    let when = |is_so: bool, cycles: f64| if is_so { cycles } else { 0.0 };
    let total = match mac > output {
        true => (mac * n_blocks).floor() + when(conditions.part.is_last, output.floor()),
        false => (output * n_blocks + mac).floor(),
    };
    total + when(conditions.part.is_first, read) + when(conditions.part.is_last, written)
}

/// Of an operator with everything off chip.
pub fn whole_cycles(accelerator: &Accelerator, layer: &Layer, block: &Block) -> f64 {
    let conditions = Conditions {
        feature_maps: [accelerator.planned_feature_maps(); 2],
        scale_latency_cycles: accelerator.weights_off_chip.latency_cycles,
        part: Part::WHOLE,
    };
    operator_cycles(accelerator, layer, block, conditions)
}
