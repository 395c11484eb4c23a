//! Shapes of feature maps and the arithmetic of dividing them, shared by every module of this room.

/// A shape or block: height, width, channels.
pub type Hwc = [i64; 3];

/// A value for the input feature map of an operation and one for its output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct IfmOfm<T> {
    pub ifm: T,
    pub ofm: T,
}

impl<T> IfmOfm<T> {
    /// The same value for both.
    pub const fn both(value: T) -> Self
    where
        T: Copy,
    {
        Self {
            ifm: value,
            ofm: value,
        }
    }

    pub fn map<U>(self, mut to: impl FnMut(T) -> U) -> IfmOfm<U> {
        IfmOfm {
            ifm: to(self.ifm),
            ofm: to(self.ofm),
        }
    }
}

/// Channels of one brick of the NHCWB16 layout, which feature maps between operations have. A partly filled brick takes
/// the space and the bandwidth of a full one. Output channels are divided into blocks, and weights into slices, at
/// multiples of this, so that no brick is written twice (`ArchitectureFeatureMap` and `CeilB16` in Vela's
/// `ethos_u55.cpp` and `ethos_u85.cpp`).
pub const BRICK_CHANNELS: i64 = 16;

/// `value / by`, rounded up. A divisor below 1 counts as 1.
pub fn ceil_div(value: i64, by: i64) -> i64 {
    (value + by - 1) / by.max(1)
}

/// The smallest multiple of `to` that is at least `value`.
pub fn round_up(value: i64, to: i64) -> i64 {
    ceil_div(value, to) * to
}

/// The largest multiple of `to` that is at most `value`.
pub fn round_down(value: i64, to: i64) -> i64 {
    value / to * to
}

/// Elements of a shape.
pub fn volume(shape: Hwc) -> i64 {
    shape.iter().product()
}

/// Bytes in NHCWB16 over bytes in NHWC, for a feature map of this many channels.
pub fn brick_padding(channels: f64) -> f64 {
    let brick = BRICK_CHANNELS as f64;
    if channels == 0.0 {
        1.0
    } else {
        (channels / brick).ceil() * brick / channels
    }
}
