//! Measurements that others published of accelerators, and the networks that they are of.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::Path;

use anyhow::{Context, Result, ensure};
use flate2::read::GzDecoder;
use litecast::formats::{self, onnx};
use litecast::graph::shapes::inference;
use litecast::graph::{self, analysis};
use litecast::targets::learned_accelerators::devices::{NumberFormat, Runtime};
use litecast::targets::learned_accelerators::refusals::{Refusal, refusal};
use litecast::targets::learned_accelerators::work::{Amounts, network_work};

/// Table of Qualcomm AI Hub's measurements.
const TABLE: &str = "qualcomm_ai_hub.csv.gz";
/// Graphs of other sizes than what was measured: more than 15 % of the layers differ.
const OTHERS: [&str; 4] = ["yolov5", "levit", "sinet", "superpoint"];
/// Devices of the table, and their targets.
const DEVICES: &[(&str, &str)] = &[
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

/// A network without weights.
pub struct MeasuredNetwork {
    pub name: String,
    pub family: String,
    /// By numbers.
    amounts: [Amounts; NumberFormat::ALL.len()],
    /// Multiply-accumulates, values and weights, in millions.
    pub sizes: [f64; 3],
    /// By runtime and numbers.
    refusals: Vec<Option<Refusal>>,
}

impl MeasuredNetwork {
    fn read(path: &Path) -> Result<Self> {
        let bytes = fs::read(path)?;
        let mut model = formats::read(
            &bytes,
            &onnx::Dimensions {
                batch: 1,
                named: &[],
            },
        )?;
        inference::fill(&mut model);
        let graph = graph::build(&model, 0)?;
        let analysis = analysis::analyze(&graph);
        let work = network_work(&graph, &analysis);
        let values = work.nodes.iter().map(|work| work.values).sum();
        let totals = analysis.totals;
        let ways = Runtime::ALL
            .into_iter()
            .flat_map(|runtime| NumberFormat::ALL.map(|numbers| (runtime, numbers)));
        let refused = |(runtime, numbers)| refusal(&graph, &analysis, runtime, numbers);
        Ok(Self {
            name: path
                .file_stem()
                .unwrap_or_default()
                .to_string_lossy()
                .into(),
            family: String::new(),
            amounts: NumberFormat::ALL.map(|numbers| work.amounts(numbers.activation_bytes())),
            sizes: [
                totals.macs as f64 / 1e6,
                values,
                totals.parameters as f64 / 1e6,
            ],
            refusals: ways.map(|way| Some(refused(way)?.1)).collect(),
        })
    }
}

/// Measurements, with positions among networks, devices, runtimes and numbers.
pub struct Measured {
    pub networks: Vec<MeasuredNetwork>,
    pub devices: Vec<&'static str>,
    pub rows: Vec<Measurement>,
}

/// One measurement.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measurement {
    pub network: usize,
    pub device: usize,
    pub runtime: usize,
    pub numbers: usize,
    pub ms: f64,
    pub refused: Option<Reason>,
    /// Rows of a network and its numbers are not independent: together they weigh 1.
    pub weight: f64,
}

/// Why a row is not fitted to, and not estimated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reason {
    /// By a rule, which an estimate knows as well.
    Rule(Refusal),
    /// Layers ran elsewhere, which only the measurement tells.
    OffTheNpu,
}

impl Reason {
    pub fn words(self) -> &'static str {
        match self {
            Self::Rule(refusal) => refusal.words(),
            Self::OffTheNpu => "layers run off the NPU (no rule tells which)",
        }
    }
}

/// Reads the graphs of a folder and the rows of the table that are of them; `is_asked` decides by family.
pub fn read(tables: &Path, graphs: &Path, is_asked: impl Fn(&str) -> bool) -> Result<Measured> {
    let mut networks = read_networks(graphs)?;
    let path = tables.join(TABLE);
    let file = File::open(&path).with_context(|| path.display().to_string())?;
    let mut reader = csv::Reader::from_reader(GzDecoder::new(file));
    let mut read: Vec<(String, Measurement)> = Vec::new();
    let mut devices: Vec<&'static str> = Vec::new();
    for record in reader.deserialize() {
        let record: BTreeMap<String, String> = record?;
        let text = |name: &str| record.get(name).map_or("", String::as_str);
        let name = text("onnx_file").trim_end_matches(".onnx");
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
        text("family").clone_into(&mut network.family);
        if !is_asked(&network.family) {
            continue;
        }
        let elsewhere = ["layers_gpu", "layers_cpu"].map(|name| text(name).parse().unwrap_or(0.0));
        let refused = (elsewhere.iter().sum::<f64>() > 0.0).then_some(Reason::OffTheNpu);
        let by_rule = network.refusals[runtime * NumberFormat::ALL.len() + numbers];
        let device = device_idx(&mut devices, device);
        let row = Measurement {
            network: 0,
            device,
            runtime,
            numbers,
            ms: text("latency_ms").parse()?,
            refused: refused.or(by_rule.map(Reason::Rule)),
            weight: 0.0,
        };
        read.push((name.to_owned(), row));
    }
    networks.retain(|name, _| read.iter().any(|(of_row, _)| of_row == name));
    let names: Vec<&String> = networks.keys().collect();
    let mut rows: Vec<Measurement> = read
        .iter()
        .map(|(name, row)| Measurement {
            network: names.binary_search(&name).unwrap_or(0),
            ..*row
        })
        .collect();
    let place = path.display();
    ensure!(!rows.is_empty(), "no row of {place} is of a graph");
    weigh(&mut rows);
    Ok(Measured {
        networks: networks.into_values().collect(),
        devices,
        rows,
    })
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
        let network = MeasuredNetwork::read(&path).with_context(|| path.display().to_string())?;
        if !OTHERS.contains(&network.name.as_str()) {
            networks.insert(network.name.clone(), network);
        }
    }
    Ok(networks)
}

/// Index of a device among those that were read, to which it is added.
fn device_idx(devices: &mut Vec<&'static str>, device: &'static str) -> usize {
    let known = devices.iter().position(|known| *known == device);
    known.unwrap_or_else(|| {
        devices.push(device);
        devices.len() - 1
    })
}

/// Rows of a network and its numbers are not independent: together they weigh 1.
fn weigh(rows: &mut [Measurement]) {
    let group = |row: &Measurement| (row.network, row.numbers, row.refused.is_some());
    let mut counts: BTreeMap<_, f64> = BTreeMap::new();
    for row in rows.iter() {
        *counts.entry(group(row)).or_default() += 1.0;
    }
    for row in rows {
        row.weight = 1.0 / counts[&group(row)];
    }
}

impl Measured {
    pub fn family(&self, row: &Measurement) -> &str {
        &self.networks[row.network].family
    }

    pub fn amounts(&self, row: &Measurement) -> &Amounts {
        &self.networks[row.network].amounts[row.numbers]
    }

    /// Rows that are fitted to and estimated.
    pub fn kept(&self) -> impl Iterator<Item = &Measurement> {
        self.rows.iter().filter(|row| row.refused.is_none())
    }

    /// Families in turn, in groups of about as many networks: by family, its fold.
    pub fn folds(&self, n: usize, is_part: impl Fn(&str) -> bool) -> BTreeMap<&str, usize> {
        let mut sizes: BTreeMap<&str, usize> = BTreeMap::new();
        for network in &self.networks {
            if is_part(&network.family) {
                *sizes.entry(&network.family).or_default() += 1;
            }
        }
        let mut families: Vec<(&str, usize)> = sizes.into_iter().collect();
        families.sort_by_key(|(_, size)| std::cmp::Reverse(*size));
        let mut totals = vec![0; n];
        let place = |(family, size)| {
            let fold = (0..n).min_by_key(|fold| totals[*fold]).unwrap_or(0);
            totals[fold] += size;
            (family, fold)
        };
        families.into_iter().map(place).collect()
    }
}
