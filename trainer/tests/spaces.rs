//! The design spaces: same seed, same bytes; and files that independent tools accept.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use litecast::formats::tflite::{Operator, Subgraph, parse};
use litecast::graph::shapes::batch_size::set_batch;
use litecast_trainer::spaces::table2::paper;
use litecast_trainer::spaces::{SampleForm, Space, SpaceSample, sample, sample_in};
use litecast_trainer::writer::{Content, OperatorKind, Precision, Tensor};
use serde_json::Value;
use sha2::{Digest, Sha256};

const TRAINER: &str = env!("CARGO_MANIFEST_DIR");

fn samples(count: u64) -> impl Iterator<Item = SpaceSample> {
    Space::all().flat_map(move |space| (0..count).map(move |index| sample(space, 1, index)))
}

/// The same network of its space in another form, where it has one.
fn written_as(precision: Precision, batch: u32, sample: &SpaceSample) -> Option<SpaceSample> {
    let form = SampleForm {
        precision,
        batch,
        ..SampleForm::default()
    };
    sample_in(form, sample.space, sample.seed, sample.index)
}

fn golden_line(sample: &SpaceSample) -> String {
    let digest = Sha256::digest(sample.to_tflite());
    let hex: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    format!(
        "{} structure={:016x} weights={} sha256={hex}\n",
        sample.network.name,
        sample.structure_hash(),
        sample.weight_distribution
    )
}

/// Labels are kept and files are remade from seeds: the bytes must never change unnoticed.
/// `UPDATE_GOLDENS=1` rewrites the list.
#[test]
fn seeds_give_the_recorded_bytes() {
    let path = Path::new(TRAINER).join("tests/goldens/spaces.txt");
    let lines: String = samples(3).map(|sample| golden_line(&sample)).collect();
    if std::env::var_os("UPDATE_GOLDENS").is_some() {
        fs::write(&path, &lines).expect("write the golden list");
    }
    let golden = fs::read_to_string(&path).expect("read the golden list");
    assert_eq!(
        lines,
        golden,
        "sampled files differ from {}",
        path.display()
    );
}

#[test]
fn seed_index_and_space_all_count() {
    let hash = |space, seed, index| Sha256::digest(sample(space, seed, index).to_tflite());
    let first = hash(Space::CNN_KWS, 1, 0);
    assert_eq!(first, hash(Space::CNN_KWS, 1, 0));
    assert_ne!(first, hash(Space::CNN_KWS, 1, 1));
    assert_ne!(first, hash(Space::CNN_KWS, 2, 0));
    assert_ne!(first, hash(Space::CNN_CIFAR10, 1, 0));
}

/// Number of values in a range of the paper that ours covers, over the range's own.
fn share_covered(paper: [usize; 2], ours: [usize; 2]) -> f64 {
    let covered = paper[1].min(ours[1]).saturating_sub(paper[0].max(ours[0]));
    covered as f64 / (paper[1] - paper[0]) as f64
}

fn range_of(counts: impl Iterator<Item = usize>) -> [usize; 2] {
    counts.fold([usize::MAX, 0], |[least, most], count| {
        [least.min(count), most.max(count)]
    })
}

/// By space of the paper, the networks of 4,000 at the ends of its ranges: fewest and most operators, fewest and most
/// tensors.
const ENDS: [[u64; 4]; 4] = [
    [2851, 3842, 2851, 2309],
    [804, 3405, 804, 3405],
    [77, 1124, 77, 1124],
    [356, 1693, 1504, 1382],
];

/// The table of docs/method/design-spaces.md is what `table2` prints; its two integer rows are cheap enough to make again: of
/// the networks at the ends of the ranges and as many others as `LITECAST_TABLE_2_SAMPLES` says, all 4,000 with `make
/// test-long`.
#[test]
fn ranges_of_table_2_are_reached_and_documented() {
    let n_samples = std::env::var("LITECAST_TABLE_2_SAMPLES");
    let n_samples: u64 = n_samples.map_or(500, |n| n.parse().expect("a number of samples"));
    let readme = fs::read_to_string(Path::new(TRAINER).join("../docs/method/design-spaces.md"))
        .expect("read the table");
    let mut rows = ["| operators |".to_owned(), "| tensors |".to_owned()];
    for (space, ends) in Space::PAPER.into_iter().zip(ENDS) {
        let networks = (0..n_samples).chain(ends);
        let networks = networks.map(|index| sample(space, 1, index).network);
        let counts: Vec<[usize; 2]> = networks
            .map(|network| [network.operators.len(), network.tensors.len()])
            .collect();
        let [operators, tensors] = [0, 1].map(|idx| range_of(counts.iter().map(|n| n[idx])));
        let paper = paper(space);
        for (row, paper, ours) in [
            (0, paper.n_operators, operators),
            (1, paper.n_tensors, tensors),
        ] {
            let share = share_covered(paper, ours);
            println!(
                "{}: paper {paper:?}, ours {ours:?}, covered {share:.3}",
                space.id()
            );
            assert!(
                share > 0.85,
                "{}: paper {paper:?}, ours {ours:?}",
                space.id()
            );
            rows[row] += &format!(" {}–{} | {}–{} |", paper[0], paper[1], ours[0], ours[1]);
        }
    }
    for row in rows {
        assert!(
            readme.contains(&row),
            "docs/method/design-spaces.md lacks: {row}"
        );
    }
}

/// As rarely as if each were drawn from so many structures: of 10,000, of which 1,000 draws repeat 5 %, in the paper's
/// spaces, and of 800, of which they repeat half, in the others.
#[test]
fn networks_of_a_space_rarely_repeat() {
    const N: u64 = 250;
    for space in Space::all() {
        let hashes: BTreeSet<_> = (0..N)
            .map(|index| sample(space, 1, index).structure_hash())
            .collect();
        let n_structures = if Space::PAPER.contains(&space) {
            10_000.0
        } else {
            800.0
        };
        let least = n_structures * (1.0 - (-(N as f64) / n_structures).exp());
        println!(
            "{}: {} structures in {N} samples, expected {least:.1}",
            space.id(),
            hashes.len()
        );
        assert!(hashes.len() as f64 > least.floor(), "{}", space.id());
    }
}

fn scale(tensor: &Tensor) -> f32 {
    tensor
        .quantization
        .as_ref()
        .expect("operands are quantised")
        .scales[0]
}

/// The rules of TFLite's quantisation specification that a mistake in the builder would break.
#[test]
fn quantization_follows_the_rules_of_int8() {
    for sample in samples(20) {
        let tensors = &sample.network.tensors;
        for operator in &sample.network.operators {
            let name = &tensors[operator.outputs[0]].name;
            let input = |idx: usize| &tensors[operator.inputs[idx]];
            let output = &tensors[operator.outputs[0]];
            match operator.kind {
                OperatorKind::Conv2D { .. }
                | OperatorKind::DepthwiseConv2D { .. }
                | OperatorKind::FullyConnected { .. } => {
                    check_layer(name, [input(0), input(1), input(2)], output)
                }
                OperatorKind::TransposeConv { .. } => {
                    check_layer(name, [input(2), input(1), input(3)], output)
                }
                OperatorKind::AveragePool2D { .. }
                | OperatorKind::MaxPool2D { .. }
                | OperatorKind::MirrorPad { .. }
                | OperatorKind::Pad
                | OperatorKind::ReduceMax { .. }
                | OperatorKind::Reshape { .. }
                | OperatorKind::ResizeBilinear { .. }
                | OperatorKind::Slice
                | OperatorKind::SplitV { .. }
                | OperatorKind::StridedSlice { .. }
                | OperatorKind::Transpose
                | OperatorKind::Unpack { .. } => {
                    assert_eq!(input(0).quantization, output.quantization, "{name}")
                }
                OperatorKind::Concatenation { .. }
                | OperatorKind::Maximum
                | OperatorKind::Pack { .. } => operator.inputs.iter().for_each(|&input| {
                    assert_eq!(tensors[input].quantization, output.quantization, "{name}")
                }),
                OperatorKind::Softmax | OperatorKind::Logistic => {
                    check_fixed(name, output, 1.0 / 256.0, -128)
                }
                OperatorKind::Tanh => check_fixed(name, output, 1.0 / 128.0, 0),
                OperatorKind::Rsqrt => {
                    assert_eq!(
                        input(0).quantization.as_ref().unwrap().zero_point,
                        -128,
                        "{name}"
                    );
                }
                _ => {}
            }
        }
    }
}

fn check_layer(name: &str, [input, weights, bias]: [&Tensor; 3], output: &Tensor) {
    let weight_scales = weights
        .quantization
        .as_ref()
        .expect("weights are quantised");
    let bias_scales = bias.quantization.as_ref().expect("a bias is quantised");
    assert_eq!(weight_scales.zero_point, 0, "{name}");
    assert_eq!(
        weight_scales.scales.len(),
        weights.shape[weight_scales.axis] as usize,
        "{name}"
    );
    assert!(
        matches!(weights.content, Content::Weights(_))
            && matches!(bias.content, Content::Bias { .. })
    );
    for (weight, bias) in weight_scales.scales.iter().zip(&bias_scales.scales) {
        let expected = weight * scale(input);
        assert!(
            (bias / expected - 1.0).abs() < 1e-5,
            "{name}: bias scale {bias}, expected {expected}"
        );
        let multiplier = expected / scale(output);
        assert!(
            multiplier > 0.0 && multiplier < 1.0,
            "{name}: multiplier {multiplier}"
        );
    }
}

fn check_fixed(name: &str, tensor: &Tensor, expected_scale: f32, expected_zero_point: i8) {
    let zero_point = tensor.quantization.as_ref().unwrap().zero_point;
    assert_eq!(
        (scale(tensor), zero_point),
        (expected_scale, expected_zero_point),
        "{name}"
    );
}

/// What the description says is what our own reader finds, without a word of doubt.
#[test]
fn our_reader_agrees_with_the_description() {
    for sample in samples(5) {
        let file = sample.to_tflite();
        let model = litecast::formats::tflite::parse(&file).expect("a sampled file is read");
        assert!(model.diagnostics.is_empty(), "{:?}", model.diagnostics);
        let network = &sample.network;
        let [subgraph] = &model.subgraphs[..] else {
            panic!("{}: one subgraph", network.name)
        };
        assert_eq!(
            (&subgraph.inputs, &subgraph.outputs),
            (&network.inputs, &network.outputs)
        );
        let read: Vec<_> = subgraph
            .operators
            .iter()
            .map(|operator| operator.code.name())
            .collect();
        let written: Vec<_> = network
            .operators
            .iter()
            .map(|operator| operator.kind.name())
            .collect();
        assert_eq!(read, written);
        assert_eq!(subgraph.tensors.len(), network.tensors.len());
        for (read, written) in subgraph.tensors.iter().zip(&network.tensors) {
            assert_eq!((&*read.name, &read.shape), (&*written.name, &written.shape));
            let bytes = model.buffers[read.buffer_idx].bytes();
            let expected = if written.is_constant() {
                written.n_bytes()
            } else {
                0
            };
            assert_eq!(bytes.len(), expected, "{}: bytes of the buffer", read.name);
            if expected > 0 {
                let offset = bytes.as_ptr() as usize - file.as_ptr() as usize;
                assert!(
                    offset.is_multiple_of(16),
                    "{}: buffer at {offset}",
                    read.name
                );
            }
        }
    }
}

/// A Python with LiteRT and Vela: `LITECAST_PYTHON`, or the repository's own environment.
/// Runs a script of `python/` on files written from `samples`: its lines.
fn checked(python: &Path, script: &str, samples: impl Iterator<Item = SpaceSample>) -> Vec<Value> {
    // Each script's own: tests run at the same time, and a file that is being written crashes the compiler.
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"))
        .join("sampled")
        .join(script);
    fs::create_dir_all(&folder).expect("make a folder for the files");
    let mut command = Command::new(python);
    command.arg(Path::new(TRAINER).join("python").join(script));
    for sample in samples {
        let path = folder.join(format!("{}.tflite", sample.network.name));
        fs::write(&path, sample.to_tflite()).expect("write a file");
        command.arg(path);
    }
    let output = command.output().expect("run the script");
    assert!(
        output.status.success(),
        "{script}: {}: {}",
        output.status,
        String::from_utf8_lossy(&output.stderr)
    );
    let lines = String::from_utf8(output.stdout).expect("the check prints text");
    lines
        .lines()
        .map(|line| serde_json::from_str(line).expect("a line is a JSON object"))
        .collect()
}

/// Spaces with operators that a configuration leaves to the CPU or refuses: DEPTH_TO_SPACE and SVDF are
/// none of Ethos-U's, truth values are Ethos-U85's alone.
const LEFT_TO_CPU: [(&str, &[&str]); 3] = [
    ("random-truth", &["ethos-u55-256", "ethos-u65-512"]),
    ("svdf", &ALL_CONFIGURATIONS),
    ("upscaler-d2s", &ALL_CONFIGURATIONS),
];
const ALL_CONFIGURATIONS: [&str; 3] = ["ethos-u55-256", "ethos-u65-512", "ethos-u85-256"];

#[test]
fn litert_runs_and_vela_compiles_every_file() {
    const PER_SPACE: u64 = 1;
    let Some(python) = litecast_needs::python("ai_edge_litert, ethosu.regor") else {
        return;
    };
    let results = checked(&python, "check_models.py", samples(PER_SPACE));
    assert_eq!(results.len(), PER_SPACE as usize * Space::all().len());
    for result in &results {
        let file = &result["file"];
        assert!(result["litert"].is_null(), "{file}: {}", result["litert"]);
        let count = |key: &str| result[key].as_u64().expect("a count");
        let (n_values, n_levels) = (count("output_values"), count("output_levels"));
        let is_random = file.as_str().is_some_and(|path| path.contains("random-"));
        assert!(
            is_random || n_values < 10 || n_levels > 1,
            "{file}: all of the output's {n_values} values are the same"
        );
        let configurations = result["vela"].as_object().expect("an object");
        assert_eq!(configurations.len(), 3);
        for (name, report) in configurations {
            println!("{file} {name}: {report}");
            let whole = !LEFT_TO_CPU.iter().any(|(space, configurations)| {
                let path = file.as_str().expect("a path");
                path.contains(space) && configurations.contains(&name.as_str())
            });
            assert!(
                !whole || report["cpu_operators"] == 0,
                "{file} {name}: {report}"
            );
        }
    }
}

/// LiteRT computes the same function with both files of a network, but for the rounding of int8,
/// which adds up over the layers: the worst of these reaches 0.53, unlike functions 0.
#[test]
fn precisions_agree() {
    let Some(python) = litecast_needs::python("ai_edge_litert, ethosu.regor") else {
        return;
    };
    // Of single operators the output may be constant, and has no correlation.
    let samples: Vec<_> = samples(1)
        .filter(|sample| !sample.space.id().starts_with("random-"))
        .collect();
    let n_pairs = samples.len();
    let pairs = samples.into_iter().flat_map(|sample| {
        let float32 = written_as(Precision::Float32, 1, &sample).expect("a batch of one");
        [sample, float32]
    });
    let results = checked(&python, "compare_precisions.py", pairs);
    assert_eq!(results.len(), n_pairs);
    for result in &results {
        let correlation = result["correlation"].as_f64().expect("a number");
        println!("{}: correlation {correlation:.4}", result["file"]);
        assert!(correlation > 0.4, "{result}");
    }
}

/// The engine takes a file for several inputs at a time as the writer writes it for them.
#[test]
fn the_engine_batches_as_the_writer_does() {
    const BATCH: u32 = 3;
    let mut n_tensors = 0;
    for sample in samples(3) {
        let Some(batched) = written_as(Precision::Int8, BATCH, &sample) else {
            continue;
        };
        let name = sample.network.name.clone();
        let (one, several) = (sample.to_tflite(), batched.to_tflite());
        let (mut actual, expected) = (parse(&one).unwrap(), parse(&several).unwrap());
        set_batch(&mut actual, BATCH.try_into().unwrap()).unwrap_or_else(|e| panic!("{name}: {e}"));
        let [actual, expected] = [&actual, &expected].map(|model| &model.subgraphs[0]);
        for operators in actual.operators.iter().zip(expected.operators.iter()) {
            let shapes = |subgraph: &Subgraph, operator: &Operator| -> Vec<Vec<i32>> {
                let outputs = operator.outputs.iter();
                outputs
                    .map(|&t| subgraph.tensors[t].shape.clone())
                    .collect()
            };
            let shapes = [shapes(actual, operators.0), shapes(expected, operators.1)];
            assert_eq!(shapes[0], shapes[1], "{name}");
            n_tensors += shapes[0].len();
        }
    }
    println!("{n_tensors} shapes: difference 0");
    assert!(n_tensors > 1000);
}

/// Several inputs at a time give what each gives alone, in LiteRT; and most spaces have such files.
#[test]
fn batches_compute_each_input_by_itself() {
    const BATCH: u32 = 3;
    let batched: Vec<_> = samples(1)
        .filter_map(|sample| {
            let batches = [1, BATCH].map(|n| written_as(Precision::Float32, n, &sample));
            let [one, several] = batches;
            Some([one?, several?])
        })
        .collect();
    let spaces: Vec<_> = batched.iter().map(|[one, _]| one.space.id()).collect();
    println!("{} spaces: {}", spaces.len(), spaces.join(", "));
    assert!(spaces.len() >= 15);
    let Some(python) = litecast_needs::python("ai_edge_litert, ethosu.regor") else {
        return;
    };
    let n_pairs = batched.len();
    let results = checked(&python, "compare_batches.py", batched.into_iter().flatten());
    assert_eq!(results.len(), n_pairs);
    for result in &results {
        println!("{result}");
        assert_eq!(result["batch"], BATCH);
        assert!(result["difference"].as_f64().expect("a number") < 1e-4);
    }
}
