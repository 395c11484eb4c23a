//! Runs targets: the facts of a network once, each target on the network as it is, and those that run integers alone on
//! the same network as int8 where they have no estimate; then wider intervals beyond what was measured, and the check
//! against peak rates.

mod answers;
mod error;
mod facts;
mod places;
pub mod plausibility;
mod request;
mod results;
pub mod widening;

pub use error::EstimateError;
pub use request::{ModelFile, Request};

pub(crate) use facts::{DetachedFacts, Facts};
pub(crate) use results::{Results, forget_parts, other_subgraphs};

use answers::{Answers, Group};
pub(crate) use places::Places;

use crate::formats::tflite::{Format, Model};
use crate::graph::as_int8;
use crate::graph::quantise::unpacking;
use crate::learned::predictor::Predictor;
use crate::model_variants::{Changes, EstimateAs};
use crate::target::Target;

/// A network with the results of all targets.
pub(crate) struct Evaluation<'f> {
    pub model: Model<'f>,
    pub kept: DetachedFacts,
    pub results: Results,
}

/// Asks `targets` about the network of `file` after `changes`.
pub(crate) fn evaluate<'f>(
    file: &ModelFile<'f>,
    changes: &Changes,
    predictor: Option<&Predictor>,
    targets: &[Box<dyn Target>],
) -> Result<Evaluation<'f>, EstimateError> {
    let mut model = if take_any_batch(targets) {
        file.read_changed_as_it_is(changes)?
    } else {
        file.read_changed(changes)?
    };
    let request = &file.request;
    let is_converted = request.estimate_as == EstimateAs::Auto
        && as_int8::is_float(&model)
        && !(model.format == Format::Tflite && as_int8::is_quantised(&model));
    let mut answers = Answers::none(targets);
    let mut kept = Facts::new(&model)?.detach();
    let groups = Group::for_size(kept.topology.n_nodes());
    for &group in groups {
        let facts = kept.attach(&model);
        let network = facts.network(request, predictor);
        answers.ask(group, &network);
        network.into_failure().map_or(Ok(()), Err)?;
        kept = facts.detach();
        if !is_converted || !answers.need_int8(group) {
            continue;
        }
        let asked = AskedAsInt8 {
            file,
            changes,
            predictor,
            group,
            is_only_group: groups.len() == 1,
        };
        kept = if unpacking(&model).contains(&true) {
            asked.with_other_operators(&model, kept, &mut answers)?
        } else {
            asked.with_same_operators(&mut model, kept, &mut answers)?
        };
    }
    let facts = kept.attach(&model);
    let results = results::results(&facts.graph, answers);
    let kept = facts.detach();
    Ok(Evaluation {
        model,
        kept,
        results,
    })
}

/// A group of targets that is asked about the network as int8.
struct AskedAsInt8<'a, 'f> {
    file: &'a ModelFile<'f>,
    changes: &'a Changes,
    predictor: Option<&'a Predictor>,
    group: Group,
    is_only_group: bool,
}

impl<'f> AskedAsInt8<'_, 'f> {
    /// Where the network as int8 has other operators than those of the report, by whose places the answers are given.
    fn with_other_operators(
        &self,
        model: &Model,
        kept: DetachedFacts,
        answers: &mut Answers,
    ) -> Result<DetachedFacts, EstimateError> {
        let int8 = self.file.read_as_int8(self.changes)?;
        let of_int8 = Facts::new(&int8)?;
        let network = of_int8.network(&self.file.request, self.predictor);
        let facts = kept.attach(model);
        let places = Places::new(&of_int8.graph, &facts.graph);
        answers.ask_as_int8(self.group, &network, Some(&places));
        network.into_failure().map_or(Ok(()), Err)?;
        Ok(facts.detach())
    }

    /// Where only its types differ. `model` is as it was afterwards.
    fn with_same_operators(
        &self,
        model: &mut Model<'f>,
        mut kept: DetachedFacts,
        answers: &mut Answers,
    ) -> Result<DetachedFacts, EstimateError> {
        // A large network is counted again afterwards, which takes less memory than to keep both.
        let analysis = kept.analysis.take().filter(|_| self.is_only_group);
        let (mut floats, mut quantised) = (None, None);
        let int8 = match model.format {
            Format::Tflite => quantised.insert(self.file.read_as_int8(self.changes)?),
            Format::Onnx | Format::Ncnn | Format::GraphJson => {
                floats = Some(as_int8::convert(model));
                &*model
            }
        };
        let facts = kept.attach(int8);
        let network = facts.network(&self.file.request, self.predictor);
        answers.ask_as_int8(self.group, &network, None);
        network.into_failure().map_or(Ok(()), Err)?;
        let kept = DetachedFacts {
            analysis,
            ..facts.detach()
        };
        if let Some(floats) = floats {
            floats.restore(model);
        }
        Ok(kept)
    }
}

/// Whether all targets take the batch size as a number, so that shapes need not change.
fn take_any_batch(targets: &[Box<dyn Target>]) -> bool {
    !targets.is_empty() && targets.iter().all(|target| target.takes_any_batch())
}
