//! Mutants by the million: what runs, what is found, and the counts of it in a file from which a run goes on.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::panic::{self, AssertUnwindSafe};
use std::path::{Path, PathBuf};
use std::time::Duration;

use litecast::estimate::Detail;
use litecast::learned::predictor::Predictor;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::attacks::{self, Format};
use crate::check::{Cost, Target, max_bytes};
use crate::mutate::{corrupt, mutate};
use crate::protobuf::{self, Message};
use crate::random::Random;
use crate::seeds::Seeds;
use crate::texts;

/// Files of one call.
pub const BATCH: u64 = 16;
/// One in so many calls makes whole reports, and writes them as JSON; the others make summaries.
const FULL: u64 = 8;
/// One in so many TFLite files is an attack that somebody thought of, and no mutant.
const ATTACKS: usize = 8;
/// A file, or a call, that takes longer is a finding.
const MAX_TIME: Duration = Duration::from_secs(1);
/// Findings of one kind that are kept as files: the first few tell enough.
const KEPT: u64 = 3;

/// Makes the files of each call, which follow from the seed and the number of the call alone.
pub struct Mutants {
    pub seed: u64,
    pub seeds: Seeds,
    pub onnx_seeds: Vec<Message>,
    pub graph_seed: Value,
}

impl Mutants {
    pub fn new(seed: u64, folders: &[PathBuf]) -> Self {
        Self {
            seed,
            seeds: Seeds::new(folders),
            onnx_seeds: protobuf::seeds(),
            graph_seed: texts::graph_seed(),
        }
    }

    pub fn of_call(&self, target: Target, call: u64) -> Vec<Vec<u8>> {
        let mut random = Random::new(self.seed);
        let mut random = Random::new(random.next_u64() ^ call);
        let one = |_| match target {
            Target::Measurements => texts::measurements(&mut random),
            Target::Configuration => texts::mutate_ini(&mut random),
            Target::Graph => self.graph(&mut random),
            Target::Ncnn => texts::mutate_ncnn(&mut random),
            Target::Onnx => self.onnx(&mut random),
            Target::Attacks => Format::of_call(call).attack(&mut random),
            Target::Profiles => Format::Profile.attack(&mut random),
            Target::Devices => Format::Device.attack(&mut random),
            Target::Reports => Format::Report.attack(&mut random),
            // GPUs run what PyTorch exports.
            Target::Gpus if call % 2 == 1 => self.onnx(&mut random),
            _ => self.tflite(&mut random),
        };
        (0..BATCH).map(one).collect()
    }

    fn tflite(&self, random: &mut Random) -> Vec<u8> {
        let file = if random.one_in(ATTACKS) {
            attacks::tflite(random)
        } else {
            let mut file = self.seeds.pick(random).clone();
            mutate(&mut file, random);
            file
        };
        let mut bytes = file.write();
        if random.one_in(20) {
            corrupt(&mut bytes, random);
        }
        bytes
    }

    fn graph(&self, random: &mut Random) -> Vec<u8> {
        let mut graph = self.graph_seed.clone();
        texts::mutate_json(&mut graph, random);
        let mut bytes = graph.to_string().into_bytes();
        if random.one_in(20) {
            corrupt(&mut bytes, random);
        }
        bytes
    }

    fn onnx(&self, random: &mut Random) -> Vec<u8> {
        let mut file = self.onnx_seeds[random.below(self.onnx_seeds.len())].clone();
        file.mutate(random);
        let mut bytes = file.write();
        if random.one_in(10) {
            corrupt(&mut bytes, random);
        }
        bytes
    }
}

/// What was run.
#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Tally {
    pub target: String,
    pub seed: u64,
    /// Calls of [`BATCH`] files each.
    pub calls: u64,
    pub executions: u64,
    /// Files with a report.
    pub n_read: u64,
    pub findings: u64,
    /// Of the clock.
    pub seconds: f64,
    /// Of the processor, in calls.
    pub processor_s: f64,
    /// Of one call, of the processor.
    pub slowest_s: f64,
    /// Of one call: the files themselves are not in it.
    pub largest_bytes: usize,
    /// Executions of each format, where the target has several.
    pub by_format: BTreeMap<String, u64>,
    /// Of the processor, in calls.
    pub processor_s_by_format: BTreeMap<String, f64>,
    /// Findings by the first line of what was said.
    pub by_message: BTreeMap<String, u64>,
}

impl Tally {
    /// What an earlier run of the same target and seed left in `path`, or nothing.
    pub fn read(path: Option<&Path>, target: &str, seed: u64) -> Self {
        let text = path.and_then(|path| fs::read(path).ok());
        let kept = text.and_then(|text| serde_json::from_slice(&text).ok());
        let kept = kept.filter(|kept: &Self| kept.target == target && kept.seed == seed);
        kept.unwrap_or_else(|| Self {
            target: target.to_owned(),
            seed,
            ..Self::default()
        })
    }

    /// So that a reader finds the old counts or the new ones, whenever the run ends.
    pub fn write(&self, path: &Path) -> io::Result<()> {
        let part = path.with_extension("part");
        fs::write(&part, serde_json::to_vec_pretty(self)?)?;
        fs::rename(part, path)
    }

    /// The next call.
    pub fn run(
        &mut self,
        target: Target,
        mutants: &Mutants,
        predictor: Option<&Predictor>,
        findings: &Path,
    ) {
        let files = mutants.of_call(target, self.calls);
        let detail = match self.calls % FULL {
            0 => Detail::Full,
            _ => Detail::Summary,
        };
        let format = (target == Target::Attacks).then(|| Format::of_call(self.calls));
        let target = format.map_or(target, Target::of_format);
        let before_s = self.processor_s;
        self.calls += 1;
        match attempt(|| target.run_many(&files, predictor, detail)) {
            Ok(cost) if broken(&cost, files.iter().map(Vec::len).sum()).is_none() => {
                self.executions += files.len() as u64;
                self.count(&cost);
            }
            // One of them is to be found.
            _ => files
                .iter()
                .for_each(|bytes| self.run_one(target, bytes, predictor, findings)),
        }
        if let Some(format) = format {
            let name = format!("{format:?}");
            *self.by_format.entry(name.clone()).or_default() += BATCH;
            *self.processor_s_by_format.entry(name).or_default() += self.processor_s - before_s;
        }
    }

    fn run_one(
        &mut self,
        target: Target,
        bytes: &[u8],
        predictor: Option<&Predictor>,
        findings: &Path,
    ) {
        self.executions += 1;
        let message = match attempt(|| target.run(bytes, predictor)) {
            Ok(cost) => {
                self.count(&cost);
                broken(&cost, bytes.len())
            }
            Err(panic) => Some(panic),
        };
        let Some(message) = message else { return };
        self.findings += 1;
        let line = message.lines().next().unwrap_or_default();
        let n = self.by_message.entry(line.chars().take(100).collect());
        let n = n.or_default();
        *n += 1;
        if *n <= KEPT {
            let path = findings.join(format!("{}.tflite", self.executions));
            let written = fs::create_dir_all(findings).and_then(|()| fs::write(&path, bytes));
            eprintln!("{}: {message} ({written:?})", path.display());
        }
    }

    fn count(&mut self, cost: &Cost) {
        self.n_read += cost.n_read as u64;
        self.processor_s += cost.time.as_secs_f64();
        self.slowest_s = self.slowest_s.max(cost.time.as_secs_f64());
        self.largest_bytes = self.largest_bytes.max(cost.taken.peak_bytes);
    }
}

thread_local! {
    /// Words and place of the last panic.
    static PANIC: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Keeps the words of panics instead of printing them.
pub fn keep_panics() {
    panic::set_hook(Box::new(|panic| {
        let words = panic.payload_as_str().unwrap_or("a panic");
        let place = panic.location().map(ToString::to_string);
        PANIC.set(format!("{words} ({})", place.unwrap_or_default()));
    }));
}

/// The cost of a run, or the words of its panic.
fn attempt(run: impl FnOnce() -> Cost) -> Result<Cost, String> {
    panic::catch_unwind(AssertUnwindSafe(run)).map_err(|_| PANIC.take())
}

/// What a run of a file broke of what is promised for it, in words.
pub fn broken(cost: &Cost, file_bytes: usize) -> Option<String> {
    if cost.time > MAX_TIME {
        return Some("took longer than a second".into());
    }
    let is_large = cost.taken.peak_bytes > max_bytes(file_bytes);
    is_large.then(|| "took more memory than three times its length and 64 MB".into())
}
