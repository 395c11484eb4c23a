//! `litecast-networks`: one command for each stage from labelled networks to a measured predictor.

use anyhow::Result;
use clap::{Parser, Subcommand};
use litecast_networks::{baselines, bench, evaluate, export, gpu, train};

/// Training frees and allocates megabytes at every operation, which glibc returns to the kernel each time; page faults
/// would take a quarter of a step.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[derive(Parser)]
#[command(version, about)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Train a predictor on a labelled dataset
    Train(train::TrainArgs),
    /// Write the bundle that ships: the network and its manifest
    Export(export::ExportArgs),
    /// Measure a trained predictor on held-out graphs
    Evaluate(evaluate::EvaluateArgs),
    /// Measure how a network does on each design space when it was trained without it
    EvaluateFamilies(evaluate::families::EvaluateFamiliesArgs),
    /// Print PerfSAGE's Table 6 with the paper's numbers beside those measured here, as Markdown
    Table6(evaluate::table6::Table6Args),
    /// Train a network again without each of its ideas, and measure what that costs
    Ablations(evaluate::ablations::AblationsArgs),
    /// Fit predictors without a neural network and measure them beside the shipped one
    Baselines(baselines::BaselinesArgs),
    /// Train graph networks on measured GPUs and compare them with what ships
    CompareGpu(gpu::CompareGpuArgs),
    /// Measure the time of a training step
    Bench(bench::BenchArgs),
}

fn main() -> Result<()> {
    match Cli::parse().command {
        Command::Train(args) => train::run(&args),
        Command::Export(args) => export::run(&args),
        Command::Evaluate(args) => evaluate::run(&args),
        Command::EvaluateFamilies(args) => evaluate::families::run(&args),
        Command::Table6(args) => evaluate::table6::run(&args),
        Command::Ablations(args) => evaluate::ablations::run(&args),
        Command::Baselines(args) => baselines::run(&args),
        Command::CompareGpu(args) => gpu::run(&args),
        Command::Bench(args) => bench::run(args),
    }
}
