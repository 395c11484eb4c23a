//! Devices whose compilers are closed, and the ways to run a network on them.

/// A program that compiles a network for an NPU and runs it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Runtime {
    LiteRt,
    Qnn,
    OnnxRuntime,
    Rknn,
    Hobot,
    Pulsar2,
    TensorRt,
}

impl Runtime {
    /// In the order in which a device is asked for the one that a target without a name of one has.
    pub const ALL: [Self; 7] = [
        Self::LiteRt,
        Self::Qnn,
        Self::OnnxRuntime,
        Self::Rknn,
        Self::Hobot,
        Self::Pulsar2,
        Self::TensorRt,
    ];

    /// Behind the `@` of an id.
    pub fn id(self) -> &'static str {
        match self {
            Self::LiteRt => "litert",
            Self::Qnn => "qnn",
            Self::OnnxRuntime => "onnxruntime",
            Self::Rknn => "rknn",
            Self::Hobot => "hobot",
            Self::Pulsar2 => "pulsar2",
            Self::TensorRt => "tensorrt",
        }
    }

    pub fn words(self) -> &'static str {
        match self {
            Self::LiteRt => "LiteRT with QNN",
            Self::Qnn => "QNN",
            Self::OnnxRuntime => "ONNX Runtime with QNN",
            Self::Rknn => "RKNN",
            Self::Hobot => "D-Robotics' BPU runtime",
            Self::Pulsar2 => "Pulsar2",
            Self::TensorRt => "TensorRT",
        }
    }

    /// Whether it compiles for Qualcomm's Hexagon, whose slow operators are known.
    pub fn is_of_hexagon(self) -> bool {
        matches!(self, Self::LiteRt | Self::Qnn | Self::OnnxRuntime)
    }

    /// How much operators count that can run beside the longest chain of others. Hexagon runs branches of a network at once.
    pub fn share_beside(self) -> f64 {
        if self.is_of_hexagon() { 0.4 } else { 1.0 }
    }

    /// Position in `Run::elsewhere` of what a measurement under `there` is worth: under the same runtime, or under another one
    /// of the same maker; `None` if it is another maker's.
    pub fn relation(self, there: Self) -> Option<usize> {
        let is_of_same_maker = self == there || self.is_of_hexagon() && there.is_of_hexagon();
        is_of_same_maker.then_some(usize::from(self != there))
    }
}

/// NumberFormat that the hardware computes with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NumberFormat {
    /// 16-bit floats, whatever floats the file has.
    Float,
    /// 8-bit weights and activations.
    Int8,
    /// 8-bit weights and 16-bit activations.
    Int16,
}

impl NumberFormat {
    pub const ALL: [Self; 3] = [Self::Float, Self::Int8, Self::Int16];

    /// As the measurements call them.
    pub fn id(self) -> &'static str {
        match self {
            Self::Float => "float",
            Self::Int8 => "w8a8",
            Self::Int16 => "w8a16",
        }
    }

    /// Bytes of an activation.
    pub fn activation_bytes(self) -> f64 {
        match self {
            Self::Float | Self::Int16 => 2.0,
            Self::Int8 => 1.0,
        }
    }

    pub fn words(self) -> &'static str {
        match self {
            Self::Float => "float16",
            Self::Int8 => "w8a8 (8-bit weights and activations)",
            Self::Int16 => "w8a16 (8-bit weights, 16-bit activations)",
        }
    }
}

/// A way to run networks: the runtime, and the numbers where they are not those of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Way {
    pub runtime: Runtime,
    pub numbers: Option<NumberFormat>,
    /// Behind the `@` of an id.
    pub id: &'static str,
}

/// Every way, in the order in which a device has them.
pub const WAYS: &[Way] = &[
    Way {
        runtime: Runtime::LiteRt,
        numbers: None,
        id: "litert",
    },
    Way {
        runtime: Runtime::Qnn,
        numbers: None,
        id: "qnn",
    },
    Way {
        runtime: Runtime::Qnn,
        numbers: Some(NumberFormat::Int16),
        id: "qnn-w8a16",
    },
    Way {
        runtime: Runtime::OnnxRuntime,
        numbers: None,
        id: "onnxruntime",
    },
    Way {
        runtime: Runtime::OnnxRuntime,
        numbers: Some(NumberFormat::Int16),
        id: "onnxruntime-w8a16",
    },
    Way {
        runtime: Runtime::Rknn,
        numbers: None,
        id: "rknn",
    },
    Way {
        runtime: Runtime::Hobot,
        numbers: None,
        id: "hobot",
    },
    Way {
        runtime: Runtime::Pulsar2,
        numbers: None,
        id: "pulsar2",
    },
    Way {
        runtime: Runtime::TensorRt,
        numbers: None,
        id: "tensorrt",
    },
];

/// What was measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Device {
    /// Id of the target.
    pub id: &'static str,
    /// In words.
    pub device: &'static str,
    /// What people type for it: names of the chip and of devices that have it.
    pub aliases: &'static [&'static str],
}

const fn device(
    id: &'static str,
    device: &'static str,
    aliases: &'static [&'static str],
) -> Device {
    Device {
        id,
        device,
        aliases,
    }
}

/// Every device that constants may be of.
pub const DEVICES: &[Device] = &[
    device(
        "galaxy-s22",
        "Samsung Galaxy S22 (Snapdragon 8 Gen 1), Hexagon NPU",
        &["Snapdragon 8 Gen 1", "SM8450", "Galaxy S22"],
    ),
    device(
        "galaxy-s24",
        "Samsung Galaxy S24 (Snapdragon 8 Gen 3), Hexagon NPU",
        &["Snapdragon 8 Gen 3", "SM8650", "Galaxy S24"],
    ),
    device(
        "galaxy-s25",
        "Samsung Galaxy S25 (Snapdragon 8 Elite), Hexagon NPU",
        &["Snapdragon 8 Elite", "SM8750", "Galaxy S25"],
    ),
    device(
        "galaxy-s26",
        "Samsung Galaxy S26 (Snapdragon 8 Elite Gen 5), Hexagon NPU",
        &["Snapdragon 8 Elite Gen 5", "SM8850", "Galaxy S26"],
    ),
    device(
        "qcs8550",
        "Qualcomm QCS8550 (Snapdragon 8 Gen 2), Hexagon NPU",
        &["Snapdragon 8 Gen 2", "SM8550", "Galaxy S23"],
    ),
    device(
        "snapdragon-7-gen-4",
        "Snapdragon 7 Gen 4 reference phone, Hexagon NPU",
        &["Snapdragon 7 Gen 4", "SM7750"],
    ),
    device(
        "snapdragon-x-elite",
        "Snapdragon X Elite laptop, Hexagon NPU",
        &["X Elite", "X1E80100", "Copilot+ PC"],
    ),
    device(
        "snapdragon-x2-elite",
        "Snapdragon X2 Elite laptop, Hexagon NPU",
        &["X2 Elite"],
    ),
    device(
        "iq-9075",
        "Dragonwing IQ-9075 EVK (QCS9075), Hexagon NPU",
        &["QCS9075", "IQ9"],
    ),
    device(
        "ventuno-q",
        "Arduino VENTUNO Q (QCS8275), Hexagon NPU",
        &["QCS8275", "IQ-8275", "Arduino VENTUNO Q"],
    ),
    device(
        "rb3-gen-2",
        "Dragonwing RB3 Gen 2 (QCS6490), Hexagon NPU",
        &["QCS6490", "RB3", "Rubik Pi 3"],
    ),
    device(
        "q-6690",
        "Dragonwing Q-6690 (QCM6690), Hexagon NPU",
        &["QCM6690"],
    ),
    device(
        "sa8775p",
        "Qualcomm SA8775P automotive board, Hexagon NPU",
        &["SA8775"],
    ),
    device(
        "sa8295p",
        "Qualcomm SA8295P automotive board, Hexagon NPU",
        &["SA8295"],
    ),
    device(
        "sa8255p",
        "Qualcomm SA8255P automotive board, Hexagon NPU",
        &["SA8255"],
    ),
    device(
        "sa7255p",
        "Qualcomm SA7255P automotive board, Hexagon NPU",
        &["SA7255"],
    ),
    device(
        "rk3588",
        "Rockchip RK3588, one NPU core",
        &["RK3588S", "Orange Pi 5", "Orange Pi 5 Plus", "Rock 5B"],
    ),
    device(
        "rk3576",
        "Rockchip RK3576, one NPU core",
        &["Rock 4D", "NanoPi M5"],
    ),
    device(
        "rk3568",
        "Rockchip RK3566 and RK3568, NPU",
        &["RK3566", "Orange Pi 3B", "Rock 3A", "Radxa Zero 3"],
    ),
    device("rk3562", "Rockchip RK3562, NPU", &["RK3562J"]),
    device(
        "rdk-x5",
        "D-Robotics RDK X5, BPU",
        &["D-Robotics RDK X5", "Sunrise 5"],
    ),
    device("ax650n", "Axera AX650N, one NPU core", &["AX650"]),
    device(
        "jetson-orin-nano",
        "NVIDIA Jetson Orin Nano (8 GB)",
        &["Orin Nano", "Jetson Orin Nano", "Orin Nano 8GB"],
    ),
    device(
        "jetson-orin-nx",
        "NVIDIA Jetson Orin NX (16 GB)",
        &["Orin NX", "Jetson Orin NX", "Orin NX 16GB"],
    ),
    device(
        "jetson-agx-orin",
        "NVIDIA Jetson AGX Orin (64 GB)",
        &["AGX Orin", "Jetson AGX Orin", "Jetson Orin AGX"],
    ),
    device(
        "jetson-agx-orin-32gb",
        "NVIDIA Jetson AGX Orin (32 GB)",
        &["AGX Orin 32GB", "Jetson AGX Orin 32GB"],
    ),
    device(
        "jetson-xavier-nx",
        "NVIDIA Jetson Xavier NX (8 GB)",
        &["Xavier NX", "Jetson Xavier NX"],
    ),
];

/// Key of the constants of a device under a runtime and with numbers.
pub fn run_id(device: &str, runtime: Runtime, numbers: NumberFormat) -> String {
    format!("{device}@{}-{}", runtime.id(), numbers.id())
}
