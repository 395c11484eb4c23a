//! The intervals of real files against what Vela says of them.

use std::time::Duration;

use crate::common::python;
use litecast::estimate::{ModelFile, estimate};
use litecast::learned::predictor::Predictor;
use litecast::targets::Outcome;
use litecast_trainer::evaluate::files::load_bundle;
use litecast_trainer::labels::record::{self, Label};
use litecast_trainer::labels::vela::{Vela, VelaLabel, default_targets};
use litecast_trainer::labels::worker::Worker;

const LIMIT: Duration = Duration::from_secs(120);

/// Larger files take the compiler minutes on a slow machine.
const MAX_BYTES: usize = 300_000;

/// Fewer files tell nothing.
const MIN_FILES: usize = 20;

/// Standard deviations of a binomial share by which the one that is found may be below nine in ten.
const TOLERANCE: f64 = 3.0;

/// Inside, and all, by metric.
type Counts = [[usize; 2]; 2];

#[test]
fn nine_in_ten_labels_of_real_files_are_inside() {
    let Some(python) = python() else { return };
    let Some(folder) = litecast_needs::shared("models-mcu") else {
        return;
    };
    let predictor =
        load_bundle(concat!(env!("CARGO_MANIFEST_DIR"), "/../bundle").as_ref()).unwrap();
    let targets = default_targets();
    let mut worker = Worker::start(&Vela { python }, &targets).unwrap();
    let mut counts = vec![Counts::default(); targets.len()];
    for (name, bytes) in litecast_trainer::evaluate::files::tflite_files(&folder).unwrap() {
        if bytes.len() > MAX_BYTES {
            continue;
        }
        for (idx, target) in targets.iter().enumerate() {
            if let record::Outcome::Ok(Label::Vela(label)) =
                worker.label(idx, &bytes, LIMIT).outcome
            {
                count(
                    &mut counts[idx],
                    &name,
                    &bytes,
                    &target.id,
                    &label,
                    &predictor,
                );
            }
        }
    }
    for (target, counts) in targets.iter().zip(&counts) {
        for (metric, [inside, n]) in METRICS.iter().zip(counts) {
            let share = *inside as f64 / *n as f64;
            println!("{} {metric}: {inside} of {n} inside", target.id);
            let least = 0.9 - TOLERANCE * (0.9 * 0.1 / *n as f64).sqrt();
            assert!(
                *n >= MIN_FILES && share >= least,
                "{} {metric}: {share}",
                target.id
            );
        }
    }
}

const METRICS: [&str; 2] = ["latency", "sram_peak"];

fn count(
    counts: &mut Counts,
    name: &str,
    bytes: &[u8],
    target: &str,
    label: &VelaLabel,
    predictor: &Predictor,
) {
    let report = estimate(ModelFile::new(name, bytes), Some(predictor)).unwrap();
    let labels = [label.latency_ms, label.sram_peak_bytes as f64];
    for ((metric, label), [inside, n]) in METRICS.iter().zip(labels).zip(counts) {
        let errors_of = |wanted: &str| {
            let mut results = report.results.iter();
            results.find(|r| r.target == target && r.metric.id() == wanted)
        };
        // What is left to the CPU is in no label.
        let part = errors_of("npu_latency").filter(|_| *metric == "latency");
        let result = part.or_else(|| errors_of(metric));
        let Some(Outcome::Estimate {
            value,
            lo: Some(lo),
            hi: Some(hi),
            ..
        }) = result.map(|result| &result.outcome)
        else {
            continue;
        };
        *n += 1;
        if *lo <= label && label <= *hi {
            *inside += 1
        } else {
            println!("{name} {target} {metric}: {label}, estimated {value} in {lo} to {hi}")
        }
    }
}
