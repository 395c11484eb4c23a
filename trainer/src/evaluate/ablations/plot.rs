//! Errors by size of the label, a line for each row of the table: PerfSAGE's Figure 3.

use std::path::Path;

use anyhow::{Result, anyhow};
use plotters::prelude::*;

use super::{BINNED_SPACE, N_BINS, Tenths};

const SIZE: (u32, u32) = (960, 480);

/// Draws a line with a name for each network into an SVG file.
pub fn write(lines: &[(&str, &Tenths)], path: &Path) -> Result<()> {
    draw(lines, path).map_err(|e| anyhow!("{}: {e}", path.display()))
}

fn draw(lines: &[(&str, &Tenths)], path: &Path) -> Result<(), Box<dyn std::error::Error>> {
    let root = SVGBackend::new(path, SIZE).into_drawing_area();
    root.fill(&WHITE)?;
    let target = lines.first().map_or("", |(_, tenths)| &tenths.target);
    let title = format!("Latency of {} on {target}", BINNED_SPACE.id());
    let all = lines.iter().flat_map(|(_, tenths)| &tenths.errors);
    let high = 1.1 * all.copied().fold(0.0, f64::max);
    let last = N_BINS as f64 + 0.5;
    let (plot, legend) = root.split_horizontally(SIZE.0 * 2 / 3);
    let mut chart = ChartBuilder::on(&plot)
        .caption(title, ("sans-serif", 16))
        .margin(12)
        .x_label_area_size(36)
        .y_label_area_size(52)
        .build_cartesian_2d(0.5..last, 0.0..high)?;
    chart
        .configure_mesh()
        .x_desc("tenth of the graphs, by latency")
        .y_desc("MAPE, %")
        .x_labels(N_BINS)
        .x_label_formatter(&|x| format!("{x:.0}"))
        .y_label_formatter(&|y| format!("{y:.1}"))
        .disable_x_mesh()
        .light_line_style(TRANSPARENT)
        .draw()?;
    for (k, (name, tenths)) in lines.iter().enumerate() {
        let color = Palette99::pick(k).to_rgba();
        let points = (1..).map(f64::from).zip(tenths.errors.iter().copied());
        chart.draw_series(LineSeries::new(points, color.stroke_width(2)).point_size(3))?;
        let y = 40 + 22 * k as i32;
        legend.draw(&PathElement::new([(0, y), (20, y)], color.stroke_width(3)))?;
        let font = ("sans-serif", 13).into_font();
        legend.draw(&Text::new(*name, (28, y - 6), font))?;
    }
    root.present()?;
    Ok(())
}
