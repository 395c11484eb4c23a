//! [`Kernel`]s → input features of graph networks.
//!
//! The table of `litecast::learned::features` is made for compilers of microprocessors, where operators are quantised
//! and memory is planned. This table has the properties that determine the time on a GPU. All networks use it.

use std::collections::HashMap;

use litecast::learned::features::Features;
use litecast::targets::gpu::kernels::{Function, Kernel};
use litecast_trainer::targets::gpu::graphs::KernelNetwork;

use crate::gnn::whole_graph::Columns;

macro_rules! columns {
    ($($variant:ident,)*) => {
        /// One number of a kernel's row. `log1p` stands for ln(1 + x) where [`LOGARITHMS`] says so.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        enum Column { $($variant,)* }
        pub const N_COLUMNS: usize = [$(Column::$variant,)*].len();
    };
}

columns! {
    // Amounts, each as ln(1 + x). Bytes are those of float16.
    Macs,
    WeightBytes,
    InputBytes,
    OutputBytes,
    OutOuter,
    OutHeight,
    OutWidth,
    OutChannels,
    Rows,
    Columns,
    Depth,
    Window,
    InChannels,
    Groups,
    Side,
    Scores,
    MacsPerByte,
    Index,
    MacsSoFar,
    WeightBytesSoFar,
    InputBytesSoFar,
    OutputBytesSoFar,
    // Time of the roofline in nanoseconds: for inference and for a training step.
    RooflineInference,
    RooflineTraining,
    // Columns without a logarithm.
    Stride,
    HasBias,
    Broadcasts,
    IsScalar,
    IsMasked,
    UnalignedColumns,
    UnalignedDepth,
    Predecessors,
    Successors,
}

/// Columns before this one are amounts, stored as ln(1 + x).
const N_LOGARITHMS: usize = Column::Stride as usize;
const BYTES_PER_ELEMENT: f64 = 2.0;
/// Tensor cores process lengths that are multiples of this.
const ALIGNMENT: f64 = 8.0;
/// Columns of rooflines, by run. A network without these columns has no information about the GPU.
pub const ROOFLINES: [usize; 2] = [
    Column::RooflineInference as usize,
    Column::RooflineTraining as usize,
];
pub const NS_PER_MS: f64 = 1e6;

/// Indices of the columns that networks use by their meaning.
pub fn columns() -> Columns {
    Columns {
        n: N_COLUMNS,
        macs: Column::Macs as usize,
        weight_bytes: Column::WeightBytes as usize,
        input_bytes: Column::InputBytes as usize,
        output_bytes: Column::OutputBytes as usize,
        output_shape: [
            Column::OutOuter,
            Column::OutHeight,
            Column::OutWidth,
            Column::OutChannels,
        ]
        .map(|column| column as usize),
    }
}

/// One node for each kernel, in the order of the graph. `rooflines_ms` gives the roofline's time of a kernel for each
/// run. Linear in kernels and in what they read.
pub fn network_features(
    network: &KernelNetwork,
    rooflines_ms: [&dyn Fn(&Kernel) -> f64; 2],
) -> Features {
    let kernels = &network.kernels;
    let (edge_src, edge_dst) = edges(kernels);
    let mut degrees = vec![[0.0; 2]; kernels.len()];
    for (&src, &dst) in edge_src.iter().zip(&edge_dst) {
        degrees[dst as usize][0] += 1.0;
        degrees[src as usize][1] += 1.0;
    }
    let mut so_far = [0.0; 4];
    let mut nodes = Vec::with_capacity(kernels.len() * N_COLUMNS);
    for (idx, (kernel, shape)) in kernels.iter().zip(&network.shapes).enumerate() {
        let work = work(kernel);
        so_far
            .iter_mut()
            .zip(work)
            .for_each(|(sum, amount)| *sum += amount);
        let rooflines_ms = rooflines_ms.map(|roofline_ms| roofline_ms(kernel));
        let row = row(kernel, shape, idx, degrees[idx], so_far, rooflines_ms);
        nodes.extend(row);
    }
    Features {
        categories: kernels.iter().map(category).collect(),
        nodes,
        edge_src,
        edge_dst,
    }
}

/// Category of a kernel; each activation function has its own.
fn category(kernel: &Kernel) -> i32 {
    let function = kernel.function.map_or(0, |function| 1 + function as usize);
    (kernel.kind as usize * (Function::ALL.len() + 1) + function) as i32
}

/// Multiply-accumulates, bytes of weights, bytes read, bytes written.
fn work(kernel: &Kernel) -> [f64; 4] {
    let [weights, inputs, outputs] = [kernel.weights, kernel.inputs, kernel.outputs];
    let bytes = [weights, inputs, outputs].map(|elements| elements * BYTES_PER_ELEMENT);
    [kernel.macs, bytes[0], bytes[1], bytes[2]]
}

fn row(
    kernel: &Kernel,
    shape: &[i32],
    idx: usize,
    [predecessors, successors]: [f64; 2],
    so_far: [f64; 4],
    rooflines_ms: [f64; 2],
) -> [f32; N_COLUMNS] {
    let mut row = [0.0; N_COLUMNS];
    let mut set = |column: Column, value: f64| row[column as usize] = value;
    let [macs, weights, inputs, outputs] = work(kernel);
    set(Column::Macs, macs);
    set(Column::WeightBytes, weights);
    set(Column::InputBytes, inputs);
    set(Column::OutputBytes, outputs);
    let [outer, height, width, channels] = four(shape);
    set(Column::OutOuter, outer);
    set(Column::OutHeight, height);
    set(Column::OutWidth, width);
    set(Column::OutChannels, channels);
    set(Column::Rows, kernel.rows);
    set(Column::Columns, kernel.columns);
    set(Column::Depth, kernel.depth);
    set(Column::Window, kernel.window);
    set(Column::InChannels, kernel.in_channels);
    set(Column::Groups, kernel.groups);
    set(Column::Side, kernel.side);
    set(Column::Scores, kernel.scores);
    set(
        Column::MacsPerByte,
        macs / (weights + inputs + outputs).max(1.0),
    );
    set(Column::Index, idx as f64);
    set(Column::MacsSoFar, so_far[0]);
    set(Column::WeightBytesSoFar, so_far[1]);
    set(Column::InputBytesSoFar, so_far[2]);
    set(Column::OutputBytesSoFar, so_far[3]);
    set(Column::RooflineInference, rooflines_ms[0] * NS_PER_MS);
    set(Column::RooflineTraining, rooflines_ms[1] * NS_PER_MS);
    set(Column::Stride, kernel.stride);
    let flag = |is: bool| f64::from(u8::from(is));
    set(Column::HasBias, flag(kernel.has_bias));
    set(Column::Broadcasts, flag(kernel.broadcasts));
    set(Column::IsScalar, flag(kernel.is_scalar));
    set(Column::IsMasked, flag(kernel.is_masked));
    let is_unaligned = |length: f64| flag(length % ALIGNMENT != 0.0);
    set(Column::UnalignedColumns, is_unaligned(kernel.columns));
    let depth = kernel.depth / kernel.window.max(1.0);
    set(Column::UnalignedDepth, is_unaligned(depth));
    set(Column::Predecessors, predecessors);
    set(Column::Successors, successors);
    for amount in &mut row[..N_LOGARITHMS] {
        *amount = amount.max(0.0).ln_1p();
    }
    row.map(|value| value as f32)
}

/// The last three dimensions, and the product of all dimensions before them.
fn four(shape: &[i32]) -> [f64; 4] {
    let sizes: Vec<f64> = shape.iter().map(|&size| f64::from(size.max(1))).collect();
    let from_end = |place: usize| {
        let idx = sizes.len().checked_sub(place);
        idx.and_then(|idx| sizes.get(idx)).copied().unwrap_or(1.0)
    };
    let outer = sizes[..sizes.len().saturating_sub(3)].iter().product();
    [outer, from_end(3), from_end(2), from_end(1)]
}

/// Pairs of writer and reader without duplicates, sorted by reader. An activation that is fused into an operator reads
/// and writes the same tensor; readers of this tensor read the last kernel that wrote it.
fn edges(kernels: &[Kernel]) -> (Vec<u32>, Vec<u32>) {
    let mut writers: HashMap<usize, u32> = HashMap::new();
    let (mut edge_src, mut edge_dst) = (Vec::new(), Vec::new());
    for (idx, kernel) in kernels.iter().enumerate() {
        let read = kernel.sources.iter();
        let mut read: Vec<u32> = read
            .filter_map(|source| writers.get(source).copied())
            .collect();
        read.sort_unstable();
        read.dedup();
        edge_dst.extend(read.iter().map(|_| idx as u32));
        edge_src.extend(read);
        writers.insert(kernel.output, idx as u32);
    }
    (edge_src, edge_dst)
}

#[cfg(test)]
mod tests {
    use litecast::formats::graph_json;
    use litecast::graph;
    use litecast::targets::gpu::kernels::kernels;

    use super::*;

    /// A product, its ReLU, and a sum with the input of the product: the ReLU reads the product, and the sum reads the
    /// ReLU.
    #[test]
    fn edges_follow_tensors_and_amounts_are_counted() {
        let text = r#"{"format": "litecast-graph", "version": 1, "inputs": ["x"], "outputs": ["y"], "tensors": [
            {"name": "x", "shape": [1, 10, 64], "type": "float32"},
            {"name": "w", "shape": [64, 64], "type": "float32", "constant": true},
            {"name": "p", "shape": [1, 10, 64], "type": "float32"},
            {"name": "y", "shape": [1, 10, 64], "type": "float32"}], "operators": [
            {"kind": "FULLY_CONNECTED", "inputs": ["x", "w"], "outputs": ["p"], "attributes": {"activation": "RELU"}},
            {"kind": "ADD", "inputs": ["p", "x"], "outputs": ["y"]}]}"#;
        let model = graph_json::parse(text.as_bytes()).expect("the test's graph is one");
        let graph = graph::build(&model, 0).expect("it has an order");
        let kernels = kernels(&graph);
        let shape = |kernel: &Kernel| graph.tensor(kernel.output).shape.clone();
        let network = KernelNetwork {
            shapes: kernels.iter().map(shape).collect(),
            kernels,
            parameters: 4096.0,
        };
        let features = network_features(&network, [&|_| 1.0, &|_| 0.0]);
        assert_eq!(features.n_nodes(), 3);
        let edges = features.edge_src.iter().zip(&features.edge_dst);
        assert_eq!(edges.collect::<Vec<_>>(), [(&0, &1), (&1, &2)]);
        let value =
            |node: usize, column: Column| features.nodes[node * N_COLUMNS + column as usize];
        let macs = 10.0 * 64.0 * 64.0f32;
        assert_eq!(value(0, Column::Macs), macs.ln_1p());
        assert_eq!(value(2, Column::MacsSoFar), macs.ln_1p());
        assert_eq!(value(1, Column::InputBytes), (2.0 * 640.0f32).ln_1p());
        assert_eq!(value(0, Column::RooflineInference), 1e6f32.ln_1p());
        assert_eq!(value(0, Column::OutChannels), 64.0f32.ln_1p());
    }
}
