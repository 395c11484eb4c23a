//! Bodies of `Loop` and `Scan`, sequences of tensors, and results whose sizes depend on values.

use litecast::{ModelFile, estimate};

use super::file::{BOOL, File, INT64, Size};
use super::{check, operators, read};

fn has(file: &[u8], code: &str) -> bool {
    read(file).diagnostics.iter().any(|one| one.code == code)
}

/// Each iteration multiplies the state by the same weights, and keeps what it has after that.
fn products_body(condition: &str) -> File {
    File::default()
        .input("step", &[])
        .input("goes_on", &[])
        .input("state", &[])
        .node("MatMul", &["state", "w"], "next", &[])
        .node("Identity", &["next"], "kept", &[])
        .result(condition)
        .result("next")
        .result("kept")
}

fn products(n_iterations: &[&str]) -> Vec<u8> {
    let inputs = [n_iterations, &["x"]].concat();
    File::default()
        .input("x", &[1, 8].map(Size::Of))
        .input("n", &[])
        .weights("w", &[8, 8])
        .constant("three", INT64, &[], 3i64.to_le_bytes().to_vec())
        .constant("many", INT64, &[], i64::MAX.to_le_bytes().to_vec())
        .constant("none", INT64, &[], (-1i64).to_le_bytes().to_vec())
        .constant("true", BOOL, &[], vec![1])
        .repeated(
            "Loop",
            &inputs,
            products_body("goes_on"),
            &["last", "all"],
            &[],
        )
        .node("Relu", &["last"], "y", &[])
        .result("y")
        .output("all")
}

#[test]
fn every_iteration_of_a_loop_counts() {
    check(
        &products(&["three", ""]),
        &[
            ("FULLY_CONNECTED", &[1, 8]),
            ("FULLY_CONNECTED", &[1, 8]),
            ("FULLY_CONNECTED", &[1, 8]),
            ("PACK", &[3, 1, 8]),
            ("RELU", &[1, 8]),
        ],
    );
    assert!(!has(
        &products(&["three", "true"]),
        "iteration-counted-once"
    ));
}

#[test]
fn of_many_or_an_unknown_number_of_iterations_one_counts() {
    for n in ["many", "n", ""] {
        let file = products(&[n, "true"]);
        assert_eq!(
            operators(&read(&file)),
            [
                ("FULLY_CONNECTED".to_owned(), vec![1, 8]),
                ("ONNX:Loop".to_owned(), vec![1, 8]),
                ("RELU".to_owned(), vec![1, 8]),
            ],
            "{n}"
        );
        let report = estimate(ModelFile::new("net.onnx", &file), None).unwrap();
        assert_eq!(report.model.macs, 64, "{n}");
        for code in ["iteration-counted-once", "uncounted-operator"] {
            let mut all = report.diagnostics.iter();
            assert!(all.any(|one| one.diagnostic.code == code), "{n}: {code}");
        }
    }
}

#[test]
fn a_loop_without_iterations_hands_its_states_on() {
    let kinds: Vec<String> = (operators(&read(&products(&["none", ""]))).into_iter())
        .map(|(kind, _)| kind)
        .collect();
    assert_eq!(kinds, ["RELU"]);
}

/// `step < 1` holds in the first iteration, so that a second one follows and no third.
#[test]
fn a_condition_that_is_known_ends_a_loop() {
    let body = products_body("less").node("Less", &["step", "one"], "less", &[]);
    let file = File::default()
        .input("x", &[1, 8].map(Size::Of))
        .weights("w", &[8, 8])
        .constant("one", INT64, &[], 1i64.to_le_bytes().to_vec())
        .constant("ten", INT64, &[], 10i64.to_le_bytes().to_vec())
        .repeated("Loop", &["ten", "", "x"], body, &["last", "all"], &[])
        .output("all");
    let report = estimate(ModelFile::new("net.onnx", &file), None).unwrap();
    assert_eq!(report.model.macs, 2 * 64, "{:?}", operators(&read(&file)));
}

/// A recurrent network of five steps: each takes one row of the input.
#[test]
fn a_scan_has_an_iteration_for_each_slice() {
    let body = File::default()
        .input("state", &[])
        .input("row", &[])
        .node("MatMul", &["row", "w"], "a", &[])
        .node("MatMul", &["state", "u"], "b", &[])
        .node("Add", &["a", "b"], "c", &[])
        .node("Tanh", &["c"], "next", &[])
        .node("Identity", &["next"], "out", &[])
        .result("next")
        .result("out");
    let file = File::default()
        .input("x", &[5, 1, 6].map(Size::Of))
        .weights("w", &[6, 4])
        .weights("u", &[4, 4])
        .weights("zero", &[1, 4])
        .repeated(
            "Scan",
            &["zero", "x"],
            body,
            &["last", "all"],
            &[("num_scan_inputs", 1)],
        )
        .output("all");
    let report = estimate(ModelFile::new("net.onnx", &file), None).unwrap();
    // The state of the first step is a constant, and so is its product.
    assert_eq!(report.model.macs, 5 * 6 * 4 + 4 * 4 * 4);
    let last = operators(&read(&file)).pop().unwrap();
    assert_eq!(last, ("PACK".to_owned(), vec![5, 1, 4]));
}

/// Exporters write a loop over parts of a tensor with a sequence.
#[test]
fn sequences_are_lists_of_tensors() {
    let body = File::default()
        .input("step", &[])
        .input("goes_on", &[])
        .input("parts", &[])
        .node("Gather", &["places", "step"], "at", &[])
        .node("Unsqueeze", &["at", "first"], "from", &[])
        .node("Add", &["from", "two"], "to", &[])
        .node("Slice", &["x", "from", "to"], "part", &[])
        .node("SequenceInsert", &["parts", "part"], "more", &[])
        .result("goes_on")
        .result("more");
    let file = File::default()
        .input("x", &[6, 4].map(Size::Of))
        .weights("w", &[4, 4])
        .integers("places", &[0, 2, 4])
        .integers("first", &[0])
        .integers("two", &[2])
        .constant("three", INT64, &[], 3i64.to_le_bytes().to_vec())
        .constant("last", INT64, &[], (-1i64).to_le_bytes().to_vec())
        .node("SequenceEmpty", &[], "empty", &[])
        .repeated("Loop", &["three", "", "empty"], body, &["list"], &[])
        .node("SequenceAt", &["list", "last"], "third", &[])
        .node("MatMul", &["third", "w"], "product", &[])
        .node("ConcatFromSequence", &["list"], "whole", &[("axis", &[0])])
        .result("product")
        .output("whole");
    check(
        &file,
        &[
            ("STRIDED_SLICE", &[2, 4]),
            ("STRIDED_SLICE", &[2, 4]),
            ("STRIDED_SLICE", &[2, 4]),
            ("FULLY_CONNECTED", &[2, 4]),
            ("CONCATENATION", &[6, 4]),
        ],
    );
}

/// What a body reads from outside is read again by the next iteration: its writer takes in no activation.
#[test]
fn an_iteration_is_not_the_last_to_read_what_is_outside() {
    let body = File::default()
        .input("step", &[])
        .input("goes_on", &[])
        .input("state", &[])
        .node("Relu", &["a"], "b", &[])
        .node("Add", &["b", "state"], "next", &[])
        .result("goes_on")
        .result("next");
    let file = File::default()
        .image([1, 4, 6, 6])
        .weights("w", &[4, 4, 1, 1])
        .constant("two", INT64, &[], 2i64.to_le_bytes().to_vec())
        .node("Conv", &["x", "w"], "a", &[])
        .repeated("Loop", &["two", "", "x"], body, &["y"], &[])
        .output("y");
    let kinds: Vec<String> = (operators(&read(&file)).into_iter())
        .map(|(kind, _)| kind)
        .collect();
    assert_eq!(kinds, ["CONV_2D", "RELU", "ADD", "RELU", "ADD"]);
}

/// A loop in a loop in a loop, each with a thousand iterations: too many, and quickly said.
#[test]
fn nested_loops_end() {
    let around = |body: File, level: usize| {
        let name = |what: &str| format!("{what}{level}");
        let inner = format!("state{}", level - 1);
        let mut body = body.0;
        body.input.clear();
        let body = File(body)
            .input(&format!("step{inner}"), &[])
            .input(&format!("goes_on{inner}"), &[])
            .input(&inner, &[]);
        File::default()
            .repeated(
                "Loop",
                &["n", "", &name("state")],
                body,
                &[&name("next")],
                &[],
            )
            .result("true")
            .result(&name("next"))
    };
    let innermost = File::default()
        .node("Relu", &["state0"], "next0", &[])
        .result("true")
        .result("next0");
    let body = (1..6).fold(innermost, around);
    let graph = File(body.0)
        .input("state5", &[4].map(Size::Of))
        .constant("true", BOOL, &[], vec![1])
        .constant("n", INT64, &[], 1000i64.to_le_bytes().to_vec());
    let file = graph.output("next5");
    assert!(has(&file, "iteration-counted-once"));
    assert!(operators(&read(&file)).len() < 10_000);
}

/// Boxes that remain after a suppression, and places of values that are not zero: as many as there may be.
#[test]
fn of_sizes_that_values_decide_the_largest_counts() {
    let mut file = File::default()
        .input("boxes", &[1, 50, 4].map(Size::Of))
        .input("scores", &[1, 3, 50].map(Size::Of))
        .integers("most", &[7])
        .integers("column", &[2])
        .node(
            "NonMaxSuppression",
            &["boxes", "scores", "most"],
            "kept",
            &[],
        )
        .node("Gather", &["kept", "column"], "places", &[("axis", &[1])])
        .node("NonZero", &["scores"], "found", &[]);
    // What PyTorch's newer exporter declares of it is no batch.
    let kept = File::default().input("kept", &[Size::Named("n"), Size::Of(3)]);
    file.0.value_info = kept.0.input;
    let file = file.result("places").output("found");
    let actual = operators(&read(&file));
    let expected: [(&str, &[i32]); 3] = [
        ("ONNX:NonMaxSuppression", &[21, 3]),
        ("GATHER", &[21, 1]),
        ("ONNX:NonZero", &[3, 150]),
    ];
    let expected = expected.map(|(kind, shape)| (kind.to_owned(), shape.to_vec()));
    assert_eq!(actual, expected);
    assert!(has(&file, "largest-size-counted") && !has(&file, "unknown-shape"));
}

/// As `torch.chunk`, `split` and `unbind` are written before they are simplified.
#[test]
fn parts_of_a_sequence_are_those_of_a_split() {
    let parts = |axis: i64, sizes: &str, keepdims: &[(&str, &[i64])]| {
        let axis = [axis];
        let attributes = [&[("axis", axis.as_slice())], keepdims].concat();
        File::default()
            .input("x", &[1, 3, 8].map(Size::Of))
            .constant("four", INT64, &[], 4i64.to_le_bytes().to_vec())
            .integers("uneven", &[6, 2])
            .constant("first", INT64, &[], 0i64.to_le_bytes().to_vec())
            .constant("last", INT64, &[], (-1i64).to_le_bytes().to_vec())
            .node("SplitToSequence", &["x", sizes], "s", &attributes)
            .node("SequenceAt", &["s", "first"], "a", &[])
            .node("SequenceAt", &["s", "last"], "b", &[])
            .node("SequenceAt", &["s", "last"], "again", &[])
            .node("Relu", &["a"], "c", &[])
            .node("Sigmoid", &["b"], "d", &[])
            .node("Exp", &["again"], "e", &[])
            .result("c")
            .result("d")
            .output("e")
    };
    let expected = |split: &'static str, first: &'static [i32], last: &'static [i32]| {
        [
            (split, first),
            ("RELU", first),
            ("LOGISTIC", last),
            ("EXP", last),
        ]
    };
    let half: &[i32] = &[1, 3, 4];
    check(&parts(2, "four", &[]), &expected("SPLIT", half, half));
    check(
        &parts(-1, "uneven", &[]),
        &expected("SPLIT_V", &[1, 3, 6], &[1, 3, 2]),
    );
    let one: &[i32] = &[1, 1, 8];
    check(&parts(1, "", &[]), &expected("SPLIT", one, one));
    let file = parts(1, "", &[("keepdims", &[0])]);
    let actual = operators(&read(&file));
    println!("{actual:?}");
    assert!(actual.ends_with(&[("EXP".to_owned(), vec![1, 8])]));
}
