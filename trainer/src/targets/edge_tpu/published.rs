//! The table of published latencies, `edgetpu_published.csv`.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

/// The device that contains the Edge TPU. The chip is the same, the link to the host differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Device {
    /// Coral Dev Board.
    DevBoard,
    /// Coral USB Accelerator at USB 3.
    Usb3,
}

impl Device {
    /// Name in tables.
    pub fn id(self) -> &'static str {
        match self {
            Device::DevBoard => "dev-board",
            Device::Usb3 => "usb3",
        }
    }
}

/// One network on one device.
#[derive(Clone, Debug, PartialEq)]
pub struct Latency {
    /// Its name in the table.
    pub network: String,
    /// Height and width of the input.
    pub side: i32,
    /// Device that was measured.
    pub device: Device,
    /// Latency of one inference.
    pub ms: f64,
}

#[derive(Deserialize)]
struct Line {
    model: String,
    input: i32,
    coral_dev_board_edgetpu_ms: Option<f64>,
    usb3_edgetpu_ms: Option<f64>,
}

/// All latencies of the table, row by row.
pub fn read(path: &Path) -> Result<Vec<Latency>> {
    let open = || format!("could not read {}", path.display());
    let mut reader = csv::Reader::from_path(path).with_context(open)?;
    let mut latencies = Vec::new();
    for line in reader.deserialize() {
        let line: Line = line.with_context(open)?;
        let cells = [
            (Device::DevBoard, line.coral_dev_board_edgetpu_ms),
            (Device::Usb3, line.usb3_edgetpu_ms),
        ];
        for (device, cell) in cells {
            let Some(ms) = cell else { continue };
            ensure!(
                ms.is_finite() && ms > 0.0,
                "{}: expected positive milliseconds, found {ms}",
                line.model
            );
            latencies.push(Latency {
                network: line.model.clone(),
                side: line.input,
                device,
                ms,
            });
        }
    }
    Ok(latencies)
}
