//! Builds a program from a graph: adds feature maps and operations for one node after the other.

use std::cell::OnceCell;
use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;
use std::sync::{Arc, LazyLock};

use super::merged_transpose::Transpose;
use super::node::{maps, operation, rows_as_area, shape};
use super::padded_windows::Pads;
use crate::formats::tflite::{self, Activation, BuiltinOptions, OpKind, Operator, Tensor};
use crate::graph::analysis::weights::{WeightStatsKey, n_samples, weight_stats, zero_byte};
use crate::graph::analysis::{Analysis, ByteHistogram, MAX_SAMPLES};
use crate::graph::scan::ScanBudget;
use crate::graph::{Graph, Node};
use crate::targets::ethos_u::accelerator::Accelerator;
use crate::targets::ethos_u::geometry::Hwc;
use crate::targets::ethos_u::layer::Kind;
use crate::targets::ethos_u::map_list::MapList;
use crate::targets::ethos_u::program::{
    Action, Alias, Arithmetic, FeatureMap, MAX_DIMENSION, Operation, Program, Window, compact_shape,
};
use crate::targets::ethos_u::support::{DilatedParts, dilated_windows, inputs_at_a_time};

/// Copies of a tensor, each of the one before.
#[derive(Default)]
pub struct Copies {
    pub operations: Vec<Operation>,
    /// The map of the last copy.
    pub last: usize,
    /// The tensor that has the shape of the last copy.
    pub shaped: usize,
}

/// Adds operations for the nodes of a graph.
pub struct Lowering<'a> {
    pub accelerator: &'a Accelerator,
    pub graph: &'a Graph<'a>,
    pub analysis: &'a Analysis,
    pub program: Program,
    /// By node, whether it is left to the CPU.
    pub is_left: Vec<bool>,
    /// The node for which operations are added.
    pub node_idx: usize,
    /// By tensor, the copies that its readers read instead.
    pub copies: BTreeMap<usize, Copies>,
    /// By the tensor of its handle, the map of a variable.
    variables: BTreeMap<usize, usize>,
    /// The PADs that windows perform.
    pub pads: Pads,
    /// By output, the TRANSPOSEs that the only reader of this output does too.
    pub merged_transposes: HashMap<usize, Transpose>,
    /// By node, the dilated window that it is a part of.
    pub dilated: DilatedParts,
    /// By tensor, the nodes that read it.
    readers: Vec<Vec<usize>>,
    /// By tensor, the nodes that write it for each of its readers; made when it is first asked.
    writers: OnceCell<Vec<Vec<usize>>>,
    /// Cached histograms of constants, each with the first zero point that occurred.
    histograms: HashMap<WeightStatsKey, Option<Arc<ByteHistogram>>>,
    /// Number of weight units that may still be sampled.
    samples_left: usize,
    /// For constants of which every value counts.
    pub scan_budget: ScanBudget,
}

impl<'a> Lowering<'a> {
    /// Starts with the tensors of the graph as maps, and without operations.
    pub fn new(
        accelerator: &'a Accelerator,
        graph: &'a Graph<'a>,
        analysis: &'a Analysis,
        is_left: Vec<bool>,
    ) -> Self {
        let readers = readers(graph);
        // Most nodes stay one operation. Of a large graph, some more than that are added: the lists must not double.
        let n_nodes = graph.nodes.len();
        let n_added = n_nodes / 16;
        let mut maps = maps(graph, analysis);
        maps.reserve_exact(n_added);
        let has_state = has_state(graph);
        // Variables that stay with the CPU do not count, unlike states in the memory of feature maps.
        let has_state_map = || graph.subgraph.tensors.iter().any(|one| one.is_variable);
        let is_first_writer_first = has_state && accelerator.is_u85() || has_state_map();
        let dilated = parts_of_dilated(graph, &is_left);
        let pads = Pads::new(graph, &is_left, &dilated, |tensor_idx| {
            readers[tensor_idx].len()
        });
        Self {
            accelerator,
            graph,
            analysis,
            pads,
            program: Program {
                maps,
                operations: Vec::with_capacity(n_nodes + n_added),
                outputs: graph.subgraph.outputs.clone(),
                has_state,
                is_first_writer_first,
                ..Program::default()
            },
            node_idx: 0,
            copies: BTreeMap::new(),
            variables: BTreeMap::new(),
            merged_transposes: HashMap::new(),
            dilated,
            is_left,
            readers,
            writers: OnceCell::new(),
            histograms: HashMap::new(),
            samples_left: MAX_SAMPLES,
            scan_budget: ScanBudget::new(graph.model),
        }
    }

    /// The nodes that read a tensor.
    pub fn readers(&self, tensor_idx: usize) -> &[usize] {
        &self.readers[tensor_idx]
    }

    /// The node that writes a tensor which a node reads. Logarithmic, because one node may read thousands.
    pub fn writer(&self, reader: usize, tensor_idx: usize) -> Option<usize> {
        let writers = self.writers.get_or_init(|| {
            let mut writers = vec![Vec::new(); self.readers.len()];
            for edge in &self.graph.edges {
                writers[edge.tensor_idx].push(edge.src);
            }
            writers
        });
        // Edges, and so the readers of a tensor, are in the order of the nodes that read.
        let readers = self.readers(tensor_idx);
        let idx = readers.partition_point(|&one| one < reader);
        let is_known = readers.get(idx) == Some(&reader);
        is_known.then(|| writers[tensor_idx].get(idx).copied())?
    }

    pub fn node(&self) -> &'a Node<'a> {
        &self.graph.nodes[self.node_idx]
    }

    pub fn operator(&self) -> &'a Operator {
        self.node().operator
    }

    /// Whether the file fuses an activation into the operator.
    pub fn has_activation(&self) -> bool {
        let activation = self.operator().options.activation();
        activation.is_some_and(|activation| activation != Activation::None)
    }

    /// The tensor at this position of the operator's inputs.
    pub fn input(&self, place: usize) -> Option<usize> {
        self.operator().inputs.get(place).copied().flatten()
    }

    pub fn output(&self) -> Option<usize> {
        self.operator().outputs.first().copied()
    }

    pub fn tensor(&self, tensor_idx: usize) -> &'a Tensor {
        self.graph.tensor(tensor_idx)
    }

    /// The integers of a constant.
    pub fn integers(&self, tensor_idx: usize) -> Vec<i32> {
        tflite::integers(self.graph.constant(tensor_idx)).collect()
    }

    /// Histogram of a constant's values. Each buffer is read once, even if its tensors have different zero points. At
    /// most [`MAX_SAMPLES`] units are sampled in total; `None` beyond them.
    pub fn histogram(&mut self, tensor_idx: usize) -> Option<Arc<ByteHistogram>> {
        let tensor = self.tensor(tensor_idx);
        let buffer = self.graph.buffer(tensor_idx);
        let stored = WeightStatsKey::new(buffer, tensor).ignoring_zero_point();
        let known = match self.histograms.get(&stored) {
            Some(known) => known.clone(),
            None => {
                let sampled = self.sampled_histogram(tensor_idx);
                self.histograms.insert(stored, sampled.clone());
                sampled
            }
        }?;
        let known = ByteHistogram::resized(&known, buffer.n_bytes());
        let zero = zero_byte(tensor);
        Some(if known.zero == zero {
            known
        } else {
            Arc::new(ByteHistogram {
                zero,
                is_sparse: false,
                ..known.as_ref().clone()
            })
        })
    }

    fn sampled_histogram(&mut self, tensor_idx: usize) -> Option<Arc<ByteHistogram>> {
        let buffer = self.graph.buffer(tensor_idx);
        let samples_left = self.samples_left.checked_sub(n_samples(buffer));
        self.program.hit_limit |= samples_left.is_none();
        self.samples_left = samples_left?;
        weight_stats(buffer, self.tensor(tensor_idx)).map(|stats| stats.histogram)
    }

    /// A feature map that the compiler adds.
    pub fn map(&mut self, shape: Hwc, element_bytes: i64) -> usize {
        let shape = within_limits(shape);
        let n_bytes = shape.iter().product::<i64>() * element_bytes;
        self.program.maps.push(FeatureMap {
            shape: compact_shape(shape),
            element_bytes: element_bytes as u8,
            bytes: (n_bytes as f64).into(),
            ..FeatureMap::default()
        });
        self.program.maps.len() - 1
    }

    /// A feature map in NHWC that the compiler adds.
    pub fn linear_map(&mut self, shape: Hwc, element_bytes: i64) -> usize {
        let map = self.map(shape, element_bytes);
        self.program.maps[map].is_linear = true;
        map
    }

    /// A state that persists between steps or inferences: NHWC, and visible to the caller.
    pub fn state_map(&mut self, shape: Hwc, element_bytes: i64) -> usize {
        let map_idx = self.linear_map(shape, element_bytes);
        let map = &mut self.program.maps[map_idx];
        map.is_variable = true;
        map.is_input = true;
        map.bytes = 0.0.into();
        map_idx
    }

    /// The variable whose handle the operator reads, and which has values like those of a map. It takes memory during the
    /// whole inference.
    pub fn variable(&mut self, values: usize) -> Option<usize> {
        let handle = self.input(0)?;
        if let Some(&variable) = self.variables.get(&handle) {
            return Some(variable);
        }
        let variable = self.linear_map(self.shape(values), self.element_bytes(values));
        let map = &mut self.program.maps[variable];
        (map.is_variable, map.is_input) = (true, true);
        self.variables.insert(handle, variable);
        Some(variable)
    }

    /// A constant that the compiler adds.
    pub fn constant(&mut self, shape: Hwc, element_bytes: i64) -> usize {
        self.program.maps.push(FeatureMap {
            shape: compact_shape(within_limits(shape)),
            element_bytes: element_bytes as u8,
            is_constant: true,
            is_linear: true,
            ..FeatureMap::default()
        });
        self.program.maps.len() - 1
    }

    pub fn shape(&self, map: usize) -> Hwc {
        self.program.maps[map].shape()
    }

    /// Whether the scale of the output differs from that of the first input, so that the previous operation cannot
    /// apply it.
    pub fn is_scaled(&self) -> bool {
        let scales = [self.input(0), self.output()].map(|map_idx| {
            let tensor = map_idx.map(|map_idx| self.tensor(map_idx));
            let quantization = tensor.and_then(|tensor| tensor.quantization.as_ref());
            quantization.and_then(|quantization| quantization.scale.first().copied())
        });
        scales[0] != scales[1]
    }

    pub fn element_bytes(&self, map: usize) -> i64 {
        self.program.maps[map].element_bytes()
    }

    pub fn push(&mut self, mut operation: Operation) {
        if let Some(view_shapes) = operation.view_shapes.as_deref_mut() {
            *view_shapes = view_shapes.map(within_limits);
        }
        self.program.operations.push(operation);
    }

    pub fn operation(&self, action: Action, inputs: &[usize], output: usize) -> Operation {
        Operation::new(self.node_idx, action, inputs, output)
    }

    /// A binary elementwise operation that may overwrite one of its inputs; returns its output.
    pub fn binary(&mut self, arithmetic: Arithmetic, inputs: [usize; 2], output: usize) -> usize {
        self.push(Operation {
            alias: Alias::InPlace,
            ..self.operation(Action::Binary(arithmetic), &inputs, output)
        });
        output
    }

    /// Lets `output` show the map `input` in a shape of its own.
    pub fn view(&mut self, input: usize, output: usize) {
        self.push(Operation {
            alias: Alias::View,
            ..self.operation(Action::View, &[input], output)
        });
    }

    /// Adds a copy, which may change element size or layout.
    pub fn copy(&mut self, input: usize, output: usize) -> usize {
        let shape = self.shape(input);
        self.push(Operation {
            view_shapes: Some(Box::new([shape, self.shape(output)])),
            ..self.operation(Action::Copy, &[input], output)
        });
        output
    }

    /// A pooling or sum with a window, which sees input and output in the shapes `view_shapes`.
    pub fn window(
        &mut self,
        kind: Kind,
        [input, output]: [usize; 2],
        view_shapes: [Hwc; 2],
        kernel: [i64; 2],
    ) {
        let window = Window {
            kernel,
            ..Window::POINT
        };
        self.push(Operation {
            view_shapes: Some(Box::new(view_shapes)),
            window: Some(Box::new(window)),
            ..self.operation(Action::Layer(kind), &[input], output)
        });
    }

    /// A fully connected operation with weights of shape `[output, input]`, without bias.
    pub fn fully_connected(&mut self, input: usize, weights: usize, output: usize) {
        let [_, units, features] = shape(&self.tensor(weights).shape);
        let histogram = self.histogram(weights);
        let operation = Operation {
            view_shapes: Some(Box::new([[1, 1, features], [1, 1, units]])),
            weights: histogram,
            ..self.operation(Action::Layer(Kind::VectorProduct), &[input], output)
        };
        self.push(operation);
    }

    /// The node as one operation. A window that pads by itself reads what the PAD before it reads.
    pub fn whole_node(&mut self) -> Operation {
        let mut operation = operation(self.graph, self.analysis, self.node_idx);
        // The analysis knows the largest constant, and biases may be as large as weights.
        let weights = self.operator().inputs.get(1).copied().flatten();
        let weights = weights.filter(|&weights| {
            let n_bytes = |tensor: usize| self.graph.buffer(tensor).n_bytes();
            let others = self.operator().inputs.iter().skip(2).flatten();
            let is_largest = others
                .copied()
                .all(|other| n_bytes(other) < n_bytes(weights));
            operation.weights.is_some() && !is_largest
        });
        if let Some(histogram) = weights.and_then(|weights| self.histogram(weights)) {
            operation.weights = Some(histogram);
        }
        if let Some(unpadded) = self.input_before_pad() {
            operation.inputs[0] = unpadded;
        }
        let (Some(&input), Some(&output)) = (operation.inputs.first(), operation.outputs.first())
        else {
            return operation;
        };
        if let Some(rows) = self.rows_of_points() {
            let [height, width] = rows_as_area(rows);
            let view_shape = |map_idx: usize| [height, width, self.shape(map_idx)[2]];
            operation.view_shapes = Some(Box::new([input, output].map(view_shape)));
        } else if self.n_inputs() > 1 {
            let view_shape = |tensor_idx: usize| self.shape_of_one(tensor_idx);
            operation.view_shapes = Some(Box::new([input, output].map(view_shape)));
        }
        operation
    }

    /// The number of inputs that a window or pooling processes one after another.
    pub fn n_inputs(&self) -> i64 {
        let n_inputs = inputs_at_a_time(self.graph, self.node());
        let is_one = self.dilated.contains_key(&self.node_idx) || self.rows_of_points().is_some();
        if is_one { 1 } else { n_inputs.max(1).into() }
    }

    /// The positions of all inputs together, for a convolution of single positions: it is a product of their channels,
    /// whichever input they belong to.
    pub fn rows_of_points(&self) -> Option<i64> {
        let is_batch = inputs_at_a_time(self.graph, self.node()) > 1;
        let BuiltinOptions::Conv2D {
            stride_h: 1,
            stride_w: 1,
            ..
        } = self.operator().options
        else {
            return None;
        };
        let [weights, output] = [self.input(1)?, self.output()?].map(|idx| self.tensor(idx));
        let rows = output
            .shape
            .split_last()
            .map(|(_, rows)| n_elements(rows))?;
        let &[_, 1, 1, depth] = weights.shape.as_slice() else {
            return None;
        };
        let is_whole = i64::from(depth) == self.shape(self.input(0)?)[2];
        let is_row = is_batch && is_whole;
        is_row.then_some(rows.clamp(1, MAX_DIMENSION))
    }

    /// Height, width and channels of one of the inputs of which a tensor of four dimensions consists.
    pub fn shape_of_one(&self, tensor_idx: usize) -> Hwc {
        let sizes = &self.tensor(tensor_idx).shape;
        shape(&sizes[sizes.len().saturating_sub(3)..])
    }

    /// What the PAD before the node reads, if the node is a window that pads by itself.
    pub fn input_before_pad(&self) -> Option<usize> {
        let dilated = self.dilated.get(&self.node_idx).map(Rc::as_ref);
        self.pads
            .input_of_absorbed_pad(self.graph, self.node(), dilated)
    }

    /// Adds the node as an operation of the CPU, which reads and writes the memory of feature maps.
    pub fn push_left_to_cpu(&mut self) {
        let operator = self.operator();
        let inputs: MapList = operator.inputs.iter().flatten().copied().collect();
        let outputs = MapList::from(operator.outputs.as_slice());
        for &map_idx in inputs.iter().chain(&outputs) {
            self.program.maps[map_idx].is_off_chip = true;
        }
        self.push(Operation::new(self.node_idx, Action::Cpu, inputs, outputs));
    }
}

/// By tensor, the nodes that read it.
fn readers(graph: &Graph) -> Vec<Vec<usize>> {
    let mut readers = vec![Vec::new(); graph.subgraph.tensors.len()];
    for edge in graph.edges.iter() {
        readers[edge.tensor_idx].push(edge.dst);
    }
    // No operator writes the inputs of the network, so that no edge tells who reads them.
    let mut is_input = vec![false; readers.len()];
    for &input in &graph.subgraph.inputs {
        is_input[input] = true;
    }
    for (node_idx, node) in graph.nodes.iter().enumerate() {
        for &input in node.operator.inputs.iter().flatten() {
            if is_input[input] && readers[input].last() != Some(&node_idx) {
                readers[input].push(node_idx);
            }
        }
    }
    readers
}

fn parts_of_dilated(graph: &Graph, is_left: &[bool]) -> DilatedParts {
    let mut parts = HashMap::new();
    for dilated in dilated_windows(graph) {
        if !is_left[dilated.window] {
            let dilated = Rc::new(dilated);
            let around = dilated.around.iter().chain([&dilated.window]);
            parts.extend(around.map(|&node_idx| (node_idx, dilated.clone())));
        }
    }
    parts
}

/// Whether operators read or assign state variables.
fn has_state(graph: &Graph) -> bool {
    let mut kinds = graph.nodes.iter().map(|node| node.operator.code.kind);
    kinds.any(|kind| matches!(kind, OpKind::AssignVariable | OpKind::ReadVariable))
}

/// The shape clamped to the limits of registers; the learned correction accounts for the rest.
pub fn within_limits(shape: Hwc) -> Hwc {
    shape.map(|size| size.clamp(0, MAX_DIMENSION))
}

/// Number of elements of a shape, or of some of its dimensions; 0 if one is negative.
pub fn n_elements(sizes: &[i32]) -> i64 {
    let sizes = sizes.iter().map(|&size| i64::from(size).max(0));
    sizes.fold(1, i64::saturating_mul)
}

/// Histogram of a constant of ones.
pub fn ones(n_bytes: i64) -> Arc<ByteHistogram> {
    /// A sample of one byte, which has the same distribution. Thousands of operations share its counts.
    static ONE: LazyLock<Arc<[u64; 256]>> = LazyLock::new(|| {
        let mut counts = [0; 256];
        counts[1] = 1;
        Arc::new(counts)
    });
    Arc::new(ByteHistogram {
        counts: ONE.clone(),
        zero: 0,
        is_signed: false,
        n_bytes: n_bytes as usize,
        is_sparse: false,
    })
}
