//! `BuiltinOptions`: the typed options of one operator.

mod arithmetic;
mod calls;
mod layouts;
mod recurrent;
mod windows;

use super::context::{Context, OperatorPlace};
use super::error::ParseError;
use super::options::{Activation, BuiltinOptions, LstmKernelType, MirrorPadMode, Padding};
use super::schema::{self, BuiltinOptions as Kind, BuiltinOptions2 as Kind2};
use crate::diagnostic::Severity::Warning;

/// What one group of kinds gives: nothing where the operator's kind is not in the group.
type Found = Result<Option<BuiltinOptions>, ParseError>;

pub(super) fn read(
    context: &mut Context,
    operator: schema::Operator,
    place: &OperatorPlace,
) -> Result<BuiltinOptions, ParseError> {
    let kind = operator.builtin_options_type();
    let groups = [
        windows::windows,
        arithmetic::dense,
        arithmetic::elementwise,
        layouts::layouts,
        layouts::picks,
        arithmetic::reductions,
        layouts::images,
        recurrent::recurrent,
        calls::calls,
        calls::stablehlo,
    ];
    for group in groups {
        let mut reader = Reader {
            context,
            operator,
            place,
        };
        if let Some(options) = group(&mut reader, kind)? {
            return Ok(options);
        }
    }
    let is_absent = kind == Kind::NONE && operator.builtin_options_2_type() == Kind2::NONE;
    Ok(if is_absent {
        BuiltinOptions::Absent
    } else {
        BuiltinOptions::Other
    })
}

struct Reader<'c, 'a> {
    context: &'c mut Context,
    operator: schema::Operator<'a>,
    place: &'c OperatorPlace<'c>,
}

impl Reader<'_, '_> {
    fn invalid(
        &self,
        what: &'static str,
        expected: &'static str,
        found: impl Into<i32>,
    ) -> ParseError {
        ParseError::InvalidOption {
            place: self.place.to_string(),
            what,
            expected,
            found: found.into(),
        }
    }

    /// Strides, dilations and window sizes: no kernel runs with one below 1.
    fn positive(&self, what: &'static str, stored: i32) -> Result<i32, ParseError> {
        if stored < 1 {
            return Err(self.invalid(what, "a number from 1 on", stored));
        }
        Ok(stored)
    }

    fn padding(&self, stored: schema::Padding) -> Result<Padding, ParseError> {
        match stored {
            schema::Padding::SAME => Ok(Padding::Same),
            schema::Padding::VALID => Ok(Padding::Valid),
            other => Err(self.invalid("padding", "0 (SAME) or 1 (VALID)", other.0)),
        }
    }

    fn mirror_pad_mode(&self, stored: schema::MirrorPadMode) -> Result<MirrorPadMode, ParseError> {
        match stored {
            schema::MirrorPadMode::REFLECT => Ok(MirrorPadMode::Reflect),
            schema::MirrorPadMode::SYMMETRIC => Ok(MirrorPadMode::Symmetric),
            other => Err(self.invalid("mode", "0 (REFLECT) or 1 (SYMMETRIC)", other.0)),
        }
    }

    fn lstm_kernel_type(
        &self,
        stored: schema::LSTMKernelType,
    ) -> Result<LstmKernelType, ParseError> {
        match stored {
            schema::LSTMKernelType::FULL => Ok(LstmKernelType::Full),
            schema::LSTMKernelType::BASIC => Ok(LstmKernelType::Basic),
            other => Err(self.invalid("kernel type", "0 (FULL) or 1 (BASIC)", other.0)),
        }
    }

    /// TFLite runs an operator with an activation it does not know as one without.
    fn activation(&mut self, stored: schema::ActivationFunctionType) -> Activation {
        match stored {
            schema::ActivationFunctionType::NONE => Activation::None,
            schema::ActivationFunctionType::RELU => Activation::Relu,
            schema::ActivationFunctionType::RELU_N1_TO_1 => Activation::ReluN1To1,
            schema::ActivationFunctionType::RELU6 => Activation::Relu6,
            schema::ActivationFunctionType::TANH => Activation::Tanh,
            schema::ActivationFunctionType::SIGN_BIT => Activation::SignBit,
            schema::ActivationFunctionType(other) => {
                let place = self.place;
                self.context.diagnostics.push(Warning, "unknown-activation", || {
                    format!("{place}: expected a fused activation from 0 to 5, found {other}; taken as none")
                });
                Activation::None
            }
        }
    }
}
