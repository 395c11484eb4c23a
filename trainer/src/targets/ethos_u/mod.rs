//! What is fitted for `litecast::targets::ethos_u`.

pub mod silicon;
