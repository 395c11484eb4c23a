//! Constructors that the linker collects to run before a program, in the browser's module. tract registers its kernels
//! in this way.

use std::sync::Once;

unsafe extern "C" {
    /// A function of the linker. If a module never names it, the linker assumes a command, and runs the constructors at
    /// every call from JavaScript, including those for allocations and values.
    fn __wasm_call_ctors();
}

/// Must be called before tract is used.
pub fn run_once() {
    static ONCE: Once = Once::new();
    // SAFETY: the function has no arguments, is in every module, and runs once here. The constructors add statics to
    // lists that nothing has read before.
    ONCE.call_once(|| unsafe { __wasm_call_ctors() });
}
