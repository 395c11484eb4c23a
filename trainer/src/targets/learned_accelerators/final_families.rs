//! Families that no one evaluates while rules, terms and priors are chosen.

use sha2::{Digest, Sha256};

use crate::targets::gpu::final_families::{is_drawn, rule_of};

/// Of the boards' families, which are those of their networks' names. It never changes.
const SEED: &str = "litecast final accelerators 1";
/// Of Qualcomm's, of which one of each task is drawn, so that both parts have networks of every task. It never changes.
const SEED_OF_TASKS: &str = "litecast final accelerators 2";
/// Qualcomm's families by task: classification, segmentation, detection, sequences, and images that come out.
const TASKS: [&[&str]; 5] = [
    &[
        "gpunet-repvit",
        "mobilenet-cls",
        "resnet-like-cls",
        "video-cls",
    ],
    &["sam", "seg-cnn", "seg-lidar", "seg-transformer"],
    &["det-other", "pose", "yolo-ultralytics"],
    &["bert", "clip-vlm", "speech", "vit-cls"],
    &["depth-stereo", "sr", "sr-gan"],
];

/// Whether the errors on this family are looked at only by `--final`.
pub fn is_final(family: &str) -> bool {
    let digest = |name: &&str| Sha256::digest(format!("{SEED_OF_TASKS}/{name}"));
    match TASKS.iter().find(|task| task.contains(&family)) {
        Some(task) => task.iter().copied().min_by_key(digest) == Some(family),
        None => is_drawn(SEED, family),
    }
}

/// In words, for the results.
pub fn rule() -> String {
    format!(
        "of each task of Qualcomm's networks the family is final whose SHA-256(\"{SEED_OF_TASKS}/\" + its name) is the \
         smallest; of the boards', {}",
        rule_of(SEED)
    )
}

#[cfg(test)]
mod tests {
    use super::{TASKS, is_final};

    /// Digests by Python's `hashlib`.
    #[test]
    fn one_family_of_each_task_is_final() {
        let families = TASKS.into_iter().flatten().copied();
        let of_final: Vec<&str> = families.filter(|family| is_final(family)).collect();
        let expected = ["gpunet-repvit", "seg-lidar", "det-other", "clip-vlm", "sr"];
        assert_eq!(of_final, expected);
    }
}
