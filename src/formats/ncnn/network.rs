//! A network that is being written as an ONNX graph, node by node.

use std::collections::{HashMap, HashSet};

use super::error::ParseError;
use super::message::{Attribute, Message};
use super::text::Layer;
use crate::formats::shown;

/// The domain of layers without a counterpart in ONNX.
pub(super) const DOMAIN: &str = "ncnn";

/// `TensorProto.DataType`s.
pub(super) const FLOAT: i64 = 1;
pub(super) const INT8: i64 = 3;
pub(super) const INT64: i64 = 7;

/// Sides of a blob, the outermost first (channels, depth, height, width), without the batch. Those that are not above 0 are
/// not known.
pub(super) type Sides = Vec<i64>;

/// A blob: the value that it is in the ONNX graph, and its sides as far as they are known.
#[derive(Clone, Debug)]
pub(super) struct Blob {
    pub value: String,
    pub sides: Option<Sides>,
}

impl Blob {
    pub fn new(value: String, sides: Option<Sides>) -> Self {
        Self { value, sides }
    }

    pub fn rank(&self) -> Option<usize> {
        self.sides.as_ref().map(Vec::len)
    }

    /// A side that is known, counted from the outermost.
    pub fn side(&self, axis: usize) -> Option<i64> {
        let side = self.sides.as_ref()?.get(axis).copied();
        side.filter(|&side| side > 0)
    }

    /// The innermost side, if it is known.
    pub fn width(&self) -> Option<i64> {
        self.side(self.rank()?.checked_sub(1)?)
    }
}

/// The last node, whose results may still become blobs, in their order.
struct Pending {
    node: Message,
    results: Vec<String>,
    /// How many of the results are blobs already.
    n_defined: usize,
}

#[derive(Default)]
pub(super) struct NcnnNetwork<'f> {
    /// A `GraphProto`.
    graph: Message,
    pending: Option<Pending>,
    blobs: HashMap<&'f str, Blob>,
    /// Blobs whose sides the file tells alone.
    hinted: HashSet<&'f str>,
    /// Values of blobs with long names.
    shortened: HashMap<&'f str, String>,
    n_names: usize,
    /// Nodes, weights and results of layers that were written.
    n_parts: usize,
}

/// A blob of a longer name has a value of another one, because each of its readers writes that.
const MAX_VALUE_NAME_BYTES: usize = 256;

impl<'f> NcnnNetwork<'f> {
    /// A name that no blob has: names of blobs have no space.
    fn new_name(&mut self, layer: &Layer) -> String {
        self.n_names = self.n_names.saturating_add(1);
        format!("{} {}", shown(layer.name), self.n_names)
    }

    /// The value that a blob of this name has when a node writes it.
    fn value_name(&mut self, name: &'f str) -> String {
        if name.len() <= MAX_VALUE_NAME_BYTES {
            return name.into();
        }
        self.n_names = self.n_names.saturating_add(1);
        let short = || format!("{} {}", shown(name), self.n_names);
        self.shortened.entry(name).or_insert_with(short).clone()
    }

    fn flush(&mut self) {
        if let Some(mut pending) = self.pending.take() {
            for result in &pending.results {
                pending.node.bytes(2, result.as_bytes());
            }
            self.add_node(&pending.node);
        }
    }

    fn add_node(&mut self, node: &Message) {
        self.n_parts = self.n_parts.saturating_add(1);
        self.graph.message(1, node);
    }

    fn add_weights(&mut self, tensor: &Message) {
        self.n_parts = self.n_parts.saturating_add(1);
        self.graph.message(5, tensor);
    }

    /// Fails where the layers so far became more nodes, weights and results than that.
    pub fn check_size(&self, layer: &Layer, limit: usize) -> Result<(), ParseError> {
        if self.n_parts <= limit {
            return Ok(());
        }
        Err(ParseError::LimitExceeded {
            place: layer.place(),
            what: "operations, weights and results of all layers so far",
            limit,
            found: self.n_parts,
        })
    }

    /// Adds a node of one result. Returns the result's name.
    pub fn node(
        &mut self,
        layer: &Layer,
        op_type: &str,
        inputs: &[&str],
        attributes: &[(&str, Attribute)],
    ) -> String {
        let results = self.nodes(layer, op_type, inputs, attributes, 1);
        results.into_iter().next().unwrap_or_default()
    }

    /// Adds a node of several results. Returns their names.
    pub fn nodes(
        &mut self,
        layer: &Layer,
        op_type: &str,
        inputs: &[&str],
        attributes: &[(&str, Attribute)],
        n_results: usize,
    ) -> Vec<String> {
        self.flush();
        let node = Self::message(op_type, inputs, attributes);
        let results: Vec<String> = (0..n_results).map(|_| self.new_name(layer)).collect();
        self.pending = Some(Pending {
            node,
            results: results.clone(),
            n_defined: 0,
        });
        results
    }

    fn message(op_type: &str, inputs: &[&str], attributes: &[(&str, Attribute)]) -> Message {
        let mut node = Message::default();
        inputs
            .iter()
            .for_each(|input| node.bytes(1, input.as_bytes()));
        node.bytes(4, op_type.as_bytes());
        for (name, value) in attributes {
            node.attribute(name, *value);
        }
        node
    }

    /// Adds a layer that has no counterpart, under its own name.
    pub fn unknown(
        &mut self,
        layer: &Layer<'f>,
        inputs: &[Blob],
        outputs: impl Iterator<Item = (&'f str, Option<Sides>)>,
    ) {
        self.flush();
        let values: Vec<&str> = inputs.iter().map(|blob| &*blob.value).collect();
        let mut node = Self::message(layer.kind, &values, &[]);
        node.bytes(7, DOMAIN.as_bytes());
        for (output, sides) in outputs {
            let name = self.value_name(output);
            node.bytes(2, name.as_bytes());
            if let Some(sides) = &sides {
                let value = Message::value(&name, FLOAT, Some(&with_batch(sides)));
                self.graph.message(13, &value);
                self.hinted.insert(output);
            }
            self.n_parts = self.n_parts.saturating_add(1);
            self.blobs.insert(output, Blob::new(name, sides));
        }
        self.add_node(&node);
    }

    /// Adds weights of this type, whose values are in another file. Returns their name.
    pub fn weights(&mut self, layer: &Layer, data_type: i64, dims: &[i64]) -> String {
        let name = self.new_name(layer);
        let tensor = Message::tensor(&name, data_type, dims, None);
        self.add_weights(&tensor);
        name
    }

    /// Adds a list of whole numbers.
    pub fn integers(&mut self, layer: &Layer, values: &[i64]) -> String {
        let dims = [i64::try_from(values.len()).unwrap_or(0)];
        let bytes = values.iter().flat_map(|value| value.to_le_bytes());
        self.constant(layer, INT64, &dims, bytes.collect())
    }

    fn constant(&mut self, layer: &Layer, data_type: i64, dims: &[i64], bytes: Vec<u8>) -> String {
        let name = self.new_name(layer);
        let tensor = Message::tensor(&name, data_type, dims, Some(&bytes));
        self.add_weights(&tensor);
        name
    }

    /// Adds numbers: one without dimensions, or a list.
    pub fn floats(&mut self, layer: &Layer, values: &[f32]) -> String {
        let n = i64::try_from(values.len()).unwrap_or(0);
        let dims: &[i64] = if n == 1 { &[] } else { &[n] };
        let bytes = values.iter().flat_map(|value| value.to_le_bytes());
        self.constant(layer, FLOAT, dims, bytes.collect())
    }

    /// Adds an input of the network. `open`: its sides before those that the file leaves open were given.
    pub fn input(&mut self, name: &'f str, data_type: i64, open: &[i64], sides: Sides) {
        let value_name = self.value_name(name);
        let value = Message::value(&value_name, data_type, Some(&with_batch(open)));
        self.graph.message(11, &value);
        self.n_parts = self.n_parts.saturating_add(1);
        self.blobs.insert(name, Blob::new(value_name, Some(sides)));
    }

    /// A blob that nothing gives a value.
    pub fn define_absent(&mut self, name: &'f str) {
        self.blobs.insert(name, Blob::new(String::new(), None));
    }

    /// Adds a zero of 8 bits.
    pub fn zero_int8(&mut self, layer: &Layer) -> String {
        self.constant(layer, INT8, &[], vec![0])
    }

    pub fn blob(&self, layer: &Layer, name: &str) -> Result<Blob, ParseError> {
        let blob = self.blobs.get(name).cloned();
        blob.ok_or_else(|| ParseError::UndefinedBlob {
            place: layer.place(),
            name: shown(name),
        })
    }

    pub fn check_new(&self, layer: &Layer, name: &str) -> Result<(), ParseError> {
        if self.blobs.contains_key(name) {
            return Err(ParseError::DuplicateBlob {
                place: layer.place(),
                name: shown(name),
            });
        }
        Ok(())
    }

    /// Says that a layer's output is this value.
    pub fn define(&mut self, output: &'f str, mut blob: Blob) {
        if let Some(mut pending) = self.pending.take() {
            let result = pending.results.get_mut(pending.n_defined);
            if let Some(result) = result.filter(|result| **result == blob.value) {
                blob.value = self.value_name(output);
                result.clone_from(&blob.value);
                pending.n_defined = pending.n_defined.saturating_add(1);
            }
            self.pending = Some(pending);
        }
        self.n_parts = self.n_parts.saturating_add(1);
        self.blobs.insert(output, blob);
    }

    /// The `ModelProto`, of at most `max_parts` nodes, weights and results. `outputs`: blobs that no layer reads, with
    /// the layers that write them.
    pub fn finish<'l>(
        mut self,
        outputs: impl Iterator<Item = (&'l Layer<'f>, &'f str)>,
        max_parts: usize,
    ) -> Result<Vec<u8>, ParseError>
    where
        'f: 'l,
    {
        /// Opset that has `Gelu` and `RMSNormalization`.
        const OPSET: i64 = 23;
        self.flush();
        for (layer, name) in outputs {
            let blob = self.blobs.remove(name);
            let result = self.value_name(name);
            let (value, sides) =
                blob.map_or_else(|| (result.clone(), None), |it| (it.value, it.sides));
            if value != result {
                let mut node = Self::message("Identity", &[&value], &[]);
                node.bytes(2, result.as_bytes());
                self.add_node(&node);
            }
            self.check_size(layer, max_parts)?;
            let sides = sides.filter(|_| self.hinted.contains(name));
            let shape = sides.as_deref().map(with_batch);
            let value = Message::value(&result, FLOAT, shape.as_deref());
            self.graph.message(12, &value);
        }
        let (mut model, mut opset) = (Message::default(), Message::default());
        opset.integer(2, OPSET);
        model.integer(1, 8);
        model.message(7, &self.graph);
        model.message(8, &opset);
        Ok(model.into_bytes())
    }
}

/// A shape in ONNX: with the batch before the sides.
pub(super) fn with_batch(sides: &[i64]) -> Vec<i64> {
    [&[1], sides].concat()
}
