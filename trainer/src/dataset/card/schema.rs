//! The documented columns of one table.

use arrow_schema::{DataType, Field, Schema};

use crate::dataset::tables::{MEANING, UNIT};
use crate::markdown::{Head, table};

/// The metadata of each file: the keys of `dataset::provenance`.
pub const METADATA: &str = "\
The metadata of each file holds `litecast.label_runs` (JSON: tool, version, options, targets with their \
configurations, requests with their seeds) and `litecast.version`.

The cycles of a graph's operators add up to the `cycles` of its label, except where Vela does not say which operator an \
operation comes from: the operations of an ARG_MAX on Ethos-U55 and U65, and those of some boolean operators on \
Ethos-U85. In such a graph, an operator with 0 cycles may be their source; training treats this value as unknown.

The features of the operators are not part of the dataset, because they follow from the bytes of the graphs. \
The first command that needs them, or `litecast-trainer dataset remake`, writes `features.parquet` beside the \
other files. It has one row for each row of `operators.parquet`, and the columns of `src/learned/features/columns.rs`.
";

/// A heading with the file's name, and a row for each column.
pub fn markdown(file: &str, rows: &str, schema: &Schema) -> String {
    let metadata = |field: &Field, key| field.metadata().get(key).cloned().unwrap_or_default();
    let heads = ["column", "type", "unit", "meaning"].map(Head::text);
    let row = |field: &Field| {
        vec![
            format!("`{}`", field.name()),
            type_name(field),
            metadata(field, UNIT),
            metadata(field, MEANING),
        ]
    };
    let table = table(&heads, schema.fields().iter().map(|field| row(field)));
    format!("### `{file}`\n\n{rows}.\n\n{table}\n")
}

/// A column's type in words.
pub fn type_name(field: &Field) -> String {
    let name = match field.data_type() {
        DataType::Utf8 => "text".to_owned(),
        DataType::List(item) => format!("list of {}", type_name(item)),
        // Most readers know `UInt64` as u64 and `Float32` as f32.
        other => other
            .to_string()
            .replace("UInt", "u")
            .replace("Int", "i")
            .replace("Float", "f"),
    };
    if field.is_nullable() {
        format!("{name} or null")
    } else {
        name
    }
}
