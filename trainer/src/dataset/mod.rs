//! Labels as tables: three Parquet files, which pandas can read as well.
//!
//! The dataset's card (`card`) describes the columns of `graphs.parquet`, `operators.parquet` and `labels.parquet`.
//! Features are made from the bytes of each graph (`features`), so that a change of the feature table needs no new
//! labels.

mod build;
mod card;
mod check;
mod cortex_a;
mod feature_table;
mod features;
mod featurize;
mod info;
mod labels;
mod load;
mod provenance;
mod read;
mod remake;
mod structure;
mod table_file;
mod tables;
mod write;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use litecast::learned::features::Features;
use sha2::{Digest, Sha256};

pub use self::build::{BuildArgs, Samples};
pub use self::feature_table::CODE as FEATURIZER_SHA256;
pub use self::labels::{GraphLabels, METRICS, OPERATOR_METRICS, TargetLabels};
pub use self::load::{load, load_labels, load_spaces};
pub use self::provenance::Provenance;
pub use self::remake::read_labels;
pub use self::structure::structure_hash;
use self::table_file::{GRAPHS_FILE, LABELS_FILE, OPERATORS_FILE};
pub use self::tables::operator_column;

/// Hash of the files of a dataset, one after the other.
pub fn files_sha256(folder: &Path) -> Result<String> {
    let mut hash = Sha256::new();
    for name in [GRAPHS_FILE, OPERATORS_FILE, LABELS_FILE] {
        let path = folder.join(name);
        hash.update(fs::read(&path).with_context(|| path.display().to_string())?);
    }
    Ok(hash
        .finalize()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect())
}

/// A dataset in memory.
#[derive(Clone, Debug)]
pub struct Dataset {
    /// Programs and settings that made the dataset.
    pub provenance: Provenance,
    /// Ids of the targets that the graphs have labels of.
    pub targets: Vec<String>,
    /// Sorted; in the order of [`LabelledGraph::labels`].
    pub label_keys: Vec<LabelKey>,
    /// In the order of [`LabelledGraph::operator_labels`].
    pub operator_keys: Vec<LabelKey>,
    /// Every graph with its features and labels.
    pub graphs: Vec<LabelledGraph>,
}

/// The target and the metric of a label.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LabelKey {
    /// Id of the target.
    pub target: String,
    /// `latency` (ms), `sram_peak` (bytes) and the others of [`METRICS`], or one of
    /// [`OPERATOR_METRICS`].
    pub metric: String,
}

impl Dataset {
    /// Index into [`LabelledGraph::labels`].
    pub fn label_idx(&self, target: &str, metric: &str) -> Option<usize> {
        self.label_keys
            .iter()
            .position(|key| key.target == target && key.metric == metric)
    }
}

/// A graph with the features and labels of a training.
#[derive(Clone, Debug)]
pub struct LabelledGraph {
    /// Name of the graph, unique in the dataset.
    pub graph_id: String,
    /// Id of its design space.
    pub space: String,
    /// Equal for graphs that differ only in their weights; a split must keep them on one side.
    pub structure_hash: String,
    /// Features of the graph and its operators.
    pub features: Features,
    /// In the units of [`METRICS`]; absent if labelling failed, or if the target leaves operators to the CPU, which the
    /// value would not include.
    pub labels: Vec<Option<f32>>,
    /// One value for each node, in the metric's unit; absent if labelling gave none.
    pub operator_labels: Vec<Option<Vec<f32>>>,
}

/// Makes, remakes and describes datasets.
#[derive(Clone, Debug, clap::Subcommand)]
pub enum DatasetCommand {
    /// Writes the tables from label files.
    Build(build::BuildArgs),
    /// Writes the tables again, with the labels that they hold and what today's constants and features
    /// make of them.
    Remake {
        /// Folder of the dataset.
        folder: PathBuf,
    },
    /// Labels some of the graphs again and compares.
    Check(check::CheckArgs),
    /// Counts graphs by space and labels by status, and shows the range of each label.
    Info {
        /// Folder of the dataset.
        folder: PathBuf,
    },
    /// Writes the dataset's card as Markdown, and its pictures beside it.
    Card {
        /// Folder of the tables.
        #[arg(long, default_value = "trainer/data")]
        dataset: PathBuf,
        /// File that is written.
        #[arg(long, default_value = "trainer/data/README.md")]
        out: PathBuf,
    },
}

/// Runs one of the commands.
pub fn run(command: &DatasetCommand) -> Result<()> {
    match command {
        DatasetCommand::Build(args) => build::run(args),
        DatasetCommand::Remake { folder } => remake(folder),
        DatasetCommand::Check(args) => check::run(args),
        DatasetCommand::Info { folder } => info::print(folder),
        DatasetCommand::Card { dataset, out } => card::write(dataset, out),
    }
}

fn remake(folder: &Path) -> Result<()> {
    let (graphs, provenance) = remake::read_labels(folder)?;
    let n_graphs = graphs.len();
    let summary = write::write(graphs, &provenance, folder)?;
    println!("{summary}");
    ensure!(
        summary.n_graphs == n_graphs,
        "{} graphs were lost",
        n_graphs - summary.n_graphs
    );
    Ok(())
}
