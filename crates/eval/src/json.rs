//! The figures as JSON.

use serde_json::{Map, Value, json};

use crate::figures::{Cell, EvalSummary, Figures, SessionReport};
use crate::session::Class;

/// All figures as JSON: the means over the sessions of each class, and each session.
pub fn to_json(reports: &[SessionReport]) -> Value {
    let summary = |class: Class| {
        let summary = EvalSummary::of(reports, class);
        json!({"sessions": summary.sessions, "cells": summary.cells.iter().map(mean_json).collect::<Vec<_>>()})
    };
    let sessions: Vec<Value> = reports
        .iter()
        .map(|report| {
            json!({
                "name": report.name,
                "class": report.class.as_str(),
                "tokens": report.tokens,
                "needed": report.needed,
                "rereads": {"again": report.rereads.kept, "of": report.rereads.of},
                "cells": report.cells.iter().map(cell_json).collect::<Vec<_>>(),
            })
        })
        .collect();
    json!({
        "real": summary(Class::Real),
        "scripted": summary(Class::Scripted),
        "small": summary(Class::Small),
        "sessions": sessions,
    })
}

/// A cell of means, with the number of sessions behind each.
fn mean_json(cell: &Cell) -> Value {
    let mut fields = cell_fields(cell);
    let counts =
        cell.figures.sessions.iter().map(|(measure, count)| (measure.as_str().to_string(), json!(count)));
    fields.insert("sessions".into(), Value::Object(counts.collect()));
    Value::Object(fields)
}

fn cell_json(cell: &Cell) -> Value {
    Value::Object(cell_fields(cell))
}

fn cell_fields(cell: &Cell) -> Map<String, Value> {
    let mut fields = Map::new();
    fields.insert("method".into(), json!(cell.method));
    fields.insert("budget".into(), json!(cell.budget));
    for (measure, share) in &cell.figures.shares {
        fields.insert(measure.as_str().into(), json!(share));
    }
    let Figures { defects, added, names, time, .. } = &cell.figures;
    fields.insert("added_tokens".into(), json!(added));
    fields.insert("names".into(), json!(names));
    fields.insert("milliseconds".into(), json!(time.as_secs_f64() * 1_000.0));
    fields.insert("pairing_faults".into(), json!(defects.pairing));
    fields.insert("bad_starts".into(), json!(defects.bad_starts));
    fields.insert("over_budget".into(), json!(defects.over_budget));
    fields.insert("changed_tails".into(), json!(defects.changed_tails));
    fields
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::Measure;
    use longhaul_conversation::TokenCount;

    fn report() -> SessionReport {
        let mut figures = Figures::default();
        figures.set(Measure::Recall, Some(0.5));
        figures.set(Measure::Grounded, Some(0.25));
        let cell = |budget: u64| Cell {
            method: "方法".into(),
            budget: TokenCount(budget),
            figures: figures.clone(),
        };
        SessionReport {
            name: "one".into(),
            tokens: TokenCount(9_000),
            class: Class::Real,
            needed: vec![7, 9],
            rereads: crate::KeptShare::default(),
            cells: vec![cell(4_000), cell(1_000)],
        }
    }

    #[test]
    fn json_holds_what_was_measured() {
        let value = to_json(&[report()]);
        assert_eq!(value["real"]["sessions"], 1);
        assert_eq!(value["sessions"][0]["cells"][0]["recall"], 0.5);
        assert_eq!(value["sessions"][0]["cells"][0].get("answers"), None);
        assert_eq!(value["real"]["cells"][0]["sessions"], json!({"recall": 1, "grounded": 1}));
        assert_eq!(value["sessions"][0]["cells"][0].get("sessions"), None);
        assert_eq!(value["scripted"]["cells"], json!([]));
    }
}
