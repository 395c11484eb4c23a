//! The exact facts of a model, which are computed once for all targets.

use super::request::Request;
use crate::formats::tflite::{MAIN_SUBGRAPH, Model};
use crate::graph::analysis::{self, Analysis};
use crate::graph::{self, CycleError, Graph, Topology};
use crate::learned::predictor::Predictor;
use crate::target::Network;

/// The exact facts of a file.
pub struct Facts<'m> {
    pub model: &'m Model<'m>,
    pub graph: Graph<'m>,
    pub analysis: Analysis,
}

impl<'m> Facts<'m> {
    pub fn new(model: &'m Model<'m>) -> Result<Self, CycleError> {
        let graph = graph::build(model, MAIN_SUBGRAPH)?;
        Ok(Self {
            analysis: analysis::analyze(&graph),
            model,
            graph,
        })
    }

    pub fn detach(self) -> DetachedFacts {
        DetachedFacts {
            topology: self.graph.into_topology(),
            analysis: Some(self.analysis),
        }
    }

    pub fn network<'n>(
        &'n self,
        request: &Request,
        predictor: Option<&'n Predictor>,
    ) -> Network<'n> {
        Network {
            predictor,
            n_threads: request.threads,
            batch: request.batch,
            ..Network::new(&self.graph, &self.analysis)
        }
    }
}

/// Facts of a model that may change meanwhile.
pub struct DetachedFacts {
    pub topology: Topology,
    /// Absent where the model has to be counted again.
    pub analysis: Option<Analysis>,
}

impl DetachedFacts {
    pub fn attach<'m>(self, model: &'m Model<'m>) -> Facts<'m> {
        let graph = self.topology.into_graph(model);
        Facts {
            analysis: (self.analysis).unwrap_or_else(|| analysis::analyze(&graph)),
            model,
            graph,
        }
    }
}
