//! Shapes and constants that an ONNX file computes, and sizes that have to be given.

use litecast::formats::onnx::{self, Dimensions};
use litecast::{ModelFile, Request, estimate};

use super::file::{FLOAT, File, INT64, Size};
use super::{ALONE, check, operators, read};

#[test]
fn shapes_that_are_computed_are_known() {
    let file = File::default()
        .input("x", &[Size::Named("batch"), Size::Of(6), Size::Of(8)])
        .integers("zero", &[0])
        .integers("rest", &[-1, 4])
        .weights("v", &[4, 3])
        .node("Shape", &["x"], "shape", &[])
        .node("Gather", &["shape", "zero"], "n", &[("axis", &[0])])
        .node("Concat", &["n", "rest"], "to", &[("axis", &[0])])
        .node("Reshape", &["x", "to"], "a", &[])
        .node("MatMul", &["a", "v"], "y", &[])
        .output("y");
    let model = onnx::parse(
        &file,
        &Dimensions {
            batch: 2,
            named: &[],
        },
    )
    .unwrap();
    assert_eq!(
        operators(&model),
        [
            ("RESHAPE".to_owned(), vec![2, 12, 4]),
            ("FULLY_CONNECTED".to_owned(), vec![2, 12, 3])
        ]
    );
}

/// TFLite's operator searches the last dimension; before opset 10 the number is an attribute.
#[test]
fn the_largest_along_any_dimension_are_found() {
    let file = File::default()
        .input("x", &[1, 9, 4].map(Size::Of))
        .integers("three", &[3])
        .node("TopK", &["x", "three"], "a", &[("axis", &[1])])
        .node("TopK", &["a"], "b", &[("k", &[2])])
        .node("GlobalLpPool", &["b"], "y", &[])
        .output("y");
    check(
        &file,
        &[
            ("TRANSPOSE", &[1, 4, 9]),
            ("TOPK_V2", &[1, 4, 3]),
            ("TRANSPOSE", &[1, 3, 4]),
            ("TOPK_V2", &[1, 3, 2]),
            ("ONNX:GlobalLpPool", &[1, 3, 1]),
        ],
    );
}

/// What scikit-learn's converter writes before a network; ONNX Runtime's results have these shapes.
#[test]
fn scaled_features_have_the_shape_of_the_features() {
    let file = File::default()
        .input("x", &[5, 3].map(Size::Of))
        .weights("w", &[3, 4])
        .node("Scaler", &["x"], "a", &[])
        .domain("ai.onnx.ml")
        .node("MatMul", &["a", "w"], "y", &[])
        .output("y");
    let shapes = operators(&read(&file)).into_iter().map(|(_, shape)| shape);
    assert_eq!(shapes.collect::<Vec<_>>(), [[5, 3], [5, 4]]);
}

/// Exporters compute `SAME` padding from the input's shape, in floats and with a bound at 0 alone. By hand:
/// `max((ceil(33 / 2) − 1) × 2 + 3 − 33, 0)` is 2, `max((ceil(32 / 2) − 1) × 2 + 1 − 32, 0)` is 0 rather than −1.
#[test]
fn paddings_that_are_computed_are_known() {
    let file = |side: i64, window: i64| {
        File::default()
            .image([1, 4, side, side])
            .weights("w", &[8, 4, window, window])
            .integers("row", &[2])
            .constant("ends", FLOAT, &[2], vec![0; 8])
            .number("one", 1.0)
            .number("two", 2.0)
            .number("least", 0.0)
            .number("window", window as f32)
            .node("Shape", &["x"], "shape", &[])
            .node("Gather", &["shape", "row"], "size", &[("axis", &[0])])
            .node("Cast", &["size"], "side", &[("to", &[FLOAT.into()])])
            .node("Div", &["side", "two"], "steps", &[])
            .node("Ceil", &["steps"], "outputs", &[])
            .node("Sub", &["outputs", "one"], "gaps", &[])
            .node("Mul", &["gaps", "two"], "reach", &[])
            .node("Add", &["reach", "window"], "needed", &[])
            .node("Sub", &["needed", "side"], "missing", &[])
            .node("Clip", &["missing", "least", ""], "added", &[])
            .node("Div", &["added", "two"], "half", &[])
            .node("Floor", &["half"], "before", &[])
            .node("Sub", &["added", "before"], "behind", &[])
            .node(
                "Concat",
                &["ends", "before", "before", "ends", "behind", "behind"],
                "sizes",
                &[("axis", &[0])],
            )
            .node("Cast", &["sizes"], "pads", &[("to", &[INT64.into()])])
            .node("Pad", &["x", "pads"], "padded", &[])
            .node("Conv", &["padded", "w"], "y", &[("strides", &[2, 2])])
            .output("y")
    };
    for (side, window, outputs) in [(33, 3, 17), (32, 1, 16)] {
        let file = file(side, window);
        let actual = operators(&read(&file));
        let expected = ("CONV_2D".to_owned(), vec![1, outputs, outputs, 8]);
        assert_eq!(actual.last(), Some(&expected), "{actual:?}");
        assert!(
            actual
                .iter()
                .all(|(kind, _)| ["PAD", "CONV_2D"].contains(&kind.as_str())),
            "{actual:?}"
        );
    }
}

/// Detectors scale their image by the shorter and the longer side: 30 and 40 become 60 and 70.
#[test]
fn sizes_of_the_shorter_and_longer_side_are_known() {
    let file = File::default()
        .image([1, 3, 30, 40])
        .integers("sides", &[2, 3])
        .integers("ends", &[1, 3])
        .node("Shape", &["x"], "shape", &[])
        .node("Gather", &["shape", "sides"], "size", &[("axis", &[0])])
        .node("ReduceMin", &["size"], "least", &[("keepdims", &[1])])
        .node("ReduceMax", &["size"], "most", &[("keepdims", &[1])])
        .node("Add", &["least", "least"], "height", &[])
        .node("Add", &["least", "most"], "width", &[])
        .node(
            "Concat",
            &["ends", "height", "width"],
            "to",
            &[("axis", &[0])],
        )
        .node("Resize", &["x", "", "", "to"], "y", &[])
        .output("y");
    check(&file, &[("RESIZE_NEAREST_NEIGHBOR", &[1, 60, 70, 3])]);
}

#[test]
fn open_dimensions_are_asked_for_by_name() {
    let file = File::default()
        .input(
            "x",
            &[Size::Named("batch"), Size::Named("sequence"), Size::Of(8)],
        )
        .weights("v", &[8, 3])
        .node("MatMul", &["x", "v"], "y", &[])
        .output("y");
    let error = onnx::parse(&file, &ALONE).unwrap_err();
    assert_eq!(error.kind(), "unknown-dimension");
    assert!(
        error.to_string().contains("sequence") && !error.to_string().contains("batch"),
        "{error}"
    );
    let named = [("sequence".to_owned(), 128)];
    let file = ModelFile {
        request: Request {
            dimensions: &named,
            ..Request::default()
        },
        ..ModelFile::new("net.onnx", &file)
    };
    let report = estimate(file, None).unwrap();
    assert_eq!(report.model.macs, 128 * 8 * 3);
    assert!(
        report
            .diagnostics
            .iter()
            .any(|doubt| doubt.diagnostic.code == "dynamic-batch")
    );
}

#[test]
fn constants_that_are_computed_have_no_rank_beyond_the_limit() {
    let many: Vec<i64> = (0..20).collect();
    for (op_type, operands) in [
        ("Unsqueeze", ["known", "many"]),
        ("Unsqueeze", ["long", "many"]),
        ("Reshape", ["known", "ones"]),
        ("Expand", ["known", "ones"]),
        ("ConstantOfShape", ["ones", ""]),
    ] {
        let mut file = File::default()
            .image([1, 3, 8, 8])
            .number("known", 1.0)
            .weights("long", &[300])
            .integers("many", &many)
            .integers("ones", &[1; 40]);
        let mut from = operands[0].to_owned();
        for turn in 0..4 {
            let to = format!("v{turn}");
            let second = Some(operands[1]).filter(|name| !name.is_empty());
            let operands: Vec<&str> = [from.as_str()].into_iter().chain(second).collect();
            file = file.node(op_type, &operands, &to, &[]);
            from = to;
        }
        let file = file.node("Relu", &["x"], "y", &[]).output(&from);
        let model = read(&file);
        let tensors = &model.subgraphs[0].tensors;
        assert!(
            tensors.iter().all(|tensor| tensor.shape.len() <= 32),
            "{op_type}"
        );
        let actual: Vec<String> = operators(&model)
            .into_iter()
            .map(|(name, _)| name)
            .collect();
        assert!(
            actual.contains(&format!("ONNX:{op_type}")) || op_type == "ConstantOfShape",
            "{actual:?}"
        );
    }
}

/// The long dimensions of tensors without values are not walked along.
#[test]
fn constants_without_values_are_not_cut() {
    let file = File::default()
        .image([1, 3, 8, 8])
        .constant("empty", INT64, &[0, 0x7fff_ffff], Vec::new())
        .integers("zero", &[0])
        .integers("one", &[1])
        .integers("end", &[1 << 40])
        .integers("sizes", &[0, 0x7fff_ffff])
        .node("ConstantOfShape", &["sizes"], "computed", &[])
        .node("Gather", &["empty", "zero"], "a", &[("axis", &[1])])
        .node("Gather", &["computed", "zero"], "b", &[("axis", &[1])])
        .node("Slice", &["empty", "zero", "end", "one"], "c", &[])
        .node("Transpose", &["empty"], "d", &[("perm", &[1, 0])])
        .constant("nothing", INT64, &[0], Vec::new())
        .node(
            "Reshape",
            &["nothing"],
            "renamed",
            &[("shape", &[0, 0x7fff_ffff])],
        )
        .node("Gather", &["renamed", "zero"], "e", &[("axis", &[1])])
        .node("Relu", &["x"], "y", &[])
        .output("y");
    check(&file, &[("RELU", &[1, 3, 8, 8])]);
}

#[test]
fn cuts_along_an_axis_twice_are_not_carried_out() {
    for axes in [&[0i64, 0][..], &[0, -1], &[0; 256]] {
        let n = axes.len();
        let file = File::default()
            .image([1, 3, 8, 8])
            .integers("list", &[1, 3, 8, 8])
            .integers("starts", &vec![0; n])
            .integers("ends", &vec![1; n])
            .integers("axes", axes)
            .node("Slice", &["list", "starts", "ends", "axes"], "y", &[])
            .output("y");
        check(&file, &[("ONNX:Slice", &[])]);
    }
}

#[test]
fn bounds_that_constant_nodes_hold_are_known() {
    let file = File::default()
        .image([1, 3, 8, 8])
        .number("three", 3.0)
        .constant_node("none", 0.0)
        .constant_node("six", 6.0)
        .node("Add", &["x", "three"], "sum", &[])
        .node("Clip", &["sum", "none", "six"], "gate", &[])
        .node("Mul", &["x", "gate"], "product", &[])
        .node("Div", &["product", "six"], "y", &[])
        .output("y");
    check(&file, &[("HARD_SWISH", &[1, 3, 8, 8])]);
}

/// NASNet shifts its maps by a padding below 0: a row and a column go, others come.
#[test]
fn paddings_below_0_cut() {
    let file = File::default()
        .image([1, 3, 9, 9])
        .weights("w", &[4, 3, 1, 1])
        .integers("pads", &[0, 0, -1, -1, 0, 0, 1, 1])
        .node("Pad", &["x", "pads"], "shifted", &[])
        .node("Conv", &["shifted", "w"], "y", &[])
        .output("y");
    let expected: &[(&str, &[i32])] = &[
        ("STRIDED_SLICE", &[1, 8, 8, 3]),
        ("PAD", &[1, 9, 9, 3]),
        ("CONV_2D", &[1, 9, 9, 4]),
    ];
    check(&file, expected);
}

/// Queries of a detector are computed from its weights: what is cut from them is a constant too.
#[test]
fn parts_of_constants_are_constants() {
    let file = File::default()
        .image([1, 3, 8, 8])
        .weights("w", &[3, 1, 2])
        .node("Sigmoid", &["w"], "computed", &[])
        .node("Split", &["computed"], "scale", &[("axis", &[2])]);
    let mut file = file;
    file.0.node[1].output.push("shift".into());
    let file = file
        .node("Mul", &["x", "scale"], "scaled", &[])
        .node("Add", &["scaled", "shift"], "y", &[])
        .output("y");
    let actual = operators(&read(&file));
    let kinds: Vec<&str> = actual.iter().map(|(kind, _)| kind.as_str()).collect();
    assert_eq!(kinds, ["MUL", "ADD"]);
}

#[test]
fn sums_of_constants_are_constants() {
    let constants = vec!["c"; 4000];
    let file = File::default()
        .image([1, 3, 8, 8])
        .weights("c", &[8])
        .node("Sum", &constants, "sum", &[])
        .node("Max", &constants, "largest", &[])
        .node("Sum", &["x", "sum", "largest"], "y", &[])
        .output("y");
    check(&file, &[("ADD", &[1, 3, 8, 8]), ("ADD", &[1, 3, 8, 8])]);
}
