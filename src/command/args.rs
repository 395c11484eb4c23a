//! The command's arguments.

use std::num::NonZeroU32;
use std::path::PathBuf;

use clap::{Parser, Subcommand};

use litecast::boards::Application;
use litecast::estimate::EstimateAs;
use litecast::profiles::TOOLS;
use litecast::targets::choice::{MAX_CLOCK_MHZ, MIN_CLOCK_MHZ};

use super::budget::{Against, Limits, SweepLimits};
use super::choice::{NpuArgs, TargetArgs, measured};

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
    /// Exits with 1 when a file could not be read; the other files are still reported.
    Predict(PredictArgs),
    /// Compare two models, or two folders of models, on every target
    ///
    /// A and B are models, folders whose models have the same names, or reports saved from `predict --json`. Exits with 1
    /// when a file could not be read, and with 2 when there was nothing to compare.
    Compare(CompareArgs),
    /// Check models against limits, for CI
    ///
    /// Exits with 0 when every limit is met, with 1 when one is exceeded or could not be checked, and with 2 when none
    /// could be checked: no file was read, or no limited metric has an estimate. Without FILE, files and limits are read
    /// from litecast.toml.
    Check(CheckArgs),
    /// Estimate on every Ethos-U, and find the smallest that meets the limits
    ///
    /// Exits with 1 when no Ethos-U meets them, and with 2 when the file has no estimate.
    Sweep(SweepArgs),
    /// Show throughput and memory by batch size on a GPU, and the largest batch that fits
    SweepBatch(SweepBatchArgs),
    /// Count operators, multiply-accumulates, parameters, bytes and the arena, all of them exactly
    Facts(FactsArgs),
    /// Make a device of your own from what benchmark tools printed on it
    ///
    /// FILES are models, each before what was measured of it: ONNX Runtime's profile, the output of benchmark_model with
    /// operator profiling, TensorFlow Lite Micro's profiler, Vela, OpenVINO, ExecuTorch's inspector, ncnn, MNN or ST Edge AI's
    /// validation, or a table with a head. A table that names models may stand anywhere. The device is written to
    /// DEVICE.json, where further measurements can be added later, and `--device DEVICE.json` estimates on it.
    Calibrate(CalibrateArgs),
    /// List the boards that have room for a model under TensorFlow Lite Micro, with its latency
    Boards(BoardsArgs),
    /// List the targets with the source and the measured error of their estimates
    Targets(TargetsArgs),
    /// Print the JSON Schema of the documents that `predict --json` prints, or of a device
    Schema(SchemaArgs),
    /// Print a completion script for a shell
    Completions { shell: clap_complete::Shell },
    /// Print the manual page (`litecast man | man -l -`)
    Man,
    /// Estimate files in a separate process, for the other commands.
    #[command(hide = true)]
    Worker,
}

#[derive(clap::Args)]
pub struct SchemaArgs {
    /// That of a device, as `calibrate` writes it.
    #[arg(long)]
    pub device: bool,
}

/// `NAME=SIZE`.
fn dimension(text: &str) -> Result<(String, u32), String> {
    let split = text.rsplit_once('=');
    let size = split.and_then(|(name, size)| Some((name, size.parse().ok()?)));
    let (name, size) = size.ok_or("expected NAME=SIZE with a whole number as size")?;
    Ok((name.to_owned(), size))
}

/// In MHz.
fn clock(text: &str) -> Result<f64, String> {
    let clock_mhz = text.parse().ok();
    let clock_mhz = clock_mhz.filter(|mhz| (MIN_CLOCK_MHZ..=MAX_CLOCK_MHZ).contains(mhz));
    clock_mhz.ok_or_else(|| format!("expected a clock of {MIN_CLOCK_MHZ} to {MAX_CLOCK_MHZ} MHz"))
}

/// One of those whose command is known, by the beginning of its words.
fn tool(text: &str) -> Result<&'static str, String> {
    let letters = |words: &str| -> String {
        let letters = words.chars().filter(char::is_ascii_alphanumeric);
        letters.map(|c| c.to_ascii_lowercase()).collect()
    };
    let asked = letters(text);
    let mut known = TOOLS.into_iter().filter(|_| !asked.is_empty());
    known
        .find(|tool| letters(tool).starts_with(&asked))
        .ok_or_else(|| format!("expected one of {}", TOOLS.join(", ")))
}

/// How files are read and estimated.
#[derive(clap::Args, Clone)]
pub struct ReadArgs {
    /// Batch size, for models whose batch size is 1. NPUs run batch size 1 only.
    #[arg(long, value_name = "N", default_value = "1")]
    pub batch: NonZeroU32,
    /// Threads on Cortex-A processors, at most one for each core of the board.
    #[arg(long, value_name = "N", default_value = "1")]
    pub threads: NonZeroU32,
    /// Size of a dimension that the file leaves open, given by its name (ONNX) or by the input's name or number and the
    /// dimension's number (`input.2`, `0.2`). Can be repeated.
    #[arg(long = "dim", value_name = "NAME=SIZE", value_parser = dimension)]
    pub dimensions: Vec<(String, u32)>,
    #[command(flatten)]
    pub application: ApplicationArgs,
    /// Estimate networks of floats as int8 on every target; without it, only on NPUs that run integers alone.
    #[arg(long)]
    pub int8: bool,
    /// Estimate every file in its own precision: NPUs that run integers alone have no estimate of floats.
    #[arg(long, conflicts_with = "int8")]
    pub as_is: bool,
    /// Seconds after which the estimate of a file is aborted.
    #[arg(long, value_name = "SECONDS", default_value = "60")]
    pub time_limit: u64,
}

impl ReadArgs {
    pub fn estimate_as(&self) -> EstimateAs {
        match (self.int8, self.as_is) {
            (true, _) => EstimateAs::Int8,
            (_, true) => EstimateAs::AsIs,
            _ => EstimateAs::Auto,
        }
    }
}

/// Memory that the application on a microcontroller needs for itself.
#[derive(clap::Args, Clone, Copy)]
pub struct ApplicationArgs {
    /// RAM that the application on a microcontroller needs for itself.
    #[arg(long = "app-ram", value_name = "KIB", default_value = "0")]
    pub ram_kib: u32,
    /// Flash that the application needs besides the model and its runtime.
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
    /// List every metric of every target, with its expected error and its source.
    #[arg(long)]
    pub details: bool,
    /// List the operators, with their share of each latency.
    #[arg(long)]
    pub operators: bool,
}

/// Output format of reports.
#[derive(clap::Args)]
#[group(multiple = false)]
pub struct FormatArgs {
    /// Print one JSON document per line and file; a file that failed has `error` instead of `model`.
    #[arg(long)]
    pub json: bool,
    /// Print a row for each file, target and metric, for spreadsheets; with --operators, for each operator.
    #[arg(long)]
    pub csv: bool,
    /// Print a self-contained HTML page.
    #[arg(long)]
    pub html: bool,
}

#[derive(clap::Args)]
pub struct CompareArgs {
    /// Model, folder or report before the change.
    #[arg(value_name = "A")]
    pub before: PathBuf,
    /// Model, folder or report after the change.
    #[arg(value_name = "B")]
    pub after: PathBuf,
    #[command(flatten)]
    pub targets: TargetArgs,
    #[command(flatten)]
    pub read: ReadArgs,
    /// Print one JSON document per line and pair.
    #[arg(long, group = "format")]
    pub json: bool,
    /// Print a row for each pair, target and metric, for spreadsheets.
    #[arg(long, group = "format")]
    pub csv: bool,
    /// Print Markdown tables, for example for a comment on a pull request.
    #[arg(long, group = "format")]
    pub markdown: bool,
    /// Also show what did not change.
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
    /// What is compared with a limit: the estimate, or the upper end of its interval.
    ///
    /// Where an estimate has no interval, its value is compared, and the output says so.
    #[arg(long, value_name = "BOUND", value_enum)]
    pub against: Option<Against>,
    /// File with models and limits, read when no FILE is given.
    #[arg(long, value_name = "TOML", default_value = super::check::CONFIG)]
    pub config: PathBuf,
    /// Also read files and a vela.ini that the configuration names outside of its folder, and through symbolic links
    /// that lead out of it.
    #[arg(long)]
    pub outside: bool,
    #[command(flatten)]
    pub read: ReadArgs,
    /// Print one JSON document per line and file.
    #[arg(long, group = "format")]
    pub json: bool,
    /// Print a row for each file and limit, for spreadsheets.
    #[arg(long, group = "format")]
    pub csv: bool,
    /// Print Markdown tables, for example for a comment on a pull request.
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
    /// Models to find boards for.
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    #[command(flatten)]
    pub read: ReadArgs,
    /// Print one JSON document per line and file.
    #[arg(long)]
    pub json: bool,
}

#[derive(clap::Args)]
pub struct CalibrateArgs {
    /// Name of the device, or the file that it is written to.
    #[arg(value_name = "DEVICE")]
    pub device: String,
    /// Models and what was measured of them.
    #[arg(required_unless_present = "probes", value_name = "FILES")]
    pub files: Vec<PathBuf>,
    /// Write ten small networks into this folder, one for each class of kernels, and print the command that measures each.
    #[arg(long, value_name = "DIR", conflicts_with_all = ["files", "like", "clock_mhz", "out", "next", "json"])]
    pub probes: Option<PathBuf>,
    /// The tool whose commands are printed, instead of the one that measured last, for example `ONNX Runtime`.
    #[arg(long, value_name = "TOOL", requires = "probes", value_parser = tool)]
    pub tool: Option<&'static str>,
    /// The target whose operators are scaled, or a group that it is chosen from, for example phones-and-boards for an NPU;
    /// instead of the processor or microcontroller that explains the measurements best.
    #[arg(long, value_name = "ID")]
    pub like: Option<String>,
    /// Of FILES, which are models alone, say which to measure next: the first narrows the intervals of all of them most.
    #[arg(long, conflicts_with_all = ["like", "clock_mhz", "out"])]
    pub next: bool,
    /// Clock that turns cycles and ticks into time, where the tool prints no other.
    #[arg(long = "clock", value_name = "MHZ", value_parser = clock)]
    pub clock_mhz: Option<f64>,
    /// File that the device is written to, instead of DEVICE.json.
    #[arg(long, value_name = "JSON")]
    pub out: Option<PathBuf>,
    #[command(flatten)]
    pub read: ReadArgs,
    /// Print the device, or with --next what to measure, as JSON.
    #[arg(long)]
    pub json: bool,
}

#[derive(clap::Args)]
pub struct SweepArgs {
    /// Model to estimate.
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Compare the targets of this group instead, for example phones-and-boards.
    #[arg(long, value_name = "ID", conflicts_with_all = ["max_clock", "clocks", "vela_ini", "system_config", "memory_mode", "arena_cache_size", "optimise", "html"])]
    pub group: Option<String>,
    /// Compare this device of your own, a file that `litecast calibrate` wrote, with the group or with others. Can be repeated.
    #[arg(long = "device", value_name = "JSON", conflicts_with_all = ["max_clock", "clocks", "vela_ini", "system_config", "memory_mode", "arena_cache_size", "optimise", "html"])]
    pub devices: Vec<PathBuf>,
    /// What the network took on a device of Qualcomm, for example galaxy-s24=12.3ms: its others are estimated by it.
    #[arg(long, value_name = "ID=MS", value_parser = measured, requires = "group")]
    pub measured: Option<(String, f64)>,
    #[command(flatten)]
    pub limits: SweepLimits,
    /// Highest clock that an Ethos-U may run at to meet the latency.
    #[arg(long, value_name = "MHZ", default_value_t = litecast::sweep::MAX_CLOCK_MHZ, value_parser = clock)]
    pub max_clock: f64,
    /// Also show the latency at this clock. Can be repeated.
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
    /// List every metric of every target, with its expected error and its source.
    #[arg(long)]
    pub details: bool,
    /// Print one JSON document per line and target.
    #[arg(long)]
    pub json: bool,
}

/// What a worker tells of a file, as JSON.
#[derive(clap::ValueEnum, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WorkerOutput {
    /// Its report.
    #[default]
    Report,
    /// A report of exact facts alone, on no target.
    Facts,
    /// On which boards it has room.
    Boards,
}

/// A request to a worker.
#[derive(clap::Parser)]
#[command(no_binary_name = true)]
pub struct WorkerArgs {
    #[command(flatten)]
    pub targets: TargetArgs,
    #[command(flatten)]
    pub read: ReadArgs,
    /// What to tell of each file.
    #[arg(long, value_enum, default_value_t)]
    pub tell: WorkerOutput,
    /// Whether a size may be for other files than the one that is read.
    #[arg(long)]
    pub shared_dimensions: bool,
}
