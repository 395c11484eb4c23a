//! The program of an accelerator: operations that it can execute, and the feature maps between them.

use std::sync::Arc;

use super::geometry::{BRICK_CHANNELS, Hwc, brick_padding, round_up};
use super::layer::Kind;
use super::map_list::MapList;
use crate::graph::analysis::ByteHistogram;
use crate::work;

/// Bytes of an element, by type.
pub const INT16_BYTES: i64 = 2;
pub const INT32_BYTES: i64 = 4;
pub const INT64_BYTES: i64 = 8;

/// Largest height, width or depth of a feature map: the registers of the NPU hold them in 16 bits. Larger
/// dimensions are clamped, and the learned correction accounts for the rest.
pub const MAX_DIMENSION: i64 = 1 << 16;

/// A graph as the accelerator runs it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Program {
    /// Feature maps and constants: those of the graph, at the indices of its tensors, then those that the
    /// compiler adds.
    pub maps: Vec<FeatureMap>,
    /// In topological order.
    pub operations: Vec<Operation>,
    /// Indices of the outputs of the graph in [`Self::maps`].
    pub outputs: Vec<usize>,
    /// Whether operators of the graph read or assign state variables.
    pub has_state: bool,
    /// Whether the writers of a feature map are visited from the first to the last one, and not from the last one.
    pub is_first_writer_first: bool,
    /// Whether a limit was reached: operators or parts were left unchanged because they would become too many
    /// operations, or because the graph has more weights than may be sampled.
    pub hit_limit: bool,
}

/// A feature map or a constant.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct FeatureMap {
    /// [`Self::shape`] in half the memory: large networks have some hundred thousand maps.
    pub shape: [u32; 3],
    pub element_bytes: u8,
    /// Tells quantisation scales of the file apart: a hash of the first one, 0 without a scale.
    pub scale: u16,
    /// Bytes in NHWC layout. None for constants and for maps without a place in the memory plan.
    pub bytes: OptionalBytes,
    pub is_constant: bool,
    /// Whether it keeps its contents from one inference to the next.
    pub is_variable: bool,
    pub is_input: bool,
    pub is_output: bool,
    /// Whether it must stay in the memory of feature maps, because the CPU reads or writes it.
    pub is_off_chip: bool,
    /// Whether it is a copy in SRAM of an input of the graph that is off chip.
    pub is_staged: bool,
    /// Whether its elements are truth values. The accelerator sets all bits of those that hold, callers the first one.
    pub is_truth: bool,
    /// Whether it stands for as many maps as its writer has runs, because each run is a time step with maps of its own.
    pub is_of_time_step: bool,
    /// Whether its layout is NHWC instead of NHCWB16. Callers cannot read NHCWB16, and it does not allow views of
    /// another shape or concatenations with parts that start inside a brick.
    pub is_linear: bool,
}

/// A number of bytes that may be absent, without the memory that an [`Option`] takes besides. The default is absent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OptionalBytes(f64);

impl OptionalBytes {
    const NONE: Self = Self(-1.0);

    pub fn get(self) -> Option<f64> {
        (self != Self::NONE).then_some(self.0)
    }
}

impl Default for OptionalBytes {
    fn default() -> Self {
        Self::NONE
    }
}

impl From<f64> for OptionalBytes {
    fn from(bytes: f64) -> Self {
        Self(bytes)
    }
}

/// A shape as feature maps hold it. No dimension is larger than [`MAX_DIMENSION`].
pub fn compact_shape(shape: Hwc) -> [u32; 3] {
    shape.map(|size| {
        debug_assert!((0..=MAX_DIMENSION).contains(&size));
        size as u32
    })
}

impl FeatureMap {
    #[cfg_attr(feature = "work", track_caller)]
    pub fn shape(&self) -> Hwc {
        work::count(1);
        self.shape.map(i64::from)
    }

    pub fn element_bytes(&self) -> i64 {
        self.element_bytes.into()
    }

    /// Whether the CPU can see it.
    pub fn is_visible_to_cpu(&self) -> bool {
        self.is_input || self.is_output || self.is_off_chip
    }

    /// Whether only the operations that read it depend on its memory and layout.
    pub fn is_internal(&self) -> bool {
        !self.is_visible_to_cpu() && !self.is_variable && !self.is_constant
    }

    /// In how many pieces operations that run `n_runs` times write or read it.
    pub fn n_pieces(&self, n_runs: f64) -> f64 {
        if self.is_of_time_step { 1.0 } else { n_runs }
    }

    pub fn n_elements(&self) -> i64 {
        self.shape().iter().product()
    }

    /// Bytes in memory: NHCWB16 pads channels to whole bricks.
    pub fn stored_bytes(&self) -> f64 {
        self.bytes_in_shape(self.shape())
    }

    /// [`Self::stored_bytes`] with the shape in which an operation sees it.
    pub fn bytes_in_shape(&self, shape: Hwc) -> f64 {
        let [h, w, c] = shape;
        let depth = if self.is_linear {
            c
        } else {
            round_up(c, BRICK_CHANNELS)
        };
        (h * w * depth * self.element_bytes()) as f64
    }

    /// Bytes in memory over bytes in NHWC.
    pub fn padding(&self) -> f64 {
        if self.is_linear {
            1.0
        } else {
            brick_padding(self.shape[2] as f64)
        }
    }
}

/// What an operation computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Runs on the multipliers, with or without weights.
    Layer(Kind),
    /// Elementwise, with two inputs.
    Binary(Arithmetic),
    /// Elementwise, with one input.
    Unary,
    /// Looks up each element in a table (LUT), as most activations do.
    Table,
    /// Clamps each element, as RELU does.
    Clamp,
    /// Copies each element, perhaps into another element size.
    Copy,
    /// Requantises each element: another scale and zero point.
    Requantise,
    /// Adds zeros around height and width.
    Pad,
    /// Concatenates its inputs. `is_in_brick` tells whether some of them start inside a brick of channels.
    Concat { is_in_brick: bool },
    /// Gives its input another shape.
    View,
    /// Takes parts of its input.
    Slice,
    /// Multiplies the rows of one matrix by this many columns of another.
    MatMul { n_columns: i64 },
    /// Permutes the dimensions.
    Transpose(Transposition),
    /// Enlarges height and width; the width by the first number over the second.
    Resize([u32; 2]),
    /// Reverses a dimension: height, width, channels, or one that is none of them.
    Reverse(u8),
    /// Copies as many entries of its first input as the second one has indices.
    Gather,
    /// Falls back to the CPU.
    Cpu,
    /// Anything else; only the size of its output is known.
    Other,
}

/// A permutation of height, width and channels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transposition {
    /// [`Self::written`], as a feature map has it.
    written: [u32; 3],
    /// Dimension `order[k]` of the input is dimension `k` of the output.
    pub order: [u8; 3],
}

impl Transposition {
    pub fn new(written: Hwc, order: [usize; 3]) -> Self {
        Self {
            written: written.map(|size| u32::try_from(size).unwrap_or(u32::MAX)),
            order: order.map(|dimension| dimension as u8),
        }
    }

    /// Shape of the output.
    pub fn written(&self) -> Hwc {
        self.written.map(i64::from)
    }
}

/// Binary elementwise operations, by their number of cycles in the output stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arithmetic {
    Sum,
    Product,
    Quotient,
    Other,
}

/// Whether an operation's output aliases the memory of another feature map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Alias {
    /// No alias: it has its own memory.
    Separate,
    /// Aliases the first input, reshaped or sliced, without moving bytes.
    View,
    /// Aliases the first input, because a neighbouring operation does the computation: padding of the convolution after
    /// it, or an activation of the operation before it.
    Fused,
    /// The inputs alias parts of the output: their producers write there.
    Concat,
    /// Aliases an input of the same size that no other operation reads; the output overwrites it.
    InPlace,
}

impl Alias {
    /// Whether no command runs and the output is the first input under another name.
    pub fn is_view_of_input(self) -> bool {
        matches!(self, Alias::View | Alias::Fused)
    }
}

/// The window of a convolution or pooling, in height and width.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    pub kernel: [i64; 2],
    pub stride: [i64; 2],
    pub dilation: [i64; 2],
    /// Factor by which the input is enlarged while it is read.
    pub upscale: i64,
}

impl Window {
    /// A 1x1 window with stride 1.
    pub const POINT: Self = Self {
        kernel: [1; 2],
        stride: [1; 2],
        dilation: [1; 2],
        upscale: 1,
    };

    /// The strides that matter: a side with a single position of the window has none.
    pub fn stride_towards(&self, ofm: Hwc) -> [i64; 2] {
        std::array::from_fn(|axis| if ofm[axis] == 1 { 1 } else { self.stride[axis] })
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Operation {
    /// Node of the graph that it implements, alone or with others.
    pub node_idx: usize,
    pub action: Action,
    pub alias: Alias,
    /// Feature maps and constants that it reads, without weights.
    pub inputs: MapList,
    pub outputs: MapList,
    /// Shapes in which it sees its first input and its output, if they differ from those of the maps. Boxed like
    /// `window`.
    pub view_shapes: Option<Box<[Hwc; 2]>>,
    /// Shape of the part of its second input that one run sees, if it runs for each position in further dimensions.
    pub second_part: Option<Box<Hwc>>,
    /// `None` for [`Window::POINT`]. Boxed, because large networks have a hundred thousand operations.
    pub window: Option<Box<Window>>,
    pub weights: Option<Arc<ByteHistogram>>,
    pub sharing: WeightSharing,
    /// How many times it runs: each time for a part of its output, or in a time step of its own.
    pub repeats: f64,
    /// A TRANSPOSE behind it that the same command performs, as Ethos-U85 can: its output has the shape `written`.
    pub fused_transpose: Option<Box<Transposition>>,
    /// A REVERSE_V2 behind it that the same command performs, as Ethos-U85 can: the dimension.
    pub fused_reverse: Option<u8>,
    /// Whether the file fuses an activation into its operator.
    pub has_activation: bool,
    /// Tells lookup tables of the file's activations apart: a hash of what their entries depend on. 0 for a table of
    /// which there is no second one.
    pub table: u16,
}

/// Whether consecutive operations read the same weights.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WeightSharing {
    #[default]
    None,
    /// The next operation also reads them.
    First,
    /// The previous operation, another piece of the same operator, also reads them.
    Again,
    /// The previous operation, of another operator, reads the same tensor.
    AsBefore,
}

impl Operation {
    /// Whether it runs on the multipliers, and not as a product of vectors or matrices.
    pub fn has_window(&self) -> bool {
        let is_product = |kind: Kind| matches!(kind, Kind::VectorProduct | Kind::MatrixProduct);
        matches!(self.action, Action::Layer(kind) if !is_product(kind))
    }

    /// An operation that runs once, on whole feature maps, without weights or alias.
    pub fn new(
        node_idx: usize,
        action: Action,
        inputs: impl Into<MapList>,
        outputs: impl Into<MapList>,
    ) -> Self {
        Self {
            node_idx,
            action,
            alias: Alias::Separate,
            inputs: inputs.into(),
            outputs: outputs.into(),
            view_shapes: None,
            second_part: None,
            window: None,
            weights: None,
            sharing: WeightSharing::None,
            repeats: 1.0,
            fused_transpose: None,
            fused_reverse: None,
            has_activation: false,
            table: 0,
        }
    }

    /// The transposition that it performs, alone or after its own work.
    pub fn transposition(&self) -> Option<Transposition> {
        match self.action {
            Action::Transpose(transposition) => Some(transposition),
            _ => self.fused_transpose.as_deref().copied(),
        }
    }

    /// The dimension that it reverses, alone or after its own work.
    pub fn reversed_dimension(&self) -> Option<u8> {
        match self.action {
            Action::Reverse(axis) => Some(axis),
            _ => self.fused_reverse,
        }
    }

    #[cfg_attr(feature = "work", track_caller)]
    pub fn view_shapes(&self) -> Option<[Hwc; 2]> {
        work::count(1);
        self.view_shapes.as_deref().copied()
    }

    pub fn window(&self) -> Window {
        self.window.as_deref().copied().unwrap_or(Window::POINT)
    }

    pub fn is_binary(&self) -> bool {
        matches!(self.action, Action::Binary(_))
    }

    /// Whether each element of its output depends on one element of each input.
    pub fn is_elementwise(&self) -> bool {
        matches!(
            self.action,
            Action::Binary(_)
                | Action::Unary
                | Action::Table
                | Action::Clamp
                | Action::Copy
                | Action::Requantise
        )
    }
}

impl Program {
    /// Indices of the inputs of an operation that are not constants.
    pub fn activations(&self, operation: &Operation) -> impl Iterator<Item = usize> {
        let inputs = operation.inputs.iter().copied();
        inputs.filter(|&map_idx| !self.maps[map_idx].is_constant)
    }

    /// The shape in which an elementwise operation sees one of its inputs. If input and output have the same shape in
    /// the graph, this is the shape in which it sees the output.
    pub fn shape_beside_output(&self, operation: &Operation, map_idx: usize) -> Hwc {
        let of_second = operation.second_part.as_deref();
        if let Some(part) = of_second.filter(|_| operation.inputs.get(1) == Some(&map_idx)) {
            return *part;
        }
        let shape = self.maps[map_idx].shape();
        let is_like_output = |&output: &usize| self.maps[output].shape() == shape;
        let view_shapes = operation
            .view_shapes()
            .filter(|_| operation.outputs.first().is_some_and(is_like_output));
        view_shapes.map_or(shape, |[_, ofm]| ofm)
    }

    /// By map, how many operations read it besides those that write it; a caller that reads it counts as one more.
    pub fn n_readers(&self) -> Vec<usize> {
        let mut n_readers = vec![0; self.maps.len()];
        let read = self.operations.iter().flat_map(|operation| {
            let inputs = operation.inputs.iter();
            inputs.filter(|&input| operation.outputs.first() != Some(input))
        });
        for &map_idx in read.chain(&self.outputs) {
            n_readers[map_idx] += 1;
        }
        n_readers
    }

    /// By map, the operation that writes it: the last one if there are several.
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
