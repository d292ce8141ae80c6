//! Offers of the application for completion and help: custom commands, settings, themes.

/// Offers of the application for completion and help.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Offers {
    /// Custom commands from the user's and the project's files.
    pub commands: Vec<CustomCommand>,
    /// The keys of settings with their meanings.
    pub settings: Vec<(String, String)>,
    /// The names of themes with their descriptions.
    pub themes: Vec<(String, String)>,
}

/// A custom command.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CustomCommand {
    /// The name, such as `git:commit`.
    pub name: String,
    /// The arguments it takes, as its file describes them.
    pub takes: String,
    /// The description.
    pub does: String,
}
