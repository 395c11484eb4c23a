//! Arguments → model files: folders, patterns and the standard input.

use std::collections::HashSet;
use std::error::Error;
use std::ffi::OsStr;
use std::io::Read;
use std::path::{Component, Path, PathBuf};
use std::{fs, io};

use litecast::formats::shown;
use walkdir::WalkDir;

use super::terminal;

/// The argument that stands for the standard input.
pub const STDIN: &str = "-";

/// Extensions by which models are found in a folder; a file that is named itself may have any.
const EXTENSIONS: [&str; 4] = ["tflite", "lite", "onnx", "param"];

/// Depth of folders below one that is named: more than people make, and an end where links form a circle.
const MAX_DEPTH: usize = 32;

/// Longer than any path that Linux opens.
const MAX_PATH_BYTES: usize = 4096;

/// Further paths to folders that a pattern matched by another path, at each of its steps.
const MAX_REPEATED_FOLDERS: usize = 64;

/// The files that arguments stand for, each once, in the order of the arguments and by name in a folder.
///
/// # Errors
/// A pattern that matches nothing, a folder without models, or `-` twice.
pub fn expand(arguments: &[PathBuf]) -> Result<Vec<PathBuf>, Box<dyn Error>> {
    let mut files: Vec<PathBuf> = Vec::new();
    let mut known = HashSet::new();
    for argument in arguments {
        for file in files_of(argument)? {
            if known.insert(file.clone()) {
                files.push(file);
            } else if is_stdin(&file) {
                return Err("expected - for the standard input once".into());
            }
        }
    }
    Ok(files)
}

pub fn is_stdin(file: &Path) -> bool {
    file == Path::new(STDIN)
}

/// The same for all names of a file, links among them.
pub fn identity(path: &Path) -> PathBuf {
    fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}

/// What a system calls the standard input of whoever asks: the worker, which opens files, has another one.
const STDIN_FILES: [&str; 3] = ["/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"];

fn files_of(argument: &Path) -> Result<Vec<PathBuf>, Box<dyn Error>> {
    let is_own = STDIN_FILES.iter().any(|name| argument == Path::new(name));
    if is_own || is_stdin(argument) {
        return Ok(vec![STDIN.into()]);
    }
    check_length(argument)?;
    if argument.is_dir() {
        let files = models_below(argument);
        if files.is_empty() {
            let names = EXTENSIONS
                .map(|extension| format!(".{extension}"))
                .join(", ");
            return Err(format!(
                "{}: expected files that end in {names}, found none",
                argument.display()
            )
            .into());
        }
        return Ok(files);
    }
    match argument.to_str() {
        // A file whose name looks like a pattern is the file.
        Some(pattern) if pattern.contains(['*', '?', '[']) && !argument.exists() => {
            matches(pattern)
        }
        _ => Ok(vec![argument.to_owned()]),
    }
}

/// Fails where a path is longer than any that can be opened, with its beginning.
pub fn check_length(path: &Path) -> Result<(), String> {
    let n_bytes = path.as_os_str().len();
    if n_bytes <= MAX_PATH_BYTES {
        return Ok(());
    }
    let start = shown(&path.to_string_lossy());
    Err(format!(
        "{start}: expected a path of at most {MAX_PATH_BYTES} bytes, found {n_bytes}"
    ))
}

/// Models in a folder and all its folders, by name.
pub fn models_below(folder: &Path) -> Vec<PathBuf> {
    let entries = WalkDir::new(folder)
        .max_depth(MAX_DEPTH)
        .sort_by_file_name();
    let entries = entries.into_iter().filter_map(Result::ok);
    let files = entries.filter(|entry| !entry.file_type().is_dir());
    files
        .map(walkdir::DirEntry::into_path)
        .filter(|file| is_model(file) && is_file(file))
        .collect()
}

/// Contents of a file; of one that is larger, a byte more than `max_bytes`.
pub fn contents(path: &Path, max_bytes: usize) -> Result<Vec<u8>, String> {
    let in_file = |error: std::io::Error| format!("{}: {error}", path.display());
    let file = fs::File::open(path).map_err(in_file)?;
    let mut bytes = Vec::new();
    file.take(max_bytes as u64 + 1)
        .read_to_end(&mut bytes)
        .map_err(in_file)?;
    Ok(bytes)
}

/// Whether something that was found and not named is a file, which has an end: a pipe may never have one. A path that
/// does not exist counts, so that reading it says why.
fn is_file(path: &Path) -> bool {
    let is_file = fs::metadata(path).map_or(true, |metadata| metadata.is_file());
    if !is_file {
        terminal::complain(&format!(
            "{}: passed over: expected a file, found a folder, pipe or device",
            path.display()
        ));
    }
    is_file
}

/// The folder of a configuration, below which its files are.
pub struct ConfigurationFolder {
    folder: PathBuf,
}

impl ConfigurationFolder {
    /// Of a configuration at this path.
    pub fn new(configuration: &Path) -> io::Result<Self> {
        let folder = configuration.parent().unwrap_or(Path::new(""));
        let folder = if folder.as_os_str().is_empty() {
            Path::new(".")
        } else {
            folder
        };
        Ok(Self {
            folder: fs::canonicalize(folder)?,
        })
    }

    /// Why a path is not read: it is neither a file nor a folder, or it or a symbolic link on it leads out of the folder. A
    /// path that does not exist leads nowhere.
    pub fn refusal(&self, path: &Path) -> Option<String> {
        let real = fs::canonicalize(path).ok()?;
        // Opening a pipe may never end.
        if fs::metadata(path).is_ok_and(|metadata| !metadata.is_file() && !metadata.is_dir()) {
            return Some("expected a file, found a pipe or device".to_owned());
        }
        (!real.starts_with(&self.folder)).then(|| {
            let folder = self.folder.display();
            format!(
                "expected a path below {folder}, the folder of the configuration, found one that leads out of it, \
                 perhaps by a symbolic link; --outside allows it"
            )
        })
    }

    /// The same for what [`expand`] takes: the folder above a pattern is looked at before anything in it.
    pub fn refusal_of_argument(&self, argument: &Path) -> Option<String> {
        let is_plain = |part: &std::path::Component| {
            let part = part.as_os_str().to_string_lossy();
            !part.contains(['*', '?', '['])
        };
        if argument.exists() {
            self.refusal(argument)
        } else {
            self.refusal(
                &argument
                    .components()
                    .take_while(is_plain)
                    .collect::<PathBuf>(),
            )
        }
    }

    /// Those of `files` that are read, and the others with the reasons.
    pub fn readable_and_refused(
        &self,
        files: Vec<PathBuf>,
    ) -> (Vec<PathBuf>, Vec<(PathBuf, String)>) {
        let mut kept = Vec::new();
        let mut refused = Vec::new();
        for file in files {
            match self.refusal(&file) {
                Some(words) => refused.push((file, words)),
                None => kept.push(file),
            }
        }
        (kept, refused)
    }

    /// The first path that is not read, with the reason: of arguments, or of files that must be there.
    pub fn first_refused(&self, arguments: &[PathBuf], files: &[&PathBuf]) -> Option<String> {
        let mut arguments = arguments.iter();
        let argument = arguments.find_map(|file| Some((file, self.refusal_of_argument(file)?)));
        let mut missing = files.iter().copied().filter(|path| !path.is_file());
        let mut read = files.iter().copied();
        let file = read
            .find_map(|path| Some((path, self.refusal(path)?)))
            .or_else(|| Some((missing.next()?, "expected a file".to_owned())));
        let (path, words) = argument.or(file)?;
        Some(format!("{}: {words}", path.display()))
    }
}

pub fn is_model(file: &Path) -> bool {
    let extension = file.extension().and_then(|extension| extension.to_str());
    extension.is_some_and(|extension| {
        EXTENSIONS
            .iter()
            .any(|known| extension.eq_ignore_ascii_case(known))
    })
}

fn matches(pattern: &str) -> Result<Vec<PathBuf>, Box<dyn Error>> {
    let steps = pattern.split('/');
    let n_open = steps.filter(|step| step.contains(['*', '?', '['])).count();
    if n_open > MAX_DEPTH {
        return Err(format!(
            "{pattern}: expected a pattern with at most {MAX_DEPTH} of * ? [ between slashes, found {n_open}"
        )
        .into());
    }
    let paths = paths_of(pattern).map_err(|error| format!("{pattern}: {error}"))?;
    let mut files = Vec::new();
    for path in paths {
        if path.is_dir() && !path.is_symlink() {
            files.extend(models_below(&path));
        } else if is_file(&path) {
            files.push(path);
        }
    }
    if files.is_empty() {
        Err(format!("{pattern}: expected files that match, found none").into())
    } else {
        Ok(files)
    }
}

/// Paths that match a pattern. `**` follows no links to folders: two that lead upwards would make more paths than can be
/// walked.
fn paths_of(pattern: &str) -> Result<Vec<PathBuf>, glob::PatternError> {
    let Some((above, _)) = pattern.split_once("**") else {
        return paths_by_step(pattern);
    };
    // An error where `**` is a part of a name.
    glob::Pattern::new(pattern)?;
    let below = pattern[above.len()..].trim_end_matches('/');
    // Then it is folders that match: those with anything in them that does.
    let ends_in_folders = below.ends_with("**");
    let below = glob::Pattern::new(below)?;
    let folders = if above.is_empty() {
        vec![PathBuf::new()]
    } else {
        paths_by_step(above)?
    };
    let options = glob::MatchOptions {
        require_literal_separator: true,
        ..glob::MatchOptions::default()
    };
    let mut paths = Vec::new();
    for folder in folders {
        let root = if folder.as_os_str().is_empty() {
            Path::new(".")
        } else {
            &folder
        };
        let entries = WalkDir::new(root).max_depth(MAX_DEPTH).sort_by_file_name();
        for entry in entries.into_iter().filter_map(Result::ok) {
            let relative = entry.path().strip_prefix(root).unwrap_or(entry.path());
            let is_match = if ends_in_folders {
                let inside = relative.join("_");
                entry.file_type().is_dir() && below.matches_path_with(&inside, options)
            } else {
                below.matches_path_with(relative, options)
            };
            if is_match && relative.as_os_str().is_empty() {
                paths.push(root.to_owned());
            } else if is_match {
                paths.push(folder.join(relative));
            }
        }
    }
    Ok(paths)
}

/// Paths that match a pattern without `**`. Where links lead to folders that other paths lead to as well, two of them could
/// double the paths with every step of the pattern; of these, a step keeps [`MAX_REPEATED_FOLDERS`].
fn paths_by_step(pattern: &str) -> Result<Vec<PathBuf>, glob::PatternError> {
    // An error at its place in the whole pattern.
    glob::Pattern::new(pattern)?;
    let parts: Vec<&OsStr> = Path::new(pattern)
        .components()
        .filter(|part| *part != Component::CurDir)
        .map(Component::as_os_str)
        .collect();
    let is_folder = pattern.ends_with('/');
    let mut paths = vec![PathBuf::new()];
    for (idx, part) in parts.iter().enumerate() {
        let text = part.to_string_lossy();
        if !text.contains(['*', '?', '[']) {
            paths.iter_mut().for_each(|path| path.push(part));
            continue;
        }
        let is_last = idx + 1 == parts.len() && !is_folder;
        let (mut real, mut repeated_left) = (HashSet::new(), MAX_REPEATED_FOLDERS);
        let mut matched = Vec::new();
        for path in &paths {
            let above = glob::Pattern::escape(&path.to_string_lossy());
            let step = Path::new(&above).join(part);
            let candidates = glob::glob(&step.to_string_lossy())?.filter_map(Result::ok);
            for path in candidates.filter(|path| is_last || path.is_dir()) {
                let is_new =
                    is_last || fs::canonicalize(&path).is_ok_and(|folder| real.insert(folder));
                if !is_new && repeated_left == 0 {
                    continue;
                }
                repeated_left -= usize::from(!is_new);
                matched.push(path);
            }
        }
        paths = matched;
    }
    paths.retain(|path| {
        if is_folder {
            path.is_dir()
        } else {
            path.symlink_metadata().is_ok()
        }
    });
    Ok(paths)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expanded(arguments: &[&Path]) -> Result<Vec<PathBuf>, String> {
        let arguments: Vec<PathBuf> = arguments.iter().map(|path| path.to_path_buf()).collect();
        expand(&arguments).map_err(|error| error.to_string())
    }

    #[test]
    fn folders_and_patterns_stand_for_their_models_by_name() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::create_dir(at("b")).unwrap();
        let names = [
            "c.tflite",
            "a.TFLITE",
            "notes.txt",
            "b/d.onnx",
            "[x].tflite",
        ];
        for name in names {
            std::fs::write(at(name), "").unwrap();
        }
        let actual = expanded(&[folder.path()]).unwrap();
        assert_eq!(
            actual,
            ["[x].tflite", "a.TFLITE", "b/d.onnx", "c.tflite"].map(at)
        );
        let actual = expanded(&[&at("*.tflite"), &at("c.tflite")]).unwrap();
        assert_eq!(actual, ["[x].tflite", "c.tflite"].map(at));
        assert_eq!(expanded(&[&at("[x].tflite")]).unwrap(), [at("[x].tflite")]);
        let nothing = expanded(&[&at("*.bin")]).unwrap_err();
        assert!(
            nothing.ends_with("expected files that match, found none"),
            "{nothing}"
        );
        let twice = expanded(&[Path::new("-"), Path::new("-")]).unwrap_err();
        assert!(twice.contains("standard input once"), "{twice}");
        let below = ["**/*.onnx", "**/b/*.onnx", "**/b/**", "*/**"];
        for pattern in below {
            assert_eq!(expanded(&[&at(pattern)]).unwrap(), [at("b/d.onnx")]);
        }
        let all = ["[x].tflite", "a.TFLITE", "b/d.onnx", "c.tflite"].map(at);
        assert_eq!(expanded(&[&at("**")]).unwrap(), all);
        let is_no_pattern = expanded(&[&at("a**/*.onnx")]).unwrap_err();
        assert!(is_no_pattern.contains("recursive"), "{is_no_pattern}");
    }

    /// Each of two links to the folder itself doubles the paths with every step.
    #[cfg(unix)]
    #[test]
    fn links_in_circles_are_passed_over() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::write(at("a.tflite"), "").unwrap();
        for link in ["one", "other"] {
            std::os::unix::fs::symlink(".", at(link)).unwrap();
        }
        for pattern in ["**/*.tflite", "**", "*"] {
            assert_eq!(expanded(&[&at(pattern)]).unwrap(), [at("a.tflite")]);
        }
        // 2^30 paths.
        let steps = "*/".repeat(30);
        for pattern in [format!("{steps}*.tflite"), format!("{steps}**/*.tflite")] {
            let files = expanded(&[&at(&pattern)]).unwrap();
            assert_eq!(files.len(), 1 + MAX_REPEATED_FOLDERS, "{pattern}");
            assert!(files.iter().all(|file| file.ends_with("a.tflite")));
        }
    }

    #[cfg(unix)]
    #[test]
    fn steps_of_a_pattern_follow_links_to_folders() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        for name in ["v1", "[v2]"] {
            std::fs::create_dir_all(at(name).join("deep")).unwrap();
            std::fs::write(at(name).join("deep/a.tflite"), "").unwrap();
        }
        std::os::unix::fs::symlink("[v2]", at("latest")).unwrap();
        let all = ["[v2]", "latest", "v1"].map(|name| at(name).join("deep/a.tflite"));
        for pattern in ["*/deep/*.tflite", "*/deep/a.tflite", "*/d*/a.*", "*/*/"] {
            assert_eq!(expanded(&[&at(pattern)]).unwrap(), all, "{pattern}");
        }
        let deep = expanded(&[&at(&"*/".repeat(33))]).unwrap_err();
        assert!(deep.contains("at most 32 of"), "{deep}");
        let long = expanded(&[&at(&"a".repeat(5000))]).unwrap_err();
        assert!(long.contains("at most 4096 bytes"), "{long}");
    }
}
