//! Convolutions and pooling.

use super::reader::{ParsedOptions, Reader};
use crate::formats::tflite::options::BuiltinOptions;
use crate::formats::tflite::schema::BuiltinOptions as Kind;

/// Convolutions and pooling: kernels that slide over an image.
pub(super) fn windows(reader: &mut Reader, kind: Kind) -> ParsedOptions {
    Ok(match kind {
        Kind::Conv2DOptions => reader.conv_2d()?,
        Kind::DepthwiseConv2DOptions => reader.depthwise_conv_2d()?,
        Kind::Conv3DOptions => reader.conv_3d()?,
        Kind::TransposeConvOptions => reader.transpose_conv()?,
        Kind::Pool2DOptions => reader.pool_2d()?,
        _ => None,
    })
}

impl Reader<'_, '_> {
    fn conv_2d(&mut self) -> ParsedOptions {
        let Some(o) = self.operator.builtin_options_as_conv_2_doptions() else {
            return Ok(None);
        };
        Ok(Some(BuiltinOptions::Conv2D {
            padding: self.padding(o.padding())?,
            stride_h: self.positive("stride_h", o.stride_h())?,
            stride_w: self.positive("stride_w", o.stride_w())?,
            dilation_h: self.positive("dilation_h_factor", o.dilation_h_factor())?,
            dilation_w: self.positive("dilation_w_factor", o.dilation_w_factor())?,
            activation: self.activation(o.fused_activation_function()),
        }))
    }

    fn depthwise_conv_2d(&mut self) -> ParsedOptions {
        let Some(o) = self.operator.builtin_options_as_depthwise_conv_2_doptions() else {
            return Ok(None);
        };
        Ok(Some(BuiltinOptions::DepthwiseConv2D {
            padding: self.padding(o.padding())?,
            stride_h: self.positive("stride_h", o.stride_h())?,
            stride_w: self.positive("stride_w", o.stride_w())?,
            dilation_h: self.positive("dilation_h_factor", o.dilation_h_factor())?,
            dilation_w: self.positive("dilation_w_factor", o.dilation_w_factor())?,
            depth_multiplier: o.depth_multiplier(),
            activation: self.activation(o.fused_activation_function()),
        }))
    }

    fn conv_3d(&mut self) -> ParsedOptions {
        let Some(o) = self.operator.builtin_options_as_conv_3_doptions() else {
            return Ok(None);
        };
        Ok(Some(BuiltinOptions::Conv3D {
            padding: self.padding(o.padding())?,
            stride_d: self.positive("stride_d", o.stride_d())?,
            stride_h: self.positive("stride_h", o.stride_h())?,
            stride_w: self.positive("stride_w", o.stride_w())?,
            dilation_d: self.positive("dilation_d_factor", o.dilation_d_factor())?,
            dilation_h: self.positive("dilation_h_factor", o.dilation_h_factor())?,
            dilation_w: self.positive("dilation_w_factor", o.dilation_w_factor())?,
            activation: self.activation(o.fused_activation_function()),
        }))
    }

    fn transpose_conv(&mut self) -> ParsedOptions {
        let Some(o) = self.operator.builtin_options_as_transpose_conv_options() else {
            return Ok(None);
        };
        Ok(Some(BuiltinOptions::TransposeConv {
            padding: self.padding(o.padding())?,
            stride_h: self.positive("stride_h", o.stride_h())?,
            stride_w: self.positive("stride_w", o.stride_w())?,
            activation: self.activation(o.fused_activation_function()),
        }))
    }

    fn pool_2d(&mut self) -> ParsedOptions {
        let Some(o) = self.operator.builtin_options_as_pool_2_doptions() else {
            return Ok(None);
        };
        Ok(Some(BuiltinOptions::Pool2D {
            padding: self.padding(o.padding())?,
            stride_h: self.positive("stride_h", o.stride_h())?,
            stride_w: self.positive("stride_w", o.stride_w())?,
            filter_h: self.positive("filter_height", o.filter_height())?,
            filter_w: self.positive("filter_width", o.filter_width())?,
            activation: self.activation(o.fused_activation_function()),
        }))
    }
}
