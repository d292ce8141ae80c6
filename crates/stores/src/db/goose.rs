//! goose's database: rows of sessions and messages, whose JSON is that of `goose session export`.

use longhaul_conversation::Timestamp;
use rusqlite::{Connection, OptionalExtension, Row};
use serde_json::{Value, json};

use super::{columns, parse, version_of};
use crate::error::StoreReadError;
use crate::head::{Head, TokenFigure};

/// The columns of a session that are read where the version has them.
const COLUMNS: [&str; 11] = [
    "id",
    "name",
    "description",
    "working_dir",
    "created_at",
    "updated_at",
    "input_tokens",
    "output_tokens",
    "accumulated_input_tokens",
    "accumulated_output_tokens",
    "model_config_json",
];

fn selection(database: &Connection, condition: &str) -> Result<String, StoreReadError> {
    let known = columns(database, "sessions")?;
    let column = |name: &&str| {
        if known.iter().any(|known| known == name) { (*name).to_string() } else { "NULL".into() }
    };
    let columns: Vec<String> = COLUMNS.iter().map(column).collect();
    // The last column changes with the messages.
    let messages = "(SELECT count(*) || '/' || max(rowid) FROM messages WHERE session_id = sessions.id)";
    Ok(format!("SELECT {}, {messages} FROM sessions {condition}", columns.join(", ")))
}

pub(super) fn list(database: &Connection) -> Result<Vec<Head>, StoreReadError> {
    let mut statement = database.prepare(&selection(database, "")?)?;
    let read = |row: &Row<'_>| {
        let text = |place| row.get::<_, Option<String>>(place);
        let count = |place| {
            row.get::<_, Option<i64>>(place).map(|count| count.and_then(|count| u64::try_from(count).ok()))
        };
        let time = |place| text(place).map(|at| at.as_deref().and_then(Timestamp::parse));
        let (input, output) = (count(6)?, count(7)?);
        let model =
            text(10)?.map(|config| parse(&config)).and_then(|c| c["model_name"].as_str().map(str::to_string));
        let state = format!("{:?} {:?}", text(5)?, text(11)?);
        Ok(Head {
            id: text(0)?.unwrap_or_default(),
            version: Some(version_of(&state)),
            title: text(1)?.or(text(2)?).filter(|title| !title.is_empty()),
            directory: text(3)?,
            started: time(4)?,
            updated: time(5)?,
            model,
            tokens: input.map(|input| TokenFigure::counted(input + output.unwrap_or(0))),
            ..Head::default()
        })
    };
    let heads = statement.query_map([], read)?.collect::<Result<_, _>>()?;
    Ok(heads)
}

pub(super) fn document(database: &Connection, id: &str) -> Result<Value, StoreReadError> {
    let read = |row: &Row<'_>| {
        let text = |place| row.get::<_, Option<String>>(place);
        let count = |place| row.get::<_, Option<i64>>(place);
        Ok(json!({
            "id": text(0)?,
            "name": text(1)?,
            "description": text(2)?,
            "working_dir": text(3)?.unwrap_or_default(),
            "created_at": text(4)?,
            "updated_at": text(5)?,
            "input_tokens": count(6)?,
            "output_tokens": count(7)?,
            "accumulated_input_tokens": count(8)?,
            "accumulated_output_tokens": count(9)?,
            "model_config": text(10)?.map(|config| parse(&config)),
        }))
    };
    let session = database.query_row(&selection(database, "WHERE id = ?1")?, [id], read).optional()?;
    let Some(mut session) = session else { return Err(StoreReadError::NoSession { id: id.to_string() }) };
    let known = columns(database, "messages")?;
    let column = |name: &'static str| if known.iter().any(|known| known == name) { name } else { "NULL" };
    let query = format!(
        "SELECT {}, role, content_json, created_timestamp, {} FROM messages WHERE session_id = ?1 ORDER BY {}, id",
        column("message_id"),
        column("metadata_json"),
        column("created_timestamp"),
    );
    let mut statement = database.prepare(&query)?;
    let message = |row: &Row<'_>| {
        let metadata: Option<String> = row.get(4)?;
        Ok(json!({
            "id": row.get::<_, Option<String>>(0)?,
            "role": row.get::<_, String>(1)?,
            "content": parse(&row.get::<_, String>(2)?),
            "created": row.get::<_, Option<i64>>(3)?,
            "metadata": metadata.map_or(json!({}), |metadata| parse(&metadata)),
        }))
    };
    let messages: Vec<Value> = statement.query_map([id], message)?.collect::<Result<_, _>>()?;
    session["conversation"] = Value::Array(messages);
    Ok(session)
}
