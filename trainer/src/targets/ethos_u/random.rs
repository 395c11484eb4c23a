//! Random configuration files as users of other boards may write them: clocks, memories and memory modes within
//! physical ranges.

use std::fmt::Write;

use anyhow::{Context, Result};
use litecast::targets::ethos_u::configuration::{Configuration, Family, Product, VelaIni};
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::setup::Setup;

const N_FILES: u64 = 50;
/// Clocks of published boards are 200 MHz to 1 GHz.
const CLOCK_MHZ: [f64; 2] = [100.0, 1200.0];
/// From one serial flash to LPDDR5.
const OFF_CHIP_BYTES_PER_S: [f64; 2] = [4e7, 1.2e10];
const ARENA_CACHE_KIB: [i64; 7] = [48, 128, 256, 384, 1000, 2048, 8192];

/// Configuration files drawn with a seed, each for one accelerator.
pub fn setups(seed: u64) -> Result<Vec<Setup>> {
    (0..N_FILES)
        .map(|idx| setup(&mut ChaCha8Rng::seed_from_u64((seed << 16) + idx), idx))
        .collect()
}

fn setup(rng: &mut ChaCha8Rng, idx: u64) -> Result<Setup> {
    let product = *Product::ALL.choose(rng).expect("there are accelerators");
    let name = format!("Random_{idx:02}");
    let vela_ini = file(rng, product, &name);
    let ini = VelaIni::parse(vela_ini.as_bytes()).with_context(|| vela_ini.clone())?;
    let configuration = Configuration::read(product, &ini, &name, &name);
    Ok(Setup {
        configuration: configuration.with_context(|| vela_ini.clone())?,
        vela_ini: Some(vela_ini),
    })
}

fn file(rng: &mut ChaCha8Rng, product: Product, name: &str) -> String {
    let family = product.family();
    let clock_hz = 1e6 * between(rng, CLOCK_MHZ).round();
    let mode = *match family {
        Family::U55 => ["Sram_Only", "Shared_Sram"].choose(rng),
        _ => [
            "Sram_Only",
            "Shared_Sram",
            "Dedicated_Sram",
            "Dedicated_Sram",
        ]
        .choose(rng),
    }
    .expect("there are modes");
    let area = *match mode {
        "Dedicated_Sram" => ["Dram"].choose(rng),
        _ => ["Dram", "OffChipFlash", "OnChipFlash"].choose(rng),
    }
    .expect("there are memories");
    let bus_bytes = if family == Family::U55 { 8.0 } else { 16.0 };
    let off_chip_bytes_per_s = between(rng, OFF_CHIP_BYTES_PER_S).min(clock_hz * bus_bytes);
    let [sram_ports, off_chip_ports] = match family {
        Family::U85 => [
            *[1, 2, 4].choose(rng).expect("some"),
            rng.random_range(1..=2),
        ],
        _ => [1, 1],
    };
    let clock_scale = off_chip_bytes_per_s / (clock_hz * bus_bytes * f64::from(off_chip_ports));
    let mut text = format!(
        "; drawn at random\n[System_Config.{name}]\ncore_clock={clock_hz:e}\naxi0_port=Sram\naxi1_port={area}\n"
    );
    let sram_scale = *[0.5, 1.0, 1.0, 1.0].choose(rng).expect("some");
    memory(rng, &mut text, "Sram", sram_scale, sram_ports, 4..=40);
    memory(rng, &mut text, area, clock_scale, off_chip_ports, 16..=600);
    let [constants, arena] = match mode {
        "Sram_Only" => [0, 0],
        "Shared_Sram" => [1, 0],
        _ => [1, 1],
    };
    let _ = write!(
        text,
        "\n[Memory_Mode.{name}]\nconst_mem_area=Axi{constants}\narena_mem_area=Axi{arena}\ncache_mem_area=Axi0\n"
    );
    if mode == "Dedicated_Sram" || rng.random_bool(0.3) {
        let kib = ARENA_CACHE_KIB.choose(rng).expect("some");
        let _ = writeln!(text, "arena_cache_size={}", kib << 10);
    }
    text
}

fn memory(
    rng: &mut ChaCha8Rng,
    text: &mut String,
    area: &str,
    clock_scale: f64,
    n_ports: u32,
    latency_cycles: std::ops::RangeInclusive<u32>,
) {
    let burst = [32, 64, 128, 256].choose(rng).expect("some");
    let _ = writeln!(text, "{area}_clock_scale={clock_scale:.6}");
    let _ = writeln!(text, "{area}_ports_used={n_ports}");
    let _ = writeln!(text, "{area}_burst_length={burst}");
    for figure in ["read_latency", "write_latency"] {
        let cycles = rng.random_range(latency_cycles.clone());
        let _ = writeln!(text, "{area}_{figure}={cycles}");
    }
    for figure in ["max_reads", "max_writes"] {
        let bursts = [1, 2, 4, 8, 16, 32, 64].choose(rng).expect("some");
        let _ = writeln!(text, "{area}_{figure}={bursts}");
    }
}

/// Drawn uniformly on a logarithmic scale.
fn between(rng: &mut ChaCha8Rng, [from, to]: [f64; 2]) -> f64 {
    rng.random_range(from.ln()..to.ln()).exp()
}
