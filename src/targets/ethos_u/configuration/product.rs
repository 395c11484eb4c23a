//! The accelerators by name.

/// Generation of an accelerator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Family {
    U55,
    U65,
    U85,
}

impl Family {
    const fn name(self) -> &'static str {
        match self {
            Self::U55 => "U55",
            Self::U65 => "U65",
            Self::U85 => "U85",
        }
    }
}

/// An Ethos-U with its 8-bit multiply-accumulates per cycle: all that Vela 5.2.0 compiles for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Product {
    U55x32,
    U55x64,
    U55x128,
    U55x256,
    U65x256,
    U65x512,
    U85x128,
    U85x256,
    U85x512,
    U85x1024,
    U85x2048,
}

impl Product {
    pub const ALL: [Self; 11] = [
        Self::U55x32,
        Self::U55x64,
        Self::U55x128,
        Self::U55x256,
        Self::U65x256,
        Self::U65x512,
        Self::U85x128,
        Self::U85x256,
        Self::U85x512,
        Self::U85x1024,
        Self::U85x2048,
    ];

    /// Name of the product in Vela, which is also the id of the target.
    pub const fn name(self) -> &'static str {
        match self {
            Self::U55x32 => "ethos-u55-32",
            Self::U55x64 => "ethos-u55-64",
            Self::U55x128 => "ethos-u55-128",
            Self::U55x256 => "ethos-u55-256",
            Self::U65x256 => "ethos-u65-256",
            Self::U65x512 => "ethos-u65-512",
            Self::U85x128 => "ethos-u85-128",
            Self::U85x256 => "ethos-u85-256",
            Self::U85x512 => "ethos-u85-512",
            Self::U85x1024 => "ethos-u85-1024",
            Self::U85x2048 => "ethos-u85-2048",
        }
    }

    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|product| product.name() == name)
    }

    pub const fn macs_per_cycle(self) -> u32 {
        match self {
            Self::U55x32 => 32,
            Self::U55x64 => 64,
            Self::U55x128 | Self::U85x128 => 128,
            Self::U55x256 | Self::U65x256 | Self::U85x256 => 256,
            Self::U65x512 | Self::U85x512 => 512,
            Self::U85x1024 => 1024,
            Self::U85x2048 => 2048,
        }
    }

    pub const fn family(self) -> Family {
        match self {
            Self::U55x32 | Self::U55x64 | Self::U55x128 | Self::U55x256 => Family::U55,
            Self::U65x256 | Self::U65x512 => Family::U65,
            _ => Family::U85,
        }
    }

    /// The hardware in words.
    pub fn device(self) -> String {
        let (family, n_macs) = (self.family().name(), self.macs_per_cycle());
        format!("Arm Ethos-{family}, {n_macs} MACs/cycle")
    }

    /// The hardware in few words.
    pub fn short_label(self) -> String {
        format!("Ethos-{}-{}", self.family().name(), self.macs_per_cycle())
    }

    /// Default system configuration and memory mode of the product.
    pub const fn default_sections(self) -> [&'static str; 2] {
        match self {
            Self::U55x32 | Self::U55x64 | Self::U55x128 | Self::U55x256 => {
                ["Ethos_U55_High_End_Embedded", "Shared_Sram"]
            }
            Self::U65x256 | Self::U65x512 => ["Ethos_U65_High_End", "Dedicated_Sram_384KB"],
            Self::U85x128 | Self::U85x256 | Self::U85x512 => {
                ["Ethos_U85_SYS_DRAM_Mid", "Dedicated_Sram_384KB"]
            }
            Self::U85x1024 | Self::U85x2048 => ["Ethos_U85_SYS_DRAM_Mid", "Dedicated_Sram_512KB"],
        }
    }

    /// Bytes that the product can address, which is the size of a memory without a stated size.
    pub(super) const fn max_address_bytes(self) -> i64 {
        match self.family() {
            Family::U55 => 1 << 32,
            Family::U65 | Family::U85 => 1 << 40,
        }
    }
}
