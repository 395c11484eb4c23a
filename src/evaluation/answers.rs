//! The answer of each target to a network: its estimate, checked and widened, on one thread or two.

use super::places::Places;
use super::{plausibility, widening};
use crate::target::measured_range::{Beyond, MIN_REPORTED_FACTOR};
use crate::target::{
    HostInfo, Metric, Network, Settings, Target, TargetEstimate, UnsupportedOperator,
};

/// The result of one target for a network.
pub struct Answer {
    pub estimate: TargetEstimate,
    /// Whether the result is for the network as int8.
    pub is_converted: bool,
    pub is_estimated: bool,
    /// How far its latency is outside of the measured range, if it is.
    pub beyond: Option<Beyond>,
    /// The operators that the target does not run, if it has an estimate.
    pub unsupported: Vec<UnsupportedOperator>,
    /// The processor that runs them.
    pub host: Option<HostInfo>,
    pub settings: Settings,
}

impl Answer {
    fn new(target: &dyn Target, network: &Network) -> Self {
        let mut estimate = target.estimate(network);
        let beyond = widening::widen(target, network, &mut estimate);
        plausibility::check(target, network, &mut estimate);
        // A memory that needs no kernel is no answer of hardware that runs integers alone.
        let is_answer = |metric: Metric| !(target.runs_integers_alone() && metric.is_of_file());
        let mut metrics = estimate.metrics.iter();
        let is_estimated = metrics.any(|one| one.outcome.is_estimate() && is_answer(one.metric));
        Self {
            host: target.host(),
            settings: target.settings(network.n_threads),
            unsupported: if is_estimated {
                target.unsupported(network)
            } else {
                Vec::new()
            },
            estimate,
            is_converted: false,
            is_estimated,
            beyond: beyond.filter(|beyond| is_estimated && beyond.factor >= MIN_REPORTED_FACTOR),
        }
    }
}

/// Minimum number of operators from which targets that plan operators and other targets run in parallel. Below it, a
/// thread costs as much as it saves.
const MIN_PARALLEL_OPERATORS: usize = 4096;
/// Maximum number of operators of a network for which they do. Beyond it, one after the other takes a fifth less memory
/// and up to a third more time; no network of use has so many.
const MAX_PARALLEL_OPERATORS: usize = 1 << 16;

fn answers(network: &Network, targets: &[&dyn Target]) -> Vec<Answer> {
    let answer = |target: &&dyn Target| Answer::new(*target, network);
    // Only targets that plan may ask a trained network, whose failure is looked for in `network`. Targets share large
    // results, which are freed after the last target.
    let answers_apart = |targets: Vec<&dyn Target>| -> Vec<Answer> {
        let network = network.without_shared();
        let answer = |target: &&dyn Target| Answer::new(*target, &network);
        targets.iter().map(answer).collect()
    };
    let n_operators = network.graph.nodes.len();
    if n_operators < MIN_PARALLEL_OPERATORS {
        return targets.iter().map(answer).collect();
    }
    let (planning, others): (Vec<_>, Vec<_>) =
        (targets.iter()).partition(|target| target.plans_operators());
    let answers_planned = || -> Vec<Answer> { planning.iter().map(answer).collect() };
    let has_threads = || std::thread::available_parallelism().is_ok_and(|n| n.get() > 1);
    let (planned, others) = if n_operators <= MAX_PARALLEL_OPERATORS && has_threads() {
        std::thread::scope(|scope| {
            let others = scope.spawn(|| answers_apart(others));
            let planned = answers_planned();
            match others.join() {
                Ok(others) => (planned, others),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        })
    } else {
        let planned = answers_planned();
        (planned, answers_apart(others))
    };
    let (mut planned, mut others) = (planned.into_iter(), others.into_iter());
    let next = |target: &&dyn Target| {
        if target.plans_operators() {
            planned.next()
        } else {
            others.next()
        }
    };
    targets.iter().filter_map(next).collect()
}

/// Targets that are asked one after the other, of the network and of its int8 form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    All,
    /// Those that plan operators.
    Planning,
    Others,
}

impl Group {
    /// All targets are asked together, except about a large network: the results of some are then not held while others
    /// plan.
    pub fn for_size(n_operators: usize) -> &'static [Self] {
        if n_operators > MAX_PARALLEL_OPERATORS {
            &[Self::Planning, Self::Others]
        } else {
            &[Self::All]
        }
    }

    fn contains(self, target: &dyn Target) -> bool {
        match self {
            Self::All => true,
            Self::Planning => target.plans_operators(),
            Self::Others => !target.plans_operators(),
        }
    }
}

/// The results of each of some targets.
pub struct Answers<'t> {
    targets: &'t [Box<dyn Target>],
    /// Parallel to the targets; absent before they are asked.
    answers: Vec<Option<Answer>>,
}

impl<'t> Answers<'t> {
    /// Of targets that have not been asked.
    pub fn none(targets: &'t [Box<dyn Target>]) -> Self {
        Self {
            targets,
            answers: targets.iter().map(|_| None).collect(),
        }
    }

    /// Whether a target of a group that runs integers alone has no estimate.
    pub fn need_int8(&mut self, group: Group) -> bool {
        let mut without = self.without_estimate(group);
        without.any(|(target, _)| target.runs_integers_alone())
    }

    /// Asks the targets of a group about a network.
    pub fn ask(&mut self, group: Group, network: &Network) {
        self.set(group, network, false, None);
    }

    /// Asks those of its targets that run integers alone, and have no estimate, about the same network as int8, whose
    /// operators are at `places` of the network if it has fewer.
    pub fn ask_as_int8(&mut self, group: Group, as_int8: &Network, places: Option<&Places>) {
        self.set(group, as_int8, true, places);
    }

    fn set(
        &mut self,
        group: Group,
        network: &Network,
        is_converted: bool,
        places: Option<&Places>,
    ) {
        let asked = self.without_estimate(group);
        let asked = asked.filter(|(target, _)| !is_converted || target.runs_integers_alone());
        let (targets, without): (Vec<&dyn Target>, Vec<_>) = asked.unzip();
        for (without, mut answer) in without.into_iter().zip(answers(network, &targets)) {
            if let Some(places) = places {
                places.move_estimate(&mut answer.estimate);
                places.move_operators(&mut answer.unsupported);
            }
            *without = Some(Answer {
                is_converted: is_converted && answer.is_estimated,
                ..answer
            });
        }
    }

    fn without_estimate(
        &mut self,
        group: Group,
    ) -> impl Iterator<Item = (&'t dyn Target, &mut Option<Answer>)> {
        let of_targets = self.targets.iter().map(Box::as_ref).zip(&mut self.answers);
        of_targets.filter(move |(target, answer)| {
            let is_estimated = |answer: &Answer| answer.is_estimated;
            group.contains(*target) && !answer.as_ref().is_some_and(is_estimated)
        })
    }

    /// The targets with their answers, all of which were asked.
    pub fn into_pairs(self) -> impl Iterator<Item = (&'t dyn Target, Answer)> {
        let targets = self.targets.iter().map(Box::as_ref);
        targets.zip(self.answers.into_iter().flatten())
    }
}
