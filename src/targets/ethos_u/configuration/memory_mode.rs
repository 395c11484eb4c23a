//! Which data is in which memory.

use super::system::MemoryArea;

/// The memories of constants and feature maps, beside the SRAM that the compiler fills.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placement {
    /// Everything in SRAM.
    SramOnly,
    /// Feature maps in SRAM.
    Shared { constants: MemoryArea },
    /// Everything in DRAM; the SRAM holds what the compiler moves there.
    Dedicated,
}

/// A section `Memory_Mode` of `vela.ini`.
#[derive(Clone, Debug, PartialEq)]
pub struct MemoryMode {
    pub name: String,
    pub placement: Placement,
    /// SRAM that the compiler may fill, in bytes, where the section says so.
    pub arena_cache_bytes: Option<i64>,
}
