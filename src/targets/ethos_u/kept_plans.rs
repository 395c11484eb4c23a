//! A cache of the latest plans. Networks of the same structure share a plan if the compiler sees no difference in their
//! weights. Architecture searches, and the page's sliders, which change one thing at a time, need many such plans.

use std::cell::RefCell;
use std::collections::VecDeque;

use super::task::{Plan, Task};

/// Number of plans that each thread keeps: those of ten networks on the three accelerators of every report.
const MAX_KEPT: usize = 32;
/// Plans of larger programs are not kept, because an operation takes about 800 bytes and few people change such
/// programs a thousand times.
const MAX_OPERATIONS: usize = 256;

thread_local! {
    /// The latest comes last.
    static KEPT: RefCell<VecDeque<(Task, Plan)>> = RefCell::default();
}

/// The plan that this thread made for the same task before, or else that of `plan`.
pub fn kept_or(task: Task, plan: impl FnOnce(&Task) -> Plan) -> Plan {
    if task.program.operations.len() > MAX_OPERATIONS {
        return plan(&task);
    }
    let known = KEPT.with_borrow(|kept| {
        let mut latest_first = kept.iter().rev();
        let known = latest_first.find(|(known, _)| *known == task);
        known.map(|(_, planned)| planned.clone())
    });
    if let Some(planned) = known {
        return planned;
    }
    let planned = plan(&task);
    KEPT.with_borrow_mut(|kept| {
        if kept.len() >= MAX_KEPT {
            kept.pop_front();
        }
        kept.push_back((task, planned.clone()));
    });
    planned
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::learned::features::PlannedOperator;
    use crate::targets::ethos_u::accelerator::ACCELERATORS;
    use crate::targets::ethos_u::program::{FeatureMap, Program};

    fn task(accelerator: usize, depth: i64) -> Task {
        Task {
            accelerator: ACCELERATORS[accelerator],
            program: Program {
                maps: vec![FeatureMap {
                    shape: [1, 1, depth],
                    ..FeatureMap::default()
                }],
                ..Program::default()
            },
            n_nodes: 1,
            n_tensors: 1,
        }
    }

    #[test]
    fn a_plan_is_made_again_only_for_another_task() {
        let plan = |task: &Task, cycles: f64| {
            let planned = PlannedOperator {
                cycles,
                ..PlannedOperator::default()
            };
            let planned = Plan {
                operators: vec![planned],
                ..Plan::default()
            };
            kept_or(task.clone(), |_| planned).operators[0].cycles
        };
        assert_eq!(plan(&task(0, 8), 1.0), 1.0);
        assert_eq!(plan(&task(0, 8), 2.0), 1.0);
        assert_eq!(plan(&task(1, 8), 3.0), 3.0);
        assert_eq!(plan(&task(0, 9), 4.0), 4.0);
        for depth in 0..MAX_KEPT as i64 {
            plan(&task(2, depth), 5.0);
        }
        assert_eq!(plan(&task(0, 8), 6.0), 6.0, "the oldest is let go");
    }
}
