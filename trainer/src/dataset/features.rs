//! The table of features. It follows from the bytes of the graphs, which are remade from their seeds,
//! and lies beside the other tables only to save that time: where it is missing, or of other graphs, or
//! of other columns or other code than today's, it is made anew.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Result, ensure};
use arrow::datatypes::Float32Type;
use indicatif::ProgressBar;
use litecast::learned::features::{COLUMNS, Features, schema_id};

use super::featurize::GraphRow;
use super::read::{self, Tables};
use super::write::{self, CHUNK, Summary, featurize_all};
use super::{remake, tables};
use crate::labels::sha256_hex;

pub const FEATURES_FILE: &str = "features.parquet";

/// Meaning of the columns.
const SCHEMA_KEY: &str = "litecast.feature_schema_id";
/// Hash of the hashes of the graphs, in order.
const GRAPHS_KEY: &str = "litecast.graphs_sha256";
/// Hash of the code that made the features.
const CODE_KEY: &str = "litecast.featurizer_sha256";
const CODE: &str = env!("LITECAST_FEATURIZER_SHA256");

/// It is read on the machine that wrote it.
const ZSTD_LEVEL: i32 = 1;

/// [`COLUMNS`] of all operators of a dataset, in the order of its table of operators.
pub fn load(folder: &Path, tables: &Tables) -> Result<Vec<Vec<f32>>> {
    let path = folder.join(FEATURES_FILE);
    let expected = [
        (SCHEMA_KEY, schema_id()),
        (CODE_KEY, CODE.to_owned()),
        (GRAPHS_KEY, hash_of(tables)?),
    ];
    if !path.exists() || !read::has_metadata(&path, &expected)? {
        println!("making the features of {} anew", folder.display());
        make(folder)?;
    }
    let (table, _) = read::Table::read(&path)?;
    let columns = COLUMNS.iter();
    columns
        .map(|column| table.values::<Float32Type>(column.name))
        .collect()
}

/// Features of the graphs of these design spaces by graph id, made from their bytes.
pub fn of_spaces(folder: &Path, spaces: &[&str]) -> Result<BTreeMap<String, Features>> {
    let (mut graphs, _) = remake::read_labels(folder)?;
    graphs.retain(|graph| spaces.contains(&graph.origin.space()));
    let rows = featurize_all(&graphs, &mut Summary::default())?;
    let pair = |row: GraphRow| (row.labels.origin.graph_id(), row.features);
    Ok(rows.into_iter().map(pair).collect())
}

fn hash_of(tables: &Tables) -> Result<String> {
    let graphs = tables.graphs.texts("sha256")?;
    Ok(sha256_hex(graphs.concat().as_bytes()))
}

fn make(folder: &Path) -> Result<()> {
    let (graphs, _) = remake::read_labels(folder)?;
    let mut table = FeatureTable::create(folder)?;
    let bar = ProgressBar::new(graphs.len() as u64);
    let mut summary = Summary::default();
    for chunk in graphs.chunks(CHUNK) {
        table.append(&featurize_all(chunk, &mut summary)?)?;
        bar.inc(chunk.len() as u64);
    }
    bar.finish_and_clear();
    ensure!(
        summary.left_out.is_empty(),
        "{}: expected graphs whose seeds give the bytes that were labelled, found {summary}; \
         `litecast-trainer dataset build --onto` leaves the others out",
        folder.display()
    );
    table.close()
}

/// The file while it is being written.
pub struct FeatureTable {
    table: write::Table,
    /// The hashes of its graphs.
    graphs: String,
}

impl FeatureTable {
    pub fn create(folder: &Path) -> Result<Self> {
        let schema = tables::features(&[])?.schema();
        let entries = [(SCHEMA_KEY, schema_id()), (CODE_KEY, CODE.to_owned())];
        let entries = entries.map(|(key, value)| (key.to_owned(), value)).to_vec();
        Ok(Self {
            table: write::Table::create(folder, FEATURES_FILE, schema, entries, ZSTD_LEVEL)?,
            graphs: String::new(),
        })
    }

    pub fn append(&mut self, rows: &[GraphRow]) -> Result<()> {
        rows.iter()
            .for_each(|row| self.graphs += &row.labels.sha256);
        self.table.append(&tables::features(rows)?)
    }

    pub fn close(mut self) -> Result<()> {
        let hash = sha256_hex(self.graphs.as_bytes());
        self.table.note(GRAPHS_KEY, hash);
        self.table.close()
    }
}
