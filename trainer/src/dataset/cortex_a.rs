//! Counted instructions → values of the table of labels.

use std::collections::BTreeMap;

use crate::boards::constants::Constants;
use crate::labels::litert_qemu::Instructions;

/// Value by metric id: the count itself, and latency and energy on boards that it was fitted to.
pub fn values(target: &str, instructions: &Instructions) -> BTreeMap<String, f64> {
    let total = instructions.total() as f64;
    let board = Constants::shipped().board(target);
    let latency = board.map(|board| ("latency", board.latency_ms(total)));
    let energy = board.and_then(|board| Some(("energy", board.energy_mj(total)?)));
    let named = [Some(("instructions", total)), latency, energy];
    let owned = |(metric, value): (&str, f64)| (metric.to_owned(), value);
    named.into_iter().flatten().map(owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand from the shipped constants.
    #[test]
    fn values_follow_from_the_shipped_constants() {
        let instructions = Instructions {
            float: 2_000_000,
            branch: 500_000,
            ..Instructions::default()
        };
        for board in &Constants::shipped().boards {
            let found = values(&board.target, &instructions);
            let latency_ms = 2.5 * board.ns_per_instruction.value;
            assert_eq!(found["instructions"], 2_500_000.0);
            assert!((found["latency"] - latency_ms).abs() < 1e-9);
            let watts = board.energy.as_ref().map(|energy| energy.watts.value);
            let energy_mj = watts.map(|watts| watts * latency_ms);
            assert_eq!(found.contains_key("energy"), energy_mj.is_some());
            if let Some(expected) = energy_mj {
                assert!((found["energy"] - expected).abs() < 1e-9);
            }
        }
        assert_eq!(values("no-board", &instructions).len(), 1);
    }
}
