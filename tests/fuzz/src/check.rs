//! What holds for every file, whatever is in it.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::time::{Duration, Instant};

use litecast::calibration::{Calibration, Measurement};
use litecast::estimate::{ModelFile, estimate};
use litecast::formats::tflite;
use litecast::graph;
use litecast::graph::batch_size::set_batch;
use litecast::learned::predictor::Predictor;
use litecast::report::Report;
use litecast::targets::Outcome;

use crate::file::File;
use crate::memory::{Taken, measure};
use crate::random::Random;

/// Bytes that any file may take besides three times its own length.
pub const BASE_BYTES: usize = 64 << 20;

/// Peak bytes allowed for a file of this length.
pub fn max_bytes(file_bytes: usize) -> usize {
    3 * file_bytes + BASE_BYTES
}

/// Bytes of plans, features and the network's layers for each operator, beyond what [`max_bytes`] allows: what
/// `make growth` prints is less.
pub const MAX_BYTES_PER_OPERATOR: usize = 6000;

/// The same for each input and output of an operator or a subgraph: a plan of the compiler's rules is made while the
/// features of all plans, which the network reads, are kept.
pub const MAX_BYTES_PER_OPERAND: usize = 400;

/// What one file took.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cost {
    pub time: Duration,
    pub taken: Taken,
    /// Whether there was a report, or a model.
    pub is_read: bool,
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
}

impl Target {
    pub const ALL: [(&'static str, Self); 6] = [
        ("reader", Self::Reader),
        ("facts", Self::Facts),
        ("estimate", Self::Estimate),
        ("batch", Self::Batch),
        ("measurements", Self::Measurements),
        ("onnx", Self::Onnx),
    ];

    /// Runs it on `bytes`.
    ///
    /// # Panics
    /// Where a promise is broken.
    pub fn run(self, bytes: &[u8], predictor: Option<&Predictor>) -> Cost {
        let start = Instant::now();
        let (is_read, taken) = measure(|| match self {
            Self::Reader => read(bytes),
            Self::Facts | Self::Onnx => report(bytes, NonZeroU32::MIN, None),
            Self::Estimate => report(bytes, NonZeroU32::MIN, predictor),
            Self::Batch => batch(bytes),
            Self::Measurements => measurements(bytes),
        });
        Cost {
            time: start.elapsed(),
            taken,
            is_read,
        }
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
    match estimate(file, predictor) {
        Ok(report) => {
            assert_sound(&report);
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
    let written = serde_json::to_string(report).expect("a report is JSON");
    assert!(!written.is_empty());
}

/// Bytes as a table of measurements: targets, estimates and latencies as any 64 bits.
fn measurements(bytes: &[u8]) -> bool {
    let (numbers, _) = bytes.as_chunks::<8>();
    let number = |at: usize| {
        numbers
            .get(at)
            .map_or(1.0, |bits| f64::from_le_bytes(*bits))
    };
    let n_targets = bytes.first().map_or(1, |&byte| usize::from(byte % 5));
    let names = ["a", "b", "c", "d", "e"];
    let rows: Vec<Measurement> = (0..numbers.len() / (n_targets + 1))
        .map(|row| {
            let at = row * (n_targets + 1);
            let estimates = names.iter().take(n_targets).zip(at + 1..);
            Measurement {
                estimates_ms: estimates
                    .map(|(name, at)| ((*name).to_owned(), number(at)))
                    .collect(),
                measured_ms: number(at),
            }
        })
        .collect();
    match Calibration::fit(&rows) {
        Ok(fit) => {
            let estimates: BTreeMap<String, f64> =
                names.map(|name| (name.to_owned(), number(0).abs())).into();
            if let Ok(applied) = fit.apply(&estimates) {
                assert!(
                    applied.lo_ms <= applied.latency_ms && applied.latency_ms <= applied.hi_ms,
                    "{applied:?}"
                );
                assert!(applied.latency_ms.is_finite() && applied.latency_ms >= 0.0);
            }
            true
        }
        Err(error) => {
            assert_message(&error.to_string(), error.kind());
            false
        }
    }
}

/// Numbers of measurements as bytes, many of them ordinary.
pub fn random_measurements(random: &mut Random) -> Vec<u8> {
    let n = random.below(40);
    let extremes = [
        0.0,
        -1.0,
        f64::NAN,
        f64::INFINITY,
        f64::MIN_POSITIVE,
        1e-320,
        1e308,
    ];
    let mut number = || match random.one_in(30) {
        true => random.pick(&extremes),
        false => (random.below(1 << 20) as f64 + 1.0) / 1024.0,
    };
    (0..n).flat_map(|_| number().to_le_bytes()).collect()
}

/// The bytes of a file, and what running the whole path on them took.
pub fn whole_path(file: &File, predictor: Option<&Predictor>) -> (usize, Cost) {
    let bytes = file.write();
    let cost = Target::Estimate.run(&bytes, predictor);
    (bytes.len(), cost)
}
