//! Cortex-A processors: what turns instructions that an emulator counts into milliseconds and
//! millijoules of a measured board.

mod constants;

pub use self::constants::{Board, Check, Constant, Constants, Energy, Errors, WithStores};
