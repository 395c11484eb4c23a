//! The learning curve: one row an epoch, as CSV and as a drawing.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, anyhow};
use plotters::prelude::*;
use serde::{Deserialize, Serialize};

/// One epoch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CurveRow {
    /// Number of the epoch, from 0.
    pub epoch: usize,
    /// Learning rate at its end.
    pub learning_rate: f64,
    /// Mean loss over its batches.
    pub training_loss: f64,
    /// Mean over graphs and outputs, percent.
    pub validation_mape: f64,
    /// By output, mean over graphs, percent.
    pub output_mape: Vec<f64>,
    /// Seconds of training until its end.
    pub wall_time_s: f64,
}

/// Writes `curve.csv` and `curve.svg` into `folder`.
pub fn write(rows: &[CurveRow], output_names: &[String], folder: &Path) -> Result<()> {
    let csv = folder.join("curve.csv");
    fs::write(&csv, table(rows, output_names)).with_context(|| csv.display().to_string())?;
    let svg = folder.join("curve.svg");
    draw(rows, output_names, &svg).map_err(|e| anyhow!("{}: {e}", svg.display()))
}

fn table(rows: &[CurveRow], output_names: &[String]) -> String {
    let mut text = "epoch,learning_rate,training_loss,validation_mape".to_owned();
    output_names
        .iter()
        .for_each(|name| text += &format!(",{name}"));
    text += ",wall_time_s\n";
    for row in rows {
        let head = (
            row.epoch,
            row.learning_rate,
            row.training_loss,
            row.validation_mape,
        );
        let _ = write!(
            text,
            "{},{:.3e},{:.5},{:.3}",
            head.0, head.1, head.2, head.3
        );
        row.output_mape
            .iter()
            .for_each(|mape| text += &format!(",{mape:.3}"));
        let _ = writeln!(text, ",{:.1}", row.wall_time_s);
    }
    text
}

/// Validation errors over the epochs, logarithmic.
fn draw(
    rows: &[CurveRow],
    output_names: &[String],
    path: &Path,
) -> Result<(), Box<dyn std::error::Error>> {
    let root = SVGBackend::new(path, (900, 540)).into_drawing_area();
    root.fill(&WHITE)?;
    let last = rows.last().map_or(1, |row| row.epoch + 1);
    let mut chart = ChartBuilder::on(&root)
        .caption("Error on the validation graphs", ("sans-serif", 20))
        .margin(12)
        .x_label_area_size(40)
        .y_label_area_size(56)
        .build_cartesian_2d(0..last, (0.5f64..100.0).log_scale())?;
    chart
        .configure_mesh()
        .x_desc("epoch")
        .y_desc("MAPE, %")
        .draw()?;
    for (k, name) in output_names.iter().enumerate() {
        let color = Palette99::pick(k).to_rgba();
        let points = rows
            .iter()
            .map(|row| (row.epoch, row.output_mape[k].clamp(0.5, 100.0)));
        let line = LineSeries::new(points, color.stroke_width(2));
        let mark = move |(x, y)| PathElement::new([(x, y), (x + 16, y)], color.stroke_width(2));
        chart.draw_series(line)?.label(name).legend(mark);
    }
    chart
        .configure_series_labels()
        .background_style(WHITE.mix(0.8))
        .border_style(BLACK)
        .draw()?;
    root.present()?;
    Ok(())
}
