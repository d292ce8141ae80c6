//! Whether a call may run: what the rules say, and what the user says where the rules ask.

use longhaul_conversation::ToolCall;
use longhaul_hooks::Event as HookEvent;
use longhaul_memory::SAVE_TOOL;
use longhaul_policy::{
    AllowedCalls, AlwaysAllow, Call as PolicyCall, Decision, Reach, Rule, RuleTier, SHELL_TOOL, Verdict,
    save_always_allow, suggest_prefixes,
};
use longhaul_tools::Preview;
use longhaul_workspace::{Patience, ProtectedFile};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::Runs;
use crate::own_tools::OwnTool;
use crate::turn::Agent;
use crate::{AlwaysOffer, Approval, ApprovalRequest, Host, Permissions};

impl Agent {
    /// Asks the user about a call, and keeps an "always".
    pub(super) async fn ask_user(
        &mut self,
        request: &ApprovalRequest,
        host: &Host<'_>,
        cancel: &CancellationToken,
    ) -> Approval {
        if !self.settings.permissions.situation.is_interactive {
            return Approval::Denied { reason: Some("Nobody is there to allow it.".to_string()) };
        }
        let ToolCall { name, args, .. } = &request.call;
        let notification = HookEvent::Notification {
            notification_type: "ToolPermission".to_string(),
            message: format!("{name} needs permission to run"),
            details: json!({"tool_name": name, "tool_input": args}),
        };
        self.run_hooks(notification, host, cancel).await;
        let asked = async {
            let _turn = self.desk.lock().await;
            host.approver.approve(request).await
        };
        let asked = cancel.run_until_cancelled(asked).await;
        let approval = asked.unwrap_or(Approval::Stop);
        if let (Approval::Always(reach), Some(offer)) = (&approval, &request.always) {
            self.allow_always(&offer.allow, *reach, host);
        }
        approval
    }

    /// Allows calls like this one from now on, also in later sessions where that is wanted and can be kept.
    fn allow_always(&mut self, always: &AlwaysAllow, reach: Reach, host: &Host<'_>) {
        let saved = match self.settings.permissions.saved.of(reach) {
            Some(path) => save_always_allow(path, reach, always, Patience::default()),
            None => always.to_rule(),
        };
        let rule = saved.or_else(|error| {
            host.warn(format!("it is allowed in this session only: {error}"));
            always.to_rule()
        });
        match rule {
            Ok(rule) => self.grant(rule),
            Err(error) => host.warn(error.to_string()),
        }
    }

    /// Lets a rule count from now on.
    pub(crate) fn grant(&mut self, rule: Rule) {
        let permissions = &mut self.settings.permissions;
        permissions.policy = std::mem::take(&mut permissions.policy).with(rule.clone());
        self.granted.push(rule);
    }

    /// What "always" would allow, and where it would count: a rule of the user's own may weigh more than an answer.
    pub(super) fn offer_always(&self, tool: &str, args: &Value) -> Option<AlwaysOffer> {
        let allow = always_for(tool, args)?;
        let Permissions { policy, situation, saved, subagent, .. } = &self.settings.permissions;
        let call = PolicyCall::new(tool, args);
        let call = subagent.as_deref().map_or(call, |subagent| call.by(subagent));
        let counts = |reach: &Reach| {
            let can_be_kept = *reach == Reach::Session || saved.of(*reach).is_some();
            can_be_kept
                && allow.rule_for(*reach).is_ok_and(|rule| {
                    policy.clone().with(rule).decide(&call, *situation).decision == Decision::Allow
                })
        };
        let reaches: Vec<Reach> = Reach::ALL.into_iter().filter(counts).collect();
        (!reaches.is_empty()).then_some(AlwaysOffer { allow, reaches })
    }

    /// What the rules say about a call that would do this.
    pub(super) fn decide(&self, tool: &str, args: &Value, runs: Runs<'_>, preview: &Preview) -> Permission {
        // To hand over a result does nothing that a rule could be about.
        if OwnTool::named(tool) == Some(OwnTool::CompleteTask) {
            return Permission { decision: Decision::Allow, protected: None, offers_always: false };
        }
        let permissions = &self.settings.permissions;
        let offers_always = permissions.offers_always;
        let decide = |name: &str| {
            let call = PolicyCall::new(name, args);
            let call = permissions.subagent.as_deref().map_or(call, |subagent| call.by(subagent));
            let call = match preview {
                // Who saves memory is asked about that, and reaches nothing else.
                Preview::Change { path, .. } if name != SAVE_TOOL => call.writing(path),
                _ => call,
            };
            permissions.policy.decide(&call, permissions.situation)
        };
        let ruling = decide(judged(runs, tool));
        if judged(runs, tool) != tool {
            // Under its own name, too, what somebody forbids or wants to be asked about counts.
            let own = decide(tool);
            let stated = own.rule.filter(|rule| rule.priority.tier() > RuleTier::Default);
            let is_stricter = match stated.map(|rule| rule.verdict) {
                Some(Verdict::Deny) => true,
                Some(Verdict::Ask) => ruling.decision == Decision::Allow,
                Some(Verdict::Allow) | None => false,
            };
            if is_stricter {
                return Permission { decision: own.decision, protected: own.protected, offers_always };
            }
        }
        let decision = match ruling.decision {
            // Each change that it makes is asked for when it comes.
            Decision::Ask if matches!(runs, Runs::Manager(_)) => Decision::Allow,
            decision => decision,
        };
        Permission { decision, protected: ruling.protected, offers_always }
    }
}

/// What the rules say about a call.
pub(super) struct Permission {
    pub(super) decision: Decision,
    /// The file that grants rights and would be changed.
    pub(super) protected: Option<ProtectedFile>,
    offers_always: bool,
}

impl Permission {
    /// The reason to ask, beside that of a hook, and what "always" would allow.
    pub(super) fn question(
        &self,
        asked: Option<String>,
        always: Option<AlwaysOffer>,
    ) -> (Option<String>, Option<AlwaysOffer>) {
        let always = always.filter(|_| self.offers_always);
        let Some(file) = &self.protected else { return (asked, always) };
        let reason = format!("it changes {file}, a file that grants rights");
        let reason = asked.map_or_else(|| reason.clone(), |asked| format!("{asked}; {reason}"));
        // An answer for good would lift nothing.
        (Some(reason), None)
    }
}

/// The name under which rules decide about a call.
pub(super) fn judged<'n>(runs: Runs<'_>, name: &'n str) -> &'n str {
    match runs {
        Runs::Tool(tool) => tool.judged_as().unwrap_or(name),
        Runs::Own(_) | Runs::Subagent(_) | Runs::Manager(_) => name,
    }
}

/// What "always" would allow: commands that begin alike, or all calls of a tool that runs none.
fn always_for(tool: &str, args: &Value) -> Option<AlwaysAllow> {
    let calls = if tool == SHELL_TOOL {
        AllowedCalls::Commands(suggest_prefixes(args.get("command")?.as_str()?)?)
    } else {
        AllowedCalls::All
    };
    Some(AlwaysAllow { tool: tool.to_string(), server: None, calls })
}
