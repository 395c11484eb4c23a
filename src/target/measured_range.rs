//! The range of latencies that constants were fitted to, and how far another latency is outside of it.

use serde::{Deserialize, Serialize};

/// The shortest and the longest latency that a target's constants were fitted to.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct MeasuredRange {
    pub shortest_ms: f64,
    pub longest_ms: f64,
}

/// How far a latency is outside of a [`MeasuredRange`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Beyond {
    /// Ratio to the longest latency, or of the shortest latency to it; above 1.
    pub factor: f64,
    pub is_longer: bool,
}

/// From this factor outside of the range on, a report warns of the latency, and states no expected error.
pub const MIN_REPORTED_FACTOR: f64 = 2.0;

/// The least factor by which both ends of an interval move away for each factor of ten beyond the measured range.
const MIN_GROWTH: f64 = 1.25;

/// The largest such factor. An interval that is wider than this within the range is wide because the cost of an operator
/// is unknown, and that is no more unknown in large networks.
const MAX_GROWTH: f64 = 3.0;

impl MeasuredRange {
    /// The range of `latencies_ms`; `None` if there are none.
    pub fn from_latencies(latencies_ms: impl IntoIterator<Item = f64>) -> Option<Self> {
        let widened = |range: Option<Self>, ms: f64| {
            Some(range.map_or(
                Self {
                    shortest_ms: ms,
                    longest_ms: ms,
                },
                |range| Self {
                    shortest_ms: range.shortest_ms.min(ms),
                    longest_ms: range.longest_ms.max(ms),
                },
            ))
        };
        latencies_ms.into_iter().fold(None, widened)
    }

    /// The smallest range that contains both.
    pub fn with(self, other: Self) -> Self {
        Self {
            shortest_ms: self.shortest_ms.min(other.shortest_ms),
            longest_ms: self.longest_ms.max(other.longest_ms),
        }
    }

    /// The range of latencies that are `factor` times as long.
    pub fn scaled(self, factor: f64) -> Self {
        Self {
            shortest_ms: self.shortest_ms * factor,
            longest_ms: self.longest_ms * factor,
        }
    }

    /// How far `latency_ms` is outside of the range; `None` if it is inside.
    pub fn beyond(&self, latency_ms: f64) -> Option<Beyond> {
        let longer = latency_ms / self.longest_ms;
        let shorter = self.shortest_ms / latency_ms;
        let factor = longer.max(shorter);
        (factor > 1.0 && factor.is_finite()).then_some(Beyond {
            factor,
            is_longer: longer > shorter,
        })
    }
}

impl Beyond {
    /// How far an interval's end lies from the estimate, as a factor, where it lies `inside` within what was measured:
    /// each factor of ten beyond adds as much as the interval has inside, but between [`MIN_GROWTH`] and [`MAX_GROWTH`].
    /// Nothing was measured there, so that no figure is fitted.
    pub fn grown_interval_factor(&self, inside: f64) -> f64 {
        let decades = self.factor.log10();
        let grown = inside * inside.clamp(1.0 / MAX_GROWTH, MAX_GROWTH).powf(decades);
        if inside < 1.0 {
            grown.min(MIN_GROWTH.powf(-decades))
        } else if inside > 1.0 {
            grown.max(MIN_GROWTH.powf(decades))
        } else {
            inside
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RANGE: MeasuredRange = MeasuredRange {
        shortest_ms: 2.0,
        longest_ms: 50.0,
    };

    #[test]
    fn ranges_hold_all_latencies() {
        assert_eq!(
            MeasuredRange::from_latencies([7.0, 2.0, 50.0, 3.0]),
            Some(RANGE)
        );
        assert_eq!(MeasuredRange::from_latencies([]), None);
        let [one, other] =
            [[2.0, 7.0], [3.0, 50.0]].map(|ms| MeasuredRange::from_latencies(ms).unwrap());
        assert_eq!(one.with(other), RANGE);
        assert_eq!(RANGE.scaled(2.0).longest_ms, 100.0);
    }

    /// By hand: a tenth of the shortest, and a hundred times the longest.
    #[test]
    fn intervals_grow_with_the_decades_beyond() {
        assert_eq!(RANGE.beyond(2.0), None);
        assert_eq!(RANGE.beyond(50.0), None);
        let [shorter, longer] = [0.2, 5000.0].map(|ms| RANGE.beyond(ms).unwrap());
        assert!(!shorter.is_longer && longer.is_longer);
        for (beyond, inside, expected) in [
            (shorter, 0.5, 0.25),
            (longer, 2.0, 8.0),
            (longer, 1.01, 1.5625),
            (longer, 0.99, 0.64),
            (shorter, 40.0, 120.0),
            (longer, 0.1, 0.1 / 9.0),
        ] {
            let grown = beyond.grown_interval_factor(inside);
            assert!((grown - expected).abs() < 1e-12, "{inside}: {grown}");
        }
    }
}
