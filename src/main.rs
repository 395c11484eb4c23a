//! The native command; `litecast --help` lists what it does.

use std::process::ExitCode;

mod command;

fn main() -> ExitCode {
    command::run()
}
