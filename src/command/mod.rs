//! The command: arguments → reports of a worker process → tables, JSON, CSV, HTML or a verdict.

mod args;
mod boards;
mod bounded_json;
mod bounded_list;
mod budget;
mod calibrate;
mod check;
mod choice;
mod compare;
mod csv;
mod document;
mod exit;
mod facts;
mod html;
mod inputs;
mod isolation;
mod markdown;
mod predict;
mod print;
mod quantity;
mod sections;
mod sweep;
mod sweep_batch;
mod sweep_group;
mod table;
mod targets;
mod terminal;
mod words;
mod worker;
mod worker_request;

use std::error::Error;
use std::io;
use std::process::ExitCode;

use clap::{CommandFactory, Parser};

use args::{Args, Command};
use exit::TROUBLE;

/// Parses the arguments of this process and runs its command.
pub fn run() -> ExitCode {
    let outcome = match Args::parse().command {
        Command::Predict(args) => predict::run(&args),
        Command::Compare(args) => compare::run(&args),
        Command::Check(args) => check::run(&args),
        Command::Sweep(args) => sweep::run(&args),
        Command::SweepBatch(args) => sweep_batch::run(&args),
        Command::Facts(args) => facts::run(&args),
        Command::Calibrate(args) => calibrate::run(&args),
        Command::Boards(args) => boards::run(&args),
        Command::Targets(args) => targets::run(&args),
        Command::Schema(args) => terminal::print_raw(if args.device {
            litecast::calibration::DEVICE_SCHEMA
        } else {
            litecast::report::SCHEMA
        })
        .map(|()| ExitCode::SUCCESS)
        .map_err(Into::into),
        Command::Completions { shell } => completions(shell),
        Command::Man => man_page(),
        Command::Worker => worker::run(),
    };
    outcome.unwrap_or_else(|error| {
        // Whoever reads the output has seen enough: `litecast predict FILE | head`.
        if is_closed_pipe(error.as_ref()) {
            return ExitCode::SUCCESS;
        }
        terminal::complain(&error.to_string());
        ExitCode::from(TROUBLE)
    })
}

fn is_closed_pipe(error: &(dyn Error + 'static)) -> bool {
    let io = error.downcast_ref::<io::Error>();
    io.is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}

fn completions(shell: clap_complete::Shell) -> Result<ExitCode, Box<dyn Error>> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Args::command(), "litecast", &mut script);
    terminal::print(&String::from_utf8(script)?)?;
    Ok(ExitCode::SUCCESS)
}

/// The page of the command, then one of each of its subcommands, as one roff document.
fn man_page() -> Result<ExitCode, Box<dyn Error>> {
    let mut command = Args::command();
    command.build();
    let mut page = Vec::new();
    clap_mangen::Man::new(command.clone()).render(&mut page)?;
    let subcommands = command.get_subcommands().filter(|sub| !sub.is_hide_set());
    for subcommand in subcommands.filter(|sub| sub.get_name() != "help") {
        clap_mangen::Man::new(subcommand.clone()).render_synopsis_section(&mut page)?;
        clap_mangen::Man::new(subcommand.clone()).render_description_section(&mut page)?;
        clap_mangen::Man::new(subcommand.clone()).render_options_section(&mut page)?;
    }
    terminal::print(&String::from_utf8(page)?)?;
    Ok(ExitCode::SUCCESS)
}
