//! The window of convolutions and poolings.

use litecast::formats::tflite::Padding;
use litecast::graph::analysis::window::windows;

/// Pairs are `[height, width]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// Rows and columns of the window.
    pub kernel: [i32; 2],
    /// Rows and columns from one window to the next.
    pub stride: [i32; 2],
    /// How the sides of the input are filled.
    pub padding: Padding,
    /// Distance of the pixels that a kernel reads; 1 for poolings.
    pub dilation: [i32; 2],
}

impl Window {
    /// A window without dilation.
    pub fn rect(kernel: [i32; 2], stride: [i32; 2], padding: Padding) -> Self {
        Window {
            kernel,
            stride,
            padding,
            dilation: [1, 1],
        }
    }

    /// A square kernel of side `kernel`.
    pub fn square(kernel: i32, stride: i32, padding: Padding) -> Self {
        Window::rect([kernel; 2], [stride; 2], padding)
    }

    /// 1×1 with stride 1.
    pub fn point() -> Self {
        Window::square(1, 1, Padding::Same)
    }

    /// The same window with this dilation along both axes.
    pub fn dilated(self, dilation: i32) -> Self {
        Window {
            dilation: [dilation; 2],
            ..self
        }
    }

    /// Output height or width.
    fn output_side(&self, axis: usize, input_side: i32) -> i32 {
        let [kernel, stride, dilation] = [self.kernel, self.stride, self.dilation];
        let [kernel, stride, dilation] = [kernel[axis], stride[axis], dilation[axis]];
        let side = windows(input_side, kernel, stride, dilation, self.padding);
        assert!(
            side > 0,
            "window {self:?} does not fit into a side of {input_side}"
        );
        i32::try_from(side).expect("no more windows than positions")
    }

    pub(super) fn output_shape(&self, input: &[i32], channels: i32) -> Vec<i32> {
        vec![
            input[0],
            self.output_side(0, input[1]),
            self.output_side(1, input[2]),
            channels,
        ]
    }
}
