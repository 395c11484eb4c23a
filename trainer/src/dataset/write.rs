//! Labelled graphs → three Parquet files.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::{self, File};
use std::path::Path;

use anyhow::{Context, Result, ensure};
use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use indicatif::ProgressBar;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_writer::ArrowWriterOptions;
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use rayon::prelude::*;

use super::featurize::{GraphRow, LeftOut, featurize};
use super::labels::GraphLabels;
use super::provenance::Provenance;
use super::{GRAPHS_FILE, LABELS_FILE, OPERATORS_FILE, tables};

/// Graphs in memory at a time.
const CHUNK: usize = 256;
/// The files are written rarely and downloaded often.
const ZSTD_LEVEL: i32 = 19;

/// What was written and what was not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    pub n_graphs: usize,
    pub left_out: BTreeMap<LeftOut, usize>,
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{} graphs", self.n_graphs)?;
        self.left_out
            .iter()
            .try_for_each(|(reason, n)| write!(f, ", {n} left out: {reason:?}"))
    }
}

/// Makes the features of `graphs` and writes the tables into `folder`, each file whole or not at
/// all.
pub fn write(graphs: Vec<GraphLabels>, provenance: &Provenance, folder: &Path) -> Result<Summary> {
    ensure!(!graphs.is_empty(), "expected labelled graphs, found none");
    fs::create_dir_all(folder).with_context(|| format!("could not create {}", folder.display()))?;
    let mut tables = Tables::create(folder, provenance)?;
    let bar = ProgressBar::new(graphs.len() as u64);
    let mut summary = Summary::default();
    for chunk in graphs.chunks(CHUNK) {
        let rows = featurize_all(chunk, &mut summary)?;
        tables.append(&rows, provenance)?;
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

fn featurize_all(graphs: &[GraphLabels], summary: &mut Summary) -> Result<Vec<GraphRow>> {
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

/// The three files while they are being written.
struct Tables {
    graphs: Table,
    operators: Table,
    labels: Table,
}

impl Tables {
    fn create(folder: &Path, provenance: &Provenance) -> Result<Self> {
        let [graphs, operators, labels] = tables::schemas(&provenance.target_ids())?;
        Ok(Self {
            graphs: Table::create(folder, GRAPHS_FILE, graphs, provenance)?,
            operators: Table::create(folder, OPERATORS_FILE, operators, provenance)?,
            labels: Table::create(folder, LABELS_FILE, labels, provenance)?,
        })
    }

    fn append(&mut self, rows: &[GraphRow], provenance: &Provenance) -> Result<()> {
        self.graphs.append(&tables::graphs(rows)?)?;
        self.operators
            .append(&tables::operators(rows, &provenance.target_ids())?)?;
        self.labels.append(&tables::labels(rows)?)
    }

    fn close(self) -> Result<()> {
        self.graphs.close()?;
        self.operators.close()?;
        self.labels.close()
    }
}

/// One file under a temporary name until it is whole.
struct Table {
    writer: ArrowWriter<File>,
    unfinished: std::path::PathBuf,
    path: std::path::PathBuf,
}

impl Table {
    fn create(
        folder: &Path,
        name: &str,
        schema: SchemaRef,
        provenance: &Provenance,
    ) -> Result<Self> {
        let path = folder.join(name);
        let unfinished = folder.join(format!("{name}.unfinished"));
        let file = File::create(&unfinished)
            .with_context(|| format!("could not create {}", unfinished.display()))?;
        let options = ArrowWriterOptions::new()
            .with_properties(properties(provenance)?)
            // Readers that find an Arrow schema take its metadata, which is empty, for the file's.
            .with_skip_arrow_metadata(true);
        let writer = ArrowWriter::try_new_with_options(file, schema, options)?;
        Ok(Self {
            writer,
            unfinished,
            path,
        })
    }

    fn append(&mut self, batch: &RecordBatch) -> Result<()> {
        Ok(self.writer.write(batch)?)
    }

    fn close(self) -> Result<()> {
        self.writer.close()?;
        fs::rename(&self.unfinished, &self.path)
            .with_context(|| format!("could not write {}", self.path.display()))
    }
}

fn properties(provenance: &Provenance) -> Result<WriterProperties> {
    let entries = provenance.entries()?;
    let key_values = entries
        .into_iter()
        .map(|(key, value)| KeyValue::new(key, value))
        .collect();
    Ok(WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::try_new(ZSTD_LEVEL)?))
        .set_dictionary_enabled(true)
        // Used where a column has too many values for a dictionary.
        .set_encoding(Encoding::PLAIN)
        .set_key_value_metadata(Some(key_values))
        .build())
}
