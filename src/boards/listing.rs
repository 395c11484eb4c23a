//! Every board with its memories, clocks and sources, in the form that programs list.

use serde::Serialize;

use crate::target::boards::{self, Board, BoardMemory, LatencySource};

/// Boards with a microcontroller, and those with an NPU that a choice may name.
#[derive(Clone, Debug, Serialize)]
pub struct Listing {
    microcontrollers: Vec<Microcontroller>,
    npus: Vec<NpuBoard>,
}

#[derive(Clone, Debug, Serialize)]
struct Microcontroller {
    id: &'static str,
    name: &'static str,
    chip: &'static str,
    core: &'static str,
    clock_mhz: f64,
    #[serde(flatten)]
    memory: BoardMemory,
    #[serde(skip_serializing_if = "Option::is_none")]
    npu: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    latency: Option<&'static LatencySource>,
    source: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    contiguous_ram_source: Option<&'static str>,
}

#[derive(Clone, Debug, Serialize)]
struct NpuBoard {
    id: &'static str,
    name: &'static str,
    npu: &'static str,
    npu_clock_mhz: f64,
    host: &'static str,
    host_clock_mhz: Option<f64>,
    sram_bytes: Option<u64>,
    source: &'static str,
}

impl Listing {
    /// The boards of this version, in the order of their table.
    pub fn shipped() -> Self {
        let boards = boards::shipped().iter();
        Self {
            microcontrollers: boards
                .clone()
                .filter_map(Microcontroller::from_board)
                .collect(),
            npus: boards.filter_map(NpuBoard::from_board).collect(),
        }
    }
}

impl Microcontroller {
    fn from_board(board: &'static Board) -> Option<Self> {
        let memory = board.memory?;
        Some(Self {
            id: &board.id,
            name: &board.name,
            chip: &board.chip,
            core: &board.core,
            clock_mhz: board.clock_mhz?,
            memory,
            npu: board.npu.as_deref(),
            latency: board.latency.as_ref(),
            source: &board.source,
            contiguous_ram_source: (board.contiguous_ram_source.as_ref())
                .or(board
                    .checked_with
                    .as_ref()
                    .filter(|_| memory.contiguous_ram_kib.is_some()))
                .map(String::as_str),
        })
    }
}

impl NpuBoard {
    fn from_board(board: &'static Board) -> Option<Self> {
        let npu = board.ethos_u.as_ref()?;
        Some(Self {
            id: &board.id,
            name: &board.name,
            npu: &npu.accelerator,
            npu_clock_mhz: npu.clock_mhz,
            host: &board.core,
            host_clock_mhz: board.clock_mhz,
            sram_bytes: board.memory.map(|memory| memory.sram_kib << 10),
            source: &board.source,
        })
    }
}
