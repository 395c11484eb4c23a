//! Whether a model fits on the boards of [`target::boards`](crate::target::boards), and how fast it runs there.

mod fits;
mod listing;

pub use fits::{
    Application, BoardLatency, Fits, Need, NoLatency, OnBoard, Room, Verdict, arena_bytes, fits,
    fits_of_need,
};
pub use listing::Listing;

pub use crate::targets::tflite_micro::{Bytes, Refused};
