//! SeerNet and Eagle node by node in double precision, as their papers have them, against the
//! tensors of whole batches.

use std::iter::once;

use burn::module::Module;
use burn::nn::Linear;
use burn::tensor::{Device, Tensor};
use litecast_networks::gnn::eagle::{Convolution, Eagle, NORM_EPSILON};
use litecast_networks::gnn::network::GraphNetwork;
use litecast_networks::gnn::prepare::Example;
use litecast_networks::gnn::seernet::{Attention, Block, Mlp, SeerNet};
use litecast_networks::gnn::shape::Architecture;
use litecast_networks::gnn::whole_graph::{Columns, N_AMOUNTS};

use super::{Fixture, N_COLUMNS, floats, forward, jittered, max_difference};

type Values = Vec<f64>;

fn doubles<const D: usize>(tensor: Tensor<D>) -> Values {
    floats(tensor).into_iter().map(f64::from).collect()
}

fn widened(values: &[f32]) -> Values {
    values.iter().map(|&v| f64::from(v)).collect()
}

/// x W + b.
fn product(inputs: &[f64], weights: Tensor<2>) -> Values {
    let [n_inputs, n_outputs] = weights.dims();
    assert_eq!(inputs.len(), n_inputs);
    let weights = doubles(weights);
    let output = |k: usize| {
        let column = weights.iter().skip(k).step_by(n_outputs);
        inputs.iter().zip(column).map(|(x, w)| x * w).sum()
    };
    (0..n_outputs).map(output).collect()
}

fn dense(layer: &Linear, inputs: &[f64]) -> Values {
    let bias = layer.bias.as_ref().expect("layers have a bias");
    sum(&[product(inputs, layer.weight.val()), doubles(bias.val())])
}

fn mlp(mlp: &Mlp, parts: &[&Values]) -> Values {
    let inputs: Values = parts.iter().flat_map(|part| part.iter().copied()).collect();
    let first = dense(&mlp.layers[0], &inputs);
    let deeper = mlp.layers[1..].iter();
    deeper.fold(first, |row, layer| dense(layer, &relu(row)))
}

fn relu(row: Values) -> Values {
    row.into_iter().map(|value| value.max(0.0)).collect()
}

fn sum(rows: &[Values]) -> Values {
    let column = |k: usize| rows.iter().map(|row| row[k]).sum();
    (0..rows[0].len()).map(column).collect()
}

fn scaled(row: &Values, by: f64) -> Values {
    row.iter().map(|value| value * by).collect()
}

fn one_hot(place: usize, n: usize) -> Values {
    (0..n).map(|k| f64::from(u8::from(k == place))).collect()
}

fn edges(example: &Example) -> Vec<(usize, usize)> {
    let ends = example.edge_src.iter().zip(&example.edge_dst);
    ends.map(|(&src, &dst)| (src as usize, dst as usize))
        .collect()
}

/// Σ softmax(w · v) v.
fn pool(attention: &Attention, nodes: &[Values]) -> Values {
    let score = |node: &Values| product(node, attention.score.val())[0].exp();
    let total: f64 = nodes.iter().map(score).sum();
    let weighted: Vec<Values> = nodes.iter().map(|v| scaled(v, score(v) / total)).collect();
    sum(&weighted)
}

struct Rows {
    nodes: Vec<Values>,
    edges: Vec<Values>,
    graph: Values,
    pooled: Values,
}

fn seernet(network: &SeerNet, example: &Example, n_kinds: usize, columns: &Columns) -> Values {
    let told = |node: usize| &example.nodes[node * N_COLUMNS..][..N_COLUMNS];
    let node = |i: usize| {
        let kind = one_hot(example.categories[i], n_kinds);
        let shares = widened(&example.whole.shares[i * N_AMOUNTS..][..N_AMOUNTS]);
        dense(&network.nodes, &[widened(told(i)), kind, shares].concat())
    };
    let edge = |&(writer, _): &(usize, usize)| {
        let told = columns
            .edge_columns()
            .map(|column| f64::from(told(writer)[column]));
        dense(&network.edges, &told)
    };
    let nodes: Vec<Values> = (0..example.n_nodes()).map(node).collect();
    let mut rows = Rows {
        edges: edges(example).iter().map(edge).collect(),
        graph: dense(&network.graph, &widened(&example.whole.globals)),
        pooled: pool(&network.attention, &nodes),
        nodes,
    };
    for layer in &network.blocks {
        rows = block(layer, rows, &edges(example));
    }
    dense(&network.output, &relu(dense(&network.head, &rows.graph)))
}

fn block(layer: &Block, rows: Rows, ends: &[(usize, usize)]) -> Rows {
    let Rows {
        nodes,
        edges,
        graph,
        pooled,
    } = rows;
    let edge = |(edge, &(src, dst)): (&Values, &(usize, usize))| {
        mlp(&layer.edges, &[edge, &nodes[src], &nodes[dst], &graph])
    };
    let new_edges: Vec<Values> = edges.iter().zip(ends).map(edge).collect();
    let node = |(i, node): (usize, &Values)| {
        let incoming = new_edges.iter().zip(ends).filter(|(_, ends)| ends.1 == i);
        let incoming: Vec<Values> = incoming.map(|(edge, _)| edge.clone()).collect();
        let zero = vec![0.0; node.len()];
        let mean = 1.0 / incoming.len().max(1) as f64;
        let mean = scaled(&sum(&[incoming, vec![zero]].concat()), mean);
        let boosted = sum(&[node.clone(), pooled.clone()]);
        mlp(&layer.nodes, &[&mean, &boosted, &graph])
    };
    let new_nodes: Vec<Values> = nodes.iter().enumerate().map(node).collect();
    let new_pooled = sum(&[pool(&layer.attention, &new_nodes), pooled.clone()]);
    let new_pooled = mlp(&layer.pooled, &[&new_pooled]);
    let largest = |k: usize| new_nodes.iter().map(|v| v[k]).fold(f64::MIN, f64::max);
    let largest: Values = (0..graph.len()).map(largest).collect();
    let mean = scaled(&sum(&new_nodes), 1.0 / new_nodes.len() as f64);
    let both = dense(&layer.max_and_mean, &[largest, mean].concat());
    let new_graph = mlp(&layer.graph, &[&both, &new_pooled, &graph]);
    let added = |old: Vec<Values>, new: Vec<Values>| {
        let pairs = old.into_iter().zip(new);
        pairs.map(|(old, new)| sum(&[old, new])).collect()
    };
    Rows {
        nodes: added(nodes, new_nodes),
        edges: added(edges, new_edges),
        graph: sum(&[graph, new_graph]),
        pooled: sum(&[pooled, new_pooled]),
    }
}

/// The last row is that of the node above all others.
fn eagle(network: &Eagle, example: &Example, n_kinds: usize) -> Values {
    let above = example.n_nodes();
    let kinds = example.categories.iter().copied().chain(once(n_kinds));
    let mut rows: Vec<Values> = kinds.map(|kind| one_hot(kind, n_kinds + 1)).collect();
    let reads = |reader: usize, read: usize| {
        reader == read || reader == above || edges(example).contains(&(reader, read))
    };
    for layer in &network.layers {
        let products = rows.iter().map(|row| product(row, layer.weight.val()));
        let products: Vec<Values> = products.collect();
        let new = |reader: usize| {
            let read = products.iter().enumerate();
            let read = read.filter(|&(read, _)| reads(reader, read));
            let read: Vec<Values> = read.map(|(_, row)| row.clone()).collect();
            relu(norm(layer, &sum(&[sum(&read), doubles(layer.bias.val())])))
        };
        rows = (0..=above).map(new).collect();
    }
    dense(&network.output, &rows[above])
}

fn norm(layer: &Convolution, row: &Values) -> Values {
    let n = row.len() as f64;
    let mean = row.iter().sum::<f64>() / n;
    let variance = row.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / n;
    let gamma = doubles(layer.norm.gamma.val());
    let beta = doubles(layer.norm.beta.as_ref().expect("the norm has one").val());
    let normal = row
        .iter()
        .map(|v| (v - mean) / (variance + NORM_EPSILON).sqrt());
    let scaled = normal.zip(gamma).zip(beta);
    scaled.map(|((v, gamma), beta)| v * gamma + beta).collect()
}

#[test]
fn seernet_and_eagle_agree_with_naive_versions() {
    // Batches without any edge among them.
    for sizes in [vec![3, 25, 1, 9], vec![1], vec![1, 1]] {
        let fixture = Fixture::new(&sizes);
        let n_kinds = fixture.scaling.vocabulary.len();
        for architecture in [Architecture::Seernet, Architecture::Eagle] {
            let tracked = Device::flex().autodiff();
            let model = jittered(fixture.network(architecture, &tracked)).valid();
            let naive = |example: &Example| match &model {
                GraphNetwork::SeerNet(network) => {
                    seernet(network, example, n_kinds, &fixture.scaling.columns)
                }
                GraphNetwork::Eagle(network) => eagle(network, example, n_kinds),
                _ => unreachable!("one of the two was asked for"),
            };
            let naive = fixture.examples.iter().flat_map(naive);
            let naive: Vec<f32> = naive.map(|value| value as f32).collect();
            let actual = forward(&model, &fixture.batch(&Device::flex()), &fixture);
            let difference = max_difference(&naive, &actual);
            println!("{architecture:?}, graphs of {sizes:?}: largest difference {difference:e}");
            assert!(difference < 1e-5);
        }
    }
}
