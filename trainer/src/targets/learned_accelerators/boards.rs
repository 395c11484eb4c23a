//! Measurements of boards by their makers and others, and the graphs of the networks that they are of
//! (`trainer/data/accelerators`).

use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path;

use anyhow::{Context, Result};
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use litecast::formats::graph_json;
use litecast::targets::learned_accelerators::devices::{NumberFormat, Runtime};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

use super::families::family;
use super::measured::{Measured, MeasuredNetwork, Measurement, device_idx, rows};

/// A table of measurements under one runtime.
pub struct Table {
    /// Name of the file.
    name: &'static str,
    pub runtime: Runtime,
    /// Who measured, and what.
    pub laboratory: &'static str,
    /// Of the runtime.
    pub version: &'static str,
    /// Column of the milliseconds of an inference.
    ms: &'static str,
    /// Column that must have this text in rows that are latencies.
    only: Option<(&'static str, &'static str)>,
    /// Devices of the table, and their targets.
    pub devices: &'static [(&'static str, &'static str)],
}

impl Table {
    pub fn has(&self, target: &str) -> bool {
        self.devices.iter().any(|(_, id)| *id == target)
    }
}

/// Multi-core rows are the time between two results of several inferences at once, not that of one: they are in no table here.
pub const TABLES: &[Table] = &[
    Table {
        name: "rockchip_rknn",
        runtime: Runtime::Rknn,
        laboratory: "Rockchip (RKNN Model Zoo 2.3.2), mean of a loop on one core at the highest clock",
        version: "RKNPU2 2.3.2",
        ms: "latency_ms",
        only: None,
        devices: &[
            ("RK3588  (1 core)", "rk3588"),
            ("RK3576  (1 core)", "rk3576"),
            ("RK3566 RK3568", "rk3568"),
            ("RK3562", "rk3562"),
        ],
    },
    Table {
        name: "drobotics_rdk",
        runtime: Runtime::Hobot,
        laboratory: "D-Robotics (RDK Model Zoo, commit be4f89b), mean of a loop on one thread",
        version: "hrt_model_exec",
        ms: "latency_ms",
        only: Some(("threads", "1")),
        devices: &[("RDK X5", "rdk-x5")],
    },
    Table {
        name: "axera_ax",
        runtime: Runtime::Pulsar2,
        laboratory: "Axera (AX Samples, commit 2d08c3c), on one core",
        version: "2.5 to 4.2",
        ms: "latency_ms",
        only: None,
        devices: &[
            ("AX650N 1 Core", "ax650n"),
            ("AX630C 3.2T", "ax630c"),
            ("AX620Q 2.4T", "ax620q"),
            ("AX637", "ax637"),
            ("AX615 1 Core", "ax615"),
        ],
    },
    Table {
        name: "trtutils_jetson",
        runtime: Runtime::TensorRt,
        laboratory: "trtutils (commit 471d1e9), median of a loop, YOLO alone at up to eight sizes of image",
        version: "JetPack 5 and 6; power mode not stated",
        ms: "median_ms",
        only: None,
        devices: &[
            ("OrinNano-8GB", "jetson-orin-nano"),
            ("OrinNX-16GB", "jetson-orin-nx"),
            ("OrinAGX-64GB", "jetson-agx-orin"),
            ("OrinAGX-32GB", "jetson-agx-orin-32gb"),
            ("XavierNX-8GB", "jetson-xavier-nx"),
        ],
    },
    Table {
        name: "efficientvit_jetson",
        runtime: Runtime::TensorRt,
        laboratory: "EfficientViT's authors (commit de7d773), with transfers of data",
        version: "JetPack 5 and 6; power mode not stated",
        ms: "latency_ms",
        only: None,
        devices: &[("Jetson AGX Orin", "jetson-agx-orin")],
    },
];

/// Rows of a table name a network and its input: table, name and sides.
type Named = (String, String, [i64; 2]);
/// Package, model, sides and form.
type Key = (String, String, [i64; 2], String);

/// Networks of `trainer/data/accelerators`.
pub struct Graphs {
    networks: BTreeMap<Key, MeasuredNetwork>,
    by_name: BTreeMap<Named, Key>,
}

impl Graphs {
    pub fn read(path: &Path) -> Result<Self> {
        let file = File::open(path).with_context(|| path.display().to_string())?;
        let mut graphs = Self {
            networks: BTreeMap::new(),
            by_name: BTreeMap::new(),
        };
        for batch in ParquetRecordBatchReaderBuilder::try_new(file)?.build()? {
            let batch = batch?;
            let column = |name: &str| batch.column_by_name(name).context("a column is missing");
            let text = |name: &str, row: usize| -> Result<String> {
                Ok(column(name)?.as_string::<i32>().value(row).to_owned())
            };
            let [heights, widths] = ["height", "width"].map(column);
            let (heights, widths) = (heights?, widths?);
            for row in 0..batch.num_rows() {
                let side =
                    |sides: &dyn arrow_array::Array| sides.as_primitive::<Int64Type>().value(row);
                let sides = [side(heights), side(widths)];
                let model = text("model", row)?;
                let read = graph_json::parse(text("graph", row)?.as_bytes())
                    .with_context(|| model.clone())?;
                let network = MeasuredNetwork::new(&family(&model), &read)?;
                let key = (text("package", row)?, model, sides, text("form", row)?);
                let tables = column("tables")?.as_list::<i32>().value(row);
                for named in tables.as_string::<i32>().iter().flatten() {
                    let (table, name) = named.split_once(": ").context("expected a table")?;
                    let named = (table.to_owned(), name.to_owned(), sides);
                    graphs.by_name.insert(named, key.clone());
                }
                graphs.networks.insert(key, network);
            }
        }
        Ok(graphs)
    }
}

impl Graphs {
    /// The networks of a table that does not say the sides of their inputs, by their names there.
    pub fn of_table<'g>(
        &'g self,
        table: &'g str,
    ) -> impl Iterator<Item = (String, MeasuredNetwork)> + 'g {
        let of_table = self.by_name.iter().filter(move |((of, ..), _)| of == table);
        of_table.map(|((_, name, _), key)| (name.clone(), self.networks[key].clone()))
    }
}

/// Height and width in `224x224`, `[1, 3, 640, 640]` or `224`.
fn sides(text: &str) -> Option<[i64; 2]> {
    let numbers = text.split(|c: char| !c.is_ascii_digit());
    let mut numbers = numbers.filter_map(|number| number.parse().ok());
    if text.starts_with("[1") {
        numbers.nth(1)?;
    }
    let height = numbers.next()?;
    Some([height, numbers.next().unwrap_or(height)])
}

/// Reads the rows of tables that are of graphs; `is_asked` decides by family.
pub fn read(folder: &Path, graphs: &Graphs, is_asked: impl Fn(&str) -> bool) -> Result<Measured> {
    let mut read: Vec<(Key, Measurement)> = Vec::new();
    let mut devices: Vec<&'static str> = Vec::new();
    for table in TABLES {
        let runtimes = Runtime::ALL.iter();
        let runtime = runtimes
            .take_while(|known| **known != table.runtime)
            .count();
        for record in rows(&folder.join(format!("{}.csv.gz", table.name)))? {
            let text = |name: &str| record.get(name).map_or("", String::as_str);
            let mut known = table.devices.iter();
            let device = known.find(|(of_table, _)| *of_table == text("device"));
            let is_kept = table
                .only
                .is_none_or(|(column, value)| text(column) == value);
            let is_doubted = text("note").starts_with("suspect");
            let named = sides(text("input"))
                .map(|sides| (table.name.to_owned(), text("network").to_owned(), sides));
            let key = named.and_then(|named| graphs.by_name.get(&named));
            let (Some((_, device)), Some(key), Ok(ms)) = (device, key, text(table.ms).parse())
            else {
                continue;
            };
            let network = &graphs.networks[key];
            let is_int = text("precision").to_ascii_lowercase().starts_with("int8");
            // Of floats under RKNN only CLIP was measured: no estimate is made of them.
            let is_estimated = is_int || table.runtime != Runtime::Rknn;
            if !is_kept || is_doubted || !is_estimated || !is_asked(&network.family) {
                continue;
            }
            let format = if is_int {
                NumberFormat::Int8
            } else {
                NumberFormat::Float
            };
            let formats = NumberFormat::ALL.iter();
            let numbers = formats.take_while(|known| **known != format).count();
            read.push((
                key.clone(),
                Measurement {
                    network: 0,
                    device: device_idx(&mut devices, device),
                    runtime,
                    numbers,
                    ms,
                    refused: network.refused(runtime, numbers),
                    weight: 0.0,
                },
            ));
        }
    }
    let asked = read
        .iter()
        .map(|(key, _)| (key.clone(), graphs.networks[key].clone()));
    Measured::new(asked.collect(), devices, read)
}

#[cfg(test)]
mod tests {
    use super::sides;

    #[test]
    fn sides_are_those_of_the_image() {
        for (text, expected) in [
            ("224x160", Some([224, 160])),
            ("1120x1120x3", Some([1120, 1120])),
            ("[1, 3, 640, 480]", Some([640, 480])),
            ("518", Some([518, 518])),
            ("[1, 20]", None),
            ("streaming audio", None),
        ] {
            assert_eq!(sides(text), expected, "{text}");
        }
    }
}
