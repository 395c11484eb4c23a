//! The table of features. It follows from the bytes of the graphs, which are made again from their seeds, and is stored
//! only to save time. It is made again if it is missing, or if graphs, columns or code have changed.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Result, ensure};
use arrow_array::types::Float32Type;
use indicatif::ProgressBar;
use litecast::learned::features::{COLUMNS, Features, schema_id};

use super::feature_table::{CODE, CODE_KEY, FEATURES_FILE, FeatureTable, GRAPHS_KEY, SCHEMA_KEY};
use super::featurize::GraphRow;
use super::read::{self, Tables};
use super::remake;
use super::write::{CHUNK, Summary, featurize_all};
use crate::labels::sha256_hex;

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

/// Features by graph id of the graphs of `tables`, made from their bytes.
pub fn made(tables: &Tables) -> Result<BTreeMap<String, Features>> {
    let graphs = remake::labels_of(tables)?;
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
