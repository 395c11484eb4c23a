//! No files of a crate import each other in a circle.
//!
//! A file imports another where its code, tests left out, has a path to something that the other defines: a function,
//! type, constant, trait or macro. A name that a third file passes on by `pub use` counts as that of the file which
//! defines it. Calls of methods count for nothing, because no name says where a method stands, and neither do the
//! declaration of a module and what is passed on without being used.
//!
//! Nor does a room, a folder or a file beside folders, import one that stands higher in the order of the data: `ENGINE`,
//! `TRAINER` and `PAGE` list the rooms from the lowest to the highest.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use syn::visit::{self, Visit};

/// `["graph", "shapes"]` of `src/graph/shapes/mod.rs`.
type Module = Vec<String>;

/// What one file says.
#[derive(Default)]
struct File {
    definitions: BTreeSet<String>,
    /// By the name that a `use` gives: the path, as it is written.
    names: BTreeMap<String, Module>,
    /// Paths before `::*`.
    globs: Vec<Module>,
    /// Paths in `use` items that pass nothing on, and in code.
    paths: BTreeSet<Module>,
}

impl File {
    fn read(path: &Path) -> Self {
        let text = fs::read_to_string(path).unwrap();
        let parsed = syn::parse_file(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        let mut file = Self::default();
        file.visit_file(&parsed);
        file
    }

    fn add_use(&mut self, tree: &syn::UseTree, before: &Module, is_passed_on: bool) {
        let with = |name: &syn::Ident| [before.clone(), vec![name.to_string()]].concat();
        let (path, name) = match tree {
            syn::UseTree::Path(path) => {
                return self.add_use(&path.tree, &with(&path.ident), is_passed_on);
            }
            syn::UseTree::Group(group) => {
                let trees = group.items.iter();
                return trees.for_each(|tree| self.add_use(tree, before, is_passed_on));
            }
            syn::UseTree::Glob(_) => return self.globs.push(before.clone()),
            syn::UseTree::Name(name) if name.ident == "self" => {
                (before.clone(), before.last().unwrap().clone())
            }
            syn::UseTree::Rename(name) if name.ident == "self" => {
                (before.clone(), name.rename.to_string())
            }
            syn::UseTree::Name(name) => (with(&name.ident), name.ident.to_string()),
            syn::UseTree::Rename(name) => (with(&name.ident), name.rename.to_string()),
        };
        if !is_passed_on {
            self.paths.insert(path.clone());
        }
        self.names.insert(name, path);
    }
}

fn is_of_tests(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("cfg")
            && attribute
                .parse_args::<syn::Path>()
                .is_ok_and(|condition| condition.is_ident("test"))
    })
}

impl<'ast> Visit<'ast> for File {
    fn visit_item(&mut self, item: &'ast syn::Item) {
        let (attributes, name) = match item {
            syn::Item::Const(item) => (&item.attrs, Some(&item.ident)),
            syn::Item::Enum(item) => (&item.attrs, Some(&item.ident)),
            syn::Item::Fn(item) => (&item.attrs, Some(&item.sig.ident)),
            syn::Item::Macro(item) => (&item.attrs, item.ident.as_ref()),
            // Of a file of its own there is only the declaration.
            syn::Item::Mod(item) => (&item.attrs, item.content.as_ref().map(|_| &item.ident)),
            syn::Item::Static(item) => (&item.attrs, Some(&item.ident)),
            syn::Item::Struct(item) => (&item.attrs, Some(&item.ident)),
            syn::Item::Trait(item) => (&item.attrs, Some(&item.ident)),
            syn::Item::Type(item) => (&item.attrs, Some(&item.ident)),
            syn::Item::Use(item) => {
                if !is_of_tests(&item.attrs) {
                    let is_passed_on = !matches!(item.vis, syn::Visibility::Inherited);
                    self.add_use(&item.tree, &Module::new(), is_passed_on);
                }
                return;
            }
            syn::Item::Impl(item) => (&item.attrs, None),
            _ => return visit::visit_item(self, item),
        };
        if is_of_tests(attributes) {
            return;
        }
        self.definitions.extend(name.map(ToString::to_string));
        visit::visit_item(self, item);
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let segments = path.segments.iter();
        self.paths
            .insert(segments.map(|one| one.ident.to_string()).collect());
        visit::visit_path(self, path);
    }
}

struct Crate(BTreeMap<Module, File>);

impl Crate {
    fn read(source: &Path) -> Self {
        let mut pending = vec![source.to_owned()];
        let mut files = BTreeMap::new();
        while let Some(folder) = pending.pop() {
            for entry in fs::read_dir(&folder).unwrap() {
                let path = entry.unwrap().path();
                let stem = path.file_stem().unwrap().to_str().unwrap();
                // What flatc generated imports nothing of the crate.
                if stem == "tests" || stem == "schema_generated" {
                    continue;
                }
                if path.is_dir() {
                    pending.push(path);
                } else if path.extension().is_some_and(|extension| extension == "rs") {
                    files.insert(module_of(&path, source), File::read(&path));
                }
            }
        }
        Self(files)
    }

    /// A path as it is written in `module` → the same from the crate's root; none of paths into other crates.
    fn absolute(&self, module: &Module, path: &[String]) -> Option<Module> {
        let (first, rest) = path.split_first()?;
        let child = [module.clone(), vec![first.clone()]].concat();
        Some(match first.as_str() {
            "crate" => rest.to_vec(),
            "self" => [module.clone(), rest.to_vec()].concat(),
            "super" => {
                let n_up = path
                    .iter()
                    .take_while(|segment| *segment == "super")
                    .count();
                let kept = module.len().checked_sub(n_up)?;
                [&module[..kept], &path[n_up..]].concat()
            }
            _ if self.0.contains_key(&child) => [child, rest.to_vec()].concat(),
            _ => {
                let named = self.0[module].names.get(first)?;
                // `use serde::{self}` names itself.
                let before = (named.first() != Some(first)).then(|| self.absolute(module, named));
                [before??, rest.to_vec()].concat()
            }
        })
    }

    /// The file that defines what an absolute path names, or that a module is.
    fn definer(&self, path: &[String], n_steps: usize) -> Option<Module> {
        let length = (0..=path.len())
            .rev()
            .find(|&n| self.0.contains_key(&path[..n]))?;
        let module = path[..length].to_vec();
        let Some(name) = path.get(length) else {
            return Some(module);
        };
        let file = &self.0[&module];
        // As many as files could pass a name on at most.
        if file.definitions.contains(name) || n_steps > 20 {
            return Some(module);
        }
        if let Some(named) = file.names.get(name) {
            let absolute = self.absolute(&module, named)?;
            return self.definer(&absolute, n_steps + 1);
        }
        let globs = file.globs.iter();
        let globs = globs.filter_map(|glob| self.absolute(&module, glob));
        let named = globs.map(|glob| [glob, vec![name.clone()]].concat());
        let mut definers = named.filter_map(|path| {
            let definer = self.definer(&path, n_steps + 1)?;
            self.0[&definer]
                .definitions
                .contains(name)
                .then_some(definer)
        });
        definers.next()
    }

    /// By file, the files that it imports, each with a name that it takes from it.
    fn imports(&self) -> BTreeMap<&Module, BTreeMap<Module, String>> {
        let imports_of = |(module, file): (&Module, &File)| {
            let mut imports = BTreeMap::new();
            for path in &file.paths {
                let absolute = self.absolute(module, path).or_else(|| {
                    let here = [module.clone(), path.clone()].concat();
                    self.definer(&here, 0)
                        .map(|definer| [definer, path.clone()].concat())
                });
                let Some(absolute) = absolute else { continue };
                let Some(definer) = self.definer(&absolute, 0) else {
                    continue;
                };
                // A module by itself: what is used of it stands in other paths.
                if definer != *module && definer != absolute {
                    imports.insert(definer, absolute.join("::"));
                }
            }
            imports
        };
        let files = self.0.iter();
        files
            .map(|(module, file)| (module, imports_of((module, file))))
            .collect()
    }
}

/// A crate, which is read once for all tests.
fn crate_in(source: &Path) -> Arc<Crate> {
    static CRATES: Mutex<BTreeMap<PathBuf, Arc<Crate>>> = Mutex::new(BTreeMap::new());
    let mut crates = CRATES.lock().unwrap_or_else(PoisonError::into_inner);
    let of_crate = crates.entry(source.to_owned());
    Arc::clone(of_crate.or_insert_with(|| Arc::new(Crate::read(source))))
}

fn module_of(path: &Path, source: &Path) -> Module {
    let below = path.strip_prefix(source).unwrap().with_extension("");
    let parts = below.iter().map(|part| part.to_str().unwrap().to_owned());
    let mut module: Module = parts.collect();
    if module
        .last()
        .is_some_and(|last| ["mod", "lib", "main"].contains(&last.as_str()))
    {
        module.pop();
    }
    module
}

/// Files that nothing in a circle imports are taken away, and those that import nothing in one, until none is left
/// to take: what remains is circles and the ways between them.
fn circles(imports: &BTreeMap<&Module, BTreeMap<Module, String>>) -> Vec<String> {
    let mut edges: BTreeSet<(&Module, &Module)> = BTreeSet::new();
    for (from, to) in imports {
        edges.extend(to.keys().map(|to| (*from, to)));
    }
    loop {
        let sources: BTreeSet<&Module> = edges.iter().map(|edge| edge.0).collect();
        let targets: BTreeSet<&Module> = edges.iter().map(|edge| edge.1).collect();
        let n_edges = edges.len();
        edges.retain(|(from, to)| targets.contains(from) && sources.contains(to));
        if edges.len() == n_edges {
            break;
        }
    }
    let shown = |(from, to): &(&Module, &Module)| {
        let name = &imports[from][*to];
        format!("{} imports {name} of {}", from.join("::"), to.join("::"))
    };
    edges.iter().map(shown).collect()
}

#[test]
fn no_files_import_each_other_in_a_circle() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for source in [
        "src",
        "trainer/src",
        "trainer/networks/src",
        "tests/fuzz/src",
    ] {
        let source: PathBuf = root.join(source);
        let of_crate = crate_in(&source);
        let imports = of_crate.imports();
        let n_imports: usize = imports.values().map(BTreeMap::len).sum();
        let circles = circles(&imports);
        println!(
            "{}: {} files, {n_imports} imports",
            source.display(),
            imports.len()
        );
        assert!(n_imports > 20, "expected imports, found {n_imports}");
        assert!(
            circles.is_empty(),
            "{}: circles:\n{}",
            source.display(),
            circles.join("\n")
        );
    }
}

/// Two files that name each other, one of them by way of a third.
#[test]
fn circles_are_found_through_names_that_are_passed_on() {
    let file = |text: &str| {
        let mut file = File::default();
        file.visit_file(&syn::parse_file(text).unwrap());
        file
    };
    let module = |name: &str| name.split("::").map(str::to_owned).collect::<Module>();
    let root = "mod a; mod b; pub use b::B; pub fn run() { a::a() }";
    let a = "use crate::B; pub fn a() -> B { B } pub struct A;";
    let b =
        |back: &str| format!("pub struct B; {back} #[cfg(test)] mod tests {{ use crate::a::a; }}");
    for (back, is_circle) in [("", false), ("fn b(_: super::a::A) {}", true)] {
        let files = [
            (Module::new(), file(root)),
            (module("a"), file(a)),
            (module("b"), file(&b(back))),
        ];
        let of_crate = Crate(files.into_iter().collect());
        let actual = circles(&of_crate.imports());
        assert_eq!(!actual.is_empty(), is_circle, "{actual:?}");
    }
}

/// The rooms of a folder, from the lowest row to the highest: a room is a folder or a file and what lies in it, without
/// the rooms inside. `.` is all that has no row of its own.
struct Rooms(&'static [&'static [&'static str]]);

/// A room of [`Rooms`] and its row.
type Place = (usize, &'static str);

impl Rooms {
    /// The room of a file, by its path without extension.
    fn of_file(&self, path: &[String]) -> Place {
        let rows = self.0.iter().enumerate();
        let rooms = rows.flat_map(|(row, rooms)| rooms.iter().map(move |&room| (row, room)));
        let length = |room: &str| {
            if room == "." {
                0
            } else {
                room.split('/').count()
            }
        };
        let holds = |room: &str| {
            let mut parts = path.iter();
            room == "."
                || room
                    .split('/')
                    .all(|part| parts.next().is_some_and(|one| one == part))
        };
        let holding = rooms.filter(|(_, room)| holds(room));
        let place = holding.max_by_key(|(_, room)| length(room));
        place.unwrap_or_else(|| panic!("{} is in no room", path.join("/")))
    }

    /// The imports from a room to one that stands in the same row or a higher one.
    fn upward(&self, imports: &[(Vec<String>, Vec<String>)]) -> Vec<String> {
        let is_upward = |(from, to): &&(Vec<String>, Vec<String>)| {
            let ((row, room), (imported_row, imported)) = (self.of_file(from), self.of_file(to));
            room != imported && imported_row >= row
        };
        let shown = |(from, to): &(Vec<String>, Vec<String>)| {
            format!("{} imports {}", from.join("/"), to.join("/"))
        };
        imports.iter().filter(is_upward).map(shown).collect()
    }
}

/// `ARCHITECTURE.md` describes them.
const ENGINE: Rooms = Rooms(&[
    &["work", "diagnostic", "provenance", "fields", "constructors"],
    &["formats", "profiles"],
    &["graph"],
    &["model_variants", "learned"],
    &["target"],
    &[
        "targets/tflite_micro",
        "targets/cortex_a",
        "targets/gpu",
        "targets/learned_accelerators",
        "targets/example",
    ],
    &["targets/cortex_m", "targets/measured_device"],
    &["targets/host"],
    &["targets/ethos_u", "targets/edge_tpu"],
    &["targets"],
    &["targets/choice"],
    &["boards"],
    &["report"],
    &["evaluation"],
    &["estimate", "sweep", "batch_sweep", "calibration"],
    &["wasm", "wasm_profiles", "command"],
    &["."],
]);

const TRAINER: Rooms = Rooms(&[
    &[
        "cholesky",
        "commit",
        "json",
        "least_squares",
        "markdown",
        "metrics",
        "onnx",
        "split",
    ],
    &["newton"],
    &["priors"],
    &["writer"],
    &["spaces"],
    &["labels"],
    &["dataset"],
    &["estimate_errors"],
    &["targets"],
    &["evaluate"],
    &["bench_predictor", "probes"],
    &["."],
]);

const NETWORKS: Rooms = Rooms(&[
    &["epoch_order", "feature_columns", "sizes"],
    &["gnn"],
    &["settings"],
    &["training_data"],
    &["errors", "curve", "error_table", "forest"],
    &["checkpoint"],
    &["train"],
    &["baselines", "bench", "gpu", "onnx"],
    &["evaluate"],
    &["export"],
    &["."],
]);

const PAGE: Rooms = Rooms(&[
    &["layout"],
    &["."],
    &["graph"],
    &["timeline"],
    &["export"],
    &["view"],
    &["worker"],
    &["main"],
]);

/// The imports between files of Rust.
fn rust_imports(source: &Path) -> Vec<(Module, Module)> {
    let of_crate = crate_in(source);
    let imports = of_crate.imports();
    let pairs = imports.iter();
    pairs
        .flat_map(|(from, to)| to.keys().map(|to| ((*from).clone(), to.clone())))
        .collect()
}

/// The imports between files of TypeScript, as `from "./…"` or `import("./…")` name them.
fn typescript_imports(source: &Path) -> Vec<(Module, Module)> {
    let mut pending = vec![source.to_owned()];
    let mut imports = Vec::new();
    while let Some(folder) = pending.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                pending.push(path);
                continue;
            }
            let text = fs::read_to_string(&path).unwrap();
            for quoted in text.split("from \"").chain(text.split("import(\"")).skip(1) {
                let Some((named, _)) = quoted.split_once('"') else {
                    continue;
                };
                if !named.starts_with('.') || !named.ends_with(".ts") {
                    continue;
                }
                let mut target = module_of(&folder, source);
                for part in named.split('/') {
                    match part {
                        "." => {}
                        ".." if target.pop().is_none() => target.push("..".to_owned()),
                        ".." => {}
                        name => target.push(name.trim_end_matches(".ts").to_owned()),
                    }
                }
                if target.first().is_some_and(|first| first != "..") {
                    let file = path.strip_prefix(source).unwrap().with_extension("");
                    let file = file.iter().map(|part| part.to_str().unwrap().to_owned());
                    imports.push((file.collect(), target));
                }
            }
        }
    }
    imports
}

/// An interface knows nothing of what implements it, and a stage nothing of the next one.
#[test]
fn no_room_imports_a_higher_one() {
    type Reader = fn(&Path) -> Vec<(Module, Module)>;
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folders: [(&str, &Rooms, Reader); 4] = [
        ("src", &ENGINE, rust_imports),
        ("trainer/src", &TRAINER, rust_imports),
        ("trainer/networks/src", &NETWORKS, rust_imports),
        ("www/src", &PAGE, typescript_imports),
    ];
    let mut all = Vec::new();
    for (folder, rooms, read) in folders {
        let imports = read(&root.join(folder));
        assert!(imports.len() > 100, "{folder}: {} imports", imports.len());
        let upward = rooms.upward(&imports);
        println!(
            "{folder}: {} imports, {} from a lower room to a higher one",
            imports.len(),
            upward.len()
        );
        all.extend(upward);
    }
    assert!(all.is_empty(), "upward imports:\n{}", all.join("\n"));
}

/// Each folder has a row, so that a new one is placed on purpose.
#[test]
fn every_folder_has_a_room() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for (folder, rooms) in [
        ("src", &ENGINE),
        ("src/targets", &ENGINE),
        ("trainer/src", &TRAINER),
        ("trainer/networks/src", &NETWORKS),
        ("www/src", &PAGE),
    ] {
        for entry in fs::read_dir(root.join(folder)).unwrap() {
            let path = entry.unwrap().path();
            let source = folder
                .split_once("src")
                .map_or(folder, |(before, _)| before);
            let source = root.join(source).join("src");
            let name = module_of(&path, &source);
            if path.is_dir() {
                let (_, room) = rooms.of_file(&name);
                assert_eq!(
                    room,
                    name.join("/"),
                    "expected a row for {}",
                    path.display()
                );
            }
        }
    }
}

#[test]
fn imports_of_higher_rooms_are_found() {
    let rooms = Rooms(&[&["low", "peer"], &["."], &["low/high"]]);
    let path = |text: &str| text.split('/').map(str::to_owned).collect::<Vec<_>>();
    for (from, to, n_upward) in [
        ("low/a", "low/b", 0),
        ("other", "low/a", 0),
        ("low/a", "other", 1),
        ("low/a", "peer", 1),
        ("low/a", "low/high/b", 1),
        ("low/high/b", "low/a", 0),
        ("lower", "low", 0),
    ] {
        let actual = rooms.upward(&[(path(from), path(to))]);
        assert_eq!(actual.len(), n_upward, "{from} -> {to}");
    }
}
