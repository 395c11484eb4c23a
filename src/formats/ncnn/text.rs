//! The text of a network → its layers. `docs/guide/ncnn.md` says what a line has.

use super::error::ParseError;
use super::limits::*;
use crate::formats::shown;

/// One line: what a layer computes, which blobs it reads and writes, and its parameters.
#[derive(Debug)]
pub(super) struct Layer<'f> {
    pub kind: &'f str,
    pub name: &'f str,
    pub inputs: Vec<&'f str>,
    pub outputs: Vec<&'f str>,
    parameters: Vec<(i64, Vec<Number>)>,
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

impl Layer<'_> {
    /// Where the layer is, for messages.
    pub fn place(&self) -> String {
        place(self.kind, self.name, self.layer_idx)
    }

    /// The numbers of a parameter.
    pub fn list(&self, id: i64) -> Option<&[Number]> {
        let mut parameters = self.parameters.iter();
        let parameter = parameters.find(|(other, _)| *other == id);
        parameter.map(|(_, numbers)| &**numbers)
    }

    fn number(&self, id: i64) -> Option<Number> {
        self.list(id)?.first().copied()
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

    /// The whole numbers of a list.
    pub fn wholes(&self, id: i64) -> Option<Vec<i64>> {
        self.list(id)?.iter().map(|number| number.whole).collect()
    }
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
    let layers = lines.take(n_layers).enumerate();
    let layers: Vec<Layer> = layers
        .map(|(layer_idx, line)| layer(line, layer_idx))
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
    let mut blobs = |n: usize| {
        let blobs: Vec<&str> = words.by_ref().take(n).collect();
        if blobs.len() == n {
            Ok(blobs)
        } else {
            Err(malformed("as many blobs as the line says", line))
        }
    };
    let (inputs, outputs) = (blobs(n_inputs)?, blobs(n_outputs)?);
    let parameters = parameters(words, || place(kind, name, layer_idx))?;
    Ok(Layer {
        kind,
        name,
        inputs,
        outputs,
        parameters,
        layer_idx,
    })
}

/// Id and numbers of each parameter.
fn parameters<'l>(
    words: impl Iterator<Item = &'l str>,
    place: impl Fn() -> String,
) -> Result<Vec<(i64, Vec<Number>)>, ParseError> {
    let mut parameters = Vec::new();
    for word in words {
        let parameter = word.split_once('=');
        let parameter = parameter.and_then(|(id, value)| Some((id.parse::<i64>().ok()?, value)));
        let (id, value) = parameter.ok_or_else(|| ParseError::Malformed {
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
        let is_list = id <= LISTS.saturating_neg();
        // Lists begin with their length. A text, which newer files may have, is no number.
        let numbers = value.split(',').skip(usize::from(is_list));
        let numbers = numbers.take(MAX_NUMBERS).map_while(number);
        let id = if is_list {
            id.saturating_add(LISTS).saturating_neg()
        } else {
            id
        };
        parameters.push((id, numbers.collect()));
    }
    Ok(parameters)
}

fn number(text: &str) -> Option<Number> {
    Some(Number {
        whole: text.parse().ok(),
        value: text.parse().ok()?,
    })
}
