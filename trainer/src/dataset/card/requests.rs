//! The commands that label again what the tables hold.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use anyhow::Result;
use arrow::datatypes::UInt64Type;
use clap::ValueEnum;

use crate::dataset::read::Tables;
use crate::labels::ToolChoice;
use crate::labels::record::precision_and_batch;
use crate::writer::Precision;

/// What one command asks for.
type Request = (ToolChoice, u64, Precision);

/// The samples of a request that are in the tables.
#[derive(Default)]
struct Samples<'t> {
    batches: BTreeSet<u32>,
    /// One more than the largest index, by space.
    n_by_space: BTreeMap<&'t str, u64>,
}

/// A command for each tool, seed and precision. Of each space they label all indices up to the largest
/// one that the tables hold.
pub fn markdown(tables: &Tables) -> Result<String> {
    let mut text = String::from(
        "Labels are made again by these commands, and tables of them by `litecast-trainer dataset build`:\n\n```sh\n",
    );
    for (request, samples) in requests(tables)? {
        text += &command(request, &samples);
    }
    Ok(text + "```\n")
}

fn requests(tables: &Tables) -> Result<BTreeMap<Request, Samples<'_>>> {
    let graphs = &tables.graphs;
    let spaces = graphs.texts("space")?;
    let seeds = graphs.optional_values::<UInt64Type>("seed")?;
    let indices = graphs.optional_values::<UInt64Type>("index")?;
    let rows: HashMap<_, _> = graphs.texts("graph_id")?.into_iter().zip(0..).collect();
    let targets = tables.provenance.targets();
    let tools: HashMap<_, _> = targets
        .iter()
        .filter_map(|target| Some((target.id.as_str(), target.tool()?)))
        .collect();
    let mut requests: BTreeMap<Request, Samples> = BTreeMap::new();
    let labels = &tables.labels;
    for (graph_id, target) in labels
        .texts("graph_id")?
        .into_iter()
        .zip(labels.texts("target")?)
    {
        let Some((tool, row)) = tools.get(target).zip(rows.get(graph_id)) else {
            continue;
        };
        let row: usize = *row;
        let Some((seed, index)) = seeds[row].zip(indices[row]) else {
            continue;
        };
        let (precision, batch) = precision_and_batch(graph_id);
        let samples = requests.entry((*tool, seed, precision)).or_default();
        samples.batches.insert(batch);
        let n = samples.n_by_space.entry(spaces[row]).or_default();
        *n = (*n).max(index + 1);
    }
    Ok(requests)
}

fn command((tool, seed, precision): Request, samples: &Samples) -> String {
    let mut text = String::from("litecast-trainer label --out labels");
    if let Some(name) = tool.to_possible_value() {
        text += &format!(" --tool {}", name.get_name());
    }
    text += &format!(" --seed {seed}");
    if precision != Precision::default() {
        text += &format!(" --precision {precision}");
    }
    if samples.batches.iter().any(|batch| *batch != 1) {
        text += &format!(" --batches {}", joined(samples.batches.iter()));
    }
    let spaces = samples.n_by_space.iter();
    let spaces = spaces.map(|(space, n)| format!("{space}:{n}"));
    text + &format!(" --spaces {}\n", joined(spaces))
}

fn joined(parts: impl Iterator<Item = impl ToString>) -> String {
    let parts: Vec<String> = parts.map(|part| part.to_string()).collect();
    parts.join(",")
}
