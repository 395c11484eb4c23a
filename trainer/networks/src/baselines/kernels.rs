//! Operators that a compiler fuses: the kernels of nn-Meter (MobiSys 2021).
//!
//! nn-Meter measures on the device, with a test network for each pair of operator kinds, whether the second is fused
//! into the first. Here this follows from the training labels: a fused operator has a cost of 0, because its cost is
//! part of the operator that it is fused into.

use std::collections::{BTreeMap, BTreeSet};

use litecast::learned::features::{Features, N_COLUMNS};

use super::problem::Graph;
use crate::feature_columns::column;

/// A pair of operator kinds, `BuiltinOperator` numbers of writer and reader.
type Pair = (i32, i32);

/// The pairs of neighbouring operator kinds that are fused on a target.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FusionRules {
    /// Pairs whose reader is fused into its writer: an activation after a convolution.
    pub joins_writer: BTreeSet<Pair>,
    /// Pairs whose writer is fused into its reader: padding before a convolution.
    pub joins_reader: BTreeSet<Pair>,
}

/// Operators that are fused into one kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kernel {
    /// The operator with the most multiply-accumulates, or the first one.
    pub main: usize,
    /// Node indices, ascending.
    pub operators: Vec<usize>,
}

impl FusionRules {
    /// Finds the pairs that are fused in most of their occurrences in training graphs.
    pub fn detect(graphs: &[Graph], output: usize) -> Self {
        let labelled: Vec<(Neighbours, Vec<f64>)> = graphs
            .iter()
            .filter_map(|graph| {
                let costs = graph.operator_labels(output)?;
                Some((Neighbours::new(graph.features), costs))
            })
            .collect();
        let mut rules = Self {
            joins_writer: fused_in_most(labelled.iter().flat_map(|(neighbours, costs)| {
                let links = neighbours.main_links();
                links
                    .map(|(writer, reader)| (neighbours.pair(writer, reader), costs[reader] == 0.0))
            })),
            joins_reader: BTreeSet::new(),
        };
        // An activation without cost before a convolution belongs to the operator before it, not to the convolution:
        // only operators that are not fused into their writer can be fused into their reader.
        rules.joins_reader = fused_in_most(labelled.iter().flat_map(|(neighbours, costs)| {
            let lone = rules.lone_links(neighbours);
            lone.map(|(writer, reader)| (neighbours.pair(writer, reader), costs[writer] == 0.0))
        }));
        rules
    }

    /// Links whose writer is not fused into its own writer and whose reader is not fused into this writer.
    fn lone_links<'n>(
        &'n self,
        neighbours: &'n Neighbours,
    ) -> impl Iterator<Item = (usize, usize)> + 'n {
        let joined: BTreeSet<usize> = neighbours
            .main_links()
            .filter(|&(writer, reader)| {
                self.joins_writer.contains(&neighbours.pair(writer, reader))
            })
            .map(|(_, reader)| reader)
            .collect();
        let main: BTreeSet<(usize, usize)> = neighbours.main_links().collect();
        neighbours.links().filter(move |&(writer, reader)| {
            let is_one_kernel = joined.contains(&reader) && main.contains(&(writer, reader));
            !joined.contains(&writer) && !is_one_kernel
        })
    }

    /// The kernels of a graph, in the order of their first operators. Each operator is in one kernel.
    pub fn kernels(&self, features: &Features) -> Vec<Kernel> {
        let neighbours = Neighbours::new(features);
        let mut kernel_of: Vec<usize> = (0..features.n_nodes()).collect();
        let main = neighbours.main_links();
        main.filter(|&(writer, reader)| {
            self.joins_writer.contains(&neighbours.pair(writer, reader))
        })
        .for_each(|(writer, reader)| kernel_of[reader] = kernel_of[writer]);
        let lone: Vec<(usize, usize)> = self.lone_links(&neighbours).collect();
        for (writer, reader) in lone {
            if self.joins_reader.contains(&neighbours.pair(writer, reader)) {
                let (from, into) = (kernel_of[writer], kernel_of[reader]);
                kernel_of
                    .iter_mut()
                    .filter(|k| **k == from)
                    .for_each(|k| *k = into);
            }
        }
        let mut members: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for (node, &kernel) in kernel_of.iter().enumerate() {
            members.entry(kernel).or_default().push(node);
        }
        let mut kernels: Vec<Kernel> = members
            .into_values()
            .map(|operators| Kernel {
                main: main_operator(features, &operators),
                operators,
            })
            .collect();
        kernels.sort_by_key(|kernel| kernel.operators[0]);
        kernels
    }
}

/// The pairs that are `true` in more than half of their occurrences.
fn fused_in_most(pairs: impl Iterator<Item = (Pair, bool)>) -> BTreeSet<Pair> {
    let mut counts: BTreeMap<Pair, [usize; 2]> = BTreeMap::new();
    for (pair, is_fused) in pairs {
        counts.entry(pair).or_default()[usize::from(is_fused)] += 1;
    }
    let fused = counts.into_iter().filter(|(_, [no, yes])| yes > no);
    fused.map(|(pair, _)| pair).collect()
}

fn main_operator(features: &Features, operators: &[usize]) -> usize {
    let macs_column = column("log1p_macs");
    let macs = |node: usize| features.nodes[node * N_COLUMNS + macs_column];
    let mut main = operators[0];
    for &node in operators {
        if macs(node) > macs(main) {
            main = node;
        }
    }
    main
}

/// A graph's edges that allow fusion. Nothing is fused into an operator with several readers, because its result is
/// needed in memory (nn-Meter's rule for several outbound edges).
struct Neighbours<'f> {
    features: &'f Features,
    /// Writer and reader of each edge whose writer has no other reader, by reader.
    links: Vec<(usize, usize)>,
}

impl<'f> Neighbours<'f> {
    fn new(features: &'f Features) -> Self {
        let mut n_readers = vec![0; features.n_nodes()];
        features
            .edge_src
            .iter()
            .for_each(|&writer| n_readers[writer as usize] += 1);
        let edges = features.edge_src.iter().zip(&features.edge_dst);
        let edges = edges.map(|(&writer, &reader)| (writer as usize, reader as usize));
        let mut links: Vec<_> = edges
            .filter(|&(writer, _)| n_readers[writer] == 1)
            .collect();
        links.sort_unstable_by_key(|&(writer, reader)| (reader, writer));
        Self { features, links }
    }

    fn links(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        self.links.iter().copied()
    }

    /// Links from the writer that runs last before each reader: an addition is fused into the convolution before it,
    /// not into the branch that was computed long before.
    fn main_links(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        let mut last = vec![0; self.features.n_nodes()];
        let edges = self.features.edge_src.iter().zip(&self.features.edge_dst);
        edges.for_each(|(&writer, &reader)| {
            last[reader as usize] = last[reader as usize].max(writer as usize);
        });
        self.links()
            .filter(move |&(writer, reader)| last[reader] == writer)
    }

    fn pair(&self, writer: usize, reader: usize) -> Pair {
        (
            self.features.categories[writer],
            self.features.categories[reader],
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gnn::prepare::Example;
    use crate::gnn::whole_graph::WholeGraph;

    const PAD: i32 = 34;
    const CONV_2D: i32 = 3;
    const HARD_SWISH: i32 = 117;
    const ADD: i32 = 0;

    fn graph(categories: &[i32], edges: &[(u32, u32)], costs: &[f32]) -> (Features, Example) {
        let mut nodes = vec![0.0; categories.len() * N_COLUMNS];
        for (row, &category) in nodes.chunks_exact_mut(N_COLUMNS).zip(categories) {
            row[column("log1p_macs")] = if category == CONV_2D { 9.0 } else { 1.0 };
        }
        let features = Features {
            categories: categories.to_vec(),
            nodes,
            edge_src: edges.iter().map(|edge| edge.0).collect(),
            edge_dst: edges.iter().map(|edge| edge.1).collect(),
        };
        let example = Example {
            categories: vec![0; categories.len()],
            nodes: Vec::new(),
            whole: WholeGraph::default(),
            planned: Vec::new(),
            edge_src: features.edge_src.clone(),
            edge_dst: features.edge_dst.clone(),
            labels: vec![costs.iter().sum()],
            operator_labels: costs.to_vec(),
        };
        (features, example)
    }

    /// PAD → CONV → HARD_SWISH → CONV → ADD, and PAD → ADD.
    fn residual() -> (Features, Example) {
        graph(
            &[PAD, CONV_2D, HARD_SWISH, PAD, CONV_2D, ADD],
            &[(0, 1), (1, 2), (2, 4), (3, 5), (4, 5)],
            &[0.0, 5.0, 0.0, 1.0, 7.0, 0.0],
        )
    }

    #[test]
    fn finds_what_costs_nothing_by_itself() {
        let (features, example) = residual();
        let graph = Graph {
            features: &features,
            example: &example,
        };
        let rules = FusionRules::detect(&[graph], 0);
        println!("{rules:?}");
        assert_eq!(
            rules.joins_writer,
            BTreeSet::from([(CONV_2D, HARD_SWISH), (CONV_2D, ADD)])
        );
        assert_eq!(rules.joins_reader, BTreeSet::from([(PAD, CONV_2D)]));
        let kernels = rules.kernels(&features);
        let operators: Vec<_> = kernels
            .iter()
            .map(|k| (k.main, k.operators.as_slice()))
            .collect();
        assert_eq!(operators, [(1, &[0, 1, 2][..]), (3, &[3]), (4, &[4, 5])]);
    }

    #[test]
    fn keeps_apart_what_several_read() {
        let (features, example) = residual();
        let graph_of = |features, example| Graph { features, example };
        let rules = FusionRules::detect(&[graph_of(&features, &example)], 0);
        // The activation and the addition both read the convolution's result.
        let (features, _) = graph(
            &[CONV_2D, HARD_SWISH, ADD],
            &[(0, 1), (0, 2), (1, 2)],
            &[1.0, 1.0, 1.0],
        );
        let kernels = rules.kernels(&features);
        let operators: Vec<_> = kernels.iter().map(|k| k.operators.as_slice()).collect();
        assert_eq!(operators, [[0], [1], [2]]);
    }

    #[test]
    fn the_majority_decides() {
        let fused = graph(&[CONV_2D, ADD], &[(0, 1)], &[1.0, 0.0]);
        let apart = graph(&[CONV_2D, ADD], &[(0, 1)], &[1.0, 1.0]);
        let rules = |graphs: &[&(Features, Example)]| {
            let graphs = graphs
                .iter()
                .map(|(features, example)| Graph { features, example });
            FusionRules::detect(&graphs.collect::<Vec<_>>(), 0)
        };
        let pair = BTreeSet::from([(CONV_2D, ADD)]);
        assert_eq!(rules(&[&fused, &fused, &apart]).joins_writer, pair);
        assert!(rules(&[&fused, &apart, &apart]).joins_writer.is_empty());
    }
}
