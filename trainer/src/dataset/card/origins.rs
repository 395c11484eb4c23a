//! With what the labels were made.

use std::collections::BTreeMap;

use super::markdown::{Head, table};
use crate::dataset::Provenance;
use crate::labels::record::{Run, Tool};

/// Tools, targets and requests of all runs.
pub fn markdown(provenance: &Provenance) -> String {
    format!(
        "{}\n{}\nRequests, of which the tables hold what was labelled:\n\n{}",
        tools(&provenance.runs),
        targets(provenance),
        requests(&provenance.runs)
    )
}

fn tools(runs: &[Run]) -> String {
    let mut tools: Vec<&Tool> = Vec::new();
    for run in runs {
        if !tools.iter().any(|tool| is_same(tool, &run.tool)) {
            tools.push(&run.tool);
        }
    }
    let heads = ["tool", "version", "Python", "settings"].map(Head::Text);
    let row = |tool: &Tool| {
        let settings = tool.settings.iter();
        let settings: Vec<_> = settings
            .map(|(key, value)| format!("{key} `{value}`"))
            .collect();
        vec![
            tool.name.clone(),
            tool.version.clone(),
            tool.python.clone(),
            settings.join(", "),
        ]
    };
    table(&heads, tools.into_iter().map(row))
}

fn is_same(a: &Tool, b: &Tool) -> bool {
    a.labels_like(b) && a.python == b.python
}

fn targets(provenance: &Provenance) -> String {
    let heads = [
        Head::Text("target"),
        Head::Text("hardware"),
        Head::Text("configuration"),
        Head::Number("clock (MHz)"),
        Head::Text("labels are"),
    ];
    let facts = || provenance.runs.iter().flat_map(|run| &run.tool.targets);
    let clock_mhz = |id: &str| {
        let facts = facts().find(|facts| facts.id == id);
        facts.map_or(String::new(), |facts| {
            (facts.core_clock_hz / 1e6).to_string()
        })
    };
    let rows = provenance.targets().into_iter().map(|target| {
        vec![
            format!("`{}`", target.id),
            target.device(),
            target.settings(),
            clock_mhz(&target.id),
            format!("{}s", target.provenance()),
        ]
    });
    table(&heads, rows)
}

/// A row for each request and limit; shards of one request together.
fn requests(runs: &[Run]) -> String {
    let mut shards: BTreeMap<(&str, String), usize> = BTreeMap::new();
    for run in runs {
        let key = (run.request.as_str(), run.time_limit_s.to_string());
        *shards.entry(key).or_default() += 1;
    }
    let heads = [
        Head::Text("request"),
        Head::Number("limit for a file (s)"),
        Head::Number("runs"),
    ];
    let row = |((request, limit_s), n): ((&str, String), usize)| {
        vec![request.to_owned(), limit_s, n.to_string()]
    };
    table(&heads, shards.into_iter().map(row))
}
