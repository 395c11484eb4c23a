//! The border to Python. The only file that names pyo3.
//!
//! What a program calls is `litecast/`, which checks arguments, and calls this with what is left. Structured values
//! cross as JSON, so that a report is the one that the command prints. No lock of the interpreter is held meanwhile.

use std::num::NonZeroU32;

use litecast::boards::{Application, Listing};
use litecast::calibration::{
    Calibration, CalibrationError, Measurement, NewMeasurement, PROBES, next_of_documents, tools,
};
use litecast::estimate::{
    self, Detail, EstimateAs, EstimateError, ModelFile, Request, estimate_changed, estimate_in,
};
use litecast::formats::tflite::limits;
use litecast::learned::manifest::Manifest;
use litecast::model_variants::Changes;
use litecast::report::{Failure, Report, Summary};
use litecast::targets::choice::Choice;
use litecast::targets::ethos_u::configuration::Accelerators;
use litecast::targets::{self, Metric, Target, registry};
use litecast::{Predictor, PredictorError};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBytes, PyType};

/// The extension module `litecast._native`.
#[pymodule]
mod _native {
    #[pymodule_export]
    use super::{
        Engine, Targets, accelerators, add_measurement, apply_calibration, boards, fit_calibration,
        left_out, measuring_command, measuring_tools, metrics, migrate, next_measurements, probes,
    };

    /// Version of the engine.
    #[pymodule_export]
    const VERSION: &str = env!("CARGO_PKG_VERSION");

    /// Longer files are refused.
    #[pymodule_export]
    const MAX_FILE_BYTES: usize = super::limits::MAX_FILE_BYTES;
}

/// A list of targets in their configurations.
#[pyclass(frozen)]
struct Targets(Vec<Box<dyn Target>>);

#[pymethods]
impl Targets {
    /// Of a list of [`Choice`]s.
    #[new]
    fn new(choices: &str) -> PyResult<Self> {
        let choices: Vec<Choice> = argument(choices)?;
        let targets = choices.iter().map(Choice::target);
        let targets = targets.collect::<Result<_, _>>();
        let targets = targets.map_err(|error| failed(error.kind(), &error.to_string()))?;
        Ok(Self(targets))
    }
}

/// A file and what is asked of it: an object with these attributes.
#[derive(FromPyObject)]
struct File {
    name: String,
    bytes: PyBackedBytes,
    batch: NonZeroU32,
    threads: NonZeroU32,
    /// Sizes that an ONNX file leaves open, by name.
    dimensions: Vec<(String, u32)>,
    /// Whether they are for several files, some of which may not have all of them.
    are_dimensions_shared: bool,
    /// RAM and flash that an application keeps for itself.
    application_bytes: (u64, u64),
    /// `auto`, `int8` or `as-is`.
    precision: String,
}

impl File {
    fn as_model_file(&self) -> ModelFile<'_> {
        let estimate_as = match self.precision.as_str() {
            "int8" => EstimateAs::Int8,
            "as-is" => EstimateAs::AsIs,
            _ => EstimateAs::Auto,
        };
        let (ram_bytes, flash_bytes) = self.application_bytes;
        ModelFile {
            request: Request {
                batch: self.batch,
                threads: self.threads,
                dimensions: &self.dimensions,
                are_dimensions_shared: self.are_dimensions_shared,
                application: Application {
                    ram_bytes,
                    flash_bytes,
                },
                estimate_as,
                ..Request::default()
            },
            ..ModelFile::new(&self.name, &self.bytes)
        }
    }
}

/// Makes reports.
#[pyclass(frozen)]
struct Engine {
    predictor: Option<Predictor>,
}

#[pymethods]
impl Engine {
    /// With a predictor of one's own: the contents of `predictor.onnx` and `manifest.json`. Without, with none.
    #[new]
    #[pyo3(signature = (files = None))]
    fn new(py: Python, files: Option<(PyBackedBytes, String)>) -> PyResult<Self> {
        let predictor = match &files {
            Some((network, manifest)) => Some(
                py.detach(|| Predictor::load(network, manifest))
                    .map_err(|error| predictor_failed(&error))?,
            ),
            None => None,
        };
        Ok(Self { predictor })
    }

    /// The JSON of each file's report, or the kind and the sentence of what is wrong with it, in the order of
    /// `files`; on `targets`, or all of the registry.
    fn estimate_many(
        &self,
        py: Python,
        files: Vec<File>,
        targets: Option<&Targets>,
        is_learned: bool,
        is_summary: bool,
    ) -> PyResult<Vec<Entry>> {
        let files: Vec<ModelFile> = files.iter().map(File::as_model_file).collect();
        let predictor = self.predictor.as_ref().filter(|_| is_learned);
        let targets = targets.map_or(registry(), |targets| &targets.0);
        let detail = detail(is_summary);
        let reports = py.detach(|| {
            let reports = estimate_in(&files, predictor, targets, detail)?.into_iter();
            let entry = |report: Result<Report, EstimateError>| match report {
                Ok(report) => written(&report, detail).map(Entry::Report),
                Err(error) => Ok(Entry::from(&error)),
            };
            Ok(reports.map(entry).collect())
        });
        reports.map_err(|error| predictor_failed(&error))?
    }

    /// As [`Self::estimate_many`] of one file, of the network that `changes` (as [`Changes`]) make of it.
    fn estimate_changed(
        &self,
        py: Python,
        file: File,
        changes: &str,
        targets: Option<&Targets>,
        is_summary: bool,
    ) -> PyResult<Entry> {
        let changes: Changes = argument(changes)?;
        let targets = targets.map_or(registry(), |targets| &targets.0);
        let predictor = self.predictor.as_ref();
        let detail = detail(is_summary);
        let file = file.as_model_file();
        py.detach(
            || match estimate_changed(file, &changes, predictor, targets, detail) {
                Ok(report) => written(&report, detail).map(Entry::Report),
                Err(error) => Ok(Entry::from(&error)),
            },
        )
    }

    /// The targets of every report, and those that a choice may name, as two lists in JSON.
    fn targets(&self) -> PyResult<[String; 2]> {
        let manifest: Option<&Manifest> = (self.predictor.as_ref())
            .map(Predictor::manifest)
            .transpose()
            .map_err(|error| predictor_failed(&error))?;
        let known: Vec<_> = targets::known().collect();
        Ok([
            json(&targets::listed(registry().iter(), manifest))?,
            json(&targets::listed(known.iter(), None))?,
        ])
    }
}

/// What stands for a file in the list of an estimate.
#[derive(IntoPyObject)]
enum Entry {
    Report(String),
    Failed((String, String)),
}

impl From<&EstimateError> for Entry {
    /// With the argument to give, where sizes are missing.
    fn from(error: &EstimateError) -> Self {
        let Failure { kind, message } = Failure::from(error);
        let missing = error.unknown_dimensions().iter();
        let missing: Vec<String> = missing.map(|name| format!("{name:?}: size")).collect();
        Self::Failed(if missing.is_empty() {
            (kind, message)
        } else {
            let sizes = missing.join(", ");
            (kind, format!("{message}; give dimensions={{{sizes}}}"))
        })
    }
}

fn detail(is_summary: bool) -> Detail {
    if is_summary {
        Detail::Summary
    } else {
        Detail::Full
    }
}

fn written(report: &Report, detail: Detail) -> PyResult<String> {
    match detail {
        Detail::Full => json(report),
        Detail::Summary => json(&Summary::new(report)),
    }
}

/// The operators of the changed network that each target leaves to a processor, in JSON, or the kind and the sentence
/// of what is wrong with the file.
#[pyfunction]
fn left_out(py: Python, file: File, changes: &str, targets: &Targets) -> PyResult<Entry> {
    let changes: Changes = argument(changes)?;
    let file = file.as_model_file();
    py.detach(|| match estimate::left_out(file, &changes, &targets.0) {
        Ok(operators) => json(&operators).map(Entry::Report),
        Err(error) => Ok(Entry::from(&error)),
    })
}

/// As [`Accelerators`].
#[pyfunction]
#[pyo3(signature = (vela_ini = None))]
fn accelerators(vela_ini: Option<&str>) -> PyResult<String> {
    let listed = Accelerators::list(vela_ini);
    json(&listed.map_err(|error| failed("configuration", &error.to_string()))?)
}

/// Boards with their memories, clocks and sources.
#[pyfunction]
fn boards() -> PyResult<String> {
    json(&Listing::shipped())
}

/// Small networks to measure on a device: name of the file, the kernels that take most of its time, and the TFLite file.
#[pyfunction]
fn probes(py: Python<'_>) -> Vec<(String, &'static str, Bound<'_, PyBytes>)> {
    let mut files = Vec::new();
    for probe in &PROBES {
        for (name, bytes) in probe.files() {
            files.push((name, probe.kernels, PyBytes::new(py, bytes)));
        }
    }
    files
}

/// Every metric in the order in which reports are read: identifier, unit, name and meaning.
#[pyfunction]
fn metrics() -> Vec<[&'static str; 4]> {
    let metrics = Metric::ALL.iter();
    let words = |metric: &Metric| [metric.id(), metric.unit(), metric.label(), metric.meaning()];
    metrics.map(words).collect()
}

/// A report that an older version made, as this version makes it.
#[pyfunction]
fn migrate(report: &str) -> PyResult<String> {
    let mut report = argument(report)?;
    litecast::report::migrate(&mut report).map_err(|why| failed(&why.kind, &why.message))?;
    json(&report)
}

/// A [`Calibration`], of a list of [`Measurement`]s.
#[pyfunction]
fn fit_calibration(measurements: &str) -> PyResult<String> {
    let measurements: Vec<Measurement> = argument(measurements)?;
    json(&Calibration::fit(&measurements).map_err(|error| calibration_failed(&error))?)
}

/// The latency of a network on a calibrated device, from its estimated latencies by target id, in ms.
#[pyfunction]
fn apply_calibration(calibration: &str, estimates_ms: &str) -> PyResult<String> {
    let calibration: Calibration = argument(calibration)?;
    let applied = calibration.apply(&argument(estimates_ms)?);
    json(&applied.map_err(|error| calibration_failed(&error))?)
}

/// The document of a device with one more measurement, as [`NewMeasurement`] takes it.
#[pyfunction]
#[allow(clippy::too_many_arguments)]
fn add_measurement(
    name: &str,
    threads: u32,
    report: &str,
    profile: &[u8],
    profile_name: &str,
    clock_mhz: Option<f64>,
    base: Option<&str>,
    known: Option<&str>,
) -> PyResult<String> {
    let addition = NewMeasurement {
        name,
        threads,
        report,
        profile,
        profile_name,
        clock_mhz,
        base,
        known,
    };
    addition
        .device()
        .map_err(|failure| failed(&failure.kind, &failure.message))
}

/// As [`next_of_documents`].
#[pyfunction]
#[allow(clippy::needless_pass_by_value)]
fn next_measurements(py: Python<'_>, device: &str, reports: Vec<String>) -> PyResult<String> {
    let next = py.detach(|| next_of_documents(device, reports.iter()));
    next.map_err(|failure| failed(&failure.kind, &failure.message))
}

/// As [`litecast::profiles::command`].
#[pyfunction]
fn measuring_command(tool: &str, file: &str, threads: u32, target: &str) -> String {
    litecast::profiles::command(tool, file, threads, target)
}

/// The tools whose command is known, each with the end of the names of the probes that it takes.
#[pyfunction]
fn measuring_tools() -> Vec<(&'static str, &'static str)> {
    tools().map(|one| (one.tool, one.probes)).collect()
}

fn argument<T: serde::de::DeserializeOwned>(text: &str) -> PyResult<T> {
    serde_json::from_str(text).map_err(|error| failed("wrong-argument", &error.to_string()))
}

fn json(value: &impl serde::Serialize) -> PyResult<String> {
    serde_json::to_string(value).map_err(|error| failed("serialization", &error.to_string()))
}

fn predictor_failed(error: &PredictorError) -> PyErr {
    failed(error.kind(), &error.to_string())
}

fn calibration_failed(error: &CalibrationError) -> PyErr {
    failed(error.kind(), &error.to_string())
}

/// The package's own exception.
fn failed(kind: &str, message: &str) -> PyErr {
    static EXCEPTION: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    Python::attach(|py| {
        let made = EXCEPTION.import(py, "litecast.errors", "LitecastError");
        let made = made.and_then(|exception| exception.call1((kind, message)));
        made.map_or_else(|error| error, PyErr::from_value)
    })
}
