//! What tests of several files need.

use std::fs;
use std::path::{Path, PathBuf};

use litecast_trainer::labels::litert_qemu::{DEFAULT_EMULATOR, LitertQemu};

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");

/// The interpreter with the packages of `trainer/python/requirements.txt`.
pub fn python() -> Option<PathBuf> {
    litecast_needs::python("ethosu.regor, pyarrow")
}

/// A file of `../shared/models`.
pub fn shared_model(name: &str) -> Option<Vec<u8>> {
    let path = litecast_needs::shared(&format!("models/{name}"))?;
    Some(fs::read(path).unwrap())
}

pub fn shared_models() -> PathBuf {
    Path::new(ROOT).join("../shared/models")
}

/// LiteRT under QEMU as `make qemu` installs it.
pub fn litert_qemu() -> Option<LitertQemu> {
    litecast_needs::qemu(&format!("{DEFAULT_EMULATOR}/environment"))?;
    let emulator = Path::new(ROOT).join(DEFAULT_EMULATOR);
    Some(LitertQemu { emulator })
}
