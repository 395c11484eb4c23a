//! The system configurations and memory modes that Vela 5.2.0 knows by name, as a table: its figures are those
//! of Vela's configuration file, with which a test compares them wherever Vela is installed.

use std::fmt::Write;

use super::system::MemoryArea::{self, Dram, OffChipFlash, Sram};
use super::vela_ini::{MODE_PREFIX, SYSTEM_PREFIX};

/// A memory behind one kind of AXI port.
struct KnownMemory {
    area: MemoryArea,
    /// Its clock as a share of the accelerator's.
    clock_scale: f64,
    n_ports: u32,
    burst_bytes: u32,
    /// Cycles of the accelerator's clock until a read and a write begin.
    latency_cycles: [u32; 2],
    /// Bursts that may be under way, read and written.
    max_bursts: [u32; 2],
}

const fn memory(
    area: MemoryArea,
    clock_scale: f64,
    n_ports: u32,
    burst_bytes: u32,
    latency_cycles: [u32; 2],
    max_bursts: [u32; 2],
) -> KnownMemory {
    KnownMemory {
        area,
        clock_scale,
        n_ports,
        burst_bytes,
        latency_cycles,
        max_bursts,
    }
}

/// An accelerator's clock with the memories at its ports.
struct System {
    name: &'static str,
    clock_mhz: f64,
    /// At AXI port 0 and 1.
    memories: [KnownMemory; 2],
}

const fn system(
    name: &'static str,
    clock_mhz: f64,
    port0: KnownMemory,
    port1: KnownMemory,
) -> System {
    System {
        name,
        clock_mhz,
        memories: [port0, port1],
    }
}

#[rustfmt::skip]
const SYSTEMS: [System; 11] = [
    system("Ethos_U55_Deep_Embedded", 200.0, memory(Sram, 1.0, 1, 32, [32, 32], [8, 8]), memory(OffChipFlash, 0.0625, 1, 128, [64, 0], [2, 0])),
    system("Ethos_U55_High_End_Embedded", 500.0, memory(Sram, 1.0, 1, 32, [32, 32], [4, 4]), memory(OffChipFlash, 0.125, 1, 128, [64, 0], [2, 0])),
    system("Ethos_U65_Embedded", 500.0, memory(Sram, 1.0, 1, 32, [32, 32], [8, 8]), memory(OffChipFlash, 0.0625, 1, 128, [64, 0], [2, 0])),
    system("Ethos_U65_Mid_End", 500.0, memory(Sram, 1.0, 1, 32, [32, 32], [8, 8]), memory(Dram, 0.46875, 1, 128, [500, 250], [12, 6])),
    system("Ethos_U65_High_End", 1000.0, memory(Sram, 1.0, 1, 32, [32, 32], [16, 16]), memory(Dram, 0.234375, 1, 128, [500, 250], [24, 12])),
    system("Ethos_U65_Client_Server", 1000.0, memory(Sram, 1.0, 1, 32, [32, 32], [16, 16]), memory(Dram, 0.75, 1, 128, [500, 250], [24, 12])),
    system("Ethos_U85_SYS_Flash_Low", 200.0, memory(Sram, 1.0, 2, 64, [8, 8], [8, 8]), memory(OffChipFlash, 0.0625, 1, 128, [32, 0], [2, 0])),
    system("Ethos_U85_SYS_Flash_High", 500.0, memory(Sram, 1.0, 2, 64, [32, 32], [8, 8]), memory(OffChipFlash, 0.0625, 1, 128, [64, 0], [2, 0])),
    system("Ethos_U85_SYS_DRAM_Low", 500.0, memory(Sram, 1.0, 2, 64, [16, 16], [8, 8]), memory(Dram, 0.46875, 1, 128, [500, 250], [24, 12])),
    system("Ethos_U85_SYS_DRAM_Mid", 1000.0, memory(Sram, 1.0, 2, 64, [32, 32], [8, 8]), memory(Dram, 0.75, 1, 128, [500, 250], [64, 32])),
    system("Ethos_U85_SYS_DRAM_High", 1000.0, memory(Sram, 1.0, 4, 64, [32, 32], [8, 8]), memory(Dram, 0.75, 2, 128, [500, 250], [64, 32])),
];

/// A memory mode: the AXI ports of constants and of feature maps (the cache is always at port 0), and the
/// KiB of SRAM that the compiler may fill, where the mode limits them.
struct Mode {
    name: &'static str,
    constants_port: u32,
    feature_maps_port: u32,
    cache_kib: Option<u32>,
}

const fn mode(name: &'static str, ports: [u32; 2], cache_kib: Option<u32>) -> Mode {
    Mode {
        name,
        constants_port: ports[0],
        feature_maps_port: ports[1],
        cache_kib,
    }
}

const MODES: [Mode; 6] = [
    mode("Sram_Only", [0, 0], None),
    mode("Shared_Sram", [1, 0], None),
    mode("Dedicated_Sram", [1, 1], None),
    mode("Dedicated_Sram_256KB", [1, 1], Some(256)),
    mode("Dedicated_Sram_384KB", [1, 1], Some(384)),
    mode("Dedicated_Sram_512KB", [1, 1], Some(512)),
];

/// The table in the syntax of a `vela.ini`, so that one reader serves it and the files of users.
pub(super) fn vela_ini() -> String {
    let mut text = String::new();
    for system in &SYSTEMS {
        write_system(&mut text, system).expect("a string takes everything");
    }
    for mode in &MODES {
        write_mode(&mut text, mode).expect("a string takes everything");
    }
    text
}

fn write_system(text: &mut String, system: &System) -> std::fmt::Result {
    writeln!(text, "[{SYSTEM_PREFIX}{}]", system.name)?;
    writeln!(text, "core_clock={}", system.clock_mhz * 1e6)?;
    for (port, memory) in system.memories.iter().enumerate() {
        let area = memory.area.name();
        writeln!(text, "axi{port}_port={area}")?;
        for (key, value) in [
            ("ports_used", memory.n_ports),
            ("burst_length", memory.burst_bytes),
            ("read_latency", memory.latency_cycles[0]),
            ("write_latency", memory.latency_cycles[1]),
            ("max_reads", memory.max_bursts[0]),
            ("max_writes", memory.max_bursts[1]),
        ] {
            writeln!(text, "{area}_{key}={value}")?;
        }
        writeln!(text, "{area}_clock_scale={}", memory.clock_scale)?;
    }
    Ok(())
}

fn write_mode(text: &mut String, mode: &Mode) -> std::fmt::Result {
    writeln!(text, "[{MODE_PREFIX}{}]", mode.name)?;
    writeln!(text, "const_mem_area=Axi{}", mode.constants_port)?;
    writeln!(text, "arena_mem_area=Axi{}", mode.feature_maps_port)?;
    writeln!(text, "cache_mem_area=Axi0")?;
    match mode.cache_kib {
        Some(kib) => writeln!(text, "arena_cache_size={}", kib << 10),
        None => Ok(()),
    }
}
