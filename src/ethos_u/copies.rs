//! Copies that put a tensor together of parts: what PAD and CONCATENATION become.

use super::accelerator::{Accelerator, Memory};
use super::blocks::{self, Block};
use super::cycles::{
    Conditions, Part, operator_cycles, read_bytes, read_inflation, write_inflation, written_bytes,
};
use super::flow::Flow;
use super::layer::{Kind, Layer};
use super::program::{Action, Placing, Program};

/// A part that is copied to its place: the compiler does so by pooling over single positions.
#[derive(Clone, Copy, Debug)]
pub struct Copy {
    pub layer: Layer,
    /// Map that is copied; none for zeros, which are a constant.
    pub from: Option<usize>,
    pub to: usize,
}

/// What one of them takes.
#[derive(Clone, Copy, Debug)]
pub struct Cost {
    pub cycles: f64,
    pub off_chip_bytes: f64,
    pub sram_bytes: f64,
}

/// The copies of the operation that runs in a step: of inputs that cannot be written to their place at
/// once, for others read them too, and of zeros behind the channels.
pub fn copies(program: &Program, flow: &Flow, [step, operation_idx]: [usize; 2]) -> Vec<Copy> {
    let operation = &program.operations[operation_idx];
    let Some(&to) = operation.outputs.first() else {
        return Vec::new();
    };
    let maps = &program.maps;
    let copy = |from: usize| Copy {
        layer: layer(
            maps[from].shape,
            [!maps[from].is_linear, !maps[to].is_linear],
        ),
        from: Some(from),
        to,
    };
    let shared = |inputs: &[usize]| -> Vec<Copy> {
        let inputs = inputs.iter().copied();
        let shared = inputs.filter(|&map_idx| !flow.is_only_reader(step, map_idx));
        shared.map(copy).collect()
    };
    match (operation.action, operation.inputs.as_slice()) {
        (Action::Join, inputs) => shared(inputs),
        (Action::PadChannels, &[from, ..]) if operation.placing == Placing::Apart => {
            let ([h, w, c], [to_h, to_w, to_c]) = (maps[from].shape, maps[to].shape);
            if (h, w) != (to_h, to_w) || to_c <= c {
                return Vec::new();
            }
            let zeros = Copy {
                layer: layer([h, w, to_c - c], [false, !maps[to].is_linear]),
                from: None,
                to,
            };
            let mut copies = shared(&[from]);
            copies.push(zeros);
            copies
        }
        _ => Vec::new(),
    }
}

fn layer(shape: [i64; 3], is_brick: [bool; 2]) -> Layer {
    Layer {
        kind: Kind::Pooling,
        ifm: shape,
        ofm: shape,
        kernel: [1, 1],
        stride: [1, 1],
        dilation: [1, 1],
        upscale: 1,
        is_sparse: false,
        has_table: false,
        is_brick,
        element_bytes: [1; 2],
    }
}

impl Copy {
    /// Cycles as long as nothing waits for a memory.
    pub fn own_cycles(&self, accelerator: &Accelerator, memories: [Memory; 2]) -> Option<f64> {
        let block = blocks::choose(accelerator, &self.layer)?;
        Some(self.in_blocks(accelerator, &block, memories))
    }

    fn in_blocks(&self, accelerator: &Accelerator, block: &Block, memories: [Memory; 2]) -> f64 {
        let conditions = Conditions {
            feature_maps: memories,
            scale_latency_cycles: 0.0,
            part: Part::WHOLE,
        };
        operator_cycles(accelerator, &self.layer, block, conditions)
    }

    /// Between two memories; none for a shape that no accelerator takes.
    pub fn cost(&self, accelerator: &Accelerator, memories: [Memory; 2]) -> Option<Cost> {
        let block = blocks::choose(accelerator, &self.layer)?;
        let own = self.in_blocks(accelerator, &block, memories);
        let [from, to] = &memories;
        let read = read_bytes(&self.layer, &block) * read_inflation(from, &self.layer, &block);
        let written =
            written_bytes(&self.layer) * write_inflation(accelerator, to, &self.layer, &block);
        let off_chip = |memory: &Memory, bytes: f64| if memory.is_off_chip { bytes } else { 0.0 };
        let (read_off_chip, written_off_chip) = (off_chip(from, read), off_chip(to, written));
        let off_chip_bytes = read_off_chip + written_off_chip;
        let sram_bytes = read + written - off_chip_bytes;
        let waiting = accelerator
            .off_chip_cycles(read_off_chip, written_off_chip)
            .max(sram_bytes / accelerator.sram.bytes_per_cycle);
        Some(Cost {
            cycles: own.max(waiting),
            off_chip_bytes,
            sram_bytes,
        })
    }
}
