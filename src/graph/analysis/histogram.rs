//! The distribution of a constant's stored values, on which its compressed size depends.

use std::sync::Arc;

/// How often each byte is stored in a constant.
#[derive(Clone, Debug)]
pub struct ByteHistogram {
    /// Counts of each byte value, from a sample if the constant is large. They take 2 kB, so parts of a constant, and
    /// constants with another zero point in the same buffer, share them.
    pub counts: Arc<[u64; 256]>,
    /// The byte that represents 0.
    pub zero: u8,
    /// Whether bytes are in two's complement.
    pub is_signed: bool,
    /// Bytes of the whole constant.
    pub n_bytes: usize,
    /// Whether at most two of each four adjacent input channels have a weight, none of them -128 or further from 0: the
    /// 2:4 sparsity that some accelerators use. Not looked for with at most two channels, and where another zero point
    /// was counted.
    pub is_sparse: bool,
}

impl ByteHistogram {
    /// The histogram of a constant of another size whose values have the same distribution.
    pub fn resized(this: &Arc<Self>, n_bytes: u64) -> Arc<Self> {
        let n_bytes = usize::try_from(n_bytes).unwrap_or(usize::MAX);
        if this.n_bytes == n_bytes {
            this.clone()
        } else {
            Arc::new(Self {
                n_bytes,
                ..this.as_ref().clone()
            })
        }
    }
}

impl PartialEq for ByteHistogram {
    fn eq(&self, other: &Self) -> bool {
        let rest = |histogram: &Self| {
            (
                histogram.zero,
                histogram.is_signed,
                histogram.n_bytes,
                histogram.is_sparse,
            )
        };
        if rest(self) != rest(other) || Arc::ptr_eq(&self.counts, &other.counts) {
            return rest(self) == rest(other);
        }
        let pairs = self.counts.iter().zip(other.counts.iter());
        // Compare number by number: WebAssembly compares memory byte by byte, which is slower, and histograms are
        // compared for every layer.
        let differs = pairs.fold(0, |differs, (one, other)| differs | (one ^ other));
        differs == 0
    }
}
