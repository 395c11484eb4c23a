//! Layers that compute each value from those at the same place, and normalisations.

use super::super::message::Attribute::{Float, Integer};
use super::super::network::{Blob, Sides};
use super::{Converter, broadcast, position};

/// Operations of `UnaryOp` by number.
const UNARY: &[&str] = &[
    "Abs",
    "Neg",
    "Floor",
    "Ceil",
    "Square",
    "Sqrt",
    "Rsqrt",
    "Exp",
    "Log",
    "Sin",
    "Cos",
    "Tan",
    "Asin",
    "Acos",
    "Atan",
    "Reciprocal",
    "Tanh",
    "Log",
    "Round",
];

/// Operations of `BinaryOp` by number; those from [`REVERSED`] on take their operands in reverse.
const BINARY: &[&str] = &[
    "Add", "Sub", "Mul", "Div", "Max", "Min", "Pow", "Sub", "Div", "Pow",
];
const REVERSED: usize = 7;

impl Converter<'_, '_> {
    /// With the activation that the layer has.
    pub(super) fn activated(&mut self, blob: Blob) -> Option<Blob> {
        let layer = self.layer;
        let number = |at: usize| Some(layer.list(10)?.nth(at)?.value);
        let x = &*blob.value;
        let value = match layer.whole(9, 0) {
            0 => return Some(blob),
            1 => self.node("Relu", &[x], &[]),
            2 => self.node("LeakyRelu", &[x], &[("alpha", Float(number(0)?))]),
            3 => self.clip(x, [number(0)?, number(1)?]),
            4 => self.node("Sigmoid", &[x], &[]),
            5 => self.node("Mish", &[x], &[]),
            6 => self.node("HardSwish", &[x], &[]),
            _ => return None,
        };
        Some(Blob::new(value, blob.sides))
    }

    pub(super) fn clip(&mut self, x: &str, bounds: [f32; 2]) -> String {
        let [min, max] = bounds.map(|bound| self.network.floats(self.layer, &[bound]));
        self.node("Clip", &[x, &min, &max], &[])
    }

    pub(super) fn eltwise(&mut self, inputs: &[Blob]) -> Option<Blob> {
        let op_type = *["Mul", "Add", "Max"].get(usize::try_from(self.layer.whole(0, 0)).ok()?)?;
        let (first, others) = inputs.split_first()?;
        let mut sum = first.clone();
        for other in others {
            sum = self.combined(op_type, &sum, other)?;
        }
        Some(sum)
    }

    pub(super) fn binary(&mut self, x: &Blob, y: &Blob) -> Option<Blob> {
        let operation = usize::try_from(self.layer.whole(0, 0)).ok()?;
        let op_type = BINARY.get(operation)?;
        if operation < REVERSED {
            self.combined(op_type, x, y)
        } else {
            self.combined(op_type, y, x)
        }
    }

    /// Both operands, the one of fewer sides repeated: its sides are the outermost ones of the other, or else the innermost.
    pub(super) fn combined(&mut self, op_type: &str, x: &Blob, y: &Blob) -> Option<Blob> {
        let (more, fewer) = if x.rank() >= y.rank() { (x, y) } else { (y, x) };
        let sides = broadcast(more, fewer);
        let mut value = fewer.value.clone();
        if let (Some(sides), Some(of_fewer)) = (&more.sides, &fewer.sides)
            && of_fewer.len() < sides.len()
            && *of_fewer != [1]
        {
            let known = |(one, other): (&i64, &i64)| one == other || *one <= 0 || *other <= 0;
            let is_outer = of_fewer.iter().zip(sides).all(known);
            if is_outer {
                let axes = of_fewer.len().checked_add(1)?..sides.len().checked_add(1)?;
                let axes: Vec<i64> = axes.map(i64::try_from).collect::<Result<_, _>>().ok()?;
                let axes = self.integers(&axes);
                value = self.node("Unsqueeze", &[&value, &axes], &[]);
            }
        }
        let inputs = if std::ptr::eq(fewer, y) {
            [&*x.value, &*value]
        } else {
            [&*value, &*y.value]
        };
        let value = self.node(op_type, &inputs, &[]);
        Some(Blob::new(value, sides))
    }

    /// With one weight for each of `n` channels, or one for all.
    pub(super) fn by_channel(&mut self, op_type: &str, x: &Blob, n_channels: i64) -> Option<Blob> {
        (n_channels > 0).then_some(())?;
        let inner = x.rank()?.checked_sub(1)?;
        let dims = [vec![n_channels], vec![1; inner]].concat();
        let weights = self.weights(&dims);
        let value = self.node(op_type, &[&x.value, &weights], &[]);
        Some(Blob::new(value, x.sides.clone()))
    }

    pub(super) fn gated(&mut self, x: &Blob) -> Option<Blob> {
        let axis = self.axis(0);
        let attributes = [("axis", Integer(axis)), ("num_outputs", Integer(2))];
        let halves = self
            .network
            .nodes(self.layer, "Split", &[&x.value], &attributes, 2);
        let [value, gate] = halves.as_slice() else {
            return None;
        };
        let gate = self.node("Sigmoid", &[gate], &[]);
        let value = self.node("Mul", &[value, &gate], &[]);
        let mut sides = x.sides.clone()?;
        let at = position(axis, sides.len())?;
        let side = sides.get_mut(at)?;
        *side = side.checked_div(2)?;
        Some(Blob::new(value, Some(sides)))
    }

    pub(super) fn power(&mut self, x: &Blob) -> Option<Blob> {
        let layer = self.layer;
        let mut value = x.value.clone();
        for (op_type, number, neutral) in [
            ("Mul", layer.float(1, 1.0), 1.0),
            ("Add", layer.float(2, 0.0), 0.0),
            ("Pow", layer.float(0, 1.0), 1.0),
        ] {
            if number != neutral {
                let number = self.network.floats(layer, &[number]);
                value = self.node(op_type, &[&value, &number], &[]);
            }
        }
        Some(Blob::new(value, x.sides.clone()))
    }

    pub(super) fn unary(&mut self, x: &Blob) -> Option<Blob> {
        let operation = usize::try_from(self.layer.whole(0, 0)).ok()?;
        let value = match *UNARY.get(operation)? {
            "Square" => self.node("Mul", &[&x.value, &x.value], &[]),
            "Rsqrt" => {
                let root = self.node("Sqrt", &[&x.value], &[]);
                self.node("Reciprocal", &[&root], &[])
            }
            op_type => self.node(op_type, &[&x.value], &[]),
        };
        Some(Blob::new(value, x.sides.clone()))
    }

    /// Each group of channels is a channel for a while, as PyTorch's exporter writes it.
    pub(super) fn normalized_groups(&mut self, x: &Blob) -> Option<Blob> {
        let (n_groups, n_channels) = (self.layer.whole(0, 1), self.layer.whole(1, 0));
        (n_groups > 0).then_some(())?;
        let grouped = self.integers(&[1, n_groups, -1]);
        let value = self.node("Reshape", &[&x.value, &grouped], &[]);
        let (scale, bias) = (self.weights(&[n_groups]), self.weights(&[n_groups]));
        let value = self.node("InstanceNormalization", &[&value, &scale, &bias], &[]);
        let shape = self.node("Shape", &[&x.value], &[]);
        let value = self.node("Reshape", &[&value, &shape], &[]);
        let whole = Blob::new(value, x.sides.clone());
        if self.layer.whole(3, 1) == 0 {
            return Some(whole);
        }
        let scaled = self.by_channel("Mul", &whole, n_channels)?;
        self.by_channel("Add", &scaled, n_channels)
    }

    pub(super) fn normalized(&mut self, x: &Blob) -> Option<Blob> {
        let size = self.layer.whole(0, 0);
        // The innermost sides of which it is the size.
        let sides = x.sides.as_ref()?;
        let mut n = 0_usize;
        let mut n_values = 1_i64;
        for side in sides.iter().rev() {
            (n_values, n) = (n_values.checked_mul(*side)?, n.checked_add(1)?);
            if n_values == size || *side <= 0 {
                break;
            }
        }
        let dims: Sides = match n {
            0 | 1 => vec![size],
            _ => sides.iter().rev().take(n).rev().copied().collect(),
        };
        let axis = i64::try_from(n.max(1)).ok()?.checked_neg()?;
        let scale = self.weights(&dims);
        let value = match self.layer.kind {
            "LayerNorm" => {
                let bias = self.weights(&dims);
                let inputs = [&*x.value, &scale, &bias];
                self.node("LayerNormalization", &inputs, &[("axis", Integer(axis))])
            }
            _ => {
                let inputs = [&*x.value, &scale];
                self.node("RMSNormalization", &inputs, &[("axis", Integer(axis))])
            }
        };
        Some(Blob::new(value, x.sides.clone()))
    }
}
