//! The whole path for one file: bytes → [`Report`].

use crate::analysis;
use crate::features;
use crate::graph::{self, CycleError};
use crate::predictor::{Predictor, PredictorError};
use crate::report::{self, REPORT_VERSION, Report};
use crate::tflite::{self, ParseError};

/// Why a file has no report.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EstimateError {
    #[error(transparent)]
    Parse(#[from] ParseError),
    #[error(transparent)]
    Cycle(#[from] CycleError),
    #[error(transparent)]
    Predictor(#[from] PredictorError),
}

impl EstimateError {
    /// Stable kebab-case identifier for programs.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Parse(error) => error.kind(),
            Self::Cycle(_) => "cycle",
            Self::Predictor(error) => error.kind(),
        }
    }
}

/// Everything there is to say about the `.tflite` file in `bytes`.
///
/// `file` is the name to report. Without a predictor the report holds the exact facts, and what is
/// modelled from them alone.
/// Estimates are those of the main subgraph (the first one), for one inference.
pub fn estimate(
    bytes: &[u8],
    file: &str,
    predictor: Option<&Predictor>,
) -> Result<Report, EstimateError> {
    let model = tflite::parse(bytes)?;
    let graph = graph::build(&model, MAIN_SUBGRAPH)?;
    let analysis = analysis::analyze(&graph);
    let features = features::extract(&graph, &analysis);
    let (results, doubts) = report::results(&graph, &analysis, &features, predictor)?;
    let mut diagnostics = model.diagnostics.clone();
    diagnostics.extend(report::scope(&model, &graph));
    diagnostics.extend(analysis.diagnostics.iter().cloned());
    diagnostics.extend(doubts);
    Ok(Report {
        schema_version: REPORT_VERSION,
        file: file.to_owned(),
        model: report::model_facts(&model, &graph, &analysis),
        results,
        operators: report::operators(&graph, &analysis),
        tensors: report::tensors(&graph),
        edges: report::edges(&graph),
        diagnostics,
    })
}

const MAIN_SUBGRAPH: usize = 0;
