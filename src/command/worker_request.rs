//! Files → their reports, from a worker process.

use std::error::Error;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::ValueEnum;
use indicatif::{ProgressBar, ProgressStyle};

use super::args::{ReadArgs, WorkerOutput};
use super::choice::TargetArgs;
use super::document::Document;
use super::isolation::{self, Matched, Task, Text, Work};
use litecast::report::Failure;

/// The request to a worker.
pub struct Request<'r> {
    pub targets: &'r TargetArgs,
    pub read: &'r ReadArgs,
    pub tell: WorkerOutput,
    /// Whether the sizes of `--dim` are for several files, some of which may not have all of them.
    pub are_dimensions_shared: bool,
}

impl Request<'_> {
    fn arguments(&self) -> Vec<String> {
        let mut arguments = vec![
            format!("--batch={}", self.read.batch),
            format!("--threads={}", self.read.threads),
            format!("--app-ram={}", self.read.application.ram_kib),
            format!("--app-flash={}", self.read.application.flash_kib),
        ];
        let dimensions = self.read.dimensions.iter();
        arguments.extend(dimensions.map(|(name, size)| format!("--dim={name}={size}")));
        arguments.extend(self.read.int8.then(|| "--int8".to_owned()));
        arguments.extend(self.read.as_is.then(|| "--as-is".to_owned()));
        arguments.extend(
            self.are_dimensions_shared
                .then(|| "--shared-dimensions".to_owned()),
        );
        let tell = self.tell.to_possible_value();
        arguments.extend(tell.map(|tell| format!("--tell={}", tell.get_name())));
        arguments.extend(self.targets.arguments());
        arguments
    }

    /// Calls `hand_out` with the JSON result of each file, in the order of `files`. Returns which sizes of `--dim`
    /// are those of open dimensions, if they are for several files.
    ///
    /// # Errors
    /// Targets that there are not, a process that does not start, and what `hand_out` fails with.
    pub fn each_json(
        &self,
        files: &[PathBuf],
        mut hand_out: impl FnMut(&Path, Result<Text, Failure>) -> io::Result<()>,
    ) -> Result<Matched, Box<dyn Error>> {
        each_json(&[(self, files)], |_, file, json| hand_out(file, json))
    }

    /// As [`Self::each_json`], read.
    pub fn each(
        &self,
        files: &[PathBuf],
        mut hand_out: impl FnMut(&Path, Result<Document, Failure>) -> io::Result<()>,
    ) -> Result<Matched, Box<dyn Error>> {
        self.each_json(files, |file, json| hand_out(file, parsed(json)))
    }
}

/// As [`Request::each_json`] for several requests, each with its files, in the order of the requests. One worker estimates
/// all of them. The first argument of `hand_out` is the index of the request.
///
/// # Errors
/// As [`Request::each_json`]. Targets that there are not leave nothing estimated.
pub fn each_json(
    requests: &[(&Request, &[PathBuf])],
    mut hand_out: impl FnMut(usize, &Path, Result<Text, Failure>) -> io::Result<()>,
) -> Result<Matched, Box<dyn Error>> {
    let mut work = Work::default();
    for (request_idx, (request, files)) in requests.iter().enumerate() {
        request.targets.chosen()?;
        if request.targets.measured.is_some() && files.len() > 1 {
            let n = files.len();
            return Err(
                format!("--measured is of one network: expected one model, found {n}").into(),
            );
        }
        work.requests.push(request.arguments());
        let task = |file: &PathBuf| Task {
            request_idx,
            file: file.clone(),
        };
        work.tasks.extend(files.iter().map(task));
    }
    let time_limits = requests.iter().map(|(request, _)| request.read.time_limit);
    let time_limit = Duration::from_secs(time_limits.max().unwrap_or_default());
    let progress = progress(work.tasks.len());
    let done = isolation::run(&work, time_limit, |task, result| {
        let handed_out = progress.suspend(|| hand_out(task.request_idx, &task.file, result));
        progress.inc(1);
        handed_out
    });
    progress.finish_and_clear();
    let matched = done?;
    let are_dimensions_shared = requests.iter().any(|(one, _)| one.are_dimensions_shared);
    Ok(if are_dimensions_shared {
        matched
    } else {
        Matched::default()
    })
}

/// The result of a file, read.
pub fn parsed(json: Result<Text, Failure>) -> Result<Document, Failure> {
    json.and_then(|json| Document::parse(&json.concat()))
}

/// # Errors
/// A size of `--dim` that none of several files has a dimension for. A single file refuses it itself.
pub fn check_dimensions(read: &ReadArgs, matched: &[Matched]) -> Result<(), Box<dyn Error>> {
    let is_unmatched = |name: &&str| {
        !matched
            .iter()
            .any(|dimension| dimension.names.contains(*name))
    };
    let names = read.dimensions.iter().map(|(name, _)| name.as_str());
    let unmatched: Vec<&str> = names.filter(is_unmatched).collect();
    // Without a report nobody knows.
    if matched.iter().all(|matched| matched.n_reports == 0) || unmatched.is_empty() {
        return Ok(());
    }
    let words = "expected a dimension that one of the files leaves open, found none";
    Err(format!("--dim {}: {words}", unmatched.join(", ")).into())
}

/// The JSON line of a file that has no report.
pub fn failed_line(file: &str, failure: Failure) -> io::Result<String> {
    Ok(serde_json::to_string(&failure.for_file(file))? + "\n")
}

/// On a terminal alone, and for more than one file.
fn progress(n_files: usize) -> ProgressBar {
    if n_files < 2 {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template("{bar:30} {pos} of {len} files, {eta} left");
    let progress = ProgressBar::new(n_files as u64);
    match style {
        Ok(style) => progress.with_style(style),
        Err(_) => progress,
    }
}
