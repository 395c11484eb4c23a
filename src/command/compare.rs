//! `compare`: what changed from one model to another, or from one folder of models to another.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::error::Error;
use std::ffi::OsStr;
use std::fmt::Write;
use std::fs;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use serde::Serialize;

use super::args::{CompareArgs, ReadArgs, WorkerOutput};
use super::choice::TargetArgs;
use super::document::{Document, Estimate, Provenance, TargetResult};
use super::isolation::Matched;
use super::table::Table;
use super::terminal::{bold, dim, green, heading, plain, red, wrapped, yellow};
use super::worker_request::{self, Request};
use super::{csv, inputs, quantity, sections, terminal, words};
use litecast::report::{FailedReport, Failure};

type Outcome = Result<Document, Failure>;

/// Reports of one side, by name.
type ReportsByName = Vec<(String, Option<Outcome>)>;

/// Something exact of a file, where it is known.
type Fact = fn(&Document) -> Option<u64>;

/// Name and unit in JSON of each fact, and its number. Those of the npm package and the Python package have the same.
const FACTS: [(&str, &str, Fact); 7] = [
    ("file_bytes", "bytes", |side| Some(side.model.file_bytes)),
    ("macs", "operations", |side| Some(side.model.macs)),
    ("parameters", "elements", |side| Some(side.model.parameters)),
    ("weight_bytes", "bytes", |side| {
        Some(side.model.weight_bytes)
    }),
    ("arena_bytes", "bytes", |side| side.model.arena_bytes),
    ("activation_bytes", "bytes", |side| {
        side.model.activation_bytes
    }),
    ("n_operators", "operators", |side| {
        Some(side.model.n_operators)
    }),
];

/// One model before and after; absent where it is on one side alone.
struct Pair {
    name: String,
    /// Whether the name is that of both in their folders.
    is_of_folders: bool,
    before: Option<Outcome>,
    after: Option<Outcome>,
}

/// A comparison of two reports: what `compare` of the npm package and of the Python package return, too. A side without
/// a report is null.
#[derive(Serialize)]
struct Comparison {
    before: Option<String>,
    after: Option<String>,
    facts: Vec<FactChange>,
    results: Vec<ResultChange>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
struct FactChange {
    fact: &'static str,
    unit: &'static str,
    #[serde(flatten)]
    change: Change,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
struct ResultChange {
    target: String,
    metric: String,
    device: String,
    /// Absent where neither side has an estimate.
    unit: Option<String>,
    #[serde(flatten)]
    change: Change,
    /// Whether the intervals overlap, so that the order of the two values is not sure; absent where one has none.
    is_within_intervals: Option<bool>,
    /// Why a side has no estimate.
    #[serde(skip_serializing_if = "Option::is_none")]
    unavailable_before: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    unavailable_after: Option<String>,
    /// What each number rests on.
    #[serde(skip_serializing_if = "Option::is_none")]
    evidence_before: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    evidence_after: Option<String>,
    /// The precision that a side is estimated in, where it is not that of its file.
    #[serde(skip_serializing_if = "Option::is_none")]
    estimated_as_before: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    estimated_as_after: Option<String>,
}

/// Why a change that a table shows may be none.
#[derive(Clone, Copy, PartialEq)]
enum ChangeDoubt {
    /// The intervals of both sides have values in common.
    Overlap,
    /// A number that rests on an assumption and has no interval.
    NoInterval,
}

/// One number on both sides.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
struct Change {
    before: Option<f64>,
    after: Option<f64>,
    difference: Option<f64>,
    change_percent: Option<f64>,
}

/// What a table shows of a number.
struct ChangeRow {
    /// Empty for facts of the file itself.
    target: String,
    metric: String,
    unit: String,
    change: Change,
    doubt: Option<ChangeDoubt>,
    /// What stands beside each number, ` as int8`, or in its place.
    beside: [String; 2],
    without: [&'static str; 2],
}

pub fn run(args: &CompareArgs) -> Result<ExitCode, Box<dyn Error>> {
    let mut pairs: BTreeMap<String, Pair> = BTreeMap::new();
    let mut matched = Vec::new();
    for path in [&args.before, &args.after] {
        fs::metadata(path).map_err(|error| format!("{}: {error}", path.display()))?;
    }
    let saved = [read_saved(&args.before)?, read_saved(&args.after)?];
    let targets = targets_of_files(args, &saved)?;
    let read = read_of_files(args, &saved);
    let [before, after] = saved;
    let mut before = side(before, &args.before, &read, &targets, &mut matched)?;
    let mut after = side(after, &args.after, &read, &targets, &mut matched)?;
    worker_request::check_dimensions(&args.read, &matched)?;
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
                is_of_folders: false,
                before,
                after,
            }],
        );
    }
    let new = |name: &String| Pair {
        name: name.clone(),
        is_of_folders: true,
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

/// The chosen targets, or else those of the reports that files are compared with.
fn targets_of_files(
    args: &CompareArgs,
    saved: &[Option<ReportsByName>; 2],
) -> Result<TargetArgs, Box<dyn Error>> {
    let mut targets = args.targets.clone();
    let has_files = saved.iter().any(Option::is_none);
    if !has_files || targets.chosen()?.is_some() {
        return Ok(targets);
    }
    let reports = saved.iter().flatten().flatten();
    let documents = reports.filter_map(|(_, outcome)| outcome.as_ref()?.as_ref().ok());
    for id in documents.flat_map(Document::targets) {
        let (ids, id) = match id.split_once('/') {
            Some((board, _)) => (&mut targets.boards, board),
            None => (&mut targets.targets, id),
        };
        if !ids.iter().any(|known| known == id) {
            ids.push(id.to_owned());
        }
    }
    targets.chosen().map_err(|error| {
        format!("{error}; it is a target of the report: choose targets with --target")
    })?;
    Ok(targets)
}

/// How files are read that are compared with reports: in the batch size of these, unless one is chosen.
fn read_of_files(args: &CompareArgs, saved: &[Option<ReportsByName>; 2]) -> ReadArgs {
    let mut read = args.read.clone();
    let reports = saved.iter().flatten().flatten();
    let mut documents = reports.filter_map(|(_, outcome)| outcome.as_ref()?.as_ref().ok());
    let batch = documents
        .next()
        .and_then(|report| NonZeroU32::new(report.batch));
    if read.batch == NonZeroU32::MIN {
        read.batch = batch.unwrap_or(read.batch);
    }
    read
}

/// Reports of one side, each with its name in the folder: those that were saved, or else new ones of the files.
fn side(
    saved: Option<ReportsByName>,
    path: &Path,
    read: &ReadArgs,
    targets: &TargetArgs,
    matched: &mut Vec<Matched>,
) -> Result<ReportsByName, Box<dyn Error>> {
    if let Some(reports) = saved {
        return Ok(reports);
    }
    let files = if path.is_dir() {
        // A folder may be empty, because a change may add the first model or remove the last one.
        inputs::models_below(path)
    } else {
        inputs::expand(&[path.to_owned()])?
    };
    let names: Vec<String> = files.iter().map(|file| name_below(file, path)).collect();
    let request = Request {
        are_dimensions_shared: true,
        targets,
        read,
        tell: WorkerOutput::Report,
    };
    let mut documents = Vec::new();
    matched.push(request.each(&files, |_, document| {
        documents.push(document);
        Ok(())
    })?);
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

/// Reports of one file, each of which may be a comparison without numbers of a kilobyte.
const MAX_REPORTS: usize = 1 << 14;

/// Reports that `predict --json` printed; `None` for any other file, because a model may be JSON as well.
fn read_saved(path: &Path) -> Result<Option<ReportsByName>, Box<dyn Error>> {
    let is_json = |extension: &OsStr| extension == "json" || extension == "jsonl";
    let place = path.display();
    let Some(metadata) = path
        .extension()
        .filter(|e| is_json(e))
        .and_then(|_| fs::metadata(path).ok())
    else {
        return Ok(None);
    };
    if metadata.len() > MAX_REPORTS_BYTES {
        return Err(format!(
            "{place}: expected at most {MAX_REPORTS_BYTES} bytes, found {}",
            metadata.len()
        )
        .into());
    }
    let text = fs::read_to_string(path).map_err(|error| format!("{place}: {error}"))?;
    let mut reports = ReportsByName::new();
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        if reports.len() == MAX_REPORTS {
            return Err(
                format!("{place}: expected at most {MAX_REPORTS} reports, found more").into(),
            );
        }
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
    let is_read = |side: &Option<Outcome>| matches!(side, Some(Ok(_)));
    let is_any_read = pairs
        .iter()
        .any(|pair| is_read(&pair.before) || is_read(&pair.after));
    if args.csv {
        terminal::print_raw(&csv::lines([COLUMNS.map(str::to_owned).to_vec()]))?;
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
            code = if is_any_read {
                ExitCode::FAILURE
            } else {
                ExitCode::from(super::exit::TROUBLE)
            };
        }
        if args.json {
            terminal::print_json(pair.json()? + "\n")?;
        } else if args.csv {
            terminal::print_raw(&rows(&pair.name, &pair.comparison()))?;
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

    fn comparison(&self) -> Comparison {
        let sides = self.sides();
        let [before, after] = sides.map(|side| side.map(|document| document.file.clone()));
        let fact = |(fact, unit, number): (&'static str, &'static str, Fact)| FactChange {
            fact,
            unit,
            change: Change::new(sides.map(|side| side.and_then(number).map(|fact| fact as f64))),
        };
        let mut keys: Vec<(&str, &str)> = Vec::new();
        let mut visited: HashSet<(&str, &str)> = HashSet::new();
        for result in sides.into_iter().flatten().flat_map(|side| &side.results) {
            let key = (result.target.as_str(), result.metric.as_str());
            if visited.insert(key) {
                keys.push(key);
            }
        }
        let index = |side: Option<&'_ Document>| -> HashMap<(String, String), usize> {
            let results = side.map_or(&[][..], |side| &side.results);
            let key = |result: &TargetResult| (result.target.clone(), result.metric.clone());
            (results.iter().enumerate())
                .map(|(idx, result)| (key(result), idx))
                .collect()
        };
        let indices = sides.map(index);
        let result = |(target, metric): (&str, &str)| {
            let key = (target.to_owned(), metric.to_owned());
            let of_side = |idx: usize| Some(&sides[idx]?.results[*indices[idx].get(&key)?]);
            ResultChange::new([of_side(0), of_side(1)])
        };
        Comparison {
            before,
            after,
            facts: FACTS.into_iter().map(fact).collect(),
            results: keys.into_iter().filter_map(result).collect(),
        }
    }

    fn json(&self) -> serde_json::Result<String> {
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
            comparison: self.comparison(),
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
        let settings = self.other_settings().into_iter().map(|words| (true, words));
        let both = before.iter().filter(|doubt| after.contains(doubt)).cloned();
        let before_alone = before.iter().filter(|doubt| !after.contains(doubt));
        let after_alone = after.iter().filter(|doubt| !before.contains(doubt));
        (settings.chain(both))
            .chain(before_alone.map(|doubt| of_one("before", doubt)))
            .chain(after_alone.map(|doubt| of_one("after", doubt)))
            .collect()
    }

    /// What the numbers of a target rest on where that differs between the sides: another batch size, clock, memory mode
    /// or number of threads changes them as much as another model.
    fn other_settings(&self) -> Vec<String> {
        let [Some(before), Some(after)] = self.sides() else {
            return Vec::new();
        };
        let mut lines = Vec::new();
        if before.batch != after.batch {
            lines.push(format!(
                "batch {} before, {} after",
                before.batch, after.batch
            ));
        }
        let mut known: Vec<([String; 2], Vec<&str>)> = Vec::new();
        for (result, estimate) in before.estimates() {
            let target = result.target.as_str();
            let other = after
                .result(target, &result.metric)
                .and_then(|other| other.estimate());
            let is_partial = |side: &Document| !side.left_to_processor(target).is_empty();
            // What is left to a processor depends on the model, and so do the words.
            let is_compiler = estimate.provenance.kind == COMPILER_RULES;
            if !is_compiler && (is_partial(before) || is_partial(after)) {
                continue;
            }
            let words =
                other.and_then(|other| differing_words(&estimate.provenance, &other.provenance));
            let Some(words) = words else { continue };
            match known.iter_mut().find(|(one, _)| *one == words) {
                Some((_, targets)) if targets.contains(&target) => (),
                Some((_, targets)) => targets.push(target),
                None => known.push((words, vec![target])),
            }
        }
        lines.extend(known.into_iter().map(|([before, after], targets)| {
            format!(
                "not of the same settings: {}: before {before}, after {after}",
                targets.join(", ")
            )
        }));
        lines
    }

    /// What is shown, how many numbers stayed the same, and why one side alone has no estimate.
    fn change_rows(&self, with_all: bool) -> (Vec<ChangeRow>, usize, Vec<String>) {
        let comparison = self.comparison();
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

    fn text(&self, with_all: bool, width: usize) -> String {
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

    fn markdown(&self, with_all: bool) -> String {
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

/// The kind of a number that a compiler's rules give.
const COMPILER_RULES: &str = "compiler rules";

/// What only one of two configurations says, of the same tool in the same version.
fn differing_words(before: &Provenance, after: &Provenance) -> Option<[String; 2]> {
    let is_same_tool =
        (&before.kind, &before.tool, &before.version) == (&after.kind, &after.tool, &after.version);
    let [of_before, of_after] = [before, after].map(settings);
    if !is_same_tool || of_before == of_after {
        return None;
    }
    let alone = |these: &[&str], others: &[&str]| {
        let these = these.iter().filter(|part| !others.contains(part));
        let words = these.copied().collect::<Vec<_>>().join(", ");
        if words.is_empty() {
            "not".to_owned()
        } else {
            words
        }
    };
    Some([alone(&of_before, &of_after), alone(&of_after, &of_before)])
}

/// What was chosen: all that a compiler's rules are of, elsewhere a clock and threads. The rest of a configuration tells what
/// a model was fitted to, and may depend on the network.
fn settings(of: &Provenance) -> Vec<&str> {
    let is_count = |text: &str| text == "one" || text.parse::<f64>().is_ok();
    let is_clock = |part: &str| {
        let clock = part
            .strip_prefix("at ")
            .and_then(|rest| rest.strip_suffix(" MHz"));
        clock.is_some_and(is_count)
    };
    let is_threads = |part: &str| {
        let threads = part.trim_end_matches('s').strip_suffix(" thread");
        threads.is_some_and(is_count)
    };
    let parts = of.configuration.split([',', ';']).map(str::trim);
    parts
        .filter(|part| of.kind == COMPILER_RULES || is_clock(part) || is_threads(part))
        .collect()
}

impl ChangeDoubt {
    fn mark(self) -> char {
        match self {
            Self::Overlap => '≈',
            Self::NoInterval => '†',
        }
    }

    /// The meaning of each mark that stands in the table.
    fn notes(shown: &[ChangeRow]) -> Vec<String> {
        let meaning = |doubt| match doubt {
            Self::Overlap => {
                "the intervals before and after overlap: which of the two is smaller is not sure"
            }
            Self::NoInterval => "assumed, without an interval: a small change may be none",
        };
        let is_there = |doubt| shown.iter().any(|shown| shown.doubt == Some(doubt));
        let doubts = [Self::Overlap, Self::NoInterval].into_iter();
        let notes = doubts.filter(|doubt| is_there(*doubt));
        let mut notes: Vec<String> = notes
            .map(|doubt| format!("{} {}", doubt.mark(), meaning(doubt)))
            .collect();
        if shown.iter().any(ChangeRow::has_unknown) {
            notes.push(format!("{} no estimate on this side", words::UNKNOWN));
        }
        notes
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

/// Relative changes below this are those of rounding.
const SAME: f64 = 0.0005;

impl ResultChange {
    fn doubt(&self) -> Option<ChangeDoubt> {
        let is_assumed = |evidence: &Option<String>| evidence.as_deref() == Some("assumed");
        match self.is_within_intervals {
            _ if self.change.is_same() || self.change.difference.is_none() => None,
            Some(true) => Some(ChangeDoubt::Overlap),
            Some(false) => None,
            None => (is_assumed(&self.evidence_before) || is_assumed(&self.evidence_after))
                .then_some(ChangeDoubt::NoInterval),
        }
    }

    /// None where neither side has the result.
    fn new(sides: [Option<&TargetResult>; 2]) -> Option<Self> {
        let either = sides[0].or(sides[1])?;
        let estimates = sides.map(|side| side.and_then(TargetResult::estimate));
        let interval = |estimate: Option<&Estimate>| estimate?.lo.zip(estimate?.hi);
        let [before, after] = estimates.map(interval);
        let overlap = |((lo, hi), (other_lo, other_hi)): ((f64, f64), (f64, f64))| {
            lo <= other_hi && other_lo <= hi
        };
        let why = |side: Option<&TargetResult>| side?.unavailable().map(str::to_owned);
        let [unavailable_before, unavailable_after] = sides.map(why);
        let [evidence_before, evidence_after] = sides.map(|side| side?.evidence.clone());
        let [estimated_as_before, estimated_as_after] =
            sides.map(|side| side?.estimated_as.clone());
        let unit = estimates[0]
            .or(estimates[1])
            .map(|estimate| estimate.unit.clone());
        Some(Self {
            target: either.target.clone(),
            metric: either.metric.clone(),
            device: either.device.clone(),
            unit,
            change: Change::new(estimates.map(|estimate| Some(estimate?.value))),
            is_within_intervals: before.zip(after).map(overlap),
            unavailable_before,
            unavailable_after,
            evidence_before,
            evidence_after,
            estimated_as_before,
            estimated_as_after,
        })
    }
}

impl Change {
    fn new([before, after]: [Option<f64>; 2]) -> Self {
        let both = before.zip(after);
        let percent = both.and_then(|(before, after)| match (before, after) {
            (0.0, 0.0) => Some(0.0),
            (0.0, _) => None,
            (before, after) => Some(100.0 * (after - before) / before),
        });
        Self {
            before,
            after,
            difference: both.map(|(before, after)| after - before),
            change_percent: percent,
        }
    }

    fn has_value(&self) -> bool {
        self.before.is_some() || self.after.is_some()
    }

    fn is_same(&self) -> bool {
        match (self.before, self.after) {
            (Some(before), Some(after)) => (after - before).abs() <= SAME * before.abs(),
            (None, None) => true,
            _ => false,
        }
    }
}

impl ChangeRow {
    fn from_fact(fact: &FactChange) -> Self {
        let unit = if fact.unit == "bytes" { fact.unit } else { "" };
        Self {
            target: String::new(),
            metric: fact.fact.to_owned(),
            unit: unit.to_owned(),
            change: fact.change,
            doubt: None,
            beside: Default::default(),
            without: [words::UNKNOWN; 2],
        }
    }

    /// `others`: of both sides, among them the latency of a network whose part on the accelerator is shown.
    fn from_result(result: &ResultChange, others: &[ResultChange]) -> Self {
        let is_whole = |other: &&ResultChange| {
            result.metric == "npu_latency"
                && other.metric == "latency"
                && other.target == result.target
        };
        let whole = others.iter().find(is_whole);
        let latencies = whole.map_or([None; 2], |whole| [whole.change.before, whole.change.after]);
        let reasons = [&result.unavailable_before, &result.unavailable_after];
        Self {
            target: result.target.clone(),
            metric: result.metric.clone(),
            unit: result.unit.clone().unwrap_or_default(),
            change: result.change,
            doubt: result.doubt(),
            beside: [&result.estimated_as_before, &result.estimated_as_after].map(|precision| {
                let words = precision
                    .as_ref()
                    .map(|precision| format!(" as {precision}"));
                words.unwrap_or_default()
            }),
            // A network that the accelerator runs alone has no latency for its part.
            without: [0, 1].map(|side| {
                if latencies[side].is_some() && reasons[side].is_none() {
                    "all"
                } else {
                    words::UNKNOWN
                }
            }),
        }
    }

    fn has_unknown(&self) -> bool {
        let sides = [self.change.before, self.change.after].into_iter();
        sides
            .zip(self.without)
            .any(|(value, without)| value.is_none() && without == words::UNKNOWN)
    }

    fn cells(&self) -> [String; 5] {
        let Change { before, after, .. } = self.change;
        let value = |value: Option<f64>, side: usize| {
            let number = match (value, self.unit.as_str()) {
                (None, _) => return self.without[side].to_owned(),
                (Some(value), "") => quantity::count(value as u64).to_string(),
                (Some(value), unit) => quantity::measure(value, unit).to_string(),
            };
            number + &self.beside[side]
        };
        let change = before.zip(after);
        let change = change.map_or(String::new(), |(before, after)| {
            quantity::change(before, after)
        });
        let mark = self.doubt.map(ChangeDoubt::mark).map(String::from);
        let mark = mark.unwrap_or_default();
        [
            self.target.clone(),
            words::metric(&self.metric).to_owned(),
            value(before, 0),
            value(after, 1),
            format!("{mark} {change}").trim().to_owned(),
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

const COLUMNS: [&str; 9] = [
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
        let change = |before, after| Change::new([before, after]);
        assert!(change(Some(1000.0), Some(1000.4)).is_same());
        assert!(!change(Some(1000.0), Some(1001.0)).is_same());
        assert!(!change(None, Some(1.0)).is_same());
        assert_eq!(change(Some(0.0), Some(1.0)).change_percent, None);
        assert_eq!(change(Some(0.0), Some(0.0)).change_percent, Some(0.0));
        assert_eq!(change(Some(8.0), Some(6.0)).change_percent, Some(-25.0));
    }
}
