//! `Einsum`: a product of tensors whose dimensions an equation names.

use std::collections::BTreeMap;

use super::Converter;
use super::value::product;
use crate::formats::onnx::proto::Node;

impl<'a> Converter<'a> {
    /// Shape of an `Einsum`'s result, and its multiply-accumulates: the product of the sizes of all labels, or none of
    /// one operand.
    pub(super) fn einsum(&self, node: &Node<'a>) -> Option<(Vec<i64>, i64)> {
        let equation = without_spaces(node.text("equation")?)?;
        let (operands, result) = operands_and_result(&equation);
        let mut sizes: BTreeMap<Label, i64> = BTreeMap::new();
        let mut n_uses: BTreeMap<Label, usize> = BTreeMap::new();
        let mut widest = 0;
        for (at, text) in operands.split(',').enumerate() {
            let shape = self.input(node, at)?.shape?;
            let n_named = text.chars().filter(|label| *label != '.').count();
            let n_elided = shape.len().checked_sub(n_named)?;
            widest = widest.max(n_elided);
            let labels = labels(text, n_elided)?;
            (labels.len() == shape.len()).then_some(())?;
            for (label, side) in labels.into_iter().zip(shape) {
                let size = sizes.entry(label).or_insert(1);
                *size = (*size).max(side);
                let n = n_uses.entry(label).or_default();
                *n = n.saturating_add(1);
            }
        }
        // Without a result, elided dimensions and labels that occur once, in the order of the alphabet.
        let result = match result {
            Some(result) => labels(result, widest)?,
            None => {
                let once = |label: &&Label| match label {
                    Label::Elided(_) => true,
                    Label::Named(_) => n_uses.get(*label) == Some(&1),
                };
                sizes.keys().filter(once).copied().collect()
            }
        };
        let sides = result.iter().map(|label| sizes.get(label).copied());
        let shape: Vec<i64> = sides.collect::<Option<_>>()?;
        let all: Vec<i64> = sizes.into_values().collect();
        let is_product = operands.contains(',');
        Some((shape, if is_product { product(&all)? } else { 0 }))
    }
}

/// Why operands of these shapes do not fit the equation of an `Einsum`; `None` if the equation is not understood.
pub(super) fn against_equation(equation: &str, shapes: &[&[i64]]) -> Option<&'static str> {
    let equation = without_spaces(equation)?;
    let (operands, result) = operands_and_result(&equation);
    if operands.split(',').count() != shapes.len() {
        return Some("the equation has another number of operands");
    }
    let mut sizes: BTreeMap<Label, i64> = BTreeMap::new();
    let mut widest = 0;
    for (text, shape) in operands.split(',').zip(shapes) {
        let n_named = text.chars().filter(|label| *label != '.').count();
        let n_elided = shape.len().checked_sub(n_named);
        let Some(n_elided) = n_elided.filter(|&n| n == 0 || text.contains("...")) else {
            return Some("an operand has another number of dimensions than labels");
        };
        widest = widest.max(n_elided);
        for (label, &side) in labels(text, n_elided)?.into_iter().zip(*shape) {
            let size = sizes.entry(label).or_insert(side);
            match (*size, side) {
                (known, side) if known == side => {}
                (1, _) => *size = side,
                (_, 1) => {}
                _ => return Some("a label of the equation stands for two sizes"),
            }
        }
    }
    let of_result = labels(result?, widest)?;
    (!of_result.iter().all(|label| sizes.contains_key(label)))
        .then_some("the result has a label that no operand has")
}

fn without_spaces(equation: &str) -> Option<String> {
    let is_short = equation.len() <= MAX_EQUATION_BYTES;
    is_short.then(|| equation.chars().filter(|c| !c.is_whitespace()).collect())
}

fn operands_and_result(equation: &str) -> (&str, Option<&str>) {
    match equation.split_once("->") {
        Some((operands, result)) => (operands, Some(result)),
        None => (equation, None),
    }
}

/// Maximum length of an equation. Labels are single letters, and an operand needs one for each dimension.
const MAX_EQUATION_BYTES: usize = 1024;

/// A dimension in the equation of an `Einsum`. Those that `...` stands for come first, in their order: their numbers
/// are counted from the last one, and negated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Label {
    Elided(i64),
    Named(char),
}

/// Labels of one operand, whose `...` stands for `n_elided` dimensions.
fn labels(text: &str, n_elided: usize) -> Option<Vec<Label>> {
    let named = |text: &str| {
        let letters = text
            .chars()
            .map(|c| c.is_alphabetic().then_some(Label::Named(c)));
        letters.collect::<Option<Vec<Label>>>()
    };
    let Some((front, back)) = text.split_once("...") else {
        return named(text);
    };
    let mut labels = named(front)?;
    let n_elided = i64::try_from(n_elided).ok()?;
    labels.extend((0..n_elided).map(|at| Label::Elided(at.saturating_sub(n_elided))));
    labels.extend(named(back)?);
    Some(labels)
}
