//! A clock, and memories at two ports of the accelerator.

/// A kind of memory, by its name in `vela.ini`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum MemoryArea {
    Sram,
    Dram,
    OnChipFlash,
    OffChipFlash,
}

impl MemoryArea {
    pub const ALL: [Self; 4] = [
        Self::Sram,
        Self::Dram,
        Self::OnChipFlash,
        Self::OffChipFlash,
    ];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Sram => "Sram",
            Self::Dram => "Dram",
            Self::OnChipFlash => "OnChipFlash",
            Self::OffChipFlash => "OffChipFlash",
        }
    }

    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|area| area.name() == name)
    }

    pub const fn is_off_chip(self) -> bool {
        matches!(self, Self::Dram | Self::OffChipFlash)
    }
}

/// The speed of a memory. Values that a file does not state are the compiler's defaults.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MemoryParameters {
    /// Its clock as a share of the accelerator's.
    pub clock_scale: f64,
    /// AXI ports of the accelerator that lead to it.
    pub ports_used: i64,
    pub burst_bytes: i64,
    /// Cycles of the accelerator's clock.
    pub read_latency_cycles: i64,
    pub write_latency_cycles: i64,
    /// Maximum number of bursts in flight at each port.
    pub max_reads: i64,
    pub max_writes: i64,
}

impl Default for MemoryParameters {
    fn default() -> Self {
        Self {
            clock_scale: 1.0,
            ports_used: 1,
            burst_bytes: 64,
            read_latency_cycles: 1,
            write_latency_cycles: 1,
            max_reads: 1,
            max_writes: 1,
        }
    }
}

/// A section `System_Config` of `vela.ini`.
#[derive(Clone, Debug, PartialEq)]
pub struct SystemConfiguration {
    pub name: String,
    /// Of the accelerator.
    pub clock_hz: f64,
    /// Memory at AXI port 0 and 1.
    pub ports: [MemoryArea; 2],
    /// In the order of [`MemoryArea::ALL`]; `None` for a memory that the file does not describe.
    pub memories: [Option<MemoryParameters>; 4],
}

/// Prefix of names of system configurations that the compiler treats as those of an Ethos-U55.
const NARROW_BUS_PREFIX: &str = "Ethos_U55";

impl SystemConfiguration {
    pub fn memory(&self, area: MemoryArea) -> MemoryParameters {
        self.memories[area as usize].unwrap_or_default()
    }

    /// Bytes in a cycle of the accelerator's clock, of all ports together.
    pub fn bytes_per_cycle(&self, area: MemoryArea) -> f64 {
        let memory = self.memory(area);
        memory.clock_scale * (self.bus_bytes() * memory.ports_used) as f64
    }

    /// Width of an AXI port. Vela 5.2.0 derives it from the section's name, regardless of the accelerator.
    pub fn bus_bytes(&self) -> i64 {
        if self.name.starts_with(NARROW_BUS_PREFIX) {
            8
        } else {
            16
        }
    }
}
