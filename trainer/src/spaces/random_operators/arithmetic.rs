//! Operators that compute each value from one or two, and reductions.

use super::graph::{Graph, Step};
use crate::writer::{Reduction, TensorIdx};

pub const STEPS: &[Step] = &[
    add,
    sub,
    mul,
    squared_difference,
    maximum,
    minimum,
    relu,
    relu6,
    relu_n1_to_1,
    relu_0_to_1,
    leaky_relu,
    prelu,
    elu,
    hard_swish,
    gelu,
    tanh,
    logistic,
    exp,
    log,
    abs,
    neg,
    rsqrt,
    softmax,
    quantize,
    mean,
    sum,
    reduce_max,
    reduce_min,
    arg_max,
];

/// A step that names an operator and adds it to any operand.
macro_rules! unary {
    ($($step:ident),*) => {
        $(fn $step(graph: &mut Graph, x: TensorIdx) -> Option<TensorIdx> {
            let name = graph.name(stringify!($step));
            Some(graph.builder.$step(&name, x))
        })*
    };
}

/// The same with a second operand.
macro_rules! binary {
    ($($step:ident),*) => {
        $(fn $step(graph: &mut Graph, x: TensorIdx) -> Option<TensorIdx> {
            let y = graph.second_operand(x);
            let name = graph.name(stringify!($step));
            Some(graph.builder.$step(&name, x, y))
        })*
    };
}

unary!(
    relu,
    relu6,
    relu_n1_to_1,
    relu_0_to_1,
    elu,
    hard_swish,
    tanh,
    logistic
);
unary!(exp, abs, neg, softmax);
binary!(add, sub, mul, maximum, minimum);

/// Vela fails if the input is an output of a SPLIT.
fn squared_difference(graph: &mut Graph, x: TensorIdx) -> Option<TensorIdx> {
    if graph.builder.is_part(x)
        || graph
            .value_of_same_shape(x)
            .is_some_and(|y| graph.builder.is_part(y))
    {
        return None;
    }
    let y = graph.second_operand(x);
    let name = graph.name("squared_difference");
    Some(graph.builder.squared_difference(&name, x, y))
}

fn leaky_relu(graph: &mut Graph, x: TensorIdx) -> Option<TensorIdx> {
    let slope_permille = graph.choices.pick(&[10, 100, 200, 300]);
    let name = graph.name("leaky_relu");
    Some(graph.builder.leaky_relu(&name, x, slope_permille))
}

fn prelu(graph: &mut Graph, x: TensorIdx) -> Option<TensorIdx> {
    let name = graph.name("prelu");
    graph.is_image(x).then(|| graph.builder.prelu(&name, x))
}

fn gelu(graph: &mut Graph, x: TensorIdx) -> Option<TensorIdx> {
    let approximate = graph.choices.coin();
    let name = graph.name("gelu");
    Some(graph.builder.gelu(&name, x, approximate))
}

/// Applied to absolute values, which are never negative.
fn log(graph: &mut Graph, x: TensorIdx) -> Option<TensorIdx> {
    let name = graph.name("log");
    let positive = graph.builder.abs(&format!("{name}/abs"), x);
    Some(graph.builder.log(&name, positive))
}

/// Applied to absolute values, which are never negative.
fn rsqrt(graph: &mut Graph, x: TensorIdx) -> Option<TensorIdx> {
    let name = graph.name("rsqrt");
    let positive = graph.builder.abs(&format!("{name}/abs"), x);
    Some(graph.builder.rsqrt(&name, positive))
}

fn quantize(graph: &mut Graph, x: TensorIdx) -> Option<TensorIdx> {
    let name = graph.name("quantize");
    Some(graph.builder.requantize(&name, x))
}

fn mean(graph: &mut Graph, x: TensorIdx) -> Option<TensorIdx> {
    let axes = match graph.rank(x) {
        4 => graph.choices.pick(&[&[1, 2][..], &[1], &[2]]),
        3 => graph.choices.pick(&[&[1][..], &[2]]),
        _ => return None,
    };
    let keep_dims = graph.choices.coin();
    reduce(graph, Reduction::Mean, x, axes, keep_dims)
}

fn sum(graph: &mut Graph, x: TensorIdx) -> Option<TensorIdx> {
    reduce_last(graph, Reduction::Sum, x)
}

fn reduce_max(graph: &mut Graph, x: TensorIdx) -> Option<TensorIdx> {
    reduce_last(graph, Reduction::Max, x)
}

fn reduce_min(graph: &mut Graph, x: TensorIdx) -> Option<TensorIdx> {
    reduce_last(graph, Reduction::Min, x)
}

fn reduce_last(graph: &mut Graph, reduction: Reduction, x: TensorIdx) -> Option<TensorIdx> {
    let last = graph.rank(x) - 1;
    reduce(graph, reduction, x, &[last], true)
}

fn reduce(
    graph: &mut Graph,
    reduction: Reduction,
    x: TensorIdx,
    axes: &[usize],
    keep_dims: bool,
) -> Option<TensorIdx> {
    let name = graph.name("reduce");
    let builder = &mut graph.builder;
    Some(builder.reduce(&name, reduction, x, axes, keep_dims))
}

/// An output of the graph, because its indices are not inputs for other operators.
fn arg_max(graph: &mut Graph, x: TensorIdx) -> Option<TensorIdx> {
    if graph.is_image(x) && graph.builder.channels(x) <= 127 {
        let name = graph.name("arg_max");
        let indices = graph.builder.arg_max(&name, x);
        graph.results.push(indices);
    }
    None
}
