//! [`Graph`] and [`Analysis`] → [`Program`]: the operations into which the compiler converts operators, as described
//! under "Lowering" in `docs/method/ethos-u.md`.

mod convolution;
mod expansions;
mod layout;
mod lowering;
mod matmul;
mod merged_transpose;
mod movement;
mod node;
mod pad;
mod padded_windows;
mod parts;
mod recurrent;
mod reduce;
mod resize;
mod softmax;
mod transpose;
mod truth;

pub use self::layout::shape_of_activation;
use self::layout::{is_deepened, lay_out};
use self::lowering::Lowering;
pub use self::lowering::n_elements;
pub use self::node::shape;
use self::node::{maps, operation};
use self::parts::{copy_parts, pieces};
use super::accelerator::Accelerator;
use super::layer::Kind;
use super::program::{
    Action, Alias, Arithmetic, FeatureMap, Operation, Program, WeightSharing, Window,
};
use crate::formats::tflite::{BuiltinOptions, OpKind, TensorType};
use crate::graph::Graph;
use crate::graph::analysis::Analysis;
use crate::targets::ethos_u::support::{ListedKind, Npu, listed, unsupported};

/// Maximum number of operations that replace operators, in addition to one for each operator. An LSTM becomes the
/// largest number, about 70; networks that are unrolled over time have some thousands. Each operation takes about a
/// kilobyte in later stages, so that all of them stay within the 64 MB that a file may use. The more operators a file
/// has, the fewer operations are added, because operators that stay one operation take the same memory.
const MAX_OPERATIONS: usize = 1 << 15;
/// Number of operations that may be added for any number of operators.
const MAX_ADDED_TO_ANY: usize = 1 << 10;

/// One operation for each node, in the order of the file. Linear in nodes and tensors.
pub fn one_operation_per_node(graph: &Graph, analysis: &Analysis) -> Program {
    let mut program = Program {
        maps: maps(graph, analysis),
        operations: Vec::with_capacity(graph.nodes.len()),
        outputs: graph.subgraph.outputs.clone(),
        ..Program::default()
    };
    for node_idx in 0..graph.nodes.len() {
        program
            .operations
            .push(operation(graph, analysis, node_idx));
    }
    fuse_activations_and_padding(&mut program, |_| false, |_, _, _| false);
    lay_out(&mut program, false);
    program
}

/// The operations into which the compiler converts a graph for an accelerator. Operators beyond `MAX_OPERATIONS` become
/// one operation each. Linear in nodes and tensors.
pub fn lower(accelerator: &Accelerator, graph: &Graph, analysis: &Analysis) -> Program {
    let npu = if accelerator.is_u85() {
        Npu::EthosU85
    } else {
        Npu::EthosU55U65
    };
    let mut is_left = vec![false; graph.nodes.len()];
    for operator in unsupported(graph, npu) {
        is_left[operator.node_idx] = true;
    }
    let mut lowering = Lowering::new(accelerator, graph, analysis, is_left);
    let max_added = (MAX_OPERATIONS.saturating_sub(graph.nodes.len())).max(MAX_ADDED_TO_ANY);
    let mut is_of_shape = vec![false; graph.subgraph.tensors.len()];
    for node_idx in 0..graph.nodes.len() {
        lowering.node_idx = node_idx;
        if is_known(&lowering, &is_of_shape) {
            let outputs = lowering.operator().outputs.iter();
            outputs.for_each(|&output| is_of_shape[output] = true);
            continue;
        }
        let dilated = lowering.dilated.get(&node_idx);
        if dilated.is_some_and(|dilated| dilated.window != node_idx) {
            continue;
        }
        if lowering.is_left[node_idx] {
            lowering.push_left_to_cpu();
            continue;
        }
        let n_before = lowering.program.operations.len();
        // Operators that stay one operation are never limited.
        let hit_limit = n_before > max_added + node_idx;
        lowering.program.hit_limit |= hit_limit;
        if hit_limit || lower_into_several(&mut lowering).is_none() {
            lowering.program.operations.truncate(n_before);
            push_node(&mut lowering);
        }
        mark_activation(&mut lowering, n_before);
    }
    let mut program = lowering.program;
    movement::add_copies(&mut program, lowering.copies);
    truth::convert_at_ends(&mut program);
    // The program lives as long as the plan is made, which needs the most memory.
    program.operations.shrink_to_fit();
    program.maps.shrink_to_fit();
    rearrange(accelerator, graph, &mut program);
    program
}

/// Divides, joins and reorders the operations of all nodes as the compiler does.
fn rearrange(accelerator: &Accelerator, graph: &Graph, program: &mut Program) {
    copy_parts(program, graph);
    remove_views(program);
    separate_reshaped_activations(program);
    widen_to_whole_concatenation(program, graph);
    divide_many_dimensional_copies(program, graph);
    divide_broadcasts(program, graph);
    divide_parts_of_batches(program, graph);
    // The output stage performs one activation.
    let activates_transposed = |element_bytes: i64| accelerator.is_u85() || element_bytes == 1;
    fuse_activations_and_padding(
        program,
        activates_transposed,
        |before, operation, n_writers| {
            let is_in_pieces = n_writers > 1 || before.repeats > 1.0;
            // An activation that changes the scale stays one.
            let is_activation = before.action == Action::Requantise
                && graph.nodes[before.node_idx].operator.code.kind != OpKind::Quantize;
            before.has_activation
                || is_activation
                || is_in_pieces
                || is_seen_as_rows(graph, before, operation)
                || changes_scale(graph, operation)
                || pools_in_another_shape(before, operation)
        },
    );
    unfuse_reshaped_activations(program);
    if accelerator.is_u85() {
        transpose::fuse_transposes(program);
        movement::fuse_reverses(program);
    }
    lay_out(program, accelerator.is_u85());
    share_weights_of_neighbours(program, graph);
}

/// Marks operations of different operators that follow each other and read the same tensor of weights.
fn share_weights_of_neighbours(program: &mut Program, graph: &Graph) {
    let tensor = |operation: &Operation| {
        let operator = graph.nodes[operation.node_idx].operator;
        let reads_weights = matches!(operator.code.kind, OpKind::Conv2d | OpKind::DepthwiseConv2d);
        let weights = operator.inputs.get(1).copied().flatten();
        weights.filter(|_| reads_weights && operation.weights.is_some())
    };
    for idx in 1..program.operations.len() {
        let [before, operation] = &mut program.operations[idx - 1..=idx] else {
            continue;
        };
        let is_shared = tensor(operation).is_some() && tensor(operation) == tensor(before);
        if is_shared && before.node_idx != operation.node_idx {
            for (one, sharing) in [
                (before, WeightSharing::First),
                (operation, WeightSharing::AsBefore),
            ] {
                if one.sharing == WeightSharing::None {
                    one.sharing = sharing;
                }
            }
        }
    }
}

/// Whether an operator computes something from shapes and constants alone. Shapes of other operators are read from it,
/// and it does not run.
fn is_known(lowering: &Lowering, is_of_shape: &[bool]) -> bool {
    let operator = lowering.operator();
    let inputs = || operator.inputs.iter().flatten();
    let mut others = inputs().filter(|&&input| !is_of_shape[input]);
    operator.code.kind == OpKind::Shape
        || inputs().any(|&input| is_of_shape[input])
            && others.all(|&input| lowering.graph.is_constant(input))
}

/// Lets the readers of a view read the map that it shows, where both have the same height, width and channels and nothing
/// outside of the accelerator sees them.
fn remove_views(program: &mut Program) {
    let maps = &program.maps;
    // By map, the map that it shows.
    let mut shown: Vec<usize> = (0..maps.len()).collect();
    program.operations.retain_mut(|operation| {
        for input in operation.inputs.iter_mut() {
            *input = shown[*input];
        }
        // The other inputs are shapes.
        let (&[input, ..], &[output]) = (&operation.inputs[..], &operation.outputs[..]) else {
            return true;
        };
        let is_removed = (operation.action, operation.alias) == (Action::View, Alias::View)
            && maps[input].shape == maps[output].shape
            && maps[input].is_internal()
            && maps[output].is_internal();
        if is_removed {
            shown[output] = input;
        }
        !is_removed
    });
}

/// Lets windows that replace a resize between pixel centres, and maxima over channels, count all channels of the
/// concatenation of which they write a part.
fn widen_to_whole_concatenation(program: &mut Program, graph: &Graph) {
    let kind = |operation: &Operation| graph.nodes[operation.node_idx].operator.code.kind;
    let wholes: Vec<(usize, usize)> = (program.operations.iter())
        .filter(|operation| operation.alias == Alias::Concat)
        .flat_map(|operation| {
            let whole = operation.outputs.first().copied();
            whole
                .into_iter()
                .flat_map(|whole| operation.inputs.iter().map(move |&part| (part, whole)))
        })
        .collect();
    if wholes.is_empty() {
        return;
    }
    let mut depth = vec![0; program.maps.len()];
    for (part, whole) in wholes {
        depth[part] = program.maps[whole].shape()[2];
    }
    for operation in &mut program.operations {
        let output = operation.outputs.first().map_or(0, |&output| depth[output]);
        let axis = match (operation.action, kind(operation)) {
            (Action::Layer(Kind::Depthwise), OpKind::ResizeBilinear) => 2,
            (
                Action::Layer(Kind::Maximum),
                OpKind::ReduceMax | OpKind::ReduceMin | OpKind::ReduceAny | OpKind::ReduceAll,
            ) => 1,
            _ => continue,
        };
        if let Some(view_shapes) = operation.view_shapes.as_deref_mut().filter(|_| output > 0) {
            // The channels of a maximum are seen as the width, where they are what it reduces.
            let is_of_channels = axis == 2 || view_shapes[1][2] == 1 && view_shapes[0][2] == 1;
            view_shapes[1][axis] = if is_of_channels {
                output
            } else {
                view_shapes[1][axis]
            };
        }
    }
}

/// Lets copies of parts move three dimensions at a time.
fn divide_many_dimensional_copies(program: &mut Program, graph: &Graph) {
    for operation in &mut program.operations {
        let operator = graph.nodes[operation.node_idx].operator;
        let is_part = matches!(
            operator.code.kind,
            OpKind::Slice | OpKind::StridedSlice | OpKind::Split | OpKind::SplitV
        );
        if !is_part || operation.action != Action::Copy || operation.repeats > 1.0 {
            continue;
        }
        let output = operator.outputs.first();
        let Some(&[ref outer @ .., h, w, c]) =
            output.map(|&one| graph.tensor(one).shape.as_slice())
        else {
            continue;
        };
        let n_outer = n_elements(outer);
        if n_outer > 1 {
            operation.repeats = n_outer as f64;
            let view_shape = [h, w, c].map(|size| n_elements(&[size]));
            operation.view_shapes = Some(Box::new([view_shape; 2]));
        }
    }
}

/// Lets elementwise operations with inputs of different shapes take three dimensions at a time. Others see all elements in
/// one shape.
fn divide_broadcasts(program: &mut Program, graph: &Graph) {
    let tensors = &graph.subgraph.tensors;
    let maps = &program.maps;
    for operation in &mut program.operations {
        let (&[one, other], &[output]) = (&operation.inputs[..], &operation.outputs[..]) else {
            continue;
        };
        // What replaces an operator computes with feature maps of the same shapes as the operator.
        let operator = graph.nodes[operation.node_idx].operator;
        let sizes = |map_idx: usize| match tensors.get(map_idx) {
            Some(tensor) => Some(tensor.shape.as_slice()),
            None => {
                let inputs = operator.inputs.iter().take(2).flatten();
                let named = inputs.chain(operator.outputs.first());
                let mut sizes = named.map(|&tensor| graph.tensor(tensor).shape.as_slice());
                sizes.find(|sizes| shape(sizes) == maps[map_idx].shape())
            }
        };
        let (Some(one), Some(other), Some(written)) = (sizes(one), sizes(other), sizes(output))
        else {
            continue;
        };
        let (outer, piece) = written.split_at(written.len().saturating_sub(3));
        let n_pieces = n_elements(outer);
        let is_number = |sizes: &[i32]| n_elements(sizes) == 1;
        let is_broadcast = without_leading_ones(one) != without_leading_ones(other)
            && !is_number(one)
            && !is_number(other);
        if operation.is_binary() && operation.repeats == 1.0 && is_broadcast && n_pieces > 1 {
            let read = &one[one.len().saturating_sub(3)..];
            operation.repeats = n_pieces as f64;
            operation.view_shapes = Some(Box::new([shape(read), shape(piece)]));
            operation.second_part = Some(Box::new(shape(&other[other.len().saturating_sub(3)..])));
            operation.alias = Alias::Separate;
        }
    }
}

/// Lets elementwise operations that read a part of several inputs run once for each of them.
fn divide_parts_of_batches(program: &mut Program, graph: &Graph) {
    let writers = program.writers();
    let is_part = |map_idx: usize| {
        writers[map_idx].is_some_and(|writer| program.operations[writer].action == Action::Slice)
    };
    let is_divided = |operation: &Operation| {
        let is_elementwise = operation.is_binary()
            || matches!(
                operation.action,
                Action::Unary | Action::Table | Action::Clamp | Action::Requantise
            );
        is_elementwise
            && operation.repeats == 1.0
            && operation.inputs.iter().any(|&map| is_part(map))
    };
    let divided: Vec<usize> = (0..program.operations.len())
        .filter(|&idx| is_divided(&program.operations[idx]))
        .collect();
    for idx in divided {
        let operation = &mut program.operations[idx];
        let output = operation.outputs.first();
        if let Some((piece, n_pieces)) = output.and_then(|&output| pieces(graph, output)) {
            operation.repeats = n_pieces;
            operation.view_shapes = Some(Box::new([piece; 2]));
            operation.alias = Alias::Separate;
        }
    }
}

fn without_leading_ones(sizes: &[i32]) -> &[i32] {
    let n_ones = sizes.iter().take_while(|&&size| size == 1).count();
    &sizes[n_ones..]
}

/// Makes the activation that the file fuses into a window a separate operation if it sees a shallow feature map in a
/// deeper shape than the window.
fn separate_reshaped_activations(program: &mut Program) {
    let is_part = layout::parts(program);
    for mut operation in std::mem::take(&mut program.operations) {
        let output = operation.outputs.first().copied().filter(|&output| {
            let is_reshaped = is_deepened(&program.maps[output]) && !is_part[output];
            operation.has_activation && operation.has_window() && is_reshaped
        });
        let Some(output) = output else {
            program.operations.push(operation);
            continue;
        };
        let computed = program.maps.len();
        program.maps.push(FeatureMap {
            is_input: false,
            is_output: false,
            ..program.maps[output]
        });
        let activation = Operation {
            alias: Alias::InPlace,
            ..Operation::new(operation.node_idx, Action::Requantise, computed, output)
        };
        operation.has_activation = false;
        operation.outputs = computed.into();
        program.operations.extend([operation, activation]);
    }
}

/// Makes an activation a separate operation if it sees a shallow feature map in a deeper shape than the window before
/// it, which no sum over channels is.
fn unfuse_reshaped_activations(program: &mut Program) {
    let writers = program.writers();
    let is_part = layout::parts(program);
    let is_reshaped = |operation: &Operation| {
        let before = operation.inputs.first().and_then(|&input| writers[input]);
        let has_window = before.is_some_and(|before| {
            let before = &program.operations[before];
            before.has_window()
                && before.action != Action::Layer(Kind::ReduceSum)
                && !pools_single_positions(before)
        });
        let mut outputs = operation.outputs.iter();
        let is_activation = operation.alias == Alias::Fused && operation.action != Action::Pad;
        let is_deeper = |&output: &usize| is_deepened(&program.maps[output]) && !is_part[output];
        is_activation && has_window && outputs.any(is_deeper)
    };
    let is_reshaped: Vec<bool> = program.operations.iter().map(is_reshaped).collect();
    for (operation, is_reshaped) in program.operations.iter_mut().zip(is_reshaped) {
        if is_reshaped {
            operation.alias = Alias::InPlace;
        }
    }
}

/// Marks the operations from `first` on that write the node's output, if the file fuses an activation into the node.
fn mark_activation(lowering: &mut Lowering, first: usize) {
    let Some(output) = lowering.output().filter(|_| lowering.has_activation()) else {
        return;
    };
    for operation in &mut lowering.program.operations[first..] {
        let is_activation = matches!(operation.action, Action::Clamp | Action::Requantise);
        operation.has_activation = !is_activation && operation.outputs.contains(&output);
    }
}

/// Adds a node as one operation, or as the pieces into which its stride divides it.
fn push_node(lowering: &mut Lowering) {
    let mut operation = lowering.whole_node();
    use_dilated_window(lowering, &mut operation);
    choose_action(lowering, &mut operation);
    if operation.action == Action::Slice {
        read_part(lowering, &mut operation);
    }
    if operation.alias == Alias::InPlace && changes_type(lowering) {
        operation.alias = Alias::Separate;
    }
    let has_pad = lowering.input_before_pad().is_some();
    let n_inputs = lowering.n_inputs();
    let pieces = convolution::window_operations(
        lowering.accelerator,
        &lowering.program,
        &operation,
        has_pad,
        n_inputs,
    );
    let output = lowering.output().map(|output| lowering.shape(output));
    let is_seen_as_rows = lowering.rows_of_points().is_some()
        && operation.view_shapes().map(|[_, ofm]| ofm) != output;
    let is_apart = pieces.is_some() || is_seen_as_rows;
    let activated = separate_activation_output(lowering, &operation, is_apart);
    let pieces = pieces.unwrap_or_else(|| vec![operation]);
    for mut piece in pieces {
        if let Some((computed, _)) = activated {
            piece.outputs = computed.into();
        }
        lowering.push(piece);
    }
    if let Some((computed, output)) = activated {
        lowering.push(Operation {
            alias: Alias::InPlace,
            ..lowering.operation(Action::Requantise, &[computed], output)
        });
    }
}

/// Makes a slice read its part of the one feature map that it splits.
fn read_part(lowering: &mut Lowering, operation: &mut Operation) {
    // The other inputs determine where the tensor is split; for SPLIT, they come before it.
    let maps = &lowering.program.maps;
    let inputs = operation.inputs.iter().copied();
    operation.inputs = inputs.filter(|&input| !maps[input].is_constant).collect();
    operation.view_shapes = parts::strided_part(lowering).map(Box::new);
    let takes_columns_apart = |view_shapes: &[[i64; 3]; 2]| view_shapes[0][1] > view_shapes[1][1];
    if operation
        .view_shapes
        .as_deref()
        .is_some_and(takes_columns_apart)
    {
        for &input in &operation.inputs {
            lowering.program.maps[input].is_linear = true;
        }
    }
}

/// Replaces the action of an operator by the one that the compiler computes it with.
fn choose_action(lowering: &mut Lowering, operation: &mut Operation) {
    let is_without_slope =
        matches!(lowering.operator().options, BuiltinOptions::LeakyRelu { alpha } if alpha == 0.0);
    if is_without_slope {
        operation.action = Action::Clamp;
    }
    if operation.action == Action::Clamp && lowering.is_scaled() {
        operation.action = Action::Requantise;
    }
    let accelerator = lowering.accelerator;
    if lowering.operator().code.kind == OpKind::Div {
        operation.action = Action::Binary(Arithmetic::Quotient);
    }
    if !accelerator.is_u85() && changes_scale(lowering.graph, operation) {
        // Ethos-U55 and U65 compute it without a table.
        operation.action = Action::Requantise;
    }
    if operation.action == Action::Table && is_of_output_stage(lowering) {
        operation.action = Action::Unary;
    }
}

/// Where convolution and block operators around it are one dilated convolution, makes it that.
fn use_dilated_window(lowering: &mut Lowering, operation: &mut Operation) {
    if let Some(dilated) = lowering.dilated.get(&lowering.node_idx).cloned() {
        let input = lowering.input_before_pad().unwrap_or(dilated.input);
        operation.inputs[0] = input;
        operation.outputs = dilated.output.into();
        operation.view_shapes = Some(Box::new(
            [input, dilated.output].map(|map| lowering.shape(map)),
        ));
        let window = operation
            .window
            .get_or_insert_with(|| Box::new(Window::POINT));
        window.dilation = dilated.dilation;
        **window = window.with_zeros_in_gaps();
    }
}

/// Whether the output stage computes the operator without a table, as a LEAKY_RELU of 16 bits.
fn is_of_output_stage(lowering: &Lowering) -> bool {
    let is_wide = |input: usize| lowering.tensor(input).tensor_type == TensorType::Int16;
    lowering.operator().code.kind == OpKind::LeakyRelu && lowering.input(0).is_some_and(is_wide)
}

/// The output of a window operation, and the output of its fused activation if the activation is a separate operation
/// because several operations replace the window.
fn separate_activation_output(
    lowering: &mut Lowering,
    operation: &Operation,
    is_in_pieces: bool,
) -> Option<(usize, usize)> {
    let output = lowering.output()?;
    let map = lowering.program.maps[output];
    let is_apart = lowering.has_activation() && operation.has_window() && is_in_pieces;
    is_apart.then(|| (lowering.map(map.shape(), map.element_bytes()), output))
}

/// Whether the types of output and first input differ. The output then never overwrites the input, even if elements
/// have the same size, as with uint8 and int8.
fn changes_type(lowering: &Lowering) -> bool {
    let types = [lowering.input(0), lowering.output()].map(|map_idx| {
        let tensor = map_idx.map(|map_idx| lowering.tensor(map_idx));
        tensor.map(|tensor| tensor.tensor_type)
    });
    types[0] != types[1]
}

/// Adds the operations that replace an operator; `None` if it stays one operation.
fn lower_into_several(lowering: &mut Lowering) -> Option<()> {
    use ListedKind as K;
    match listed(lowering.operator().code.kind)?.kind {
        K::Reshape if transpose::is_behind_transpose(lowering) => Some(()),
        K::ExpandDims | K::Reshape | K::Squeeze => movement::reshape(lowering),
        K::Gather => movement::gather(lowering),
        K::ScatterNd => movement::scatter(lowering),
        K::FullyConnected => matmul::product_with_map(lowering),
        K::MirrorPad => movement::mirror_pad(lowering),
        K::DepthwiseConv2d => convolution::depthwise_with_multiplier(lowering),
        K::Neg => movement::negate(lowering),
        K::Pack => movement::pack(lowering),
        K::ReverseV2 => movement::reverse(lowering),
        K::Select | K::SelectV2 => movement::select(lowering),
        K::Sum => reduce::sum(lowering),
        K::Tile => movement::tile(lowering),
        K::Add | K::Sub => expansions::broadcast(lowering, Arithmetic::Sum),
        K::Mul => expansions::broadcast(lowering, Arithmetic::Product),
        K::ArgMax => reduce::arg_max(lowering),
        K::AveragePool2d => convolution::divided_average_pool(lowering),
        K::AssignVariable => movement::assign_variable(lowering),
        K::BatchMatmul => matmul::batch_matmul(lowering),
        K::Cast => expansions::cast(lowering),
        K::Maximum | K::Minimum => expansions::broadcast(lowering, Arithmetic::Other),
        K::Conv2d => convolution::grouped_convolution(lowering),
        K::Mean => reduce::mean(lowering),
        K::Pad | K::Padv2 => pad::pad(lowering),
        K::LeakyRelu => expansions::leaky_relu(lowering),
        K::Prelu => expansions::prelu(lowering),
        K::ReadVariable => movement::read_variable(lowering),
        K::ReduceAll | K::ReduceAny | K::ReduceMax | K::ReduceMin => reduce::maximum(lowering),
        K::ResizeBilinear | K::ResizeNearestNeighbor => resize::resize(lowering),
        K::Softmax => softmax::softmax(lowering),
        K::SquaredDifference => expansions::squared_difference(lowering),
        K::Transpose => transpose::transpose(lowering),
        K::TransposeConv => convolution::transpose_conv(lowering),
        K::UnidirectionalSequenceLstm => recurrent::lstm(lowering),
        K::Abs
        | K::Concatenation
        | K::Div
        | K::Elu
        | K::Equal
        | K::Exp
        | K::Gelu
        | K::Greater
        | K::GreaterEqual
        | K::HardSwish
        | K::Less
        | K::LessEqual
        | K::Log
        | K::LogicalAnd
        | K::LogicalNot
        | K::LogicalOr
        | K::Logistic
        | K::MaxPool2d
        | K::NotEqual
        | K::Quantize
        | K::Relu
        | K::Relu0To1
        | K::Relu6
        | K::ReluN1To1
        | K::Rsqrt
        | K::Slice
        | K::Split
        | K::SplitV
        | K::StridedSlice
        | K::Tanh
        | K::Unpack => None,
    }
}

/// Whether an operation is a LOGISTIC or TANH of 16 bits: these scale their input, which no fused activation can.
fn changes_scale(graph: &Graph, operation: &Operation) -> bool {
    let operator = graph.nodes[operation.node_idx].operator;
    let input = operator.inputs.first().copied().flatten();
    let has_16_bits =
        input.is_some_and(|input| graph.tensor(input).tensor_type == TensorType::Int16);
    matches!(operator.code.kind, OpKind::Logistic | OpKind::Tanh) && has_16_bits
}

/// Whether a convolution of single positions sees several inputs as rows, in another shape than the activation behind it.
fn is_seen_as_rows(graph: &Graph, before: &Operation, activation: &Operation) -> bool {
    let (Some(&output), Some(&input)) = (before.outputs.first(), activation.inputs.first()) else {
        return false;
    };
    let seen = graph
        .subgraph
        .tensors
        .get(input)
        .map(|tensor| shape(&tensor.shape));
    before.has_window()
        && pieces(graph, output).is_some()
        && before.view_shapes().map(|[_, ofm]| ofm) != seen
}

/// Whether pooling has no window, so that activations may see its output in any shape.
fn pools_single_positions(operation: &Operation) -> bool {
    let window = operation.window();
    matches!(operation.action, Action::Layer(kind) if kind.is_maximum())
        && window.kernel == [1, 1]
        && window.stride == [1, 1]
}

/// Whether pooling with a window writes another shape than the activation behind it reads.
fn pools_in_another_shape(before: &Operation, activation: &Operation) -> bool {
    matches!(before.action, Action::Layer(kind) if kind.is_maximum())
        && !pools_single_positions(before)
        && (before.view_shapes().zip(activation.view_shapes()))
            .is_some_and(|([_, written], [read, _])| written != read)
}

/// Marks operations that their neighbours perform: activations after a computation whose output nothing else reads, and
/// padding before windows. An activation that `is_apart` from the operation before it, which is the last one of so many
/// that write its input, stays an operation.
/// `activates_transposed` tells whether a transposition of elements of so many bytes performs an activation.
fn fuse_activations_and_padding(
    program: &mut Program,
    activates_transposed: impl Fn(i64) -> bool,
    is_apart: impl Fn(&Operation, &Operation, usize) -> bool,
) {
    let n_readers = program.n_readers();
    let writers = program.writers();
    let mut n_writers = vec![0; program.maps.len()];
    for &output in program.operations.iter().flat_map(|one| &one.outputs) {
        n_writers[output] += 1;
    }
    let mut is_fused = vec![false; program.operations.len()];
    for (idx, operation) in program.operations.iter().enumerate() {
        let is_activation = matches!(operation.action, Action::Table | Action::Clamp);
        let input = operation.inputs.first().copied();
        let is_seen_by_one =
            |&map_idx: &usize| n_readers[map_idx] == 1 && !program.maps[map_idx].is_variable;
        let input = input.filter(is_seen_by_one).filter(|_| is_activation);
        // In a hostile file a later operation may write it too.
        let before = input
            .and_then(|map_idx| writers[map_idx])
            .filter(|&before| before < idx);
        let before = before.map(|before| &program.operations[before]);
        let n_writers = input.map_or(0, |map_idx| n_writers[map_idx]);
        let before = before.filter(|before| !is_apart(before, operation, n_writers));
        is_fused[idx] = before.is_some_and(|before| match before.action {
            Action::Binary(_)
            | Action::Unary
            | Action::Copy
            | Action::Requantise
            | Action::Resize(_)
            | Action::Layer(
                Kind::Convolution
                | Kind::Depthwise
                | Kind::VectorProduct
                | Kind::MatrixProduct
                | Kind::Pooling
                | Kind::MaxPooling
                | Kind::Maximum
                | Kind::ReduceSum,
            ) => true,
            Action::Transpose(_) => (before.inputs.first())
                .is_some_and(|&read| activates_transposed(program.maps[read].element_bytes())),
            _ => false,
        });
    }
    for (operation, is_fused) in program.operations.iter_mut().zip(is_fused) {
        if is_fused {
            operation.alias = Alias::Fused;
        }
    }
    let apart: Vec<usize> = (program.operations.iter())
        .filter(|operation| !operation.has_window())
        .flat_map(|operation| &operation.inputs)
        .filter_map(|&map_idx| writers[map_idx])
        .filter(|&before| program.operations[before].action == Action::Pad)
        .collect();
    for idx in apart {
        program.operations[idx].alias = Alias::Separate;
    }
}
