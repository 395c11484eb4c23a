//! Any bytes as a `vela.ini`: an error, or sections of which every pair is a configuration or an error.

#![no_main]

use litecast::targets::ethos_u::configuration::{Configuration, Product, VelaIni};

libfuzzer_sys::fuzz_target!(|file: &[u8]| {
    let Ok(ini) = VelaIni::parse(file) else {
        return;
    };
    for system in ini.system_configurations() {
        for mode in ini.memory_modes() {
            for product in [Product::U55x128, Product::U65x256, Product::U85x512] {
                let _ = Configuration::read(product, &ini, system, mode);
            }
        }
    }
});
