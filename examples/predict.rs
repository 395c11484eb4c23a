//! What a model costs on every target: `cargo run --release --example predict -- model.tflite`.

use std::error::Error;

use litecast::{ModelFile, Outcome, estimate};

fn main() -> Result<(), Box<dyn Error>> {
    let default = "www/examples/cnn-kws-s7-i43.tflite".to_owned();
    let path = std::env::args().nth(1).unwrap_or(default);
    let bytes = std::fs::read(&path)?;

    let report = estimate(ModelFile::new(&path, &bytes), None)?;

    println!("{path}: {} MACs", report.model.macs);
    for result in &report.results {
        let name = format!("{} {}", result.target, result.metric);
        match &result.outcome {
            Outcome::Estimate { value, unit, .. } => println!("{name:44} {value:14.4} {unit}"),
            Outcome::Unavailable { unavailable, .. } => println!("{name:44} {unavailable}"),
        }
    }
    Ok(())
}
