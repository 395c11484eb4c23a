//! Rows for spreadsheets, with the columns of the page's tables (`www/src/export/csv.ts`).

use super::document::{Document, Outcome, TargetResult};
use super::terminal::plain;
use super::words;
use litecast::report::Failure;

const RESULTS: [&str; 25] = [
    "file",
    "batch",
    "precision",
    "operators",
    "macs",
    "file_bytes",
    "target",
    "device",
    "metric",
    "value",
    "lo",
    "hi",
    "unit",
    "expected_error_percent",
    "provenance",
    "tool",
    "version",
    "estimated_as",
    "evidence",
    "interval_percent",
    "error_against",
    "scope",
    "unavailable",
    "reason",
    "error",
];

pub fn results_header() -> String {
    lines([RESULTS.map(str::to_owned).to_vec()])
}

/// A row for each target and metric; one without any where the report has no results.
pub fn results(document: &Document) -> String {
    let model = &document.model;
    let facts = vec![
        text(&document.file),
        document.batch.to_string(),
        model.precision.clone(),
        model.n_operators.to_string(),
        model.macs.to_string(),
        model.file_bytes.to_string(),
    ];
    if document.results.is_empty() {
        return lines([padded(facts)]);
    }
    let row = |result| [facts.clone(), outcome(result)].concat();
    lines(document.results.iter().map(row).map(padded))
}

fn outcome(result: &TargetResult) -> Vec<String> {
    let mut row = [&result.target, &result.device, &result.metric]
        .map(|id| text(id))
        .to_vec();
    match &result.outcome {
        Outcome::Estimate(estimate) => {
            let number =
                |value: Option<f64>| value.map_or(String::new(), |value| value.to_string());
            let provenance = &estimate.provenance;
            row.extend([
                estimate.value.to_string(),
                number(estimate.lo),
                number(estimate.hi),
                estimate.unit.clone(),
                number(estimate.expected_error_percent),
                provenance.kind.clone(),
                text(&provenance.tool),
                text(&provenance.version),
                result.estimated_as.clone().unwrap_or_default(),
                result.evidence.clone().unwrap_or_default(),
                (provenance.interval_percent).map_or(String::new(), |percent| percent.to_string()),
                estimate
                    .expected_error_percent
                    .map_or(String::new(), |_| words::against(provenance)),
                text(provenance.scope.as_deref().unwrap_or_default()),
            ]);
        }
        Outcome::Unavailable {
            unavailable,
            reason,
        } => {
            row.resize(row.len() + 13, String::new());
            row.extend([text(unavailable), text(reason)]);
        }
    }
    row
}

/// The row of a file that has no report.
pub fn failure(file: &str, failure: &Failure) -> String {
    let mut row = vec![text(file)];
    row.resize(RESULTS.len() - 2, String::new());
    row.extend([failure.kind.clone(), text(&failure.message)]);
    lines([row])
}

fn padded(mut row: Vec<String>) -> Vec<String> {
    row.resize(RESULTS.len(), String::new());
    row
}

/// Names come from untrusted files. A text that a spreadsheet would evaluate as a formula gets an apostrophe in front.
/// Terminal control characters are replaced, because rows are also printed on terminals.
pub fn text(text: &str) -> String {
    let plain = plain(text);
    match text.starts_with(['=', '+', '-', '@', '\t', '\r']) {
        true => format!("'{plain}"),
        false => plain,
    }
}

/// RFC 4180.
pub fn lines(rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let line = |row: Vec<String>| {
        let fields: Vec<String> = row.into_iter().map(field).collect();
        fields.join(",") + "\r\n"
    };
    rows.into_iter().map(line).collect()
}

fn field(field: String) -> String {
    match field.contains(['"', ',', '\r', '\n']) {
        true => format!("\"{}\"", field.replace('"', "\"\"")),
        false => field,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formulas_stay_text_and_commas_stay_in_their_field() {
        let row = ["=1+1", "a,b", "say \"so\"", "-3"].map(text).to_vec();
        assert_eq!(lines([row]), "'=1+1,\"a,b\",\"say \"\"so\"\"\",'-3\r\n");
        assert_eq!(text("a\x1b[31m"), "a\u{fffd}[31m");
    }
}
