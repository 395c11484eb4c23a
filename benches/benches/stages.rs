//! Time of each stage of an estimate, on the example models: `make bench`.

use std::fs;
use std::hint::black_box;
use std::path::{Path, PathBuf};

use criterion::{BatchSize, BenchmarkId, Criterion, criterion_group, criterion_main};
use litecast::estimate::{ModelFile, estimate};
use litecast::formats::tflite;
use litecast::graph::{self, analysis};
use litecast::learned::predictor::Predictor;
use litecast::targets::ethos_u;

/// File name and contents.
fn examples() -> Vec<(String, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../www/examples");
    let paths = fs::read_dir(folder).expect("the examples' folder");
    let mut paths: Vec<_> = paths.map(|entry| entry.expect("an entry").path()).collect();
    paths.retain(|path| path.extension().is_some_and(|e| e == "tflite"));
    paths.sort();
    let example = |path: &PathBuf| {
        let name = path.file_stem().expect("a name").to_string_lossy();
        (name.into_owned(), fs::read(path).expect("a file"))
    };
    paths.iter().map(example).collect()
}

fn stages(criterion: &mut Criterion) {
    let predictor = Predictor::shipped().expect("the bundle is sound");
    for (name, bytes) in &examples() {
        let model = tflite::parse(bytes).expect("an example is read");
        let graph = graph::build(&model, 0).expect("an example has a graph");
        let analysis = analysis::analyze(&graph);
        let features = ethos_u::features(&graph, &analysis);

        let mut group = criterion.benchmark_group(name);
        let id = BenchmarkId::from_parameter;
        group.bench_function(id("parse"), |b| {
            b.iter(|| tflite::parse(black_box(bytes)));
        });
        group.bench_function(id("graph"), |b| {
            b.iter(|| graph::build(black_box(&model), 0));
        });
        group.bench_function(id("analysis"), |b| {
            b.iter(|| analysis::analyze(black_box(&graph)));
        });
        group.bench_function(id("features"), |b| {
            b.iter(|| ethos_u::features(black_box(&graph), &analysis));
        });
        group.bench_function(id("predict"), |b| {
            b.iter(|| predictor.predict(black_box(&features)));
        });
        group.bench_function(id("all"), |b| {
            b.iter(|| estimate(ModelFile::new(name, black_box(bytes)), Some(&predictor)));
        });
        group.finish();
    }
}

/// Reading and optimising the shipped network, once per process.
fn loading(criterion: &mut Criterion) {
    criterion.bench_function("load", |b| {
        b.iter_batched(|| (), |()| Predictor::shipped(), BatchSize::PerIteration);
    });
}

criterion_group!(benches, loading, stages);
criterion_main!(benches);
