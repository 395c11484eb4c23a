//! The command's options.

use std::path::PathBuf;

/// Fits the constants of the Cortex-A targets to measured boards.
#[derive(Clone, Debug, clap::Args)]
pub struct FitCpuArgs {
    /// Graphs of NAS-Bench-201 to draw.
    #[arg(long, default_value_t = 40)]
    pub graphs: usize,
    /// Seed of the draw.
    #[arg(long, default_value_t = 3)]
    pub seed: u64,
    /// Folder of the published measurements.
    #[arg(long, default_value = "../shared/data")]
    pub measurements: PathBuf,
    /// Table of detectors that were measured.
    #[arg(long, default_value = "trainer/data/processors/raspberry_pi.csv")]
    pub detectors: PathBuf,
    /// Table of the instructions of those that were measured under an older XNNPACK.
    #[arg(long, default_value = "trainer/data/processors/xnnpack_2022.csv")]
    pub older_counts: PathBuf,
    /// Folder for the files of these networks, which are written and nothing else is done.
    #[arg(long)]
    pub write_older: Option<PathBuf>,
    /// Folders of files that were measured.
    #[arg(long, default_value = "../shared/models")]
    pub models: PathBuf,
    /// Folder of the models of microcontrollers.
    #[arg(long, default_value = "../shared/models-mcu")]
    pub models_mcu: PathBuf,
    /// File for the constants.
    #[arg(long, default_value = "src/targets/cortex_a/constants.json")]
    pub out: PathBuf,
    /// File for the errors of each board.
    #[arg(long, default_value = "trainer/results/boards.md")]
    pub results: PathBuf,
    /// File for a table of all measured networks.
    #[arg(long, default_value = "trainer/results/boards.csv")]
    pub table: PathBuf,
}
