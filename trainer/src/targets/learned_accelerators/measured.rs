//! Measurements that others published of accelerators, and the networks that they are of.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use flate2::read::GzDecoder;
use litecast::formats::tflite::Model;
use litecast::graph::{self, Graph, analysis};
use litecast::targets::learned_accelerators::devices::{NumberFormat, Runtime};
use litecast::targets::learned_accelerators::refusals::{Refusal, refusal};
use litecast::targets::learned_accelerators::work::{
    Amounts, Group, N_TERMS, NetworkWork, network_work,
};
use litecast::targets::measured_device::{Class, operator_class, stride_h};

/// A network without weights.
#[derive(Clone)]
pub struct MeasuredNetwork {
    pub family: String,
    /// On Hexagon, and on others.
    amounts: [Amounts; 2],
    /// Multiply-accumulates, values and weights, in millions.
    pub sizes: [f64; 3],
    /// By class of kernels.
    pub classes: Vec<WorkOfClass>,
    /// By runtime and numbers.
    refusals: Vec<Option<Refusal>>,
}

/// The operators of one class on Hexagon, without what a network has once.
#[derive(Clone)]
pub struct WorkOfClass {
    pub class: Class,
    pub amounts: Amounts,
    pub n_calls: usize,
}

impl MeasuredNetwork {
    pub fn new(family: &str, model: &Model) -> Result<Self> {
        let graph = graph::build(model, 0)?;
        let analysis = analysis::analyze(&graph);
        let work = network_work(&graph, &analysis);
        let values = work.nodes.iter().map(|work| work.values).sum();
        let totals = analysis.totals;
        let ways = Runtime::ALL
            .into_iter()
            .flat_map(|runtime| NumberFormat::ALL.map(|numbers| (runtime, numbers)));
        let refused = |(runtime, numbers)| refusal(&graph, &analysis, runtime, numbers);
        Ok(Self {
            family: family.to_owned(),
            amounts: [Runtime::Qnn, Runtime::TensorRt].map(|runtime| work.amounts(runtime)),
            sizes: [
                totals.macs as f64 / 1e6,
                values,
                totals.parameters as f64 / 1e6,
            ],
            classes: by_class(&graph, &work),
            refusals: ways.map(|way| Some(refused(way)?.1)).collect(),
        })
    }

    /// Why a rule refuses it under a runtime and with numbers, by position.
    pub fn refused(&self, runtime: usize, numbers: usize) -> Option<Reason> {
        self.refusals[runtime * NumberFormat::ALL.len() + numbers].map(Reason::Rule)
    }
}

fn by_class(graph: &Graph, work: &NetworkWork) -> Vec<WorkOfClass> {
    let mut classes: BTreeMap<Class, WorkOfClass> = BTreeMap::new();
    for (node, work) in graph.nodes.iter().zip(&work.nodes) {
        if matches!(work.group, Group::Fused) {
            continue;
        }
        let weights = node.operator.inputs.get(1).copied().flatten();
        let shape = weights.map(|tensor_idx| &*graph.tensor(tensor_idx).shape);
        let stride = stride_h(&node.operator.options);
        let class = operator_class(node.operator.code.name(), shape, stride);
        let of_class = classes.entry(class).or_insert_with(|| WorkOfClass {
            class,
            amounts: [0.0; N_TERMS],
            n_calls: 0,
        });
        of_class.n_calls += 1;
        work.add_to(&mut of_class.amounts, Runtime::Qnn);
    }
    classes.into_values().collect()
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

/// The rows of a table, by the names of their columns.
pub fn rows(path: &Path) -> Result<Vec<BTreeMap<String, String>>> {
    let file = File::open(path).with_context(|| path.display().to_string())?;
    let mut reader = csv::Reader::from_reader(GzDecoder::new(file));
    Ok(reader.deserialize().collect::<Result<_, _>>()?)
}

/// Index of a device among those that were read, to which it is added.
pub fn device_idx(devices: &mut Vec<&'static str>, device: &'static str) -> usize {
    let known = devices.iter().position(|known| *known == device);
    known.unwrap_or_else(|| {
        devices.push(device);
        devices.len() - 1
    })
}

/// Rows of a network and its numbers on a maker's devices are not independent: together they weigh 1.
fn weigh(rows: &mut [Measurement]) {
    let maker = |row: &Measurement| {
        let is_other = !Runtime::ALL[row.runtime].is_of_hexagon();
        is_other.then_some(row.runtime)
    };
    let group = |row: &Measurement| (row.network, maker(row), row.numbers, row.refused.is_some());
    let mut counts: BTreeMap<_, f64> = BTreeMap::new();
    for row in rows.iter() {
        *counts.entry(group(row)).or_default() += 1.0;
    }
    for row in rows {
        row.weight = 1.0 / counts[&group(row)];
    }
}

impl Measured {
    /// The networks that have rows, and these rows, each with the key of its network.
    pub fn new<K: Ord>(
        mut networks: BTreeMap<K, MeasuredNetwork>,
        devices: Vec<&'static str>,
        read: Vec<(K, Measurement)>,
    ) -> Result<Self> {
        ensure!(!read.is_empty(), "no measurement is of a graph");
        let asked: BTreeSet<&K> = read.iter().map(|(key, _)| key).collect();
        networks.retain(|key, _| asked.contains(key));
        let keys: Vec<&K> = networks.keys().collect();
        let place = |(key, row): &(K, Measurement)| Measurement {
            network: keys.binary_search(&key).unwrap_or(0),
            ..*row
        };
        let mut rows: Vec<Measurement> = read.iter().map(place).collect();
        weigh(&mut rows);
        Ok(Self {
            networks: networks.into_values().collect(),
            devices,
            rows,
        })
    }

    pub fn family(&self, row: &Measurement) -> &str {
        &self.networks[row.network].family
    }

    pub fn amounts(&self, row: &Measurement) -> &Amounts {
        let is_other = !Runtime::ALL[row.runtime].is_of_hexagon();
        &self.networks[row.network].amounts[usize::from(is_other)]
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
