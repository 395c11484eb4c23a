//! What the command line takes.

use std::num::NonZeroU32;
use std::path::PathBuf;

use clap::{Parser, Subcommand};

use litecast::boards::Application;
use litecast::targets::choice::{MAX_CLOCK_MHZ, MIN_CLOCK_MHZ};

use super::budget::{Against, Limits, SweepLimits};
use super::choice::{NpuArgs, TargetArgs};

/// What a neural network costs on edge hardware, before any deployment.
///
/// FILE is a model, a folder (searched for models in all its folders), a pattern such as 'models/*.tflite',
/// or - for the standard input.
#[derive(Parser)]
#[command(version, arg_required_else_help = true)]
pub struct Args {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Subcommand)]
pub enum Command {
    /// Estimate latency, memory and energy on every target
    ///
    /// Exits with 1 when a file has no report; the others are reported all the same.
    Predict(PredictArgs),
    /// Compare two models, or two folders of models, on every target
    ///
    /// A and B are models, folders with models of the same names, or reports that `predict --json` printed.
    Compare(CompareArgs),
    /// Hold models to limits, for CI
    ///
    /// Exits with 0 when every limit holds, with 1 when one does not or a file has no estimate to hold to it,
    /// and with 2 when nothing could be checked. Without FILE, the limits are those of litecast.toml.
    Check(CheckArgs),
    /// Estimate on every Ethos-U, and find the smallest that meets limits
    ///
    /// Exits with 1 when none meets them, or when the file has no estimate.
    Sweep(SweepArgs),
    /// Show how throughput and memory grow with the batch on a GPU, and the largest batch that fits
    SweepBatch(SweepBatchArgs),
    /// Count what is exact: operators, multiply-accumulates, parameters, bytes and the arena
    Facts(FactsArgs),
    /// Say on which boards models have room under TensorFlow Lite Micro, and how fast they run
    Boards(BoardsArgs),
    /// List the targets, where their numbers come from and how far off they were
    Targets(TargetsArgs),
    /// Print the JSON Schema of what `predict --json` prints on a line
    Schema,
    /// Print a script that completes this command in a shell
    Completions { shell: clap_complete::Shell },
    /// Print the manual page (`litecast man | man -l -`)
    Man,
    /// What the others run in a process apart.
    #[command(hide = true)]
    Worker(WorkerArgs),
}

/// `NAME=SIZE`.
fn dimension(text: &str) -> Result<(String, u32), String> {
    let split = text.rsplit_once('=');
    let size =
        split.and_then(|(name, size)| Some((name, size.parse().ok().filter(|&size| size > 0)?)));
    let (name, size) = size.ok_or("expected NAME=SIZE with a size from 1 on")?;
    Ok((name.to_owned(), size))
}

/// In MHz.
fn clock(text: &str) -> Result<f64, String> {
    let clock_mhz = text.parse().ok();
    let clock_mhz = clock_mhz.filter(|mhz| (MIN_CLOCK_MHZ..=MAX_CLOCK_MHZ).contains(mhz));
    clock_mhz.ok_or_else(|| format!("expected a clock of {MIN_CLOCK_MHZ} to {MAX_CLOCK_MHZ} MHz"))
}

/// How files are read and estimated.
#[derive(clap::Args, Clone)]
pub struct ReadArgs {
    /// Inputs at a time, for models that have one. NPUs take one.
    #[arg(long, value_name = "N", default_value = "1")]
    pub batch: NonZeroU32,
    /// Threads on processors; boards with fewer cores run one a core.
    #[arg(long, value_name = "N", default_value = "1")]
    pub threads: NonZeroU32,
    /// Size of a dimension that an ONNX file leaves open, by its name there or by place (`input.2`). Give
    /// it again for several.
    #[arg(long = "dim", value_name = "NAME=SIZE", value_parser = dimension)]
    pub dimensions: Vec<(String, u32)>,
    #[command(flatten)]
    pub application: ApplicationArgs,
    /// Seconds after which a file is given up.
    #[arg(long, value_name = "SECONDS", default_value = "60")]
    pub time_limit: u64,
}

/// What an application on a microcontroller keeps for itself.
#[derive(clap::Args, Clone, Copy)]
pub struct ApplicationArgs {
    /// RAM that the application on a microcontroller keeps for itself.
    #[arg(long = "app-ram", value_name = "KIB", default_value = "0")]
    pub ram_kib: u32,
    /// Flash that it keeps for itself, beside the model and its runtime.
    #[arg(long = "app-flash", value_name = "KIB", default_value = "0")]
    pub flash_kib: u32,
}

impl ApplicationArgs {
    pub fn application(self) -> Application {
        Application {
            ram_bytes: u64::from(self.ram_kib) << 10,
            flash_bytes: u64::from(self.flash_kib) << 10,
        }
    }
}

#[derive(clap::Args)]
pub struct PredictArgs {
    /// Models to estimate.
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    #[command(flatten)]
    pub targets: TargetArgs,
    #[command(flatten)]
    pub read: ReadArgs,
    #[command(flatten)]
    pub format: FormatArgs,
    /// List every metric of every target, with its error and its source.
    #[arg(long)]
    pub details: bool,
    /// List the operators, with their part of each latency.
    #[arg(long)]
    pub operators: bool,
}

/// One of several ways to print reports.
#[derive(clap::Args)]
#[group(multiple = false)]
pub struct FormatArgs {
    /// Print one JSON document a line for each file, with `error` in the place of `model` where it failed.
    #[arg(long)]
    pub json: bool,
    /// Print a row for each file, target and metric, for spreadsheets.
    #[arg(long)]
    pub csv: bool,
    /// Print one HTML page that opens from disk and needs nothing else.
    #[arg(long)]
    pub html: bool,
}

#[derive(clap::Args)]
pub struct CompareArgs {
    /// The model, folder or report to compare with.
    #[arg(value_name = "A")]
    pub before: PathBuf,
    /// The model, folder or report that is compared.
    #[arg(value_name = "B")]
    pub after: PathBuf,
    #[command(flatten)]
    pub targets: TargetArgs,
    #[command(flatten)]
    pub read: ReadArgs,
    /// Print one JSON document a line for each pair.
    #[arg(long, group = "format")]
    pub json: bool,
    /// Print a row for each pair, target and metric, for spreadsheets.
    #[arg(long, group = "format")]
    pub csv: bool,
    /// Print tables in Markdown, for a comment on a change.
    #[arg(long, group = "format")]
    pub markdown: bool,
    /// Show what did not change, too.
    #[arg(long)]
    pub all: bool,
}

#[derive(clap::Args)]
pub struct CheckArgs {
    /// Models to check.
    #[arg(value_name = "FILE")]
    pub files: Vec<PathBuf>,
    #[command(flatten)]
    pub targets: TargetArgs,
    #[command(flatten)]
    pub limits: Limits,
    /// What is held to a limit: the estimate, or the upper end of its interval.
    ///
    /// A value without an interval is compared itself, and the output says so.
    #[arg(long, value_name = "BOUND", value_enum)]
    pub against: Option<Against>,
    /// Limits as a file has them, when no FILE is given.
    #[arg(long, value_name = "TOML", default_value = "litecast.toml")]
    pub config: PathBuf,
    #[command(flatten)]
    pub read: ReadArgs,
    /// Print one JSON document a line for each file.
    #[arg(long, group = "format")]
    pub json: bool,
    /// Print a row for each file and limit, for spreadsheets.
    #[arg(long, group = "format")]
    pub csv: bool,
    /// Print tables in Markdown, for a comment on a change.
    #[arg(long, group = "format")]
    pub markdown: bool,
}

#[derive(clap::Args)]
pub struct FactsArgs {
    /// Models to count.
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    #[command(flatten)]
    pub read: ReadArgs,
    #[command(flatten)]
    pub format: FormatArgs,
    /// List the operators.
    #[arg(long)]
    pub operators: bool,
}

#[derive(clap::Args)]
pub struct BoardsArgs {
    /// Models to place.
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    #[command(flatten)]
    pub read: ReadArgs,
    /// Print one JSON document a line for each file.
    #[arg(long)]
    pub json: bool,
}

#[derive(clap::Args)]
pub struct SweepArgs {
    /// Model to run.
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    #[command(flatten)]
    pub limits: SweepLimits,
    /// Highest clock at which an accelerator may meet the latency.
    #[arg(long, value_name = "MHZ", default_value_t = litecast::sweep::MAX_CLOCK_MHZ, value_parser = clock)]
    pub max_clock: f64,
    /// Show the latency at this clock, too. Give it again for several.
    #[arg(long = "clock", value_name = "MHZ", value_parser = clock)]
    pub clocks: Vec<f64>,
    #[command(flatten)]
    pub npu: NpuArgs,
    #[command(flatten)]
    pub read: ReadArgs,
    #[command(flatten)]
    pub format: FormatArgs,
}

impl SweepArgs {
    pub fn has_limits(&self) -> bool {
        self.limits.latency.is_some() || self.limits.sram.is_some()
    }
}

#[derive(clap::Args)]
pub struct SweepBatchArgs {
    /// Model, or graph without weights.
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// A GPU, for example rtx-3090.
    #[arg(long, value_name = "ID", default_value = "rtx-3090")]
    pub target: String,
    /// Print one JSON document instead of a table.
    #[arg(long)]
    pub json: bool,
}

#[derive(clap::Args)]
pub struct TargetsArgs {
    /// List every metric of every target, with its error and its source.
    #[arg(long)]
    pub details: bool,
    /// Print one JSON document a line for each target.
    #[arg(long)]
    pub json: bool,
}

/// What a worker tells of a file, as JSON.
#[derive(clap::ValueEnum, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tell {
    /// Its report.
    #[default]
    Report,
    /// A report of exact facts alone, on no target.
    Facts,
    /// On which boards it has room.
    Boards,
}

#[derive(clap::Args)]
pub struct WorkerArgs {
    pub files: Vec<PathBuf>,
    #[command(flatten)]
    pub targets: TargetArgs,
    #[command(flatten)]
    pub read: ReadArgs,
    /// What is told of each file.
    #[arg(long, value_enum, default_value_t)]
    pub tell: Tell,
    /// So many files are estimated one at a time.
    #[arg(long, default_value = "0")]
    pub alone: usize,
}
