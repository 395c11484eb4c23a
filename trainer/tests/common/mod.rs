//! What several integration tests need.
// Each test file is a crate of its own and uses a part of this one.
#![allow(dead_code)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use litecast_trainer::labels::litert_qemu::{DEFAULT_EMULATOR, LitertQemu};

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");

/// The interpreter with the packages of `trainer/python/requirements.txt`: `LITECAST_PYTHON`, or
/// `.venv/bin/python`. Prints a word where there is none.
pub fn python() -> Option<PathBuf> {
    let named = std::env::var_os("LITECAST_PYTHON").map(PathBuf::from);
    let python = named.unwrap_or_else(|| Path::new(ROOT).join(".venv/bin/python"));
    let import = Command::new(&python)
        .args(["-c", "import ethosu.regor, pyarrow"])
        .output();
    if import.is_ok_and(|output| output.status.success()) {
        return Some(python);
    }
    println!("skipped: no Python with Vela and pyarrow in .venv or LITECAST_PYTHON");
    None
}

/// A file of `../shared/models`. Prints a word where it is not there.
pub fn shared_model(name: &str) -> Option<Vec<u8>> {
    let path = shared_models().join(name);
    let bytes = fs::read(&path).ok();
    if bytes.is_none() {
        println!("skipped: no {}", path.display());
    }
    bytes
}

pub fn shared_models() -> PathBuf {
    Path::new(ROOT).join("../shared/models")
}

/// LiteRT under QEMU as `make qemu` installs it. Prints a word where it is not installed.
pub fn litert_qemu() -> Option<LitertQemu> {
    let emulator = Path::new(ROOT).join(DEFAULT_EMULATOR);
    if emulator.join("environment").exists() {
        return Some(LitertQemu { emulator });
    }
    println!("skipped: no emulator in {DEFAULT_EMULATOR}; `make qemu` installs it");
    None
}
