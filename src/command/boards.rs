//! `boards`: the boards on which a file fits, and how fast it runs there.

use std::error::Error;
use std::fmt::Write;
use std::process::ExitCode;

use litecast::boards::{Need, Room, Verdict};
use litecast::report::Failure;
use serde::Deserialize;

use super::args::{BoardsArgs, WorkerOutput};
use super::choice::TargetArgs;
use super::table::Table;
use super::terminal::{dim, heading, wrapped};
use super::worker_request::{self, Request};
use super::{inputs, print, quantity, terminal, words};

/// The result of a worker.
#[derive(Deserialize)]
struct NeedAndBoards {
    need: Need,
    boards: Vec<OnBoard>,
}

#[derive(Deserialize)]
struct OnBoard {
    name: String,
    core: String,
    clock_mhz: Option<f64>,
    ram_bytes: u64,
    contiguous_ram_bytes: Option<u64>,
    fits: Verdict,
    ram: Option<Room>,
    flash: Option<Room>,
    #[serde(default)]
    reason: Option<String>,
    latency: Option<Latency>,
    #[serde(default)]
    no_latency: Option<NoLatency>,
}

#[derive(Deserialize)]
struct NoLatency {
    unavailable: String,
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
        tell: WorkerOutput::Boards,
    };
    let mut code = ExitCode::SUCCESS;
    let width = terminal::width();
    let matched = request.each_json(&files, |file, json| {
        let name = file.to_string_lossy();
        let json = json.map(|parts| parts.concat());
        let printed = if args.json {
            json.map(|json| json + "\n")
        } else {
            json.and_then(|json| Ok(text(&name, &parse_need_and_boards(&json)?, width)))
        };
        match printed {
            Ok(json) if args.json => terminal::print_json(json),
            Ok(text) => terminal::print(&text),
            Err(failure) => {
                code = ExitCode::FAILURE;
                print::failure(&name, failure, args.json)
            }
        }
    })?;
    worker_request::check_dimensions(&args.read, &[matched])?;
    Ok(code)
}

fn parse_need_and_boards(json: &str) -> Result<NeedAndBoards, Failure> {
    serde_json::from_str(json).map_err(|error| Failure::new("serialization", error.to_string()))
}

fn text(file: &str, placed: &NeedAndBoards, width: usize) -> String {
    let mut table = Table::default()
        .text("board")
        .text("fits")
        .number("RAM left")
        .number("flash left")
        .number("latency")
        .optional_text("core")
        .optional_number("MHz");
    let mut reasons: Vec<(&String, Vec<&str>)> = Vec::new();
    let mut no_latencies: Vec<(&String, Vec<&str>)> = Vec::new();
    for on in &placed.boards {
        let latency = match (&on.latency, &on.no_latency) {
            // The verdict tells why.
            _ if on.fits == Verdict::No => String::new(),
            (Some(latency), _) => {
                let star = if latency.is_transferred { " *" } else { "" };
                format!("{}{star}", quantity::measure(latency.value_ms, "ms"))
            }
            (None, no_latency) => {
                let reason = no_latency.as_ref().map(|one| &one.unavailable);
                group_by_reason(&mut no_latencies, reason, &on.name);
                words::UNKNOWN.to_owned()
            }
        };
        group_by_reason(&mut reasons, on.reason.as_ref(), &on.name);
        table.row(board_cells(on, latency));
    }
    let need = need_in_words(&placed.need);
    let mut text = format!(
        "{}\n{}\n{}",
        heading(file, width),
        wrapped(&need, width, "  "),
        table.lines_of(width)
    );
    for (reason, boards) in reasons {
        let words = format!(
            "no on {} of {} boards: {reason}",
            boards.len(),
            placed.boards.len()
        );
        let _ = writeln!(text, "{}", wrapped(&words, width, "  "));
    }
    for line in pieces_in_words(placed) {
        let _ = writeln!(text, "{}", wrapped(&line, width, "  "));
    }
    for (reason, boards) in no_latencies {
        let words = format!("? on {}: {reason}", board_names(&boards));
        let _ = writeln!(text, "{}", wrapped(&words, width, "  "));
    }
    let kernels = &placed.need.kernels;
    if !kernels.is_empty() {
        let words = resolver_in_words(kernels);
        let _ = writeln!(text, "{}", wrapped(&words, width, "  "));
    }
    let note = "close: not with the largest sizes and a stack; latency: a model fitted to measurements of the board; \
                * assumed, from other boards with the same core; (ext) in memory beside the chip";
    let _ = writeln!(text, "{}\n", dim(wrapped(note, width, "  ")));
    text
}

/// The boards that lack a large enough piece of RAM alone, and those of which nobody states one.
fn pieces_in_words(placed: &NeedAndBoards) -> Vec<String> {
    let arena_bytes = placed.need.arena_bytes.unwrap_or(0);
    let bytes = |bytes: u64| quantity::bytes(bytes as f64);
    let in_pieces = |on: &&OnBoard| {
        let is_short = matches!(on.ram, Some(Room::Short { .. }));
        is_short && arena_bytes <= on.ram_bytes && on.contiguous_ram_bytes < Some(arena_bytes)
    };
    let is_unknown = |on: &&OnBoard| {
        matches!(on.ram, Some(Room::OnChip { .. })) && on.contiguous_ram_bytes.is_none()
    };
    let boards = placed.boards.iter();
    let short = boards.clone().filter(in_pieces).map(|on| {
        let piece = bytes(on.contiguous_ram_bytes.unwrap_or(0));
        format!("{} ({piece} of {})", on.name, bytes(on.ram_bytes))
    });
    let unknown = boards.filter(is_unknown).map(|on| on.name.clone());
    let line = |words: &str, names: Vec<String>| {
        (!names.is_empty()).then(|| format!("{words}: {}", names.join(", ")))
    };
    let lines = [
        line(
            "no: the arena needs RAM in one piece, the largest is short on",
            short.collect(),
        ),
        line("? whether the RAM is in one piece on", unknown.collect()),
    ];
    lines.into_iter().flatten().collect()
}

fn board_cells(on: &OnBoard, latency: String) -> [String; 7] {
    let verdict = match on.fits {
        Verdict::Yes => "yes",
        Verdict::Close => "close",
        Verdict::No => "no",
    };
    [
        on.name.clone(),
        verdict.to_owned(),
        on.ram.as_ref().map(room_words).unwrap_or_default(),
        on.flash.as_ref().map(room_words).unwrap_or_default(),
        latency,
        on.core.clone(),
        on.clock_mhz.map_or_else(
            || words::UNKNOWN.to_owned(),
            |clock_mhz| clock_mhz.to_string(),
        ),
    ]
}

/// The resolver that an application needs, as TensorFlow Lite Micro's C++ has it.
fn resolver_in_words(kernels: &[String]) -> String {
    let calls = kernels.iter().map(|call| format!("{call}()"));
    format!(
        "MicroMutableOpResolver<{}>: {}",
        kernels.len(),
        calls.collect::<Vec<_>>().join(", ")
    )
}

/// Puts a board behind the others with its reason.
fn group_by_reason<'p>(
    groups: &mut Vec<(&'p String, Vec<&'p str>)>,
    reason: Option<&'p String>,
    board: &'p str,
) {
    let Some(reason) = reason else {
        return;
    };
    match groups.iter_mut().find(|(known, _)| *known == reason) {
        Some((_, boards)) => boards.push(board),
        None => groups.push((reason, vec![board])),
    }
}

/// Boards that a line names at most.
const MAX_NAMED_BOARDS: usize = 4;

fn board_names(boards: &[&str]) -> String {
    let first = &boards[..boards.len().min(MAX_NAMED_BOARDS)];
    match boards.len() - first.len() {
        0 => first.join(", "),
        n_more => format!("{} and {n_more} more", first.join(", ")),
    }
}

/// What the model needs, each with its range; of one that does not run, the file alone.
fn need_in_words(need: &Need) -> String {
    let bytes = |bytes: u64| quantity::bytes(bytes as f64);
    let file = match need.max_file_bytes {
        Some(max) => format!(
            "about {} .tflite file, which has yet to be written (at most {})",
            bytes(need.file_bytes),
            bytes(max)
        ),
        None => format!("{} file", bytes(need.file_bytes)),
    };
    let Some(arena_bytes) = need.arena_bytes else {
        return file;
    };
    let code = &need.code_bytes;
    let most = need.max_arena_bytes.unwrap_or(arena_bytes);
    format!(
        "{} arena (at most {}), {} stack, {file}, {} code ({} to {})",
        bytes(arena_bytes),
        bytes(most),
        bytes(need.stack_bytes),
        bytes(code.value),
        bytes(code.lo),
        bytes(code.hi)
    )
}

fn room_words(room: &Room) -> String {
    let words = |bytes: &u64| quantity::bytes(*bytes as f64);
    match room {
        Room::OnChip { left_bytes } => words(left_bytes).to_string(),
        Room::External { left_bytes } => format!("{} (ext)", words(left_bytes)),
        Room::Short { missing_bytes } => format!("{} short", words(missing_bytes)),
    }
}
