//! The commands that make the labels of the tables again.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use anyhow::Result;
use arrow_array::types::UInt64Type;
use clap::ValueEnum;

use crate::dataset::read::Tables;
use crate::labels::record::form_of_id;
use crate::labels::target::ToolChoice;
use crate::spaces::{SampleForm, Weights};
use crate::writer::Precision;

/// Arguments of one command: a tool, a seed, precision and weights, and the targets if they are not all.
type Request<'t> = (
    ToolChoice,
    u64,
    (Precision, Weights),
    Option<BTreeSet<&'t str>>,
);

/// The samples of a request that are in the tables.
#[derive(Default)]
struct Samples<'t> {
    batches: BTreeSet<u32>,
    /// One more than the largest index, by space.
    n_by_space: BTreeMap<&'t str, u64>,
}

/// The samples of one space with one seed.
#[derive(Default)]
struct SpaceSamples<'t> {
    targets: BTreeSet<&'t str>,
    batches: BTreeSet<u32>,
    /// One more than the largest index.
    n: u64,
}

/// A command for each tool, seed, precision and choice of targets. For each space they label all indices up to the
/// largest one in the tables.
pub fn markdown(tables: &Tables) -> Result<String> {
    let mut text = String::from(
        "These commands make the labels again, and `litecast-trainer dataset build` makes the tables from them:\n\n```sh\n",
    );
    for (request, samples) in requests(tables)? {
        text += &command(request, &samples);
    }
    Ok(text + "```\n")
}

fn requests(tables: &Tables) -> Result<BTreeMap<Request<'_>, Samples<'_>>> {
    let graphs = &tables.graphs;
    let spaces = graphs.texts("space")?;
    let seeds = graphs.values_if_present::<UInt64Type>("seed")?;
    let indices = graphs.values_if_present::<UInt64Type>("index")?;
    let rows: HashMap<_, _> = graphs.texts("graph_id")?.into_iter().zip(0..).collect();
    let targets = tables.provenance.targets();
    let tools: HashMap<_, _> = targets
        .iter()
        .filter_map(|target| Some((target.id.as_str(), target.tool()?)))
        .collect();
    let labels = &tables.labels;
    let labelled = labels.texts("graph_id")?.into_iter();
    let mut of_spaces: BTreeMap<_, SpaceSamples> = BTreeMap::new();
    for (graph_id, target) in labelled.zip(labels.texts("target")?) {
        let tool_and_row = tools.get(target).zip(rows.get(graph_id));
        let Some((tool, row)) = tool_and_row.map(|(tool, row): (_, &usize)| (*tool, *row)) else {
            continue;
        };
        let Some((seed, index)) = seeds[row].zip(indices[row]) else {
            continue;
        };
        let SampleForm {
            precision,
            batch,
            weights,
        } = form_of_id(graph_id);
        let key = (tool, seed, (precision, weights), spaces[row]);
        let of_space = of_spaces.entry(key).or_default();
        of_space.targets.insert(target);
        of_space.batches.insert(batch);
        of_space.n = of_space.n.max(index + 1);
    }
    let mut requests: BTreeMap<Request, Samples> = BTreeMap::new();
    for ((tool, seed, written, space), of_space) in of_spaces {
        let n_targets = tools.values().filter(|other| **other == tool).count();
        let some = Some(of_space.targets).filter(|some| some.len() < n_targets);
        let request = requests.entry((tool, seed, written, some)).or_default();
        request.batches.extend(of_space.batches);
        request.n_by_space.insert(space, of_space.n);
    }
    Ok(requests)
}

fn command((tool, seed, (precision, weights), targets): Request, samples: &Samples) -> String {
    let mut text = String::from("litecast-trainer label --out labels");
    if let Some(name) = tool.to_possible_value() {
        text += &format!(" --tool {}", name.get_name());
    }
    if let Some(targets) = targets {
        text += &format!(" --targets {}", joined(targets.into_iter()));
    }
    text += &format!(" --seed {seed}");
    if precision != Precision::default() {
        text += &format!(" --precision {precision}");
    }
    if !weights.are_drawn() {
        text += " --weights initial";
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
