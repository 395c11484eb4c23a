//! A [`Model`] → the same model with its operators in an order that needs less peak memory for live tensors.
//!
//! A beam search over the orders that the operators' dependencies allow, as eliberis/tflite-tools reorders networks for
//! microcontrollers (Liberis and Lane, 2019). The planner of the arena then says how much memory an order saves.

use std::collections::HashSet;
use std::rc::Rc;

use super::{CycleError, build};
use crate::formats::tflite::op_row::Category;
use crate::formats::tflite::{MAIN_SUBGRAPH, Model, OpKind, Subgraph};
use crate::work;

/// Larger graphs keep their order: each operator is tried in up to [`BEAM_WIDTH`] places of as many partial orders.
const MAX_OPERATORS: usize = 1500;
/// Number of partial orders that the beam search follows.
const BEAM_WIDTH: usize = 24;

/// Changes the order of the main subgraph's operators. Returns whether an order with a lower peak of live activations
/// was found. `model` is unchanged if there is none, or if operators keep values between inferences, because the order
/// could change these values.
pub fn reorder(model: &mut Model) -> Result<bool, CycleError> {
    let Some(order) = order_of_lower_peak(model)? else {
        return Ok(false);
    };
    let operators = &mut model.subgraphs[MAIN_SUBGRAPH].operators;
    let mut slots: Vec<_> = std::mem::take(operators).into_iter().map(Some).collect();
    *operators = order
        .iter()
        .filter_map(|&idx| slots.get_mut(idx)?.take())
        .collect();
    Ok(true)
}

/// Operator indices in the new order; `None` if no order with a lower peak was found.
fn order_of_lower_peak(model: &Model) -> Result<Option<Vec<usize>>, CycleError> {
    let graph = build(model, MAIN_SUBGRAPH)?;
    let n = graph.nodes.len();
    let subgraph = graph.subgraph;
    if !(3..=MAX_OPERATORS).contains(&n) || keeps_state(subgraph) {
        return Ok(None);
    }
    let Some(problem) = Problem::new(&graph) else {
        return Ok(None);
    };
    let now = problem.peak_of(0..n);
    let Some(order) = problem.search() else {
        return Ok(None);
    };
    let is_lower = problem.peak_of(order.iter().copied()) < now;
    let order = order.iter().map(|&node| graph.nodes[node].operator_idx);
    Ok(is_lower.then(|| order.collect()))
}

fn keeps_state(subgraph: &Subgraph) -> bool {
    let mut is_written = vec![false; subgraph.tensors.len()];
    let mut outputs = subgraph
        .operators
        .iter()
        .flat_map(|operator| &operator.outputs);
    let is_written_twice =
        outputs.any(|&tensor_idx| std::mem::replace(&mut is_written[tensor_idx], true));
    let stateful = |kind: OpKind| kind.row().category == Category::Control;
    is_written_twice
        || subgraph.tensors.iter().any(|tensor| tensor.is_variable)
        || subgraph
            .operators
            .iter()
            .any(|operator| stateful(operator.code.kind))
}

/// Nodes, and the bytes of the activations between them.
struct Problem {
    /// By activation.
    bytes: Vec<u64>,
    n_readers: Vec<u32>,
    /// By node: activations read and written, each once.
    reads: Vec<Vec<usize>>,
    writes: Vec<Vec<usize>>,
    n_writers: Vec<u32>,
    readers: Vec<Vec<usize>>,
    /// Alive from the start: the inputs of the network.
    live_bytes: u64,
}

/// Numbers by place, of which copies share what does not change: a partial order is copied for each of its followers.
#[derive(Clone)]
struct Numbers(Vec<Rc<[Rc<Leaf>; LEAVES]>>);

const LEAF: usize = 32;
const LEAVES: usize = 32;
type Leaf = [u32; LEAF];

impl Numbers {
    fn new(numbers: &[u32]) -> Self {
        let zeros = Rc::new([0; LEAF]);
        let leaf = |part: &[u32]| {
            let mut leaf = [0; LEAF];
            leaf[..part.len()].copy_from_slice(part);
            Rc::new(leaf)
        };
        let branch = |part: &[u32]| {
            let mut leaves = part.chunks(LEAF).map(leaf);
            Rc::new(std::array::from_fn(|_| {
                leaves.next().unwrap_or_else(|| zeros.clone())
            }))
        };
        Self(numbers.chunks(LEAF * LEAVES).map(branch).collect())
    }

    fn get(&self, place: usize) -> u32 {
        self.0[place / (LEAF * LEAVES)][place / LEAF % LEAVES][place % LEAF]
    }

    fn get_mut(&mut self, place: usize) -> &mut u32 {
        let branch = Rc::make_mut(&mut self.0[place / (LEAF * LEAVES)]);
        &mut Rc::make_mut(&mut branch[place / LEAF % LEAVES])[place % LEAF]
    }
}

/// The activations that are alive while a network runs.
#[derive(Clone)]
struct Live {
    /// By activation, the readers that have not run.
    n_readers: Numbers,
    bytes: u64,
    peak_bytes: u64,
}

/// A partial order.
#[derive(Clone)]
struct State {
    /// Its last node, and the index of the [`Link`] before; absent at the start.
    last: Option<Link>,
    /// The first nodes that may run next, at most [`BEAM_WIDTH`]: those that are tried.
    ready: Vec<usize>,
    /// All nodes that were ready, one after the other; those from `n_taken` on are behind `ready`.
    queue: Numbers,
    n_taken: usize,
    n_queued: usize,
    waits_for: Numbers,
    live: Live,
    /// Hash of the set of nodes that have run, independent of their order.
    hash: u64,
}

impl State {
    fn push_ready(&mut self, node: usize) {
        *self.queue.get_mut(self.n_queued) = node as u32;
        self.n_queued += 1;
    }

    fn fill_ready(&mut self) {
        while self.ready.len() < BEAM_WIDTH && self.n_taken < self.n_queued {
            self.ready.push(self.queue.get(self.n_taken) as usize);
            self.n_taken += 1;
        }
    }
}

/// A node behind the node that ran before it.
#[derive(Clone, Copy)]
struct Link {
    node: usize,
    before: Option<usize>,
}

impl Problem {
    /// None where a size is unknown.
    fn new(graph: &super::Graph) -> Option<Self> {
        let subgraph = graph.subgraph;
        let n_tensors = subgraph.tensors.len();
        let mut bytes = Vec::with_capacity(n_tensors);
        for tensor in &subgraph.tensors {
            let is_constant = graph
                .buffers
                .get(tensor.buffer_idx)
                .is_some_and(|b| !b.is_empty());
            bytes.push(if is_constant { 0 } else { tensor.byte_len()? });
        }
        let mut n_readers = vec![0u32; n_tensors];
        // What the network gives stays alive to its end.
        for &output in &subgraph.outputs {
            n_readers[output] += 1;
        }
        let mut reads = Vec::new();
        let mut writes = Vec::new();
        for node in graph.nodes.iter() {
            let mut read: Vec<usize> = node.operator.inputs.iter().flatten().copied().collect();
            read.sort_unstable();
            read.dedup();
            for &tensor_idx in &read {
                n_readers[tensor_idx] += 1;
            }
            reads.push(read);
            writes.push(node.operator.outputs.clone());
        }
        let n = graph.nodes.len();
        let (mut n_writers, mut readers) = (vec![0; n], vec![Vec::new(); n]);
        for edge in graph.edges.iter() {
            n_writers[edge.dst] += 1;
            readers[edge.src].push(edge.dst);
        }
        let live = subgraph.inputs.iter().map(|&t| bytes[t]);
        Some(Self {
            live_bytes: live.fold(0, u64::saturating_add),
            bytes,
            n_readers,
            reads,
            writes,
            n_writers,
            readers,
        })
    }

    fn live(&self) -> Live {
        Live {
            n_readers: Numbers::new(&self.n_readers),
            bytes: self.live_bytes,
            peak_bytes: self.live_bytes,
        }
    }

    fn start(&self) -> State {
        let n = self.reads.len();
        let mut state = State {
            last: None,
            ready: Vec::new(),
            queue: Numbers::new(&vec![0; n]),
            n_taken: 0,
            n_queued: 0,
            waits_for: Numbers::new(&self.n_writers),
            live: self.live(),
            hash: 0,
        };
        let nodes = (0..n).filter(|&node| self.n_writers[node] == 0);
        nodes.for_each(|node| state.push_ready(node));
        state.fill_ready();
        state
    }

    /// Allocates what a node writes, and frees what it reads last.
    fn run(&self, live: &mut Live, node: usize) {
        let written = self.writes[node].iter().map(|&t| self.bytes[t]);
        live.bytes = written.fold(live.bytes, u64::saturating_add);
        live.peak_bytes = live.peak_bytes.max(live.bytes);
        for &tensor_idx in self.reads[node].iter().chain(&self.writes[node]) {
            let mut n_readers = live.n_readers.get(tensor_idx);
            if n_readers > 0 && self.reads[node].binary_search(&tensor_idx).is_ok() {
                n_readers -= 1;
                *live.n_readers.get_mut(tensor_idx) = n_readers;
            }
            if n_readers == 0 {
                live.bytes = live.bytes.saturating_sub(self.bytes[tensor_idx]);
            }
        }
    }

    /// Adds one of the ready nodes to an order.
    fn advance(&self, state: &mut State, node: usize, before: Option<usize>) {
        work::count(state.ready.len() + self.readers[node].len());
        self.run(&mut state.live, node);
        state.ready.retain(|&other| other != node);
        for &reader in &self.readers[node] {
            let waits_for = state.waits_for.get_mut(reader);
            *waits_for -= 1;
            if *waits_for == 0 {
                state.push_ready(reader);
            }
        }
        state.fill_ready();
        state.last = Some(Link { node, before });
        // A random number for each node (splitmix64), joined without order.
        let mut mixed = (node as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        state.hash ^= mixed ^ (mixed >> 31);
    }

    fn peak_of(&self, order: impl Iterator<Item = usize>) -> u64 {
        let mut live = self.live();
        order.for_each(|node| self.run(&mut live, node));
        live.peak_bytes
    }

    fn search(&self) -> Option<Vec<usize>> {
        let mut beam = vec![self.start()];
        // Of the partial orders that were followed.
        let mut links: Vec<Link> = Vec::new();
        for _ in 0..self.reads.len() {
            let mut next: Vec<State> = Vec::new();
            let mut visited = HashSet::new();
            for state in beam {
                links.extend(state.last);
                let before = state.last.map(|_| links.len() - 1);
                // In a chain there is only one choice, and nothing needs to be copied.
                if let [only] = state.ready[..] {
                    let mut state = state;
                    self.advance(&mut state, only, before);
                    next.push(state);
                    continue;
                }
                for &node in &state.ready {
                    let mut follower = state.clone();
                    self.advance(&mut follower, node, before);
                    next.push(follower);
                }
            }
            next.sort_by_key(|state| (state.live.peak_bytes, state.live.bytes));
            next.retain(|state| visited.insert(state.hash));
            next.truncate(BEAM_WIDTH);
            beam = next;
        }
        let mut last = beam.into_iter().next()?.last;
        let mut order = Vec::with_capacity(self.reads.len());
        while let Some(Link { node, before }) = last {
            order.push(node);
            last = before.map(|idx| links[idx]);
        }
        order.reverse();
        Some(order)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::tflite::TensorType;
    use crate::graph::analysis::fixtures::{model, operator, subgraph, tensor};

    /// Two branches that begin with 100 bytes and end with 1: one after the other needs less than both at once.
    #[test]
    fn one_branch_after_the_other() {
        let sizes = [10, 100, 100, 1, 1, 2];
        let tensors = sizes.map(|size| tensor(TensorType::Int8, &[size])).into();
        let operators = vec![
            operator(OpKind::Relu, &[0], &[1]),
            operator(OpKind::Relu, &[0], &[2]),
            operator(OpKind::Mean, &[1], &[3]),
            operator(OpKind::Mean, &[2], &[4]),
            operator(OpKind::Concatenation, &[3, 4], &[5]),
        ];
        let mut network = model(vec![subgraph(tensors, operators)]);
        let arena = |network: &Model| {
            let graph = build(network, 0).unwrap();
            crate::graph::analysis::analyze(&graph)
                .memory_plan
                .unwrap()
                .arena_bytes
        };
        let before = arena(&network);
        assert!(reorder(&mut network).unwrap());
        let outputs: Vec<usize> = network.subgraphs[0]
            .operators
            .iter()
            .map(|o| o.outputs[0])
            .collect();
        assert!(
            outputs == [1, 3, 2, 4, 5] || outputs == [2, 4, 1, 3, 5],
            "{outputs:?}"
        );
        println!("{before} -> {}", arena(&network));
        assert!(arena(&network) < before);
        assert!(!reorder(&mut network).unwrap(), "there is no better one");
    }

    /// The same search with a copy of everything for each follower.
    fn search_naively(problem: &Problem) -> Vec<usize> {
        type Naive = (Vec<usize>, Vec<usize>, u64, u64, u64);
        let peak_and_live = |order: &[usize]| {
            let mut live = problem.live();
            order.iter().for_each(|&node| problem.run(&mut live, node));
            (live.peak_bytes, live.bytes)
        };
        let follow = |(order, ready, ..): &Naive, node: usize| -> Naive {
            let order: Vec<usize> = order.iter().copied().chain([node]).collect();
            let mut ready: Vec<usize> = ready.iter().copied().filter(|&n| n != node).collect();
            for (at, &reader) in problem.readers[node].iter().enumerate() {
                let writes = |n: &&usize| problem.readers[**n].contains(&reader);
                let n_done: usize = (order.iter().filter(writes))
                    .map(|&n| problem.readers[n].iter().filter(|&&r| r == reader).count())
                    .sum();
                let is_last = !problem.readers[node][at + 1..].contains(&reader);
                if is_last && n_done == problem.n_writers[reader] as usize {
                    ready.push(reader);
                }
            }
            let mut set = order.clone();
            set.sort_unstable();
            let (peak, live) = peak_and_live(&order);
            let hash = set.iter().fold(0, |hash: u64, &n| {
                hash.wrapping_mul(0x0100_0000_01b3) ^ (n as u64 + 1)
            });
            (order, ready, peak, live, hash)
        };
        let n = problem.reads.len();
        let ready = (0..n)
            .filter(|&node| problem.n_writers[node] == 0)
            .collect();
        let mut beam: Vec<Naive> = vec![(Vec::new(), ready, 0, 0, 0)];
        for _ in 0..n {
            let followers = |state: &Naive| -> Vec<Naive> {
                let tried = state.1.iter().take(BEAM_WIDTH);
                tried.map(|&node| follow(state, node)).collect()
            };
            let mut next: Vec<Naive> = beam.iter().flat_map(followers).collect();
            next.sort_by_key(|&(.., peak, live, _)| (peak, live));
            let mut visited = HashSet::new();
            next.retain(|&(.., hash)| visited.insert(hash));
            next.truncate(BEAM_WIDTH);
            beam = next;
        }
        beam.swap_remove(0).0
    }

    /// Some operators read two earlier results, of different sizes; more of them are ready than are tried.
    #[test]
    fn orders_are_those_of_a_search_that_shares_nothing() {
        use proptest::prelude::*;
        let node = (
            any::<prop::sample::Index>(),
            any::<prop::sample::Index>(),
            1..200_i32,
        );
        let nodes = prop::collection::vec(node, 3..60);
        crate::graph::analysis::fixtures::for_each(60, nodes, |nodes| {
            let n = nodes.len();
            let sizes = std::iter::once(&10).chain(nodes.iter().map(|(.., size)| size));
            let tensors = sizes
                .map(|&size| tensor(TensorType::Int8, &[size]))
                .collect();
            let operators = (nodes.iter().enumerate())
                .map(|(idx, (one, other, _))| {
                    // Half of them read the network's input.
                    let reads =
                        [one, other].map(|at| at.index(2 * idx + 2).saturating_sub(idx + 1));
                    operator(OpKind::Add, &reads, &[idx + 1])
                })
                .collect();
            let mut network = model(vec![subgraph(tensors, operators)]);
            network.subgraphs[0].outputs = vec![n];
            let graph = build(&network, 0).unwrap();
            let problem = Problem::new(&graph).unwrap();
            assert_eq!(problem.search().unwrap(), search_naively(&problem));
        });
    }

    #[test]
    fn a_chain_stays() {
        let tensors = (0..4).map(|_| tensor(TensorType::Int8, &[8])).collect();
        let operators = (0..3)
            .map(|i| operator(OpKind::Relu, &[i], &[i + 1]))
            .collect();
        assert!(!reorder(&mut model(vec![subgraph(tensors, operators)])).unwrap());
    }
}
