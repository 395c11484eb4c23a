//! Families that no one evaluates while rules, ranges and priors are chosen.

use sha2::{Digest, Sha256};

/// Decides which families are final. It never changes, so that a family stays on its side when measurements are added.
const SEED: &str = "litecast final 1";
/// A family is final if the first byte of its digest is below this: one in five.
const N_FINAL: u8 = 51;

/// Whether the errors on this family are looked at only by `--final`.
pub fn is_final(family: &str) -> bool {
    is_drawn(SEED, family)
}

/// Whether a family is final under a seed.
pub fn is_drawn(seed: &str, family: &str) -> bool {
    Sha256::digest(format!("{seed}/{family}"))[0] < N_FINAL
}

/// In words, for the results.
pub fn rule() -> String {
    rule_of(SEED)
}

/// As [`rule`], for another seed.
pub fn rule_of(seed: &str) -> String {
    format!(
        "a family is final if the first byte of SHA-256(\"{seed}/\" + its name) is below {N_FINAL}"
    )
}

#[cfg(test)]
mod tests {
    use super::is_final;

    /// Digests by Python's `hashlib`.
    #[test]
    fn families_stay_on_their_side() {
        let of_final = [
            "aimv", "coatnet", "deit", "fastvit", "hrnet", "resnet", "swin", "wide",
        ];
        assert!(of_final.into_iter().all(is_final));
        let open = [
            "vit",
            "tf",
            "mobilenetv",
            "convnext",
            "xcit",
            "regnety",
            "halonet",
            "vgg",
        ];
        assert!(!open.into_iter().any(is_final));
    }
}
