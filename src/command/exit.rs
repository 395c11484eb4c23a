//! Exit codes beside 0 for success and 1 for a limit that is exceeded.

/// Nothing could be done, for example because of a wrong argument. clap ends with the same code.
pub const TROUBLE: u8 = 2;
