//! Hashes the code that makes features, so that a table made by other code is told apart.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

/// What a feature depends on, from the engine's sources.
const SOURCES: [&str; 4] = ["formats", "graph", "learned/features", "targets/ethos_u"];

fn main() -> io::Result<()> {
    let engine = Path::new("../src");
    let mut files = Vec::new();
    for source in SOURCES {
        let path = engine.join(source);
        println!("cargo:rerun-if-changed={}", path.display());
        collect(&path, &mut files)?;
    }
    files.sort();
    let mut hash = Sha256::new();
    for file in files {
        hash.update(fs::read(file)?);
    }
    let hex: String = hash.finalize().iter().map(|b| format!("{b:02x}")).collect();
    println!("cargo:rustc-env=LITECAST_FEATURIZER_SHA256={hex}");
    Ok(())
}

fn collect(path: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    if path.file_stem().is_some_and(|name| name == "tests") {
        return Ok(());
    }
    if path.is_dir() {
        for entry in fs::read_dir(path)? {
            collect(&entry?.path(), files)?;
        }
    } else {
        files.push(path.to_owned());
    }
    Ok(())
}
