//! One model before and after, in JSON, CSV, Markdown and on a terminal.

use std::fmt::Write;

use litecast::report::Failure;
use serde::Serialize;

use super::change_rows::{ChangeDoubt, ChangeRow};
use super::comparison::{Change, Comparison, ResultChange};
use super::settings;
use super::sides::Outcome;
use crate::command::document::Document;
use crate::command::markdown::markdown_text;
use crate::command::table::Table;
use crate::command::terminal::{bold, dim, green, heading, plain, red, wrapped, yellow};
use crate::command::{csv, sections, words};

/// One model before and after; absent where it is on one side alone.
pub struct Pair {
    pub name: String,
    /// Whether the name is that of both in their folders.
    pub is_of_folders: bool,
    pub before: Option<Outcome>,
    pub after: Option<Outcome>,
}

impl Pair {
    fn sides(&self) -> [Option<&Document>; 2] {
        [&self.before, &self.after].map(|side| side.as_ref()?.as_ref().ok())
    }

    /// A row for each fact and each result.
    pub fn csv(&self) -> String {
        rows(&self.name, &Comparison::new(self.sides()))
    }

    pub fn json(&self) -> serde_json::Result<String> {
        #[derive(Serialize)]
        struct Line<'p> {
            #[serde(skip_serializing_if = "Option::is_none")]
            name: Option<&'p str>,
            #[serde(flatten)]
            comparison: Comparison,
            #[serde(skip_serializing_if = "Option::is_none")]
            error_before: Option<&'p Failure>,
            #[serde(skip_serializing_if = "Option::is_none")]
            error_after: Option<&'p Failure>,
        }
        let [error_before, error_after] = [&self.before, &self.after]
            .map(|side| side.as_ref().and_then(|side| side.as_ref().err()));
        serde_json::to_string(&Line {
            name: self.is_of_folders.then_some(&self.name),
            comparison: Comparison::new(self.sides()),
            error_before,
            error_after,
        })
    }

    /// Why there is nothing to compare, in words.
    fn reason_without_comparison(&self) -> Option<String> {
        let words = |side: &Option<Outcome>, absent: &str| match side {
            None => Some(absent.to_owned()),
            Some(Err(failure)) => Some(failure.to_string()),
            Some(Ok(_)) => None,
        };
        let before = words(&self.before, "new").map(|words| match words.as_str() {
            "new" => words,
            words => format!("before: {words}"),
        });
        let after = words(&self.after, "removed").map(|words| match words.as_str() {
            "removed" => words,
            words => format!("after: {words}"),
        });
        let all: Vec<String> = before.into_iter().chain(after).collect();
        (!all.is_empty()).then(|| all.join("; "))
    }

    /// What speaks against the numbers of a side or says what they are of, each with whether it is a warning; of one side
    /// alone with its name.
    fn doubts(&self) -> Vec<(bool, String)> {
        let of_side = |side: Option<&Document>| -> Vec<(bool, String)> {
            let diagnostics = side.map_or(Vec::new(), sections::diagnostics);
            let said = diagnostics.into_iter().filter(|(diagnostic, _)| {
                diagnostic.severity == "warning" || diagnostic.code == "as-int8-tflite"
            });
            said.map(|(diagnostic, words)| (diagnostic.severity == "warning", words))
                .collect()
        };
        let [before, after] = self.sides().map(of_side);
        let has_both = self.sides().iter().all(Option::is_some);
        let of_one = |side: &str, (is_warning, words): &(bool, String)| {
            if has_both {
                (*is_warning, format!("{side}: {words}"))
            } else {
                (*is_warning, words.clone())
            }
        };
        let settings = settings::differences(self.sides())
            .into_iter()
            .map(|words| (true, words));
        let both = before.iter().filter(|doubt| after.contains(doubt)).cloned();
        let before_alone = before.iter().filter(|doubt| !after.contains(doubt));
        let after_alone = after.iter().filter(|doubt| !before.contains(doubt));
        (settings.chain(both))
            .chain(before_alone.map(|doubt| of_one("before", doubt)))
            .chain(after_alone.map(|doubt| of_one("after", doubt)))
            .collect()
    }

    /// What is shown, how many numbers stayed the same, and why one side alone has no estimate.
    fn change_rows(&self, with_all: bool) -> (Vec<ChangeRow>, usize, Vec<String>) {
        let comparison = Comparison::new(self.sides());
        let facts = comparison.facts.iter().map(ChangeRow::from_fact);
        let results = comparison.results.iter();
        // The fact has the same number.
        let results = results
            .filter(|result| result.metric != "arena")
            .map(|result| ChangeRow::from_result(result, &comparison.results));
        let (shown, same): (Vec<_>, Vec<_>) = facts
            .chain(results)
            .filter(|shown| shown.change.has_value())
            .partition(|shown| with_all || !shown.change.is_same());
        (shown, same.len(), reasons(&comparison.results))
    }

    pub fn text(&self, with_all: bool, width: usize) -> String {
        let mut text = format!("{}\n", heading(&self.name, width));
        if let Some(words) = self.reason_without_comparison() {
            let _ = writeln!(text, "{}", wrapped(&plain(&words), width, "  "));
        }
        let (shown, n_same, reasons) = self.change_rows(with_all);
        let mut table = Table::default()
            .text("target")
            .text("metric")
            .number("before")
            .number("after")
            .number("change");
        shown.iter().for_each(|shown| table.row(shown.cells()));
        if !table.is_empty() {
            for line in table.lines_of(width).lines() {
                let _ = writeln!(text, "{}", coloured(line));
            }
        }
        for note in ChangeDoubt::notes(&shown) {
            let _ = writeln!(text, "{}", dim(wrapped(&note, width, "  ")));
        }
        for reason in reasons {
            let _ = writeln!(text, "{}", wrapped(&plain(&reason), width, "  "));
        }
        for (is_warning, doubt) in self.doubts() {
            let word = if is_warning { "warning:" } else { "note:" };
            let line = wrapped(&format!("{word} {}", plain(&doubt)), width, "  ");
            let line = line.strip_prefix(word).unwrap_or(&line);
            let word = if is_warning { yellow(word) } else { bold(word) };
            let _ = writeln!(text, "{word}{line}");
        }
        if n_same > 0 {
            let numbers = words::plural(n_same, "number");
            let _ = writeln!(
                text,
                "{}",
                dim(format!("{numbers} did not change; --all shows them"))
            );
        }
        text.push('\n');
        text
    }

    pub fn markdown(&self, with_all: bool) -> String {
        let mut text = format!("\n#### {}\n\n", markdown_text(&self.name));
        if let Some(words) = self.reason_without_comparison() {
            let _ = writeln!(text, "{}\n", markdown_text(&words));
        }
        let (shown, n_same, reasons) = self.change_rows(with_all);
        if !shown.is_empty() {
            text += "| Target | Metric | Before | After | Change |\n|---|---|---:|---:|---:|\n";
        }
        for shown in &shown {
            let cells = shown.cells().map(|cell| markdown_text(&cell));
            let _ = writeln!(text, "| {} |", cells.join(" | "));
        }
        for note in ChangeDoubt::notes(&shown) {
            let _ = writeln!(text, "\n{note}");
        }
        for reason in reasons {
            let _ = writeln!(text, "\n{}", markdown_text(&reason));
        }
        for (is_warning, doubt) in self.doubts() {
            let word = if is_warning { "Warning: " } else { "" };
            let _ = writeln!(text, "\n{word}{}", markdown_text(&doubt));
        }
        if n_same > 0 {
            let _ = writeln!(
                text,
                "\n{} did not change.",
                words::plural(n_same, "number")
            );
        }
        text
    }
}

/// A rise in red, a fall in green: every metric is a cost. What may be no change has no colour.
fn coloured(line: &str) -> String {
    let is_change = line.ends_with('%')
        && ![ChangeDoubt::Overlap, ChangeDoubt::NoInterval]
            .iter()
            .any(|doubt| line.contains(doubt.mark()));
    let Some(at) = line.rfind(['+', '−']).filter(|_| is_change) else {
        return line.to_owned();
    };
    let (start, change) = line.split_at(at);
    if change.starts_with('+') {
        format!("{start}{}", red(change))
    } else {
        format!("{start}{}", green(change))
    }
}

/// Each reason that one side alone has once, with the targets that it holds for.
fn reasons(results: &[ResultChange]) -> Vec<String> {
    let mut reasons: Vec<(String, Vec<&str>)> = Vec::new();
    for result in results {
        let (side, why) = match (&result.unavailable_before, &result.unavailable_after) {
            (None, Some(why)) => ("after", why),
            (Some(why), None) => ("before", why),
            _ => continue,
        };
        let target = result.target.as_str();
        let text = format!("no estimate {side}: {why}");
        match reasons.iter_mut().find(|(known, _)| *known == text) {
            Some((_, targets)) if targets.contains(&target) => {}
            Some((_, targets)) => targets.push(target),
            None => reasons.push((text, vec![target])),
        }
    }
    let words = |(text, targets): (String, Vec<&str>)| format!("{}: {text}", targets.join(", "));
    reasons.into_iter().map(words).collect()
}

/// The columns of [`Pair::csv`].
pub const COLUMNS: [&str; 9] = [
    "name",
    "target",
    "metric",
    "unit",
    "before",
    "after",
    "difference",
    "change_percent",
    "is_within_intervals",
];

/// A row for each fact and each result.
fn rows(name: &str, comparison: &Comparison) -> String {
    let number = csv::number::<f64>;
    let row = |target: &str, metric: &str, unit: &str, change: &Change, overlap: Option<bool>| {
        vec![
            csv::text(name),
            csv::text(target),
            csv::text(metric),
            unit.to_owned(),
            number(change.before),
            number(change.after),
            number(change.difference),
            number(change.change_percent),
            overlap.map_or(String::new(), |overlap| overlap.to_string()),
        ]
    };
    let facts = comparison.facts.iter();
    let facts = facts.map(|fact| row("", fact.fact, fact.unit, &fact.change, None));
    let results = comparison.results.iter().map(|result| {
        let unit = result.unit.as_deref().unwrap_or_default();
        row(
            &result.target,
            &result.metric,
            unit,
            &result.change,
            result.is_within_intervals,
        )
    });
    csv::lines(facts.chain(results))
}
