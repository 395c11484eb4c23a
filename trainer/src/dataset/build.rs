//! Label files and existing tables → tables.

use std::path::{Path, PathBuf};
use std::str::FromStr;

use anyhow::{Context, Result, ensure};

use super::labels::{self, GraphLabels};
use super::{Provenance, remake, write};
use crate::labels::record::{Origin, Run};
use crate::labels::store::{Labels, ensure_same_tool};

/// Writes the tables from label files.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct BuildArgs {
    /// Folder that `litecast-trainer label --out` wrote; without one, the tables hold what stays of `--onto`.
    #[arg(long, required_unless_present = "onto")]
    pub labels: Option<PathBuf>,
    /// Folder of tables whose graphs stay beside the new ones; may be that of `--out`.
    #[arg(long)]
    pub onto: Option<PathBuf>,
    /// Samples of `--onto` that go: a space and a seed (`cnn-kws/1`), from an index on (`cnn-kws/4/1450..`).
    #[arg(long, value_delimiter = ',', requires = "onto")]
    pub without: Vec<Samples>,
    /// Tools whose labels of `--onto` go, for example `litert-qemu`: the new ones are of another version
    /// or configuration, and mean something else.
    #[arg(long, value_delimiter = ',', requires = "onto")]
    pub without_tool: Vec<String>,
    /// Folder that the tables are written to.
    #[arg(long)]
    pub out: PathBuf,
}

/// Samples of one space and seed, from an index on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Samples {
    space: String,
    seed: u64,
    first: u64,
}

impl FromStr for Samples {
    type Err = anyhow::Error;

    /// Reads `cnn-kws/4` and `cnn-kws/4/1450..`.
    fn from_str(text: &str) -> Result<Self> {
        let expected = || format!("expected SPACE/SEED or SPACE/SEED/INDEX.., found `{text}`");
        let (space, rest) = text.split_once('/').with_context(expected)?;
        let (seed, first) = match rest.split_once('/') {
            Some((seed, first)) => (seed, first.strip_suffix("..").with_context(expected)?),
            None => (rest, "0"),
        };
        Ok(Self {
            space: space.to_owned(),
            seed: seed.parse().with_context(expected)?,
            first: first.parse().with_context(expected)?,
        })
    }
}

impl Samples {
    fn contain(&self, origin: &Origin) -> bool {
        matches!(origin, Origin::Sampled { space, seed, index, .. }
            if *space == self.space && *seed == self.seed && *index >= self.first)
    }
}

/// Writes the tables and prints a summary of them.
pub fn run(args: &BuildArgs) -> Result<()> {
    let labels = args.labels.as_deref().map(Labels::read).transpose()?;
    let labels = labels.unwrap_or_default();
    let (kept, mut runs) = match &args.onto {
        Some(folder) => kept_labels(folder, args)?,
        None => Default::default(),
    };
    for run in labels.runs {
        let earlier = &mut runs.iter();
        earlier.try_for_each(|earlier| ensure_same_tool(earlier, &run))?;
        if !runs.contains(&run) {
            runs.push(run);
        }
    }
    let graphs = labels::join(kept, labels::group(&labels.labelled));
    let summary = write::write(graphs, &Provenance { runs }, &args.out)?;
    println!("{summary}");
    Ok(())
}

/// The graphs of the tables in `folder` that still have labels, and the provenance of these labels.
fn kept_labels(folder: &Path, args: &BuildArgs) -> Result<(Vec<GraphLabels>, Vec<Run>)> {
    let (mut graphs, provenance) = remake::read_labels(folder)?;
    let is_gone = |run: &Run| args.without_tool.contains(&run.tool.name);
    let (gone, runs): (Vec<_>, Vec<_>) = provenance.runs.into_iter().partition(is_gone);
    ensure!(
        args.without_tool.is_empty() || !gone.is_empty(),
        "{}: expected labels of {}, found none",
        folder.display(),
        args.without_tool.join(", ")
    );
    let goes = |target: &str| gone.iter().any(|run| run.is_for(target));
    for graph in &mut graphs {
        graph.targets.retain(|target, _| !goes(target));
    }
    graphs.retain(|graph| {
        let mut without = args.without.iter();
        !without.any(|samples| samples.contain(&graph.origin)) && !graph.targets.is_empty()
    });
    Ok((graphs, runs))
}
