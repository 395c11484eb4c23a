//! 90 % intervals by split conformal prediction (Vovk et al. 2005; Lei et al. 2018). Errors on the validation graphs,
//! which stopped the training, set the widths; the held-out graphs measure the coverage. Errors on left-out design
//! spaces also set widths, if they are known, because few validation graphs are far from the training graphs.

use litecast::learned::intervals::{Band, Interval, Landmarks, N_SUMMARY, mean_square};
use litecast_trainer::dataset::LabelKey;
use litecast_trainer::metrics::conformal_quantile;

use crate::training_data::Part;

/// Large enough that every family has several landmarks, and small enough for the size of the manifest.
const N_LANDMARKS: usize = 192;

/// Minimum number of graphs of one distance band; their 90 % quantile varies by about 2 %.
const MIN_BAND_GRAPHS: usize = 150;

/// An output with fewer graphs has no interval, because they do not determine a 90 % quantile.
const MIN_GRAPHS: usize = 20;

/// Maximum number of bands.
const MAX_BANDS: usize = 5;

/// Chooses training graphs one after the other, each the farthest from the graphs chosen before it.
pub fn landmarks(training: &Part) -> Landmarks {
    let summaries = &training.summaries;
    let n = summaries.len().max(1) as f32;
    let mean_of = |column: usize| summaries.iter().map(|s| s[column]).sum::<f32>() / n;
    let mean: Vec<f32> = (0..N_SUMMARY).map(mean_of).collect();
    let std_of = |column: usize| {
        let squares = summaries.iter().map(|s| (s[column] - mean[column]).powi(2));
        (squares.sum::<f32>() / n).sqrt()
    };
    let std = (0..N_SUMMARY).map(std_of).collect();
    let mut landmarks = Landmarks {
        mean,
        std,
        graphs: Vec::new(),
    };
    let steps: Vec<Vec<i16>> = summaries.iter().map(|s| landmarks.steps(s)).collect();
    let mut nearest = vec![f32::INFINITY; steps.len()];
    while landmarks.graphs.len() < N_LANDMARKS.min(steps.len()) {
        let farthest = (0..steps.len()).max_by(|&a, &b| nearest[a].total_cmp(&nearest[b]));
        let Some(chosen) = farthest else { break };
        for (nearest, other) in nearest.iter_mut().zip(&steps) {
            *nearest = nearest.min(mean_square(&steps[chosen], other));
        }
        landmarks.graphs.push(steps[chosen].clone());
    }
    landmarks
}

/// Errors of the estimates of one graph.
#[derive(Clone, Debug, PartialEq)]
pub struct GraphErrors {
    /// Design space of the graph.
    pub space: String,
    /// Distance to the training graphs.
    pub distance: f32,
    /// By output, the absolute difference of the logarithms of estimate and label; NaN without label.
    pub log_errors: Vec<f32>,
}

impl GraphErrors {
    /// Errors of each graph of a part, from estimates by graph, then by output.
    pub fn from_part(
        landmarks: &Landmarks,
        part: &Part,
        estimates: &[Vec<f32>],
        spaces: &[String],
    ) -> Vec<Self> {
        let log_error = |(label, estimate): (&f32, &f32)| (label / estimate).ln().abs();
        let graph = |(idx, estimates): (usize, &Vec<f32>)| Self {
            space: spaces[part.space_of[idx]].clone(),
            distance: landmarks.distance(&part.summaries[idx]),
            log_errors: (part.examples[idx].labels.iter().zip(estimates))
                .map(log_error)
                .collect(),
        };
        estimates.iter().enumerate().map(graph).collect()
    }
}

/// Sets an interval for each output on some graphs and measures its coverage on others.
pub fn intervals(
    outputs: &[LabelKey],
    calibration: &[&GraphErrors],
    measured: &[GraphErrors],
) -> Vec<Interval> {
    let measured: Vec<&GraphErrors> = measured.iter().collect();
    let interval = |(output, key): (usize, &LabelKey)| {
        let mut interval = Interval {
            target: key.target.clone(),
            metric: key.metric.clone(),
            bands: bands(output_errors(calibration, output)),
            coverage_percent: 0.0,
            n: 0,
        };
        let errors = output_errors(&measured, output);
        interval.n = errors.len();
        interval.coverage_percent = coverage_percent(&interval, &errors);
        interval
    };
    outputs.iter().enumerate().map(interval).collect()
}

/// Errors of the graphs that have a label for an output.
fn output_errors(graphs: &[&GraphErrors], output: usize) -> Vec<Error> {
    let errors = graphs.iter().map(|graph| Error {
        distance: graph.distance,
        log_error: graph.log_errors[output],
    });
    errors.filter(|error| !error.log_error.is_nan()).collect()
}

/// Share of errors inside an interval, in percent.
fn coverage_percent(interval: &Interval, errors: &[Error]) -> f64 {
    let is_inside = |error: &&Error| {
        let ends = interval.around(1.0, error.distance);
        ends.is_some_and(|(_, high)| f64::from(error.log_error) <= high.ln())
    };
    let inside = errors.iter().filter(is_inside).count();
    100.0 * inside as f64 / errors.len().max(1) as f64
}

/// The error of one estimate, and the distance of its graph to the training graphs.
#[derive(Clone, Copy, Debug)]
struct Error {
    distance: f32,
    /// Absolute difference of the logarithms.
    log_error: f32,
}

/// Bands of equally many graphs by distance, each with the width for its own graphs. Neighbouring bands whose width
/// would decrease with the distance are merged. Empty with fewer than [`MIN_GRAPHS`].
fn bands(mut errors: Vec<Error>) -> Vec<Band> {
    if errors.len() < MIN_GRAPHS {
        return Vec::new();
    }
    errors.sort_by(|a, b| a.distance.total_cmp(&b.distance));
    let n_bands = (errors.len() / MIN_BAND_GRAPHS).clamp(1, MAX_BANDS);
    let size = errors.len().div_ceil(n_bands).max(1);
    let mut groups: Vec<Vec<Error>> = Vec::new();
    for mut group in errors.chunks(size).map(<[Error]>::to_vec) {
        while let Some(before) =
            groups.pop_if(|before| log_half_width(before) >= log_half_width(&group))
        {
            group = [before, group].concat();
        }
        groups.push(group);
    }
    let band = |group: &Vec<Error>| Band {
        max_distance: group.last().map_or(0.0, |error| error.distance),
        log_half_width: log_half_width(group),
    };
    groups.iter().map(band).collect()
}

fn log_half_width(errors: &[Error]) -> f32 {
    let errors = errors.iter().map(|error| f64::from(error.log_error));
    conformal_quantile(errors).unwrap_or(0.0) as f32
}

#[cfg(test)]
mod tests {
    use rand::{Rng, SeedableRng};
    use rand_chacha::ChaCha8Rng;
    use rand_distr::{Distribution, Normal};

    use super::*;

    /// Errors that grow with the distance.
    fn errors(n: usize, rng: &mut ChaCha8Rng) -> Vec<Error> {
        let normal = Normal::new(0.0f32, 1.0).unwrap();
        let mut error = || {
            let distance = rng.random_range(0.1..2.0f32);
            let log_error = (normal.sample(rng) * distance * 0.1).abs();
            Error {
                distance,
                log_error,
            }
        };
        (0..n).map(|_| error()).collect()
    }

    #[test]
    fn intervals_hold_nine_tenths_near_and_far() {
        let mut rng = ChaCha8Rng::seed_from_u64(5);
        let interval = Interval {
            target: "t".into(),
            metric: "m".into(),
            bands: bands(errors(2000, &mut rng)),
            coverage_percent: 0.0,
            n: 0,
        };
        assert!(interval.bands.len() > 1);
        let fresh = errors(20_000, &mut rng);
        let half = |near: bool| -> Vec<Error> {
            let here = |error: &&Error| (error.distance < 1.0) == near;
            fresh.iter().filter(here).copied().collect()
        };
        for (name, errors) in [
            ("near", half(true)),
            ("far", half(false)),
            ("all", fresh.clone()),
        ] {
            let coverage = coverage_percent(&interval, &errors);
            println!("{name}: {coverage:.1} % of {} inside", errors.len());
            assert!((86.0..94.0).contains(&coverage));
        }
    }

    #[test]
    fn few_graphs_give_no_interval() {
        let mut rng = ChaCha8Rng::seed_from_u64(6);
        let mut errors = errors(MIN_GRAPHS, &mut rng);
        assert_eq!(bands(errors.clone()).len(), 1);
        errors.pop();
        let interval = Interval {
            target: "t".into(),
            metric: "m".into(),
            bands: bands(errors),
            coverage_percent: 0.0,
            n: 0,
        };
        assert_eq!(interval.around(1.0, 0.0), None);
    }
}
