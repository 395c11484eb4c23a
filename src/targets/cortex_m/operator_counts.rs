//! The counts that make up an operator's cycles. They follow from its shapes and from the way that kernels for
//! microcontrollers work (CMSIS-NN's papers and manual, ST Edge AI's documentation).
//!
//! A convolution copies the window of each output position into a row of 16-bit values and multiplies that row with
//! every filter, two products per instruction. Windows over a number of channels that is not a multiple of four cannot
//! be copied in whole words. A depthwise convolution has no row that filters can share. A dense layer reads every
//! weight for a single product.

use serde::{Deserialize, Serialize};

use super::live_channels::LiveChannels;
use crate::formats::tflite::OpKind;
pub use crate::formats::tflite::op_row::CoreWork as Kind;
use crate::graph::analysis::window::Window;
use crate::graph::analysis::{Analysis, Cost};
use crate::graph::{Graph, Node};

/// What is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Term {
    /// Multiply-accumulates of convolutions.
    ConvolutionProducts,
    /// Multiply-accumulates of convolutions whose window spans a number of channels that is not a multiple of four.
    UnalignedProducts,
    /// Multiply-accumulates of convolutions that wait for weights in the chip's flash: the share of the weights that the data
    /// cache does not hold is read again for each pair of output positions.
    UncachedProducts,
    /// Values that convolutions copy into a row: the window of each output position.
    CopiedInputs,
    ConvolutionOutputs,
    /// Multiply-accumulates of depthwise convolutions.
    DepthwiseProducts,
    DepthwiseOutputs,
    /// Multiply-accumulates of dense layers, recurrent layers and products of two activations.
    DenseProducts,
    DenseOutputs,
    /// Values that pools and reductions read, counted once per read.
    PooledInputs,
    /// Outputs of operators that compute each value from one or a few others.
    ElementwiseOutputs,
    /// Outputs of operators that copy values.
    MovedOutputs,
    /// Outputs of `QUANTIZE` and `DEQUANTIZE`.
    ConvertedOutputs,
    /// Bytes of activations that operators read and write.
    ActivationBytes,
    /// Bytes of activations that are read and written in external memory, because they do not fit on the chip.
    OffChipBytes,
    /// Bytes of constants that operators compute with.
    WeightBytes,
    /// Bytes of constants that are read from flash outside of the chip: once, and by convolutions over a window again for
    /// each pair of output positions, as far as the data cache does not hold them.
    OffChipWeightBytes,
    /// Operators that run.
    Operators,
}

/// The properties of a target's runtime that change the counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Program {
    /// Whether the program leaves out channels whose filters are all zero.
    pub drops_dead_channels: bool,
    /// Bytes of activations that fit on the chip; more than that are in external memory. Absent if the board has no
    /// external memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_chip_bytes: Option<u64>,
    /// Bytes of the data cache between core and flash. Absent if the core has none: its costs contain the wait.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_bytes: Option<u64>,
    /// Bytes of weights that fit in the chip's flash; more than that are all in flash outside of it. Absent if the board has
    /// no such flash.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flash_bytes: Option<u64>,
}

/// Counts of one operator for one inference.
#[derive(Clone, Debug, PartialEq)]
pub struct OperatorCounts {
    pub operator: OpKind,
    /// Counts of 0 are left out.
    pub terms: Vec<(Term, f64)>,
}

impl OperatorCounts {
    pub fn count(&self, term: Term) -> f64 {
        let counts = self.terms.iter().filter(|(kind, _)| *kind == term);
        counts.map(|(_, count)| count).sum()
    }
}

/// The rule for the counts of an operator.
pub fn kind(operator: OpKind) -> Kind {
    operator.row().cores
}

/// The counts of each node, in the order of [`Graph::nodes`]. Linear in nodes and weight bytes.
pub fn operator_counts(
    graph: &Graph,
    analysis: &Analysis,
    program: &Program,
) -> Vec<OperatorCounts> {
    let live = if program.drops_dead_channels {
        LiveChannels::new(graph)
    } else {
        LiveChannels::default()
    };
    let is_off_chip = program
        .on_chip_bytes
        .is_some_and(|bytes| largest_working_set_bytes(graph, analysis) > bytes);
    let has_off_chip_weights =
        (program.flash_bytes).is_some_and(|bytes| analysis.totals.weight_bytes > bytes);
    let counter = Counter {
        graph,
        live: &live,
        is_off_chip,
        has_off_chip_weights,
        cache_bytes: program.cache_bytes,
    };
    let nodes = graph.nodes.iter().zip(&analysis.costs).enumerate();
    nodes
        .map(|(node_idx, (node, cost))| counter.counts_of(node_idx, node, cost))
        .collect()
}

/// Activation bytes of the operator that reads and writes the most. Conversions at the ends of a
/// network are left out: runtimes run them in place.
pub fn largest_working_set_bytes(graph: &Graph, analysis: &Analysis) -> u64 {
    let nodes = graph.nodes.iter().zip(&analysis.costs);
    let computing = nodes.filter(|(node, _)| {
        !matches!(kind(node.operator.code.kind), Kind::Free | Kind::Conversion)
    });
    let bytes = computing.map(|(_, cost)| cost.input_bytes.saturating_add(cost.output_bytes));
    bytes.max().unwrap_or(0)
}

struct Counter<'a, 'm> {
    graph: &'a Graph<'m>,
    live: &'a LiveChannels,
    is_off_chip: bool,
    has_off_chip_weights: bool,
    cache_bytes: Option<u64>,
}

impl Counter<'_, '_> {
    fn counts_of(&self, node_idx: usize, node: &Node, cost: &Cost) -> OperatorCounts {
        let kind = kind(node.operator.code.kind);
        let mut terms = match kind {
            Kind::Convolution => self.convolution(node_idx, node, cost),
            Kind::Depthwise => self.depthwise(node_idx, node),
            Kind::TransposedConvolution => transposed_convolution(&self.shapes(node), cost),
            Kind::Dense => dense(&self.shapes(node), cost),
            Kind::Pool => self.pool(node_idx, node),
            Kind::Reduction => vec![(Term::PooledInputs, self.shapes(node).in_values)],
            Kind::Elementwise => vec![(Term::ElementwiseOutputs, self.shapes(node).out_values)],
            Kind::Move => vec![(Term::MovedOutputs, self.shapes(node).out_values)],
            Kind::Conversion => vec![(Term::ConvertedOutputs, self.shapes(node).out_values)],
            Kind::Free | Kind::Unknown => Vec::new(),
        };
        if kind != Kind::Free {
            let bytes = cost.input_bytes.saturating_add(cost.output_bytes) as f64;
            terms.push((Term::ActivationBytes, bytes));
            terms.push((
                Term::OffChipBytes,
                if self.is_off_chip { bytes } else { 0.0 },
            ));
            terms.push((Term::WeightBytes, cost.weight_bytes as f64));
            if self.has_off_chip_weights {
                // A convolution over a window counts the rereads itself.
                terms.push((Term::OffChipWeightBytes, cost.weight_bytes as f64));
            }
            terms.push((Term::Operators, 1.0));
        }
        terms.retain(|(_, count)| *count > 0.0 && count.is_finite());
        OperatorCounts {
            operator: node.operator.code.kind,
            terms,
        }
    }

    fn shapes(&self, node: &Node) -> Shapes {
        Shapes::new(self.graph, self.live, node)
    }

    fn convolution(&self, node_idx: usize, node: &Node, cost: &Cost) -> Vec<(Term, f64)> {
        let shapes = self.shapes(node);
        let window = Window::new(self.graph, node_idx, shapes.stored_in_c as f32);
        let taps = taps(&window);
        let in_c = shapes.in_c / f64::from(window.groups).max(1.0);
        let row = taps * in_c;
        let products = shapes.pixels * row * shapes.out_c;
        let is_unaligned = taps > 1.0 && in_c % 4.0 != 0.0;
        let uncached = products * self.uncached_share(cost);
        let is_reread = self.has_off_chip_weights && taps > 1.0;
        let (uncached, reread) = if is_reread {
            // The first reading is counted with all other operators'.
            let once = cost.weight_bytes as f64 * self.uncached_share(cost);
            (0.0, (uncached / 2.0 - once).max(0.0))
        } else {
            (uncached, 0.0)
        };
        vec![
            (Term::ConvolutionProducts, products),
            (
                Term::UnalignedProducts,
                if is_unaligned { products } else { 0.0 },
            ),
            (Term::UncachedProducts, uncached),
            (Term::OffChipWeightBytes, reread),
            (Term::CopiedInputs, shapes.pixels * row),
            (Term::ConvolutionOutputs, shapes.pixels * shapes.out_c),
        ]
    }

    fn uncached_share(&self, cost: &Cost) -> f64 {
        self.cache_bytes.map_or(0.0, |bytes| {
            1.0 - bytes.min(cost.weight_bytes) as f64 / cost.weight_bytes.max(1) as f64
        })
    }

    fn depthwise(&self, node_idx: usize, node: &Node) -> Vec<(Term, f64)> {
        let shapes = self.shapes(node);
        let window = Window::new(self.graph, node_idx, shapes.stored_in_c as f32);
        let outputs = shapes.pixels * shapes.out_c;
        vec![
            (Term::DepthwiseProducts, outputs * taps(&window)),
            (Term::DepthwiseOutputs, outputs),
        ]
    }

    fn pool(&self, node_idx: usize, node: &Node) -> Vec<(Term, f64)> {
        let shapes = self.shapes(node);
        let window = Window::new(self.graph, node_idx, shapes.stored_in_c as f32);
        vec![(Term::PooledInputs, shapes.out_values * taps(&window))]
    }
}

/// A transposed convolution multiplies every input position with the whole window.
fn transposed_convolution(shapes: &Shapes, cost: &Cost) -> Vec<(Term, f64)> {
    vec![
        (Term::ConvolutionProducts, cost.macs as f64),
        (Term::CopiedInputs, shapes.in_values),
        (Term::ConvolutionOutputs, shapes.out_values),
    ]
}

fn dense(shapes: &Shapes, cost: &Cost) -> Vec<(Term, f64)> {
    vec![
        (Term::DenseProducts, cost.macs as f64),
        (Term::DenseOutputs, shapes.out_values),
    ]
}

fn taps(window: &Window) -> f64 {
    f64::from(window.filter_h.max(1)) * f64::from(window.filter_w.max(1))
}

/// Sizes of what an operator reads and writes, as numbers of values.
struct Shapes {
    /// Channels of the first activation, dead ones included.
    stored_in_c: f64,
    in_c: f64,
    out_c: f64,
    /// Positions of the first output: all dimensions but the last.
    pixels: f64,
    in_values: f64,
    out_values: f64,
}

impl Shapes {
    fn new(graph: &Graph, live: &LiveChannels, node: &Node) -> Self {
        let operator = node.operator;
        let shape = |t: usize| graph.tensor(t).shape.as_slice();
        let read = operator.inputs.iter().flatten().copied();
        let read: Vec<usize> = read.filter(|&t| !graph.is_constant(t)).collect();
        let last = |t: usize| shape(t).last().map_or(1.0, |&c| f64::from(c).max(0.0));
        let first_out = operator.outputs.first().copied();
        let stored_in_c = read.first().map_or(1.0, |&t| last(t));
        let stored_out_c = first_out.map_or(1.0, last);
        Self {
            stored_in_c,
            in_c: read.first().map_or(1.0, |&t| live.count(t, stored_in_c)),
            out_c: first_out.map_or(1.0, |t| live.count(t, stored_out_c)),
            pixels: first_out.map_or(0.0, |t| values(shape(t))) / stored_out_c.max(1.0),
            in_values: read.iter().map(|&t| values(shape(t))).sum(),
            out_values: operator.outputs.iter().map(|&t| values(shape(t))).sum(),
        }
    }
}

fn values(shape: &[i32]) -> f64 {
    shape.iter().map(|&d| f64::from(d).max(0.0)).product()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::tflite::{Padding, Tensor, TensorType};
    use crate::graph::analysis::analyze;
    use crate::graph::analysis::fixtures::{
        calling, conv_2d, graph_of, model, operator, subgraph, tensor,
    };

    /// By hand: 5 × 5 positions of 3 channels, a window of 3 × 3, 16 outputs each, then an addition.
    #[test]
    fn counts_are_as_by_hand() {
        let options = conv_2d(Padding::Same, [1; 2]);
        let tensors = vec![
            tensor(TensorType::Int8, &[1, 5, 5, 3]),
            Tensor {
                buffer_idx: 1,
                ..tensor(TensorType::Int8, &[16, 3, 3, 3])
            },
            tensor(TensorType::Int8, &[1, 5, 5, 16]),
            tensor(TensorType::Int8, &[1, 5, 5, 16]),
            tensor(TensorType::Int8, &[1, 400]),
        ];
        let operators = vec![
            calling(OpKind::Conv2d, &[0, 1], &[2], options),
            operator(OpKind::Add, &[2, 2], &[3]),
            operator(OpKind::Reshape, &[3], &[4]),
        ];
        let model = model(vec![subgraph(tensors, operators)]);
        let graph = graph_of(&model);
        let analysis = analyze(&graph);
        let program = Program {
            drops_dead_channels: false,
            on_chip_bytes: Some(799),
            cache_bytes: Some(1),
            flash_bytes: None,
        };
        let counts = operator_counts(&graph, &analysis, &program);
        let products = 25.0 * 27.0 * 16.0;
        assert_eq!(counts[0].count(Term::ConvolutionProducts), products);
        assert_eq!(counts[0].count(Term::UnalignedProducts), products);
        assert_eq!(
            counts[0].count(Term::UncachedProducts),
            products * 0.75,
            "1 of the 4 bytes that are stored is in the cache"
        );
        assert_eq!(counts[0].count(Term::CopiedInputs), 25.0 * 27.0);
        assert_eq!(counts[0].count(Term::OffChipBytes), 475.0);
        assert_eq!(counts[1].count(Term::ElementwiseOutputs), 400.0);
        assert_eq!(counts[2].terms, [], "names a tensor anew");
        assert_eq!(largest_working_set_bytes(&graph, &analysis), 800);
        let fits = Program {
            on_chip_bytes: Some(800),
            ..program
        };
        assert_eq!(
            operator_counts(&graph, &analysis, &fits)[0].count(Term::OffChipBytes),
            0.0
        );
        let stored = analysis.costs[0].weight_bytes;
        let weights_of = |flash_bytes| {
            let program = Program {
                flash_bytes: Some(flash_bytes),
                ..program
            };
            let counts = operator_counts(&graph, &analysis, &program);
            [Term::OffChipWeightBytes, Term::UncachedProducts].map(|term| counts[0].count(term))
        };
        assert_eq!(weights_of(stored), [0.0, products * 0.75]);
        assert_eq!(
            weights_of(stored - 1),
            [stored as f64 + products * 0.75 / 2.0 - 3.0, 0.0],
            "all are read, and 3 of 4 bytes again for each of 12.5 pairs of positions"
        );
    }
}
