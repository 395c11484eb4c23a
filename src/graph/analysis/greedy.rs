//! The greedy offline allocator of TensorFlow Lite Micro: buffers with lifetimes → offsets.
//!
//! Rules of `GreedyMemoryPlanner`, restated: buffers with a fixed offset come first, in the
//! order given. The others follow from the largest to the smallest; of two that are equally
//! large, the later one comes first. Each goes to the lowest offset where it fits between the
//! buffers already placed that are alive at the same time.

use crate::work;

/// A buffer to place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// A multiple of the arena's alignment, if offsets must be aligned.
    pub size_bytes: u64,
    /// First and last step at which the buffer is alive, inclusive.
    pub first_step: i64,
    pub last_step: i64,
    /// Offset of the buffer, if it is already decided.
    pub fixed_offset_bytes: Option<u64>,
}

/// Offset of each request, in bytes; `None` where an end does not fit 64 bits, or after `MAX_GAPS`. Up to `MAX_COMPARED`
/// requests are each compared with all others. Of more, each takes the logarithm of their number, times one more than
/// there are gaps below its place that are too small for it.
pub fn place(requests: &[Request]) -> Option<Vec<u64>> {
    if requests.len() <= MAX_COMPARED {
        place_in(&mut PlacedBuffers::new(), requests)
    } else {
        place_in(&mut OccupancyTree::new(requests), requests)
    }
}

/// A tree is faster from some hundred requests on.
const MAX_COMPARED: usize = 128;

/// Gaps that are looked at for all requests together: a plan of the arena in a file may leave as many as it has buffers,
/// each too small for all others.
const MAX_GAPS: usize = 1 << 19;

fn place_in(arena: &mut impl Arena, requests: &[Request]) -> Option<Vec<u64>> {
    let mut offsets = vec![0; requests.len()];
    for request_idx in placing_order(requests) {
        let request = &requests[request_idx];
        let offset_bytes = match request.fixed_offset_bytes {
            Some(fixed) => fixed,
            // At the start there is always room for nothing, which is in no other buffer's way: they are larger, and
            // come before.
            None if request.size_bytes == 0 => continue,
            None => arena.lowest_gap(request)?,
        };
        offsets[request_idx] = offset_bytes;
        let end_bytes = offset_bytes.checked_add(request.size_bytes)?;
        arena.insert(request, offset_bytes, end_bytes);
    }
    Some(offsets)
}

fn placing_order(requests: &[Request]) -> Vec<usize> {
    let is_fixed = |&idx: &usize| requests[idx].fixed_offset_bytes.is_some();
    let (mut order, mut free): (Vec<usize>, Vec<usize>) = (0..requests.len()).partition(is_fixed);
    free.reverse();
    free.sort_by_key(|&idx| std::cmp::Reverse(requests[idx].size_bytes));
    order.append(&mut free);
    order
}

/// The buffers that have their places.
trait Arena {
    fn lowest_gap(&mut self, request: &Request) -> Option<u64>;
    fn insert(&mut self, request: &Request, offset_bytes: u64, end_bytes: u64);
}

/// Offset, end, first and last step of each, in the order of their offsets.
type PlacedBuffers = Vec<(u64, u64, i64, i64)>;

impl Arena for PlacedBuffers {
    fn lowest_gap(&mut self, request: &Request) -> Option<u64> {
        let mut candidate = 0;
        for &mut (offset_bytes, end_bytes, first_step, last_step) in self {
            work::count(1);
            if first_step > request.last_step || request.first_step > last_step {
                continue;
            }
            // A neighbour that starts before the candidate leaves no gap.
            let gap = offset_bytes.checked_sub(candidate);
            if gap.is_some_and(|gap| gap >= request.size_bytes) {
                break;
            }
            candidate = candidate.max(end_bytes);
        }
        Some(candidate)
    }

    fn insert(&mut self, request: &Request, offset_bytes: u64, end_bytes: u64) {
        let position = self.partition_point(|other| other.0 <= offset_bytes);
        let entry = (
            offset_bytes,
            end_bytes,
            request.first_step,
            request.last_step,
        );
        Vec::insert(self, position, entry);
    }
}

/// First byte and end of occupied bytes, in order and without those that overlap or touch.
#[derive(Clone, Default)]
struct OccupiedRanges(Vec<(u64, u64)>);

impl OccupiedRanges {
    fn insert(&mut self, start: u64, end: u64) {
        let first = self.0.partition_point(|&(_, other_end)| other_end < start);
        let behind = self.0.partition_point(|&(other, _)| other <= end);
        let start = self.0.get(first).map_or(start, |other| other.0.min(start));
        let last = behind.checked_sub(1).and_then(|last| self.0.get(last));
        let end = last.map_or(end, |other| other.1.max(end));
        self.0.splice(first..behind, [(start, end)]);
    }

    /// The end of the bytes that are occupied from `at` on, `at` if it is free, and the first occupied byte from there
    /// on.
    fn occupied_from(&self, at: u64) -> (u64, Option<u64>) {
        let next = self.0.partition_point(|&(start, _)| start <= at);
        let before = next.checked_sub(1).and_then(|before| self.0.get(before));
        let end = before.map_or(at, |&(_, end)| end.max(at));
        (end, self.0.get(next).map(|&(start, _)| start))
    }
}

/// Which bytes are occupied in which steps. A buffer is kept at the nodes of a binary tree that together are its
/// lifetime, and is summed up at the nodes above them.
struct OccupancyTree {
    /// All first and last steps, in order: the leaves.
    steps: Vec<i64>,
    n_leaves: usize,
    /// By node, of which 1 is the root: bytes in use during all of its steps, and in some step below it.
    whole: Vec<OccupiedRanges>,
    below: Vec<OccupiedRanges>,
    gaps_left: usize,
}

impl OccupancyTree {
    fn new(requests: &[Request]) -> Self {
        let ends = requests
            .iter()
            .flat_map(|one| [one.first_step, one.last_step]);
        let mut steps: Vec<i64> = ends.collect();
        steps.sort_unstable();
        steps.dedup();
        let n_leaves = steps.len().next_power_of_two();
        Self {
            steps,
            n_leaves,
            whole: vec![OccupiedRanges::default(); 2 * n_leaves],
            below: vec![OccupiedRanges::default(); 2 * n_leaves],
            gaps_left: MAX_GAPS,
        }
    }

    /// The nodes that together are the lifetime of a request.
    fn nodes(&self, request: &Request) -> Vec<usize> {
        let leaf = |step: i64| self.n_leaves + self.steps.partition_point(|&other| other < step);
        let (mut left, mut right) = (leaf(request.first_step), leaf(request.last_step) + 1);
        let mut nodes = Vec::new();
        while left < right {
            if left % 2 == 1 {
                nodes.push(left);
                left += 1;
            }
            if right % 2 == 1 {
                right -= 1;
                nodes.push(right);
            }
            left /= 2;
            right /= 2;
        }
        nodes
    }
}

/// The nodes that are at least `n` steps above one of these, each once.
fn above(nodes: &[usize], n: u32) -> Vec<usize> {
    let of_node =
        |node: usize| (n..).map_while(move |n| Some(node >> n).filter(|&above| above > 0));
    let mut above: Vec<usize> = nodes.iter().flat_map(|&node| of_node(node)).collect();
    above.sort_unstable();
    above.dedup();
    above
}

impl Arena for OccupancyTree {
    fn lowest_gap(&mut self, request: &Request) -> Option<u64> {
        let nodes = self.nodes(request);
        let above = above(&nodes, 0);
        let whole = above.iter().map(|&node| &self.whole[node]);
        let below = nodes.iter().map(|&node| &self.below[node]);
        let unions: Vec<&OccupiedRanges> = whole
            .chain(below)
            .filter(|union| !union.0.is_empty())
            .collect();
        let mut candidate = 0;
        loop {
            work::count(unions.len());
            self.gaps_left = self.gaps_left.checked_sub(1)?;
            let (mut end, mut next) = (candidate, u64::MAX);
            for union in &unions {
                let (end_bytes, start) = union.occupied_from(candidate);
                end = end.max(end_bytes);
                next = next.min(start.unwrap_or(u64::MAX));
            }
            candidate = match (end > candidate, next - candidate < request.size_bytes) {
                (true, _) => end,
                (false, true) if next < u64::MAX => next,
                _ => return Some(candidate),
            };
        }
    }

    fn insert(&mut self, request: &Request, offset_bytes: u64, end_bytes: u64) {
        let nodes = self.nodes(request);
        for &node in &nodes {
            self.whole[node].insert(offset_bytes, end_bytes);
        }
        for above in above(&nodes, 1) {
            self.below[above].insert(offset_bytes, end_bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::graph::analysis::fixtures::for_each;

    fn requests() -> impl Strategy<Value = Vec<Request>> {
        let fixed = proptest::option::weighted(0.125, (0..60_u64).prop_map(|place| 16 * place));
        let request = (1..=40_u64, -1..29_i64, 0..8_i64, fixed);
        let request =
            request.prop_map(
                |(n_units, first_step, n_steps, fixed_offset_bytes)| Request {
                    size_bytes: 16 * n_units,
                    first_step,
                    last_step: first_step + n_steps,
                    fixed_offset_bytes,
                },
            );
        proptest::collection::vec(request, 1..=60)
    }

    fn overlap_in_time(left: &Request, right: &Request) -> bool {
        left.first_step <= right.last_step && right.first_step <= left.last_step
    }

    fn overlap(left: (&Request, u64), right: (&Request, u64)) -> bool {
        let in_space =
            left.1 < right.1 + right.0.size_bytes && right.1 < left.1 + left.0.size_bytes;
        in_space && overlap_in_time(left.0, right.0)
    }

    /// The same rules without a sorted list: compares every possible offset with every placed buffer.
    fn place_naively(requests: &[Request]) -> Vec<u64> {
        let mut order: Vec<usize> = (0..requests.len()).collect();
        order.sort_by_key(|&idx| match requests[idx].fixed_offset_bytes {
            Some(_) => (0, 0, idx as i64),
            None => (1, -(requests[idx].size_bytes as i64), -(idx as i64)),
        });
        let mut offsets = vec![0; requests.len()];
        for (n_placed, &idx) in order.iter().enumerate() {
            let request = &requests[idx];
            let placed = || {
                order[..n_placed]
                    .iter()
                    .map(|&other| (&requests[other], offsets[other]))
            };
            let ends = placed().map(|(other, offset)| offset + other.size_bytes);
            let fits = |offset: &u64| !placed().any(|other| overlap((request, *offset), other));
            let lowest = ends.chain([0]).filter(fits).min().unwrap();
            offsets[idx] = request.fixed_offset_bytes.unwrap_or(lowest);
        }
        offsets
    }

    #[test]
    fn placing_matches_trying_every_offset() {
        for_each(500, requests(), |requests| {
            let expected = place_naively(&requests);
            assert_eq!(place(&requests).unwrap(), expected, "{requests:?}");
            let mut occupied = OccupancyTree::new(&requests);
            let offsets = place_in(&mut occupied, &requests).unwrap();
            assert_eq!(offsets, expected, "{requests:?}");
        });
    }

    #[test]
    fn empty_buffers_are_placed_alike_in_a_list_and_in_a_tree() {
        for_each(
            500,
            (requests(), 0..60_usize, 0..8_usize),
            |(mut requests, first, step)| {
                let some = requests.iter_mut().skip(first).step_by(1 + step);
                some.for_each(|request| request.size_bytes = 0);
                let listed = place_in(&mut PlacedBuffers::new(), &requests);
                let mut occupied = OccupancyTree::new(&requests);
                assert_eq!(place_in(&mut occupied, &requests), listed, "{requests:?}");
            },
        );
    }

    /// A plan with as many gaps as buffers, each too small.
    #[test]
    fn gaps_without_end_end_the_plan() {
        let request = |idx: u64, is_fixed: bool| Request {
            size_bytes: if is_fixed { 16 } else { 32 },
            first_step: 0,
            last_step: 1,
            fixed_offset_bytes: is_fixed.then_some(32 * idx),
        };
        let plan = |n: u64| {
            let requests: Vec<Request> = (0..2 * n).map(|idx| request(idx, idx < n)).collect();
            place(&requests)
        };
        assert_eq!(plan(200).unwrap()[399], 199 * 32 + 16);
        assert_eq!(plan(5_000), None);
    }

    #[test]
    fn buffers_alive_together_never_overlap() {
        for_each(500, requests(), |mut requests| {
            requests
                .iter_mut()
                .for_each(|request| request.fixed_offset_bytes = None);
            let offsets = place(&requests).unwrap();
            for right in 0..requests.len() {
                for left in 0..right {
                    let pair = [left, right].map(|idx| (&requests[idx], offsets[idx]));
                    assert!(!overlap(pair[0], pair[1]), "{pair:?}");
                }
            }
        });
    }

    #[test]
    fn ends_beyond_64_bits_are_refused() {
        let huge = Request {
            size_bytes: u64::MAX,
            first_step: 0,
            last_step: 1,
            fixed_offset_bytes: None,
        };
        assert_eq!(place(&[huge]), Some(vec![0]));
        assert_eq!(place(&[huge, huge]), None);
        assert_eq!(
            place(&[Request {
                fixed_offset_bytes: Some(1),
                ..huge
            }]),
            None
        );
    }
}
