//! Figures of GPUs from their data sheets.

/// What a framework computes in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ComputePrecision {
    /// PyTorch's automatic mixed precision: products in float16, and normalisations and softmaxes in float32.
    Amp,
    /// Everything in bfloat16, weights included.
    Bfloat16,
    /// Everything in float32, without TF32.
    Float32,
}

impl ComputePrecision {
    /// In the words of a provenance.
    pub fn words(self) -> &'static str {
        match self {
            Self::Amp => "AMP",
            Self::Bfloat16 => "bfloat16",
            Self::Float32 => "float32",
        }
    }

    /// Multiply-accumulates of a convolution for each one that the hardware does. In float32, cuDNN convolves by
    /// Winograd's F(4×4, 3×3), which needs a quarter of the multiplications; tensor cores have no such kernels.
    pub fn max_macs_per_multiply(self) -> f64 {
        match self {
            Self::Amp | Self::Bfloat16 => 1.0,
            Self::Float32 => 4.0,
        }
    }

    /// Bytes of a value that a product reads.
    pub fn bytes_per_value(self) -> f64 {
        match self {
            Self::Amp | Self::Bfloat16 => 2.0,
            Self::Float32 => 4.0,
        }
    }
}

/// Where the channels of a convolution's maps lie in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// The network's channels lie first, and each convolution has the order of what it reads
    /// ([`Kernel::is_permuted`](super::kernels::Kernel::is_permuted)).
    First,
    /// All networks were made channels last.
    Last,
    /// `torch.compile` decides for each network
    /// ([`is_compiled_channels_last`](super::kernels::is_compiled_channels_last)).
    Compiled,
}

/// One GPU under one configuration of a framework.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gpu {
    /// Id of the target.
    pub id: &'static str,
    /// In words.
    pub device: &'static str,
    pub precision: ComputePrecision,
    pub layout: Layout,
    pub board: Board,
}

impl Gpu {
    /// Whether values are float32 or float16 as automatic mixed precision chooses, and products cast their operands.
    /// `torch.compile` makes both part of the kernels before them.
    pub fn is_mixed(&self) -> bool {
        self.precision == ComputePrecision::Amp && self.layout != Layout::Compiled
    }
}

/// Figures of a data sheet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Board {
    pub multiprocessors: u32,
    /// Multiply-accumulates per second in the precision of the targets with this board: those of tensor cores for dense
    /// float16 products with float32 sums, or those of the multiprocessors in float32.
    pub macs_per_s: f64,
    pub bytes_per_s: f64,
    pub memory_bytes: f64,
    /// Size of the level 2 cache.
    pub cache_bytes: f64,
    /// Power that the board may take.
    pub board_watts: f64,
}

/// Lowest, assumed and highest share of the board's power that a GPU takes while kernels run: on an H100, 90 % of the
/// networks took 0.6 to 1.0 of it, and 0.72 in the median. NVIDIA's power limit bounds it by 1.
pub const BUSY_POWER: [f64; 3] = [0.45, 0.72, 1.0];
/// The same while none runs; an H100 with a context takes 0.14 to 0.16.
pub const IDLE_POWER: [f64; 3] = [0.1, 0.14, 0.2];

impl Board {
    /// Lowest, assumed and highest power when kernels run in a share `busy` of the time.
    pub fn watts(&self, busy: f64) -> [f64; 3] {
        std::array::from_fn(|idx| {
            let (busy_power, idle_power) = (BUSY_POWER[idx], IDLE_POWER[idx]);
            self.board_watts * (idle_power + (busy_power - idle_power) * busy)
        })
    }
}

const GIB: f64 = (1u64 << 30) as f64;

/// NVIDIA's architecture white papers (Pascal, Volta, Turing, Ampere GA102 and A100, Ada, Hopper, Blackwell) and data sheets.
pub const GPUS: &[Gpu] = &[
    Gpu {
        id: "rtx-3090",
        device: "NVIDIA GeForce RTX 3090",
        precision: ComputePrecision::Amp,
        layout: Layout::First,
        board: RTX_3090,
    },
    Gpu {
        id: "rtx-3090-channels-last",
        device: "NVIDIA GeForce RTX 3090, channels last",
        precision: ComputePrecision::Amp,
        layout: Layout::Last,
        board: RTX_3090,
    },
    Gpu {
        id: "rtx-4090",
        device: "NVIDIA GeForce RTX 4090",
        precision: ComputePrecision::Amp,
        layout: Layout::First,
        board: RTX_4090,
    },
    Gpu {
        id: "rtx-4090-compiled",
        device: "NVIDIA GeForce RTX 4090, torch.compile",
        precision: ComputePrecision::Amp,
        layout: Layout::Compiled,
        board: RTX_4090,
    },
    Gpu {
        id: "rtx-5090",
        device: "NVIDIA GeForce RTX 5090",
        precision: ComputePrecision::Amp,
        layout: Layout::First,
        board: RTX_5090,
    },
    Gpu {
        id: "rtx-5090-compiled",
        device: "NVIDIA GeForce RTX 5090, torch.compile",
        precision: ComputePrecision::Amp,
        layout: Layout::Compiled,
        board: RTX_5090,
    },
    Gpu {
        id: "rtx-pro-6000-max-q",
        device: "NVIDIA RTX PRO 6000 Blackwell Max-Q",
        precision: ComputePrecision::Amp,
        layout: Layout::First,
        board: RTX_PRO_6000_MAX_Q,
    },
    Gpu {
        id: "rtx-pro-6000-max-q-compiled",
        device: "NVIDIA RTX PRO 6000 Blackwell Max-Q, torch.compile",
        precision: ComputePrecision::Amp,
        layout: Layout::Compiled,
        board: RTX_PRO_6000_MAX_Q,
    },
    Gpu {
        id: "rtx-pro-6000-max-q-compiled-bfloat16",
        device: "NVIDIA RTX PRO 6000 Blackwell Max-Q, torch.compile, bfloat16",
        precision: ComputePrecision::Bfloat16,
        layout: Layout::Compiled,
        board: RTX_PRO_6000_MAX_Q,
    },
    Gpu {
        id: "a100-40gb",
        device: "NVIDIA A100 40 GB",
        precision: ComputePrecision::Amp,
        layout: Layout::First,
        board: A100,
    },
    Gpu {
        id: "h100-80gb",
        device: "NVIDIA H100 80 GB (SXM)",
        precision: ComputePrecision::Amp,
        layout: Layout::First,
        board: H100,
    },
    Gpu {
        id: "v100-float32",
        device: "NVIDIA V100 32 GB, float32",
        precision: ComputePrecision::Float32,
        layout: Layout::First,
        board: V100,
    },
    Gpu {
        id: "t4-float32",
        device: "NVIDIA T4, float32",
        precision: ComputePrecision::Float32,
        layout: Layout::First,
        board: T4,
    },
    Gpu {
        id: "p100-float32",
        device: "NVIDIA P100 16 GB, float32",
        precision: ComputePrecision::Float32,
        layout: Layout::First,
        board: P100,
    },
    Gpu {
        id: "p4-float32",
        device: "NVIDIA P4, float32",
        precision: ComputePrecision::Float32,
        layout: Layout::First,
        board: P4,
    },
    Gpu {
        id: "titan-rtx-float32",
        device: "NVIDIA Titan RTX, float32",
        precision: ComputePrecision::Float32,
        layout: Layout::First,
        board: TITAN_RTX,
    },
    Gpu {
        id: "rtx-2080-ti-float32",
        device: "NVIDIA GeForce RTX 2080 Ti, float32",
        precision: ComputePrecision::Float32,
        layout: Layout::First,
        board: RTX_2080_TI,
    },
    Gpu {
        id: "titan-xp-float32",
        device: "NVIDIA Titan Xp, float32",
        precision: ComputePrecision::Float32,
        layout: Layout::First,
        board: TITAN_XP,
    },
    Gpu {
        id: "titan-x-float32",
        device: "NVIDIA Titan X (Pascal), float32",
        precision: ComputePrecision::Float32,
        layout: Layout::First,
        board: TITAN_X,
    },
    Gpu {
        id: "gtx-1080-ti-float32",
        device: "NVIDIA GeForce GTX 1080 Ti, float32",
        precision: ComputePrecision::Float32,
        layout: Layout::First,
        board: GTX_1080_TI,
    },
];

const RTX_3090: Board = Board {
    multiprocessors: 82,
    macs_per_s: 35.6e12,
    bytes_per_s: 936e9,
    memory_bytes: 24.0 * GIB,
    cache_bytes: 6e6,
    board_watts: 350.0,
};

const RTX_4090: Board = Board {
    multiprocessors: 128,
    macs_per_s: 82.6e12,
    bytes_per_s: 1008e9,
    memory_bytes: 24.0 * GIB,
    cache_bytes: 72e6,
    board_watts: 450.0,
};

const RTX_5090: Board = Board {
    multiprocessors: 170,
    macs_per_s: 104.8e12,
    bytes_per_s: 1792e9,
    memory_bytes: 32.0 * GIB,
    cache_bytes: 96e6,
    board_watts: 575.0,
};

const RTX_PRO_6000_MAX_Q: Board = Board {
    multiprocessors: 188,
    macs_per_s: 110e12,
    bytes_per_s: 1792e9,
    memory_bytes: 96.0 * GIB,
    cache_bytes: 128e6,
    board_watts: 300.0,
};

const A100: Board = Board {
    multiprocessors: 108,
    macs_per_s: 156e12,
    bytes_per_s: 1555e9,
    memory_bytes: 40.0 * GIB,
    cache_bytes: 40e6,
    board_watts: 400.0,
};

const H100: Board = Board {
    multiprocessors: 132,
    macs_per_s: 494.7e12,
    bytes_per_s: 3350e9,
    memory_bytes: 80.0 * GIB,
    cache_bytes: 50e6,
    board_watts: 700.0,
};

const P4: Board = Board {
    multiprocessors: 20,
    macs_per_s: 2.75e12,
    bytes_per_s: 192e9,
    memory_bytes: 8.0 * GIB,
    cache_bytes: 2e6,
    board_watts: 75.0,
};

const P100: Board = Board {
    multiprocessors: 56,
    macs_per_s: 4.65e12,
    bytes_per_s: 732e9,
    memory_bytes: 16.0 * GIB,
    cache_bytes: 4e6,
    board_watts: 250.0,
};

const V100: Board = Board {
    multiprocessors: 80,
    macs_per_s: 7.0e12,
    bytes_per_s: 900e9,
    memory_bytes: 32.0 * GIB,
    cache_bytes: 6e6,
    board_watts: 250.0,
};

const T4: Board = Board {
    multiprocessors: 40,
    macs_per_s: 4.05e12,
    bytes_per_s: 320e9,
    memory_bytes: 16.0 * GIB,
    cache_bytes: 4e6,
    board_watts: 70.0,
};

const GTX_1080_TI: Board = Board {
    multiprocessors: 28,
    macs_per_s: 5.67e12,
    bytes_per_s: 484e9,
    memory_bytes: 11.0 * GIB,
    cache_bytes: 2.75e6,
    board_watts: 250.0,
};

const TITAN_X: Board = Board {
    multiprocessors: 28,
    macs_per_s: 5.49e12,
    bytes_per_s: 480e9,
    memory_bytes: 12.0 * GIB,
    cache_bytes: 3e6,
    board_watts: 250.0,
};

const TITAN_XP: Board = Board {
    multiprocessors: 30,
    macs_per_s: 6.07e12,
    bytes_per_s: 547e9,
    memory_bytes: 12.0 * GIB,
    cache_bytes: 3e6,
    board_watts: 250.0,
};

const RTX_2080_TI: Board = Board {
    multiprocessors: 68,
    macs_per_s: 6.72e12,
    bytes_per_s: 616e9,
    memory_bytes: 11.0 * GIB,
    cache_bytes: 5.5e6,
    board_watts: 250.0,
};

const TITAN_RTX: Board = Board {
    multiprocessors: 72,
    macs_per_s: 8.16e12,
    bytes_per_s: 672e9,
    memory_bytes: 24.0 * GIB,
    cache_bytes: 6e6,
    board_watts: 280.0,
};

impl Gpu {
    pub fn by_id(id: &str) -> Option<&'static Self> {
        GPUS.iter().find(|gpu| gpu.id == id)
    }
}
