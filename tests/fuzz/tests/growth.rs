//! Work grows no faster than the network: every kind of operator in every arrangement, on every family of targets. What
//! is counted are looks at tensors, feature maps and constants by planners and converters, each by its place in the
//! sources, and allocations beside them. `make growth` counts every edge of control flow instead, of pairs of kinds too.

use std::collections::BTreeMap;
use std::num::{NonZeroU32, NonZeroUsize};
use std::process::{Child, Command, Stdio};

use litecast::batch_sweep::sweep_batch;
use litecast::estimate::{Detail, ModelFile, Request, estimate_changed, estimate_on};
use litecast::model_variants::Changes;
use litecast::targets::ethos_u::configuration::{Configuration, Product, Strategy};
use litecast::targets::gpu::specifications::GPUS;
use litecast::targets::{Target, cortex_m, ethos_u, gpu, registered};
use litecast::work::{self, Work};
use litecast_fuzz::growth::exponent;
use litecast_fuzz::kinds::{Arrangement, KINDS, Kind, network};
use litecast_fuzz::memory::{Counting, alone, measure};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Steps of the networks that are compared: the largest where the others look like growth, because a further size makes
/// no exponent larger.
const SIZES: [usize; 3] = [16, 32, 64];
const LARGEST: usize = 128;

/// The largest exponent of all work; and of the work of one place in the sources, of which sorting is some, and of
/// allocations, of which some are kept from one network to the next.
const MAX_EXPONENT: f64 = 1.15;
const MAX_EXPONENT_OF_A_PLACE: f64 = 1.5;

/// Where more than a proportion is bounded by a constant that the networks here do not reach, and which
/// `buffers_of_larger_networks` looks at.
const BOUNDED: [(&str, &str); 1] = [(
    "src/graph/analysis/greedy.rs",
    "up to 128 buffers are each compared with all others, and more are looked up in a tree",
)];

/// A place that counts less is noise of lists that grow.
const MIN_COUNT: u64 = 256;

fn targets() -> Vec<Box<dyn Target>> {
    let mut targets = registered();
    targets.extend(cortex_m::targets());
    targets.extend(gpu::targets(gpu::Bundle::shipped()).into_iter().take(2));
    for product in [Product::U55x32, Product::U65x512, Product::U85x2048] {
        targets.push(ethos_u::target(Configuration {
            strategy: Strategy::Size,
            ..Configuration::new(product)
        }));
    }
    targets
}

/// A report of a file on all targets.
fn report(file: &ModelFile, targets: &[Box<dyn Target>]) {
    let reports = estimate_on(&[*file], None, targets).expect("no network runs");
    for report in reports {
        let report = report.expect("the network is estimated");
        serde_json::to_vec(&report).expect("a report is JSON");
    }
}

/// Everything else that is done with a file.
fn change(file: &ModelFile, targets: &[Box<dyn Target>]) {
    let as_it_is = Changes::default();
    let two = ModelFile {
        request: Request {
            batch: NonZeroU32::new(2).expect("two is not zero"),
            ..file.request
        },
        ..*file
    };
    let one = &targets[..1];
    // A network that cannot be changed so is refused, which is work as well.
    let _ = estimate_changed(two, &as_it_is, None, one, Detail::Summary);
    let _ = sweep_batch(*file, &as_it_is, &GPUS[0], gpu::Bundle::shipped());
    for changes in [
        Changes {
            width: Some(0.5),
            resolution: Some(2.0),
            ..Changes::default()
        },
        Changes {
            low_memory_order: true,
            ..Changes::default()
        },
        Changes {
            int8: true,
            ..Changes::default()
        },
    ] {
        let _ = estimate_changed(*file, &changes, None, one, Detail::Summary);
    }
}

/// In the environment of a process of this test: which of how many parts of the kinds it looks at, as `1/2`.
const PART: &str = "LITECAST_GROWTH_PART";

/// Allocations are counted of a whole process, so each core has a process of its own.
#[test]
fn work_grows_no_faster_than_the_network() {
    let _alone = alone();
    if let Ok(part) = std::env::var(PART) {
        let numbers = part
            .split('/')
            .map(|number| number.parse().expect("two numbers"));
        let numbers: Vec<usize> = numbers.collect();
        return assert_growth(numbers[0], numbers[1]);
    }
    let n_parts = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let others: Vec<Child> = (1..n_parts)
        .map(|part| {
            Command::new(std::env::current_exe().expect("the test has a path"))
                .args([
                    "--exact",
                    "work_grows_no_faster_than_the_network",
                    "--nocapture",
                ])
                .env(PART, format!("{part}/{n_parts}"))
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .spawn()
                .expect("the test runs twice")
        })
        .collect();
    assert_growth(0, n_parts);
    for other in others {
        let output = other.wait_with_output().expect("the other part ends");
        let [words, errors] =
            [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
        println!("{words}");
        assert!(
            output.status.success() && words.contains("networks of"),
            "{errors}"
        );
    }
}

/// What was counted of a network, size after size.
#[derive(Default)]
struct Counted {
    by_place: Vec<Work>,
    n_allocations: Vec<u64>,
}

impl Counted {
    fn add(
        &mut self,
        kind: Kind,
        arrangement: Arrangement,
        size: usize,
        targets: &[Box<dyn Target>],
        is_changed: bool,
    ) {
        let bytes = network(&[kind], arrangement, size).write();
        let file = ModelFile::new("file.tflite", &bytes);
        let run = || {
            report(&file, targets);
            if is_changed {
                change(&file, targets);
            }
        };
        let (((), mut work), taken) = measure(|| work::counted(run));
        work.retain(|place, _| BOUNDED.iter().all(|(file, _)| place.file() != *file));
        self.by_place.push(work);
        self.n_allocations.push(taken.n_allocations as u64);
    }

    fn exponent(&self) -> f64 {
        let totals = self.by_place.iter().map(|work| work.values().sum());
        exponent(&totals.collect::<Vec<u64>>())
    }

    /// Places that grow faster than they may, with their counts.
    fn growing(&self) -> impl Iterator<Item = (String, f64, Vec<u64>)> {
        let last = self.by_place.last().into_iter().flat_map(BTreeMap::keys);
        last.filter_map(|place| {
            let of_size = |work: &Work| work.get(place).copied().unwrap_or(0);
            let counts: Vec<u64> = self.by_place.iter().map(of_size).collect();
            let exponent = exponent(&counts);
            (exponent > MAX_EXPONENT_OF_A_PLACE).then(|| (place.to_string(), exponent, counts))
        })
    }

    fn looks_like_growth(&self) -> bool {
        self.exponent() > MAX_EXPONENT
            || exponent(&self.n_allocations) > MAX_EXPONENT_OF_A_PLACE
            || self.growing().next().is_some()
    }
}

/// Every `n_parts`-th kind from `part` on, in all arrangements, in one of which the network is changed as well: changes
/// take twice as long as reports, and which arrangement they meet matters more than which kind.
fn assert_growth(part: usize, n_parts: usize) {
    let targets = targets();
    let mut worst: BTreeMap<String, (f64, String)> = BTreeMap::new();
    let mut by_exponent: Vec<(f64, String)> = Vec::new();
    let mut n_of_largest = 0;
    for (kind_idx, kind) in KINDS.iter().enumerate().skip(part).step_by(n_parts) {
        for (idx, arrangement) in Arrangement::ALL.into_iter().enumerate() {
            let is_changed = kind_idx / n_parts % Arrangement::ALL.len() == idx;
            let name = format!("{arrangement:?} of {}", kind.name());
            let mut counted = Counted::default();
            for size in SIZES {
                counted.add(*kind, arrangement, size, &targets, is_changed);
            }
            if counted.looks_like_growth() {
                n_of_largest += 1;
                counted.add(*kind, arrangement, LARGEST, &targets, is_changed);
            }
            by_exponent.push((counted.exponent(), name.clone()));
            let n_allocations = &counted.n_allocations;
            assert!(
                exponent(n_allocations) <= MAX_EXPONENT_OF_A_PLACE,
                "{n_allocations:?} allocations of {name}"
            );
            for (place, exponent, counts) in counted.growing() {
                let n = counts.last().copied().unwrap_or_default();
                if n >= MIN_COUNT {
                    let words = format!("n^{exponent:.2}, {counts:?}: {name}");
                    let known = worst.entry(place).or_default();
                    if known.0 < exponent {
                        *known = (exponent, words);
                    }
                }
            }
        }
    }
    by_exponent.sort_by(|one, other| other.0.total_cmp(&one.0));
    for (place, why) in BOUNDED {
        println!("not looked at: {place}: {why}");
    }
    println!(
        "{} networks of {SIZES:?} steps, {n_of_largest} of them of {LARGEST} too",
        by_exponent.len()
    );
    for (exponent, name) in by_exponent.iter().take(5) {
        println!("n^{exponent:.2}: {name}");
    }
    for (place, (_, words)) in &worst {
        println!("{place}: {words}");
    }
    assert!(worst.is_empty(), "{} places grow faster", worst.len());
    assert!(by_exponent[0].0 <= MAX_EXPONENT, "{:?}", by_exponent[0]);
}

/// From 128 buffers on, each is looked up in a tree, whose height is the logarithm of their number.
#[test]
fn buffers_of_larger_networks_are_placed_in_proportion() {
    let _alone = alone();
    const SIZES: [usize; 4] = [160, 320, 640, 1280];
    let targets: Vec<Box<dyn Target>> = Vec::new();
    let is_planned = |kind: &&Kind| ["RELU", "CONCATENATION", "MEAN"].contains(&kind.name());
    let kinds: Vec<&Kind> = KINDS.iter().filter(is_planned).collect();
    assert_eq!(kinds.len(), 3);
    for kind in kinds {
        for arrangement in Arrangement::ALL {
            let counts = SIZES.map(|size| {
                let bytes = network(&[*kind], arrangement, size).write();
                let file = ModelFile::new("file.tflite", &bytes);
                let (reports, work) = work::counted(|| estimate_on(&[file], None, &targets));
                assert!(reports.is_ok_and(|reports| reports.iter().all(Result::is_ok)));
                let of_plan = work
                    .iter()
                    .filter(|(place, _)| place.file() == BOUNDED[0].0);
                of_plan.map(|(_, n)| n).sum()
            });
            let exponent = exponent(&counts);
            println!(
                "n^{exponent:.2}, {counts:?}: {arrangement:?} of {}",
                kind.name()
            );
            assert!(counts[3] > 0 && exponent <= MAX_EXPONENT_OF_A_PLACE);
        }
    }
}
