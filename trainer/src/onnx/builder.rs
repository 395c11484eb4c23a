//! Builds an ONNX graph one operator at a time; every method returns the name of its result.

use half::f16;
use litecast::learned::network::onnx::{
    Attribute, Dimension, DimensionValue, Graph, Model, Node, OperatorSet, Property, Tensor,
    TensorShape, TensorType, Type, Value, attribute_type, data_type,
};

/// The first operator set whose reductions all take their axes as an input.
const OPSET: i64 = 18;
/// The file format version that goes with it.
const IR_VERSION: i64 = 8;

/// A dimension of an input or output.
#[derive(Clone, Copy, Debug)]
pub enum Dim {
    Fixed(usize),
    Symbol(&'static str),
}

/// A graph under construction.
#[derive(Default)]
pub struct GraphBuilder {
    graph: Graph,
}

impl GraphBuilder {
    pub fn new(name: &str) -> Self {
        Self {
            graph: Graph {
                name: name.to_owned(),
                ..Graph::default()
            },
        }
    }

    pub fn input_f32(&mut self, name: &str, dims: &[Dim]) -> String {
        self.graph.input.push(value(name, data_type::FLOAT, dims));
        name.to_owned()
    }

    pub fn input_i64(&mut self, name: &str, dims: &[Dim]) -> String {
        self.graph.input.push(value(name, data_type::INT64, dims));
        name.to_owned()
    }

    /// Declares the result `from` as the output `name`.
    pub fn output_f32(&mut self, name: &str, from: &str, dims: &[Dim]) {
        self.push("Identity", &[from], name.to_owned(), vec![]);
        self.graph.output.push(value(name, data_type::FLOAT, dims));
    }

    pub fn constant_f32(&mut self, name: &str, dims: &[usize], values: &[f32]) -> String {
        let raw = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        self.initializer(name, dims, data_type::FLOAT, raw)
    }

    /// An axis as an input, one constant however often it is asked for.
    pub fn axis(&mut self, axis: i64) -> String {
        let name = format!("axis.{axis}");
        let initializers = &self.graph.initializer;
        match initializers.iter().any(|tensor| tensor.name == name) {
            true => name,
            false => self.constant_i64(&name, &[axis]),
        }
    }

    pub fn constant_i64(&mut self, name: &str, values: &[i64]) -> String {
        let raw = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        self.initializer(name, &[values.len()], data_type::INT64, raw)
    }

    /// Weights kept in half precision and cast when the file is loaded.
    pub fn weights_f16(&mut self, name: &str, dims: &[usize], values: &[f32]) -> String {
        let raw = values
            .iter()
            .flat_map(|&v| f16::from_f32(v).to_le_bytes())
            .collect();
        let stored = self.initializer(&format!("{name}.f16"), dims, data_type::FLOAT16, raw);
        self.push(
            "Cast",
            &[&stored],
            name.to_owned(),
            vec![int("to", data_type::FLOAT.into())],
        )
    }

    /// An operator with one result.
    pub fn op(&mut self, op_type: &str, inputs: &[&str]) -> String {
        self.op_with(op_type, inputs, vec![])
    }

    pub fn op_with(
        &mut self,
        op_type: &str,
        inputs: &[&str],
        attributes: Vec<Attribute>,
    ) -> String {
        let result = format!("{}_{}", op_type.to_lowercase(), self.graph.node.len());
        self.push(op_type, inputs, result, attributes)
    }

    /// An operator with two results.
    pub fn op_of_two(
        &mut self,
        op_type: &str,
        inputs: &[&str],
        attributes: Vec<Attribute>,
    ) -> [String; 2] {
        let first = self.op_with(op_type, inputs, attributes);
        let second = format!("{first}_second");
        let node = self.graph.node.last_mut();
        let node = node.expect("an operator was added above");
        node.output.push(second.clone());
        [first, second]
    }

    /// The finished file.
    pub fn finish(self, properties: &[(&str, &str)]) -> Model {
        let property = |(key, value): &(&str, &str)| Property {
            key: (*key).to_owned(),
            value: (*value).to_owned(),
        };
        Model {
            ir_version: IR_VERSION,
            producer_name: env!("CARGO_PKG_NAME").to_owned(),
            producer_version: env!("CARGO_PKG_VERSION").to_owned(),
            graph: Some(self.graph),
            opset_import: vec![OperatorSet {
                domain: String::new(),
                version: OPSET,
            }],
            metadata_props: properties.iter().map(property).collect(),
        }
    }

    fn push(
        &mut self,
        op_type: &str,
        inputs: &[&str],
        result: String,
        attribute: Vec<Attribute>,
    ) -> String {
        self.graph.node.push(Node {
            input: inputs.iter().map(|&i| i.to_owned()).collect(),
            output: vec![result.clone()],
            name: result.clone(),
            op_type: op_type.to_owned(),
            attribute,
        });
        result
    }

    fn initializer(&mut self, name: &str, dims: &[usize], data_type: i32, raw: Vec<u8>) -> String {
        self.graph.initializer.push(Tensor {
            dims: dims.iter().map(|&d| d as i64).collect(),
            data_type,
            name: name.to_owned(),
            raw_data: raw,
        });
        name.to_owned()
    }
}

/// An integer attribute.
pub fn int(name: &str, value: i64) -> Attribute {
    Attribute {
        name: name.to_owned(),
        i: Some(value),
        r#type: attribute_type::INT,
        ..Attribute::default()
    }
}

/// A string attribute.
pub fn string(name: &str, value: &str) -> Attribute {
    let s = Some(value.as_bytes().to_vec());
    Attribute {
        name: name.to_owned(),
        s,
        r#type: attribute_type::STRING,
        ..Attribute::default()
    }
}

/// A tensor attribute of one float.
pub fn float_tensor(name: &str, value: f32) -> Attribute {
    let tensor = Tensor {
        dims: vec![1],
        data_type: data_type::FLOAT,
        name: String::new(),
        raw_data: value.to_le_bytes().to_vec(),
    };
    Attribute {
        name: name.to_owned(),
        t: Some(tensor),
        r#type: attribute_type::TENSOR,
        ..Attribute::default()
    }
}

fn value(name: &str, elem_type: i32, dims: &[Dim]) -> Value {
    let dimension = |dim: &Dim| Dimension {
        value: Some(match *dim {
            Dim::Fixed(n) => DimensionValue::Fixed(n as i64),
            Dim::Symbol(symbol) => DimensionValue::Symbol(symbol.to_owned()),
        }),
    };
    let shape = Some(TensorShape {
        dim: dims.iter().map(dimension).collect(),
    });
    let tensor_type = Some(TensorType { elem_type, shape });
    Value {
        name: name.to_owned(),
        r#type: Some(Type { tensor_type }),
    }
}
