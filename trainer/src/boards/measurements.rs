//! Published measurements of NAS-Bench-201 networks on Raspberry Pis, from `../shared/data`.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

use anyhow::{Context, Result, ensure};
use flate2::read::GzDecoder;

/// Raspberry Pi 5, LiteRT, float32, one thread: github roldebijvank/HW-NAS-Bench-360 at a9b243e.
const RPI5_FILE: &str = "nb201_pi5_litert.csv.gz";
pub const RPI5_SOURCE: &str = "HW-NAS-Bench-360 at a9b243e: LiteRT, float32, one thread, median of \
                               40 runs; energy of the rail VDD_CORE without idle";
/// Raspberry Pi 4: github HayeonLee/HELP.
const RPI4_FILE: &str = "nb201_help_latency_ms.csv.gz";
pub const RPI4_SOURCE: &str = "HELP: runtime not stated, float32 assumed; networks that should be \
                               equal differ by a median of 5 %";

/// One network on one board.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measured {
    pub latency_ms: f64,
    pub energy_mj: Option<f64>,
}

/// Measurements by (NAS-Bench-201's `arch_str`, task).
pub type ByNetwork = BTreeMap<(String, String), Measured>;

/// The Raspberry Pi 5's, for the tasks `cifar100`, `ninapro` and `darcy`.
pub fn raspberry_pi_5(folder: &Path) -> Result<ByNetwork> {
    let mut measured = ByNetwork::new();
    for row in read(&folder.join(RPI5_FILE))? {
        if row.cell("device")? == "pi5" {
            let key = (row.cell("arch_str")?.into(), row.cell("task")?.into());
            let value = Measured {
                latency_ms: row.number("lat_ms_median")?,
                energy_mj: Some(row.number("energy_mj")?),
            };
            measured.insert(key, value);
        }
    }
    Ok(measured)
}

/// The Raspberry Pi 4's. They are of CIFAR-10, whose networks differ from CIFAR-100's in the
/// number of classes alone (6,000 of 10⁷ to 10⁸ products), so they stand under `cifar100`.
pub fn raspberry_pi_4(folder: &Path) -> Result<ByNetwork> {
    let mut measured = ByNetwork::new();
    for row in read(&folder.join(RPI4_FILE))? {
        let key = (row.cell("arch_str")?.into(), "cifar100".into());
        let value = Measured {
            latency_ms: row.number("raspi4")?,
            energy_mj: None,
        };
        measured.insert(key, value);
    }
    Ok(measured)
}

/// Cells by column.
struct Row(BTreeMap<String, String>);

impl Row {
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

/// The rows of a gzipped table without quotes.
fn read(path: &Path) -> Result<Vec<Row>> {
    let file = File::open(path).with_context(|| format!("could not open {}", path.display()))?;
    let mut lines = BufReader::new(GzDecoder::new(file)).lines();
    let header = lines.next().context("expected a header, found nothing")??;
    let header: Vec<&str> = header.split(',').collect();
    lines
        .map(|line| {
            let line = line?;
            let cells = line.split(',').map(str::to_owned);
            Ok(Row(header
                .iter()
                .map(|name| name.to_string())
                .zip(cells)
                .collect()))
        })
        .collect()
}
