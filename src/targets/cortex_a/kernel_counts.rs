//! The counts that make up an operator's instructions, in the tiles that XNNPACK's kernels work in.
//!
//! A matrix kernel computes a tile of outputs at a time (some pixels by 8 or 16 channels) and multiplies 1, 4 or 8
//! values along the depth at once, so odd sizes cost as much as the next whole tile. The tile of a processor for an
//! element type is not defined here: a fit selects the counts that determine the instructions ([`super::costs`]).

use std::borrow::Borrow;
use std::collections::HashMap;
use std::sync::Arc;

use foldhash::fast::RandomState;

use crate::formats::tflite::op_row::{CoreWork, Effect, Work};
use crate::formats::tflite::{OpKind, Operator, OperatorCode, TensorType};
use crate::graph::analysis::window::Window;
use crate::graph::analysis::{Analysis, Cost};
use crate::graph::{Graph, Node};
use crate::target::{is_compiled, is_vendors};

/// The counts of one operator, from which the instructions of its kernel follow.
#[derive(Clone, Debug, PartialEq)]
pub struct KernelCounts {
    /// Name of the group of operators that share a rule: kind and element type, for example `CONV_2D int8`. The name is
    /// shared, because a network has many operators but few kernels.
    pub kernel: Arc<str>,
    pub class: Class,
    /// Whether the operator works on integers only.
    pub is_int8: bool,
    pub terms: Terms,
    /// Bytes of the activations that it reads and writes, and of its constants.
    pub bytes: f64,
    /// Those of its constants.
    pub weight_bytes: f64,
    /// Multiply-accumulates, or pairs of boxes that a detection post-processing compares.
    pub macs: f64,
    /// Activation values that it reads and writes.
    pub values: f64,
    /// Whether it copies values and computes none.
    pub copies: bool,
    /// Whether its work on a processor is unknown: it was compiled for an accelerator, or only its vendor knows what it
    /// computes and its bytes bound it too loosely.
    pub is_unknown: bool,
}

impl KernelCounts {
    /// Bytes that a cache of this capacity does not hold: all or none of them, because an operator's feature maps follow
    /// each other through the cache. 0 for an operator whose work is unknown.
    pub fn uncached_bytes(&self, cached_bytes: f64) -> f64 {
        let is_cached = self.is_unknown || self.bytes <= cached_bytes;
        if is_cached { 0.0 } else { self.bytes }
    }
}

/// Names and values of counts; counts of 0 are left out. Most operators of one kernel share the names.
#[derive(Clone, Debug, PartialEq)]
pub struct Terms {
    names: Arc<[&'static str]>,
    counts: Box<[f64]>,
}

impl Terms {
    /// With names of their own.
    pub fn new(terms: &[(&'static str, f64)]) -> Self {
        Self {
            names: terms.iter().map(|(name, _)| *name).collect(),
            counts: terms.iter().map(|(_, count)| *count).collect(),
        }
    }

    /// With the names of `alike`, if they have the same.
    fn like(alike: &Self, terms: &[(&'static str, f64)]) -> Self {
        let mut pairs = alike.names.iter().zip(terms);
        if alike.names.len() != terms.len() || !pairs.all(|(known, (name, _))| known == name) {
            return Self::new(terms);
        }
        Self {
            names: alike.names.clone(),
            counts: terms.iter().map(|(_, count)| *count).collect(),
        }
    }

    pub fn names(&self) -> &[&'static str] {
        &self.names
    }

    /// As many as names.
    pub fn counts(&self) -> &[f64] {
        &self.counts
    }

    pub fn iter(&self) -> impl Iterator<Item = (&'static str, f64)> {
        self.names.iter().copied().zip(self.counts.iter().copied())
    }
}

/// Classes of operators whose instructions take equally long.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// Products of matrices: convolutions, dense layers, attention.
    Matrix,
    Depthwise,
    /// Products of matrices and vectors, one step after another, which the interpreter computes on one thread.
    Recurrent,
    Other,
}

/// Kernels, each with the terms of the last operator that had it.
type Known = HashMap<Arc<str>, Terms, RandomState>;

/// The counts of each node, in the order of [`Graph::nodes`]. Linear in nodes.
pub fn kernel_counts(graph: &Graph, analysis: &Analysis) -> Vec<KernelCounts> {
    let nodes = graph.nodes.iter().zip(&analysis.costs).enumerate();
    let mut known = Known::default();
    let counts = |(node_idx, (node, cost))| node_counts(graph, node_idx, node, cost, &mut known);
    nodes.map(counts).collect()
}

/// The counts of an inference outside of its operators: the steps of the interpreter and of the delegate.
pub fn inference_counts<W: Borrow<KernelCounts>>(operators: &[W]) -> KernelCounts {
    let is_int8 = operators.iter().all(|counts| counts.borrow().is_int8);
    KernelCounts {
        kernel: format!("inference {}", if is_int8 { "int8" } else { "float32" }).into(),
        class: Class::Other,
        is_int8,
        terms: Terms::new(&[("inferences", 1.0)]),
        bytes: 0.0,
        weight_bytes: 0.0,
        macs: 0.0,
        values: 0.0,
        copies: false,
        is_unknown: false,
    }
}

fn node_counts(
    graph: &Graph,
    node_idx: usize,
    node: &Node,
    cost: &Cost,
    known: &mut Known,
) -> KernelCounts {
    let kind = node.operator.code.kind;
    let shapes = Shapes::new(graph, node);
    let window = Window::new(graph, node_idx, shapes.in_c as f32);
    let mut terms = match kind.row().work {
        Work::Convolution => convolution(&shapes, &window),
        Work::Depthwise => depthwise(&shapes, &window),
        Work::Dense => dense(&shapes),
        Work::Nothing if kind.row().cores == CoreWork::Pool => pool(&shapes, &window),
        Work::Convolution3d
        | Work::Nothing
        | Work::Product
        | Work::Recurrent
        | Work::SparseLookup
        | Work::Svdf
        | Work::TransposedConvolution
        | Work::TransposedConvolution3d
        | Work::Unknown => other(&shapes, cost),
    };
    terms.push(("operators", 1.0));
    terms.retain(|(_, count)| *count > 0.0 && count.is_finite());
    let kernel = kernel_name(graph, node);
    let (kernel, terms) = match known.get_key_value(kernel.as_str()) {
        Some((kernel, alike)) => (kernel.clone(), Terms::like(alike, &terms)),
        None => (kernel.into(), Terms::new(&terms)),
    };
    match known.get_mut(&kernel) {
        Some(last) if Arc::ptr_eq(&last.names, &terms.names) => {}
        Some(last) => *last = terms.clone(),
        None => {
            known.insert(kernel.clone(), terms.clone());
        }
    }
    // What copies values reads no more of them than it writes: of a table the rows that are looked up, of a map the part
    // that is cut out.
    let copies = match kind.row().effect {
        Effect::Computes | Effect::Converts | Effect::Runs => false,
        Effect::Moves | Effect::Renames | Effect::Views => !node.operator.outputs.is_empty(),
    };
    let most = if copies { cost.output_bytes } else { u64::MAX };
    let weight_bytes = cost.weight_bytes.min(most);
    let read_bytes = cost.input_bytes.saturating_add(cost.weight_bytes).min(most);
    KernelCounts {
        kernel,
        class: class(&node.operator.code),
        is_int8: !touches_floats(graph, node),
        terms,
        bytes: read_bytes as f64 + cost.output_bytes as f64,
        weight_bytes: weight_bytes as f64,
        macs: cost.macs as f64 + compared_boxes(graph, node),
        values: shapes.in_values + shapes.out_values,
        copies,
        is_unknown: is_compiled(&node.operator.code),
    }
}

/// Whether only its vendor knows what an operator computes, and it was never counted.
pub fn is_uncounted_of_vendor(operator: &Operator) -> bool {
    is_vendors(operator) && !is_detection(operator)
}

/// Whether an operator is TensorFlow Lite's detection post-processing, a custom operator that was counted.
fn is_detection(operator: &Operator) -> bool {
    operator.code.custom.as_deref() == Some("TFLite_Detection_PostProcess")
}

/// Pairs of boxes that TensorFlow Lite's detection post-processing compares if no box is dropped for its score: each
/// detection with all anchors of a lower score. 0 for other operators.
fn compared_boxes(graph: &Graph, node: &Node) -> f64 {
    let operator = node.operator;
    if !is_detection(operator) {
        return 0.0;
    }
    // Both are `[1, boxes, 4]`.
    let n_boxes = |tensor: Option<usize>| {
        let shape = &graph.tensor(tensor?).shape;
        Some(f64::from(*shape.get(1)?).max(0.0))
    };
    let n_anchors = n_boxes(operator.inputs.first().copied().flatten()).unwrap_or(0.0);
    let n_detections = n_boxes(operator.outputs.first().copied()).unwrap_or(0.0);
    let n_detections = n_detections.min(n_anchors);
    n_detections * (n_anchors - n_detections / 2.0)
}

fn class(code: &OperatorCode) -> Class {
    if ["ONNX:LSTM", "ONNX:GRU", "ONNX:RNN"].contains(&code.name()) {
        return Class::Recurrent;
    }
    match code.kind.row().work {
        Work::Convolution
        | Work::Convolution3d
        | Work::Dense
        | Work::Product
        | Work::TransposedConvolution
        | Work::TransposedConvolution3d => Class::Matrix,
        Work::Depthwise => Class::Depthwise,
        Work::Recurrent => Class::Recurrent,
        Work::Nothing | Work::SparseLookup | Work::Svdf | Work::Unknown => Class::Other,
    }
}

/// Kind and element type of the operators whose rule holds for a node.
///
/// Operators on state variables count as a RESHAPE: LiteRT copies the values of a variable that is read or assigned, as
/// those of a tensor that is reshaped. It looks a handle up, and what is called once was called before the inference. An
/// LSTM of an ONNX file counts as TFLite's.
fn kernel_name(graph: &Graph, node: &Node) -> String {
    use OpKind::{AssignVariable, CallOnce, ReadVariable, VarHandle};
    let operator = node.operator;
    match (operator.code.kind, operator.code.name()) {
        (AssignVariable | CallOnce | ReadVariable | VarHandle, _) => {
            let mut tensors = operator.inputs.iter().flatten().chain(&operator.outputs);
            let of_values = tensors.find_map(|&t| match graph.tensor(t).tensor_type {
                TensorType::Resource => None,
                of => Some(kernel_type(of)),
            });
            format!("RESHAPE {}", of_values.unwrap_or("int8"))
        }
        (_, "ONNX:LSTM") => {
            let kind = OpKind::UnidirectionalSequenceLstm.name();
            format!("{kind} {}", numbers(graph, node))
        }
        (_, name) => format!("{name} {}", numbers(graph, node)),
    }
}

/// The element type that an operator computes in, which determines its kernel: the type of its first input.
///
/// Booleans count as int8, and an operator that selects by booleans has the type of the selected values. Float
/// activations with integer weights are `dynamic`. An operator that reads only constants is named after them: `constant
/// float16`.
fn numbers(graph: &Graph, node: &Node) -> String {
    let operator = node.operator;
    let type_of = |&t: &usize| graph.tensor(t).tensor_type;
    let is_constant = |t: &usize| graph.is_constant(*t);
    let read: Vec<usize> = operator.inputs.iter().flatten().copied().collect();
    let activations: Vec<TensorType> = (read.iter().filter(|t| !is_constant(t)))
        .map(type_of)
        .collect();
    let is_truth = |tensor_type: &TensorType| *tensor_type == TensorType::Bool;
    let first = activations
        .iter()
        .find(|tensor_type| !is_truth(tensor_type))
        .or(activations.first());
    let Some(&first) = first else {
        let constant = read.first().map(type_of);
        let written = operator.outputs.first().map(type_of);
        let suffix = constant.or(written).map_or("nothing", kernel_type);
        return format!("constant {suffix}");
    };
    let has_integer_weights = || {
        let weights = read.iter().filter(|t| is_constant(t)).map(type_of);
        weights.into_iter().any(|tensor_type| {
            matches!(
                tensor_type,
                TensorType::Int8 | TensorType::UInt8 | TensorType::Int4
            )
        })
    };
    let is_hybrid = first == TensorType::Float32 && has_integer_weights();
    if is_hybrid {
        "dynamic".to_owned()
    } else {
        kernel_type(first).to_owned()
    }
}

fn kernel_type(tensor_type: TensorType) -> &'static str {
    match tensor_type {
        TensorType::Bool | TensorType::Int8 => "int8",
        TensorType::Float32 => "float32",
        TensorType::Float16 => "float16",
        TensorType::UInt8 => "uint8",
        TensorType::Int16 => "int16",
        TensorType::Int32 => "int32",
        TensorType::Int64 => "int64",
        _ => "other numbers",
    }
}

/// Whether an operator reads or writes floats; otherwise it works on integers.
fn touches_floats(graph: &Graph, node: &Node) -> bool {
    let read = node.operator.inputs.iter().flatten();
    let mut tensors = read.chain(&node.operator.outputs).map(|&t| graph.tensor(t));
    tensors.any(|tensor| tensor.tensor_type == TensorType::Float32)
}

/// Sizes of what an operator reads and writes, as numbers of values.
struct Shapes {
    /// Size of the first activation's last dimension.
    in_c: f64,
    /// Size of the first output's last dimension.
    out_c: f64,
    /// Positions of the first output: all dimensions but the last.
    pixels: f64,
    in_values: f64,
    out_values: f64,
    n_read: f64,
    n_written: f64,
    /// Rows and columns of the first activation, if it is an image.
    sides: [i32; 2],
}

impl Shapes {
    fn new(graph: &Graph, node: &Node) -> Self {
        let operator = node.operator;
        let read = operator.inputs.iter().flatten().copied();
        let read: Vec<usize> = read.filter(|&t| !graph.is_constant(t)).collect();
        let shape = |t: usize| graph.tensor(t).shape.as_slice();
        let first_out = operator.outputs.first().map_or(&[][..], |&t| shape(t));
        let last = |shape: &[i32]| shape.last().map_or(1.0, |&c| f64::from(c).max(0.0));
        let out_c = last(first_out);
        Self {
            in_c: read.first().map_or(1.0, |&t| last(shape(t))),
            out_c,
            pixels: values(first_out) / out_c.max(1.0),
            in_values: read.iter().map(|&t| values(shape(t))).sum(),
            out_values: operator.outputs.iter().map(|&t| values(shape(t))).sum(),
            n_read: read.len() as f64,
            n_written: operator.outputs.len() as f64,
            sides: match read.first().map(|&t| shape(t)) {
                Some(&[_, rows, columns, _]) => [rows, columns],
                _ => [i32::MAX; 2],
            },
        }
    }
}

fn values(shape: &[i32]) -> f64 {
    shape.iter().map(|&d| f64::from(d).max(0.0)).product()
}

/// `count` rounded up to a multiple of `unit`.
fn round_up_to(count: f64, unit: f64) -> f64 {
    (count / unit).ceil() * unit
}

fn taps(window: &Window) -> f64 {
    f64::from(window.filter_h.max(1)) * f64::from(window.filter_w.max(1))
}

/// A window of one pixel is a plain matrix product; other convolutions read through a table of pointers.
fn convolution(shapes: &Shapes, window: &Window) -> Vec<(&'static str, f64)> {
    let taps = taps(window);
    let groups = f64::from(window.groups).max(1.0);
    let (in_c, out_c) = (shapes.in_c / groups, shapes.out_c / groups);
    let pixels = shapes.pixels;
    let pixels_4 = round_up_to(pixels, 4.0);
    let products = [
        pixels * groups * round_up_to(out_c, 8.0) * taps * in_c,
        pixels_4 * groups * round_up_to(out_c, 16.0) * taps * round_up_to(in_c, 4.0),
        pixels_4 * groups * round_up_to(out_c, 8.0) * taps * round_up_to(in_c, 8.0),
    ];
    let rest = [
        pixels * taps * groups,
        pixels * groups * round_up_to(out_c, 8.0),
        pixels_4 / 4.0 * groups * (out_c / 16.0).ceil() * taps,
        (pixels / 6.0).ceil() * groups * (out_c / 8.0).ceil() * taps,
    ];
    let is_point = taps == 1.0 && [window.stride_h, window.stride_w] == [1, 1];
    let names = if is_point {
        [
            "products of a point, by 8 channels",
            "products of a point, by 4 pixels, 16 channels, 4 deep",
            "products of a point, by 4 pixels, 8 channels, 8 deep",
            "pointers of a point",
            "outputs of a point, by 8 channels",
            "tiles of a point, 4 pixels by 16 channels",
            "tiles of a point, 6 pixels by 8 channels",
        ]
    } else {
        [
            "products of a window, by 8 channels",
            "products of a window, by 4 pixels, 16 channels, 4 deep",
            "products of a window, by 4 pixels, 8 channels, 8 deep",
            "pointers of a window",
            "outputs of a window, by 8 channels",
            "tiles of a window, 4 pixels by 16 channels",
            "tiles of a window, 6 pixels by 8 channels",
        ]
    };
    let counts = products.into_iter().chain(rest);
    let mut terms: Vec<_> = names.into_iter().zip(counts).collect();
    terms.push(("groups", groups));
    terms
}

/// There are kernels for windows of 3, 4, 9 and 25 taps; larger windows take several passes.
fn depthwise(shapes: &Shapes, window: &Window) -> Vec<(&'static str, f64)> {
    let taps = taps(window);
    let (pixels, c) = (shapes.pixels, shapes.out_c);
    let passes = taps > 25.0;
    let held = match taps {
        _ if taps <= 9.0 => 9.0,
        _ if taps <= 25.0 => 25.0,
        _ => round_up_to(taps, 5.0),
    };
    let held_or_few = match taps {
        _ if taps <= 3.0 => 3.0,
        _ if taps <= 4.0 => 4.0,
        _ => held,
    };
    let names = if passes {
        [
            "products of passes, by 8 channels",
            "products of passes, by 4 channels",
            "products of passes, by 16 channels",
        ]
    } else {
        [
            "products of a pass, by 8 channels",
            "products of a pass, by 4 channels",
            "products of a pass, by 16 channels",
        ]
    };
    let products = [
        pixels * round_up_to(c, 8.0) * held,
        pixels * round_up_to(c, 4.0) * held_or_few,
        pixels * round_up_to(c, 16.0) * held,
    ];
    let mut terms: Vec<_> = names.into_iter().zip(products).collect();
    terms.extend([
        ("outputs, by 8 channels", pixels * round_up_to(c, 8.0)),
        ("outputs, by 16 channels", pixels * round_up_to(c, 16.0)),
        ("pixels", pixels),
        ("pointers", pixels * taps),
    ]);
    terms
}

fn dense(shapes: &Shapes) -> Vec<(&'static str, f64)> {
    let (rows, in_c, out_c) = (shapes.pixels, shapes.in_c, shapes.out_c);
    vec![
        (
            "products, by 8 channels",
            rows * round_up_to(out_c, 8.0) * in_c,
        ),
        (
            "products, by 16 channels, 4 deep",
            rows * round_up_to(out_c, 16.0) * round_up_to(in_c, 4.0),
        ),
        (
            "products, by 8 channels, 8 deep",
            rows * round_up_to(out_c, 8.0) * round_up_to(in_c, 8.0),
        ),
        (
            "products, by 4 rows, 16 channels, 4 deep",
            round_up_to(rows, 4.0) * round_up_to(out_c, 16.0) * round_up_to(in_c, 4.0),
        ),
        (
            "products, by 6 rows, 8 channels",
            round_up_to(rows, 6.0) * round_up_to(out_c, 8.0) * in_c,
        ),
        ("tiles of 16 channels", rows * (out_c / 16.0).ceil()),
        ("inputs", shapes.in_values),
        ("outputs", shapes.out_values),
    ]
}

/// The part of a window's side that can reach the input from any position. Values beyond it are padding at every
/// position.
fn reaching_filter(filter: i32, size: i32) -> i32 {
    filter.min(size.max(1).saturating_mul(2).saturating_sub(1))
}

/// Pools process 9 taps in their first pass and 8 in each further pass.
fn pool(shapes: &Shapes, window: &Window) -> Vec<(&'static str, f64)> {
    let [rows, columns] = shapes.sides;
    let taps = taps(&Window {
        filter_h: reaching_filter(window.filter_h, rows),
        filter_w: reaching_filter(window.filter_w, columns),
        ..*window
    });
    let held = 9.0 + 8.0 * ((taps - 9.0) / 8.0).ceil().max(0.0);
    let pixels = shapes.pixels;
    vec![
        (
            "taps of passes, by 4 channels",
            pixels * round_up_to(shapes.out_c, 4.0) * held,
        ),
        (
            "taps, by 8 channels",
            pixels * round_up_to(shapes.out_c, 8.0) * taps,
        ),
        ("pointers", pixels * taps),
        ("pixels", pixels),
        ("inputs", shapes.in_values),
        ("outputs", shapes.out_values),
    ]
}

fn other(shapes: &Shapes, cost: &Cost) -> Vec<(&'static str, f64)> {
    vec![
        ("products", cost.macs as f64),
        ("inputs", shapes.in_values),
        ("outputs", shapes.out_values),
        (
            "outputs, by 16 channels",
            shapes.pixels * round_up_to(shapes.out_c, 16.0),
        ),
        ("input rows", shapes.in_values / shapes.in_c.max(1.0)),
        ("output rows", shapes.pixels),
        ("tensors read", shapes.n_read),
        ("tensors written", shapes.n_written),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::tflite::{Buffer, BuiltinOptions, Padding, Tensor};
    use crate::graph::analysis::analyze;
    use crate::graph::analysis::fixtures::{
        calling, conv_2d, graph_of, model, operator, pool_2d, subgraph, tensor,
    };

    fn constant(shape: &[i32]) -> Tensor {
        Tensor {
            buffer_idx: 1,
            ..tensor(TensorType::Int8, shape)
        }
    }

    /// A token's row of an embedding, in tables of 100 and of 100,000 rows.
    #[test]
    fn a_lookup_reads_the_rows_that_it_writes() {
        let counts = |n_rows: i32| {
            let tensors = vec![
                constant(&[n_rows, 64]),
                tensor(TensorType::Int32, &[1]),
                tensor(TensorType::Int8, &[1, 64]),
            ];
            let gather = BuiltinOptions::Gather {
                axis: 0,
                batch_dims: 0,
            };
            let operators = vec![calling(OpKind::Gather, &[0, 1], &[2], gather)];
            let mut model = model(vec![subgraph(tensors, operators)]);
            model.buffers[1] = Buffer::Stored(vec![1; 64 * n_rows as usize].into());
            let graph = graph_of(&model);
            kernel_counts(&graph, &analyze(&graph)).remove(0)
        };
        let (few, many) = (counts(100), counts(100_000));
        assert_eq!((few.weight_bytes, few.bytes), (64.0, 64.0 + 64.0));
        assert_eq!(few, many);
    }

    #[test]
    fn state_variables_are_copied() {
        let handle = tensor(TensorType::Resource, &[]);
        let values = tensor(TensorType::Int8, &[1, 40]);
        let reads = operator(OpKind::ReadVariable, &[0], &[1]);
        let assigns = operator(OpKind::AssignVariable, &[0, 1], &[]);
        let looks_up = operator(OpKind::VarHandle, &[], &[0]);
        let tensors = vec![handle, values];
        let model = model(vec![subgraph(tensors, vec![looks_up, reads, assigns])]);
        let graph = graph_of(&model);
        let kernels = kernel_counts(&graph, &analyze(&graph));
        let names: Vec<&str> = kernels.iter().map(|counts| &*counts.kernel).collect();
        assert_eq!(names, ["RESHAPE int8"; 3]);
    }

    fn term(counts: &KernelCounts, name: &str) -> Option<f64> {
        let mut terms = counts.terms.iter();
        terms.find(|(term, _)| *term == name).map(|(_, n)| n)
    }

    /// By hand: 8 × 8 pixels, of which a window sees at most 15 × 15 places, most of them padding.
    #[test]
    fn windows_end_where_no_value_is() {
        let kernel_of = |side: i32| {
            let options = pool_2d(Padding::Same, [side; 2], [1; 2]);
            let image = || tensor(TensorType::Int8, &[1, 8, 8, 8]);
            let pool = calling(OpKind::MaxPool2d, &[0], &[1], options);
            let model = model(vec![subgraph(vec![image(), image()], vec![pool])]);
            let graph = graph_of(&model);
            term(&kernel_counts(&graph, &analyze(&graph))[0], "pointers")
        };
        assert_eq!(kernel_of(3), Some(64.0 * 9.0));
        assert_eq!(kernel_of(15), Some(64.0 * 225.0));
        assert_eq!(kernel_of(i32::MAX), Some(64.0 * 225.0));
    }

    /// By hand: 5 × 5 pixels of 3 channels, a window of 3 × 3, 17 outputs each, then an addition.
    #[test]
    fn counts_are_of_whole_tiles() {
        let options = conv_2d(Padding::Same, [1; 2]);
        let float = TensorType::Float32;
        let tensors = vec![
            tensor(TensorType::Int8, &[1, 5, 5, 3]),
            constant(&[17, 3, 3, 3]),
            tensor(TensorType::Int8, &[1, 5, 5, 17]),
            tensor(float, &[1, 5, 5, 17]),
        ];
        let operators = vec![
            calling(OpKind::Conv2d, &[0, 1], &[2], options),
            operator(OpKind::Dequantize, &[2], &[3]),
        ];
        let model = model(vec![subgraph(tensors, operators)]);
        let graph = graph_of(&model);
        let operators = kernel_counts(&graph, &analyze(&graph));
        assert_eq!(&*operators[0].kernel, "CONV_2D int8");
        let by_8 = term(&operators[0], "products of a window, by 8 channels");
        assert_eq!(by_8, Some(25.0 * 24.0 * 9.0 * 3.0));
        let name = "products of a window, by 4 pixels, 16 channels, 4 deep";
        assert_eq!(term(&operators[0], name), Some(28.0 * 32.0 * 9.0 * 4.0));
        assert_eq!(
            term(&operators[0], "pointers of a window"),
            Some(25.0 * 9.0)
        );
        assert_eq!(term(&operators[0], "pointers of a point"), None);
        let tiles = term(&operators[0], "tiles of a window, 4 pixels by 16 channels");
        assert_eq!(tiles, Some(7.0 * 2.0 * 9.0));
        assert_eq!(&*operators[1].kernel, "DEQUANTIZE int8");
        assert_eq!(term(&operators[1], "outputs"), Some(425.0));
        assert_eq!(term(&operators[1], "operators"), Some(1.0));
        assert_eq!(&*inference_counts(&operators).kernel, "inference float32");
        assert_eq!(&*inference_counts(&operators[..1]).kernel, "inference int8");
    }
}
