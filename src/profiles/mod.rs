//! What a benchmark tool printed → a [`Profile`]: milliseconds of single operators, and of whole inferences.
//!
//! [`read`] takes the text as the tool wrote it. Formats are rows of tables: `formats` has those with columns under a
//! head, `sentences` those with one sentence for each number; ONNX Runtime's JSON is read by `onnx_runtime`. A format that
//! is not among them can be a plain table with a head.

use std::borrow::Cow;

mod commands;
mod error;
mod formats;
mod number;
mod onnx_runtime;
mod profile;
mod sentences;
mod tables;

pub use commands::{TOOLS, command};
pub use error::{MAX_PROFILE_BYTES, ProfileError};
pub use profile::{ALL_OF_KIND, InferencesByModel, MeasuredInference, MeasuredOperator, Profile};

use error::MAX_ROWS;

/// Lines without a number, of which an error or a report shows the first.
const MAX_UNREAD: usize = 20;

/// The shortest duration in ms.
pub const MIN_DURATION_MS: f64 = 1e-7;
/// Accepted durations in ms, as for whole latencies.
const DURATIONS_MS: std::ops::RangeInclusive<f64> = MIN_DURATION_MS..=1e9;

/// Reads what a tool printed. `clock_mhz` turns cycles and ticks into time, for tools that print no other duration.
/// Linear in bytes.
pub fn read(bytes: &[u8], clock_mhz: Option<f64>) -> Result<Profile, ProfileError> {
    if bytes.len() > MAX_PROFILE_BYTES {
        return Err(ProfileError::TooLarge { found: bytes.len() });
    }
    let text = match bytes {
        // What PowerShell writes: UTF-16, of which halves of pairs become the sign of replacement.
        [0xff, 0xfe, rest @ ..] => {
            let units = rest.as_chunks().0.iter();
            let letters = units.map(|&unit| u32::from(u16::from_le_bytes(unit)));
            let letter = |code| char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER);
            Cow::Owned(letters.map(letter).collect())
        }
        _ => match std::str::from_utf8(bytes) {
            Ok(text) => Cow::Borrowed(text),
            // Cut off within a letter.
            Err(error) if error.error_len().is_none() => {
                String::from_utf8_lossy(&bytes[..error.valid_up_to()])
            }
            Err(error) if bytes.contains(&0) => {
                let at = error.valid_up_to();
                return Err(ProfileError::NotText { at });
            }
            // What spreadsheets of Western Europe write, one byte a letter.
            Err(_) => Cow::Owned(bytes.iter().map(|&byte| char::from(byte)).collect()),
        },
    };
    let lines = text.trim_start_matches('\u{feff}');
    let text = lines.trim_start();
    // Lines of a log begin with `[ INFO ]` and the like.
    let is_list = |rest: &str| rest.trim_start().starts_with(['{', ']']);
    let is_json = text.starts_with('{') || text.strip_prefix('[').is_some_and(is_list);
    let mut profile = if is_json {
        onnx_runtime::read(text)?
    } else {
        read_lines(lines, clock_mhz)?
    };
    if profile.operators.len() > MAX_ROWS {
        return Err(ProfileError::TooManyOperators);
    }
    let is_short =
        |operator: &MeasuredOperator| operator.n_calls > 0 && operator.duration_ms == 0.0;
    profile
        .operators
        .retain(|operator| DURATIONS_MS.contains(&operator.duration_ms) || is_short(operator));
    if profile.operators.iter().all(is_short) {
        profile.operators.clear();
    }
    profile
        .inferences
        .retain(|inference| DURATIONS_MS.contains(&inference.duration_ms));
    if profile.operators.is_empty() && profile.inferences.is_empty() {
        return Err(ProfileError::NoDurations {
            unread: profile.unread,
        });
    }
    Ok(profile)
}

fn read_lines(text: &str, clock_mhz: Option<f64>) -> Result<Profile, ProfileError> {
    let mut profile = Profile::default();
    let mut table = tables::Reader::default();
    let mut ticks = sentences::Ticks::default();
    for (line_idx, line) in text.lines().enumerate() {
        if profile.operators.len() > MAX_ROWS || profile.inferences.len() > MAX_ROWS {
            return Err(ProfileError::TooManyOperators);
        }
        let is_read = sentences::read((line_idx + 1, line), clock_mhz, &mut profile, &mut ticks)
            || table.read(line_idx + 1, line, clock_mhz, &mut profile)?;
        if !is_read && table.is_open() {
            add_unread(&mut profile, line_idx + 1, line, "a duration");
        }
    }
    ticks.close(&mut profile)?;
    table.close(&mut profile, add_unread)?;
    Ok(profile)
}

fn add_unread(profile: &mut Profile, line_no: usize, line: &str, expected: &str) {
    if profile.unread.len() < MAX_UNREAD {
        let start: String = line.trim().chars().take(60).collect();
        profile.unread.push(format!(
            "line {line_no}: expected {expected}, found `{start}`"
        ));
    }
}
