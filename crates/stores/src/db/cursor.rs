//! The database of Cursor's editor: a table of keys and JSON, with a row for each conversation and for each of its messages.

use rusqlite::types::ValueRef;
use rusqlite::{Connection, OptionalExtension, Row};
use serde_json::{Value, json};

use longhaul_conversation::Timestamp;

use super::{foreign, has_table, version_of};
use crate::error::StoreReadError;
use crate::head::Head;

const CONVERSATION: &str = "composerData:";

/// A value, which may be text or bytes.
fn value(row: &Row<'_>, place: usize) -> rusqlite::Result<Value> {
    Ok(match row.get_ref(place)? {
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => serde_json::from_slice(bytes).unwrap_or(Value::Null),
        _ => Value::Null,
    })
}

fn check(database: &Connection) -> Result<(), StoreReadError> {
    if has_table(database, "cursorDiskKV")? {
        Ok(())
    } else {
        Err(foreign("it has no table of conversations"))
    }
}

pub(super) fn list(database: &Connection) -> Result<Vec<Head>, StoreReadError> {
    check(database)?;
    let mut statement = database.prepare(
        "SELECT substr(key, 14), json_extract(value, '$.name'), json_extract(value, '$.createdAt'), \
         json_extract(value, '$.lastUpdatedAt'), json_extract(value, '$.modelConfig.modelName'), \
         length(value) || '/' || (SELECT count(*) || '/' || total(length(bubble.value)) FROM cursorDiskKV AS bubble \
          WHERE bubble.key >= 'bubbleId:' || substr(conversation.key, 14) || ':' \
          AND bubble.key < 'bubbleId:' || substr(conversation.key, 14) || ';') \
         FROM cursorDiskKV AS conversation WHERE key >= 'composerData:' AND key < 'composerData;' AND json_valid(value) \
         AND (json_array_length(value, '$.fullConversationHeadersOnly') > 0 OR json_array_length(value, '$.conversation') > 0)",
    )?;
    let read = |row: &Row<'_>| {
        let time = |place| -> rusqlite::Result<Option<Timestamp>> {
            Ok(match row.get_ref(place)? {
                ValueRef::Integer(millis) => Some(Timestamp::from_millis(millis)),
                ValueRef::Text(text) => std::str::from_utf8(text).ok().and_then(Timestamp::parse),
                _ => None,
            })
        };
        let (started, updated) = (time(2)?, time(3)?);
        Ok(Head {
            id: row.get(0)?,
            title: row.get::<_, Option<String>>(1)?.filter(|title| !title.is_empty()),
            started,
            updated: updated.or(started),
            model: row.get::<_, Option<String>>(4)?.filter(|model| model != "default"),
            version: row
                .get::<_, Option<String>>(5)?
                .map(|state| version_of(&format!("{state} {updated:?}"))),
            ..Head::default()
        })
    };
    let heads = statement.query_map([], read)?.collect::<Result<_, _>>()?;
    Ok(heads)
}

pub(super) fn document(database: &Connection, id: &str) -> Result<Value, StoreReadError> {
    check(database)?;
    let mut statement = database.prepare("SELECT value FROM cursorDiskKV WHERE key = ?1")?;
    let mut row = |key: String| statement.query_row([key], |row| value(row, 0)).optional();
    let data = row(format!("{CONVERSATION}{id}"))?.filter(Value::is_object);
    let Some(mut data) = data else { return Err(StoreReadError::NoSession { id: id.to_string() }) };
    data["composerId"] = Value::String(id.to_string());
    // Older versions keep the messages in the conversation, newer ones in rows of their own.
    let bubbles = match data.get_mut("conversation").map(Value::take) {
        Some(Value::Array(bubbles)) if !bubbles.is_empty() => bubbles,
        _ => {
            let heads = data["fullConversationHeadersOnly"].as_array().cloned().unwrap_or_default();
            let mut bubbles = Vec::with_capacity(heads.len());
            for head in heads {
                let Some(bubble) = head["bubbleId"].as_str() else { continue };
                bubbles.extend(row(format!("bubbleId:{id}:{bubble}"))?.filter(Value::is_object));
            }
            bubbles
        }
    };
    // Much of a conversation's row is the editor's own; none of it is read.
    let kept = ["composerId", "name", "createdAt", "lastUpdatedAt", "modelConfig"];
    let kept =
        kept.iter().map(|key| ((*key).to_string(), data[*key].take())).filter(|(_, value)| !value.is_null());
    Ok(json!({"composerData": Value::Object(kept.collect()), "bubbles": bubbles}))
}
