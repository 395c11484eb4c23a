//! `litecast-trainer sample`: writes sampled networks as files.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use clap::Args;

use super::nas_bench_201::{self, Cell, Task, TwinPools};
use super::{SampleForm, Space, SpaceSample, sample_in};
use crate::writer::{
    LayerDistribution, NetworkBuilder, Precision, WeightDistribution, WriterNetwork, to_tflite,
};

/// Arguments of `sample`.
#[derive(Args)]
pub struct SampleArgs {
    /// A design space of the README's table, or `all`
    #[arg(long, value_parser = parse_spaces, required_unless_present = "arch")]
    space: Option<Spaces>,
    /// Number of networks of each space
    #[arg(long, default_value_t = 10)]
    count: u64,
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Index of the first network
    #[arg(long, default_value_t = 0)]
    start: u64,
    /// int8 or float32
    #[arg(long, default_value_t = Precision::Int8)]
    precision: Precision,
    /// Write the NAS-Bench-201 network of this cell instead, with Gaussian weights:
    /// `|OP~0|+|OP~0|OP~1|+|OP~0|OP~1|OP~2|`
    #[arg(long, conflicts_with = "space")]
    arch: Option<Cell>,
    /// Height, width and channels of that network's input
    #[arg(long, default_value = "32x32x3", requires = "arch")]
    input: String,
    /// Outputs of that network
    #[arg(long, default_value_t = 10, requires = "arch")]
    classes: i32,
    /// Directory for the files, made if absent; without it nothing is kept
    #[arg(long)]
    out: Option<PathBuf>,
}

/// What `--space` names.
#[derive(Clone)]
struct Spaces(Vec<Space>);

fn parse_spaces(text: &str) -> Result<Spaces, String> {
    match text {
        "all" => Ok(Spaces(Space::all().collect())),
        id => Space::from_str(id).map(|space| Spaces(vec![space])),
    }
}

/// Writes `SPACE-sSEED-iINDEX.tflite` for each network (`nas-bench-201.tflite` for `--arch`). Prints a line for each,
/// and the rate and the operators to standard error.
pub fn run(args: &SampleArgs) -> Result<()> {
    if let Some(out) = &args.out {
        fs::create_dir_all(out).with_context(|| format!("make directory {}", out.display()))?;
    }
    match (&args.arch, &args.space) {
        (Some(cell), _) => write_cell(cell, args),
        (None, Some(spaces)) => write_samples(&spaces.0, args),
        (None, None) => unreachable!("the parser asks for one of both"),
    }
}

fn write_cell(cell: &Cell, args: &SampleArgs) -> Result<()> {
    let task = Task {
        input: parse_input(&args.input)?,
        classes: args.classes,
    };
    let weights = LayerDistribution::Gaussian { sigma: 25.0 };
    let weights = WeightDistribution::SameInEveryLayer(weights);
    let builder = NetworkBuilder::new("nas-bench-201", weights, args.seed);
    let network = nas_bench_201::network_of(cell, &task, TwinPools::Merged, builder);
    let bytes = to_tflite(&network, args.seed, args.precision);
    keep(&network, &bytes, args.out.as_deref())?;
    println!("{}", facts(&network, bytes.len()));
    Ok(())
}

/// Parses `32x32x3`. Height and width must be multiples of 4, because the network halves them twice.
fn parse_input(text: &str) -> Result<[i32; 3]> {
    let sides: Vec<i32> = text
        .split('x')
        .map(|side| side.parse().context(format!("`{side}` in `{text}`")))
        .collect::<Result<_>>()?;
    let input: [i32; 3] = sides
        .try_into()
        .map_err(|_| anyhow::anyhow!("`{text}`: expected HEIGHTxWIDTHxCHANNELS"))?;
    let [height, width, channels] = input;
    let fits = |side: i32| (4..=1024).contains(&side) && side % 4 == 0;
    ensure!(
        fits(height) && fits(width) && (1..=16).contains(&channels),
        "`{text}`: expected sides that are multiples of 4 up to 1024, and 1 to 16 channels"
    );
    Ok(input)
}

fn write_samples(spaces: &[Space], args: &SampleArgs) -> Result<()> {
    let started = Instant::now();
    let (mut n_networks, mut n_bytes) = (0, 0);
    let mut operators = BTreeMap::new();
    let form = SampleForm {
        precision: args.precision,
        ..SampleForm::default()
    };
    for &space in spaces {
        for index in args.start..args.start.saturating_add(args.count) {
            let sample = sample_in(form, space, args.seed, index).expect("a batch of one");
            let bytes = sample.to_tflite();
            keep(&sample.network, &bytes, args.out.as_deref())?;
            println!("{}", line(&sample, bytes.len()));
            count_operators(&sample.network, &mut operators);
            n_networks += 1;
            n_bytes += bytes.len();
        }
    }
    eprintln!(
        "{}",
        rate(n_networks, n_bytes, started.elapsed().as_secs_f64())
    );
    eprintln!("{}", operator_kinds(&operators));
    Ok(())
}

fn keep(network: &WriterNetwork, bytes: &[u8], out: Option<&Path>) -> Result<()> {
    let Some(out) = out else { return Ok(()) };
    let path = out.join(format!("{}.tflite", network.name));
    fs::write(&path, bytes).with_context(|| format!("write {}", path.display()))
}

/// Counts a network for each kind of operator that it contains.
fn count_operators(network: &WriterNetwork, n_networks: &mut BTreeMap<&'static str, usize>) {
    let kinds: BTreeSet<_> = network.operators.iter().map(|o| o.kind.name()).collect();
    for kind in kinds {
        *n_networks.entry(kind).or_default() += 1;
    }
}

fn operator_kinds(n_networks: &BTreeMap<&'static str, usize>) -> String {
    let counts: Vec<_> = n_networks
        .iter()
        .map(|(kind, n)| format!("{kind} {n}"))
        .collect();
    format!(
        "{} kinds of operators, each with the number of networks that hold it: {}",
        counts.len(),
        counts.join(", ")
    )
}

fn rate(count: u64, total_bytes: usize, seconds: f64) -> String {
    let megabytes = total_bytes as f64 / 1e6;
    format!(
        "{count} networks, {megabytes:.1} MB in {seconds:.2} s: {:.0} networks/s, {:.0} MB/s",
        count as f64 / seconds,
        megabytes / seconds
    )
}

fn line(sample: &SpaceSample, n_bytes: usize) -> String {
    format!(
        "{} weights={}",
        facts(&sample.network, n_bytes),
        sample.weight_distribution,
    )
}

fn facts(network: &WriterNetwork, n_bytes: usize) -> String {
    format!(
        "{} operators={} tensors={} bytes={n_bytes} structure={:016x}",
        network.name,
        network.operators.len(),
        network.tensors.len(),
        network.structure_hash(),
    )
}
