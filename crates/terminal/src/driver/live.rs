//! Pages while a turn runs: the agent is at work then, so the pages about it are those of its latest request.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use longhaul_agent::AgentView;
use tokio::sync::mpsc::UnboundedSender;

use super::{pages, send};
use crate::page::Page;
use crate::protocol::{DriverCommand, DriverMessage, Topic};
use crate::services::Services;

/// The topics whose pages are kept. The others ask a server or the disk, and wait for the end of the turn.
const TOPICS: [Topic; 12] = [
    Topic::Context,
    Topic::Rules,
    Topic::Requests,
    Topic::Statistics,
    Topic::Memory,
    Topic::MemoryFiles,
    Topic::Policy,
    Topic::Tools,
    Topic::Agents,
    Topic::Hooks,
    Topic::Skills,
    Topic::AllSkills,
];

/// The pages about the agent as it was at its latest request.
#[derive(Debug, Default)]
pub(super) struct LivePages(Mutex<HashMap<Topic, Page>>);

impl LivePages {
    /// Keeps the pages about the agent.
    pub(super) fn keep<S: Services>(&self, agent: AgentView<'_>, services: &S, spent: Option<f64>) {
        let page = |topic| match topic {
            // What a compaction would do takes long to find out, and would be outdated.
            Topic::Context => pages::usage(agent, &services.host()),
            topic => pages::page(topic, agent, services, spent),
        };
        let kept = TOPICS.map(|topic| (topic, page(topic)));
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = kept.into_iter().collect();
    }

    /// Answers a command that only shows something; returns false for any other.
    pub(super) fn answer<S: Services>(
        &self,
        command: &DriverCommand,
        services: &S,
        messages: &UnboundedSender<DriverMessage>,
    ) -> bool {
        let page = match command {
            DriverCommand::ShowSettings(key) => match services.settings_page(key.as_deref()) {
                Ok(page) => DriverMessage::Page(page),
                Err(notice) => DriverMessage::Notice(notice),
            },
            DriverCommand::Show(topic) => {
                let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner).get(topic).cloned();
                let now = || match topic {
                    Topic::Servers => Some(services.servers()),
                    Topic::Trust => Some(services.trust()),
                    _ => None,
                };
                let Some(page) = kept.or_else(now) else { return false };
                DriverMessage::Page(page)
            }
            _ => return false,
        };
        send(messages, page);
        send(messages, DriverMessage::Done);
        true
    }
}
