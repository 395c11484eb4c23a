//! The functions with which every group of operator kinds reads its options.

use super::super::error::ParseError;
use super::super::options::{Activation, BuiltinOptions, LstmKernelType, MirrorPadMode, Padding};
use super::super::read_budget::{OperatorPlace, ReadBudget};
use super::super::schema;
use crate::diagnostic::Severity::Warning;

/// What one group of kinds gives: nothing where the operator's kind is not in the group.
pub type ParsedOptions = Result<Option<BuiltinOptions>, ParseError>;

/// The options of one operator.
pub struct Reader<'c, 'a> {
    pub context: &'c mut ReadBudget,
    pub operator: schema::Operator<'a>,
    pub place: &'c OperatorPlace<'c>,
}

impl Reader<'_, '_> {
    pub fn invalid(
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
    pub fn positive(&self, what: &'static str, stored: i32) -> Result<i32, ParseError> {
        if stored < 1 {
            return Err(self.invalid(what, "a number from 1 on", stored));
        }
        Ok(stored)
    }

    pub fn padding(&self, stored: schema::Padding) -> Result<Padding, ParseError> {
        match stored {
            schema::Padding::SAME => Ok(Padding::Same),
            schema::Padding::VALID => Ok(Padding::Valid),
            other => Err(self.invalid("padding", "0 (SAME) or 1 (VALID)", other.0)),
        }
    }

    pub fn mirror_pad_mode(
        &self,
        stored: schema::MirrorPadMode,
    ) -> Result<MirrorPadMode, ParseError> {
        match stored {
            schema::MirrorPadMode::REFLECT => Ok(MirrorPadMode::Reflect),
            schema::MirrorPadMode::SYMMETRIC => Ok(MirrorPadMode::Symmetric),
            other => Err(self.invalid("mode", "0 (REFLECT) or 1 (SYMMETRIC)", other.0)),
        }
    }

    pub fn lstm_kernel_type(
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
    pub fn activation(&mut self, stored: schema::ActivationFunctionType) -> Activation {
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
