//! `.tflite` bytes → labels, made by a tool in worker processes.
//!
//! A label is the result of a tool for one file on one [`Target`]: Arm's compiler Vela ([`vela`]) estimates, LiteRT
//! under QEMU ([`litert_qemu`]) counts instructions, and published measurements are imported from a table ([`import`]).
//! Only the modules of the tools depend on the tool; all other code uses a [`LabellingTool`]. A run is resumable,
//! because each label is written to disk before the next one is requested, and it can be distributed over machines,
//! because a shard is a pure function of the request ([`plan`]).

pub mod import;
pub mod litert_qemu;
pub mod plan;
mod progress;
pub mod record;
pub mod store;
pub mod target;
pub mod tool;
pub mod vela;
pub mod worker;

use std::collections::HashMap;
use std::fs;
use std::path::PathBuf;
use std::sync::Mutex;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail, ensure};
use sha2::{Digest, Sha256};

use self::litert_qemu::{DEFAULT_EMULATOR, LitertQemu};
use self::plan::{Shard, SpaceCount, parse_space};
use self::progress::Progress;
use self::record::{Labelled, Origin, Outcome, Record, Run};
use self::store::{Done, LabelFile, Labels, ensure_same_tool};
use self::target::Target;
pub use self::target::ToolChoice;
use self::tool::LabellingTool;
use self::vela::Vela;
use self::worker::{Answer, Worker};
use crate::spaces::{SpaceSample, Weights, sample_in};
use crate::writer::Precision;

/// Labels sampled networks or given files.
#[derive(Clone, Debug, clap::Args)]
pub struct LabelArgs {
    /// The tool that makes the labels.
    #[arg(long, value_enum, default_value = "vela")]
    pub tool: ToolChoice,
    /// Ids of targets to label for; all of the tool's without it.
    #[arg(long, value_delimiter = ',')]
    pub targets: Vec<String>,
    /// Samples to label, for example `cnn-kws:1200,vit-cifar100:1300`.
    #[arg(long, value_delimiter = ',', required_unless_present = "files")]
    pub spaces: Vec<SpaceCount>,
    /// Seed of the samples.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Numbers of the samples; NPUs take int8 alone.
    #[arg(long, default_value = "int8")]
    pub precision: Precision,
    /// Batch sizes that the samples take in turn; those that have no such dimension are left out. NPUs
    /// take 1 alone.
    #[arg(long, value_delimiter = ',', default_value = "1")]
    pub batches: Vec<u32>,
    /// Weights of the samples.
    #[arg(long, value_enum, default_value = "drawn")]
    pub weights: Weights,
    /// `.tflite` files, or folders of them, to label.
    #[arg(long, num_args = 1..)]
    pub files: Vec<PathBuf>,
    /// Worker processes; one keeps one core busy.
    #[arg(long, default_value_t = 2)]
    pub jobs: usize,
    /// The part of the work to do, for example `3/16`.
    #[arg(long, default_value = "0/1")]
    pub shard: Shard,
    /// Wall-clock limit for one file on one target.
    #[arg(long, default_value_t = 60.0)]
    pub time_limit_s: f64,
    /// Interpreter that has the packages of `trainer/python/requirements.txt`, for Vela.
    #[arg(long, default_value = "python3")]
    pub python: PathBuf,
    /// Folder that `make qemu` made, for LiteRT.
    #[arg(long, default_value = DEFAULT_EMULATOR)]
    pub emulator: PathBuf,
    /// Folder of the label files; what they hold is not labelled again.
    #[arg(long)]
    pub out: PathBuf,
}

impl LabelArgs {
    fn tool(&self) -> Box<dyn LabellingTool> {
        match self.tool {
            ToolChoice::Vela => Box::new(Vela {
                python: self.python.clone(),
            }),
            ToolChoice::LitertQemu => Box::new(LitertQemu {
                emulator: self.emulator.clone(),
            }),
        }
    }
}

/// Hexadecimal SHA-256.
pub fn sha256_hex(bytes: &[u8]) -> String {
    Sha256::digest(bytes)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

/// The bytes of a graph: sampled again, or read from its file.
pub fn bytes_of(origin: &Origin) -> Result<Vec<u8>> {
    match origin {
        Origin::Sampled { .. } => Ok(sample_again(origin)?.to_tflite()),
        Origin::File(path) => {
            fs::read(path).with_context(|| format!("could not read {}", path.display()))
        }
    }
}

/// The distribution of a sampled graph's weights, for example `gaussian(sigma=12.5)`; empty for a file.
pub fn weight_distribution(origin: &Origin) -> Result<String> {
    match origin {
        Origin::Sampled { .. } => Ok(sample_again(origin)?.weight_distribution.to_string()),
        Origin::File(_) => Ok(String::new()),
    }
}

fn sample_again(origin: &Origin) -> Result<SpaceSample> {
    let Origin::Sampled {
        space,
        seed,
        index,
        form,
    } = origin
    else {
        bail!("{} is a file", origin.graph_id());
    };
    let sample = sample_in(*form, parse_space(space)?, *seed, *index);
    sample.with_context(|| format!("{}: no batches", origin.graph_id()))
}

/// Makes all requested labels that do not exist yet.
pub fn run(args: &LabelArgs) -> Result<()> {
    let targets = wanted_targets(args.tool().as_ref(), &args.targets)?;
    run_for(args, targets)
}

/// Like [`run`], for these targets instead of those in the arguments.
pub fn run_for(args: &LabelArgs, targets: Vec<Target>) -> Result<()> {
    ensure!(args.jobs > 0, "expected at least one job, found 0");
    ensure!(
        args.precision.is_int8() || matches!(args.tool, ToolChoice::LitertQemu),
        "expected int8 networks for Vela, found {}",
        args.precision
    );
    ensure!(
        args.batches == [1] || matches!(args.tool, ToolChoice::LitertQemu),
        "expected batches of 1 for Vela, found {:?}",
        args.batches
    );
    ensure!(
        !args.batches.is_empty() && !args.batches.contains(&0),
        "expected batches of at least 1, found {:?}",
        args.batches
    );
    fs::create_dir_all(&args.out)
        .with_context(|| format!("could not create {}", args.out.display()))?;
    let mut origins = plan::sampled(
        &args.spaces,
        args.seed,
        (args.precision, args.weights),
        &args.batches,
        args.shard,
    );
    origins.extend(plan::files(&args.files, args.shard)?);
    let session = Session::open(args, targets, origins)?;
    thread::scope(|scope| {
        let threads: Vec<_> = (0..args.jobs)
            .map(|_| scope.spawn(|| session.work()))
            .collect();
        threads
            .into_iter()
            .try_for_each(|thread| thread.join().map_err(|_| anyhow!("a job panicked"))?)
    })?;
    session
        .progress
        .into_inner()
        .map_err(|_| anyhow!("a job panicked"))?
        .finish();
    Ok(())
}

/// The shared state of one run. A mutex is held only to take an origin, to append a line, or to count.
struct Session {
    tool: Box<dyn LabellingTool>,
    /// Groups of targets that share a process.
    groups: Vec<Vec<Target>>,
    time_limit: Duration,
    done: HashMap<(String, String), Done>,
    origins: Mutex<std::vec::IntoIter<Origin>>,
    file: Mutex<LabelFile>,
    progress: Mutex<Progress>,
}

/// A job's processes by group of targets; `None` if it is not running.
type Workers = Vec<Option<Worker>>;

impl Session {
    fn open(args: &LabelArgs, targets: Vec<Target>, origins: Vec<Origin>) -> Result<Self> {
        let tool = args.tool();
        let groups = targets.chunks(tool.targets_per_process().min(targets.len()));
        let groups: Vec<_> = groups.map(<[Target]>::to_vec).collect();
        let run = describe_run(args, tool.as_ref(), &groups)?;
        let labels = Labels::read(&args.out)?;
        labels
            .runs
            .iter()
            .try_for_each(|earlier| ensure_same_tool(earlier, &run))?;
        let name = format!(
            "{}-{}-of-{}.jsonl",
            tool.id(),
            args.shard.index,
            args.shard.n
        );
        let mut file = LabelFile::open(&args.out.join(name))?;
        file.append(&Record::Run(Box::new(run)))?;
        Ok(Self {
            tool,
            groups,
            time_limit: Duration::try_from_secs_f64(args.time_limit_s)?,
            done: labels.done(),
            progress: Mutex::new(Progress::new(origins.len() as u64)),
            origins: Mutex::new(origins.into_iter()),
            file: Mutex::new(file),
        })
    }

    /// Labels one origin after the other until none is left.
    fn work(&self) -> Result<()> {
        let mut workers: Workers = self.groups.iter().map(|_| None).collect();
        while let Some(origin) = self.next_origin()? {
            let outcomes = self.label_graph(&origin, &mut workers)?;
            lock(&self.progress)?.finish_graph(&outcomes);
        }
        Ok(())
    }

    fn next_origin(&self) -> Result<Option<Origin>> {
        Ok(lock(&self.origins)?.next())
    }

    /// The outcomes on the targets that have no label for these bytes yet.
    fn label_graph(&self, origin: &Origin, workers: &mut Workers) -> Result<Vec<Outcome>> {
        let bytes = bytes_of(origin)?;
        let sha256 = sha256_hex(&bytes);
        let mut outcomes = Vec::new();
        for (targets, worker) in self.groups.iter().zip(workers) {
            for (target_idx, target) in targets.iter().enumerate() {
                if self.is_done(&origin.graph_id(), &target.id, &sha256) {
                    continue;
                }
                let answer = self.ask(worker, targets, target_idx, &bytes)?;
                outcomes.push(answer.outcome.clone());
                self.record(origin, &target.id, &sha256, answer)?;
            }
        }
        Ok(outcomes)
    }

    fn is_done(&self, graph_id: &str, target: &str, sha256: &str) -> bool {
        let key = (graph_id.to_string(), target.to_string());
        self.done
            .get(&key)
            .is_some_and(|done| done.is_final && done.sha256 == sha256)
    }

    /// Sends a request to the worker, which is started if it is not running, and drops the worker if it has ended.
    fn ask(
        &self,
        worker: &mut Option<Worker>,
        targets: &[Target],
        target_idx: usize,
        bytes: &[u8],
    ) -> Result<Answer> {
        let mut alive = match worker.take() {
            Some(worker) => worker,
            None => Worker::start(self.tool.as_ref(), targets)?,
        };
        let answer = alive.label(target_idx, bytes, self.time_limit);
        *worker = answer.leaves_worker_alive().then_some(alive);
        Ok(answer)
    }

    fn record(&self, origin: &Origin, target: &str, sha256: &str, answer: Answer) -> Result<()> {
        let labelled = Labelled {
            graph_id: origin.graph_id(),
            origin: origin.clone(),
            sha256: sha256.to_string(),
            target: target.to_string(),
            cpu_s: answer.cpu_s,
            outcome: answer.outcome,
        };
        lock(&self.file)?.append(&Record::Label(Box::new(labelled)))
    }
}

/// The tool's targets with these ids, or all of them if no id is given.
fn wanted_targets(tool: &dyn LabellingTool, ids: &[String]) -> Result<Vec<Target>> {
    let all = tool.targets();
    if ids.is_empty() {
        return Ok(all);
    }
    let target = |id: &String| {
        let target = all.iter().find(|target| target.id == *id);
        let known: Vec<&str> = all.iter().map(|target| target.id.as_str()).collect();
        target.cloned().with_context(|| {
            format!(
                "unknown target `{id}`: expected one of {}",
                known.join(", ")
            )
        })
    };
    ids.iter().map(target).collect()
}

fn lock<T>(mutex: &Mutex<T>) -> Result<std::sync::MutexGuard<'_, T>> {
    mutex.lock().map_err(|_| anyhow!("a job panicked"))
}

/// The description of the run by one of the tool's processes, because all of them give the same.
fn describe_run(args: &LabelArgs, tool: &dyn LabellingTool, groups: &[Vec<Target>]) -> Result<Run> {
    let group = groups.first().context("expected targets, found none")?;
    let spaces = args
        .spaces
        .iter()
        .map(|count| format!("{}:{}", count.space.id(), count.n));
    let files = args.files.iter().map(|path| path.display().to_string());
    let request: Vec<String> = spaces.chain(files).collect();
    let batches = match args.batches.as_slice() {
        [1] => String::new(),
        batches => format!(", batches of {batches:?}"),
    };
    let weights = match args.weights {
        Weights::Drawn => "",
        Weights::Initial => ", initial weights",
    };
    Ok(Run {
        tool: Worker::start(tool, group)?.tool.clone(),
        targets: groups.concat(),
        time_limit_s: args.time_limit_s,
        request: format!(
            "seed {}, {}{batches}{weights}: {}",
            args.seed,
            args.precision,
            request.join(",")
        ),
        shard: args.shard.to_string(),
    })
}
