//! The table of system configurations and memory modes against the configuration file that Vela installs.

mod common;

use std::fs;
use std::process::Command;

use common::python;
use litecast::targets::ethos_u::configuration::VelaIni;

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
        let found = ours.system_configuration(name).expect("a section of ours");
        let expected = theirs
            .system_configuration(name)
            .expect("a section of Vela's");
        assert_eq!(found, expected, "{name}");
        for mode in ours.memory_modes() {
            assert_eq!(
                ours.memory_mode(mode, &found).ok(),
                theirs.memory_mode(mode, &expected).ok(),
                "{mode} in {name}"
            );
        }
    }
}
