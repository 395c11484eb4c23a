//! `check`: models against limits, with an exit code for CI.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::error::Error;
use std::fmt::Write;
use std::fs;
use std::hash::Hash;
use std::io::{self, Read};
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use serde::Deserialize;

use super::args::{CheckArgs, ReadArgs, WorkerOutput};
use super::budget::{ARENA_TARGET, Against, Limits, Status, Verdict};
use super::choice::{NpuArgs, Optimise, TargetArgs};
use super::inputs::{self, ConfigurationFolder};
use super::table::Table;
use super::terminal::{green, heading, plain, red, wrapped, yellow};
use super::worker_request::{self, Request};
use super::{csv, markdown, quantity, terminal, words};
use litecast::report::Failure;

/// Files that are checked against the same limits on the same targets.
struct Section {
    files: Vec<PathBuf>,
    targets: TargetArgs,
    limits: Limits,
    against: Against,
    read: ReadArgs,
    /// Where its files have to be; absent for files of the command line, and where `--outside` allows any.
    below: Option<ConfigurationFolder>,
}

/// A parser's message, with the line instead of its text: the file may be any that a symbolic link leads to, and its
/// contents are not for the log of a build.
fn without_contents(error: &toml::de::Error, text: &str) -> String {
    let start = error.span().map_or(0, |span| span.start);
    let before = text.get(..start).unwrap_or(text);
    let line = 1 + before.matches('\n').count();
    let message = error.message();
    // What the file has stands between quotes, before what was expected in its place.
    let words = if message.starts_with("missing field") {
        message.to_owned()
    } else {
        let quote = message.find(['`', '"', '\'']).unwrap_or(message.len());
        let expected = message.rfind(", expected ").filter(|&at| at >= quote);
        let expected = expected.map_or("", |at| &message[at..]);
        format!("{}{expected}", message[..quote].trim_end())
    };
    let words: Vec<&str> = words.split_whitespace().collect();
    format!("line {line}: {}", words.join(" "))
}

/// Each estimates its files once more.
const MAX_CHECKS: usize = 256;

/// `litecast.toml`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Config {
    check: Vec<CheckTable>,
}

/// One `[[check]]`.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct CheckTable {
    /// Relative to the file that names them.
    files: Vec<PathBuf>,
    #[serde(default)]
    targets: Vec<String>,
    #[serde(default)]
    boards: Vec<String>,
    /// Files of measured devices, relative to the file that names them.
    #[serde(default)]
    devices: Vec<PathBuf>,
    /// Families of targets, as `--group` takes them.
    #[serde(default)]
    groups: Vec<String>,
    vela_ini: Option<PathBuf>,
    system_config: Option<String>,
    memory_mode: Option<String>,
    arena_cache_size: Option<u32>,
    optimise: Option<Optimise>,
    runtime: Option<String>,
    release: Option<String>,
    host: Option<String>,
    clock_mhz: Option<f64>,
    batch: Option<NonZeroU32>,
    threads: Option<NonZeroU32>,
    int8: Option<bool>,
    as_is: Option<bool>,
    against: Option<Against>,
    max: Limits,
}

/// The file that is read without `--config`.
pub const CONFIG: &str = "litecast.toml";

/// Larger than anyone writes by hand. Nested keys take up to a hundred times their bytes while they are read.
const MAX_CONFIG_BYTES: u64 = 1 << 19;

/// Bytes of devices and of a `vela.ini` in all checks together, of the latter for each target: they are read each time.
const MAX_REREAD_BYTES: u64 = 32 << 20;

/// Targets, boards, devices and groups of one check, each once: more than there are.
const MAX_CHOICES: usize = 512;

pub fn run(args: &CheckArgs) -> Result<ExitCode, Box<dyn Error>> {
    let sections = if args.files.is_empty() {
        sections_from_config(args)?
    } else {
        vec![section_from_arguments(args)?]
    };
    let mut tally = Tally::default();
    if args.csv {
        terminal::print_raw(&header())?;
    }
    let files = sections
        .iter()
        .map(|section| inputs::expand(&section.files));
    let files: Vec<Vec<PathBuf>> = files.collect::<Result<_, _>>()?;
    check_repeats(&files)?;
    let are_dimensions_shared = files.iter().map(Vec::len).sum::<usize>() > 1;
    let pairs = sections.iter().zip(files);
    let (read, refused): (Vec<_>, Vec<_>) = pairs
        .map(|(section, files)| section.readable_and_refused(files))
        .unzip();
    let requests: Vec<Request> = sections
        .iter()
        .map(|section| Request {
            are_dimensions_shared,
            targets: &section.targets,
            read: &section.read,
            tell: WorkerOutput::Report,
        })
        .collect();
    let files_by_request: Vec<_> = (requests.iter())
        .zip(read.iter().map(Vec::as_slice))
        .collect();
    let mut give = |file: &Path, verdicts: Result<Vec<Verdict>, Failure>| {
        tally.count(file, &verdicts);
        show(args, &file.to_string_lossy(), &verdicts)
    };
    // Those of a section stand before its other files.
    let mut refused = refused.into_iter().enumerate().peekable();
    let matched = worker_request::each_json(&files_by_request, |idx, file, json| {
        while let Some((_, files)) = refused.next_if(|(of, _)| *of <= idx) {
            give_refused(files, &mut give)?;
        }
        let section = &sections[idx];
        let verdicts = worker_request::parsed(json).map(|document| {
            let mut verdicts = section.limits.check(&document, section.against);
            verdicts
                .iter_mut()
                .for_each(|verdict| verdict.add_evidence_and_doubts(&document));
            verdicts
        });
        give(file, verdicts)
    })?;
    for (_, files) in refused {
        give_refused(files, &mut give)?;
    }
    worker_request::check_dimensions(&args.read, &[matched])?;
    if !args.csv && !args.json {
        terminal::print(&tally.words(args.markdown))?;
    }
    Ok(tally.exit_code())
}

/// Says why files of a configuration are not read.
fn give_refused(
    files: Vec<(PathBuf, String)>,
    give: &mut impl FnMut(&Path, Result<Vec<Verdict>, Failure>) -> io::Result<()>,
) -> io::Result<()> {
    files
        .into_iter()
        .try_for_each(|(file, words)| give(&file, Err(Failure::new("file-unreadable", words))))
}

/// Fails where a file is named more often than a configuration has checks, under whatever names.
fn check_repeats(files: &[Vec<PathBuf>]) -> Result<(), String> {
    let mut n_by_file: HashMap<PathBuf, usize> = HashMap::new();
    for path in files.iter().flatten() {
        let n = n_by_file.entry(inputs::identity(path)).or_default();
        *n += 1;
        if *n > MAX_CHECKS {
            let path = path.display();
            return Err(format!(
                "{path}: expected at most {MAX_CHECKS} checks of one file, found more"
            ));
        }
    }
    Ok(())
}

fn section_from_arguments(args: &CheckArgs) -> Result<Section, Box<dyn Error>> {
    let section = Section {
        files: args.files.clone(),
        targets: args.targets.clone(),
        limits: args.limits.clone(),
        against: args.against.unwrap_or_default(),
        read: args.read.clone(),
        below: None,
    };
    section.with_checked_limits("give one, for example --max-latency 10ms", "--target")
}

fn sections_from_config(args: &CheckArgs) -> Result<Vec<Section>, Box<dyn Error>> {
    let path = &args.config;
    let place = path.display();
    if !args.limits.is_empty() {
        return Err(
            "limits on the command line are for files on the command line: give FILE".into(),
        );
    }
    let text = config_text(path)?;
    let config: Config = toml::from_str(&text)
        .map_err(|error| format!("{place}: {}", without_contents(&error, &text)))?;
    let folder = path.parent().unwrap_or(Path::new(""));
    let below = || {
        if args.outside {
            Ok(None)
        } else {
            ConfigurationFolder::new(path).map(Some)
        }
    };
    let n_checks = config.check.len();
    if n_checks > MAX_CHECKS {
        let words =
            format!("{place}: expected at most {MAX_CHECKS} of [[check]], found {n_checks}");
        return Err(words.into());
    }
    let mut reread_bytes = 0;
    let section = |(idx, written): (usize, CheckTable)| {
        let below = below().map_err(|error| format!("{place}: {error}"))?;
        let section = section_of_table(args, folder, below, written, &mut reread_bytes);
        section.map_err(|error| format!("{place}: check {}: {error}", idx + 1).into())
    };
    config.check.into_iter().enumerate().map(section).collect()
}

/// A section whose files are in `folder`. Adds the bytes of those that are read for it to `reread_bytes`.
fn section_of_table(
    args: &CheckArgs,
    folder: &Path,
    below: Option<ConfigurationFolder>,
    mut written: CheckTable,
    reread_bytes: &mut u64,
) -> Result<Section, Box<dyn Error>> {
    let n_choices = written.drop_repeated();
    if n_choices > MAX_CHOICES {
        let words = format!(
            "expected at most {MAX_CHOICES} targets, boards, devices and groups, found {n_choices}"
        );
        return Err(words.into());
    }
    let in_folder = |files: &[PathBuf]| -> Vec<PathBuf> {
        files.iter().map(|file| folder.join(file)).collect()
    };
    let files = in_folder(&written.files);
    let vela_ini = written.vela_ini.take().map(|ini| folder.join(ini));
    let devices = in_folder(&written.devices);
    let read: Vec<&PathBuf> = vela_ini.iter().chain(&devices).collect();
    for path in &read {
        inputs::check_length(path)?;
    }
    let refused = below
        .as_ref()
        .and_then(|below| below.first_refused(&files, &read));
    if let Some(words) = refused {
        return Err(words.into());
    }
    let bytes_of = |path: &PathBuf| fs::metadata(path).map_or(0, |metadata| metadata.len());
    let of_ini = vela_ini.as_ref().map_or(0, bytes_of);
    *reread_bytes += devices.iter().map(bytes_of).sum::<u64>();
    *reread_bytes += of_ini.saturating_mul(written.targets.len() as u64);
    if *reread_bytes > MAX_REREAD_BYTES {
        let words = format!(
            "expected at most {MAX_REREAD_BYTES} bytes of devices and vela-ini in all checks, of vela-ini for each target, \
             found {reread_bytes}"
        );
        return Err(words.into());
    }
    let section = written.into_section(args, [files, devices], vela_ini, below);
    section.with_checked_limits(
        "give one, for example max = { latency = \"10ms\" }",
        "targets",
    )
}

/// The contents of the file of checks.
fn config_text(path: &Path) -> Result<String, Box<dyn Error>> {
    let place = path.display();
    let metadata = fs::metadata(path).map_err(|error| {
        format!("no FILE, and {place}: {error}; `litecast check --help` tells what it takes")
    })?;
    // A pipe that someone names has a writer; one that lies there may have none for ever.
    if !metadata.is_file() && path.as_os_str() == CONFIG {
        return Err(format!("{place}: expected a file, found a folder, pipe or device").into());
    }
    let mut bytes = Vec::new();
    // Devices have no length, and bytes without end.
    let file = fs::File::open(path).map_err(|error| format!("{place}: {error}"))?;
    (file.take(MAX_CONFIG_BYTES + 1).read_to_end(&mut bytes))
        .map_err(|error| format!("{place}: {error}"))?;
    if bytes.len() as u64 > MAX_CONFIG_BYTES {
        let n_bytes = metadata.len().max(bytes.len() as u64);
        let words = format!("{place}: expected at most {MAX_CONFIG_BYTES} bytes, found {n_bytes}");
        return Err(words.into());
    }
    Ok(String::from_utf8(bytes).map_err(|error| {
        let before = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let line = 1 + before.iter().filter(|&&byte| byte == b'\n').count();
        format!("{place}: line {line}: expected UTF-8")
    })?)
}

impl CheckTable {
    /// Leaves each choice of a target once. Returns how many there are.
    fn drop_repeated(&mut self) -> usize {
        fn keep_once<T: Clone + Eq + Hash>(choices: &mut Vec<T>) -> usize {
            let mut known = HashSet::new();
            choices.retain(|choice| known.insert(choice.clone()));
            choices.len()
        }
        keep_once(&mut self.targets)
            + keep_once(&mut self.boards)
            + keep_once(&mut self.groups)
            + keep_once(&mut self.devices)
    }

    /// With paths below the folder of the file that names them.
    fn into_section(
        self,
        args: &CheckArgs,
        [files, devices]: [Vec<PathBuf>; 2],
        vela_ini: Option<PathBuf>,
        below: Option<ConfigurationFolder>,
    ) -> Section {
        Section {
            files,
            below,
            targets: TargetArgs {
                targets: self.targets,
                boards: self.boards,
                devices,
                runtime: self.runtime,
                release: self.release,
                npu: NpuArgs {
                    vela_ini,
                    system_config: self.system_config,
                    memory_mode: self.memory_mode,
                    arena_cache_size: self.arena_cache_size,
                    optimise: self.optimise,
                },
                host: self.host,
                clock_mhz: self.clock_mhz,
                gpu: false,
                groups: self.groups,
                measured: None,
            },
            limits: Limits {
                weights_include_file: true,
                ..self.max
            },
            against: args.against.or(self.against).unwrap_or_default(),
            read: ReadArgs {
                batch: self.batch.unwrap_or(args.read.batch),
                threads: self.threads.unwrap_or(args.read.threads),
                dimensions: args.read.dimensions.clone(),
                application: args.read.application,
                int8: self.int8.unwrap_or(args.read.int8),
                as_is: self.as_is.unwrap_or(args.read.as_is),
                time_limit: args.read.time_limit,
            },
        }
    }
}

impl Section {
    /// With the target of the arena, where that is limited.
    ///
    /// # Errors
    /// No limits, or limits of targets without a target.
    /// Its files, and those outside of its folder, each with why it is not read.
    fn readable_and_refused(&self, files: Vec<PathBuf>) -> (Vec<PathBuf>, Vec<(PathBuf, String)>) {
        match &self.below {
            Some(below) => below.readable_and_refused(files),
            None => (files, Vec::new()),
        }
    }

    fn with_checked_limits(
        mut self,
        how: &str,
        target_option: &str,
    ) -> Result<Self, Box<dyn Error>> {
        if self.limits.is_empty() {
            return Err(format!("expected at least one limit: {how}").into());
        }
        let is_chosen = !self.targets.targets.is_empty()
            || !self.targets.boards.is_empty()
            || !self.targets.devices.is_empty();
        if self.limits.needs_target() && !is_chosen {
            return Err(format!(
                "a limit depends on the target: expected {target_option}, one that `litecast targets` lists"
            )
            .into());
        }
        let arena = ARENA_TARGET.to_owned();
        if (self.limits.arena.is_some() || !is_chosen) && !self.targets.targets.contains(&arena) {
            self.targets.targets.push(arena);
        }
        Ok(self)
    }
}

/// The totals over all files.
#[derive(Default)]
struct Tally {
    /// By path: several sections may check a file.
    files: BTreeSet<PathBuf>,
    failed: BTreeSet<PathBuf>,
    n_limits: usize,
    n_over: usize,
    n_unknown: usize,
}

impl Tally {
    fn count(&mut self, file: &Path, verdicts: &Result<Vec<Verdict>, Failure>) {
        self.files.insert(file.to_owned());
        let Ok(verdicts) = verdicts else {
            self.failed.insert(file.to_owned());
            return;
        };
        let n = |status| {
            verdicts
                .iter()
                .filter(|verdict| verdict.status == status)
                .count()
        };
        self.n_limits += verdicts.len();
        self.n_over += n(Status::Over);
        self.n_unknown += n(Status::Unknown);
    }

    fn exit_code(&self) -> ExitCode {
        match (self.is_passed(), self.n_checked()) {
            (true, _) => ExitCode::SUCCESS,
            (false, 0) => ExitCode::from(super::exit::TROUBLE),
            (false, _) => ExitCode::FAILURE,
        }
    }

    /// Limits that a number was held against.
    fn n_checked(&self) -> usize {
        self.n_limits - self.n_unknown
    }

    /// Whether everything passed; nothing passes without a check.
    fn is_passed(&self) -> bool {
        self.n_limits > 0 && self.n_over + self.n_unknown + self.failed.len() == 0
    }

    fn words(&self, is_markdown: bool) -> String {
        let files = words::plural(self.files.len(), "file");
        let limits = words::plural(self.n_limits, "limit");
        let mut words = match (self.n_checked(), self.n_over) {
            (0, _) => format!("nothing could be checked: {limits} of {files}"),
            (checked, 0) if checked == self.n_limits => {
                format!("{limits} of {files} checked, none exceeded")
            }
            (checked, 0) => format!("{checked} of {limits} of {files} checked, none exceeded"),
            (_, n) => format!("{n} of {limits} exceeded in {files}"),
        };
        if self.n_unknown > 0 {
            let _ = write!(words, "; {} without an estimate", self.n_unknown);
        }
        if !self.failed.is_empty() {
            let _ = write!(
                words,
                "; {} without a report",
                words::plural(self.failed.len(), "file")
            );
        }
        match (is_markdown, self.is_passed()) {
            (true, true) => format!("\n:white_check_mark: {words}\n"),
            (true, false) => format!("\n:x: {words}\n"),
            (false, true) => format!("{}\n", green(words)),
            (false, false) => format!("{}\n", red(words)),
        }
    }
}

fn show(args: &CheckArgs, file: &str, verdicts: &Result<Vec<Verdict>, Failure>) -> io::Result<()> {
    if let Err(failure) = verdicts {
        terminal::complain(&format!("{file}: {failure}"));
    }
    match (verdicts, args.json, args.csv, args.markdown) {
        (Ok(verdicts), true, ..) => {
            let is_passed = verdicts
                .iter()
                .all(|verdict| verdict.status == Status::Within);
            let line = serde_json::json!({ "file": file, "passed": is_passed, "limits": verdicts });
            terminal::print_json(format!("{line}\n"))
        }
        (Err(failure), true, ..) => {
            terminal::print_json(worker_request::failed_line(file, failure.clone())?)
        }
        (Ok(verdicts), _, true, _) => terminal::print_raw(&rows(file, verdicts)),
        (Ok(verdicts), .., true) => terminal::print_raw(&markdown(file, verdicts)),
        (Ok(verdicts), ..) => terminal::print(&text(file, verdicts, terminal::width())),
        (Err(failure), _, _, true) => {
            let [file, words] = [file, &failure.message].map(markdown::markdown_text);
            terminal::print_raw(&format!("\n**{file}**: no report: {words}\n"))
        }
        (Err(_), ..) => Ok(()),
    }
}

fn text(file: &str, verdicts: &[Verdict], width: usize) -> String {
    let mut table = Table::default()
        .text("")
        .text("target")
        .text("metric")
        .number("found")
        .number("limit")
        .text("margin");
    for verdict in verdicts {
        table.row(cells(verdict));
    }
    let mut text = format!("{}\n", heading(file, width));
    for line in table.lines_of(width).lines() {
        let line = match line.split_whitespace().next() {
            Some("OVER") => line.replacen("OVER", &red("OVER"), 1),
            Some("?") => line.replacen('?', &yellow("?"), 1),
            Some("ok") => line.replacen("ok", &green("ok"), 1),
            _ => line.to_owned(),
        };
        let _ = writeln!(text, "{line}");
    }
    for note in notes(verdicts) {
        let _ = writeln!(text, "{}", wrapped(&plain(&note), width, "  "));
    }
    text.push('\n');
    text
}

fn cells(verdict: &Verdict) -> [String; 6] {
    let status = match verdict.status {
        Status::Within => "ok",
        Status::Over => "OVER",
        Status::Unknown => "?",
    };
    let estimates = verdict
        .compared_value()
        .map_or(words::UNKNOWN.to_owned(), |value| {
            verdict.words_beside_limit(value)
        });
    let estimates = match verdict.against {
        Against::Upper => format!("≤ {estimates}"),
        Against::Value => estimates,
    };
    [
        status.to_owned(),
        verdict.target.clone().unwrap_or_default()
            + &verdict
                .estimated_as
                .as_ref()
                .map_or(String::new(), |precision| format!(" (as {precision})")),
        words::metric(&verdict.metric).to_owned(),
        estimates,
        verdict.limit_words(verdict.compared_value()),
        margin(verdict),
    ]
}

/// By how much a limit is exceeded, or how much of it is used.
fn margin(verdict: &Verdict) -> String {
    match (verdict.status, verdict.over, verdict.compared_value()) {
        (Status::Over, Some(over), _) => {
            let change = quantity::change(verdict.limit, verdict.limit + over);
            let change = Some(change).filter(|change| verdict.limit > 0.0 && change != "0 %");
            let percent = change.map_or(String::new(), |change| format!(" ({change})"));
            format!("over by {}{percent}", verdict.words(over))
        }
        (Status::Within, _, Some(value)) if verdict.limit > 0.0 => {
            format!("{} used", quantity::percent(100.0 * value / verdict.limit))
        }
        _ => String::new(),
    }
}

/// What is to be said about the verdicts: a reason or a doubt that several share once, with all of them.
fn notes(verdicts: &[Verdict]) -> Vec<String> {
    let place = |verdict: &Verdict| match &verdict.target {
        Some(target) => format!("{target}, {}", words::metric(&verdict.metric)),
        None => words::metric(&verdict.metric).to_owned(),
    };
    let mut shared: Vec<(String, Vec<String>)> = Vec::new();
    let mut close = Vec::new();
    let mut say =
        |said: String, source: String| match shared.iter_mut().find(|(known, _)| *known == said) {
            Some((_, places)) if places.contains(&source) => {}
            Some((_, places)) => places.push(source),
            None => shared.push((said, vec![source])),
        };
    for verdict in verdicts {
        match (&verdict.unavailable, &verdict.target) {
            (Some(why), _) => say(format!("no estimate: {why}"), place(verdict)),
            (None, Some(target)) => {
                for doubt in &verdict.doubts {
                    let named = doubt.strip_prefix(&format!("{target}: "));
                    let words = format!("warning: {}", named.unwrap_or(doubt));
                    say(words, target.clone());
                }
            }
            (None, None) => {}
        }
        if let Some(upper) = verdict.upper.filter(|_| verdict.is_close()) {
            close.push(format!(
                "{}: the interval reaches to {}, beyond the limit of {}; --against upper compares that",
                place(verdict),
                verdict.words_beside_limit(upper),
                verdict.limit_words(Some(upper))
            ));
        }
    }
    let shared = shared.into_iter();
    shared
        .map(|(said, places)| format!("{}: {said}", places.join("; ")))
        .chain(close)
        .collect()
}

fn markdown(file: &str, verdicts: &[Verdict]) -> String {
    let mut text = format!("\n**{}**\n\n", markdown::markdown_text(file));
    text += "| | Target | Metric | Found | Limit | Margin |\n|---|---|---|---:|---:|---|\n";
    for verdict in verdicts {
        let cells = cells(verdict).map(|cell| markdown::markdown_text(&cell));
        let _ = writeln!(text, "| {} |", cells.join(" | "));
    }
    for note in notes(verdicts) {
        let _ = writeln!(text, "\n{}", markdown::markdown_text(&note));
    }
    text
}

fn header() -> String {
    let names = [
        "file",
        "target",
        "metric",
        "status",
        "against",
        "value",
        "upper",
        "limit",
        "over",
        "unit",
        "unavailable",
    ];
    csv::lines([names.map(str::to_owned).to_vec()])
}

fn rows(file: &str, verdicts: &[Verdict]) -> String {
    let number = csv::number::<f64>;
    let row = |verdict: &Verdict| {
        let status = match verdict.status {
            Status::Within => "within",
            Status::Over => "over",
            Status::Unknown => "unknown",
        };
        let against = match verdict.against {
            Against::Value => "value",
            Against::Upper => "upper",
        };
        vec![
            csv::text(file),
            csv::text(verdict.target.as_deref().unwrap_or_default()),
            verdict.metric.clone(),
            status.to_owned(),
            against.to_owned(),
            number(verdict.value),
            number(verdict.upper),
            verdict.limit.to_string(),
            number(verdict.over),
            verdict.unit.clone(),
            csv::text(verdict.unavailable.as_deref().unwrap_or_default()),
        ]
    };
    csv::lines(verdicts.iter().map(row))
}
