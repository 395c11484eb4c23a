//! `litecast-trainer probes`: small networks that are handed out to be measured on a device. Each spends most of its time in one
//! class of kernels, so that a measurement tells the speed of that class.

pub mod onnx;
pub mod tflite;

use std::fmt::Write;
use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};
use litecast::calibration::PROBES;
use sha2::{Digest, Sha256};

use crate::writer::Precision;

/// Writes the networks that the library hands out.
#[derive(Clone, Debug, clap::Args)]
pub struct ProbesArgs {
    /// Folder that the files are written to; beside it, their hashes as `sha256sum` prints them.
    #[arg(long, default_value = "src/calibration/probes")]
    pub out: PathBuf,
}

/// Writes every file. Fails where one cannot be written.
pub fn run(args: &ProbesArgs) -> Result<()> {
    fs::create_dir_all(&args.out).with_context(|| args.out.display().to_string())?;
    let mut hashes = String::new();
    for name in PROBES.iter().map(|probe| probe.name) {
        for (end, bytes) in files(name).with_context(|| format!("{name}: no network"))? {
            let path = args.out.join(format!("{name}-{end}"));
            println!("{}: {} bytes", path.display(), bytes.len());
            for byte in Sha256::digest(&bytes) {
                write!(hashes, "{byte:02x}")?;
            }
            writeln!(hashes, "  {name}-{end}")?;
            fs::write(&path, bytes).with_context(|| path.display().to_string())?;
        }
    }
    let path = args.out.with_extension("sha256");
    fs::write(&path, hashes).with_context(|| path.display().to_string())
}

/// The files of the network with this name, by the ends of their names; `None` for another name.
pub fn files(name: &str) -> Option<[(&'static str, Vec<u8>); 3]> {
    Some([
        (
            "float32.tflite",
            tflite::to_bytes(name, Precision::Float32)?,
        ),
        ("int8.tflite", tflite::to_bytes(name, Precision::Int8)?),
        ("float32.onnx", onnx::to_bytes(name)?),
    ])
}
