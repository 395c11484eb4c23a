//! The graph: order, edges and cycles, on subgraphs written as text.

use std::cell::Cell;

use litecast::formats::tflite::{
    Buffer, BuiltinOptions, Format, Model, OpKind, Operator, Subgraph, Tensor, TensorType,
};
use litecast::graph::{Graph, build};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

struct Case {
    why: &'static str,
    /// One operator a word, in file order: input tensors, `>`, output tensors; `-` is an absent
    /// input.
    operators: &'static str,
    variables: &'static [usize],
    /// Operator indices in the order of the nodes, then `src-tensor-dst` in node indices; or the
    /// operator on a cycle.
    expected: &'static str,
}

const CASES: &[Case] = &[
    Case {
        why: "a chain in file order",
        operators: "0>1 1>2 2>3",
        variables: &[],
        expected: "0 1 2 | 0-1-1 1-2-2",
    },
    Case {
        why: "ties keep file order: two branches and their sum",
        operators: "0>1 0>2 1,2>3",
        variables: &[],
        expected: "0 1 2 | 0-1-2 1-2-2",
    },
    Case {
        why: "a file in the wrong order is put right, and no more of it than needed",
        operators: "2>3 0>1 4>5 1>2",
        variables: &[],
        expected: "1 2 3 0 | 0-1-2 2-2-3",
    },
    Case {
        why: "one edge for a tensor that is read twice, one for each tensor between two operators",
        operators: "0>1,2 1,1,2>3",
        variables: &[],
        expected: "0 1 | 0-1-1 0-2-1",
    },
    Case {
        why: "absent inputs make no edges",
        operators: "0>1 -,1,->2",
        variables: &[],
        expected: "0 1 | 0-1-1",
    },
    Case {
        why: "a variable tensor that an operator reads and writes makes no cycle",
        operators: "0,1>1,2 2,1>3",
        variables: &[1],
        expected: "0 1 | 0-2-1",
    },
    Case {
        why: "of two writers, the last one before the reader; the first has its own reader",
        operators: "0>1 1>2 0>1 1>3",
        variables: &[],
        expected: "0 1 2 3 | 0-1-1 2-1-3",
    },
    Case {
        why: "no operators",
        operators: "",
        variables: &[],
        expected: "|",
    },
    Case {
        why: "an operator that reads its own result",
        operators: "0>1 1,2>2",
        variables: &[],
        expected: "cycle 1",
    },
    Case {
        why: "a cycle of two: neither the operator before it nor the one behind it is named",
        operators: "2>9 0>1 1,3>2 2>3",
        variables: &[],
        expected: "cycle 2|3",
    },
];

fn tensor(tensor_idx: usize, variables: &[usize]) -> Tensor {
    Tensor {
        name: tensor_idx.to_string().into(),
        tensor_type: TensorType::Int8,
        shape: vec![1],
        shape_signature: None,
        has_rank: true,
        buffer_idx: 0,
        is_variable: variables.contains(&tensor_idx),
        quantization: None,
        sparsity: None,
    }
}

fn operator(inputs: Vec<Option<usize>>, outputs: Vec<usize>) -> Operator {
    let code = OpKind::Add.into();
    let options = BuiltinOptions::Absent;
    Operator {
        code,
        inputs,
        outputs,
        intermediates: Box::default(),
        options,
        folded: Box::default(),
    }
}

fn model(operators: Vec<Operator>, n_tensors: usize, variables: &[usize]) -> Model<'static> {
    let main = Subgraph {
        name: "main".into(),
        tensors: (0..n_tensors).map(|idx| tensor(idx, variables)).collect(),
        operators,
        inputs: vec![0],
        outputs: Vec::new(),
    };
    Model {
        format: Format::Tflite,
        version: 3,
        description: String::new(),
        file_bytes: 0,
        subgraphs: vec![main],
        buffers: vec![Buffer::EMPTY],
        metadata: Vec::new(),
        signatures: Vec::new(),
        is_converted: false,
        diagnostics: Vec::new(),
        is_reshaped: false,
        unmatched_dimensions: None,
    }
}

fn parse_operator(word: &str) -> Operator {
    let (inputs, outputs) = word.split_once('>').unwrap();
    let inputs = inputs
        .split(',')
        .map(|input| (input != "-").then(|| input.parse().unwrap()));
    let outputs = outputs.split(',').map(|output| output.parse().unwrap());
    operator(inputs.collect(), outputs.collect())
}

fn render(graph: &Graph) -> String {
    let nodes = graph.nodes.iter().map(|node| node.operator_idx.to_string());
    let edges = graph
        .edges
        .iter()
        .map(|edge| format!("{}-{}-{}", edge.src, edge.tensor_idx, edge.dst));
    nodes
        .chain(["|".to_owned()])
        .chain(edges)
        .collect::<Vec<_>>()
        .join(" ")
}

#[test]
fn cases_give_their_graphs() {
    for Case {
        why,
        operators,
        variables,
        expected,
    } in CASES
    {
        let operators = operators.split_whitespace().map(parse_operator).collect();
        let model = model(operators, 10, variables);
        match build(&model, 0) {
            Ok(graph) => assert_eq!(&render(&graph), expected, "{why}"),
            Err(error) => {
                let allowed = expected
                    .strip_prefix("cycle ")
                    .unwrap_or_else(|| panic!("{why}: {error}"));
                let actual = error.operator_idx.to_string();
                assert!(
                    allowed.split('|').any(|operator| operator == actual),
                    "{why}: {error}"
                );
                assert_eq!((error.kind(), error.subgraph_idx), ("cycle", 0));
            }
        }
    }
    println!("{} cases agree", CASES.len());
}

/// Operator i writes tensor i + 1 and reads up to three tensors of any operator, in an order that
/// may or may not run.
fn some_operators() -> impl Strategy<Value = Vec<Operator>> {
    (1..=40_usize).prop_flat_map(|n_operators| {
        let operator = |operator_idx: usize| {
            let near = vec(0..=operator_idx, 0..4);
            let any = vec(0..n_operators, 0..4);
            prop_oneof![9 => near, 1 => any].prop_map(move |inputs| {
                let inputs = inputs
                    .into_iter()
                    .map(|t| Some(t).filter(|&t| t < n_operators));
                operator(inputs.collect(), vec![operator_idx + 1])
            })
        };
        (0..n_operators).map(operator).collect::<Vec<_>>()
    })
}

/// Quadratic: again and again, the first operator in the file that has not run and whose inputs
/// are all written.
fn naive_order(operators: &[Operator]) -> Option<Vec<usize>> {
    let mut is_written = vec![false; operators.len() + 1];
    is_written[0] = true;
    let mut order: Vec<usize> = Vec::new();
    while order.len() < operators.len() {
        let next = (0..operators.len()).find(|idx| {
            !order.contains(idx)
                && operators[*idx]
                    .inputs
                    .iter()
                    .flatten()
                    .all(|&t| is_written[t])
        })?;
        order.push(next);
        is_written[next + 1] = true;
    }
    Some(order)
}

#[test]
fn order_is_that_of_the_naive_algorithm() {
    let (n_ordered, n_cycles) = (Cell::new(0), Cell::new(0));
    let config = Config {
        cases: 600,
        failure_persistence: None,
        ..Config::default()
    };
    let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let outcome = TestRunner::new_with_rng(config, rng).run(&some_operators(), |operators| {
        let n_operators = operators.len();
        let expected = naive_order(&operators);
        let model = model(operators, n_operators + 1, &[]);
        let actual = build(&model, 0);
        match expected {
            Some(order) => {
                let graph = actual.unwrap();
                let nodes: Vec<usize> = graph.nodes.iter().map(|node| node.operator_idx).collect();
                assert_eq!(order, nodes);
                assert_edges(&graph);
                n_ordered.set(n_ordered.get() + 1);
            }
            None => {
                assert_on_cycle(
                    &model.subgraphs[0].operators,
                    actual.unwrap_err().operator_idx,
                );
                n_cycles.set(n_cycles.get() + 1);
            }
        }
        Ok(())
    });
    outcome.unwrap_or_else(|failure| panic!("{failure}"));
    let (n_ordered, n_cycles) = (n_ordered.get(), n_cycles.get());
    println!("{n_ordered} orders and {n_cycles} cycles agree");
    assert!(n_ordered > 50 && n_cycles > 50);
}

/// Forwards, sorted, each once, and exactly the tensors that nodes read from nodes.
fn assert_edges(graph: &Graph) {
    assert!(graph.edges.windows(2).all(|pair| pair[0] < pair[1]));
    assert!(graph.edges.iter().all(|edge| edge.src < edge.dst));
    let mut expected = Vec::new();
    for (dst, reader) in graph.nodes.iter().enumerate() {
        for (src, writer) in graph.nodes.iter().enumerate() {
            let read = |t: &&usize| reader.operator.inputs.contains(&Some(**t));
            expected.extend(
                writer
                    .operator
                    .outputs
                    .iter()
                    .filter(read)
                    .map(|&t| (dst, src, t)),
            );
        }
    }
    expected.sort_unstable();
    let actual: Vec<_> = graph
        .edges
        .iter()
        .map(|e| (e.dst, e.src, e.tensor_idx))
        .collect();
    assert_eq!(expected, actual);
}

/// Going along readers from the operator comes back to it.
fn assert_on_cycle(operators: &[Operator], operator_idx: usize) {
    let mut is_reached = vec![false; operators.len()];
    let mut open = vec![operator_idx];
    while let Some(writer) = open.pop() {
        for (reader, operator) in operators.iter().enumerate() {
            if operator.inputs.contains(&Some(writer + 1)) && !is_reached[reader] {
                is_reached[reader] = true;
                open.push(reader);
            }
        }
    }
    assert!(
        is_reached[operator_idx],
        "operator {operator_idx} is on no cycle"
    );
}

/// So many that an algorithm of quadratic cost would not end: chains, forwards and backwards in the
/// file, and one tensor that all operators read.
#[test]
fn graphs_of_many_operators_are_built() {
    let n = 200_000;
    let chain: Vec<_> = (0..n)
        .map(|i| operator(vec![Some(i)], vec![i + 1]))
        .collect();
    let backwards = chain.iter().rev().cloned().collect();
    let star = (0..n)
        .map(|i| operator(vec![Some(usize::from(i > 0))], vec![i + 1]))
        .collect();
    for (name, operators) in [("chain", chain), ("backwards", backwards), ("star", star)] {
        let model = model(operators, n + 1, &[]);
        assert_eq!(build(&model, 0).unwrap().nodes.len(), n, "{name}");
    }
}

#[test]
fn shared_models_make_graphs() {
    let Some(files) = litecast_needs::shared_models() else {
        return;
    };
    let (mut n_graphs, mut n_nodes) = (0, 0);
    for path in files {
        let file = std::fs::read(&path).unwrap();
        let model = litecast::formats::tflite::parse(&file).unwrap();
        for subgraph_idx in 0..model.subgraphs.len() {
            let graph = build(&model, subgraph_idx).unwrap();
            // Converters write operators in an order that runs, which must then be kept.
            let mut nodes = graph.nodes.iter().enumerate();
            assert!(nodes.all(|(idx, node)| node.operator_idx == idx));
            n_graphs += 1;
            n_nodes += graph.nodes.len();
        }
    }
    println!("{n_graphs} graphs with {n_nodes} nodes keep their file's order");
}
