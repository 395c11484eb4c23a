//! The window that a convolution or pooling slides over its input.

use crate::formats::tflite::{BuiltinOptions, Padding, Sliding};
use crate::graph::Graph;

/// The sliding window of a convolution or pooling; 0 everywhere for other operators.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Window {
    pub filter_h: i32,
    pub filter_w: i32,
    pub stride_h: i32,
    pub stride_w: i32,
    pub dilation_h: i32,
    pub dilation_w: i32,
    pub padding_same: f32,
    pub groups: f32,
}

impl Window {
    /// One position after the other.
    pub const POINT: Self = Self {
        filter_h: 1,
        filter_w: 1,
        stride_h: 1,
        stride_w: 1,
        dilation_h: 1,
        dilation_w: 1,
        padding_same: 0.0,
        groups: 1.0,
    };

    /// The window of one node that reads `in_channels` channels. The filter's size comes from the shape of its weights.
    pub fn new(graph: &Graph, node_idx: usize, in_channels: f32) -> Self {
        let operator = graph.nodes[node_idx].operator;
        let Some(mut window) = stated_window(&operator.options) else {
            return Self::default();
        };
        if window.filter_h == 0 {
            let filter = operator
                .inputs
                .get(1)
                .copied()
                .flatten()
                .map(|t| graph.tensor(t));
            let Some([_, h, w, c]) =
                filter.and_then(|t| <[i32; 4]>::try_from(t.shape.as_slice()).ok())
            else {
                return window;
            };
            (window.filter_h, window.filter_w) = (h, w);
            let depthwise = matches!(operator.options, BuiltinOptions::DepthwiseConv2D { .. });
            window.groups = if depthwise {
                in_channels
            } else {
                in_channels / (c.max(1) as f32)
            };
        }
        window
    }
}

/// The window as the options state it; a filter of 0 means that the size comes from the shape of the weights.
fn stated_window(options: &BuiltinOptions) -> Option<Window> {
    let ([filter_h, filter_w], groups) = match *options {
        BuiltinOptions::Conv2D { .. } | BuiltinOptions::DepthwiseConv2D { .. } => ([0; 2], 0.0),
        BuiltinOptions::Pool2D {
            filter_h, filter_w, ..
        } => ([filter_h, filter_w], 1.0),
        _ => return None,
    };
    let Sliding {
        padding,
        strides: [_, stride_h, stride_w],
        dilations: [_, dilation_h, dilation_w],
    } = options.sliding()?;
    Some(Window {
        filter_h,
        filter_w,
        stride_h,
        stride_w,
        dilation_h,
        dilation_w,
        padding_same: f32::from(u8::from(padding == Padding::Same)),
        groups,
    })
}

/// Positions of a window along one dimension.
pub fn windows(size: i32, filter: i32, stride: i32, dilation: i32, padding: Padding) -> i64 {
    let [size, filter, stride, dilation] = [size, filter, stride, dilation].map(i64::from);
    let extent = (filter - 1).saturating_mul(dilation).saturating_add(1);
    let free = match padding {
        Padding::Same => size,
        Padding::Valid => (size - extent + 1).max(0),
    };
    (free + stride - 1) / stride.max(1)
}
