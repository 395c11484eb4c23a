//! Errors of estimates with intervals, network by network, as tables of devices state them.

use crate::metrics::{mean, median, summarise_pairs};

/// Errors of one way to estimate.
#[derive(Default)]
pub struct Errors {
    /// Absolute, in percent.
    percent: Vec<f64>,
    n_inside: usize,
    /// Logarithms of half widths.
    half_widths: Vec<f64>,
    spearman: Vec<f64>,
}

impl Errors {
    pub fn add(&mut self, measured_ms: &[f64], estimates: &[[f64; 3]]) {
        for (measured_ms, [value, lo, hi]) in measured_ms.iter().zip(estimates) {
            self.percent.push(100.0 * (value / measured_ms - 1.0).abs());
            self.n_inside += usize::from((*lo..=*hi).contains(measured_ms));
            self.half_widths.push((hi / value).ln());
        }
        let pairs = measured_ms.iter().zip(estimates);
        let pairs: Vec<(f64, f64)> = pairs
            .map(|(measured_ms, [value, ..])| (*value, *measured_ms))
            .collect();
        self.spearman.push(summarise_pairs(&pairs).spearman);
    }

    pub fn is_empty(&self) -> bool {
        self.percent.is_empty()
    }

    /// Share of estimates that are off by at most this, in words.
    pub fn share_within(&self, percent: f64) -> String {
        let n = self.percent.iter().filter(|one| **one <= percent).count();
        format!(
            "{:.0} %",
            100.0 * n as f64 / self.percent.len().max(1) as f64
        )
    }

    pub fn words(&mut self) -> Vec<String> {
        let n = self.percent.len() as f64;
        vec![
            format!("{:.1}", median(&mut self.percent)),
            format!("{:.1}", mean(&self.percent)),
            format!("{:.3}", mean(&self.spearman)),
            format!("{:.1} %", 100.0 * self.n_inside as f64 / n),
            format!("× {:.2}", median(&mut self.half_widths).exp()),
        ]
    }
}
