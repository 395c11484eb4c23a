//! Distributions of the labels on a logarithmic axis: one picture for each metric, with a panel for each target.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Result, anyhow};
use arrow_array::types::{Float64Type, UInt32Type};
use plotters::coord::Shift;
use plotters::prelude::*;

use crate::dataset::METRICS;
use crate::dataset::read::{Table, Tables};

const PANEL: (u32, u32) = (320, 240);
const PANELS_A_ROW: usize = 3;
const BINS_A_DECADE: f64 = 8.0;
const BAR: RGBColor = RGBColor(0x2b, 0x6c, 0xb0);

/// One drawn metric.
pub struct Picture {
    /// File name, in the folder of the card.
    file: String,
    metric: &'static str,
    unit: &'static str,
}

/// The values of one target.
struct Panel<'t> {
    target: &'t str,
    /// Values above 0.
    values: Vec<f64>,
    /// Number of zeros, which have no position on a logarithmic axis.
    n_zeros: usize,
}

/// Draws each metric that occurs in the tables.
pub fn write(tables: &Tables, folder: &Path) -> Result<Vec<Picture>> {
    let mut pictures = Vec::new();
    for metric in &METRICS {
        let panels = panels(&tables.labels, metric.id)?;
        if panels.iter().all(|panel| panel.values.is_empty()) {
            continue;
        }
        let picture = Picture {
            file: format!("histogram-{}.svg", metric.id.replace('_', "-")),
            metric: metric.id,
            unit: metric.unit,
        };
        let path = folder.join(&picture.file);
        draw(&panels, &picture, &path).map_err(|e| anyhow!("{}: {e}", path.display()))?;
        pictures.push(picture);
    }
    Ok(pictures)
}

pub fn markdown(pictures: &[Picture]) -> String {
    let mut text = format!(
        "Each bar is the number of graphs in one of {BINS_A_DECADE} equal steps of a decade. Graphs that leave \
         operators to the CPU are not drawn.\n"
    );
    for picture in pictures {
        let name = picture.metric;
        text += &format!(
            "\n![Histograms of {name} in {}, one for each target]({})\n",
            picture.unit, picture.file
        );
    }
    text
}

fn panels<'t>(labels: &'t Table, metric: &str) -> Result<Vec<Panel<'t>>> {
    let targets = labels.texts("target")?;
    let metrics = labels.optional_texts("metric")?;
    let values = labels.optional_values::<Float64Type>("value")?;
    let n_cpu = labels.values::<UInt32Type>("cpu_operators")?;
    let mut panels: BTreeMap<&str, Panel> = BTreeMap::new();
    for (row, value) in values.into_iter().enumerate() {
        let (Some(value), true, 0) = (value, metrics[row] == Some(metric), n_cpu[row]) else {
            continue;
        };
        let panel = panels.entry(targets[row]).or_insert_with(|| Panel {
            target: targets[row],
            values: Vec::new(),
            n_zeros: 0,
        });
        if value > 0.0 {
            panel.values.push(value)
        } else {
            panel.n_zeros += 1
        }
    }
    Ok(panels.into_values().collect())
}

/// Bin of a value: whole steps of [`BINS_A_DECADE`] from 1.
fn bin(value: f64) -> i32 {
    (value.log10() * BINS_A_DECADE).floor() as i32
}

fn lower_edge(bin: i32) -> f64 {
    10f64.powf(f64::from(bin) / BINS_A_DECADE)
}

fn bins(values: &[f64]) -> BTreeMap<i32, u32> {
    let mut bins = BTreeMap::new();
    for value in values {
        *bins.entry(bin(*value)).or_default() += 1;
    }
    bins
}

type Outcome = Result<(), Box<dyn std::error::Error>>;

/// All panels on the same axes, so that targets can be compared.
fn draw(panels: &[Panel], picture: &Picture, path: &Path) -> Outcome {
    let n_columns = panels.len().min(PANELS_A_ROW);
    let n_rows = panels.len().div_ceil(n_columns);
    let size = (PANEL.0 * n_columns as u32, PANEL.1 * n_rows as u32);
    let root = SVGBackend::new(path, size).into_drawing_area();
    root.fill(&WHITE)?;
    let counts: Vec<_> = panels.iter().map(|panel| bins(&panel.values)).collect();
    let keys = || counts.iter().flat_map(|bins| bins.keys().copied());
    let low = lower_edge(keys().min().unwrap_or(0));
    let high = lower_edge(keys().max().unwrap_or(0) + 1);
    let most = counts.iter().flat_map(|bins| bins.values().copied()).max();
    let axes = (low..high, 0..most.unwrap_or(0) + most.unwrap_or(0) / 20 + 1);
    let areas = root.split_evenly((n_rows, n_columns));
    for ((panel, counts), area) in panels.iter().zip(&counts).zip(&areas) {
        draw_panel(panel, counts, picture, &axes, area)?;
    }
    root.present()?;
    Ok(())
}

fn draw_panel(
    panel: &Panel,
    counts: &BTreeMap<i32, u32>,
    picture: &Picture,
    axes: &(std::ops::Range<f64>, std::ops::Range<u32>),
    area: &DrawingArea<SVGBackend, Shift>,
) -> Outcome {
    let mut chart = ChartBuilder::on(area)
        .caption(caption(panel), ("sans-serif", 14))
        .margin(10)
        .x_label_area_size(38)
        .y_label_area_size(48)
        .build_cartesian_2d(axes.0.clone().log_scale(), axes.1.clone())?;
    let tick = |value: &f64| tick(*value, picture.unit);
    chart
        .configure_mesh()
        .disable_x_mesh()
        .light_line_style(TRANSPARENT)
        .bold_line_style(BLACK.mix(0.12))
        .x_labels(5)
        .y_labels(5)
        .x_label_formatter(&tick)
        .x_desc(axis_name(picture))
        .y_desc("graphs")
        .draw()?;
    chart.draw_series(counts.iter().map(|(&bin, &n)| {
        let corners = [(lower_edge(bin), 0), (lower_edge(bin + 1), n)];
        Rectangle::new(corners, BAR.filled())
    }))?;
    Ok(())
}

fn caption(panel: &Panel) -> String {
    let n_graphs = panel.values.len() + panel.n_zeros;
    let zeros = match panel.n_zeros {
        0 => String::new(),
        n => format!(" ({n} with 0 not drawn)"),
    };
    format!("{}: {n_graphs} graphs{zeros}", panel.target)
}

/// Name of the axis. If the unit is bytes, it is part of the ticks.
fn axis_name(picture: &Picture) -> String {
    let words = picture.metric.replace('_', " ");
    let name = words.replace("sram", "SRAM").replace("offchip", "off-chip");
    match picture.unit {
        "bytes" => name,
        unit => format!("{name}, {unit}"),
    }
}

/// A power of ten in readable form.
fn tick(value: f64, unit: &str) -> String {
    if unit != "bytes" {
        // Ticks are powers of ten, apart from rounding of their logarithms; long ones would overlap.
        return if (0.001..10_000.0).contains(&value) {
            format!("{value:.3}")
                .trim_end_matches('0')
                .trim_end_matches('.')
                .to_owned()
        } else {
            format!("{value:.0e}")
        };
    }
    let (divisor, name) = match value {
        v if v < 1e3 => (1.0, "B"),
        v if v < 1e6 => (1e3, "kB"),
        v if v < 1e9 => (1e6, "MB"),
        _ => (1e9, "GB"),
    };
    format!("{} {name}", value / divisor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bin_holds_what_lies_between_its_edges() {
        for value in [0.003, 0.99, 1.0, 7.5, 12345.0] {
            let bin = bin(value);
            assert!(
                lower_edge(bin) <= value && value < lower_edge(bin + 1),
                "{value}"
            );
        }
        assert_eq!(bins(&[1.0, 1.1, 10.0]), BTreeMap::from([(0, 2), (8, 1)]));
    }

    #[test]
    fn ticks_are_short() {
        assert_eq!(tick(0.01, "ms"), "0.01");
        assert_eq!(tick(1000.0, "mJ"), "1000");
        assert_eq!(tick(0.000_000_999_999_9, "mJ"), "1e-6");
        assert_eq!(tick(1e5, "bytes"), "100 kB");
        assert_eq!(tick(1e9, "bytes"), "1 GB");
    }
}
