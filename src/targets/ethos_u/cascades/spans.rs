//! Start and end of cascades for given stripe heights. Reproduces `CascadeBuilder::BuildCascades`.

use super::{CascadeStage, RangeInSram};

/// Maximum number of stages of a cascade, so that the search is linear in the stages of any file. Networks have
/// cascades of a few dozen stages.
const MAX_STAGES: usize = 1024;

/// Stages `first..=last` of a list, as a cascade.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Span {
    pub first: usize,
    pub last: usize,
    /// Bytes of SRAM while it runs: rolling buffers and weights, its IFM and OFM if they are in SRAM, and everything
    /// that is alive beside it.
    pub bytes: f64,
    /// The same without other live bytes.
    pub local_bytes: f64,
    pub rolling_bytes: f64,
}

/// Cascades of stages with these `rows` per stripe and these bytes of weights in SRAM.
///
/// If feature maps are initially off chip (`has_dedicated_sram`), a cascade must fit `limit_bytes` and consists of
/// operations whose feature maps do not fit. If they are in SRAM anyway, a cascade must need less than its operations
/// need one by one; it is then not extended to save memory below `limit_bytes`, or below the need of an earlier
/// operation.
pub fn spans(
    stages: &[CascadeStage],
    rows: &[i64],
    weight_bytes: &[f64],
    limit_bytes: f64,
    has_dedicated_sram: bool,
) -> Vec<Span> {
    let mut growth = Growth {
        stages,
        rows,
        weight_bytes,
        peak_bytes: limit_bytes,
        has_dedicated_sram,
    };
    let mut spans = Vec::new();
    let mut first = 0;
    while first < stages.len() {
        if !has_dedicated_sram {
            growth.peak_bytes = growth.peak_bytes.max(stages[first].alive_before_bytes);
        }
        let span = growth.longest(first);
        if !has_dedicated_sram {
            let bytes = span.map_or(stages[first].in_sram.alive_bytes, |span| span.bytes);
            growth.peak_bytes = growth.peak_bytes.max(bytes);
        }
        first = span.map_or(first, |span| span.last) + 1;
        spans.extend(span);
    }
    spans
}

struct Growth<'a> {
    stages: &'a [CascadeStage],
    rows: &'a [i64],
    weight_bytes: &'a [f64],
    peak_bytes: f64,
    has_dedicated_sram: bool,
}

impl Growth<'_> {
    fn is_striped(&self, idx: usize) -> bool {
        self.stages[idx].can_be_striped && self.rows[idx] < i64::from(self.stages[idx].ofm[0])
    }

    /// The cascade that begins with this stage, if it saves memory.
    fn longest(&self, first: usize) -> Option<Span> {
        if !self.is_striped(first) {
            return None;
        }
        let start = &self.stages[first].in_sram;
        let mut held = CascadeMemory {
            ifm_bytes: start.maps.ifm,
            rolling_bytes: 0.0,
            weight_bytes: self.weight_bytes[first],
            beside: OtherMemory::of(&self.stages[first]),
        };
        let mut best_bytes = start.alive_bytes;
        let mut best = None;
        // Rolling buffer between the two previous stages.
        let mut previous = None;
        for idx in first + 1..self.stages.len().min(first + MAX_STAGES) {
            let stage = &self.stages[idx];
            if !stage.follows || !self.is_striped(idx) {
                break;
            }
            let before = &self.stages[idx - 1];
            let between = stage.rolling_bytes(before, self.rows[idx - 1], self.rows[idx]);
            let is_reused = before.is_in_place && previous == Some(between);
            held.rolling_bytes += if is_reused { 0.0 } else { between };
            held.weight_bytes += self.weight_bytes[idx];
            held.beside.add(stage);
            previous = Some(between);
            let span = held.span(
                first,
                idx,
                if self.has_dedicated_sram {
                    0.0
                } else {
                    stage.in_sram.maps.ofm
                },
            );
            let is_end = if self.has_dedicated_sram {
                let apart_bytes = stage.whole_bytes() + stage.in_sram.beside_bytes;
                if apart_bytes < self.peak_bytes || span.bytes > self.peak_bytes {
                    break;
                }
                best = Some(span);
                false
            } else {
                let apart_bytes = stage.in_sram.alive_bytes;
                if span.bytes < best_bytes || span.bytes < apart_bytes {
                    best_bytes = span.bytes;
                    best = Some(span);
                }
                let both_fit = apart_bytes < self.peak_bytes && best_bytes < self.peak_bytes;
                both_fit || held.bytes() > best_bytes
            };
            if is_end {
                break;
            }
        }
        best
    }
}

/// SRAM of a cascade without its OFM.
struct CascadeMemory {
    ifm_bytes: f64,
    rolling_bytes: f64,
    weight_bytes: f64,
    beside: OtherMemory,
}

impl CascadeMemory {
    fn bytes(&self) -> f64 {
        self.ifm_bytes + self.rolling_bytes + self.weight_bytes + self.beside.max_bytes
    }

    fn span(&self, first: usize, last: usize, ofm_bytes: f64) -> Span {
        let bytes = self.bytes() + ofm_bytes;
        Span {
            first,
            last,
            bytes,
            local_bytes: bytes - self.beside.max_bytes,
            rolling_bytes: self.rolling_bytes,
        }
    }
}

/// Maximum SRAM that other operations need while the stages of a cascade run.
struct OtherMemory {
    /// The IFM of the cascade, which is not counted here.
    ifm_range: Option<RangeInSram>,
    max_bytes: f64,
}

impl OtherMemory {
    fn of(first: &CascadeStage) -> Self {
        Self {
            ifm_range: first.in_sram.ifm_range,
            max_bytes: first.in_sram.beside_bytes.max(0.0),
        }
    }

    fn add(&mut self, stage: &CascadeStage) {
        let in_sram = &stage.in_sram;
        let alive = self.ifm_range.filter(|range| {
            let is_own = in_sram.ifm_range.map(|ifm| ifm.range_idx) == Some(range.range_idx)
                || in_sram.ofm_range == range.range_idx;
            let is_alive = |(first, last)| (first..=last).contains(&stage.step);
            range.steps.get().is_some_and(is_alive) && !is_own
        });
        let counted_bytes = alive.map_or(0.0, |range| range.bytes);
        self.max_bytes = self.max_bytes.max(in_sram.beside_bytes - counted_bytes);
    }
}
