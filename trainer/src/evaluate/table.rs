//! Errors as Markdown and CSV.

use litecast::familiarity::{Band, COVERAGE, Interval};
use litecast::manifest::{ErrorSummary, MAX_ERROR_PERCENT, OutputError};

use super::attribution::{Attribution, N_COSTLIEST};
use crate::data::Data;

/// Mean errors side by side, then every figure.
pub fn markdown(errors: &[OutputError], data: &Data) -> String {
    overview(errors, data) + "\n" + &details(errors)
}

/// A row for each group of spaces, a column for each output.
fn overview(errors: &[OutputError], data: &Data) -> String {
    let mut text = format!(
        "Mean absolute percentage error, errors above {MAX_ERROR_PERCENT} % counted as that:\n\n| space | \
         graphs |"
    );
    data.output_names()
        .iter()
        .for_each(|name| text += &format!(" {name} |"));
    text += "\n|---|---:|";
    data.outputs.iter().for_each(|_| text += "---:|");
    text += "\n";
    let n_outputs = data.outputs.len();
    let n_groups = errors.len() / n_outputs.max(1);
    for group in 0..n_groups {
        let of_group = || errors.iter().skip(group).step_by(n_groups);
        let n_graphs = of_group().map(|e| e.error.n).max().unwrap_or(0);
        text += &format!("| {} | {n_graphs} |", errors[group].space);
        of_group().for_each(|e| text += &cell(&e.error));
        text += "\n";
    }
    text
}

fn cell(error: &ErrorSummary) -> String {
    match error.n {
        0 => " - |".to_owned(),
        _ => format!(" {:.2} % |", error.capped_mape),
    }
}

/// Titles of [`figures`].
pub const FIGURES: &str = "MAPE | median | P95 | within 5 % | within 10 % | Spearman | graphs |";

/// Cells of a row of Markdown: every figure of an error.
pub fn figures(s: &ErrorSummary) -> String {
    format!(
        "{:.2} % | {:.2} % | {:.2} % | {:.1} % | {:.1} % | {:.4} | {} |",
        s.mape, s.median_ape, s.p95_ape, s.within_5, s.within_10, s.spearman, s.n
    )
}

fn details(errors: &[OutputError]) -> String {
    let mut text = format!(
        "| target | metric | space | {FIGURES}\n|---|---|---|---|---|---|---|---|---|---|\n"
    );
    for e in errors.iter().filter(|e| e.error.n > 0) {
        let figures = figures(&e.error);
        text += &format!("| {} | {} | {} | {figures}\n", e.target, e.metric, e.space);
    }
    text
}

/// How many of the costliest operators are found; empty where a network does not estimate them.
pub fn attributions(attributions: &[Attribution], data: &Data) -> String {
    if attributions.is_empty() {
        return String::new();
    }
    let mut text = format!(
        "\nOf the {N_COSTLIEST} operators with the highest label, these are among the {N_COSTLIEST} with \
         the highest estimate:\n\n| output | found | graphs |\n|---|---|---|\n"
    );
    for Attribution {
        output,
        found,
        n_graphs,
    } in attributions
    {
        let name = &data.output_names()[*output];
        text += &format!("| {name} | {found:.1} % | {n_graphs} |\n");
    }
    text
}

/// How many labels of held-out graphs the intervals hold, and how wide they are.
pub fn intervals(intervals: &[Interval]) -> String {
    let mut text = format!(
        "\nIntervals made to hold {:.0} % of labels, by distance from training; nearest and farthest \
         band:\n\n| output | inside | width, near | width, far | graphs |\n|---|---|---|---|---|\n",
        100.0 * COVERAGE
    );
    for i in intervals {
        let half_width = |band: Option<&Band>| {
            let log_half_width = band.map_or(0.0, |band| band.log_half_width);
            format!("×/÷ {:.3}", log_half_width.exp())
        };
        text += &format!(
            "| {} {} | {:.1} % | {} | {} | {} |\n",
            i.target,
            i.metric,
            i.coverage_percent,
            half_width(i.bands.first()),
            half_width(i.bands.last()),
            i.n
        );
    }
    text
}

pub fn csv(errors: &[OutputError]) -> String {
    let mut text =
        "target,metric,space,mape,median_ape,p95_ape,within_5,within_10,spearman,n\n".to_owned();
    for e in errors {
        let s = &e.error;
        text += &format!(
            "{},{},{},{:.4},{:.4},{:.4},{:.3},{:.3},{:.5},{}\n",
            e.target,
            e.metric,
            e.space,
            s.mape,
            s.median_ape,
            s.p95_ape,
            s.within_5,
            s.within_10,
            s.spearman,
            s.n
        );
    }
    text
}
