//! Operators that run subgraphs or name variables.

use super::reader::{ParsedOptions, Reader};
use crate::formats::tflite::error::ParseError;
use crate::formats::tflite::options::{BuiltinOptions, VarHandle};
use crate::formats::tflite::schema::{BuiltinOptions as Kind, BuiltinOptions2 as Kind2};

/// Operators that run other subgraphs or name a variable.
pub(super) fn calls(reader: &mut Reader, kind: Kind) -> ParsedOptions {
    Ok(match kind {
        Kind::CallOptions => reader.call()?,
        Kind::CallOnceOptions => reader.call_once()?,
        Kind::IfOptions => reader.if_()?,
        Kind::WhileOptions => reader.while_()?,
        Kind::VarHandleOptions => reader.var_handle()?,
        _ => None,
    })
}

impl Reader<'_, '_> {
    fn call(&mut self) -> ParsedOptions {
        let Some(o) = self.operator.builtin_options_as_call_options() else {
            return Ok(None);
        };
        Ok(Some(BuiltinOptions::Call {
            subgraph_idx: self.subgraph_idx(o.subgraph())?,
        }))
    }

    fn call_once(&mut self) -> ParsedOptions {
        let Some(o) = self.operator.builtin_options_as_call_once_options() else {
            return Ok(None);
        };
        let init_subgraph_idx = self.subgraph_idx(o.init_subgraph_index())?;
        Ok(Some(BuiltinOptions::CallOnce { init_subgraph_idx }))
    }

    fn if_(&mut self) -> ParsedOptions {
        let Some(o) = self.operator.builtin_options_as_if_options() else {
            return Ok(None);
        };
        Ok(Some(BuiltinOptions::If {
            then_subgraph_idx: self.subgraph_idx(o.then_subgraph_index())?,
            else_subgraph_idx: self.subgraph_idx(o.else_subgraph_index())?,
        }))
    }

    fn while_(&mut self) -> ParsedOptions {
        let Some(o) = self.operator.builtin_options_as_while_options() else {
            return Ok(None);
        };
        Ok(Some(BuiltinOptions::While {
            cond_subgraph_idx: self.subgraph_idx(o.cond_subgraph_index())?,
            body_subgraph_idx: self.subgraph_idx(o.body_subgraph_index())?,
        }))
    }

    fn var_handle(&mut self) -> ParsedOptions {
        let Some(o) = self.operator.builtin_options_as_var_handle_options() else {
            return Ok(None);
        };
        Ok(Some(BuiltinOptions::VarHandle(Box::new(VarHandle {
            container: self.context.copy_str(o.container())?,
            shared_name: self.context.copy_str(o.shared_name())?,
        }))))
    }
}

/// StableHLO operators, whose options are in a union of their own: those that run subgraphs.
pub(super) fn stablehlo(reader: &mut Reader, _: Kind) -> ParsedOptions {
    let operator = reader.operator;
    let body_subgraph_idx = match operator.builtin_options_2_type() {
        Kind2::StablehloReduceOptions => operator
            .builtin_options_2_as_stablehlo_reduce_options()
            .map(|o| o.body_subgraph_index()),
        Kind2::StablehloReduceWindowOptions => operator
            .builtin_options_2_as_stablehlo_reduce_window_options()
            .map(|o| o.body_subgraph_index()),
        Kind2::StablehloScatterOptions => operator
            .builtin_options_2_as_stablehlo_scatter_options()
            .map(|o| o.update_computation_subgraph_index()),
        Kind2::StablehloSortOptions => operator
            .builtin_options_2_as_stablehlo_sort_options()
            .map(|o| o.comparator_subgraph_index()),
        Kind2::StablehloWhileOptions => return reader.stablehlo_while(),
        Kind2::StablehloCaseOptions => return reader.stablehlo_case(),
        Kind2::StableHLOCompositeOptions => return reader.stablehlo_composite(),
        _ => None,
    };
    let checked = body_subgraph_idx
        .map(|index| reader.subgraph_idx(index))
        .transpose()?;
    Ok(checked.map(|body_subgraph_idx| BuiltinOptions::StablehloBody { body_subgraph_idx }))
}

impl Reader<'_, '_> {
    fn stablehlo_while(&mut self) -> ParsedOptions {
        let Some(o) = self.operator.builtin_options_2_as_stablehlo_while_options() else {
            return Ok(None);
        };
        Ok(Some(BuiltinOptions::While {
            cond_subgraph_idx: self.subgraph_idx(o.cond_subgraph_index())?,
            body_subgraph_idx: self.subgraph_idx(o.body_subgraph_index())?,
        }))
    }

    fn stablehlo_case(&mut self) -> ParsedOptions {
        let Some(o) = self.operator.builtin_options_2_as_stablehlo_case_options() else {
            return Ok(None);
        };
        let stored = self.context.copy(o.branch_subgraph_indices())?;
        let checked: Result<_, _> = stored
            .into_iter()
            .map(|index| self.subgraph_idx(index))
            .collect();
        Ok(Some(BuiltinOptions::StablehloCase {
            branch_subgraph_idxs: checked?,
        }))
    }

    fn stablehlo_composite(&mut self) -> ParsedOptions {
        let Some(o) = self
            .operator
            .builtin_options_2_as_stable_hlocomposite_options()
        else {
            return Ok(None);
        };
        Ok(Some(BuiltinOptions::StablehloComposite {
            name: self.context.copy_str(o.name())?.into(),
            decomposition_subgraph_idx: self.subgraph_idx(o.decomposition_subgraph_index())?,
        }))
    }

    fn subgraph_idx(&self, index: impl Into<i64>) -> Result<usize, ParseError> {
        self.context.subgraph_idx(index.into(), self.place)
    }
}
