//! Latency on the Edge TPU of Coral's Dev Board: an analytical model with few constants, fitted to latencies that Coral
//! published. It is not a measurement, and Coral's compiler gives no estimate to compare it with.
//!
//! The model: Each operator takes a fixed time. Products run on an array of 64 × 64 int8 multipliers at 480 MHz, which
//! holds a tile of weights and computes one output position per cycle. Parameters are stored on the chip, operator by
//! operator in the order of the graph, until 8 MiB are full. All other parameters come over the link to the host in
//! every inference, as do the network's inputs and outputs.

mod constants;
mod mapping;
mod target;

use std::collections::BTreeMap;

pub use constants::{
    Coefficients, Constants, LeaveOneOut, LeftOutNetwork, array_ms, link_megabytes,
};
#[cfg(test)]
pub use mapping::words_of;
pub use mapping::{Mapping, mapping, unsupported};
pub use target::{FAMILY, targets};

use crate::formats::tflite::op_row::{Effect, Work};
use crate::graph::analysis::{Analysis, MemoryPlan};
use crate::graph::{Graph, Node};

pub const TARGET: &str = "edgetpu-coral-dev-board";
pub const DEVICE: &str = "Coral Dev Board, Edge TPU";

/// Rows and columns of the array.
pub const ARRAY_SIDE: u64 = 64;
pub const CLOCK_HZ: f64 = 480e6;
/// "Roughly 8 MB of SRAM" (coral.ai/docs/edgetpu/compiler) for activations and parameters. What the compiler
/// keeps of it for the program is not published.
pub const SRAM_BYTES: u64 = 8 << 20;

/// What one operator puts on the array, the SRAM and the link in one inference. Sums and products saturate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OperatorLoad {
    /// 1, or 0 if the operator only renames a tensor. In a sum: number of operators that take time.
    pub operators: u64,
    /// Cycles of the array when nothing stalls it.
    pub array_cycles: u64,
    /// Bytes of parameters on the chip, weights padded to whole tiles.
    pub parameter_bytes: u64,
    /// Bytes over the link to the host: parameters that the chip has no room for, inputs and outputs of
    /// the network.
    pub link_bytes: u64,
    /// The part of `link_bytes` that is parameters.
    pub streamed_bytes: u64,
}

impl OperatorLoad {
    /// Sums of each field.
    pub fn total(operators: &[Self]) -> Self {
        operators
            .iter()
            .fold(Self::default(), |sum, operator| Self {
                operators: sum.operators.saturating_add(operator.operators),
                array_cycles: sum.array_cycles.saturating_add(operator.array_cycles),
                parameter_bytes: sum.parameter_bytes.saturating_add(operator.parameter_bytes),
                link_bytes: sum.link_bytes.saturating_add(operator.link_bytes),
                streamed_bytes: sum.streamed_bytes.saturating_add(operator.streamed_bytes),
            })
    }
}

/// The load of each node, in the order of [`Graph::nodes`], if all are mapped. Linear in nodes, except for a
/// logarithmic factor.
pub fn loads_if_all_mapped(graph: &Graph, analysis: &Analysis) -> Vec<OperatorLoad> {
    operator_loads(graph, analysis, &vec![true; graph.nodes.len()])
}

/// The load of each node; zero for nodes that are not mapped. The tensors that those read and write are transferred
/// over the link.
pub fn operator_loads(graph: &Graph, analysis: &Analysis, is_mapped: &[bool]) -> Vec<OperatorLoad> {
    let mut cache = ParameterCache::beside_activations(analysis.memory_plan.as_ref());
    let n_tensors = graph.subgraph.tensors.len();
    // By tensor: inputs that have not been transferred over the link yet, and outputs that callers read.
    let [mut is_unread, mut is_output] = [vec![false; n_tensors], vec![false; n_tensors]];
    (graph.subgraph.inputs.iter()).for_each(|&t| is_unread[t] = true);
    (graph.subgraph.outputs.iter()).for_each(|&t| is_output[t] = true);
    for (node, _) in graph
        .nodes
        .iter()
        .zip(is_mapped)
        .filter(|(_, mapped)| !**mapped)
    {
        (node.operator.outputs.iter()).for_each(|&t| is_unread[t] = true);
        (node.operator.inputs.iter().flatten()).for_each(|&t| is_output[t] = true);
    }
    let mut loads = Vec::with_capacity(graph.nodes.len());
    for ((node, cost), is_mapped) in graph.nodes.iter().zip(&analysis.costs).zip(is_mapped) {
        if !is_mapped {
            loads.push(OperatorLoad::default());
            continue;
        }
        let matrix = Matrix::new(graph, node).unwrap_or_default();
        let parameter_bytes = match matrix.weights {
            Some(weights) => {
                let stored = graph.buffer(weights).n_bytes();
                let others = cost.weight_bytes.saturating_sub(stored);
                matrix.weight_bytes().saturating_add(others)
            }
            None => cost.weight_bytes,
        };
        let inputs = node.operator.inputs.iter().flatten();
        let arriving = inputs.filter(|&&t| std::mem::take(&mut is_unread[t]));
        let outputs = node.operator.outputs.iter();
        let leaving = outputs.filter(|&&t| is_output[t]);
        let streamed = cache.streamed_bytes(graph, matrix.weights, parameter_bytes);
        loads.push(OperatorLoad {
            operators: u64::from(node.operator.code.kind.row().effect != Effect::Renames),
            array_cycles: matrix.cycles(),
            parameter_bytes,
            link_bytes: arriving
                .chain(leaving)
                .map(|&t| bytes(graph, t))
                .fold(streamed, u64::saturating_add),
            streamed_bytes: streamed,
        });
    }
    loads
}

fn bytes(graph: &Graph, tensor_idx: usize) -> u64 {
    graph.tensor(tensor_idx).byte_len().unwrap_or(0)
}

/// Parameters on the chip. Those of an operator are cached completely or not at all; shared parameters are cached once.
struct ParameterCache {
    size_bytes: u64,
    used_bytes: u64,
    /// Whether the weights in a buffer are on the chip.
    is_cached: BTreeMap<usize, bool>,
}

impl ParameterCache {
    /// The memory that activations leave for parameters. Logs of the compiler show 1.1 MiB for a network with large
    /// activations and 8.2 MiB for one with small activations (github.com/google-coral/edgetpu, issues 60, 324, 518,
    /// 572 and 671).
    fn beside_activations(activations: Option<&MemoryPlan>) -> Self {
        let live_bytes = activations.and_then(|plan| plan.live_bytes.iter().max());
        Self {
            size_bytes: SRAM_BYTES.saturating_sub(live_bytes.copied().unwrap_or(0)),
            used_bytes: 0,
            is_cached: BTreeMap::new(),
        }
    }

    /// Bytes of parameters that are transferred over the link for an operator.
    fn streamed_bytes(
        &mut self,
        graph: &Graph,
        weights: Option<usize>,
        parameter_bytes: u64,
    ) -> u64 {
        let buffer_idx = weights.map(|t| graph.tensor(t).buffer_idx);
        let known = buffer_idx.and_then(|buffer| self.is_cached.get(&buffer).copied());
        let is_cached = known.unwrap_or_else(|| self.place_parameters(parameter_bytes));
        if let Some(buffer) = buffer_idx {
            self.is_cached.insert(buffer, is_cached);
        }
        if is_cached { 0 } else { parameter_bytes }
    }

    fn place_parameters(&mut self, parameter_bytes: u64) -> bool {
        let end = self.used_bytes.saturating_add(parameter_bytes);
        let fits = end <= self.size_bytes;
        if fits {
            self.used_bytes = end;
        }
        fits
    }
}

/// An operator's product with its weights, which are divided into tiles of the array. All zero for an operator without
/// such a product.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Matrix {
    /// Tensor index.
    weights: Option<usize>,
    /// Vectors that each tile is multiplied with, one a cycle.
    positions: u64,
    /// Tiles of the array that hold the weights.
    tiles: u64,
    /// Of one tile.
    tile_bytes: u64,
}

impl Matrix {
    /// `None` if the operator multiplies no weights, or if its shapes are invalid.
    fn new(graph: &Graph, node: &Node) -> Option<Self> {
        let shape = |t: usize| graph.tensor(t).shape.as_slice();
        let input = |position: usize| node.operator.inputs.get(position).copied().flatten();
        let weights = input(1)?;
        let output = shape(*node.operator.outputs.first()?);
        let dense = |positions: u64, depth: u64, columns: u64| Self {
            weights: Some(weights),
            positions,
            tiles: tiles(depth).saturating_mul(tiles(columns)),
            tile_bytes: ARRAY_SIDE * ARRAY_SIDE,
        };
        match (node.operator.code.kind.row().work, shape(weights)) {
            (Work::Convolution, &[filters, h, w, c]) => {
                let depth = product(&[h, w, c]);
                Some(dense(positions(output), depth, product(&[filters])))
            }
            // Channels are multiplied only with their own filter, so they occupy the diagonal of the array, and each
            // tap of the window takes a pass.
            (Work::Depthwise, &[_, h, w, c]) => Some(Self {
                weights: Some(weights),
                positions: positions(output),
                tiles: product(&[h, w]).saturating_mul(tiles(product(&[c]))),
                tile_bytes: ARRAY_SIDE,
            }),
            // Each position of the input contributes to a window of the output.
            (Work::TransposedConvolution, &[filters, h, w, c]) => {
                let activations = shape(input(2)?);
                Some(dense(
                    positions(activations),
                    product(&[c]),
                    product(&[filters, h, w]),
                ))
            }
            (Work::Dense, &[units, depth]) => Some(dense(
                positions(output),
                product(&[depth]),
                product(&[units]),
            )),
            (
                Work::Convolution | Work::Depthwise | Work::TransposedConvolution | Work::Dense,
                _,
            ) => None,
            // It multiplies no weights, or is not mapped.
            (
                Work::Convolution3d
                | Work::Nothing
                | Work::Product
                | Work::Recurrent
                | Work::SparseLookup
                | Work::Svdf
                | Work::TransposedConvolution3d
                | Work::Unknown,
                _,
            ) => None,
        }
    }

    fn cycles(&self) -> u64 {
        self.positions.saturating_mul(self.tiles)
    }

    fn weight_bytes(&self) -> u64 {
        self.tiles.saturating_mul(self.tile_bytes)
    }
}

/// Number of tiles that cover `values` rows or columns.
fn tiles(values: u64) -> u64 {
    values.div_ceil(ARRAY_SIDE)
}

/// All dimensions but the last.
fn positions(shape: &[i32]) -> u64 {
    shape.split_last().map_or(0, |(_, rest)| product(rest))
}

fn product(dimensions: &[i32]) -> u64 {
    let dimensions = dimensions.iter().map(|&d| u64::try_from(d).unwrap_or(0));
    dimensions.fold(1, u64::saturating_mul)
}
