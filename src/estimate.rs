//! The whole path, for one file or many: bytes → [`Report`].

use crate::boards;
use crate::evaluation::{
    Evaluation, Facts, Places, Results, evaluate, forget_parts, other_subgraphs,
};
use crate::formats::tflite::Model;
use crate::graph::as_int8;
use crate::learned::predictor::{Predictor, PredictorError};
use crate::model_variants::Changes;
use crate::provenance::INTERVAL_PERCENT;
use crate::report::{self, Dimension, LeftOperator, REPORT_VERSION, Report, ReportDiagnostic};
use crate::target::Target;
use crate::targets::registry;

pub use crate::evaluation::{EstimateError, ModelFile, Request};
pub use crate::model_variants::EstimateAs;

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
/// Without a predictor, the estimates are those of rules and models alone. They are for one inference of
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

/// As [`estimate_in`] for one file, after `changes` were applied to its network.
pub fn estimate_changed(
    file: ModelFile,
    changes: &Changes,
    predictor: Option<&Predictor>,
    targets: &[Box<dyn Target>],
    detail: Detail,
) -> Result<Report, EstimateError> {
    let Evaluation {
        model,
        kept,
        results,
    } = evaluate(&file, changes, predictor, targets)?;
    let facts = kept.attach(&model);
    let report = document(&facts, &file, predictor.map(Predictor::id), results, detail);
    drop(facts);
    Ok(Report {
        tensors: if_full(detail, || report::tensors(model)),
        ..report
    })
}

/// The operators of the changed network that each of `targets` leaves to a processor, in topological order; of a network
/// of floats on a target that runs integers alone, those of the network as int8.
pub fn left_out(
    file: ModelFile,
    changes: &Changes,
    targets: &[Box<dyn Target>],
) -> Result<Vec<Vec<LeftOperator>>, EstimateError> {
    let model = file.read_changed(changes)?;
    let is_converted = file.request.estimate_as == EstimateAs::Auto
        && as_int8::is_float(&model)
        && targets.iter().any(|target| target.runs_integers_alone());
    let as_int8 = is_converted
        .then(|| file.read_as_int8(changes))
        .transpose()?;
    let facts = Facts::new(&model)?;
    let facts_as_int8 = as_int8.as_ref().map(Facts::new).transpose()?;
    let network = facts.network(&file.request, None);
    let network_as_int8 = facts_as_int8
        .as_ref()
        .map(|facts| facts.network(&file.request, None));
    let places = facts_as_int8.as_ref();
    let places = places.map(|as_int8| Places::new(&as_int8.graph, &facts.graph));
    let of_target = |target: &dyn Target| {
        let as_int8 = network_as_int8.as_ref().zip(places.as_ref());
        let as_int8 = as_int8.filter(|_| target.runs_integers_alone());
        let unsupported = match as_int8 {
            Some((network, places)) => {
                let mut unsupported = target.unsupported(network);
                places.move_operators(&mut unsupported);
                unsupported
            }
            None => target.unsupported(&network),
        };
        unsupported.iter().map(LeftOperator::from).collect()
    };
    let targets = targets.iter();
    Ok(targets.map(|target| of_target(&**target)).collect())
}

/// The report without tensors.
fn document(
    facts: &Facts,
    file: &ModelFile,
    bundle: Option<&str>,
    results: Results,
    detail: Detail,
) -> Report {
    let Facts {
        model,
        graph,
        analysis,
    } = facts;
    let Results {
        mut results,
        left_out,
        doubts,
    } = results;
    let is_full = detail == Detail::Full;
    if !is_full {
        forget_parts(&mut results);
    }
    let live_bytes = report::live_bytes(graph, analysis);
    let live_bytes = live_bytes.as_deref();
    // First, because it needs memory of its own.
    let (fits, arena_bytes) = match detail {
        Detail::Full => {
            let fits = boards::fits(graph, analysis, file.request.application).ok();
            let arena_bytes = fits.as_ref().and_then(|fits| fits.need.arena_bytes);
            (fits, arena_bytes)
        }
        Detail::Summary => (None, boards::arena_bytes(graph, analysis)),
    };
    Report {
        schema_version: REPORT_VERSION,
        litecast_version: env!("CARGO_PKG_VERSION"),
        bundle: bundle.map(str::to_owned),
        interval_percent: INTERVAL_PERCENT,
        file: file.name.to_owned(),
        sha256: is_full.then(|| file.sha256_or_computed()),
        batch: file.request.batch.get(),
        dimensions: dimensions(file, model),
        estimate_as: file.request.estimate_as,
        model: report::model_facts(model, graph, analysis, live_bytes, arena_bytes),
        results,
        operators: if_full(detail, || report::operators(graph, analysis, live_bytes)),
        tensors: Vec::new(),
        edges: if_full(detail, || report::edges(graph)),
        fits,
        left_out: if_full(detail, || left_out),
        unmatched_dimensions: (model.unmatched_dimensions.as_ref())
            .map_or(Vec::new(), |unmatched| unmatched.names.clone()),
        diagnostics: diagnostics(facts).chain(doubts).collect(),
    }
}

/// The sizes that were given, without those of dimensions that the file does not leave open.
fn dimensions(file: &ModelFile, model: &Model) -> Vec<Dimension> {
    let unmatched = model.unmatched_dimensions.as_ref();
    let is_matched =
        |name: &String| unmatched.is_none_or(|unmatched| !unmatched.names.contains(name));
    let given = file.request.dimensions.iter();
    given
        .filter(|(name, _)| is_matched(name))
        .map(|(name, size)| Dimension {
            name: name.clone(),
            size: *size,
        })
        .collect()
}

/// Those of the file and of its graph.
fn diagnostics(facts: &Facts) -> impl Iterator<Item = ReportDiagnostic> {
    let of_file = (facts.model.diagnostics.iter().cloned())
        .chain(other_subgraphs(facts.model, &facts.graph))
        .chain(facts.analysis.diagnostics.iter().cloned());
    of_file.map(ReportDiagnostic::from)
}

/// A part of a report that only [`Detail::Full`] contains; empty otherwise.
fn if_full<T: Default>(detail: Detail, part: impl FnOnce() -> T) -> T {
    match detail {
        Detail::Full => part(),
        Detail::Summary => T::default(),
    }
}
