//! The order of nodes: each after those whose results it reads. ONNX asks writers for it, but ONNX Runtime also runs
//! files without it.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::ops::Range;

use super::names::Name;
use super::proto::{Bodies, Graph, Node};

/// Sorts the nodes of the graph and of every body, where they are not in order. Nodes of a circle stay where they are.
/// Linear in nodes and operands, for each depth of bodies.
pub(super) fn sort(graph: &mut Graph) {
    let n_nodes = graph.nodes.len();
    sort_body(graph, 0..n_nodes, 0);
}

/// Sorts the nodes in `range` that are `depth` bodies deep, each with the nodes of its own bodies before it.
fn sort_body(graph: &mut Graph, range: Range<usize>, depth: usize) {
    let units = units(&graph.nodes, range.clone(), depth);
    if let Some(order) = order_of_units(&graph.nodes, &units) {
        let sources = order.iter().filter_map(|&unit| units.get(unit).cloned());
        let sources: Vec<Range<usize>> = sources.collect();
        move_loops(graph, &sources, range.start);
        let taken = |at: usize| graph.nodes.get_mut(at).map(std::mem::take);
        let moved: Vec<Node> = sources.into_iter().flatten().filter_map(taken).collect();
        for (place, node) in graph.nodes.iter_mut().skip(range.start).zip(moved) {
            *place = node;
        }
        return sort_inner(graph, range, depth);
    }
    units
        .into_iter()
        .for_each(|unit| sort_inner_unit(graph, unit, depth));
}

fn sort_inner(graph: &mut Graph, range: Range<usize>, depth: usize) {
    let units = units(&graph.nodes, range, depth);
    units
        .into_iter()
        .for_each(|unit| sort_inner_unit(graph, unit, depth));
}

fn sort_inner_unit(graph: &mut Graph, unit: Range<usize>, depth: usize) {
    let inner = unit.start..unit.end.saturating_sub(1);
    if !inner.is_empty() {
        sort_body(graph, inner, depth.saturating_add(1));
    }
}

/// The nodes at this depth, each with the nodes of its bodies before it.
fn units(nodes: &[Node], range: Range<usize>, depth: usize) -> Vec<Range<usize>> {
    let mut units = Vec::new();
    let mut start = range.start;
    for (at, node) in nodes.iter().enumerate().take(range.end).skip(range.start) {
        if node.depth == depth {
            let end = at.saturating_add(1);
            units.push(start..end);
            start = end;
        }
    }
    units
}

/// The order of units, the earliest possible one first; `None` if they are in order or in a circle.
fn order_of_units(nodes: &[Node], units: &[Range<usize>]) -> Option<Vec<usize>> {
    let mut writers: HashMap<Name, usize> = HashMap::new();
    for (unit_idx, unit) in units.iter().enumerate() {
        let node = nodes.get(unit.end.checked_sub(1)?)?;
        for &output in node.outputs.iter().filter(|name| !name.is_empty()) {
            writers.entry(output).or_insert(unit_idx);
        }
    }
    let reads = |unit: &Range<usize>| {
        let inside = nodes.get(unit.clone()).unwrap_or_default();
        let names = inside.iter().flat_map(|node| &node.inputs);
        names.filter_map(|name| writers.get(name).copied())
    };
    let is_early = |(unit_idx, unit)| reads(unit).any(|writer| writer >= unit_idx);
    if !units.iter().enumerate().any(is_early) {
        return None;
    }
    let mut n_missing = vec![0usize; units.len()];
    let mut readers: Vec<Vec<usize>> = vec![Vec::new(); units.len()];
    for (unit_idx, unit) in units.iter().enumerate() {
        for writer in reads(unit) {
            readers.get_mut(writer)?.push(unit_idx);
            let n = n_missing.get_mut(unit_idx)?;
            *n = n.saturating_add(1);
        }
    }
    let first = n_missing.iter().enumerate().filter(|(_, n)| **n == 0);
    let mut ready: BinaryHeap<Reverse<usize>> = first.map(|(unit, _)| Reverse(unit)).collect();
    let mut order = Vec::with_capacity(units.len());
    while let Some(Reverse(unit)) = ready.pop() {
        order.push(unit);
        for reader in std::mem::take(readers.get_mut(unit)?) {
            let n = n_missing.get_mut(reader)?;
            *n = n.saturating_sub(1);
            if *n == 0 {
                ready.push(Reverse(reader));
            }
        }
    }
    (order.len() == units.len()).then_some(order)
}

/// Changes where the bodies of loops lie to where their nodes are moved: `sources` in turn, from `start` on.
fn move_loops(graph: &mut Graph, sources: &[Range<usize>], start: usize) {
    let mut to = start;
    for source in sources {
        for node in graph.nodes.get(source.clone()).unwrap_or_default() {
            let Some(Bodies::Loop(loop_idx)) = node.bodies else {
                continue;
            };
            if let Some(body) = graph.loops.get_mut(loop_idx) {
                let moved = |at: usize| at.saturating_sub(source.start).saturating_add(to);
                body.nodes = moved(body.nodes.start)..moved(body.nodes.end);
            }
        }
        to = to.saturating_add(source.len());
    }
}
