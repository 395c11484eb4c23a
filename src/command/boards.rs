//! `boards`: the boards on which a file fits, and how fast it runs there.

use std::error::Error;
use std::fmt::Write;
use std::process::ExitCode;

use litecast::boards::{Need, Room, Verdict};
use litecast::report::Failure;
use serde::Deserialize;

use super::args::{BoardsArgs, Tell};
use super::choice::TargetArgs;
use super::table::Table;
use super::terminal::{dim, heading, wrapped};
use super::worker_request::{self, Request};
use super::{inputs, quantity, terminal, words};

/// The result of a worker.
#[derive(Deserialize)]
struct Placed {
    need: Need,
    boards: Vec<OnBoard>,
}

#[derive(Deserialize)]
struct OnBoard {
    name: String,
    core: String,
    clock_mhz: Option<f64>,
    fits: Verdict,
    ram: Room,
    flash: Room,
    #[serde(default)]
    reason: Option<String>,
    latency: Option<Latency>,
}

#[derive(Deserialize)]
struct Latency {
    value_ms: f64,
    is_transferred: bool,
}

pub fn run(args: &BoardsArgs) -> Result<ExitCode, Box<dyn Error>> {
    let files = inputs::expand(&args.files)?;
    let request = Request {
        are_dimensions_shared: files.len() > 1,
        targets: &TargetArgs::default(),
        read: &args.read,
        tell: Tell::Boards,
    };
    let mut code = ExitCode::SUCCESS;
    let width = terminal::width();
    let matched = request.each_json(&files, |file, json| {
        let name = file.to_string_lossy();
        let json = json.map(|parts| parts.concat());
        let printed = if args.json {
            json.map(|json| json + "\n")
        } else {
            json.and_then(|json| Ok(text(&name, &placed(&json)?, width)))
        };
        if let Err(failure) = &printed {
            terminal::complain(&format!("{name}: {failure}"));
            code = ExitCode::FAILURE;
        }
        match (printed, args.json) {
            (Ok(json), true) => terminal::print_json(json),
            (Ok(text), false) => terminal::print(&text),
            (Err(failure), true) => {
                terminal::print_json(worker_request::failed_line(&name, failure)?)
            }
            (Err(_), false) => Ok(()),
        }
    })?;
    worker_request::check_dimensions(&args.read, &[matched])?;
    Ok(code)
}

fn placed(json: &str) -> Result<Placed, Failure> {
    serde_json::from_str(json).map_err(|error| Failure::new("serialization", error.to_string()))
}

fn text(file: &str, placed: &Placed, width: usize) -> String {
    let mut table = Table::default()
        .text("board")
        .text("fits")
        .number("RAM left")
        .number("flash left")
        .number("latency")
        .optional_text("core")
        .optional_number("MHz");
    let mut reasons: Vec<(&String, usize)> = Vec::new();
    for on in &placed.boards {
        let latency = on.latency.as_ref().map(|latency| {
            let star = if latency.is_transferred { " *" } else { "" };
            format!("{}{star}", quantity::measure(latency.value_ms, "ms"))
        });
        let verdict = match on.fits {
            Verdict::Yes => "yes",
            Verdict::Close => "close",
            Verdict::No => "no",
        };
        if let Some(reason) = &on.reason {
            let known = reasons.iter_mut().find(|(known, _)| *known == reason);
            match known {
                Some((_, n_boards)) => *n_boards += 1,
                None => reasons.push((reason, 1)),
            }
        }
        table.row([
            on.name.clone(),
            verdict.to_owned(),
            room(&on.ram),
            room(&on.flash),
            latency.unwrap_or_else(|| words::UNKNOWN.to_owned()),
            on.core.clone(),
            on.clock_mhz.map_or_else(
                || words::UNKNOWN.to_owned(),
                |clock_mhz| clock_mhz.to_string(),
            ),
        ]);
    }
    let code = &placed.need.code_bytes;
    let bytes = |bytes: u64| quantity::bytes(bytes as f64);
    let need = format!(
        "{} arena, {} file, {} code ({} to {})",
        bytes(placed.need.arena_bytes),
        bytes(placed.need.file_bytes),
        bytes(code.value),
        bytes(code.lo),
        bytes(code.hi)
    );
    let mut text = format!(
        "{}\n{}\n{}",
        heading(file, width),
        wrapped(&need, width, "  "),
        table.lines_of(width)
    );
    for (reason, n_boards) in reasons {
        let words = format!(
            "no on {n_boards} of {} boards: {reason}",
            placed.boards.len()
        );
        let _ = writeln!(text, "{}", wrapped(&words, width, "  "));
    }
    let kernels = &placed.need.kernels;
    if !kernels.is_empty() {
        let calls = kernels.iter().map(|call| format!("{call}()"));
        let words = format!(
            "MicroMutableOpResolver<{}>: {}",
            kernels.len(),
            calls.collect::<Vec<_>>().join(", ")
        );
        let _ = writeln!(text, "{}", wrapped(&words, width, "  "));
    }
    let note = "latency: a model fitted to measurements of the board; * assumed, from other boards with the same core; ? where no board with its core was measured, or for \
                models that are not int8; (ext) in memory beside the chip";
    let _ = writeln!(text, "{}\n", dim(wrapped(note, width, "  ")));
    text
}

fn room(room: &Room) -> String {
    let words = |bytes: &u64| quantity::bytes(*bytes as f64);
    match room {
        Room::OnChip { left_bytes } => words(left_bytes).to_string(),
        Room::External { left_bytes } => format!("{} (ext)", words(left_bytes)),
        Room::Short { missing_bytes } => format!("{} short", words(missing_bytes)),
    }
}
