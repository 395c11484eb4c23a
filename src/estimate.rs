//! The whole path, for one file or many: bytes → [`Report`].

use std::num::NonZeroU32;

use crate::boards::{self, Application, Fit, Need};
use crate::formats::tflite::{self, MAIN_SUBGRAPH, Model, ParseError};
use crate::graph::analysis::memory_plan::Unplannable;
use crate::graph::analysis::{self, Analysis};
use crate::graph::batch_size::{self, BatchError};
use crate::graph::{self, CycleError, Graph};
use crate::learned::features::Features;
use crate::learned::out_of_distribution::Learned;
use crate::learned::predictor::{Predictor, PredictorError};
use crate::report::{self, REPORT_VERSION, Report};
use crate::targets::cortex_m::{self, Latency, Refusal};
use crate::targets::{Network, Target, ethos_u, registry};

/// Why a file has no report.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EstimateError {
    /// The bytes are not a model that can be read.
    #[error(transparent)]
    Parse(#[from] ParseError),
    /// The model cannot take as many inputs at a time as were asked for.
    #[error(transparent)]
    Batch(#[from] BatchError),
    /// Operators wait for each other.
    #[error(transparent)]
    Cycle(#[from] CycleError),
    /// The network failed.
    #[error(transparent)]
    Predictor(#[from] PredictorError),
    /// The file does not tell how much memory it needs.
    #[error(transparent)]
    Arena(#[from] Unplannable),
}

impl EstimateError {
    /// Stable kebab-case identifier for programs.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Parse(error) => error.kind(),
            Self::Batch(_) => "batch",
            Self::Cycle(_) => "cycle",
            Self::Predictor(error) => error.kind(),
            Self::Arena(_) => "arena",
        }
    }
}

/// What an estimate is asked of.
#[derive(Clone, Copy, Debug)]
pub struct ModelFile<'f> {
    /// To report.
    pub name: &'f str,
    /// A `.tflite` file.
    pub bytes: &'f [u8],
    /// Inputs at a time, in a file that has one: see [`batch_size`].
    pub batch: NonZeroU32,
    /// Threads that a processor runs it on; a board with fewer cores takes as many as it has.
    pub threads: NonZeroU32,
}

impl<'f> ModelFile<'f> {
    /// The file as it is.
    pub fn new(name: &'f str, bytes: &'f [u8]) -> Self {
        Self {
            name,
            bytes,
            batch: NonZeroU32::MIN,
            threads: NonZeroU32::MIN,
        }
    }

    fn read(&self) -> Result<Model<'f>, Unread> {
        let mut model = tflite::parse(self.bytes).map_err(Unread::Parse)?;
        batch_size::set_batch(&mut model, self.batch).map_err(Unread::Batch)?;
        Ok(model)
    }
}

/// Why there is no model.
#[derive(Clone)]
enum Unread {
    Parse(ParseError),
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
    let models: Vec<_> = files.iter().map(ModelFile::read).collect();
    let read: Vec<_> = models.iter().map(Facts::of).collect();
    let features: Vec<&Features> = read.iter().flatten().map(|facts| &facts.features).collect();
    let mut estimates = match predictor {
        Some(predictor) => predictor.predict_many(&features)?.into_iter(),
        None => Vec::new().into_iter(),
    };
    let report = |(facts, file): (Result<Facts, EstimateError>, &ModelFile)| {
        let facts = facts?;
        let learned = predictor
            .zip(estimates.next())
            .map(|(predictor, estimates)| {
                Learned::new(
                    predictor.manifest(),
                    estimates,
                    &facts.graph,
                    &facts.features,
                )
            });
        Ok(facts.report(file, learned.as_ref(), targets))
    };
    Ok(read.into_iter().zip(files).map(report).collect())
}

/// Whether a file has room on each board of [`boards`], and its latency there.
///
/// [`boards`]: boards::boards
pub struct OnBoards {
    /// Beside what the application needs.
    pub need: Need,
    /// In the order of the table.
    pub boards: Vec<OnBoard>,
}

/// One board.
pub struct OnBoard {
    /// Whether the file has room.
    pub fit: Fit,
    /// At the board's clock; absent where nobody measured its core.
    pub latency: Option<Result<Latency, Refusal>>,
}

/// Of the main subgraph, beside what the application needs. Without a trained network.
///
/// # Errors
/// As [`estimate`], and [`EstimateError::Arena`] where the file does not tell how much memory it needs.
pub fn on_boards(file: ModelFile, application: &Application) -> Result<OnBoards, EstimateError> {
    let model = file.read()?;
    let graph = graph::build(&model, MAIN_SUBGRAPH)?;
    let analysis = analysis::analyze(&graph);
    let need = Need::of(&graph)?;
    let on_board = |fit: Fit| OnBoard {
        latency: fit.board.latency.as_ref().and_then(|of| {
            let target = cortex_m::Constants::shipped().target(&of.target)?;
            let clock_mhz = target.has_other_clocks.then_some(fit.board.clock_mhz);
            Some(cortex_m::latency(&graph, &analysis, target, clock_mhz))
        }),
        fit,
    };
    Ok(OnBoards {
        need,
        boards: boards::fits(&need, application)
            .into_iter()
            .map(on_board)
            .collect(),
    })
}

/// What a file says by itself.
struct Facts<'m> {
    model: &'m Model<'m>,
    graph: Graph<'m>,
    analysis: Analysis,
    features: Features,
}

impl<'m> Facts<'m> {
    fn of(read: &'m Result<Model<'m>, Unread>) -> Result<Self, EstimateError> {
        let model = read.as_ref().map_err(Unread::clone)?;
        let graph = graph::build(model, MAIN_SUBGRAPH)?;
        let analysis = analysis::analyze(&graph);
        Ok(Self {
            features: ethos_u::features(&graph, &analysis),
            model,
            graph,
            analysis,
        })
    }

    fn report(
        &self,
        file: &ModelFile,
        learned: Option<&Learned>,
        targets: &[Box<dyn Target>],
    ) -> Report {
        let Self {
            model,
            graph,
            analysis,
            features,
        } = self;
        let network = Network {
            graph,
            analysis,
            features,
            learned,
            n_threads: file.threads,
        };
        let (results, doubts) = report::results(&network, targets);
        let mut diagnostics = model.diagnostics.clone();
        diagnostics.extend(report::other_subgraphs(model, graph));
        diagnostics.extend(analysis.diagnostics.iter().cloned());
        diagnostics.extend(doubts);
        Report {
            schema_version: REPORT_VERSION,
            file: file.name.to_owned(),
            batch: file.batch.get(),
            model: report::model_facts(model, graph, analysis),
            results,
            operators: report::operators(graph, analysis),
            tensors: report::tensors(graph),
            edges: report::edges(graph),
            diagnostics,
        }
    }
}
