//! The diagnosis, as text for people and as JSON.

use serde_json::{Value, json};

use super::{Diagnosis, State};
use crate::output::{Page, Screen, path_json, plural, wrapped};

/// The width of the column of states, with the space around it.
const COLUMN: usize = 11;

/// The whole diagnosis: each area with its findings, and a hint below each.
pub(super) fn text(diagnosis: &Diagnosis, screen: &Screen) -> String {
    let mut page = Page::new(*screen);
    let mut area = "";
    for finding in &diagnosis.findings {
        if finding.area != area {
            area = finding.area;
            page.heading(&capitalised(area));
        }
        let state = format!("{:<width$}", finding.state.as_str(), width = COLUMN - 2);
        let state = match finding.state {
            State::Ok => screen.good(&state),
            State::Note => screen.warning(&state),
            State::Problem => screen.error(&state),
        };
        let room = screen.width.saturating_sub(COLUMN);
        for (place, line) in wrapped(&finding.what, room).iter().enumerate() {
            let lead = if place == 0 { state.clone() } else { " ".repeat(COLUMN - 2) };
            page.line(&format!("  {lead}{line}"));
        }
        for (place, line) in
            wrapped(finding.advice.as_deref().unwrap_or_default(), room.saturating_sub(2)).iter().enumerate()
        {
            let arrow = if place == 0 { "→ " } else { "  " };
            page.line(&format!("{}{}", " ".repeat(COLUMN), screen.strong(&format!("{arrow}{line}"))));
        }
    }
    page.gap();
    page.line(&summary(diagnosis));
    page.into_text()
}

fn summary(diagnosis: &Diagnosis) -> String {
    let (problems, notes) = (diagnosis.count(State::Problem), diagnosis.count(State::Note));
    let notes = plural(notes, "note", "notes");
    match problems {
        0 => format!("No problems; {notes}."),
        _ => format!("{}; {notes}.", plural(problems, "problem", "problems")),
    }
}

fn capitalised(area: &str) -> String {
    let (first, rest) = area.split_at(1);
    first.to_uppercase() + rest
}

/// The same as one object.
pub(super) fn json(diagnosis: &Diagnosis) -> Value {
    json!({
        "schema": 1,
        "problems": diagnosis.count(State::Problem),
        "notes": diagnosis.count(State::Note),
        "home": diagnosis.home.as_ref().map(|home| home.display().to_string()),
        "project": diagnosis.project,
        "trusted": diagnosis.trusted,
        "unhonoured": diagnosis.unsupported.iter().map(|one| json!({
            "key": one.key,
            "file": path_json(&one.place.file),
            "line": one.place.line,
            "restricts": one.restricts.is_some(),
        })).collect::<Vec<_>>(),
        "checks": diagnosis.findings.iter().map(|finding| json!({
            "area": finding.area,
            "state": finding.state.as_str(),
            "what": finding.what,
            "advice": finding.advice,
        })).collect::<Vec<_>>(),
    })
}
