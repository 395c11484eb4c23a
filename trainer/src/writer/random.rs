//! The fast generator of weight values, which gives the same numbers on every platform.

/// SplitMix64 (Steele, Lea, Flood 2014). Consecutive outputs are independent, so that a processor computes them in
/// parallel, and any seed is suitable.
#[derive(Clone, Debug)]
pub struct SplitMix64(u64);

const GOLDEN_GAMMA: u64 = 0x9e37_79b9_7f4a_7c15;

impl SplitMix64 {
    /// Starts the sequence of a seed.
    pub fn new(seed: u64) -> Self {
        SplitMix64(seed)
    }

    /// An independent generator for the part `idx` of what `seed` describes.
    pub fn for_part(seed: u64, idx: u64) -> Self {
        let mut of_seed = SplitMix64(seed);
        let mut of_part = SplitMix64(of_seed.next_u64() ^ idx.wrapping_mul(0xd6e8_feb8_6659_fd93));
        SplitMix64(of_part.next_u64())
    }

    /// The next 64 bits.
    #[inline]
    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(GOLDEN_GAMMA);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Uniform in `[0, 1)`.
    pub fn unit(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Uniform in `[low, high)`.
    pub fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.unit()
    }

    /// Its logarithm is uniform.
    pub fn log_between(&mut self, low: f64, high: f64) -> f64 {
        libm::exp(self.between(libm::log(low), libm::log(high)))
    }

    /// One of `0..n`.
    pub fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.next_u64()) * u128::from(n)) >> 64) as u64
    }

    /// Mean 0, standard deviation 1, nearly Gaussian: the sum of four uniform 16-bit numbers.
    #[inline]
    pub fn bell(&mut self) -> f64 {
        const STANDARD_DEVIATION: f64 = 37837.0; // 65536 × √(4/12)
        let bits = self.next_u64();
        let sum = (bits & 0xffff) + (bits >> 16 & 0xffff) + (bits >> 32 & 0xffff) + (bits >> 48);
        (sum as f64 - 131_070.0) / STANDARD_DEVIATION
    }
}
