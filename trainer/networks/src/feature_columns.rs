//! Feature columns by name.

use litecast::learned::features::{COLUMNS, Features, N_COLUMNS};

/// Index into [`COLUMNS`]. Panics if there is no such column, because names are constants of this program.
pub fn column(name: &str) -> usize {
    let position = COLUMNS.iter().position(|column| column.name == name);
    position.unwrap_or_else(|| panic!("expected a feature column {name}"))
}

/// By node, the amount in a `log1p_` column, without the logarithm.
pub fn amounts(features: &Features, log1p_column: &str) -> Vec<f64> {
    let values = features.nodes.iter().skip(column(log1p_column));
    let values = values.step_by(N_COLUMNS);
    values.map(|&value| f64::from(value).exp_m1()).collect()
}
