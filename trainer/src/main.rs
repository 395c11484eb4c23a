//! `litecast-trainer`: one command for each stage from a seed to fitted and checked constants.

use anyhow::Result;
use clap::{Parser, Subcommand};
use litecast_trainer::targets::cortex_a::{self, boards};
use litecast_trainer::targets::{cortex_m, edge_tpu, ethos_u, gpu, learned_accelerators};
use litecast_trainer::{bench_predictor, dataset, evaluate, labels, probes, spaces};

#[derive(Parser)]
#[command(version, about)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Sample networks of one design space and write them as .tflite files
    Sample(spaces::sample_command::SampleArgs),
    /// Print PerfSAGE's Table 2 beside the same figures of our samples, as Markdown
    Table2(spaces::table2::Table2Args),
    /// Write the small networks that are handed out to be measured on a device
    Probes(probes::ProbesArgs),
    /// Label sampled networks, or given files, with Arm's Vela or with LiteRT under QEMU
    Label(labels::LabelArgs),
    /// Label sampled networks, or given files, with Vela in every configuration of an Ethos-U
    LabelConfigurations(labels::LabelArgs),
    /// Bring in measurements of a device of your own as labels
    LabelImport(labels::import::ImportArgs),
    /// Bring in what others measured on Raspberry Pis as labels
    LabelBoards(boards::measured::LabelBoardsArgs),
    /// Fit what turns instructions under QEMU into milliseconds to measured boards
    FitCpu(boards::FitCpuArgs),
    /// Fit what each kind of operator executes to counted instructions of networks
    FitCpuOperators(cortex_a::FitCpuOperatorsArgs),
    /// Fit the costs of microcontrollers' kernels to measured boards
    FitMcu(cortex_m::FitMcuArgs),
    /// Fit what single operators execute to counted instructions of files of one operator each
    FitCpuSingles(cortex_a::single_operators::FitCpuSinglesArgs),
    /// Fit the Edge TPU's few constants to published latencies
    FitEdgetpu(edge_tpu::FitEdgetpuArgs),
    /// Fit the costs of GPUs' kernels to published measurements
    FitGpu(gpu::FitGpuArgs),
    /// Fit the costs of accelerators without published rules to published measurements
    FitAccelerators(learned_accelerators::FitAcceleratorsArgs),
    /// Fit what boards with an Ethos-U take beyond the compiler's estimate to measured latencies
    FitSilicon(ethos_u::silicon::FitSiliconArgs),
    /// Make, remake and describe the tables of labels and features
    #[command(subcommand)]
    Dataset(dataset::DatasetCommand),
    /// Compare the shipped predictor with Vela on real files
    EvaluateFiles(evaluate::files::EvaluateFilesArgs),
    /// Measure Vela's rules against Vela in every configuration of an Ethos-U
    EvaluateConfigurations(evaluate::configurations::EvaluateConfigurationsArgs),
    /// Measure rules, network and what is shown against Vela on an Ethos-U, and set the intervals
    EvaluateEstimates(evaluate::vela_comparison::EvaluateEstimatesArgs),
    /// Compare memory under ST Edge AI with what ST publishes of its model zoo
    EvaluateStMemory(cortex_m::EvaluateStMemoryArgs),
    /// Compare the shipped predictor with measured boards and phones, calibrated and not
    EvaluateDevices(evaluate::devices::EvaluateDevicesArgs),
    /// Profile networks with ONNX Runtime, and estimate others from a few of the profiles
    EvaluateProfiles(evaluate::profiles::EvaluateProfilesArgs),
    /// Estimate networks on processors that nothing was fitted to, from a few of their latencies
    EvaluateUnseenDevices(evaluate::unseen_devices::EvaluateUnseenDevicesArgs),
    /// Measure how many graphs a second the shipped predictor estimates
    BenchPredictor(bench_predictor::BenchPredictorArgs),
}

fn main() -> Result<()> {
    match Cli::parse().command {
        Command::Sample(args) => spaces::sample_command::run(&args),
        Command::Table2(args) => {
            spaces::table2::run(&args);
            Ok(())
        }
        Command::Label(args) => labels::run(&args),
        Command::LabelConfigurations(args) => evaluate::vela_comparison::label(&args),
        Command::LabelImport(args) => labels::import::run(&args),
        Command::LabelBoards(args) => boards::measured::run(&args),
        Command::FitCpu(args) => boards::run(&args),
        Command::FitCpuOperators(args) => cortex_a::run(&args),
        Command::FitMcu(args) => cortex_m::run(&args),
        Command::FitCpuSingles(args) => cortex_a::single_operators::run(&args),
        Command::FitEdgetpu(args) => edge_tpu::run(&args),
        Command::FitGpu(args) => gpu::run(&args),
        Command::FitAccelerators(args) => learned_accelerators::run(&args),
        Command::FitSilicon(args) => ethos_u::silicon::run(&args),
        Command::Dataset(command) => dataset::run(&command),
        Command::EvaluateFiles(args) => evaluate::files::run(&args),
        Command::EvaluateConfigurations(args) => evaluate::configurations::run(&args),
        Command::EvaluateEstimates(args) => evaluate::vela_comparison::run(&args),
        Command::EvaluateStMemory(args) => cortex_m::evaluate_st_memory(&args),
        Command::EvaluateDevices(args) => evaluate::devices::run(&args),
        Command::EvaluateProfiles(args) => evaluate::profiles::run(&args),
        Command::Probes(args) => probes::run(&args),
        Command::EvaluateUnseenDevices(args) => evaluate::unseen_devices::run(&args),
        Command::BenchPredictor(args) => bench_predictor::run(&args),
    }
}
