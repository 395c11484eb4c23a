//! ViT-CIFAR100: vision transformers on 32×32×3, written in the operators that TensorFlow's
//! converter makes of them.

use litecast::formats::tflite::Activation;

use super::Choices;
use super::transformer::{Middle, Transformer, layer_norm};
use crate::writer::{NetworkBuilder, TensorIdx, WriterNetwork};

const IMAGE_SIDE: i32 = 32;
const CLASSES: i32 = 100;
const PATCH_SIDES: [i32; 2] = [4, 8];
const EMBEDDINGS: [i32; 6] = [192, 256, 320, 384, 512, 640];
const HEADS: [i32; 5] = [1, 2, 3, 4, 6];
/// Features of a query, key or value in one head.
const HEAD_FEATURES: [i32; 4] = [16, 32, 48, 64];
const MLP_RATIOS: [i32; 3] = [2, 3, 4];
const MAX_LAYERS: usize = 12;

pub fn network(choices: &mut Choices, mut builder: NetworkBuilder) -> WriterNetwork {
    let transformer = Transformer {
        embedding: choices.pick(&EMBEDDINGS),
        heads: choices.pick(&HEADS),
        head_features: choices.pick(&HEAD_FEATURES),
        mlp_ratio: choices.pick(&MLP_RATIOS),
        fused_qkv: choices.coin(),
        sliced_heads: choices.coin(),
        transposed_keys: choices.coin(),
        middle: if choices.coin() {
            Middle::Gelu
        } else {
            Middle::TanhGelu
        },
    };
    let depth = choices.between(1, MAX_LAYERS);
    let patch_side = choices.pick(&PATCH_SIDES);
    let class_token = choices.coin();
    let mut tokens = embed(&mut builder, patch_side, transformer.embedding, class_token);
    for idx in 1..=depth {
        tokens = transformer.layer(&format!("layer{idx}"), tokens, &mut builder);
    }
    let tokens = layer_norm("norm", tokens, &mut builder);
    let features = if class_token {
        builder.first_token("class", tokens)
    } else {
        builder.mean_of_tokens("pool", tokens)
    };
    let logits = builder.fully_connected("logits", features, CLASSES, Activation::None);
    builder.finish(&[logits])
}

/// The image as embedded patches with positions: `[1, tokens, embedding]`.
fn embed(
    builder: &mut NetworkBuilder,
    patch_side: i32,
    embedding: i32,
    class_token: bool,
) -> TensorIdx {
    let side = IMAGE_SIDE / patch_side;
    let patch_row = patch_side * 3;
    let image = builder.input("image", &[1, IMAGE_SIDE, IMAGE_SIDE, 3]);
    let rows = builder.reshape("patches/split", image, &[side, patch_side, side, patch_row]);
    let grid = builder.transpose("patches/transpose", rows, &[0, 2, 1, 3]);
    let patches = builder.reshape(
        "patches/flatten",
        grid,
        &[1, side * side, patch_side * patch_row],
    );
    let mut tokens = builder.fully_connected("patches/embed", patches, embedding, Activation::None);
    if class_token {
        let token = builder.parameters("class_token", &[1, 1, embedding], 1.0);
        tokens = builder.concatenation("tokens", &[token, tokens], 1);
    }
    let shape = builder.shape(tokens).to_vec();
    let positions = builder.parameters("positions", &shape, 1.0);
    builder.add("embedded", tokens, positions)
}
