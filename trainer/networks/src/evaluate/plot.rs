//! Plots estimates against labels, with one panel for each output.

use std::path::Path;

use anyhow::{Result, anyhow};
use plotters::coord::Shift;
use plotters::prelude::*;

use crate::training_data::Data;

const PANEL: u32 = 320;
/// Maximum number of points in a panel. Thousands of points would hide each other and make the file megabytes large.
const MAX_POINTS: usize = 1000;

type Outcome = Result<(), Box<dyn std::error::Error>>;

/// Draws the test graphs, or every n-th of them, into an SVG file.
pub fn write(estimates: &[Vec<f32>], data: &Data, path: &Path) -> Result<()> {
    draw(estimates, data, path).map_err(|e| anyhow!("{}: {e}", path.display()))
}

fn draw(estimates: &[Vec<f32>], data: &Data, path: &Path) -> Outcome {
    let n_columns = crate::training_data::METRICS.len();
    let n_rows = data.outputs.len().div_ceil(n_columns);
    let size = (PANEL * n_columns as u32, PANEL * n_rows as u32);
    let root = SVGBackend::new(path, size).into_drawing_area();
    root.fill(&WHITE)?;
    for (output, panel) in root.split_evenly((n_rows, n_columns)).iter().enumerate() {
        if output < data.outputs.len() {
            draw_panel(panel, output, estimates, data)?;
        }
    }
    root.present()?;
    Ok(())
}

fn draw_panel(
    panel: &DrawingArea<SVGBackend, Shift>,
    output: usize,
    estimates: &[Vec<f32>],
    data: &Data,
) -> Outcome {
    let part = &data.test;
    let points: Vec<(f64, f64, usize)> = (0..estimates.len())
        .map(|g| {
            (
                part.examples[g].labels[output],
                estimates[g][output],
                part.space_of[g],
            )
        })
        .filter(|(label, ..)| !label.is_nan())
        .map(|(label, estimate, space)| (f64::from(label), f64::from(estimate), space))
        .collect();
    if points.is_empty() {
        return Ok(());
    }
    let low = points.iter().map(|p| p.0).fold(f64::INFINITY, f64::min) * 0.8;
    let high = points.iter().map(|p| p.0).fold(0.0, f64::max) * 1.25;
    let mut chart = ChartBuilder::on(panel)
        .caption(&data.output_names()[output], ("sans-serif", 15))
        .margin(10)
        .x_label_area_size(28)
        .y_label_area_size(52)
        .build_cartesian_2d((low..high).log_scale(), (low..high).log_scale())?;
    let short = |v: &f64| format!("{v:.1e}");
    chart
        .configure_mesh()
        .disable_mesh()
        .x_labels(3)
        .y_labels(4)
        .x_label_formatter(&short)
        .y_label_formatter(&short)
        .draw()?;
    chart.draw_series(LineSeries::new([(low, low), (high, high)], BLACK.mix(0.4)))?;
    let step = points.len().div_ceil(MAX_POINTS);
    let some = points.iter().step_by(step);
    chart.draw_series(some.map(|&(label, estimate, space)| {
        let color = Palette99::pick(space).mix(0.5);
        Circle::new((label, estimate.clamp(low, high)), 2, color.filled())
    }))?;
    Ok(())
}
