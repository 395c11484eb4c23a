//! Qualcomm AI Hub's measurements of devices with a Hexagon NPU.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use litecast::formats::{self, onnx};
use litecast::graph::shapes::inference;
use litecast::targets::learned_accelerators::devices::{NumberFormat, Runtime};

use super::boards::Graphs;
use super::measured::{Measured, MeasuredNetwork, Measurement, Reason, device_idx, rows};

pub const LABORATORY: &str =
    "Qualcomm (AI Hub Models 0.65.0), best case of a tight loop at batch 1";
/// Table of Qualcomm AI Hub's measurements.
const TABLE: &str = "qualcomm_ai_hub";
/// Graphs of other networks than what was measured: more than 15 % of the layers differ, BEiT's has no biases of relative
/// positions, 12 × 12 × 197 × 197 of the 92 million parameters that the table states, and YOLOv3's has 6 % more parameters
/// than stated and an image of 640 × 640 where the table has one of 416 × 416.
const OTHERS: [&str; 6] = ["yolov5", "levit", "sinet", "superpoint", "beit", "yolov3"];
/// Devices of the table, and their targets.
pub const DEVICES: &[(&str, &str)] = &[
    ("Samsung Galaxy S22 5G", "galaxy-s22"),
    ("Samsung Galaxy S24", "galaxy-s24"),
    ("Samsung Galaxy S25", "galaxy-s25"),
    ("Samsung Galaxy S26", "galaxy-s26"),
    ("QCS8550 (Proxy)", "qcs8550"),
    ("Snapdragon 7 Gen 4 QRD", "snapdragon-7-gen-4"),
    ("Snapdragon X Elite CRD", "snapdragon-x-elite"),
    ("Snapdragon X2 Elite CRD", "snapdragon-x2-elite"),
    ("Dragonwing IQ-9075 EVK", "iq-9075"),
    ("Arduino VENTUNO Q", "ventuno-q"),
    ("Dragonwing RB3 Gen 2 Vision Kit", "rb3-gen-2"),
    ("Dragonwing Q-6690 MTP", "q-6690"),
    ("SA8775P ADP", "sa8775p"),
    ("SA8295P ADP", "sa8295p"),
    ("SA8255P ADP", "sa8255p"),
    ("SA7255P ADP", "sa7255p"),
];

/// Of what ran the networks.
pub fn version(runtime: Runtime) -> &'static str {
    match runtime {
        Runtime::OnnxRuntime => "ONNX Runtime 1.27 and 1.30, QAIRT 2.50",
        _ => "QAIRT 2.50",
    }
}

/// Reads the rows of the table that are of graphs in a folder, and of others where the folder has none; `is_asked` decides by
/// family.
pub fn read(
    tables: &Path,
    folder: &Path,
    others: &Graphs,
    is_asked: impl Fn(&str) -> bool,
) -> Result<Measured> {
    let mut networks = read_networks(folder)?;
    for (name, network) in others.of_table(TABLE) {
        networks.entry(name).or_insert(network);
    }
    let mut read: Vec<(String, Measurement)> = Vec::new();
    let mut devices: Vec<&'static str> = Vec::new();
    for record in rows(&tables.join(format!("{TABLE}.csv.gz")))? {
        let text = |name: &str| record.get(name).map_or("", String::as_str);
        let part = format!("{}/{}", text("model_id"), text("component"));
        let of_folder = text("onnx_file").trim_end_matches(".onnx");
        let mut names = [of_folder, text("model_id"), &part].into_iter();
        let Some(name) = names.find(|name| networks.contains_key(*name)) else {
            continue;
        };
        let mut known = DEVICES.iter();
        let device = known.find(|(of_table, _)| *of_table == text("device"));
        let mut runtimes = ["tflite", "qnn_dlc", "onnx"].iter();
        let runtime = runtimes.position(|id| *id == text("runtime"));
        let mut all_numbers = NumberFormat::ALL.iter();
        let numbers = all_numbers.position(|numbers| numbers.id() == text("precision"));
        let (Some(network), Some((_, device)), Some(runtime), Some(numbers)) =
            (networks.get_mut(name), device, runtime, numbers)
        else {
            continue;
        };
        family(name, text("family")).clone_into(&mut network.family);
        if !is_asked(&network.family) {
            continue;
        }
        let elsewhere = ["layers_gpu", "layers_cpu"].map(|name| text(name).parse().unwrap_or(0.0));
        let refused = (elsewhere.iter().sum::<f64>() > 0.0).then_some(Reason::OffTheNpu);
        let row = Measurement {
            network: 0,
            device: device_idx(&mut devices, device),
            runtime,
            numbers,
            ms: text("latency_ms").parse()?,
            refused: refused.or(network.refused(runtime, numbers)),
            weight: 0.0,
        };
        read.push((name.to_owned(), row));
    }
    Measured::new(networks, devices, read)
}

/// The table's family, of which super-resolution is two: networks trained against another one, which are large, and small ones.
fn family<'f>(name: &str, of_table: &'f str) -> &'f str {
    if of_table == "sr" && name.contains("srgan") {
        "sr-gan"
    } else {
        of_table
    }
}

/// The networks without weights in a folder, by name.
fn read_networks(graphs: &Path) -> Result<BTreeMap<String, MeasuredNetwork>> {
    let mut networks: BTreeMap<String, MeasuredNetwork> = BTreeMap::new();
    let entries = fs::read_dir(graphs).with_context(|| {
        format!(
            "no {}: unzip qualcomm_onnx.zip, which is beside the table, into it",
            graphs.display()
        )
    })?;
    for entry in entries {
        let path = entry?.path();
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        if OTHERS.contains(&&*name) {
            continue;
        }
        let network = read_network(&path).with_context(|| path.display().to_string())?;
        networks.insert(name.into_owned(), network);
    }
    Ok(networks)
}

fn read_network(path: &Path) -> Result<MeasuredNetwork> {
    let dimensions = onnx::Dimensions {
        batch: 1,
        named: &[],
    };
    let file = fs::read(path)?;
    let mut model = formats::read(&file, &dimensions)?;
    inference::fill(&mut model);
    MeasuredNetwork::new("", &model)
}
