//! `litecast-trainer label-import`: a table of measurements made elsewhere → labels.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;

use super::record::{Label, Labelled, MeasuredLabel, Origin, Outcome, Record, Run, Tool};
use super::sha256_hex;
use super::store::LabelFile;
use super::target::{Configuration, Target};

/// Brings in what was measured on a device of one's own.
#[derive(Clone, Debug, clap::Args)]
pub struct ImportArgs {
    /// Table with the columns `file,metric,value,unit`; paths are seen from its folder.
    pub csv: PathBuf,
    /// Id of the device everywhere in this project, for example `pixel-7`.
    #[arg(long)]
    pub target: String,
    /// The device in words.
    #[arg(long)]
    pub device: String,
    /// What ran the models, and how: for example `XNNPACK, one thread`.
    #[arg(long, default_value = "")]
    pub runtime: String,
    /// What measured.
    #[arg(long, default_value = "benchmark_model")]
    pub tool: String,
    /// Version of the tool that made the labels.
    #[arg(long, default_value = "unknown")]
    pub tool_version: String,
    /// Folder of the label files.
    #[arg(long)]
    pub out: PathBuf,
}

#[derive(Debug, Deserialize)]
struct ImportedRow {
    file: PathBuf,
    metric: String,
    value: f64,
    unit: String,
}

/// Runs the subcommand. Fails if a file that it needs cannot be read, or a result cannot be written.
pub fn run(args: &ImportArgs) -> Result<()> {
    let labels = read(&args.csv)?;
    fs::create_dir_all(&args.out)
        .with_context(|| format!("could not create {}", args.out.display()))?;
    let name = format!("measured-{}.jsonl", args.target);
    let mut file = LabelFile::open(&args.out.join(name))?;
    file.append(&Record::Run(Box::new(describe_run(args))))?;
    for (path, measured) in &labels {
        let bytes = fs::read(path).with_context(|| path.display().to_string())?;
        let model = litecast::formats::tflite::parse(&bytes);
        model.with_context(|| path.display().to_string())?;
        let origin = Origin::File(path.clone());
        file.append(&Record::Label(Box::new(Labelled {
            graph_id: origin.graph_id(),
            origin,
            sha256: sha256_hex(&bytes),
            target: args.target.clone(),
            cpu_s: 0.0,
            outcome: Outcome::Ok(Label::Measured(MeasuredLabel {
                measured: measured.clone(),
            })),
        })))?;
    }
    println!("{} files measured on {}", labels.len(), args.target);
    Ok(())
}

fn describe_run(args: &ImportArgs) -> Run {
    Run {
        tool: Tool {
            name: args.tool.clone(),
            version: args.tool_version.clone(),
            python: String::new(),
            settings: BTreeMap::new(),
            targets: vec![],
        },
        targets: vec![Target {
            id: args.target.clone(),
            configuration: Configuration::Measured {
                device: args.device.clone(),
                runtime: args.runtime.clone(),
            },
        }],
        time_limit_s: 0.0,
        request: format!("import {}", args.csv.display()),
        shard: "0/1".to_owned(),
    }
}

type Measurements = BTreeMap<PathBuf, BTreeMap<String, f64>>;

/// The measurements of each file in the table, by metric.
fn read(csv: &Path) -> Result<Measurements> {
    let mut reader = csv::Reader::from_path(csv).with_context(|| csv.display().to_string())?;
    let folder = csv.parent().unwrap_or(Path::new(""));
    let mut labels = Measurements::new();
    for (row, line) in reader.deserialize().zip(2..) {
        let place = || format!("{}, line {line}", csv.display());
        let row: ImportedRow = row.with_context(place)?;
        let value = in_our_unit(&row).with_context(place)?;
        let of_file = labels.entry(folder.join(&row.file)).or_default();
        let earlier = of_file.insert(row.metric.clone(), value);
        ensure!(
            earlier.is_none(),
            "{}: expected one {} of {}, found another",
            place(),
            row.metric,
            row.file.display()
        );
    }
    ensure!(
        !labels.is_empty(),
        "{}: expected measurements, found none",
        csv.display()
    );
    Ok(labels)
}

/// Units of measurements, with their factors to our units.
const UNITS: [(&str, &[(&str, f64)]); 3] = [
    (
        "latency",
        &[("s", 1e3), ("ms", 1.0), ("us", 1e-3), ("ns", 1e-6)],
    ),
    ("energy", &[("J", 1e3), ("mJ", 1.0), ("uJ", 1e-3)]),
    (
        "sram_peak",
        &[("bytes", 1.0), ("KiB", 1024.0), ("MiB", 1024.0 * 1024.0)],
    ),
];

fn in_our_unit(row: &ImportedRow) -> Result<f64> {
    ensure!(
        row.value.is_finite() && row.value > 0.0,
        "expected a positive {}, found {}",
        row.metric,
        row.value
    );
    let Some((_, units)) = UNITS.iter().find(|(metric, _)| *metric == row.metric) else {
        let known: Vec<&str> = UNITS.iter().map(|(metric, _)| *metric).collect();
        bail!("expected a metric of {known:?}, found {}", row.metric);
    };
    let Some((_, factor)) = units.iter().find(|(unit, _)| *unit == row.unit) else {
        let known: Vec<&str> = units.iter().map(|(unit, _)| *unit).collect();
        bail!("expected a unit of {known:?}, found {}", row.unit);
    };
    Ok(row.value * factor)
}
