//! The order of graphs in an epoch.

use rand::Rng;
use rand::seq::SliceRandom;

/// Shuffled indices of one epoch: every graph once, and graphs of small spaces repeatedly (§4.4) until each space has
/// at least a share of `min_share`.
pub fn epoch_order(
    space_of: &[usize],
    n_spaces: usize,
    min_share: f64,
    rng: &mut impl Rng,
) -> Vec<usize> {
    let mut by_space = vec![Vec::new(); n_spaces];
    space_of
        .iter()
        .enumerate()
        .for_each(|(graph, &space)| by_space[space].push(graph));
    by_space.retain(|graphs| !graphs.is_empty());
    let floor = upsampled_size(
        &by_space.iter().map(Vec::len).collect::<Vec<_>>(),
        min_share,
    );
    let mut order = Vec::new();
    for graphs in &mut by_space {
        graphs.shuffle(rng);
        let n = graphs.len().max(floor);
        order.extend(graphs.iter().cycle().take(n));
    }
    order.shuffle(rng);
    order
}

/// Number of graphs by which a small space has a share of `min_share` of the epoch, which includes them.
fn upsampled_size(sizes: &[usize], min_share: f64) -> usize {
    let total: usize = sizes.iter().sum();
    let mut floor = 0.0;
    // Raising a space to the minimum makes the epoch longer and so raises the minimum. A few rounds reach the fixed
    // point because the shares add up to less than 1.
    for _ in 0..64 {
        let raised: f64 = sizes.iter().map(|&n| (floor - n as f64).max(0.0)).sum();
        floor = min_share * (total as f64 + raised);
    }
    floor.ceil() as usize
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;

    use super::*;

    #[test]
    fn small_spaces_make_up_their_share() {
        let space_of: Vec<usize> = [vec![0; 800], vec![1; 190], vec![2; 10]].concat();
        let mut rng = ChaCha8Rng::seed_from_u64(7);
        let order = epoch_order(&space_of, 4, 0.1, &mut rng);
        let count = |space| order.iter().filter(|&&g| space_of[g] == space).count();
        println!(
            "{} of 800, {} of 190, {} of 10",
            count(0),
            count(1),
            count(2)
        );
        assert_eq!((count(0), count(1)), (800, 190));
        assert_eq!(count(2), 110, "10 % of 800 + 190 + 110");
        let mut sorted = order.clone();
        sorted.sort_unstable();
        sorted.dedup();
        assert_eq!(sorted.len(), space_of.len(), "every graph appears");
    }
}
