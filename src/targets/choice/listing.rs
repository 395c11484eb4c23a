//! What may be chosen, as lists and suggestions.

use crate::target::{Description, TargetInfo, boards};
use crate::targets::gpu::specifications::{GPUS, Gpu};
use crate::targets::known;
use crate::targets::suggestions::{self, Candidate};

/// Every id that [`Choice::target`](super::options::Choice::target) takes, sorted.
pub fn known_targets() -> Vec<String> {
    let mut ids: Vec<String> = known().map(|target| target.id().to_owned()).collect();
    ids.sort_unstable();
    ids
}

/// The end of an error about a name that no target and no board has, from what was typed for one: `; did you mean …?`,
/// or empty where nothing is similar.
pub fn did_you_mean(typed: &str, is_board: bool) -> String {
    // Those whose constants are not loaded are found as well.
    let gpus = GPUS.iter();
    let gpus = gpus.map(|gpu| Candidate::target(gpu.id, gpu.device, &[]));
    let others = known().filter(|target| Gpu::by_id(target.id()).is_none());
    let targets = others.map(|target| {
        let device = target.info(None).map(|info| info.device);
        let Description {
            short_label,
            aliases,
            ..
        } = target.description();
        Candidate::target(target.id(), &device.unwrap_or(short_label), aliases)
    });
    let boards = boards::shipped().iter();
    let candidates = targets.chain(gpus).chain(boards.map(Candidate::board));
    suggestions::did_you_mean(typed, is_board, candidates)
}

/// The available metrics of each of [`known_targets`] that needs no trained network.
pub fn known_infos() -> Vec<TargetInfo> {
    known().filter_map(|target| target.info(None)).collect()
}

/// Every id that [`Choice::board`](super::options::Choice::board) may be, in the order of the table.
pub fn known_boards() -> Vec<&'static str> {
    let boards = boards::shipped().iter();
    boards.map(|board| board.id.as_str()).collect()
}
