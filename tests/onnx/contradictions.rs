//! Operands that no operator takes together, and shapes that a file declares otherwise.

use litecast::graph::analysis::contradictions::contradictions;
use litecast::graph::build;

use tract_onnx::pb::AttributeProto;

use super::file::{BOOL, FLOAT, FLOAT16, File, INT8, INT32, INT64, Size, UINT8};
use super::read;

/// Contradictions of a file whose output is `y`, in words.
fn contradictions_of(file: File) -> Vec<&'static str> {
    let file = file.output("y");
    let model = read(&file);
    let graph = build(&model, 0).unwrap();
    let actual = contradictions(&graph).into_iter();
    actual.map(|one| one.why).collect()
}

#[test]
fn operands_that_contradict_each_other_are_told() {
    // As the definition of each operator has it: operands that fit, and others that ONNX Runtime refuses.
    let floats = |values: [f32; 4]| values.into_iter().flat_map(f32::to_le_bytes).collect();
    let operands = || {
        File::default()
            .image([1, 3, 8, 8])
            .weights("w333", &[4, 3, 3, 3])
            .weights("w533", &[4, 5, 3, 3])
            .weights("w399", &[4, 3, 9, 9])
            .weights("wt", &[3, 4, 3, 3])
            .weights("c4", &[4])
            .weights("c3", &[3])
            .weights("m8x5", &[8, 5])
            .weights("m6x5", &[6, 5])
            .weights("b2", &[2, 3, 8, 5])
            .weights("b2x2", &[2, 2, 8, 5])
            .weights("image", &[1, 2, 8, 8])
            .weights("tall", &[1, 3, 9, 8])
            .integers("to64", &[3, 64])
            .integers("wide", &[2, 3, 1, 8])
            .integers("to65", &[3, 65])
            .integers("open", &[-1, 64])
            .integers("open7", &[-1, 7])
            .integers("first", &[0])
            .integers("second", &[1])
            .integers("five", &[5])
            .integers("nine", &[9])
            .integers("around", &[0, 0, 1, 1, 0, 0, 1, 1])
            .integers("four", &[1, 1, 1, 1])
            .integers("cut", &[0, 0, -9, 0, 0, 0, 0, 0])
            .integers("thirds", &[3, 5])
            .integers("eight", &[8])
            .integers("twice_each", &[1, 1, 2, 2])
            .integers("never_each", &[1, 1, -2, 2])
            .constant("twice", FLOAT, &[4], floats([1.0, 1.0, 2.0, 2.0]))
            .constant("never", FLOAT, &[4], floats([1.0, 1.0, f32::NAN, 2.0]))
            .constant("back", FLOAT, &[4], floats([1.0, 1.0, -2.0, 2.0]))
            .node("Flatten", &["x"], "row", &[])
            .weights("m192", &[192, 7])
            .weights("m7x192", &[7, 192])
            .weights("c7", &[7])
            .weights("c6", &[6])
            .weights("lstm_w", &[1, 16, 8])
            .weights("lstm_r", &[1, 16, 4])
            .weights("wider", &[1, 16, 9])
            .integers("minus", &[-5])
            .constant("truths", BOOL, &[1, 3, 8, 8], vec![0; 192])
    };
    type Attributes = &'static [(&'static str, &'static [i64])];
    type Node = (&'static [&'static str], Attributes);
    let cases: &[(&str, Node, Node, &str)] = &[
        (
            "MatMul",
            (&["x", "m8x5"], &[]),
            (&["x", "m6x5"], &[]),
            "inner dimensions",
        ),
        (
            "MatMul",
            (&["x", "b2"], &[]),
            (&["x", "b2x2"], &[]),
            "batches",
        ),
        (
            "Gemm",
            (&["row", "m192", "c7"], &[]),
            (&["row", "m7x192", "c7"], &[]),
            "inner dimensions",
        ),
        (
            "Gemm",
            (&["row", "m7x192", "c7"], &[("transB", &[1])]),
            (&["row", "m7x192", "c6"], &[("transB", &[1])]),
            "does not broadcast to the product",
        ),
        (
            "Conv",
            (&["x", "w333"], &[]),
            (&["x", "w533"], &[]),
            "input channels",
        ),
        (
            "Conv",
            (&["x", "w333"], &[("kernel_shape", &[3, 3])]),
            (&["x", "w333"], &[("kernel_shape", &[5, 5])]),
            "kernel_shape",
        ),
        (
            "Conv",
            (&["x", "w333", "c4"], &[]),
            (&["x", "w333", "c3"], &[]),
            "bias",
        ),
        (
            "Conv",
            (&["x", "w399"], &[("pads", &[1, 1, 0, 0])]),
            (&["x", "w399"], &[]),
            "larger than the padded input",
        ),
        (
            "Conv",
            (&["x", "w333"], &[("strides", &[2, 2])]),
            (&["x", "w333"], &[("strides", &[2])]),
            "side of the window",
        ),
        (
            "Conv",
            (&["x", "w333"], &[("group", &[1])]),
            (&["x", "w333"], &[("group", &[3])]),
            "groups",
        ),
        (
            "ConvTranspose",
            (&["x", "wt"], &[]),
            (&["x", "w333"], &[]),
            "input channels",
        ),
        (
            "MaxPool",
            (&["x"], &[("kernel_shape", &[8, 8])]),
            (&["x"], &[("kernel_shape", &[9, 8])]),
            "larger than the padded input",
        ),
        (
            "MaxPool",
            (&["x"], &[("kernel_shape", &[2, 2]), ("strides", &[2, 2])]),
            (&["x"], &[("kernel_shape", &[2, 2]), ("strides", &[2, -2])]),
            "less than 1",
        ),
        (
            "AveragePool",
            (&["x"], &[("kernel_shape", &[2, 2])]),
            (&["x"], &[("kernel_shape", &[2, 0])]),
            "less than 1",
        ),
        (
            "Conv",
            (&["x", "w333"], &[("dilations", &[2, 2])]),
            (&["x", "w333"], &[("dilations", &[0, 2])]),
            "less than 1",
        ),
        (
            "Conv",
            (&["x", "w333"], &[("strides", &[1, 7])]),
            (&["x", "w333"], &[("strides", &[1, i64::MAX])]),
            "beyond 32 bits",
        ),
        (
            "ConvTranspose",
            (&["x", "wt"], &[("strides", &[2, 2])]),
            (&["x", "wt"], &[("strides", &[2, i64::MIN])]),
            "less than 1",
        ),
        (
            "Concat",
            (&["x", "image"], &[("axis", &[1])]),
            (&["x", "image"], &[("axis", &[2])]),
            "another dimension than the axis",
        ),
        (
            "Concat",
            (&["x", "tall"], &[("axis", &[-2])]),
            (&["x", "tall"], &[("axis", &[4])]),
            "axis is none",
        ),
        (
            "Reshape",
            (&["x", "to64"], &[]),
            (&["x", "to65"], &[]),
            "number of elements",
        ),
        (
            "Reshape",
            (&["x", "open"], &[]),
            (&["x", "open7"], &[]),
            "number of elements",
        ),
        (
            "Transpose",
            (&["x"], &[("perm", &[0, 2, 3, 1])]),
            (&["x"], &[("perm", &[0, 2, 3, 3])]),
            "no permutation",
        ),
        (
            "Squeeze",
            (&["x", "first"], &[]),
            (&["x", "second"], &[]),
            "is not 1",
        ),
        (
            "Expand",
            (&["x", "wide"], &[]),
            (&["x", "to65"], &[]),
            "broadcast",
        ),
        (
            "Add",
            (&["x", "x"], &[]),
            (&["x", "tall"], &[]),
            "broadcast",
        ),
        (
            "Where",
            (&["truths", "x", "x"], &[]),
            (&["truths", "x", "tall"], &[]),
            "broadcast",
        ),
        (
            "BatchNormalization",
            (&["x", "c3", "c3", "c3", "c3"], &[]),
            (&["x", "c3", "c4", "c3", "c3"], &[]),
            "as many as the channels",
        ),
        (
            "PRelu",
            (&["x", "x"], &[]),
            (&["x", "b2"], &[]),
            "broadcast",
        ),
        (
            "GroupNormalization",
            (&["x", "c3", "c3"], &[("num_groups", &[3])]),
            (&["x", "c3", "c3"], &[("num_groups", &[-1])]),
            "groups",
        ),
        (
            "GroupNormalization",
            (&["x", "c3", "c3"], &[("num_groups", &[1])]),
            (&["x", "c3", "c3"], &[("num_groups", &[2])]),
            "groups",
        ),
        (
            "LSTM",
            (&["x", "lstm_w", "lstm_r"], &[("hidden_size", &[4])]),
            (&["x", "lstm_w", "lstm_r"], &[("hidden_size", &[-4])]),
            "hidden_size",
        ),
        (
            "MaxPool",
            (&["x"], &[("kernel_shape", &[2, 2])]),
            (&["x"], &[]),
            "missing",
        ),
        (
            "ConvTranspose",
            (
                &["x", "wt"],
                &[("output_padding", &[1, 0]), ("strides", &[2, 2])],
            ),
            (
                &["x", "wt"],
                &[("output_padding", &[1, -1]), ("strides", &[2, 2])],
            ),
            "output_padding",
        ),
        (
            "Conv",
            (&["x", "w333"], &[("pads", &[1, 1, 1, 1])]),
            (&["x", "w333"], &[("pads", &[1, 1, 1, 1 << 40])]),
            "beyond 32 bits",
        ),
        (
            "ConvTranspose",
            (&["x", "wt"], &[("output_shape", &[10, 10])]),
            (&["x", "wt"], &[("output_shape", &[10, 1 << 33])]),
            "beyond 32 bits",
        ),
        (
            "ConvTranspose",
            (&["x", "wt"], &[("strides", &[1 << 20, 2])]),
            (&["x", "wt"], &[("strides", &[1 << 30, 2])]),
            "no possible shape",
        ),
        (
            "SpaceToDepth",
            (&["x"], &[("blocksize", &[2])]),
            (&["x"], &[("blocksize", &[0])]),
            "blocks",
        ),
        (
            "DepthToSpace",
            (&["x"], &[("blocksize", &[1])]),
            (&["x"], &[("blocksize", &[-1])]),
            "blocks",
        ),
        (
            "Resize",
            (&["x", "", "twice"], &[]),
            (&["x", "", "never"], &[]),
            "above 0",
        ),
        (
            "Resize",
            (&["x", "twice"], &[]),
            (&["x", "back"], &[]),
            "above 0",
        ),
        (
            "Resize",
            (&["x", "", "", "four"], &[]),
            (&["x", "", "twice", "four"], &[]),
            "both given",
        ),
        (
            "LRN",
            (&["x"], &[("size", &[5])]),
            (&["x"], &[("size", &[-5])]),
            "above 0",
        ),
        (
            "Softmax",
            (&["x"], &[("axis", &[-4])]),
            (&["x"], &[("axis", &[4])]),
            "axis is none",
        ),
        (
            "Gather",
            (&["x", "first"], &[("axis", &[3])]),
            (&["x", "first"], &[("axis", &[-5])]),
            "axis is none",
        ),
        (
            "TopK",
            (&["x", "five"], &[]),
            (&["x", "nine"], &[]),
            "more than",
        ),
        (
            "Slice",
            (&["x", "first", "five", "second", "second"], &[]),
            (&["x", "first", "five", "second", "first"], &[]),
            "step",
        ),
        (
            "Pad",
            (&["x", "around"], &[]),
            (&["x", "four"], &[]),
            "no possible shape",
        ),
        (
            "Pad",
            (&["x", "around"], &[]),
            (&["x", "cut"], &[]),
            "no possible shape",
        ),
        (
            "Pad",
            (&["x", "thirds", "", "second"], &[]),
            (&["x", "thirds", "", "nine"], &[]),
            "no possible shape",
        ),
        (
            "Split",
            (&["x", "eight"], &[("axis", &[3])]),
            (&["x", "nine"], &[("axis", &[3])]),
            "no possible shape",
        ),
        (
            "Tile",
            (&["x", "twice_each"], &[]),
            (&["x", "thirds"], &[]),
            "no possible shape",
        ),
        (
            "Tile",
            (&["x", "twice_each"], &[]),
            (&["x", "never_each"], &[]),
            "no possible shape",
        ),
        (
            "Unsqueeze",
            (&["x", "first"], &[]),
            (&["x", "four"], &[]),
            "no possible shape",
        ),
        (
            "Flatten",
            (&["x"], &[("axis", &[4])]),
            (&["x"], &[("axis", &[5])]),
            "no possible shape",
        ),
        (
            "CumSum",
            (&["x", "second"], &[]),
            (&["x", "nine"], &[]),
            "no possible shape",
        ),
        (
            "ReduceMean",
            (&["x", "second"], &[]),
            (&["x", "nine"], &[]),
            "no possible shape",
        ),
        (
            "OneHot",
            (&["x", "five", "c4"], &[]),
            (&["x", "minus", "c4"], &[]),
            "no possible shape",
        ),
        (
            "Slice",
            (&["x", "first", "five", "second"], &[]),
            (&["x", "first", "five", "nine"], &[]),
            "axis is none",
        ),
        (
            "GlobalAveragePool",
            (&["x"], &[]),
            (&["row"], &[]),
            "no image",
        ),
        (
            "Conv",
            (&["x", "w333"], &[("pads", &[1, 1, 1, 1])]),
            (&["x", "w333"], &[("pads", &[1, -1, 1, 1])]),
            "less than 0",
        ),
        (
            "MaxPool",
            (&["x"], &[("kernel_shape", &[2, 2])]),
            (
                &["x"],
                &[("kernel_shape", &[2, 2]), ("pads", &[0, 0, 0, -1])],
            ),
            "less than 0",
        ),
        (
            "LSTM",
            (&["x", "lstm_w", "lstm_r"], &[]),
            (&["x", "wider", "lstm_r"], &[]),
            "inner dimensions",
        ),
        (
            "Split",
            (&["x"], &[("num_outputs", &[1])]),
            (&["x"], &[("num_outputs", &[1 << 40])]),
            "num_outputs",
        ),
    ];
    for (op_type, fits, contradicts, why) in cases {
        let contradictions_in = |(inputs, attributes): &Node| {
            contradictions_of(operands().node(op_type, inputs, "y", attributes))
        };
        // Expanded constants are constants, so that the operator that fits is none.
        assert_eq!(
            contradictions_in(fits),
            Vec::<&str>::new(),
            "{op_type} {fits:?}"
        );
        let actual = contradictions_in(contradicts);
        assert_eq!(actual.len(), 1, "{op_type} {contradicts:?}");
        assert!(
            actual[0].contains(why),
            "{op_type} {contradicts:?}: {actual:?}"
        );
    }
    for (n_heads, n_found) in [(8, 0), (5, 1), (0, 1), (-3, 1), (i64::MIN, 1)] {
        let file = File::default().input("x", &[1, 16, 24].map(Size::Of));
        let heads = [n_heads];
        let attention = ("num_heads", &heads[..]);
        let file = file.node("MultiHeadAttention", &["x"; 3], "y", &[attention]);
        let found = contradictions_of(file.domain("com.microsoft"));
        assert_eq!(found.len(), n_found, "{n_heads} heads: {found:?}");
    }
    for (q_heads, heads, n_found) in [(4, 2, 0), (4, 3, 1), (4, 0, 1)] {
        let [q_heads, heads] = [[q_heads], [heads]];
        let file = File::default().input("x", &[1, 16, 24].map(Size::Of));
        let attributes = [("q_num_heads", &q_heads[..]), ("kv_num_heads", &heads[..])];
        let found = contradictions_of(file.node("Attention", &["x"; 3], "y", &attributes));
        assert_eq!(found.len(), n_found, "{heads:?} heads: {found:?}");
    }
    // Queries, keys and values of 24 each, by one matrix.
    for (n_heads, n_found) in [(8, 0), (5, 1)] {
        let file = File::default().input("x", &[1, 16, 24].map(Size::Of));
        let file = file.weights("w", &[24, 72]);
        let heads = [n_heads];
        let file = file.node("Attention", &["x", "w"], "y", &[("num_heads", &heads[..])]);
        let found = contradictions_of(file.domain("com.microsoft"));
        assert_eq!(found.len(), n_found, "{n_heads} heads: {found:?}");
    }
    for (bits, block, n_found) in [(4, 32, 0), (8, 16, 0), (0, 32, 1), (4, 0, 1), (4, 48, 1)] {
        let file = File::default().input("x", &[1, 16, 32].map(Size::Of));
        let file = file.constant("w", INT8, &[4, 1, 16], vec![1; 64]);
        let attributes = [("K", 32), ("N", 4), ("bits", bits), ("block_size", block)];
        let attributes = attributes.map(|(name, value)| (name, [value]));
        let attributes = attributes
            .each_ref()
            .map(|(name, value)| (*name, &value[..]));
        let file = file.weights("s", &[4]);
        let file = file.node("MatMulNBits", &["x", "w", "s"], "y", &attributes);
        let found = contradictions_of(file.domain("com.microsoft"));
        assert_eq!(
            found.len(),
            n_found,
            "{bits} bits in blocks of {block}: {found:?}"
        );
    }
    for (equation, why) in [
        ("nchw,wk->nchk", None),
        ("...w,wk->...k", None),
        ("nchw,hk->nchk", None),
        ("nchw,ck->nhk", Some("two sizes")),
        ("nch,wk->nchk", Some("than labels")),
        ("nchw,wk->nchz", Some("no operand has")),
        ("nchw->nch", Some("number of operands")),
    ] {
        let actual = contradictions_of(operands().einsum(equation, &["x", "m8x5"], "y"));
        assert_eq!(
            actual.len(),
            usize::from(why.is_some()),
            "{equation}: {actual:?}"
        );
        assert!(
            actual.iter().all(|one| one.contains(why.unwrap())),
            "{equation}: {actual:?}"
        );
    }
}

#[test]
fn other_shapes_than_declared_are_told() {
    let declared = |sizes: &[Size]| {
        let mut described = File::default()
            .image([1, 3, 8, 8])
            .node("Relu", &["x"], "y", &[]);
        described.0.value_info = File::default().input("y", sizes).0.input;
        let file = described.output("y");
        let model = read(&file);
        let actual = model
            .diagnostics
            .iter()
            .find(|one| one.code == "declared-shapes");
        actual.map(|one| one.message.clone())
    };
    assert_eq!(declared(&[1, 3, 8, 8].map(Size::Of)), None);
    let named = [Size::Named("n"), Size::Of(3), Size::Of(8), Size::Named("w")];
    assert_eq!(declared(&named), None);
    let message = declared(&[1, 3, 8, 9].map(Size::Of)).unwrap();
    assert!(
        message.contains("`y` is declared as [1, 3, 8, 9], and is [1, 3, 8, 8]"),
        "{message}"
    );
    assert!(declared(&[3, 8, 8].map(Size::Of)).is_some());
}

/// Words that ONNX's definitions have, and one that none has. ONNX Runtime refuses all but those of `reduction` and of
/// `RoiAlign`'s coordinates.
#[test]
fn words_that_onnx_does_not_have() {
    let floats = |values: &[f32]| values.iter().flat_map(|one| one.to_le_bytes()).collect();
    let operands = || {
        let sizes: Vec<u8> = floats(&[1.0, 1.0, 2.0, 2.0]);
        File::default()
            .image([1, 4, 8, 8])
            .input("s", &[5, 1, 8].map(Size::Of))
            .input("grid", &[1, 3, 3, 2].map(Size::Of))
            .weights("w", &[4, 4, 3, 3])
            .constant("scales", FLOAT, &[4], sizes)
            .integers("pads", &[0, 0, 1, 1, 0, 0, 1, 1])
            .integers("first", &[0])
            .constant("places", INT64, &[1, 4, 8, 8], vec![0; 2048])
            .constant("place", INT64, &[1, 1], vec![0; 8])
            .weights("update", &[1, 4, 8, 8])
            .weights("rois", &[1, 4])
            .weights("lstm_w", &[1, 16, 8])
            .weights("lstm_r", &[1, 16, 4])
            .weights("rnn_w", &[1, 4, 8])
            .weights("rnn_r", &[1, 4, 4])
            .weights("both_w", &[2, 4, 8])
            .weights("both_r", &[2, 4, 4])
            .constant("bits", UINT8, &[2], vec![1; 2])
    };
    let count = |op_type, inputs: &[&str], name: &str, words: &[&str]| {
        let ints: &[(&str, &[i64])] = match op_type {
            "MaxPool" => &[("kernel_shape", &[2, 2])],
            "DepthToSpace" => &[("blocksize", &[2])],
            "LSTM" | "RNN" => &[("hidden_size", &[4])],
            _ => &[],
        };
        let mut file = operands().node(op_type, inputs, "y", ints);
        let node = file.0.node.last_mut().unwrap();
        let mut attribute = AttributeProto {
            name: name.into(),
            ..AttributeProto::default()
        };
        match words {
            [word] if name != "activations" => attribute.s = (*word).into(),
            words => attribute.strings = words.iter().map(|word| (*word).into()).collect(),
        }
        node.attribute.push(attribute);
        contradictions_of(file).len()
    };
    type Case = (
        &'static str,
        &'static [&'static str],
        &'static str,
        &'static [&'static str],
    );
    let cases: &[Case] = &[
        (
            "Conv",
            &["x", "w"],
            "auto_pad",
            &["NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER", ""],
        ),
        (
            "MaxPool",
            &["x"],
            "auto_pad",
            &["NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER", ""],
        ),
        (
            "Resize",
            &["x", "", "scales"],
            "mode",
            &["nearest", "linear", "cubic"],
        ),
        ("Upsample", &["x", "scales"], "mode", &["nearest", "linear"]),
        (
            "Resize",
            &["x", "", "scales"],
            "coordinate_transformation_mode",
            &[
                "half_pixel",
                "half_pixel_symmetric",
                "pytorch_half_pixel",
                "align_corners",
                "asymmetric",
                "tf_half_pixel_for_nn",
                "tf_crop_and_resize",
            ],
        ),
        (
            "Resize",
            &["x", "", "scales"],
            "nearest_mode",
            &["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"],
        ),
        (
            "Resize",
            &["x", "", "scales"],
            "keep_aspect_ratio_policy",
            &["stretch", "not_larger", "not_smaller"],
        ),
        (
            "Pad",
            &["x", "pads"],
            "mode",
            &["constant", "reflect", "edge", "wrap"],
        ),
        (
            "ScatterElements",
            &["x", "places", "update"],
            "reduction",
            &["none", "add", "mul", "max", "min"],
        ),
        (
            "ScatterND",
            &["x", "place", "update"],
            "reduction",
            &["none", "add", "mul", "max", "min"],
        ),
        (
            "GridSample",
            &["x", "grid"],
            "mode",
            &["bilinear", "nearest", "bicubic", "linear", "cubic"],
        ),
        (
            "GridSample",
            &["x", "grid"],
            "padding_mode",
            &["zeros", "border", "reflection"],
        ),
        ("DepthToSpace", &["x"], "mode", &["DCR", "CRD"]),
        ("Gelu", &["x"], "approximate", &["none", "tanh"]),
        ("RoiAlign", &["x", "rois", "first"], "mode", &["avg", "max"]),
        (
            "RoiAlign",
            &["x", "rois", "first"],
            "coordinate_transformation_mode",
            &["half_pixel", "output_half_pixel"],
        ),
        (
            "BitShift",
            &["bits", "bits"],
            "direction",
            &["LEFT", "RIGHT"],
        ),
        (
            "LSTM",
            &["s", "lstm_w", "lstm_r"],
            "direction",
            &["forward", "reverse"],
        ),
        (
            "RNN",
            &["s", "rnn_w", "rnn_r"],
            "direction",
            &["forward", "reverse"],
        ),
        (
            "RNN",
            &["s", "both_w", "both_r"],
            "direction",
            &["bidirectional"],
        ),
        (
            "RNN",
            &["s", "rnn_w", "rnn_r"],
            "activations",
            &["Relu", "tanh", "Softplus"],
        ),
    ];
    for (op_type, inputs, name, words) in cases {
        for word in *words {
            assert_eq!(
                count(op_type, inputs, name, &[word]),
                0,
                "{op_type} {name} {word}"
            );
        }
        for word in ["none of them", "Nearest", "\u{e4}"] {
            assert_eq!(
                count(op_type, inputs, name, &[word]),
                1,
                "{op_type} {name} {word}"
            );
        }
    }
    let mode = |words: &[&str]| count("Resize", &["x", "", "scales"], "mode", words);
    assert_eq!(
        [mode(&[]), mode(&["nearest", "linear"])],
        [1, 1],
        "no word, and a list"
    );
    let lstm = |words| count("LSTM", &["s", "lstm_w", "lstm_r"], "activations", words);
    assert_eq!(lstm(&["Sigmoid", "Tanh", "Tanh"]), 0);
    assert_eq!(lstm(&["Sigmoid", "Tanh", "Tank"]), 1);
    let directions = |inputs, word| count("RNN", inputs, "direction", &[word]);
    assert_eq!(directions(&["s", "rnn_w", "rnn_r"], "bidirectional"), 1);
    assert_eq!(directions(&["s", "both_w", "both_r"], "reverse"), 1);
}

/// Types that ONNX Runtime binds to one parameter, or refuses.
#[test]
fn operands_of_types_that_onnx_does_not_take() {
    let operands = || {
        let file = File::default()
            .image([1, 4, 8, 8])
            .weights("w", &[4, 4, 3, 3])
            .constant("whole", INT64, &[1, 4, 8, 8], vec![0; 2048])
            .constant("short", INT32, &[1, 4, 8, 8], vec![0; 1024])
            .constant("half", FLOAT16, &[1, 4, 8, 8], vec![0; 512])
            .constant("whole_w", INT64, &[4, 4, 3, 3], vec![0; 1152])
            .constant("truths", BOOL, &[1, 4, 8, 8], vec![0; 256])
            .constant("bytes", UINT8, &[1, 4, 8, 8], vec![0; 256])
            .integers("shape", &[4, 64])
            .number("one", 1.0)
            .weights("floats", &[2])
            .weights("matrix", &[8, 8])
            .constant("bytes_matrix", UINT8, &[8, 8], vec![0; 64]);
        let cast =
            |file: File, name: &str, to: i64| file.node("Cast", &["x"], name, &[("to", &[to])]);
        cast(cast(file, "as_int64", 7), "as_bool", 9)
    };
    let of =
        |op_type, inputs: &[&str]| contradictions_of(operands().node(op_type, inputs, "y", &[]));
    for (op_type, inputs) in [
        ("Add", ["x", "w"]),
        ("Add", ["x", "one"]),
        ("Pow", ["x", "whole"]),
        ("Equal", ["whole", "as_int64"]),
        ("And", ["truths", "as_bool"]),
        ("Reshape", ["x", "shape"]),
        ("MatMul", ["x", "matrix"]),
        ("Conv", ["x", "w"]),
        ("Sub", ["as_int64", "whole"]),
    ] {
        let inputs = if inputs == ["x", "w"] && op_type == "Add" {
            ["x", "x"]
        } else {
            inputs
        };
        assert_eq!(
            of(op_type, &inputs),
            Vec::<&str>::new(),
            "{op_type} {inputs:?}"
        );
    }
    for (op_type, inputs) in [
        ("Add", &["x", "whole"][..]),
        ("Add", &["x", "as_int64"]),
        ("Mul", &["x", "half"]),
        ("Sub", &["as_int64", "bytes"]),
        ("Max", &["x", "x", "bytes"]),
        ("Equal", &["x", "as_bool"]),
        ("Concat", &["x", "as_int64"]),
        ("MatMul", &["x", "bytes_matrix"]),
        ("Gemm", &["matrix", "bytes_matrix"]),
        ("Conv", &["x", "whole_w"]),
        ("Conv", &["as_int64", "whole_w"]),
        ("Clip", &["x", "shape"]),
        ("PRelu", &["x", "short"]),
        ("Where", &["as_int64", "x", "x"]),
        ("Where", &["as_bool", "x", "whole"]),
        ("And", &["x", "as_bool"]),
        ("Not", &["x"]),
        ("Sigmoid", &["as_int64"]),
        ("Softmax", &["as_bool"]),
        ("Sqrt", &["as_int64"]),
        ("Reshape", &["x", "floats"]),
        ("Gather", &["x", "matrix"]),
        ("ReduceSum", &["x", "floats"]),
    ] {
        assert_eq!(of(op_type, inputs).len(), 1, "{op_type} {inputs:?}");
    }
    // What an operator of another domain makes is not known.
    let unknown = |file: File| file.node("Add", &["made", "whole"], "y", &[]);
    let made = |domain: &str| {
        let file = operands().node("Make", &["x"], "made", &[]).domain(domain);
        contradictions_of(unknown(file))
    };
    assert_eq!(made("vendor"), Vec::<&str>::new());
    // Nor are the types of ONNX Runtime's operators those of the ones that they consist of.
    let mixed = operands().node(
        "MatMulIntegerToFloat",
        &["bytes", "bytes_matrix", "one", "one", "", "", "one"],
        "y",
        &[],
    );
    assert_eq!(
        contradictions_of(mixed.domain("com.microsoft")),
        Vec::<&str>::new()
    );
}
