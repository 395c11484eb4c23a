//! What holds for every file, whatever is in it.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::sync::LazyLock;
use std::time::Duration;

use litecast::calibration::{Calibration, Measurement};
use litecast::estimate::{Detail, EstimateError, ModelFile, estimate, estimate_in};
use litecast::formats::tflite;
use litecast::graph;
use litecast::graph::batch_size::set_batch;
use litecast::learned::predictor::Predictor;
use litecast::report::Report;
use litecast::targets::ethos_u::configuration::{Configuration, Product, VelaIni};
use litecast::targets::{Outcome, ethos_u, registry};

use crate::clock::Clock;
use crate::file::File;
use crate::memory::{Taken, measure};
use crate::shapes::Shape;
use crate::texts;

/// Bytes that any file may take besides three times its own length.
pub const BASE_BYTES: usize = 64 << 20;

/// Peak bytes allowed for a file of this length.
pub fn max_bytes(file_bytes: usize) -> usize {
    3 * file_bytes + BASE_BYTES
}

/// Bytes of plans, features and the network's layers for each operator, beyond what [`max_bytes`] allows: what
/// `make growth` prints is less.
pub const MAX_BYTES_PER_OPERATOR: usize = 3500;

/// The same for each input and output of an operator or a subgraph.
pub const MAX_BYTES_PER_OPERAND: usize = 200;

/// What one file took.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cost {
    /// Of the processor where the system counts it by thread, or else of the clock, which other programs stretch.
    pub time: Duration,
    pub taken: Taken,
    /// Files of which there was a report, or a model.
    pub n_read: usize,
}

impl Cost {
    /// Of one after the other.
    fn and(self, other: Self) -> Self {
        Self {
            time: self.time + other.time,
            taken: Taken {
                peak_bytes: self.taken.peak_bytes.max(other.taken.peak_bytes),
                n_allocations: self.taken.n_allocations + other.taken.n_allocations,
            },
            n_read: self.n_read + other.n_read,
        }
    }

    pub fn is_read(&self) -> bool {
        self.n_read > 0
    }
}

/// A way into the program that takes what others wrote.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// The reader and the graphs of all subgraphs.
    Reader,
    /// Facts, plans and what is modelled, without the network.
    Facts,
    /// The same with the network that ships.
    Estimate,
    /// As many inputs at a time.
    Batch,
    /// A table of measurements.
    Measurements,
    /// Facts of ONNX files.
    Onnx,
    /// Graphs as JSON.
    Graph,
    /// A `vela.ini`.
    Configuration,
}

impl Target {
    pub const ALL: [(&'static str, Self); 8] = [
        ("reader", Self::Reader),
        ("facts", Self::Facts),
        ("estimate", Self::Estimate),
        ("batch", Self::Batch),
        ("measurements", Self::Measurements),
        ("onnx", Self::Onnx),
        ("graph", Self::Graph),
        ("configuration", Self::Configuration),
    ];

    /// Runs it on `bytes`.
    ///
    /// # Panics
    /// Where a promise is broken.
    pub fn run(self, bytes: &[u8], predictor: Option<&Predictor>) -> Cost {
        cost(|| {
            usize::from(match self {
                Self::Reader => read(bytes),
                Self::Facts | Self::Onnx | Self::Graph => report(bytes, NonZeroU32::MIN, None),
                Self::Estimate => report(bytes, NonZeroU32::MIN, predictor),
                Self::Batch => batch(bytes),
                Self::Measurements => measurements(bytes),
                Self::Configuration => configuration(bytes),
            })
        })
    }

    /// The same of several files in one call, in as much `detail`, where the target is the whole path.
    ///
    /// # Panics
    /// Where a promise is broken.
    pub fn run_many(
        self,
        files: &[Vec<u8>],
        predictor: Option<&Predictor>,
        detail: Detail,
    ) -> Cost {
        if !matches!(self, Self::Facts | Self::Estimate) {
            let costs = files.iter().map(|bytes| self.run(bytes, predictor));
            return costs.fold(Cost::default(), Cost::and);
        }
        let predictor = predictor.filter(|_| self == Self::Estimate);
        let files = files.iter().map(|bytes| ModelFile::new("file", bytes));
        let files: Vec<ModelFile> = files.collect();
        cost(|| {
            let reports = estimate_in(&files, predictor, registry(), detail);
            let reports = reports.expect("the shipped network runs");
            reports
                .iter()
                .filter(|report| assert_result(report))
                .count()
        })
    }
}

fn cost(run: impl FnOnce() -> usize) -> Cost {
    let start = Clock::start();
    let (n_read, taken) = measure(run);
    Cost {
        time: start.elapsed(),
        taken,
        n_read,
    }
}

fn read(bytes: &[u8]) -> bool {
    match tflite::parse(bytes) {
        Ok(model) => {
            for subgraph_idx in 0..model.subgraphs.len() {
                let _ = graph::build(&model, subgraph_idx);
            }
            true
        }
        Err(error) => {
            assert_message(&error.to_string(), error.kind());
            false
        }
    }
}

fn batch(bytes: &[u8]) -> bool {
    let n = bytes.last().map_or(1, |&byte| u32::from(byte) * 7);
    let n = NonZeroU32::new(n).unwrap_or(NonZeroU32::MIN);
    if let Ok(mut model) = tflite::parse(bytes) {
        let _ = set_batch(&mut model, n);
    }
    report(bytes, n, None)
}

fn report(bytes: &[u8], batch: NonZeroU32, predictor: Option<&Predictor>) -> bool {
    let name = "file.tflite";
    let file = ModelFile {
        batch,
        ..ModelFile::new(name, bytes)
    };
    assert_result(&estimate(file, predictor))
}

/// What a result promises; whether it is a report.
fn assert_result(result: &Result<Report, EstimateError>) -> bool {
    match result {
        Ok(report) => {
            assert_sound(report);
            true
        }
        Err(error) => {
            assert_message(&error.to_string(), error.kind());
            false
        }
    }
}

/// A message for people, and its kind for programs.
fn assert_message(message: &str, kind: &str) {
    assert!(message.len() < 4000 && !message.ends_with('.'), "{message}");
    let is_kebab = |c: char| c.is_ascii_lowercase() || c == '-';
    assert!(!kind.is_empty() && kind.chars().all(is_kebab), "{kind}");
}

/// What a report promises.
pub fn assert_sound(report: &Report) {
    for result in &report.results {
        let Outcome::Estimate {
            value,
            lo,
            hi,
            operators,
            ..
        } = &result.outcome
        else {
            continue;
        };
        let of = (&result.target, &result.metric);
        assert!(value.is_finite() && *value >= 0.0, "{of:?}: {value}");
        for end in [lo, hi].into_iter().flatten() {
            assert!(end.is_finite() && *end >= 0.0, "{of:?}: ends at {end}");
        }
        if let (Some(lo), Some(hi)) = (lo, hi) {
            assert!(lo <= value && value <= hi, "{of:?}: {lo} {value} {hi}");
        }
        for parts in operators.iter() {
            assert_eq!(parts.len(), report.operators.len(), "{of:?}");
            assert!(parts.iter().all(|part| part.is_finite()), "{of:?}");
        }
    }
    // Summaries have nothing that full reports have not.
    if report.sha256.is_some() {
        let written = serde_json::to_string(report).expect("a report is JSON");
        assert!(!written.is_empty());
    }
}

/// Bytes as a table of measurements, as [`texts::measurements`] writes it.
fn measurements(bytes: &[u8]) -> bool {
    let (&n_targets, bytes) = bytes.split_first().unwrap_or((&1, &[]));
    let names = ["a", "b", "c", "d", "e"];
    let names = &names[..usize::from(n_targets.clamp(1, texts::MAX_TARGETS))];
    let (numbers, _) = bytes.as_chunks::<8>();
    let numbers: Vec<f64> = numbers
        .iter()
        .map(|bits| f64::from_le_bytes(*bits))
        .collect();
    let of = |numbers: &[f64]| -> BTreeMap<String, f64> {
        let names = names.iter().map(|&name| name.to_owned());
        names.zip(numbers.iter().copied()).collect()
    };
    let rows = numbers.chunks_exact(names.len() + 1);
    let rows: Vec<Measurement> = rows
        .map(|row| Measurement {
            estimates_ms: of(&row[1..]),
            measured_ms: row[0],
        })
        .collect();
    let fit = match Calibration::fit(&rows) {
        Ok(fit) => fit,
        Err(error) => {
            assert_message(&error.to_string(), error.kind());
            return false;
        }
    };
    for row in &rows {
        match fit.apply(&row.estimates_ms) {
            Ok(applied) => {
                let ends = [applied.lo_ms, applied.latency_ms, applied.hi_ms];
                assert!(
                    ends.is_sorted() && ends[0] >= 0.0 && ends[2].is_finite(),
                    "{applied:?}"
                );
            }
            Err(error) => assert_message(&error.to_string(), error.kind()),
        }
    }
    true
}

/// Bytes as a `vela.ini`: every pair of its sections on every accelerator.
fn configuration(bytes: &[u8]) -> bool {
    let ini = match VelaIni::parse(bytes) {
        Ok(ini) => ini,
        Err(error) => {
            assert_message(&error.to_string(), "ini");
            return false;
        }
    };
    static NETWORK: LazyLock<Vec<u8>> = LazyLock::new(|| Shape::Skips.file(3).write());
    let file = ModelFile::new("file", &NETWORK);
    let mut is_read = false;
    let systems = ini.system_configurations();
    let pairs = systems.flat_map(|system| ini.memory_modes().map(move |mode| (system, mode)));
    for (system, mode) in pairs {
        for product in [Product::U55x128, Product::U65x256, Product::U85x512] {
            match Configuration::read(product, &ini, system, mode) {
                Ok(configuration) => {
                    let targets = [ethos_u::target(configuration)];
                    let reports = estimate_in(&[file], None, &targets, Detail::Full);
                    is_read |= reports.iter().flatten().all(assert_result);
                }
                Err(error) => assert_message(&error.to_string(), "ini"),
            }
        }
    }
    is_read
}

/// The bytes of a file, and what running the whole path on them took.
pub fn whole_path(file: &File, predictor: Option<&Predictor>) -> (usize, Cost) {
    let bytes = file.write();
    let cost = Target::Estimate.run(&bytes, predictor);
    (bytes.len(), cost)
}
