//! Published tables of measurements on GPUs, in `shared/data/gpu`.

use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use litecast::targets::gpu::bundle::Mode;

use super::setting::Property;

/// One table of the timm project: many networks on one GPU with one version of PyTorch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Table {
    /// The target whose estimates are fitted to this table.
    pub target: &'static str,
    /// Its file, in either folder.
    pub file: &'static str,
    /// Software of the measurements, in the words of the provenance.
    pub framework: &'static str,
    /// How the run was made.
    pub properties: &'static [Property],
}

impl Table {
    /// Whether its times are of inference or of training.
    pub fn mode(&self) -> Mode {
        if self.properties.contains(&Property::Training) {
            Mode::Training
        } else {
            Mode::Inference
        }
    }
}

/// The tables to which targets are fitted.
pub const TABLES: [Table; 11] = [
    Table {
        target: "rtx-3090",
        file: "benchmark-infer-amp-nchw-pt240-cu124-rtx3090.csv",
        framework: "PyTorch 2.4, CUDA 12.4, AMP, channels first",
        properties: &[],
    },
    Table {
        target: "rtx-3090",
        file: "benchmark-train-amp-nchw-pt112-cu113-rtx3090.csv",
        framework: "PyTorch 1.12, CUDA 11.3, AMP, channels first",
        properties: &[Property::Training],
    },
    Table {
        target: "rtx-3090-channels-last",
        file: "benchmark-infer-amp-nhwc-pt240-cu124-rtx3090.csv",
        framework: "PyTorch 2.4, CUDA 12.4, AMP, channels last",
        properties: &[Property::ChannelsLast],
    },
    Table {
        target: "rtx-3090-channels-last",
        file: "benchmark-train-amp-nhwc-pt112-cu113-rtx3090.csv",
        framework: "PyTorch 1.12, CUDA 11.3, AMP, channels last",
        properties: &[Property::Training, Property::ChannelsLast],
    },
    Table {
        target: "rtx-4090",
        file: "benchmark-infer-amp-nchw-pt291-cu128-4090.csv",
        framework: "PyTorch 2.9, CUDA 12.8, AMP, channels first",
        properties: &[],
    },
    Table {
        target: "rtx-5090",
        file: "benchmark-infer-amp-nchw-pt291-cu130-5090.csv",
        framework: "PyTorch 2.9, CUDA 13.0, AMP, channels first",
        properties: &[],
    },
    Table {
        target: "rtx-pro-6000-max-q",
        file: "benchmark-infer-amp-nchw-pt291-cu130-pro6000maxq.csv",
        framework: "PyTorch 2.9, CUDA 13.0, AMP, channels first",
        properties: &[],
    },
    Table {
        target: "rtx-4090-compiled",
        file: "benchmark-infer-amp-nchw-pt291-cu128-4090-dynamo.csv",
        framework: "PyTorch 2.9, CUDA 12.8, torch.compile, AMP, channels first",
        properties: &[Property::Compiled],
    },
    Table {
        target: "rtx-5090-compiled",
        file: "benchmark-infer-amp-nchw-pt291-cu130-5090-dynamo.csv",
        framework: "PyTorch 2.9, CUDA 13.0, torch.compile, AMP, channels first",
        properties: &[Property::Compiled],
    },
    Table {
        target: "rtx-pro-6000-max-q-compiled",
        file: "benchmark-infer-amp-nchw-pt291-cu130-pro6000maxq-dynamo.csv",
        framework: "PyTorch 2.9, CUDA 13.0, torch.compile, AMP, channels first",
        properties: &[Property::Compiled],
    },
    Table {
        target: "rtx-pro-6000-max-q-compiled-bfloat16",
        file: "benchmark-infer-bf16-nchw-pt291-cu130-pro6000maxq-dynamo.csv",
        framework: "PyTorch 2.9, CUDA 13.0, torch.compile, bfloat16, channels first",
        properties: &[Property::Compiled, Property::Bfloat16],
    },
];

/// One network at one image size.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    /// Name of the network.
    pub model: String,
    /// Height and width of an input.
    pub image_size: u32,
    /// Inputs at a time.
    pub batch: f64,
    /// Milliseconds for each of them.
    pub ms_per_input: f64,
    /// 10⁶ parameters of the network that was measured, to two decimals, where the table has them.
    pub million_parameters: Option<f64>,
}

impl Measured {
    /// Whether the network that was measured has as many parameters as its graph. Where it has not, its branches were
    /// merged before it ran, or another version of timm made it.
    pub fn is_of(&self, parameters: f64) -> bool {
        let stated = self.million_parameters;
        stated.is_none_or(|stated| (stated - parameters / 1e6).abs() <= ROUNDING + SAME * stated)
    }
}

/// What the tables' parameters are rounded by, and the share in which they may differ besides.
const ROUNDING: f64 = 0.006;
const SAME: f64 = 5e-4;

/// By version of PyTorch, families whose networks had other layers in timm's release of that time than their graphs have,
/// with as many parameters: TResNets had In-Place Activated BatchNorm, whose kernels are its own. A training step with
/// channels last took 3.2 to 4.1 times as long as with channels first.
const OTHER_LAYERS: [(&str, &str); 1] = [("PyTorch 1.12", "tresnet")];

/// The letters at the start of a model's name.
pub fn family(model: &str) -> &str {
    let end = model.find(|c: char| !c.is_ascii_lowercase());
    &model[..end.unwrap_or(model.len())]
}

/// The rows of a table that have a time, in both folders.
pub fn read(folder: &Path, table: &Table) -> Result<Vec<Measured>> {
    let mut rows = Vec::new();
    for part in ["timm", "timm_more"] {
        rows.extend(read_file(&folder.join(part).join(table.file), table)?);
    }
    Ok(rows)
}

fn read_file(path: &Path, table: &Table) -> Result<Vec<Measured>> {
    ensure!(
        path.is_file(),
        "no {}: measurements of the timm project are not part of this repository and lie in `shared/data` \
         beside it",
        path.display()
    );
    let mut reader = csv::Reader::from_path(path)?;
    let headers = reader.headers()?.clone();
    let run = match table.mode() {
        Mode::Training => "train",
        Mode::Inference => "infer",
    };
    let column = |name: &str| {
        let position = headers.iter().position(|header| header == name);
        position.with_context(|| format!("{}: expected a column `{name}`", path.display()))
    };
    let model = column("model")?;
    let parameters = column("param_count")?;
    let [speed, batch, size] = [
        column(&format!("{run}_samples_per_sec"))?,
        column(&format!("{run}_batch_size"))?,
        column(&format!("{run}_img_size"))?,
    ];
    let mut rows = Vec::new();
    for record in reader.records() {
        let record = record?;
        let number = |column: usize| -> Option<f64> { record.get(column)?.parse().ok() };
        let (Some(speed), Some(batch), Some(size)) = (number(speed), number(batch), number(size))
        else {
            continue;
        };
        let model = record.get(model).unwrap_or_default();
        let has_other_layers = OTHER_LAYERS
            .iter()
            .any(|&(version, of)| table.framework.starts_with(version) && family(model) == of);
        if speed > 0.0 && batch > 0.0 && !has_other_layers {
            rows.push(Measured {
                model: model.to_owned(),
                image_size: size as u32,
                batch,
                ms_per_input: 1e3 / speed,
                million_parameters: number(parameters),
            });
        }
    }
    if rows.is_empty() {
        bail!("{}: expected rows with a speed, found none", path.display());
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::family;

    #[test]
    fn a_family_is_named_by_letters() {
        assert_eq!(family("vit_small_patch16_224"), "vit");
        assert_eq!(family("resnet50"), "resnet");
        assert_eq!(family("cait_xxs24_224"), "cait");
    }
}
