//! The text of a network → its layers. `docs/guide/ncnn.md` says what a line has.

use std::str::SplitWhitespace;

use super::error::ParseError;
use super::limits::*;
use crate::formats::shown;

/// One line: what a layer computes, which blobs it reads and writes, and its parameters.
#[derive(Debug)]
pub(super) struct Layer<'f> {
    pub kind: &'f str,
    pub name: &'f str,
    pub n_inputs: usize,
    pub n_outputs: usize,
    /// The names of both.
    blobs: SplitWhitespace<'f>,
    /// With their values as text: numbers take ten times the bytes, and most are never asked for.
    parameters: Box<[(i64, &'f str)]>,
    /// Position among all layers.
    pub layer_idx: usize,
}

/// A number as the text has it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Number {
    /// If it has neither fraction nor exponent.
    pub whole: Option<i64>,
    pub value: f32,
}

/// Added to the number of a parameter whose value is a list, with the sign turned.
const LISTS: i64 = 23_300;

impl<'f> Layer<'f> {
    pub fn inputs(&self) -> impl Iterator<Item = &'f str> {
        self.blobs.clone().take(self.n_inputs)
    }

    pub fn outputs(&self) -> impl Iterator<Item = &'f str> {
        let blobs = self.blobs.clone().skip(self.n_inputs);
        blobs.take(self.n_outputs)
    }

    /// Where the layer is, for messages.
    pub fn place(&self) -> String {
        place(self.kind, self.name, self.layer_idx)
    }

    /// The numbers of a parameter. Lists begin with their length. A text, which newer files may have, is no number.
    pub fn list(&self, id: i64) -> Option<impl Iterator<Item = Number> + use<'f>> {
        let is_it = |&&(other, _): &&(i64, &str)| other == id || other == list_id(id);
        let &(stated, value) = self.parameters.iter().find(is_it)?;
        let is_list = stated <= LISTS.saturating_neg();
        let numbers = value.split(',').skip(usize::from(is_list));
        Some(numbers.take(MAX_NUMBERS).map_while(number))
    }

    fn number(&self, id: i64) -> Option<Number> {
        self.list(id)?.next()
    }

    /// A whole number, or what it is without the parameter.
    pub fn whole(&self, id: i64, default: i64) -> i64 {
        self.number(id)
            .and_then(|number| number.whole)
            .unwrap_or(default)
    }

    pub fn float(&self, id: i64, default: f32) -> f32 {
        self.number(id).map_or(default, |number| number.value)
    }

    /// The whole numbers of a list that has one for each side or axis; `None` for an empty one. No blob has as many sides
    /// as are read.
    pub fn sides(&self, id: i64) -> Option<Vec<i64>> {
        let numbers = self.list(id)?.take(MAX_AXES);
        let sides: Vec<i64> = numbers.map(|number| number.whole).collect::<Option<_>>()?;
        (!sides.is_empty()).then_some(sides)
    }

    /// The whole numbers of a list.
    pub fn wholes(&self, id: i64) -> Option<Vec<i64>> {
        self.list(id)?.map(|number| number.whole).collect()
    }
}

/// The id under which the text has a parameter whose value is a list.
fn list_id(id: i64) -> i64 {
    id.saturating_add(LISTS).saturating_neg()
}

fn place(kind: &str, name: &str, layer_idx: usize) -> String {
    format!("layer {layer_idx} ({} `{}`)", shown(kind), shown(name))
}

/// Reads all lines, in time and memory proportional to the length of the text.
pub(super) fn layers(text: &str) -> Result<Vec<Layer<'_>>, ParseError> {
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    // The magic number, which told that the text is one.
    lines.next();
    let counts = lines.next().unwrap_or_default();
    let n_layers = counts.split_whitespace().next();
    let n_layers = n_layers.and_then(|count| count.parse::<usize>().ok());
    let n_layers = n_layers.ok_or_else(|| ParseError::Malformed {
        place: "second line".into(),
        expected: "the numbers of layers and blobs",
        found: format!("`{}`", shown(counts)),
    })?;
    if n_layers > MAX_LAYERS {
        return Err(ParseError::LimitExceeded {
            place: "second line".into(),
            what: "layers",
            limit: MAX_LAYERS,
            found: n_layers,
        });
    }
    let mut totals = [
        ("blobs of all layers so far", max_blobs(text.len()), 0),
        (
            "parameters of all layers so far",
            max_parameters(text.len()),
            0,
        ),
    ];
    let layers = lines.take(n_layers).enumerate();
    let layers: Vec<Layer> = layers
        .map(|(layer_idx, line)| {
            let layer = layer(line, layer_idx)?;
            let n_blobs = layer.n_inputs.saturating_add(layer.n_outputs);
            let counts = [n_blobs, layer.parameters.len()];
            for ((what, limit, total), n) in totals.iter_mut().zip(counts) {
                *total = n.saturating_add(*total);
                if *total > *limit {
                    return Err(ParseError::LimitExceeded {
                        place: layer.place(),
                        what,
                        limit: *limit,
                        found: *total,
                    });
                }
            }
            Ok(layer)
        })
        .collect::<Result<_, _>>()?;
    match layers.len() {
        found if found == n_layers => Ok(layers),
        found => Err(ParseError::Malformed {
            place: "end of the text".into(),
            expected: "as many layers as the second line says",
            found: format!("{found} of {n_layers}"),
        }),
    }
}

fn layer(line: &str, layer_idx: usize) -> Result<Layer<'_>, ParseError> {
    let mut words = line.split_whitespace();
    let mut next = || words.next().unwrap_or_default();
    let (kind, name) = (next(), next());
    let counts = [next(), next()].map(|count| count.parse::<usize>().ok());
    let blobs = words.clone();
    let malformed = |expected, found: &str| ParseError::Malformed {
        place: place(kind, name, layer_idx),
        expected,
        found: format!("`{}`", shown(found)),
    };
    let [Some(n_inputs), Some(n_outputs)] = counts else {
        return Err(malformed("the numbers of its inputs and outputs", line));
    };
    for found in [n_inputs, n_outputs] {
        if found > MAX_LAYER_BLOBS {
            return Err(ParseError::LimitExceeded {
                place: place(kind, name, layer_idx),
                what: "blobs of one layer",
                limit: MAX_LAYER_BLOBS,
                found,
            });
        }
    }
    let n_blobs = n_inputs.saturating_add(n_outputs);
    for _ in 0..n_blobs {
        if words.next().is_none() {
            return Err(malformed("as many blobs as the line says", line));
        }
    }
    let parameters = parameters(words, || place(kind, name, layer_idx))?;
    Ok(Layer {
        kind,
        name,
        n_inputs,
        n_outputs,
        blobs,
        parameters,
        layer_idx,
    })
}

/// Id and text of each parameter.
fn parameters<'l>(
    words: impl Iterator<Item = &'l str>,
    place: impl Fn() -> String,
) -> Result<Box<[(i64, &'l str)]>, ParseError> {
    let mut parameters = Vec::new();
    for word in words {
        let parameter = word.split_once('=');
        let parameter = parameter.and_then(|(id, value)| Some((id.parse::<i64>().ok()?, value)));
        let parameter = parameter.ok_or_else(|| ParseError::Malformed {
            place: place(),
            expected: "parameters as `number=value`",
            found: format!("`{}`", shown(word)),
        })?;
        if parameters.len() >= MAX_PARAMETERS {
            return Err(ParseError::LimitExceeded {
                place: place(),
                what: "parameters",
                limit: MAX_PARAMETERS,
                found: MAX_PARAMETERS.saturating_add(1),
            });
        }
        parameters.push(parameter);
    }
    Ok(parameters.into())
}

fn number(text: &str) -> Option<Number> {
    Some(Number {
        whole: text.parse().ok(),
        value: text.parse().ok()?,
    })
}
