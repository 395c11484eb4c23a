//! The whole path, for one file or many: bytes → [`Report`].

use std::num::NonZeroU32;

use serde::Deserialize;

use crate::boards::{self, Application};
use crate::changes::{ChangeError, Changes};
use crate::formats::onnx::{self, Dimensions};
use crate::formats::tflite::{Format, MAIN_SUBGRAPH, Model, Tensor};
use crate::formats::{self, ReadError, UnmatchedDimensions};
use crate::graph::analysis::{self, Analysis};
use crate::graph::batch_size::{self, BatchError};
use crate::graph::missing_shapes::{self, InputSizeError};
use crate::graph::quantise::unpacks_constants;
use crate::graph::{self, CycleError, Graph, Topology, as_int8};
use crate::learned::predictor::{Predictor, PredictorError};
use crate::provenance::INTERVAL_PERCENT;
use crate::report::{
    self, Answers, Failure, Group, LeftOperator, REPORT_VERSION, Report, ReportDiagnostic, Results,
};
use crate::targets::gpu::specifications::Gpu;
use crate::targets::gpu::sweep::{Sweep, sweep};
use crate::targets::tflite_micro::arena_or_reason;
use crate::targets::{Network, Target, gpu, registry};

/// Why a file has no report.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EstimateError {
    /// The bytes are not a model that can be read.
    #[error(transparent)]
    Parse(#[from] ReadError),
    /// The model cannot have the batch size that was asked for.
    #[error(transparent)]
    Batch(#[from] BatchError),
    /// The model cannot be changed as was asked for.
    #[error(transparent)]
    Change(#[from] ChangeError),
    /// An input of a TFLite file cannot have the size that was asked for.
    #[error(transparent)]
    InputSize(#[from] InputSizeError),
    /// Sizes were given for dimensions that the file does not leave open.
    #[error(transparent)]
    UnmatchedDimensions(#[from] UnmatchedDimensions),
    /// The operators form a cycle of dependencies.
    #[error(transparent)]
    Cycle(#[from] CycleError),
    /// The trained network failed.
    #[error(transparent)]
    Predictor(#[from] PredictorError),
}

impl EstimateError {
    /// Stable kebab-case identifier for programs.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Parse(error) => error.kind(),
            Self::Batch(_) => "batch",
            Self::InputSize(error) => error.kind(),
            Self::UnmatchedDimensions(_) => "unmatched-dimension",
            Self::Change(error) => error.kind(),
            Self::Cycle(_) => "cycle",
            Self::Predictor(error) => error.kind(),
        }
    }

    /// Names of the dimensions that the file leaves open and [`ModelFile::dimensions`] has no size for, of the kind
    /// `unknown-dimension`; empty for all others.
    pub fn unknown_dimensions(&self) -> &[String] {
        match self {
            Self::Parse(ReadError::Onnx(onnx::ParseError::UnknownDimension { names, .. })) => names,
            _ => &[],
        }
    }
}

impl From<&EstimateError> for Failure {
    fn from(error: &EstimateError) -> Self {
        Self::new(error.kind(), error.to_string())
    }
}

/// In which precision a network of floats is estimated, whatever the format of its file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum EstimateAs {
    /// As int8 on NPUs that run integers alone, as it is on all other targets.
    #[default]
    Auto,
    /// As int8 on all targets.
    Int8,
    /// As it is: NPUs that run integers alone have no estimate.
    AsIs,
}

/// A model and the circumstances that it is estimated in.
#[derive(Clone, Copy, Debug)]
pub struct ModelFile<'f> {
    /// Name in the report.
    pub name: &'f str,
    /// A `.tflite` or `.onnx` file, or a graph without weights (`docs/guide/graph-json.md`).
    pub bytes: &'f [u8],
    /// Batch size, for a file whose batch size is 1: see [`batch_size`].
    pub batch: NonZeroU32,
    /// Threads on a Cortex-A processor, at most one for each core of the board.
    pub threads: NonZeroU32,
    /// Sizes that a file leaves open, by name: symbolic dimensions of an ONNX file, and those that
    /// [`set_input_sizes`](missing_shapes::set_input_sizes) takes of a TFLite file. The first dimension of an ONNX
    /// file's input is the batch if it has no size here.
    pub dimensions: &'f [(String, u32)],
    /// Whether `dimensions` are for several files, not all of which have every one. A name that this file does not
    /// leave open is then a warning in the report instead of an error.
    pub are_dimensions_shared: bool,
    /// Memory that the application needs for itself on microcontrollers.
    pub application: Application,
    /// In which precision a network of floats is estimated.
    pub estimate_as: EstimateAs,
    /// SHA-256 of `bytes` for the report, in 64 hexadecimal digits; computed if absent.
    pub sha256: Option<&'f str>,
}

impl<'f> ModelFile<'f> {
    /// The file without changes: batch size 1, one thread.
    pub fn new(name: &'f str, bytes: &'f [u8]) -> Self {
        Self {
            name,
            bytes,
            batch: NonZeroU32::MIN,
            threads: NonZeroU32::MIN,
            dimensions: &[],
            are_dimensions_shared: false,
            application: Application::default(),
            estimate_as: EstimateAs::default(),
            sha256: None,
        }
    }

    fn sha256_or_computed(&self) -> String {
        match self.sha256 {
            Some(known) => known.to_owned(),
            None => report::sha256(self.bytes),
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
        missing_shapes::set_input_sizes(&mut model, self.dimensions)?;
        match &model.unmatched_dimensions {
            Some(unmatched) if self.are_dimensions_shared => {
                model.diagnostics.push(unmatched.diagnostic());
            }
            Some(unmatched) => return Err(unmatched.clone().into()),
            None => {}
        }
        missing_shapes::fill(&mut model);
        let as_int8 = self.estimate_as == EstimateAs::Int8 && as_int8::is_float(&model);
        let changes = Changes {
            int8: changes.int8 || as_int8,
            ..changes.clone()
        };
        changes.apply(&mut model)?;
        Ok(model)
    }

    /// The network as int8, read once more.
    fn read_as_int8(&self, changes: &Changes) -> Result<Model<'f>, EstimateError> {
        let as_int8 = Self {
            estimate_as: EstimateAs::Int8,
            ..*self
        };
        as_int8.read_changed(changes)
    }

    fn read_changed(&self, changes: &Changes) -> Result<Model<'f>, EstimateError> {
        let mut model = self.read_changed_as_it_is(changes)?;
        // An ONNX file that leaves the batch open was already read with the requested batch size.
        if model.format != Format::Onnx || !has_batch(&model, self.batch) {
            batch_size::set_batch(&mut model, self.batch)?;
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

/// How much a report contains.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Detail {
    /// Everything.
    #[default]
    Full,
    /// For a search: without operators, tensors and edges, and without parts of results by operator.
    Summary,
}

/// The report of a file.
///
/// Without a predictor, the report contains exact facts and modelled estimates only. Estimates are for one inference of
/// the main subgraph (the first one).
pub fn estimate(file: ModelFile, predictor: Option<&Predictor>) -> Result<Report, EstimateError> {
    let mut reports = estimate_many(&[file], predictor)?;
    reports.pop().expect("every file has its own result")
}

/// [`estimate`] for each file, in the order of `files`, one after another: only one file's graph is in memory at a
/// time.
///
/// # Errors
/// [`PredictorError`] if the network fails, because this is not the fault of a single file.
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

/// As [`estimate_on`], with the requested `detail`. The predictor runs only if a target needs it.
pub fn estimate_in(
    files: &[ModelFile],
    predictor: Option<&Predictor>,
    targets: &[Box<dyn Target>],
    detail: Detail,
) -> Result<Vec<Result<Report, EstimateError>>, PredictorError> {
    let as_it_is = Changes::default();
    let estimate =
        |file: &ModelFile| match estimate_changed(*file, &as_it_is, predictor, targets, detail) {
            Err(EstimateError::Predictor(error)) => Err(error),
            report => Ok(report),
        };
    files.iter().map(estimate).collect()
}

/// Whether all targets take the batch size as a number, so that shapes need not change.
fn take_any_batch(targets: &[Box<dyn Target>]) -> bool {
    !targets.is_empty() && targets.iter().all(|target| target.takes_any_batch())
}

/// As [`estimate_in`] for one file, after `changes` were applied to its network.
pub fn estimate_changed(
    file: ModelFile,
    changes: &Changes,
    predictor: Option<&Predictor>,
    targets: &[Box<dyn Target>],
    detail: Detail,
) -> Result<Report, EstimateError> {
    let mut model = match take_any_batch(targets) {
        true => file.read_changed_as_it_is(changes)?,
        false => file.read_changed(changes)?,
    };
    let is_converted = file.estimate_as == EstimateAs::Auto && as_int8::is_float(&model);
    let mut answers = Answers::none(targets);
    let mut kept = Facts::of(&model)?.kept();
    let groups = Group::of_network(kept.topology.n_nodes());
    for &group in groups {
        let facts = kept.of(&model);
        let network = facts.network(&file, predictor);
        answers.ask(group, &network);
        network.into_failure().map_or(Ok(()), Err)?;
        kept = facts.kept();
        if is_converted && answers.lack_int8(group) {
            // A large network is counted again afterwards, which takes less memory than to keep both.
            let analysis = kept.analysis.take().filter(|_| groups.len() == 1);
            let (mut floats, mut quantised) = (None, None);
            let int8 = match model.format {
                Format::Tflite => quantised.insert(file.read_as_int8(changes)?),
                Format::Onnx | Format::GraphJson if unpacks_constants(&model) => {
                    quantised.insert(file.read_as_int8(changes)?)
                }
                Format::Onnx | Format::GraphJson => {
                    floats = Some(as_int8::convert(&mut model));
                    &model
                }
            };
            let facts = kept.of(int8);
            let network = facts.network(&file, predictor);
            answers.ask_as_int8(group, &network);
            network.into_failure().map_or(Ok(()), Err)?;
            kept = Kept {
                analysis,
                ..facts.kept()
            };
            if let Some(floats) = floats {
                floats.restore(&mut model);
            }
        }
    }
    let facts = kept.of(&model);
    let results = answers.into_results(&facts.graph);
    let report = facts.report(&file, predictor.map(Predictor::id), results, detail);
    drop(facts);
    Ok(Report {
        tensors: if_full(detail, || report::tensors(model)),
        ..report
    })
}

/// The operators of the changed network that each of `targets` leaves to a processor, in topological order.
pub fn left_out(
    file: ModelFile,
    changes: &Changes,
    targets: &[Box<dyn Target>],
) -> Result<Vec<Vec<LeftOperator>>, EstimateError> {
    let model = file.read_changed(changes)?;
    let facts = Facts::of(&model)?;
    let network = facts.network(&file, None);
    let of_target = |target: &dyn Target| {
        let unsupported = target.unsupported(&network);
        unsupported.iter().map(LeftOperator::from).collect()
    };
    let targets = targets.iter();
    Ok(targets.map(|target| of_target(&**target)).collect())
}

/// Time and memory by batch size on a GPU, after `changes` were applied to the file's network; `None` if no measured
/// network spends time in the kernels of this one.
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

/// The exact facts of a file.
struct Facts<'m> {
    model: &'m Model<'m>,
    graph: Graph<'m>,
    analysis: Analysis,
}

impl<'m> Facts<'m> {
    fn of(model: &'m Model<'m>) -> Result<Self, CycleError> {
        let graph = graph::build(model, MAIN_SUBGRAPH)?;
        Ok(Self {
            analysis: analysis::analyze(&graph),
            model,
            graph,
        })
    }

    fn kept(self) -> Kept {
        Kept {
            topology: self.graph.into_topology(),
            analysis: Some(self.analysis),
        }
    }

    fn network<'n>(&'n self, file: &ModelFile, predictor: Option<&'n Predictor>) -> Network<'n> {
        Network {
            predictor,
            n_threads: file.threads,
            batch: file.batch,
            ..Network::new(&self.graph, &self.analysis)
        }
    }

    /// The report without tensors.
    fn report(
        &self,
        file: &ModelFile,
        bundle: Option<&str>,
        results: Results,
        detail: Detail,
    ) -> Report {
        let Self {
            model,
            graph,
            analysis,
        } = self;
        let Results {
            mut results,
            left_out,
            doubts,
        } = results;
        let is_full = detail == Detail::Full;
        if !is_full {
            report::forget_parts(&mut results);
        }
        let live_bytes = report::live_bytes(graph, analysis);
        let live_bytes = live_bytes.as_deref();
        // First, because it needs memory of its own.
        let (fits, arena_bytes) = match detail {
            Detail::Full => {
                let fits = boards::fits(graph, analysis, file.application).ok();
                let arena_bytes = fits.as_ref().and_then(|fits| fits.need.arena_that_runs());
                (fits, arena_bytes)
            }
            Detail::Summary => (None, arena_or_reason(graph).ok()),
        };
        Report {
            schema_version: REPORT_VERSION,
            litecast_version: env!("CARGO_PKG_VERSION"),
            bundle: bundle.map(str::to_owned),
            interval_percent: INTERVAL_PERCENT,
            file: file.name.to_owned(),
            sha256: is_full.then(|| file.sha256_or_computed()),
            batch: file.batch.get(),
            model: report::model_facts(model, graph, analysis, live_bytes, arena_bytes),
            results,
            operators: if_full(detail, || report::operators(graph, analysis, live_bytes)),
            tensors: Vec::new(),
            edges: if_full(detail, || report::edges(graph)),
            fits,
            left_out: if_full(detail, || left_out),
            unmatched_dimensions: (model.unmatched_dimensions.as_ref())
                .map_or(Vec::new(), |unmatched| unmatched.names.clone()),
            diagnostics: self.diagnostics().chain(doubts).collect(),
        }
    }

    /// Those of the file and of its graph.
    fn diagnostics(&self) -> impl Iterator<Item = ReportDiagnostic> {
        let of_file = (self.model.diagnostics.iter().cloned())
            .chain(report::other_subgraphs(self.model, &self.graph))
            .chain(self.analysis.diagnostics.iter().cloned());
        of_file.map(ReportDiagnostic::from)
    }
}

/// Facts of a model that may change meanwhile.
struct Kept {
    topology: Topology,
    /// Absent where the model has to be counted again.
    analysis: Option<Analysis>,
}

impl Kept {
    fn of<'m>(self, model: &'m Model<'m>) -> Facts<'m> {
        let graph = self.topology.into_graph(model);
        Facts {
            analysis: (self.analysis).unwrap_or_else(|| analysis::analyze(&graph)),
            model,
            graph,
        }
    }
}

/// A part of a report that only [`Detail::Full`] contains; empty otherwise.
fn if_full<T: Default>(detail: Detail, part: impl FnOnce() -> T) -> T {
    match detail {
        Detail::Full => part(),
        Detail::Summary => T::default(),
    }
}
