//! ONNX files that are refused, and limits that hold for those that are read.

use litecast::formats::max_operators;
use litecast::formats::onnx;

use super::file::{FLOAT, File, Size};
use super::{ALONE, classifier, operators, read};

#[test]
fn contradictions_are_refused_with_their_place() {
    let undefined = File::default()
        .image([1, 3, 8, 8])
        .node("Relu", &["z"], "y", &[])
        .output("y");
    let error = onnx::parse(&undefined, &ALONE).unwrap_err();
    assert_eq!(
        (error.kind(), error.to_string().contains("node 0 (Relu)")),
        ("undefined-value", true)
    );
    let twice = File::default()
        .image([1, 3, 8, 8])
        .node("Relu", &["x"], "x", &[])
        .output("x");
    assert_eq!(
        onnx::parse(&twice, &ALONE).unwrap_err().kind(),
        "duplicate-value"
    );
    let large = File::default()
        .image([1 << 30; 4])
        .node("Relu", &["x"], "y", &[])
        .output("y");
    assert_eq!(
        onnx::parse(&large, &ALONE).unwrap_err().kind(),
        "shape-overflow"
    );
    assert_eq!(onnx::parse(&[8, 8], &ALONE).unwrap_err().kind(), "no-graph");
}

#[test]
fn weights_have_as_many_bytes_as_their_shape() {
    let file = |n_bytes| {
        let image = File::default().image([1, 3, 8, 8]);
        image
            .constant("w", FLOAT, &[4, 3, 3, 3], vec![0; n_bytes])
            .node("Conv", &["x", "w"], "y", &[])
            .output("y")
    };
    for n_bytes in [40, 433] {
        let error = onnx::parse(&file(n_bytes), &ALONE).unwrap_err();
        assert_eq!(error.kind(), "malformed");
        assert_eq!(
            error.to_string(),
            format!(
                "initializer 0: expected 432 bytes of values, found {n_bytes}; the file is truncated or damaged"
            )
        );
    }
    // Of a file without its weights nothing is missing that an estimate needs.
    for n_bytes in [432, 0] {
        read(&file(n_bytes));
    }
}

#[test]
fn ranks_beyond_the_limit_are_told() {
    let refusal = |file: Vec<u8>| {
        let error = onnx::parse(&file, &ALONE).unwrap_err();
        assert_eq!(error.kind(), "limit-exceeded");
        error.to_string()
    };
    let ones = || (0..33).map(|_| Size::Of(1)).collect::<Vec<_>>();
    let input = File::default().input("x", &ones()).output("x");
    assert_eq!(
        refusal(input),
        "input `x`: expected at most 32 dimensions, found 33"
    );
    let mut described = File::default().image([1, 3, 8, 8]);
    let file = File::default().input("v", &ones());
    described.0.value_info = file.0.input;
    assert_eq!(
        refusal(described.output("x")),
        "value info `v`: expected at most 32 dimensions, found 33"
    );
    let initializer = File::default()
        .image([1, 3, 8, 8])
        .weights("w", &[1; 400])
        .output("x");
    assert_eq!(
        refusal(initializer),
        "initializer 0: expected at most 32 dimensions, found 400"
    );
}

/// A node that reads a name many times is looked at once.
#[test]
fn images_are_found_behind_nodes_with_many_operands() {
    const N: usize = 150;
    let mut file = File::default()
        .image([1, 3, 8, 8])
        .weights("w", &[4, 1, 3, 3])
        .node("Split", &["x"; N], "part0", &[("axis", &[1])]);
    let outputs = &mut file.0.node[0].output;
    outputs.extend((1..N).map(|at| format!("part{at}")));
    for at in 0..N {
        let name = if at == 0 { "Conv" } else { "Sigmoid" };
        let part = format!("part{at}");
        let operands = [part.as_str(), "w"];
        let operands = if at == 0 {
            &operands[..]
        } else {
            &operands[..1]
        };
        file = file.node(name, operands, &format!("result{at}"), &[]);
    }
    let file = file.output("x");
    let model = read(&file);
    let input = model.subgraphs[0].inputs[0];
    assert_eq!(model.subgraphs[0].tensors[input].shape, [1, 8, 8, 3]);
}

/// A node of forty bytes becomes nine operators, and a result of a node takes five: the size of the file decides how
/// many there may be.
#[test]
fn short_files_become_no_large_networks() {
    let image = || File::default().image([1, 3, 8, 8]);
    let normalisations = |n: usize| {
        let mut file = image().weights("scale", &[8]).weights("bias", &[8]);
        let mut from = "x".to_owned();
        for at in 0..n {
            let to = format!("n{at}");
            file = file.node("LayerNormalization", &[&from, "scale", "bias"], &to, &[]);
            from = to;
        }
        file.output(&from)
    };
    let results = |op_type: &str| {
        let mut file = image();
        for _ in 0..8 {
            file = file.node(op_type, &["x"], "", &[]);
        }
        for node in &mut file.0.node {
            node.output = vec![String::new(); 4000];
        }
        file.output("x")
    };
    assert_eq!(operators(&read(&normalisations(1500))).len(), 13_500);
    for (file, node) in [
        (normalisations(3000), "node 1981 (LayerNormalization)"),
        (results("Split"), "node 4 (Split)"),
        (results("Einsum"), "node 4 (Einsum)"),
    ] {
        let limit = max_operators(file.len());
        let error = onnx::parse(&file, &ALONE).unwrap_err();
        let words = "results of operators after the conversion, found more";
        assert_eq!(
            (error.kind(), error.to_string()),
            (
                "limit-exceeded",
                format!("{node}: expected at most {limit} {words}")
            )
        );
    }
}

/// Every prefix, and every byte changed: a model or an error with a kind, and never a panic.
#[test]
fn damaged_files_are_read_or_refused() {
    let file = classifier();
    let (mut n_read, mut n_refused) = (0, 0);
    let mut try_to_read = |bytes: &[u8]| match onnx::parse(bytes, &ALONE) {
        Ok(_) => n_read += 1,
        Err(error) => {
            assert!(
                !error.kind().is_empty() && !error.to_string().ends_with('.'),
                "{error}"
            );
            n_refused += 1;
        }
    };
    for end in 0..file.len() {
        try_to_read(&file[..end]);
    }
    for at in (0..file.len()).step_by(3) {
        for change in [0x01, 0x80, 0xff] {
            let mut damaged = file.clone();
            damaged[at] ^= change;
            try_to_read(&damaged);
        }
    }
    println!("{n_read} read, {n_refused} refused");
    assert!(n_read > 100 && n_refused > 100);
}
