//! The length of values and messages as compact JSON, computed without writing it.
//!
//! Lengths are in UTF-16 units, as the reference counts them; only quotes, backslashes and control characters are
//! escaped.

use std::fmt::Write;

use crate::{
    Body, Extra, FileReference, Media, MediaData, Message, Output, Part, Thought, TokenCount, ToolCall,
    ToolResult, Vendor,
};
use serde_json::{Map, Value};

use crate::Estimator;
use longhaul_text::count_units;

/// The characters that one estimated token of media counts for.
const CHARACTERS_PER_TOKEN: u64 = 4;

/// The length of `value` as compact JSON.
pub(crate) fn json_len(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(true) => 4,
        Value::Bool(false) => 5,
        Value::Number(number) => display_len(number),
        Value::String(text) => string_json_len(text),
        Value::Array(items) => list_len(items.iter().map(json_len)),
        Value::Object(fields) => list_len(fields.iter().map(field_len)),
    }
}

/// The number of UTF-16 units outside ASCII in the texts of `value`.
pub(crate) fn count_non_ascii(value: &Value) -> usize {
    let in_text = |text: &str| {
        let units = count_units(text);
        units.all - units.ascii
    };
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
        Value::String(text) => in_text(text),
        Value::Array(items) => items.iter().map(count_non_ascii).sum(),
        Value::Object(fields) => {
            fields.iter().map(|(key, value)| in_text(key) + count_non_ascii(value)).sum()
        }
    }
}

/// The length that the further fields of a part add to its JSON in the format of Gemini.
pub(crate) fn extra_json_len(extra: &Option<Box<Extra>>) -> usize {
    fields(gemini_fields(extra), None).map(|field| field + 1).sum()
}

/// The length of `message` as a Gemini content: `{"role":…,"parts":[…]}`.
pub fn message_json_len(message: &Message) -> usize {
    Gemini { media: MediaLength::Written }.message(message)
}

/// Like [`message_json_len`], with media at four characters per estimated token: what a screenshot is worth in the
/// conversation does not depend on how many bytes encode it.
pub fn message_size(message: &Message, estimator: &Estimator) -> usize {
    Gemini { media: MediaLength::Estimated(estimator) }.message(message)
}

/// The length of `text` as a JSON string, quotes included.
pub(crate) fn string_json_len(text: &str) -> usize {
    count_units(text).all + count_escapes(text) + 2
}

/// The units that JSON's escapes add: one for quotation marks, backslashes, `\n` and the like, five for other control
/// characters.
fn count_escapes(text: &str) -> usize {
    // Short runs are summed in bytes, so that the compiler can take many at a time.
    const RUN: usize = 32;
    let (runs, rest) = text.as_bytes().as_chunks::<RUN>();
    let run_len = |run: &[u8]| usize::from(run.iter().map(|byte| escape_len(*byte)).sum::<u8>());
    runs.iter().map(|run| run_len(run)).sum::<usize>() + run_len(rest)
}

#[inline(always)]
fn escape_len(byte: u8) -> u8 {
    let is_quoted = (byte == b'"') | (byte == b'\\');
    let is_short = (byte.wrapping_sub(0x08) <= b'\r' - 0x08) & (byte != 0x0B);
    u8::from(is_quoted) + 5 * u8::from(byte < 0x20) - 4 * u8::from(is_short)
}

/// The length of a list with these members: brackets and commas are added.
fn list_len(members: impl Iterator<Item = usize>) -> usize {
    let (count, sum) = members.fold((0usize, 0), |(count, sum), len| (count + 1, sum + len));
    2 + sum + count.saturating_sub(1)
}

fn field_len((key, value): (&String, &Value)) -> usize {
    named(key, json_len(value))
}

/// The length of `"key":` and a value of this length.
fn named(key: &str, value: usize) -> usize {
    string_json_len(key) + 1 + value
}

fn display_len(value: &impl std::fmt::Display) -> usize {
    /// Counts the bytes written to it.
    struct Count(usize);
    impl Write for Count {
        fn write_str(&mut self, text: &str) -> std::fmt::Result {
            self.0 += text.len();
            Ok(())
        }
    }
    let mut count = Count(0);
    write!(count, "{value}").expect("counting cannot fail");
    count.0
}

/// The way media counts.
#[derive(Clone, Copy)]
enum MediaLength<'a> {
    /// As its base64 text.
    Written,
    /// By its estimated tokens.
    Estimated(&'a Estimator),
}

/// Measures messages in the format of Gemini.
#[derive(Clone, Copy)]
struct Gemini<'a> {
    media: MediaLength<'a>,
}

impl Gemini<'_> {
    fn message(self, message: &Message) -> usize {
        let role = named("role", string_json_len(message.role.as_str()));
        let extra = gemini_fields(&message.extra);
        list_len([role, named("parts", self.parts(&message.parts))].into_iter().chain(fields(extra, None)))
    }

    fn parts(self, parts: &[Part]) -> usize {
        list_len(parts.iter().map(|part| self.part(part)))
    }

    fn part(self, part: &Part) -> usize {
        let extra = gemini_fields(&part.extra);
        match &part.body {
            Body::Text(text) => {
                let text = named("text", string_json_len(text));
                list_len(std::iter::once(text).chain(fields(extra, None)))
            }
            Body::Thought(thought) => list_len(thought_fields(thought).chain(fields(extra, None))),
            Body::Call(call) => wrapped("functionCall", call_fields(call), extra),
            Body::Result(result) => wrapped("functionResponse", self.result_fields(result), extra),
            Body::Media(media) => {
                self.estimated(part).unwrap_or_else(|| wrapped("inlineData", media_fields(media), extra))
            }
            Body::File(file) => {
                self.estimated(part).unwrap_or_else(|| wrapped("fileData", file_fields(file), extra))
            }
            Body::Opaque(opaque) => json_len(&opaque.value),
        }
    }

    fn estimated(self, part: &Part) -> Option<usize> {
        let MediaLength::Estimated(estimator) = self.media else { return None };
        let TokenCount(tokens) = estimator.part(part).tokens();
        usize::try_from(tokens.saturating_mul(CHARACTERS_PER_TOKEN)).ok()
    }

    fn result_fields(self, result: &ToolResult) -> impl Iterator<Item = usize> {
        let response = match &result.output {
            Output::Empty => None,
            // Gemini wants an object here, so text is written as the tool's output.
            Output::Text(text) => Some(2 + named("output", string_json_len(text))),
            Output::Structured(value) => Some(json_len(value)),
        };
        let id = (!result.call.is_made_up()).then(|| named("id", string_json_len(result.call.as_str())));
        let name = result.name.as_deref().map(|name| named("name", string_json_len(name)));
        let response = response.map(|len| named("response", len));
        let nested = (!result.nested.is_empty()).then(|| named("parts", self.parts(&result.nested)));
        [id, name, response, nested].into_iter().flatten()
    }
}

fn thought_fields(thought: &Thought) -> impl Iterator<Item = usize> {
    let signature = thought.signature.as_ref();
    let signature = signature.map(|signature| named("thoughtSignature", string_json_len(&signature.value)));
    [named("text", string_json_len(&thought.text)), named("thought", "true".len())]
        .into_iter()
        .chain(signature)
}

fn call_fields(call: &ToolCall) -> impl Iterator<Item = usize> {
    let id = (!call.id.is_made_up()).then(|| named("id", string_json_len(call.id.as_str())));
    id.into_iter().chain([named("name", string_json_len(&call.name)), named("args", json_len(&call.args))])
}

fn media_fields(media: &Media) -> impl Iterator<Item = usize> {
    let data = match &media.data {
        MediaData::Base64(data) => named("data", string_json_len(data)),
        MediaData::Omitted { bytes } => named("omittedBytes", display_len(bytes)),
    };
    [named("mimeType", string_json_len(&media.mime)), data].into_iter()
}

fn file_fields(file: &FileReference) -> impl Iterator<Item = usize> {
    let mime = file.mime.as_deref().map(|mime| named("mimeType", string_json_len(mime)));
    mime.into_iter().chain([named("fileUri", string_json_len(&file.uri))])
}

/// The length of `{"key":{…}}` with these fields inside. Further vendor fields stand beside the key, or inside if they
/// came from there.
fn wrapped(key: &str, inside: impl Iterator<Item = usize>, extra: Option<&Map<String, Value>>) -> usize {
    let more = extra.and_then(|extra| extra.get(key)).and_then(Value::as_object);
    let body = named(key, list_len(inside.chain(fields(more, None))));
    list_len(std::iter::once(body).chain(fields(extra, Some(key))))
}

/// The lengths of a vendor's further fields, without `except`.
fn fields<'a>(
    extra: Option<&'a Map<String, Value>>,
    except: Option<&'a str>,
) -> impl Iterator<Item = usize> + 'a {
    let all = extra.into_iter().flatten();
    all.filter(move |(key, _)| Some(key.as_str()) != except).map(field_len)
}

fn gemini_fields(extra: &Option<Box<Extra>>) -> Option<&Map<String, Value>> {
    Extra::for_vendor(extra, Vendor::Gemini)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Origin, Role, Signature};
    use proptest::prelude::*;
    use serde_json::json;

    fn written(value: &Value) -> usize {
        value.to_string().encode_utf16().count()
    }

    #[track_caller]
    fn check_value(value: &Value) {
        assert_eq!(json_len(value), written(value), "{value}");
    }

    #[test]
    fn values_measure_as_they_are_written() {
        check_value(&json!(null));
        check_value(&json!([true, false, null, [], {}, ""]));
        check_value(&json!({"a": 1, "b": [-2, 1.5, 1e300, u64::MAX, i64::MIN], "": {"é": "日本😀"}}));
        check_value(&json!("\u{0}\u{8}\t\n\u{b}\u{c}\r\u{1f} \"\\/\u{7f}\u{80}\u{2028}"));
    }

    /// Checks a message against the JSON that it stands for.
    #[track_caller]
    fn check_part(part: Part, expected: &Value) {
        let message = Message::new("m", Role::User, vec![part]);
        let expected = json!({"role": "user", "parts": [expected]});
        assert_eq!(message_json_len(&message), written(&expected), "{expected}");
    }

    #[test]
    fn parts_measure_as_gemini_writes_them() {
        check_part(Part::user_text("say \"hi\"\n"), &json!({"text": "say \"hi\"\n"}));
        let signature = Some(Signature { vendor: Vendor::Gemini, value: "c2ln".into() });
        check_part(
            Part::thought(Thought { text: "hm".into(), signature, item: None }),
            &json!({"text": "hm", "thought": true, "thoughtSignature": "c2ln"}),
        );
        let call = ToolCall::new("c1", "ls").with_args(json!({"path": "/é"}));
        check_part(
            Part::call(call),
            &json!({"functionCall": {"id": "c1", "name": "ls", "args": {"path": "/é"}}}),
        );
        let file = FileReference { mime: Some("image/png".into()), uri: "gs://x".into() };
        check_part(
            Part::new(Origin::User, Body::File(Box::new(file))),
            &json!({"fileData": {"mimeType": "image/png", "fileUri": "gs://x"}}),
        );
        let media =
            |data| Part::new(Origin::User, Body::Media(Box::new(Media { mime: "image/png".into(), data })));
        check_part(
            media(MediaData::Base64("AAAA".into())),
            &json!({"inlineData": {"mimeType": "image/png", "data": "AAAA"}}),
        );
        check_part(
            media(MediaData::Omitted { bytes: 1234 }),
            &json!({"inlineData": {"mimeType": "image/png", "omittedBytes": 1234}}),
        );
        check_part(Part::opaque(Origin::Model, Vendor::Gemini, json!({"x": [1]})), &json!({"x": [1]}));
    }

    #[test]
    fn results_measure_with_all_they_carry() {
        let text = ToolResult::text("c1", "a\nb").with_name("ls");
        check_part(
            Part::result(text.clone()),
            &json!({"functionResponse": {"id": "c1", "name": "ls", "response": {"output": "a\nb"}}}),
        );
        let nested =
            ToolResult { nested: vec![Part::text(Origin::Tool, "more")], output: Output::Empty, ..text };
        check_part(
            Part::result(nested),
            &json!({"functionResponse": {"id": "c1", "name": "ls", "parts": [{"text": "more"}]}}),
        );
        let made_up = crate::CallId::made_up(1);
        let structured =
            ToolResult { output: Output::Structured(json!({"a": 1})), ..ToolResult::text(made_up, "") };
        check_part(Part::result(structured), &json!({"functionResponse": {"response": {"a": 1}}}));
    }

    #[test]
    fn a_vendors_further_fields_count_where_they_stand() {
        let fields = json!({"thoughtSignature": "sig", "functionCall": {"more": true}});
        let fields = fields.as_object().expect("an object");
        let call = Part::call(ToolCall::new("c", "f"));
        check_part(
            call.clone().with_extra(Vendor::Gemini, fields.clone()),
            &json!({"functionCall": {"id": "c", "name": "f", "args": {}, "more": true}, "thoughtSignature": "sig"}),
        );
        check_part(
            call.with_extra(Vendor::Anthropic, fields.clone()),
            &json!({"functionCall": {"id": "c", "name": "f", "args": {}}}),
        );
    }

    #[test]
    fn the_bytes_of_an_image_do_not_change_its_size() {
        let image = |bytes: usize| {
            let media = Media { mime: "image/png".into(), data: MediaData::Base64("A".repeat(bytes)) };
            Message::new("m", Role::User, vec![Part::new(Origin::User, Body::Media(Box::new(media)))])
        };
        let estimator = Estimator::default();
        assert_eq!(message_size(&image(10), &estimator), message_size(&image(1_000_000), &estimator));
        assert_eq!(message_size(&image(10), &estimator), 12_000 + r#"{"role":"user","parts":[]}"#.len());
    }

    fn any_value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            any::<String>().prop_map(Value::from),
        ];
        leaf.prop_recursive(3, 24, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::vec((any::<String>(), inner), 0..4)
                    .prop_map(|fields| Value::Object(fields.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn any_value_measures_as_it_is_written(value in any_value()) {
            prop_assert_eq!(json_len(&value), written(&value));
        }
    }
}
