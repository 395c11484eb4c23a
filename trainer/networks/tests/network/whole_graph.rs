//! What networks are told of a whole graph, counted by hand.

use litecast::learned::features::Features;
use litecast_networks::gnn::synthetic;
use litecast_networks::gnn::whole_graph::{N_GLOBALS, WholeGraph};

use super::{N_COLUMNS, max_difference};

#[test]
fn whole_graph_is_as_counted_by_hand() {
    // Multiply-accumulates, bytes of weights, bytes read, bytes written.
    let operators = [
        [10.0, 1.0, 4.0, 7.0],
        [0.0, 2.0, 5.0, 8.0],
        [30.0, 3.0, 6.0, 9.0],
        [0.0, 0.0, 2.0, 2.0],
    ];
    let columns = synthetic::columns(N_COLUMNS);
    let mut nodes = vec![0f32; operators.len() * N_COLUMNS];
    for (row, operator) in nodes.chunks_exact_mut(N_COLUMNS).zip(operators) {
        let places = [
            columns.macs,
            columns.weight_bytes,
            columns.input_bytes,
            columns.output_bytes,
        ];
        for (place, amount) in places.into_iter().zip(operator) {
            row[place] = f32::ln_1p(amount);
        }
    }
    let features = Features {
        categories: vec![0; operators.len()],
        nodes,
        edge_src: vec![0, 0, 1],
        edge_dst: vec![1, 2, 2],
    };
    let whole = WholeGraph::new(&features, &columns);
    // Of the bytes moved: 12, 15, 18 and 4.
    let shares = [
        [10.0 / 40.0, 12.0 / 49.0, 1.0 / 6.0],
        [0.0, 15.0 / 49.0, 2.0 / 6.0],
        [30.0 / 40.0, 18.0 / 49.0, 3.0 / 6.0],
        [0.0, 4.0 / 49.0, 0.0],
    ];
    let counts = [4.0, 3.0, 3.0 / 12.0];
    let amounts = [
        [40.0, 49.0, 6.0],
        [10.0, 49.0 / 4.0, 6.0 / 4.0],
        [0.0, 12.0, 1.0],
        [30.0, 18.0, 3.0],
    ];
    let ratios = [(7.0 + 7.0 + 8.0) / 3.0, 40.0 / 49.0];
    let amounts = amounts.as_flattened().iter().chain(&ratios);
    let globals: Vec<f32> = (counts.into_iter())
        .chain(amounts.map(|amount: &f32| amount.ln_1p()))
        .collect();
    assert_eq!(globals.len(), N_GLOBALS);
    let shares = max_difference(&whole.shares, shares.as_flattened());
    let globals = max_difference(&whole.globals, &globals);
    println!("largest difference: shares {shares:e}, globals {globals:e}");
    assert!(shares < 1e-6 && globals < 1e-6);
}
