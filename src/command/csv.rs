//! Rows for spreadsheets, with the columns of the page's tables (`www/src/export/csv.ts`).

use std::io;

use super::document::{Document, Outcome, TargetResult};
use super::terminal::{plain, print_raw};
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

/// The facts of a file, by the names of a report where a row of results has no other.
const FACTS: [&str; 21] = [
    "file",
    "batch",
    "precision",
    "operators",
    "macs",
    "file_bytes",
    "parameters",
    "weight_bytes",
    "arena_bytes",
    "activation_bytes",
    "peak_operator",
    "inputs",
    "outputs",
    "format",
    "schema_version",
    "description",
    "n_subgraphs",
    "n_tensors",
    "signatures",
    "reason",
    "error",
];

const OPERATORS: [&str; 20] = [
    "file",
    "index",
    "operator_idx",
    "operator",
    "output_tensor",
    "output_shape",
    "macs",
    "parameters",
    "weight_bytes",
    "input_bytes",
    "output_bytes",
    "live_bytes",
    "target",
    "metric",
    "value",
    "unit",
    "share_percent",
    "left_out",
    "reason",
    "error",
];

/// What a row is about.
#[derive(Clone, Copy, Debug)]
pub enum Rows {
    /// A target and a metric; a file where there are none.
    Results,
    /// A file.
    Facts,
    /// An operator, on each target that has an estimate by operator.
    Operators,
}

impl Rows {
    fn columns(self) -> &'static [&'static str] {
        match self {
            Self::Results => &RESULTS,
            Self::Facts => &FACTS,
            Self::Operators => &OPERATORS,
        }
    }

    pub fn header(self) -> String {
        lines([self.columns().iter().map(|&name| name.to_owned()).collect()])
    }

    /// Prints the rows of a report. Those of an operator are printed before those of many others are made: rows take many
    /// times the memory of their text.
    pub fn print(self, document: &Document) -> io::Result<()> {
        match self {
            Self::Results => self.print_all(results(document)),
            Self::Facts => self.print_all(vec![facts(document)]),
            Self::Operators => print_operators(document),
        }
    }

    fn print_all(self, rows: Vec<Vec<String>>) -> io::Result<()> {
        print_raw(&lines(rows.into_iter().map(|row| self.padded(row))))
    }

    /// The row of a file that has no report.
    pub fn failure(self, file: &str, failure: &Failure) -> String {
        let mut row = vec![text(file)];
        row.resize(self.columns().len() - 2, String::new());
        row.extend([failure.kind.clone(), text(&failure.message)]);
        lines([row])
    }

    fn padded(self, mut row: Vec<String>) -> Vec<String> {
        row.resize(self.columns().len(), String::new());
        row
    }
}

fn common_facts(document: &Document) -> Vec<String> {
    let model = &document.model;
    vec![
        text(&document.file),
        document.batch.to_string(),
        model.precision.clone(),
        model.n_operators.to_string(),
        model.macs.to_string(),
        model.file_bytes.to_string(),
    ]
}

/// One row without a target where the report has no results.
fn results(document: &Document) -> Vec<Vec<String>> {
    let facts = common_facts(document);
    if document.results.is_empty() {
        return vec![facts];
    }
    let row = |result| [facts.clone(), outcome(result)].concat();
    document.results.iter().map(row).collect()
}

/// Empty where there is none.
pub fn number<T: ToString>(value: Option<T>) -> String {
    value.map_or(String::new(), |value| value.to_string())
}

fn facts(document: &Document) -> Vec<String> {
    let model = &document.model;
    let tensors = |indices: &[usize]| {
        let words = indices.iter().filter_map(|&idx| document.tensor_words(idx));
        words.collect::<Vec<_>>().join("; ")
    };
    let further = vec![
        model.parameters.to_string(),
        model.weight_bytes.to_string(),
        number(model.arena_bytes),
        number(model.activation_bytes),
        number(model.peak_operator),
        tensors(&model.inputs),
        tensors(&model.outputs),
        model.format.clone(),
        model.schema_version.to_string(),
        text(&model.description),
        model.n_subgraphs.to_string(),
        model.n_tensors.to_string(),
        text(&model.signatures.join("; ")),
        // Why there is no arena.
        text(
            (document.micro_obstacle())
                .filter(|_| model.arena_bytes.is_none())
                .unwrap_or_default(),
        ),
    ];
    [common_facts(document), further].concat()
}

/// Characters that are printed at once.
const PRINTED_CHARS: usize = 1 << 16;

/// A row for each operator and target; one without a target where no target has an estimate by operator.
fn print_operators(document: &Document) -> io::Result<()> {
    let by_target = document.by_operator();
    let by_target: Vec<_> = by_target
        .map(|(result, parts, whole)| {
            (
                result,
                parts,
                whole,
                document.left_to_processor(&result.target),
            )
        })
        .collect();
    let mut printed = String::new();
    for operator in &document.operators {
        let output = operator.outputs.first();
        let output = output.and_then(|&idx| document.tensors.get(idx));
        let facts = vec![
            text(&document.file),
            operator.index.to_string(),
            operator.operator_idx.to_string(),
            text(&operator.name),
            text(output.map_or("", |tensor| &tensor.name)),
            document.output_shape(operator).replace('×', "x"),
            operator.macs.to_string(),
            operator.parameters.to_string(),
            operator.weight_bytes.to_string(),
            operator.input_bytes.to_string(),
            operator.output_bytes.to_string(),
            number(operator.live_bytes),
        ];
        let n_others = OPERATORS.len() - facts.len();
        let facts = joined(facts);
        let mut add = |mut of_target: Vec<String>| {
            of_target.resize(n_others, String::new());
            printed.extend([&facts, ",", &joined(of_target), "\r\n"]);
        };
        if by_target.is_empty() {
            add(Vec::new());
        }
        for (result, parts, whole, left_out) in &by_target {
            let part = parts.get(operator.index).copied();
            let share = part.filter(|_| whole.value > 0.0);
            let share = share.map(|part| 100.0 * part / whole.value);
            let left_out = left_out.get(&operator.index).copied();
            add(vec![
                text(&result.target),
                result.metric.clone(),
                number(part),
                whole.unit.clone(),
                number(share),
                text(left_out.unwrap_or_default()),
            ]);
        }
        if printed.len() >= PRINTED_CHARS {
            print_raw(&printed)?;
            printed.clear();
        }
    }
    print_raw(&printed)
}

fn outcome(result: &TargetResult) -> Vec<String> {
    let mut row = [&result.target, &result.device, &result.metric]
        .map(|id| text(id))
        .to_vec();
    match &result.outcome {
        Outcome::Estimate(estimate) => {
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
                    .map_or(String::new(), |_| words::reference_words(provenance)),
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

/// Names come from untrusted files. A text that a spreadsheet would evaluate as a formula gets an apostrophe in front.
/// Terminal control characters are replaced, because rows are also printed on terminals.
pub fn text(text: &str) -> String {
    let plain = plain(text);
    if text.starts_with(['=', '+', '-', '@', '\t', '\r']) {
        format!("'{plain}")
    } else {
        plain
    }
}

/// RFC 4180.
pub fn lines(rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let line = |row: Vec<String>| joined(row) + "\r\n";
    rows.into_iter().map(line).collect()
}

/// A line without its end.
fn joined(row: Vec<String>) -> String {
    let fields: Vec<String> = row.into_iter().map(field).collect();
    fields.join(",")
}

fn field(field: String) -> String {
    if field.contains(['"', ',', '\r', '\n']) {
        format!("\"{}\"", field.replace('"', "\"\""))
    } else {
        field
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
