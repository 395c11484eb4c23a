//! Tests of the trainer in one program, because each program links trainer and engine: `cargo test --test trainer MODULE::`.

mod common;

mod a64_classes;
mod dataset;
mod dataset_card;
mod edge_tpu;
mod ethos_u;
mod ethos_u_configurations;
mod ethos_u_intervals;
mod examples;
mod label_import;
mod label_on_dask;
mod labels;
mod litert_qemu;
mod report_schema;
mod shipped_files;
mod spaces;
mod support;
mod vela_command;
