//! `compare`: what changed from one model to another, or from one folder of models to another.

use std::collections::BTreeMap;
use std::error::Error;
use std::ffi::OsStr;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use serde::Serialize;

use super::args::{CompareArgs, Tell};
use super::document::Document;
use super::source::Request;
use super::table::Table;
use super::terminal::{dim, green, heading, plain, red, wrapped};
use super::{csv, inputs, quantity, terminal, words};
use litecast::report::{FailedReport, Failure};

type Outcome = Result<Document, Failure>;

/// Reports of one side, by name.
type Side = Vec<(String, Option<Outcome>)>;

/// Something exact of a file, where it is known.
type Fact = fn(&Document) -> Option<u64>;

/// One model before and after; absent where it is on one side alone.
struct Pair {
    name: String,
    before: Option<Outcome>,
    after: Option<Outcome>,
}

/// One number on both sides.
#[derive(Clone, Debug, PartialEq, Serialize)]
struct Change {
    /// Absent for exact facts of the file.
    target: Option<String>,
    metric: String,
    unit: String,
    before: Option<f64>,
    after: Option<f64>,
    /// `after` over `before`, less one.
    relative: Option<f64>,
    /// Why a side has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    unavailable_before: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    unavailable_after: Option<String>,
}

pub fn run(args: &CompareArgs) -> Result<ExitCode, Box<dyn Error>> {
    let mut pairs: BTreeMap<String, Pair> = BTreeMap::new();
    let [before, after] = [&args.before, &args.after].map(|path| side(path, args));
    let [mut before, mut after] = [before?, after?];
    let are_folders = args.before.is_dir() && args.after.is_dir();
    if let ([(_, before_document)], [(_, after_document)]) = (&mut before[..], &mut after[..])
        && !are_folders
    {
        // Two files are a pair, whatever they are called.
        let name = format!("{} → {}", args.before.display(), args.after.display());
        let documents = [before_document.take(), after_document.take()];
        let [before, after] = documents;
        return show(
            args,
            &[Pair {
                name,
                before,
                after,
            }],
        );
    }
    let new = |name: &String| Pair {
        name: name.clone(),
        before: None,
        after: None,
    };
    for (name, document) in before {
        pairs
            .entry(name.clone())
            .or_insert_with(|| new(&name))
            .before = document;
    }
    for (name, document) in after {
        pairs
            .entry(name.clone())
            .or_insert_with(|| new(&name))
            .after = document;
    }
    show(args, &pairs.into_values().collect::<Vec<_>>())
}

/// Reports of one side, each with its name in the folder.
fn side(path: &Path, args: &CompareArgs) -> Result<Side, Box<dyn Error>> {
    if let Some(reports) = saved(path)? {
        return Ok(reports);
    }
    let files = match path.is_dir() {
        // A folder may be empty, because a change may add the first model or remove the last one.
        true => inputs::models_below(path),
        false => inputs::expand(&[path.to_owned()])?,
    };
    let names: Vec<String> = files.iter().map(|file| name_below(file, path)).collect();
    let request = Request {
        targets: &args.targets,
        read: &args.read,
        tell: Tell::Report,
    };
    let mut documents = Vec::new();
    request.each(&files, |_, document| {
        documents.push(document);
        Ok(())
    })?;
    Ok(names
        .into_iter()
        .zip(documents.into_iter().map(Some))
        .collect())
}

fn name_below(file: &Path, folder: &Path) -> String {
    let below = file
        .strip_prefix(folder)
        .ok()
        .filter(|below| !below.as_os_str().is_empty());
    let name = below
        .map(PathBuf::from)
        .or_else(|| file.file_name().map(PathBuf::from));
    name.unwrap_or_else(|| file.to_owned())
        .to_string_lossy()
        .into_owned()
}

/// Larger than the reports of thousands of models.
const MAX_REPORTS_BYTES: u64 = 1 << 30;

/// Reports that `predict --json` printed; `None` for any other file, because a model may be JSON as well.
fn saved(path: &Path) -> Result<Option<Side>, Box<dyn Error>> {
    let is_json = |extension: &OsStr| extension == "json" || extension == "jsonl";
    let place = path.display();
    let Some(found) = path
        .extension()
        .filter(|e| is_json(e))
        .and_then(|_| fs::metadata(path).ok())
    else {
        return Ok(None);
    };
    if found.len() > MAX_REPORTS_BYTES {
        return Err(format!(
            "{place}: expected at most {MAX_REPORTS_BYTES} bytes, found {}",
            found.len()
        )
        .into());
    }
    let text = fs::read_to_string(path).map_err(|error| format!("{place}: {error}"))?;
    let mut reports = Side::new();
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        // The line of a file that failed has an error in the place of a report.
        if let Ok(FailedReport { file, error, .. }) = serde_json::from_str(line) {
            reports.push((file, Some(Err(error))));
            continue;
        }
        match Document::parse(line) {
            Ok(document) => reports.push((document.file.clone(), Some(Ok(document)))),
            Err(failure) if reports.is_empty() && failure.kind == "wrong-report" => {
                return Ok(None);
            }
            Err(failure) => return Err(format!("{place}: {failure}").into()),
        }
    }
    Ok(Some(reports))
}

fn show(args: &CompareArgs, pairs: &[Pair]) -> Result<ExitCode, Box<dyn Error>> {
    let mut code = ExitCode::SUCCESS;
    if args.csv {
        terminal::print_raw(&header())?;
    }
    if pairs.is_empty() && !args.json && !args.csv {
        terminal::print("no models on either side\n")?;
    }
    for pair in pairs {
        for failure in [&pair.before, &pair.after]
            .into_iter()
            .flatten()
            .filter_map(|side| side.as_ref().err())
        {
            terminal::complain(&format!("{}: {failure}", pair.name));
            code = ExitCode::FAILURE;
        }
        if args.json {
            terminal::print_json(pair.json() + "\n")?;
        } else if args.csv {
            terminal::print_raw(&rows(&pair.name, &pair.changes()))?;
        } else if args.markdown {
            terminal::print_raw(&pair.markdown(args.all))?;
        } else {
            terminal::print(&pair.text(args.all, terminal::width()))?;
        }
    }
    Ok(code)
}

impl Pair {
    fn sides(&self) -> [Option<&Document>; 2] {
        [&self.before, &self.after].map(|side| side.as_ref()?.as_ref().ok())
    }

    /// All numbers of both sides: facts, then metrics in the order of the later report.
    fn changes(&self) -> Vec<Change> {
        let sides = self.sides();
        let facts: [(&str, &str, Fact); 5] = [
            ("operators", "", |document| Some(document.model.n_operators)),
            ("macs", "", |document| Some(document.model.macs)),
            ("parameters", "", |document| Some(document.model.parameters)),
            ("file_size", "bytes", |document| {
                Some(document.model.file_bytes)
            }),
            ("arena", "bytes", |document| document.model.arena_bytes),
        ];
        let mut changes: Vec<Change> = facts
            .into_iter()
            .map(|(metric, unit, fact)| {
                let value = |side: Option<&Document>| side.and_then(fact).map(|fact| fact as f64);
                Change::new(None, metric, unit, sides.map(value))
            })
            .collect();
        let mut seen: Vec<(&str, &str)> = Vec::new();
        for result in [sides[1], sides[0]]
            .into_iter()
            .flatten()
            .flat_map(|side| &side.results)
        {
            let key = (result.target.as_str(), result.metric.as_str());
            if seen.contains(&key) || key.1 == "arena" {
                continue;
            }
            seen.push(key);
            changes.push(Change::of_metric(sides, key));
        }
        changes
    }

    fn json(&self) -> String {
        let error =
            |side: &Option<Outcome>| side.as_ref().and_then(|side| side.as_ref().err().cloned());
        let has = |side: &Option<Outcome>| side.is_some();
        serde_json::json!({
            "name": self.name,
            "in_before": has(&self.before),
            "in_after": has(&self.after),
            "error_before": error(&self.before),
            "error_after": error(&self.after),
            "changes": self.changes(),
        })
        .to_string()
    }

    /// Why there is nothing to compare, in words.
    fn one_sided(&self) -> Option<String> {
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

    /// What is shown, and how many numbers stayed the same.
    fn shown(&self, with_all: bool) -> (Vec<Change>, usize) {
        let (changed, same): (Vec<_>, Vec<_>) = self
            .changes()
            .into_iter()
            .partition(|change| with_all || !change.is_same());
        let n_same = same.iter().filter(|change| change.has_value()).count();
        (changed, n_same)
    }

    fn text(&self, with_all: bool, width: usize) -> String {
        let mut text = format!("{}\n", heading(&self.name, width));
        if let Some(words) = self.one_sided() {
            let _ = writeln!(text, "{}", wrapped(&plain(&words), width, "  "));
        }
        let (changes, n_same) = self.shown(with_all);
        let mut table = Table::default()
            .text("target")
            .text("metric")
            .number("before")
            .number("after")
            .number("change");
        for change in changes.iter().filter(|change| change.has_value()) {
            table.row(change.cells());
        }
        if !table.is_empty() {
            for line in table.lines_of(width).lines() {
                let _ = writeln!(text, "{}", coloured(line));
            }
        }
        for reason in reasons(&changes) {
            let _ = writeln!(text, "{}", wrapped(&plain(&reason), width, "  "));
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

    fn markdown(&self, with_all: bool) -> String {
        let mut text = format!("\n#### {}\n\n", markdown_text(&self.name));
        if let Some(words) = self.one_sided() {
            let _ = writeln!(text, "{}\n", markdown_text(&words));
        }
        let (changes, n_same) = self.shown(with_all);
        let mut rows = changes
            .iter()
            .filter(|change| change.has_value())
            .peekable();
        if rows.peek().is_some() {
            text += "| Target | Metric | Before | After | Change |\n|---|---|---:|---:|---:|\n";
        }
        for change in rows {
            let cells = change.cells().map(|cell| markdown_text(&cell));
            let _ = writeln!(text, "| {} |", cells.join(" | "));
        }
        for reason in reasons(&changes) {
            let _ = writeln!(text, "\n{}", markdown_text(&reason));
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

/// A rise in red, a fall in green: every metric is a cost.
fn coloured(line: &str) -> String {
    let Some(at) = line.rfind(['+', '−']).filter(|_| line.ends_with('%')) else {
        return line.to_owned();
    };
    let (start, change) = line.split_at(at);
    match change.starts_with('+') {
        true => format!("{start}{}", red(change)),
        false => format!("{start}{}", green(change)),
    }
}

/// Each reason that one side alone has once, with the targets that it holds for.
fn reasons(changes: &[Change]) -> Vec<String> {
    let mut reasons: Vec<(String, Vec<&str>)> = Vec::new();
    for change in changes {
        let (side, why) = match (&change.unavailable_before, &change.unavailable_after) {
            (None, Some(why)) => ("after", why),
            (Some(why), None) => ("before", why),
            _ => continue,
        };
        let target = change.target.as_deref().unwrap_or_default();
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

/// Relative changes below this are those of rounding.
const SAME: f64 = 0.0005;

impl Change {
    fn new(
        target: Option<&str>,
        metric: &str,
        unit: &str,
        [before, after]: [Option<f64>; 2],
    ) -> Self {
        let relative = before
            .zip(after)
            .map(|(before, after)| after / before - 1.0);
        Self {
            target: target.map(str::to_owned),
            metric: metric.to_owned(),
            unit: unit.to_owned(),
            before,
            after,
            relative: relative.filter(|relative| relative.is_finite()),
            unavailable_before: None,
            unavailable_after: None,
        }
    }

    fn of_metric(sides: [Option<&Document>; 2], (target, metric): (&str, &str)) -> Self {
        let value = |side: Option<&Document>| Some(side?.result(target, metric)?.estimate()?.value);
        let why = |side: Option<&Document>| {
            let mut reasons = side?.unavailable();
            let reason = reasons.find(|(t, m, _)| (*t, *m) == (target, metric));
            reason.map(|(.., words)| words.to_owned())
        };
        let unit = litecast::Metric::from_id(metric).map_or("", litecast::Metric::unit);
        let [unavailable_before, unavailable_after] = sides.map(why);
        Self {
            unavailable_before,
            unavailable_after,
            ..Self::new(Some(target), metric, unit, sides.map(value))
        }
    }

    fn has_value(&self) -> bool {
        self.before.is_some() || self.after.is_some()
    }

    fn is_same(&self) -> bool {
        match (self.before, self.after) {
            (Some(before), Some(after)) => (after - before).abs() <= SAME * before.abs(),
            (None, None) => self.unavailable_before.is_some() == self.unavailable_after.is_some(),
            _ => false,
        }
    }

    fn cells(&self) -> [String; 5] {
        let value = |value: Option<f64>| match (value, self.unit.as_str()) {
            (None, _) => "–".to_owned(),
            (Some(value), "") => quantity::count(value as u64).to_string(),
            (Some(value), unit) => quantity::measure(value, unit).to_string(),
        };
        let change = self.before.zip(self.after);
        let change = change.map_or(String::new(), |(before, after)| {
            quantity::change(before, after)
        });
        let metric = words::metric(&self.metric);
        [
            self.target.clone().unwrap_or_default(),
            metric.to_owned(),
            value(self.before),
            value(self.after),
            change,
        ]
    }
}

/// Text as text in Markdown: names come from files of strangers.
pub fn markdown_text(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in plain(text).chars() {
        match character {
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '&' => escaped.push_str("&amp;"),
            // A mention would notify a user.
            '@' => escaped.push_str("&#64;"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '#' | '!' | '~' => {
                escaped.push('\\');
                escaped.push(character);
            }
            character => escaped.push(character),
        }
    }
    escaped
}

fn header() -> String {
    let names = [
        "name", "target", "metric", "unit", "before", "after", "relative",
    ];
    csv::lines([names.map(str::to_owned).to_vec()])
}

fn rows(name: &str, changes: &[Change]) -> String {
    let number = |value: Option<f64>| value.map_or(String::new(), |value| value.to_string());
    let row = |change: &Change| {
        vec![
            csv::text(name),
            csv::text(change.target.as_deref().unwrap_or_default()),
            csv::text(&change.metric),
            change.unit.clone(),
            number(change.before),
            number(change.after),
            number(change.relative),
        ]
    };
    csv::lines(changes.iter().map(row))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_no_markdown() {
        let name = "a|b <b>[x](y)</b> @all\n# t";
        let expected = "a\\|b &lt;b&gt;\\[x\\](y)&lt;/b&gt; &#64;all\u{fffd}\\# t";
        assert_eq!(markdown_text(name), expected);
    }

    #[test]
    fn changes_of_rounding_are_none() {
        let change = |before, after| Change::new(None, "macs", "", [before, after]);
        assert!(change(Some(1000.0), Some(1000.4)).is_same());
        assert!(!change(Some(1000.0), Some(1001.0)).is_same());
        assert!(!change(None, Some(1.0)).is_same());
        assert_eq!(change(Some(0.0), Some(1.0)).relative, None);
    }
}
