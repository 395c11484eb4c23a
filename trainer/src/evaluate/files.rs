//! `litecast-trainer evaluate-files`: compares the shipped predictor with the compiler on files from outside of the
//! dataset.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use litecast::estimate::{ModelFile, estimate};
use litecast::learned::manifest::Manifest;
use litecast::learned::predictor::Predictor;
use litecast::targets;

use crate::labels::record::{Label, Outcome};
use crate::labels::target::Target;
use crate::labels::vela::{Vela, VelaLabel, default_targets};
use crate::labels::worker::Worker;
use crate::markdown::{Head, table};
use crate::metrics::summarise;

/// Time limit for one file on one target. The compiler takes seconds for the largest file.
const LIMIT: Duration = Duration::from_secs(120);

/// Has Vela compile every `.tflite` file of a folder and compares its estimates with the bundle's.
#[derive(Clone, Debug, clap::Args)]
pub struct EvaluateFilesArgs {
    /// Folder with the files.
    pub folder: PathBuf,
    /// Folder of the bundle: `predictor.onnx` and `manifest.json`.
    #[arg(long, default_value = "bundle")]
    pub bundle: PathBuf,
    /// Interpreter that has the packages of `trainer/python/requirements.txt`.
    #[arg(long, default_value = ".venv/bin/python")]
    pub python: PathBuf,
    /// File that the Markdown is written to.
    #[arg(long, default_value = "trainer/results/files.md")]
    pub out: PathBuf,
}

/// The manifest of a folder with `manifest.json`.
pub fn load_manifest(folder: &Path) -> Result<Manifest> {
    let path = folder.join("manifest.json");
    let json = fs::read(&path).with_context(|| path.display().to_string())?;
    Ok(serde_json::from_slice(&json)?)
}

/// The predictor of a folder with `predictor.onnx` and `manifest.json`.
pub fn load_bundle(folder: &Path) -> Result<Predictor> {
    let read = |name: &str| {
        let path = folder.join(name);
        fs::read(&path).with_context(|| path.display().to_string())
    };
    let manifest = String::from_utf8(read("manifest.json")?)?;
    Ok(Predictor::load(&read("predictor.onnx")?, &manifest)?)
}

/// Runs the subcommand. Fails if a file that it needs cannot be read, or a result cannot be written.
pub fn run(args: &EvaluateFilesArgs) -> Result<()> {
    let predictor = load_bundle(&args.bundle)?;
    let vela = Vela {
        python: args.python.clone(),
    };
    let targets = default_targets();
    let files = tflite_files(&args.folder)?;
    let mut comparisons = Vec::new();
    let mut worker = Worker::start(&vela, &targets)?;
    for (file, bytes) in &files {
        for (target_idx, target) in targets.iter().enumerate() {
            let answer = worker.label(target_idx, bytes, LIMIT);
            if !answer.leaves_worker_alive() {
                worker = Worker::start(&vela, &targets)?;
            }
            comparisons.push(compare(file, bytes, &predictor, target, &answer.outcome));
        }
    }
    let text = markdown(&comparisons, &targets);
    println!("{text}");
    fs::write(&args.out, text).with_context(|| args.out.display().to_string())
}

/// Names and contents of the `.tflite` files in a folder, by name.
pub fn tflite_files(folder: &Path) -> Result<Vec<(String, Vec<u8>)>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        let path = entry?.path();
        if path
            .extension()
            .is_some_and(|extension| extension == "tflite")
        {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            files.push((name.into_owned(), fs::read(&path)?));
        }
    }
    ensure!(
        !files.is_empty(),
        "{}: expected .tflite files, found none",
        folder.display()
    );
    files.sort();
    Ok(files)
}

/// One file on one target.
struct Comparison {
    file: String,
    target: String,
    /// The compiler's latency in milliseconds and SRAM peak in bytes, or the reason why there are none.
    compiler: Result<[f64; 2], String>,
    /// Operators left to the CPU.
    n_cpu_operators: u64,
    estimates: Result<[f64; 2], String>,
}

const METRICS: [&str; 2] = ["latency", "sram_peak"];
/// Cells of a [`Comparison`]: file, target, and three for each of [`METRICS`].
const N_CELLS: usize = 2 + 3 * METRICS.len();

impl Comparison {
    /// The compiler's values and the estimates; `None` if the compiler leaves an operator to the CPU.
    fn pair(&self) -> Option<[[f64; 2]; 2]> {
        let (Ok(compiler), Ok(estimates)) = (&self.compiler, &self.estimates) else {
            return None;
        };
        (self.n_cpu_operators == 0 && compiler[0] > 0.0).then_some([*compiler, *estimates])
    }

    /// Cells of a row: both latencies and peaks with their differences, or the reason why there are none.
    fn cells(&self) -> Vec<String> {
        let mut cells = vec![self.file.clone(), self.target.clone()];
        let error =
            |estimate: f64, expected: f64| format!("{:+.1} %", 100.0 * (estimate / expected - 1.0));
        match (&self.compiler, &self.estimates, self.pair()) {
            (Ok(_), Ok(_), Some([[ms, bytes], [estimated_ms, estimated_bytes]])) => cells.extend([
                format!("{ms:.3} ms"),
                format!("{estimated_ms:.3} ms"),
                error(estimated_ms, ms),
                format!("{bytes:.0}"),
                format!("{estimated_bytes:.0}"),
                error(estimated_bytes, bytes),
            ]),
            (Ok(_), Ok(_), None) => {
                cells.push(format!(
                    "{} operators left to the CPU",
                    self.n_cpu_operators
                ));
            }
            (Err(reason), _, _) | (_, Err(reason), _) => {
                cells.push(reason.lines().next().unwrap_or_default().to_owned());
            }
        }
        cells.resize(N_CELLS, String::new());
        cells
    }
}

fn compare(
    file: &str,
    bytes: &[u8],
    predictor: &Predictor,
    target: &Target,
    outcome: &Outcome,
) -> Comparison {
    let of_vela = |label: &VelaLabel| [label.latency_ms, label.sram_peak_bytes as f64];
    let (compiler, n_cpu_operators) = match outcome {
        Outcome::Ok(Label::Vela(label)) => (Ok(of_vela(label)), label.n_cpu_operators),
        other => (Err(other.reason()), 0),
    };
    Comparison {
        file: file.to_owned(),
        target: target.id.clone(),
        compiler,
        n_cpu_operators,
        estimates: estimates(file, bytes, predictor, &target.id),
    }
}

fn estimates(
    file: &str,
    bytes: &[u8],
    predictor: &Predictor,
    target: &str,
) -> Result<[f64; 2], String> {
    let report = estimate(ModelFile::new(file, bytes), Some(predictor));
    let report = report.map_err(|error| error.to_string())?;
    let value = |metric: &str| {
        let results = report.results.iter();
        let mut results = results.filter(|r| r.target == target && r.metric.id() == metric);
        match results.next().map(|result| &result.outcome) {
            Some(targets::Outcome::Estimate { value, .. }) => Ok(*value),
            Some(targets::Outcome::Unavailable { unavailable, .. }) => Err(unavailable.to_string()),
            None => Err("no such output".to_owned()),
        }
    };
    Ok([value(METRICS[0])?, value(METRICS[1])?])
}

fn markdown(comparisons: &[Comparison], targets: &[Target]) -> String {
    let mut heads = vec![Head::text("target")];
    heads.extend(
        [
            "files",
            "median error of latency",
            "mean",
            "median error of SRAM",
            "mean",
        ]
        .map(Head::number),
    );
    let summary = |target: &Target| {
        let here = comparisons.iter().filter(|c| c.target == target.id);
        let pairs: Vec<[[f64; 2]; 2]> = here.filter_map(Comparison::pair).collect();
        let column = |side: usize, metric: usize| -> Vec<f32> {
            pairs.iter().map(|pair| pair[side][metric] as f32).collect()
        };
        let errors = [0, 1].map(|metric| summarise(&column(1, metric), &column(0, metric)));
        let mut cells = vec![target.id.clone(), pairs.len().to_string()];
        cells.extend(errors.iter().flat_map(|error| {
            [error.median_ape, error.mape].map(|percent| format!("{percent:.1} %"))
        }));
        cells
    };
    let mut details = vec![Head::text("file"), Head::text("target")];
    details.extend(
        [
            "Vela's latency",
            "estimate",
            "error",
            "Vela's SRAM",
            "estimate",
            "error",
        ]
        .map(Head::number),
    );
    format!(
        "# Real files beside the compiler\n\nFiles that the predictor was not trained on: its estimates \
         against those of Vela, where Vela takes the file whole.\n\n{}\n{}",
        table(&heads, targets.iter().map(summary)),
        table(&details, comparisons.iter().map(Comparison::cells)),
    )
}
