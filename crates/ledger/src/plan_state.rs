//! Reads the plans and task lists that agents keep through tools.

use longhaul_conversation::Ordinal;
use serde_json::Value;

use super::entries::{StepStatus, TaskList, TaskStep};
use super::fields::Field;

/// A plan holds no more steps than this, and no longer ones.
const MAX_STEPS: usize = 100;
const MAX_STEP_CHARS: usize = 300;

/// Takes a plan that is written down as a whole; `None` where the arguments hold none.
pub(super) fn read_plan(args: &Value, at: Ordinal) -> Option<TaskList> {
    let list = Field::Plan.names().iter().find_map(|key| args.get(key))?;
    let steps: Vec<TaskStep> = match list {
        Value::Array(items) => items.iter().filter_map(read_step).take(MAX_STEPS).collect(),
        Value::String(text) => read_checklist(text),
        _ => return None,
    };
    (!steps.is_empty() || list.as_array().is_some_and(Vec::is_empty))
        .then_some(TaskList { steps, at: Some(at) })
}

/// The steps of a checklist in Markdown.
pub(super) fn read_checklist(text: &str) -> Vec<TaskStep> {
    let steps = text.lines().filter_map(|line| {
        let item = line.trim_start().trim_start_matches(['-', '*', '+']).trim_start();
        let item = item.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.').trim_start();
        let mark = item.strip_prefix('[')?;
        let (mark, text) = mark.split_once(']')?;
        let status = match mark {
            "x" | "X" => StepStatus::Done,
            " " | "" => StepStatus::Open,
            "-" | "~" | "/" | ">" => StepStatus::InProgress,
            _ => return None,
        };
        step(text, status, None)
    });
    steps.take(MAX_STEPS).collect()
}

fn read_step(item: &Value) -> Option<TaskStep> {
    if let Value::String(text) = item {
        return step(text, StepStatus::Open, None);
    }
    let text = ["content", "subject", "step", "title", "description", "text", "task"]
        .iter()
        .find_map(|key| item.get(key)?.as_str())?;
    let status = item.get("status").or_else(|| item.get("state")).and_then(Value::as_str);
    let done = item.get("completed").or_else(|| item.get("done")).and_then(Value::as_bool);
    let status = status.map(read_status).unwrap_or(if done == Some(true) {
        StepStatus::Done
    } else {
        StepStatus::Open
    });
    step(text, status, item.get("id").and_then(id_text))
}

fn step(text: &str, status: StepStatus, id: Option<String>) -> Option<TaskStep> {
    let text = text.trim();
    (!text.is_empty()).then(|| TaskStep { text: crate::excerpts::cut(text, MAX_STEP_CHARS), status, id })
}

fn read_status(status: &str) -> StepStatus {
    match status.to_ascii_lowercase().replace(['-', ' '], "_").as_str() {
        "completed" | "complete" | "done" | "finished" => StepStatus::Done,
        "in_progress" | "active" | "doing" | "started" => StepStatus::InProgress,
        "cancelled" | "canceled" | "deleted" | "skipped" | "dropped" => StepStatus::Dropped,
        _ => StepStatus::Open,
    }
}

fn id_text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

impl TaskList {
    /// Adds one step, numbered as the tools that add steps one by one number them.
    pub fn add(&mut self, args: &Value, at: Ordinal) {
        if self.steps.len() >= MAX_STEPS {
            return;
        }
        if let Some(mut added) = read_step(args) {
            added.id.get_or_insert_with(|| (self.steps.len() + 1).to_string());
            self.steps.push(added);
            self.at = Some(at);
        }
    }

    /// Changes one step that is named by its id.
    pub(super) fn update(&mut self, args: &Value, at: Ordinal) {
        let id = ["taskId", "task_id", "id"].iter().find_map(|key| args.get(key)).and_then(id_text);
        let Some(step) = self.steps.iter_mut().find(|step| step.id.is_some() && step.id == id) else {
            return;
        };
        if let Some(status) = args.get("status").and_then(Value::as_str) {
            step.status = read_status(status);
        }
        if let Some(subject) = args.get("subject").and_then(Value::as_str) {
            step.text = crate::excerpts::cut(subject, MAX_STEP_CHARS);
        }
        self.at = Some(at);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn shape(plan: &TaskList) -> String {
        let steps = plan.steps.iter().map(|step| {
            let mark = match step.status {
                StepStatus::Open => ' ',
                StepStatus::InProgress => '>',
                StepStatus::Done => 'x',
                StepStatus::Dropped => '-',
            };
            format!("[{mark}] {}", step.text)
        });
        steps.collect::<Vec<_>>().join(", ")
    }

    #[track_caller]
    fn check(args: &Value, expected: Option<&str>) {
        assert_eq!(read_plan(args, Ordinal(1)).as_ref().map(shape).as_deref(), expected);
    }

    #[test]
    fn plans_of_all_tools_are_read() {
        check(
            &json!({"todos": [{"content": "a", "status": "completed"}, {"content": "b", "status": "in_progress"}]}),
            Some("[x] a, [>] b"),
        );
        check(&json!({"plan": [{"step": "a", "status": "pending"}], "explanation": "why"}), Some("[ ] a"));
        check(
            &json!({"command": "plan", "task_list": [{"title": "a", "status": "done", "notes": ""}]}),
            Some("[x] a"),
        );
        check(&json!({"todos": [{"description": "a", "status": "cancelled"}]}), Some("[-] a"));
        check(&json!({"todos": "- [x] a\n- [ ] b\nnoise"}), Some("[x] a, [ ] b"));
        check(&json!({"todos": []}), Some(""));
        check(&json!({"plan": "free text"}), None);
        check(&json!({"command": "view"}), None);
        check(&json!(null), None);
    }

    #[test]
    fn steps_are_added_and_changed_one_by_one() {
        let mut plan = TaskList::default();
        plan.add(&json!({"subject": "a", "description": "long"}), Ordinal(1));
        plan.add(&json!({"subject": "b"}), Ordinal(2));
        plan.update(&json!({"taskId": "2", "status": "completed"}), Ordinal(3));
        plan.update(&json!({"taskId": "9", "status": "completed"}), Ordinal(3));
        assert_eq!(shape(&plan), "[ ] a, [x] b");
    }
}
