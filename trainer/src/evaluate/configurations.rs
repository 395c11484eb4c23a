//! `litecast-trainer evaluate-configurations`: compares Vela's rules, as the engine reproduces them, with Vela itself
//! in configurations that no network was trained on.

use std::collections::HashMap;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, anyhow};
use litecast::graph::analysis::analyze;
use litecast::targets::Metric;
use litecast::targets::ethos_u::accelerator::Accelerator;
use litecast::targets::ethos_u::configuration::Configuration;
use litecast::targets::ethos_u::totals::Totals;

use crate::labels::plan::{self, Shard};
use crate::labels::record::{Label, Labelled, Origin, Outcome, Record, Run};
use crate::labels::store::{LabelFile, Labels};
use crate::labels::target::Target;
use crate::labels::vela::{Vela, VelaLabel};
use crate::labels::worker::Worker;
use crate::labels::{bytes_of, sha256_hex};
use crate::markdown::{Head, table};
use crate::metrics::percentiles;
use crate::spaces::{SampleForm, Space, has_networks};
use crate::targets::ethos_u::sets::Set;
use crate::targets::ethos_u::setup::Setup;

/// Time limit for one graph in one configuration.
const LIMIT: Duration = Duration::from_secs(120);

/// Labels sampled networks and files with Vela in every configuration, and measures the rules.
#[derive(Clone, Debug, clap::Args)]
pub struct EvaluateConfigurationsArgs {
    /// Networks of each design space.
    #[arg(long, default_value_t = 10)]
    pub count: u64,
    /// Seed of the configurations and networks that are drawn.
    #[arg(long, default_value_t = 11)]
    pub seed: u64,
    /// Folders with real files, which count apart.
    #[arg(long)]
    pub files: Vec<PathBuf>,
    /// Folder of labels as `label-configurations` writes them: what it has is not labelled again, and what it lacks is
    /// added.
    #[arg(long)]
    pub labels: Option<PathBuf>,
    /// Which configurations.
    #[arg(long = "set", value_enum, default_value_t = Set::Named)]
    pub set: Set,
    /// Compare each configuration on so many of the sampled graphs, taken in turn, instead of all. Files are not
    /// counted.
    #[arg(long)]
    pub networks_each: Option<usize>,
    /// Interpreter that has the packages of `trainer/python/requirements.txt`.
    #[arg(long, default_value = ".venv/bin/python")]
    pub python: PathBuf,
    /// Table, as Markdown.
    #[arg(long, default_value = "trainer/results/configurations.md")]
    pub out: PathBuf,
}

/// The compared metrics.
const METRICS: [Metric; 4] = [
    Metric::Latency,
    Metric::SramPeak,
    Metric::OffchipTraffic,
    Metric::SramTraffic,
];

/// Estimates and labels of one graph, by [`METRICS`].
type Pair = [(f64, f64); METRICS.len()];

/// Groups of graphs: networks, random operators and files.
const N_GROUPS: usize = 3;
const GROUPS: [&str; N_GROUPS] = ["Sampled networks", "Random operators", "Real files"];
/// Index of the group of files.
const FILES: usize = 2;

/// Accelerator and configuration in words, pairs by group, and the number of left-out graphs by group.
type ConfigurationRow<'p> = ([String; 2], &'p [Vec<Pair>; N_GROUPS], [usize; N_GROUPS]);

/// Labels of graphs by Vela, read from a folder of labels or made by running Vela.
struct Labeller<'a> {
    vela: Vela,
    targets: &'a [Target],
    worker: Option<Worker>,
    known: HashMap<(String, String), (String, Outcome)>,
    file: Option<LabelFile>,
}

impl<'a> Labeller<'a> {
    fn open(args: &EvaluateConfigurationsArgs, targets: &'a [Target]) -> Result<Self> {
        let mut labeller = Self {
            vela: Vela {
                python: args.python.clone(),
            },
            targets,
            worker: None,
            known: HashMap::new(),
            file: None,
        };
        let Some(folder) = &args.labels else {
            return Ok(labeller);
        };
        fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
        for labelled in Labels::read(folder)?.labelled {
            let key = (labelled.graph_id, labelled.target);
            if matches!(labelled.outcome.status(), "ok" | "rejected") {
                labeller
                    .known
                    .insert(key, (labelled.sha256, labelled.outcome));
            }
        }
        let tool = labeller.worker()?.tool.clone();
        let mut file = LabelFile::open(&folder.join("evaluate-configurations.jsonl"))?;
        file.append(&Record::Run(Box::new(Run {
            tool,
            targets: targets.to_vec(),
            time_limit_s: LIMIT.as_secs_f64(),
            request: format!("{:?}", args.set),
            shard: "0/1".into(),
        })))?;
        labeller.file = Some(file);
        Ok(labeller)
    }

    fn worker(&mut self) -> Result<&mut Worker> {
        let worker = match self.worker.take() {
            Some(worker) => worker,
            None => Worker::start(&self.vela, self.targets)?,
        };
        Ok(self.worker.insert(worker))
    }

    /// The label of a graph in the configuration with index `idx`.
    fn outcome(&mut self, origin: &Origin, bytes: &[u8], idx: usize) -> Result<Outcome> {
        let sha256 = sha256_hex(bytes);
        let target = self.targets[idx].id.clone();
        let key = (origin.graph_id(), target.clone());
        if let Some((_, outcome)) = self.known.get(&key).filter(|(known, _)| *known == sha256) {
            return Ok(outcome.clone());
        }
        let answer = self.worker()?.label(idx, bytes, LIMIT);
        if !answer.leaves_worker_alive() {
            self.worker = None;
        }
        if let Some(file) = &mut self.file {
            file.append(&Record::Label(Box::new(Labelled {
                graph_id: origin.graph_id(),
                origin: origin.clone(),
                sha256,
                target,
                cpu_s: answer.cpu_s,
                outcome: answer.outcome.clone(),
            })))?;
        }
        Ok(answer.outcome)
    }
}

/// Runs the subcommand. Fails if a file that it needs cannot be read, or a result cannot be written.
pub fn run(args: &EvaluateConfigurationsArgs) -> Result<()> {
    let setups = args.set.setups(args.seed)?;
    let targets: Vec<Target> = setups.iter().map(Setup::vela_target).collect();
    let configurations: Vec<Configuration> =
        (setups.into_iter().map(|setup| setup.configuration)).collect();
    let accelerators: Vec<Accelerator> = configurations.iter().map(Accelerator::new).collect();
    let mut labeller = Labeller::open(args, &targets)?;
    let origins = origins(args)?;
    let mut pairs: Vec<[Vec<Pair>; N_GROUPS]> = vec![Default::default(); targets.len()];
    let mut n_left_out = vec![[0; N_GROUPS]; targets.len()];
    // Each configuration is compared on every n-th graph, starting at another one, so that configurations use different
    // graphs.
    let n_sampled = origins
        .iter()
        .filter(|origin| group_of(origin) != FILES)
        .count();
    let step = args
        .networks_each
        .map_or(1, |n| (n_sampled / n.max(1)).max(1));
    for (origin_idx, origin) in origins.iter().enumerate() {
        let bytes = bytes_of(origin)?;
        let group = group_of(origin);
        let planned = totals(&bytes, &accelerators)?;
        for (idx, totals) in planned.iter().enumerate() {
            if group != FILES && (origin_idx + idx) % step != 0 {
                continue;
            }
            match labeller.outcome(origin, &bytes, idx)? {
                // Operators on the CPU cost nothing in the compiler's totals, so only graphs without them are compared.
                Outcome::Ok(Label::Vela(label)) if label.n_cpu_operators == 0 => {
                    pairs[idx][group].push(pair(totals, &label));
                }
                _ => n_left_out[idx][group] += 1,
            }
        }
    }
    let text = markdown(&configurations, &pairs, &n_left_out);
    println!("{text}");
    fs::write(&args.out, text).with_context(|| args.out.display().to_string())
}

fn group_of(origin: &Origin) -> usize {
    match origin {
        Origin::Sampled { space, .. } => usize::from(!has_networks(space)),
        Origin::File(_) => FILES,
    }
}

fn origins(args: &EvaluateConfigurationsArgs) -> Result<Vec<Origin>> {
    let sampled = |space: Space| {
        let id = space.id().to_string();
        (0..args.count).map(move |index| Origin::Sampled {
            space: id.clone(),
            seed: args.seed,
            index,
            form: SampleForm::default(),
        })
    };
    let mut origins: Vec<Origin> = Space::all().flat_map(sampled).collect();
    let shard = Shard { index: 0, n: 1 };
    for origin in plan::files(&args.files, shard)? {
        if litecast::formats::tflite::parse(&bytes_of(&origin)?).is_ok() {
            origins.push(origin);
        }
    }
    Ok(origins)
}

/// Our totals in each configuration.
fn totals(bytes: &[u8], accelerators: &[Accelerator]) -> Result<Vec<Totals>> {
    let model = litecast::formats::tflite::parse(bytes).map_err(|error| anyhow!("{error}"))?;
    let graph = litecast::graph::build(&model, 0).map_err(|error| anyhow!("{error}"))?;
    let analysis = analyze(&graph);
    let accelerators = accelerators.iter();
    Ok(accelerators
        .map(|accelerator| Totals::new(accelerator, &graph, &analysis))
        .collect())
}

fn pair(totals: &Totals, label: &VelaLabel) -> Pair {
    let sram = label.memories.get("Sram");
    let sram_bytes = sram.map_or(0, |sram| sram.read_bytes + sram.written_bytes);
    [
        (totals.latency_ms, label.latency_ms),
        (totals.sram_peak_bytes, label.sram_peak_bytes as f64),
        (
            totals.offchip_traffic_bytes,
            label.offchip_traffic_bytes as f64,
        ),
        (totals.sram_traffic_bytes, sram_bytes as f64),
    ]
}

/// Mean, median, 90th and 95th percentile of the errors over pairs whose label is not 0; a label of 0 has no relative
/// error.
fn percents(pairs: &[(f64, f64)]) -> Option<[f64; 4]> {
    let labelled = pairs.iter().filter(|(_, label)| *label > 0.0);
    let percents = labelled.map(|(estimate, label)| 100.0 * (estimate / label - 1.0).abs());
    percentiles(percents.collect())
}

fn markdown(
    configurations: &[Configuration],
    pairs: &[[Vec<Pair>; N_GROUPS]],
    n_left_out: &[[usize; N_GROUPS]],
) -> String {
    let named = configurations.iter().map(|configuration| {
        let name = configuration.product.name();
        [name.to_owned(), configuration.in_words()]
    });
    let of_all: [Vec<Pair>; N_GROUPS] = std::array::from_fn(|group| {
        let here = pairs.iter().flat_map(|pairs| &pairs[group]);
        here.copied().collect()
    });
    let left_out = std::array::from_fn(|group| n_left_out.iter().map(|n| n[group]).sum());
    let mut rows: Vec<ConfigurationRow> = (named.zip(pairs).zip(n_left_out))
        .map(|((names, pairs), &n_left_out)| (names, pairs, n_left_out))
        .collect();
    rows.push((["all", "all of them"].map(str::to_owned), &of_all, left_out));
    let mut text = "# Vela's rules beside Vela, by configuration\n\n\
         Relative errors of the rules alone, none of them cut off. Graphs that Vela refuses, or of which it leaves a \
         part to the CPU, are left out.\n"
        .to_owned();
    for (group, title) in GROUPS.into_iter().enumerate() {
        if rows.iter().any(|(_, pairs, _)| !pairs[group].is_empty()) {
            text += &format!("\n## {title}\n\n{}", section(&rows, group));
        }
    }
    text
}

/// The table of one group of graphs.
fn section(rows: &[ConfigurationRow], group: usize) -> String {
    let mut heads = vec![Head::text("accelerator"), Head::text("configuration")];
    heads.extend(["graphs", "left out"].map(Head::number));
    for metric in METRICS {
        heads.extend(
            ["mean", "median", "p90", "p95"].map(|what| Head::number(format!("{metric} {what}"))),
        );
    }
    let cells = rows.iter().map(|(names, pairs, n_left_out)| {
        let pairs = &pairs[group];
        let mut cells = names.to_vec();
        cells.extend([pairs.len(), n_left_out[group]].map(|n| n.to_string()));
        for idx in 0..METRICS.len() {
            let column: Vec<(f64, f64)> = pairs.iter().map(|pair| pair[idx]).collect();
            cells.extend(match percents(&column) {
                Some(percents) => percents.map(|percent| format!("{percent:.2} %")),
                None => [const { String::new() }; 4].map(|_| "-".to_owned()),
            });
        }
        cells
    });
    table(&heads, cells)
}
