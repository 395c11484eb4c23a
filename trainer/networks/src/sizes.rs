//! Networks by their size, for measurements on larger graphs than those of the training.

use std::collections::BTreeMap;

use litecast_trainer::split::{Side, Split};

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
        split: &Split,
    ) -> Option<Side> {
        let &[median, large] = self.limits.get(space)?;
        let small = Split {
            test_share: 0.0,
            ..split.clone()
        };
        match macs {
            _ if macs > large => Some(Side::Test),
            _ if macs < median => Some(small.side(structure_hash, space)),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_graphs_are_held_out_by_space() {
        let graphs = |space, scale: f64| (1..=100).map(move |n| (space, scale * f64::from(n)));
        let sizes = Sizes::new(graphs("a", 1.0).chain(graphs("b", 1000.0)));
        let split = Split::default();
        for (space, scale) in [("a", 1.0), ("b", 1000.0)] {
            let side = |n: f64| sizes.side(space, scale * n, "hash", &split);
            assert!(matches!(
                side(49.0),
                Some(Side::Training | Side::Validation)
            ));
            assert_eq!(side(50.0), None);
            assert_eq!(side(90.0), None);
            assert_eq!(side(91.0), Some(Side::Test));
        }
    }
}
