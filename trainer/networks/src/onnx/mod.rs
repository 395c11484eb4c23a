//! A trained [`GraphNetwork`] → an ONNX file whose inputs are raw features and whose outputs have natural units.

mod eagle;
mod parts;
mod per_operator;
mod perfsage;
mod sage;
mod seernet;
mod whole_graph;

use litecast::learned::manifest::{self, tensor_names};
use litecast::learned::network::{NetworkError, check_operators};
use litecast_trainer::onnx::{Dim, GraphBuilder};
use prost::Message;

use self::parts::{Graphs, Groups, Inputs, standardise};
use crate::gnn::network::GraphNetwork;
use crate::gnn::prepare::Scaling;
use crate::gnn::sage::{DIPPM, NNLP};

const N_NODES: Dim = Dim::Symbol(manifest::N_NODES);
const N_EDGES: Dim = Dim::Symbol("n_edges");
const N_GRAPHS: Dim = Dim::Symbol("n_graphs");
const N_GROUPS: Dim = Dim::Symbol("n_groups");
const GROUP_SIZE: Dim = Dim::Symbol("group_size");

/// Metadata key under which the file carries the id of the features it expects.
pub const SCHEMA_ID_KEY: &str = "feature_schema_id";

/// The file's bytes. Weights are stored with few bits; round the network first ([`GraphNetwork::as_stored`]) to measure the
/// estimates of the file. Refuses a network with an operator that the predictor does not support.
pub fn export(
    network: &GraphNetwork,
    scaling: &Scaling,
    feature_schema_id: &str,
) -> Result<Vec<u8>, NetworkError> {
    let mut graph = GraphBuilder::new("litecast");
    let inputs = inputs(&mut graph, scaling);
    let (estimates, operators) = match network {
        GraphNetwork::PerfSage(network) => {
            let estimates = perfsage::export(&mut graph, network, &inputs, scaling);
            (estimates, None)
        }
        GraphNetwork::Dippm(network) => {
            let estimates = sage::export(&mut graph, network, DIPPM, &inputs, scaling);
            (estimates, None)
        }
        GraphNetwork::Nnlp(network) => {
            let estimates = sage::export(&mut graph, network, NNLP, &inputs, scaling);
            (estimates, None)
        }
        GraphNetwork::SeerNet(network) => {
            let estimates = seernet::export(&mut graph, network, &inputs, scaling);
            (estimates, None)
        }
        GraphNetwork::Eagle(network) => {
            let estimates = eagle::export(&mut graph, network, &inputs, scaling);
            (estimates, None)
        }
        GraphNetwork::PerOperator(network) => {
            let outputs = per_operator::export(&mut graph, network, &inputs, scaling);
            (outputs.estimates, Some(outputs.operators))
        }
    };
    let n_outputs = Dim::Fixed(scaling.n_outputs());
    graph.output_f32(tensor_names::ESTIMATES, &estimates, &[N_GRAPHS, n_outputs]);
    if let Some(operators) = operators {
        let name = tensor_names::OPERATOR_ESTIMATES;
        graph.output_f32(name, &operators, &[N_NODES, n_outputs]);
    }
    to_file(graph, feature_schema_id)
}

fn inputs(graph: &mut GraphBuilder, scaling: &Scaling) -> Inputs {
    let features = [N_NODES, Dim::Fixed(scaling.n_columns())];
    let features = graph.input_f32(tensor_names::NODE_FEATURES, &features);
    let category = graph.input_i64(tensor_names::CATEGORY, &[N_NODES]);
    let edge_src = graph.input_i64(tensor_names::EDGE_SRC, &[N_EDGES]);
    let edge_dst = graph.input_i64(tensor_names::EDGE_DST, &[N_EDGES]);
    let groups = Groups {
        category: graph.input_i64(tensor_names::GROUP_CATEGORY, &[N_GROUPS]),
        nodes: graph.input_i64(tensor_names::GROUP_NODES, &[N_GROUPS, GROUP_SIZE]),
        place_of_node: graph.input_i64(tensor_names::PLACE_OF_NODE, &[N_NODES]),
    };
    let of_node = graph.input_i64(tensor_names::GRAPH_OF_NODE, &[N_NODES]);
    let first_node = graph.input_i64(tensor_names::FIRST_NODE, &[N_GRAPHS]);
    Inputs {
        features: standardise(graph, "features", &features, &scaling.features),
        raw: features,
        category,
        edge_src,
        edge_dst,
        groups,
        graphs: Graphs::new(graph, of_node, first_node),
    }
}

fn to_file(graph: GraphBuilder, feature_schema_id: &str) -> Result<Vec<u8>, NetworkError> {
    let file = graph.finish(&[(SCHEMA_ID_KEY, feature_schema_id)]);
    check_operators(&file)?;
    Ok(file.encode_to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_operator_that_the_predictor_does_not_run_is_refused() {
        let mut graph = GraphBuilder::new("test");
        let input = graph.input_f32(tensor_names::NODE_FEATURES, &[N_NODES]);
        let rows = graph.op("Relu", &[&input]);
        graph.op("Erf", &[&rows]);
        let error = to_file(graph, "test").unwrap_err().to_string();
        assert!(
            error.starts_with("node `erf_1`: operator Erf, expected one of Add, Cast,"),
            "{error}"
        );
    }
}
