//! The tools and targets of the labels.

use crate::dataset::Provenance;
use crate::labels::record::{Run, Tool};
use crate::markdown::{Head, heads, table};

/// Tools and targets of all runs.
pub fn markdown(provenance: &Provenance) -> String {
    format!("{}\n{}", tools(&provenance.runs), targets(provenance))
}

fn tools(runs: &[Run]) -> String {
    let mut tools: Vec<&Tool> = Vec::new();
    for run in runs {
        if !tools.iter().any(|tool| is_same(tool, &run.tool)) {
            tools.push(&run.tool);
        }
    }
    let heads = ["tool", "version", "Python", "settings"].map(Head::text);
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
        heads("target | hardware | configuration", "clock (MHz)"),
        heads("a label is", ""),
    ]
    .concat();
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
            target.provenance().to_owned(),
        ]
    });
    table(&heads, rows)
}
