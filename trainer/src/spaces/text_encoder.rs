//! Encoder transformers for text (Devlin et al. 2019), from embedded tokens on: the table of
//! embeddings is read by the CPU and stays outside of what is deployed on an NPU.

use litecast::formats::tflite::Activation;

use super::Choices;
use super::transformer::{Middle, Transformer, layer_norm};
use crate::writer::{NetworkBuilder, WriterNetwork};

const TOKENS: [i32; 6] = [8, 16, 32, 48, 64, 128];
const EMBEDDINGS: [i32; 5] = [64, 128, 192, 256, 312];
const CLASSES: [i32; 3] = [2, 5, 77];

pub fn network(choices: &mut Choices, mut builder: NetworkBuilder) -> WriterNetwork {
    let transformer = Transformer {
        embedding: choices.pick(&EMBEDDINGS),
        heads: choices.pick(&[1, 2, 4, 8]),
        head_features: choices.pick(&[16, 32, 64]),
        mlp_ratio: choices.pick(&[2, 4]),
        fused_qkv: choices.pick(&[true, false, false]),
        sliced_heads: choices.pick(&[true, false, false]),
        transposed_keys: choices.coin(),
        middle: choices.pick(&[Middle::Gelu, Middle::TanhGelu, Middle::Relu]),
    };
    let n_tokens = choices.pick(&TOKENS);
    let shape = [1, n_tokens, transformer.embedding];
    let embedded = builder.input("embedded_tokens", &shape);
    let positions = builder.parameters("positions", &shape, 1.0);
    let mut tokens = builder.add("embedded", embedded, positions);
    let post_norm = choices.coin();
    if post_norm {
        tokens = layer_norm("norm", tokens, &mut builder);
    }
    for idx in 1..=choices.between(1, 6) {
        let name = format!("layer{idx}");
        tokens = if post_norm {
            transformer.post_norm_layer(&name, tokens, &mut builder)
        } else {
            transformer.layer(&name, tokens, &mut builder)
        };
    }
    let output = if choices.coin() {
        let first = builder.first_token("first", tokens);
        let units = transformer.embedding;
        let pooled = builder.fully_connected("pooler", first, units, Activation::None);
        let pooled = builder.tanh("pooler/tanh", pooled);
        let classes = choices.pick(&CLASSES);
        builder.fully_connected("logits", pooled, classes, Activation::None)
    } else {
        // Each token has scores of its own, as tagging and question answering need.
        builder.fully_connected("scores", tokens, 9, Activation::None)
    };
    builder.finish(&[output])
}
