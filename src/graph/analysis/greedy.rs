//! The greedy offline allocator of TensorFlow Lite Micro: buffers with lifetimes → offsets.
//!
//! Rules of `GreedyMemoryPlanner`, restated: buffers with a fixed offset come first, in the
//! order given. The others follow from the largest to the smallest; of two that are equally
//! large, the later one comes first. Each goes to the lowest offset where it fits between the
//! buffers already placed that are alive at the same time.

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

/// A buffer that has its place.
#[derive(Clone, Copy)]
struct Placed {
    offset_bytes: u64,
    end_bytes: u64,
    first_step: i64,
    last_step: i64,
}

/// Offset of each request, in bytes; `None` where an end does not fit 64 bits.
/// Quadratic in the number of requests.
pub fn place(requests: &[Request]) -> Option<Vec<u64>> {
    let mut offsets = vec![0; requests.len()];
    let mut placed: Vec<Placed> = Vec::with_capacity(requests.len());
    for request_idx in placing_order(requests) {
        let request = &requests[request_idx];
        let offset_bytes = match request.fixed_offset_bytes {
            Some(fixed) => fixed,
            None => lowest_gap(&placed, request),
        };
        offsets[request_idx] = offset_bytes;
        insert(&mut placed, request, offset_bytes)?;
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

/// `placed` is sorted by offset.
fn lowest_gap(placed: &[Placed], request: &Request) -> u64 {
    let mut candidate = 0;
    for other in placed {
        if other.first_step > request.last_step || request.first_step > other.last_step {
            continue;
        }
        // A neighbour that starts before the candidate leaves no gap, not even for zero bytes.
        let gap = other.offset_bytes.checked_sub(candidate);
        if gap.is_some_and(|gap| gap >= request.size_bytes) {
            break;
        }
        candidate = candidate.max(other.end_bytes);
    }
    candidate
}

fn insert(placed: &mut Vec<Placed>, request: &Request, offset_bytes: u64) -> Option<()> {
    let position = placed.partition_point(|other| other.offset_bytes <= offset_bytes);
    let entry = Placed {
        offset_bytes,
        end_bytes: offset_bytes.checked_add(request.size_bytes)?,
        first_step: request.first_step,
        last_step: request.last_step,
    };
    placed.insert(position, entry);
    Some(())
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
            assert_eq!(
                place(&requests).unwrap(),
                place_naively(&requests),
                "{requests:?}"
            );
        });
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
