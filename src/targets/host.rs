//! The processor beside an accelerator, which runs the operators that the accelerator leaves to it.

use super::{cortex_a, cortex_m, tflite_micro};
use crate::diagnostic::Diagnostic;
use crate::graph::Node;
use crate::target::{HostInfo, Network, UnavailableReason};

/// A processor whose operators have costs.
#[derive(Clone, Copy, Debug)]
pub enum Host {
    /// Under Linux, with LiteRT.
    CortexA(&'static cortex_a::Board),
    /// With TensorFlow Lite Micro.
    CortexM {
        target: &'static cortex_m::Target,
        clock_mhz: f64,
    },
}

/// Time of the operators that a host runs, in ms.
#[derive(Clone, Debug, Default)]
pub struct HostLatency {
    pub value_ms: f64,
    /// Ends of the 90 % interval.
    pub lo_ms: f64,
    pub hi_ms: f64,
    /// Parallel to the operators that were asked for.
    pub operators_ms: Vec<f64>,
}

impl Host {
    /// Ids of all hosts.
    pub fn ids() -> impl Iterator<Item = &'static str> {
        let boards = cortex_a::Constants::shipped().boards.iter();
        let cores = cortex_m::Constants::shipped().targets.iter();
        let cores = cores.filter(|target| target.is_host());
        (boards.map(|board| board.target.as_str())).chain(cores.map(|core| core.target.as_str()))
    }

    /// A processor by its id, a microcontroller at `clock_mhz` or else at its own clock; `None` for other ids.
    pub fn by_id(id: &str, clock_mhz: Option<f64>) -> Option<Self> {
        if let Some(board) = cortex_a::Constants::shipped().board(id) {
            return Some(Self::CortexA(board));
        }
        let target = cortex_m::Constants::shipped().target(id)?;
        target.is_host().then(|| Self::CortexM {
            target,
            clock_mhz: clock_mhz.unwrap_or(target.clock_mhz),
        })
    }

    /// Each of [`Self::ids`], a microcontroller at its own clock.
    pub fn all() -> impl Iterator<Item = Self> {
        Self::ids().filter_map(|id| Self::by_id(id, None))
    }

    /// Id and hardware.
    pub fn info(&self) -> HostInfo {
        HostInfo {
            id: match self {
                Self::CortexA(board) => &board.target,
                Self::CortexM { target, .. } => &target.target,
            },
            device: self.device(),
        }
    }

    /// The hardware in words.
    pub fn device(&self) -> String {
        match self {
            Self::CortexA(board) => board.device.clone(),
            Self::CortexM { target, clock_mhz } => {
                format!("{} at {clock_mhz} MHz", target.device)
            }
        }
    }

    /// A diagnostic that hardly any network was measured on it; `None` where enough were.
    pub fn few_networks(&self) -> Option<Diagnostic> {
        match self {
            Self::CortexA(_) => None,
            Self::CortexM { target, .. } => target.few_networks().map(|doubt| Diagnostic {
                message: format!("operators beside the accelerator: {}", doubt.message),
                ..doubt
            }),
        }
    }

    /// What the times are made from.
    pub fn in_words(&self) -> String {
        match self {
            Self::CortexA(board) => board.in_words(),
            Self::CortexM { target, .. } => target.in_words(),
        }
    }

    /// Time of these nodes, given by index, or the reason why one of them has none. Linear in the network's operators and
    /// weight bytes.
    pub fn latency(
        &self,
        network: &Network,
        nodes: &[usize],
    ) -> Result<HostLatency, UnavailableReason> {
        if let Some(&idx) = nodes.iter().find(|&&idx| !self.runs(network, idx)) {
            return Err(self.no_cost_of(&network.graph.nodes[idx]));
        }
        let refused = |&idx: &usize| self.refusal_of(network, idx);
        if let Some(reason) = nodes.iter().find_map(refused) {
            return Err(reason);
        }
        let latency = self.sum(network, nodes);
        let latency = latency.ok_or(UnavailableReason::NeverMeasured)?;
        let mut nodes = nodes.iter().map(|&idx| &network.graph.nodes[idx]);
        let of_vendor = nodes.find(|node| cortex_a::is_uncounted_of_vendor(node.operator));
        match of_vendor {
            Some(node) if cortex_a::is_loose(latency.value_ms, latency.hi_ms) => {
                Err(self.no_cost_of(node))
            }
            _ => Ok(latency),
        }
    }

    /// Whether the host has a cost for a node.
    fn runs(&self, network: &Network, node_idx: usize) -> bool {
        match self {
            Self::CortexA(_) => !cortex_a::kernel_counts_of(network)[node_idx].is_unknown,
            Self::CortexM { .. } => cortex_m::is_known(&network.graph.nodes[node_idx]),
        }
    }

    /// Why its runtime does not run a node; LiteRT runs all that it has a cost for.
    fn refusal_of(&self, network: &Network, node_idx: usize) -> Option<UnavailableReason> {
        let Self::CortexM { target, .. } = self else {
            return None;
        };
        let node = &network.graph.nodes[node_idx];
        let refusal = (target.is_micro()).then(|| tflite_micro::refusal_of(network.graph, node));
        Some(UnavailableReason::OfTarget {
            code: "host-refuses-operator",
            words: format!(
                "{}, operator {}, stays on the CPU, where TensorFlow Lite Micro does not run it: {}",
                node.operator.code.name(),
                node.operator_idx,
                refusal.flatten()?
            ),
        })
    }

    fn no_cost_of(&self, node: &Node) -> UnavailableReason {
        UnavailableReason::OfTarget {
            code: "host-operator",
            words: format!(
                "{}, operator {}, stays on the CPU and has no cost on {}",
                node.operator.code.name(),
                node.operator_idx,
                self.device()
            ),
        }
    }

    fn sum(&self, network: &Network, nodes: &[usize]) -> Option<HostLatency> {
        match self {
            Self::CortexA(board) => {
                let counts = cortex_a::kernel_counts_of(network);
                let counts: Vec<&cortex_a::KernelCounts> =
                    nodes.iter().filter_map(|&idx| counts.get(idx)).collect();
                let n_threads = board.threads(network.n_threads.get());
                let latency = cortex_a::latency(board, &counts, n_threads)?;
                Some(HostLatency {
                    value_ms: latency.value_ms,
                    lo_ms: latency.lo_ms,
                    hi_ms: latency.hi_ms,
                    operators_ms: latency.operators_ms,
                })
            }
            Self::CortexM { target, clock_mhz } => {
                let Network {
                    graph, analysis, ..
                } = network;
                let latency =
                    cortex_m::latency_of_nodes(graph, analysis, target, *clock_mhz, nodes)?;
                Some(HostLatency {
                    value_ms: latency.value_ms,
                    lo_ms: latency.lo_ms,
                    hi_ms: latency.hi_ms,
                    operators_ms: latency.operators_ms,
                })
            }
        }
    }
}
