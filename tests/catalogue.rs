//! What page and package know of targets and metrics before the module is loaded is what the engine says of them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::{env, fs};

use litecast::provenance::Reference;
use litecast::targets::{Description, FAMILIES, Metric, Target, known, registry};
use serde_json::{Value, json};

const FILE: &str = "www/package/src/catalogue.ts";

fn line(name: &str, value: &Value) -> String {
    format!("  {}: {value},\n", json!(name))
}

/// A description with the id of its family in the place of the family.
fn in_catalogue(description: &Description) -> Value {
    let mut value = serde_json::to_value(description).unwrap();
    value["family"] = description.family.id.into();
    value
}

fn catalogue() -> String {
    let targets: Vec<Box<dyn Target>> = known().collect();
    let families: String = FAMILIES
        .iter()
        .map(|family| line(family.id, &json!(family)))
        .collect();
    let targets: String = targets
        .iter()
        .map(|target| line(target.id(), &in_catalogue(&target.description())))
        .collect();
    let metrics: String = Metric::ALL
        .iter()
        .map(|metric| {
            let words = json!({
                "unit": metric.unit(), "label": metric.label(), "meaning": metric.meaning(),
            });
            line(metric.id(), &words)
        })
        .collect();
    let references: String = Reference::ALL
        .iter()
        .map(|reference| {
            let words = json!({ "name": reference.name(), "words": reference.words() });
            line(reference.id(), &words)
        })
        .collect();
    format!(
        "/** What targets and metrics are, as the engine says: written by UPDATE_GOLDENS=1 cargo test --test engine catalogue::. */\n\
         import type {{ Family, MetricWords, TargetDescription }} from \"../types/index.d.ts\";\n\n\
         type Described = Omit<TargetDescription, \"family\"> & {{ family: string }};\n\n\
         /** By their ids, in the order of the engine. */\n\
         export const FAMILIES: Readonly<Record<string, Family>> = {{\n{families}}};\n\n\
         /** Every target that the engine can have, GPUs too, by its id. */\n\
         export const TARGETS: Readonly<Record<string, Described>> = {{\n{targets}}};\n\n\
         /** In the order in which they are read. */\n\
         export const METRICS: Readonly<Record<string, MetricWords>> = {{\n{metrics}}};\n\n\
         /** What the errors of estimates were measured against, for tables and for sentences. */\n\
         export const REFERENCES: Readonly<Record<string, {{ name: string; words: string }}>> = {{\n{references}}};\n"
    )
}

#[test]
fn the_catalogue_is_that_of_the_engine() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(FILE);
    let expected = catalogue();
    if env::var_os("UPDATE_GOLDENS").is_some() {
        fs::write(&path, &expected).unwrap();
    }
    let actual = fs::read_to_string(&path).unwrap();
    println!("{} lines", expected.lines().count());
    assert!(
        actual == expected,
        "{FILE} is not what the engine says; UPDATE_GOLDENS=1 writes it"
    );
}

/// A list of targets shows each under one id, and each family under one heading.
#[test]
fn descriptions_are_sound() {
    let mut labels = BTreeMap::new();
    let mut ids = BTreeMap::new();
    for target in known() {
        let Description {
            family,
            short_label,
            runtime,
            aliases,
            releases,
            release_words,
            ..
        } = target.description();
        let id = target.id().to_owned();
        assert!(!short_label.is_empty() && short_label.len() < 64, "{id}");
        assert!(!runtime.is_empty(), "{id}");
        assert!(FAMILIES.contains(&family), "{id}");
        let words: BTreeSet<&String> = release_words.iter().collect();
        assert_eq!(words.len(), releases.len(), "{id}: {release_words:?}");
        assert_eq!(
            *labels.entry(family.label).or_insert(family),
            family,
            "{id}"
        );
        for name in aliases
            .iter()
            .map(|&alias| alias.to_owned())
            .chain([id.clone()])
        {
            let other = ids.insert(name, id.clone());
            assert_eq!(other, None, "{id} and another target have the same name");
        }
    }
    assert!(
        registry()
            .iter()
            .all(|target| ids.contains_key(target.id()))
    );
    assert!(
        labels.len() >= 6 && ids.len() > 50,
        "{} families",
        labels.len()
    );
}
