//! The system prompt: sections of our own, each of which can be left out, or a text of the user's in their place.

use longhaul_conversation::TokenCount;
use longhaul_memory::{SAVE_GUIDANCE, SAVE_TOOL};

use crate::subagents::Subagents;

/// The guidance for a model whose memory a manager keeps.
const MANAGER_GUIDANCE: &str = include_str!("../prompts/manager_guidance.md");

/// A section of the built-in prompt, in the order in which they stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum PromptSection {
    /// The role of the model.
    Preamble,
    /// Rules that always hold.
    CoreMandates,
    /// The way to go about a task.
    PrimaryWorkflows,
    /// The style of answers.
    OperationalGuidelines,
    /// The skills that there are.
    AgentSkills,
}

/// The ingredients of the system prompt.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PromptOptions {
    /// A text that takes the place of all built-in sections.
    pub replacement: Option<String>,
    /// Built-in sections that are left out.
    pub hidden: Vec<PromptSection>,
    /// The names of the tools.
    pub tools: Vec<String>,
    /// The agents that the model may hand tasks to, where it has tools.
    pub subagents: Subagents,
    /// The list of skills; empty where there are none.
    pub skills: String,
    /// The way in which facts are saved.
    pub saving: MemorySaving,
    /// The length of the built-in sections.
    pub detail: PromptDetail,
}

/// The length of the system prompt, and the number of tools.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PromptDetail {
    /// Everything that helps.
    #[default]
    Full,
    /// The essentials, for a model with a small window; there are no sub-agents.
    Brief,
}

impl PromptDetail {
    /// The largest window in which room is scarce: what is said in full takes a fifth of it.
    const SMALL_WINDOW: TokenCount = TokenCount(16_384);

    /// The detail for a model with this context window.
    pub fn for_window(window: TokenCount) -> Self {
        if window <= Self::SMALL_WINDOW { Self::Brief } else { Self::Full }
    }
}

/// The way in which facts are saved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MemorySaving {
    /// A tool, fact by fact.
    #[default]
    Direct,
    /// A sub-agent that keeps the memory files in order.
    Manager,
}

impl PromptSection {
    /// Every section, in order.
    pub const ALL: [Self; 5] = [
        Self::Preamble,
        Self::CoreMandates,
        Self::PrimaryWorkflows,
        Self::OperationalGuidelines,
        Self::AgentSkills,
    ];

    /// The word that switches name it by.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Preamble => "PREAMBLE",
            Self::CoreMandates => "COREMANDATES",
            Self::PrimaryWorkflows => "PRIMARYWORKFLOWS",
            Self::OperationalGuidelines => "OPERATIONALGUIDELINES",
            Self::AgentSkills => "AGENTSKILLS",
        }
    }

    fn text(self, options: &PromptOptions) -> String {
        match options.detail {
            PromptDetail::Full => self.full_text(options),
            PromptDetail::Brief => self.brief_text(options),
        }
    }

    fn brief_text(self, PromptOptions { tools, skills, .. }: &PromptOptions) -> String {
        let parts: &[&str] = match self {
            Self::Preamble => &[include_str!("../prompts/brief/preamble.md")],
            Self::CoreMandates => &[include_str!("../prompts/brief/core_mandates.md")],
            Self::PrimaryWorkflows if tools.is_empty() => &[
                include_str!("../prompts/brief/primary_workflows.md"),
                include_str!("../prompts/no_tools.md"),
            ],
            Self::PrimaryWorkflows => &[
                include_str!("../prompts/brief/primary_workflows.md"),
                include_str!("../prompts/brief/tools.md"),
            ],
            Self::OperationalGuidelines if tools.iter().any(|tool| tool == SAVE_TOOL) => &[
                include_str!("../prompts/brief/operational_guidelines.md"),
                include_str!("../prompts/brief/saving.md"),
            ],
            Self::OperationalGuidelines => &[include_str!("../prompts/brief/operational_guidelines.md")],
            Self::AgentSkills => &[skills.as_str()],
        };
        parts.concat()
    }

    fn full_text(self, PromptOptions { tools, subagents, skills, saving, .. }: &PromptOptions) -> String {
        let own = match self {
            Self::Preamble => include_str!("../prompts/preamble.md"),
            Self::CoreMandates => include_str!("../prompts/core_mandates.md"),
            Self::PrimaryWorkflows => {
                let steps = include_str!("../prompts/primary_workflows.md");
                let agents = include_str!("../prompts/subagents.md").replace("{{list}}", &subagents.list());
                return match (tools.is_empty(), subagents.is_empty()) {
                    (true, _) => format!("{steps}\n{}", include_str!("../prompts/no_tools.md")),
                    (false, true) => format!("{steps}\n{}", include_str!("../prompts/tools.md")),
                    (false, false) => format!("{steps}\n{}\n{agents}", include_str!("../prompts/tools.md")),
                };
            }
            Self::OperationalGuidelines => {
                let guidelines = include_str!("../prompts/operational_guidelines.md");
                let saves = tools.iter().any(|tool| tool == SAVE_TOOL);
                let guidance = match saving {
                    MemorySaving::Direct => SAVE_GUIDANCE,
                    MemorySaving::Manager => MANAGER_GUIDANCE,
                };
                return if saves { format!("{guidelines}\n{guidance}") } else { guidelines.to_string() };
            }
            Self::AgentSkills => skills,
        };
        own.to_string()
    }
}

/// The system prompt. The same options give the same bytes.
///
/// ```
/// use longhaul_agent::{PromptOptions, PromptSection, render_prompt};
///
/// let whole = render_prompt(&PromptOptions::default());
/// let options = PromptOptions { hidden: vec![PromptSection::CoreMandates], ..PromptOptions::default() };
/// assert!(render_prompt(&options).len() < whole.len());
/// ```
pub fn render_prompt(options: &PromptOptions) -> String {
    let text = match &options.replacement {
        Some(text) => substitute(text, options),
        None => {
            let shown = PromptSection::ALL.into_iter().filter(|section| !options.hidden.contains(section));
            shown.map(|section| section.text(options)).collect::<Vec<_>>().join("\n\n")
        }
    };
    collapse(text.trim())
}

/// Fills the places that a text of the user's may have for what only the program knows.
fn substitute(text: &str, PromptOptions { tools, subagents, skills, .. }: &PromptOptions) -> String {
    let available = match tools.as_slice() {
        [] => "There are no tools in this conversation.".to_string(),
        tools => tools.iter().map(|tool| format!("- {tool}")).collect::<Vec<_>>().join("\n"),
    };
    let text = text.replace("${SubAgents}", &subagents.list()).replace("${AvailableTools}", &available);
    let text = tools.iter().fold(text, |text, tool| text.replace(&format!("${{{tool}_ToolName}}"), tool));
    // Last, as what skills say of themselves is not the user's text.
    text.replace("${AgentSkills}", skills)
}

/// Line ends are plain, and no more than one line is empty at a time.
fn collapse(text: &str) -> String {
    let mut lines: Vec<&str> = Vec::new();
    for line in text.lines() {
        let repeats = line.is_empty() && lines.last().is_some_and(|last| last.is_empty());
        if !repeats {
            lines.push(line);
        }
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hidden(sections: &[PromptSection]) -> String {
        render_prompt(&PromptOptions { hidden: sections.to_vec(), ..PromptOptions::default() })
    }

    #[test]
    fn sections_stand_in_order_and_can_be_left_out() {
        let whole = hidden(&[]);
        let places = ["You are Longhaul", "# What always holds", "# How to work", "# How to answer"];
        let places = places.map(|start| whole.find(start).unwrap_or_else(|| panic!("no {start:?}")));
        assert!(places.is_sorted());
        assert!(!whole.contains("\n\n\n"));
        let less = hidden(&[PromptSection::Preamble, PromptSection::PrimaryWorkflows]);
        assert!(less.starts_with("# What always holds") && !less.contains("# How to work"));
        assert_eq!(hidden(&PromptSection::ALL), "");
    }

    #[track_caller]
    fn check_replacement(text: &str, expected: &str) {
        check_replacement_with(&[], text, expected);
    }

    #[track_caller]
    fn check_replacement_with(tools: &[&str], text: &str, expected: &str) {
        let tools = tools.iter().map(|tool| tool.to_string()).collect();
        let options = PromptOptions {
            replacement: Some(text.into()),
            hidden: PromptSection::ALL.to_vec(),
            tools,
            ..PromptOptions::default()
        };
        assert_eq!(render_prompt(&options), expected);
    }

    #[test]
    fn a_text_of_the_users_takes_the_place_of_all_sections() {
        check_replacement("Be kind.\r\n\n\n\nAlways.\n", "Be kind.\n\nAlways.");
        check_replacement("A${AgentSkills}B${SubAgents}C", "ABC");
        check_replacement("Tools: ${AvailableTools}", "Tools: There are no tools in this conversation.");
        check_replacement("${other}", "${other}");
        let tools = ["glob", "read_file"];
        check_replacement_with(&tools, "Tools:\n${AvailableTools}", "Tools:\n- glob\n- read_file");
        check_replacement_with(
            &tools,
            "Use ${read_file_ToolName}, ${x_ToolName}.",
            "Use read_file, ${x_ToolName}.",
        );
    }

    #[test]
    fn skills_stand_at_the_end_or_where_the_user_wants_them() {
        let skills = "# Skills\n${AvailableTools}".to_string();
        let options = PromptOptions { skills, ..PromptOptions::default() };
        assert!(render_prompt(&options).ends_with("\n\n# Skills\n${AvailableTools}"));
        let own = PromptOptions { replacement: Some("<${AgentSkills}>".into()), ..options };
        assert_eq!(render_prompt(&own), "<# Skills\n${AvailableTools}>");
    }

    #[test]
    fn a_model_is_told_whether_it_has_tools() {
        let tools = vec!["glob".to_string()];
        let with = render_prompt(&PromptOptions { tools, ..PromptOptions::default() });
        assert!(hidden(&[]).contains("You have no tools") && !with.contains("You have no tools"));
        assert!(with.contains("# Your tools") && !with.contains(SAVE_GUIDANCE.trim()));
        let tools = vec![SAVE_TOOL.to_string()];
        let with = render_prompt(&PromptOptions { tools, ..PromptOptions::default() });
        assert!(with.contains(SAVE_GUIDANCE.trim()));
        let tools = vec![SAVE_TOOL.to_string()];
        let managed = PromptOptions { tools, saving: MemorySaving::Manager, ..PromptOptions::default() };
        let managed = render_prompt(&managed);
        assert!(managed.contains(MANAGER_GUIDANCE.trim()) && !managed.contains(SAVE_GUIDANCE.trim()));
    }

    #[test]
    fn a_small_window_gets_a_brief_prompt() {
        let options = PromptOptions {
            tools: vec!["glob".into(), SAVE_TOOL.into()],
            subagents: Subagents::built_in(),
            skills: "# Skills".into(),
            detail: PromptDetail::for_window(TokenCount(16_384)),
            ..PromptOptions::default()
        };
        let brief = render_prompt(&options);
        let full = PromptOptions { detail: PromptDetail::for_window(TokenCount(16_385)), ..options.clone() };
        assert!(brief.len() * 2 < render_prompt(&full).len());
        let places =
            ["You are Longhaul", "# What always holds", "# How to work", "# How to answer", "# Skills"];
        let places = places.map(|start| brief.find(start).unwrap_or_else(|| panic!("no {start:?}")));
        assert!(places.is_sorted());
        assert!(brief.contains("`save_memory`") && !brief.contains("explorer"), "{brief}");
        let without = render_prompt(&PromptOptions { tools: Vec::new(), ..options });
        assert!(without.contains("You have no tools") && !without.contains("save_memory"));
    }

    #[test]
    fn a_model_is_told_of_sub_agents_where_it_can_start_them() {
        let subagents = Subagents::built_in();
        let without =
            render_prompt(&PromptOptions { subagents: subagents.clone(), ..PromptOptions::default() });
        assert!(!without.contains("## Sub-agents"));
        let tools = vec!["glob".to_string()];
        let with = PromptOptions { subagents, tools, ..PromptOptions::default() };
        let whole = render_prompt(&with);
        assert!(whole.contains("## Sub-agents") && whole.contains("\n- explorer: Finds out"), "{whole}");
        let replaced = PromptOptions { replacement: Some("Ask:\n${SubAgents}".into()), ..with };
        assert!(render_prompt(&replaced).starts_with("Ask:\n- explorer: "));
    }
}
