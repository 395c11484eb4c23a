//! What is fitted for `litecast::targets::ethos_u`.

pub mod cases;
pub mod interval_widths;
mod random;
pub mod sets;
pub mod setup;
pub mod silicon;
