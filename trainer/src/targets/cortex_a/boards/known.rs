//! The measured boards.

/// A board with published measurements.
pub struct KnownBoard {
    /// Id of its target.
    pub target: &'static str,
    /// The hardware in words.
    pub device: &'static str,
    /// The target whose counted kernels the board runs: with or without dot product instructions.
    pub counted_as: &'static str,
    /// Number of cores.
    pub n_cores: u32,
    /// No instruction takes less: as many as can be issued are issued in every cycle.
    pub min_instruction_ns: f64,
    /// An instruction of the interpreter takes at most this on average.
    pub max_interpreter_ns: f64,
    /// Capacity of the cache that all cores share, whose bytes take no time of their own. 0 for cores that execute in order,
    /// which wait for all bytes.
    pub cached_bytes: f64,
    /// Rate at which one core copies memory, which reads and writes each byte once. Absent for cores that execute in order,
    /// whose latencies are sums over work.
    pub copied_bytes_per_s: Option<f64>,
    /// Multiply-accumulates that a core starts in a cycle, at most.
    pub macs_per_cycle: f64,
}

impl KnownBoard {
    /// Nanoseconds for a byte that is read or written, if known.
    pub fn ns_per_byte(&self) -> Option<f64> {
        Some(1e9 / (2.0 * self.copied_bytes_per_s?))
    }
}

/// Nanoseconds of an instruction if `n` are issued in every cycle.
const fn issued_ns(n: f64, clock_ghz: f64) -> f64 {
    1.0 / (n * clock_ghz)
}

/// Instructions that a core issues in a cycle of code that waits for loads and branches: one in two cycles.
pub const MIN_ISSUED: f64 = 0.5;

/// Raspberry Pi 5 (four Cortex-A76).
pub const RPI5: &str = "cortex-a76-rpi5";
/// Raspberry Pi 4 (four Cortex-A72).
pub const RPI4: &str = "cortex-a72-rpi4";
/// NXP i.MX 93 (two Cortex-A55).
pub const IMX93: &str = "cortex-a55-imx93";
/// NXP i.MX 8M Plus (four Cortex-A53).
pub const IMX8MP: &str = "cortex-a53-imx8mp";
/// STM32MP157 (two Cortex-A7).
pub const MP1: &str = "cortex-a7-stm32mp157";

const MIB: f64 = 1024.0 * 1024.0;

/// Rates of copies: `memcpy` in the table `Results.md` of github ThomasKaiser/sbc-bench, of a Raspberry Pi 5 at 2.4 GHz
/// with kernel 6.1, and the mean of the two rows of a Raspberry Pi 4 at 1.5 GHz.
pub const BOARDS: [KnownBoard; 5] = [
    KnownBoard {
        target: RPI5,
        device: "Raspberry Pi 5 (Arm Cortex-A76)",
        counted_as: RPI5,
        n_cores: 4,
        min_instruction_ns: issued_ns(4.0, 2.4),
        max_interpreter_ns: issued_ns(MIN_ISSUED, 2.4),
        cached_bytes: 2.0 * MIB,
        copied_bytes_per_s: Some(5.27e9),
        macs_per_cycle: 32.0,
    },
    KnownBoard {
        target: RPI4,
        device: "Raspberry Pi 4 (Arm Cortex-A72)",
        counted_as: RPI4,
        n_cores: 4,
        min_instruction_ns: issued_ns(3.0, 1.5),
        max_interpreter_ns: issued_ns(MIN_ISSUED, 1.5),
        cached_bytes: MIB,
        copied_bytes_per_s: Some(2.505e9),
        macs_per_cycle: 16.0,
    },
    KnownBoard {
        target: IMX93,
        device: "NXP i.MX 93 (Arm Cortex-A55)",
        counted_as: RPI5,
        n_cores: 2,
        min_instruction_ns: issued_ns(2.0, 1.7),
        max_interpreter_ns: issued_ns(MIN_ISSUED, 1.7),
        cached_bytes: 0.0,
        copied_bytes_per_s: None,
        macs_per_cycle: 16.0,
    },
    KnownBoard {
        target: IMX8MP,
        device: "NXP i.MX 8M Plus (Arm Cortex-A53)",
        counted_as: RPI4,
        n_cores: 4,
        min_instruction_ns: issued_ns(2.0, 1.8),
        max_interpreter_ns: issued_ns(MIN_ISSUED, 1.8),
        cached_bytes: 0.0,
        copied_bytes_per_s: None,
        macs_per_cycle: 8.0,
    },
    KnownBoard {
        target: MP1,
        device: "ST STM32MP157 (Arm Cortex-A7, 2 threads)",
        counted_as: RPI4,
        n_cores: 2,
        // By both cores: its latencies are those of two threads.
        min_instruction_ns: issued_ns(4.0, 0.8),
        max_interpreter_ns: issued_ns(MIN_ISSUED, 0.8),
        cached_bytes: 0.0,
        copied_bytes_per_s: None,
        macs_per_cycle: 8.0,
    },
];
