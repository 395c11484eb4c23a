//! One Parquet file in memory, by columns.

use std::collections::{BTreeMap, HashSet};
use std::fs::File;
use std::ops::Range;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use arrow_array::cast::AsArray;
use arrow_array::types::{ArrowPrimitiveType, UInt32Type};
use arrow_array::{ArrayRef, BooleanArray, RecordBatch};
use arrow_schema::ArrowError;
use arrow_select::concat::concat_batches;
use arrow_select::filter::filter_record_batch;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowPredicateFn, ArrowReaderOptions, ParquetRecordBatchReaderBuilder, RowFilter, RowSelection,
};
use parquet::file::metadata::PageIndexPolicy;

use super::provenance::Provenance;
use super::table_file::{GRAPHS_FILE, LABELS_FILE, OPERATORS_FILE};

/// The three files of a dataset.
pub struct Tables {
    pub graphs: Table,
    pub operators: Table,
    pub labels: Table,
    pub provenance: Provenance,
}

/// The tables of graphs and labels.
pub fn graphs_and_labels(folder: &Path) -> Result<(Table, Table, Provenance)> {
    let (graphs, metadata) = Table::read(&folder.join(GRAPHS_FILE))?;
    let (labels, _) = Table::read(&folder.join(LABELS_FILE))?;
    let provenance = provenance(&graphs, &metadata)?;
    Ok((graphs, labels, provenance))
}

fn provenance(graphs: &Table, metadata: &BTreeMap<String, String>) -> Result<Provenance> {
    let value = |key: &str| metadata.get(key).cloned();
    Provenance::from_metadata(value).with_context(|| graphs.name.clone())
}

impl Tables {
    pub fn read(folder: &Path) -> Result<Self> {
        let (graphs, labels, provenance) = graphs_and_labels(folder)?;
        let (operators, _) = Table::read(&folder.join(OPERATORS_FILE))?;
        Ok(Self {
            graphs,
            operators,
            labels,
            provenance,
        })
    }

    /// Reads the rows of the first graphs of these design spaces alone, at most `n_each` of each.
    pub fn read_spaces(folder: &Path, spaces: &[&str], n_each: usize) -> Result<Self> {
        let (mut graphs, metadata) = Table::read(&folder.join(GRAPHS_FILE))?;
        let mut n_left = vec![n_each; spaces.len()];
        let mut is_wanted = Vec::new();
        for space in graphs.texts("space")? {
            let idx = spaces.iter().position(|&wanted| wanted == space);
            let n_left = idx.map(|idx| &mut n_left[idx]).filter(|n| **n > 0);
            is_wanted.push(n_left.map(|n| *n -= 1).is_some());
        }
        let mut ranges = Vec::new();
        let mut n_operators = 0;
        for (n, is_wanted) in (graphs.values::<UInt32Type>("n_operators")?.iter()).zip(&is_wanted) {
            let range = n_operators..n_operators + *n as usize;
            n_operators = range.end;
            ranges.extend(is_wanted.then_some(range));
        }
        graphs.rows = filter_record_batch(&graphs.rows, &BooleanArray::from(is_wanted))?;
        let graph_ids = graphs.texts("graph_id")?.into_iter().map(str::to_owned);
        let labels =
            Table::read_with_texts(&folder.join(LABELS_FILE), "graph_id", graph_ids.collect())?;
        let operators = Table::read_rows(&folder.join(OPERATORS_FILE), ranges, n_operators)?;
        Ok(Self {
            provenance: provenance(&graphs, &metadata)?,
            graphs,
            operators,
            labels,
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
    // Where each page lies, so that those without a row that is read are passed over.
    let options = ArrowReaderOptions::new().with_offset_index_policy(PageIndexPolicy::Optional);
    let builder = Builder::try_new_with_options(file, options).with_context(|| name.to_string())?;
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

/// A file, or rows of it, in memory.
pub struct Table {
    pub name: String,
    pub rows: RecordBatch,
}

impl Table {
    /// Reads a file with its metadata.
    pub fn read(path: &Path) -> Result<(Self, BTreeMap<String, String>)> {
        let (builder, metadata) = open(path)?;
        Ok((Self::collect(builder, path)?, metadata))
    }

    /// Reads some rows of a file of `n_rows`.
    fn read_rows(path: &Path, rows: Vec<Range<usize>>, n_rows: usize) -> Result<Self> {
        let (builder, _) = open(path)?;
        let found = builder.metadata().file_metadata().num_rows();
        ensure!(
            usize::try_from(found) == Ok(n_rows),
            "{}: expected {n_rows} rows, found {found}",
            path.display()
        );
        let rows = RowSelection::from_consecutive_ranges(rows.into_iter(), n_rows);
        Self::collect(builder.with_row_selection(rows), path)
    }

    /// Reads the rows that have one of `texts` in a column.
    fn read_with_texts(path: &Path, column: &'static str, texts: HashSet<String>) -> Result<Self> {
        let (builder, _) = open(path)?;
        let of_column = ProjectionMask::columns(builder.parquet_schema(), [column]);
        let has_text = move |rows: RecordBatch| {
            let values = rows
                .column_by_name(column)
                .and_then(|c| c.as_string_opt::<i32>());
            let values = values
                .ok_or_else(|| ArrowError::SchemaError(format!("column `{column}` is no text")))?;
            let has = |value: Option<&str>| value.is_some_and(|value| texts.contains(value));
            Ok(BooleanArray::from(
                values.iter().map(has).collect::<Vec<_>>(),
            ))
        };
        let filter = RowFilter::new(vec![Box::new(ArrowPredicateFn::new(of_column, has_text))]);
        Self::collect(builder.with_row_filter(filter), path)
    }

    fn collect(builder: Builder, path: &Path) -> Result<Self> {
        let schema = builder.schema().clone();
        let batches = builder.build()?.collect::<Result<Vec<_>, _>>()?;
        Ok(Self {
            rows: concat_batches(&schema, &batches)?,
            name: path.display().to_string(),
        })
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
