//! `BuiltinOptions`: the typed options of one operator.

mod arithmetic;
mod calls;
mod layouts;
mod reader;
mod recurrent;
mod windows;

use self::reader::Reader;
use super::custom_options::{CustomOptions, MAX_OPTION_BYTES};
use super::error::ParseError;
use super::options::BuiltinOptions;
use super::read_budget::{OperatorPlace, ReadBudget};
use super::schema::{self, BuiltinOptions as Kind, BuiltinOptions2 as Kind2};

pub(super) fn read(
    context: &mut ReadBudget,
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
    let custom = operator.custom_options();
    if let Some(custom) = custom.filter(|custom| custom.len() <= MAX_OPTION_BYTES) {
        let options = context.copy(Some(custom))?;
        return Ok(BuiltinOptions::Custom(CustomOptions(options.into())));
    }
    let is_absent = kind == Kind::NONE && operator.builtin_options_2_type() == Kind2::NONE;
    Ok(if is_absent {
        BuiltinOptions::Absent
    } else {
        BuiltinOptions::Other
    })
}
