//! One Parquet file in memory, by columns.

use std::collections::BTreeMap;
use std::fs::File;
use std::ops::Range;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use arrow_array::cast::AsArray;
use arrow_array::types::{ArrowPrimitiveType, UInt32Type};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_select::concat::concat_batches;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

use super::provenance::Provenance;
use super::table_file::{GRAPHS_FILE, LABELS_FILE, OPERATORS_FILE};

/// The three files of a dataset.
pub struct Tables {
    pub graphs: Table,
    pub operators: Table,
    pub labels: Table,
    pub provenance: Provenance,
}

impl Tables {
    pub fn read(folder: &Path) -> Result<Self> {
        let (graphs, metadata) = Table::read(&folder.join(GRAPHS_FILE))?;
        let value = |key: &str| metadata.get(key).cloned();
        let provenance = Provenance::from_metadata(value).with_context(|| graphs.name.clone())?;
        let (operators, _) = Table::read(&folder.join(OPERATORS_FILE))?;
        let (labels, _) = Table::read(&folder.join(LABELS_FILE))?;
        Ok(Self {
            graphs,
            operators,
            labels,
            provenance,
        })
    }

    /// By graph, in the order of the graphs' table, its rows in the operators' table.
    pub fn operator_ranges(&self) -> Result<Vec<Range<usize>>> {
        let graph_ids = self.graphs.texts("graph_id")?;
        let owners = self.operators.texts("graph_id")?;
        let mut ranges = Vec::new();
        let mut start = 0;
        for (graph_id, n) in graph_ids
            .iter()
            .zip(self.graphs.values::<UInt32Type>("n_operators")?)
        {
            let range = start..start + n as usize;
            let owner = owners
                .get(range.clone())
                .is_some_and(|owners| owners.iter().all(|owner| owner == graph_id));
            ensure!(
                owner,
                "{}: expected {n} operators of {graph_id} from row {start}",
                self.operators.name
            );
            start = range.end;
            ranges.push(range);
        }
        ensure!(
            start == owners.len(),
            "{}: expected {start} rows, found {}",
            self.operators.name,
            owners.len()
        );
        Ok(ranges)
    }
}

type Builder = ParquetRecordBatchReaderBuilder<File>;

fn open(path: &Path) -> Result<(Builder, BTreeMap<String, String>)> {
    let name = path.display();
    let file = File::open(path).with_context(|| format!("could not open {name}"))?;
    let builder = Builder::try_new(file).with_context(|| name.to_string())?;
    let entries = builder.metadata().file_metadata().key_value_metadata();
    let entries = entries.into_iter().flatten();
    let pairs = entries.filter_map(|entry| Some((entry.key.clone(), entry.value.clone()?)));
    let metadata = pairs.collect();
    Ok((builder, metadata))
}

/// Whether a file's metadata have these values.
pub fn has_metadata(path: &Path, expected: &[(&str, String)]) -> Result<bool> {
    let (_, metadata) = open(path)?;
    let mut expected = expected.iter();
    Ok(expected.all(|(key, value)| metadata.get(*key) == Some(value)))
}

/// A whole file in memory.
pub struct Table {
    pub name: String,
    pub rows: RecordBatch,
}

impl Table {
    /// Reads a file with its metadata.
    pub fn read(path: &Path) -> Result<(Self, BTreeMap<String, String>)> {
        let (builder, metadata) = open(path)?;
        let schema = builder.schema().clone();
        let batches = builder.build()?.collect::<Result<Vec<_>, _>>()?;
        let table = Self {
            rows: concat_batches(&schema, &batches)?,
            name: path.display().to_string(),
        };
        Ok((table, metadata))
    }

    pub fn column(&self, name: &str) -> Result<&ArrayRef> {
        let column = self.rows.column_by_name(name);
        column.with_context(|| format!("{}: expected a column `{name}`, found none", self.name))
    }

    pub fn optional_texts(&self, name: &str) -> Result<Vec<Option<&str>>> {
        let column = self.column(name)?.as_string_opt::<i32>();
        let column =
            column.with_context(|| format!("{}: column `{name}` is no text", self.name))?;
        Ok(column.iter().collect())
    }

    pub fn optional_values<T: ArrowPrimitiveType>(
        &self,
        name: &str,
    ) -> Result<Vec<Option<T::Native>>> {
        let column = self.column(name)?.as_primitive_opt::<T>();
        let column = column.with_context(|| {
            format!(
                "{}: expected column `{name}` of type {}",
                self.name,
                T::DATA_TYPE
            )
        })?;
        Ok(column.iter().collect())
    }

    /// Like [`Self::optional_values`]; only gaps if there is no such column.
    pub fn values_if_present<T: ArrowPrimitiveType>(
        &self,
        name: &str,
    ) -> Result<Vec<Option<T::Native>>> {
        match self.rows.column_by_name(name) {
            Some(_) => self.optional_values::<T>(name),
            None => Ok(vec![None; self.rows.num_rows()]),
        }
    }

    /// Like [`Self::optional_texts`]; only gaps if there is no such column.
    pub fn texts_if_present(&self, name: &str) -> Result<Vec<Option<&str>>> {
        match self.rows.column_by_name(name) {
            Some(_) => self.optional_texts(name),
            None => Ok(vec![None; self.rows.num_rows()]),
        }
    }

    /// A text column without gaps.
    pub fn texts(&self, name: &str) -> Result<Vec<&str>> {
        let values: Option<Vec<_>> = self.optional_texts(name)?.into_iter().collect();
        values.with_context(|| format!("{}: column `{name}` has gaps", self.name))
    }

    /// A number column without gaps.
    pub fn values<T: ArrowPrimitiveType>(&self, name: &str) -> Result<Vec<T::Native>> {
        let values: Option<Vec<_>> = self.optional_values::<T>(name)?.into_iter().collect();
        values.with_context(|| format!("{}: column `{name}` has gaps", self.name))
    }

    /// A column of lists of `u32`.
    pub fn lists(&self, name: &str) -> Result<Vec<Vec<u32>>> {
        let column = self.column(name)?.as_list_opt::<i32>();
        let column =
            column.with_context(|| format!("{}: column `{name}` holds no lists", self.name))?;
        let list = |values: Option<ArrayRef>| match values {
            Some(values) => values
                .as_primitive_opt::<UInt32Type>()
                .map(|values| values.values().to_vec()),
            None => None,
        };
        let lists: Option<Vec<_>> = column.iter().map(list).collect();
        lists.with_context(|| format!("{}: column `{name}` holds no lists of u32", self.name))
    }
}
