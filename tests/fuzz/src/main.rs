//! Runs the whole path on files that nobody would write, many of them, and holds what comes out against
//! what every stage promises. Ends with 1 where a promise was broken, with the file beside it.

use std::collections::BTreeMap;
use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use litecast::learned::predictor::Predictor;
use litecast_fuzz::check::{Cost, Target, max_bytes, random_measurements};
use litecast_fuzz::file::File;
use litecast_fuzz::memory::Counting;
use litecast_fuzz::mutate::{corrupt, mutate};
use litecast_fuzz::protobuf::{self, Message};
use litecast_fuzz::random::Random;
use litecast_fuzz::shapes::Shape;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const NETWORK: &[u8] = include_bytes!("../../../bundle/predictor.onnx");
const MANIFEST: &str = include_str!("../../../bundle/manifest.json");

/// A file that takes longer is a finding.
const MAX_TIME: Duration = Duration::from_secs(1);

const USAGE: &str =
    "usage: litecast-fuzz [--target reader|facts|estimate|batch|measurements|onnx|mutants] \
    [--executions N] [--seconds N] [--seed N] [--seeds FOLDER]... [--findings FOLDER]
`mutants` writes length-prefixed files to standard output, for other programs to run.";

struct Args {
    target: String,
    executions: u64,
    seconds: u64,
    seed: u64,
    seeds: Vec<PathBuf>,
    findings: PathBuf,
}

fn args() -> Option<Args> {
    let mut args = Args {
        target: "facts".into(),
        executions: u64::MAX,
        seconds: u64::MAX,
        seed: 1,
        seeds: Vec::new(),
        findings: "findings".into(),
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
            _ => return None,
        }
    }
    Some(args)
}

/// What was run.
#[derive(Default)]
struct Tally {
    executions: u64,
    n_read: u64,
    findings: u64,
    max_time: Duration,
    max_bytes: usize,
    /// By the first line of what was said.
    by_message: BTreeMap<String, u64>,
}

fn main() -> ExitCode {
    let Some(args) = args() else {
        eprintln!("{USAGE}");
        return ExitCode::FAILURE;
    };
    let seeds = seeds(&args.seeds);
    let onnx_seeds = protobuf::seeds();
    eprintln!("{} seeds", seeds.len());
    if args.target == "mutants" {
        return write_mutants(&args, &seeds);
    }
    let Some((_, target)) = Target::ALL
        .into_iter()
        .find(|(name, _)| *name == args.target)
    else {
        eprintln!("{USAGE}");
        return ExitCode::FAILURE;
    };
    let predictor = match target {
        Target::Estimate => Predictor::load(NETWORK, MANIFEST).ok(),
        _ => None,
    };
    std::panic::set_hook(Box::new(|_| {}));
    let mut tally = Tally::default();
    let mut random = Random::new(args.seed);
    let start = Instant::now();
    while tally.executions < args.executions && start.elapsed().as_secs() < args.seconds {
        let bytes = match target {
            Target::Measurements => random_measurements(&mut random),
            Target::Onnx => onnx_mutant(&onnx_seeds, &mut random),
            _ => mutant(&seeds, &mut random),
        };
        tally.run(target, &bytes, predictor.as_ref(), &args.findings);
    }
    let seconds = start.elapsed().as_secs_f64();
    println!(
        "{}: {} executions in {seconds:.0} s, {} read, {} findings; slowest {:.3} s, largest {:.1} MB",
        args.target,
        tally.executions,
        tally.n_read,
        tally.findings,
        tally.max_time.as_secs_f64(),
        tally.max_bytes as f64 / 1e6,
    );
    for (message, n) in &tally.by_message {
        println!("{n:8} {message}");
    }
    match tally.findings {
        0 => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    }
}

impl Tally {
    fn run(
        &mut self,
        target: Target,
        bytes: &[u8],
        predictor: Option<&Predictor>,
        findings: &Path,
    ) {
        self.executions += 1;
        let run = AssertUnwindSafe(|| target.run(bytes, predictor));
        let message = match catch_unwind(run) {
            Ok(cost) => {
                self.n_read += u64::from(cost.is_read);
                self.max_time = self.max_time.max(cost.time);
                self.max_bytes = self.max_bytes.max(cost.taken.peak_bytes);
                broken(&cost, bytes.len())
            }
            Err(panic) => {
                let text = panic.downcast_ref::<String>().cloned();
                let text = text.or_else(|| panic.downcast_ref::<&str>().map(|s| (*s).to_owned()));
                Some(text.unwrap_or_else(|| "a panic".into()))
            }
        };
        let Some(message) = message else { return };
        self.findings += 1;
        let line: String = message
            .lines()
            .next()
            .unwrap_or_default()
            .chars()
            .take(100)
            .collect();
        let n = self.by_message.entry(line).or_default();
        *n += 1;
        // The first few of each kind tell enough.
        if *n <= 3 {
            let path = findings.join(format!("{}.tflite", self.executions));
            let written =
                std::fs::create_dir_all(findings).and_then(|()| std::fs::write(&path, bytes));
            eprintln!("{}: {message} ({written:?})", path.display());
        }
    }
}

fn broken(cost: &Cost, file_bytes: usize) -> Option<String> {
    if cost.time > MAX_TIME {
        return Some("took longer than a second".into());
    }
    let is_large = cost.taken.peak_bytes > max_bytes(file_bytes);
    is_large.then(|| "took more memory than three times its length and 64 MB".into())
}

/// Small networks of every shape, and the files of folders.
fn seeds(folders: &[PathBuf]) -> Vec<File> {
    let mut seeds: Vec<File> = Shape::ALL
        .iter()
        .flat_map(|shape| [6, 40].map(|n| shape.file(n)))
        .collect();
    for folder in folders {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
        paths.sort();
        for path in paths {
            // Large ones would be copied for each mutant.
            let is_small = path.metadata().is_ok_and(|m| m.len() < MAX_SEED_BYTES);
            let bytes = is_small.then(|| std::fs::read(&path).ok()).flatten();
            seeds.extend(bytes.and_then(|bytes| File::read(&bytes)));
        }
    }
    seeds
}

const MAX_SEED_BYTES: u64 = 200_000;

fn mutant(seeds: &[File], random: &mut Random) -> Vec<u8> {
    let mut file = seeds[random.below(seeds.len())].clone();
    mutate(&mut file, random);
    let mut bytes = file.write();
    if random.one_in(20) {
        corrupt(&mut bytes, random);
    }
    bytes
}

fn onnx_mutant(seeds: &[Message], random: &mut Random) -> Vec<u8> {
    let mut file = seeds[random.below(seeds.len())].clone();
    file.mutate(random);
    let mut bytes = file.write();
    if random.one_in(10) {
        corrupt(&mut bytes, random);
    }
    bytes
}

fn write_mutants(args: &Args, seeds: &[File]) -> ExitCode {
    let mut random = Random::new(args.seed);
    let mut out = std::io::stdout().lock();
    for _ in 0..args.executions {
        let bytes = mutant(seeds, &mut random);
        let length = (bytes.len() as u32).to_le_bytes();
        if out
            .write_all(&length)
            .and_then(|()| out.write_all(&bytes))
            .is_err()
        {
            break;
        }
    }
    ExitCode::SUCCESS
}
