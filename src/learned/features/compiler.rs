//! The part of a target compiler's plan for a graph from which features are made.

/// Accelerators whose plans are features, in the order of the columns of
/// [`Group::Plan`](super::Group::Plan): Ethos-U55-256, U65-512, U85-256.
pub const N_ACCELERATORS: usize = 3;

/// The compiler's plan of one graph.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CompilerPlan {
    /// Node indices in the order in which the compiler runs them, each once.
    pub execution_order: Vec<usize>,
    /// By position in [`Self::execution_order`]: bytes of feature maps alive while it runs.
    pub live_feature_map_bytes: Vec<f64>,
    /// By node: bytes of its largest constant in the compiler's weight encoding; 0 if the node has no constant.
    pub coded_weight_bytes: Vec<f64>,
    /// By accelerator, then by node.
    pub operators: [Vec<PlannedOperator>; N_ACCELERATORS],
}

/// The compiler's plan of one operator on one accelerator.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PlannedOperator {
    /// Cycles it takes: computing, or waiting for weights.
    pub cycles: f64,
    /// SRAM bytes for its own weights and for those weights of the next operator that are fetched while it runs.
    pub weight_buffer_bytes: f64,
    /// [`Self::weight_buffer_bytes`] plus the bytes of live feature maps that are kept in SRAM.
    pub sram_bytes: f64,
    /// Bytes of its weights and scales in the encoded weight stream.
    pub encoded_weight_bytes: f64,
    /// Bytes read and written off chip: feature maps that are not kept in SRAM, and weights as often
    /// as they are fetched.
    pub off_chip_bytes: f64,
    /// Bytes read and written in SRAM.
    pub sram_traffic_bytes: f64,
    /// [`Self::off_chip_bytes`] and [`Self::sram_traffic_bytes`] as the compiler's totals count them: weights that are
    /// already in SRAM count as fetched again. These are not features.
    pub counted_off_chip_bytes: f64,
    pub counted_sram_traffic_bytes: f64,
}
