//! `boards`: where a file has room, and how fast it runs there.

use std::error::Error;
use std::fmt::Write;
use std::path::Path;
use std::process::ExitCode;

use litecast::boards::{Application, Fits, Room, Verdict};
use litecast::estimate::{ModelFile, estimate_on};
use serde::Serialize;

use super::args::BoardsArgs;
use super::table::Table;
use super::terminal::{dim, heading, wrapped};
use super::{inputs, quantity, source, terminal, worker};
use litecast::report::Failure;

pub fn run(args: &BoardsArgs) -> Result<ExitCode, Box<dyn Error>> {
    let application = args.application.application();
    let mut code = ExitCode::SUCCESS;
    let width = terminal::width();
    for file in inputs::expand(&args.files)? {
        let name = file.to_string_lossy();
        let fits = fits(&file, application);
        if let Err(failure) = &fits {
            terminal::complain(&format!("{name}: {failure}"));
            code = ExitCode::FAILURE;
        }
        match (fits, args.json) {
            (Ok(fits), true) => terminal::print_json(json(&name, &fits)? + "\n")?,
            (Ok(fits), false) => terminal::print(&text(&name, &fits, width))?,
            (Err(failure), true) => terminal::print_json(source::failed_line(&name, failure)?)?,
            (Err(_), false) => {}
        }
    }
    Ok(code)
}

fn fits(file: &Path, application: Application) -> Result<Fits, Failure> {
    let bytes = worker::read(file)?;
    let name = file.to_string_lossy();
    let file = ModelFile {
        application,
        ..ModelFile::new(&name, &bytes)
    };
    let reports = estimate_on(&[file], None, &[]);
    let mut reports = reports.map_err(|error| Failure::new("network", error.to_string()))?;
    let report = reports
        .swap_remove(0)
        .map_err(|error| Failure::from(&error))?;
    report.fits.ok_or_else(|| {
        Failure::new(
            "arena",
            "the file does not tell how much memory it needs".to_owned(),
        )
    })
}

/// What `fits` of a report has, beside the name of the file.
#[derive(Serialize)]
struct Placed<'p> {
    file: &'p str,
    #[serde(flatten)]
    fits: &'p Fits,
}

fn json(file: &str, fits: &Fits) -> Result<String, serde_json::Error> {
    serde_json::to_string(&Placed { file, fits })
}

fn text(file: &str, fits: &Fits, width: usize) -> String {
    let mut table = Table::default()
        .text("board")
        .text("fits")
        .number("RAM left")
        .number("flash left")
        .number("latency")
        .optional_text("core")
        .optional_number("MHz");
    for on in &fits.boards {
        let latency = on.latency.as_ref().map(|latency| {
            let star = if latency.is_transferred { " *" } else { "" };
            format!("{}{star}", quantity::measure(latency.value_ms, "ms"))
        });
        let verdict = match on.fits {
            Verdict::Yes => "yes",
            Verdict::Close => "close",
            Verdict::No => "no",
        };
        table.row([
            on.name.to_owned(),
            verdict.to_owned(),
            room(&on.ram),
            room(&on.flash),
            latency.unwrap_or_else(|| "–".to_owned()),
            on.core.to_owned(),
            on.clock_mhz
                .map_or_else(|| "–".to_owned(), |clock_mhz| clock_mhz.to_string()),
        ]);
    }
    let code = &fits.need.code_bytes;
    let bytes = |bytes: u64| quantity::bytes(bytes as f64);
    let need = format!(
        "{} arena, {} file, {} code ({} to {})",
        bytes(fits.need.arena_bytes),
        bytes(fits.need.file_bytes),
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
    let note = "* from other boards with the same core; – where no board with its core was measured, or for \
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
