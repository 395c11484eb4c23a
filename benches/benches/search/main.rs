//! Models a second in the loop of a search, on one thread: `make bench-search`. No two models of a list are the same.

mod networks;

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use litecast::estimate::{Detail, ModelFile, estimate_in};
use litecast::learned::predictor::Predictor;
use litecast::targets::choice::Choice;
use litecast::targets::{Target, registered};

use networks::{N_OPERATORS, BenchNetwork, bottlenecks, residual};

/// As the command has it.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const N_MODELS: usize = 64;

fn target(id: &str) -> Vec<Box<dyn Target>> {
    let choice = Choice {
        target: Some(id.to_owned()),
        ..Choice::default()
    };
    vec![choice.target().expect("a target")]
}

fn search(criterion: &mut Criterion) {
    let predictor = Predictor::shipped().expect("the bundle is sound");
    let list = |make: fn(usize) -> BenchNetwork| (0..N_MODELS).map(make).collect::<Vec<_>>();
    let (single, shared) = (list(bottlenecks), list(residual));
    let files = |networks: &[BenchNetwork]| networks.iter().map(BenchNetwork::file).collect::<Vec<_>>();
    let graphs = |networks: &[BenchNetwork]| networks.iter().map(BenchNetwork::graph).collect::<Vec<_>>();
    let models = [
        ("files", files(&single)),
        ("files with shared weights", files(&shared)),
        ("graphs", graphs(&single)),
        ("graphs with shared weights", graphs(&shared)),
    ];
    let lists = [
        ("all targets", registered()),
        ("ethos-u55-256", target("ethos-u55-256")),
        ("cortex-a76-rpi5", target("cortex-a76-rpi5")),
        ("cortex-m4-tflm", target("cortex-m4-tflm")),
        ("galaxy-s24", target("galaxy-s24")),
    ];
    let mut group = criterion.benchmark_group(format!("search, {N_OPERATORS} operators"));
    group.throughput(Throughput::Elements(N_MODELS as u64));
    group.sample_size(10);
    for (kind, models) in &models {
        let files: Vec<ModelFile> = models
            .iter()
            .map(|model| ModelFile::new("", model))
            .collect();
        let reports = estimate_in(&files, Some(&predictor), &registered(), Detail::Summary)
            .expect("the network runs");
        for report in reports {
            let facts = report.expect("a network is estimated").model;
            assert_eq!(facts.n_operators, N_OPERATORS);
        }
        for (name, targets) in &lists {
            for (detail, word) in [(Detail::Full, "full"), (Detail::Summary, "summary")] {
                group.bench_function(format!("{kind}, {name}, {word}"), |bencher| {
                    bencher
                        .iter(|| estimate_in(black_box(&files), Some(&predictor), targets, detail));
                });
            }
        }
    }
    group.finish();
}

criterion_group!(benches, search);
criterion_main!(benches);
