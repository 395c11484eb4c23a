//! How much memory one call takes at most, on its own thread.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    static NOW: Cell<isize> = const { Cell::new(0) };
    static PEAK: Cell<isize> = const { Cell::new(0) };
    static ALLOCATIONS: Cell<usize> = const { Cell::new(0) };
}

/// The allocator of a program that measures.
pub struct Counting;

fn count(bytes: isize) {
    // A thread that ends has no counters any more; nothing is measured there.
    let _ = NOW.try_with(|now| {
        now.set(now.get() + bytes);
        let _ = PEAK.try_with(|peak| peak.set(peak.get().max(now.get())));
        if bytes > 0 {
            let _ = ALLOCATIONS.try_with(|n| n.set(n.get() + 1));
        }
    });
}

// SAFETY: every call goes to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as isize);
        unsafe { System.alloc(layout) }
    }

    // Without it, zeros would be written into memory that nobody looks at.
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as isize);
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count(-(layout.size() as isize));
        unsafe { System.dealloc(pointer, layout) }
    }
}

/// What a call took from the allocator.
#[derive(Clone, Copy, Debug, Default)]
pub struct Taken {
    /// Bytes held at the peak, beyond those held before.
    pub peak_bytes: usize,
    pub n_allocations: usize,
}

/// The result of `call`, and what it took. Counts only where [`Counting`] is the global allocator.
pub fn measure<T>(call: impl FnOnce() -> T) -> (T, Taken) {
    let before = NOW.get();
    PEAK.set(before);
    ALLOCATIONS.set(0);
    let result = call();
    let taken = Taken {
        peak_bytes: (PEAK.get() - before).max(0) as usize,
        n_allocations: ALLOCATIONS.get(),
    };
    (result, taken)
}
