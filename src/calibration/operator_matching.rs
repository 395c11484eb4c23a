//! Measured operators → operators of the model.
//!
//! An operator is told by its position in the file, else by the name of what it writes, else by its kind before the node that
//! has that name, else, where it has much arithmetic, by its class in the part of the network that its name tells, else by its
//! place among normalisations or curves that one kernel computes and the model has as several operators, else by its place among
//! those of its kind and output shape, else by its place among those of its kind; places count only where there are as many on
//! both sides. Where the order is not known, or a row is of several operators, their sums are matched. What is left on either
//! side is listed and not guessed. Operators that the tool prints none for were fused: they belong to the measured one that reads
//! or writes their tensors.

use std::collections::HashMap;
use std::rc::Rc;

use super::estimated_network::EstimatedNetwork;
use crate::profiles::{ALL_OF_KIND, MeasuredOperator, Profile};
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
        Class::Curve => Class::Elementwise,
        Class::Depthwise => Class::Convolution,
        class => class_by_kernel_name(class),
    }
}

/// Classes that tools call by one name which have another one for depthwise convolutions.
fn class_by_kernel_name(class: Class) -> Class {
    match class {
        Class::Winograd | Class::WideWinograd | Class::Pointwise => Class::Convolution,
        class => class,
    }
}

/// Ends of names that runtimes add.
const ENDS: [&str; 13] = [
    "/WithoutBiases",
    "_nchwc",
    "_output_0",
    ":0",
    "/MatMulAddFusion",
    "/MatmulTransposeFusion/",
    "/MatMulScaleFusion/",
    "/QuickGeluFusion/",
    "/SimplifiedLayerNormFusion/",
    "__matmul_converted",
    "_raster_0",
    "_raster_1",
    "_raster_2",
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

/// The part of the network that a name tells, as exporters write it: what stands before the last slash.
fn path(name: &str) -> &str {
    let plain = name_variants(name).last().unwrap_or(name);
    plain.rsplit_once('/').map_or("", |(path, _)| path)
}

/// Parts of the kinds of kernels that compute what a model has as several operators, with the names of operators that each of
/// them has one of.
const WHOLES: [(&[&str], &[&str]); 2] = [
    (&["layernorm", "mvn", "rms"], &["SQRT", "RSQRT"]),
    (&["gelu"], &["TANH", "GELU"]),
];

/// Readers and writers of tensors.
struct Edges {
    writer: HashMap<usize, usize>,
    readers: HashMap<usize, Vec<usize>>,
}

impl Edges {
    fn new(network: &EstimatedNetwork) -> Self {
        let mut writer = HashMap::new();
        let mut readers: HashMap<usize, Vec<usize>> = HashMap::new();
        for (idx, operator) in network.operators.iter().enumerate() {
            writer.extend(operator.outputs.iter().map(|&tensor| (tensor, idx)));
            for &tensor in operator.inputs.iter().flatten() {
                readers.entry(tensor).or_default().push(idx);
            }
        }
        Self { writer, readers }
    }

    /// The last operator of what one kernel computes, from the root or the curve in it: behind it come products and sums with
    /// constants, and one with another value of the network.
    fn end_of_whole(&self, network: &EstimatedNetwork, root: usize) -> usize {
        let mut end = root;
        let mut n_values = 0;
        // A fused curve is whole.
        while network.operators[end].name != "GELU" {
            let [output] = *network.operators[end].outputs else {
                break;
            };
            let Some(&[reader]) = self.readers.get(&output).map(Vec::as_slice) else {
                break;
            };
            let operator = &network.operators[reader];
            let mut others = operator.inputs.iter().flatten();
            n_values += usize::from(
                others.any(|tensor| *tensor != output && self.writer.contains_key(tensor)),
            );
            let is_part = reader > end && ["MUL", "DIV", "ADD"].contains(&&*operator.name);
            if n_values > 1 || !is_part {
                break;
            }
            end = reader;
        }
        end
    }

    /// Position in [`WHOLES`] of each operator that ends one.
    fn wholes(&self, network: &EstimatedNetwork) -> HashMap<usize, usize> {
        let operators = network.operators.iter().enumerate();
        let wholes = operators.filter_map(|(idx, operator)| {
            let mut wholes = WHOLES.iter();
            let whole = wholes.position(|(_, roots)| roots.contains(&&*operator.name))?;
            Some((self.end_of_whole(network, idx), whole))
        });
        wholes.collect()
    }
}

/// Sizes above 1, sorted: layouts differ.
fn sorted_sizes<S: Copy + Into<i64>>(shape: &[S]) -> Vec<i64> {
    let sizes = shape.iter().map(|&size| size.into());
    let mut sizes: Vec<i64> = sizes.filter(|&size| size > 1).collect();
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
    let mut matched = Matched {
        operator_of: match_by_position_or_name(network, &profile.operators, &kinds),
        beside: Vec::new(),
    };
    match_parts(network, &kinds, &mut matched.operator_of);
    let edges = Edges::new(network);
    let wholes = edges.wholes(network);
    let operators = network.operators.iter().enumerate();
    let of_model: Vec<Compared> = operators
        .map(|(idx, operator)| Compared {
            path: network.output_names(operator).next().map_or("", path),
            letters: letters_and_digits(&operator.name).into(),
            class: network.class(operator),
            whole: wholes.get(&idx).copied(),
            sizes: Some(sorted_sizes(network.output_shape(operator))),
            n_calls: 1,
        })
        .collect();
    let measured = profile.operators.iter().zip(&kinds);
    let of_profile: Vec<Compared> = measured
        .map(|(operator, kind)| Compared {
            path: path(&operator.name),
            letters: Rc::clone(&kind.letters),
            class: kind.class,
            whole: (WHOLES.iter())
                .position(|(parts, _)| parts.iter().any(|part| kind.letters.contains(part))),
            sizes: (!operator.output_shape.is_empty())
                .then(|| sorted_sizes(&operator.output_shape)),
            n_calls: operator.n_calls.max(1),
        })
        .collect();
    for by in By::ALL {
        matched.match_rest(by, &of_model, &of_profile, profile.is_sorted);
    }
    groups(network, &edges, profile, &kinds, matched)
}

/// What operators of both sides are compared by.
struct Compared<'n> {
    path: &'n str,
    letters: Rc<str>,
    class: Class,
    /// Position in [`WHOLES`].
    whole: Option<usize>,
    sizes: Option<Vec<i64>>,
    n_calls: usize,
}

/// What is equal of operators that have not been matched yet, the most first.
#[derive(Clone, Copy, PartialEq, Eq)]
enum By {
    Path,
    Whole,
    ShapeAndClass,
    ShapeAndToolClass,
    Kind,
    /// And the class: `Multiply` and `MUL`, `Max Pooling` and `MAX_POOL_2D`.
    FirstLetters,
    Class,
    ToolClass,
    /// XNNPACK runs pointwise convolutions by its kernels for matrix products.
    ClassOfXnnpack,
}

impl By {
    const ALL: [Self; 10] = [
        Self::Path,
        Self::Whole,
        Self::ShapeAndClass,
        Self::ShapeAndToolClass,
        Self::Kind,
        Self::FirstLetters,
        Self::Class,
        Self::ToolClass,
        Self::ClassOfXnnpack,
        // Again: without what XNNPACK's kernels ran, there may be as many on both sides.
        Self::ToolClass,
    ];

    fn key<'c>(self, one: &'c Compared) -> Option<(Class, &'c str, &'c [i64])> {
        // Of its kind alone, which may be part of a class.
        if one.n_calls == ALL_OF_KIND && self != Self::Kind {
            return None;
        }
        if self == Self::Whole {
            let [part, ..] = WHOLES[one.whole?].0 else {
                return None;
            };
            return Some((Class::Other, part, &[]));
        }
        let letters = &*one.letters;
        let class = match (self, one.class) {
            (Self::Path, class) if one.path.is_empty() || !is_compute_heavy(class) => return None,
            (Self::Kind, _) => Class::Other,
            (Self::ShapeAndClass, Class::Curve) => Class::Curve,
            (Self::ClassOfXnnpack, Class::Pointwise) => Class::Dense,
            (Self::FirstLetters | Self::Class | Self::ClassOfXnnpack, class) => {
                class_by_kernel_name(class)
            }
            (_, class) => class_by_tool_name(class),
        };
        let letters = match self {
            Self::Path => one.path,
            Self::Kind => letters,
            Self::FirstLetters => letters.get(..3).unwrap_or(letters),
            _ => "",
        };
        let sizes = match self {
            Self::ShapeAndClass | Self::ShapeAndToolClass => one.sizes.as_deref()?,
            _ => &[],
        };
        Some((class, letters, sizes))
    }
}

/// Operators of the model by measured ones.
struct Matched {
    operator_of: Vec<Option<usize>>,
    /// Operators whose durations are known as a sum alone, with the one that the sum is matched with.
    beside: Vec<(usize, usize)>,
}

impl Matched {
    /// Matches the rest of those with equal keys, where there are as many on both sides: in their order or, where that is
    /// not known, as a sum.
    fn match_rest(
        &mut self,
        by: By,
        of_model: &[Compared],
        of_profile: &[Compared],
        is_sorted: bool,
    ) {
        let mut is_taken = vec![false; of_model.len()];
        let beside = self.beside.iter().map(|(idx, _)| idx);
        for &idx in self.operator_of.iter().flatten().chain(beside) {
            is_taken[idx] = true;
        }
        let mut sides: HashMap<_, [Vec<usize>; 2]> = HashMap::new();
        let rest = of_model.iter().enumerate().zip(is_taken);
        let rest = rest.filter_map(|(one, is_taken)| (!is_taken).then_some((one, 0)));
        let measured = of_profile.iter().enumerate().zip(&self.operator_of);
        let measured = measured.filter_map(|(one, known)| known.is_none().then_some((one, 1)));
        for ((idx, one), side) in rest.chain(measured) {
            if let Some(key) = by.key(one) {
                sides.entry(key).or_default()[side].push(idx);
            }
        }
        for [operators, measured] in sides.into_values() {
            let n_calls = measured.iter().map(|&idx| of_profile[idx].n_calls);
            let are_pairs = !is_sorted && n_calls.clone().all(|n_calls| n_calls == 1);
            let n_calls = n_calls.fold(0, usize::saturating_add);
            let Some(&first) = operators.first() else {
                continue;
            };
            if n_calls == ALL_OF_KIND || n_calls == operators.len() {
                for (at, &measured_idx) in measured.iter().enumerate() {
                    let operator_idx = if are_pairs { operators[at] } else { first };
                    self.operator_of[measured_idx] = Some(operator_idx);
                }
                if !are_pairs {
                    let others = operators[1..].iter().map(|&idx| (idx, first));
                    self.beside.extend(others);
                }
            }
        }
    }
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

/// Adds the operators that were fused, and checks that each group has what its measured kind is.
fn groups(
    network: &EstimatedNetwork,
    edges: &Edges,
    profile: &Profile,
    kinds: &[Rc<Kind>],
    Matched {
        operator_of: matched,
        beside,
    }: Matched,
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
    for (operator_idx, first) in beside {
        if let Some(group) = group_of[first] {
            groups[group].0.operators.push(operator_idx);
            group_of[operator_idx] = Some(group);
        }
    }
    join_fused(network, edges, kinds, &mut groups, &mut group_of);
    let mut matching = Matching {
        n_unmeasured: group_of.iter().filter(|group| group.is_none()).count(),
        ..Matching::default()
    };
    let takes_time = |idx: &usize| profile.operators[*idx].duration_ms > 0.0;
    let mut unmatched: Vec<usize> = (0..matched.len())
        .filter(|idx| matched[*idx].is_none() && takes_time(idx))
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

/// An operator without a duration joins the group of its readers, if that is one, or else of its only writer. One with much arithmetic
/// joins a group of its own measured kind alone.
fn join_fused(
    network: &EstimatedNetwork,
    edges: &Edges,
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
            let of_outputs = outputs
                .iter()
                .filter_map(|tensor| edges.readers.get(tensor));
            let mut of_outputs = of_outputs.flatten().copied();
            let first = of_outputs.next();
            let group = first.map(|reader| group_of[reader]);
            let only = first.filter(|_| of_outputs.all(|reader| Some(group_of[reader]) == group));
            join(idx, only, group_of);
        }
    }
    for idx in 0..network.operators.len() {
        if group_of[idx].is_none() {
            let inputs = network.operators[idx].inputs.iter().flatten();
            let mut of_inputs = inputs.filter_map(|tensor| edges.writer.get(tensor));
            join(idx, of_inputs.next().copied(), group_of);
        }
    }
}
