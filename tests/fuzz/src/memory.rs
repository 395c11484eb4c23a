//! How much memory one call takes at most, of the whole process: large graphs are estimated on two threads.

use std::alloc::{GlobalAlloc, Layout};
use std::sync::atomic::{AtomicIsize, AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};

use mimalloc::MiMalloc;

static NOW: AtomicIsize = AtomicIsize::new(0);
static PEAK: AtomicIsize = AtomicIsize::new(0);
static ALLOCATIONS: AtomicUsize = AtomicUsize::new(0);

/// The allocator of a program that measures: that of the command, with counts.
pub struct Counting;

fn count(bytes: usize) {
    let bytes = bytes.cast_signed();
    PEAK.fetch_max(NOW.fetch_add(bytes, Relaxed) + bytes, Relaxed);
    ALLOCATIONS.fetch_add(1, Relaxed);
}

fn count_back(bytes: usize) {
    NOW.fetch_sub(bytes.cast_signed(), Relaxed);
}

// SAFETY: every call goes to mimalloc unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        unsafe { MiMalloc.alloc(layout) }
    }

    // Without it, zeros would be written into memory that nobody looks at.
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        unsafe { MiMalloc.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count_back(layout.size());
        unsafe { MiMalloc.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        // Both at once, as where it has to be copied.
        count(new_size);
        count_back(layout.size());
        unsafe { MiMalloc.realloc(pointer, layout, new_size) }
    }
}

/// Lets no other test of the program measure while the result lives, or do anything else that it counts.
pub fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What a call took from the allocator.
#[derive(Clone, Copy, Debug, Default)]
pub struct Taken {
    /// Bytes held at the peak, beyond those held before.
    pub peak_bytes: usize,
    pub n_allocations: usize,
}

/// The result of `call`, and what it took: right where [`Counting`] is the global allocator and no other thread of the
/// program does anything.
pub fn measure<T>(call: impl FnOnce() -> T) -> (T, Taken) {
    let before = NOW.load(Relaxed);
    PEAK.store(before, Relaxed);
    ALLOCATIONS.store(0, Relaxed);
    let result = call();
    let taken = Taken {
        peak_bytes: (PEAK.load(Relaxed) - before).max(0).cast_unsigned(),
        n_allocations: ALLOCATIONS.load(Relaxed),
    };
    (result, taken)
}
