//! The definition of a sub-agent: a name, a prompt, tools, a model and limits, as a file with front matter states them.

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use longhaul_workspace::{FrontMatter, FrontMatterError, FrontMatterField, FrontMatterValue, MalformedValue};

/// The name of a sub-agent: letters, digits, `-` and `_`, so that it is never a path and fits into rules.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SubagentName(String);

/// The longest name.
const LONGEST_NAME: usize = 64;

/// The most characters of a description that a model reads.
const LONGEST_DESCRIPTION: usize = 600;

/// The most characters of a prompt.
const LONGEST_PROMPT: usize = 60_000;

impl SubagentName {
    /// Takes a name if it is one.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let is_plain = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_');
        let is_name = text.starts_with(|letter: char| letter.is_ascii_alphanumeric())
            && text.len() <= LONGEST_NAME
            && text.chars().all(is_plain);
        is_name.then(|| Self(text.to_string()))
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for SubagentName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A sub-agent as it is defined.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SubagentDefinition {
    /// Its name.
    pub name: SubagentName,
    /// A line for the agent that may use it: the tasks it is good for.
    pub description: String,
    /// Its system prompt.
    pub prompt: String,
    /// Its tools.
    pub tools: SubagentTools,
    /// The model that it asks.
    pub model: SubagentModel,
    /// Maximum model calls.
    pub most_turns: u32,
    /// Maximum working time.
    pub most_time: Duration,
    /// The source of the definition.
    pub source: SubagentSource,
}

/// The tools of a sub-agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SubagentTools {
    /// Every tool that works on the workspace; neither other sub-agents nor the user.
    All,
    /// The tools of these names.
    Only(Vec<String>),
}

/// The model that a sub-agent asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SubagentModel {
    /// The model of the agent that starts it.
    Inherited,
    /// The model for small questions, if there is one.
    Helper,
    /// The one of this name.
    Named(String),
}

/// The source of a definition. A later variant takes precedence.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SubagentSource {
    /// A definition that comes with Longhaul.
    BuiltIn,
    /// A file of the user's.
    User(PathBuf),
    /// A file of the project's.
    Project(PathBuf),
}

impl SubagentSource {
    /// The word for it.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::BuiltIn => "built in",
            Self::User(_) => "user",
            Self::Project(_) => "project",
        }
    }

    /// The file, if it is one.
    pub fn file(&self) -> Option<&Path> {
        match self {
            Self::BuiltIn => None,
            Self::User(file) | Self::Project(file) => Some(file),
        }
    }
}

/// A problem in a definition, with its line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DefinitionProblem {
    /// The line, from 1; none where it is about the whole file.
    pub(crate) line: Option<usize>,
    /// The description of the problem.
    pub(crate) text: String,
}

impl DefinitionProblem {
    pub(super) fn at(line: usize, text: impl Into<String>) -> Self {
        Self { line: Some(line), text: text.into() }
    }

    pub(super) fn of_file(text: impl Into<String>) -> Self {
        Self { line: None, text: text.into() }
    }
}

impl fmt::Display for DefinitionProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "line {line}: {}", self.text),
            None => f.write_str(&self.text),
        }
    }
}

/// Reads a definition from the text of its file. An invalid line is skipped; without a name, a
/// description and a prompt there is no definition.
pub(crate) fn parse_definition(
    text: &str,
    source: SubagentSource,
) -> (Option<SubagentDefinition>, Vec<DefinitionProblem>) {
    let FrontMatter { fields, body, unread_lines, .. } = match FrontMatter::parse(text) {
        Ok(front) => front,
        Err(error) => return (None, vec![DefinitionProblem::at(1, describe(error))]),
    };
    let unread = |line| DefinitionProblem::at(line, "expected \"key: value\"");
    let mut problems: Vec<DefinitionProblem> = unread_lines.into_iter().map(unread).collect();
    let mut stated = Stated::default();
    for field in fields {
        if let Err(problem) = stated.take(field) {
            problems.push(problem);
        }
    }
    match stated.complete(body, source) {
        Ok(definition) => (Some(definition), problems),
        Err(problem) => {
            problems.push(problem);
            (None, problems)
        }
    }
}

/// The fields that the lines of a file state.
#[derive(Default)]
struct Stated {
    name: Option<SubagentName>,
    /// A name that is none was stated: that of the file does not take its place.
    is_misnamed: bool,
    description: Option<String>,
    tools: Option<SubagentTools>,
    model: Option<SubagentModel>,
    most_turns: Option<u32>,
    most_time: Option<Duration>,
    is_remote: bool,
}

const USUAL_TURNS: u32 = 30;
const USUAL_TIME: Duration = Duration::from_secs(10 * 60);
const LONGEST_TIME: Duration = Duration::from_secs(24 * 60 * 60);

impl Stated {
    fn take(&mut self, field: FrontMatterField) -> Result<(), DefinitionProblem> {
        let FrontMatterField { key, value, line, .. } = field;
        let problem = |reason: &str| DefinitionProblem::at(line, format!("\"{key}\" {reason}"));
        let value = match value {
            Ok(FrontMatterValue::Mapping(_)) => Err(MalformedValue::Nested),
            value => value,
        };
        let value = value.map_err(|mistake| problem(&mistake.to_string()))?;
        match key.as_str() {
            "name" => {
                let name = text(value).and_then(|name| SubagentName::parse(&name));
                self.is_misnamed = name.is_none();
                self.name = Some(name.ok_or_else(|| problem(NO_NAME))?);
            }
            "description" => {
                self.description = Some(text(value).ok_or_else(|| problem("is not a string"))?);
            }
            "tools" => {
                let names = match value {
                    FrontMatterValue::Text(names) => {
                        names.split(',').map(|name| name.trim().to_string()).collect()
                    }
                    FrontMatterValue::List(names) => names,
                    FrontMatterValue::Mapping(_) => Vec::new(),
                };
                let names: Vec<String> = names.into_iter().filter(|name| !name.is_empty()).collect();
                self.tools = Some(match names.iter().any(|name| name == "*") {
                    true => SubagentTools::All,
                    false => SubagentTools::Only(names),
                });
            }
            "model" => {
                let name = text(value).filter(|name| !name.is_empty());
                self.model = Some(match name.ok_or_else(|| problem("is not a name"))?.as_str() {
                    "inherit" => SubagentModel::Inherited,
                    "helper" => SubagentModel::Helper,
                    name => SubagentModel::Named(name.to_string()),
                });
            }
            "max_turns" => {
                let turns = text(value).and_then(|turns| turns.parse().ok()).filter(|turns| *turns > 0);
                self.most_turns = Some(turns.ok_or_else(|| problem("is not a positive integer"))?);
            }
            "max_time_minutes" | "timeout_mins" => {
                let minutes = text(value).and_then(|minutes| minutes.parse::<f64>().ok());
                let time = minutes.and_then(|minutes| Duration::try_from_secs_f64(minutes * 60.0).ok());
                let time = time.filter(|time| !time.is_zero());
                let time = time.ok_or_else(|| problem("is not a positive number of minutes"))?;
                self.most_time = Some(time.min(LONGEST_TIME));
            }
            "kind" => self.is_remote = text(value).is_some_and(|kind| kind == "remote"),
            "display_name" => {}
            _ => return Err(problem("is unknown and ignored")),
        }
        Ok(())
    }

    fn complete(self, body: &str, source: SubagentSource) -> Result<SubagentDefinition, DefinitionProblem> {
        if self.is_remote {
            return Err(DefinitionProblem::of_file("remote agents are not supported"));
        }
        if self.is_misnamed {
            return Err(DefinitionProblem::of_file("skipped: its name is invalid"));
        }
        let file_name = || SubagentName::parse(source.file()?.file_stem()?.to_str()?);
        let name = self.name.or_else(file_name);
        let name = name.ok_or_else(|| DefinitionProblem::of_file(format!("the file name {NO_NAME}")))?;
        let described = self.description.map(|text| one_line(&text)).filter(|text| !text.is_empty());
        let description =
            described.ok_or_else(|| DefinitionProblem::of_file("\"description\" is missing"))?;
        let prompt = body.trim();
        if prompt.is_empty() {
            return Err(DefinitionProblem::of_file("no prompt below the front matter"));
        }
        if prompt.chars().count() > LONGEST_PROMPT {
            return Err(DefinitionProblem::of_file(format!(
                "the prompt is longer than {LONGEST_PROMPT} characters"
            )));
        }
        Ok(SubagentDefinition {
            name,
            description,
            prompt: prompt.replace("\r\n", "\n"),
            tools: self.tools.unwrap_or(SubagentTools::All),
            model: self.model.unwrap_or(SubagentModel::Inherited),
            most_turns: self.most_turns.unwrap_or(USUAL_TURNS),
            most_time: self.most_time.unwrap_or(USUAL_TIME),
            source,
        })
    }
}

const NO_NAME: &str = "is not a valid name: use at most 64 letters, digits, \"-\" and \"_\"";

fn describe(error: FrontMatterError) -> &'static str {
    match error {
        FrontMatterError::Missing => "does not start with front matter between two \"---\" lines",
        FrontMatterError::Unclosed => "the front matter has no closing \"---\" line",
    }
}

fn text(value: FrontMatterValue) -> Option<String> {
    match value {
        FrontMatterValue::Text(text) => Some(text.trim().to_string()),
        FrontMatterValue::List(_) | FrontMatterValue::Mapping(_) => None,
    }
}

/// A text on one line, without what could act on a terminal, and not too long for a prompt that lists it.
fn one_line(text: &str) -> String {
    let words: Vec<&str> = text.split(|letter: char| letter.is_whitespace() || letter.is_control()).collect();
    let line = words.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(LONGEST_DESCRIPTION) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> (Option<SubagentDefinition>, Vec<String>) {
        let source = SubagentSource::User("/home/agents/reviewer.md".into());
        let (definition, problems) = parse_definition(text, source);
        (definition, problems.iter().map(ToString::to_string).collect())
    }

    #[track_caller]
    fn check(text: &str) -> SubagentDefinition {
        let (definition, problems) = parse(text);
        assert_eq!(problems, Vec::<String>::new(), "{text}");
        definition.unwrap_or_else(|| panic!("no definition: {text}"))
    }

    #[track_caller]
    fn check_refused(text: &str, expected: &str) {
        let (definition, problems) = parse(text);
        assert_eq!((definition, problems.last().map(String::as_str)), (None, Some(expected)), "{text}");
    }

    #[test]
    fn a_file_says_what_a_sub_agent_is() {
        let whole = check(
            "---\nname: critic\ndescription: >\n  Finds what is\n  wrong.\ntools: [read_file, glob]\nmodel: flash\n\
             max_turns: 5\nmax_time_minutes: 1.5\n---\n\nYou find faults.\r\nAll of them.\n",
        );
        assert_eq!(whole.name.as_str(), "critic");
        assert_eq!(whole.description, "Finds what is wrong.");
        assert_eq!(whole.tools, SubagentTools::Only(vec!["read_file".into(), "glob".into()]));
        assert_eq!(whole.model, SubagentModel::Named("flash".into()));
        assert_eq!((whole.most_turns, whole.most_time), (5, Duration::from_secs(90)));
        assert_eq!(whole.prompt, "You find faults.\nAll of them.");
        let least = check("---\ndescription: Reviews.\n---\nReview.");
        assert_eq!(least.name.as_str(), "reviewer");
        assert_eq!((&least.tools, &least.model), (&SubagentTools::All, &SubagentModel::Inherited));
        let dashed = check("---\ndescription: x\ntools:\n  - read_file\n  - '*'\nmodel: inherit\n---\nx");
        assert_eq!((dashed.tools, dashed.model), (SubagentTools::All, SubagentModel::Inherited));
        let none = check("---\ndescription: x\ntools: []\nkind: local\ndisplay_name: X\n---\nx");
        assert_eq!(none.tools, SubagentTools::Only(Vec::new()));
    }

    #[test]
    fn the_example_in_the_documentation_is_one() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/agents.md");
        let text = std::fs::read_to_string(path).expect("the documentation");
        let blocks: Vec<&str> = text.split("```markdown\n").skip(1).collect();
        let [block] = blocks.as_slice() else { panic!("{} examples", blocks.len()) };
        let example = check(block.split("```").next().expect("the block"));
        assert_eq!(example.name.as_str(), "reviewer");
        let tools = ["read_file", "grep_search", "run_shell_command"].map(str::to_string);
        assert_eq!(example.tools, SubagentTools::Only(tools.to_vec()));
        assert_eq!((example.most_turns, example.most_time), (20, Duration::from_secs(300)));
        assert!(
            example.prompt.starts_with("You review changes.") && example.prompt.ends_with("one sentence.")
        );
    }

    #[test]
    fn a_line_that_is_wrong_costs_that_line() {
        let (definition, problems) = parse(
            "---\ndescription: x\nmax_turns: many\nmax_time_minutes: -1\ncolour: red\nmodel: []\n---\nReview.",
        );
        let definition = definition.expect("it is one all the same");
        assert_eq!((definition.most_turns, definition.most_time), (USUAL_TURNS, USUAL_TIME));
        let expected = [
            "line 3: \"max_turns\" is not a positive integer",
            "line 4: \"max_time_minutes\" is not a positive number of minutes",
            "line 5: \"colour\" is unknown and ignored",
            "line 6: \"model\" is not a name",
        ];
        assert_eq!(problems, expected);
        for minutes in ["NaN", "inf", "1e400", "0", "1e-30"] {
            let (_, problems) = parse(&format!("---\ndescription: x\nmax_time_minutes: {minutes}\n---\nx"));
            assert_eq!(problems.len(), 1, "{minutes}");
        }
        let long = check("---\ndescription: x\nmax_time_minutes: 1e9\n---\nx");
        assert_eq!(long.most_time, LONGEST_TIME);
    }

    #[test]
    fn what_is_missing_is_said() {
        check_refused("Review.", "line 1: does not start with front matter between two \"---\" lines");
        check_refused("---\nname: x\n---\nReview.", "\"description\" is missing");
        check_refused("---\ndescription: x\n---\n \n", "no prompt below the front matter");
        check_refused("---\ndescription: ' \t'\n---\nx", "\"description\" is missing");
        check_refused("---\nname: ../x\ndescription: x\n---\nx", "skipped: its name is invalid");
        check_refused("---\nkind: remote\ndescription: x\n---\nx", "remote agents are not supported");
    }

    #[test]
    fn hostile_texts_are_made_harmless() {
        let hostile = check("---\ndescription: \"a\u{1b}[2J\\n\\n# New rules\u{7}\"\n---\nx");
        assert_eq!(hostile.description, "a [2J # New rules");
        let long = check(&format!("---\ndescription: {}\n---\nx", "é".repeat(5_000)));
        assert_eq!(long.description.chars().count(), LONGEST_DESCRIPTION + 1);
        check_refused(
            &format!("---\ndescription: x\n---\n{}", "x".repeat(LONGEST_PROMPT + 1)),
            "the prompt is longer than 60000 characters",
        );
    }

    #[test]
    fn names_are_plain() {
        for name in ["a", "code-reviewer", "save_memory", "7", &"x".repeat(64)] {
            assert!(SubagentName::parse(name).is_some(), "{name}");
        }
        for name in ["", "-a", "_", "a b", "a/b", "..", "a.md", "é", "a\n", &"x".repeat(65)] {
            assert!(SubagentName::parse(name).is_none(), "{name:?}");
        }
    }
}
