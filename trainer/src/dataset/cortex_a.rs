//! Counted instructions → values of the table of labels.

use std::collections::BTreeMap;

use litecast::targets::cortex_a::Constants;

/// Adds latency and energy to the values of a target that has instructions, if its board was measured.
pub fn fill(target: &str, is_int8: bool, values: &mut BTreeMap<String, f64>) {
    let board = Constants::shipped().board(target);
    let (Some(board), Some(&instructions)) = (board, values.get("instructions")) else {
        return;
    };
    let Some(latency_ms) = board.latency_of_count_ms(instructions, is_int8) else {
        return;
    };
    values.insert("latency".into(), latency_ms);
    if let Some(energy) = &board.energy {
        values.insert("energy".into(), energy.watts.value * latency_ms);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand from the shipped constants.
    #[test]
    fn values_follow_from_the_shipped_constants() {
        for board in &Constants::shipped().boards {
            let mut values = BTreeMap::from([("instructions".to_owned(), 2_500_000.0)]);
            fill(&board.target, false, &mut values);
            let Some(latency_ms) = board.latency_of_count_ms(2_500_000.0, false) else {
                continue;
            };
            assert!((values["latency"] - latency_ms).abs() < 1e-9);
            let watts = board.energy.as_ref().map(|energy| energy.watts.value);
            assert_eq!(values.contains_key("energy"), watts.is_some());
            if let Some(watts) = watts {
                assert!((values["energy"] - watts * latency_ms).abs() < 1e-9);
            }
        }
        let mut values = BTreeMap::from([("instructions".to_owned(), 1.0)]);
        fill("no-board", true, &mut values);
        assert_eq!(values.len(), 1);
    }
}
