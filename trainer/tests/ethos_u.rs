//! The plan that stands in for Vela, against Vela.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::common::python;
use litecast::formats::tflite::{Activation, Padding};
use litecast::graph::analysis::analyze;
use litecast::learned::features::PlannedOperator;
use litecast::targets::ethos_u::accelerator::{ACCELERATORS, Accelerator};
use litecast::targets::ethos_u::configuration::{Configuration, Product};
use litecast::targets::ethos_u::plan::plan;
use litecast_trainer::labels::bytes_of;
use litecast_trainer::labels::record::{Label, Origin, Outcome};
use litecast_trainer::labels::vela::{Vela, default_targets};
use litecast_trainer::labels::worker::Worker;
use litecast_trainer::spaces::SampleForm;
use litecast_trainer::writer::{
    LayerDistribution, NetworkBuilder, Precision, WeightDistribution, Window, to_tflite,
};

const LIMIT: Duration = Duration::from_secs(120);
/// Networks of keyword spotting, most of whose weights are worth a buffer, and large ones, most of which
/// are cascaded on Ethos-U65 and U85.
const GRAPHS: [(&str, u64); 2] = [("cnn-kws", 16), ("cnn-imagenet", 4)];
/// Networks of operators that the compiler replaces by several: of each space so many.
const REPLACED: [(&str, u64); 13] = [
    ("lstm", 3),
    ("gru", 3),
    ("deeplab", 2),
    ("unet", 2),
    ("text-encoder", 2),
    ("mobilenet-v3", 2),
    ("convnext", 2),
    ("resnext", 2),
    ("upscaler", 3),
    ("densenet", 2),
    ("mlp-mixer", 2),
    ("svdf", 2),
    ("vit-cifar100", 1),
];
/// Of an output channel, which the compiler does not count as weights.
const SCALE_BYTES: f64 = 10.0;

/// Relative differences, signed.
#[derive(Default)]
struct Differences(Vec<f64>);

impl Differences {
    fn add(&mut self, ours: f64, theirs: f64) {
        self.0.push(ours / theirs - 1.0);
    }

    /// Median of the magnitudes.
    fn median(&mut self) -> f64 {
        self.0
            .sort_by(|one, other| one.abs().total_cmp(&other.abs()));
        self.0[self.0.len() / 2].abs()
    }
}

#[test]
fn plans_are_close_to_the_compiler() {
    let Some(python) = python() else { return };
    let targets = default_targets();
    let mut worker = Worker::start(&Vela { python }, &targets).unwrap();
    for (target_idx, accelerator) in ACCELERATORS.iter().enumerate() {
        assert_eq!(targets[target_idx].id, accelerator.product.name());
        let limit = targets[target_idx].sram_limit_bytes();
        let expected = accelerator
            .has_dedicated_sram
            .then_some(accelerator.sram_limit_bytes);
        assert_eq!(limit, expected.map(|bytes| bytes as u64));
        for (space, n_graphs) in GRAPHS {
            let medians = medians(&mut worker, target_idx, space, n_graphs);
            println!(
                "{}, {space}: median difference of cycles {:.4}, encoded weights {:.4}, peak of the SRAM {:.4}",
                accelerator.product.name(),
                medians[0],
                medians[1],
                medians[2]
            );
            assert!(medians.iter().all(|&median| median < 0.01));
        }
    }
}

/// Whole networks: what one operator becomes is too much to go through by itself.
#[test]
fn replaced_operators_are_planned_as_what_replaces_them() {
    let Some(python) = python() else { return };
    let targets = default_targets();
    let mut worker = Worker::start(&Vela { python }, &targets).unwrap();
    for (target_idx, accelerator) in ACCELERATORS.iter().enumerate() {
        let [mut all, mut all_peaks] = [(); 2].map(|()| Differences::default());
        for (space, n_graphs) in REPLACED {
            let [mut cycles, mut peaks] = [(); 2].map(|()| Differences::default());
            for index in 0..n_graphs {
                let bytes = file_of(&sampled(space, index));
                let label = worker.label(target_idx, &bytes, LIMIT).outcome;
                let Outcome::Ok(Label::Vela(label)) = label else {
                    panic!("expected a label of {space} {index}");
                };
                let planned = planned(accelerator, &bytes);
                let total = planned.iter().map(|planned| planned.cycles).sum::<f64>();
                cycles.add(total, label.total_cycles as f64);
                let peak = (planned.iter()).fold(0.0, |peak, one| f64::max(peak, one.sram_bytes));
                peaks.add(peak, label.sram_peak_bytes as f64);
            }
            println!(
                "{}, {space}: cycles {:.4?}, peak of the SRAM {:.4?}",
                accelerator.product.name(),
                cycles.0,
                peaks.0
            );
            all.0.extend(cycles.0);
            all_peaks.0.extend(peaks.0);
        }
        let medians = [all.median(), all_peaks.median()];
        println!(
            "{}: median difference of cycles {:.4}, peak of the SRAM {:.4}",
            accelerator.product.name(),
            medians[0],
            medians[1]
        );
        assert!(medians.iter().all(|&median| median < 0.015));
    }
}

/// A wake-word detector that keeps its state in variables, which Ethos-U55 and U65 leave to the CPU. On an Ethos-U85 the
/// compiler's totals include what initialises the variables once.
#[test]
fn operations_of_the_cpu_stand_where_the_compiler_puts_them() {
    let Some(python) = python() else { return };
    let Some(path) = litecast_needs::shared("models/micro-wake-word-models__vad.tflite") else {
        return;
    };
    let bytes = std::fs::read(path).unwrap();
    let targets = default_targets();
    let mut worker = Worker::start(&Vela { python }, &targets).unwrap();
    for (target_idx, largest) in [(0, [0.005, 0.02]), (1, [0.04, 0.1])] {
        let Outcome::Ok(Label::Vela(label)) = worker.label(target_idx, &bytes, LIMIT).outcome
        else {
            panic!("expected a label");
        };
        let planned = planned(&ACCELERATORS[target_idx], &bytes);
        let total: f64 = planned.iter().map(|planned| planned.cycles).sum();
        let peak = (planned.iter()).fold(0.0, |peak, one| f64::max(peak, one.sram_bytes));
        let differences = [
            total / label.total_cycles as f64 - 1.0,
            peak / label.sram_peak_bytes as f64 - 1.0,
        ];
        println!(
            "{}: cycles and peak of the SRAM {differences:.4?}",
            targets[target_idx].id
        );
        let is_close = |(difference, largest): (&f64, f64)| difference.abs() < largest;
        assert!(differences.iter().zip(largest).all(is_close));
    }
}

/// Graphs of one or a few operators that move, join, negate or sum values, by seed and index, each with the targets on which
/// it takes what the compiler adds: Ethos-U55, U65 and U85.
const MOVING: [(&str, u64, u64, [bool; 3]); 5] = [
    // SUM and the parts of a SPLIT_V.
    ("random-operators", 8, 160, [true; 3]),
    // REDUCE_MIN, which Ethos-U55 and U65 lack.
    ("random-operators", 8, 2904, [true; 3]),
    // NEG.
    ("random-operators", 8, 1690, [true; 3]),
    // TILE.
    ("random-operators", 3, 48, [true; 3]),
    // Two outputs for each channel of a DEPTHWISE_CONV_2D, which Ethos-U85 transposes.
    ("random-operators", 8, 1487, [false, false, true]),
];

#[test]
fn what_moves_values_is_planned_as_the_compiler_moves_them() {
    let Some(python) = python() else { return };
    let targets = default_targets();
    let mut worker = Worker::start(&Vela { python }, &targets).unwrap();
    for (space, seed, index, applies) in MOVING {
        let bytes = bytes_of(&of_seed(space, seed, index)).unwrap();
        for (target_idx, target) in targets.iter().enumerate().filter(|&(idx, _)| applies[idx]) {
            let label = worker.label(target_idx, &bytes, LIMIT).outcome;
            let Outcome::Ok(Label::Vela(label)) = label else {
                panic!("expected a label of {space}/{seed}/{index}");
            };
            let product = Product::by_name(&target.id).expect("a default");
            let accelerator = Accelerator::new(&Configuration::new(product));
            let planned = planned(&accelerator, &bytes);
            let total = planned.iter().map(|planned| planned.cycles).sum::<f64>();
            let ratio = total / label.total_cycles as f64;
            println!(
                "{space}/{seed}/{index} on {}: {total} of {} cycles, {ratio:.3}",
                target.id, label.total_cycles
            );
            assert!(
                (0.9..1.1).contains(&ratio),
                "{space}/{seed}/{index} on {}",
                target.id
            );
        }
    }
}

/// Convolutions whose channels are written first: side of the feature maps, input and output channels, and side of the
/// kernel. The weights of the second stay off chip, those of the others fit the SRAM or are read as they are.
const TRANSPOSED: [(i32, i32, i32, i32); 4] = [
    (8, 64, 64, 1),
    (6, 256, 512, 3),
    (32, 16, 32, 3),
    (40, 64, 144, 1),
];

/// A TRANSPOSE that Ethos-U85 performs in the command before it. As a command of its own it would differ by up to 99 %.
#[test]
fn transposed_outputs_take_what_the_compiler_counts() {
    let Some(python) = python() else { return };
    let target = &default_targets()[2];
    let mut worker = Worker::start(&Vela { python }, std::slice::from_ref(target)).unwrap();
    let product = Product::by_name(&target.id).expect("a default");
    let accelerator = Accelerator::new(&Configuration::new(product));
    for (side, n_inputs, n_outputs, kernel) in TRANSPOSED {
        let weights = WeightDistribution::SameInEveryLayer(LayerDistribution::Uniform);
        let mut builder = NetworkBuilder::new("transposed", weights, 1);
        let input = builder.input("input", &[1, side, side, n_inputs]);
        let window = Window::square(kernel, 1, Padding::Same);
        let maps = builder.conv2d("conv", input, n_outputs, window, Activation::None);
        let output = builder.transpose("transpose", maps, &[0, 3, 1, 2]);
        let bytes = to_tflite(&builder.finish(&[output]), 1, Precision::Int8);
        let Outcome::Ok(Label::Vela(label)) = worker.label(0, &bytes, LIMIT).outcome else {
            panic!("expected a label");
        };
        let planned = planned(&accelerator, &bytes);
        let total: f64 = planned.iter().map(|planned| planned.cycles).sum();
        let ratio = total / label.total_cycles as f64;
        println!(
            "{side}x{side}x{n_inputs} to {n_outputs}: {total} of {} cycles, {ratio:.3}",
            label.total_cycles
        );
        assert!((0.97..1.03).contains(&ratio));
    }
}

fn sampled(space: &str, index: u64) -> Origin {
    of_seed(space, 7, index)
}

fn of_seed(space: &str, seed: u64, index: u64) -> Origin {
    Origin::Sampled {
        space: space.into(),
        seed,
        index,
        form: SampleForm::default(),
    }
}

/// The bytes of a sample, which are made once for all accelerators.
fn file_of(origin: &Origin) -> Arc<Vec<u8>> {
    static FILES: Mutex<BTreeMap<String, Arc<Vec<u8>>>> = Mutex::new(BTreeMap::new());
    let mut files = FILES.lock().unwrap_or_else(PoisonError::into_inner);
    let file = files.entry(origin.graph_id());
    Arc::clone(file.or_insert_with(|| Arc::new(bytes_of(origin).unwrap())))
}

fn planned(accelerator: &Accelerator, bytes: &[u8]) -> Vec<PlannedOperator> {
    let model = litecast::formats::tflite::parse(bytes).unwrap();
    let graph = litecast::graph::build(&model, 0).unwrap();
    plan(accelerator, &graph, &analyze(&graph))
}

/// Of an operator's cycles, and of a network's encoded weights and SRAM.
fn medians(worker: &mut Worker, target_idx: usize, space: &str, n_graphs: u64) -> [f64; 3] {
    let accelerator = &ACCELERATORS[target_idx];
    let [mut cycles, mut weights, mut sram] = [(); 3].map(|()| Differences::default());
    for index in 0..n_graphs {
        let origin = sampled(space, index);
        let bytes = file_of(&origin);
        let Outcome::Ok(Label::Vela(label)) = worker.label(target_idx, &bytes, LIMIT).outcome
        else {
            panic!("expected a label of {}", origin.graph_id());
        };
        let model = litecast::formats::tflite::parse(&bytes).unwrap();
        let graph = litecast::graph::build(&model, 0).unwrap();
        let analysis = analyze(&graph);
        let planned = plan(accelerator, &graph, &analysis);
        let mut encoded = 0.0;
        let operators = label.operators.as_ref().unwrap();
        for (node, planned) in graph.nodes.iter().zip(&planned) {
            if planned.encoded_weight_bytes > 0.0 {
                let output = graph.tensor(node.operator.outputs[0]);
                let scales = SCALE_BYTES * f64::from(*output.shape.last().unwrap());
                encoded += planned.encoded_weight_bytes - scales;
                cycles.add(planned.cycles, operators.cycles[node.operator_idx] as f64);
            }
        }
        weights.add(encoded, label.encoded_weight_bytes as f64);
        let in_use = planned.iter().map(|planned| planned.sram_bytes);
        sram.add(in_use.fold(0.0, f64::max), label.sram_peak_bytes as f64);
    }
    [cycles, weights, sram].map(|mut differences| differences.median())
}
