//! The slices of a GPU that a network fits in: profiles of NVIDIA's Multi-Instance GPU.
//!
//! Memory and multiprocessors of each profile are those of NVIDIA's MIG user guide (r570, tables of supported
//! profiles). The advice is modelled, because these networks were not measured on slices.

/// One profile of one GPU.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Profile {
    pub name: &'static str,
    /// Memory of an instance.
    pub memory_bytes: f64,
    pub multiprocessors: u32,
}

/// A GPU that can be sliced.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SlicedGpu {
    pub name: &'static str,
    pub multiprocessors: u32,
    /// By memory, ascending; the last one is the whole GPU.
    pub profiles: &'static [Profile],
}

const fn profile(name: &'static str, memory_gib: f64, multiprocessors: u32) -> Profile {
    Profile {
        name,
        memory_bytes: memory_gib * GIB,
        multiprocessors,
    }
}

const GIB: f64 = (1u64 << 30) as f64;

pub const SLICED: &[SlicedGpu] = &[
    SlicedGpu {
        name: "A100 40 GB",
        multiprocessors: 108,
        profiles: &[
            profile("1g.5gb", 4.75, 14),
            profile("2g.10gb", 9.75, 28),
            profile("3g.20gb", 19.62, 42),
            profile("4g.20gb", 19.62, 56),
            profile("7g.40gb", 39.25, 98),
        ],
    },
    SlicedGpu {
        name: "A100 80 GB",
        multiprocessors: 108,
        profiles: &[
            profile("1g.10gb", 9.5, 14),
            profile("2g.20gb", 19.5, 28),
            profile("3g.40gb", 39.25, 42),
            profile("4g.40gb", 39.25, 56),
            profile("7g.80gb", 78.75, 98),
        ],
    },
    SlicedGpu {
        name: "H100 80 GB",
        multiprocessors: 132,
        profiles: &[
            profile("1g.10gb", 9.75, 16),
            profile("2g.20gb", 19.62, 32),
            profile("3g.40gb", 39.25, 60),
            profile("4g.40gb", 39.25, 64),
            profile("7g.80gb", 78.75, 132),
        ],
    },
];

/// Share of a slice's memory that stays free for what the count leaves out.
pub const HEADROOM: f64 = 0.1;

impl SlicedGpu {
    /// The smallest profile that holds `bytes` with [`HEADROOM`]; `None` if the whole GPU is too small.
    pub fn smallest(&self, bytes: f64) -> Option<&'static Profile> {
        let fits = |profile: &&Profile| bytes <= profile.memory_bytes * (1.0 - HEADROOM);
        self.profiles.iter().find(fits)
    }

    /// Highest latency on a slice, relative to the whole GPU: all work slows down with the share of multiprocessors.
    /// The lowest is 1, for a network that leaves most of them idle anyway.
    pub fn slowdown(&self, profile: &Profile) -> f64 {
        f64::from(self.multiprocessors) / f64::from(profile.multiprocessors)
    }
}

/// DIPPM's rule (Panner Selvam and Brorsson 2023): the A100 40 GB profile by memory alone.
pub fn dippm_profile(bytes: f64) -> Option<&'static str> {
    let limits = [
        (5.0, "1g.5gb"),
        (10.0, "2g.10gb"),
        (20.0, "3g.20gb"),
        (40.0, "7g.40gb"),
    ];
    let gigabytes = bytes / 1e9;
    let fits = limits.iter().find(|(limit, _)| gigabytes < *limit);
    fits.map(|(_, name)| *name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_profile_with_headroom_is_advised() {
        let a100 = &SLICED[0];
        let name = |bytes: f64| a100.smallest(bytes).map(|profile| profile.name);
        assert_eq!(name(4.2 * GIB), Some("1g.5gb"));
        assert_eq!(name(4.5 * GIB), Some("2g.10gb"));
        assert_eq!(name(36.0 * GIB), None);
        assert!((a100.slowdown(&a100.profiles[0]) - 108.0 / 14.0).abs() < 1e-9);
    }

    /// Figure 4 of the paper has its borders at 5, 10, 20 and 40 GB.
    #[test]
    fn dippm_decides_by_memory_alone() {
        let names = [4.9e9, 5.1e9, 12e9, 39e9, 41e9].map(dippm_profile);
        let expected = ["1g.5gb", "2g.10gb", "3g.20gb", "7g.40gb"];
        assert_eq!(names[..4], expected.map(Some));
        assert_eq!(names[4], None);
    }
}
