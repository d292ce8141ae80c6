//! Hash chains: what the first messages of a conversation amount to, whoever sends them and in whichever session.

use std::fmt;

use longhaul_wire::{raw_fields, raw_items};

use crate::family::Family;

/// The hash of the first messages of a conversation, in normal form, for one tenant.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct ChainHash(pub(crate) [u8; 16]);

/// Lowercase hexadecimal digits.
impl fmt::Display for ChainHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for ChainHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ChainHash({self})")
    }
}

/// The key that a tenant's chains are hashed with. It cannot print itself.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct TenantKey([u8; 32]);

impl fmt::Debug for TenantKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TenantKey(..)")
    }
}

impl TenantKey {
    /// The key of the tenant who holds this credential: nobody without `secret`, which stays on this machine, can tell the
    /// credential from it. Tokens of a sign-in change by the hour and so name no tenant by themselves.
    pub(crate) fn of(secret: &[u8; 32], credential: Option<&str>) -> Self {
        let credential = credential.unwrap_or_default().trim();
        let token = credential.strip_prefix("Bearer ").unwrap_or(credential);
        let is_sign_in =
            token.starts_with("sk-ant-oat") || token.starts_with("eyJ") || token.starts_with("ya29.");
        let name = if is_sign_in { "sign-in" } else { token };
        Self(*blake3::keyed_hash(secret, name.as_bytes()).as_bytes())
    }

    /// A name for the tenant that may be stored.
    pub(crate) fn id(&self) -> ChainHash {
        let hash = blake3::keyed_hash(&self.0, b"tenant");
        shortened(hash)
    }
}

/// The hashes of a conversation's beginnings: at `i` that of its first `i + 1` messages.
pub(crate) fn chain_of(key: &TenantKey, family: Family, items: &[&str]) -> Vec<ChainHash> {
    let mut last = shortened(blake3::keyed_hash(&key.0, family.as_str().as_bytes()));
    let next = |item: &&str| {
        let mut form = NormalForm(blake3::Hasher::new_keyed(&key.0));
        form.0.update(&last.0);
        form.message(family, item);
        last = shortened(form.0.finalize());
        last
    };
    items.iter().map(next).collect()
}

fn shortened(hash: blake3::Hash) -> ChainHash {
    let mut short = [0; 16];
    short.copy_from_slice(&hash.as_bytes()[..16]);
    ChainHash(short)
}

/// Fields that clients move or drop between two requests with the same message.
const PASSING: &[&str] =
    &["cache_control", "caller", "index", "prompt_cache_breakpoint", "thoughtSignature", "thought_signature"];

/// A message in the form in which it is hashed: without passing fields, a string for its one text block, the rest verbatim.
struct NormalForm(blake3::Hasher);

impl NormalForm {
    fn message(&mut self, family: Family, item: &str) {
        let Some(fields) = sorted(item) else { return self.piece(b'?', item) };
        for (key, value) in fields {
            // Items of Responses have ids of the client's making.
            if PASSING.contains(&&*key) || (family == Family::Responses && key == "id") {
                continue;
            }
            self.piece(b'k', &key);
            match &*key {
                "content" | "parts" | "output" => self.content(value),
                _ => self.piece(b'v', value),
            }
        }
        self.piece(b'.', "");
    }

    fn content(&mut self, value: &str) {
        let Some(blocks) = raw_items(value) else {
            // A string is its one text block.
            if value.starts_with('"') {
                self.piece(b't', value);
                self.piece(b'.', "");
            } else {
                self.piece(b'v', value);
            }
            return;
        };
        for block in blocks {
            self.block(block);
        }
    }

    fn block(&mut self, block: &str) {
        let Some(fields) = sorted(block) else { return self.piece(b'?', block) };
        let is_text = |raw: &str| matches!(raw, "\"text\"" | "\"input_text\"");
        let kept = || fields.iter().filter(|(key, _)| !PASSING.contains(&&**key));
        let text = fields.iter().find(|(key, _)| key == "text").map(|(_, value)| *value);
        let is_plain = kept().all(|(key, value)| key == "text" || (key == "type" && is_text(value)));
        if let Some(text) = text.filter(|_| is_plain) {
            self.piece(b't', text);
            return self.piece(b'.', "");
        }
        for (key, value) in kept() {
            self.piece(b'k', key);
            match &**key {
                "content" => self.content(value),
                _ => self.piece(b'v', value),
            }
        }
        self.piece(b'.', "");
    }

    /// A piece with its kind and length, so that no two sequences of pieces are the same bytes.
    fn piece(&mut self, kind: u8, text: &str) {
        self.0.update(&[kind]);
        self.0.update(&(text.len() as u64).to_le_bytes());
        self.0.update(text.as_bytes());
    }
}

/// The fields of an object by name: clients do not all keep their order.
fn sorted(item: &str) -> Option<Vec<(std::borrow::Cow<'_, str>, &str)>> {
    let fields = raw_fields(item)?;
    let mut fields: Vec<_> = fields.into_iter().map(|field| (field.key, field.value)).collect();
    fields.sort_by(|a, b| a.0.cmp(&b.0));
    Some(fields)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(credential: &str) -> TenantKey {
        TenantKey::of(&[7; 32], Some(credential))
    }

    fn hash(item: &str) -> ChainHash {
        chain_of(&key("k"), Family::Anthropic, &[item])[0]
    }

    #[track_caller]
    fn check_same(a: &str, b: &str) {
        assert_eq!(hash(a), hash(b), "{a} and {b}");
    }

    #[track_caller]
    fn check_other(a: &str, b: &str) {
        assert_ne!(hash(a), hash(b), "{a} and {b}");
    }

    #[test]
    fn passing_fields_and_forms_make_no_difference() {
        let plain = r#"{"role":"user","content":"hello"}"#;
        check_same(plain, r#"{"role":"user","content":[{"type":"text","text":"hello"}]}"#);
        check_same(
            plain,
            r#"{ "content": [{"text":"hello","type":"text","cache_control":{"type":"ephemeral"}}], "role": "user" }"#,
        );
        check_same(
            r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"x"}]}"#,
            r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":[{"type":"text","text":"x"}],"cache_control":{"type":"ephemeral","ttl":"1h"}}]}"#,
        );
        check_same(
            r#"{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"B","input":{}}]}"#,
            r#"{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"B","input":{},"caller":{"type":"direct"}}]}"#,
        );
    }

    #[test]
    fn whatever_is_said_makes_a_difference() {
        let plain = r#"{"role":"user","content":"hello"}"#;
        check_other(plain, r#"{"role":"user","content":"Hello"}"#);
        check_other(plain, r#"{"role":"assistant","content":"hello"}"#);
        check_other(
            plain,
            r#"{"role":"user","content":[{"type":"text","text":"hel"},{"type":"text","text":"lo"}]}"#,
        );
        check_other(
            plain,
            r#"{"role":"user","content":[{"type":"text","text":"hello"},{"type":"text","text":""}]}"#,
        );
        let call = |input: &str| {
            format!(
                r#"{{"role":"assistant","content":[{{"type":"tool_use","id":"a","name":"B","input":{input}}}]}}"#
            )
        };
        check_other(&call(r#"{"n":1}"#), &call(r#"{"n":1.0}"#));
        check_other(&call(r#"{"cache_control":1}"#), &call(r#"{}"#));
        check_other(r#"{"role":"user","content":""}"#, r#"{"role":"user","content":[]}"#);
    }

    #[test]
    fn a_chain_depends_on_all_before_and_on_the_tenant() {
        let items = [r#"{"role":"user","content":"a"}"#, r#"{"role":"assistant","content":"b"}"#];
        let chain = chain_of(&key("k"), Family::Anthropic, &items);
        assert_eq!(chain_of(&key("k"), Family::Anthropic, &items[..1])[0], chain[0]);
        assert_ne!(chain_of(&key("k"), Family::Anthropic, &items[1..])[0], chain[1]);
        assert_ne!(chain_of(&key("other"), Family::Anthropic, &items)[1], chain[1]);
        assert_ne!(chain_of(&key("k"), Family::Chat, &items)[1], chain[1]);
    }

    #[test]
    fn a_token_that_changes_by_the_hour_names_the_same_tenant() {
        assert_eq!(key("Bearer sk-ant-oat01-a"), key("Bearer sk-ant-oat01-b"));
        assert_eq!(key("sk-ant-api03-a"), key("Bearer sk-ant-api03-a"));
        assert_ne!(key("sk-ant-api03-a"), key("sk-ant-api03-b"));
        assert_eq!(format!("{:?}", key("sk-ant-api03-a")), "TenantKey(..)");
    }
}
