//! Uniform, independent choices that are the same on every platform and in every release.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng};

/// The random choices of one sample.
pub struct Choices(ChaCha8Rng);

impl Choices {
    /// `space` separates the streams of different spaces.
    pub fn new(space: [u8; 16], seed: u64, index: u64) -> Self {
        let mut key = [0; 32];
        key[..8].copy_from_slice(&seed.to_le_bytes());
        key[8..16].copy_from_slice(&index.to_le_bytes());
        key[16..].copy_from_slice(&space);
        Choices(ChaCha8Rng::from_seed(key))
    }

    /// One of `options`, all equally likely.
    pub fn pick<T: Copy>(&mut self, options: &[T]) -> T {
        options[self.below(options.len())]
    }

    /// One of `low..=high`.
    pub fn between(&mut self, low: usize, high: usize) -> usize {
        low + self.below(high - low + 1)
    }

    /// Draws true or false, each with the same chance.
    pub fn coin(&mut self) -> bool {
        self.pick(&[false, true])
    }

    /// A seed for values that are not part of the structure: weights and scales.
    pub fn seed(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Implemented here instead of with `rand`, whose ranges may change between releases.
    fn below(&mut self, n: usize) -> usize {
        ((u64::from(self.0.next_u32()) * n as u64) >> 32) as usize
    }
}
