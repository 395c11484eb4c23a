//! Measurements of others on their way to the tables.

use std::fs;

use litecast_trainer::dataset::{self, BuildArgs, DatasetCommand};
use litecast_trainer::labels::bytes_of;
use litecast_trainer::labels::import::{ImportArgs, run};
use litecast_trainer::labels::record::Origin;
use litecast_trainer::spaces::SampleForm;

/// A measured file keeps its value through the tables, beside where it was measured.
#[test]
fn measurements_of_others_become_labels() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let origin = Origin::Sampled {
        space: "cnn-kws".into(),
        seed: 7,
        index: 1,
        form: SampleForm::default(),
    };
    fs::write(path("a.tflite"), bytes_of(&origin).unwrap()).unwrap();
    let import = |table: &str| {
        fs::write(path("table.csv"), table).unwrap();
        run(&ImportArgs {
            csv: path("table.csv"),
            target: "my-phone".into(),
            device: "A phone".into(),
            runtime: "one thread".into(),
            tool: "benchmark_model".into(),
            tool_version: "2.17".into(),
            out: path("labels"),
        })
    };
    for (table, words) in [
        (
            "file,metric,value,unit\na.tflite,latency,-1,ms\n",
            "positive",
        ),
        ("file,metric,value,unit\na.tflite,heat,1,ms\n", "metric"),
        ("file,metric,value,unit\na.tflite,latency,1,hours\n", "unit"),
        (
            "file,metric,value,unit\nb.tflite,latency,1,ms\n",
            "b.tflite",
        ),
        ("file,metric,value,unit\n", "found none"),
    ] {
        let error = format!("{:#}", import(table).unwrap_err());
        println!("{error}");
        assert!(error.contains(words));
    }
    import("file,metric,value,unit\na.tflite,latency,1500,us\na.tflite,energy,2,mJ\n").unwrap();
    let command = DatasetCommand::Build(BuildArgs {
        labels: Some(path("labels")),
        out: path("data"),
        ..BuildArgs::default()
    });
    dataset::run(&command).unwrap();
    let tables = dataset::load(&path("data")).unwrap();
    let [graph] = tables.graphs.as_slice() else {
        panic!("expected one graph");
    };
    let value = |metric| graph.labels[tables.label_idx("my-phone", metric).unwrap()];
    assert_eq!((value("latency"), value("energy")), (Some(1.5), Some(2.0)));
    assert_eq!(tables.provenance.targets()[0].provenance(), "measured");
}
