//! Scales and zero points that integer kernels accept and that keep the values of a random network in range: no layer
//! saturates, and no layer has only zeros.

use litecast::formats::tflite::Activation;

use super::network::Quantization;
use super::random::SplitMix64;

/// Quantisation of an activation, with the spread of its values, from which later scales are planned.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    pub scale: f64,
    pub zero_point: i8,
    /// Root mean square of `stored − zero_point`.
    pub rms_steps: f64,
}

/// ±3 standard deviations over the 255 steps of int8.
const SIGNED_RMS_STEPS: f64 = 42.0;
/// The same range for a rectified value: three standard deviations over 255 steps …
const RECTIFIED_SIGMA_STEPS: f64 = 85.0;
/// … with a root mean square of 1/√2 after rectifying.
const RECTIFIED_RMS_STEPS: f64 = 60.0;

impl Spread {
    /// A signed value whose root mean square is `rms` in real units.
    pub fn signed(rms: f64, random: &mut SplitMix64) -> Self {
        let zero_point = random.below(41) as i8 - 20;
        Spread {
            scale: rms / SIGNED_RMS_STEPS,
            zero_point,
            rms_steps: SIGNED_RMS_STEPS,
        }
    }

    /// A value that is never negative, whose root mean square is `rms` in real units.
    pub fn positive(rms: f64) -> Self {
        Spread {
            scale: rms / RECTIFIED_RMS_STEPS,
            zero_point: -128,
            rms_steps: RECTIFIED_RMS_STEPS,
        }
    }

    /// A signed value of root mean square `rms` in real units, after rectifying.
    pub fn rectified(rms: f64) -> Self {
        Spread::positive(rms / 2f64.sqrt())
    }

    /// The output of a layer with weights, and the standard deviation in steps before its activation.
    pub fn after_layer(activation: Activation, random: &mut SplitMix64) -> (Self, f64) {
        let scale = match activation {
            Activation::Relu6 => 6.0 / 255.0,
            _ => random.log_between(0.01, 0.08),
        };
        match activation {
            Activation::Relu | Activation::Relu6 => (
                Spread {
                    scale,
                    zero_point: -128,
                    rms_steps: RECTIFIED_RMS_STEPS,
                },
                RECTIFIED_SIGMA_STEPS,
            ),
            _ => (
                Spread::signed(scale * SIGNED_RMS_STEPS, random),
                SIGNED_RMS_STEPS,
            ),
        }
    }

    /// Root mean square in real units.
    pub fn rms(&self) -> f64 {
        self.scale * self.rms_steps
    }

    pub fn quantization(&self) -> Quantization {
        Quantization {
            scales: vec![self.scale as f32],
            zero_point: self.zero_point,
            axis: 0,
        }
    }
}

/// One weight scale for each channel, near `scale` and below twice of it.
pub fn channel_scales(scale: f64, n_channels: usize, random: &mut SplitMix64) -> Vec<f32> {
    let mut scales = Vec::with_capacity(n_channels);
    for _ in 0..n_channels {
        scales.push((scale * random.between(0.5, 1.6)) as f32);
    }
    scales
}
