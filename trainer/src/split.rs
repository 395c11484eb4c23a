//! The sides of the split: graphs for training, for early stopping, and for the measurement.

use std::collections::BTreeMap;

use rand::Rng;
use rand::seq::SliceRandom;
use sha2::{Digest, Sha256};

use crate::settings::Settings;

/// Side of the split a graph is on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Graphs that networks are trained on.
    Training,
    /// Graphs that choose the best epoch.
    Validation,
    /// Graphs that errors are measured on.
    Test,
}

impl Side {
    /// Name in tables.
    pub fn id(self) -> &'static str {
        match self {
            Self::Training => "training",
            Self::Validation => "validation",
            Self::Test => "test",
        }
    }
}

/// The side depends only on the structure, so that graphs that differ only in their weights are on the same side, and a
/// graph keeps its side when the dataset grows.
pub fn side(structure_hash: &str, space: &str, settings: &Settings) -> Side {
    let digest = Sha256::digest(format!("{} {structure_hash}", settings.split_seed()));
    let prefix: [u8; 8] = digest[..8].try_into().expect("a SHA-256 has 32 bytes");
    let position = u64::from_le_bytes(prefix) as f64 / u64::MAX as f64;
    let test_share = if settings.leave_out.is_empty() {
        settings.test_share
    } else {
        0.0
    };
    let is_left_out = settings.leave_out.iter().any(|name| name == space);
    if is_left_out || position < test_share {
        Side::Test
    } else if position < test_share + settings.validation_share {
        Side::Validation
    } else {
        Side::Training
    }
}

/// Sizes of the graphs of each design space.
pub struct Sizes {
    /// By space, the multiply-accumulates of its median graph, and of a graph larger than nine tenths of them.
    limits: BTreeMap<String, [f64; 2]>,
}

impl Sizes {
    /// Computed from the space and the multiply-accumulates of each graph.
    pub fn new<'a>(graphs: impl Iterator<Item = (&'a str, f64)>) -> Self {
        let mut by_space: BTreeMap<String, Vec<f64>> = BTreeMap::new();
        for (space, macs) in graphs {
            by_space.entry(space.to_owned()).or_default().push(macs);
        }
        let limits = by_space.into_iter().map(|(space, mut macs)| {
            macs.sort_by(f64::total_cmp);
            let at = |share: f64| macs[(share * (macs.len() - 1) as f64) as usize];
            (space, [at(0.5), at(0.9)])
        });
        Self {
            limits: limits.collect(),
        }
    }

    /// Large graphs are on the test side, small ones on the sides of training and validation, and those in between on
    /// none.
    pub fn side(
        &self,
        space: &str,
        macs: f64,
        structure_hash: &str,
        settings: &Settings,
    ) -> Option<Side> {
        let &[median, large] = self.limits.get(space)?;
        let small = Settings {
            test_share: 0.0,
            ..settings.clone()
        };
        match macs {
            _ if macs > large => Some(Side::Test),
            _ if macs < median => Some(side(structure_hash, space, &small)),
            _ => None,
        }
    }
}

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

    /// If the split has its own seed, runs with several seeds are measured on the same graphs.
    #[test]
    fn a_split_of_its_own_seed_does_not_follow_the_weights() {
        let split_with = |seed, split_seed| {
            let settings = Settings {
                seed,
                split_seed,
                ..Settings::default()
            };
            let hashes = (0..200).map(|n| side(&n.to_string(), "space", &settings));
            hashes.collect::<Vec<Side>>()
        };
        assert_eq!(split_with(7, Some(1)), split_with(1, None));
        assert_ne!(split_with(7, None), split_with(1, None));
    }

    #[test]
    fn large_graphs_are_held_out_by_space() {
        let graphs = |space, scale: f64| (1..=100).map(move |n| (space, scale * f64::from(n)));
        let sizes = Sizes::new(graphs("a", 1.0).chain(graphs("b", 1000.0)));
        let settings = Settings::default();
        for (space, scale) in [("a", 1.0), ("b", 1000.0)] {
            let side = |n: f64| sizes.side(space, scale * n, "hash", &settings);
            assert!(matches!(
                side(49.0),
                Some(Side::Training | Side::Validation)
            ));
            assert_eq!(side(50.0), None);
            assert_eq!(side(90.0), None);
            assert_eq!(side(91.0), Some(Side::Test));
        }
    }

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
