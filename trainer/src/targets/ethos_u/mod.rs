//! What is fitted for `litecast::targets::ethos_u`.

pub mod cases;
mod random;
pub mod sets;
pub mod setup;
pub mod silicon;
pub mod widths;
