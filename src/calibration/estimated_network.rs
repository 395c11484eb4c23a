//! What calibration reads of a report: operators with their parts of each latency.

use serde::Deserialize;

use crate::targets::measured_device::{Class, Device, KernelOperator, Kernels, N_CLASSES, Plan};
use crate::targets::{Durations, learned_accelerators};

/// A network with its estimates, from the JSON of its report.
#[derive(Clone, Debug, Deserialize)]
pub struct EstimatedNetwork {
    /// Name of the file.
    pub file: String,
    #[serde(default)]
    pub(super) sha256: String,
    pub(super) operators: Vec<Operator>,
    tensors: Vec<Tensor>,
    results: Vec<TargetResult>,
}

#[derive(Clone, Debug, Deserialize)]
pub struct Operator {
    pub operator_idx: usize,
    pub name: String,
    pub inputs: Vec<Option<usize>>,
    pub outputs: Vec<usize>,
    #[serde(default)]
    attributes: Option<Attributes>,
}

impl Operator {
    fn of_kernel(&self) -> KernelOperator<'_> {
        let attributes = self.attributes.as_ref();
        let activation = attributes.and_then(|attributes| attributes.activation.as_deref());
        KernelOperator {
            name: &self.name,
            inputs: &self.inputs,
            outputs: &self.outputs,
            stride_h: attributes.and_then(|attributes| attributes.stride_h),
            dilation_h: attributes.and_then(|attributes| attributes.dilation_h),
            has_activation: activation.is_some_and(|activation| activation != "NONE"),
        }
    }
}

/// What costs of kernels depend on, beside shapes.
#[derive(Clone, Debug, Deserialize)]
struct Attributes {
    #[serde(default)]
    stride_h: Option<i32>,
    #[serde(default)]
    dilation_h: Option<i32>,
    #[serde(default)]
    activation: Option<String>,
}

#[derive(Clone, Debug, Deserialize)]
struct Tensor {
    name: String,
    shape: Vec<i32>,
}

#[derive(Clone, Debug, Deserialize)]
struct TargetResult {
    target: String,
    metric: String,
    /// Of another precision than the file's, which nobody measured.
    #[serde(default)]
    estimated_as: Option<String>,
    #[serde(default)]
    evidence: Option<String>,
    #[serde(default)]
    operators: Option<Vec<f64>>,
    #[serde(default)]
    unavailable: Option<String>,
}

/// Of a reason in a report, which anybody may have written.
const MAX_REASON_CHARS: usize = 300;

impl TargetResult {
    fn durations(&self) -> Durations {
        if self.evidence.as_deref() == Some("compiler") {
            Durations::Compiler
        } else if learned_accelerators::parse_id(&self.target).is_some() {
            Durations::Accelerator
        } else {
            Durations::Hardware
        }
    }

    fn refusal(&self) -> Option<String> {
        let words = self.unavailable.as_ref()?.chars();
        Some(format!(
            ": {}",
            words.take(MAX_REASON_CHARS).collect::<String>()
        ))
    }
}

/// A target whose operators may be those of a device.
#[derive(Clone, Copy, Debug)]
pub struct Candidate<'n> {
    pub target: &'n str,
    /// What its parts are.
    pub durations: Durations,
}

impl EstimatedNetwork {
    /// Of a report with operators and tensors.
    ///
    /// # Errors
    /// In words, for other text.
    pub fn parse(report: &[u8]) -> Result<Self, String> {
        let network: Self = serde_json::from_slice(report).map_err(|error| error.to_string())?;
        let n_tensors = network.tensors.len();
        let mut operators = network.operators.iter();
        let is_known = operators.all(|operator| {
            let inputs = operator.inputs.iter().flatten();
            inputs.chain(&operator.outputs).all(|&idx| idx < n_tensors)
        });
        if is_known {
            Ok(network)
        } else {
            Err("expected operands among the tensors of the report, found others".to_owned())
        }
    }

    /// Targets with a latency by operator.
    pub(super) fn candidates(&self) -> impl Iterator<Item = Candidate<'_>> {
        let results = self.results.iter();
        let latencies =
            results.filter(|result| result.metric == "latency" && result.estimated_as.is_none());
        let with_parts = latencies.filter(|result| result.operators.is_some());
        with_parts.map(|result| Candidate {
            target: &result.target,
            durations: result.durations(),
        })
    }

    /// Why the first target with such durations has no latency by operator, behind a colon.
    pub(super) fn refusal(&self, durations: Durations) -> Option<String> {
        let mut results = self.results.iter();
        let of_base = results.find(|result| result.durations() == durations);
        of_base.and_then(TargetResult::refusal)
    }

    /// The same of one target; empty where the report does not say it.
    pub(super) fn refusal_of(&self, target: &str) -> String {
        let mut results = self.results.iter();
        let of_target = results.find(|result| result.target == target);
        of_target
            .and_then(TargetResult::refusal)
            .unwrap_or_default()
    }

    /// Milliseconds of each operator on a target.
    pub(super) fn parts_ms(&self, target: &str) -> Option<&[f64]> {
        let mut results = self.results.iter();
        let latency =
            results.find(|result| result.metric == "latency" && result.target == target)?;
        let parts = latency.operators.as_deref()?;
        (parts.len() == self.operators.len()).then_some(parts)
    }

    /// Class and milliseconds of each operator, of which a device with these kernels on this base consists; `None` where the
    /// report has no latency by operator of the base.
    pub(super) fn costs(&self, base: &str, kernels: Kernels) -> Option<Vec<(Class, f64)>> {
        let parts = self.parts_ms(base)?;
        let operators: Vec<_> = self.operators.iter().map(Operator::of_kernel).collect();
        Some(kernels.costs(&operators, parts, |idx| self.shape(idx)))
    }

    /// What a device with these kernels on this base expects of the network; `None` as of [`Self::costs`].
    pub fn plan(&self, base: &str, kernels: Kernels) -> Option<Plan> {
        let mut by_class = [(0.0, 0.0); N_CLASSES];
        for (class, cost_ms) in self.costs(base, kernels)? {
            let (ms, n_calls) = &mut by_class[class.idx()];
            *ms += cost_ms;
            *n_calls += f64::from(u8::from(cost_ms > 0.0));
        }
        Some(Plan::new(&by_class))
    }

    /// That of a device.
    pub fn plan_of(&self, device: &Device) -> Option<Plan> {
        self.plan(&device.base, device.kernels)
    }

    pub(super) fn class(&self, operator: &Operator) -> Class {
        operator.of_kernel().class(|idx| self.shape(idx))
    }

    fn shape(&self, tensor_idx: usize) -> &[i32] {
        let tensor = self.tensors.get(tensor_idx);
        tensor.map_or(&[], |tensor| &tensor.shape)
    }

    /// Names of the tensors that an operator writes.
    pub(super) fn output_names<'n>(
        &'n self,
        operator: &'n Operator,
    ) -> impl Iterator<Item = &'n str> {
        let tensors = operator
            .outputs
            .iter()
            .filter_map(|&idx| self.tensors.get(idx));
        tensors.map(|tensor| tensor.name.as_str())
    }

    pub(super) fn output_shape(&self, operator: &Operator) -> &[i32] {
        operator.outputs.first().map_or(&[], |&idx| self.shape(idx))
    }
}
