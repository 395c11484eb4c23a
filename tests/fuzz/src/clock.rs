//! How long a call takes, whatever else the machine does.

use std::fs;
use std::time::{Duration, Instant};

/// Linux counts the nanoseconds that a thread has run, which is the first number of this file.
const RUN: &str = "/proc/thread-self/schedstat";

/// Since a call began.
pub enum Clock {
    /// Time of the thread at the start.
    Thread(Duration),
    Wall(Instant),
}

impl Clock {
    pub fn start() -> Self {
        match run() {
            Some(start) => Self::Thread(start),
            None => Self::Wall(Instant::now()),
        }
    }

    pub fn elapsed(&self) -> Duration {
        match self {
            Self::Thread(start) => run().map_or(Duration::ZERO, |now| now.saturating_sub(*start)),
            Self::Wall(start) => start.elapsed(),
        }
    }
}

fn run() -> Option<Duration> {
    let text = fs::read_to_string(RUN).ok()?;
    let nanoseconds = text.split(' ').next()?.parse().ok()?;
    Some(Duration::from_nanos(nanoseconds))
}
