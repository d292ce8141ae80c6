//! Trust in a folder: what it activates, and what changed since.

use std::path::Path;

use longhaul_app::trust::TrustPreview;
use longhaul_workspace::ContentChange;
use serde_json::{Map, Value, json};

use crate::output::{Page, pad, visible, wrapped};

/// The preview of a folder, for people.
pub(crate) fn tell_preview(page: &mut Page, folder: &Path, preview: &TrustPreview) {
    let name = visible(&folder.display().to_string());
    if preview.is_empty() {
        page.line(&format!("Trusting {name} activates nothing."));
    } else {
        page.line(&format!("Trusting {name} activates:"));
    }
    let details = |page: &mut Page, kind: &str, lines: &[(String, String)], between: &str| {
        for (number, (name, what)) in lines.iter().enumerate() {
            let label = if number == 0 { kind } else { "" };
            let what = if what.is_empty() { name.clone() } else { format!("{name}{between}{what}") };
            item(page, label, &visible(&what));
        }
    };
    for (kind, names) in &preview.kinds {
        match *kind {
            "hooks" if !preview.hooks.is_empty() => details(page, kind, &preview.hooks, ": "),
            "MCP servers" => details(page, kind, &preview.servers, ": "),
            _ => item(page, kind, &visible(&names.join(", "))),
        }
    }
    details(page, "endpoints", &preview.endpoints, ": ");
    details(page, "links", &preview.links, " → ");
    for warning in &preview.warnings {
        page.line(&page.screen.warning(&format!("warning: {}", visible(warning))));
    }
    page.gap();
}

/// The same as JSON.
pub(crate) fn preview_json(preview: &TrustPreview) -> Value {
    let kinds =
        preview.kinds.iter().map(|(kind, names)| (kind.replace(' ', "_").to_lowercase(), json!(names)));
    let mut object: Map<String, Value> = kinds.collect();
    let pairs = |lines: &[(String, String)], names: [&str; 2]| {
        lines.iter().map(|(one, other)| json!({names[0]: one, names[1]: other})).collect::<Value>()
    };
    for (key, lines, names) in [
        ("hook_commands", &preview.hooks, ["hook", "command"]),
        ("server_commands", &preview.servers, ["server", "command"]),
        ("endpoints", &preview.endpoints, ["provider", "endpoint"]),
        ("links", &preview.links, ["path", "target"]),
    ] {
        if !lines.is_empty() {
            object.insert(key.into(), pairs(lines, names));
        }
    }
    object.insert("warnings".into(), json!(preview.warnings));
    object.into()
}

/// A labelled line, wrapped: a long command is shown in full.
fn item(page: &mut Page, label: &str, text: &str) {
    const WIDTH: usize = 12;
    let room = page.screen.width.saturating_sub(WIDTH + 3).max(20);
    for (number, line) in wrapped(text, room).iter().enumerate() {
        let label = page.screen.faint(&pad(if number == 0 { label } else { "" }, WIDTH));
        page.line(&format!("  {label} {line}"));
    }
}

/// The changes in a folder since it was trusted, for people.
pub(crate) fn tell_changes(page: &mut Page, folder: &Path, changes: &[ContentChange]) {
    page.line(&visible(&format!("Changed in {} since you trusted it:", folder.display())));
    for change in changes {
        page.line(&format!("  {}", visible(&change.to_string())));
    }
    page.gap();
}
