//! A cache of the latest plans of each thread. Networks of the same structure share a plan if the compiler sees no
//! difference in their weights. Architecture searches and the page's sliders change one property at a time, so they
//! need the same plans again.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::VecDeque;

use super::task::{Plan, Task};

/// Plans in the cache: those of ten networks on the three accelerators of every report.
const MAX_PLANS: usize = 32;
/// Plans of larger programs are not cached: an operation takes about 400 bytes, and such programs are rarely planned
/// again.
const MAX_OPERATIONS: usize = 256;

thread_local! {
    /// The latest plan is last.
    static CACHE: RefCell<VecDeque<(Task, Plan)>> = RefCell::default();
}

/// The cached plan of an equal task, or the result of `plan`, which is then cached. `plan` owns the task of a large
/// program, so that it can change the program without a copy.
pub fn get_or_plan(task: Task, plan: impl FnOnce(Cow<Task>) -> Plan) -> Plan {
    if task.program.operations.len() > MAX_OPERATIONS {
        return plan(Cow::Owned(task));
    }
    let known = CACHE.with_borrow(|plans| {
        let mut latest_first = plans.iter().rev();
        let known = latest_first.find(|(known, _)| *known == task);
        known.map(|(_, planned)| planned.clone())
    });
    if let Some(planned) = known {
        return planned;
    }
    let planned = plan(Cow::Borrowed(&task));
    CACHE.with_borrow_mut(|plans| {
        if plans.len() >= MAX_PLANS {
            plans.pop_front();
        }
        plans.push_back((task, planned.clone()));
    });
    planned
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::learned::features::PlannedOperator;
    use crate::targets::ethos_u::accelerator::ACCELERATORS;
    use crate::targets::ethos_u::program::{FeatureMap, Program, compact_shape};

    fn task(accelerator: usize, depth: i64) -> Task {
        Task {
            accelerator: ACCELERATORS[accelerator],
            program: Program {
                maps: vec![FeatureMap {
                    shape: compact_shape([1, 1, depth]),
                    ..FeatureMap::default()
                }],
                ..Program::default()
            },
            n_nodes: 1,
            n_tensors: 1,
        }
    }

    #[test]
    fn only_another_task_is_planned_again() {
        let plan = |task: &Task, cycles: f64| {
            let planned = PlannedOperator {
                cycles,
                ..PlannedOperator::default()
            };
            let planned = Plan {
                operators: vec![planned],
                ..Plan::default()
            };
            get_or_plan(task.clone(), |_| planned).operators[0].cycles
        };
        assert_eq!(plan(&task(0, 8), 1.0), 1.0);
        assert_eq!(plan(&task(0, 8), 2.0), 1.0);
        assert_eq!(plan(&task(1, 8), 3.0), 3.0);
        assert_eq!(plan(&task(0, 9), 4.0), 4.0);
        for depth in 0..MAX_PLANS as i64 {
            plan(&task(2, depth), 5.0);
        }
        assert_eq!(plan(&task(0, 8), 6.0), 6.0, "the oldest plan is evicted");
    }
}
