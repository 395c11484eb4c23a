//! One Parquet file of the dataset, written completely or not at all.

use std::fs::{self, File};
use std::path::Path;

use anyhow::{Context, Result};
use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_writer::ArrowWriterOptions;
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;

pub const GRAPHS_FILE: &str = "graphs.parquet";
pub const OPERATORS_FILE: &str = "operators.parquet";
pub const LABELS_FILE: &str = "labels.parquet";

/// A file that has a temporary name until it is complete.
pub struct Table {
    writer: ArrowWriter<File>,
    unfinished: std::path::PathBuf,
    path: std::path::PathBuf,
}

impl Table {
    /// Creates a file with `entries` as its metadata.
    pub fn create(
        folder: &Path,
        name: &str,
        schema: SchemaRef,
        entries: Vec<(String, String)>,
        zstd_level: i32,
    ) -> Result<Self> {
        let path = folder.join(name);
        // Two processes that miss the same table may both write it.
        let unfinished = folder.join(format!("{name}.{}.unfinished", std::process::id()));
        let file = File::create(&unfinished)
            .with_context(|| format!("could not create {}", unfinished.display()))?;
        let options = ArrowWriterOptions::new()
            .with_properties(properties(entries, zstd_level)?)
            // Readers that find an Arrow schema would use its metadata, which is empty, as the file's.
            .with_skip_arrow_metadata(true);
        let writer = ArrowWriter::try_new_with_options(file, schema, options)?;
        Ok(Self {
            writer,
            unfinished,
            path,
        })
    }

    pub fn append(&mut self, batch: &RecordBatch) -> Result<()> {
        Ok(self.writer.write(batch)?)
    }

    /// Adds metadata that are known only at the end.
    pub fn note(&mut self, key: &str, value: String) {
        let entry = KeyValue::new(key.to_owned(), value);
        self.writer.append_key_value_metadata(entry);
    }

    pub fn close(self) -> Result<()> {
        self.writer.close()?;
        fs::rename(&self.unfinished, &self.path)
            .with_context(|| format!("could not write {}", self.path.display()))
    }
}

fn properties(entries: Vec<(String, String)>, zstd_level: i32) -> Result<WriterProperties> {
    let key_values = entries
        .into_iter()
        .map(|(key, value)| KeyValue::new(key, value))
        .collect();
    Ok(WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::try_new(zstd_level)?))
        .set_dictionary_enabled(true)
        // Used for columns with too many values for a dictionary.
        .set_encoding(Encoding::PLAIN)
        .set_key_value_metadata(Some(key_values))
        .build())
}
