//! Measured operators → operators of the model.
//!
//! An operator is told by its position in the file, else by the name of what it writes, else by its kind before the node that
//! has that name, else by its place among those of its kind and output shape, else by its place among those of its kind; places
//! count only where there are as many on both sides. What is left on either side is listed and not guessed. Operators that the
//! tool prints none for were fused: they belong to the measured one that reads or writes their tensors.

use std::collections::HashMap;
use std::rc::Rc;

use super::estimated_network::EstimatedNetwork;
use crate::profiles::{MeasuredOperator, Profile};
use crate::targets::measured_device::{Class, operator_class};

/// Operators of the model that the runtime ran as one, with their duration.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Group {
    pub operators: Vec<usize>,
    pub duration_ms: f64,
}

/// What a profile tells of a model.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Matching {
    pub groups: Vec<Group>,
    /// Measured operators that are none of the model, in words, the longest first.
    pub unmatched: Vec<String>,
    /// Their duration.
    pub unmatched_ms: f64,
    /// Operators of the model without a duration.
    pub n_unmeasured: usize,
}

/// Of those that are listed.
const MAX_UNMATCHED: usize = 50;

/// Operators whose arithmetic takes most of a network's time: they are in no group whose measured kind is another.
fn is_compute_heavy(class: Class) -> bool {
    matches!(
        class,
        Class::Convolution
            | Class::Winograd
            | Class::WideWinograd
            | Class::Pointwise
            | Class::Depthwise
            | Class::Dense
            | Class::Other
    )
}

/// Classes that tools call by one name.
fn class_by_tool_name(class: Class) -> Class {
    match class {
        Class::Winograd | Class::WideWinograd | Class::Pointwise | Class::Depthwise => {
            Class::Convolution
        }
        Class::Curve => Class::Elementwise,
        class => class,
    }
}

/// Ends of names that runtimes add.
const ENDS: [&str; 7] = [
    "/WithoutBiases",
    "_nchwc",
    "_output_0",
    ":0",
    "/MatmulTransposeFusion/",
    "/MatMulScaleFusion/",
    "/QuickGeluFusion/",
];

/// Runtimes and exporters add one or two.
const MAX_ENDS: usize = 4;

/// A name as it is, and without the ends that runtimes and exporters add.
fn name_variants(name: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(Some(name), |&rest| {
        ENDS.iter().find_map(|end| rest.strip_suffix(end))
    })
    .take(1 + MAX_ENDS)
}

/// Sizes above 1, sorted: layouts differ.
fn sorted_sizes(shape: impl Iterator<Item = i64>) -> Vec<i64> {
    let mut sizes: Vec<i64> = shape.filter(|&size| size > 1).collect();
    sizes.sort_unstable();
    sizes
}

/// Letters and digits of a kind, in lower case.
fn letters_and_digits(kind: &str) -> String {
    let letters = kind.chars().filter(char::is_ascii_alphanumeric);
    letters.map(|c| c.to_ascii_lowercase()).collect()
}

/// What is compared of a kind in a tool's words.
struct Kind {
    letters: Rc<str>,
    class: Class,
}

/// Those of measured operators, which are many of each kind.
fn kinds(measured: &[MeasuredOperator]) -> Vec<Rc<Kind>> {
    let mut known: HashMap<&str, Rc<Kind>> = HashMap::new();
    let kind = |operator: &MeasuredOperator| {
        Rc::new(Kind {
            letters: letters_and_digits(&operator.kind).into(),
            class: operator_class(&operator.kind, None, None),
        })
    };
    measured
        .iter()
        .map(|operator| {
            Rc::clone(
                known
                    .entry(&operator.kind)
                    .or_insert_with(|| kind(operator)),
            )
        })
        .collect()
}

/// Matches a profile with the model that it is of. Linear in both but for sorting.
pub fn matching(network: &EstimatedNetwork, profile: &Profile) -> Matching {
    let kinds = kinds(&profile.operators);
    let mut matched: Vec<Option<usize>> =
        match_by_position_or_name(network, &profile.operators, &kinds);
    match_parts(network, &kinds, &mut matched);
    let by_shape = |operator_idx: usize| {
        let operator = &network.operators[operator_idx];
        let shape = network
            .output_shape(operator)
            .iter()
            .map(|&size| i64::from(size));
        Some((
            class_by_tool_name(network.class(operator)),
            sorted_sizes(shape),
        ))
    };
    let measured_class = |idx: usize| class_by_tool_name(kinds[idx].class);
    let measured_by_shape = |idx: usize| {
        let shape = &profile.operators[idx].output_shape;
        let sizes = shape.iter().map(|&size| i64::from(size));
        (!shape.is_empty()).then(|| (measured_class(idx), sorted_sizes(sizes)))
    };
    match_in_order(network, &mut matched, by_shape, measured_by_shape);
    let by_kind = |operator_idx: usize| {
        let letters = letters_and_digits(&network.operators[operator_idx].name);
        Some(Rc::<str>::from(letters))
    };
    let measured_by_kind = |idx: usize| Some(Rc::clone(&kinds[idx].letters));
    match_in_order(network, &mut matched, by_kind, measured_by_kind);
    let by_class = |operator_idx: usize| {
        Some(class_by_tool_name(
            network.class(&network.operators[operator_idx]),
        ))
    };
    let measured_by_class = |idx: usize| Some(measured_class(idx));
    match_in_order(network, &mut matched, by_class, measured_by_class);
    groups(network, profile, &kinds, matched)
}

fn match_by_position_or_name(
    network: &EstimatedNetwork,
    measured: &[MeasuredOperator],
    kinds: &[Rc<Kind>],
) -> Vec<Option<usize>> {
    let operators = network.operators.iter().enumerate();
    let by_position: HashMap<usize, usize> = operators
        .clone()
        .map(|(idx, operator)| (operator.operator_idx, idx))
        .collect();
    // None where several operators write what has this name.
    let mut by_name: HashMap<&str, Option<usize>> = HashMap::new();
    for (idx, operator) in operators {
        for name in network.output_names(operator).flat_map(name_variants) {
            let place = by_name.entry(name).or_insert(Some(idx));
            *place = place.filter(|&known| known == idx);
        }
    }
    let of_measured = |(measured, kind): (&MeasuredOperator, &Rc<Kind>)| {
        let at = measured
            .operator_idx
            .and_then(|at| by_position.get(&at))
            .copied();
        let at =
            at.filter(|&idx| *letters_and_digits(&network.operators[idx].name) == *kind.letters);
        at.or_else(|| name_variants(&measured.name).find_map(|name| *by_name.get(name)?))
    };
    measured.iter().zip(kinds).map(of_measured).collect()
}

/// An operator of the model that the reader made of several nodes of the file has the name of the last one, as a sum with a
/// rectifier behind it. A measured operator without a match, which runs before that one, is the operator's own part where it is
/// of its kind, or of its class, and the last one is not.
fn match_parts(network: &EstimatedNetwork, kinds: &[Rc<Kind>], matched: &mut [Option<usize>]) {
    let kind_and_class = |idx: usize| {
        let kind = &kinds[idx];
        (&*kind.letters, class_by_tool_name(kind.class))
    };
    let mut last: Option<(usize, usize)> = None;
    for idx in (0..kinds.len()).rev() {
        if let Some(operator_idx) = matched[idx] {
            last = Some((idx, operator_idx));
            continue;
        }
        let Some((last_idx, operator_idx)) = last else {
            continue;
        };
        let operator = &network.operators[operator_idx];
        let kind = letters_and_digits(&operator.name);
        let class = class_by_tool_name(network.class(operator));
        let (own, of_last) = (kind_and_class(idx), kind_and_class(last_idx));
        let is_of_kind = own.0 == kind && of_last.0 != kind;
        let is_of_class = own.1 == class && of_last.1 != class;
        if is_of_kind || is_of_class {
            matched[idx] = Some(operator_idx);
            // What runs before is part of another.
            last = None;
        }
    }
}

/// Matches the rest of those with equal keys in their order, where there are as many on both sides.
fn match_in_order<K: std::hash::Hash + Eq>(
    network: &EstimatedNetwork,
    matched: &mut [Option<usize>],
    key: impl Fn(usize) -> Option<K>,
    measured_key: impl Fn(usize) -> Option<K>,
) {
    let mut is_taken = vec![false; network.operators.len()];
    for operator_idx in matched.iter().flatten() {
        is_taken[*operator_idx] = true;
    }
    let mut sides: HashMap<K, [Vec<usize>; 2]> = HashMap::new();
    for (idx, _) in is_taken
        .iter()
        .enumerate()
        .filter(|(_, is_taken)| !**is_taken)
    {
        if let Some(key) = key(idx) {
            sides.entry(key).or_default()[0].push(idx);
        }
    }
    let rest = (0..matched.len()).filter(|&idx| matched[idx].is_none());
    for idx in rest {
        if let Some(key) = measured_key(idx) {
            sides.entry(key).or_default()[1].push(idx);
        }
    }
    for [operators, measured] in sides.into_values() {
        if operators.len() == measured.len() {
            for (operator_idx, measured_idx) in operators.into_iter().zip(measured) {
                matched[measured_idx] = Some(operator_idx);
            }
        }
    }
}

/// Adds the operators that were fused, and checks that each group has what its measured kind is.
fn groups(
    network: &EstimatedNetwork,
    profile: &Profile,
    kinds: &[Rc<Kind>],
    matched: Vec<Option<usize>>,
) -> Matching {
    let mut group_of: Vec<Option<usize>> = vec![None; network.operators.len()];
    let mut groups: Vec<(Group, Vec<usize>)> = Vec::new();
    for (measured_idx, operator_idx) in matched.iter().enumerate() {
        let Some(operator_idx) = *operator_idx else {
            continue;
        };
        let next = groups.len();
        let group = *group_of[operator_idx].get_or_insert(next);
        if group == next {
            groups.push((
                Group {
                    operators: vec![operator_idx],
                    duration_ms: 0.0,
                },
                Vec::new(),
            ));
        }
        groups[group].0.duration_ms += profile.operators[measured_idx].duration_ms;
        groups[group].1.push(measured_idx);
    }
    join_fused(network, kinds, &mut groups, &mut group_of);
    let mut matching = Matching {
        n_unmeasured: group_of.iter().filter(|group| group.is_none()).count(),
        ..Matching::default()
    };
    let mut unmatched: Vec<usize> = (0..matched.len())
        .filter(|&idx| matched[idx].is_none())
        .collect();
    let has_arithmetic = |idx: &usize| is_compute_heavy(network.class(&network.operators[*idx]));
    for (group, measured) in groups {
        // Vela calls a fully connected layer a convolution.
        let is_there = measured.iter().all(|&idx| {
            let class = kinds[idx].class;
            class == Class::Other
                || !is_compute_heavy(class)
                || group.operators.iter().any(has_arithmetic)
        });
        if is_there {
            matching.groups.push(group);
        } else {
            matching.n_unmeasured += group.operators.len();
            unmatched.extend(measured);
        }
    }
    let duration_ms = |idx: &usize| profile.operators[*idx].duration_ms;
    unmatched.sort_unstable_by(|a, b| duration_ms(b).total_cmp(&duration_ms(a)).then(a.cmp(b)));
    matching.unmatched_ms = unmatched
        .iter()
        .map(duration_ms)
        .fold(0.0, |sum, ms| sum + ms);
    let words = |idx: &usize| operator_in_words(&profile.operators[*idx]);
    matching.unmatched = unmatched.iter().take(MAX_UNMATCHED).map(words).collect();
    matching
}

fn operator_in_words(operator: &MeasuredOperator) -> String {
    let MeasuredOperator {
        name,
        kind,
        duration_ms,
        ..
    } = operator;
    format!("{} {} ({duration_ms:.4} ms)", kind, name)
        .trim()
        .to_owned()
}

/// An operator without a duration joins the group of its only reader, or else of its only writer. One with much arithmetic
/// joins a group of its own measured kind alone.
fn join_fused(
    network: &EstimatedNetwork,
    kinds: &[Rc<Kind>],
    groups: &mut [(Group, Vec<usize>)],
    group_of: &mut [Option<usize>],
) {
    let classes: Vec<Vec<Class>> = groups
        .iter()
        .map(|(_, measured)| {
            let of_measured = measured
                .iter()
                .map(|&idx| class_by_tool_name(kinds[idx].class));
            let mut classes: Vec<Class> = of_measured.collect();
            classes.sort_unstable();
            classes.dedup();
            classes
        })
        .collect();
    let mut writer: HashMap<usize, usize> = HashMap::new();
    let mut readers: HashMap<usize, Vec<usize>> = HashMap::new();
    for (idx, operator) in network.operators.iter().enumerate() {
        writer.extend(operator.outputs.iter().map(|&tensor| (tensor, idx)));
        for &tensor in operator.inputs.iter().flatten() {
            readers.entry(tensor).or_default().push(idx);
        }
    }
    let mut join = |idx: usize, neighbour: Option<usize>, group_of: &mut [Option<usize>]| {
        let Some(group) = neighbour.and_then(|neighbour| group_of[neighbour]) else {
            return;
        };
        let class = network.class(&network.operators[idx]);
        if is_compute_heavy(class) && !classes[group].contains(&class_by_tool_name(class)) {
            return;
        }
        groups[group].0.operators.push(idx);
        group_of[idx] = Some(group);
    };
    for idx in (0..network.operators.len()).rev() {
        if group_of[idx].is_none() {
            let outputs = &network.operators[idx].outputs;
            let mut of_outputs = outputs
                .iter()
                .filter_map(|tensor| readers.get(tensor))
                .flatten();
            let only = of_outputs
                .next()
                .copied()
                .filter(|_| of_outputs.next().is_none());
            join(idx, only, group_of);
        }
    }
    for idx in 0..network.operators.len() {
        if group_of[idx].is_none() {
            let inputs = network.operators[idx].inputs.iter().flatten();
            let mut of_inputs = inputs.filter_map(|tensor| writer.get(tensor));
            join(idx, of_inputs.next().copied(), group_of);
        }
    }
}
