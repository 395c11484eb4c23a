//! The dataset's card: tables → Markdown with pictures, for users of the files.
//!
//! All numbers are counted in the tables when the card is written. The meaning of a column is defined where the column
//! is made.

mod counts;
mod histograms;
mod origins;
mod requests;
mod schema;

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};

use self::counts::{Counts, LabelCounts};
use super::read::{Table, Tables};
use super::tables::Layout;
use crate::spaces::Space;
use crate::spaces::table2;

/// Writes the card of the dataset in `folder` to `out`, and its pictures beside it.
///
/// Refuses tables whose columns are not those that the card would describe.
pub fn write(folder: &Path, out: &Path) -> Result<()> {
    let tables = Tables::read(folder)?;
    let pictures = out.parent().unwrap_or(Path::new(""));
    fs::create_dir_all(pictures)
        .with_context(|| format!("could not create {}", pictures.display()))?;
    let drawn = histograms::write(&tables, pictures)?;
    let text = card(&tables, &drawn)?;
    fs::write(out, text).with_context(|| format!("could not write {}", out.display()))?;
    println!("{} and {} pictures", out.display(), drawn.len());
    Ok(())
}

fn card(tables: &Tables, pictures: &[histograms::Picture]) -> Result<String> {
    let counts = Counts::new(tables)?;
    let labels = LabelCounts::new(&tables.labels)?;
    let sections = [
        introduction(&counts, &labels),
        section("Design spaces", &counts.spaces_as_markdown()),
        section("Operator kinds", &counts.kinds_as_markdown()),
        section("Labels", &labels.metrics_as_markdown()),
        section("Outcomes of labelling", &labels.outcomes_as_markdown()),
        section("Distributions", &histograms::markdown(pictures)),
        section("PerfSAGE's Table 2", &table2_as_markdown(&counts)),
        section("Provenance", &origins::markdown(&tables.provenance)),
        section("Remaking", &requests::markdown(tables)?),
        section("Columns", &columns(tables)?),
    ];
    Ok(sections.join("\n"))
}

fn section(title: &str, text: &str) -> String {
    format!("## {title}\n\n{text}")
}

fn introduction(counts: &Counts, labels: &LabelCounts) -> String {
    format!(
        "# LiteCast's dataset\n\n\
         The dataset contains {} `.tflite` networks as graphs of {} operators, and {} labels, which say what each \
         network costs on {} targets. It consists of three Parquet files (zstd): `graphs.parquet`, \
         `operators.parquet` and `labels.parquet`. License: {}.\n\n\
         Networks are sampled from design spaces and can be made again from space, seed and index; the files \
         themselves are not included. A label is the result that a tool gives for a file. By default it is a \
         compiler's estimate, not a measurement; [Provenance](#provenance) names the tools. \
         [`trainer/README.md`](../README.md) describes how networks are sampled and labelled. \
         `litecast-trainer dataset card` writes this card from the tables beside it.\n",
        counts.n_graphs(),
        counts.n_operators(),
        labels.n_values(),
        labels.n_targets(),
        env!("CARGO_PKG_LICENSE"),
    )
}

/// The number of graphs compared with the paper's samples, for the paper's spaces that have graphs.
fn table2_as_markdown(counts: &Counts) -> String {
    let column = |space: Space| {
        let ours = counts.spaces.get(space.id())?.characteristics.clone();
        Some((space, table2::paper(space), ours))
    };
    let columns: Vec<_> = Space::PAPER.into_iter().filter_map(column).collect();
    format!(
        "The table compares the paper's samples with the graphs of this dataset. \
         [Design spaces](../../docs/method/design-spaces.md) has the same table for thousands of samples of each \
         space, and explains the differences.\n\n{}",
        table2::markdown(&columns)
    )
}

fn columns(tables: &Tables) -> Result<String> {
    let documented = Layout::from_tables(tables).schemas()?;
    let files = [&tables.graphs, &tables.operators, &tables.labels];
    let rows = [
        "One row for each graph",
        "One row for each operator, graph by graph in topological order",
        "One row for each graph, target and metric; a single row where a graph has no label on a target",
    ];
    let mut text = String::new();
    for ((file, documented), rows) in files.into_iter().zip(&documented).zip(rows) {
        ensure_same_columns(file, documented)?;
        text += &schema::markdown(file_name(file), rows, documented);
    }
    Ok(text + schema::METADATA)
}

fn file_name(table: &Table) -> &str {
    let path = Path::new(&table.name);
    path.file_name()
        .and_then(|name| name.to_str())
        .unwrap_or_default()
}

fn ensure_same_columns(file: &Table, documented: &arrow_schema::Schema) -> Result<()> {
    let signature = |schema: &arrow_schema::Schema| -> Vec<_> {
        let field =
            |field: &arrow_schema::FieldRef| (field.name().clone(), schema::type_name(field));
        schema.fields().iter().map(field).collect()
    };
    let (actual, expected) = (signature(&file.rows.schema()), signature(documented));
    ensure!(
        actual == expected,
        "{}: expected columns {expected:?}, found {actual:?}; remake them with `litecast-trainer dataset \
         remake`",
        file.name
    );
    Ok(())
}
