//! Instructions of LiteRT under QEMU: the same in every process, and of the size that the work
//! asks for. Skipped, in words, where `make qemu` has not been run.

use std::fs;
use std::time::Duration;

use crate::common::{litert_qemu, shared_model};
use litecast::targets::cortex_a::{self, Costs, InstructionCount};
use litecast::{
    formats::tflite,
    graph::{self, analysis},
};
use litecast_trainer::labels::litert_qemu::{Instructions, LitertQemu};
use litecast_trainer::labels::plan::{Shard, SpaceCount};
use litecast_trainer::labels::record::{Label, Outcome};
use litecast_trainer::labels::store::Labels;
use litecast_trainer::labels::tool::LabellingTool;
use litecast_trainer::labels::worker::Worker;
use litecast_trainer::labels::{LabelArgs, ToolChoice, run};
use litecast_trainer::spaces::{Space, Weights, sample};
use litecast_trainer::writer::Precision;

const LIMIT: Duration = Duration::from_secs(120);
const A76: usize = 0;
const A72: usize = 1;

fn worker(tool: &LitertQemu, target_idx: usize) -> Worker {
    Worker::start(tool, &tool.targets()[target_idx..=target_idx]).unwrap()
}

fn count(worker: &mut Worker, model: &[u8]) -> Instructions {
    match worker.label(0, model, LIMIT).outcome {
        Outcome::Ok(Label::Litert(label)) => label.instructions,
        other => panic!("expected instructions, found {other:?}"),
    }
}

fn models() -> Option<[Vec<u8>; 2]> {
    Some([
        shared_model("tiny__vww_96_int8.tflite")?,
        shared_model("tiny__vww_96_float.tflite")?,
    ])
}

/// Two processes that are asked the same in another order agree to the last instruction, on small
/// networks too.
#[test]
fn counts_are_the_same_in_another_process() {
    let Some(tool) = litert_qemu() else { return };
    let mut models = models().map_or(Vec::new(), Vec::from);
    models.extend((0..3).map(|index| sample(Space::all().last().unwrap(), 3, index).to_tflite()));
    let counted = |models: &mut dyn Iterator<Item = &Vec<u8>>| -> Vec<Instructions> {
        let mut worker = worker(&tool, A76);
        models.map(|model| count(&mut worker, model)).collect()
    };
    let first = counted(&mut models.iter());
    let mut second = counted(&mut models.iter().rev());
    second.reverse();
    for (first, second) in first.iter().zip(&second) {
        println!("{} and {} instructions", first.total(), second.total());
        assert_eq!(first, second);
    }
}

/// Counts against the network's own products: visual wake words multiplies 7.48 million times. A
/// SIMD register holds four floats, so float kernels need a quarter as many multiplications. The
/// dot products of Cortex-A76 do at least four times the work of Cortex-A72's multiplications at
/// pointwise convolutions, and nothing for the depthwise ones.
#[test]
fn counts_are_of_the_size_of_the_work() {
    let (Some(tool), Some([int8, float])) = (litert_qemu(), models()) else {
        return;
    };
    const MACS: u64 = 7_489_664;
    let [a76, a72] = [A76, A72].map(|target_idx| {
        let mut worker = worker(&tool, target_idx);
        [count(&mut worker, &int8), count(&mut worker, &float)]
    });
    println!("Cortex-A76 {a76:#?}\nCortex-A72 {a72:#?}");
    for [_, float] in [a76, a72] {
        assert!((MACS / 4..MACS / 3).contains(&float.float));
        assert_eq!(float.vector_multiply, 0);
    }
    assert_eq!(a76[1].float, a72[1].float);
    assert!(a72[0].vector_multiply > MACS / 8);
    assert!(a76[0].vector_multiply < a72[0].vector_multiply * 2 / 3);
}

/// The library's estimates from shapes, on files from outside of this project.
#[test]
fn the_sum_over_operators_is_near_the_count() {
    let (Some(tool), Some(models)) = (litert_qemu(), models()) else {
        return;
    };
    for (target_idx, target) in tool.targets().iter().enumerate() {
        let costs = Costs::shipped().target(&target.id).unwrap();
        let mut worker = worker(&tool, target_idx);
        for bytes in &models {
            let model = tflite::parse(bytes).unwrap();
            let graph = graph::build(&model, 0).unwrap();
            let operators = cortex_a::kernel_counts(&graph, &analysis::analyze(&graph));
            let estimates = cortex_a::instruction_counts(costs, &operators);
            let is_known = |one: &InstructionCount| one.source == cortex_a::Source::Networks;
            assert!(estimates.iter().all(is_known), "all operators are known");
            let sum: f64 = estimates.iter().map(|one| one.instructions).sum();
            let counted = count(&mut worker, bytes).total() as f64;
            println!(
                "{}: {sum:.0}, counted {counted}: {:+.1} %",
                target.id,
                100.0 * (sum / counted - 1.0)
            );
            assert!((sum / counted - 1.0).abs() < 0.15);
        }
    }
}

/// A file that LiteRT cannot run is rejected in its words, and the process goes on.
#[test]
fn garbage_is_rejected_with_its_reason() {
    let (Some(tool), Some([int8, _])) = (litert_qemu(), models()) else {
        return;
    };
    let mut worker = worker(&tool, A76);
    let outcome = worker.label(0, b"not a flatbuffer at all", LIMIT).outcome;
    println!("{outcome:?}");
    assert_eq!(outcome.status(), "rejected");
    assert!(!outcome.reason().is_empty());
    assert!(count(&mut worker, &int8).total() > 1_000_000);
}

/// The labelling command writes label files of its own, and a second run adds nothing.
#[test]
fn a_run_labels_both_processors_and_resumes() {
    let Some(tool) = litert_qemu() else { return };
    let folder = tempfile::tempdir().unwrap();
    let arguments = LabelArgs {
        tool: ToolChoice::LitertQemu,
        targets: Vec::new(),
        spaces: vec!["cnn-kws:2".parse::<SpaceCount>().unwrap()],
        seed: 5,
        precision: Precision::Int8,
        weights: Weights::Drawn,
        batches: vec![1],
        files: Vec::new(),
        jobs: 1,
        shard: Shard { index: 0, n: 1 },
        time_limit_s: 120.0,
        python: "python3".into(),
        emulator: tool.emulator,
        out: folder.path().to_owned(),
    };
    run(&arguments).unwrap();
    let path = folder.path().join("litert-qemu-0-of-1.jsonl");
    let n_lines = fs::read_to_string(&path).unwrap().lines().count();
    assert_eq!(n_lines, 1 + 2 * 2);
    let labels = Labels::read(folder.path()).unwrap();
    assert_eq!(labels.runs[0].tool.name, "litert-qemu");
    assert!(labels.labelled.iter().all(|label| {
        matches!(&label.outcome, Outcome::Ok(Label::Litert(label)) if label.instructions.total() > 0)
    }));
    run(&arguments).unwrap();
    assert_eq!(Labels::read(folder.path()).unwrap().labelled.len(), 4);
}
