//! Shapes that are computed where a file stores none: against those that other files store, and against those that
//! LiteRT computes.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use litecast::estimate::{ModelFile, estimate};
use litecast::formats::tflite::{Model, parse};
use litecast::graph::shapes::inference::{fill, set_input_sizes};
use litecast::targets::Metric;
use litecast_needs::{json_lines, python, shared, tflite_files};
use serde_json::Value;

/// Has no shapes but those of its input and its constants.
const SHAPELESS: &str = "mobile_models__mobilenet_edgetpu_224_1.0_uint8.tflite";

fn files() -> Vec<PathBuf> {
    let folders = ["models", "models-mcu"].into_iter().filter_map(shared);
    folders.flat_map(|folder| tflite_files(&folder)).collect()
}

/// Subgraph and tensor.
type Place = (usize, usize);

/// By tensor that an operator writes and whose rank is stored: the operator's name.
fn written(model: &Model) -> BTreeMap<Place, String> {
    let mut written = BTreeMap::new();
    for (subgraph_idx, subgraph) in model.subgraphs.iter().enumerate() {
        for operator in subgraph.operators.iter() {
            for &output in &operator.outputs {
                let tensor = &subgraph.tensors[output];
                let is_told = tensor.has_rank && !subgraph.inputs.contains(&output);
                if is_told && !tensor.is_variable && model.buffers[tensor.buffer_idx].is_empty() {
                    written.insert((subgraph_idx, output), operator.code.name().to_owned());
                }
            }
        }
    }
    written
}

fn erase(model: &mut Model, (subgraph_idx, tensor_idx): Place) {
    let tensor = &mut model.subgraphs[subgraph_idx].tensors[tensor_idx];
    tensor.shape.clear();
    tensor.shape_signature = None;
    tensor.has_rank = false;
}

/// None where it is unknown.
fn shape<'m>(model: &'m Model, (subgraph_idx, tensor_idx): Place) -> Option<&'m [i32]> {
    let tensor = &model.subgraphs[subgraph_idx].tensors[tensor_idx];
    tensor.has_rank.then_some(&tensor.shape)
}

/// As the file stores it, −1 for a size that is known only at run time.
fn signature<'m>(model: &'m Model, (subgraph_idx, tensor_idx): Place) -> &'m [i32] {
    let tensor = &model.subgraphs[subgraph_idx].tensors[tensor_idx];
    tensor.shape_signature.as_deref().unwrap_or(&tensor.shape)
}

#[derive(Default)]
struct Compared {
    n_alike: usize,
    /// By operator.
    unknown: BTreeMap<String, usize>,
    differing: Vec<String>,
}

impl Compared {
    /// A size of −1 in `expected` is known only at run time.
    fn add(&mut self, operator: &str, place: &str, actual: Option<&[i32]>, expected: &[i32]) {
        let fits = |actual: &[i32]| {
            let mut pairs = actual.iter().zip(expected);
            actual.len() == expected.len()
                && pairs.all(|(actual, size)| *size < 0 || actual == size)
        };
        match actual {
            None => *self.unknown.entry(operator.to_owned()).or_default() += 1,
            Some(actual) if fits(actual) => self.n_alike += 1,
            Some(actual) => self.differing.push(format!(
                "{place} ({operator}): computed {actual:?}, expected {expected:?}"
            )),
        }
    }

    fn n_unknown(&self) -> usize {
        self.unknown.values().sum()
    }

    fn print(&self, what: &str) {
        let n_unknown = self.n_unknown();
        println!(
            "{what}: {} shapes are alike, {} differ, {n_unknown} are unknown {:?}",
            self.n_alike,
            self.differing.len(),
            self.unknown
        );
        self.differing.iter().for_each(|line| println!("{line}"));
    }
}

fn name(path: &Path) -> String {
    path.file_name().unwrap().to_string_lossy().into_owned()
}

/// Shapes of all results are erased and computed again: those of a whole file, where each follows from computed ones,
/// and those of one operator at a time.
#[test]
fn computed_shapes_are_those_that_files_store() {
    let (mut whole, mut single) = (Compared::default(), Compared::default());
    for path in files() {
        let file = std::fs::read(&path).unwrap();
        let stored = parse(&file).unwrap();
        let written = written(&stored);
        let mut erased = stored.clone();
        for &place in written.keys() {
            erase(&mut erased, place);
        }
        fill(&mut erased);
        for (&place, operator) in &written {
            let expected = signature(&stored, place);
            let label = format!("{} {place:?}", name(&path));
            whole.add(operator, &label, shape(&erased, place), expected);
        }
        let mut erased = stored.clone();
        for (subgraph_idx, subgraph) in stored.subgraphs.iter().enumerate() {
            for operator in subgraph.operators.iter() {
                let places = operator
                    .outputs
                    .iter()
                    .map(|&output| (subgraph_idx, output));
                let places: Vec<Place> =
                    places.filter(|place| written.contains_key(place)).collect();
                places.iter().for_each(|&place| erase(&mut erased, place));
                fill(&mut erased);
                for place in places {
                    let expected = signature(&stored, place);
                    let label = format!("{} {place:?}", name(&path));
                    single.add(
                        operator.code.name(),
                        &label,
                        shape(&erased, place),
                        expected,
                    );
                    let (subgraph_idx, tensor_idx) = place;
                    erased.subgraphs[subgraph_idx].tensors[tensor_idx] =
                        subgraph.tensors[tensor_idx].clone();
                }
            }
        }
    }
    whole.print("all shapes of a file erased");
    single.print("one operator's shapes erased");
    assert!(whole.differing.is_empty() && single.differing.is_empty());
    // Custom operators, resources, and shapes that depend on data.
    assert!(20 * single.n_unknown() <= single.n_alike);
}

/// The same files without the shapes of results, written by LiteRT's own schema module and loaded by LiteRT.
#[test]
fn computed_shapes_are_those_of_litert() {
    let files = files();
    let Some(python) = python("ai_edge_litert").filter(|_| !files.is_empty()) else {
        return;
    };
    let erased = Path::new(env!("CARGO_TARGET_TMPDIR")).join("erased.tflite");
    let arguments = std::iter::once(erased).chain(files);
    let mut compared = Compared::default();
    for line in json_lines(&python, "shapes_with_litert.py", arguments) {
        compare_with_litert(&mut compared, &serde_json::from_str(&line).unwrap());
    }
    compared.print("shapes erased in the file");
    assert!(compared.differing.is_empty());
}

fn compare_with_litert(compared: &mut Compared, litert: &Value) {
    let path = Path::new(litert["file"].as_str().unwrap());
    let Some(shapes) = litert["shapes"].as_object() else {
        println!("{}: LiteRT: {}", name(path), litert["error"]);
        return;
    };
    let file = std::fs::read(path).unwrap();
    let stored = parse(&file).unwrap();
    let written = written(&stored);
    let mut erased = stored.clone();
    for &place in written.keys() {
        erase(&mut erased, place);
    }
    fill(&mut erased);
    for (subgraph_idx, subgraph) in erased.subgraphs.iter().enumerate().take(1) {
        for operator in subgraph.operators.iter() {
            for &output in &operator.outputs {
                let place = (subgraph_idx, output);
                let Some(expected) = shapes.get(&output.to_string()) else {
                    continue;
                };
                let expected: Vec<i32> = serde_json::from_value(expected.clone()).unwrap();
                let label = format!("{} {place:?}", name(path));
                let actual = shape(&erased, place);
                compared.add(operator.code.name(), &label, actual, &expected);
            }
        }
    }
}

/// Rows and columns that images have beyond those that a file stores: with 32 more, strides divide both.
const MORE: i32 = 32;

/// The sizes that LiteRT is given for the same file, in a file that leaves rows and columns of images open.
fn open_images(model: &mut Model) -> Vec<(String, u32)> {
    let subgraph = &mut model.subgraphs[0];
    let mut sizes = Vec::new();
    for (number, &input) in subgraph.inputs.iter().enumerate() {
        let tensor = &mut subgraph.tensors[input];
        if let [batch, rows, columns, channels] = tensor.shape[..] {
            tensor.shape_signature = Some(Box::new([batch, -1, -1, channels]));
            sizes.push((format!("{number}.1"), (rows + MORE) as u32));
            sizes.push((format!("{}.2", tensor.name), (columns + MORE) as u32));
        }
    }
    sizes
}

/// Rows and columns of images are given; LiteRT resizes the inputs of the same files.
#[test]
fn sizes_of_inputs_lead_to_the_shapes_of_litert() {
    let files = files();
    let Some(python) = python("ai_edge_litert").filter(|_| !files.is_empty()) else {
        return;
    };
    let mut compared = Compared::default();
    let (mut n_refused, mut n_without_images) = (0, 0);
    let numbers = [1, MORE].map(|number| PathBuf::from(number.to_string()));
    let arguments = numbers.into_iter().chain(files);
    for line in json_lines(&python, "resize_with_litert.py", arguments) {
        let litert: Value = serde_json::from_str(&line).unwrap();
        let path = Path::new(litert["file"].as_str().unwrap());
        let Some(shapes) = litert["shapes"].as_object() else {
            n_refused += 1;
            continue;
        };
        let file = std::fs::read(path).unwrap();
        let mut model = parse(&file).unwrap();
        let sizes = open_images(&mut model);
        if sizes.is_empty() {
            n_without_images += 1;
            continue;
        }
        set_input_sizes(&mut model, &sizes).unwrap();
        fill(&mut model);
        for operator in model.subgraphs[0].operators.iter() {
            for &output in &operator.outputs {
                let expected = shapes.get(&output.to_string());
                let Some(expected) = expected else { continue };
                let expected: Vec<i32> = serde_json::from_value(expected.clone()).unwrap();
                let label = format!("{} {output}", name(path));
                let actual = shape(&model, (0, output));
                compared.add(operator.code.name(), &label, actual, &expected);
            }
        }
    }
    compared.print("larger images");
    println!(
        "{n_refused} files that LiteRT cannot run with larger images, {n_without_images} without any"
    );
    assert!(compared.differing.is_empty());
    assert!(100 * compared.n_unknown() <= compared.n_alike);
}

/// The file has estimates on every target, and one diagnostic says that shapes were computed.
#[test]
fn a_file_without_shapes_has_estimates() {
    let Some(path) = shared(&format!("models/{SHAPELESS}")) else {
        return;
    };
    let file = std::fs::read(path).unwrap();
    let report = estimate(ModelFile::new(SHAPELESS, &file), None).unwrap();
    let doubts = report.diagnostics.iter().map(|doubt| &doubt.diagnostic);
    let computed: Vec<_> = doubts
        .filter(|doubt| doubt.code == "computed-shapes")
        .collect();
    let [computed] = computed.as_slice() else {
        panic!("{computed:?}");
    };
    assert!(computed.message.contains("for 78 tensors"));
    println!("{} MACs; {}", report.model.macs, computed.message);
    for result in &report.results {
        let (target, metric) = (&result.target, result.metric);
        // TensorFlow Lite Micro runs no uint8.
        let is_arena = metric == Metric::Arena;
        assert!(
            result.outcome.is_estimate() != is_arena,
            "{target} {metric:?}: {:?}",
            result.outcome
        );
    }
}
