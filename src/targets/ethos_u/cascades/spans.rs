//! Start and end of cascades for given stripe heights. Reproduces `CascadeBuilder::BuildCascades`.

use super::{CascadeStage, RangeInSram, lowest_rows};

/// Maximum number of stages of a cascade, so that the search is linear in the stages of any file. Networks have
/// cascades of a few dozen stages.
const MAX_STAGES: usize = 1024;
/// Number of stages that are held while a network is searched for cascades.
const WINDOW_STAGES: usize = 4 * MAX_STAGES;

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

/// Cascades of stages with these `rows` per stripe and these bytes of weights in SRAM, by the rules of [`CascadeGrowth`].
pub fn spans(
    stages: &[CascadeStage],
    rows: &[i64],
    weight_bytes: &[f64],
    limit_bytes: f64,
    has_dedicated_sram: bool,
) -> Vec<Span> {
    let mut growth = CascadeGrowth {
        peak_bytes: limit_bytes,
        has_dedicated_sram,
    };
    let striped = StripedStages {
        stages,
        rows,
        weight_bytes,
    };
    let mut spans = Vec::new();
    let mut first = 0;
    while first < stages.len() {
        let span = growth.from(striped, first);
        first = span.map_or(first, |span| span.last) + 1;
        spans.extend(span);
    }
    spans
}

/// A cascade with its stages, to which the indices of the span refer.
pub struct StagedCascade {
    pub span: Span,
    pub stages: Vec<CascadeStage>,
}

/// As `spans`, with the lowest stripes and no weights in SRAM. Holds no more than some thousand stages that are in no
/// cascade.
pub fn staged_cascades(
    mut stages: impl Iterator<Item = CascadeStage>,
    limit_bytes: f64,
    has_dedicated_sram: bool,
) -> Vec<StagedCascade> {
    let mut growth = CascadeGrowth {
        peak_bytes: limit_bytes,
        has_dedicated_sram,
    };
    let mut cascades = Vec::new();
    let no_weights = [0.0; WINDOW_STAGES];
    let mut window: Vec<CascadeStage> = Vec::new();
    loop {
        window.extend(stages.by_ref().take(WINDOW_STAGES - window.len()));
        let is_end = window.len() < WINDOW_STAGES;
        let rows = lowest_rows(&window);
        let striped = StripedStages {
            stages: &window,
            rows: &rows,
            weight_bytes: &no_weights,
        };
        let n_whole = if is_end {
            window.len()
        } else {
            // The longest cascade that begins behind them may end outside of the window.
            WINDOW_STAGES - MAX_STAGES
        };
        let mut first = 0;
        while first < n_whole {
            let span = growth.from(striped, first);
            cascades.extend(span.map(|span| StagedCascade {
                stages: window[span.first..=span.last].to_vec(),
                span: Span {
                    first: 0,
                    last: span.last - span.first,
                    ..span
                },
            }));
            first = span.map_or(first, |span| span.last) + 1;
        }
        if is_end {
            return cascades;
        }
        window.drain(..first);
    }
}

/// Stages with the rows of their stripes, and the bytes of their weights that are in SRAM.
#[derive(Clone, Copy)]
struct StripedStages<'a> {
    stages: &'a [CascadeStage],
    rows: &'a [i64],
    weight_bytes: &'a [f64],
}

impl StripedStages<'_> {
    fn is_striped(&self, idx: usize) -> bool {
        self.stages[idx].can_be_striped && self.rows[idx] < i64::from(self.stages[idx].ofm[0])
    }
}

/// Determines how far cascades grow, from the first stage of a network to the last.
///
/// If feature maps are initially off chip (`has_dedicated_sram`), a cascade must fit `peak_bytes` and consists of
/// operations whose feature maps do not fit. If they are in SRAM anyway, a cascade must need less than its operations
/// need one by one; it is then not extended to save memory below `peak_bytes`, which grow to the need of earlier
/// operations.
struct CascadeGrowth {
    peak_bytes: f64,
    has_dedicated_sram: bool,
}

impl CascadeGrowth {
    /// The cascade that begins with this stage, if it saves memory. The stages before it were looked at.
    fn from(&mut self, striped: StripedStages, first: usize) -> Option<Span> {
        let stage = &striped.stages[first];
        if !self.has_dedicated_sram {
            self.peak_bytes = self.peak_bytes.max(stage.alive_before_bytes);
        }
        let span = self.longest_span(striped, first);
        if !self.has_dedicated_sram {
            let bytes = span.map_or(stage.in_sram.alive_bytes, |span| span.bytes);
            self.peak_bytes = self.peak_bytes.max(bytes);
        }
        span
    }

    fn longest_span(&self, striped: StripedStages, first: usize) -> Option<Span> {
        if !striped.is_striped(first) {
            return None;
        }
        let StripedStages {
            stages,
            rows,
            weight_bytes,
        } = striped;
        let start = &stages[first].in_sram;
        let mut held = CascadeMemory::new(&stages[first], weight_bytes[first]);
        let mut best_bytes = start.alive_bytes;
        let mut best = None;
        // Rolling buffer between the two previous stages.
        let mut previous = None;
        for idx in first + 1..stages.len().min(first + MAX_STAGES) {
            let stage = &stages[idx];
            if !stage.follows || !striped.is_striped(idx) {
                break;
            }
            let before = &stages[idx - 1];
            let between = stage.rolling_bytes(before, rows[idx - 1], rows[idx]);
            let is_reused = before.is_in_place && previous == Some(between);
            held.rolling_bytes += if is_reused { 0.0 } else { between };
            held.weight_bytes += weight_bytes[idx];
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
    beside: OtherSram,
}

impl CascadeMemory {
    /// The memory of a cascade of one stage.
    fn new(stage: &CascadeStage, weight_bytes: f64) -> Self {
        Self {
            ifm_bytes: stage.in_sram.maps.ifm,
            rolling_bytes: 0.0,
            weight_bytes,
            beside: OtherSram::new(stage),
        }
    }

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
struct OtherSram {
    /// The IFM of the cascade, which is not counted here.
    ifm_range: Option<RangeInSram>,
    max_bytes: f64,
}

impl OtherSram {
    fn new(first: &CascadeStage) -> Self {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::targets::ethos_u::cascades::InSram;
    use crate::targets::ethos_u::geometry::IfmOfm;

    /// Stages in runs of two thousand that follow one another, with bytes and heights that change in another rhythm.
    fn stages(n_stages: usize, has_dedicated_sram: bool) -> Vec<CascadeStage> {
        let stage = |step: usize| {
            let height = 8 + (step % 13) as i32;
            let bytes = 2e6 + 1024.0 * (step * step % 31) as f64;
            let map_bytes = if has_dedicated_sram { 0.0 } else { bytes };
            CascadeStage {
                step,
                ifm: [height, 8, 16],
                ofm: [height, 8, 16],
                element_bytes: 1,
                kernel_rows: 3,
                stride_rows: 1,
                upscale: 1,
                rounding_rows: 0,
                ifm_bytes: bytes,
                ofm_bytes: bytes,
                ifm2_bytes: 0.0,
                can_be_striped: step % 1511 != 7,
                follows: !step.is_multiple_of(2003),
                is_in_place: false,
                in_sram: InSram {
                    maps: IfmOfm::both(map_bytes),
                    alive_bytes: 2.0 * map_bytes,
                    ..InSram::default()
                },
                next_stride_rows: 1,
                before: step.checked_sub(1).into(),
                alive_before_bytes: (step % 101) as f64,
            }
        };
        (0..n_stages).map(stage).collect()
    }

    #[test]
    fn stages_in_windows_have_the_cascades_of_all_at_once() {
        for n_stages in [0, 1, MAX_STAGES, WINDOW_STAGES, 3 * WINDOW_STAGES + 17] {
            for (limit_bytes, has_dedicated_sram) in [(1e6, true), (1e3, false), (3e6, false)] {
                let stages = stages(n_stages, has_dedicated_sram);
                let (rows, no_weights) = (lowest_rows(&stages), vec![0.0; n_stages]);
                let at_once = spans(&stages, &rows, &no_weights, limit_bytes, has_dedicated_sram);
                let longest = at_once.iter().map(|span| span.last - span.first + 1).max();
                let actual = staged_cascades(stages.into_iter(), limit_bytes, has_dedicated_sram);
                let spans = actual.iter().map(|StagedCascade { span, stages }| Span {
                    first: stages[span.first].step,
                    last: stages[span.last].step,
                    ..*span
                });
                assert_eq!(spans.collect::<Vec<_>>(), at_once);
                if has_dedicated_sram && n_stages > MAX_STAGES {
                    assert_eq!(longest, Some(MAX_STAGES));
                }
            }
        }
    }
}
