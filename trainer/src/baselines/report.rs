//! Errors of the baselines and of the network, as Markdown.

use litecast::learned::manifest::{ALL, NETWORKS, OutputError, PERFSAGE_SPACES};
use litecast::provenance::{ErrorSummary, MAX_ERROR_PERCENT};

use super::method::{LeftOut, Measured, Method};
use crate::data::Data;
use crate::dataset::LabelKey;
use crate::evaluate::table;
use crate::markdown::{self, Head, percent};

/// How the network's rows are called.
const NETWORK: &str = "LiteCast";

pub fn heading(data: &Data, measured: &[Measured], n_trees: usize) -> String {
    let counts = data.counts();
    let sum = |of: fn(&litecast::learned::manifest::SpaceCount) -> usize| {
        counts.iter().map(of).sum::<usize>()
    };
    format!(
        "# Baselines on held-out graphs\n\nFitted to {} graphs and measured on {}, those of the network \
         that ships; {} methods without a neural network, forests of {n_trees} trees. Errors are of \
         Vela's estimates.\n\n",
        sum(|c| c.training),
        sum(|c| c.test),
        measured.len(),
    )
}

/// Outputs that some method has an answer for.
fn answered(measured: &[Measured], data: &Data) -> Vec<LabelKey> {
    let is_answered = |key: &&LabelKey| {
        measured
            .iter()
            .any(|m| !of_output(&m.errors, key).is_empty())
    };
    data.outputs.iter().filter(is_answered).cloned().collect()
}

fn of_output<'e>(errors: &'e [OutputError], key: &LabelKey) -> Vec<&'e OutputError> {
    let is_it = |e: &&OutputError| e.target == key.target && e.metric == key.metric;
    errors.iter().filter(is_it).collect()
}

fn of_space<'e>(
    errors: &'e [OutputError],
    key: &LabelKey,
    space: &str,
) -> Option<&'e ErrorSummary> {
    let errors = of_output(errors, key).into_iter();
    let mut errors = errors.filter(|e| e.space == space && e.error.n > 0);
    errors.next().map(|e| &e.error)
}

/// Names and errors of every method, the network's last.
fn methods<'m>(
    measured: &'m [Measured],
    network: &'m [OutputError],
) -> impl Iterator<Item = (&'m str, &'m [OutputError])> {
    let baselines = measured
        .iter()
        .map(|m| (m.method.name(), m.errors.as_slice()));
    baselines.chain([(NETWORK, network)])
}

/// A row for each method, a column for each output, for all spaces, those of networks and PerfSAGE's four.
pub fn overview(measured: &[Measured], network: &[OutputError], data: &Data) -> String {
    let outputs = answered(measured, data);
    let mut heads = vec![Head::text("method")];
    let name = |key: &LabelKey| Head::number(format!("{} {}", key.target, key.metric));
    heads.extend(outputs.iter().map(name));
    let mut text = String::new();
    for (space, words) in [
        (ALL, "All spaces"),
        (NETWORKS, "All but single random operators"),
        (PERFSAGE_SPACES, "PerfSAGE's four spaces"),
    ] {
        text += &format!(
            "{words}, mean (median) absolute percentage error, errors above {MAX_ERROR_PERCENT} % \
             counted as that:\n\n"
        );
        let cell = |error: &ErrorSummary| {
            let [mean, median] = [error.capped_mape, error.median_ape].map(|e| percent(Some(e)));
            format!("{mean} ({median})")
        };
        let rows = methods(measured, network).map(|(method, errors)| {
            let errors = outputs.iter().map(|key| of_space(errors, key, space));
            let errors = errors.map(|error| error.map_or("-".to_owned(), cell));
            [method.to_owned()].into_iter().chain(errors).collect()
        });
        text += &markdown::table(&heads, rows);
        text += "\n";
    }
    text
}

/// What each method found on the training graphs.
pub fn fitted(measured: &[Measured]) -> String {
    let heads = ["method", "output", "fitted"].map(Head::text);
    let rows = measured.iter().flat_map(|m| {
        let row = |(output, fitted): &(String, String)| {
            vec![m.method.name().to_owned(), output.clone(), fitted.clone()]
        };
        m.fitted.iter().map(row)
    });
    format!("What was fitted:\n\n{}\n", markdown::table(&heads, rows))
}

/// A row for each space that was left out and their mean, a column for each method and output.
pub fn left_out(spaces: &[LeftOut], data: &Data, n_trees: usize) -> String {
    let columns: Vec<(Method, &LabelKey)> = Method::ALL
        .into_iter()
        .flat_map(|method| {
            let outputs = data
                .outputs
                .iter()
                .filter(move |key| method.answers(&key.metric));
            outputs.map(move |key| (method, key))
        })
        .collect();
    let mut heads = vec![Head::text("left out"), Head::number("graphs")];
    heads.extend(columns.iter().map(|(method, key)| {
        Head::number(format!("{} {} {}", key.target, key.metric, method.name()))
    }));
    let errors: Vec<Vec<Option<&ErrorSummary>>> = spaces
        .iter()
        .map(|space| {
            columns
                .iter()
                .map(|&column| on_space(space, column))
                .collect()
        })
        .collect();
    let rows = spaces.iter().zip(&errors).map(|(space, errors)| {
        let n_graphs = errors.iter().flatten().map(|e| e.n).max().unwrap_or(0);
        let mut cells = vec![space.space.clone(), n_graphs.to_string()];
        cells.extend(errors.iter().map(|e| percent(e.map(|e| e.capped_mape))));
        cells
    });
    let mean = |column: usize| {
        let known: Vec<f64> = errors
            .iter()
            .filter_map(|row| Some(row[column]?.capped_mape))
            .collect();
        (!known.is_empty()).then(|| known.iter().sum::<f64>() / known.len() as f64)
    };
    let mut means = vec!["mean over spaces".to_owned(), String::new()];
    means.extend((0..columns.len()).map(|column| percent(mean(column))));
    format!(
        "Mean error on each space, errors above {MAX_ERROR_PERCENT} % counted as that, of what was fitted \
         without it; forests of {n_trees} trees:\n\n{}\n",
        markdown::table(&heads, rows.chain([means]))
    )
}

fn on_space<'s>(
    space: &'s LeftOut,
    (method, key): (Method, &LabelKey),
) -> Option<&'s ErrorSummary> {
    let measured = space.measured.iter().find(|m| m.method == method)?;
    of_space(&measured.errors, key, ALL)
}

/// Every figure of every method, by output and space.
pub fn details(measured: &[Measured], network: &[OutputError]) -> String {
    let heads = ["target", "metric", "space", "method"].map(Head::text);
    let figures = ["capped MAPE"].into_iter().chain(table::FIGURES);
    let heads: Vec<Head> = heads.into_iter().chain(figures.map(Head::number)).collect();
    let mut rows = Vec::new();
    for of_network in network.iter().filter(|e| e.error.n > 0) {
        let key = LabelKey {
            target: of_network.target.clone(),
            metric: of_network.metric.clone(),
        };
        let errors: Vec<(&str, &ErrorSummary)> = methods(measured, network)
            .filter_map(|(method, errors)| {
                Some((method, of_space(errors, &key, &of_network.space)?))
            })
            .collect();
        // The network alone is no comparison.
        for (method, error) in errors.iter().filter(|_| errors.len() > 1) {
            let words = [&key.target, &key.metric, &of_network.space, *method];
            let mut cells: Vec<String> = words.map(str::to_owned).to_vec();
            cells.push(percent(Some(error.capped_mape)));
            cells.extend(table::figures(error));
            rows.push(cells);
        }
    }
    markdown::table(&heads, rows)
}
