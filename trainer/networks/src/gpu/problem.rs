//! Measurements and graphs → the data of one training.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result};
use litecast::learned::features::Features;
use litecast::targets::gpu::bundle::Mode;
use litecast::targets::gpu::costs::{Amounts, Execution, amounts};
use litecast::targets::gpu::kernels::Kernel;
use litecast::targets::gpu::specifications::Gpu;
use litecast_trainer::dataset::LabelKey;
use litecast_trainer::targets::gpu::accel_nasbench;
use litecast_trainer::targets::gpu::evaluate::{MeasuredSample, NEVER_LEFT_OUT, Split, folds_of};
use litecast_trainer::targets::gpu::graphs::{KernelNetwork, Networks};
use litecast_trainer::targets::gpu::measured::{self, Measured, TABLES, family};
use litecast_trainer::targets::gpu::roofline::{self, dot};

use super::features::{self, N_COLUMNS, NS_PER_MS, ROOFLINES};
use super::methods::Method;
use crate::gnn::prepare::{Labels, OutputRules, Plan, Readout, Scaling};
use crate::training_data::{Data, Part};

/// The outputs, by index into [`TABLES`]: inference and training step on the RTX 3090.
pub const OUTPUTS: [&str; 2] = ["latency", "training_step"];
const MODES: [Mode; 2] = [Mode::Inference, Mode::Training];
pub const INFERENCE: usize = 0;
pub const SPLITS: [Split; 3] = [Split::Models, Split::Families, Split::Laboratory];
/// One in this many of the networks outside of the fold is used for early stopping.
const N_VALIDATION: usize = 10;
const VALIDATION_SEED: u64 = 500;
/// Batch size of a kernel's roofline if a network was not measured.
const USUAL_BATCH: f64 = 256.0;

/// One network at one image size, with its measurements.
pub struct Case<'n> {
    pub model: String,
    pub network: &'n KernelNetwork,
    pub measured: [Option<Measured>; 2],
}

impl Case<'_> {
    /// Time of one input in milliseconds, where it was measured.
    fn measured_ms(&self, output: usize) -> Option<f64> {
        (self.measured[output].as_ref()).map(|row| row.ms_per_input)
    }
}

/// All cases, with the inputs of regression and roofline.
pub struct Problem<'n> {
    gpu: &'static Gpu,
    /// Those of timm, then those of another laboratory.
    pub cases: Vec<Case<'n>>,
    n_of_timm: usize,
    /// By output, then by measured case: its index and sample.
    pub samples: [Vec<(usize, MeasuredSample)>; 2],
}

/// What the trainings of a split do with a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// The training that leaves out this fold measures the case, all others train with it.
    Fold(usize),
    /// All train with it.
    Always,
    /// None uses it.
    Absent,
}

impl Place {
    fn trains(self, fold: usize) -> bool {
        match self {
            Self::Fold(own) => own != fold,
            Self::Always => true,
            Self::Absent => false,
        }
    }
}

/// A way to leave cases out.
pub struct Folds {
    pub split: Split,
    /// Of the folds, and of the networks that stop the training.
    pub split_seed: u64,
    /// Of the weights.
    pub seed: u64,
    pub n: usize,
    pub of_case: Vec<Place>,
}

impl<'n> Problem<'n> {
    /// `others` are networks of another laboratory, with the time of an input in ms.
    pub fn new(
        folder: &Path,
        networks: &'n Networks,
        others: &'n [(KernelNetwork, f64)],
    ) -> Result<Self> {
        let mut by_network: BTreeMap<(String, u32), [Option<Measured>; 2]> = BTreeMap::new();
        for (output, table) in TABLES.iter().take(OUTPUTS.len()).enumerate() {
            for row in measured::read(folder, table)? {
                let key = (row.model.clone(), row.image_size);
                by_network.entry(key).or_default()[output] = Some(row);
            }
        }
        let case = |(key, measured): ((String, u32), _)| {
            let network = networks.get(&key)?;
            Some(Case {
                model: key.0,
                network,
                measured,
            })
        };
        let mut cases: Vec<Case> = by_network.into_iter().filter_map(case).collect();
        let n_of_timm = cases.len();
        cases.extend(others.iter().enumerate().map(|(idx, (network, ms))| {
            let model = format!("accel_nasbench_{idx}");
            let measured = Measured {
                model: model.clone(),
                image_size: accel_nasbench::SIDE as u32,
                batch: accel_nasbench::BATCH,
                ms_per_input: *ms,
                million_parameters: None,
            };
            Case {
                model,
                network,
                measured: [Some(measured), None],
            }
        }));
        let gpu = Gpu::by_id(TABLES[INFERENCE].target).context("expected the GPU of the tables")?;
        let samples = [0, 1].map(|output| {
            let sample = |(idx, case): (usize, &Case)| {
                let row = case.measured[output].as_ref()?;
                Some((
                    idx,
                    MeasuredSample::new(row, case.network, gpu, MODES[output]),
                ))
            };
            cases.iter().enumerate().filter_map(sample).collect()
        });
        Ok(Self {
            gpu,
            cases,
            n_of_timm,
            samples,
        })
    }

    /// Folds with one seed for everything; one fold for another laboratory.
    pub fn folds(&self, split: Split, n: usize, seed: u64) -> Folds {
        let n_others = self.cases.len() - self.n_of_timm;
        let (n, of_timm, of_others) = match split {
            Split::Laboratory => (1, vec![Place::Always; self.n_of_timm], Place::Fold(0)),
            Split::Models | Split::Families => {
                let folds = folds_of(&self.groups(split), n, seed);
                (
                    n,
                    folds.into_iter().map(Place::Fold).collect(),
                    Place::Absent,
                )
            }
        };
        Folds {
            split,
            split_seed: seed,
            seed,
            n,
            of_case: [of_timm, vec![of_others; n_others]].concat(),
        }
    }

    /// Of timm's cases.
    fn groups(&self, split: Split) -> Vec<&str> {
        self.cases[..self.n_of_timm]
            .iter()
            .map(|case| split.group(&case.model, family(&case.model)))
            .collect()
    }

    /// The data of a training that leaves `fold` out, and the cases that it is measured on. Early stopping uses groups
    /// of the same kind.
    pub fn data(&self, folds: &Folds, fold: usize, outputs: &[usize], method: &Method) -> Data {
        let costs = [0, 1].map(|output| self.costs(output, folds, fold));
        let stops = folds_of(
            &self.groups(folds.split),
            N_VALIDATION,
            folds.split_seed + VALIDATION_SEED,
        );
        let used = self.cases.iter().zip(&folds.of_case);
        let used = used.filter(|(_, place)| **place != Place::Absent);
        // Cases that no training uses are the last ones.
        let graphs: Vec<(Features, Labels)> = used
            .map(|(case, _)| {
                (
                    features_of(case, self.gpu, &costs),
                    labels_of(case, outputs),
                )
            })
            .collect();
        let is_labelled = |idx: &usize| graphs[*idx].1.graph.iter().any(|label| !label.is_nan());
        let side = |is_on_it: &dyn Fn(usize) -> bool| -> Vec<usize> {
            let indices = (0..graphs.len()).filter(is_labelled);
            indices.filter(|&idx| is_on_it(idx)).collect()
        };
        let is_test = |idx: usize| folds.of_case[idx] == Place::Fold(fold);
        let training = side(&|idx| !is_test(idx) && stops[idx] != 0);
        let pairs: Vec<(&Features, &Labels)> = training
            .iter()
            .map(|&idx| (&graphs[idx].0, &graphs[idx].1))
            .collect();
        let rules = OutputRules {
            readouts: vec![Readout::Sum; outputs.len()],
            ceilings: vec![f32::MAX; outputs.len()],
            planned_columns: vec![None; outputs.len()],
        };
        let mut scaling = Scaling::fit(features::columns(), rules, &pairs);
        scaling.features.hide(method.hidden_columns());
        if method.has_roofline {
            let plan = |&output: &usize| {
                Some(Plan {
                    column: ROOFLINES[output],
                    unit: (1.0 / NS_PER_MS) as f32,
                })
            };
            scaling.plans = outputs.iter().map(plan).collect();
        }
        let part = |indices: Vec<usize>| Part {
            graph_ids: indices.iter().map(usize::to_string).collect(),
            examples: indices
                .iter()
                .map(|&idx| scaling.example(&graphs[idx].0, &graphs[idx].1))
                .collect(),
            space_of: vec![0; indices.len()],
            summaries: Vec::new(),
        };
        Data {
            outputs: label_keys(outputs),
            spaces: vec!["timm".to_owned()],
            feature_ranges: Vec::new(),
            validation: part(side(&|idx| !is_test(idx) && stops[idx] == 0)),
            test: part(side(&is_test)),
            training: part(training),
            scaling,
        }
    }

    /// Samples of an output that a split uses, and by sample its fold, or that it is never left out.
    pub fn used(&self, output: usize, folds: &Folds) -> (Vec<MeasuredSample>, Vec<usize>) {
        let used = self.samples[output].iter().filter_map(|(idx, sample)| {
            let fold = match folds.of_case[*idx] {
                Place::Fold(fold) => fold,
                Place::Always => NEVER_LEFT_OUT,
                Place::Absent => return None,
            };
            Some((sample.clone(), fold))
        });
        used.unzip()
    }

    /// Costs of the roofline of an output, fitted without a fold.
    fn costs(&self, output: usize, folds: &Folds, fold: usize) -> Amounts {
        let others = self.samples[output].iter();
        let others = others.filter(|(idx, _)| folds.of_case[*idx].trains(fold));
        let (amounts, times): (Vec<&Amounts>, Vec<f64>) = others
            .map(|(_, sample)| (&sample.amounts, sample.time_ms))
            .unzip();
        roofline::fit(&amounts, &times)
    }
}

fn label_keys(outputs: &[usize]) -> Vec<LabelKey> {
    outputs
        .iter()
        .map(|&output| LabelKey {
            target: TABLES[output].target.to_owned(),
            metric: OUTPUTS[output].to_owned(),
        })
        .collect()
}

fn features_of(case: &Case, gpu: &Gpu, costs: &[Amounts; 2]) -> Features {
    let of_run = |output: usize| {
        let batch = case.measured[output]
            .as_ref()
            .map_or(USUAL_BATCH, |row| row.batch);
        let execution = Execution::new(&case.network.kernels, gpu, MODES[output]);
        move |kernel: &Kernel| {
            let amounts = amounts(kernel, batch, execution);
            dot(&amounts, &costs[output])
        }
    };
    let (inference, training) = (of_run(0), of_run(1));
    let features = features::network_features(case.network, [&inference, &training]);
    debug_assert_eq!(features.nodes.len(), features.n_nodes() * N_COLUMNS);
    features
}

fn labels_of(case: &Case, outputs: &[usize]) -> Labels {
    let graph = outputs
        .iter()
        .map(|&output| case.measured_ms(output).map_or(f32::NAN, |ms| ms as f32));
    Labels {
        graph: graph.collect(),
        ..Labels::none(case.network.kernels.len(), outputs.len())
    }
}
