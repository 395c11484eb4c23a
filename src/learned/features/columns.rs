//! The feature table: every column a predictor sees of a node, as data.

use super::context::NodeContext;

/// What a column describes, so that ablations and views can select columns by group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    /// Hyperparameters of the operator (PerfSAGE §4.1, node features).
    Hyperparameter,
    /// Shapes of what it reads and writes (PerfSAGE §4.1, edge features).
    Shape,
    /// Exact work: multiply-accumulates and bytes.
    Cost,
    /// What a compiler plans for an NPU, by its own rules.
    Plan,
    /// How the weight values are distributed: NPU compilers compress them.
    Weights,
    /// The position of the node in the graph, and the work up to and including the node.
    Position,
}

impl Group {
    pub fn name(self) -> &'static str {
        match self {
            Group::Hyperparameter => "hyperparameter",
            Group::Shape => "shape",
            Group::Cost => "cost",
            Group::Plan => "plan",
            Group::Weights => "weights",
            Group::Position => "position",
        }
    }
}

/// One number of a node's feature vector.
pub struct Column {
    /// `snake_case`; `log1p_` stands for ln(1 + x).
    pub name: &'static str,
    pub group: Group,
    /// Meaning and unit of the value.
    pub meaning: &'static str,
    pub(super) value: fn(&NodeContext) -> f32,
}

/// Raise when a column gets another definition while its name and meaning stay. A plan that comes nearer to the compiler's is
/// no other definition; the hash of the featurizer in a manifest tells with which one a network was trained.
pub(super) const REVISION: u32 = 1;

const fn column(
    group: Group,
    name: &'static str,
    meaning: &'static str,
    value: fn(&NodeContext) -> f32,
) -> Column {
    Column {
        name,
        group,
        meaning,
        value,
    }
}

/// Number of columns of a node's feature vector.
pub const N_COLUMNS: usize = COLUMNS.len();

/// The columns in the order in which [`super::Features::nodes`] holds them.
#[rustfmt::skip]
pub const COLUMNS: &[Column] = {
    use Group::*;
    &[
        column(Hyperparameter, "filter_h", "filter or pooling window height", |n| n.window.filter_h as f32),
        column(Hyperparameter, "filter_w", "filter or pooling window width", |n| n.window.filter_w as f32),
        column(Hyperparameter, "stride_h", "vertical stride", |n| n.window.stride_h as f32),
        column(Hyperparameter, "stride_w", "horizontal stride", |n| n.window.stride_w as f32),
        column(Hyperparameter, "dilation_h", "vertical dilation", |n| n.window.dilation_h as f32),
        column(Hyperparameter, "dilation_w", "horizontal dilation", |n| n.window.dilation_w as f32),
        column(Hyperparameter, "padding_same", "1 where padding is SAME", |n| n.window.padding_same),
        column(Hyperparameter, "log1p_groups", "convolution groups: input channels over filter channels", |n| n.window.groups.ln_1p()),
        column(Hyperparameter, "fused_relu", "1 where RELU, RELU6 or RELU_N1_TO_1 is fused", |n| n.fused_relu),
        column(Hyperparameter, "fused_other", "1 where another activation is fused", |n| n.fused_other),
        column(Shape, "log1p_in_h", "height of the first activation read", |n| n.input.h.ln_1p()),
        column(Shape, "log1p_in_w", "width of the first activation read", |n| n.input.w.ln_1p()),
        column(Shape, "log1p_in_c", "channels (last dimension) of the first activation read", |n| n.input.c.ln_1p()),
        column(Shape, "log1p_in_c_padded", "the same in whole multiples of 16", |n| n.input.c_padded().ln_1p()),
        column(Shape, "log1p_out_n", "outermost dimensions of the first output, multiplied", |n| n.output.n.ln_1p()),
        column(Shape, "log1p_out_h", "height of the first output", |n| n.output.h.ln_1p()),
        column(Shape, "log1p_out_w", "width of the first output", |n| n.output.w.ln_1p()),
        column(Shape, "log1p_out_c", "channels (last dimension) of the first output", |n| n.output.c.ln_1p()),
        column(Shape, "log1p_out_c_padded", "the same in whole multiples of 16", |n| n.output.c_padded().ln_1p()),
        column(Shape, "rank_out", "dimensions of the first output", |n| n.output.rank),
        column(Shape, "element_bytes_out", "bytes of one element of the first output", |n| n.element_bytes_out),
        column(Shape, "n_activations_in", "activation tensors read", |n| n.n_activations_in),
        column(Shape, "n_out", "tensors written", |n| n.n_out),
        column(Shape, "in_c_mod_16", "channels of the first activation beyond the last multiple of 16, over 16", |n| beyond_16(n.input.c)),
        column(Shape, "out_c_mod_16", "channels of the first output beyond the last multiple of 16, over 16", |n| beyond_16(n.output.c)),
        column(Cost, "log1p_macs", "multiply-accumulates", |n| log1p(n.counts.macs)),
        column(Cost, "log1p_macs_padded", "multiply-accumulates with channels padded to multiples of 16", |n| log1p(n.counts.macs_padded)),
        column(Cost, "log1p_weight_bytes", "bytes of constants as stored", |n| log1p(n.counts.weight_bytes)),
        column(Cost, "log1p_weight_bytes_coded", "bytes of the largest constant in a Golomb-Rice code, channels padded to multiples of 16", |n| log1p(n.counts.weight_bytes_coded)),
        column(Cost, "log1p_input_bytes", "activation bytes read", |n| log1p(n.counts.input_bytes)),
        column(Cost, "log1p_output_bytes", "activation bytes written", |n| log1p(n.counts.output_bytes)),
        column(Cost, "log1p_output_bytes_padded", "activation bytes written with channels padded to multiples of 16", |n| log1p(n.counts.output_bytes_padded)),
        column(Cost, "log1p_live_bytes", "activation bytes alive while it runs", |n| log1p(n.live_bytes)),
        column(Cost, "log1p_feature_map_bytes_alive", "the same in an NPU's memory: channels padded to multiples of 16, views and results in place not counted twice", |n| log1p(n.feature_map_bytes_alive)),
        column(Cost, "log1p_macs_per_byte", "multiply-accumulates per byte moved", |n| log1p(n.counts.macs / n.counts.bytes_moved().max(1.0))),
        column(Plan, "log1p_cycles_ethos_u55_256", "cycles that Vela's rules give on ethos-u55-256", |n| log1p(n.planned[0].cycles)),
        column(Plan, "log1p_weight_buffer_bytes_ethos_u55_256", "SRAM there for its weights, and for those fetched for the next operator", |n| log1p(n.planned[0].weight_buffer_bytes)),
        column(Plan, "log1p_sram_bytes_ethos_u55_256", "the same and the feature maps alive, as far as they are kept there", |n| log1p(n.planned[0].sram_bytes)),
        column(Plan, "log1p_off_chip_bytes_ethos_u55_256", "bytes read and written off chip, weights as often as they are fetched", |n| log1p(n.planned[0].off_chip_bytes)),
        column(Plan, "log1p_sram_traffic_bytes_ethos_u55_256", "bytes read and written in SRAM, likewise", |n| log1p(n.planned[0].sram_traffic_bytes)),
        column(Plan, "log1p_cycles_ethos_u65_512", "cycles that Vela's rules give on ethos-u65-512", |n| log1p(n.planned[1].cycles)),
        column(Plan, "log1p_weight_buffer_bytes_ethos_u65_512", "SRAM there for its weights, and for those fetched for the next operator", |n| log1p(n.planned[1].weight_buffer_bytes)),
        column(Plan, "log1p_sram_bytes_ethos_u65_512", "the same and the feature maps alive, as far as they are kept there", |n| log1p(n.planned[1].sram_bytes)),
        column(Plan, "log1p_off_chip_bytes_ethos_u65_512", "bytes read and written off chip, weights as often as they are fetched", |n| log1p(n.planned[1].off_chip_bytes)),
        column(Plan, "log1p_sram_traffic_bytes_ethos_u65_512", "bytes read and written in SRAM, likewise", |n| log1p(n.planned[1].sram_traffic_bytes)),
        column(Plan, "log1p_cycles_ethos_u85_256", "cycles that Vela's rules give on ethos-u85-256", |n| log1p(n.planned[2].cycles)),
        column(Plan, "log1p_weight_buffer_bytes_ethos_u85_256", "SRAM there for its weights, and for those fetched for the next operator", |n| log1p(n.planned[2].weight_buffer_bytes)),
        column(Plan, "log1p_sram_bytes_ethos_u85_256", "the same and the feature maps alive, as far as they are kept there", |n| log1p(n.planned[2].sram_bytes)),
        column(Plan, "log1p_off_chip_bytes_ethos_u85_256", "bytes read and written off chip, weights as often as they are fetched", |n| log1p(n.planned[2].off_chip_bytes)),
        column(Plan, "log1p_sram_traffic_bytes_ethos_u85_256", "bytes read and written in SRAM, likewise", |n| log1p(n.planned[2].sram_traffic_bytes)),
        column(Weights, "weight_std", "standard deviation of the largest constant, stored units", |n| n.weight_std),
        column(Weights, "weight_zero_share", "share of that constant's values equal to the zero point", |n| n.weight_zero_share),
        column(Weights, "weight_entropy_bits", "entropy of that constant's bytes, bits per byte", |n| n.weight_entropy_bits),
        column(Position, "n_predecessors", "operators whose output it reads", |n| n.n_predecessors),
        column(Position, "n_successors", "operators that read its output", |n| n.n_successors),
        column(Position, "reads_graph_input", "1 where it reads an input of the graph", |n| n.reads_graph_input),
        column(Position, "writes_graph_output", "1 where it writes an output of the graph", |n| n.writes_graph_output),
        column(Position, "log1p_index", "position in topological order", |n| n.index.ln_1p()),
        column(Position, "log1p_macs_padded_before", "padded multiply-accumulates of the operator executed before it", |n| log1p(n.before.macs_padded)),
        column(Position, "log1p_weight_bytes_coded_before", "bytes of that one's largest constant, coded and padded", |n| log1p(n.before.weight_bytes_coded)),
        column(Position, "log1p_output_bytes_padded_before", "padded activation bytes that one writes", |n| log1p(n.before.output_bytes_padded)),
        column(Position, "log1p_macs_padded_next", "padded multiply-accumulates of the operator executed after it", |n| log1p(n.next.macs_padded)),
        column(Position, "log1p_weight_bytes_coded_next", "bytes of that one's largest constant, coded and padded", |n| log1p(n.next.weight_bytes_coded)),
        column(Position, "log1p_macs_so_far", "multiply-accumulates up to and including it", |n| log1p(n.so_far.macs)),
        column(Position, "log1p_macs_padded_so_far", "padded multiply-accumulates up to and including it", |n| log1p(n.so_far.macs_padded)),
        column(Position, "log1p_weight_bytes_so_far", "bytes of constants up to and including it", |n| log1p(n.so_far.weight_bytes)),
        column(Position, "log1p_weight_bytes_coded_so_far", "bytes of the largest constants, coded and padded, up to and including it", |n| log1p(n.so_far.weight_bytes_coded)),
        column(Position, "log1p_input_bytes_so_far", "activation bytes read up to and including it", |n| log1p(n.so_far.input_bytes)),
        column(Position, "log1p_output_bytes_padded_so_far", "padded activation bytes written up to and including it", |n| log1p(n.so_far.output_bytes_padded)),
    ]
};

fn log1p(value: f64) -> f32 {
    value.ln_1p() as f32
}

fn beyond_16(channels: f32) -> f32 {
    (channels % 16.0) / 16.0
}
