//! Files → their reports, from a worker process.

use std::error::Error;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::ValueEnum;
use indicatif::{ProgressBar, ProgressStyle};

use super::args::{ReadArgs, Tell};
use super::choice::TargetArgs;
use super::document::Document;
use super::isolation::{self, Matched, Text};
use litecast::report::Failure;

/// The request to a worker.
pub struct Request<'r> {
    pub targets: &'r TargetArgs,
    pub read: &'r ReadArgs,
    pub tell: Tell,
    /// Whether the sizes of `--dim` are for several files, some of which may not have all of them.
    pub are_dimensions_shared: bool,
}

impl Request<'_> {
    fn arguments(&self) -> Vec<String> {
        let mut arguments = vec![
            "worker".to_owned(),
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
        self.targets.chosen()?;
        let time_limit = Duration::from_secs(self.read.time_limit);
        let progress = progress(files.len());
        let done = isolation::run(files, &self.arguments(), time_limit, |file, result| {
            let handed_out = progress.suspend(|| hand_out(file, result));
            progress.inc(1);
            handed_out
        });
        progress.finish_and_clear();
        let matched = done?;
        Ok(if self.are_dimensions_shared {
            matched
        } else {
            Matched::default()
        })
    }

    /// As [`Self::each_json`], read.
    pub fn each(
        &self,
        files: &[PathBuf],
        mut hand_out: impl FnMut(&Path, Result<Document, Failure>) -> io::Result<()>,
    ) -> Result<Matched, Box<dyn Error>> {
        self.each_json(files, |file, json| {
            hand_out(file, json.and_then(|json| Document::parse(&json.concat())))
        })
    }
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
