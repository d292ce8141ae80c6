//! Permission to run a call: the decision of rules and hooks, and the user's where these ask.

use longhaul_conversation::{ToolCall, ToolStatus};
use longhaul_hooks::{HookEvent, ToolUse, describe_changes};
use longhaul_memory::SAVE_TOOL;
use longhaul_policy::{
    AllowedCalls, AlwaysAllow, Call as PolicyCall, Decision, FETCH_TOOL, Reach, RuleTier, SHELL_TOOL,
    Verdict, save_always_allow, suggest_host, suggest_prefixes,
};
use longhaul_tools::{PermittedEffects, Preview};
use longhaul_workspace::{LockTimeout, ProtectedFile, unified_diff};
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use super::session::AgentSession;
use super::state::TurnState;
use super::toolbox::ToolTarget;
use crate::approval::{AlwaysOffer, Approval, ApprovalLock, ApprovalRequest};
use crate::deps::AgentDeps;
use crate::event::TurnEnd;
use crate::settings::Permissions;
use crate::statistics::Activity;
use crate::tools::OwnTool;

/// A call that is about to run, or that was answered without.
pub(super) enum PreparedCall<'h> {
    Ready(ReadyCall<'h>),
    Answered { call: ToolCall, status: ToolStatus, text: String },
    Ends { call: ToolCall, end: TurnEnd },
}

/// A call that may run.
pub(super) struct ReadyCall<'h> {
    /// As the model made it.
    pub(super) call: ToolCall,
    /// The effective arguments.
    pub(super) args: Value,
    pub(super) target: ToolTarget<'h>,
    pub(super) preview: Preview,
    pub(super) permitted: PermittedEffects,
    /// Notes for the model, added to the answer.
    pub(super) notes: Vec<String>,
}

impl ReadyCall<'_> {
    /// `true` if it may run beside others: it only looks, or it is the work of a sub-agent, whose own calls are decided one
    /// by one.
    pub(super) fn runs_beside_others(&self) -> bool {
        matches!(
            (&self.preview, self.target),
            (Preview::Look(_), ToolTarget::Tool(_)) | (_, ToolTarget::Subagent(_))
        )
    }
}

/// Decides whether a call may run, and with which arguments: the rules, then hooks, then the user where they ask.
pub(super) async fn prepare_call<'h>(
    session: &mut AgentSession,
    turn: &TurnState,
    call: ToolCall,
    deps: &AgentDeps<'h>,
    cancel: &CancellationToken,
) -> PreparedCall<'h> {
    session.note(Activity::ToolScheduled, deps);
    let failed = |call, text| PreparedCall::Answered { call, status: ToolStatus::Failed, text };
    let refused = |call, text| PreparedCall::Answered { call, status: ToolStatus::Cancelled, text };
    let Some(target) = turn.tools.find(&call.name, deps) else {
        let text = turn.tools.describe_missing(&call.name, deps);
        return failed(call, text);
    };
    let shown = match target.preview(&call.args) {
        Ok(preview) => preview,
        Err(text) => return failed(call, text),
    };
    if let Decision::Deny { reason } =
        decide(&session.settings.permissions, &call.name, &call.args, target, &shown).decision
    {
        return refused(call, reason);
    }
    let mut args = call.args.clone();
    let mut notes = Vec::new();
    let event = HookEvent::BeforeTool { call: tool_use(&call.name, target.server(), &args, None) };
    let hooked = session.run_hooks(event, deps, cancel).await;
    let mut question = None;
    if let Some(outcome) = hooked {
        if let Some(reason) = outcome.stop() {
            return PreparedCall::Ends { call, end: TurnEnd::Stopped { reason: reason.to_string() } };
        }
        if let Some(reason) = outcome.block() {
            return refused(call, format!("A hook did not let this call run: {reason}"));
        }
        if let Some(changed) = outcome.tool_input() {
            let before = args.as_object().cloned().unwrap_or_default();
            let after: Map<String, Value> = before.clone().into_iter().chain(changed.clone()).collect();
            notes.extend(describe_changes(&before, &after));
            args = Value::Object(after);
        }
        notes.extend(outcome.context());
        question = outcome.ask().map(str::to_string);
    }
    let mut shown = match target.preview(&args) {
        Ok(preview) => preview,
        Err(text) => return failed(call, text),
    };
    let permission = decide(&session.settings.permissions, &call.name, &args, target, &shown);
    match permission.decision {
        Decision::Deny { reason } => return refused(call, reason),
        Decision::Allow if question.is_none() => {}
        Decision::Allow | Decision::Ask => {
            let always = offer_always(&session.settings.permissions, target, &call.name, &args);
            let (reason, always) = permission.question(question, always);
            // Boxed, as a sub-agent asks on the stack of the agent that started it.
            let request = Box::new(ApprovalRequest {
                call: call.clone().with_args(args.clone()),
                preview: shown.clone(),
                reason,
                always,
                proposal: target.proposal(&args),
            });
            match ask_approval(session, &turn.approvals, &request, deps, cancel).await {
                Approval::Once | Approval::Always(_) => {}
                edit @ (Approval::Edited(_) | Approval::Rewritten(_)) => {
                    match take_edit(edit, &request, target, &args, &mut notes) {
                        Ok(edited) => (args, shown) = edited,
                        Err(text) => return failed(call, text),
                    }
                }
                Approval::Denied { reason } => {
                    let reason = reason.map(|reason| format!(" {reason}")).unwrap_or_default();
                    return refused(call, format!("{NOT_ALLOWED}{reason}"));
                }
                Approval::Stop => return PreparedCall::Ends { call, end: TurnEnd::Cancelled },
            }
        }
    }
    let permitted = session.settings.permissions.permitted_effects(&call.name, &args);
    PreparedCall::Ready(ReadyCall { call, args, target, preview: shown, permitted, notes })
}

/// The arguments that the user left, and their preview; a note says so to the model.
fn take_edit(
    edit: Approval,
    request: &ApprovalRequest,
    target: ToolTarget<'_>,
    args: &Value,
    notes: &mut Vec<String>,
) -> Result<(Value, Preview), String> {
    let edited = match edit {
        Approval::Edited(edited) => {
            notes.push("[The user changed the arguments before the call ran.]".to_string());
            edited
        }
        Approval::Rewritten(text) => {
            let proposed = request.proposal.as_ref().map_or("", |proposal| proposal.text.as_str());
            notes.push(describe_rewrite(proposed, &text));
            target
                .with_text(args, &text)
                .ok_or("The user's edit could not be applied. Nothing was changed.")?
        }
        Approval::Once | Approval::Always(_) | Approval::Denied { .. } | Approval::Stop => args.clone(),
    };
    let preview = target.preview(&edited)?;
    Ok((edited, preview))
}

/// The answer to a call that the user denied.
pub(super) const NOT_ALLOWED: &str = "The user did not allow this call.";

/// The most characters of the user's edit that the model reads.
const MAX_REWRITE: usize = 4_000;

/// A note for the model about a proposed file that the user edited.
fn describe_rewrite(proposed: &str, written: &str) -> String {
    let diff = unified_diff(("proposed", proposed), ("written", written)).text;
    let told =
        "The user edited your proposed content before it was written. The file holds the user's version";
    match diff.chars().count() <= MAX_REWRITE {
        true => format!("[{told}; this is what differs from yours:]\n{diff}"),
        false => format!("[{told}, which differs in many places: read the file again before you change it.]"),
    }
}

/// Asks the user about a call, and keeps an "always".
pub(super) async fn ask_approval(
    session: &mut AgentSession,
    lock: &ApprovalLock,
    request: &ApprovalRequest,
    deps: &AgentDeps<'_>,
    cancel: &CancellationToken,
) -> Approval {
    if !session.settings.permissions.situation.is_interactive {
        return Approval::Denied { reason: Some("Not approved: running without a terminal.".to_string()) };
    }
    let ToolCall { name, args, .. } = &request.call;
    let notification = HookEvent::Notification {
        notification_type: "ToolPermission".to_string(),
        message: format!("{name} needs approval to run"),
        details: json!({"tool_name": name, "tool_input": args}),
    };
    session.run_hooks(notification, deps, cancel).await;
    let asked = async {
        let _lock = lock.lock().await;
        deps.approver.approve(request).await
    };
    let asked = cancel.run_until_cancelled(asked).await;
    let approval = asked.unwrap_or(Approval::Stop);
    if let (Approval::Always(reach), Some(offer)) = (&approval, &request.always) {
        allow_always(session, &offer.allow, *reach, deps);
    }
    approval
}

/// Allows calls like this one from now on, also in later sessions where that is wanted and can be kept.
fn allow_always(session: &mut AgentSession, always: &AlwaysAllow, reach: Reach, deps: &AgentDeps<'_>) {
    let saved = match session.settings.permissions.saved.of(reach) {
        Some(path) => save_always_allow(path, reach, always, LockTimeout::default()),
        None => always.to_rule(),
    };
    let rule = saved.or_else(|error| {
        deps.warn(format!("approved for this session only: {error}"));
        always.to_rule()
    });
    match rule {
        Ok(rule) => session.grant(rule),
        Err(error) => deps.warn(error.to_string()),
    }
}

/// The "always" that the user may choose for a call, with the scopes in which it would take effect: a rule of the user's
/// own may outrank an approval.
pub(super) fn offer_always(
    permissions: &Permissions,
    target: ToolTarget<'_>,
    name: &str,
    args: &Value,
) -> Option<AlwaysOffer> {
    let tool = target.policy_name(name);
    let allow = always_for(tool, target.server(), args)?;
    let Permissions { policy, situation, saved, subagent, .. } = permissions;
    let call = PolicyCall::new(tool, args);
    let call = target.server().map_or(call, |server| call.of_server(server));
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

/// Decides by the rules about a call that would do this.
pub(super) fn decide(
    permissions: &Permissions,
    tool: &str,
    args: &Value,
    target: ToolTarget<'_>,
    preview: &Preview,
) -> Permission {
    // To hand over a result does nothing that a rule could be about.
    if OwnTool::named(tool) == Some(OwnTool::CompleteTask) {
        return Permission { decision: Decision::Allow, protected: None, offers_always: false };
    }
    let offers_always = permissions.offers_always;
    let decide = |name: &str| {
        let call = PolicyCall::new(name, args);
        let call = target.server().map_or(call, |server| call.of_server(server));
        let call = permissions.subagent.as_deref().map_or(call, |subagent| call.by(subagent));
        let call = match preview {
            // Who saves memory is asked about that, and reaches nothing else.
            Preview::Change { path, .. } if name != SAVE_TOOL => call.writing(path),
            _ => call,
        };
        permissions.decide(&call)
    };
    let ruling = decide(target.policy_name(tool));
    if target.policy_name(tool) != tool {
        // Deny and ask rules for its own name apply too.
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
        // Each change that it makes needs its own approval.
        Decision::Ask if matches!(target, ToolTarget::Manager(_)) => Decision::Allow,
        decision => decision,
    };
    Permission { decision, protected: ruling.protected, offers_always }
}

/// The decision of the rules about a call.
pub(super) struct Permission {
    pub(super) decision: Decision,
    /// The protected file that would be changed.
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
        let reason = format!("it changes {file}, a protected file");
        let reason = asked.map_or_else(|| reason.clone(), |asked| format!("{asked}; {reason}"));
        // An answer for good would lift nothing.
        (Some(reason), None)
    }
}

/// The calls that "always" would allow: commands that begin alike, pages of one host, or all calls of another tool.
fn always_for(tool: &str, server: Option<&str>, args: &Value) -> Option<AlwaysAllow> {
    let calls = match tool {
        SHELL_TOOL => AllowedCalls::Commands(suggest_prefixes(args.get("command")?.as_str()?)?),
        FETCH_TOOL => AllowedCalls::Arguments(suggest_host(args)?),
        _ => AllowedCalls::All,
    };
    Some(AlwaysAllow { tool: tool.to_string(), server: server.map(str::to_string), calls })
}

/// A call as hooks see it.
pub(super) fn tool_use(name: &str, server: Option<&str>, args: &Value, original: Option<String>) -> ToolUse {
    ToolUse {
        tool_name: name.to_string(),
        tool_input: args.as_object().cloned().unwrap_or_default(),
        mcp_context: server.map(|server| json!({"server_name": server})),
        original_request_name: original,
    }
}
