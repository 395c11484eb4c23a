//! Plots errors by size of the label, with a line for each row of the table: PerfSAGE's Figure 3.

use std::path::Path;

use anyhow::{Result, anyhow};
use plotters::prelude::*;

use super::tenths::{BINNED_SPACE, N_BINS, Tenths};

const SIZE: (u32, u32) = (960, 480);
/// Lower limit of a plotted error in percent, because 0 has no position on a logarithmic axis.
const LEAST: f64 = 0.01;

/// Draws a line with a name for each network into an SVG file.
pub fn write(lines: &[(&str, &Tenths)], path: &Path) -> Result<()> {
    draw(lines, path).map_err(|e| anyhow!("{}: {e}", path.display()))
}

fn draw(lines: &[(&str, &Tenths)], path: &Path) -> Result<(), Box<dyn std::error::Error>> {
    let root = SVGBackend::new(path, SIZE).into_drawing_area();
    root.fill(&WHITE)?;
    let target = lines.first().map_or("", |(_, tenths)| &tenths.target);
    let title = format!("Latency of {} on {target}", BINNED_SPACE.id());
    // The axis has whole decades: without the compiler's rules, errors are ten times as large.
    let decades = || {
        let all = lines.iter().flat_map(|(_, tenths)| &tenths.errors);
        all.map(|error| error.max(LEAST).log10())
    };
    let low = decades().fold(f64::INFINITY, f64::min).floor();
    let high = decades().fold(f64::NEG_INFINITY, f64::max).ceil();
    let range = (10f64.powf(low)..10f64.powf(high)).log_scale();
    let last = N_BINS as f64 + 0.5;
    let (plot, legend) = root.split_horizontally(SIZE.0 * 2 / 3);
    let mut chart = ChartBuilder::on(&plot)
        .caption(title, ("sans-serif", 16))
        .margin(12)
        .x_label_area_size(36)
        .y_label_area_size(52)
        .build_cartesian_2d(0.5..last, range)?;
    chart
        .configure_mesh()
        .x_desc("tenth of the graphs, by latency")
        .y_desc("MAPE, %")
        .x_labels(N_BINS)
        .x_label_formatter(&|x| format!("{x:.0}"))
        .y_label_formatter(&|y| ((y * 100.0).round() / 100.0).to_string())
        .disable_x_mesh()
        .light_line_style(TRANSPARENT)
        .draw()?;
    for (k, (name, tenths)) in lines.iter().enumerate() {
        let color = Palette99::pick(k).to_rgba();
        let points = (1..)
            .map(f64::from)
            .zip(tenths.errors.iter().map(|error| error.max(LEAST)));
        chart.draw_series(LineSeries::new(points, color.stroke_width(2)).point_size(3))?;
        let y = 40 + 22 * k as i32;
        legend.draw(&PathElement::new([(0, y), (20, y)], color.stroke_width(3)))?;
        let font = ("sans-serif", 13).into_font();
        legend.draw(&Text::new(*name, (28, y - 6), font))?;
    }
    root.present()?;
    Ok(())
}
