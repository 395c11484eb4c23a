//! Runs the whole path on files that nobody would write, many of them, and holds what comes out against
//! what every stage promises. Ends with 1 where a promise was broken, with the file beside it.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use litecast::learned::predictor::Predictor;
use litecast_fuzz::attacks::Format;
use litecast_fuzz::campaign::{BATCH, Mutants, Tally, broken, keep_panics};
use litecast_fuzz::case::Amounts;
use litecast_fuzz::check::Target;
use litecast_fuzz::hostile::CASES;
use litecast_fuzz::hostile_tflite::N_KINDS;
use litecast_fuzz::memory::Counting;
use litecast_fuzz::shapes::Shape;
use litecast_tflite_files::File;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Operators of the largest networks that `make growth` measures.
const MAX_SHAPED: u64 = 100_000;

/// Between writes of the counts.
const STATE_SECONDS: f64 = 10.0;

const USAGE: &str = "usage: litecast-fuzz \
    [--target reader|facts|estimate|batch|measurements|gpus|smallest|onnx|graph|ncnn|configuration|attacks|profiles|devices|reports|\
        mutants|shapes|cases|files|kinds] \
    [--executions N] [--seconds N] [--seed N] [--seeds FOLDER]... [--findings FOLDER] [--state FILE] [--first CALL] \
    [--file FILE]...
Counts are kept in FILE, from which a run with the same target and seed goes on; executions count from the first run.
`mutants` writes length-prefixed files to standard output, from those of one call on, for other programs to run, and
`shapes` networks of so many operators as N executions, in each shape of graph, with their names before them; so does \
`cases` with valid files that were made on purpose; `files` writes the largest of every format into the folder of the \
findings; `kinds` prints what thousands of operators of each kind take that share a constant of a megabyte. Files that are named run alone, and what each takes is printed.";

struct Args {
    target: String,
    executions: u64,
    seconds: u64,
    seed: u64,
    seeds: Vec<PathBuf>,
    findings: PathBuf,
    state: Option<PathBuf>,
    first: u64,
    files: Vec<PathBuf>,
}

fn args() -> Option<Args> {
    let mut args = Args {
        target: "facts".into(),
        executions: u64::MAX,
        seconds: u64::MAX,
        seed: 1,
        seeds: Vec::new(),
        findings: "findings".into(),
        state: None,
        first: 0,
        files: Vec::new(),
    };
    let mut words = std::env::args().skip(1);
    while let Some(flag) = words.next() {
        let value = words.next()?;
        match flag.as_str() {
            "--target" => args.target = value,
            "--executions" => args.executions = value.parse().ok()?,
            "--seconds" => args.seconds = value.parse().ok()?,
            "--seed" => args.seed = value.parse().ok()?,
            "--seeds" => args.seeds.push(value.into()),
            "--findings" => args.findings = value.into(),
            "--state" => args.state = Some(value.into()),
            "--file" => args.files.push(value.into()),
            "--first" => args.first = value.parse().ok()?,
            _ => return None,
        }
    }
    Some(args)
}

fn main() -> ExitCode {
    let Some(args) = args() else {
        eprintln!("{USAGE}");
        return ExitCode::FAILURE;
    };
    if args.target == "shapes" {
        let n_operators = args.executions.min(MAX_SHAPED) as usize;
        return write_files(
            Shape::ALL.map(|shape| (format!("{shape:?}"), shape.file(n_operators))),
        );
    }
    if args.target == "cases" {
        return write_files(
            CASES
                .iter()
                .map(|case| (case.name.to_owned(), (case.file)())),
        );
    }
    if args.target == "kinds" {
        return run_kinds();
    }
    if args.target == "files" {
        return write_largest(&args.findings);
    }
    let mutants = Mutants::new(args.seed, &args.seeds);
    let [tiny, small, large] = mutants.seeds.count();
    eprintln!("{tiny} tiny seeds, {small} small, {large} large");
    if args.target == "mutants" {
        return write_mutants(&args, &mutants);
    }
    let target = Target::ALL.iter().find(|(name, _)| *name == args.target);
    let Some(&(_, target)) = target else {
        eprintln!("{USAGE}");
        return ExitCode::FAILURE;
    };
    if !args.files.is_empty() {
        return run_files(&args.files, target);
    }
    let tally = run(&args, target, &mutants);
    println!(
        "{}: {} executions in {:.0} s ({:.0} of the processor), {} read, {} findings; \
         slowest call of {BATCH} {:.3} s, largest {:.1} MB",
        args.target,
        tally.executions,
        tally.seconds,
        tally.processor_s,
        tally.n_read,
        tally.findings,
        tally.slowest_s,
        tally.largest_bytes as f64 / 1e6,
    );
    for (format, n) in &tally.by_format {
        let processor_s = tally.processor_s_by_format.get(format);
        let processor_s = processor_s.copied().unwrap_or_default();
        println!("{n:10} {format}, {processor_s:.0} s of the processor");
    }
    for (message, n) in &tally.by_message {
        println!("{n:8} {message}");
    }
    match tally.findings {
        0 => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    }
}

fn run_files(paths: &[PathBuf], target: Target) -> ExitCode {
    for path in paths {
        let bytes = match std::fs::read(path) {
            Ok(bytes) => bytes,
            Err(error) => {
                eprintln!("{}: {error}", path.display());
                return ExitCode::FAILURE;
            }
        };
        let cost = target.run(&bytes, None);
        println!(
            "{}: {} kB, {:.3} s of the processor, {:.1} MB in {} allocations, {}",
            path.display(),
            bytes.len() / 1000,
            cost.time.as_secs_f64(),
            cost.taken.peak_bytes as f64 / 1e6,
            cost.taken.n_allocations,
            if cost.is_read() {
                "a report"
            } else {
                "an error"
            },
        );
    }
    ExitCode::SUCCESS
}

fn run(args: &Args, target: Target, mutants: &Mutants) -> Tally {
    let predictor = match target {
        Target::Estimate => Some(Predictor::shipped().expect("the shipped predictor loads")),
        _ => None,
    };
    keep_panics();
    let mut tally = Tally::read(args.state.as_deref(), &args.target, args.seed);
    let (start, before_s) = (Instant::now(), tally.seconds);
    let mut written_s = 0.0;
    while tally.executions < args.executions && start.elapsed().as_secs() < args.seconds {
        tally.run(target, mutants, predictor.as_ref(), &args.findings);
        let elapsed_s = start.elapsed().as_secs_f64();
        tally.seconds = before_s + elapsed_s;
        if elapsed_s - written_s > STATE_SECONDS {
            written_s = elapsed_s;
            keep(args, &tally);
        }
    }
    keep(args, &tally);
    tally
}

fn keep(args: &Args, tally: &Tally) {
    if let Some(path) = &args.state
        && let Err(error) = tally.write(path)
    {
        eprintln!("{}: {error}", path.display());
    }
}

/// Every kind of operator, of which 5,000 share one large constant, on all targets. Fails where one of them takes longer or
/// more than is promised.
fn run_kinds() -> ExitCode {
    let cases = Format::Tflite.cases().iter();
    let shared: Vec<_> = cases
        .filter(|case| case.name.starts_with("shared_"))
        .collect();
    let (mut slowest_s, mut n_broken) = (0.0_f64, 0);
    for kind in 0..N_KINDS {
        for case in &shared {
            let amounts = Amounts {
                n: case.size,
                repeats: kind,
            };
            let bytes = (case.file)(amounts);
            let cost = Target::Attacks.run(&bytes, None);
            if let Some(words) = broken(&cost, bytes.len()) {
                n_broken += 1;
                println!("{} of kind {kind}: {words}", case.name);
            }
            let time_s = cost.time.as_secs_f64();
            if time_s > slowest_s {
                slowest_s = time_s;
                println!(
                    "{} of kind {kind}: {time_s:.3} s, {:.1} MB",
                    case.name,
                    cost.taken.peak_bytes as f64 / 1e6
                );
            }
        }
    }
    println!(
        "{N_KINDS} kinds of operators in {} ways, {n_broken} findings",
        shared.len()
    );
    match n_broken {
        0 => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    }
}

/// The largest file of each kind that was made on purpose, in a folder.
fn write_largest(folder: &Path) -> ExitCode {
    let write = || -> std::io::Result<()> {
        std::fs::create_dir_all(folder)?;
        for format in Format::ALL {
            for case in format.cases() {
                let name = format!("{format:?}-{}.{}", case.name, format.extension());
                std::fs::write(folder.join(name), case.largest())?;
            }
        }
        for case in CASES {
            let name = case.name.replace([' ', ','], "-");
            std::fs::write(folder.join(format!("{name}.tflite")), (case.file)().write())?;
        }
        Ok(())
    };
    match write() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{}: {error}", folder.display());
            ExitCode::FAILURE
        }
    }
}

/// Its length in four bytes, and the text or file itself.
fn write_prefixed(to: &mut impl Write, bytes: &[u8]) -> std::io::Result<()> {
    to.write_all(&(bytes.len() as u32).to_le_bytes())?;
    to.write_all(bytes)
}

/// Each with its name before it.
fn write_files(files: impl IntoIterator<Item = (String, File)>) -> ExitCode {
    let mut out = std::io::stdout().lock();
    for (name, file) in files {
        let written = [name.as_bytes(), &file.write()].map(|bytes| write_prefixed(&mut out, bytes));
        if written.iter().any(Result::is_err) {
            break;
        }
    }
    ExitCode::SUCCESS
}

fn write_mutants(args: &Args, mutants: &Mutants) -> ExitCode {
    let mut out = std::io::stdout().lock();
    let end = args.executions.div_ceil(BATCH);
    for call in args.first..end {
        for bytes in mutants.of_call(Target::Estimate, call) {
            if write_prefixed(&mut out, &bytes).is_err() {
                return ExitCode::SUCCESS;
            }
        }
    }
    ExitCode::SUCCESS
}
