//! The dataset's card against the tables as pyarrow reads them, and the lines of Python in docs/method/dataset.md.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::common::python;
use litecast_needs::{Need, skip};
use litecast_trainer::dataset::{self, BuildArgs, DatasetCommand};
use litecast_trainer::labels::plan::{Shard, SpaceCount};
use litecast_trainer::labels::{LabelArgs, ToolChoice, run};
use litecast_trainer::spaces::Weights;
use litecast_trainer::writer::Precision;
use serde_json::Value;

/// `upscaler-d2s` leaves operators to the CPU; Ethos-U55 rejects graphs of `random-truth`.
const SPACES: [&str; 4] = [
    "cnn-kws:3",
    "autoencoder:2",
    "upscaler-d2s:1",
    "random-truth:3",
];

/// The counts of the card, counted again.
const COUNT: &str = r#"
import collections, json, sys
import pyarrow.parquet as parquet

graphs, operators, labels = (
    parquet.read_table(f"{sys.argv[1]}/{name}.parquet").to_pylist()
    for name in ("graphs", "operators", "labels")
)
spaces = {graph["graph_id"]: graph["space"] for graph in graphs}
by_space = {
    space: {
        "graphs": sum(1 for graph in graphs if graph["space"] == space),
        "structures": len({g["structure_hash"] for g in graphs if g["space"] == space}),
        "operators": sum(1 for row in operators if spaces[row["graph_id"]] == space),
        "operator kinds": len({r["operator"] for r in operators if spaces[r["graph_id"]] == space}),
    }
    for space in set(spaces.values())
}
values = collections.Counter(
    f"{row['metric']} {row['target']}"
    for row in labels
    if row["value"] is not None and row["cpu_operators"] == 0
)
outcomes = collections.defaultdict(set)
for row in labels:
    reason = row["reason"] if row["cpu_operators"] == 0 else "left to the CPU"
    outcomes[f"{row['target']} {row['status']} {reason}"].add(row["graph_id"])
columns = {
    name: parquet.read_schema(f"{sys.argv[1]}/{name}.parquet").names
    for name in ("graphs", "operators", "labels")
}
print(json.dumps({
    "spaces": by_space,
    "kinds": collections.Counter(row["operator"] for row in operators),
    "values": values,
    "outcomes": {outcome: len(ids) for outcome, ids in outcomes.items()},
    "columns": columns,
}))
"#;

struct Fixture {
    folder: tempfile::TempDir,
    python: PathBuf,
}

impl Fixture {
    fn make() -> Option<Self> {
        let fixture = Self {
            python: python()?,
            folder: tempfile::tempdir().unwrap(),
        };
        let labels = fixture.folder.path().join("labels");
        run(&LabelArgs {
            tool: ToolChoice::Vela,
            targets: Vec::new(),
            spaces: SPACES
                .map(|space| space.parse::<SpaceCount>().unwrap())
                .to_vec(),
            seed: 7,
            precision: Precision::Int8,
            weights: Weights::Drawn,
            batches: vec![1],
            files: Vec::new(),
            jobs: 2,
            shard: Shard { index: 0, n: 1 },
            time_limit_s: 300.0,
            python: fixture.python.clone(),
            emulator: PathBuf::new(),
            out: labels.clone(),
        })
        .unwrap();
        let out = fixture.tables();
        let args = BuildArgs {
            labels: Some(labels),
            out,
            ..BuildArgs::default()
        };
        dataset::run(&DatasetCommand::Build(args)).unwrap();
        Some(fixture)
    }

    /// Where the documentation's lines look for them.
    fn tables(&self) -> PathBuf {
        self.folder.path().join("trainer/data")
    }

    fn run_python(&self, program: &str, arguments: &[&Path]) -> Output {
        let mut command = Command::new(&self.python);
        command.current_dir(self.folder.path());
        command
            .args(["-c", program])
            .args(arguments)
            .output()
            .unwrap()
    }

    /// The card, as the command writes it.
    fn card(&self) -> String {
        let out = self.folder.path().join("card/README.md");
        let dataset = self.tables();
        let command = DatasetCommand::Card {
            dataset,
            out: out.clone(),
        };
        dataset::run(&command).unwrap();
        fs::read_to_string(out).unwrap()
    }
}

fn stdout(output: &Output) -> String {
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Rows of the first table below a heading, by the names of the columns.
fn rows(card: &str, heading: &str) -> Vec<BTreeMap<String, String>> {
    let (_, below) = card.split_once(&format!("{heading}\n")).unwrap();
    let table = below.lines().skip_while(|line| !line.starts_with('|'));
    let mut table = table.take_while(|line| line.starts_with('|')).map(cells);
    let heads = table.next().unwrap();
    let rules = table.next().unwrap();
    assert_eq!(heads.len(), rules.len());
    table
        .map(|cells| {
            assert_eq!(cells.len(), heads.len(), "{cells:?}");
            heads.iter().cloned().zip(cells).collect()
        })
        .collect()
}

/// Without the marks of code.
fn cells(row: &str) -> Vec<String> {
    let inner = row.trim_start_matches("| ").trim_end_matches(" |");
    let cells = inner.split(" | ");
    cells.map(|cell| cell.trim().replace('`', "")).collect()
}

fn number(text: &str) -> u64 {
    text.parse().unwrap()
}

/// Name → number of a JSON object.
fn counts(value: &Value) -> BTreeMap<String, u64> {
    let entries = value.as_object().unwrap().iter();
    entries
        .map(|(name, n)| (name.clone(), n.as_u64().unwrap()))
        .collect()
}

#[test]
fn the_card_counts_what_pyarrow_counts() {
    let Some(fixture) = Fixture::make() else {
        return;
    };
    let card = fixture.card();
    let output = fixture.run_python(COUNT, &[&fixture.tables()]);
    let expected: Value = serde_json::from_str(&stdout(&output)).unwrap();

    let spaces = rows(&card, "## Design spaces");
    assert_eq!(spaces.len(), SPACES.len());
    for row in &spaces {
        for (name, n) in counts(&expected["spaces"][&row["space"]]) {
            assert_eq!(number(&row[&name]), n, "{name} of {}", row["space"]);
        }
    }
    let kinds = rows(&card, "## Operator kinds");
    let kinds = kinds
        .iter()
        .map(|row| (row["operator"].clone(), number(&row["operators"])));
    assert_eq!(
        kinds.collect::<BTreeMap<_, _>>(),
        counts(&expected["kinds"])
    );
    let values = rows(&card, "## Labels");
    let key = |row: &BTreeMap<String, String>| format!("{} {}", row["metric"], row["target"]);
    let values = values.iter().map(|row| (key(row), number(&row["graphs"])));
    assert_eq!(
        values.collect::<BTreeMap<_, _>>(),
        counts(&expected["values"])
    );
    check_outcomes(&card, &expected["outcomes"]);
    check_columns(&card, &expected["columns"]);
    check_pictures(&fixture, &card);
    let remade = "label --out labels --tool vela --seed 7 \
                  --spaces autoencoder:2,cnn-kws:3,random-truth:3,upscaler-d2s:1\n";
    assert!(card.contains(remade), "{card}");
    let n_graphs: u64 = spaces.iter().map(|row| number(&row["graphs"])).sum();
    println!(
        "{n_graphs} graphs, {} operator kinds: difference 0",
        counts(&expected["kinds"]).len()
    );
}

fn check_outcomes(card: &str, expected: &Value) {
    let reason = |row: &BTreeMap<String, String>| {
        if row["reason"].contains("left to the CPU") {
            "left to the CPU".to_owned()
        } else {
            row["reason"].clone()
        }
    };
    let key = |row: &BTreeMap<String, String>| {
        format!("{} {} {}", row["target"], row["status"], reason(row))
    };
    let actual = rows(card, "## Outcomes of labelling");
    let actual: BTreeMap<_, _> = actual
        .iter()
        .map(|row| (key(row), number(&row["graphs"])))
        .collect();
    assert_eq!(actual, counts(expected));
    // The fixture has each kind of outcome that a compiler gives.
    assert!(actual.keys().any(|outcome| outcome.contains("rejected")));
    assert!(
        actual
            .keys()
            .any(|outcome| outcome.contains("left to the CPU"))
    );
}

/// Every column of the files, in their order, each with words beside it.
fn check_columns(card: &str, expected: &Value) {
    for name in ["graphs", "operators", "labels"] {
        let actual = rows(card, &format!("### `{name}.parquet`"));
        let names: Vec<_> = actual
            .iter()
            .map(|row| Value::from(row["column"].clone()))
            .collect();
        assert_eq!(names, *expected[name].as_array().unwrap());
        assert!(
            actual
                .iter()
                .all(|row| !row["meaning"].is_empty() && !row["type"].is_empty())
        );
    }
}

/// A picture lies beside the card for each metric, with a bar in it.
fn check_pictures(fixture: &Fixture, card: &str) {
    for metric in ["latency", "energy", "sram-peak", "offchip-traffic", "macs"] {
        let name = format!("histogram-{metric}.svg");
        assert!(card.contains(&format!("]({name})")));
        let svg = fs::read_to_string(fixture.folder.path().join("card").join(&name)).unwrap();
        for target in ["ethos-u55-256", "ethos-u65-512", "ethos-u85-256"] {
            assert!(svg.contains(target), "{name}: {target}");
        }
        assert!(svg.contains("#2B6CB0"), "{name}");
    }
}

/// The documentation's lines, where the interpreter has the library.
#[test]
fn the_lines_of_the_readme_read_the_tables() {
    let Some(fixture) = Fixture::make() else {
        return;
    };
    let readme = fs::read_to_string(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../docs/method/dataset.md"
    ))
    .unwrap();
    let blocks: Vec<_> = readme.split("```python\n").skip(1).collect();
    assert_eq!(blocks.len(), 4);
    for block in blocks {
        let program = block.split("```").next().unwrap();
        let import = program.lines().next().unwrap();
        if !fixture.run_python(import, &[]).status.success() {
            let reason = format!("`{import}` fails in {}", fixture.python.display());
            skip(Need::DataFrames, reason);
            continue;
        }
        let printed = stdout(&fixture.run_python(program, &[]));
        assert!(printed.contains("ethos-u55-256"), "{printed}");
    }
}
