//! The tools of a turn: those declared to the model, and the targets of calls by name.

use std::collections::HashMap;

use longhaul_conversation::{Request, TokenCount, ToolChoice as RequestToolChoice, ToolDeclaration};
use longhaul_memory::SAVE_TOOL;
use longhaul_policy::{AGENT_TOOL, FETCH_TOOL};
use longhaul_tools::{ALIASES, Preview, Proposal, Tool, ToolSource};
use serde_json::Value;

use super::session::AgentSession;
use crate::deps::AgentDeps;
use crate::memory::MemoryManager;
use crate::prompt::PromptDetail;
use crate::subagents::Subagents;
use crate::tools::{OwnTool, size_of, within_share};

/// The deepest agent that may start others: the main agent is at 0.
const DEEPEST: u32 = 3;

/// Tools that a model with a small window does without: other tools do the same, or it has no room for their results.
const SPARED: [&str; 7] = [
    AGENT_TOOL,
    "compact_now",
    "list_directory",
    "read_many_files",
    "search_skills",
    FETCH_TOOL,
    "write_todos",
];

/// The tools declared to the model.
#[derive(Clone, Debug, Default)]
pub(super) struct DeclaredTools {
    declarations: Vec<ToolDeclaration>,
    tokens: TokenCount,
    /// The index of each tool of the application, by its name.
    indices: HashMap<String, usize>,
    /// The names of those that may be called in this step, where those are not all.
    offered: Option<Vec<String>>,
    /// `true` if the memory manager may be called.
    has_manager: bool,
}

/// The tool that answers a call.
#[derive(Clone, Copy)]
pub(super) enum ToolTarget<'h> {
    Tool(&'h dyn Tool),
    Own(OwnTool),
    Subagent(&'h Subagents),
    Manager(&'h MemoryManager),
}

impl DeclaredTools {
    /// The tools of a turn in this session.
    pub(super) fn declare(session: &AgentSession, deps: &AgentDeps<'_>) -> Self {
        let settings = session.settings();
        let may_delegate = session.lineage().depth < DEEPEST;
        let own = OwnTool::ALL.into_iter().filter(|tool| is_offered(*tool, session));
        let own = own.map(OwnTool::declaration);
        let agents = (may_delegate && !deps.subagents.is_empty()).then(|| deps.subagents.declaration());
        let manager = deps.manager.filter(|_| may_delegate);
        let others: Vec<ToolDeclaration> = deps.tools.iter().map(|tool| tool.declaration()).collect();
        let more = deps.servers.map(ToolSource::tools).unwrap_or_default();
        let indices = others.iter().enumerate().map(|(index, tool)| (tool.name.clone(), index)).collect();
        let tools: Vec<ToolDeclaration> = match deps.tools {
            // Without tools to work with there is nothing to look after, either; only a sub-agent still has to finish.
            [] if !session.is_subagent() => Vec::new(),
            _ => {
                let all = others
                    .into_iter()
                    .chain(manager.map(MemoryManager::declaration))
                    .chain(agents)
                    .chain(own)
                    // What comes and goes stands last, so that what is before it can stay cached.
                    .chain(more.iter().map(|tool| tool.declaration()));
                let spares = !session.is_subagent()
                    && PromptDetail::for_window(settings.model.window) == PromptDetail::Brief;
                let is_spared = |tool: &ToolDeclaration| spares && SPARED.contains(&tool.name.as_str());
                all.filter(|tool| settings.tools.includes(&tool.name) && !is_spared(tool)).collect()
            }
        };
        let declarations = within_share(tools, settings.model.window, &settings.estimator);
        let tokens = size_of(&declarations, &settings.estimator);
        Self { declarations, tokens, indices, offered: None, has_manager: manager.is_some() }
    }

    /// The declarations for the model.
    pub(super) fn declarations(&self) -> &[ToolDeclaration] {
        &self.declarations
    }

    /// Tokens of the declarations.
    pub(super) fn tokens(&self) -> TokenCount {
        self.tokens
    }

    /// Notes the tools that may be called in answer to a request, where those are not all.
    pub(super) fn offer(&mut self, request: &Request) {
        let offered = match request.tool_choice {
            RequestToolChoice::Forbidden => &[],
            RequestToolChoice::Free | RequestToolChoice::Required => request.tools.as_slice(),
        };
        let names = || offered.iter().map(|tool| tool.name.clone()).collect();
        self.offered = (offered.len() < self.declarations.len()).then(names);
    }

    /// Finds what answers a call of this name, if it may be called in this step.
    pub(super) fn find<'h>(&self, name: &str, deps: &AgentDeps<'h>) -> Option<ToolTarget<'h>> {
        let name = ALIASES.iter().find(|(old, _)| *old == name).map_or(name, |(_, new)| new);
        if !self.callable().any(|known| known == name) {
            return None;
        }
        if name == AGENT_TOOL {
            return Some(ToolTarget::Subagent(deps.subagents));
        }
        if let Some(manager) = deps.manager.filter(|_| self.has_manager && name == SAVE_TOOL) {
            return Some(ToolTarget::Manager(manager));
        }
        let own = OwnTool::named(name).map(ToolTarget::Own);
        own.or_else(|| {
            if let Some(index) = self.indices.get(name) {
                return Some(ToolTarget::Tool(deps.tools.get(*index)?.as_ref()));
            }
            let mut more = deps.servers?.tools().into_iter();
            more.find(|tool| tool.declaration().name == name).map(ToolTarget::Tool)
        })
    }

    /// The answer to a call of a tool that may not be called.
    pub(super) fn describe_missing(&self, name: &str, deps: &AgentDeps<'_>) -> String {
        let names: Vec<&str> = self.callable().collect();
        let declared_by = deps.servers.and_then(|servers| servers.declared_by(name));
        if let Some(search) = declared_by.filter(|search| names.contains(search)) {
            return format!("{name:?} is not declared yet. Call {search} with its name, then call it again.");
        }
        match names.as_slice() {
            [] => format!("There is no tool {name:?} now."),
            names => format!("There is no tool {name:?}. These are there: {}.", names.join(", ")),
        }
    }

    /// The names of the tools that may be called in this step.
    fn callable(&self) -> impl Iterator<Item = &str> {
        let is_offered = |name: &str| {
            self.offered.as_ref().is_none_or(|offered| offered.iter().any(|known| known == name))
        };
        self.declarations.iter().map(|tool| tool.name.as_str()).filter(move |name| is_offered(name))
    }
}

impl ToolTarget<'_> {
    /// A preview of a call with these arguments.
    pub(super) fn preview(self, args: &Value) -> Result<Preview, String> {
        match self {
            Self::Tool(tool) => tool.preview(args),
            Self::Own(own) => own.preview(args),
            Self::Subagent(subagents) => subagents.preview(args),
            Self::Manager(manager) => manager.preview(args),
        }
    }

    /// The file that a call with these arguments would write.
    pub(super) fn proposal(self, args: &Value) -> Option<Proposal> {
        match self {
            Self::Tool(tool) => tool.proposal(args),
            Self::Own(_) | Self::Subagent(_) | Self::Manager(_) => None,
        }
    }

    /// The arguments with which a call would write this text instead.
    pub(super) fn with_text(self, args: &Value, text: &str) -> Option<Value> {
        match self {
            Self::Tool(tool) => tool.with_text(args, text),
            Self::Own(_) | Self::Subagent(_) | Self::Manager(_) => None,
        }
    }

    /// The MCP server that answers.
    pub(super) fn server(&self) -> Option<&str> {
        match self {
            Self::Tool(tool) => tool.server(),
            Self::Own(_) | Self::Subagent(_) | Self::Manager(_) => None,
        }
    }

    /// The name under which rules decide about a call.
    pub(super) fn policy_name(self, name: &str) -> &str {
        match self {
            Self::Tool(tool) => tool.policy_name().unwrap_or(name),
            Self::Own(_) | Self::Subagent(_) | Self::Manager(_) => name,
        }
    }
}

/// `true` if one of the agent's own tools is declared to the model.
fn is_offered(tool: OwnTool, session: &AgentSession) -> bool {
    match tool {
        OwnTool::RecallHistory => true,
        // Where nobody can allow it or answer, it would only tempt.
        OwnTool::CompactNow | OwnTool::AskUser => session.settings().permissions.situation.is_interactive,
        OwnTool::CompleteTask => session.is_subagent(),
    }
}
