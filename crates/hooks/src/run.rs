//! Runs the hooks of an event.

use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::command::{HookEnvironment, folder, quote_variables};
use crate::config::{Hook, Hooks};
use crate::event::{Event, Occasion};
use crate::merge::chain;
use crate::outcome::{HookRun, Outcome};
use crate::output::{Exit, parse_output};
use crate::process::{Finished, Task, run};

/// Runs the hooks that are meant for an event and puts their answers together.
///
/// They run at the same time, unless one of them asks to run in turn; then each learns what those before it changed. A hook
/// that fails, or takes too long, blocks nothing. When `cancel` fires, the hooks and all they started are ended, and so they are
/// when the future is dropped. Hooks of the project run only if the folder is
/// trusted.
pub async fn run_hooks(
    hooks: &Hooks,
    event: &Event,
    occasion: &Occasion,
    environment: &HookEnvironment,
    cancel: &CancellationToken,
) -> Outcome {
    let plan = hooks.plan(event, environment.is_trusted);
    let runs = if plan.is_sequential {
        run_in_turn(&plan.hooks, event, occasion, environment, cancel).await
    } else {
        run_at_once(&plan.hooks, event, occasion, environment, cancel).await
    };
    Outcome::new(event.name(), runs)
}

async fn run_in_turn(
    hooks: &[&Hook],
    event: &Event,
    occasion: &Occasion,
    environment: &HookEnvironment,
    cancel: &CancellationToken,
) -> Vec<HookRun> {
    let mut event = event.clone();
    let mut runs = Vec::with_capacity(hooks.len());
    for hook in hooks {
        let run = run_hook(hook, &event, occasion, environment, cancel).await;
        if run.exit.is_success() {
            chain(&mut event, &run.output);
        }
        runs.push(run);
    }
    runs
}

async fn run_at_once(
    hooks: &[&Hook],
    event: &Event,
    occasion: &Occasion,
    environment: &HookEnvironment,
    cancel: &CancellationToken,
) -> Vec<HookRun> {
    let mut tasks = JoinSet::new();
    for (place, hook) in hooks.iter().enumerate() {
        let (hook, event, occasion) = ((*hook).clone(), event.clone(), occasion.clone());
        let (environment, cancel) = (environment.clone(), cancel.clone());
        tasks.spawn(async move { (place, run_hook(&hook, &event, &occasion, &environment, &cancel).await) });
    }
    let mut runs = tasks.join_all().await;
    runs.sort_by_key(|(place, _)| *place);
    runs.into_iter().map(|(_, run)| run).collect()
}

async fn run_hook(
    hook: &Hook,
    event: &Event,
    occasion: &Occasion,
    environment: &HookEnvironment,
    cancel: &CancellationToken,
) -> HookRun {
    let started = Instant::now();
    let task = Task {
        command_line: &quote_variables(&hook.command),
        folder: folder(occasion, environment),
        environment: environment.of_process(hook, occasion).collect(),
        input: event.encode_input(occasion).to_string().into_bytes(),
        timeout: hook.timeout,
    };
    let Finished { exit, stdout, stderr } = match cancel.is_cancelled() {
        false => run(task, cancel).await,
        true => Finished { exit: Exit::Cancelled, stdout: String::new(), stderr: String::new() },
    };
    let output = parse_output(hook.label(), &exit, &stdout, &stderr);
    HookRun { label: hook.label().to_owned(), exit, stdout, stderr, duration: started.elapsed(), output }
}
