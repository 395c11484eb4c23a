//! Graphs as JSON in which a few bytes ask for much.

use serde_json::{Map, Value, json};

use crate::case::{Amounts, cases};

cases! {
    many_attributes 4_000,
    empty_attributes 400_000,
    nested_attributes 100_000,
    long_attribute_lists 100_000,
    many_operands 4_000,
    absent_operands 400_000,
    shapes_of_rank_32 60_000,
    unused_tensors 100_000,
    empty_operators 90_000,
    repeated_outputs 400_000,
    repeated_inputs 400_000,
    long_tensor_names 200_000,
    escaped_names 200_000,
    long_kinds 500_000,
    long_own_kinds 20_000,
    long_numbers 500_000,
    constants_with_values 40_000,
    distributions 20_000,
    writers_of_one_tensor 40_000,
    unordered_chain 20_000,
    huge_macs 20_000,
    repeated_fields 200_000,
    chain_of_transposes 12_000,
    one_wide_split 4_000,
    long_error_values 500_000,
}

fn tensor(name: &str) -> Value {
    json!({"name": name, "shape": [1, 8, 8, 16], "type": "int8"})
}

fn operator(kind: &str, inputs: Value, outputs: Value) -> Value {
    json!({"kind": kind, "inputs": inputs, "outputs": outputs})
}

/// A graph of one RELU with other tensors and operators.
fn graph(tensors: Vec<Value>, operators: Vec<Value>) -> Value {
    let mut all = vec![tensor("x"), tensor("y")];
    all.extend(tensors);
    let mut nodes = vec![operator("RELU", json!(["x"]), json!(["y"]))];
    nodes.extend(operators);
    json!({
        "format": "litecast-graph", "version": 1, "name": "hostile",
        "inputs": ["x"], "outputs": ["y"], "tensors": all, "operators": nodes,
    })
}

fn written(document: &Value) -> Vec<u8> {
    document.to_string().into_bytes()
}

/// The graph, with one operator of an attribute that this text is.
fn with_attribute(value: &str) -> Vec<u8> {
    let mut node = operator("RELU", json!(["x"]), json!(["z"]));
    node["attributes"] = json!({"axis": "HERE"});
    let text = graph(vec![tensor("z")], vec![node]).to_string();
    text.replacen("\"HERE\"", value, 1).into_bytes()
}

fn many_attributes(Amounts { n, repeats }: Amounts) -> Vec<u8> {
    let fields: Map<String, Value> = (0..repeats.min(100))
        .map(|at| (format!("{at}"), json!(0)))
        .collect();
    let nodes = (0..n)
        .map(|_| {
            let mut node = operator("own::a", json!(["x"]), json!(["y"]));
            node["attributes"] = Value::Object(fields.clone());
            node
        })
        .collect();
    written(&graph(vec![], nodes))
}

fn empty_attributes(Amounts { n, .. }: Amounts) -> Vec<u8> {
    with_attribute(&format!("[{}{{}}]", "{},[],\"\",".repeat(n)))
}

fn nested_attributes(Amounts { n, .. }: Amounts) -> Vec<u8> {
    with_attribute(&format!("{}{}", "[".repeat(n), "]".repeat(n)))
}

fn long_attribute_lists(Amounts { n, .. }: Amounts) -> Vec<u8> {
    with_attribute(&format!("[{}1.5]", "1.5,".repeat(n)))
}

fn many_operands(Amounts { n, repeats }: Amounts) -> Vec<u8> {
    let inputs = json!(vec!["x"; repeats.min(100)]);
    let nodes = (0..n)
        .map(|_| operator("own::a", inputs.clone(), json!(["y"])))
        .collect();
    written(&graph(vec![], nodes))
}

fn absent_operands(Amounts { n, .. }: Amounts) -> Vec<u8> {
    let inputs = json!(vec![Value::Null; n]);
    written(&graph(
        vec![],
        vec![operator("own::a", inputs, json!(["y"]))],
    ))
}

fn shapes_of_rank_32(Amounts { n, .. }: Amounts) -> Vec<u8> {
    let tensors = (0..n)
        .map(|at| json!({"name": format!("{at}"), "shape": vec![1; 32], "type": "int8"}))
        .collect();
    written(&graph(tensors, vec![]))
}

fn unused_tensors(Amounts { n, .. }: Amounts) -> Vec<u8> {
    let tensors = (0..n)
        .map(|at| json!({"name": format!("{at}"), "shape": [], "type": "int8"}))
        .collect();
    written(&graph(tensors, vec![]))
}

fn empty_operators(Amounts { n, .. }: Amounts) -> Vec<u8> {
    let nodes = (0..n)
        .map(|_| operator("a", json!([]), json!([])))
        .collect();
    written(&graph(vec![], nodes))
}

fn repeated_outputs(Amounts { n, .. }: Amounts) -> Vec<u8> {
    let mut document = graph(vec![], vec![]);
    document["outputs"] = json!(vec!["y"; n]);
    written(&document)
}

fn repeated_inputs(Amounts { n, .. }: Amounts) -> Vec<u8> {
    let mut document = graph(vec![], vec![]);
    document["inputs"] = json!(vec!["x"; n]);
    written(&document)
}

fn long_tensor_names(Amounts { n, repeats }: Amounts) -> Vec<u8> {
    let name = "v".repeat(n);
    let nodes = (0..repeats.min(20))
        .map(|_| operator("RELU", json!(["x"]), json!([name])))
        .collect();
    written(&graph(vec![tensor(&name)], nodes))
}

fn escaped_names(Amounts { n, repeats }: Amounts) -> Vec<u8> {
    let name = "\u{1}".repeat(n);
    let nodes = (0..repeats.min(20))
        .map(|_| operator("RELU", json!(["x"]), json!([name])))
        .collect();
    written(&graph(vec![tensor(&name)], nodes))
}

fn long_kinds(Amounts { n, .. }: Amounts) -> Vec<u8> {
    let kind = "k".repeat(n);
    written(&graph(
        vec![],
        vec![operator(&kind, json!(["x"]), json!(["y"]))],
    ))
}

fn long_own_kinds(Amounts { n, repeats }: Amounts) -> Vec<u8> {
    let nodes = (0..repeats.min(400))
        .map(|at| {
            operator(
                &format!("{at}{}", "k".repeat(n)),
                json!(["x"]),
                json!(["y"]),
            )
        })
        .collect();
    written(&graph(vec![], nodes))
}

fn long_numbers(Amounts { n, .. }: Amounts) -> Vec<u8> {
    with_attribute(&format!("1{}.5e-{}", "0".repeat(n), "0".repeat(n)))
}

fn constants_with_values(Amounts { n, repeats }: Amounts) -> Vec<u8> {
    let values = vec![0; repeats.min(64)];
    let tensors = (0..n)
        .map(|at| {
            json!({"name": format!("{at}"), "shape": [values.len()], "type": "int32",
                "constant": true, "values": values})
        })
        .collect();
    written(&graph(tensors, vec![]))
}

/// Weights, each of another distribution.
fn distributions(Amounts { n, .. }: Amounts) -> Vec<u8> {
    let mut tensors = Vec::new();
    let mut nodes = Vec::new();
    for at in 0..n {
        tensors.push(
            json!({"name": format!("w{at}"), "shape": [16, 16], "type": "int8",
            "constant": true, "zero_share": at as f64 / n as f64, "entropy_bits": 6}),
        );
        tensors.push(json!({"name": format!("o{at}"), "shape": [1, 16], "type": "int8"}));
        nodes.push(operator(
            "FULLY_CONNECTED",
            json!(["x", format!("w{at}")]),
            json!([format!("o{at}")]),
        ));
    }
    written(&graph(tensors, nodes))
}

fn writers_of_one_tensor(Amounts { n, .. }: Amounts) -> Vec<u8> {
    let nodes = (0..n)
        .map(|_| operator("RELU", json!(["y"]), json!(["y"])))
        .collect();
    written(&graph(vec![], nodes))
}

fn unordered_chain(Amounts { n, .. }: Amounts) -> Vec<u8> {
    let tensors = (0..=n).map(|at| tensor(&format!("t{at}"))).collect();
    let nodes = (0..n)
        .rev()
        .map(|at| {
            operator(
                "RELU",
                json!([format!("t{at}")]),
                json!([format!("t{}", at + 1)]),
            )
        })
        .collect();
    written(&graph(tensors, nodes))
}

fn huge_macs(Amounts { n, .. }: Amounts) -> Vec<u8> {
    let nodes = (0..n)
        .map(|_| {
            let mut node = operator("own::a", json!(["x"]), json!(["y"]));
            node["macs"] = json!(u64::MAX);
            node
        })
        .collect();
    written(&graph(vec![], nodes))
}

fn repeated_fields(Amounts { n, .. }: Amounts) -> Vec<u8> {
    let text = graph(vec![], vec![]).to_string();
    let fields = "\"name\":\"\",".repeat(n);
    text.replacen('{', &format!("{{{fields}"), 1).into_bytes()
}

fn chain_of_transposes(Amounts { n, .. }: Amounts) -> Vec<u8> {
    let tensors = (0..=n).map(|at| tensor(&format!("t{at}"))).collect();
    let nodes = (0..n)
        .map(|at| {
            let mut node = operator(
                "TRANSPOSE",
                json!([if at == 0 {
                    "x".to_owned()
                } else {
                    format!("t{at}")
                }]),
                json!([format!("t{}", at + 1)]),
            );
            node["attributes"] = json!({"perm": [0, 2, 1, 3]});
            node
        })
        .collect();
    written(&graph(tensors, nodes))
}

fn one_wide_split(Amounts { n, repeats }: Amounts) -> Vec<u8> {
    let tensors = (0..n)
        .map(|at| json!({"name": format!("s{at}"), "shape": [1, 8, 8, 1], "type": "int8"}))
        .collect();
    let outputs: Vec<String> = (0..n).map(|at| format!("s{at}")).collect();
    let mut node = operator("SPLIT", json!(["x"]), json!(outputs));
    node["attributes"] = json!({"axis": 3, "num_splits": repeats});
    written(&graph(tensors, vec![node]))
}

/// What is wrong is long.
fn long_error_values(Amounts { n, .. }: Amounts) -> Vec<u8> {
    let mut node = operator("CONV_2D", json!(["x", "n".repeat(n)]), json!(["y"]));
    node["attributes"] = json!({"padding": "P".repeat(n), "k".repeat(n): 1});
    written(&graph(vec![], vec![node]))
}
