//! Functions that a file defines (`FunctionProto`). A node that calls one is replaced by the function's nodes, as if they
//! stood in the graph under names of their own.

use std::collections::HashMap;
use std::rc::Rc;

use elsa::FrozenVec;

use super::attributes::{Attributes, NAME, attribute_text};
use super::limits::*;
use super::opsets::{UnknownOpset, opset_import, unknown};
use super::wire::{Failure, Fields, Malformed, Read, at};

/// Names beside those of the file, for as long as its graph.
pub(super) type Names = FrozenVec<String>;

/// `FunctionProto`.
#[derive(Debug, Default)]
pub(super) struct Function<'a> {
    pub inputs: Vec<&'a str>,
    pub outputs: Vec<&'a str>,
    /// `NodeProto`s.
    pub nodes: Vec<&'a [u8]>,
    /// `AttributeProto`s of attributes that a call may leave out, and by name the position of each.
    defaults: Vec<&'a [u8]>,
    default_of: HashMap<&'a str, usize>,
    n_bytes: usize,
    unknown_opset: Option<UnknownOpset>,
}

/// A node that is replaced by the nodes of a function.
#[derive(Debug)]
pub(super) struct Call<'a> {
    attributes: Attributes<'a>,
    function: Rc<Function<'a>>,
    depth: usize,
}

impl<'a> Call<'a> {
    /// A call in the function of the call `around`; `None` if calls are nested too deeply.
    pub fn new(
        attributes: Attributes<'a>,
        function: Rc<Function<'a>>,
        around: Option<&Self>,
    ) -> Option<Self> {
        let depth = around.map_or(0, |around| around.depth.saturating_add(1));
        (depth < MAX_CALL_DEPTH).then_some(Self {
            attributes,
            function,
            depth,
        })
    }

    /// Bytes that are read for it.
    pub fn cost(&self) -> usize {
        /// For the memory of a call and of those around it, so that calls of empty functions are limited as well.
        const OF_CALL: usize = 64;
        let of_calls = self.depth.saturating_add(1).saturating_mul(OF_CALL);
        self.function.n_bytes.saturating_add(of_calls)
    }

    /// The message of an attribute that a node of the function refers to: the call's, or the function's default.
    pub fn attribute(&self, name: &str) -> Option<&'a [u8]> {
        let function = &self.function;
        let default = || function.defaults.get(*function.default_of.get(name)?);
        self.attributes.get(name).or_else(|| default().copied())
    }
}

/// All functions of a file.
#[derive(Debug, Default)]
pub(super) struct Functions<'a> {
    all: Vec<Rc<Function<'a>>>,
    /// By [`key`], the position in `all`.
    by_key: HashMap<&'a str, usize>,
    n_nodes: usize,
    n_operands: usize,
    /// The first that a function imports.
    pub unknown_opset: Option<UnknownOpset>,
}

/// Domain, name and overload.
fn key(parts: [&str; 3]) -> String {
    parts.join("\0")
}

impl<'a> Functions<'a> {
    /// Adds a `FunctionProto`, whose key `names` takes.
    pub fn add(&mut self, message: &'a [u8], names: &'a Names) -> Result<(), Failure> {
        let (name, function) = function(message).map_err(at("function"))?;
        let add = |total: &mut usize, n: usize, what, limit| {
            *total = total.saturating_add(n);
            if *total <= limit {
                Ok(())
            } else {
                Err(Failure::TooMany(what, limit))
            }
        };
        self.unknown_opset = self.unknown_opset.or(function.unknown_opset);
        let n_operands = function.inputs.len().saturating_add(function.outputs.len());
        let n_operands = n_operands.saturating_add(function.defaults.len());
        add(
            &mut self.n_nodes,
            function.nodes.len(),
            "nodes of functions",
            MAX_NODES,
        )?;
        add(
            &mut self.n_operands,
            n_operands,
            "operands of functions",
            MAX_OPERANDS,
        )?;
        if self.all.len() >= MAX_FUNCTIONS {
            return Err(Failure::TooMany("functions", MAX_FUNCTIONS));
        }
        self.by_key
            .entry(names.push_get(key(name)))
            .or_insert(self.all.len());
        self.all.push(Rc::new(function));
        Ok(())
    }

    /// The function that a node of this domain, type and overload calls. Operators of ONNX itself are what ONNX says that
    /// they are.
    pub fn get(&self, domain: &str, op_type: &str, overload: &str) -> Option<&Rc<Function<'a>>> {
        if self.all.is_empty() || matches!(domain, "" | "ai.onnx") {
            return None;
        }
        let key = key([domain, op_type, overload]);
        self.all.get(*self.by_key.get(&*key)?)
    }
}

fn function(message: &[u8]) -> Read<([&str; 3], Function<'_>)> {
    let mut name = [""; 3];
    let [domain, op_type, overload] = &mut name;
    let mut function = Function {
        n_bytes: message.len(),
        ..Function::default()
    };
    for field in Fields::new(message) {
        let (number, field) = field?;
        match number {
            1 => *op_type = field.text().ok_or(Malformed)?,
            4 => function.inputs.push(field.text().ok_or(Malformed)?),
            5 => function.outputs.push(field.text().ok_or(Malformed)?),
            7 => function.nodes.push(field.bytes().ok_or(Malformed)?),
            9 => {
                let (domain, version) = opset_import(field.bytes().ok_or(Malformed)?)?;
                function.unknown_opset = function.unknown_opset.or(unknown(domain, version));
            }
            10 => *domain = field.text().ok_or(Malformed)?,
            11 => {
                let default = field.bytes().ok_or(Malformed)?;
                let name = attribute_text(default, NAME).ok_or(Malformed)?;
                function.default_of.insert(name, function.defaults.len());
                function.defaults.push(default);
            }
            13 => *overload = field.text().ok_or(Malformed)?,
            _ => {}
        }
    }
    function.inputs.shrink_to_fit();
    function.outputs.shrink_to_fit();
    function.nodes.shrink_to_fit();
    Ok((name, function))
}
