//! The cost of each kind of work on each device: positive, shared by a maker's devices but for a few scales, and pulled to
//! what is expected of it and to the costs of makers that are fitted together.
//!
//! First everything that is shared is fitted, with a few scales of each device. Then what is shared stays, and devices and
//! runtimes are told apart by how the times of one network differ on them: how far that network is from the shared costs is
//! an effect of its own, which says nothing of a device.

use litecast::targets::learned_accelerators::devices::{NumberFormat, Runtime};
use litecast::targets::learned_accelerators::work::{
    BEYOND, ENDS, N_TERMS, NAMES, OF_CONVOLUTIONS, OPERATORS, WEIGHTS,
};

use super::measured::{Measured, Measurement};

const N_NUMBERS: usize = NumberFormat::ALL.len();
/// Scales of a device: computation, memory, and what does not depend on sizes.
const N_SCALES: usize = 3;
/// Standard deviations of logarithms: costs from that of their kind, numbers from each other, devices from their mean, the
/// numbers of a device, runtimes, and terms with these numbers.
const TERM: f64 = 0.25;
const KIND: f64 = 0.8;
/// Of them, what does not depend on sizes differs less.
const DEVICE: [f64; N_SCALES] = [1.0, 1.0, 0.5];
/// What a device's memory outside the chip costs more than that on it, beside what is so on others.
const OUTSIDE: f64 = 0.5;
const OF_OUTSIDE: [usize; 4] = [WEIGHTS, OF_CONVOLUTIONS, BEYOND, ENDS];
const NUMBERS_OF_DEVICE: f64 = 0.3;
const RUNTIME: f64 = 0.3;
const TERM_OF_NUMBERS: f64 = 0.2;
/// Scales of a maker's devices from those of others: chips of all sizes.
const MAKER: f64 = 2.0;
/// Terms of a maker from those of others, and of terms that follow from its memory and its processor.
const TERM_OF_MAKER: f64 = 0.2;
const MEMORY_OF_MAKER: f64 = 1.0;
const OF_MEMORY: [&str; 5] = [
    "weights",
    "weights-convolution",
    "values-beyond",
    "values-ends",
    "once",
];
/// The same, where one network tells devices and runtimes apart: scales of a device with these numbers, and under a runtime;
/// terms on a device, and under a runtime with these numbers.
const NUMBERS_ON_DEVICE: f64 = 0.4;
const RUNTIME_ON_DEVICE: f64 = 0.3;
const TERM_ON_DEVICE: f64 = 0.2;
const TERM_OF_RUNTIME: f64 = 0.25;
/// A network with its numbers, from the costs that are shared.
const NETWORK: f64 = 0.15;
/// What attention is made of costs other amounts in 8 bits.
const ATTENTION_IN_8_BITS: f64 = 1.0;
const ATTENTION: [&str; 6] = [
    "macs-product",
    "values-softmax",
    "values-norm",
    "values-curve",
    "n-softmax",
    "n-norm",
];
/// Standard deviation of a network's rows from the physics, which decides how much they outweigh what is expected.
const ROWS: f64 = 0.25;
/// The same on Hexagon, of which more networks were measured.
const ROWS_ON_HEXAGON: f64 = 0.13;
/// Errors count as squares below this and as distances above.
const BEND: f64 = 0.25;
/// The same for a row beside the other rows of its network, of which so many are independent.
const ROWS_OF_NETWORK: f64 = 0.1;
const BEND_OF_NETWORK: f64 = 0.15;
const N_INDEPENDENT: f64 = 4.0;
const RATE: f64 = 0.03;

/// Logarithm of how much less these cost Hexagon in 8 bits: a table that the multiplying operator looks its results up in.
const TABLE_IN_8_BITS: f64 = -3.0;
const TABLES: [&str; 2] = ["values-activation", "n-activation"];
/// The same for a value times its logistic function, where a compiler makes one curve of both: all but ONNX Runtime, which
/// does in 8 bits alone.
const PART_OF_CURVE: f64 = -4.0;
const GATES: [&str; 2] = ["values-gate", "n-gate"];

/// Logarithms of costs in milliseconds for a million multiplications, a million values, and an operator.
const KINDS: [f64; N_SCALES] = [-9.210_340, -3.912_023, -6.907_755];

/// Logarithms of how much more than others of their kind terms are expected to cost.
fn expected(term: usize, is_of_hexagon: bool) -> f64 {
    match NAMES[term] {
        "macs-depthwise" => 1.0,
        "macs-window" if is_of_hexagon => 0.5,
        "macs-matrix" if is_of_hexagon => 0.3,
        "values-softmax" if is_of_hexagon => 0.2,
        "values-beyond" if is_of_hexagon => -1.0,
        "n-matrices" if is_of_hexagon => 0.0,
        "macs-volume" | "values-layout" | "values-softmax" | "values-norm" | "values-other"
        | "values-beyond" | "values-ends" => 0.7,
        "windows" => -3.0,
        "weights-convolution" | "values-strided" | "values-flattened" | "n-matrices" => -1.0,
        "once" => 4.6,
        _ => 0.0,
    }
}

fn scale(term: usize) -> usize {
    if term < WEIGHTS {
        0
    } else if term < OPERATORS {
        1
    } else {
        2
    }
}

/// What is fitted while the rest stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Shared,
    Devices,
}

impl Stage {
    fn n_steps(self) -> usize {
        match self {
            Self::Shared => 700,
            Self::Devices => 400,
        }
    }

    /// How much a row weighs, from how much it weighs among the rows of its network.
    fn weight(self, weight: f64, is_of_hexagon: bool) -> f64 {
        let rows = if is_of_hexagon { ROWS_ON_HEXAGON } else { ROWS };
        match self {
            Self::Shared => weight / rows.powi(2),
            Self::Devices => (N_INDEPENDENT * weight).min(1.0) / ROWS_OF_NETWORK.powi(2),
        }
    }

    fn bend(self) -> f64 {
        match self {
            Self::Shared => BEND,
            Self::Devices => BEND_OF_NETWORK,
        }
    }
}

/// An error where it is small, and not more than `bend` by far where it is large.
fn bent(error: f64, bend: f64) -> f64 {
    error / (1.0 + (error / bend).powi(2)).sqrt()
}

/// Positions of the parameters in one list.
#[derive(Clone, Copy)]
struct Places {
    n_devices: usize,
    n_networks: usize,
}

impl Places {
    const KIND: usize = 0;
    const TERM: usize = Self::KIND + N_NUMBERS * N_SCALES;
    const OF_NUMBERS: usize = Self::TERM + N_TERMS;
    const RUNTIME: usize = Self::OF_NUMBERS + N_NUMBERS * N_TERMS;
    /// Makers have a runtime each, but for Qualcomm, whose terms are those of all its runtimes.
    const OF_MAKER: usize = Self::RUNTIME + Runtime::ALL.len() * N_NUMBERS * N_SCALES;
    /// Always 0.
    const NONE: usize = Self::OF_MAKER + Runtime::ALL.len() * N_TERMS;
    const DEVICE: usize = Self::NONE + 1;

    fn outside(self) -> usize {
        Self::DEVICE + self.n_devices * (N_SCALES + N_NUMBERS)
    }

    /// The first of what one network tells apart.
    fn apart(self) -> usize {
        self.outside() + self.n_devices
    }

    fn runtime_on_device(self) -> usize {
        self.apart() + self.n_devices * N_NUMBERS * N_SCALES
    }

    fn term_on_device(self) -> usize {
        self.runtime_on_device() + self.n_devices * Runtime::ALL.len() * N_SCALES
    }

    fn term_of_runtime(self) -> usize {
        self.term_on_device() + self.n_devices * N_TERMS
    }

    fn networks(self) -> usize {
        self.term_of_runtime() + Runtime::ALL.len() * N_NUMBERS * N_TERMS
    }

    fn network(self, row: &Measurement) -> usize {
        self.networks() + row.network * N_NUMBERS + row.numbers
    }

    fn len(self) -> usize {
        self.networks() + self.n_networks * N_NUMBERS
    }

    fn is_fitted(self, place: usize, stage: Stage) -> bool {
        match stage {
            Stage::Shared => place < self.apart(),
            Stage::Devices => place >= Self::RUNTIME,
        }
    }

    /// What the logarithm of a cost is the sum of.
    fn cost_places(self, way: Way, term: usize) -> [usize; 12] {
        let Way {
            device,
            runtime,
            numbers,
        } = way;
        let scale = scale(term);
        let of_device = Self::DEVICE + device * (N_SCALES + N_NUMBERS);
        let of_maker = if Runtime::ALL[runtime].is_of_hexagon() {
            Self::NONE
        } else {
            Self::OF_MAKER + runtime * N_TERMS + term
        };
        let of_outside = if OF_OUTSIDE.contains(&term) {
            self.outside() + device
        } else {
            Self::NONE
        };
        [
            Self::KIND + numbers * N_SCALES + scale,
            Self::TERM + term,
            Self::OF_NUMBERS + numbers * N_TERMS + term,
            Self::RUNTIME + (runtime * N_NUMBERS + numbers) * N_SCALES + scale,
            of_maker,
            of_device + scale,
            of_device + N_SCALES + numbers,
            of_outside,
            self.apart() + (device * N_NUMBERS + numbers) * N_SCALES + scale,
            self.runtime_on_device() + (device * Runtime::ALL.len() + runtime) * N_SCALES + scale,
            self.term_on_device() + device * N_TERMS + term,
            self.term_of_runtime() + (runtime * N_NUMBERS + numbers) * N_TERMS + term,
        ]
    }

    /// Expected value and standard deviation of each parameter; kinds are pulled to each other instead.
    fn priors(self, is_of_hexagon: bool) -> Vec<(f64, f64)> {
        let mut priors = vec![(0.0, RUNTIME); self.len()];
        for (runtime, of_runtime) in (Runtime::ALL.iter())
            .zip(priors[Self::RUNTIME..].chunks_exact_mut(N_NUMBERS * N_SCALES))
        {
            if !runtime.is_of_hexagon() {
                of_runtime.fill((0.0, MAKER));
            }
        }
        for term in 0..N_TERMS {
            priors[Self::TERM + term] = (expected(term, is_of_hexagon), TERM);
            for numbers in 0..N_NUMBERS {
                let is_in = |terms: &[&str]| {
                    NumberFormat::ALL[numbers] == NumberFormat::Int8 && terms.contains(&NAMES[term])
                };
                let sigma = if is_in(&ATTENTION) {
                    ATTENTION_IN_8_BITS
                } else {
                    TERM_OF_NUMBERS
                };
                let is_looked_up = is_of_hexagon && is_in(&TABLES);
                let expected = if is_looked_up { TABLE_IN_8_BITS } else { 0.0 };
                priors[Self::OF_NUMBERS + numbers * N_TERMS + term] = (expected, sigma);
            }
            let sigma = if OF_MEMORY.contains(&NAMES[term]) {
                MEMORY_OF_MAKER
            } else {
                TERM_OF_MAKER
            };
            for runtime in 0..Runtime::ALL.len() {
                priors[Self::OF_MAKER + runtime * N_TERMS + term] = (0.0, sigma);
            }
        }
        for of_device in priors[Self::DEVICE..self.outside()].chunks_exact_mut(N_SCALES + N_NUMBERS)
        {
            of_device[..N_SCALES].copy_from_slice(&DEVICE.map(|sigma| (0.0, sigma)));
            of_device[N_SCALES..].fill((0.0, NUMBERS_OF_DEVICE));
        }
        for (start, sigma) in [
            (self.outside(), OUTSIDE),
            (self.apart(), NUMBERS_ON_DEVICE),
            (self.runtime_on_device(), RUNTIME_ON_DEVICE),
            (self.term_on_device(), TERM_ON_DEVICE),
            (self.term_of_runtime(), TERM_OF_RUNTIME),
            (self.networks(), NETWORK),
        ] {
            priors[start..].fill((0.0, sigma));
        }
        let ways = Runtime::ALL
            .into_iter()
            .flat_map(|runtime| NumberFormat::ALL.map(|n| (runtime, n)));
        let of_ways = priors[self.term_of_runtime()..].chunks_exact_mut(N_TERMS);
        for ((runtime, numbers), of_way) in ways.zip(of_ways) {
            let is_apart = runtime == Runtime::OnnxRuntime && numbers != NumberFormat::Int8;
            for (name, prior) in NAMES.iter().zip(of_way) {
                if !is_apart && GATES.contains(name) {
                    prior.0 = PART_OF_CURVE;
                }
            }
        }
        priors
    }
}

/// A device, a runtime and numbers, by position.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Way {
    pub device: usize,
    pub runtime: usize,
    pub numbers: usize,
}

impl Way {
    pub fn from_row(row: &Measurement) -> Self {
        Self {
            device: row.device,
            runtime: row.runtime,
            numbers: row.numbers,
        }
    }
}

/// The fitted parameters.
pub struct Physics {
    places: Places,
    parameters: Vec<f64>,
}

impl Physics {
    /// Fits to the rows that `is_fitted` tells.
    pub fn fit(measured: &Measured, is_fitted: impl Fn(&Measurement) -> bool) -> Self {
        let places = Places {
            n_devices: measured.devices.len(),
            n_networks: measured.networks.len(),
        };
        let is_of_hexagon = |row: &Measurement| Runtime::ALL[row.runtime].is_of_hexagon();
        let priors = places.priors(measured.rows.iter().all(is_of_hexagon));
        let mut parameters: Vec<f64> = priors.iter().map(|(expected, _)| *expected).collect();
        for numbers in 0..N_NUMBERS {
            let start = Places::KIND + numbers * N_SCALES;
            parameters[start..start + N_SCALES].copy_from_slice(&KINDS);
        }
        let mut physics = Self { places, parameters };
        let mut rows: Vec<&Measurement> = measured.kept().filter(|row| is_fitted(row)).collect();
        rows.sort_by_key(|row| Way::from_row(row));
        let groups: Vec<&[&Measurement]> = rows
            .chunk_by(|a, b| Way::from_row(a) == Way::from_row(b))
            .collect();
        for stage in [Stage::Shared, Stage::Devices] {
            physics.descend(measured, &groups, &priors, stage);
        }
        physics
    }

    fn descend(
        &mut self,
        measured: &Measured,
        groups: &[&[&Measurement]],
        priors: &[(f64, f64)],
        stage: Stage,
    ) {
        let mut moments = vec![[0.0; 2]; self.places.len()];
        let n_steps = stage.n_steps();
        for step in 0..n_steps {
            let mut gradient = self.gradient(measured, groups, priors, stage);
            for (place, slope) in gradient.iter_mut().enumerate() {
                if !self.places.is_fitted(place, stage) {
                    *slope = 0.0;
                }
            }
            let share = step as f64 / n_steps as f64;
            let rate = RATE * 0.5 * (1.0 + (std::f64::consts::PI * share).cos());
            adam(&mut self.parameters, &mut moments, &gradient, rate, step);
        }
    }

    /// Milliseconds for each amount.
    pub fn costs(&self, way: Way) -> [f64; N_TERMS] {
        std::array::from_fn(|term| {
            let places = self.places.cost_places(way, term);
            places
                .iter()
                .map(|&at| self.parameters[at])
                .sum::<f64>()
                .exp()
        })
    }

    fn gradient(
        &self,
        measured: &Measured,
        groups: &[&[&Measurement]],
        priors: &[(f64, f64)],
        stage: Stage,
    ) -> Vec<f64> {
        let mut gradient: Vec<f64> = (self.parameters.iter().zip(priors))
            .map(|(value, (expected, sigma))| (value - expected) / sigma.powi(2))
            .collect();
        for scale in 0..N_SCALES {
            let of_numbers = |numbers: usize| Places::KIND + numbers * N_SCALES + scale;
            let sum: f64 = (0..N_NUMBERS).map(|n| self.parameters[of_numbers(n)]).sum();
            for numbers in 0..N_NUMBERS {
                let place = of_numbers(numbers);
                gradient[place] = (self.parameters[place] - sum / N_NUMBERS as f64) / KIND.powi(2);
            }
        }
        let networks = self.places.networks();
        let effects = self.parameters[networks..].iter();
        for (slope, effect) in gradient[networks..].iter_mut().zip(effects) {
            *slope = bent(*effect, BEND) / NETWORK.powi(2);
        }
        for rows in groups {
            let way = Way::from_row(rows[0]);
            let is_of_hexagon = Runtime::ALL[way.runtime].is_of_hexagon();
            let costs = self.costs(way);
            let mut of_terms = [0.0; N_TERMS];
            for row in *rows {
                let amounts = measured.amounts(row);
                let ms: f64 = amounts.iter().zip(costs).map(|(a, c)| a * c).sum();
                let of_network = self.places.network(row);
                let error = (ms / row.ms).ln() + self.parameters[of_network];
                let slope = stage.weight(row.weight, is_of_hexagon) * bent(error, stage.bend());
                gradient[of_network] += slope;
                let slope = slope / ms;
                for term in 0..N_TERMS {
                    of_terms[term] += slope * amounts[term] * costs[term];
                }
            }
            for (term, slope) in of_terms.into_iter().enumerate() {
                for place in self.places.cost_places(way, term) {
                    gradient[place] += slope;
                }
            }
        }
        gradient[Places::NONE] = 0.0;
        gradient
    }
}

/// One step of Adam.
fn adam(values: &mut [f64], moments: &mut [[f64; 2]], gradient: &[f64], rate: f64, step: usize) {
    const DECAYS: [f64; 2] = [0.9, 0.999];
    let n = step as i32 + 1;
    for ((value, [mean, square]), slope) in values.iter_mut().zip(moments).zip(gradient) {
        *mean = DECAYS[0] * *mean + (1.0 - DECAYS[0]) * slope;
        *square = DECAYS[1] * *square + (1.0 - DECAYS[1]) * slope * slope;
        let unbiased = [
            *mean / (1.0 - DECAYS[0].powi(n)),
            *square / (1.0 - DECAYS[1].powi(n)),
        ];
        *value -= rate * unbiased[0] / (unbiased[1].sqrt() + 1e-8);
    }
}
