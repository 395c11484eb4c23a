//! Counts of what planners and converters look at, by place in the sources: tests fit how they grow with a network.
//!
//! Nothing is counted, and nothing kept, without the feature `work`.

/// Counts `n` looks of the caller at tensors, feature maps or constants.
#[inline(always)]
#[cfg_attr(feature = "work", track_caller)]
pub(crate) fn count(n: usize) {
    #[cfg(feature = "work")]
    counts::add(std::panic::Location::caller(), n as u64);
    #[cfg(not(feature = "work"))]
    let _ = n;
}

#[cfg(feature = "work")]
pub use counts::{Work, counted};

#[cfg(feature = "work")]
mod counts {
    use std::cell::RefCell;
    use std::collections::{BTreeMap, HashMap};
    use std::panic::Location;

    use foldhash::fast::FixedState;

    /// Counts by place.
    pub type Work = BTreeMap<&'static Location<'static>, u64>;

    /// By address of the place, of which there may be several. Every look is one of a key, so that hashing is most of what
    /// counting costs.
    type Counts = HashMap<usize, (&'static Location<'static>, u64), FixedState>;

    thread_local! {
        /// Absent while nobody asks.
        static COUNTS: RefCell<Option<Counts>> = RefCell::default();
    }

    pub(super) fn add(place: &'static Location<'static>, n: u64) {
        let address = std::ptr::from_ref(place) as usize;
        COUNTS.with_borrow_mut(|counts| {
            if let Some(counts) = counts {
                counts.entry(address).or_insert((place, 0)).1 += n;
            }
        });
    }

    /// The result of a call, and what was counted on this thread meanwhile.
    pub fn counted<T>(call: impl FnOnce() -> T) -> (T, Work) {
        COUNTS.set(Some(Counts::default()));
        let result = call();
        let mut work = Work::new();
        for (place, n) in COUNTS.take().unwrap_or_default().into_values() {
            *work.entry(place).or_default() += n;
        }
        (result, work)
    }
}
