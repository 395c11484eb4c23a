//! A dataset in numbers.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::Result;
use arrow_array::types::{Float64Type, UInt32Type, UInt64Type};

use super::read::{Table, Tables};
use super::table_file::{GRAPHS_FILE, LABELS_FILE, OPERATORS_FILE};

/// Prints counts and ranges of the dataset in `folder`.
pub fn print(folder: &Path) -> Result<()> {
    for name in [GRAPHS_FILE, OPERATORS_FILE, LABELS_FILE] {
        println!(
            "{name}: {:.2} MB",
            fs::metadata(folder.join(name))?.len() as f64 / 1e6
        );
    }
    let tables = Tables::read(folder)?;
    print_spaces(&tables.graphs)?;
    print_statuses(&tables.labels)?;
    print_ranges(&tables)
}

/// Values of one group of rows.
#[derive(Default)]
struct Group {
    values: Vec<f64>,
}

impl Group {
    /// Smallest, mean and largest.
    fn range(&self) -> [f64; 3] {
        let sum: f64 = self.values.iter().sum();
        let min = self.values.iter().copied().fold(f64::INFINITY, f64::min);
        let max = self
            .values
            .iter()
            .copied()
            .fold(f64::NEG_INFINITY, f64::max);
        [min, sum / self.values.len() as f64, max]
    }
}

fn group<K: Ord>(
    keys: impl IntoIterator<Item = K>,
    values: impl IntoIterator<Item = f64>,
) -> BTreeMap<K, Group> {
    let mut groups: BTreeMap<K, Group> = BTreeMap::new();
    for (key, value) in keys.into_iter().zip(values) {
        groups.entry(key).or_default().values.push(value);
    }
    groups
}

fn print_spaces(graphs: &Table) -> Result<()> {
    let spaces = graphs.texts("space")?;
    let as_f64 = |values: Vec<u32>| values.into_iter().map(f64::from);
    let operators = group(
        spaces.clone(),
        as_f64(graphs.values::<UInt32Type>("n_operators")?),
    );
    let tensors = group(
        spaces.clone(),
        as_f64(graphs.values::<UInt32Type>("n_tensors")?),
    );
    let file_bytes = graphs
        .values::<UInt64Type>("file_bytes")?
        .into_iter()
        .map(|n| n as f64 / 1e6);
    let megabytes = group(spaces, file_bytes);
    println!("\nspace           graphs  operators (min mean max)  tensors             file MB");
    for (space, group) in &operators {
        let [a, b, c] = [
            group.range(),
            tensors[space].range(),
            megabytes[space].range(),
        ];
        println!(
            "{space:14} {:7}  {:6.0} {:6.1} {:6.0}      {:5.0} {:6.1} {:5.0}  {:6.3} {:6.3} {:6.3}",
            group.values.len(),
            a[0],
            a[1],
            a[2],
            b[0],
            b[1],
            b[2],
            c[0],
            c[1],
            c[2],
        );
    }
    Ok(())
}

fn print_statuses(labels: &Table) -> Result<()> {
    let keys = labels
        .texts("target")?
        .into_iter()
        .zip(labels.texts("status")?)
        .zip(labels.texts("reason")?);
    let n_cpu = labels
        .values::<UInt32Type>("cpu_operators")?
        .into_iter()
        .map(f64::from);
    println!();
    for (((target, status), reason), group) in group(keys, n_cpu) {
        let partly = group.values.iter().filter(|n| **n > 0.0).count();
        println!(
            "{target}: {} rows {status} {reason}, {partly} of them with operators left to the CPU",
            group.values.len()
        );
    }
    Ok(())
}

fn print_ranges(tables: &Tables) -> Result<()> {
    let labels = &tables.labels;
    let space_of = |graph_id: &str| graph_id.split('/').next().unwrap_or_default().to_string();
    let spaces = labels.texts("graph_id")?.into_iter().map(space_of);
    let metrics = labels
        .optional_texts("metric")?
        .into_iter()
        .map(|metric| metric.unwrap_or("none"));
    let keys = labels.texts("target")?.into_iter().zip(metrics).zip(spaces);
    let values = labels.optional_values::<Float64Type>("value")?;
    println!("\ntarget         metric           space           min          mean         max");
    for (((target, metric), space), group) in group(
        keys,
        values.into_iter().map(|value| value.unwrap_or(f64::NAN)),
    ) {
        let [min, mean, max] = group.range();
        println!("{target:14} {metric:16} {space:14} {min:12.4} {mean:12.4} {max:12.4}");
    }
    Ok(())
}
