//! Labelled graphs → Parquet files.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use indicatif::ProgressBar;
use rayon::prelude::*;

use super::feature_table::FeatureTable;
use super::featurize::{GraphRow, SkipReason, featurize};
use super::labels::GraphLabels;
use super::provenance::Provenance;
use super::table_file::Table;
use super::table_file::{GRAPHS_FILE, LABELS_FILE, OPERATORS_FILE};
use super::tables::{self, Layout};

/// Graphs in memory at a time.
pub const CHUNK: usize = 256;
/// A high level, because the files are written rarely and downloaded often.
const ZSTD_LEVEL: i32 = 19;

/// Numbers of graphs that were written and that were left out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    pub n_graphs: usize,
    pub left_out: BTreeMap<SkipReason, usize>,
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{} graphs", self.n_graphs)?;
        self.left_out
            .iter()
            .try_for_each(|(reason, n)| write!(f, ", {n} left out: {reason:?}"))
    }
}

/// Makes the features of `graphs` and writes features and tables into `folder`. Each file is written completely or not
/// at all.
pub fn write(graphs: Vec<GraphLabels>, provenance: &Provenance, folder: &Path) -> Result<Summary> {
    ensure!(!graphs.is_empty(), "expected labelled graphs, found none");
    fs::create_dir_all(folder).with_context(|| format!("could not create {}", folder.display()))?;
    let layout = Layout::from_graphs(&graphs, &provenance.target_ids());
    let mut tables = Tables::create(folder, layout, provenance)?;
    let bar = ProgressBar::new(graphs.len() as u64);
    let mut summary = Summary::default();
    for chunk in graphs.chunks(CHUNK) {
        let rows = featurize_all(chunk, &mut summary)?;
        tables.append(&rows)?;
        bar.inc(chunk.len() as u64);
    }
    bar.finish_and_clear();
    ensure!(
        summary.n_graphs > 0,
        "expected graphs to write, found none: {summary}"
    );
    tables.close()?;
    Ok(summary)
}

pub fn featurize_all(graphs: &[GraphLabels], summary: &mut Summary) -> Result<Vec<GraphRow>> {
    let results: Vec<_> = graphs
        .par_iter()
        .cloned()
        .map(featurize)
        .collect::<Result<_>>()?;
    let mut rows = Vec::with_capacity(results.len());
    for result in results {
        match result {
            Ok(row) => rows.push(row),
            Err(reason) => *summary.left_out.entry(reason).or_default() += 1,
        }
    }
    summary.n_graphs += rows.len();
    Ok(rows)
}

/// The files while they are written.
struct Tables {
    layout: Layout,
    features: FeatureTable,
    graphs: Table,
    operators: Table,
    labels: Table,
}

impl Tables {
    fn create(folder: &Path, layout: Layout, provenance: &Provenance) -> Result<Self> {
        let [graphs, operators, labels] = layout.schemas()?;
        let create =
            |name, schema| Table::create(folder, name, schema, provenance.entries()?, ZSTD_LEVEL);
        Ok(Self {
            features: FeatureTable::create(folder)?,
            graphs: create(GRAPHS_FILE, graphs)?,
            operators: create(OPERATORS_FILE, operators)?,
            labels: create(LABELS_FILE, labels)?,
            layout,
        })
    }

    fn append(&mut self, rows: &[GraphRow]) -> Result<()> {
        self.features.append(rows)?;
        self.graphs.append(&tables::graphs(rows, &self.layout)?)?;
        self.operators
            .append(&tables::operators(rows, &self.layout)?)?;
        self.labels.append(&tables::labels(rows)?)
    }

    fn close(self) -> Result<()> {
        self.features.close()?;
        self.graphs.close()?;
        self.operators.close()?;
        self.labels.close()
    }
}
