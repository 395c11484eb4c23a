//! Comparisons, logic, selections, look-ups and reversals: operators that only Ethos-U85 supports.

use super::graph::{Graph, Step};
use crate::writer::{Comparison, Logic, TensorIdx};

pub const STEPS: &[Step] = &[
    compare_and_select,
    compare_and_select,
    logic,
    reduce_truth,
    gather,
    reverse,
];

const COMPARISONS: [Comparison; 6] = [
    Comparison::Equal,
    Comparison::NotEqual,
    Comparison::Greater,
    Comparison::GreaterEqual,
    Comparison::Less,
    Comparison::LessEqual,
];

fn compare(graph: &mut Graph, x: TensorIdx) -> TensorIdx {
    let y = graph.second_operand(x);
    let comparison = graph.choices.pick(&COMPARISONS);
    let name = graph.name("compare");
    graph.builder.compare(&name, comparison, x, y)
}

fn compare_and_select(graph: &mut Graph, x: TensorIdx) -> Option<TensorIdx> {
    let condition = compare(graph, x);
    let y = graph.second_operand(x);
    let broadcasts = graph.shape(y) != graph.shape(x) || graph.choices.coin();
    let name = graph.name("select");
    let builder = &mut graph.builder;
    Some(builder.select(&name, condition, [x, y], broadcasts))
}

fn logic(graph: &mut Graph, x: TensorIdx) -> Option<TensorIdx> {
    let left = compare(graph, x);
    let right = compare(graph, x);
    let logic = graph.choices.pick(&[Logic::And, Logic::Or]);
    let name = graph.name("logic");
    let both = graph.builder.logical(&name, logic, left, right);
    let result = if graph.choices.coin() {
        let name = graph.name("not");
        graph.builder.logical_not(&name, both)
    } else {
        both
    };
    graph.results.push(result);
    None
}

fn reduce_truth(graph: &mut Graph, x: TensorIdx) -> Option<TensorIdx> {
    let truth = compare(graph, x);
    let logic = graph.choices.pick(&[Logic::And, Logic::Or]);
    let axis = graph.rank(x) - 1;
    let name = graph.name("reduce_truth");
    let result = graph.builder.reduce_truth(&name, logic, truth, axis);
    graph.results.push(result);
    None
}

/// Rows of a table, as in an embedding.
fn gather(graph: &mut Graph, x: TensorIdx) -> Option<TensorIdx> {
    let shape = graph.shape(x);
    if shape.len() != 2 {
        return None;
    }
    let rows = graph.choices.pick(&[8, 32, 100]);
    let name = graph.name("table");
    let table = graph.builder.parameters(&name, &[rows, shape[1]], 1.0);
    let n = graph.choices.between(1, 8);
    let indices: Vec<_> = (0..n)
        .map(|_| graph.choices.between(0, rows as usize - 1) as i32)
        .collect();
    let name = graph.name("gather");
    Some(graph.builder.gather(&name, table, 0, &indices))
}

fn reverse(graph: &mut Graph, x: TensorIdx) -> Option<TensorIdx> {
    let axis = graph.axis(x, 2)?;
    let name = graph.name("reverse");
    Some(graph.builder.reverse(&name, x, axis))
}
