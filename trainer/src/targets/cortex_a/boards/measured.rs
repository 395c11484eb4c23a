//! `litecast-trainer label-boards`: rebuilds networks that others measured on Raspberry Pis, and uses the measured
//! values as labels. These labels form targets of their own, separate from the emulated ones.

use std::path::PathBuf;

use anyhow::{Context, Result};

use super::measurements::{self, RPI4, RPI4_SOURCE, RPI5, RPI5_SOURCE, Source};
use super::rebuild;
use crate::labels::import::{self, ImportArgs};

/// Brings in what others measured on Raspberry Pis.
#[derive(Clone, Debug, clap::Args)]
pub struct LabelBoardsArgs {
    /// Graphs of NAS-Bench-201 to draw; the tables have about 6,400.
    #[arg(long, default_value_t = 500)]
    pub graphs: usize,
    /// Seed of the draw.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Folder of the published measurements.
    #[arg(long, default_value = "../shared/data")]
    pub measurements: PathBuf,
    /// Folder for the networks, the tables and the label files.
    #[arg(long)]
    pub out: PathBuf,
}

/// A board with the name of its labels and the tasks that were measured on it.
struct MeasuredBoard {
    source: Source,
    target: &'static str,
    device: &'static str,
    origin: &'static str,
    tasks: &'static [&'static str],
}

const BOARDS: [MeasuredBoard; 2] = [
    MeasuredBoard {
        source: RPI5,
        target: "raspberry-pi-5-measured",
        device: "Raspberry Pi 5, one core, measured",
        origin: RPI5_SOURCE,
        tasks: &super::RPI5_TASKS,
    },
    MeasuredBoard {
        source: RPI4,
        target: "raspberry-pi-4-measured",
        device: "Raspberry Pi 4, measured",
        origin: RPI4_SOURCE,
        tasks: &super::RPI4_TASKS,
    },
];

/// Runs the subcommand. Fails if a file that it needs cannot be read, or a result cannot be written.
pub fn run(args: &LabelBoardsArgs) -> Result<()> {
    measurements::ensure_there(&args.measurements)?;
    BOARDS.iter().try_for_each(|board| label(board, args))
}

/// Writes the networks and a table in the format that users have for their own device, and imports both.
fn label(board: &MeasuredBoard, args: &LabelBoardsArgs) -> Result<()> {
    let measured = measurements::read_device(&args.measurements, board.source)?;
    let graphs = rebuild::draw(&measured, args.graphs, args.seed);
    rebuild::write(&graphs, &args.out, |_, task| board.tasks.contains(&task))?;
    let table = args.out.join(format!("{}.csv", board.target));
    let place = || table.display().to_string();
    let mut writer = csv::Writer::from_path(&table).with_context(place)?;
    writer.write_record(["file", "metric", "value", "unit"])?;
    for (idx, graph) in graphs.iter().enumerate() {
        for task in board.tasks {
            let key = (graph.arch.clone(), (*task).to_owned());
            let value = measured
                .get(&key)
                .with_context(|| format!("{task}: no {}", graph.arch))?;
            let file = rebuild::relative_path(idx, task);
            let file = file.to_string_lossy();
            writer.write_record([&*file, "latency", &value.latency_ms.to_string(), "ms"])?;
            if let Some(energy_mj) = value.energy_mj {
                writer.write_record([&*file, "energy", &energy_mj.to_string(), "mJ"])?;
            }
        }
    }
    writer.flush().with_context(place)?;
    import::run(&ImportArgs {
        csv: table.clone(),
        target: board.target.into(),
        device: board.device.into(),
        runtime: "float32".into(),
        tool: board.origin.into(),
        tool_version: "as published".into(),
        out: args.out.join("labels"),
    })
}
