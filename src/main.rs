//! The native command: `litecast predict FILE...`.

use std::error::Error;
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;
use std::{fs, io};

use clap::{Parser, Subcommand};
use litecast::boards::Application;
use litecast::estimate::{ModelFile, estimate_on, on_boards};
use litecast::formats::tflite::ParseError;
use litecast::formats::tflite::limits::MAX_FILE_BYTES;
use litecast::learned::predictor::{Predictor, PredictorError};
use litecast::report::Report;
use litecast::targets::{Target, registry};

mod choice;
mod isolation;
mod table;

use choice::TargetArgs;
use isolation::Message;

/// What a TensorFlow Lite model costs on edge hardware, before any deployment.
#[derive(Parser)]
#[command(version, arg_required_else_help = true)]
struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Estimate latency, memory and traffic of .tflite files on every target.
    ///
    /// Exits with 1 when a file could not be read; the others are reported all the same.
    Predict {
        /// Files to estimate.
        #[arg(required = true, value_name = "FILE")]
        files: Vec<PathBuf>,
        /// Inputs at a time, for files that have one. NPUs take one.
        #[arg(long, value_name = "N", default_value = "1")]
        batch: NonZeroU32,
        /// Threads on processors; boards with fewer cores run one a core.
        #[arg(long, value_name = "N", default_value = "1")]
        threads: NonZeroU32,
        #[command(flatten)]
        targets: TargetArgs,
        /// Print one JSON document per file and line instead of tables.
        #[arg(long)]
        json: bool,
        /// List the operators too.
        #[arg(long, conflicts_with = "json")]
        operators: bool,
        /// Seconds after which a file is given up.
        #[arg(long, value_name = "SECONDS", default_value = "60")]
        time_limit: u64,
    },
    /// What `predict` runs in a process apart.
    #[command(hide = true)]
    Worker {
        files: Vec<PathBuf>,
        #[arg(long, default_value = "1")]
        batch: NonZeroU32,
        #[arg(long, default_value = "1")]
        threads: NonZeroU32,
        #[command(flatten)]
        targets: TargetArgs,
        #[arg(long)]
        json: bool,
        #[arg(long)]
        operators: bool,
        /// So many files are estimated one at a time.
        #[arg(long, default_value = "0")]
        alone: usize,
    },
    /// Say on which boards .tflite files have room under TensorFlow Lite Micro, and how fast they run.
    Boards {
        /// Files to place.
        #[arg(required = true, value_name = "FILE")]
        files: Vec<PathBuf>,
        /// RAM that the application keeps for itself.
        #[arg(long = "app-ram", value_name = "KIB", default_value = "0")]
        ram_kib: u32,
        /// Flash that the application keeps for itself, the code of the runtime included.
        #[arg(long = "app-flash", value_name = "KIB", default_value = "0")]
        flash_kib: u32,
    },
    /// List the targets, where their numbers come from and how far off they were on held-out networks.
    Targets,
}

fn main() -> ExitCode {
    let outcome = match Args::parse().command {
        Command::Predict {
            files,
            batch,
            threads,
            targets,
            json,
            operators,
            time_limit,
        } => targets.chosen().and_then(|_| {
            let mut arguments = vec![
                "worker".to_owned(),
                format!("--batch={batch}"),
                format!("--threads={threads}"),
            ];
            arguments.extend(json.then(|| "--json".to_owned()));
            arguments.extend(operators.then(|| "--operators".to_owned()));
            arguments.extend(targets.arguments());
            predict(&files, &arguments, Duration::from_secs(time_limit))
        }),
        Command::Worker {
            files,
            batch,
            threads,
            targets,
            json,
            operators,
            alone,
        } => targets.chosen().and_then(|targets| {
            let targets = targets.as_deref().unwrap_or(registry());
            work(&files, [batch, threads], alone, targets, |report| {
                text_of(report, json, operators)
            })
        }),
        Command::Boards {
            files,
            ram_kib,
            flash_kib,
        } => Ok(boards(
            &files,
            &Application {
                ram_bytes: u64::from(ram_kib) << 10,
                flash_bytes: u64::from(flash_kib) << 10,
            },
        )),
        Command::Targets => load().map(|predictor| {
            let targets = litecast::targets::infos(Some(predictor.manifest()));
            println!("{}", table::targets(&targets));
            ExitCode::SUCCESS
        }),
    };
    outcome.unwrap_or_else(|error| {
        eprintln!("litecast: {error}");
        ExitCode::FAILURE
    })
}

fn load() -> Result<Predictor, Box<dyn Error>> {
    Ok(Predictor::shipped()?)
}

/// Prints each file's report, or why there is none.
fn predict(
    files: &[PathBuf],
    arguments: &[String],
    time_limit: Duration,
) -> Result<ExitCode, Box<dyn Error>> {
    let mut code = ExitCode::SUCCESS;
    isolation::run(files, arguments, time_limit, |file, result| match result {
        Ok(text) => print!("{text}"),
        Err(words) => {
            eprintln!("litecast: {}: {words}", file.display());
            code = ExitCode::FAILURE;
        }
    })?;
    Ok(code)
}

fn boards(files: &[PathBuf], application: &Application) -> ExitCode {
    let mut code = ExitCode::SUCCESS;
    for file in files {
        let name = file.to_string_lossy();
        let text = read(file).and_then(|bytes| {
            let placed = on_boards(ModelFile::new(&name, &bytes), application)?;
            Ok(table::boards(&name, &placed))
        });
        match text {
            Ok(text) => println!("{text}"),
            Err(error) => {
                eprintln!("litecast: {name}: {error}");
                code = ExitCode::FAILURE;
            }
        }
    }
    code
}

/// Files that are held and estimated at a time: so many, or as few as have so many bytes.
const FILES_AT_A_TIME: usize = 64;
const BYTES_AT_A_TIME: u64 = 64 << 20;

/// Estimates files, the first `alone` of them one at a time, and tells the process that started this one.
fn work(
    files: &[PathBuf],
    batch_and_threads: [NonZeroU32; 2],
    mut alone: usize,
    targets: &[Box<dyn Target>],
    text_of: impl Fn(&Report) -> Result<String, Box<dyn Error>>,
) -> Result<ExitCode, Box<dyn Error>> {
    let predictor = load()?;
    let mut to = io::stdout().lock();
    let mut pending = files;
    while !pending.is_empty() {
        let n = if alone > 0 { 1 } else { n_at_a_time(pending) };
        alone = alone.saturating_sub(n);
        let (files, rest) = pending.split_at(n);
        Message::Begin(n).write(&mut to)?;
        let contents = files.iter().map(read).collect();
        for report in reports_of(files, contents, batch_and_threads, &predictor, targets)? {
            let message = match report.and_then(|report| text_of(&report)) {
                Ok(text) => Message::Report(text),
                Err(error) => Message::Error(error.to_string()),
            };
            message.write(&mut to)?;
        }
        pending = rest;
    }
    Ok(ExitCode::SUCCESS)
}

/// How many of the first files are held at a time, one at least.
fn n_at_a_time(files: &[PathBuf]) -> usize {
    let mut n_bytes = 0u64;
    let fits = |file: &&PathBuf| {
        n_bytes = n_bytes.saturating_add(fs::metadata(file).map_or(0, |metadata| metadata.len()));
        n_bytes <= BYTES_AT_A_TIME
    };
    let some = files.iter().take(FILES_AT_A_TIME);
    some.take_while(fits).count().max(1)
}

/// The contents of a file; its size is looked at before.
fn read(file: &PathBuf) -> Result<Vec<u8>, Box<dyn Error>> {
    let file_bytes = fs::metadata(file)?.len();
    if file_bytes > MAX_FILE_BYTES as u64 {
        let file_bytes = usize::try_from(file_bytes).unwrap_or(usize::MAX);
        return Err(ParseError::TooLarge { file_bytes }.into());
    }
    Ok(fs::read(file)?)
}

type ReportOrError = Result<Report, Box<dyn Error>>;

/// In the order of `files`.
fn reports_of(
    files: &[PathBuf],
    contents: Vec<Result<Vec<u8>, Box<dyn Error>>>,
    [batch, threads]: [NonZeroU32; 2],
    predictor: &Predictor,
    targets: &[Box<dyn Target>],
) -> Result<Vec<ReportOrError>, PredictorError> {
    let names: Vec<_> = files.iter().map(|file| file.to_string_lossy()).collect();
    let named = names.iter().zip(&contents);
    let readable: Vec<ModelFile> = named
        .filter_map(|(name, bytes)| {
            let bytes = bytes.as_ref().ok()?;
            Some(ModelFile {
                name,
                bytes,
                batch,
                threads,
            })
        })
        .collect();
    let mut reports = estimate_on(&readable, Some(predictor), targets)?.into_iter();
    let report = |bytes: Result<Vec<u8>, Box<dyn Error>>| {
        bytes?;
        Ok(reports
            .next()
            .expect("every file that was read has a result")?)
    };
    Ok(contents.into_iter().map(report).collect())
}

fn text_of(report: &Report, json: bool, operators: bool) -> Result<String, Box<dyn Error>> {
    if json {
        return Ok(serde_json::to_string(report)? + "\n");
    }
    Ok(table::report(report, operators))
}
