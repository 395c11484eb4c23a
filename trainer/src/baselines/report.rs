//! Errors of the baselines and of the network, as Markdown.

use litecast::manifest::{
    ALL, ErrorSummary, MAX_ERROR_PERCENT, NETWORKS, OutputError, PERFSAGE_SPACES,
};

use super::{LeftOut, Measured, Method};
use crate::data::Data;
use crate::dataset::LabelKey;
use crate::evaluate::table;

/// How the network's rows are called.
const NETWORK: &str = "LiteCast";

pub fn heading(data: &Data, measured: &[Measured], n_trees: usize) -> String {
    let counts = data.counts();
    let sum =
        |of: fn(&litecast::manifest::SpaceCount) -> usize| counts.iter().map(of).sum::<usize>();
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
    let baselines = measured.iter().map(|m| (m.method, m.errors.as_slice()));
    baselines.chain([(NETWORK, network)])
}

/// A row for each method, a column for each output, for all spaces, those of networks and PerfSAGE's four.
pub fn overview(measured: &[Measured], network: &[OutputError], data: &Data) -> String {
    let outputs = answered(measured, data);
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
        text += &header("method", &outputs);
        for (method, errors) in methods(measured, network) {
            text += &format!("| {method} |");
            for key in &outputs {
                text += &match of_space(errors, key, space) {
                    Some(e) => format!(" {:.2} % ({:.2} %) |", e.capped_mape, e.median_ape),
                    None => " - |".to_owned(),
                };
            }
            text += "\n";
        }
        text += "\n";
    }
    text
}

fn header(first: &str, outputs: &[LabelKey]) -> String {
    let names = outputs
        .iter()
        .map(|key| format!(" {} {} |", key.target, key.metric));
    let names: String = names.collect();
    format!(
        "| {first} |{names}\n|---|{}\n",
        "---:|".repeat(outputs.len())
    )
}

/// What each method found on the training graphs.
pub fn fitted(measured: &[Measured]) -> String {
    let mut text = "What was fitted:\n\n| method | output | fitted |\n|---|---|---|\n".to_owned();
    for m in measured {
        for (output, fitted) in &m.fitted {
            text += &format!("| {} | {output} | {fitted} |\n", m.method);
        }
    }
    text + "\n"
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
    let names = columns
        .iter()
        .map(|(method, key)| format!(" {} {} {} |", key.target, key.metric, method.name()));
    let mut text = format!(
        "Mean error on each space, errors above {MAX_ERROR_PERCENT} % counted as that, of what was fitted \
         without it; forests of {n_trees} trees:\n\n| left out | graphs |{}\n|---|---:|{}\n",
        names.collect::<String>(),
        "---:|".repeat(columns.len())
    );
    let errors: Vec<Vec<Option<&ErrorSummary>>> = spaces
        .iter()
        .map(|space| {
            columns
                .iter()
                .map(|&column| on_space(space, column))
                .collect()
        })
        .collect();
    for (space, errors) in spaces.iter().zip(&errors) {
        let n_graphs = errors.iter().flatten().map(|e| e.n).max().unwrap_or(0);
        let cells: String = errors
            .iter()
            .map(|e| cell(e.map(|e| e.capped_mape)))
            .collect();
        text += &format!("| {} | {n_graphs} |{cells}\n", space.space);
    }
    let mean = |column: usize| {
        let known: Vec<f64> = errors
            .iter()
            .filter_map(|row| Some(row[column]?.capped_mape))
            .collect();
        (!known.is_empty()).then(|| known.iter().sum::<f64>() / known.len() as f64)
    };
    let means: String = (0..columns.len())
        .map(|column| cell(mean(column)))
        .collect();
    text + &format!("| mean over spaces | |{means}\n\n")
}

fn on_space<'s>(
    space: &'s LeftOut,
    (method, key): (Method, &LabelKey),
) -> Option<&'s ErrorSummary> {
    let measured = space.measured.iter().find(|m| m.method == method.name())?;
    of_space(&measured.errors, key, ALL)
}

fn cell(mape: Option<f64>) -> String {
    mape.map_or(" - |".to_owned(), |mape| format!(" {mape:.2} % |"))
}

/// Every figure of every method, by output and space.
pub fn details(measured: &[Measured], network: &[OutputError]) -> String {
    let mut text = format!(
        "| target | metric | space | method | capped MAPE | {}\n|{}\n",
        table::FIGURES,
        "---|".repeat(5 + table::FIGURES.matches('|').count())
    );
    for of_network in network.iter().filter(|e| e.error.n > 0) {
        let key = LabelKey {
            target: of_network.target.clone(),
            metric: of_network.metric.clone(),
        };
        let rows: Vec<(&str, &ErrorSummary)> = methods(measured, network)
            .filter_map(|(method, errors)| {
                Some((method, of_space(errors, &key, &of_network.space)?))
            })
            .collect();
        // The network alone is no comparison.
        for (method, error) in rows.iter().filter(|_| rows.len() > 1) {
            text += &format!(
                "| {} | {} | {} | {method} | {:.2} % | {}\n",
                key.target,
                key.metric,
                of_network.space,
                error.capped_mape,
                table::figures(error)
            );
        }
    }
    text
}
