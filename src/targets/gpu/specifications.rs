//! Figures of GPUs from their data sheets.

/// One GPU.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gpu {
    /// Id of the target.
    pub id: &'static str,
    /// In words.
    pub device: &'static str,
    pub multiprocessors: u32,
    /// Multiply-accumulates per second on tensor cores, for dense float16 products with float32 sums.
    pub macs_per_s: f64,
    pub bytes_per_s: f64,
    pub memory_bytes: f64,
    /// Size of the level 2 cache.
    pub cache_bytes: f64,
    /// Power that the board may take.
    pub board_watts: f64,
}

const GIB: f64 = (1u64 << 30) as f64;

/// NVIDIA's architecture white papers (Ampere GA102, Ada, Blackwell, A100) and data sheets.
pub const GPUS: &[Gpu] = &[
    Gpu {
        id: "rtx-3090",
        device: "NVIDIA GeForce RTX 3090",
        multiprocessors: 82,
        macs_per_s: 35.6e12,
        bytes_per_s: 936e9,
        memory_bytes: 24.0 * GIB,
        cache_bytes: 6e6,
        board_watts: 350.0,
    },
    Gpu {
        id: "rtx-3090-channels-last",
        device: "NVIDIA GeForce RTX 3090, channels last",
        multiprocessors: 82,
        macs_per_s: 35.6e12,
        bytes_per_s: 936e9,
        memory_bytes: 24.0 * GIB,
        cache_bytes: 6e6,
        board_watts: 350.0,
    },
    Gpu {
        id: "rtx-4090",
        device: "NVIDIA GeForce RTX 4090",
        multiprocessors: 128,
        macs_per_s: 82.6e12,
        bytes_per_s: 1008e9,
        memory_bytes: 24.0 * GIB,
        cache_bytes: 72e6,
        board_watts: 450.0,
    },
    Gpu {
        id: "rtx-5090",
        device: "NVIDIA GeForce RTX 5090",
        multiprocessors: 170,
        macs_per_s: 104.8e12,
        bytes_per_s: 1792e9,
        memory_bytes: 32.0 * GIB,
        cache_bytes: 96e6,
        board_watts: 575.0,
    },
    Gpu {
        id: "rtx-pro-6000-max-q",
        device: "NVIDIA RTX PRO 6000 Blackwell Max-Q",
        multiprocessors: 188,
        macs_per_s: 110e12,
        bytes_per_s: 1792e9,
        memory_bytes: 96.0 * GIB,
        cache_bytes: 128e6,
        board_watts: 300.0,
    },
    Gpu {
        id: "a100-40gb",
        device: "NVIDIA A100 40 GB",
        multiprocessors: 108,
        macs_per_s: 156e12,
        bytes_per_s: 1555e9,
        memory_bytes: 40.0 * GIB,
        cache_bytes: 40e6,
        board_watts: 400.0,
    },
];

impl Gpu {
    pub fn by_id(id: &str) -> Option<&'static Self> {
        GPUS.iter().find(|gpu| gpu.id == id)
    }
}
