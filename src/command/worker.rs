//! The worker process: files → their results as JSON, in [`Message`]s.

use std::borrow::Cow;
use std::error::Error;
use std::fs;
use std::io::{self, Read};
use std::path::Path;
use std::process::ExitCode;

use clap::Parser;
use litecast::boards::Fits;
use litecast::estimate::{Detail, EstimateError, ModelFile, Request, estimate_changed};
use litecast::formats::tflite::ParseError;
use litecast::formats::tflite::limits::MAX_FILE_BYTES;
use litecast::model_variants::Changes;
use litecast::report::{Failure, Report};
use litecast::targets::{Target, registry};
use serde::Serialize;

use super::args::{ReadArgs, WorkerArgs, WorkerOutput};
use super::choice::Chosen;
use super::inputs::is_stdin;
use super::isolation::{Message, Task, Work, write_json};
use super::words::dimension_option;

/// Estimates one file after the other, and sends the results to the parent process.
pub fn run() -> Result<ExitCode, Box<dyn Error>> {
    let work = Work::read(&mut io::stdin().lock())?;
    // Tasks of one request stand together.
    let mut request: Option<(usize, WorkerArgs, Option<Chosen>)> = None;
    let mut to = io::stdout().lock();
    for Task { request_idx, file } in &work.tasks {
        let (_, args, chosen) = match request.take() {
            Some(known) if known.0 == *request_idx => request.insert(known),
            _ => {
                let options = work.requests.get(*request_idx);
                let args = WorkerArgs::try_parse_from(options.into_iter().flatten())?;
                let chosen = args.targets.chosen()?;
                request.insert((*request_idx, args, chosen))
            }
        };
        let targets = match args.tell {
            WorkerOutput::Facts | WorkerOutput::Boards => &[][..],
            WorkerOutput::Report => chosen.as_deref().unwrap_or(registry()),
        };
        Message::Begin.write(&mut to)?;
        let report = report_of_file(file, args, targets);
        if let Ok(report) = &report
            && args.shared_dimensions
        {
            Message::Matched(matched_dimensions(report, &args.read)).write(&mut to)?;
        }
        match report.and_then(|report| worker_result(args.tell, file, report)) {
            Ok(told) => write_json(&told, &mut to)?,
            Err(failure) => Message::Failure(failure).write(&mut to)?,
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Names of the sizes in `options` that the file leaves open.
fn matched_dimensions(report: &Report, options: &ReadArgs) -> Vec<String> {
    let names = options.dimensions.iter().map(|(name, _)| name);
    let is_matched = |name: &&String| !report.unmatched_dimensions.contains(name);
    names.filter(is_matched).cloned().collect()
}

/// With the options to type, where sizes are missing.
fn failure(error: &EstimateError) -> Failure {
    let mut failure = Failure::from(error);
    let missing = error.unknown_dimensions().iter();
    let options: Vec<String> = missing.map(|name| dimension_option(name)).collect();
    if !options.is_empty() {
        failure.message += &format!(": {}", options.join(" "));
    }
    failure
}

/// The contents of a model; its size is checked before it is read.
fn read(file: &Path) -> Result<Vec<u8>, Failure> {
    if is_stdin(file) {
        let mut bytes = Vec::new();
        let limit = MAX_FILE_BYTES as u64 + 1;
        io::stdin().lock().take(limit).read_to_end(&mut bytes)?;
        return match bytes.len() {
            file_bytes if file_bytes > MAX_FILE_BYTES => Err(too_large(file_bytes)),
            _ => Ok(bytes),
        };
    }
    let metadata = fs::metadata(file)?;
    if is_device(&metadata) {
        let problem = "expected a file or a pipe, found a device";
        return Err(io::Error::new(io::ErrorKind::InvalidInput, problem).into());
    }
    let file_bytes = metadata.len();
    if file_bytes > MAX_FILE_BYTES as u64 {
        return Err(too_large(usize::try_from(file_bytes).unwrap_or(usize::MAX)));
    }
    // The file may grow while it is read, and a pipe has no size.
    let mut bytes = Vec::with_capacity(usize::try_from(file_bytes).unwrap_or(0).saturating_add(1));
    let limit = MAX_FILE_BYTES as u64 + 1;
    fs::File::open(file)?.take(limit).read_to_end(&mut bytes)?;
    match bytes.len() {
        found if found > MAX_FILE_BYTES => Err(too_large(found)),
        _ => Ok(bytes),
    }
}

/// Whether bytes may come without end.
#[cfg(unix)]
fn is_device(metadata: &fs::Metadata) -> bool {
    use std::os::unix::fs::FileTypeExt;
    let file_type = metadata.file_type();
    file_type.is_char_device() || file_type.is_block_device()
}

#[cfg(not(unix))]
fn is_device(_: &fs::Metadata) -> bool {
    false
}

fn too_large(file_bytes: usize) -> Failure {
    let error = ParseError::TooLarge { file_bytes };
    Failure::new(error.kind(), error.to_string())
}

/// The result for a file.
#[derive(Serialize)]
#[serde(untagged)]
enum WorkerResult<'t> {
    Report(Box<Report>),
    Boards {
        file: Cow<'t, str>,
        #[serde(flatten)]
        fits: Box<Fits>,
    },
}

fn worker_result(
    tell: WorkerOutput,
    file: &Path,
    report: Report,
) -> Result<WorkerResult<'_>, Failure> {
    match tell {
        WorkerOutput::Report | WorkerOutput::Facts => Ok(WorkerResult::Report(Box::new(report))),
        WorkerOutput::Boards => Ok(WorkerResult::Boards {
            file: file.to_string_lossy(),
            fits: report.fits.map(Box::new).ok_or_else(|| {
                let words = "the file does not tell how much memory it needs";
                Failure::new("arena", words)
            })?,
        }),
    }
}

fn report_of_file(
    file: &Path,
    args: &WorkerArgs,
    targets: &[Box<dyn Target>],
) -> Result<Report, Failure> {
    let options = &args.read;
    let bytes = read(file)?;
    let name = file.to_string_lossy();
    let model = ModelFile {
        request: Request {
            batch: options.batch,
            threads: options.threads,
            dimensions: &options.dimensions,
            are_dimensions_shared: args.shared_dimensions,
            application: options.application.application(),
            estimate_as: options.estimate_as(),
            ..Request::default()
        },
        ..ModelFile::new(&name, &bytes)
    };
    let report = estimate_changed(model, &Changes::default(), None, targets, Detail::Full);
    report.map_err(|error| failure(&error))
}
