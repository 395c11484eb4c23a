//! An operation as the compiler schedules it: how the accelerator executes it, what it reads and writes, and
//! the stripes and cascades that it runs in.

use std::collections::HashSet;
use std::hash::Hash;
use std::rc::Rc;

use foldhash::fast::RandomState;

use super::blocks::Block;
use super::cycles::Elementwise;
use super::geometry::{Hwc, IfmOfm};
use super::index::OptionalIndex;
use super::layer::Layer;
use super::program::{Program, WeightSharing};
use crate::graph::analysis::ByteHistogram;

/// Maximum number of inputs of operations that are chained to another one.
pub const MAX_OTHERS: usize = 3;

/// An operation with its block, in the order of execution.
#[derive(Clone, Debug)]
pub struct ScheduledOperation<'a> {
    pub execution: Execution<'a>,
    /// Cycles while its weights are read off chip: the time in which the next operation's weights can be
    /// fetched.
    pub cycles: f64,
    /// Bytes that it reads of its first input, and bytes that it writes.
    pub bytes: IfmOfm<f64>,
    /// Its second input, which most operations do not have.
    pub second: Option<Box<Read>>,
    /// Inputs that chained operations read from memory; absent if there are none, as for most operations.
    pub others: Option<Box<[Option<Read>; MAX_OTHERS]>>,
    /// Its first input and its output: indices of maps of the program.
    pub maps: IfmOfm<OptionalIndex>,
    /// Bytes of its lookup table, 0 if it has none or only performs the look-up of another operation.
    pub table_bytes: f64,
    pub sharing: WeightSharing,
    /// Whether operations are chained to it.
    pub is_chained: bool,
    /// Whether the last operation chained to it writes NHWC.
    pub chain_writes_linear: bool,
    /// Channels of the concatenation of which an activation on Ethos-U85 writes a part; 0 if there is none.
    pub joined_channels: i64,
    /// How many times it runs: each time for a part of its output, or in a time step of its own.
    pub pieces: f64,
    /// Whether its input may be kept in SRAM instead of its weights: only if another operation produces it.
    pub can_move_input: bool,
    /// Index of the first scheduled operation that reads its output.
    pub reader: OptionalIndex,
    /// Present if it is part of a cascade.
    pub stripe: Option<Stripe>,
}

/// A read of another input than the first one.
#[derive(Clone, Copy, Debug)]
pub struct Read {
    /// Index of the map in the program.
    pub map_idx: usize,
    /// Shape in which the operation sees it.
    pub shape: Hwc,
    /// Bytes, without unused parts of bursts.
    pub bytes: f64,
}

impl Read {
    /// A read of the whole map.
    pub fn whole(program: &Program, map_idx: usize) -> Self {
        let map = &program.maps[map_idx];
        Self {
            map_idx,
            shape: map.shape(),
            bytes: map.stored_bytes(),
        }
    }

    /// One of `n_parts` equal parts of the read.
    pub fn one_of_parts(self, n_parts: f64) -> Self {
        Self {
            bytes: self.bytes / n_parts,
            ..self
        }
    }
}

impl<'a> ScheduledOperation<'a> {
    /// An operation that runs once, outside of chains and cascades, with one input.
    pub fn new(execution: Execution<'a>, cycles: f64, bytes: IfmOfm<f64>) -> Self {
        Self {
            execution,
            cycles,
            bytes,
            second: None,
            others: None,
            maps: IfmOfm::both(OptionalIndex::NONE),
            table_bytes: 0.0,
            sharing: WeightSharing::None,
            is_chained: false,
            chain_writes_linear: false,
            joined_channels: 0,
            pieces: 1.0,
            can_move_input: false,
            reader: OptionalIndex::NONE,
            stripe: None,
        }
    }
}

impl ScheduledOperation<'_> {
    /// Elements that one run reads of the first input, and elements that it writes.
    pub fn accesses(&self, program: &Program) -> IfmOfm<f64> {
        let elements = |bytes: f64, map_idx: OptionalIndex| {
            let map = map_idx.get().map(|map_idx| &program.maps[map_idx]);
            let element_bytes = map.map_or(1, |map| map.element_bytes().max(1));
            bytes / element_bytes as f64
        };
        IfmOfm {
            ifm: elements(self.bytes.ifm, self.maps.ifm),
            ofm: elements(self.bytes.ofm, self.maps.ofm),
        }
    }

    /// Shares its execution with an earlier operation that has an equal one, which is in `known`, if the program is
    /// large.
    pub fn share(&mut self, known: &mut SharedExecutions) {
        if known.is_small {
            return;
        }
        match &mut self.execution {
            Execution::Weighted { divided, .. }
            | Execution::Unweighted(divided)
            | Execution::Transpose(divided) => share(divided, &mut known.divided),
            Execution::Elementwise(elementwise) => share(elementwise, &mut known.elementwise),
            Execution::MatMul(_) | Execution::Gather(_) | Execution::Cpu => {}
        }
    }

    pub fn is_of_cpu(&self) -> bool {
        matches!(self.execution, Execution::Cpu)
    }
}

/// Minimum number of operations from which equal layers and blocks are shared in memory. For smaller programs the
/// search for equal ones costs more than it saves.
const MIN_SHARED: usize = 1 << 10;

/// Executions that later operations may share: [`ScheduledOperation::share`].
#[derive(Default)]
pub struct SharedExecutions {
    is_small: bool,
    divided: HashSet<SharedLayer, RandomState>,
    elementwise: HashSet<Rc<Elementwise>, RandomState>,
}

impl SharedExecutions {
    /// None yet, in a program of `n_operations`.
    pub fn for_program(n_operations: usize) -> Self {
        Self {
            is_small: n_operations <= MIN_SHARED,
            ..Self::default()
        }
    }
}

fn share<T: Eq + Hash>(value: &mut Rc<T>, known: &mut HashSet<Rc<T>, RandomState>) {
    match known.get(value) {
        Some(alike) => *value = alike.clone(),
        None => {
            known.insert(value.clone());
        }
    }
}

/// The part of an OFM that an operation of a cascade computes at a time: some rows in full width and depth.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stripe {
    pub rows: i64,
    pub is_first: bool,
    /// Bytes of its weights, if the cascade reserved SRAM for them when its stripe height was chosen; else 0.
    pub planned_weight_bytes: f64,
}

impl Stripe {
    /// A stripe without weights in SRAM.
    pub fn new(rows: i64, is_first: bool) -> Self {
        Self {
            rows,
            is_first,
            planned_weight_bytes: 0.0,
        }
    }
}

/// A layer with its block. Large networks have few different ones, which their operations may share:
/// [`ScheduledOperation::share`].
pub type SharedLayer = Rc<(Layer, Block)>;

/// How an operation is executed, as far as its cost depends on it. Large parts are boxed, because large networks have a
/// hundred thousand operations.
#[derive(Clone, Debug)]
pub enum Execution<'a> {
    /// On the multipliers, with weights.
    Weighted {
        divided: SharedLayer,
        /// Bytes of the encoded weight stream with biases and scales.
        weight_bytes: f64,
        histogram: &'a ByteHistogram,
    },
    /// On the multipliers, without weights.
    Unweighted(SharedLayer),
    /// By memory transfers only; its blocks are chosen as if it ran on the multipliers.
    Transpose(SharedLayer),
    Elementwise(Rc<Elementwise>),
    MatMul(Box<MatMul>),
    /// By memory transfers of single elements: bytes of an element of its first input, of its indices and of its
    /// output.
    Gather([i64; 3]),
    /// By the CPU. The accelerator fetches nothing meanwhile.
    Cpu,
}

/// For each column, the products with all rows, followed by their sums.
#[derive(Clone, Debug)]
pub struct MatMul {
    pub product: Elementwise,
    pub sum: (Layer, Block),
    pub n_columns: f64,
}

impl<'a> Execution<'a> {
    pub fn histogram(&self) -> Option<&'a ByteHistogram> {
        match *self {
            Execution::Weighted { histogram, .. } => Some(histogram),
            _ => None,
        }
    }

    pub fn layer(&self) -> Option<(Layer, Block)> {
        match self {
            Execution::Weighted { divided, .. }
            | Execution::Unweighted(divided)
            | Execution::Transpose(divided) => Some(**divided),
            Execution::Elementwise(_)
            | Execution::MatMul(_)
            | Execution::Gather(_)
            | Execution::Cpu => None,
        }
    }

    /// Bytes of the encoded weight stream with biases and scales; 0 without weights.
    pub fn weight_bytes(&self) -> f64 {
        match *self {
            Execution::Weighted { weight_bytes, .. } => weight_bytes,
            _ => 0.0,
        }
    }
}

/// Scheduled operations `first..=last` that run in turn, stripe by stripe, so that only some rows of the feature maps
/// between them are in memory at a time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cascade {
    pub first: usize,
    pub last: usize,
    /// Bytes of its rolling buffers in SRAM.
    pub rolling_bytes: f64,
    /// Weight bytes that the cascade reserved in SRAM when its stripe height was chosen.
    pub planned_weight_bytes: f64,
}
