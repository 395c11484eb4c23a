//! [`Features`] of several graphs → [`Batch`]: the input for one run of the exported network, in which the graphs are
//! separate parts of one graph.

use crate::learned::features::Features;
use crate::learned::manifest::tensor_names as names;

/// Number of nodes of one kind that are multiplied together with the weights of their kind. A larger number would
/// compute more unused rows if a graph has few nodes of a kind; a smaller number would copy the weights more often.
const GROUP_SIZE: usize = 16;

/// [`GROUP_SIZE`] for graphs with [`MANY_NODES`], in which copies of weights would take most of the memory and unused
/// rows are few.
const LARGE_GROUP_SIZE: usize = 256;
const MANY_NODES: usize = 4096;

fn group_size(n_nodes: usize) -> usize {
    if n_nodes < MANY_NODES {
        GROUP_SIZE
    } else {
        LARGE_GROUP_SIZE
    }
}

/// The network's inputs.
#[derive(Clone, Debug, PartialEq)]
pub struct Batch {
    /// Row-major `[n_nodes, n_columns]`, raw features, graph after graph.
    pub nodes: Vec<f32>,
    category: Vec<i64>,
    edge_src: Vec<i64>,
    edge_dst: Vec<i64>,
    groups: Groups,
    graph_of_node: Vec<i64>,
    first_node: Vec<i64>,
}

/// One of the inputs that count nodes, graphs, categories or places.
#[derive(Clone, Debug, PartialEq)]
pub struct Indices<'b> {
    /// One of [`tensor_names`](crate::learned::manifest::tensor_names).
    pub name: &'static str,
    pub shape: Vec<usize>,
    pub values: &'b [i64],
}

impl Batch {
    /// Packs `graphs`, each with at least one node and with the same number of columns. `category_index` maps a
    /// `BuiltinOperator` number to its category. Linear in nodes and edges, except for a logarithmic factor to sort
    /// nodes by category.
    pub fn new(graphs: &[&Features], category_index: impl Fn(i32) -> i64) -> Self {
        let categories = graphs.iter().flat_map(|graph| &graph.categories);
        let category: Vec<i64> = categories.map(|&builtin| category_index(builtin)).collect();
        let first_node: Vec<i64> = graphs
            .iter()
            .scan(0, |next, graph| {
                let first = *next;
                *next += graph.n_nodes() as i64;
                Some(first)
            })
            .collect();
        let ends = |edge_ends: fn(&Features) -> &[u32]| -> Vec<i64> {
            let parts = graphs.iter().zip(&first_node);
            parts
                .flat_map(|(graph, first)| {
                    edge_ends(graph)
                        .iter()
                        .map(move |&end| first + i64::from(end))
                })
                .collect()
        };
        let members = graphs.iter().zip(0..);
        Self {
            nodes: graphs
                .iter()
                .flat_map(|graph| &graph.nodes)
                .copied()
                .collect(),
            groups: Groups::new(&category),
            category,
            edge_src: ends(|graph| &graph.edge_src),
            edge_dst: ends(|graph| &graph.edge_dst),
            graph_of_node: members
                .flat_map(|(graph, graph_idx)| std::iter::repeat_n(graph_idx, graph.n_nodes()))
                .collect(),
            first_node,
        }
    }

    pub fn n_nodes(&self) -> usize {
        self.category.len()
    }

    pub fn n_graphs(&self) -> usize {
        self.first_node.len()
    }

    /// All inputs except the features, in the order in which the network declares them.
    pub fn indices(&self) -> [Indices<'_>; 8] {
        let list = |name, values| Indices {
            name,
            shape: vec![<[i64]>::len(values)],
            values,
        };
        let groups = &self.groups;
        [
            list(names::CATEGORY, &self.category),
            list(names::EDGE_SRC, &self.edge_src),
            list(names::EDGE_DST, &self.edge_dst),
            list(names::GROUP_CATEGORY, &groups.category),
            Indices {
                name: names::GROUP_NODES,
                shape: vec![groups.category.len(), group_size(self.n_nodes())],
                values: &groups.nodes,
            },
            list(names::PLACE_OF_NODE, &groups.place_of_node),
            list(names::GRAPH_OF_NODE, &self.graph_of_node),
            list(names::FIRST_NODE, &self.first_node),
        ]
    }
}

/// Nodes by category, in groups of [`group_size`].
#[derive(Clone, Debug, PartialEq)]
struct Groups {
    category: Vec<i64>,
    /// Row-major `[n_groups, group_size]`; the last node of a category is repeated to fill its group.
    nodes: Vec<i64>,
    /// Index of each node in `nodes`.
    place_of_node: Vec<i64>,
}

impl Groups {
    fn new(category: &[i64]) -> Self {
        let group_size = group_size(category.len());
        let mut order: Vec<usize> = (0..category.len()).collect();
        order.sort_by_key(|&node| category[node]);
        let mut groups = Self {
            category: Vec::new(),
            nodes: Vec::new(),
            place_of_node: vec![0; category.len()],
        };
        let of_one_kind = order.chunk_by(|&a, &b| category[a] == category[b]);
        for group in of_one_kind.flat_map(|nodes| nodes.chunks(group_size)) {
            groups.category.push(category[group[0]]);
            for (&node, place) in group.iter().zip(groups.nodes.len() as i64..) {
                groups.place_of_node[node] = place;
            }
            let last = group[group.len() - 1];
            let filler = std::iter::repeat_n(&last, group_size - group.len());
            groups
                .nodes
                .extend(group.iter().chain(filler).map(|&node| node as i64));
        }
        groups
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn graph(categories: &[i32], edges: &[(u32, u32)]) -> Features {
        Features {
            categories: categories.to_vec(),
            nodes: categories.iter().map(|&category| category as f32).collect(),
            edge_src: edges.iter().map(|edge| edge.0).collect(),
            edge_dst: edges.iter().map(|edge| edge.1).collect(),
        }
    }

    #[test]
    fn graphs_stand_side_by_side() {
        let one = graph(&[7, 3, 7], &[(0, 1), (1, 2)]);
        let other = graph(&[3, 5], &[(0, 1)]);
        let batch = Batch::new(&[&one, &other], i64::from);
        assert_eq!((batch.n_graphs(), batch.n_nodes()), (2, 5));
        assert_eq!(batch.nodes, [7.0, 3.0, 7.0, 3.0, 5.0]);
        assert_eq!(batch.edge_src, [0, 1, 3]);
        assert_eq!(batch.edge_dst, [1, 2, 4]);
        assert_eq!(batch.graph_of_node, [0, 0, 0, 1, 1]);
        assert_eq!(batch.first_node, [0, 3]);
        assert_eq!(batch.groups.category, [3, 5, 7]);
        assert_eq!(batch.groups.place_of_node, [32, 0, 33, 1, 16]);
    }

    #[test]
    fn every_group_is_full_and_of_one_category() {
        let categories: Vec<i64> = (0..100).map(|node| i64::from(node % 7 == 0)).collect();
        let groups = Groups::new(&categories);
        assert_eq!(groups.nodes.len(), groups.category.len() * GROUP_SIZE);
        let rows = groups.nodes.chunks(GROUP_SIZE).zip(&groups.category);
        for (nodes, category) in rows {
            assert!(
                nodes
                    .iter()
                    .all(|&node| categories[node as usize] == *category)
            );
        }
        let places = groups.place_of_node.iter().zip(0..);
        for (&place, node) in places {
            assert_eq!(groups.nodes[place as usize], node);
        }
    }
}
