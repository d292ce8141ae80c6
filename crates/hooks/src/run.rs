//! Runs the hooks of an event.

use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::command::{HookEnvironment, folder, quote_variables};
use crate::config::{Hook, Hooks};
use crate::event::{HookContext, HookEvent};
use crate::merge::apply_changes;
use crate::outcome::{HookOutcome, HookRun};
use crate::output::{HookExit, parse_output};
use crate::process::{FinishedProcess, HookProcess, run};

/// Runs the hooks of an event and merges their answers.
///
/// They run at the same time, unless one of them asks to run in sequence; then each sees the changes of those before
/// it. A hook that fails or times out blocks nothing. Cancelling or dropping the future kills the hooks and all
/// processes they started. Hooks of the project run only if the folder is trusted.
pub async fn run_hooks(
    hooks: &Hooks,
    event: &HookEvent,
    context: &HookContext,
    environment: &HookEnvironment,
    cancel: &CancellationToken,
) -> HookOutcome {
    let plan = hooks.plan(event, environment.is_trusted);
    let runs = if plan.is_sequential {
        run_in_sequence(&plan.hooks, event, context, environment, cancel).await
    } else {
        run_in_parallel(&plan.hooks, event, context, environment, cancel).await
    };
    HookOutcome::new(event.name(), runs)
}

async fn run_in_sequence(
    hooks: &[&Hook],
    event: &HookEvent,
    context: &HookContext,
    environment: &HookEnvironment,
    cancel: &CancellationToken,
) -> Vec<HookRun> {
    let mut event = event.clone();
    let mut runs = Vec::with_capacity(hooks.len());
    for hook in hooks {
        let run = run_hook(hook, &event, context, environment, cancel).await;
        if run.exit.is_success() {
            apply_changes(&mut event, &run.output);
        }
        runs.push(run);
    }
    runs
}

async fn run_in_parallel(
    hooks: &[&Hook],
    event: &HookEvent,
    context: &HookContext,
    environment: &HookEnvironment,
    cancel: &CancellationToken,
) -> Vec<HookRun> {
    let mut tasks = JoinSet::new();
    for (place, hook) in hooks.iter().enumerate() {
        let (hook, event, context) = ((*hook).clone(), event.clone(), context.clone());
        let (environment, cancel) = (environment.clone(), cancel.clone());
        tasks.spawn(async move { (place, run_hook(&hook, &event, &context, &environment, &cancel).await) });
    }
    let mut runs = tasks.join_all().await;
    runs.sort_by_key(|(place, _)| *place);
    runs.into_iter().map(|(_, run)| run).collect()
}

async fn run_hook(
    hook: &Hook,
    event: &HookEvent,
    context: &HookContext,
    environment: &HookEnvironment,
    cancel: &CancellationToken,
) -> HookRun {
    let started = Instant::now();
    let task = HookProcess {
        command_line: &quote_variables(&hook.command),
        folder: folder(context, environment),
        environment: environment.of_process(hook, context).collect(),
        input: event.encode_input(context).to_string().into_bytes(),
        timeout: hook.timeout,
    };
    let FinishedProcess { exit, stdout, stderr } = match cancel.is_cancelled() {
        false => run(task, cancel).await,
        true => FinishedProcess { exit: HookExit::Cancelled, stdout: String::new(), stderr: String::new() },
    };
    let output = parse_output(hook.label(), &exit, &stdout, &stderr);
    HookRun { label: hook.label().to_owned(), exit, stdout, stderr, duration: started.elapsed(), output }
}
