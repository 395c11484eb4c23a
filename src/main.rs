//! The native command; `litecast --help` lists what it does.

use std::process::ExitCode;

mod command;

/// An estimate makes many small lists and drops them: with it thousands of small models take a fifth less time than
/// with glibc's allocator.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    command::run()
}
