//! The window of convolutions and poolings.

use litecast::formats::tflite::Padding;

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
        let reach = (self.kernel[axis] - 1) * self.dilation[axis];
        let covered = match self.padding {
            Padding::Same => input_side,
            Padding::Valid => input_side - reach,
        };
        assert!(
            covered > 0,
            "window {self:?} does not fit into a side of {input_side}"
        );
        (covered + self.stride[axis] - 1) / self.stride[axis]
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
