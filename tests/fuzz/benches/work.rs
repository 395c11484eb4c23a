//! How the work of every stage grows with a network, by kind of operator and shape of graph: counted, not timed.
//!
//! The compiler counts: `make growth` builds the library so that each edge of its control flow calls a function here
//! (LLVM's SanitizerCoverage), so that no loop is forgotten. For each edge, the counts of three sizes are compared: an
//! edge that runs more than in proportion is printed with its place in the sources.
//!
//! `make growth`, or of its command `-- pairs` for all pairs of kinds, and names of kinds for these alone. Pairs come in an
//! order in which a part of them has all kinds; `from=500` goes on behind the first 500 sets, and `seconds=2400` ends with
//! what was compared until then.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU32;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::{Command, ExitCode};
use std::sync::Arc;
use std::time::{Duration, Instant};

use litecast::batch_sweep::sweep_batch;
use litecast::estimate::{Detail, ModelFile, Request, estimate_changed, estimate_on};
use litecast::model_variants::Changes;
use litecast::targets::ethos_u::configuration::{Configuration, Product, Strategy};
use litecast::targets::gpu::specifications::GPUS;
use litecast::targets::{Target, cortex_m, ethos_u, gpu, registry};
use litecast_fuzz::growth::exponent;
use litecast_fuzz::kinds::{Arrangement, KINDS, Kind, network};

/// Steps of the networks that are compared.
const SIZES: [usize; 3] = [24, 48, 96];
/// The next sizes, as long as those before look like growth: a further size makes no exponent larger. Several places that
/// each work more from another size on look like growth until a size behind them all.
const LARGER: [usize; 3] = [192, 384, 768];

/// The largest exponent of counted work that is allowed.
const MAX_EXPONENT: f64 = 1.15;

/// An edge that runs less often between the two largest of `SIZES` is noise of growing lists.
const MIN_COUNT: u64 = 500;

/// Edges of the program at most.
const MAX_EDGES: usize = 1 << 20;

static mut COUNTS: [u64; MAX_EDGES] = [0; MAX_EDGES];
static mut N_EDGES: usize = 0;
static mut PLACES: (usize, usize) = (0, 0);

/// Numbers the edges.
///
/// # Safety
/// Called by instrumented code before `main`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __sanitizer_cov_trace_pc_guard_init(start: *mut u32, end: *mut u32) {
    unsafe {
        if start == end || *start != 0 {
            return;
        }
        let n = end.offset_from(start) as usize;
        let mut idx = 0;
        while idx < n {
            N_EDGES += 1;
            *start.add(idx) = N_EDGES as u32;
            idx += 1;
        }
    }
}

/// Counts an edge.
///
/// # Safety
/// Called by instrumented code.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __sanitizer_cov_trace_pc_guard(guard: *mut u32) {
    unsafe {
        let count = (&raw mut COUNTS).cast::<u64>().add(*guard as usize);
        *count = (*count).wrapping_add(1);
    }
}

/// Keeps the table of the edges' addresses.
///
/// # Safety
/// Called by instrumented code before `main`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __sanitizer_cov_pcs_init(start: *const usize, end: *const usize) {
    unsafe {
        PLACES = (start as usize, end as usize);
    }
}

fn counts_of(call: impl FnOnce()) -> Vec<u64> {
    // SAFETY: one thread alone runs instrumented code; its counts are read when it does not.
    unsafe {
        let n = N_EDGES + 1;
        let counts = std::slice::from_raw_parts_mut((&raw mut COUNTS).cast::<u64>(), n);
        counts.fill(0);
        call();
        let counts = std::slice::from_raw_parts((&raw const COUNTS).cast::<u64>(), n);
        counts.to_vec()
    }
}

/// The address of an edge in the program's file.
fn address(edge: usize) -> usize {
    // SAFETY: the table has two words for each edge.
    let (start, end) = unsafe { PLACES };
    let at = start + (edge - 1) * 2 * size_of::<usize>();
    if at >= end {
        return 0;
    }
    let loaded = unsafe { *(at as *const usize) };
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
    let base = maps.split('-').next();
    let base = base.and_then(|base| usize::from_str_radix(base, 16).ok());
    loaded - base.unwrap_or(0)
}

/// A way through the library.
struct Family {
    name: &'static str,
    run: Box<dyn Fn(&ModelFile)>,
}

fn on(name: &'static str, targets: Vec<Box<dyn Target>>) -> Family {
    Family {
        name,
        run: Box::new(move |file| {
            let reports = estimate_on(&[*file], None, &targets);
            let reports = reports.expect("no network runs");
            let report = reports.into_iter().next().expect("one file");
            let report = report.expect("the network is estimated");
            serde_json::to_vec(&report).expect("a report is JSON");
        }),
    }
}

fn changed(name: &'static str, changes: Changes) -> Family {
    let targets = [ethos_u::target(Configuration::new(Product::U55x128))];
    Family {
        name,
        run: Box::new(move |file| {
            let _ = estimate_changed(*file, &changes, None, &targets, Detail::Summary);
        }),
    }
}

fn families() -> Vec<Family> {
    let of_products = |change: fn(&mut Configuration)| -> Vec<Box<dyn Target>> {
        let of_product = |product| {
            let mut configuration = Configuration::new(product);
            change(&mut configuration);
            ethos_u::target(configuration)
        };
        [Product::U55x128, Product::U65x512, Product::U85x256]
            .map(of_product)
            .into()
    };
    let bundle =
        std::fs::read("bundle/gpu.json").or_else(|_| std::fs::read("../../bundle/gpu.json"));
    let bundle = gpu::bundle::Bundle::parse(
        &bundle.expect("the constants of GPUs are in the repository"),
        &gpu::costs::NAMES,
    );
    let bundle = Arc::new(bundle.expect("they are read"));
    let mut gpus = gpu::targets(&bundle);
    gpus.truncate(2);
    let in_batches = Family {
        name: "other batch sizes",
        run: Box::new(move |file| {
            let two = ModelFile {
                request: Request {
                    batch: NonZeroU32::new(2).expect("two is not zero"),
                    ..file.request
                },
                ..*file
            };
            let targets = [ethos_u::target(Configuration::new(Product::U85x256))];
            let as_it_is = Changes::default();
            let _ = estimate_changed(two, &as_it_is, None, &targets, Detail::Summary);
            let _ = sweep_batch(*file, &as_it_is, &GPUS[0], &bundle);
        }),
    };
    vec![
        on("facts and boards", Vec::new()),
        on("Ethos-U", of_products(|_| {})),
        on(
            "Ethos-U for size",
            of_products(|it| it.strategy = Strategy::Size),
        ),
        on("registry", Vec::new()),
        on("Cortex-M", cortex_m::targets()),
        on("GPUs", gpus),
        changed(
            "width",
            Changes {
                width: Some(0.5),
                ..Changes::default()
            },
        ),
        changed(
            "resolution",
            Changes {
                resolution: Some(2.0),
                ..Changes::default()
            },
        ),
        changed(
            "order",
            Changes {
                low_memory_order: true,
                ..Changes::default()
            },
        ),
        changed(
            "int8",
            Changes {
                int8: true,
                ..Changes::default()
            },
        ),
        in_batches,
    ]
}

/// An edge or a whole family that grows faster than the network.
#[derive(Clone)]
struct Growth {
    exponent: f64,
    count: u64,
    network: String,
}

/// The steepest and the busiest that an edge looked like in networks of [`SIZES`] before larger ones showed what it does.
#[derive(Clone, Copy, Default)]
struct Examined {
    exponent: f64,
    count: u64,
}

/// What grows faster, of all networks that were compared.
#[derive(Default)]
struct Found {
    by_edge: BTreeMap<usize, Growth>,
    examined: BTreeMap<(&'static str, usize), Examined>,
    worst: BTreeMap<&'static str, Growth>,
    n_networks: usize,
    n_larger: usize,
}

/// Edges counted on the way of a family; none where it panics.
fn counts_of_family(family: &Family, bytes: &[u8], network: &str) -> Option<Vec<u64>> {
    let file = ModelFile::new("file.tflite", bytes);
    let mut counts = Vec::new();
    let run = catch_unwind(AssertUnwindSafe(|| {
        counts = counts_of(|| match family.name {
            "registry" => {
                let reports = estimate_on(&[file], None, registry());
                let report = reports.expect("no network runs").remove(0);
                report.expect("the network is estimated");
            }
            _ => (family.run)(&file),
        });
    }));
    if run.is_err() {
        println!("panics: {network}");
    }
    run.ok().map(|()| counts)
}

/// The exponent of all edges together, and edges that grow faster than they may, with their exponents and counts.
fn growing(by_size: &[Vec<u64>]) -> (f64, Vec<(usize, f64, u64)>) {
    let totals: Vec<u64> = by_size.iter().map(|counts| counts.iter().sum()).collect();
    let [.., before, last] = by_size else {
        return (0.0, Vec::new());
    };
    let min_count = MIN_COUNT << (by_size.len() - SIZES.len());
    let edges = (1..last.len()).filter_map(|edge| {
        if last[edge].saturating_sub(before[edge]) < min_count {
            return None;
        }
        let of_sizes: Vec<u64> = by_size.iter().map(|counts| counts[edge]).collect();
        let exponent = exponent(&of_sizes);
        (exponent > MAX_EXPONENT + 0.2).then_some((edge, exponent, last[edge]))
    });
    (exponent(&totals), edges.collect())
}

impl Found {
    /// Each family on networks of these kinds in one arrangement.
    fn compare(&mut self, set: &[Kind], arrangement: Arrangement, families: &[Family]) {
        let file = |size| network(set, arrangement, size).write();
        let files = SIZES.map(file);
        let mut larger: Vec<Vec<u8>> = Vec::new();
        self.n_networks += 1;
        for family in families {
            let names: Vec<&str> = set.iter().map(Kind::name).collect();
            let names = names.join(" and ");
            let network = format!("{arrangement:?} of {names} ({})", family.name);
            let counted: Option<Vec<Vec<u64>>> = (files.iter())
                .map(|bytes| counts_of_family(family, bytes, &network))
                .collect();
            let Some(mut by_size) = counted else {
                continue;
            };
            let (mut total, mut edges) = growing(&by_size);
            // Larger networks take most of the time, and most of what looks like growth in these is a sort or a list that
            // becomes longer. They showed it for an edge once, where it looked as steep and was as busy.
            edges.retain(|&(edge, exponent, count)| {
                let examined = self.examined.entry((family.name, edge)).or_default();
                let is_new = exponent > examined.exponent || count > examined.count;
                examined.exponent = examined.exponent.max(exponent);
                examined.count = examined.count.max(count);
                is_new
            });
            let mut sizes = LARGER.iter().enumerate();
            while (total > MAX_EXPONENT || !edges.is_empty())
                && let Some((idx, &size)) = sizes.next()
            {
                self.n_larger += 1;
                if larger.len() == idx {
                    larger.push(file(size));
                }
                by_size.extend(counts_of_family(family, &larger[idx], &network));
                let suspects: BTreeSet<usize> = edges.iter().map(|&(edge, ..)| edge).collect();
                (total, edges) = growing(&by_size);
                edges.retain(|(edge, ..)| suspects.contains(edge));
            }
            let n_edges = by_size.last().map_or(0, |counts| counts.iter().sum());
            if total > MAX_EXPONENT {
                println!("n^{total:.2} {network} ({n_edges} edges)");
            }
            let growth = |exponent, count| Growth {
                exponent,
                count,
                network: network.clone(),
            };
            let known = (self.worst.entry(family.name)).or_insert_with(|| growth(total, n_edges));
            if known.exponent < total {
                *known = growth(total, n_edges);
            }
            for (edge, exponent, count) in edges {
                let known = (self.by_edge.entry(edge)).or_insert_with(|| growth(exponent, count));
                if known.count < count {
                    *known = growth(exponent, count);
                }
            }
        }
    }
}

/// Pairs in an order in which each part has all kinds: by how far apart the two stand in the list.
fn pairs(kinds: &[Kind]) -> Vec<Vec<Kind>> {
    let apart = 1..kinds.len();
    let pairs = apart.flat_map(|distance| kinds.iter().zip(&kinds[distance..]));
    pairs.map(|(&one, &other)| vec![one, other]).collect()
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args()
        .skip(1)
        .filter(|word| word != "--bench")
        .collect();
    let number = |name: &str| {
        let value = words.iter().find_map(|word| word.strip_prefix(name));
        value.map(|value| value.parse::<usize>().expect("a whole number"))
    };
    let is_named = |kind: &&Kind| words.iter().any(|word| word == kind.name());
    let named: Vec<Kind> = KINDS.iter().filter(is_named).copied().collect();
    let kinds = if named.is_empty() {
        KINDS.to_vec()
    } else {
        named
    };
    let sets = if words.iter().any(|word| word == "pairs") {
        pairs(&kinds)
    } else {
        kinds.iter().map(|&kind| vec![kind]).collect()
    };
    if unsafe { N_EDGES } == 0 {
        println!("skipped: nothing is counted in this build (make growth)");
        return ExitCode::SUCCESS;
    }
    println!(
        "{} kinds, {} sets, {} edges",
        kinds.len(),
        sets.len(),
        unsafe { N_EDGES }
    );
    let families = families();
    let mut found = Found::default();
    let first = number("from=").unwrap_or(0);
    let end = Duration::from_secs(number("seconds=").unwrap_or(usize::MAX) as u64);
    let (start, mut next) = (Instant::now(), first);
    for set in sets.iter().skip(first) {
        if start.elapsed() > end {
            break;
        }
        for arrangement in Arrangement::ALL {
            found.compare(set, arrangement, &families);
        }
        next += 1;
    }
    println!(
        "sets {first} to {next} of {}: {} networks of {SIZES:?} steps on {} families, {} larger ones",
        sets.len(),
        found.n_networks,
        families.len(),
        found.n_larger
    );
    for (family, growth) in &found.worst {
        println!(
            "{family}: at most n^{:.2}, {} ({} edges)",
            growth.exponent, growth.network, growth.count
        );
    }
    let n_places = print_places(&found.by_edge);
    let is_bounded = |growth: &Growth| growth.exponent <= MAX_EXPONENT;
    if n_places == 0 && found.worst.values().all(is_bounded) {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

/// Returns the number of places but those in the library's sorts, which work n log n: from network to network of these
/// sizes that looks like n^1.4, and the exponent of a whole family counts it.
fn print_places(by_edge: &BTreeMap<usize, Growth>) -> usize {
    let program = std::env::current_exe().expect("the program has a path");
    let mut by_place: BTreeMap<String, Growth> = BTreeMap::new();
    for (&edge, growth) in by_edge {
        let output = Command::new("addr2line")
            .args(["-C", "-i", "-f", "-p", "-s", "-e"])
            .arg(&program)
            .arg(format!("{:x}", address(edge)))
            .output();
        let place = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
        let place = place.unwrap_or_default();
        let place = place.lines().take(6).collect::<Vec<_>>().join("\n      ");
        let known = by_place.entry(place).or_insert_with(|| growth.clone());
        if known.count < growth.count {
            *known = growth.clone();
        }
    }
    let mut places: Vec<_> = by_place.into_iter().collect();
    places.sort_by_key(|(_, growth)| std::cmp::Reverse(growth.count));
    let is_sort = |place: &str| place.contains("core::slice::sort");
    for (place, growth) in &places {
        println!(
            "n^{:.2} {:>10} {}{}\n      {place}",
            growth.exponent,
            growth.count,
            growth.network,
            if is_sort(place) { ", a sort" } else { "" }
        );
    }
    (places.iter()).filter(|(place, _)| !is_sort(place)).count()
}
