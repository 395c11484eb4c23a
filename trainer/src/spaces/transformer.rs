//! Layers of transformers as TensorFlow's converter writes them, with what converters and models
//! differ in.
//!
//! GELU's cube is written as two MUL: Vela's list of supported operators has no POW.

use litecast::formats::tflite::Activation;

use crate::writer::{NetworkBuilder, TensorIdx};

/// What the perceptron of a layer applies between its dense layers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Middle {
    /// GELU as one operator.
    Gelu,
    /// Its tanh form in MUL, ADD and TANH.
    TanhGelu,
    Relu,
}

/// The choices that all layers share.
pub struct Transformer {
    pub embedding: i32,
    pub heads: i32,
    pub head_features: i32,
    pub mlp_ratio: i32,
    /// One dense layer makes queries, keys and values, which are then sliced apart.
    pub fused_qkv: bool,
    /// Heads are sliced apart and concatenated, rather than kept as a dimension.
    pub sliced_heads: bool,
    /// Keys are transposed by an operator of their own, rather than by the product.
    pub transposed_keys: bool,
    pub middle: Middle,
}

impl Transformer {
    /// Norms before attention and perceptron, as vision transformers have them.
    pub fn layer(&self, name: &str, tokens: TensorIdx, builder: &mut NetworkBuilder) -> TensorIdx {
        let normed = layer_norm(&format!("{name}/norm1"), tokens, builder);
        let attended = self.attention(&format!("{name}/attention"), normed, builder);
        let tokens = builder.add(&format!("{name}/add1"), tokens, attended);
        let normed = layer_norm(&format!("{name}/norm2"), tokens, builder);
        let mixed = self.mlp(&format!("{name}/mlp"), normed, builder);
        builder.add(&format!("{name}/add2"), tokens, mixed)
    }

    /// Norms after them, as BERT has them.
    pub fn post_norm_layer(
        &self,
        name: &str,
        tokens: TensorIdx,
        builder: &mut NetworkBuilder,
    ) -> TensorIdx {
        let attended = self.attention(&format!("{name}/attention"), tokens, builder);
        let sum = builder.add(&format!("{name}/add1"), tokens, attended);
        let tokens = layer_norm(&format!("{name}/norm1"), sum, builder);
        let mixed = self.mlp(&format!("{name}/mlp"), tokens, builder);
        let sum = builder.add(&format!("{name}/add2"), tokens, mixed);
        layer_norm(&format!("{name}/norm2"), sum, builder)
    }

    fn attention(&self, name: &str, tokens: TensorIdx, builder: &mut NetworkBuilder) -> TensorIdx {
        let qkv = self.queries_keys_values(name, tokens, builder);
        let context = if self.sliced_heads && self.heads > 1 {
            self.sliced_attention(name, qkv, builder)
        } else {
            self.batched_attention(name, qkv, builder)
        };
        builder.fully_connected(
            &format!("{name}/project"),
            context,
            self.embedding,
            Activation::None,
        )
    }

    /// Queries, keys and values, each `[1, tokens, heads × head_features]`.
    fn queries_keys_values(
        &self,
        name: &str,
        tokens: TensorIdx,
        builder: &mut NetworkBuilder,
    ) -> [TensorIdx; 3] {
        let features = self.heads * self.head_features;
        if self.fused_qkv {
            let fused = builder.fully_connected(
                &format!("{name}/qkv"),
                tokens,
                3 * features,
                Activation::None,
            );
            let part = |idx| {
                builder.slice_last(
                    &format!("{name}/qkv_part{idx}"),
                    fused,
                    idx * features,
                    features,
                )
            };
            return [0, 1, 2].map(part);
        }
        ["query", "key", "value"].map(|part| {
            builder.fully_connected(
                &format!("{name}/{part}"),
                tokens,
                features,
                Activation::None,
            )
        })
    }

    fn sliced_attention(
        &self,
        name: &str,
        qkv: [TensorIdx; 3],
        builder: &mut NetworkBuilder,
    ) -> TensorIdx {
        let mut contexts = Vec::new();
        for head in 0..self.heads {
            let name = format!("{name}/head{}", head + 1);
            let start = head * self.head_features;
            let [query, key, value] = qkv.map(|all| {
                let part = format!("{name}/part{all}");
                builder.slice_last(&part, all, start, self.head_features)
            });
            contexts.push(self.head(&name, [query, key, value], &[0, 2, 1], builder));
        }
        builder.concatenation(&format!("{name}/concat"), &contexts, 2)
    }

    fn batched_attention(
        &self,
        name: &str,
        qkv: [TensorIdx; 3],
        builder: &mut NetworkBuilder,
    ) -> TensorIdx {
        let n_tokens = builder.shape(qkv[0])[1];
        let split = [1, n_tokens, self.heads, self.head_features];
        let [query, key, value] = qkv.map(|all| {
            let heads = builder.reshape(&format!("{name}/split{all}"), all, &split);
            builder.transpose(&format!("{name}/transpose{all}"), heads, &[0, 2, 1, 3])
        });
        let context = self.head(name, [query, key, value], &[0, 1, 3, 2], builder);
        let tokens = builder.transpose(&format!("{name}/merge"), context, &[0, 2, 1, 3]);
        builder.reshape(
            &format!("{name}/join"),
            tokens,
            &[1, n_tokens, self.heads * self.head_features],
        )
    }

    /// softmax(query × keyᵀ / √features) × value; `swap` exchanges the last two dimensions.
    fn head(
        &self,
        name: &str,
        qkv: [TensorIdx; 3],
        swap: &[i32],
        builder: &mut NetworkBuilder,
    ) -> TensorIdx {
        let [query, mut key, value] = qkv;
        if self.transposed_keys {
            key = builder.transpose(&format!("{name}/key_transpose"), key, swap);
        }
        let scores =
            builder.batch_matmul(&format!("{name}/scores"), query, key, !self.transposed_keys);
        let factor = 1.0 / f64::from(self.head_features).sqrt();
        let factor = builder.scalar(&format!("{name}/factor"), factor);
        let scaled = builder.mul(&format!("{name}/scale"), scores, factor);
        let shares = builder.softmax(&format!("{name}/softmax"), scaled);
        builder.batch_matmul(&format!("{name}/context"), shares, value, false)
    }

    fn mlp(&self, name: &str, tokens: TensorIdx, builder: &mut NetworkBuilder) -> TensorIdx {
        let hidden = self.embedding * self.mlp_ratio;
        let fused = match self.middle {
            Middle::Relu => Activation::Relu,
            _ => Activation::None,
        };
        let expanded = builder.fully_connected(&format!("{name}/expand"), tokens, hidden, fused);
        let activated = match self.middle {
            Middle::Gelu => builder.gelu(&format!("{name}/gelu"), expanded, true),
            Middle::TanhGelu => tanh_gelu(&format!("{name}/gelu"), expanded, builder),
            Middle::Relu => expanded,
        };
        builder.fully_connected(
            &format!("{name}/project"),
            activated,
            self.embedding,
            Activation::None,
        )
    }
}

/// `x/2 · (1 + tanh(√(2/π) (x + 0.044715 x³)))`.
fn tanh_gelu(name: &str, x: TensorIdx, builder: &mut NetworkBuilder) -> TensorIdx {
    let constant = |builder: &mut NetworkBuilder, part: &str, value| {
        builder.scalar(&format!("{name}/{part}"), value)
    };
    let square = builder.mul(&format!("{name}/square"), x, x);
    let cube = builder.mul(&format!("{name}/cube"), square, x);
    let factor = constant(builder, "cube_factor", 0.044715);
    let small = builder.mul(&format!("{name}/small_cube"), cube, factor);
    let sum = builder.add(&format!("{name}/inner_sum"), x, small);
    let factor = constant(builder, "inner_factor", 0.797_884_560_8);
    let inner = builder.mul(&format!("{name}/inner"), sum, factor);
    let tanh = builder.tanh(&format!("{name}/tanh"), inner);
    let one = constant(builder, "one", 1.0);
    let outer = builder.add(&format!("{name}/outer"), tanh, one);
    let half = constant(builder, "half", 0.5);
    let gate = builder.mul(&format!("{name}/gate"), outer, half);
    builder.mul(&format!("{name}/product"), x, gate)
}

/// Keras' layer normalisation: `x·(g/σ) + (b − µ·(g/σ))`.
pub fn layer_norm(name: &str, x: TensorIdx, builder: &mut NetworkBuilder) -> TensorIdx {
    let features = builder.channels(x);
    let gain = builder.parameters(&format!("{name}/gain"), &[features], 1.0);
    let offset = builder.parameters(&format!("{name}/offset"), &[features], 0.3);
    let mean = builder.mean_of_last(&format!("{name}/mean"), x);
    let deviations = builder.squared_difference(&format!("{name}/squared_difference"), x, mean);
    let variance = builder.mean_of_last(&format!("{name}/variance"), deviations);
    let epsilon = builder.scalar(&format!("{name}/epsilon"), 1e-3);
    let stabilised = builder.add_positive(&format!("{name}/stabilised"), variance, epsilon);
    let inverse = builder.rsqrt(&format!("{name}/rsqrt"), stabilised);
    let factor = builder.mul(&format!("{name}/factor"), inverse, gain);
    let scaled = builder.mul(&format!("{name}/scaled"), x, factor);
    let shift = builder.mul(&format!("{name}/shift"), mean, factor);
    let centre = builder.sub(&format!("{name}/centre"), offset, shift);
    builder.add(&format!("{name}/normed"), scaled, centre)
}
