//! Analysis against other tools, over real files (`../shared/models`) and random graphs.
//!
//! The other tools speak through `tests/analysis_oracle.py`, run by `.venv/bin/python` or the
//! interpreter that `LITECAST_PYTHON` names. Where files or interpreter are absent, a test says
//! so and passes.

use std::path::{Path, PathBuf};
use std::process::Command;

use litecast::formats::tflite::{self, schema};
use litecast::graph::analysis::memory_plan::memory_plan;
use litecast::graph::analysis::{Analysis, analyze};
use litecast::graph::quantise::quantise;
use litecast::graph::{self, Graph};
use litecast::targets::tflite_micro::{Kernels, Pointers, arena_bytes, arena_or_reason, scratch};
use litecast_needs::{Need, python, shared_models, skip};
use serde_json::Value;

#[test]
fn macs_parameters_and_weight_bytes_match_a_naive_count() {
    let Some(models) = shared_models() else {
        return;
    };
    let Some(answers) = oracle("naive", &models) else {
        return;
    };
    println!(
        "{:60} {:>12} {:>12} {:>10} {:>10}",
        "file", "MACs", "naive", "parameters", "naive"
    );
    for (path, naive) in models.iter().zip(answers) {
        let bytes = std::fs::read(path).unwrap();
        with_graph(&bytes, |graph| {
            check_against_naive(graph, &analyze(graph), &naive)
        });
    }
}

fn check_against_naive(graph: &Graph, analysis: &Analysis, naive: &Value) {
    let file = naive["file"].as_str().unwrap();
    let operators = naive["operators"].as_array().unwrap();
    let naive_macs: u64 = operators
        .iter()
        .filter_map(|operator| operator["macs"].as_u64())
        .sum();
    let totals = analysis.totals;
    let (parameters, weight_bytes) = (
        naive["parameters"].as_u64().unwrap(),
        naive["weight_bytes"].as_u64().unwrap(),
    );
    println!(
        "{file:60} {:12} {naive_macs:12} {:10} {parameters:10}",
        totals.macs, totals.parameters
    );
    for (node, cost) in graph.nodes.iter().zip(&analysis.costs) {
        // The script answers null where the file leaves out the shapes.
        let expected = operators[node.operator_idx]["macs"].as_u64();
        assert_eq!(
            cost.macs,
            expected.unwrap_or(0),
            "{file}, operator {}",
            node.operator_idx
        );
        assert!(
            expected.is_some() || has_doubt(analysis, "uncounted-operator"),
            "{file}"
        );
    }
    assert_eq!(totals.parameters, parameters, "{file}: parameters");
    assert_eq!(totals.weight_bytes, weight_bytes, "{file}: weight bytes");
}

fn has_doubt(analysis: &Analysis, code: &str) -> bool {
    analysis.diagnostics.iter().any(|doubt| doubt.code == code)
}

#[test]
fn macs_match_vela() {
    let Some(mut models) = shared_models() else {
        return;
    };
    // Vela takes 20 seconds for each of these, because of their dilated convolutions.
    models.retain(|path| !path.to_string_lossy().contains("deeplabv3"));
    let Some(answers) = oracle("vela", &models) else {
        return;
    };
    println!(
        "{:60} {:>12} {:>12} {:>12}",
        "compared operators of", "MACs", "Vela, all", "compared"
    );
    let mut n_compared = 0;
    for (path, vela) in models.iter().zip(answers) {
        let bytes = std::fs::read(path).unwrap();
        with_graph(&bytes, |graph| {
            n_compared += check_against_vela(graph, &analyze(graph), &vela)
        });
    }
    println!("{n_compared} operators compared");
    assert!(
        n_compared > 200,
        "only {n_compared} operators were compared"
    );
}

/// Vela's own operators whose products are those of the operator they come from. The others it
/// counts too (pooling, tables, copies) are no matrix products.
const VELA_PRODUCTS: &[&str] = &["Conv2D", "DepthwiseConv2D", "FullyConnected"];

/// Operators that Vela does not express by products that they do not have (a resize as a
/// depthwise convolution, a mean as a weighted sum).
const VELA_SAME: &[&str] = &[
    "CONV_2D",
    "DEPTHWISE_CONV_2D",
    "FULLY_CONNECTED",
    "UNIDIRECTIONAL_SEQUENCE_LSTM",
];

fn check_against_vela(graph: &Graph, analysis: &Analysis, vela: &Value) -> usize {
    let file = vela["file"].as_str().unwrap();
    let Some(by_operator) = vela["by_operator"].as_object() else {
        println!(
            "{file:60} {:12} refused: {}",
            analysis.totals.macs, vela["refused"]
        );
        return 0;
    };
    if graph.model.subgraphs.len() > 1 {
        println!("{file:60} not compared: Vela numbers the operators of the last subgraph only");
        return 0;
    }
    let (mut ours, mut n_compared) = (0, 0);
    for (node, cost) in graph.nodes.iter().zip(&analysis.costs) {
        let name = node.operator.code.name();
        let kinds = by_operator.get(&node.operator_idx.to_string());
        let products = kinds
            .filter(|_| VELA_SAME.contains(&name))
            .and_then(vela_products);
        let Some(products) = products else { continue };
        assert_eq!(
            cost.macs, products,
            "{file}, operator {} ({name})",
            node.operator_idx
        );
        (ours, n_compared) = (ours + cost.macs, n_compared + 1);
    }
    println!(
        "{file:60} {ours:12} {:12} {n_compared:12}",
        vela["total"].as_u64().unwrap()
    );
    n_compared
}

/// Absent where Vela leaves the operator to the CPU, or makes no product of it.
fn vela_products(kinds: &Value) -> Option<u64> {
    let products = VELA_PRODUCTS.iter().filter_map(|kind| kinds[kind].as_u64());
    products.reduce(|sum, macs| sum + macs)
}

#[test]
fn arena_matches_tflite_micro_on_real_files() {
    let Some(models) = shared_models() else {
        return;
    };
    let Some(answers) = oracle("arena", &models) else {
        return;
    };
    println!(
        "{:60} {:>10} {:>12} {:>10}",
        "file", "arena", "with scratch", "TFLM head"
    );
    let mut n_compared = 0;
    for (path, micro) in models.iter().zip(answers) {
        let bytes = std::fs::read(path).unwrap();
        with_graph(&bytes, |graph| {
            n_compared += usize::from(check_against_micro(graph, &micro))
        });
    }
    assert!(n_compared >= 13, "only {n_compared} files were compared");
}

fn check_against_micro(graph: &Graph, micro: &Value) -> bool {
    let file = micro["file"].as_str().unwrap();
    let plan = memory_plan(graph, &[]);
    let ours = plan.as_ref().map_or_else(
        |reason| format!("none ({reason})"),
        |plan| plan.arena_bytes.to_string(),
    );
    let Some(head_bytes) = micro["head_bytes"].as_u64() else {
        println!(
            "{file:60} {ours:>10} {:>12} refused: {}",
            "", micro["refused"]
        );
        return false;
    };
    let with_scratch = memory_plan(graph, &scratch(graph, Kernels::Reference))
        .unwrap()
        .arena_bytes;
    println!("{file:60} {ours:>10} {with_scratch:12} {head_bytes:10}");
    assert_eq!(with_scratch, head_bytes, "{file}");
    true
}

/// The persistent part of what files that are int8 or have resource variables need, beside the recorder, which
/// runs the reference kernels with 64-bit pointers.
#[test]
fn the_whole_arena_matches_tflite_micro() {
    let Some(mut models) = shared_models() else {
        return;
    };
    for folder in ["models-mcu", "cases"] {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../shared")
            .join(folder);
        if folder.is_dir() {
            models.extend(tflite_files(&folder));
        }
    }
    let Some(answers) = oracle("arena", &models) else {
        return;
    };
    let (mut n_compared, mut n_exact, mut n_with_resources) = (0, 0, 0);
    println!(
        "{:60} {:>10} {:>10} {:>8} {:>10}",
        "file", "64 bits", "TFLM", "off", "32 bits"
    );
    for (path, micro) in models.iter().zip(answers) {
        let bytes = std::fs::read(path).unwrap();
        let file = micro["file"].as_str().unwrap();
        with_graph(&bytes, |graph| {
            let Some(total_bytes) = micro["total_bytes"].as_u64() else {
                println!("{file:60} refused: {}", micro["refused"]);
                return;
            };
            let operators = &graph.subgraph.operators;
            let has_resources = operators
                .iter()
                .any(|operator| operator.code.kind == tflite::OpKind::VarHandle);
            if !is_int8(graph) && !has_resources {
                println!("{file:60} not compared: multiplies other numbers than int8");
                return;
            }
            let ours = arena_bytes(graph, Kernels::Reference, Pointers::Bits64).unwrap();
            let off = 100.0 * (ours as f64 / total_bytes as f64 - 1.0);
            // What a report has: the pieces with pointers are smaller on a microcontroller.
            let of_report = arena_bytes(graph, Kernels::CmsisNnDsp, Pointers::Bits32).unwrap();
            println!("{file:60} {ours:10} {total_bytes:10} {off:+7.2} % {of_report:10}");
            n_compared += 1;
            assert!(ours.abs_diff(total_bytes) <= 64, "{file}");
            n_exact += usize::from(ours == total_bytes);
            n_with_resources += usize::from(has_resources);
        });
    }
    println!(
        "{n_compared} files compared, {n_exact} exact, {n_with_resources} with resource variables"
    );
    assert!(n_compared >= 60, "only {n_compared} files were compared");
    assert!(n_with_resources >= 2);
    assert!(
        n_compared - n_exact <= 1,
        "{n_exact} of {n_compared} are exact"
    );
}

/// Each file of floats beside the file of int8 with the same operator and shapes: what runs as int8 also runs after
/// LiteCast converted the floats, whose scales a quantiser chooses for the kernels, and takes as much memory.
#[test]
fn converted_floats_run_where_the_int8_file_of_the_operator_does() {
    const MIN_PAIRS: usize = 150;
    let Some(python) = python("sys") else { return };
    let folder = tempfile_folder("litecast-converted");
    let arguments = [ORACLE, "pairs", folder.to_str().unwrap()];
    let written = run_script(Command::new(python).args(arguments));
    let models = tflite_files(&folder);
    let answers = written.and_then(|_| oracle("runs", &models));
    let Some(answers) = answers else { return };
    let mut wrong = Vec::new();
    let mut n_pairs = 0;
    for (pair, micro) in models.chunks_exact(2).zip(answers.chunks_exact(2)) {
        let [floats, int8] = [&micro[0], &micro[1]].map(|one| one["refused"].is_null());
        if !floats || !int8 {
            continue;
        }
        n_pairs += 1;
        let bytes = std::fs::read(&pair[0]).unwrap();
        let mut model = tflite::parse(&bytes).unwrap();
        if quantise(&mut model).is_err() {
            continue; // no result in floats
        }
        let graph = graph::build(&model, 0).unwrap();
        let file = pair[0].file_stem().unwrap().to_string_lossy().into_owned();
        if let Err(reason) = arena_or_reason(&graph, &analyze(&graph)) {
            // The interpreter does not compare all shapes.
            let reason = reason.to_string();
            if !reason.contains("contradict each other") {
                wrong.push(format!("{file}: {reason}"));
            }
            continue;
        }
        let ours = arena_bytes(&graph, Kernels::Reference, Pointers::Bits64).unwrap();
        let total_bytes = micro[1]["total_bytes"].as_u64().unwrap();
        if ours.abs_diff(total_bytes) > 512 {
            wrong.push(format!("{file}: {ours} bytes, but {total_bytes}"));
        }
    }
    println!("{n_pairs} pairs");
    std::fs::remove_dir_all(folder).unwrap();
    assert!(n_pairs >= MIN_PAIRS, "{n_pairs}");
    assert!(wrong.is_empty(), "{} differ: {wrong:#?}", wrong.len());
}

/// Two operators of each kind that the recorder's kernels run, one file a kind.
#[test]
fn the_whole_arena_matches_tflite_micro_for_each_kind_of_operator() {
    const MIN_KINDS: usize = 84;
    let Some(python) = python("sys") else { return };
    let folder = tempfile_folder("litecast-operators");
    let arguments = [ORACLE, "operators", folder.to_str().unwrap()];
    let written = run_script(Command::new(python).args(arguments));
    let models = tflite_files(&folder);
    let answers = written.and_then(|_| oracle("arena", &models));
    let Some(answers) = answers else { return };
    let mut differences = Vec::new();
    for (path, micro) in models.iter().zip(&answers) {
        let bytes = std::fs::read(path).unwrap();
        let total_bytes = micro["total_bytes"].as_u64();
        with_graph(&bytes, |graph| {
            let ours = arena_bytes(graph, Kernels::Reference, Pointers::Bits64).unwrap();
            if Some(ours) != total_bytes {
                differences.push(format!("{ours} bytes, but {micro}"));
            }
        });
    }
    println!("{} kinds of operators", models.len());
    std::fs::remove_dir_all(folder).unwrap();
    assert!(models.len() >= MIN_KINDS);
    assert!(differences.is_empty(), "{differences:#?}");
}

/// A file of every operator of TensorFlow Lite Micro's resolver, and of some outside of it, in the types and options that
/// decide whether a kernel runs it, beside the interpreter: it prepares and invokes each of them.
#[test]
fn support_and_arena_match_tflite_micro_for_every_operator_and_type() {
    const MIN_CASES: usize = 5000;
    let Some(python) = python("sys") else { return };
    let folder = tempfile_folder("litecast-kernels");
    let arguments = [ORACLE, "kernels", folder.to_str().unwrap()];
    let written = run_script(Command::new(python).args(arguments));
    let models = tflite_files(&folder);
    let answers = written.and_then(|_| oracle("runs", &models));
    let Some(answers) = answers else { return };
    let (mut wrong, mut n_unchecked, mut n_run, mut n_exact) = (Vec::new(), 0, 0, 0);
    for (path, micro) in models.iter().zip(&answers) {
        let bytes = std::fs::read(path).unwrap();
        with_graph(&bytes, |graph| {
            let file = path.file_stem().unwrap().to_string_lossy().into_owned();
            let ours = arena_or_reason(graph, &analyze(graph));
            let runs = micro["refused"].is_null();
            let reason = ours.as_ref().err().map(ToString::to_string);
            let reason = reason.unwrap_or_default();
            match (runs, ours.is_ok()) {
                // These kernels read other types as if they were their own.
                (true, false) if !checks_types(graph) => n_unchecked += 1,
                // Nor does it compare all shapes.
                (true, false) if reason.contains("contradict each other") => n_unchecked += 1,
                (true, false) => wrong.push(format!("{file} runs, but {reason}")),
                (false, true) => wrong.push(format!("{file}: {}", micro["refused"])),
                (false, false) => (),
                (true, true) => {
                    let ours = arena_bytes(graph, Kernels::Reference, Pointers::Bits64).unwrap();
                    let total_bytes = micro["total_bytes"].as_u64().unwrap();
                    let off_bytes = ours.abs_diff(total_bytes);
                    n_run += 1;
                    n_exact += usize::from(off_bytes == 0);
                    if off_bytes > 512 {
                        wrong.push(format!("{file}: {ours} bytes, but {total_bytes}"));
                    }
                }
            }
        });
    }
    println!(
        "{} cases, {n_run} run, the arenas of {n_exact} are exact, {n_unchecked} run on wrong types or shapes",
        models.len()
    );
    std::fs::remove_dir_all(folder).unwrap();
    assert!(models.len() >= MIN_CASES);
    assert!(wrong.is_empty(), "{} differ: {wrong:#?}", wrong.len());
}

/// A file of every operator with one operand more or fewer, and with scales and zero points that its kernel may not take.
/// Where an operator is run on anything, a refusal is no wrong answer.
#[test]
fn no_changed_operand_that_tflite_micro_refuses_fits() {
    const MIN_CASES: usize = 500;
    let Some(python) = python("sys") else { return };
    let folder = tempfile_folder("litecast-changed");
    let arguments = [ORACLE, "changed", folder.to_str().unwrap()];
    let written = run_script(Command::new(python).args(arguments));
    let models = tflite_files(&folder);
    let Some(answers) = written.and_then(|_| oracle("runs", &models)) else {
        return;
    };
    let (mut wrong, mut n_refused, mut n_alike) = (Vec::new(), 0, 0);
    for (path, micro) in models.iter().zip(&answers) {
        let file = path.file_stem().unwrap().to_string_lossy().into_owned();
        let bytes = std::fs::read(path).unwrap();
        let model = tflite::parse(&bytes).ok();
        let graph = model.as_ref().and_then(|model| graph::build(model, 0).ok());
        let runs = graph.is_some_and(|graph| arena_or_reason(&graph, &analyze(&graph)).is_ok());
        match (micro["refused"].as_str(), runs) {
            (Some(why), true) => wrong.push(format!("{file}: {why}")),
            (None, false) => n_refused += 1,
            _ => n_alike += 1,
        }
    }
    println!(
        "{} cases, {n_alike} alike, {n_refused} that the interpreter runs are refused",
        models.len()
    );
    std::fs::remove_dir_all(folder).unwrap();
    assert!(models.len() >= MIN_CASES);
    assert!(wrong.is_empty(), "{} fit: {wrong:#?}", wrong.len());
    assert!(n_refused * 20 < models.len(), "{n_refused} refused");
}

/// Prints whether LiteRT loads each file.
const LITERT_LOADS: &str = "
import sys
from ai_edge_litert.interpreter import Interpreter
for path in sys.argv[1:]:
    try:
        Interpreter(model_path=path).allocate_tensors()
        print('loaded')
    except (RuntimeError, ValueError):
        print('refused')
";

/// Where a file has the scale of what its first operator writes.
fn scale_of_first_result(file: &[u8]) -> usize {
    let model = schema::root_as_model(file).unwrap();
    let subgraph = model.subgraphs().unwrap().get(0);
    let written = subgraph.operators().unwrap().get(0).outputs().unwrap();
    let tensor = subgraph.tensors().unwrap().get(written.get(0) as usize);
    let scale = tensor.quantization().unwrap().scale().unwrap();
    scale.bytes().as_ptr() as usize - file.as_ptr() as usize
}

#[test]
fn scales_that_litert_refuses_are_doubted() {
    const SCALES: [f32; 6] = [0.1, f32::NAN, 0.0, -0.0, -0.5, f32::INFINITY];
    let Some(python) = python("ai_edge_litert") else {
        return;
    };
    let folder = tempfile_folder("litecast-scales");
    let example = std::fs::read("www/examples/cnn-cifar10-s7-i9.tflite").unwrap();
    let place = scale_of_first_result(&example);
    let mut command = Command::new(python);
    command.args(["-c", LITERT_LOADS]);
    let mut doubted = Vec::new();
    for scale in SCALES {
        let mut bytes = example.clone();
        bytes[place..place + 4].copy_from_slice(&scale.to_le_bytes());
        let path = folder.join(format!("{scale}.tflite"));
        std::fs::write(&path, &bytes).unwrap();
        command.arg(path);
        with_graph(&bytes, |graph| {
            let mut doubts = analyze(graph).diagnostics.into_iter();
            doubted.push(doubts.any(|doubt| doubt.code == "quantization-values"));
        });
    }
    let answers = run_script(&mut command).unwrap();
    let refused: Vec<_> = answers.lines().map(|answer| answer == "refused").collect();
    std::fs::remove_dir_all(folder).unwrap();
    assert_eq!(doubted, refused, "{SCALES:?}");
    assert_eq!(refused, SCALES.map(|scale| scale != SCALES[0]));
}

/// Whether the interpreter compares the types of all operands. A file without operators is invoked without effect.
fn checks_types(graph: &Graph) -> bool {
    use tflite::OpKind::*;
    const UNCHECKED: &[tflite::OpKind] = &[
        Add,
        DepthwiseConv2d,
        LogicalAnd,
        LogicalOr,
        Maximum,
        Minimum,
        Sub,
        TransposeConv,
        UnidirectionalSequenceLstm,
        FullyConnected,
    ];
    graph
        .nodes
        .first()
        .is_some_and(|node| !UNCHECKED.contains(&node.operator.code.kind))
}

/// Whether the operators that multiply write int8, and there are some.
fn is_int8(graph: &Graph) -> bool {
    let analysis = analyze(graph);
    let nodes = graph.nodes.iter().zip(&analysis.costs);
    let mut written = nodes
        .filter(|(_, cost)| cost.macs > 0)
        .map(|(node, _)| graph.tensor(node.operator.outputs[0]).tensor_type)
        .peekable();
    written.peek().is_some() && written.all(|written| written == tflite::TensorType::Int8)
}

#[test]
fn arena_matches_tflite_micro_on_random_graphs() {
    const N_GRAPHS: usize = 60;
    let Some(python) = python("sys") else { return };
    let folder = tempfile_folder("litecast-random-graphs");
    let count = N_GRAPHS.to_string();
    let arguments = [ORACLE, "graphs", folder.to_str().unwrap(), &count];
    let written = run_script(Command::new(python).args(arguments));
    let models = tflite_files(&folder);
    let answers = written.and_then(|_| oracle("arena", &models));
    let Some(answers) = answers else { return };
    assert_eq!(answers.len(), N_GRAPHS);
    let mut largest_difference = 0;
    for (path, micro) in models.iter().zip(answers) {
        let bytes = std::fs::read(path).unwrap();
        let head_bytes = micro["head_bytes"]
            .as_u64()
            .unwrap_or_else(|| panic!("{micro}"));
        with_graph(&bytes, |graph| {
            let plan = analyze(graph).memory_plan.unwrap();
            largest_difference = largest_difference.max(plan.arena_bytes.abs_diff(head_bytes));
        });
    }
    println!(
        "{N_GRAPHS} random graphs, largest difference of the arena: {largest_difference} bytes"
    );
    std::fs::remove_dir_all(folder).unwrap();
    assert_eq!(largest_difference, 0);
}

#[test]
fn every_plan_of_real_files_is_sound() {
    let Some(models) = shared_models() else {
        return;
    };
    for path in &models {
        let bytes = std::fs::read(path).unwrap();
        with_graph(&bytes, |graph| {
            let analysis = analyze(graph);
            assert_eq!(analysis.costs.len(), graph.nodes.len());
            let planned = analysis.memory_plan.is_some();
            let explained = has_doubt(&analysis, "no-memory-plan");
            assert_ne!(
                planned,
                explained,
                "{}: {:?}",
                path.display(),
                analysis.diagnostics
            );
            // A compiler that prescribes offsets may let tensors share their place.
            let prescribed = graph
                .model
                .metadata
                .iter()
                .any(|entry| entry.name == "OfflineMemoryAllocation");
            if let Some(plan) = analysis.memory_plan.filter(|_| !prescribed) {
                check_soundness(&plan);
            }
        });
    }
}

/// No two tensors of the graph needed at the same node share a byte, and all lie inside the arena.
/// (Those of a called subgraph live within one node, one after the other.)
fn check_soundness(plan: &litecast::graph::analysis::MemoryPlan) {
    let end = |p: &litecast::graph::analysis::Placement| p.offset_bytes + p.size_bytes;
    assert_eq!(
        plan.arena_bytes,
        plan.placements.iter().map(end).max().unwrap_or(0)
    );
    assert!(plan.live_bytes.iter().all(|&live| live <= plan.arena_bytes));
    assert_eq!(
        plan.peak_node_idx.map(|peak| plan.live_bytes[peak]),
        plan.live_bytes.iter().max().copied()
    );
    let of_graph: Vec<_> = plan
        .placements
        .iter()
        .filter(|placement| placement.subgraph_idx == 0)
        .collect();
    for (position, left) in of_graph.iter().enumerate() {
        for right in &of_graph[..position] {
            let (Some(during), Some(also)) = (&left.nodes, &right.nodes) else {
                continue;
            };
            let together = during.start() <= also.end() && also.start() <= during.end();
            let overlap = left.offset_bytes < end(right) && right.offset_bytes < end(left);
            assert!(!(together && overlap), "{left:?} and {right:?}");
        }
    }
}

const ORACLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/analysis_oracle.py");

/// The script's answer for each file, in order; nothing where the script cannot run.
fn oracle(command: &str, models: &[PathBuf]) -> Option<Vec<Value>> {
    let output = run_script(
        Command::new(python("sys")?)
            .args([ORACLE, command])
            .args(models),
    )?;
    let answers: Vec<Value> = (output.lines())
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(answers.len(), models.len());
    Some(answers)
}

/// Status with which the script says that a package is not installed.
const NOT_INSTALLED: i32 = 3;

fn run_script(command: &mut Command) -> Option<String> {
    let output = command.output().unwrap();
    let complaint = String::from_utf8_lossy(&output.stderr);
    if output.status.code() == Some(NOT_INSTALLED) {
        skip(Need::Python, complaint.trim());
        return None;
    }
    assert!(output.status.success(), "{complaint}");
    Some(String::from_utf8(output.stdout).unwrap())
}

fn tflite_files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let mut files: Vec<_> = entries
        .filter(|path| path.extension().is_some_and(|e| e == "tflite"))
        .collect();
    files.sort();
    files
}

fn tempfile_folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

fn with_graph(bytes: &[u8], check: impl FnOnce(&Graph)) {
    let model = tflite::parse(bytes).unwrap();
    check(&graph::build(&model, 0).unwrap());
}
