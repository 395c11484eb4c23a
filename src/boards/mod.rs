//! Whether a model fits on the boards of [`target::boards`](crate::target::boards), and how fast it runs there.

mod fits;
mod listing;

pub use fits::{
    Application, BoardLatency, Fits, Need, NoLatency, OnBoard, Room, Verdict, fits, fits_of_need,
};
pub use listing::Listing;
