//! Which configurations are compared.

use anyhow::Result;
use litecast::targets::ethos_u::configuration::{Configuration, Product, Strategy, VelaIni};

use super::random;
use super::setup::Setup;

/// A set of configurations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Set {
    /// The default of each accelerator.
    Defaults,
    /// The defaults, and every memory mode and every kind of memory in Vela's own file.
    Named,
    /// Less SRAM than networks need: small arena caches, and Vela's `--optimise Size`.
    LessSram,
    /// Fifty random files within physical ranges.
    Random,
}

/// Sections of Vela's own file besides the defaults of [`Product::default_sections`]: every memory mode,
/// every kind of memory, every family.
const OTHERS: [(Product, &str, &str); 14] = [
    (Product::U55x256, "Ethos_U55_High_End_Embedded", "Sram_Only"),
    (Product::U55x128, "Ethos_U55_Deep_Embedded", "Shared_Sram"),
    (Product::U65x256, "Ethos_U65_Embedded", "Shared_Sram"),
    (
        Product::U65x256,
        "Ethos_U65_Mid_End",
        "Dedicated_Sram_256KB",
    ),
    (
        Product::U65x512,
        "Ethos_U65_Client_Server",
        "Dedicated_Sram",
    ),
    (Product::U65x256, "Ethos_U65_High_End", "Sram_Only"),
    (Product::U65x256, "Ethos_U65_High_End", "Shared_Sram"),
    (Product::U85x256, "Ethos_U85_SYS_Flash_Low", "Shared_Sram"),
    (Product::U85x512, "Ethos_U85_SYS_Flash_High", "Shared_Sram"),
    (
        Product::U85x256,
        "Ethos_U85_SYS_DRAM_Low",
        "Dedicated_Sram_256KB",
    ),
    (
        Product::U85x2048,
        "Ethos_U85_SYS_DRAM_High",
        "Dedicated_Sram_512KB",
    ),
    (
        Product::U85x1024,
        "Ethos_U85_SYS_DRAM_High",
        "Dedicated_Sram",
    ),
    (Product::U85x256, "Ethos_U85_SYS_DRAM_Mid", "Sram_Only"),
    (Product::U85x2048, "Ethos_U85_SYS_DRAM_Mid", "Shared_Sram"),
];

/// Families and memory modes, each with the size of the arena cache in KiB; `None` stands for `--optimise Size`.
const LESS_SRAM: [(Product, &str, &str, Option<i64>); 12] = [
    (
        Product::U55x128,
        "Ethos_U55_High_End_Embedded",
        "Shared_Sram",
        Some(64),
    ),
    (
        Product::U55x128,
        "Ethos_U55_High_End_Embedded",
        "Shared_Sram",
        Some(192),
    ),
    (
        Product::U55x256,
        "Ethos_U55_High_End_Embedded",
        "Sram_Only",
        Some(128),
    ),
    (
        Product::U65x256,
        "Ethos_U65_High_End",
        "Shared_Sram",
        Some(96),
    ),
    (
        Product::U85x256,
        "Ethos_U85_SYS_Flash_High",
        "Shared_Sram",
        Some(64),
    ),
    (
        Product::U85x512,
        "Ethos_U85_SYS_DRAM_Mid",
        "Shared_Sram",
        Some(192),
    ),
    (
        Product::U55x64,
        "Ethos_U55_Deep_Embedded",
        "Shared_Sram",
        None,
    ),
    (
        Product::U55x128,
        "Ethos_U55_High_End_Embedded",
        "Shared_Sram",
        None,
    ),
    (
        Product::U55x256,
        "Ethos_U55_High_End_Embedded",
        "Sram_Only",
        None,
    ),
    (
        Product::U65x512,
        "Ethos_U65_High_End",
        "Dedicated_Sram_384KB",
        None,
    ),
    (
        Product::U85x256,
        "Ethos_U85_SYS_Flash_High",
        "Shared_Sram",
        None,
    ),
    (
        Product::U85x512,
        "Ethos_U85_SYS_DRAM_Mid",
        "Dedicated_Sram_384KB",
        None,
    ),
];

impl Set {
    /// The configurations of the set; `seed` is used for random ones.
    pub fn setups(self, seed: u64) -> Result<Vec<Setup>> {
        let known = |configuration: Configuration| Setup {
            configuration,
            vela_ini: None,
        };
        let read = |(product, system, mode): (Product, &str, &str)| -> Result<Configuration> {
            Ok(Configuration::read(
                product,
                VelaIni::shipped(),
                system,
                mode,
            )?)
        };
        let defaults = || Product::ALL.into_iter().map(Configuration::new).map(known);
        match self {
            Self::Defaults => Ok(defaults().collect()),
            Self::Named => {
                let others = OTHERS.iter().map(|&sections| Ok(known(read(sections)?)));
                defaults().map(Ok).chain(others).collect()
            }
            Self::LessSram => {
                let limited = |&(product, system, mode, kib): &(_, _, _, Option<i64>)| {
                    Ok(known(Configuration {
                        arena_cache_bytes: kib.map(|kib| kib << 10),
                        strategy: match kib {
                            Some(_) => Strategy::Performance,
                            None => Strategy::Size,
                        },
                        ..read((product, system, mode))?
                    }))
                };
                LESS_SRAM.iter().map(limited).collect()
            }
            Self::Random => random::setups(seed),
        }
    }
}
