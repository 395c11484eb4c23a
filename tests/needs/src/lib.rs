//! What tests need beside this repository: an interpreter with packages, files that nobody here wrote,
//! tools. A test that misses one returns early, and [`skip`] says so where the test runner cannot hide
//! it: `tools/test.sh` counts those lines.

use std::env;
use std::ffi::OsStr;
use std::fmt::Display;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Something outside of this repository.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// `.venv` as `make venv` makes it, or the interpreter that `LITECAST_PYTHON` names.
    Python,
    /// The folder `../shared` with real models and measured tables.
    Shared,
    /// LiteRT for arm64 under QEMU, as `make qemu` installs it.
    Qemu,
    /// pandas and polars, which only lines of documentation use.
    DataFrames,
    /// tf2onnx and TensorFlow, which only turn TFLite files into ONNX ones to compare both.
    Tf2Onnx,
    /// The compiler of FlatBuffers schemas, of the version that wrote the committed code.
    Flatc,
    /// That a test may start a Dask cluster, which takes 16 seconds of the processor: `LITECAST_CLUSTER`, as `make test-long`
    /// sets it.
    Cluster,
}

impl Need {
    fn name(self) -> &'static str {
        match self {
            Self::Python => "python",
            Self::Shared => "shared",
            Self::Qemu => "qemu",
            Self::DataFrames => "data-frames",
            Self::Tf2Onnx => "tf2onnx",
            Self::Flatc => "flatc",
            Self::Cluster => "cluster",
        }
    }
}

/// Names of needs that are known to be met, separated by commas: a test that misses one of these fails.
pub const EXPECTED: &str = "LITECAST_EXPECTED_NEEDS";

/// Says on the standard error stream that the running test, or a part of it, is skipped.
///
/// Panics where [`EXPECTED`] names the need.
pub fn skip(need: Need, reason: impl Display) {
    let thread = std::thread::current();
    let test = thread.name().unwrap_or("a test");
    let name = need.name();
    let expected = env::var(EXPECTED).unwrap_or_default();
    assert!(
        !expected.split(',').any(|expected| expected == name),
        "{EXPECTED} has {name}, but {reason}"
    );
    // The runner captures what `println!` and `eprintln!` write, but not this.
    let line = format!("skipped ({name}): {test}: {reason}\n");
    let _ = std::io::stderr().write_all(line.as_bytes());
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The interpreter, where it can import `modules`, a list separated by commas.
pub fn python(modules: &str) -> Option<PathBuf> {
    python_for(Need::Python, modules)
}

/// The same for modules that `make venv` does not install, which are a need of their own.
pub fn python_for(need: Need, modules: &str) -> Option<PathBuf> {
    let named = env::var_os("LITECAST_PYTHON").map(PathBuf::from);
    let python = named.unwrap_or_else(|| root().join(".venv/bin/python"));
    let import = Command::new(&python)
        .args(["-c", &format!("import {modules}")])
        .output();
    let has_them = import.is_ok_and(|import| import.status.success());
    if !has_them {
        let python = python.display();
        skip(need, format!("no {modules} in {python}"));
    }
    has_them.then_some(python)
}

/// The JSON documents that a script of `tests/` prints, one a line.
///
/// Panics where it fails.
pub fn json_lines<A: AsRef<OsStr>>(
    python: &Path,
    script: &str,
    arguments: impl IntoIterator<Item = A>,
) -> Vec<String> {
    let mut command = Command::new(python);
    command
        .arg(root().join("tests").join(script))
        .args(arguments);
    let output = command.output().expect("an interpreter");
    let problem = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {problem}", output.status);
    let text = String::from_utf8(output.stdout).expect("text");
    let lines = text.lines().filter(|line| line.starts_with('{'));
    lines.map(str::to_owned).collect()
}

/// A file or folder of `../shared`.
pub fn shared(path: &str) -> Option<PathBuf> {
    let place = root().join("../shared").join(path);
    if !place.exists() {
        skip(Need::Shared, format!("no ../shared/{path}"));
        return None;
    }
    Some(place)
}

/// Every `.tflite` file of `../shared/models`, in the order of their names.
pub fn shared_models() -> Option<Vec<PathBuf>> {
    Some(tflite_files(&shared("models")?))
}

/// Every `.tflite` file of a folder, in the order of their names.
pub fn tflite_files(folder: &Path) -> Vec<PathBuf> {
    let folder = std::fs::read_dir(folder).expect("a folder");
    let files = folder.map(|entry| entry.expect("an entry").path());
    let mut files: Vec<_> = files
        .filter(|path| path.extension().is_some_and(|e| e == "tflite"))
        .collect();
    files.sort();
    files
}

/// A tool that `make qemu` links into the repository, by its path there.
pub fn qemu(path: &str) -> Option<PathBuf> {
    let place = root().join(path);
    if !place.exists() {
        skip(Need::Qemu, format!("no {path}; `make qemu` installs it"));
        return None;
    }
    Some(place)
}
