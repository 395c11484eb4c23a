//! Published measurements of NAS-Bench-201 networks on Raspberry Pis, from `../shared/data`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use anyhow::{Context, Result, ensure};
use flate2::read::GzDecoder;

use crate::metrics::median;

/// Raspberry Pi 5 and a phone, LiteRT, float32, one thread: github roldebijvank/HW-NAS-Bench-360 at
/// a9b243e.
const RPI5_FILE: &str = "nb201_pi5_litert.csv.gz";
/// Who measured on the Raspberry Pi 5, and how.
pub const RPI5_SOURCE: &str = "HW-NAS-Bench-360 at a9b243e: LiteRT, float32, one thread, median of \
                               40 runs; energy of the rail VDD_CORE without idle";
/// The supply rail of the Raspberry Pi 5 whose energies were measured.
pub const RPI5_RAIL: &str = "the rail VDD_CORE without idle";
/// Raspberry Pi 4 and phones: github HayeonLee/HELP.
const RPI4_FILE: &str = "nb201_help_latency_ms.csv.gz";
/// Who measured on the Raspberry Pi 4, and how.
pub const RPI4_SOURCE: &str = "HELP: runtime not stated, float32 assumed; networks that should be \
                               equal differ by a median of 5 %";

/// Raspberry Pi 4: github mlcommons, inference results v1.0 to v2.1.
const MOBILENETS_FILE: &str = "mlperf_rpi4_tflite.csv";
/// Who measured the MobileNets, and how.
pub const MOBILENETS_SOURCE: &str = "MLPerf Inference v1.0 to v2.1: TFLite with ruy, threads not \
                                     stated; a network differs by a median of 2.6 % between rounds";

/// One network on one board.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measured {
    /// Latency in ms.
    pub latency_ms: f64,
    /// Energy of one inference in mJ.
    pub energy_mj: Option<f64>,
}

/// Measurements by (NAS-Bench-201's `arch_str`, task).
pub type ByNetwork = BTreeMap<(String, String), Measured>;

/// One column of the tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// A device of HW-NAS-Bench-360, by its name there.
    HwNasBench360(&'static str),
    /// A device of HELP, by its column.
    Help(&'static str),
}

/// Measurements on the Raspberry Pi 5.
pub const RPI5: Source = Source::HwNasBench360("pi5");
/// Measurements on the Raspberry Pi 4.
pub const RPI4: Source = Source::Help("raspi4");

/// Fails with the location of the measurements if they are not in `folder`.
pub fn ensure_there(folder: &Path) -> Result<()> {
    ensure!(
        folder.is_dir(),
        "no {}: the measured latencies are not part of this repository and lie in `shared/data` beside \
         it",
        folder.display()
    );
    Ok(())
}

/// Measurements on one device: of HW-NAS-Bench-360 the tasks `cifar100`, `ninapro` and `darcy`, of HELP `cifar10`.
pub fn read_device(folder: &Path, source: Source) -> Result<ByNetwork> {
    match source {
        Source::HwNasBench360(device) => hw_nas_bench_360(folder, device),
        Source::Help(column) => help(folder, column),
    }
}

fn hw_nas_bench_360(folder: &Path, device: &str) -> Result<ByNetwork> {
    let mut measured = ByNetwork::new();
    for row in read(&folder.join(RPI5_FILE))? {
        if row.cell("device")? == device {
            let key = (row.cell("arch_str")?.into(), row.cell("task")?.into());
            let is_there = !row.cell("energy_mj")?.is_empty();
            let value = Measured {
                latency_ms: row.number("lat_ms_median")?,
                energy_mj: is_there.then(|| row.number("energy_mj")).transpose()?,
            };
            measured.insert(key, value);
        }
    }
    Ok(measured)
}

fn help(folder: &Path, column: &str) -> Result<ByNetwork> {
    let mut measured = ByNetwork::new();
    for row in read(&folder.join(RPI4_FILE))? {
        let key = (row.cell("arch_str")?.into(), "cifar10".into());
        let value = Measured {
            latency_ms: row.number(column)?,
            energy_mj: None,
        };
        measured.insert(key, value);
    }
    Ok(measured)
}

/// The cells of HELP whose graph is that of another cell, which were measured again. Readings of one graph differ by more
/// than those of two graphs often do.
pub fn help_copies(folder: &Path) -> Result<BTreeSet<String>> {
    let mut copies = BTreeSet::new();
    for row in read(&folder.join(RPI4_FILE))? {
        if row.cell("arch_idx")? != row.cell("rep_arch_idx")? {
            copies.insert(row.cell("arch_str")?.to_owned());
        }
    }
    Ok(copies)
}

/// Latency in ms of MLPerf's MobileNets on the Raspberry Pi 4, by their name in the table: the median over rounds of
/// the median of each round.
pub fn raspberry_pi_4_mobilenets(folder: &Path) -> Result<BTreeMap<String, f64>> {
    let mut rounds: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    for row in read(&folder.join(MOBILENETS_FILE))? {
        let latency_ms = 1e-6 * row.number("p50_ns")?;
        rounds
            .entry(row.cell("model")?.into())
            .or_default()
            .push(latency_ms);
    }
    let of_model =
        |(model, mut latencies_ms): (String, Vec<f64>)| (model, median(&mut latencies_ms));
    Ok(rounds.into_iter().map(of_model).collect())
}

/// Cells by column.
struct MeasuredRow(BTreeMap<String, String>);

impl MeasuredRow {
    fn cell(&self, column: &str) -> Result<&str> {
        let cell = self.0.get(column).map(String::as_str);
        cell.with_context(|| format!("expected a column `{column}`, found none"))
    }

    /// A positive number.
    fn number(&self, column: &str) -> Result<f64> {
        let cell = self.cell(column)?;
        let number: f64 = cell
            .parse()
            .with_context(|| format!("column `{column}`: expected a number, found `{cell}`"))?;
        ensure!(
            number.is_finite() && number > 0.0,
            "column `{column}`: expected a positive number, found {number}"
        );
        Ok(number)
    }
}

/// The rows of a table without quotes; a file whose name ends in `.gz` is decompressed.
fn read(path: &Path) -> Result<Vec<MeasuredRow>> {
    let file = File::open(path).with_context(|| format!("could not open {}", path.display()))?;
    let reader: Box<dyn Read> = if path.extension().is_some_and(|e| e == "gz") {
        Box::new(GzDecoder::new(file))
    } else {
        Box::new(file)
    };
    let mut lines = BufReader::new(reader).lines();
    let header = lines.next().context("expected a header, found nothing")??;
    let header: Vec<&str> = header.split(',').collect();
    lines
        .map(|line| {
            let line = line?;
            let cells = line.split(',').map(str::to_owned);
            Ok(MeasuredRow(
                header
                    .iter()
                    .map(|name| name.to_string())
                    .zip(cells)
                    .collect(),
            ))
        })
        .collect()
}
