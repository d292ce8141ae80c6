//! opencode's database: rows of sessions, messages and parts, whose JSON is that of `opencode export`.

use std::collections::HashMap;

use rusqlite::{Connection, OptionalExtension, Row};
use serde_json::{Map, Value, json};

use super::{columns, millis, parse, version_of};
use crate::error::StoreReadError;
use crate::head::{Head, TokenFigure};

pub(super) fn list(database: &Connection) -> Result<Vec<Head>, StoreReadError> {
    let known = columns(database, "session")?;
    let column = |name: &'static str| if known.iter().any(|known| known == name) { name } else { "NULL" };
    // The last call that was counted tells how full the window is.
    let query = format!(
        "SELECT id, title, directory, {}, time_created, time_updated, {}, \
         (SELECT data FROM message WHERE session_id = session.id AND json_extract(data, '$.tokens.output') > 0 \
          ORDER BY id DESC LIMIT 1), \
         time_updated || '/' || (SELECT count(*) FROM part WHERE session_id = session.id) || '/' || \
         coalesce((SELECT max(time_updated) FROM message WHERE session_id = session.id), 0) \
         FROM session",
        column("parent_id"),
        column("model"),
    );
    let mut statement = database.prepare(&query)?;
    let read = |row: &Row<'_>| {
        let model: Option<String> = row.get(6)?;
        let last: Option<String> = row.get(7)?;
        let last = last.map(|text| parse(&text)).unwrap_or_default();
        let named = model.map(|text| parse(&text)).and_then(|model| model["id"].as_str().map(str::to_string));
        Ok(Head {
            id: row.get(0)?,
            title: row.get(1)?,
            directory: row.get(2)?,
            parent: row.get(3)?,
            started: millis(row.get(4)?),
            updated: millis(row.get(5)?),
            model: last["modelID"].as_str().map(str::to_string).or(named),
            tokens: window_tokens(&last["tokens"]).map(TokenFigure::counted),
            version: row.get::<_, Option<String>>(8)?.map(|state| version_of(&state)),
            ..Head::default()
        })
    };
    let heads = statement.query_map([], read)?.collect::<Result<_, _>>()?;
    Ok(heads)
}

fn window_tokens(tokens: &Value) -> Option<u64> {
    let count = |value: &Value| value.as_u64().unwrap_or(0);
    let input = tokens["input"].as_u64()?;
    Some(
        input + count(&tokens["cache"]["read"]) + count(&tokens["cache"]["write"]) + count(&tokens["output"]),
    )
}

pub(super) fn document(database: &Connection, id: &str) -> Result<Value, StoreReadError> {
    let has_revert = columns(database, "session")?.iter().any(|name| name == "revert");
    let revert = if has_revert { "revert" } else { "NULL" };
    let query = format!(
        "SELECT id, title, directory, project_id, time_created, time_updated, {revert} FROM session WHERE id = ?1"
    );
    let head = |row: &Row<'_>| {
        let revert: Option<String> = row.get(6)?;
        Ok(json!({
            "id": row.get::<_, String>(0)?,
            "title": row.get::<_, Option<String>>(1)?,
            "directory": row.get::<_, Option<String>>(2)?,
            "projectID": row.get::<_, Option<String>>(3)?,
            "time": {"created": row.get::<_, Option<i64>>(4)?, "updated": row.get::<_, Option<i64>>(5)?},
            "revert": revert.map(|text| parse(&text)),
        }))
    };
    let info = database.query_row(&query, [id], head).optional()?;
    let Some(info) = info else { return Err(StoreReadError::NoSession { id: id.to_string() }) };
    let mut parts: HashMap<String, Vec<Value>> = HashMap::new();
    let mut statement =
        database.prepare("SELECT id, message_id, data FROM part WHERE session_id = ?1 ORDER BY id")?;
    let mut rows = statement.query([id])?;
    while let Some(row) = rows.next()? {
        let part = with_id(&row.get::<_, String>(2)?, row.get(0)?);
        parts.entry(row.get(1)?).or_default().push(part);
    }
    let mut messages = Vec::new();
    let mut statement =
        database.prepare("SELECT id, data FROM message WHERE session_id = ?1 ORDER BY time_created, id")?;
    let mut rows = statement.query([id])?;
    while let Some(row) = rows.next()? {
        let message: String = row.get(0)?;
        let parts = parts.remove(&message).unwrap_or_default();
        messages.push(json!({"info": with_id(&row.get::<_, String>(1)?, message), "parts": parts}));
    }
    Ok(json!({"info": info, "messages": messages}))
}

/// A row's JSON with the id that the export puts into it.
fn with_id(data: &str, id: String) -> Value {
    let mut fields = match parse(data) {
        Value::Object(fields) => fields,
        _ => Map::new(),
    };
    fields.insert("id".into(), Value::String(id));
    Value::Object(fields)
}
