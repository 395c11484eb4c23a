//! The native command; `litecast --help` lists what it does.

#[cfg(not(target_arch = "wasm32"))]
mod command;

/// An estimate makes many small lists and drops them: with it thousands of small models take a fifth less time than
/// with glibc's allocator.
#[cfg(not(target_arch = "wasm32"))]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[cfg(not(target_arch = "wasm32"))]
fn main() -> std::process::ExitCode {
    command::run()
}

/// A browser has no command line: `wasm-pack test` compiles every binary, and this one is empty there.
#[cfg(target_arch = "wasm32")]
fn main() {}
