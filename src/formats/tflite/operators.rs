//! `OperatorCode` and `Operator`: which kernels run, on which tensors.

use super::error::{ParseError, shown};
use super::model::{Operator, OperatorCode};
use super::op_kind::OpKind;
use super::read_budget::{OperatorPlace, ReadBudget, checked_index};
use super::{read_options, schema};
use crate::diagnostic::Severity::Warning;

/// The operator codes of the file, in its order.
pub(super) fn read_codes(
    context: &mut ReadBudget,
    model: &schema::Model,
) -> Result<Vec<OperatorCode>, ParseError> {
    let codes = model.operator_codes().into_iter().flatten().enumerate();
    codes
        .map(|(code_idx, code)| read_code(context, code, code_idx))
        .collect()
}

/// Old files have only the byte-wide field; new ones put 127 there for numbers beyond it. TFLite
/// takes the larger of the two.
fn read_code(
    context: &mut ReadBudget,
    code: schema::OperatorCode,
    code_idx: usize,
) -> Result<OperatorCode, ParseError> {
    let number = code
        .builtin_code()
        .0
        .max(i32::from(code.deprecated_builtin_code()));
    let kind = OpKind::from_number(number);
    let custom = match kind {
        OpKind::Custom => Some(OperatorCode::custom_name(
            &context.copy_str(code.custom_code())?,
        )),
        _ => None,
    };
    if custom.as_deref() == Some("") {
        context
            .diagnostics
            .push(Warning, "unnamed-custom-operator", || {
                format!(
                    "operator code {code_idx}: expected the name of a custom operator, found none"
                )
            });
    }
    if let OpKind::Unknown(number) = kind {
        context.diagnostics.push(Warning, "unknown-operator", || {
            format!(
                "operator code {code_idx}: builtin operator {number} is newer than the schema here"
            )
        });
    }
    Ok(OperatorCode {
        kind,
        custom,
        version: code.version(),
    })
}

/// The operators of one subgraph with `n_tensors`.
pub(super) fn read(
    context: &mut ReadBudget,
    subgraph: schema::SubGraph,
    subgraph_idx: usize,
    n_tensors: usize,
) -> Result<Vec<Operator>, ParseError> {
    let stored = subgraph.operators();
    // With its final capacity: a vector that grows holds its contents twice for a while.
    let mut operators = Vec::with_capacity(stored.map_or(0, |stored| stored.len()));
    for (operator_idx, operator) in stored.into_iter().flatten().enumerate() {
        let place = OperatorPlace {
            subgraph_idx,
            operator_idx,
            name: "",
        };
        operators.push(read_one(context, operator, place, n_tensors)?);
    }
    Ok(operators)
}

fn read_one(
    context: &mut ReadBudget,
    operator: schema::Operator,
    place: OperatorPlace,
    n_tensors: usize,
) -> Result<Operator, ParseError> {
    let code = context.code(operator.opcode_index(), &place)?;
    let place = OperatorPlace {
        name: code.name(),
        ..place
    };
    context.count_operator(&place)?;
    let inputs = context.copy_operands(operator.inputs(), &place)?;
    let outputs = context.copy_operands(operator.outputs(), &place)?;
    let intermediates = context.copy_operands(operator.intermediates(), &place)?;
    Ok(Operator {
        inputs: tensor_idxs(&inputs, "input tensor index", &place, n_tensors)?,
        outputs: present_outputs(
            context,
            tensor_idxs(&outputs, "output tensor index", &place, n_tensors)?,
            &place,
        ),
        intermediates: tensor_idxs(
            &intermediates,
            "intermediate tensor index",
            &place,
            n_tensors,
        )?
        .into_iter()
        .flatten()
        .collect(),
        options: read_options::read(context, operator, &place)?,
        folded: Box::default(),
        code,
    })
}

/// −1 stands for a tensor that is absent.
fn tensor_idxs(
    stored: &[i32],
    what: &'static str,
    place: &impl std::fmt::Display,
    n_tensors: usize,
) -> Result<Vec<Option<usize>>, ParseError> {
    let check = |&index: &i32| match checked_index(index.into(), n_tensors) {
        None if index == -1 => Ok(None),
        None => Err(ParseError::IndexOutOfRange {
            place: place.to_string(),
            what,
            index: index.into(),
            holder: "the subgraph".into(),
            count: n_tensors,
            counted: "tensors",
        }),
        present => Ok(present),
    };
    // With its final capacity, which a collection of results would not have.
    let mut checked = Vec::with_capacity(stored.len());
    for index in stored {
        checked.push(check(index)?);
    }
    Ok(checked)
}

/// Outputs without the absent ones, which TFLite allows and no writer is known to use.
fn present_outputs(
    context: &mut ReadBudget,
    outputs: Vec<Option<usize>>,
    place: &impl std::fmt::Display,
) -> Vec<usize> {
    if outputs.contains(&None) {
        context.diagnostics.push(Warning, "absent-output", || {
            format!("{place}: expected tensors as outputs, found an absent one (index -1)")
        });
    }
    let mut present = Vec::with_capacity(outputs.len());
    present.extend(outputs.into_iter().flatten());
    present
}

/// The inputs or outputs of a subgraph, `what` saying which.
pub(super) fn read_subgraph_ends(
    context: &mut ReadBudget,
    stored: &[i32],
    what: &'static str,
    subgraph_idx: usize,
    name: &str,
    n_tensors: usize,
) -> Result<Vec<usize>, ParseError> {
    let place = format!("subgraph {subgraph_idx} `{}`", shown(name));
    let ends = tensor_idxs(stored, what, &place, n_tensors)?;
    Ok(present_outputs(context, ends, &place))
}
