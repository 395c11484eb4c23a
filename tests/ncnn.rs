//! ncnn's networks: published ones against the shapes that ncnn's own tools wrote into them and against weights counted from
//! the text, layers one by one, and refusals.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use litecast::formats::ncnn;
use litecast::formats::onnx::Dimensions;
use litecast::formats::tflite::{Format, Model};
use litecast::graph::{self, analysis};
use litecast::report::Report;
use litecast::{ModelFile, estimate};
use litecast_needs::{python, shared};

const ALONE: Dimensions = Dimensions {
    batch: 1,
    named: &[],
};

fn read(text: &str) -> Model<'static> {
    ncnn::parse(text.as_bytes(), &ALONE).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// A network of these lines.
fn network(lines: &[&str]) -> String {
    format!(
        "7767517\n{} {}\n{}\n",
        lines.len(),
        lines.len(),
        lines.join("\n")
    )
}

/// Kinds of operators, each with the shape of what it writes.
fn operators(model: &Model) -> Vec<(String, Vec<i32>)> {
    let subgraph = &model.subgraphs[0];
    let each = subgraph.operators.iter().map(|operator| {
        let output = &subgraph.tensors[operator.outputs[0]];
        (operator.code.name().to_owned(), output.shape.clone())
    });
    each.collect()
}

#[track_caller]
fn check(lines: &[&str], expected: &[(&str, &[i32])]) {
    let text = network(lines);
    let found = operators(&read(&text));
    let found: Vec<(&str, &[i32])> = found
        .iter()
        .map(|(kind, shape)| (kind.as_str(), shape.as_slice()))
        .collect();
    assert_eq!(found, expected, "{text}");
}

/// The networks of ncnn's benchmark and of its language models, unpacked.
fn published() -> Option<Vec<(String, String)>> {
    let archive = shared("data/accelerators/ncnn_param.zip")?;
    let python = python("zipfile")?;
    let folder = tempfile::tempdir().unwrap();
    let unpacked = Command::new(python)
        .args(["-m", "zipfile", "-e"])
        .args([archive.as_path(), folder.path()])
        .status();
    assert!(unpacked.unwrap().success());
    let mut files: Vec<PathBuf> = fs::read_dir(folder.path())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    files.sort();
    let name = |path: &Path| path.file_name().unwrap().to_string_lossy().into_owned();
    Some(
        files
            .iter()
            .map(|path| (name(path), fs::read_to_string(path).unwrap()))
            .collect(),
    )
}

/// Sizes that language models leave open: 16 tokens. Their mask and angles are for as many positions.
fn sizes(text: &str) -> Vec<(String, u32)> {
    let mut named = Vec::new();
    let error = loop {
        let dimensions = Dimensions {
            batch: 1,
            named: &named,
        };
        match ncnn::parse(text.as_bytes(), &dimensions) {
            Ok(_) => return named,
            Err(error) => {
                let message = error.to_string();
                let wanted = message.split("found none for ").nth(1);
                let Some(wanted) = wanted else { break error };
                let n = named.len();
                for name in wanted.split(", ") {
                    // The width of angles is half of a head's.
                    let is_angle = ["in2.2", "in3.2"].contains(&name);
                    named.push((name.to_owned(), if is_angle { head(text) / 2 } else { 16 }));
                }
                assert!(named.len() > n, "{message}");
            }
        }
    };
    panic!("{error}")
}

/// Width of a head of attention: the first side of the first reshape.
fn head(text: &str) -> u32 {
    let line = text
        .lines()
        .find(|line| line.starts_with("Reshape"))
        .unwrap();
    let word = line.split_whitespace().find(|word| word.starts_with("0="));
    word.unwrap()[2..].parse().unwrap()
}

/// Weights of the layers, as their parameters count them: by kind of layer the parameter, and its factor.
fn weights_of(text: &str) -> u64 {
    let parameter = |line: &str, id: &str| {
        let word = line
            .split_whitespace()
            .skip(4)
            .find_map(|word| word.strip_prefix(id));
        word.and_then(|value| value.parse::<u64>().ok())
            .unwrap_or(0)
    };
    let of_line = |line: &str| match line.split_whitespace().next().unwrap_or_default() {
        "Convolution" | "ConvolutionDepthWise" | "DeconvolutionDepthWise" => {
            parameter(line, "6=") + parameter(line, "0=") * parameter(line, "5=").min(1)
        }
        "InnerProduct" => parameter(line, "2=") + parameter(line, "0=") * parameter(line, "1="),
        "Gemm" => parameter(line, "8=") * parameter(line, "9="),
        "RMSNorm" => parameter(line, "0="),
        _ => 0,
    };
    text.lines().skip(2).map(of_line).sum()
}

#[test]
fn published_networks_have_the_weights_and_shapes_that_the_text_says() {
    let Some(networks) = published() else { return };
    let (mut n_hints, mut unknown) = (0, BTreeMap::<String, usize>::new());
    for (name, text) in &networks {
        let named = sizes(text);
        let dimensions = Dimensions {
            batch: 1,
            named: &named,
        };
        let model = ncnn::parse(text.as_bytes(), &dimensions).unwrap();
        assert_eq!(model.format, Format::Ncnn);
        for operator in &model.subgraphs[0].operators {
            if let Some(layer) = operator.code.name().strip_prefix("ncnn:") {
                *unknown.entry(layer.to_owned()).or_default() += 1;
            }
        }
        let graph = graph::build(&model, 0).unwrap();
        let analysis = analysis::analyze(&graph);
        let (found, stated) = (analysis.totals.parameters, weights_of(text));
        let share = found as f64 / stated as f64 - 1.0;
        println!(
            "{name}: {found} parameters, {stated} in the text ({:+.2} %)",
            100.0 * share
        );
        // Batch norms, scales and slopes are not counted from the text.
        assert!((0.0..0.01).contains(&share), "{name}: {found} for {stated}");
        n_hints += hinted_shapes(name, text, &model);
    }
    println!(
        "{} networks, {n_hints} shapes compared, layers under their own names: {unknown:?}",
        networks.len()
    );
    assert!(networks.len() >= 40 && n_hints >= 400);
    // What selects boxes, and what only that reads.
    let known = [
        "DetectionOutput",
        "PriorBox",
        "Yolov3DetectionOutput",
        "YoloDetectionOutput",
    ];
    assert!(
        unknown.keys().all(|layer| known.contains(&layer.as_str())),
        "{unknown:?}"
    );
}

/// Compares tensors with the hints of the layers that write blobs of the same name. Returns how many.
fn hinted_shapes(name: &str, text: &str, model: &Model) -> usize {
    let tensors = &model.subgraphs[0].tensors;
    let mut n = 0;
    for line in text.lines().skip(2) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let Some(hint) = words.iter().find_map(|word| word.strip_prefix("-23330=4,")) else {
            continue;
        };
        let n_inputs: usize = words[2].parse().unwrap();
        let numbers: Vec<i32> = hint.split(',').map(|n| n.parse().unwrap()).collect();
        let blob = words[4 + n_inputs];
        let Some(tensor) = tensors.iter().find(|tensor| *tensor.name == *blob) else {
            continue;
        };
        let mut sides = numbers[1..=numbers[0] as usize].to_vec();
        let mut found = tensor.shape[1..].to_vec();
        // Images have their channels last, and blobs first; a blob's sides begin with the innermost.
        sides.sort_unstable();
        found.sort_unstable();
        assert_eq!(found, sides, "{name}: {blob}");
        n += 1;
    }
    n
}

#[test]
fn published_networks_have_reports() {
    let Some(networks) = published() else { return };
    let light = [
        "squeezenet.param",
        "mobilenet_v3.param",
        "resnet18_int8.param",
        "mobilenet_ssd.param",
    ];
    for (name, text) in networks
        .iter()
        .filter(|(name, _)| light.contains(&name.as_str()))
    {
        let file = ModelFile::new(name, text.as_bytes());
        let report: Report = estimate(file, None).unwrap();
        let report = serde_json::to_value(&report).unwrap();
        assert_eq!(report["model"]["format"], "ncnn");
        assert_eq!(report["model"]["file_bytes"], text.len());
        assert!(
            report["model"]["macs"].as_u64().unwrap() > 100_000_000,
            "{name}"
        );
    }
}

#[test]
fn convolutions_take_their_activation() {
    check(
        &[
            "Input x 0 1 x 0=32 1=16 2=3",
            "Convolution a 1 1 x a 0=8 1=3 3=2 4=1 5=1 6=216 9=1",
            "ConvolutionDepthWise b 1 1 a b 0=8 1=3 4=1 6=72 7=8 9=3 -23310=2,0.0,6.0",
            "Pooling c 1 1 b c 0=1 4=1",
            "InnerProduct d 1 1 c d 0=10 1=1 2=80",
            "Softmax e 1 1 d e 0=0",
        ],
        &[
            ("PAD", &[1, 17, 33, 3]),
            ("CONV_2D", &[1, 8, 16, 8]),
            ("DEPTHWISE_CONV_2D", &[1, 8, 16, 8]),
            ("MEAN", &[1, 8]),
            ("FULLY_CONNECTED", &[1, 10]),
            ("SOFTMAX", &[1, 10]),
        ],
    );
}

#[test]
fn a_blob_of_fewer_sides_is_one_value_for_each_channel() {
    check(
        &[
            "Input x 0 1 x 0=8 1=6 2=4",
            "Split s 1 2 x x1 x2",
            "Pooling p 1 1 x1 p 0=1 4=1",
            "BinaryOp m 2 1 x2 p m 0=2",
        ],
        &[
            ("MEAN", &[1, 4]),
            ("RESHAPE", &[1, 1, 1, 4]),
            ("MUL", &[1, 6, 8, 4]),
        ],
    );
}

#[test]
fn windows_of_full_padding_end_behind_the_input() {
    // 113 = 2 + 2 · 55 + 1: one column is left, which gets a window of its own.
    check(
        &[
            "Input x 0 1 x 0=113 1=113 2=4",
            "Pooling p 1 1 x p 0=0 1=3 2=2",
        ],
        &[("MAX_POOL_2D", &[1, 56, 56, 4])],
    );
    let text = network(&[
        "Input x 0 1 x 0=114 1=114 2=4",
        "Pooling p 1 1 x p 0=0 1=3 2=2",
    ]);
    let found = operators(&read(&text));
    assert_eq!(found.last().unwrap().1, [1, 57, 57, 4]);
    let text = network(&[
        "Input x 0 1 x 0=114 1=114 2=4",
        "Pooling p 1 1 x p 0=0 1=3 2=2 5=1",
    ]);
    assert_eq!(operators(&read(&text)).last().unwrap().1, [1, 56, 56, 4]);
}

#[test]
fn sides_are_moved_as_their_names_say() {
    // Channels become the innermost side, as they lie in memory: nothing moves.
    let text = network(&[
        "Input x 0 1 x 0=5 1=7 2=12",
        "Convolution a 1 1 x a 0=6 1=1 6=72",
        "Permute p 1 1 a p 0=3",
        "Flatten f 1 1 p f",
    ]);
    let found = operators(&read(&text));
    assert_eq!(found[0], ("CONV_2D".to_owned(), vec![1, 7, 5, 6]));
    assert_eq!(found.last().unwrap(), &("RESHAPE".to_owned(), vec![1, 210]));
    assert!(
        found.iter().all(|(kind, _)| kind != "TRANSPOSE"),
        "{found:?}"
    );
}

#[test]
fn open_sizes_are_asked_for_by_place() {
    let text = network(&[
        "Input x 0 1 in0",
        "Convolution a 1 1 in0 a 0=8 1=3 4=1 6=216",
    ]);
    let error = ncnn::parse(text.as_bytes(), &ALONE).unwrap_err();
    assert_eq!(error.kind(), "unknown-dimension");
    let named = [("in0.2".to_owned(), 24), ("in0.3".to_owned(), 32)];
    let dimensions = Dimensions {
        batch: 1,
        named: &named,
    };
    let model = ncnn::parse(text.as_bytes(), &dimensions).unwrap();
    assert_eq!(
        operators(&model),
        [("CONV_2D".to_owned(), vec![1, 24, 32, 8])]
    );
    assert!(model.unmatched_dimensions.is_none());
}

/// By hand, from the first layer that reads an input; where none tells, an image is asked for, or what is given.
#[test]
fn inputs_have_the_sides_that_layers_need() {
    for (layer, asked) in [
        (
            "Deconvolution a 1 1 in0 a 0=8 1=3 6=216",
            vec!["in0.2", "in0.3"],
        ),
        (
            "Convolution3D a 1 1 in0 a 0=8 1=3 6=648",
            vec!["in0.2", "in0.3", "in0.4"],
        ),
        (
            "ConvolutionDepthWise1D a 1 1 in0 a 0=8 1=3 6=24 7=8",
            vec!["in0.2"],
        ),
        ("LSTM a 1 1 in0 a 0=16 1=2048 2=0", vec!["in0.1", "in0.2"]),
        (
            "MultiHeadAttention a 1 1 in0 a 0=64 1=8 2=4096",
            vec!["in0.1"],
        ),
        ("Softmax a 1 1 in0 a 0=0", vec!["in0.1", "in0.2", "in0.3"]),
        ("SDPA a 3 1 in0 in0 in0 a", vec!["in0.1", "in0.2", "in0.3"]),
    ] {
        let text = network(&["Input x 0 1 in0", layer]);
        let error = ncnn::parse(text.as_bytes(), &ALONE).unwrap_err();
        let names: Vec<String> = asked.iter().map(|name| (*name).to_owned()).collect();
        assert!(
            error.to_string().contains(&names.join(", ")),
            "{layer}: {error}"
        );
        assert_eq!(error.kind(), "unknown-dimension", "{layer}");
        let named: Vec<(String, u32)> = names.into_iter().map(|name| (name, 16)).collect();
        let dimensions = Dimensions {
            batch: 1,
            named: &named,
        };
        let model = ncnn::parse(text.as_bytes(), &dimensions).unwrap();
        assert!(model.unmatched_dimensions.is_none(), "{layer}");
    }
    let rows = [("in0.1".to_owned(), 5), ("in0.2".to_owned(), 7)];
    let dimensions = Dimensions {
        batch: 1,
        named: &rows,
    };
    let text = network(&["Input x 0 1 in0", "Softmax a 1 1 in0 a 0=1"]);
    let model = ncnn::parse(text.as_bytes(), &dimensions).unwrap();
    assert_eq!(operators(&model), [("SOFTMAX".to_owned(), vec![1, 5, 7])]);
}

/// Two groups of 4 × 24 × 32 values, and windows of three sides.
#[test]
fn groups_are_normalised_and_volumes_pooled() {
    let text = network(&[
        "Input x 0 1 x 0=32 1=24 2=8",
        "GroupNorm a 1 1 x a 0=2 1=8 2=1e-5 3=1",
    ]);
    let model = read(&text);
    let found = operators(&model);
    let count = |wanted: &str| found.iter().filter(|(kind, _)| kind == wanted).count();
    assert_eq!((count("MEAN"), count("RSQRT")), (2, 1), "{found:?}");
    assert_eq!(found[0], ("RESHAPE".to_owned(), vec![1, 2, 4, 768]));
    assert_eq!(
        found.last().unwrap(),
        &("ADD".to_owned(), vec![1, 8, 24, 32])
    );
    let text = network(&[
        "Input x 0 1 x 0=12 1=10 11=6 2=4",
        "Pooling3D a 1 1 x a 0=0 1=2 2=2",
    ]);
    let found = operators(&read(&text));
    let pooled = ("ONNX:MaxPool".to_owned(), vec![1, 4, 3, 5, 6]);
    assert_eq!(found.last().unwrap(), &pooled);
}

#[test]
fn refusals_say_what_was_expected() {
    let twice = ["Input x 0 1 x 0=4", "ReLU a 1 1 x x"];
    let missing = ["Input x 0 1 x 0=4", "ReLU a 1 1 y z"];
    for (text, kind) in [
        ("7767517\n".to_owned(), "malformed"),
        ("7767517\nmany\n".to_owned(), "malformed"),
        ("7767517\n2 2\nInput x 0 1 x 0=4\n".to_owned(), "malformed"),
        ("7767517\n99999999 1\n".to_owned(), "limit-exceeded"),
        (network(&["Input x 0 one x"]), "malformed"),
        (network(&["Input x 0 5 x"]), "malformed"),
        (network(&["Input x 0 99999 x"]), "limit-exceeded"),
        (network(&["Input x 0 1 x zero"]), "malformed"),
        (
            network(&["Input x 0 1 x 0=2147483647 1=2147483647 2=2147483647"]),
            "shape-overflow",
        ),
        (network(&twice), "duplicate-value"),
        (network(&missing), "undefined-value"),
    ] {
        let error = ncnn::parse(text.as_bytes(), &ALONE).unwrap_err();
        println!("{error}");
        assert_eq!(error.kind(), kind, "{error}");
    }
    let binary = 7_767_517_u32.to_le_bytes();
    assert!(ncnn::is_ncnn(&binary));
    assert_eq!(
        ncnn::parse(&binary, &ALONE).unwrap_err().kind(),
        "binary-form"
    );
}

/// Values that ncnn itself refuses when it loads or runs a network, or on which it ends, and those beside them.
#[test]
fn parameters_that_no_kernel_takes_are_refused() {
    let read = |input: &str, kind: &str, parameters: &str| {
        let layer = format!("{kind} y 1 1 x y {parameters}");
        let text = network(&[&format!("Input x 0 1 x {input}"), &layer]);
        ncnn::parse(text.as_bytes(), &ALONE)
    };
    let image = "0=16 1=12 2=8";
    let rows = "0=16 1=12";
    let all = [0, -1, i64::from(i32::MAX), i64::from(i32::MIN)];
    let above_0 = &all;
    let not_below_0 = &all[1..];
    type Case<'c> = (&'c str, &'c str, &'c str, &'c [(i64, &'c [i64])]);
    let cases: &[Case] = &[
        (
            image,
            "Convolution",
            "0=8 1=3 2=1 3=2 4=1 5=1 6=576 9=0",
            &[
                (0, &all[..2]),
                (1, above_0),
                (2, above_0),
                (3, above_0),
                (4, not_below_0),
                (9, not_below_0),
            ],
        ),
        (
            image,
            "Deconvolution",
            "0=4 1=2 2=1 3=2 4=0 5=0 6=128 18=0",
            &[
                (1, above_0),
                (2, above_0),
                (3, above_0),
                (4, not_below_0),
                (18, not_below_0),
            ],
        ),
        (
            image,
            "DeconvolutionDepthWise",
            "0=8 1=2 2=1 3=2 4=0 6=32 7=8",
            &[(3, above_0), (7, &all[..2])],
        ),
        (
            image,
            "Pooling",
            "0=0 1=3 2=2 3=0 5=0",
            &[
                (0, not_below_0),
                (1, above_0),
                (2, above_0),
                (3, not_below_0),
                (5, not_below_0),
            ],
        ),
        (
            rows,
            "LSTM",
            "0=5 1=320 2=0 3=5",
            &[
                (0, &all[..2]),
                (1, &all[..2]),
                (2, not_below_0),
                (3, &all[..2]),
            ],
        ),
        (
            rows,
            "GRU",
            "0=5 1=240 2=0",
            &[(0, &all[..2]), (1, &all[..2])],
        ),
        (
            rows,
            "RNN",
            "0=5 1=80 2=0",
            &[(0, &all[..2]), (1, &all[..2])],
        ),
        (
            rows,
            "Gemm",
            "5=1 6=1 8=6 9=16 10=4",
            &[(8, &all[1..2]), (9, &all[1..2]), (10, &all[2..])],
        ),
        (
            image,
            "InnerProduct",
            "0=8 1=1 2=12288 9=0",
            &[(9, not_below_0)],
        ),
        (
            image,
            "Interp",
            "0=1 3=24 4=32",
            &[(0, &all[2..]), (3, not_below_0), (4, not_below_0)],
        ),
        (
            image,
            "Padding",
            "0=1 1=1 2=1 3=1 4=0",
            &[(0, not_below_0), (3, not_below_0)],
        ),
        (
            image,
            "Crop",
            "0=1 1=1 2=0 3=4 4=4 5=8",
            &[(0, not_below_0), (3, &[-1, i64::from(i32::MIN)])],
        ),
        (image, "LayerNorm", "0=16 2=1", &[(0, &all[..2])]),
        (image, "Tile", "0=0 1=2", &[(1, &all[..2])]),
        (image, "PixelShuffle", "0=2 1=0", &[(1, not_below_0)]),
        (image, "Reorg", "0=2 1=0", &[(1, not_below_0)]),
        ("0=16", "Embed", "0=8 1=100 3=800", &[(0, &all[..2])]),
    ];
    for (input, kind, parameters, wrong) in cases {
        let model = read(input, kind, parameters).unwrap();
        let operators = operators(&model);
        assert!(
            operators.iter().all(|(name, _)| !name.contains("ncnn")),
            "{operators:?}"
        );
        for (id, values) in *wrong {
            for value in *values {
                let others = parameters
                    .split(' ')
                    .filter(|one| !one.starts_with(&format!("{id}=")));
                let others: Vec<&str> = others.collect();
                let changed = format!("{} {id}={value}", others.join(" "));
                let Err(error) = read(input, kind, &changed) else {
                    panic!("{kind} {changed}");
                };
                assert_eq!(error.kind(), "malformed", "{kind} {changed}: {error}");
                assert!(
                    error.to_string().contains(&format!("found {id}={value}")),
                    "{error}"
                );
            }
        }
    }
}

#[test]
fn layers_without_a_counterpart_keep_their_names() {
    check(
        &[
            "Input x 0 1 x 0=8 1=8 2=4",
            "Own o 1 1 x o -23330=4,3,4,4,2",
        ],
        &[("ncnn:Own", &[1, 2, 4, 4])],
    );
}
