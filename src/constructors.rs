//! What the linker collects to run before a program, in the browser's module: tract registers its
//! kernels so.

use std::sync::Once;

unsafe extern "C" {
    /// The linker's own. It takes a module that names it nowhere for a command, and has it run at every
    /// call from JavaScript, those of allocations and of values too.
    fn __wasm_call_ctors();
}

/// To be called before tract is.
pub fn run_once() {
    static ONCE: Once = Once::new();
    // SAFETY: a function without arguments that is in every module, and runs this once. What it runs
    // adds statics to lists that nothing has read before.
    ONCE.call_once(|| unsafe { __wasm_call_ctors() });
}
