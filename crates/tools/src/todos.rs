//! The tool `write_todos`: the model's to-do list.

use longhaul_conversation::ToolDeclaration;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::{
    BoxFuture, Preview, TodoItem, TodoStatus, Tool, ToolAnswer, ToolDisplay, ToolInvocation, parse_arguments,
    schema_of,
};

const NAME: &str = "write_todos";

/// The tool `write_todos`. The list exists only in its answer; the agent takes it from there.
#[derive(Clone, Copy, Debug, Default)]
pub struct WriteTodos;

#[derive(Debug, Deserialize, JsonSchema)]
struct WriteTodosArguments {
    /// The whole list, in the order in which it is to be done. An empty one clears the list.
    todos: Vec<Todo>,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct Todo {
    /// What is to be done, in one line.
    description: String,
    /// How it stands.
    status: TodoStatus,
}

fn items(args: &Value) -> Result<Vec<TodoItem>, String> {
    let arguments: WriteTodosArguments = parse_arguments(NAME, args)?;
    let items: Vec<TodoItem> = arguments
        .todos
        .into_iter()
        .map(|todo| TodoItem { text: todo.description.trim().to_string(), status: todo.status })
        .collect();
    if let Some(place) = items.iter().position(|item| item.text.is_empty()) {
        return Err(format!("Item {} has no description.", place + 1));
    }
    let in_progress = items.iter().filter(|item| item.status == TodoStatus::InProgress).count();
    if in_progress > 1 {
        return Err(format!("{in_progress} items are in progress; at most one may be."));
    }
    Ok(items)
}

fn render(items: &[TodoItem]) -> String {
    if items.is_empty() {
        return "The list is empty.".to_string();
    }
    let lines = items.iter().enumerate().map(|(place, item)| {
        let status = match item.status {
            TodoStatus::Pending => "pending",
            TodoStatus::InProgress => "in progress",
            TodoStatus::Completed => "completed",
            TodoStatus::Cancelled => "cancelled",
        };
        format!("\n{}. [{status}] {}", place + 1, item.text)
    });
    format!("The list is now:{}", lines.collect::<String>())
}

impl Tool for WriteTodos {
    fn declaration(&self) -> ToolDeclaration {
        ToolDeclaration {
            name: NAME.to_string(),
            description: include_str!("prompts/write_todos.md").trim_end().to_string(),
            parameters: schema_of::<WriteTodosArguments>(),
        }
    }

    fn preview(&self, args: &Value) -> Result<Preview, String> {
        Ok(Preview::Other(match items(args)?.len() {
            1 => "list 1 to-do item".to_string(),
            count => format!("list {count} to-do items"),
        }))
    }

    fn run<'a>(&'a self, call: ToolInvocation<'a>) -> BoxFuture<'a, ToolAnswer> {
        Box::pin(async {
            match items(call.args) {
                Ok(items) => ToolAnswer::succeeded(render(&items)).shown(ToolDisplay::Todos(items)),
                Err(problem) => ToolAnswer::failed(problem),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ToolOutcome;
    use crate::walk::tests::call;
    use serde_json::json;

    fn list(todos: &[(&str, &str)]) -> Value {
        let todos = todos.iter().map(|(text, status)| json!({"description": text, "status": status}));
        json!({"todos": todos.collect::<Vec<_>>()})
    }

    #[test]
    fn a_list_is_told_as_it_is() {
        let todos = list(&[
            (" read ", "completed"),
            ("write", "in_progress"),
            ("test", "pending"),
            ("x", "cancelled"),
        ]);
        let expected = "The list is now:\n1. [completed] read\n2. [in progress] write\n3. [pending] test\n4. [cancelled] x";
        assert_eq!(call(&WriteTodos, &todos), ToolOutcome::Succeeded(expected.into()));
        assert_eq!(call(&WriteTodos, &list(&[])), ToolOutcome::Succeeded("The list is empty.".into()));
        assert_eq!(WriteTodos.preview(&todos), Ok(Preview::Other("list 4 to-do items".into())));
        let read = TodoItem { text: "read".into(), status: TodoStatus::Completed };
        assert_eq!(items(&todos).unwrap()[0], read);
    }

    #[track_caller]
    fn check_refused(args: &Value, expected: &str) {
        let outcome = call(&WriteTodos, args);
        assert!(matches!(&outcome, ToolOutcome::Failed(why) if why.contains(expected)), "{outcome:?}");
        assert!(WriteTodos.preview(args).is_err());
    }

    #[test]
    fn a_list_that_makes_no_sense_is_refused() {
        let two = list(&[("a", "in_progress"), ("b", "in_progress")]);
        check_refused(&two, "2 items are in progress; at most one may be.");
        check_refused(&list(&[("a", "pending"), (" ", "pending")]), "Item 2 has no description.");
        check_refused(&list(&[("a", "someday")]), "todos[0].status: unknown variant `someday`");
        check_refused(&json!({}), "missing field `todos`");
    }
}
