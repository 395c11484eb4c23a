//! The Edge TPU's model: its constants against the published latencies, its load against Coral's own file.

use crate::common::shared_model;
use litecast::estimate::{ModelFile, estimate};
use litecast::targets::Outcome;
use litecast::targets::edge_tpu::{
    Constants, OperatorLoad, loads_if_all_mapped, mapping, unsupported,
};
use litecast::{
    formats::tflite,
    graph::{self, analysis},
};
use litecast_trainer::spaces::published::{WEIGHT_SEED, network};
use litecast_trainer::spaces::{Space, sample};
use litecast_trainer::targets::edge_tpu::{EdgeTpuFit, fit_constants, published::Device};
use litecast_trainer::writer::{Precision, to_tflite};

fn fitted_by_trainer() -> Option<EdgeTpuFit> {
    let published = litecast_needs::shared("data/edgetpu_published.csv")?;
    Some(fit_constants(&published).unwrap())
}

#[test]
fn the_shipped_constants_are_those_of_the_fit() {
    let Some(fitted) = fitted_by_trainer() else {
        return;
    };
    let EdgeTpuFit {
        constants,
        samples,
        n_inside,
        regression_percent,
    } = fitted;
    assert_eq!(&constants, Constants::shipped());
    let coefficients = constants.coefficients;
    for sample in samples
        .iter()
        .filter(|s| s.latency.device == Device::DevBoard)
    {
        // What reports compute is what the fit computed, up to the constants' rounding.
        let shipped_ms = coefficients.latency_ms(&sample.load);
        assert!(
            (shipped_ms / sample.fitted_ms - 1.0).abs() < 1e-3,
            "{}",
            sample.latency.network
        );
        let [low, high] = constants.interval_ms(&sample.load);
        let (published, name) = (sample.latency.ms, &sample.latency.network);
        println!("{name}: {published} in {low:.2} to {high:.2}");
        assert!(low < shipped_ms && shipped_ms < high, "{name}");
    }
    let ours = constants.leave_one_out.mean_percent;
    println!("mean error {ours:.1} %, of a regression on three sums {regression_percent:.1} %");
    assert!(ours <= 0.9 * regression_percent);
    let n = constants.leave_one_out.n_networks;
    println!("without each network, the interval holds {n_inside} of {n}");
    // One in a hundred draws of nine intervals of 90 % holds five or fewer.
    assert!(n == 9 && n_inside >= 6, "{n_inside} of {n}");
}

/// (model, multiply-accumulates, parameters) as the papers or the files' publishers count them, which
/// is without a definition to the last digit: within 4 %.
const COUNTED_BY_OTHERS: [(&str, i32, f64, f64); 8] = [
    // Howard et al. 2017, Tables 4 and 6.
    ("MobileNet v1 1.0", 224, 569e6, 4.2e6),
    // Iandola et al. 2016, Table 1, without the products, which it does not count.
    ("SqueezeNet", 224, f64::NAN, 1.248e6),
    // Simonyan and Zisserman 2014, Table 2; products of He et al. 2015, Figure 3's 15.3 for VGG-16.
    ("VGG16", 224, 15.3e9, 138e6),
    // He et al. 2015, Table 1: 3.8e9 at 224×224.
    ("ResNet-50 V1", 224, 3.8e9, 25.5e6),
    // Huang et al. 2017 plot DenseNet-121 at 8.0e6 parameters.
    ("DenseNet", 224, f64::NAN, 8.0e6),
    // TensorFlow-Slim's list of models: 12.27e9 and 42.71e6.
    ("Inception v4", 299, 12.27e9, 42.71e6),
    // Ioffe and Szegedy's network as TensorFlow-Slim counts it: 1.94e9 and 11.19e6.
    ("Inception V2", 224, 1.94e9, 11.19e6),
    // tensorflow/tpu, efficientnet/edgetpu: 5.4e6 parameters.
    ("EfficientNet-EdgeTpu-S", 224, f64::NAN, 5.4e6),
];

#[test]
fn published_networks_have_the_size_that_others_count() {
    for (name, side, macs, parameters) in COUNTED_BY_OTHERS {
        let bytes = to_tflite(&network(name, side).unwrap(), WEIGHT_SEED, Precision::Int8);
        let model = tflite::parse(&bytes).unwrap();
        let totals = analysis::analyze(&graph::build(&model, 0).unwrap()).totals;
        println!(
            "{name}: {} MACs, {} parameters",
            totals.macs, totals.parameters
        );
        for (ours, theirs) in [(totals.macs, macs), (totals.parameters, parameters)] {
            let is_near = (ours as f64 / theirs - 1.0).abs() < 0.04;
            assert!(
                is_near || theirs.is_nan(),
                "{name}: {ours} instead of {theirs}"
            );
        }
    }
    assert!(network("AlexNet", 224).is_none());
}

fn total_load(bytes: &[u8]) -> OperatorLoad {
    let model = tflite::parse(bytes).unwrap();
    let graph = graph::build(&model, 0).unwrap();
    OperatorLoad::total(&loads_if_all_mapped(&graph, &analysis::analyze(&graph)))
}

/// One of the fitted networks is at hand as Coral publishes it.
#[test]
fn our_network_is_as_much_work_as_corals_file() {
    let Some(theirs) = shared_model("coral__mobilenet_v1_0.25_128_quant.tflite") else {
        return;
    };
    let ours = network("MobileNet v1 0.25", 128).unwrap();
    let ours = total_load(&to_tflite(&ours, WEIGHT_SEED, Precision::Int8));
    assert_eq!(ours, total_load(&theirs));
}

fn refusal_of(bytes: &[u8]) -> Option<String> {
    let model = tflite::parse(bytes).unwrap();
    let graph = graph::build(&model, 0).unwrap();
    let name = |idx: usize| graph.nodes[idx].operator.code.name();
    let words: Vec<String> = unsupported(&graph)
        .into_iter()
        .map(|operator| format!("{}: {}", name(operator.node_idx), operator.reason))
        .collect();
    (!words.is_empty()).then(|| words.join("; "))
}

/// Whether a refusal gives this reason for this operator.
fn gives(words: &str, operator: &str, reason: &str) -> bool {
    let mut parts = words
        .split(['(', ';'])
        .filter_map(|part| part.split_once(": "));
    parts.any(|(operators, reasons)| {
        let mut operators = operators.split(',').map(str::trim);
        operators.any(|name| name == operator) && reasons.contains(reason)
    })
}

#[test]
fn what_the_edge_tpu_does_not_run_is_refused_in_words() {
    let network = network("MobileNet v1 0.25", 128).unwrap();
    let int8 = to_tflite(&network, WEIGHT_SEED, Precision::Int8);
    assert_eq!(refusal_of(&int8), None);
    let float32 = to_tflite(&network, WEIGHT_SEED, Precision::Float32);
    let words = refusal_of(&float32).unwrap();
    assert!(gives(&words, "CONV_2D", "FLOAT32 activations"), "{words}");
    let model = tflite::parse(&float32).unwrap();
    let whole = mapping(&graph::build(&model, 0).unwrap()).unwrap_err();
    let whole = whole.to_string();
    assert!(
        whole.ends_with("quantise the whole model to int8"),
        "{whole}"
    );
    for (space, operator, reason) in [
        ("vit-cifar100", "FULLY_CONNECTED", "output of several rows"),
        ("mobilenet-v3", "HARD_SWISH", "cannot run HARD_SWISH"),
        (
            "upscaler-d2s",
            "DEPTH_TO_SPACE",
            "cannot run DEPTH_TO_SPACE",
        ),
        (
            "lstm",
            "UNIDIRECTIONAL_SEQUENCE_LSTM",
            "no published latency",
        ),
    ] {
        let space: Space = space.parse().unwrap();
        let mut refusals = Vec::new();
        let is_given = (0..20).any(|index| {
            refusals.extend(refusal_of(&sample(space, 1, index).to_tflite()));
            refusals.iter().any(|words| gives(words, operator, reason))
        });
        assert!(is_given, "{operator}, {reason}: {refusals:?}");
    }
}

/// What Coral's compiler made of a file tells what it left to the CPU: ARG_MAX among others.
#[test]
fn an_operator_that_corals_compiler_left_is_refused() {
    let name = "coral__deeplabv3_mnv2_pascal_quant";
    let Some(before) = shared_model(&format!("{name}.tflite")) else {
        return;
    };
    let Some(after) = shared_model(&format!("{name}_edgetpu.tflite")) else {
        return;
    };
    let left = tflite::parse(&after).unwrap();
    let names: Vec<_> = left.subgraphs[0]
        .operators
        .iter()
        .map(|o| o.code.name().to_owned())
        .collect();
    assert!(names.iter().any(|name| name == "ARG_MAX"), "{names:?}");
    let words = refusal_of(&before).unwrap();
    assert!(
        words.contains("ARG_MAX: the Edge TPU cannot run ARG_MAX"),
        "{words}"
    );
    // Coral's compiler put all but eight operators into one.
    let model = tflite::parse(&before).unwrap();
    let graph = graph::build(&model, 0).unwrap();
    let actual = mapping(&graph).unwrap();
    let mut stay: Vec<&str> = (graph.nodes.iter().zip(&actual.is_mapped))
        .filter(|(_, is_mapped)| !**is_mapped)
        .map(|(node, _)| node.operator.code.name())
        .collect();
    stay.sort_unstable();
    let mut theirs: Vec<&str> = names.iter().map(String::as_str).collect();
    theirs.retain(|name| *name != "edgetpu-custom-op");
    theirs.sort_unstable();
    println!("on the CPU: {stay:?}; by Coral's compiler: {theirs:?}");
    assert_eq!(stay, theirs);
    let report = estimate(ModelFile::new("after", &after), None).unwrap();
    let mut on_edge_tpu = report
        .results
        .iter()
        .filter(|result| result.target == "edgetpu-coral-dev-board");
    let words = match &on_edge_tpu.next().unwrap().outcome {
        Outcome::Unavailable { unavailable, .. } => unavailable.to_string(),
        estimate => panic!("{estimate:?}"),
    };
    assert!(words.contains("already compiled for"), "{words}");
}
