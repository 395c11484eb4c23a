//! Errors as tables, for the console and for `trainer/results`.

use std::collections::BTreeSet;

use litecast::targets::cortex_m::{Constants, Errors, Target};

use super::evaluate::{Evaluation, LeftOut, errors, n_networks};
use crate::markdown::{heads, table};

/// The constants and what they were made of.
pub struct FittedTargets<'r> {
    pub constants: Constants,
    pub evaluations: Vec<Evaluation<'r>>,
}

/// Every left-out estimate, one line each.
pub fn rows(fitted: &FittedTargets) -> String {
    let mut text = format!(
        "{:12} {:22} {:16} {:32} {:>9} {:>8} {:>8} {:>8} {:>8}\n",
        "runtime", "board", "release", "network", "measured", "network", "family", "board", "MACs"
    );
    for left in fitted.evaluations.iter().flat_map(|e| &e.left_out) {
        let measured = &left.row.measured;
        let off = |ms: f64| format!("{:+.1} %", 100.0 * (ms / measured.latency_ms - 1.0));
        text += &format!(
            "{:12} {:22} {:16} {:32} {:>9.2} {:>8} {:>8} {:>8} {:>8}\n",
            measured.runtime,
            measured.board,
            measured.version,
            measured.network,
            measured.latency_ms,
            off(left.network_ms),
            off(left.family_ms),
            left.board_ms.map_or("-".to_owned(), off),
            off(left.macs_alone_ms),
        );
    }
    text
}

/// The results file.
pub fn markdown(fitted: &FittedTargets) -> String {
    let mut text = String::from(
        "# Microcontrollers\n\nMade by `litecast-trainer fit-mcu`. Errors of estimated latencies, relative to \
         the measured ones, uncapped, in percent. \"Network\" leaves the network out on every board, \"family\" \
         all networks of its architecture, \"board\" the board whole and the network on every other. \
         \"Stated\" is the error that targets state: a mean over families, of those that are left out in turn or of the \
         [final ones](final/mcu.md). \"Three sums\" is a regression on \
         multiply-accumulates, bytes of activations and bytes of weights, a family left out. \"MACs\" is the simplest \
         estimate, cycles as so many for each multiply-accumulate, a network left out.\n\n## By \
         target\n\nThe interval reaches from the estimate over the factor to the estimate times it; \"held\" is the \
         share of left-out latencies inside, with the factor made of the other networks.\n\n",
    );
    text += &targets(fitted);
    text += "\n## By release of ST Edge AI\n\nCycles relative to 8.1, and the errors of the latencies that were measured \
             on a core under it. What has no errors was not measured: its factor is that of other releases and cores.\n\n";
    text += &releases(fitted);
    text += "\n## By board\n\n";
    text += &boards(fitted);
    text += "\n## Fitted costs\n\nCycles for one of each count on the reference processor.\n\n";
    text += &costs(fitted);
    text += "\n## Energy\n\nPower times estimated latency at the supply of the measurement, a network left out of both.\n\n";
    text += &energies(fitted);
    text
}

fn cells(errors: &Errors) -> [String; 4] {
    [
        format!("{:.1}", errors.mean_percent),
        format!("{:.1}", errors.median_percent),
        format!("{:.1}", errors.p95_percent),
        format!("{:.1}", errors.worst_percent),
    ]
}

fn targets(fitted: &FittedTargets) -> String {
    let heads = heads(
        "target",
        "latencies | networks | network: mean | median | p95 | worst | family: mean | \
         median | p95 | worst | stated | three sums: mean | MACs: mean | interval | held",
    );
    let line = |target: &Target| {
        let mut line = vec![
            target.target.clone(),
            target.n_latencies.to_string(),
            target.n_networks.to_string(),
        ];
        line.extend(cells(&target.network_left_out));
        line.extend(cells(&target.family_left_out));
        line.push(format!("{:.1}", target.stated_percent));
        line.push(format!("{:.1}", target.three_sums.mean_percent));
        line.push(format!("{:.1}", target.macs_alone.mean_percent));
        let short = target.short.map_or(String::new(), |short| {
            format!(", below {} ms {:.2}", short.below_ms, short.interval_factor)
        });
        line.push(format!("{:.2}{short}", target.interval_factor));
        line.push(format!("{:.0} %", target.coverage_percent));
        line
    };
    let (converted, measured): (Vec<&Target>, Vec<&Target>) =
        (fitted.constants.targets.iter()).partition(|target| target.core_conversion.is_some());
    let mut text = table(&heads, measured.into_iter().map(line));
    for target in converted {
        text += &format!("\n`{}`: {}.\n", target.target, target.in_words());
    }
    text
}

fn releases(fitted: &FittedTargets) -> String {
    let heads = [
        heads("release | version", "cycles"),
        heads(
            "core",
            "latencies | networks | network: mean | median | p95 | worst | family: mean | \
             median | p95 | worst",
        ),
    ]
    .concat();
    let mut lines = Vec::new();
    for release in fitted
        .constants
        .runtimes
        .iter()
        .flat_map(|runtime| &runtime.releases)
    {
        let factor = format!("{:.3}", release.cycles_factor);
        let head = [release.id.clone(), release.version.clone(), factor];
        for (core, errors) in &release.cores {
            let mut line = head.to_vec();
            let n = [errors.network_left_out.n, errors.n_networks];
            line.push(core.clone());
            line.extend(n.map(|n| n.to_string()));
            line.extend(cells(&errors.network_left_out));
            line.extend(cells(&errors.family_left_out));
            lines.push(line);
        }
        if release.cores.is_empty() {
            let mut line = head.to_vec();
            line.resize(heads.len(), "-".to_owned());
            lines.push(line);
        }
    }
    table(&heads, lines)
}

fn boards(fitted: &FittedTargets) -> String {
    let heads = heads(
        "runtime | board",
        "latencies | networks | network: mean | worst | family: mean | worst | board: mean | \
         worst | MACs: mean",
    );
    table(&heads, fitted.evaluations.iter().flat_map(board_lines))
}

fn board_lines(evaluation: &Evaluation) -> Vec<Vec<String>> {
    let left_out = evaluation.left_out.iter();
    let boards: BTreeSet<&str> = left_out
        .map(|left| left.row.measured.board.as_str())
        .collect();
    let line = |board: &str| {
        let rows_of_board: Vec<&LeftOut> = evaluation
            .left_out
            .iter()
            .filter(|left| left.row.measured.board == board)
            .collect();
        let mut line = vec![
            evaluation.runtime.to_owned(),
            board.to_owned(),
            rows_of_board.len().to_string(),
            n_networks(&rows_of_board).to_string(),
        ];
        let estimates: [fn(&LeftOut) -> Option<f64>; 3] = [
            |left| Some(left.network_ms),
            |left| Some(left.family_ms),
            |left| left.board_ms,
        ];
        for estimate in estimates {
            let errors = errors(&rows_of_board, estimate);
            let cell = |percent: f64| match errors.n {
                0 => "-".to_owned(),
                _ => format!("{percent:.1}"),
            };
            line.push(cell(errors.mean_percent));
            line.push(cell(errors.worst_percent));
        }
        let simplest = errors(&rows_of_board, |left| Some(left.macs_alone_ms));
        line.push(format!("{:.1}", simplest.mean_percent));
        line
    };
    boards.into_iter().map(line).collect()
}

fn costs(fitted: &FittedTargets) -> String {
    let heads = heads("runtime | reference | count", "cycles");
    let lines = fitted.constants.runtimes.iter().flat_map(|runtime| {
        runtime.costs.iter().map(|(term, cost)| {
            let name = serde_json::to_value(term).unwrap_or_default();
            vec![
                runtime.id.clone(),
                runtime.reference.clone(),
                name.as_str().unwrap_or_default().to_owned(),
                format!("{cost:.3}"),
            ]
        })
    });
    table(&heads, lines)
}

fn energies(fitted: &FittedTargets) -> String {
    let heads = heads(
        "target | board",
        "mW | MHz | V | energies | mean | median | p95 | worst",
    );
    let lines = fitted.constants.targets.iter().filter_map(|target| {
        let energy = target.energy.as_ref()?;
        let mut line = vec![
            target.target.clone(),
            energy.board.clone(),
            format!("{:.1}", energy.power_mw),
            energy.clock_mhz.to_string(),
            energy.supply_volts.to_string(),
            energy.error.n.to_string(),
        ];
        line.extend(cells(&energy.error));
        Some(line)
    });
    table(&heads, lines)
}
