//! A reproducible stream of numbers.

/// splitmix64.
#[derive(Clone)]
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// From 0 to `limit` − 1; 0 for a limit of 0.
    pub fn below(&mut self, limit: usize) -> usize {
        (self.next_u64() % limit.max(1) as u64) as usize
    }

    /// A count of parts: mostly a few, one in 4,096 in the thousands. A large one costs as much as a thousand small ones, of
    /// which many different ones find more.
    pub fn amount(&mut self) -> usize {
        let limit = match self.below(4096) {
            0 => 4000,
            1..32 => 400,
            32..512 => 40,
            _ => 4,
        };
        1 + self.below(limit)
    }

    pub fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    pub fn pick<T: Copy>(&mut self, options: &[T]) -> T {
        options[self.below(options.len())]
    }
}
