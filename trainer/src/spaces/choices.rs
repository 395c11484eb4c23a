//! Uniform, independent choices, the same on every platform and in every release.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng};

/// The stream of choices that makes one sample.
pub struct Choices(ChaCha8Rng);

impl Choices {
    /// `space` keeps the streams of spaces apart.
    pub fn new(space: [u8; 16], seed: u64, index: u64) -> Self {
        let mut key = [0; 32];
        key[..8].copy_from_slice(&seed.to_le_bytes());
        key[8..16].copy_from_slice(&index.to_le_bytes());
        key[16..].copy_from_slice(&space);
        Choices(ChaCha8Rng::from_seed(key))
    }

    /// One of `options`, each as likely as the others.
    pub fn of<T: Copy>(&mut self, options: &[T]) -> T {
        options[self.below(options.len())]
    }

    /// One of `low..=high`.
    pub fn between(&mut self, low: usize, high: usize) -> usize {
        low + self.below(high - low + 1)
    }

    pub fn coin(&mut self) -> bool {
        self.of(&[false, true])
    }

    /// A seed for what is not a choice of structure: weight values and scales.
    pub fn seed(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Written out here rather than taken from `rand`, whose ranges may change between releases.
    fn below(&mut self, n: usize) -> usize {
        ((u64::from(self.0.next_u32()) * n as u64) >> 32) as usize
    }
}
