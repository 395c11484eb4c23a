//! The whole path, for one file or many: bytes → [`Report`].

use std::cell::OnceCell;
use std::num::NonZeroU32;

use crate::boards::{self, Application};
use crate::changes::{ChangeError, Changes};
use crate::formats::onnx::Dimensions;
use crate::formats::tflite::{Format, MAIN_SUBGRAPH, Model, Tensor};
use crate::formats::{self, ReadError};
use crate::graph::analysis::{self, Analysis};
use crate::graph::as_int8::as_int8;
use crate::graph::batch_size::{self, BatchError};
use crate::graph::{self, CycleError, Graph};
use crate::learned::features::Features;
use crate::learned::manifest::Manifest;
use crate::learned::out_of_distribution::{Learned, Likeness};
use crate::learned::predictor::{Estimates, Predictor, PredictorError};
use crate::report::{
    self, Doubt, Failure, INTERVAL_PERCENT, LeftOperator, REPORT_VERSION, Report, Results,
};
use crate::targets::ethos_u::SharedPlans;
use crate::targets::gpu::specifications::Gpu;
use crate::targets::gpu::sweep::{Sweep, sweep};
use crate::targets::{Network, Target, ethos_u, gpu, registry};

/// Why a file has no report.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EstimateError {
    /// The bytes are not a model that can be read.
    #[error(transparent)]
    Parse(#[from] ReadError),
    /// The model cannot take as many inputs at a time as were asked for.
    #[error(transparent)]
    Batch(#[from] BatchError),
    /// The model cannot be changed as was asked for.
    #[error(transparent)]
    Change(#[from] ChangeError),
    /// Operators wait for each other.
    #[error(transparent)]
    Cycle(#[from] CycleError),
    /// The network failed.
    #[error(transparent)]
    Predictor(#[from] PredictorError),
}

impl EstimateError {
    /// Stable kebab-case identifier for programs.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Parse(error) => error.kind(),
            Self::Batch(_) => "batch",
            Self::Change(error) => error.kind(),
            Self::Cycle(_) => "cycle",
            Self::Predictor(error) => error.kind(),
        }
    }
}

impl From<&EstimateError> for Failure {
    fn from(error: &EstimateError) -> Self {
        Self::new(error.kind(), error.to_string())
    }
}

/// What an estimate is asked of.
#[derive(Clone, Copy, Debug)]
pub struct ModelFile<'f> {
    /// To report.
    pub name: &'f str,
    /// A `.tflite` or `.onnx` file, or a graph without weights (`docs/graph-json.md`).
    pub bytes: &'f [u8],
    /// Inputs at a time, in a file that has one: see [`batch_size`].
    pub batch: NonZeroU32,
    /// Threads that a processor runs it on; a board with fewer cores takes as many as it has.
    pub threads: NonZeroU32,
    /// Sizes of dimensions that an ONNX file leaves open, by name; the first dimension of an input is the
    /// batch where nothing else is said.
    pub dimensions: &'f [(String, u32)],
    /// Memory that the application keeps for itself on microcontrollers.
    pub application: Application,
    /// SHA-256 of `bytes` in 64 hexadecimal digits, to report, where the caller knows it; otherwise it is computed.
    pub sha256: Option<&'f str>,
}

impl<'f> ModelFile<'f> {
    /// The file as it is.
    pub fn new(name: &'f str, bytes: &'f [u8]) -> Self {
        Self {
            name,
            bytes,
            batch: NonZeroU32::MIN,
            threads: NonZeroU32::MIN,
            dimensions: &[],
            application: Application::default(),
            sha256: None,
        }
    }

    fn open_dimensions(&self) -> Dimensions<'f> {
        Dimensions {
            batch: self.batch.get(),
            named: self.dimensions,
        }
    }

    fn read_changed_as_it_is(&self, changes: &Changes) -> Result<Model<'f>, EstimateError> {
        let mut model = formats::read(self.bytes, &self.open_dimensions())?;
        changes.apply(&mut model)?;
        Ok(model)
    }

    fn read_changed(&self, changes: &Changes) -> Result<Model<'f>, EstimateError> {
        let mut model = self.read_changed_as_it_is(changes)?;
        if model.format != Format::Onnx || !has_batch(&model, self.batch) {
            batch_size::set_batch(&mut model, self.batch)?;
        }
        Ok(model)
    }

    /// An ONNX file that leaves the batch open is read with it.
    fn read_as_it_is(&self) -> Result<Model<'f>, Unread> {
        let read = formats::read(self.bytes, &self.open_dimensions());
        read.map_err(Unread::Parse)
    }

    fn read(&self) -> Result<Model<'f>, Unread> {
        let mut model = self.read_as_it_is()?;
        // An ONNX file that leaves the batch open was read with it.
        if model.format != Format::Onnx || !has_batch(&model, self.batch) {
            batch_size::set_batch(&mut model, self.batch).map_err(Unread::Batch)?;
        }
        Ok(model)
    }
}

fn has_batch(model: &Model, batch: NonZeroU32) -> bool {
    let subgraph = &model.subgraphs[MAIN_SUBGRAPH];
    let mut inputs = subgraph
        .inputs
        .iter()
        .map(|&input| &subgraph.tensors[input]);
    let first = |tensor: &Tensor| tensor.shape.first().and_then(|&n| u32::try_from(n).ok());
    inputs.all(|tensor| first(tensor) == Some(batch.get()))
}

/// Why there is no model.
#[derive(Clone)]
enum Unread {
    Parse(ReadError),
    Batch(BatchError),
}

impl From<Unread> for EstimateError {
    fn from(unread: Unread) -> Self {
        match unread {
            Unread::Parse(error) => error.into(),
            Unread::Batch(error) => error.into(),
        }
    }
}

/// How much of a report is made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Detail {
    /// All of it.
    #[default]
    Full,
    /// What a search reads: no operators, tensors and edges, and no parts of results by operator.
    Summary,
}

/// Everything there is to say about a file.
///
/// Without a predictor the report holds the exact facts, and what is modelled from them alone.
/// Estimates are those of the main subgraph (the first one), for one inference.
pub fn estimate(file: ModelFile, predictor: Option<&Predictor>) -> Result<Report, EstimateError> {
    let mut reports = estimate_many(&[file], predictor)?;
    reports.pop().expect("every file has its own result")
}

/// As [`estimate`] of each file, in the order of `files`, in less time: several graphs share a run of
/// the network. Holds every file's graph at a time.
///
/// # Errors
/// [`PredictorError`] where the network fails, which no file has to answer for.
pub fn estimate_many(
    files: &[ModelFile],
    predictor: Option<&Predictor>,
) -> Result<Vec<Result<Report, EstimateError>>, PredictorError> {
    estimate_on(files, predictor, registry())
}

/// As [`estimate_many`], on `targets` instead of those of the registry.
pub fn estimate_on(
    files: &[ModelFile],
    predictor: Option<&Predictor>,
    targets: &[Box<dyn Target>],
) -> Result<Vec<Result<Report, EstimateError>>, PredictorError> {
    estimate_in(files, predictor, targets, Detail::Full)
}

/// As [`estimate_on`], in as much `detail` as is read. The predictor does not run where no target is learned.
pub fn estimate_in(
    files: &[ModelFile],
    predictor: Option<&Predictor>,
    targets: &[Box<dyn Target>],
    detail: Detail,
) -> Result<Vec<Result<Report, EstimateError>>, PredictorError> {
    let read = match take_any_batch(targets) {
        true => ModelFile::read_as_it_is,
        false => ModelFile::read,
    };
    let models: Vec<_> = files.iter().map(read).collect();
    estimate_models(files, &models, predictor, targets, detail)
}

/// Whether the batch is a number that all of them are told, and the shapes stay.
fn take_any_batch(targets: &[Box<dyn Target>]) -> bool {
    !targets.is_empty() && targets.iter().all(|target| target.takes_any_batch())
}

/// As [`estimate_in`] of one file, of the network that `changes` make of it.
pub fn estimate_changed(
    file: ModelFile,
    changes: &Changes,
    predictor: Option<&Predictor>,
    targets: &[Box<dyn Target>],
    detail: Detail,
) -> Result<Report, EstimateError> {
    let model = Ok(match take_any_batch(targets) {
        true => file.read_changed_as_it_is(changes)?,
        false => file.read_changed(changes)?,
    });
    let mut reports = estimate_models(&[file], &[model], predictor, targets, detail)?;
    reports.pop().expect("every file has its own result")
}

/// The operators of the changed network that each of `targets` leaves to a processor, in topological order.
pub fn left_out(
    file: ModelFile,
    changes: &Changes,
    targets: &[Box<dyn Target>],
) -> Result<Vec<Vec<LeftOperator>>, EstimateError> {
    let model = Ok(file.read_changed(changes)?);
    let facts = Facts::of(&model, None)?;
    let network = facts.network(&file);
    let of_target = |target: &dyn Target| {
        let unsupported = target.unsupported(&network);
        unsupported.iter().map(LeftOperator::from).collect()
    };
    let targets = targets.iter();
    Ok(targets.map(|target| of_target(&**target)).collect())
}

/// Time and memory by batch on a GPU, of the network that `changes` make of the file's; none where no network that
/// was measured on the GPU spends time on what this one is made of.
pub fn sweep_batch(
    file: ModelFile,
    changes: &Changes,
    gpu: &Gpu,
    bundle: &gpu::Bundle,
) -> Result<Option<Sweep>, EstimateError> {
    let one_input = ModelFile {
        batch: NonZeroU32::MIN,
        ..file
    };
    let model = one_input.read_changed_as_it_is(changes)?;
    let graph = graph::build(&model, MAIN_SUBGRAPH)?;
    Ok(sweep(&graph, &analysis::analyze(&graph), gpu, bundle))
}

fn estimate_models(
    files: &[ModelFile],
    models: &[Result<Model, Unread>],
    predictor: Option<&Predictor>,
    targets: &[Box<dyn Target>],
    detail: Detail,
) -> Result<Vec<Result<Report, EstimateError>>, PredictorError> {
    let predictor = predictor.filter(|_| targets.iter().any(|target| target.is_learned()));
    let int8_models: Vec<Option<Model>> = models
        .iter()
        .map(|model| as_int8(model.as_ref().ok()?))
        .collect();
    let manifest = predictor.map(Predictor::manifest);
    // The trained network knows networks of integers: of others it is asked about the converted ones.
    let mut read: Vec<_> = (models.iter().zip(&int8_models))
        .map(|(model, int8)| Facts::of(model, manifest.filter(|_| int8.is_none())))
        .collect();
    let mut converted: Vec<Option<Facts>> = int8_models
        .iter()
        .map(|model| Facts::of_model(model.as_ref()?, manifest).ok())
        .collect();
    let asked = read.iter_mut().zip(&mut converted);
    let asked = asked.filter_map(|(facts, converted)| {
        let facts = facts.as_mut().ok()?;
        converted.as_mut().unwrap_or(facts).learned.as_mut()
    });
    if let Some(predictor) = predictor {
        run_network(predictor, asked)?;
    }
    let report = |((facts, converted), file): (
        (Result<Facts, EstimateError>, Option<Facts>),
        &ModelFile,
    )| {
        let facts = facts?;
        let bundle = predictor.map(Predictor::id);
        Ok(facts.report(file, converted.as_ref(), bundle, targets, detail))
    };
    Ok(read
        .into_iter()
        .zip(converted)
        .zip(files)
        .map(report)
        .collect())
}

/// Runs the network once for every graph that is like those of training: of others nobody asks it.
fn run_network<'f, 'p: 'f>(
    predictor: &Predictor,
    asked: impl Iterator<Item = &'f mut Asked<'p>>,
) -> Result<(), PredictorError> {
    let asked: Vec<&mut Asked> = asked
        .filter(|asked| asked.learned.likeness.is_like_training)
        .collect();
    let features: Vec<&Features> = asked.iter().map(|asked| &asked.features).collect();
    let estimates = predictor.predict_many(&features)?;
    for (asked, estimates) in asked.into_iter().zip(estimates) {
        asked.learned.estimates = estimates;
        asked.features = Features::default();
    }
    Ok(())
}

/// What a file says by itself.
struct Facts<'m> {
    model: &'m Model<'m>,
    graph: Graph<'m>,
    analysis: Analysis,
    /// Absent where the trained network is not asked.
    learned: Option<Asked<'m>>,
}

/// A graph as the trained network is asked about it.
struct Asked<'m> {
    features: Features,
    plans: SharedPlans,
    learned: Learned<'m>,
}

impl<'m> Facts<'m> {
    /// `manifest` is that of the trained network that is asked.
    fn of(
        read: &'m Result<Model<'m>, Unread>,
        manifest: Option<&'m Manifest>,
    ) -> Result<Self, EstimateError> {
        let model = read.as_ref().map_err(Unread::clone)?;
        Ok(Self::of_model(model, manifest)?)
    }

    fn of_model(model: &'m Model<'m>, manifest: Option<&'m Manifest>) -> Result<Self, CycleError> {
        let graph = graph::build(model, MAIN_SUBGRAPH)?;
        let analysis = analysis::analyze(&graph);
        let asked = |manifest| {
            let (features, plans) = ethos_u::features_and_plans(&graph, &analysis);
            Asked {
                learned: Learned {
                    manifest,
                    estimates: Estimates::default(),
                    likeness: Likeness::of(manifest, &graph, &features),
                },
                features,
                plans,
            }
        };
        Ok(Self {
            learned: manifest.map(asked),
            model,
            graph,
            analysis,
        })
    }

    fn network(&self, file: &ModelFile) -> Network<'_> {
        Network {
            graph: &self.graph,
            analysis: &self.analysis,
            plans: self.learned.as_ref().map(|asked| &asked.plans),
            learned: self.learned.as_ref().map(|asked| &asked.learned),
            n_threads: file.threads,
            batch: file.batch,
            works: OnceCell::new(),
        }
    }

    fn report(
        &self,
        file: &ModelFile,
        as_int8: Option<&Facts>,
        bundle: Option<&str>,
        targets: &[Box<dyn Target>],
        detail: Detail,
    ) -> Report {
        let Self {
            model,
            graph,
            analysis,
            ..
        } = self;
        let network = self.network(file);
        let as_int8 = as_int8.map(|facts| facts.network(file));
        let is_full = detail == Detail::Full;
        let Results {
            mut results,
            left_out,
            doubts,
        } = report::results(&network, as_int8.as_ref(), targets);
        if !is_full {
            report::forget_parts(&mut results);
        }
        let of_file = (model.diagnostics.iter().cloned())
            .chain(report::other_subgraphs(model, graph))
            .chain(analysis.diagnostics.iter().cloned());
        let mut diagnostics: Vec<Doubt> = of_file.map(Doubt::from).collect();
        diagnostics.extend(doubts);
        Report {
            schema_version: REPORT_VERSION,
            litecast_version: env!("CARGO_PKG_VERSION"),
            bundle: bundle.map(str::to_owned),
            interval_percent: INTERVAL_PERCENT,
            file: file.name.to_owned(),
            sha256: is_full.then(|| match file.sha256 {
                Some(known) => known.to_owned(),
                None => report::sha256(file.bytes),
            }),
            batch: file.batch.get(),
            model: report::model_facts(model, graph, analysis),
            results,
            operators: match is_full {
                true => report::operators(graph, analysis),
                false => Vec::new(),
            },
            tensors: match is_full {
                true => report::tensors(graph),
                false => Vec::new(),
            },
            edges: match is_full {
                true => report::edges(graph),
                false => Vec::new(),
            },
            fits: match is_full {
                true => boards::fits(graph, analysis, file.application).ok(),
                false => None,
            },
            left_out: match is_full {
                true => left_out,
                false => Vec::new(),
            },
            diagnostics,
        }
    }
}
