//! Finds the definitions of sub-agents: those that come with Longhaul, the user's files, and the project's.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};

use super::{
    DefinitionProblem, SubagentDefinition, SubagentName, SubagentSource, Subagents, parse_definition,
};

/// The folders that are searched for definitions (`*.md`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SubagentPlaces {
    /// The user's folder.
    pub user: Option<PathBuf>,
    /// The project's folder, if the project is trusted.
    pub project: Option<PathBuf>,
}

/// The definitions that were found, and problems with their files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LoadedSubagents {
    /// The sub-agents, by name.
    pub subagents: Subagents,
    /// Problems with files, each with the file and the line.
    pub problems: Vec<String>,
    /// Notes on definitions that took the place of others.
    pub notes: Vec<String>,
}

/// The largest file that is read, in bytes.
const LARGEST_FILE: u64 = 256 * 1024;

/// The most files of one folder that are read.
const MOST_FILES: usize = 200;

/// Makes the source of a definition in this file.
type SourceOf = fn(PathBuf) -> SubagentSource;

/// Loads every definition. Project definitions override the user's, and those override the built-in ones. An invalid file
/// is skipped and reported.
pub fn load_subagents(places: &SubagentPlaces) -> LoadedSubagents {
    let mut loaded = LoadedSubagents::default();
    let mut known: BTreeMap<SubagentName, SubagentDefinition> =
        built_in().into_iter().map(|definition| (definition.name.clone(), definition)).collect();
    let user = places.user.iter().map(|folder| (folder, SubagentSource::User as SourceOf));
    let project = places.project.iter().map(|folder| (folder, SubagentSource::Project as SourceOf));
    for (folder, source) in user.chain(project) {
        let mut own: BTreeMap<SubagentName, SubagentDefinition> = BTreeMap::new();
        for definition in loaded.read_folder(folder, source) {
            let SubagentDefinition { name, source, .. } = &definition;
            let file = shown(source);
            if let Some(first) = own.get(name) {
                let first = shown(&first.source);
                loaded.problems.push(format!("{file}: {:?} is already defined in {first}", name.as_str()));
                continue;
            }
            if let Some(former) = known.get(name) {
                let former = shown(&former.source);
                loaded.notes.push(format!("{file}: sub-agent {:?} replaces {former}", name.as_str()));
            }
            own.insert(name.clone(), definition);
        }
        known.extend(own);
    }
    loaded.subagents = Subagents::new(known.into_values());
    loaded
}

/// The sub-agents that come with Longhaul.
pub(super) fn built_in() -> Vec<SubagentDefinition> {
    let texts =
        [include_str!("../prompts/agents/explorer.md"), include_str!("../prompts/agents/generalist.md")];
    let parse =
        |text| parse_definition(text, SubagentSource::BuiltIn).0.expect("a test reads every one of them");
    texts.map(parse).into()
}

impl LoadedSubagents {
    fn read_folder(&mut self, folder: &Path, source: SourceOf) -> Vec<SubagentDefinition> {
        let files = match definition_files(folder) {
            Ok(files) => files,
            Err(error) if error.kind() == ErrorKind::NotFound => return Vec::new(),
            Err(error) => {
                self.problems.push(format!("could not read {}: {error}", folder.display()));
                return Vec::new();
            }
        };
        if files.len() > MOST_FILES {
            let (all, folder) = (files.len(), folder.display());
            self.problems.push(format!("{folder}: only the first {MOST_FILES} of {all} files are read"));
        }
        let mut definitions = Vec::new();
        for file in files.into_iter().take(MOST_FILES) {
            let (definition, problems) = match read_text(&file) {
                Ok(text) => parse_definition(&text, source(file.clone())),
                Err(error) => (None, vec![DefinitionProblem::of_file(error.to_string())]),
            };
            let file = file.display();
            self.problems.extend(problems.iter().map(|problem| match problem.line {
                Some(line) => format!("{file}:{line}: {}", problem.text),
                None => format!("{file}: {}", problem.text),
            }));
            definitions.extend(definition);
        }
        definitions
    }
}

fn shown(source: &SubagentSource) -> String {
    match source.file() {
        Some(file) => file.display().to_string(),
        None => "the built-in one".to_string(),
    }
}

/// The files of a folder that may hold definitions, by name. Those that begin with a dot or an underscore hold none.
fn definition_files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let is_markdown = path.extension().is_some_and(|extension| extension == "md");
        let is_hidden = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(['.', '_']));
        if is_markdown && !is_hidden {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

/// The text of a file. What is no file is not opened: a pipe would wait for ever.
fn read_text(path: &Path) -> io::Result<String> {
    let failed = |text: &str| io::Error::new(ErrorKind::InvalidData, text.to_string());
    if !fs::metadata(path)?.is_file() {
        return Err(failed("not a file"));
    }
    let mut bytes = Vec::new();
    fs::File::open(path)?.take(LARGEST_FILE + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > LARGEST_FILE {
        return Err(failed("larger than 256 KiB"));
    }
    String::from_utf8(bytes).map_err(|_| failed("not valid UTF-8"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(files: &[(&str, &[u8])]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().expect("a folder");
        for (name, content) in files {
            fs::write(folder.path().join(name), content).expect("written");
        }
        folder
    }

    fn load(user: Option<&Path>, project: Option<&Path>) -> LoadedSubagents {
        let places = SubagentPlaces { user: user.map(Into::into), project: project.map(Into::into) };
        load_subagents(&places)
    }

    fn names(loaded: &LoadedSubagents) -> Vec<&str> {
        loaded.subagents.iter().map(|definition| definition.name.as_str()).collect()
    }

    #[test]
    fn what_comes_with_longhaul_is_whole() {
        let texts = built_in();
        assert_eq!(texts.len(), 2);
        for definition in texts {
            let name = definition.name.as_str();
            let text = fs::read_to_string(
                Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("src/prompts/agents/{name}.md")),
            );
            let (_, problems) = parse_definition(&text.expect(name), SubagentSource::BuiltIn);
            assert_eq!(problems, [], "{name}");
        }
        let none = load(None, Some(Path::new("/no/such/folder")));
        assert_eq!((names(&none), none.problems.len()), (vec!["explorer", "generalist"], 0));
    }

    #[test]
    fn a_project_outweighs_the_user_and_both_what_is_built_in() {
        let text = |says: &str| format!("---\ndescription: {says}\n---\nx").into_bytes();
        let user = folder(&[
            ("explorer.md", &text("the user's")),
            ("tester.md", &text("the user's")),
            ("zz.md", b"---\nname: tester\ndescription: again\n---\nx"),
        ]);
        let project = folder(&[
            ("tester.md", &text("the project's")),
            ("_draft.md", b"not yet"),
            ("notes.txt", b"no definition"),
        ]);
        let loaded = load(Some(user.path()), Some(project.path()));
        assert_eq!(names(&loaded), ["explorer", "generalist", "tester"]);
        let description = |name: &str| loaded.subagents.get(name).map(|found| found.description.clone());
        assert_eq!(description("explorer").as_deref(), Some("the user's"));
        assert_eq!(description("tester").as_deref(), Some("the project's"));
        assert_eq!(loaded.notes.len(), 2, "{:?}", loaded.notes);
        assert!(loaded.notes[0].ends_with("\"explorer\" replaces the built-in one"));
        assert!(loaded.notes[1].contains("tester.md: sub-agent \"tester\" replaces"));
        assert_eq!(loaded.problems.len(), 1, "{:?}", loaded.problems);
        assert!(
            loaded.problems[0].contains("zz.md: ")
                && loaded.problems[0].contains("\"tester\" is already defined in ")
        );
    }

    #[test]
    fn hostile_files_are_problems_with_their_place() {
        let large = vec![b'x'; LARGEST_FILE as usize + 1];
        let user = folder(&[
            ("binary.md", b"---\nname: \xff\xfe\n---\nx"),
            ("large.md", &large),
            ("open.md", b"---\nname: x"),
            ("typo.md", b"---\ndescription: fine\nmax_turns: -3\n---\nx"),
            ("up.md", b"---\nname: ../../etc/passwd\ndescription: x\n---\nx"),
        ]);
        fs::create_dir(user.path().join("folder.md")).expect("made");
        let loaded = load(Some(user.path()), None);
        assert_eq!(names(&loaded), ["explorer", "generalist", "typo"]);
        let problems = loaded.problems.join("\n");
        for expected in [
            "binary.md: not valid UTF-8",
            "folder.md: not a file",
            "large.md: larger than 256 KiB",
            "open.md:1: the front matter has no closing \"---\" line",
            "typo.md:3: \"max_turns\" is not a positive integer",
            "up.md:2: \"name\" is not a valid name",
        ] {
            assert!(problems.contains(expected), "no {expected:?} in:\n{problems}");
        }
    }
}
