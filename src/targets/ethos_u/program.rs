//! What an accelerator runs: operations that it has, on feature maps.

use std::sync::Arc;

use super::accelerator::Hwc;
use super::blocks::{SPLIT_DEPTH, round_up};
use super::feature_maps::brick_padding;
use super::layer::Kind;
use crate::graph::analysis::ByteHistogram;

/// Of elements of 16 bits, and of 32.
pub const HALF_BYTES: i64 = 2;
pub const WIDE_BYTES: i64 = 4;

/// A dimension beyond this is left to the network: NPU registers hold 16 bits.
pub const MAX_DIMENSION: i64 = 1 << 16;

/// A graph as its accelerator runs it.
#[derive(Clone, Debug, Default)]
pub struct Program {
    /// Those of the graph by the indices of its tensors, then those that the compiler adds.
    pub maps: Vec<Map>,
    /// Each after those whose maps it reads.
    pub operations: Vec<Operation>,
    /// Maps that callers read.
    pub outputs: Vec<usize>,
}

/// A feature map or a constant.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Map {
    pub shape: Hwc,
    pub element_bytes: i64,
    /// As the file has it in the arena; none for constants and what the memory plan leaves out.
    pub bytes: Option<f64>,
    pub is_constant: bool,
    /// Keeps its contents from call to call.
    pub is_variable: bool,
    pub is_input: bool,
    pub is_output: bool,
    /// Whether it stays where the compiler has feature maps at first.
    pub is_off_chip: bool,
    /// Whether it is a copy in SRAM of what lies off chip.
    pub is_staged: bool,
    /// Whether it lies as the file has it instead of in bricks of channels: callers know of no bricks,
    /// nor do views of another shape, nor maps put together of parts that begin inside a brick.
    pub is_linear: bool,
}

impl Map {
    /// Whether it lies where callers can see it.
    pub fn is_apart(&self) -> bool {
        self.is_input || self.is_output || self.is_off_chip
    }

    /// Whether only the operations that read it care where it lies, and how.
    pub fn is_internal(&self) -> bool {
        !self.is_apart() && !self.is_variable && !self.is_constant
    }

    pub fn n_elements(&self) -> i64 {
        self.shape.iter().product()
    }

    /// Bytes in memory: in bricks its channels are whole ones.
    pub fn stored_bytes(&self) -> f64 {
        let [h, w, c] = self.shape;
        let depth = match self.is_linear {
            true => c,
            false => round_up(c, SPLIT_DEPTH),
        };
        (h * w * depth * self.element_bytes) as f64
    }

    /// The same as an operation sees it, in another shape.
    pub fn seen_bytes(&self, shape: Hwc) -> f64 {
        Self { shape, ..*self }.stored_bytes()
    }

    /// How much larger it is in memory than in the file.
    pub fn padding(&self) -> f64 {
        match self.is_linear {
            true => 1.0,
            false => brick_padding(self.shape[2] as f64),
        }
    }
}

/// What an operation does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Goes through the multipliers.
    Layer(Kind),
    /// Of two feature maps, element by element.
    Binary(Arithmetic),
    /// Of one feature map, element by element.
    Unary,
    /// Looks each element up in a table.
    Table,
    /// Cuts values off at limits.
    Limit,
    /// Copies each element, into another size maybe.
    Copy,
    /// Counts each element in other steps.
    Rescale,
    /// Puts zeros around the rows and columns.
    Frame,
    /// Puts its inputs beside each other, some of them maybe so that they begin inside a brick of
    /// channels.
    Join { is_in_brick: bool },
    /// Names its input anew, in another shape.
    View,
    /// Names parts of its input.
    Slice,
    /// Multiplies rows of one matrix with so many columns of another.
    MatMul { n_columns: i64 },
    /// Exchanges dimensions, so that the output has such a shape.
    Move { written: Hwc },
    /// Enlarges height and width.
    Resize,
    /// Left to the CPU.
    Cpu,
    /// Something else, for which nothing but its output's size is known.
    Other,
}

/// Kinds of elementwise operations by what their output costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arithmetic {
    Sum,
    Product,
    Other,
}

/// Where an operation's result lies, as the compiler places it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placing {
    /// Apart from what it reads.
    Apart,
    /// In the memory of its first input, which it only names anew, cuts or frames: no bytes move.
    View,
    /// The same for what the operation before or after it does: a frame around the input of a window, an
    /// activation that is looked up in a table.
    Fused,
    /// In memory into which the writers of all its inputs write their parts.
    Joined,
    /// Over an input of the same size that nothing else reads.
    InPlace,
}

impl Placing {
    /// Whether nothing runs, and the result is the first input by another name.
    pub fn is_of_input(self) -> bool {
        matches!(self, Placing::View | Placing::Fused)
    }
}

/// Of a window, in height and width.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    pub kernel: [i64; 2],
    pub stride: [i64; 2],
    pub dilation: [i64; 2],
    /// Rows and columns that each of the input counts as.
    pub upscale: i64,
}

impl Window {
    /// One position after the other.
    pub const POINT: Self = Self {
        kernel: [1; 2],
        stride: [1; 2],
        dilation: [1; 2],
        upscale: 1,
    };
}

#[derive(Clone, Debug)]
pub struct Operation {
    /// Node of the graph of which it is a part.
    pub node_idx: usize,
    pub action: Action,
    pub placing: Placing,
    /// Maps that it reads, but for weights.
    pub inputs: Vec<usize>,
    pub outputs: Vec<usize>,
    /// Input and output as it sees them, where not as they are.
    pub seen: Option<[Hwc; 2]>,
    pub window: Window,
    pub weights: Option<Arc<ByteHistogram>>,
    pub sharing: Sharing,
    /// How many times it runs, for a part of its output each.
    pub repeats: f64,
}

/// Whether operations that run one after the other have the very same weights.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sharing {
    #[default]
    None,
    /// The one after it has them too.
    First,
    /// The one before it has had them.
    Again,
}

impl Operation {
    /// Once, on whole maps, without weights, its result apart.
    pub fn new(node_idx: usize, action: Action, inputs: Vec<usize>, outputs: Vec<usize>) -> Self {
        Self {
            node_idx,
            action,
            placing: Placing::Apart,
            inputs,
            outputs,
            seen: None,
            window: Window::POINT,
            weights: None,
            sharing: Sharing::None,
            repeats: 1.0,
        }
    }

    pub fn is_binary(&self) -> bool {
        matches!(self.action, Action::Binary(_))
    }

    /// Whether it goes over its input element by element.
    pub fn is_elementwise(&self) -> bool {
        matches!(
            self.action,
            Action::Binary(_)
                | Action::Unary
                | Action::Table
                | Action::Limit
                | Action::Copy
                | Action::Rescale
        )
    }
}

impl Program {
    /// Inputs of an operation that are no constants.
    pub fn activations(&self, operation: &Operation) -> impl Iterator<Item = usize> {
        let inputs = operation.inputs.iter().copied();
        inputs.filter(|&map_idx| !self.maps[map_idx].is_constant)
    }

    /// By map, how many operations read it, and the caller as one more.
    pub fn n_readers(&self) -> Vec<usize> {
        let mut n_readers = vec![0; self.maps.len()];
        let read = self
            .operations
            .iter()
            .flat_map(|operation| &operation.inputs);
        for &map_idx in read.chain(&self.outputs) {
            n_readers[map_idx] += 1;
        }
        n_readers
    }

    /// By map, the operation that writes it.
    pub fn writers(&self) -> Vec<Option<usize>> {
        let mut writers = vec![None; self.maps.len()];
        for (idx, operation) in self.operations.iter().enumerate() {
            for &output in &operation.outputs {
                writers[output] = Some(idx);
            }
        }
        writers
    }
}
