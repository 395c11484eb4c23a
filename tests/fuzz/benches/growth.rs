//! How time and memory of the whole path grow with a network, for each shape of graph: the exponent of a
//! power of the number of operators, by least squares over logarithms.
//!
//! `cargo bench -p litecast-fuzz -- [LARGEST] [SHAPE]...`; the sizes are powers of ten from 100 to 100,000, and
//! without a name every shape is measured. With `FILE...`, these files are measured instead, as much memory as may be
//! taken beside each. Criterion measures one size well, but compares none with another, which is
//! what is asked here.

use std::path::Path;
use std::time::Instant;

use litecast::estimate::{ModelFile, estimate};
use litecast::learned::predictor::Predictor;
use litecast_fuzz::memory::{Counting, measure};
use litecast_fuzz::shapes::Shape;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Runs of one size: the fastest counts, what else runs on the machine can only add to it.
const MAX_RUNS: usize = 5;
const ENOUGH_S: f64 = 1.0;

struct GrowthRow {
    n_operators: f64,
    file_bytes: f64,
    seconds: f64,
    peak_bytes: f64,
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let predictor = Predictor::shipped().expect("the shipped predictor loads");
    let files: Vec<&String> = (words.iter().filter(|word| Path::new(word).is_file())).collect();
    if !files.is_empty() {
        files
            .into_iter()
            .for_each(|file| print_file(file, &predictor));
        return;
    }
    let mut numbers = words.iter().filter_map(|word| word.parse::<usize>().ok());
    let largest = numbers.next_back().unwrap_or(100_000);
    let named = |shape: &Shape| words.contains(&format!("{shape:?}").to_lowercase());
    let is_any_named = Shape::ALL.iter().any(named);
    let shapes = || (Shape::ALL.into_iter()).filter(|shape| !is_any_named || named(shape));
    for (name, predictor) in [("facts and plans", None), ("whole path", Some(&predictor))] {
        println!("{name}");
        for shape in shapes() {
            let sizes = [100, 1000, 10_000, 100_000];
            let sizes = sizes.into_iter().filter(|&size| size <= largest);
            let rows: Vec<GrowthRow> = sizes.map(|size| row(shape, size, predictor)).collect();
            for row in &rows {
                println!(
                    "  {:<12} {:>7} operators, file {:>8.3} MB: {:>8.4} s, {:>7.1} MB",
                    format!("{shape:?}"),
                    row.n_operators,
                    row.file_bytes / 1e6,
                    row.seconds,
                    row.peak_bytes / 1e6
                );
            }
            let [time, memory] = [
                |row: &GrowthRow| row.seconds,
                |row: &GrowthRow| row.peak_bytes,
            ]
            .map(|measure| exponent(&rows, measure));
            println!("  {shape:?}: time grows as n^{time:.2}, memory as n^{memory:.2}");
        }
    }
}

/// Bytes of memory beside a file of this length.
fn max_bytes(file_bytes: f64) -> f64 {
    3.0 * file_bytes + (64 << 20) as f64
}

fn print_file(file: &str, predictor: &Predictor) {
    let bytes = std::fs::read(file).expect("the file can be read");
    let row = measured(file, &bytes, 0, Some(predictor));
    println!(
        "{file}, {:.1} MB: {:.2} s, {:.1} MB of {:.1} MB",
        row.file_bytes / 1e6,
        row.seconds,
        row.peak_bytes / 1e6,
        max_bytes(row.file_bytes) / 1e6
    );
}

fn row(shape: Shape, n_operators: usize, predictor: Option<&Predictor>) -> GrowthRow {
    let file = shape.file(n_operators);
    let name = format!("{shape:?} of {n_operators}");
    measured(&name, &file.write(), file.n_operators(), predictor)
}

fn measured(
    name: &str,
    bytes: &[u8],
    n_operators: usize,
    predictor: Option<&Predictor>,
) -> GrowthRow {
    let mut row = GrowthRow {
        n_operators: n_operators as f64,
        file_bytes: bytes.len() as f64,
        seconds: f64::INFINITY,
        peak_bytes: 0.0,
    };
    let started = Instant::now();
    for _ in 0..MAX_RUNS {
        let start = Instant::now();
        let (report, taken) = measure(|| estimate(ModelFile::new(name, bytes), predictor));
        if let Err(error) = report {
            println!("  {name}: {error}");
        }
        row.seconds = row.seconds.min(start.elapsed().as_secs_f64());
        row.peak_bytes = taken.peak_bytes as f64;
        if started.elapsed().as_secs_f64() > ENOUGH_S {
            break;
        }
    }
    row
}

fn exponent(rows: &[GrowthRow], measure: impl Fn(&GrowthRow) -> f64) -> f64 {
    let points: Vec<[f64; 2]> = rows
        .iter()
        .map(|row| [row.n_operators.ln(), measure(row).ln()])
        .collect();
    let n = points.len() as f64;
    let mean = |axis: usize| points.iter().map(|point| point[axis]).sum::<f64>() / n;
    let [x, y] = [mean(0), mean(1)];
    let covariance: f64 = points
        .iter()
        .map(|point| (point[0] - x) * (point[1] - y))
        .sum();
    let variance: f64 = points.iter().map(|point| (point[0] - x).powi(2)).sum();
    covariance / variance
}
