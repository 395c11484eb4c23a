//! Errors of the baselines and of the network, as Markdown.

use litecast::learned::manifest::{ALL, NETWORKS, OutputError, PERFSAGE_SPACES};
use litecast::provenance::ErrorSummary;
use litecast_trainer::dataset::LabelKey;
use litecast_trainer::markdown::{self, Head, percent};

use super::method::{LeftOut, Measured, Method};
use crate::error_table;
use crate::training_data::Data;

/// Name of the network in tables.
const NETWORK: &str = "LiteCast";

/// `network` is empty if no network is shipped for the targets.
pub fn heading(
    data: &Data,
    measured: &[Measured],
    network: &[OutputError],
    n_trees: usize,
) -> String {
    let counts = data.counts();
    let whose = if network.is_empty() {
        "on the split of the network that ships; errors are of counted instructions"
    } else {
        "those of the network that ships; errors are of Vela's estimates"
    };
    let methods = measured.iter().filter(|m| !m.errors.is_empty());
    let sum = |count_of: fn(&litecast::learned::manifest::SpaceCount) -> usize| {
        counts.iter().map(count_of).sum::<usize>()
    };
    format!(
        "# Baselines on held-out graphs\n\nFitted to {} graphs and measured on {}, {whose}; {} methods \
         without a neural network, forests of {n_trees} trees. No error is capped.\n\n",
        sum(|c| c.training),
        sum(|c| c.test),
        methods.count(),
    )
}

/// Outputs that at least one method estimates.
fn estimated_outputs(measured: &[Measured], data: &Data) -> Vec<LabelKey> {
    let is_answered = |key: &&LabelKey| {
        measured
            .iter()
            .any(|m| !errors_of_output(&m.errors, key).is_empty())
    };
    data.outputs.iter().filter(is_answered).cloned().collect()
}

fn errors_of_output<'e>(errors: &'e [OutputError], key: &LabelKey) -> Vec<&'e OutputError> {
    let is_it = |e: &&OutputError| e.target == key.target && e.metric == key.metric;
    errors.iter().filter(is_it).collect()
}

fn errors_of_space<'e>(
    errors: &'e [OutputError],
    key: &LabelKey,
    space: &str,
) -> Option<&'e ErrorSummary> {
    let errors = errors_of_output(errors, key).into_iter();
    let mut errors = errors.filter(|e| e.space == space && e.error.n > 0);
    errors.next().map(|e| &e.error)
}

/// Names and errors of all methods that have errors, the network last.
fn methods<'m>(
    measured: &'m [Measured],
    network: &'m [OutputError],
) -> impl Iterator<Item = (&'m str, &'m [OutputError])> {
    let baselines = measured
        .iter()
        .map(|m| (m.method.name(), m.errors.as_slice()));
    let all = baselines.chain([(NETWORK, network)]);
    all.filter(|(_, errors)| !errors.is_empty())
}

/// A row for each method and a column for each output, for all spaces, for the spaces of networks and for PerfSAGE's
/// four.
pub fn overview(measured: &[Measured], network: &[OutputError], data: &Data) -> String {
    let outputs = estimated_outputs(measured, data);
    let mut heads = vec![Head::text("method")];
    let name = |key: &LabelKey| Head::number(format!("{} {}", key.target, key.metric));
    heads.extend(outputs.iter().map(name));
    let mut text = String::new();
    for (space, words) in [
        (ALL, "All spaces"),
        (NETWORKS, "All but single random operators"),
        (PERFSAGE_SPACES, "PerfSAGE's four spaces"),
    ] {
        text +=
            &format!("{words}, absolute percentage error, mean / median / 95th percentile:\n\n");
        let cell = |error: &ErrorSummary| {
            let errors = [error.mape, error.median_ape, error.p95_ape];
            errors.map(|e| percent(Some(e))).join(" / ")
        };
        let rows = methods(measured, network).map(|(method, errors)| {
            let errors = outputs
                .iter()
                .map(|key| errors_of_space(errors, key, space));
            let errors = errors.map(|error| error.map_or("-".to_owned(), cell));
            [method.to_owned()].into_iter().chain(errors).collect()
        });
        text += &markdown::table(&heads, rows);
        text += "\n";
    }
    text
}

/// The fitted parameters of each method.
pub fn fitted_parameters_table(measured: &[Measured]) -> String {
    let heads = ["method", "output", "fitted"].map(Head::text);
    let rows = measured.iter().flat_map(|m| {
        let row = |(output, fitted): &(String, String)| {
            vec![m.method.name().to_owned(), output.clone(), fitted.clone()]
        };
        m.fitted.iter().map(row)
    });
    format!("What was fitted:\n\n{}\n", markdown::table(&heads, rows))
}

/// A row for each left-out space and one for their mean, with a column for each method and output.
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
        .filter(|&column| {
            spaces
                .iter()
                .any(|space| errors_on_space(space, column).is_some())
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
                .map(|&column| errors_on_space(space, column))
                .collect()
        })
        .collect();
    let rows = spaces.iter().zip(&errors).map(|(space, errors)| {
        let n_graphs = errors.iter().flatten().map(|e| e.n).max().unwrap_or(0);
        let mut cells = vec![space.space.clone(), n_graphs.to_string()];
        cells.extend(
            errors
                .iter()
                .map(|e| mean_and_median(e.map(|e| [e.mape, e.median_ape]))),
        );
        cells
    });
    let mean = |column: usize| {
        let known: Vec<&ErrorSummary> = errors.iter().filter_map(|row| row[column]).collect();
        let mean = |statistic: fn(&ErrorSummary) -> f64| {
            known.iter().map(|e| statistic(e)).sum::<f64>() / known.len() as f64
        };
        (!known.is_empty()).then(|| [mean(|e| e.mape), mean(|e| e.median_ape)])
    };
    let mut means = vec!["mean over spaces".to_owned(), String::new()];
    means.extend((0..columns.len()).map(|column| mean_and_median(mean(column))));
    format!(
        "Mean and median error on each space, none capped, of what was fitted without it; forests of \
         {n_trees} trees:\n\n{}\n",
        markdown::table(&heads, rows.chain([means]))
    )
}

fn mean_and_median(errors: Option<[f64; 2]>) -> String {
    errors.map_or("-".to_owned(), |errors| {
        errors.map(|error| percent(Some(error))).join(" / ")
    })
}

fn errors_on_space<'s>(
    space: &'s LeftOut,
    (method, key): (Method, &LabelKey),
) -> Option<&'s ErrorSummary> {
    let measured = space.measured.iter().find(|m| m.method == method)?;
    errors_of_space(&measured.errors, key, ALL)
}

/// All figures of all methods, by output and space.
pub fn details(measured: &[Measured], network: &[OutputError]) -> String {
    let heads = ["target", "metric", "space", "method"].map(Head::text);
    let heads = heads
        .into_iter()
        .chain(error_table::FIGURES.map(Head::number));
    let heads: Vec<Head> = heads.collect();
    let mut rows = Vec::new();
    // The spaces of the network, or those of the first method, which are the same for all methods.
    let mut of_methods = methods(measured, network).map(|(_, errors)| errors);
    let errors = if network.is_empty() {
        of_methods.next().unwrap_or(&[])
    } else {
        network
    };
    for space in errors.iter().filter(|e| e.error.n > 0) {
        let key = LabelKey {
            target: space.target.clone(),
            metric: space.metric.clone(),
        };
        let errors: Vec<(&str, &ErrorSummary)> = methods(measured, network)
            .filter_map(|(method, errors)| {
                Some((method, errors_of_space(errors, &key, &space.space)?))
            })
            .collect();
        // A row with only the network compares nothing.
        for (method, error) in errors.iter().filter(|_| errors.len() > 1) {
            let words = [&key.target, &key.metric, &space.space, *method];
            let mut cells: Vec<String> = words.map(str::to_owned).to_vec();
            cells.extend(error_table::figures(error));
            rows.push(cells);
        }
    }
    markdown::table(&heads, rows)
}
