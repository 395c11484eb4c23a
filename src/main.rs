//! The native command: `litecast predict FILE...`.

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use litecast::estimate::estimate;
use litecast::predictor::Predictor;
use litecast::report::{self, Report};

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
            json,
            operators,
        } => predict(&files, &predictor, json, operators),
        Command::Targets => {
            println!("{}", table::targets(&report::targets(predictor.manifest())));
            ExitCode::SUCCESS
        }
    }
}

fn predict(files: &[PathBuf], predictor: &Predictor, json: bool, operators: bool) -> ExitCode {
    let mut code = ExitCode::SUCCESS;
    for file in files {
        match report_of(file, predictor).and_then(|report| text_of(&report, json, operators)) {
            Ok(text) => print!("{text}"),
            Err(error) => {
                eprintln!("litecast: {}: {error}", file.display());
                code = ExitCode::FAILURE;
            }
        }
    }
    code
}

fn report_of(file: &Path, predictor: &Predictor) -> Result<Report, Box<dyn Error>> {
    let bytes = fs::read(file)?;
    Ok(estimate(&bytes, &file.to_string_lossy(), Some(predictor))?)
}

fn text_of(report: &Report, json: bool, operators: bool) -> Result<String, Box<dyn Error>> {
    if json {
        return Ok(serde_json::to_string(report)? + "\n");
    }
    Ok(table::report(report, operators))
}
