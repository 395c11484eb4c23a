//! What a plan comes to for a whole graph.

use super::accelerator::Accelerator;
use super::plan::Plan;
use crate::graph::Graph;
use crate::graph::analysis::Analysis;
use crate::learned::features::PlannedOperator;
use crate::targets::Metric;

const MS_PER_S: f64 = 1e3;

/// A graph on one accelerator, by the compiler's rules alone.
#[derive(Clone, Debug)]
pub struct Totals {
    pub latency_ms: f64,
    /// Most bytes of SRAM in use at once.
    pub sram_peak_bytes: f64,
    /// Bytes read and written, as the compiler counts them.
    pub offchip_traffic_bytes: f64,
    pub sram_traffic_bytes: f64,
    /// The same by node of the graph, in cycles and bytes.
    pub operators: Vec<PlannedOperator>,
    /// As of [`Plan`].
    pub is_cut: bool,
    /// As of [`Plan`].
    pub is_unlike_trained: bool,
}

impl Totals {
    /// As [`Plan::of`] has it; the accelerator's clock turns cycles into time.
    pub fn of(accelerator: &Accelerator, graph: &Graph, analysis: &Analysis) -> Self {
        let Plan {
            operators,
            is_cut,
            is_unlike_trained,
        } = Plan::of(accelerator, graph, analysis);
        let sum = |of: fn(&PlannedOperator) -> f64| operators.iter().map(of).sum::<f64>();
        Self {
            latency_ms: MS_PER_S * sum(|one| one.cycles) / accelerator.clock_hz,
            sram_peak_bytes: operators
                .iter()
                .map(|one| one.sram_bytes)
                .fold(0.0, f64::max),
            offchip_traffic_bytes: sum(|one| one.counted_off_chip_bytes),
            sram_traffic_bytes: sum(|one| one.counted_sram_traffic_bytes),
            operators,
            is_cut,
            is_unlike_trained,
        }
    }

    /// Latency, the peak of the SRAM, off-chip traffic, or the traffic of the SRAM for any other metric.
    pub fn of_metric(&self, metric: Metric) -> f64 {
        match metric {
            Metric::Latency => self.latency_ms,
            Metric::SramPeak => self.sram_peak_bytes,
            Metric::OffchipTraffic => self.offchip_traffic_bytes,
            _ => self.sram_traffic_bytes,
        }
    }
}
