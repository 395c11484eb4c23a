//! Reports of many files, printed one after another in the format that was asked for.

use std::error::Error;
use std::process::ExitCode;

use super::args::FormatArgs;
use super::document::Document;
use super::worker_request::{self, Request};
use super::{csv, html, terminal};
use litecast::report::Failure;

/// Prints each report as `format` says, or by `text`. A file without one fails the command, and no other.
pub fn reports(
    files: &[std::path::PathBuf],
    request: &Request,
    format: &FormatArgs,
    rows: csv::Rows,
    text: impl Fn(&Document) -> String,
) -> Result<ExitCode, Box<dyn Error>> {
    let mut code = ExitCode::SUCCESS;
    let mut fail = |file: &str, failure: &Failure| {
        terminal::complain(&format!("{file}: {failure}"));
        code = ExitCode::FAILURE;
    };
    if format.json {
        let matched = request.each_json(files, |file, json| {
            let file = file.to_string_lossy();
            match json {
                Ok(json) => {
                    json.into_iter().try_for_each(terminal::print_json)?;
                    terminal::print_json("\n".into())?;
                }
                Err(failure) => {
                    fail(&file, &failure);
                    terminal::print_json(worker_request::failed_line(&file, failure)?)?;
                }
            }
            Ok(())
        })?;
        worker_request::check_dimensions(request.read, &[matched])?;
        return Ok(code);
    }
    if format.csv {
        terminal::print_raw(&rows.header())?;
    }
    if format.html {
        terminal::print_raw(&html::head(files))?;
    }
    let matched = request.each(files, |file, document| {
        let file = file.to_string_lossy();
        if let Err(failure) = &document {
            fail(&file, failure);
        }
        match (document, format.csv, format.html) {
            (Ok(document), true, _) => rows.print(&document),
            (Ok(document), _, true) => terminal::print_raw(&html::section(&document)),
            (Ok(document), ..) => terminal::print(&text(&document)),
            (Err(failure), true, _) => terminal::print_raw(&rows.failure(&file, &failure)),
            (Err(failure), _, true) => terminal::print_raw(&html::failure(&file, &failure)),
            (Err(_), ..) => Ok(()),
        }
    })?;
    if format.html {
        terminal::print_raw(html::FOOT)?;
    }
    worker_request::check_dimensions(request.read, &[matched])?;
    Ok(code)
}

/// What is said of a file without a report, on standard output too where a program reads JSON.
pub fn failure(file: &str, failure: Failure, is_json: bool) -> std::io::Result<()> {
    terminal::complain(&format!("{file}: {failure}"));
    if is_json {
        terminal::print_json(worker_request::failed_line(file, failure)?)?;
    }
    Ok(())
}
