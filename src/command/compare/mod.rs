//! `compare`: what changed from one model to another, or from one folder of models to another.

mod change_rows;
mod comparison;
mod pair;
mod settings;
mod sides;

use std::collections::BTreeMap;
use std::error::Error;
use std::fs;
use std::process::ExitCode;

use self::pair::{COLUMNS, Pair};
use self::sides::{Outcome, read_of_files, read_saved, side, targets_of_files};
use super::args::CompareArgs;
use super::{csv, terminal, worker_request};

pub fn run(args: &CompareArgs) -> Result<ExitCode, Box<dyn Error>> {
    let mut pairs: BTreeMap<String, Pair> = BTreeMap::new();
    let mut matched = Vec::new();
    for path in [&args.before, &args.after] {
        fs::metadata(path).map_err(|error| format!("{}: {error}", path.display()))?;
    }
    let saved = [read_saved(&args.before)?, read_saved(&args.after)?];
    let targets = targets_of_files(args, &saved)?;
    let read = read_of_files(args, &saved);
    let [before, after] = saved;
    let mut before = side(before, &args.before, &read, &targets, &mut matched)?;
    let mut after = side(after, &args.after, &read, &targets, &mut matched)?;
    worker_request::check_dimensions(&args.read, &matched)?;
    let are_folders = args.before.is_dir() && args.after.is_dir();
    if let ([(_, before_document)], [(_, after_document)]) = (&mut before[..], &mut after[..])
        && !are_folders
    {
        // Two files are a pair, whatever they are called.
        let name = format!("{} → {}", args.before.display(), args.after.display());
        let documents = [before_document.take(), after_document.take()];
        let [before, after] = documents;
        return show(
            args,
            &[Pair {
                name,
                is_of_folders: false,
                before,
                after,
            }],
        );
    }
    let new = |name: &String| Pair {
        name: name.clone(),
        is_of_folders: true,
        before: None,
        after: None,
    };
    for (name, document) in before {
        pairs
            .entry(name.clone())
            .or_insert_with(|| new(&name))
            .before = document;
    }
    for (name, document) in after {
        pairs
            .entry(name.clone())
            .or_insert_with(|| new(&name))
            .after = document;
    }
    show(args, &pairs.into_values().collect::<Vec<_>>())
}

fn show(args: &CompareArgs, pairs: &[Pair]) -> Result<ExitCode, Box<dyn Error>> {
    let mut code = ExitCode::SUCCESS;
    let is_read = |side: &Option<Outcome>| matches!(side, Some(Ok(_)));
    let is_any_read = pairs
        .iter()
        .any(|pair| is_read(&pair.before) || is_read(&pair.after));
    if args.csv {
        terminal::print_raw(&csv::lines([COLUMNS.map(str::to_owned).to_vec()]))?;
    }
    if pairs.is_empty() && !args.json && !args.csv {
        terminal::print("no models on either side\n")?;
    }
    for pair in pairs {
        for failure in [&pair.before, &pair.after]
            .into_iter()
            .flatten()
            .filter_map(|side| side.as_ref().err())
        {
            terminal::complain(&format!("{}: {failure}", pair.name));
            code = if is_any_read {
                ExitCode::FAILURE
            } else {
                ExitCode::from(super::exit::TROUBLE)
            };
        }
        if args.json {
            terminal::print_json(pair.json()? + "\n")?;
        } else if args.csv {
            terminal::print_raw(&pair.csv())?;
        } else if args.markdown {
            terminal::print_raw(&pair.markdown(args.all))?;
        } else {
            terminal::print(&pair.text(args.all, terminal::width()))?;
        }
    }
    Ok(code)
}
