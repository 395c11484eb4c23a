//! The exported network in tract against the network as it was trained.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use litecast::estimate::{ModelFile, estimate, estimate_many, estimate_on};
use litecast::learned::features::Features;
use litecast::learned::manifest::Manifest;
use litecast::learned::predictor::{Predictor, PredictorError};
use litecast::provenance::{Provenance, ProvenanceKind};
use litecast::target::{
    Description, Family, MetricEstimate, Network, TargetEstimate, TargetInfo, UnsupportedOperator,
};
use litecast::targets::{ethos_u, known};
use litecast::{
    Metric, Outcome, Target, UnavailableReason,
    formats::tflite,
    graph::{self, analysis},
};

/// Largest relative difference between two ways to run the same network.
const TOLERANCE: f32 = 1e-4;

fn read_artifact(name: &str) -> Vec<u8> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    fs::read(root.join("bundle").join(name)).unwrap()
}

fn predictor() -> Predictor {
    let manifest = String::from_utf8(read_artifact("manifest.json")).unwrap();
    Predictor::load(&read_artifact("predictor.onnx"), &manifest).unwrap()
}

fn example(file: &str) -> Vec<u8> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    fs::read(root.join("www/examples").join(file)).unwrap()
}

/// Example file → estimates of the training forward pass.
fn reference() -> BTreeMap<String, Vec<f32>> {
    let reference: BTreeMap<_, _> =
        serde_json::from_slice(&read_artifact("reference.json")).unwrap();
    assert_eq!(reference.len(), 3, "three example models");
    reference
}

#[test]
fn tract_gives_what_the_training_forward_pass_gave() {
    let predictor = predictor();
    for (file, expected) in &reference() {
        let bytes = example(file);
        let actual = estimates(&predictor, &bytes);
        let difference = largest_difference(&actual, expected);
        println!("{file}: largest relative difference {difference:.1e}");
        assert!(
            difference <= TOLERANCE,
            "{file}: {actual:?}, expected {expected:?}"
        );
    }
}

#[test]
fn graphs_at_once_have_the_estimates_that_each_has_alone() {
    let predictor = predictor();
    let read = |file: &String| features_of(&example(file));
    let mut graphs: Vec<Features> = reference().keys().map(read).collect();
    graphs.insert(1, Features::default());
    // More than one run of the network takes.
    let graphs: Vec<&Features> = graphs.iter().cycle().take(40).collect();
    let at_once = predictor.predict_many(&graphs).unwrap();
    assert_eq!(at_once.len(), graphs.len());
    for (graph, actual) in graphs.iter().zip(&at_once) {
        let alone = predictor.predict(graph).unwrap();
        assert!(largest_difference(&actual.graph, &alone.graph) <= TOLERANCE);
    }
}

#[test]
fn a_checked_bundle_estimates_as_one_that_was_loaded() {
    let loaded = predictor();
    let manifest = String::from_utf8(read_artifact("manifest.json")).unwrap();
    let checked = |onnx: Vec<u8>, manifest: &str| {
        Predictor::from_checked(onnx, manifest.to_owned(), loaded.id().to_owned())
    };
    let unread = checked(read_artifact("predictor.onnx"), &manifest);
    assert_eq!(unread.id(), loaded.id());
    for file in reference().keys() {
        let bytes = example(file);
        assert_eq!(estimates(&unread, &bytes), estimates(&loaded, &bytes));
    }
    assert_eq!(unread.manifest().unwrap(), loaded.manifest().unwrap());
    // Damage shows when the network is asked, as an error.
    let graph = features_of(&example(reference().keys().next().unwrap()));
    for (bundle, kind) in [
        (
            checked(b"no network".into(), &manifest),
            "predictor-network",
        ),
        (
            checked(read_artifact("predictor.onnx"), "{"),
            "predictor-manifest",
        ),
    ] {
        assert_eq!(bundle.predict(&graph).unwrap_err().kind(), kind);
    }
}

#[test]
fn a_file_without_a_report_leaves_the_others_theirs() {
    let predictor = predictor();
    let names: Vec<String> = reference().into_keys().collect();
    let mut contents: Vec<Vec<u8>> = names.iter().map(|name| example(name)).collect();
    contents[1].truncate(100);
    let named = names.iter().zip(&contents);
    let files: Vec<_> = named
        .map(|(name, bytes)| ModelFile::new(name, bytes))
        .collect();
    let reports = estimate_many(&files, Some(&predictor)).unwrap();
    for (file, actual) in files.iter().zip(reports) {
        let alone = estimate(*file, Some(&predictor));
        match (actual, alone) {
            (Ok(actual), Ok(alone)) => {
                assert_eq!(actual.file, file.name);
                assert_eq!(actual.operators.len(), alone.operators.len());
            }
            (Err(actual), Err(alone)) => assert_eq!(actual.to_string(), alone.to_string()),
            (actual, _) => panic!("{}: {actual:?}", file.name),
        }
    }
}

/// Page, packages and command come without a network, because no target of theirs asks one.
#[test]
fn no_target_of_this_crate_asks_a_network() {
    let unreadable = Predictor::from_checked(b"no network".into(), "{".into(), String::new());
    let targets: Vec<Box<dyn Target>> = known().collect();
    for name in reference().keys() {
        let bytes = example(name);
        let file = ModelFile::new(name, &bytes);
        let reports = estimate_on(&[file], Some(&unreadable), &targets)
            .expect("a target that asks the network has to come with it");
        let results = &reports[0].as_ref().unwrap().results;
        let without = estimate_on(&[file], None, &targets).unwrap();
        let without = &without[0].as_ref().unwrap().results;
        let text = |results| serde_json::to_string(results).unwrap();
        assert_eq!(text(results), text(without));
        let estimated = (targets.iter())
            .filter(|target| results.iter().any(|result| result.target == target.id()));
        assert_eq!(estimated.count(), targets.len());
    }
}

/// The first output of the network, as a target of a program's own asks for it.
struct Asking;

impl Target for Asking {
    fn id(&self) -> &str {
        "asking"
    }

    fn description(&self) -> Description {
        const FAMILY: Family = Family {
            id: "asking",
            label: "Asking",
            group: None,
            is_accelerator: true,
            durations: None,
        };
        Description::new(&FAMILY, "Asking", "No runtime")
    }

    fn info(&self, _: Option<&Manifest>) -> Option<TargetInfo> {
        None
    }

    fn unsupported(&self, _: &Network) -> Vec<UnsupportedOperator> {
        Vec::new()
    }

    fn estimate(&self, network: &Network) -> TargetEstimate {
        let learned = network.learned(|| ethos_u::features(network.graph, network.analysis));
        let value = learned.and_then(|learned| learned.estimates.graph.first());
        let absent = || {
            let code = learned.map_or("no-network", |_| "unlike-training");
            let words = code.into();
            Outcome::unavailable(UnavailableReason::OfTarget { code, words })
        };
        let outcome = value.map_or_else(absent, |&value| Outcome::Estimate {
            value: value.into(),
            lo: None,
            hi: None,
            unit: Metric::Latency.unit(),
            provenance: Provenance::own(ProvenanceKind::LearnedFromCompiler, "a test".into()),
            expected_error_percent: None,
            operators: None,
        });
        TargetEstimate {
            device: "Asking".into(),
            metrics: vec![MetricEstimate {
                metric: Metric::Latency,
                outcome,
            }],
            diagnostics: Vec::new(),
        }
    }
}

/// From a file to a report, through tract.
#[test]
fn a_target_that_asks_the_network_has_its_estimate() {
    let predictor = predictor();
    let asking: [Box<dyn Target>; 1] = [Box::new(Asking)];
    let mut n_estimates = 0;
    for (name, expected) in &reference() {
        let bytes = example(name);
        let file = ModelFile::new(name, &bytes);
        let first = |predictor: Option<&Predictor>| {
            let reports = estimate_on(&[file], predictor, &asking)?;
            let report = reports.into_iter().next().unwrap().unwrap();
            Ok((report.bundle, report.results[0].outcome.clone()))
        };
        let (bundle, outcome) = first(Some(&predictor)).unwrap();
        assert_eq!(bundle.as_deref(), Some(predictor.id()));
        match outcome {
            Outcome::Estimate { value, .. } => {
                assert!(largest_difference(&[value as f32], &expected[..1]) <= TOLERANCE);
                n_estimates += 1;
            }
            Outcome::Unavailable { reason, .. } => assert_eq!(reason, "unlike-training", "{name}"),
        }
        match first(None).unwrap() {
            (None, Outcome::Unavailable { reason, .. }) => assert_eq!(reason, "no-network"),
            other => panic!("{name}: {other:?}"),
        }
        let unreadable = Predictor::from_checked(b"no network".into(), "{".into(), String::new());
        let error: PredictorError = first(Some(&unreadable)).unwrap_err();
        assert_eq!(error.kind(), "predictor-manifest");
    }
    println!("{n_estimates} of the examples are like training");
    assert!(n_estimates > 0);
}

fn estimates(predictor: &Predictor, bytes: &[u8]) -> Vec<f32> {
    predictor.predict(&features_of(bytes)).unwrap().graph
}

fn features_of(bytes: &[u8]) -> Features {
    let model = tflite::parse(bytes).unwrap();
    let graph = graph::build(&model, 0).unwrap();
    ethos_u::features(&graph, &analysis::analyze(&graph))
}

fn largest_difference(actual: &[f32], expected: &[f32]) -> f32 {
    assert_eq!(actual.len(), expected.len());
    let differences = actual
        .iter()
        .zip(expected)
        .map(|(f, e)| (f - e).abs() / e.abs().max(f32::MIN_POSITIVE));
    differences.fold(0.0, f32::max)
}
