//! The native command: `litecast predict FILE...`.

use std::error::Error;
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::process::ExitCode;
use std::{fs, io};

use clap::{Parser, Subcommand};
use litecast::estimate::{ModelFile, estimate_many};
use litecast::learned::predictor::{Predictor, PredictorError};
use litecast::report::Report;

mod table;

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
        /// Print one JSON document per file and line instead of tables.
        #[arg(long)]
        json: bool,
        /// List the operators too.
        #[arg(long, conflicts_with = "json")]
        operators: bool,
    },
    /// List the targets, where their numbers come from and how far off they were on held-out networks.
    Targets,
}

/// The bundle that this version ships, remade by the trainer's `train` and `export`.
const NETWORK: &[u8] = include_bytes!("../trainer/artifact/predictor.onnx");
const MANIFEST: &str = include_str!("../trainer/artifact/manifest.json");

fn main() -> ExitCode {
    let args = Args::parse();
    let predictor = match Predictor::load(NETWORK, MANIFEST) {
        Ok(predictor) => predictor,
        Err(error) => {
            eprintln!("litecast: {error}");
            return ExitCode::FAILURE;
        }
    };
    match args.command {
        Command::Predict {
            files,
            batch,
            json,
            operators,
        } => predict(&files, batch, &predictor, |report| {
            text_of(report, json, operators)
        }),
        Command::Targets => {
            println!(
                "{}",
                table::targets(&litecast::targets::infos(Some(predictor.manifest())))
            );
            ExitCode::SUCCESS
        }
    }
}

/// Files that are held and estimated at a time: so many, or as few as have so many bytes.
const FILES_AT_A_TIME: usize = 64;
const BYTES_AT_A_TIME: usize = 64 << 20;

fn predict(
    files: &[PathBuf],
    batch: NonZeroU32,
    predictor: &Predictor,
    text_of: impl Fn(&Report) -> Result<String, Box<dyn Error>>,
) -> ExitCode {
    let mut code = ExitCode::SUCCESS;
    let mut pending = files;
    while !pending.is_empty() {
        let contents = read_some(pending);
        let (files, rest) = pending.split_at(contents.len());
        let reports = match reports_of(files, contents, batch, predictor) {
            Ok(reports) => reports,
            Err(error) => {
                eprintln!("litecast: {error}");
                return ExitCode::FAILURE;
            }
        };
        for (file, report) in files.iter().zip(reports) {
            match report.and_then(|report| text_of(&report)) {
                Ok(text) => print!("{text}"),
                Err(error) => {
                    eprintln!("litecast: {}: {error}", file.display());
                    code = ExitCode::FAILURE;
                }
            }
        }
        pending = rest;
    }
    code
}

/// Contents of the first files, at least of one.
fn read_some(files: &[PathBuf]) -> Vec<io::Result<Vec<u8>>> {
    let mut n_bytes = 0;
    let mut contents = Vec::new();
    for file in files.iter().take(FILES_AT_A_TIME) {
        if n_bytes >= BYTES_AT_A_TIME {
            break;
        }
        let bytes = fs::read(file);
        n_bytes += bytes.as_ref().map_or(0, Vec::len);
        contents.push(bytes);
    }
    contents
}

type ReportOrError = Result<Report, Box<dyn Error>>;

/// In the order of `files`.
fn reports_of(
    files: &[PathBuf],
    contents: Vec<io::Result<Vec<u8>>>,
    batch: NonZeroU32,
    predictor: &Predictor,
) -> Result<Vec<ReportOrError>, PredictorError> {
    let names: Vec<_> = files.iter().map(|file| file.to_string_lossy()).collect();
    let named = names.iter().zip(&contents);
    let readable: Vec<ModelFile> = named
        .filter_map(|(name, bytes)| {
            let bytes = bytes.as_ref().ok()?;
            Some(ModelFile { name, bytes, batch })
        })
        .collect();
    let mut reports = estimate_many(&readable, Some(predictor))?.into_iter();
    let report = |bytes: io::Result<Vec<u8>>| {
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
