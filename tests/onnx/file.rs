//! ONNX files in the making.

use prost::Message;
use tract_onnx::pb::attribute_proto::AttributeType;
use tract_onnx::pb::tensor_shape_proto::{Dimension, dimension};
use tract_onnx::pb::type_proto::{self, Value};
use tract_onnx::pb::{
    AttributeProto, GraphProto, ModelProto, NodeProto, OperatorSetIdProto, TensorProto,
    TensorShapeProto, TypeProto, ValueInfoProto,
};

pub const FLOAT: i32 = 1;
pub const INT8: i32 = 3;
pub const INT64: i32 = 7;
pub const BOOL: i32 = 9;
pub const UINT8: i32 = 2;
pub const INT32: i32 = 6;
pub const FLOAT16: i32 = 10;

/// Attributes of one number; lists of one are lists.
const WHOLE: &[&str] = &[
    "K",
    "N",
    "axis",
    "bits",
    "block_size",
    "blocksize",
    "ceil_mode",
    "group",
    "hidden_size",
    "k",
    "keepdims",
    "kv_num_heads",
    "num_groups",
    "num_heads",
    "num_outputs",
    "q_num_heads",
    "size",
    "to",
    "transB",
];

/// A file in the making.
#[derive(Clone, Default)]
pub struct File(pub GraphProto);

/// The size of a dimension, or its name.
pub enum Size {
    Of(i64),
    Named(&'static str),
}

impl File {
    pub fn input(mut self, name: &str, sizes: &[Size]) -> Self {
        let dim = |size: &Size| Dimension {
            value: Some(match size {
                Size::Of(size) => dimension::Value::DimValue(*size),
                Size::Named(name) => dimension::Value::DimParam((*name).into()),
            }),
            ..Dimension::default()
        };
        let shape = TensorShapeProto {
            dim: sizes.iter().map(dim).collect(),
        };
        self.0.input.push(ValueInfoProto {
            name: name.into(),
            r#type: Some(TypeProto {
                value: Some(Value::TensorType(type_proto::Tensor {
                    elem_type: FLOAT,
                    shape: Some(shape),
                })),
                ..TypeProto::default()
            }),
            ..ValueInfoProto::default()
        });
        self
    }

    /// Of the last input.
    pub fn of_type(mut self, data_type: i32) -> Self {
        let input = self.0.input.last_mut();
        let value = input.and_then(|input| input.r#type.as_mut()?.value.as_mut());
        if let Some(Value::TensorType(tensor)) = value {
            tensor.elem_type = data_type;
        }
        self
    }

    pub fn image(self, shape: [i64; 4]) -> Self {
        self.input("x", &shape.map(Size::Of))
    }

    pub fn constant(mut self, name: &str, data_type: i32, dims: &[i64], raw_data: Vec<u8>) -> Self {
        self.0.initializer.push(TensorProto {
            name: name.into(),
            data_type,
            dims: dims.to_vec(),
            raw_data,
            ..TensorProto::default()
        });
        self
    }

    pub fn weights(self, name: &str, dims: &[i64]) -> Self {
        let n: i64 = dims.iter().product();
        let values = (0..n).flat_map(|at| ((at * 37 % 255) as f32 - 127.0).to_le_bytes());
        self.constant(name, FLOAT, dims, values.collect())
    }

    pub fn integers(self, name: &str, values: &[i64]) -> Self {
        let bytes = values
            .iter()
            .flat_map(|value| value.to_le_bytes())
            .collect();
        self.constant(name, INT64, &[values.len() as i64], bytes)
    }

    pub fn number(self, name: &str, value: f32) -> Self {
        self.constant(name, FLOAT, &[], value.to_le_bytes().to_vec())
    }

    pub fn node(
        mut self,
        op_type: &str,
        inputs: &[&str],
        output: &str,
        attributes: &[(&str, &[i64])],
    ) -> Self {
        let attribute = |(name, values): &(&str, &[i64])| match values {
            [one] if WHOLE.contains(name) => AttributeProto {
                name: (*name).into(),
                i: *one,
                r#type: AttributeType::Int.into(),
                ..AttributeProto::default()
            },
            values => AttributeProto {
                name: (*name).into(),
                ints: values.to_vec(),
                r#type: AttributeType::Ints.into(),
                ..AttributeProto::default()
            },
        };
        self.0.node.push(NodeProto {
            op_type: op_type.into(),
            input: inputs.iter().map(|name| (*name).into()).collect(),
            output: vec![output.into()],
            attribute: attributes.iter().map(attribute).collect(),
            ..NodeProto::default()
        });
        self
    }

    pub fn einsum(mut self, equation: &str, inputs: &[&str], output: &str) -> Self {
        self.0.node.push(NodeProto {
            op_type: "Einsum".into(),
            input: inputs.iter().map(|name| (*name).into()).collect(),
            output: vec![output.into()],
            attribute: vec![AttributeProto {
                name: "equation".into(),
                s: equation.into(),
                r#type: AttributeType::String.into(),
                ..AttributeProto::default()
            }],
            ..NodeProto::default()
        });
        self
    }

    /// Of the last node.
    pub fn domain(mut self, domain: &str) -> Self {
        if let Some(node) = self.0.node.last_mut() {
            node.domain = domain.into();
        }
        self
    }

    /// A node that holds one number.
    pub fn constant_node(mut self, output: &str, value: f32) -> Self {
        self.0.node.push(NodeProto {
            op_type: "Constant".into(),
            output: vec![output.into()],
            attribute: vec![AttributeProto {
                name: "value".into(),
                t: Some(TensorProto {
                    data_type: FLOAT,
                    raw_data: value.to_le_bytes().to_vec(),
                    ..TensorProto::default()
                }),
                r#type: AttributeType::Tensor.into(),
                ..AttributeProto::default()
            }],
            ..NodeProto::default()
        });
        self
    }

    /// A node with two bodies.
    pub fn branches(mut self, condition: &str, bodies: [Self; 2], output: &str) -> Self {
        let names = ["then_branch", "else_branch"];
        let attributes = names.into_iter().zip(bodies);
        let attributes = attributes.map(|(name, body)| AttributeProto {
            name: name.into(),
            g: Some(body.0),
            r#type: AttributeType::Graph.into(),
            ..AttributeProto::default()
        });
        self.0.node.push(NodeProto {
            op_type: "If".into(),
            input: vec![condition.into()],
            output: vec![output.into()],
            attribute: attributes.collect(),
            ..NodeProto::default()
        });
        self
    }

    /// A `Loop` or `Scan` with its body and whole-number attributes.
    pub fn repeated(
        mut self,
        op_type: &str,
        inputs: &[&str],
        body: Self,
        outputs: &[&str],
        attributes: &[(&str, i64)],
    ) -> Self {
        let numbers = attributes.iter().map(|&(name, i)| AttributeProto {
            name: name.into(),
            i,
            r#type: AttributeType::Int.into(),
            ..AttributeProto::default()
        });
        let body = AttributeProto {
            name: "body".into(),
            g: Some(body.0),
            r#type: AttributeType::Graph.into(),
            ..AttributeProto::default()
        };
        self.0.node.push(NodeProto {
            op_type: op_type.into(),
            input: inputs.iter().map(|name| (*name).into()).collect(),
            output: outputs.iter().map(|name| (*name).into()).collect(),
            attribute: numbers.chain([body]).collect(),
            ..NodeProto::default()
        });
        self
    }

    pub fn result(mut self, name: &str) -> Self {
        self.0.output.push(ValueInfoProto {
            name: name.into(),
            ..ValueInfoProto::default()
        });
        self
    }

    pub fn output(self, name: &str) -> Vec<u8> {
        let graph = self.result(name).0;
        let opset = OperatorSetIdProto {
            version: 17,
            ..OperatorSetIdProto::default()
        };
        let model = ModelProto {
            ir_version: 8,
            opset_import: vec![opset],
            graph: Some(graph),
            ..ModelProto::default()
        };
        model.encode_to_vec()
    }
}
