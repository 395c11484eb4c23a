//! The file of features while it is written, with its metadata.

use std::path::Path;

use anyhow::Result;
use litecast::learned::features::schema_id;

use super::featurize::GraphRow;
use super::table_file::Table;
use super::tables;
use crate::labels::sha256_hex;

pub const FEATURES_FILE: &str = "features.parquet";

/// Meaning of the columns.
pub(super) const SCHEMA_KEY: &str = "litecast.feature_schema_id";
/// Hash of the hashes of the graphs, in order.
pub(super) const GRAPHS_KEY: &str = "litecast.graphs_sha256";
/// Hash of the code that made the features.
pub(super) const CODE_KEY: &str = "litecast.featurizer_sha256";
/// SHA-256 of the source of the featurizer that this program was built with.
pub const CODE: &str = env!("LITECAST_FEATURIZER_SHA256");

/// A low level, because the file is only read on the machine that wrote it.
const ZSTD_LEVEL: i32 = 1;

/// The file while it is being written.
pub struct FeatureTable {
    table: Table,
    /// The hashes of its graphs.
    graphs: String,
}

impl FeatureTable {
    pub fn create(folder: &Path) -> Result<Self> {
        let schema = tables::features(&[])?.schema();
        let entries = [(SCHEMA_KEY, schema_id()), (CODE_KEY, CODE.to_owned())];
        let entries = entries.map(|(key, value)| (key.to_owned(), value)).to_vec();
        Ok(Self {
            table: Table::create(folder, FEATURES_FILE, schema, entries, ZSTD_LEVEL)?,
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
