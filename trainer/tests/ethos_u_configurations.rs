//! The table of system configurations and memory modes against the configuration file that Vela installs.

use std::fs;
use std::process::Command;

use crate::common::{python, shared_models};
use litecast::targets::ethos_u::configuration::{Configuration, Product, VelaIni};

#[test]
fn the_table_has_the_figures_of_velas_own_file() {
    let Some(python) = python() else { return };
    let program = "import ethosu.vela.architecture_features as a, os;\
                   print(os.path.join(a.CONFIG_FILES_PATH, 'Arm', 'vela.ini'))";
    let output = Command::new(&python)
        .args(["-c", program])
        .output()
        .expect("the interpreter runs");
    assert!(output.status.success(), "{output:?}");
    let path = String::from_utf8(output.stdout).expect("a path");
    let theirs = VelaIni::parse(&fs::read(path.trim()).expect("Vela's file")).expect("sections");
    let ours = VelaIni::shipped();
    let names = |ini: &VelaIni| -> Vec<String> {
        let sections = ini.system_configurations().chain(ini.memory_modes());
        sections.map(str::to_owned).collect()
    };
    assert_eq!(names(ours), names(&theirs));
    for name in ours.system_configurations() {
        let actual = ours.system_configuration(name).expect("a section of ours");
        let expected = theirs
            .system_configuration(name)
            .expect("a section of Vela's");
        assert_eq!(actual, expected, "{name}");
        for mode in ours.memory_modes() {
            assert_eq!(
                ours.memory_mode(mode, &actual).ok(),
                theirs.memory_mode(mode, &expected).ok(),
                "{mode} in {name}"
            );
        }
    }
}

/// A file that both take.
const SECTIONS: &str = "[System_Config.A]\ncore_clock=1e9\naxi0_port=Sram\naxi1_port=OffChipFlash\n\
                        Sram_clock_scale=1\nOffChipFlash_clock_scale=0.5\n\
                        [Memory_Mode.B]\nconst_mem_area=Axi1\narena_mem_area=Axi0\ncache_mem_area=Axi0\n";

/// Who refuses a changed file.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Refusal {
    /// Neither.
    None,
    /// Both; what is said here begins so.
    Both(&'static str),
    /// What no silicon has, which Vela counts with nevertheless; what is said here begins so.
    OursAlone(&'static str),
}

use Refusal::{Both, OursAlone};

/// What is replaced, by what, and who refuses that.
const CHANGES: [(&str, &str, Refusal); 34] = [
    ("", "", Refusal::None),
    ("Sram_clock_scale=1", "Sram_max_reads=0", Refusal::None),
    ("const_mem_area=Axi1", "const_mem_area=Axi0", Refusal::None),
    (
        "core_clock=1e9",
        "core_clock=fast",
        Both("line 2: core_clock"),
    ),
    ("core_clock=1e9", "core_clock=0", Both("line 2: core_clock")),
    (
        "core_clock=1e9",
        "core_clock=-1",
        OursAlone("line 2: core_clock"),
    ),
    (
        "core_clock=1e9",
        "core_clock=nan",
        OursAlone("line 2: core_clock"),
    ),
    (
        "core_clock=1e9\n",
        "",
        OursAlone("line 1: [System_Config.A]: expected core_clock"),
    ),
    (
        "axi0_port=Sram",
        "axi0_port=SRAM",
        Both("line 3: axi0_port"),
    ),
    (
        "axi0_port=Sram\n",
        "",
        Both("line 1: [System_Config.A]: expected axi0_port"),
    ),
    (
        "axi1_port=OffChipFlash",
        "axi1_port=Dram",
        Both("line 4: axi1_port"),
    ),
    (
        "axi1_port=OffChipFlash",
        "axi1_port=Sram",
        Both("line 8: const_mem_area"),
    ),
    (
        "Sram_clock_scale=1",
        "Sram_burst_length=32.5",
        Both("line 5: Sram_burst_length"),
    ),
    (
        "Sram_clock_scale=1",
        "Sram_burst_length=-4",
        OursAlone("line 5: Sram_burst_length"),
    ),
    (
        "Sram_clock_scale=1",
        "Sram_read_latency=99999999999999999999",
        Both("line 5: Sram_read_latency"),
    ),
    (
        "Sram_clock_scale=1",
        "Sram_read_latency=-1",
        OursAlone("line 5: Sram_read_latency"),
    ),
    (
        "Sram_clock_scale=1",
        "Sram_clock_scale=much",
        Both("line 5: Sram_clock_scale"),
    ),
    (
        "Sram_clock_scale=1",
        "Sram_clock_scale=-2",
        OursAlone("line 5: Sram_clock_scale"),
    ),
    (
        "Sram_clock_scale=1",
        "Sram_ports_used=0",
        OursAlone("line 5: Sram_ports_used"),
    ),
    (
        "Sram_clock_scale=1",
        "Sram_clock_scale",
        Both("line 5: expected `key=value`"),
    ),
    (
        "Sram_clock_scale=1",
        "core_CLOCK=1",
        Both("line 5: expected another key than that of line 2"),
    ),
    (
        "Sram_clock_scale=1",
        "  1",
        Both("line 5: a line that begins with more blanks"),
    ),
    (
        "Sram_clock_scale=1",
        "inherit=System_Config.C",
        Both("line 5: inherit"),
    ),
    (
        "Sram_clock_scale=1",
        "# 1\nSram_clock_scale=1",
        Both("line 5: [Memory_Mode.B]"),
    ),
    (
        "[System_Config.A]",
        "[System_Config.A",
        Both("line 1: expected `]`"),
    ),
    ("[System_Config.A]", "", Both("line 2: expected a section")),
    (
        "[System_Config.A]",
        "[System_Config.C]",
        Both("expected a section [System_Config.A]"),
    ),
    (
        "[Memory_Mode.B]",
        "[System_Config.A]",
        Both("line 7: expected another section than that of line 1"),
    ),
    (
        "const_mem_area=Axi1",
        "const_mem_area=Axi2",
        Both("line 8: const_mem_area"),
    ),
    (
        "arena_mem_area=Axi0",
        "arena_mem_area=Axi1",
        Both("line 9: arena_mem_area"),
    ),
    (
        "cache_mem_area=Axi0",
        "cache_mem_area=Axi1",
        Both("line 10: cache_mem_area"),
    ),
    (
        "=Axi0\n",
        "=Axi0\narena_cache_size=-1\n",
        Both("line 10: arena_cache_size"),
    ),
    (
        "=Axi0\n",
        "=Axi0\narena_cache_size=1e6\n",
        Both("line 10: arena_cache_size"),
    ),
    (
        "=Axi0\n",
        "=Axi0\narena_cache_size=5000000000\n",
        Both("line 10: arena_cache_size"),
    ),
];

/// Compiles a file, each time with another configuration: 1 for each that is refused.
const REFUSED_BY_VELA: &str = "import json, sys\n\
    worker = {'__name__': 'worker'}\n\
    exec(sys.argv[1], worker)\n\
    model = open(sys.argv[2], 'rb').read()\n\
    for ini in json.loads(sys.argv[3]):\n\
    \x20   try:\n\
    \x20       target = worker['Target']('x', 'ethos-u55-128', 'A', 'B', vela_ini=ini)\n\
    \x20       worker['label'](target, model)\n\
    \x20       print('refused 0')\n\
    \x20   except Exception:\n\
    \x20       print('refused 1')\n";

#[test]
fn what_vela_refuses_is_refused_with_line_and_reason() {
    let files: Vec<String> = CHANGES
        .iter()
        .map(|(from, to, _)| SECTIONS.replacen(from, to, 1))
        .collect();
    let mut actual = Vec::new();
    for file in &files {
        let read = VelaIni::parse(file.as_bytes())
            .and_then(|ini| Configuration::read(Product::U55x128, &ini, "A", "B"));
        actual.push(read.err().map(|error| error.to_string()));
    }
    for ((from, to, expected), actual) in CHANGES.iter().zip(&actual) {
        println!(
            "`{from}` -> `{to}`: {}",
            actual.as_deref().unwrap_or("taken")
        );
        match expected {
            Refusal::None => assert_eq!(*actual, None, "{to}"),
            Both(words) | OursAlone(words) => {
                assert!(
                    actual.as_ref().is_some_and(|it| it.starts_with(words)),
                    "{to}: {actual:?}"
                );
            }
        }
    }
    let (Some(python), Some(model)) = (python(), model()) else {
        return;
    };
    let worker = include_str!("../python/vela_worker.py");
    let output = Command::new(&python)
        .args(["-c", REFUSED_BY_VELA, worker])
        .arg(&model)
        .arg(serde_json::to_string(&files).expect("strings"))
        .output()
        .expect("the interpreter runs");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let refused: Vec<bool> = (text.lines())
        .filter_map(|line| line.strip_prefix("refused "))
        .map(|answer| answer == "1")
        .collect();
    assert_eq!(refused.len(), CHANGES.len(), "{output:?}");
    for ((_, to, expected), refused) in CHANGES.iter().zip(refused) {
        assert_eq!(matches!(expected, Both(_)), refused, "Vela on `{to}`");
    }
}

fn model() -> Option<std::path::PathBuf> {
    let name = "tiny__kws_ref_model.tflite";
    litecast_needs::shared(&format!("models/{name}"))?;
    Some(shared_models().join(name))
}
