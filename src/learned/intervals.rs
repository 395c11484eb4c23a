//! The distance of a graph to the training graphs of a predictor, and the interval width at that distance.

use serde::{Deserialize, Serialize};

use crate::learned::features::{Features, N_COLUMNS};

/// Length of a [`summary`].
pub const N_SUMMARY: usize = N_COLUMNS + 1;

/// A graph as one row: the mean of each feature column over its nodes, then ln(1 + nodes). Zeros
/// for a graph without nodes.
pub fn summary(features: &Features) -> Vec<f32> {
    let n_nodes = features.n_nodes();
    let mut summary = vec![0.0; N_SUMMARY];
    for row in features.nodes.chunks_exact(N_COLUMNS) {
        let sums = summary.iter_mut().zip(row);
        sums.for_each(|(sum, value)| *sum += value / n_nodes as f32);
    }
    summary[N_COLUMNS] = (n_nodes as f32).ln_1p();
    summary
}

/// A selection of training graphs that covers the training set.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Landmarks {
    /// Mean of the summaries of all training graphs, by column.
    pub mean: Vec<f32>,
    /// Standard deviation of the summaries, by column; 0 for a column that does not vary.
    pub std: Vec<f32>,
    /// Summaries of the landmarks in [`Self::STEP`]s of the deviation from the mean.
    pub graphs: Vec<Vec<i16>>,
}

impl Landmarks {
    /// Size of one step in standard deviations: fine enough to tell graphs apart, and coarse enough to be stored in few
    /// digits.
    pub const STEP: f32 = 1.0 / 32.0;

    /// A summary in the landmarks' units; 0 for a column that does not vary.
    pub fn steps(&self, summary: &[f32]) -> Vec<i16> {
        let columns = summary.iter().zip(&self.mean).zip(&self.std);
        let steps = |((value, mean), &std): ((&f32, &f32), &f32)| {
            if std > 0.0 {
                ((value - mean) / std / Self::STEP).round() as i16
            } else {
                0
            }
        };
        columns.map(steps).collect()
    }

    /// Root mean square deviation between a summary and its nearest landmark; infinite if there are no landmarks.
    /// Linear in landmarks.
    pub fn distance(&self, summary: &[f32]) -> f32 {
        let steps = self.steps(summary);
        let nearest = self.graphs.iter().map(|other| mean_square(&steps, other));
        nearest.fold(f32::INFINITY, f32::min).sqrt() * Self::STEP
    }
}

/// Mean square of the differences, in squared steps.
pub fn mean_square(one: &[i16], other: &[i16]) -> f32 {
    let square = |(a, b): (&i16, &i16)| (f32::from(*a) - f32::from(*b)).powi(2);
    let sum: f32 = one.iter().zip(other).map(square).sum();
    sum / one.len().max(1) as f32
}

/// The width of one output's interval, by distance from the training set.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    pub target: String,
    pub metric: String,
    /// Ascending in both fields; empty if there were too few graphs for calibration.
    pub bands: Vec<Band>,
    /// Share of graphs, held out of training and calibration, whose label lies inside their interval, in percent.
    pub coverage_percent: f64,
    /// Number of graphs for which the coverage was measured.
    pub n: usize,
}

/// Share of labels that an interval is made to hold.
pub const COVERAGE: f64 = 0.9;

/// The interval for distances up to a limit.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Band {
    pub max_distance: f32,
    /// Half width in logarithms: the interval is the estimate divided by and multiplied with e to the power of this.
    pub log_half_width: f32,
}

impl Interval {
    /// Lower and upper end of the interval around `estimate`. Beyond the last band, the width grows with the distance.
    pub fn around(&self, estimate: f64, distance: f32) -> Option<(f64, f64)> {
        let last = self.bands.last()?;
        let band = self.bands.iter().find(|band| distance <= band.max_distance);
        let beyond = distance / last.max_distance.max(f32::MIN_POSITIVE);
        let half_width = match band {
            Some(band) => band.log_half_width,
            None => last.log_half_width * beyond,
        };
        let factor = f64::from(half_width).exp();
        (factor.is_finite()).then(|| (estimate / factor, estimate * factor))
    }

    /// The largest distance from the training set for which the interval was calibrated.
    pub fn max_distance(&self) -> f32 {
        self.bands.last().map_or(0.0, |band| band.max_distance)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn landmarks() -> Landmarks {
        let mut landmarks = Landmarks {
            mean: vec![0.0; N_SUMMARY],
            std: vec![1.0; N_SUMMARY],
            graphs: vec![],
        };
        landmarks.std[3] = 0.0;
        let at = |value: f32| vec![value; N_SUMMARY];
        landmarks.graphs = vec![landmarks.steps(&at(1.0)), landmarks.steps(&at(-2.0))];
        landmarks
    }

    #[test]
    fn distances_are_those_to_the_nearest_landmark() {
        let landmarks = landmarks();
        let varying = ((N_SUMMARY - 1) as f32 / N_SUMMARY as f32).sqrt();
        for (value, expected) in [(1.0, 0.0), (1.5, 0.5), (-3.0, 1.0), (-0.5, 1.5)] {
            let actual = landmarks.distance(&[value; N_SUMMARY]);
            println!("{value}: {actual}, expected {expected}");
            assert!((actual - expected * varying).abs() < 1e-5);
        }
        assert_eq!(
            Landmarks::default().distance(&[0.0; N_SUMMARY]),
            f32::INFINITY
        );
    }

    #[test]
    fn intervals_grow_with_the_distance() {
        let band = |max_distance, log_half_width| Band {
            max_distance,
            log_half_width,
        };
        let interval = Interval {
            target: "t".into(),
            metric: "m".into(),
            bands: vec![band(0.5, 0.1), band(2.0, 0.3)],
            coverage_percent: 90.0,
            n: 100,
        };
        let width = |distance| {
            let (low, high) = interval.around(7.0, distance).unwrap();
            assert!((low * high - 49.0).abs() < 1e-9);
            (high / 7.0).ln()
        };
        for (distance, expected) in [(0.0, 0.1), (0.5, 0.1), (0.6, 0.3), (2.0, 0.3), (6.0, 0.9)] {
            assert!((width(distance) - expected).abs() < 1e-6);
        }
        assert_eq!(interval.around(7.0, f32::INFINITY), None);
    }
}
