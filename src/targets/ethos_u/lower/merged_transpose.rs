//! A TRANSPOSE, or several in a row that an accelerator runs as one.

/// From a tensor to another.
pub struct Transpose {
    pub input: usize,
    /// Dimension `order[k]` becomes dimension `k`.
    pub order: Vec<i32>,
    pub output: usize,
    /// Whether the RESHAPE before it in the file comes behind it.
    pub is_before_reshape: bool,
}

impl Transpose {
    /// Whether the order holds each dimension once.
    pub fn is_valid(&self) -> bool {
        let mut sorted = self.order.clone();
        sorted.sort_unstable();
        sorted.iter().zip(0..).all(|(&one, place)| one == place)
    }

    /// This TRANSPOSE behind `before`, whose output it alone reads.
    pub fn behind(self, before: Transpose) -> Self {
        let order = (self.order.iter())
            .filter_map(|&dimension| before.order.get(usize::try_from(dimension).ok()?))
            .copied();
        Self {
            input: before.input,
            order: order.collect(),
            output: self.output,
            is_before_reshape: false,
        }
    }
}
