//! The columns of Table 6 and Table 7 for a CPU and the Edge TPU.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::{Context, Result};
use litecast::learned::manifest::{ALL, NETWORKS};
use litecast_trainer::markdown::{self, Head, percent};
use litecast_trainer::spaces::Space;

use crate::error_table::{self, CsvRow};

/// Folder in the results with one table for each method or, for a network, for each seed.
const FOLDER: &str = "processors";

/// Empty if there are no tables of processors.
pub fn markdown(results: &Path) -> Result<String> {
    let rows = read(&results.join(FOLDER))?;
    if rows.is_empty() {
        return Ok(String::new());
    }
    Ok(format!(
        "\n## Processors\n\nLatency, mean absolute percentage error (least to most of the seeds) / median, none \
         capped. Every method was fitted to graphs of all design spaces, int8 and float32, of one to eight \
         inputs, and measured on the held-out ones of each; the split is the same for all seeds. The sum over \
         operators is what ships. Labels are counted instructions, scaled to measured boards. So is energy: a \
         constant power times the latency, whose relative error it shares. No tool without an Edge TPU gives \
         labels of one; the error on published latencies stands in [processors](../../docs/method/processors.md).\n\n{}\n\
         The paper's, on its own samples, measured on Cortex-A57 and an Edge TPU:\n\n{}",
        measured_rows(&rows),
        papers()
    ))
}

fn read(folder: &Path) -> Result<Vec<CsvRow>> {
    if !folder.exists() {
        return Ok(Vec::new());
    }
    let place = || folder.display().to_string();
    let entries = folder.read_dir().with_context(place)?;
    let paths = entries
        .map(|entry| Ok(entry?.path()))
        .collect::<Result<Vec<_>>>();
    let mut paths = paths.with_context(place)?;
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "csv"));
    paths.sort();
    let tables: Result<Vec<_>> = paths
        .iter()
        .map(|path| error_table::read_csv(path))
        .collect();
    Ok(tables?.into_iter().flatten().collect())
}

/// A row for each method and space, with all its seeds.
fn measured_rows(rows: &[CsvRow]) -> String {
    let rows = || {
        rows.iter()
            .filter(|row| row.metric == "latency" && row.n > 0)
    };
    let targets: BTreeSet<&str> = rows().map(|row| row.target.as_str()).collect();
    let spaces = Space::PAPER.map(|space| space.id());
    let spaces = spaces.iter().copied().chain([NETWORKS, ALL]);
    let mut groups: BTreeMap<(&str, usize), Vec<&CsvRow>> = BTreeMap::new();
    for (place, space) in spaces.enumerate() {
        for row in rows().filter(|row| row.space == space) {
            groups
                .entry((row.method.as_str(), place))
                .or_default()
                .push(row);
        }
    }
    let mut heads = Vec::from(["method", "space"].map(Head::text));
    let counts = ["trained on", "measured on", "features", "best epoch of all"];
    heads.extend(counts.map(Head::number));
    heads.extend(targets.iter().map(|target| Head::number(*target)));
    let lines = groups.values().map(|rows| {
        let of_target = |target: &&str| {
            let of_target = rows.iter().filter(|row| row.target == *target);
            errors(
                &of_target
                    .map(|row| [row.mape, row.median_ape])
                    .collect::<Vec<_>>(),
            )
        };
        let first = rows[0];
        let mut cells = vec![first.method.clone(), first.space.clone()];
        cells.extend(facts(rows));
        cells.extend(targets.iter().map(of_target));
        cells
    });
    markdown::table(&heads, lines)
}

/// Number of graphs for training and for the measurement, number of features, and the epochs of each seed.
fn facts(rows: &[&CsvRow]) -> [String; 4] {
    let number = |n: Option<usize>| n.map_or("-".to_owned(), |n| n.to_string());
    let of_seeds: BTreeMap<u64, String> = rows
        .iter()
        .filter_map(|row| {
            Some((
                row.seed?,
                format!("{} of {}", row.best_epoch?, row.n_epochs?),
            ))
        })
        .collect();
    let epochs: Vec<String> = of_seeds.into_values().collect();
    [
        number(rows[0].n_trained),
        rows[0].n.to_string(),
        number(rows[0].n_features),
        if epochs.is_empty() {
            "-".to_owned()
        } else {
            epochs.join(", ")
        },
    ]
}

/// Cells of pairs of mean and median error, one pair for each seed.
fn errors(pairs: &[[f64; 2]]) -> String {
    let mean = |k: usize| pairs.iter().map(|pair| pair[k]).sum::<f64>() / pairs.len() as f64;
    let [mean_error, median] = [mean(0), mean(1)].map(|error| percent(Some(error)));
    let of_means = || pairs.iter().map(|pair| pair[0]);
    let [least, most] = [
        of_means().fold(f64::MAX, f64::min),
        of_means().fold(0.0, f64::max),
    ];
    match pairs.len() {
        0 => "-".to_owned(),
        1 => format!("{mean_error} / {median}"),
        _ => format!("{mean_error} ({least:.2} to {most:.2}) / {median}"),
    }
}

/// Errors of CPU latency, CPU energy and Edge TPU latency, by [`Space::PAPER`].
type Paper = [[Option<f64>; 3]; 4];

/// Tables 6 and 7 of the paper.
const PAPER: [(&str, Paper); 4] = [
    (
        "PerfSAGE, specialised",
        [
            [Some(2.314), Some(3.164), Some(2.757)],
            [Some(1.098), Some(1.131), Some(2.360)],
            [Some(3.722), Some(4.455), Some(3.055)],
            [Some(4.451), Some(4.633), Some(4.730)],
        ],
    ),
    (
        "PerfSAGE, generalised",
        [
            [Some(2.617), Some(3.694), Some(2.816)],
            [Some(1.263), Some(1.474), Some(1.345)],
            [Some(5.847), Some(4.259), Some(5.115)],
            [Some(4.798), Some(5.901), Some(4.830)],
        ],
    ),
    (
        "Eagle, specialised",
        [
            [Some(41.138), Some(38.482), Some(85.079)],
            [Some(18.080), Some(16.745), Some(96.921)],
            [Some(36.142), Some(39.464), Some(57.823)],
            [Some(46.203), Some(52.256), Some(91.550)],
        ],
    ),
    (
        "nn-Meter",
        [
            [Some(4.371), None, None],
            [Some(3.219), None, None],
            [Some(452.694), None, None],
            [None; 3],
        ],
    ),
];

fn papers() -> String {
    let heads = ["method", "space"].map(Head::text).into_iter();
    let columns = ["CPU latency", "CPU energy", "Edge TPU latency"];
    let heads: Vec<Head> = heads.chain(columns.map(Head::number)).collect();
    let lines = PAPER.iter().flat_map(|(method, errors)| {
        let spaces = Space::PAPER.iter().zip(errors);
        spaces.map(|(space, errors)| {
            let mut cells = vec![(*method).to_owned(), space.id().to_owned()];
            cells.extend(errors.map(percent));
            cells
        })
    });
    markdown::table(&heads, lines)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two seeds and a baseline, from a table in the format of `evaluate`.
    #[test]
    fn seeds_stand_in_one_row() {
        let results = tempfile::tempdir().unwrap();
        let folder = results.path().join(FOLDER);
        std::fs::create_dir(&folder).unwrap();
        let row = |method: &str, mape: f64, seed: Option<u64>| CsvRow {
            method: method.into(),
            target: "cpu".into(),
            metric: "latency".into(),
            space: "cnn-kws".into(),
            mape,
            median_ape: 1.0,
            p95_ape: 0.0,
            within_5: 0.0,
            within_10: 0.0,
            spearman: 0.0,
            n: 7,
            n_trained: Some(70),
            n_features: Some(5),
            best_epoch: seed.map(|_| 3),
            n_epochs: seed.map(|_| 4),
            seed,
        };
        for (name, row) in [
            ("perfsage-seed1", row("perfsage", 2.0, Some(1))),
            ("perfsage-seed2", row("perfsage", 3.0, Some(2))),
            ("baselines", row("linear", 9.0, None)),
        ] {
            let mut writer = csv::Writer::from_path(folder.join(format!("{name}.csv"))).unwrap();
            writer.serialize(row).unwrap();
            writer.flush().unwrap();
        }
        let text = markdown(results.path()).unwrap();
        for line in [
            "| perfsage | cnn-kws | 70 | 7 | 5 | 3 of 4, 3 of 4 | 2.50 % (2.00 to 3.00) / 1.00 % |",
            "| linear | cnn-kws | 70 | 7 | 5 | - | 9.00 % / 1.00 % |",
        ] {
            assert!(text.contains(line), "{text}");
        }
        std::fs::remove_dir_all(folder).unwrap();
        assert_eq!(markdown(results.path()).unwrap(), "");
    }
}
