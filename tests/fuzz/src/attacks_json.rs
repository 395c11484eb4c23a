//! Graphs as JSON with a structure that somebody thought of, made from the documented fields alone.

use serde_json::{Map, Value, json};

use crate::random::Random;
use crate::texts;

type Change = fn(&mut Random, &mut Value);

/// The example of the format with one dimension of it strained.
pub fn graph(random: &mut Random) -> Vec<u8> {
    let changes: [Change; 9] = [
        ranks, names, values, nesting, chain, operands, ends, copies, fields,
    ];
    let mut document = texts::graph_seed();
    for _ in 0..1 + random.below(2) {
        random.pick(&changes)(random, &mut document);
    }
    let mut text = document.to_string();
    if random.one_in(8) {
        // Numbers that JSON can write and no type of the format can hold.
        let number = random.pick(&["1e999", "-1e999", "1e-999", "99999999999999999999999", "-0"]);
        text = text.replacen("16,", &format!("{number},"), 1);
    }
    text.into_bytes()
}

/// The list of that name in the document; the seed has one.
fn list<'d>(document: &'d mut Value, name: &str) -> &'d mut Vec<Value> {
    document[name]
        .as_array_mut()
        .expect("the seed has this list")
}

fn one_of<'d>(document: &'d mut Value, name: &str, random: &mut Random) -> &'d mut Value {
    let entries = list(document, name);
    let idx = random.below(entries.len());
    &mut entries[idx]
}

/// Shapes of any rank with sides at the edges of types.
fn ranks(random: &mut Random, document: &mut Value) {
    let sides = [
        0,
        1,
        2,
        8,
        65_536,
        -1,
        i64::from(i32::MAX),
        i64::MAX,
        i64::MIN,
    ];
    for _ in 0..1 + random.below(4) {
        let rank = random.amount();
        let shape: Vec<i64> = (0..rank).map(|_| random.pick(&sides)).collect();
        one_of(document, "tensors", random)["shape"] = json!(shape);
    }
}

/// Long names of tensors, operators' kinds and the graph, and names with characters of every kind.
fn names(random: &mut Random, document: &mut Value) {
    let parts = [
        "a",
        "\u{0}",
        "\u{202e}",
        "\n",
        "<b>",
        "é",
        "\u{1f600}",
        "\"",
        "\\",
    ];
    let name = json!(random.pick(&parts).repeat(random.amount()));
    match random.below(4) {
        0 => document["name"] = name,
        1 => one_of(document, "operators", random)["kind"] = name,
        2 => one_of(document, "tensors", random)["name"] = name,
        _ => list(document, "tensors")
            .iter_mut()
            .for_each(|tensor| tensor["name"] = name.clone()),
    }
}

/// Constants with more or other values than their shape has.
fn values(random: &mut Random, document: &mut Value) {
    let numbers = [0, 1, -1, 3, 1 << 20, i64::from(i32::MAX), i64::MIN];
    let values: Vec<i64> = (0..random.amount())
        .map(|_| random.pick(&numbers))
        .collect();
    let tensor = one_of(document, "tensors", random);
    tensor["values"] = json!(values);
    tensor["constant"] = json!(!random.one_in(4));
}

/// Arrays or objects in each other where a number or a list is expected.
fn nesting(random: &mut Random, document: &mut Value) {
    let mut value = json!(1);
    for _ in 0..random.amount().min(2000) {
        value = if random.one_in(2) {
            json!([value])
        } else {
            json!({ "a": value })
        };
    }
    match random.below(3) {
        0 => one_of(document, "operators", random)["attributes"]["axis"] = value,
        1 => one_of(document, "tensors", random)["shape"] = value,
        _ => document["inputs"] = value,
    }
}

/// One operator after the other, each of which reads what the last one or all read.
fn chain(random: &mut Random, document: &mut Value) {
    let mut operator = one_of(document, "operators", random).clone();
    let Some(tensor) = document["tensors"].get(3).cloned() else {
        return;
    };
    let reads_the_last = !random.one_in(3);
    let mut last = json!("a");
    for idx in 0..random.amount() {
        let mut output = tensor.clone();
        output["name"] = json!(format!("t{idx}"));
        operator["outputs"] = json!([output["name"]]);
        if reads_the_last {
            operator["inputs"][0] = last;
        }
        last = output["name"].clone();
        list(document, "tensors").push(output);
        list(document, "operators").push(operator.clone());
    }
}

/// Operators with many operands, of one tensor or of all.
fn operands(random: &mut Random, document: &mut Value) {
    let names: Vec<Value> = list(document, "tensors")
        .iter()
        .map(|tensor| tensor["name"].clone())
        .collect();
    let is_one = random.one_in(2);
    let operands: Vec<Value> = (0..random.amount())
        .map(|idx| names[if is_one { 0 } else { idx % names.len() }].clone())
        .collect();
    let side = random.pick(&["inputs", "outputs"]);
    one_of(document, "operators", random)[side] = json!(operands);
}

/// Inputs and outputs of the graph: many, the same, constants, none.
fn ends(random: &mut Random, document: &mut Value) {
    let name = random.pick(&["x", "w", "y", "axes", "nobody"]);
    let side = random.pick(&["inputs", "outputs"]);
    document[side] = json!(vec![name; random.amount() - 1]);
}

/// Every tensor or operator many times.
fn copies(random: &mut Random, document: &mut Value) {
    let entries = list(document, random.pick(&["tensors", "operators"]));
    let copies: Vec<Value> = entries
        .iter()
        .cycle()
        .take(random.amount())
        .cloned()
        .collect();
    entries.extend(copies);
}

/// Many attributes, and fields that the format does not have.
fn fields(random: &mut Random, document: &mut Value) {
    let fields: Map<String, Value> = (0..random.amount())
        .map(|idx| (format!("f{idx}"), json!(idx)))
        .collect();
    let operator = one_of(document, "operators", random);
    let place = random.pick(&["attributes", "fields"]);
    operator[place] = Value::Object(fields);
}
