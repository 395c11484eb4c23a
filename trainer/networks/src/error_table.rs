//! Errors as Markdown and CSV.

use std::path::Path;

use anyhow::{Context, Result};
use litecast::learned::intervals::{Band, COVERAGE, Interval};
use litecast::learned::manifest::OutputError;
use litecast::provenance::{ErrorSummary, MAX_ERROR_PERCENT};
use litecast_trainer::markdown::{Head, heads, percent, table};
use serde::{Deserialize, Serialize};

use crate::training_data::Data;

/// A table of mean errors, followed by a table of all figures.
pub fn markdown(errors: &[OutputError], data: &Data) -> String {
    overview(errors, data) + "\n" + &details(errors)
}

/// A row for each group of spaces, a column for each output.
fn overview(errors: &[OutputError], data: &Data) -> String {
    let outputs = data.output_names();
    let n_groups = errors.len() / outputs.len().max(1);
    let row = |group: usize| {
        let of_group = || errors.iter().skip(group).step_by(n_groups);
        let n_graphs = of_group().map(|e| e.error.n).max().unwrap_or(0);
        let mut cells = vec![errors[group].space.clone(), n_graphs.to_string()];
        cells.extend(of_group().map(|e| capped(&e.error)));
        cells
    };
    let mut heads = vec![Head::text("space"), Head::number("graphs")];
    heads.extend(outputs.iter().map(Head::number));
    format!(
        "Mean absolute percentage error, errors above {MAX_ERROR_PERCENT} % counted as that:\n\n{}",
        table(&heads, (0..n_groups).map(row))
    )
}

fn capped(error: &ErrorSummary) -> String {
    percent((error.n > 0).then_some(error.capped_mape))
}

/// Headings of [`figures`].
pub const FIGURES: [&str; 7] = [
    "MAPE",
    "median",
    "P95",
    "within 5 %",
    "within 10 %",
    "Spearman",
    "graphs",
];

/// Cells with the figures of an error summary.
pub fn figures(s: &ErrorSummary) -> [String; FIGURES.len()] {
    let [mape, median_ape, p95_ape] =
        [s.mape, s.median_ape, s.p95_ape].map(|error| percent(Some(error)));
    let [within_5, within_10] = [s.within_5, s.within_10].map(|share| format!("{share:.1} %"));
    let spearman = format!("{:.4}", s.spearman);
    [
        mape,
        median_ape,
        p95_ape,
        within_5,
        within_10,
        spearman,
        s.n.to_string(),
    ]
}

fn details(errors: &[OutputError]) -> String {
    let heads = ["target", "metric", "space"].map(Head::text);
    let heads: Vec<Head> = heads.into_iter().chain(FIGURES.map(Head::number)).collect();
    let row = |e: &OutputError| {
        let mut cells = vec![e.target.clone(), e.metric.clone(), e.space.clone()];
        cells.extend(figures(&e.error));
        cells
    };
    table(&heads, errors.iter().filter(|e| e.error.n > 0).map(row))
}

/// A table with the coverage of the intervals on held-out graphs, and their widths.
pub fn intervals(intervals: &[Interval]) -> String {
    let heads = heads("output", "inside | width, near | width, far | graphs");
    let half_width = |band: Option<&Band>| {
        let factor = |band: &Band| format!("×/÷ {:.3}", band.log_half_width.exp());
        band.map_or("none: too few graphs".to_owned(), factor)
    };
    let row = |i: &Interval| {
        vec![
            format!("{} {}", i.target, i.metric),
            format!("{:.1} %", i.coverage_percent),
            half_width(i.bands.first()),
            half_width(i.bands.last()),
            i.n.to_string(),
        ]
    };
    format!(
        "\nIntervals made to hold {:.0} % of labels, by distance from training; nearest and farthest \
         band:\n\n{}",
        100.0 * COVERAGE,
        table(&heads, intervals.iter().map(row))
    )
}

/// A line of a CSV table. Errors and shares are in percent.
#[derive(Serialize, Deserialize)]
pub struct CsvRow {
    /// A network's architecture, or [`Method::id`](crate::baselines::Method::id).
    pub method: String,
    /// Id of the target.
    pub target: String,
    /// Id of the metric.
    pub metric: String,
    /// Design space, or `all`.
    pub space: String,
    /// Mean absolute percentage error.
    pub mape: f64,
    /// Median absolute percentage error.
    pub median_ape: f64,
    /// 95th percentile of the absolute percentage error.
    pub p95_ape: f64,
    /// Percentage of graphs with an error of at most 5 %.
    pub within_5: f64,
    /// Percentage of graphs with an error of at most 10 %.
    pub within_10: f64,
    /// Spearman's rank correlation of estimates and labels.
    pub spearman: f64,
    /// Number of graphs that the errors were measured on.
    pub n: usize,
    /// The fields of [`Fitted`]; absent if the table does not contain them.
    #[serde(default)]
    pub n_trained: Option<usize>,
    /// Columns that the network read.
    #[serde(default)]
    pub n_features: Option<usize>,
    /// Epoch whose weights were evaluated.
    #[serde(default)]
    pub best_epoch: Option<usize>,
    /// Epochs that were trained.
    #[serde(default)]
    pub n_epochs: Option<usize>,
    /// Seed of the run.
    #[serde(default)]
    pub seed: Option<u64>,
}

/// The data and the training of a method.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Fitted {
    /// Number of graphs that it was fitted to.
    pub n_trained: usize,
    /// Number of varying features of an operator or of a graph; absent if it uses none.
    pub n_features: Option<usize>,
    /// Epochs of a network's training.
    pub epochs: Option<Epochs>,
}

/// The length of a network's training.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Epochs {
    /// The epoch whose weights were kept, counted from 1.
    pub best: usize,
    /// Epochs that were trained.
    pub all: usize,
    /// Seed of the weights.
    pub seed: u64,
}

impl CsvRow {
    fn new(method: &str, e: &OutputError, fitted: Fitted) -> Self {
        let s = &e.error;
        let rounded = |value: f64| (value * 1e4).round() / 1e4;
        Self {
            method: method.to_owned(),
            target: e.target.clone(),
            metric: e.metric.clone(),
            space: e.space.clone(),
            mape: rounded(s.mape),
            median_ape: rounded(s.median_ape),
            p95_ape: rounded(s.p95_ape),
            within_5: rounded(s.within_5),
            within_10: rounded(s.within_10),
            spearman: rounded(s.spearman),
            n: s.n,
            n_trained: Some(fitted.n_trained),
            n_features: fitted.n_features,
            best_epoch: fitted.epochs.map(|epochs| epochs.best),
            n_epochs: fitted.epochs.map(|epochs| epochs.all),
            seed: fitted.epochs.map(|epochs| epochs.seed),
        }
    }
}

/// Writes all figures, each with its method and the data that this was fitted to.
pub fn write_csv<'e>(
    path: &Path,
    errors: impl IntoIterator<Item = (&'e str, &'e OutputError, Fitted)>,
) -> Result<()> {
    let mut writer = csv::Writer::from_path(path).with_context(|| path.display().to_string())?;
    for (method, error, fitted) in errors {
        writer.serialize(CsvRow::new(method, error, fitted))?;
    }
    Ok(writer.flush()?)
}

/// Reads a file that [`write_csv`] wrote; empty if the file is absent.
pub fn read_csv(path: &Path) -> Result<Vec<CsvRow>> {
    if !path.exists() {
        return Ok(Vec::new());
    }
    let place = || path.display().to_string();
    let mut reader = csv::Reader::from_path(path).with_context(place)?;
    let rows = reader.deserialize().collect::<Result<_, _>>();
    rows.with_context(place)
}
