//! Counts of graphs, operators and labels in the tables.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Result;
use arrow_array::types::{Float64Type, UInt32Type, UInt64Type};

use crate::dataset::METRICS;
use crate::dataset::read::{Table, Tables};
use crate::markdown::{heads, table};
use crate::spaces::table2::{Characteristics, range, union};

/// Graphs and operators by design space and by kind.
pub struct Counts<'t> {
    pub spaces: BTreeMap<&'t str, SpaceCounts<'t>>,
    kinds: BTreeMap<&'t str, KindCounts<'t>>,
}

/// The graphs of one design space.
pub struct SpaceCounts<'t> {
    pub characteristics: Characteristics<'t>,
    n_operators: u64,
    structures: BTreeSet<&'t str>,
    /// Empty for files.
    seeds: BTreeSet<u64>,
}

/// The operators of one kind.
#[derive(Default)]
struct KindCounts<'t> {
    n_operators: u64,
    n_graphs: u64,
    spaces: BTreeSet<&'t str>,
}

impl<'t> Counts<'t> {
    pub fn new(tables: &'t Tables) -> Result<Self> {
        let mut counts = Self {
            spaces: BTreeMap::new(),
            kinds: BTreeMap::new(),
        };
        let graphs = &tables.graphs;
        let spaces = graphs.texts("space")?;
        let structures = graphs.texts("structure_hash")?;
        let seeds = graphs.values_if_present::<UInt64Type>("seed")?;
        let file_bytes = graphs.values::<UInt64Type>("file_bytes")?;
        let n_tensors = graphs.values::<UInt32Type>("n_tensors")?;
        let operators = tables.operators.texts("operator")?;
        for (row, rows) in tables.operator_ranges()?.into_iter().enumerate() {
            let graph = Characteristics {
                n_samples: 1,
                n_operators: [rows.len(); 2],
                n_tensors: [n_tensors[row] as usize; 2],
                size_mb: [file_bytes[row] as f64 / 1e6; 2],
                operators: operators[rows.clone()].iter().copied().collect(),
            };
            counts.add_kinds(spaces[row], &graph.operators, &operators[rows]);
            counts.add_graph(spaces[row], graph, structures[row], seeds[row]);
        }
        Ok(counts)
    }

    fn add_kinds(&mut self, space: &'t str, kinds: &BTreeSet<&'t str>, operators: &[&'t str]) {
        for kind in kinds {
            let counts = self.kinds.entry(kind).or_default();
            counts.n_graphs += 1;
            counts.spaces.insert(space);
        }
        for kind in operators {
            self.kinds.entry(kind).or_default().n_operators += 1;
        }
    }

    fn add_graph(
        &mut self,
        space: &'t str,
        graph: Characteristics<'t>,
        structure: &'t str,
        seed: Option<u64>,
    ) {
        let n_operators = graph.n_operators[0] as u64;
        let counts = match self.spaces.remove(space) {
            Some(counts) => SpaceCounts {
                characteristics: union(counts.characteristics, graph),
                ..counts
            },
            None => SpaceCounts {
                characteristics: graph,
                n_operators: 0,
                structures: BTreeSet::new(),
                seeds: BTreeSet::new(),
            },
        };
        let counts = self.spaces.entry(space).or_insert(counts);
        counts.n_operators += n_operators;
        counts.structures.insert(structure);
        counts.seeds.extend(seed);
    }

    pub fn n_graphs(&self) -> u64 {
        let n = |space: &SpaceCounts| space.characteristics.n_samples;
        self.spaces.values().map(n).sum()
    }

    pub fn n_operators(&self) -> u64 {
        self.spaces.values().map(|space| space.n_operators).sum()
    }

    pub fn spaces_as_markdown(&self) -> String {
        let heads = [
            heads(
                "space",
                "graphs | structures | operators | operators a graph | tensors a graph | \
                 size (MB) | operator kinds",
            ),
            heads("seeds", ""),
        ]
        .concat();
        let row = |(space, counts): (&&str, &SpaceCounts)| {
            let graphs = &counts.characteristics;
            let seeds: Vec<_> = counts.seeds.iter().map(u64::to_string).collect();
            vec![
                format!("`{space}`"),
                graphs.n_samples.to_string(),
                counts.structures.len().to_string(),
                counts.n_operators.to_string(),
                range(graphs.n_operators),
                range(graphs.n_tensors),
                format!("{:.2}–{:.2}", graphs.size_mb[0], graphs.size_mb[1]),
                graphs.operators.len().to_string(),
                seeds.join(", "),
            ]
        };
        format!(
            "Graphs of the same structure differ only in weights and scales. Ranges are minimum–maximum.\n\n{}",
            table(&heads, self.spaces.iter().map(row))
        )
    }

    pub fn kinds_as_markdown(&self) -> String {
        let heads = heads("operator", "operators | graphs | spaces");
        let mut kinds: Vec<_> = self.kinds.iter().collect();
        kinds.sort_by_key(|(_, counts)| std::cmp::Reverse(counts.n_operators));
        let row = |(kind, counts): (&&str, &KindCounts)| {
            vec![
                (*kind).to_owned(),
                counts.n_operators.to_string(),
                counts.n_graphs.to_string(),
                counts.spaces.len().to_string(),
            ]
        };
        format!(
            "{} kinds, with their names in TFLite.\n\n{}",
            kinds.len(),
            table(&heads, kinds.into_iter().map(row))
        )
    }
}

/// Labels by target and metric, and the outcome of each graph on each target.
pub struct LabelCounts<'t> {
    targets: BTreeSet<&'t str>,
    /// By metric, then target: number of values that include all operators.
    values: BTreeMap<(&'t str, &'t str), u64>,
    outcomes: BTreeMap<Outcome<'t>, OutcomeCounts<'t>>,
}

#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Outcome<'t> {
    target: &'t str,
    status: &'t str,
    reason: &'t str,
    leaves_operators_to_cpu: bool,
}

#[derive(Default)]
struct OutcomeCounts<'t> {
    graph_ids: BTreeSet<&'t str>,
    spaces: BTreeSet<&'t str>,
}

impl<'t> LabelCounts<'t> {
    pub fn new(labels: &'t Table) -> Result<Self> {
        let mut counts = Self {
            targets: BTreeSet::new(),
            values: BTreeMap::new(),
            outcomes: BTreeMap::new(),
        };
        let graph_ids = labels.texts("graph_id")?;
        let targets = labels.texts("target")?;
        let statuses = labels.texts("status")?;
        let reasons = labels.texts("reason")?;
        let metrics = labels.optional_texts("metric")?;
        let values = labels.optional_values::<Float64Type>("value")?;
        let n_cpu = labels.values::<UInt32Type>("cpu_operators")?;
        for (row, graph_id) in graph_ids.into_iter().enumerate() {
            let outcome = Outcome {
                target: targets[row],
                status: statuses[row],
                reason: reasons[row],
                leaves_operators_to_cpu: n_cpu[row] > 0,
            };
            counts.targets.insert(targets[row]);
            if let (Some(metric), Some(_), 0) = (metrics[row], values[row], n_cpu[row]) {
                *counts.values.entry((metric, targets[row])).or_default() += 1;
            }
            let outcome = counts.outcomes.entry(outcome).or_default();
            outcome.graph_ids.insert(graph_id);
            outcome.spaces.insert(space_of(graph_id));
        }
        Ok(counts)
    }

    pub fn n_targets(&self) -> usize {
        self.targets.len()
    }

    pub fn n_values(&self) -> u64 {
        self.values.values().sum()
    }

    /// A row for each metric and target.
    pub fn metrics_as_markdown(&self) -> String {
        let heads = heads("metric | unit | meaning | target", "graphs");
        let rows = METRICS.iter().flat_map(|metric| {
            let counts = self.values.iter().filter(|((id, _), _)| *id == metric.id);
            counts.map(|((_, target), n)| {
                vec![
                    format!("`{}`", metric.id),
                    metric.unit.to_owned(),
                    metric.meaning.to_owned(),
                    format!("`{target}`"),
                    n.to_string(),
                ]
            })
        });
        format!(
            "Graphs that leave operators to the CPU are not counted, because their values leave out these operators.\n\n{}",
            table(&heads, rows)
        )
    }

    /// A row for each target and outcome.
    pub fn outcomes_as_markdown(&self) -> String {
        let heads = [
            heads("target | status | reason", "graphs"),
            heads("spaces", ""),
        ]
        .concat();
        let row = |(outcome, counts): (&Outcome, &OutcomeCounts)| {
            let reason = if outcome.leaves_operators_to_cpu {
                "operators left to the CPU, which the values do not count"
            } else {
                outcome.reason
            };
            vec![
                format!("`{}`", outcome.target),
                outcome.status.to_owned(),
                reason.to_owned(),
                counts.graph_ids.len().to_string(),
                names(&counts.spaces),
            ]
        };
        table(&heads, self.outcomes.iter().map(row))
    }
}

/// The names if there are few, otherwise their number.
fn names(spaces: &BTreeSet<&str>) -> String {
    const MAX_NAMED: usize = 4;
    match spaces.len() {
        n if n > MAX_NAMED => format!("{n} spaces"),
        _ => spaces.iter().copied().collect::<Vec<_>>().join(", "),
    }
}

/// A graph id begins with its space.
fn space_of(graph_id: &str) -> &str {
    graph_id.split('/').next().unwrap_or_default()
}
