//! Compares counted memory with the memory that PyTorch uses for the same networks
//! (`trainer/python/pytorch_memory.py`).

use std::path::Path;

use anyhow::Result;
use litecast::targets::gpu::memory::{kept_bytes, peak_bytes};

use super::graphs::Networks;

/// PyTorch's bytes of one network, for one image in float32.
#[derive(serde::Deserialize)]
struct Row {
    model: String,
    image_size: u32,
    peak_bytes: f64,
    kept_bytes: f64,
}

/// Bytes of a float32 value: PyTorch's table has no other precision.
const SINGLE: f64 = 4.0;

/// Prints the ratios of counted bytes to PyTorch's bytes as Markdown, for each network and as a median.
pub fn compare(table: &Path, networks: &Networks) -> Result<()> {
    println!(
        "| network | inference peak: PyTorch MB | counted MB | kept for training: PyTorch MB | counted MB |"
    );
    println!("|---|---:|---:|---:|---:|");
    let mut ratios = [Vec::new(), Vec::new()];
    for row in csv::Reader::from_path(table)?.deserialize() {
        let row: Row = row?;
        let Some(network) = networks.get(&(row.model.clone(), row.image_size)) else {
            eprintln!("no graph of {} at {}", row.model, row.image_size);
            continue;
        };
        let peak = peak_bytes(&network.kernels, SINGLE, SINGLE);
        let kept = kept_bytes(&network.kernels, SINGLE, SINGLE);
        ratios[0].push(peak / row.peak_bytes);
        ratios[1].push(kept / row.kept_bytes);
        let [real_peak, peak, real_kept, kept] =
            [row.peak_bytes, peak, row.kept_bytes, kept].map(|bytes| bytes / 1e6);
        println!(
            "| `{}` {} | {real_peak:.1} | {peak:.1} | {real_kept:.1} | {kept:.1} |",
            row.model, row.image_size
        );
    }
    for (ratios, what) in ratios
        .iter_mut()
        .zip(["inference peak", "kept for training"])
    {
        ratios.sort_by(f64::total_cmp);
        if let (Some(least), Some(most)) = (ratios.first(), ratios.last()) {
            let median = ratios[ratios.len() / 2];
            let errors = ratios.iter().map(|ratio| 100.0 * (ratio - 1.0).abs());
            let mean = errors.sum::<f64>() / ratios.len() as f64;
            println!(
                "\n{what}: {} networks, counted over PyTorch's: median {median:.2}, {least:.2} to {most:.2}; mean \
                 error {mean:.1} %",
                ratios.len()
            );
        }
    }
    Ok(())
}
