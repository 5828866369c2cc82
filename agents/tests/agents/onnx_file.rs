//! ONNX files for tests, written node by node.

use std::path::PathBuf;

use prost::Message as _;
use tract_onnx::pb::tensor_proto::DataType;
use tract_onnx::pb::tensor_shape_proto::{Dimension, dimension};
use tract_onnx::pb::{
    AttributeProto, GraphProto, ModelProto, NodeProto, OperatorSetIdProto, TensorProto, TensorShapeProto, TypeProto,
    ValueInfoProto, attribute_proto, type_proto,
};

/// Graph of a file under construction.
#[derive(Default)]
pub struct OnnxFile(GraphProto);

impl OnnxFile {
    /// Adds an input of floats; 0 stands for an axis of variable length.
    pub fn input(mut self, name: &str, shape: &[i64]) -> Self {
        self.0.input.push(value_info(name, shape));
        self
    }

    /// Adds an output of floats; 0 stands for an axis of variable length.
    pub fn output(mut self, name: &str, shape: &[i64]) -> Self {
        self.0.output.push(value_info(name, shape));
        self
    }

    /// Adds a constant array.
    pub fn weights(mut self, name: &str, shape: &[i64], values: &[f32]) -> Self {
        self.0.initializer.push(TensorProto {
            name: name.to_owned(),
            dims: shape.to_vec(),
            data_type: DataType::Float as i32,
            float_data: values.to_vec(),
            ..TensorProto::default()
        });
        self
    }

    /// Adds a node with whole-number attributes.
    pub fn node(mut self, op: &str, inputs: &[&str], output: &str, attributes: &[(&str, i64)]) -> Self {
        let attribute = attributes.iter().map(|&(name, i)| AttributeProto {
            name: name.to_owned(),
            i,
            r#type: attribute_proto::AttributeType::Int as i32,
            ..AttributeProto::default()
        });
        self.0.node.push(NodeProto {
            name: format!("{op}_{output}"),
            op_type: op.to_owned(),
            input: inputs.iter().map(|&name| name.to_owned()).collect(),
            output: vec![output.to_owned()],
            attribute: attribute.collect(),
            ..NodeProto::default()
        });
        self
    }

    /// Adds a node with a subgraph.
    pub fn node_with_subgraph(self, op: &str, input: &str, output: &str) -> Self {
        let mut file = self.node(op, &[input], output, &[("body", 0)]);
        if let Some(attribute) = file.0.node.last_mut().and_then(|node| node.attribute.last_mut()) {
            attribute.g = Some(GraphProto::default());
        }
        file
    }

    /// Writes the file into a folder for temporary files and returns its path, which is unique to this process.
    pub fn write(self, name: &str) -> PathBuf {
        let model = ModelProto {
            ir_version: 8,
            opset_import: vec![OperatorSetIdProto { domain: String::new(), version: 13 }],
            graph: Some(GraphProto { name: name.to_owned(), ..self.0 }),
            ..ModelProto::default()
        };
        let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}.onnx", std::process::id()));
        std::fs::write(&path, model.encode_to_vec()).unwrap();
        path
    }
}

fn value_info(name: &str, shape: &[i64]) -> ValueInfoProto {
    let axis = |&n: &i64| Dimension {
        value: Some(match n {
            0 => dimension::Value::DimParam("N".to_owned()),
            n => dimension::Value::DimValue(n),
        }),
        ..Dimension::default()
    };
    let shape = TensorShapeProto { dim: shape.iter().map(axis).collect() };
    let tensor = type_proto::Tensor { elem_type: DataType::Float as i32, shape: Some(shape) };
    let value = Some(type_proto::Value::TensorType(tensor));
    ValueInfoProto {
        name: name.to_owned(),
        r#type: Some(TypeProto { denotation: String::new(), value }),
        ..ValueInfoProto::default()
    }
}

/// Returns a network whose logits are `bias` in every position, and whose value is `value` in every position.
pub fn constant(shape: &[i64], bias: &[f32], value: &[f32]) -> OnnxFile {
    let len: i64 = shape.iter().product();
    let (actions, values) = (bias.len() as i64, value.len() as i64);
    OnnxFile::default()
        .input("obs", &[&[0], shape].concat())
        .output("policy", &[0, actions])
        .output("value", &[0, values])
        .weights("policy_weights", &[len, actions], &vec![0.0; bias.len() * len as usize])
        .weights("policy_bias", &[actions], bias)
        .weights("value_weights", &[len, values], &vec![0.0; value.len() * len as usize])
        .weights("value_bias", &[values], value)
        .node("Flatten", &["obs"], "flat", &[("axis", 1)])
        .node("Gemm", &["flat", "policy_weights", "policy_bias"], "policy", &[])
        .node("Gemm", &["flat", "value_weights", "value_bias"], "value", &[])
}
