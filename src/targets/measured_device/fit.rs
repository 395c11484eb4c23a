//! Measurements → a factor for each class of kernels, the time of a call and of an inference.
//!
//! A measurement is expected to take the sum over its operators of their cost on the base target times the factor of
//! their class, and the times of its calls and inferences. All of these are logarithms with a normal prior, so that few
//! measurements move what they tell and leave the rest: one network moves the common scale, its operators the factors.
//! The mode is found by damped Gauss-Newton steps, and the covariance is that of the last linear problem.

use serde::{Deserialize, Serialize};

use super::classes::{Class, N_CLASSES};
use super::prior::{Matrix, N_PARAMETERS, Parameters, Prior};

const CALL: usize = N_CLASSES + 1;
const INFERENCE: usize = N_CLASSES + 2;

/// Standard deviation of the logarithm of the time of a network's operators of one class around the expected one: kernels
/// of a class are not equally fast on all shapes.
const OPERATORS_DEVIATION: f64 = 0.3;
/// Operators with a twentieth of the time count fully, and others less.
const FULL_SHARE: f64 = 20.0;
const MIN_WEIGHT: f64 = 0.05;
/// Of a whole network.
const NETWORK_DEVIATION: f64 = 0.15;
/// Durations of single operators are printed in whole microseconds by some tools.
const RESOLUTION_MS: f64 = 5e-4;

/// Share of the prior's variance of a class below which measurements tell its factor.
const MAX_TOLD_VARIANCE: f64 = 0.7;

/// The prior's variance of a class where that is smaller: a class that it knows so well needs no measurement of its own beside
/// the common scale.
const KNOWN_VARIANCE: f64 = 0.036;

const MAX_STEPS: usize = 50;

/// What is expected of a measurement.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Expected {
    /// Milliseconds on the base target, by class.
    pub base_ms: [f64; N_CLASSES],
    pub n_calls: f64,
    pub n_inferences: f64,
}

/// A measurement with its weight.
#[derive(Clone, Copy, Debug)]
pub struct Measured {
    pub expected: Expected,
    pub measured_ms: f64,
    pub deviation: f64,
}

/// The mode and the covariance of the parameters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Fit {
    /// Logarithms: the common scale, for each class its factor beside that (in the order of the classes), milliseconds of a call
    /// and of an inference.
    pub parameters: Vec<f64>,
    /// Row after row.
    pub covariance: Vec<f64>,
}

impl Measured {
    /// The operators of a network that are of the same classes, with their share of its time. Their sum counts and not each
    /// of them: sums are what is estimated, and a network has many equal ones.
    pub fn operators(expected: Expected, measured_ms: f64, share: f64) -> Self {
        let of_resolution = RESOLUTION_MS * expected.n_calls / measured_ms;
        // What takes little of the time tells little about networks.
        let weight = (share * FULL_SHARE).clamp(MIN_WEIGHT, 1.0);
        Self {
            expected,
            measured_ms,
            deviation: OPERATORS_DEVIATION.hypot(of_resolution) / weight.sqrt(),
        }
    }

    pub fn network(expected: Expected, measured_ms: f64) -> Self {
        Self {
            expected,
            measured_ms,
            deviation: NETWORK_DEVIATION,
        }
    }
}

impl Expected {
    /// Logarithm of the expected milliseconds, and its derivatives; `None` where nothing is expected.
    fn ln_ms(&self, parameters: &Parameters) -> Option<(f64, Parameters)> {
        let mut sum = 0.0;
        let mut derivatives = [0.0; N_PARAMETERS];
        for (class, base_ms) in self.base_ms.iter().enumerate() {
            let part = base_ms * (parameters[0] + parameters[class + 1]).exp();
            derivatives[0] += part;
            derivatives[class + 1] = part;
            sum += part;
        }
        for (idx, n) in [(CALL, self.n_calls), (INFERENCE, self.n_inferences)] {
            derivatives[idx] = n * parameters[idx].exp();
            sum += derivatives[idx];
        }
        if !(sum > 0.0 && sum.is_finite()) {
            return None;
        }
        derivatives.iter_mut().for_each(|one| *one /= sum);
        Some((sum.ln(), derivatives))
    }
}

impl Fit {
    /// Linear in measurements.
    pub fn new(measured: &[Measured], prior: &Prior) -> Self {
        let mut parameters = prior.means;
        let precision = inverse(&prior.covariance);
        let mut cost = cost_of(&parameters, measured, &prior.means, &precision);
        let mut damping = 1e-3;
        let mut last = precision;
        for _ in 0..MAX_STEPS {
            let (matrix, gradient) = normal_matrix(&parameters, measured, &prior.means, &precision);
            last = matrix;
            let mut damped = matrix;
            for (idx, row) in damped.iter_mut().enumerate() {
                row[idx] *= 1.0 + damping;
            }
            let step = solve(&factor(&damped), &gradient);
            let mut next = parameters;
            for idx in 0..N_PARAMETERS {
                next[idx] += step[idx];
            }
            let next_cost = cost_of(&next, measured, &prior.means, &precision);
            if next_cost < cost {
                let is_done = cost - next_cost < 1e-9 * cost.max(1.0);
                (parameters, cost) = (next, next_cost);
                damping = (damping * 0.3).max(1e-9);
                if is_done {
                    break;
                }
            } else {
                damping *= 10.0;
                if damping > 1e9 {
                    break;
                }
            }
        }
        Self {
            parameters: parameters.to_vec(),
            covariance: inverse(&last).as_flattened().to_vec(),
        }
    }

    /// Number of classes of a document's version.
    fn n_classes_of(version: f64) -> usize {
        let n_later = match version {
            1.0 => 3,
            2.0 => 2,
            _ => 0,
        };
        N_CLASSES - n_later
    }

    /// Length of the list of parameters in a document's version.
    pub fn n_parameters_of(version: f64) -> usize {
        Self::n_classes_of(version) + N_PARAMETERS - N_CLASSES
    }

    /// The fit of a document of an older version, in which some classes were parts of others; those of this version as they
    /// are.
    pub fn of_version(self, version: f64) -> Self {
        let (n_classes, n) = (Self::n_classes_of(version), Self::n_parameters_of(version));
        if n == N_PARAMETERS || self.parameters.len() != n || self.covariance.len() != n * n {
            return self;
        }
        let before = |idx: usize| match idx {
            0 => 0,
            1..=N_CLASSES => 1 + class_before(idx - 1, n_classes),
            idx => idx - (N_CLASSES - n_classes),
        };
        let (mut parameters, mut covariance) = (Vec::new(), Vec::new());
        for row in 0..N_PARAMETERS {
            parameters.push(self.parameters[before(row)]);
            for column in 0..N_PARAMETERS {
                covariance.push(self.covariance[before(row) * n + before(column)]);
            }
        }
        Self {
            parameters,
            covariance,
        }
    }

    /// Whether the lists have the lengths that a fit has, and finite numbers.
    pub fn is_whole(&self) -> bool {
        let numbers = self.parameters.iter().chain(&self.covariance);
        self.parameters.len() == N_PARAMETERS
            && self.covariance.len() == N_PARAMETERS * N_PARAMETERS
            && numbers.into_iter().all(|number| number.abs() < 100.0)
    }

    fn parameters(&self) -> Parameters {
        let mut parameters = [0.0; N_PARAMETERS];
        parameters
            .iter_mut()
            .zip(&self.parameters)
            .for_each(|(to, from)| *to = *from);
        parameters
    }

    /// Squared errors and squared deviations from the prior, in units of their variances.
    pub fn misfit(&self, measured: &[Measured], prior: &Prior) -> f64 {
        let precision = inverse(&prior.covariance);
        cost_of(&self.parameters(), measured, &prior.means, &precision)
    }

    /// Factor of a class on the cost of the base.
    pub fn factor(&self, class_idx: usize) -> f64 {
        let parameters = self.parameters();
        (parameters[0] + parameters[class_idx + 1]).exp()
    }

    /// Milliseconds of a call, and of an inference beside its calls.
    pub fn overheads_ms(&self) -> [f64; 2] {
        let parameters = self.parameters();
        [CALL, INFERENCE].map(|idx| parameters[idx].exp())
    }

    /// Whether measurements tell the factor of a class: its logarithm is surer than the prior has it on a device whose common
    /// scale is known.
    pub fn is_constrained(&self, class_idx: usize, prior: &Prior) -> bool {
        let idx = class_idx + 1;
        let covariance = |row: usize, column: usize| {
            let at = self.covariance.get(row * N_PARAMETERS + column);
            at.copied().unwrap_or(f64::MAX)
        };
        let variance = covariance(0, 0) + 2.0 * covariance(0, idx) + covariance(idx, idx);
        variance < MAX_TOLD_VARIANCE * prior.variance_beside_scale(idx).max(KNOWN_VARIANCE)
    }

    /// Milliseconds of a network, and the variance of their logarithm by the doubt about the parameters; `None` where
    /// nothing is expected.
    pub fn estimate(&self, expected: &Expected) -> Option<(f64, f64)> {
        let (ln_ms, derivatives) = expected.ln_ms(&self.parameters())?;
        let mut variance = 0.0;
        for (row, one) in self.covariance.chunks(N_PARAMETERS).zip(&derivatives) {
            variance += one
                * row
                    .iter()
                    .zip(&derivatives)
                    .map(|(a, b)| a * b)
                    .sum::<f64>();
        }
        let ms = ln_ms.exp();
        ms.is_finite().then_some((ms, variance.max(0.0)))
    }
}

/// A network that is not measured yet: what is expected of it, as a whole and by class.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    whole: Expected,
    classes: Vec<Expected>,
}

impl Plan {
    /// Of the milliseconds on the base and the calls of kernels of each class, in the order of [`Class::ALL`](super::Class::ALL).
    pub fn new(by_class: &[(f64, f64)]) -> Self {
        let mut whole = Expected {
            n_inferences: 1.0,
            ..Expected::default()
        };
        let mut classes = Vec::new();
        for (idx, &(base_ms, n_calls)) in by_class.iter().enumerate().take(N_CLASSES) {
            whole.base_ms[idx] = base_ms;
            whole.n_calls += n_calls;
            let mut of_class = Expected {
                n_calls,
                ..Expected::default()
            };
            of_class.base_ms[idx] = base_ms;
            if n_calls > 0.0 {
                classes.push(of_class);
            }
        }
        Self { whole, classes }
    }

    pub fn whole(&self) -> &Expected {
        &self.whole
    }
}

impl Fit {
    /// With the doubt that is left once the network has been measured, whatever the result. Parameters stay.
    pub fn with_expected_measurement(&self, plan: &Plan, with_operators: bool) -> Self {
        let mut after = self.clone();
        let Some((whole_ms, _)) = self.estimate(&plan.whole) else {
            return after;
        };
        after.update(&plan.whole, NETWORK_DEVIATION);
        for of_class in plan.classes.iter().filter(|_| with_operators) {
            if let Some((ms, _)) = self.estimate(of_class) {
                let measured = Measured::operators(*of_class, ms, ms / whole_ms);
                after.update(of_class, measured.deviation);
            }
        }
        after
    }

    /// The covariance after one more measurement, by the formula for a matrix of rank one.
    fn update(&mut self, expected: &Expected, deviation: f64) {
        let Some((_, derivatives)) = expected.ln_ms(&self.parameters()) else {
            return;
        };
        let gain: Vec<f64> = self
            .covariance
            .chunks(N_PARAMETERS)
            .map(|row| row.iter().zip(&derivatives).map(|(a, b)| a * b).sum())
            .collect();
        let variance: f64 = gain.iter().zip(&derivatives).map(|(a, b)| a * b).sum();
        let scale = 1.0 / (variance + deviation * deviation);
        for (row, one) in self.covariance.chunks_mut(N_PARAMETERS).zip(&gain) {
            for (value, other) in row.iter_mut().zip(&gain) {
                *value -= one * other * scale;
            }
        }
    }
}

/// Position of a class where there were as many classes: a later one is what the class was that it was part of.
fn class_before(class_idx: usize, n_classes: usize) -> usize {
    let mut before = class_idx;
    for (class, part_of) in Class::LATER.iter().rev() {
        if before >= n_classes && before == class.idx() {
            before = part_of.idx();
        }
    }
    before
}

/// Standard deviation of the logarithm of a network's latency around its estimate, from the errors of networks that were
/// left out and from the expected one, which weighs as `prior_networks`; and the factor of a 90 % interval on it, which is larger for
/// few networks.
pub fn spread(left_out: &[f64], expected: f64, prior_networks: f64) -> (f64, f64) {
    let squares: f64 = left_out.iter().map(|error| error * error).sum();
    let n = left_out.len() as f64 + prior_networks;
    let spread = ((squares + prior_networks * expected.powi(2)) / n).sqrt();
    // Student's t at 95 % by its expansion around the normal quantile.
    let z = 1.645_f64;
    (
        spread,
        z + (z.powi(3) + z) / (4.0 * n)
            + (5.0 * z.powi(5) + 16.0 * z.powi(3) + 3.0 * z) / (96.0 * n * n),
    )
}

/// Mean absolute error in percent, from logarithms of measured latencies over estimated ones.
pub fn left_out_percent(left_out: &[f64]) -> Option<f64> {
    let mut sum = 0.0;
    for error in left_out {
        sum += 100.0 * ((-error).exp() - 1.0).abs();
    }
    (!left_out.is_empty()).then(|| sum / left_out.len() as f64)
}

fn cost_of(
    parameters: &Parameters,
    measured: &[Measured],
    means: &Parameters,
    precision: &Matrix,
) -> f64 {
    let differences = std::array::from_fn(|idx| parameters[idx] - means[idx]);
    let of_prior = dot(&differences, &product(precision, &differences));
    let errors = measured.iter().filter_map(|one| {
        let (ln_ms, _) = one.expected.ln_ms(parameters)?;
        Some(loss((one.measured_ms.ln() - ln_ms) / one.deviation).0)
    });
    of_prior + errors.sum::<f64>()
}

/// Errors beyond three deviations count linearly: a kernel that is off by a factor of ten tells nothing of others. With the
/// weight of the error in a step.
fn loss(error: f64) -> (f64, f64) {
    const LINEAR: f64 = 3.0;
    match error.abs() {
        size if size <= LINEAR => (size * size, 1.0),
        size => (LINEAR * (2.0 * size - LINEAR), LINEAR / size),
    }
}

/// The matrix of a Gauss-Newton step, and its right side.
fn normal_matrix(
    parameters: &Parameters,
    measured: &[Measured],
    means: &Parameters,
    precision: &Matrix,
) -> (Matrix, Parameters) {
    let mut matrix = *precision;
    let differences = std::array::from_fn(|idx| means[idx] - parameters[idx]);
    let mut gradient = product(precision, &differences);
    for one in measured {
        let Some((ln_ms, derivatives)) = one.expected.ln_ms(parameters) else {
            continue;
        };
        let error = one.measured_ms.ln() - ln_ms;
        let weight = loss(error / one.deviation).1 * one.deviation.powi(-2);
        for row in 0..N_PARAMETERS {
            let scaled = weight * derivatives[row];
            if scaled == 0.0 {
                continue;
            }
            gradient[row] += scaled * error;
            for column in 0..N_PARAMETERS {
                matrix[row][column] += scaled * derivatives[column];
            }
        }
    }
    (matrix, gradient)
}

fn dot(a: &Parameters, b: &Parameters) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn product(matrix: &Matrix, vector: &Parameters) -> Parameters {
    std::array::from_fn(|row| dot(&matrix[row], vector))
}

/// Of a positive definite matrix.
fn inverse(matrix: &Matrix) -> Matrix {
    let lower = factor(matrix);
    std::array::from_fn(|row| {
        let unit = std::array::from_fn(|idx| f64::from(u8::from(idx == row)));
        solve(&lower, &unit)
    })
}

/// Lower triangle whose product with its transpose is the matrix, which is positive definite by the prior.
fn factor(matrix: &Matrix) -> Matrix {
    let mut lower = [[0.0; N_PARAMETERS]; N_PARAMETERS];
    for row in 0..N_PARAMETERS {
        for column in 0..=row {
            let dot: f64 = (0..column).map(|k| lower[row][k] * lower[column][k]).sum();
            let rest = matrix[row][column] - dot;
            lower[row][column] = if row == column {
                rest.max(1e-12).sqrt()
            } else {
                rest / lower[column][column]
            };
        }
    }
    lower
}

fn solve(lower: &Matrix, right: &Parameters) -> Parameters {
    let mut solution = *right;
    for row in 0..N_PARAMETERS {
        let dot: f64 = (0..row).map(|k| lower[row][k] * solution[k]).sum();
        solution[row] = (solution[row] - dot) / lower[row][row];
    }
    for row in (0..N_PARAMETERS).rev() {
        let dot: f64 = (row + 1..N_PARAMETERS)
            .map(|k| lower[k][row] * solution[k])
            .sum();
        solution[row] = (solution[row] - dot) / lower[row][row];
    }
    solution
}

#[cfg(test)]
mod tests {
    use super::super::prior::ANY_RUNTIME;
    use super::*;

    fn expected(class: usize, base_ms: f64) -> Expected {
        let mut expected = Expected {
            n_calls: 1.0,
            ..Expected::default()
        };
        expected.base_ms[class] = base_ms;
        expected
    }

    /// Operators of two classes, one three times and one half as slow as on the base.
    #[test]
    fn factors_of_classes_are_found() {
        let operators = |class: usize, factor: f64| {
            (1..30).map(move |n| {
                let base_ms = f64::from(n) * 0.2;
                Measured::operators(expected(class, base_ms), base_ms * factor, 0.05)
            })
        };
        let measured: Vec<Measured> = operators(0, 3.0).chain(operators(3, 0.5)).collect();
        let fit = Fit::new(&measured, &ANY_RUNTIME);
        println!("{:?}", fit.parameters);
        assert!((fit.factor(0) / 3.0).ln().abs() < 0.03);
        assert!((fit.factor(3) / 0.5).ln().abs() < 0.03);
        assert!(
            [0, 2, 3].map(|class| fit.is_constrained(class, &ANY_RUNTIME)) == [true, false, true]
        );
        assert!(fit.is_whole());
    }

    /// A single network tells the scale: all classes keep their ratio.
    #[test]
    fn one_network_tells_a_scale() {
        let mut network = expected(0, 8.0);
        network.base_ms[4] = 2.0;
        let fit = Fit::new(&[Measured::network(network, 40.0)], &ANY_RUNTIME);
        let (ms, variance) = fit.estimate(&network).unwrap();
        println!("{ms} {variance} {:?}", fit.parameters);
        assert!((ms / 40.0).ln().abs() < 0.02, "{ms}");
        assert!((fit.factor(1) / 4.0).ln().abs() < 0.1);
        let (_, of_others) = fit.estimate(&expected(7, 10.0)).unwrap();
        assert!(of_others > 4.0 * variance, "{of_others} {variance}");
    }

    /// The doubt after a measurement is that of a fit with it, whose result was as expected.
    #[test]
    fn what_a_measurement_tells_is_known_before() {
        let mut by_class = vec![(0.0, 0.0); N_CLASSES];
        by_class[0] = (8.0, 4.0);
        by_class[4] = (2.0, 6.0);
        let plan = Plan::new(&by_class);
        let mut first = expected(0, 10.0);
        first.n_inferences = 1.0;
        let known = [Measured::network(first, 12.0)];
        let before = Fit::new(&known, &ANY_RUNTIME);
        for with_operators in [false, true] {
            let (whole_ms, _) = before.estimate(plan.whole()).unwrap();
            let mut measured = known.to_vec();
            measured.push(Measured::network(*plan.whole(), whole_ms));
            for of_class in plan.classes.iter().filter(|_| with_operators) {
                let (ms, _) = before.estimate(of_class).unwrap();
                measured.push(Measured::operators(*of_class, ms, ms / whole_ms));
            }
            let expected = Fit::new(&measured, &ANY_RUNTIME);
            let actual = before.with_expected_measurement(&plan, with_operators);
            for (actual, expected) in actual.covariance.iter().zip(&expected.covariance) {
                assert!(
                    (actual - expected).abs() < 0.02,
                    "{actual}, expected {expected}"
                );
            }
            let [before, after] =
                [&before, &actual].map(|fit| fit.estimate(plan.whole()).unwrap().1);
            println!("{before} to {after}");
            assert!(after < 0.5 * before);
        }
    }

    /// Of three versions of one fit: the class that a later one was part of has its place.
    #[test]
    fn documents_of_older_versions_have_the_classes_of_theirs() {
        for (version, expected) in [(1.0, [1, 1, 5]), (2.0, [10, 10, 5])] {
            let n = Fit::n_parameters_of(version);
            let fit = Fit {
                parameters: (0..n).map(|idx| idx as f64).collect(),
                covariance: (0..n * n).map(|idx| idx as f64 / 1e3).collect(),
            };
            let read = fit.clone().of_version(version);
            assert!(read.is_whole() && !fit.is_whole());
            let places = Class::LATER.map(|(class, _)| class.idx() + 1);
            let later = places.map(|place| read.parameters[place]);
            println!("{version}: {later:?}");
            assert_eq!(later, expected.map(f64::from));
            // All others, the times of calls and inferences among them, are as they were.
            let others = (0..N_PARAMETERS)
                .filter(|idx| !places[if version == 1.0 { 0 } else { 1 }..].contains(idx));
            let others: Vec<f64> = others.map(|idx| read.parameters[idx]).collect();
            assert_eq!(others, fit.parameters);
            let call = N_PARAMETERS - 2;
            assert_eq!(
                read.covariance[call * N_PARAMETERS + 1],
                fit.covariance[(n - 2) * n + 1]
            );
        }
    }

    /// Against the table of Student's t: 2.132 at 4 degrees, 1.812 at 10.
    #[test]
    fn few_networks_widen_the_interval() {
        for (n, expected) in [(0, 2.132), (6, 1.812)] {
            let (_, quantile) = spread(&vec![0.1; n], 0.3, 4.0);
            assert!((quantile - expected).abs() < 0.02, "{n}: {quantile}");
        }
    }
}
