//! The reports of both sides: those that were saved, or new ones of files.

use std::error::Error;
use std::ffi::OsStr;
use std::fs;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};

use litecast::estimate::EstimateAs;
use litecast::report::{FailedReport, Failure};

use crate::command::args::{CompareArgs, ReadArgs, WorkerOutput};
use crate::command::choice::TargetArgs;
use crate::command::document::Document;
use crate::command::inputs;
use crate::command::isolation::Matched;
use crate::command::worker_request::Request;

pub type Outcome = Result<Document, Failure>;

/// Reports of one side, by name.
pub type ReportsByName = Vec<(String, Option<Outcome>)>;

/// The chosen targets, or else those of the reports that files are compared with.
pub fn targets_of_files(
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

/// How files are read that are compared with reports: in the batch size, the sizes of open dimensions and the precision of
/// these, unless others are chosen.
pub fn read_of_files(args: &CompareArgs, saved: &[Option<ReportsByName>; 2]) -> ReadArgs {
    let mut read = args.read.clone();
    let reports = saved.iter().flatten().flatten();
    let mut documents = reports.filter_map(|(_, outcome)| outcome.as_ref()?.as_ref().ok());
    let Some(report) = documents.next() else {
        return read;
    };
    if read.batch == NonZeroU32::MIN {
        read.batch = NonZeroU32::new(report.batch).unwrap_or(read.batch);
    }
    let typed: Vec<String> = read
        .dimensions
        .iter()
        .map(|(name, _)| name.clone())
        .collect();
    let other = report
        .dimensions
        .iter()
        .filter(|one| !typed.contains(&one.name));
    read.dimensions
        .extend(other.map(|one| (one.name.clone(), one.size)));
    if !read.int8 && !read.as_is {
        read.int8 = report.estimate_as == EstimateAs::Int8;
        read.as_is = report.estimate_as == EstimateAs::AsIs;
    }
    read
}

/// Reports of one side, each with its name in the folder: those that were saved, or else new ones of the files.
pub fn side(
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
pub fn read_saved(path: &Path) -> Result<Option<ReportsByName>, Box<dyn Error>> {
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
