/** What targets and metrics are, as the engine says: written by UPDATE_GOLDENS=1 cargo test --test catalogue. */
import type { Family, MetricWords, TargetDescription } from "../types/index.d.ts";

type Described = Omit<TargetDescription, "family"> & { family: string };

/** By their ids, in the order of the engine. */
export const FAMILIES: Readonly<Record<string, Family>> = {
  "ethos-u": {"group":null,"id":"ethos-u","is_accelerator":true,"label":"Arm Ethos-U NPUs"},
  "processors": {"group":null,"id":"processors","is_accelerator":false,"label":"Processors"},
  "edge-tpu": {"group":null,"id":"edge-tpu","is_accelerator":true,"label":"Edge TPU"},
  "any-microcontroller": {"group":null,"id":"any-microcontroller","is_accelerator":false,"label":"Any microcontroller"},
  "microcontrollers": {"group":"Cortex-M and ESP32 boards that were measured","id":"microcontrollers","is_accelerator":false,"label":"Microcontrollers"},
  "gpus": {"group":"under PyTorch, with batch and training","id":"gpus","is_accelerator":false,"label":"GPUs"},
};

/** Every target that the engine can have, GPUs too, by its id. */
export const TARGETS: Readonly<Record<string, Described>> = {
  "ethos-u55-32": {"advice":["larger-sram","smaller-accelerator"],"aliases":[],"channel_step":16,"family":"ethos-u","options":["clock","memories","host"],"release":"5.2.0","runtime":"Vela","short_label":"Ethos-U55-32"},
  "ethos-u55-64": {"advice":["larger-sram","smaller-accelerator"],"aliases":[],"channel_step":16,"family":"ethos-u","options":["clock","memories","host"],"release":"5.2.0","runtime":"Vela","short_label":"Ethos-U55-64"},
  "ethos-u55-128": {"advice":["larger-sram","smaller-accelerator"],"aliases":[],"channel_step":16,"family":"ethos-u","options":["clock","memories","host"],"release":"5.2.0","runtime":"Vela","short_label":"Ethos-U55-128"},
  "ethos-u55-256": {"advice":["larger-sram","smaller-accelerator"],"aliases":[],"channel_step":16,"family":"ethos-u","options":["clock","memories","host"],"release":"5.2.0","runtime":"Vela","short_label":"Ethos-U55-256"},
  "ethos-u65-256": {"advice":["larger-sram","smaller-accelerator"],"aliases":[],"channel_step":16,"family":"ethos-u","options":["clock","memories","host"],"release":"5.2.0","runtime":"Vela","short_label":"Ethos-U65-256"},
  "ethos-u65-512": {"advice":["larger-sram","smaller-accelerator"],"aliases":[],"channel_step":16,"family":"ethos-u","options":["clock","memories","host"],"release":"5.2.0","runtime":"Vela","short_label":"Ethos-U65-512"},
  "ethos-u85-128": {"advice":["larger-sram","smaller-accelerator"],"aliases":[],"channel_step":16,"family":"ethos-u","options":["clock","memories","host"],"release":"5.2.0","runtime":"Vela","short_label":"Ethos-U85-128"},
  "ethos-u85-256": {"advice":["larger-sram","smaller-accelerator"],"aliases":[],"channel_step":16,"family":"ethos-u","options":["clock","memories","host"],"release":"5.2.0","runtime":"Vela","short_label":"Ethos-U85-256"},
  "ethos-u85-512": {"advice":["larger-sram","smaller-accelerator"],"aliases":[],"channel_step":16,"family":"ethos-u","options":["clock","memories","host"],"release":"5.2.0","runtime":"Vela","short_label":"Ethos-U85-512"},
  "ethos-u85-1024": {"advice":["larger-sram","smaller-accelerator"],"aliases":[],"channel_step":16,"family":"ethos-u","options":["clock","memories","host"],"release":"5.2.0","runtime":"Vela","short_label":"Ethos-U85-1024"},
  "ethos-u85-2048": {"advice":["larger-sram","smaller-accelerator"],"aliases":[],"channel_step":16,"family":"ethos-u","options":["clock","memories","host"],"release":"5.2.0","runtime":"Vela","short_label":"Ethos-U85-2048"},
  "cortex-a76-rpi5": {"advice":[],"aliases":["raspberry-pi-5","rpi5"],"channel_step":null,"family":"processors","options":["threads"],"release":"","runtime":"LiteRT with XNNPACK","short_label":"Raspberry Pi 5 (Arm Cortex-A76)"},
  "cortex-a72-rpi4": {"advice":[],"aliases":["raspberry-pi-4","rpi4"],"channel_step":null,"family":"processors","options":["threads"],"release":"","runtime":"LiteRT with XNNPACK","short_label":"Raspberry Pi 4 (Arm Cortex-A72)"},
  "cortex-a55-imx93": {"advice":[],"aliases":["imx93","i.MX 93"],"channel_step":null,"family":"processors","options":["threads"],"release":"","runtime":"LiteRT with XNNPACK","short_label":"NXP i.MX 93 (Arm Cortex-A55)"},
  "cortex-a53-imx8mp": {"advice":[],"aliases":["imx8mp","i.MX 8M Plus"],"channel_step":null,"family":"processors","options":["threads"],"release":"","runtime":"LiteRT with XNNPACK","short_label":"NXP i.MX 8M Plus (Arm Cortex-A53)"},
  "cortex-a7-stm32mp157": {"advice":[],"aliases":["stm32mp1"],"channel_step":null,"family":"processors","options":["threads"],"release":"","runtime":"LiteRT with XNNPACK","short_label":"ST STM32MP157 (Arm Cortex-A7)"},
  "edgetpu-coral-dev-board": {"advice":["resident-weights"],"aliases":["coral","edge-tpu"],"channel_step":64,"family":"edge-tpu","options":[],"release":"","runtime":"Coral's compiler","short_label":"Edge TPU"},
  "tflite-micro": {"advice":[],"aliases":[],"channel_step":null,"family":"any-microcontroller","options":[],"release":"","runtime":"TensorFlow Lite Micro","short_label":"Any microcontroller"},
  "cortex-m7-stm32h747": {"advice":[],"aliases":[],"channel_step":null,"family":"microcontrollers","options":["clock"],"release":"10.0","releases":["7","7-time","8","8-time","9","9-time","10","10-time"],"runtime":"ST Edge AI Core (Cube.AI)","short_label":"STM32H747I-DISCO, Cortex-M7"},
  "cortex-m33-stm32u585": {"advice":[],"aliases":[],"channel_step":null,"family":"microcontrollers","options":["clock"],"release":"10.0","releases":["7","7-time","8","8-time","9","9-time","10","10-time"],"runtime":"ST Edge AI Core (Cube.AI)","short_label":"B-U585I-IOT02A, Cortex-M33"},
  "cortex-m33-stm32u385": {"advice":[],"aliases":[],"channel_step":null,"family":"microcontrollers","options":["clock"],"release":"10.2 with -O time","releases":["7","7-time","8","8-time","9","9-time","10","10-time"],"runtime":"ST Edge AI Core (Cube.AI)","short_label":"NUCLEO-U385RG-Q, Cortex-M33"},
  "cortex-m4-stm32l4r5": {"advice":[],"aliases":[],"channel_step":null,"family":"microcontrollers","options":["clock"],"release":"10.2 with -O time","releases":["7","7-time","8","8-time","9","9-time","10","10-time"],"runtime":"ST Edge AI Core (Cube.AI)","short_label":"NUCLEO-L4R5ZI, Cortex-M4"},
  "cortex-m7-tflm": {"advice":[],"aliases":[],"channel_step":null,"family":"microcontrollers","options":["clock"],"release":"2024","runtime":"TensorFlow Lite Micro with CMSIS-NN","short_label":"i.MX RT1050 and RT1170, Cortex-M7"},
  "cortex-m33-tflm": {"advice":[],"aliases":[],"channel_step":null,"family":"microcontrollers","options":["clock"],"release":"2022 to 2024","runtime":"TensorFlow Lite Micro with CMSIS-NN","short_label":"EK-RA6M4 and FRDM-MCXN947, Cortex-M33"},
  "cortex-m4-tflm": {"advice":[],"aliases":[],"channel_step":null,"family":"microcontrollers","options":["clock"],"release":"2026","runtime":"TensorFlow Lite Micro with CMSIS-NN","short_label":"Arduino Nano 33 BLE, Cortex-M4"},
  "cortex-m0plus-tflm": {"advice":[],"aliases":[],"channel_step":null,"family":"microcontrollers","options":["clock"],"release":"2026","runtime":"TensorFlow Lite Micro with CMSIS-NN","short_label":"Cortex-M0+"},
  "esp32-tflm": {"advice":[],"aliases":[],"channel_step":null,"family":"microcontrollers","options":["clock"],"release":"2026","runtime":"TensorFlow Lite Micro with ESP-NN","short_label":"ESP32 DevKit, one Xtensa LX6 core"},
  "stm32n6": {"advice":[],"aliases":[],"channel_step":null,"family":"microcontrollers","options":["clock"],"release":"2.0","runtime":"ST Edge AI Core on the Neural-ART NPU","short_label":"STM32N6570-DK, Neural-ART NPU"},
  "rtx-3090": {"advice":[],"aliases":[],"channel_step":null,"family":"gpus","options":["batch"],"release":"","runtime":"PyTorch 2.4, CUDA 12.4, AMP, channels first","short_label":"NVIDIA GeForce RTX 3090"},
  "rtx-3090-channels-last": {"advice":[],"aliases":[],"channel_step":null,"family":"gpus","options":["batch"],"release":"","runtime":"PyTorch 2.4, CUDA 12.4, AMP, channels last","short_label":"NVIDIA GeForce RTX 3090, channels last"},
  "rtx-4090": {"advice":[],"aliases":[],"channel_step":null,"family":"gpus","options":["batch"],"release":"","runtime":"PyTorch 2.9, CUDA 12.8, AMP, channels first","short_label":"NVIDIA GeForce RTX 4090"},
  "rtx-4090-compiled": {"advice":[],"aliases":[],"channel_step":null,"family":"gpus","options":["batch"],"release":"","runtime":"PyTorch 2.9, CUDA 12.8, torch.compile, AMP, channels first","short_label":"NVIDIA GeForce RTX 4090, torch.compile"},
  "rtx-5090": {"advice":[],"aliases":[],"channel_step":null,"family":"gpus","options":["batch"],"release":"","runtime":"PyTorch 2.9, CUDA 13.0, AMP, channels first","short_label":"NVIDIA GeForce RTX 5090"},
  "rtx-5090-compiled": {"advice":[],"aliases":[],"channel_step":null,"family":"gpus","options":["batch"],"release":"","runtime":"PyTorch 2.9, CUDA 13.0, torch.compile, AMP, channels first","short_label":"NVIDIA GeForce RTX 5090, torch.compile"},
  "rtx-pro-6000-max-q": {"advice":[],"aliases":[],"channel_step":null,"family":"gpus","options":["batch"],"release":"","runtime":"PyTorch 2.9, CUDA 13.0, AMP, channels first","short_label":"NVIDIA RTX PRO 6000 Blackwell Max-Q"},
  "rtx-pro-6000-max-q-compiled": {"advice":[],"aliases":[],"channel_step":null,"family":"gpus","options":["batch"],"release":"","runtime":"PyTorch 2.9, CUDA 13.0, torch.compile, AMP, channels first","short_label":"NVIDIA RTX PRO 6000 Blackwell Max-Q, torch.compile"},
  "rtx-pro-6000-max-q-compiled-bfloat16": {"advice":[],"aliases":[],"channel_step":null,"family":"gpus","options":["batch"],"release":"","runtime":"PyTorch 2.9, CUDA 13.0, torch.compile, bfloat16, channels first","short_label":"NVIDIA RTX PRO 6000 Blackwell Max-Q, torch.compile, bfloat16"},
  "a100-40gb": {"advice":[],"aliases":[],"channel_step":null,"family":"gpus","options":["batch"],"release":"","runtime":"PyTorch 2.4, CUDA 12.4, AMP, channels first","short_label":"NVIDIA A100 40 GB"},
  "h100-80gb": {"advice":[],"aliases":[],"channel_step":null,"family":"gpus","options":["batch"],"release":"","runtime":"PyTorch 2.11, CUDA 13.0, AMP, channels first","short_label":"NVIDIA H100 80 GB (SXM)"},
  "v100-float32": {"advice":[],"aliases":[],"channel_step":null,"family":"gpus","options":["batch"],"release":"","runtime":"PyTorch, float32 without TF32","short_label":"NVIDIA V100 32 GB, float32"},
  "t4-float32": {"advice":[],"aliases":[],"channel_step":null,"family":"gpus","options":["batch"],"release":"","runtime":"PyTorch, float32 without TF32","short_label":"NVIDIA T4, float32"},
  "p100-float32": {"advice":[],"aliases":[],"channel_step":null,"family":"gpus","options":["batch"],"release":"","runtime":"PyTorch, float32 without TF32","short_label":"NVIDIA P100 16 GB, float32"},
  "p4-float32": {"advice":[],"aliases":[],"channel_step":null,"family":"gpus","options":["batch"],"release":"","runtime":"PyTorch, float32 without TF32","short_label":"NVIDIA P4, float32"},
  "titan-rtx-float32": {"advice":[],"aliases":[],"channel_step":null,"family":"gpus","options":["batch"],"release":"","runtime":"PyTorch, float32 without TF32","short_label":"NVIDIA Titan RTX, float32"},
  "rtx-2080-ti-float32": {"advice":[],"aliases":[],"channel_step":null,"family":"gpus","options":["batch"],"release":"","runtime":"PyTorch, float32 without TF32","short_label":"NVIDIA GeForce RTX 2080 Ti, float32"},
  "titan-xp-float32": {"advice":[],"aliases":[],"channel_step":null,"family":"gpus","options":["batch"],"release":"","runtime":"PyTorch, float32 without TF32","short_label":"NVIDIA Titan Xp, float32"},
  "titan-x-float32": {"advice":[],"aliases":[],"channel_step":null,"family":"gpus","options":["batch"],"release":"","runtime":"PyTorch, float32 without TF32","short_label":"NVIDIA Titan X (Pascal), float32"},
  "gtx-1080-ti-float32": {"advice":[],"aliases":[],"channel_step":null,"family":"gpus","options":["batch"],"release":"","runtime":"PyTorch, float32 without TF32","short_label":"NVIDIA GeForce GTX 1080 Ti, float32"},
};

/** In the order in which they are read. */
export const METRICS: Readonly<Record<string, MetricWords>> = {
  "latency": {"label":"Latency","meaning":"Time of one inference of the whole network, with the operators that stay on the CPU","unit":"ms"},
  "npu_latency": {"label":"NPU part, by its compiler","meaning":"The NPU's part of the latency, as its compiler estimates it","unit":"ms"},
  "throughput": {"label":"Throughput","meaning":"Inferences a second at this batch","unit":"inferences/s"},
  "training_step": {"label":"Training step","meaning":"Time of one training step of a batch: forward, backward and optimiser","unit":"ms"},
  "energy": {"label":"Energy","meaning":"Energy of one inference","unit":"mJ"},
  "sram_peak": {"label":"SRAM peak","meaning":"Most on-chip memory in use at once","unit":"bytes"},
  "arena": {"label":"Tensor arena","meaning":"Memory that AllocateTensors of TensorFlow Lite Micro needs: activations, working buffers of kernels, and what the interpreter keeps","unit":"bytes"},
  "activation_ram": {"label":"Activation RAM","meaning":"RAM of the program that ST Edge AI makes of the network, for its activations","unit":"bytes"},
  "weights_flash": {"label":"Weights in flash","meaning":"Flash that the network takes: the whole file under an interpreter, otherwise its weights","unit":"bytes"},
  "memory": {"label":"Memory","meaning":"Memory of the process on the GPU for inference at this batch, counted by rules","unit":"bytes"},
  "training_memory": {"label":"Training memory","meaning":"The same for training with Adam","unit":"bytes"},
  "sm_utilization": {"label":"GPU busy","meaning":"Share of the latency in which a kernel runs","unit":"%"},
  "offchip_traffic": {"label":"Off-chip traffic","meaning":"Bytes that one inference moves to and from off-chip memory","unit":"bytes"},
  "sram_traffic": {"label":"SRAM traffic","meaning":"Bytes that one inference moves to and from on-chip memory","unit":"bytes"},
};
