//! Files made on purpose, and some thousand mutants: the whole path ends, in bounded memory, with a report or
//! an error of a known kind. Each case is large enough that a stage that is not linear would take minutes
//! or hours; what is asserted are bytes and numbers of allocations, which do not depend on the machine.

use litecast::estimate::{ModelFile, estimate};
use litecast::learned::predictor::Predictor;
use litecast_fuzz::attacks::Format;
use litecast_fuzz::campaign::Mutants;
use litecast_fuzz::check::{
    MAX_BYTES_PER_OPERAND, MAX_BYTES_PER_OPERATOR, Target, assert_sound, max_bytes,
};
use litecast_fuzz::hostile::CASES;
use litecast_fuzz::memory::{Counting, alone, measure};
use litecast_fuzz::mutate::{corrupt, mutate};
use litecast_fuzz::protobuf;
use litecast_fuzz::random::Random;
use litecast_fuzz::shapes::Shape;
use litecast_tflite_files::File;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn n_operands(file: &File) -> usize {
    let of_subgraph = |subgraph: &litecast_tflite_files::Subgraph| {
        let operators = subgraph.operators.iter();
        let operands: usize = operators.map(|o| o.inputs.len() + o.outputs.len()).sum();
        operands + subgraph.inputs.len() + subgraph.outputs.len()
    };
    file.subgraphs.iter().map(of_subgraph).sum()
}

#[test]
fn mutants_of_onnx_files_end_in_a_report_or_an_error() {
    let _alone = alone();
    let seeds = protobuf::seeds();
    for seed in &seeds {
        let bytes = seed.write();
        assert_eq!(protobuf::Message::read(&bytes, 0).unwrap().write(), bytes);
        assert!(Target::Onnx.run(&bytes, None).is_read());
    }
    let mut random = Random::new(11);
    let mut n_read = 0;
    const N: usize = 2000;
    for _ in 0..N {
        let mut mutant = seeds[random.below(seeds.len())].clone();
        mutant.mutate(&mut random);
        let bytes = mutant.write();
        let cost = Target::Onnx.run(&bytes, None);
        assert!(
            cost.taken.peak_bytes < max_bytes(bytes.len()),
            "{} bytes",
            cost.taken.peak_bytes
        );
        n_read += cost.n_read;
    }
    println!("{n_read} of {N} mutants are read");
    assert!(n_read > N / 10);
}

#[test]
fn files_made_on_purpose_end_in_bounded_memory() {
    let _alone = alone();
    let predictor = Predictor::shipped().unwrap();
    for case in CASES {
        let file = (case.file)();
        let bytes = file.write();
        let (result, taken) =
            measure(|| estimate(ModelFile::new("file.tflite", &bytes), Some(&predictor)));
        let (outcome, n_json) = match &result {
            Ok(report) => {
                assert_sound(report);
                let json = serde_json::to_vec(report).unwrap();
                ("a report".to_owned(), json.len())
            }
            Err(error) => (format!("{}: {error}", error.kind()), 0),
        };
        println!(
            "{}: {} kB, {} operands, at most {:.1} MB in {} allocations, {} kB of JSON: {outcome}",
            case.name,
            bytes.len() / 1000,
            n_operands(&file),
            taken.peak_bytes as f64 / 1e6,
            taken.n_allocations,
            n_json / 1000,
        );
        assert!(n_json <= MAX_JSON_BYTES, "{}", case.name);
        assert!(
            taken.peak_bytes
                <= max_bytes(bytes.len())
                    + MAX_BYTES_PER_OPERATOR * file.n_operators()
                    + MAX_BYTES_PER_OPERAND * n_operands(&file),
            "{}: {taken:?}",
            case.name
        );
    }
}

/// Bytes of a report as JSON.
const MAX_JSON_BYTES: usize = 100_000_000;
/// Allocations of the whole path for a largest file: what stands for its work, some 100 ns each.
const MAX_ALLOCATIONS: usize = 4_000_000;

/// Networks take the whole path with the trained network; other formats what they are for.
fn outcome(format: Format, bytes: &[u8], predictor: &Predictor) -> (String, usize) {
    let target = Target::of_format(format);
    if target != Target::Attacks {
        let cost = target.run(bytes, None);
        let outcome = if cost.is_read() { "read" } else { "refused" };
        return (outcome.to_owned(), 0);
    }
    match estimate(ModelFile::new("file", bytes), Some(predictor)) {
        Ok(report) => {
            assert_sound(&report);
            let json = serde_json::to_vec(&report).unwrap();
            let n_operators = report.operators.len();
            (format!("{n_operators} operators"), json.len())
        }
        Err(error) => (format!("{}: {error}", error.kind()), 0),
    }
}

/// Halves of the largest files, with half of the budget; the largest themselves with `LITECAST_LARGEST_FILES`.
#[test]
fn short_files_that_ask_for_much_work_end_within_their_budget() {
    let _alone = alone();
    let divisor = if std::env::var_os("LITECAST_LARGEST_FILES").is_some() {
        1
    } else {
        2
    };
    let predictor = Predictor::shipped().unwrap();
    let mut broken = Vec::new();
    for format in Format::ALL {
        // What is made once for all files is not counted.
        Target::of_format(format).run(b"", None);
        for case in format.cases() {
            let bytes = case.part_of_largest(divisor);
            let ((outcome, n_json), taken) = measure(|| outcome(format, &bytes, &predictor));
            println!(
                "{format:?} {}: {} kB, at most {:.1} MB in {} allocations, {} kB of JSON: {outcome}",
                case.name,
                bytes.len() / 1000,
                taken.peak_bytes as f64 / 1e6,
                taken.n_allocations,
                n_json / 1000,
            );
            let is_kept = taken.peak_bytes <= max_bytes(bytes.len())
                && taken.n_allocations <= MAX_ALLOCATIONS / divisor
                && n_json <= MAX_JSON_BYTES / divisor;
            broken.extend((!is_kept).then_some((format, case.name)));
        }
    }
    assert!(broken.is_empty(), "{broken:?}");
}

#[test]
fn mutants_keep_every_promise() {
    let _alone = alone();
    let mut random = Random::new(2026);
    let seeds: Vec<File> = Shape::ALL.iter().map(|shape| shape.file(12)).collect();
    let mut n_read = 0;
    const N: usize = 1500;
    for idx in 0..N {
        let mut file = seeds[idx % seeds.len()].clone();
        mutate(&mut file, &mut random);
        let mut bytes = file.write();
        if random.one_in(20) {
            corrupt(&mut bytes, &mut random);
        }
        for target in [Target::Facts, Target::Batch] {
            let cost = target.run(&bytes, None);
            n_read += cost.n_read;
            assert!(cost.taken.peak_bytes <= max_bytes(bytes.len()), "{cost:?}");
        }
    }
    println!("{n_read} of {} mutants have a report", 2 * N);
    assert!(
        n_read > N / 4,
        "the mutants do not reach what is to be tested"
    );
}

/// Of the formats that people write, and on targets that are asked for by name, mutants of which at least a quarter is
/// read; tables reach the fit.
#[test]
fn mutants_for_other_ways_in_keep_every_promise() {
    let _alone = alone();
    let mutants = Mutants::new(3, &[]);
    for target in [
        Target::Graph,
        Target::Ncnn,
        Target::Configuration,
        Target::Measurements,
        Target::Gpus,
        Target::Smallest,
    ] {
        let files: Vec<Vec<u8>> = (0..30)
            .flat_map(|call| mutants.of_call(target, call))
            .collect();
        let runs = files.iter().map(|bytes| (bytes, target.run(bytes, None)));
        let mut n_read = 0;
        for (bytes, cost) in runs {
            let bound = max_bytes(bytes.len());
            assert!(cost.taken.peak_bytes <= bound, "{target:?}: {cost:?}");
            n_read += cost.n_read;
        }
        println!("{target:?}: {n_read} of {} mutants are read", files.len());
        assert!(n_read > files.len() / 4, "{target:?}");
    }
}
