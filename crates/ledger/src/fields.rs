//! The names of the fields in which tools take arguments and give results: `data/fields.txt`.

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::data::{DataError, DataFile, loaded};

/// The content of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Field {
    Path,
    Paths,
    Command,
    Patch,
    Job,
    Task,
    Directory,
    Destination,
    Content,
    Old,
    New,
    Plan,
    Background,
    Output,
    ExitCode,
}

impl Field {
    /// The names under which the field goes, in the order in which they are tried.
    pub(crate) fn names(self) -> &'static [&'static str] {
        NAMES.get(&self).map_or(&[], Vec::as_slice)
    }

    fn from_key(key: &str) -> Option<Self> {
        Some(match key {
            "path" => Self::Path,
            "paths" => Self::Paths,
            "command" => Self::Command,
            "patch" => Self::Patch,
            "job" => Self::Job,
            "task" => Self::Task,
            "directory" => Self::Directory,
            "destination" => Self::Destination,
            "content" => Self::Content,
            "old" => Self::Old,
            "new" => Self::New,
            "plan" => Self::Plan,
            "background" => Self::Background,
            "output" => Self::Output,
            "exit-code" => Self::ExitCode,
            _ => return None,
        })
    }
}

type FieldNames = HashMap<Field, Vec<&'static str>>;

static NAMES: LazyLock<FieldNames> = LazyLock::new(|| loaded(parse(&FILE)));

pub(crate) const FILE: DataFile = DataFile { name: "fields.txt", text: include_str!("../data/fields.txt") };

pub(crate) fn parse(file: &DataFile) -> Result<FieldNames, DataError> {
    let mut names = FieldNames::new();
    for line in file.lines() {
        let line = line?;
        let field = Field::from_key(line.key).ok_or_else(|| line.unknown_key())?;
        names.entry(field).or_default().push(line.value);
    }
    Ok(names)
}
