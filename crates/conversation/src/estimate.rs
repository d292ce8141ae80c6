//! Token estimates without a tokeniser.

use longhaul_text::{Units, count_units};
use serde_json::Value;

use crate::json_size::{count_non_ascii, extra_json_len, json_len, string_json_len};
use crate::{
    Body, Extra, FileReference, Media, MediaData, Message, Output, Part, TokenCount, ToolCall,
    ToolDeclaration, ToolResult, Vendor,
};

/// The weights of characters. The default is 0.25 tokens for ASCII and 1.3 for everything else.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Weights {
    /// The number of ASCII characters in a token.
    pub chars_per_token: f64,
    /// Tokens of a UTF-16 code unit outside ASCII.
    pub non_ascii: f64,
}

/// An unrounded number of tokens, so that the remainders of many small pieces add up.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub struct Estimate(f64);

/// Estimates tokens with given weights.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Estimator {
    /// The weights.
    pub weights: Weights,
    /// The rules by which they apply.
    pub profile: EstimateProfile,
}

/// The rules by which characters are weighed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EstimateProfile {
    /// A character weighs the same wherever it stands, and signatures of thoughts count.
    #[default]
    Uniform,
    /// As Gemini CLI does it: in the arguments and results of calls every character counts as ASCII, and signatures count
    /// beside calls alone.
    Reference,
}

/// The length above which every character counts alike.
const PLAIN_ABOVE: usize = 100_000;
/// The nesting of results above which nothing counts.
const DEEPEST: usize = 3;
/// The field beside a part of Gemini's in which its signature stands.
const SIGNATURE: &str = "thoughtSignature";
const IMAGE: f64 = 3_000.0;
/// The tokens of a PDF: about a hundred pages.
const PDF: f64 = 25_800.0;

impl Weights {
    /// 0.25 for ASCII, 1.3 for the rest.
    pub const STANDARD: Self = Self { chars_per_token: 4.0, non_ascii: 1.3 };
    /// 0.25 for ASCII, 1.5 for the rest: what newer versions of Gemini CLI use.
    pub const HEAVY: Self = Self { chars_per_token: 4.0, non_ascii: 1.5 };
}

impl Default for Weights {
    fn default() -> Self {
        Self::STANDARD
    }
}

impl Estimate {
    /// Zero tokens.
    pub const ZERO: Self = Self(0.0);

    /// So many times as much.
    #[must_use]
    pub fn scaled(self, factor: f64) -> Self {
        Self(self.0 * factor)
    }

    /// The tokens with their fraction.
    pub fn as_f64(self) -> f64 {
        self.0
    }

    /// Whole tokens, rounded down.
    pub fn tokens(self) -> TokenCount {
        // Sums of 1.3 fall a hair short of whole numbers.
        TokenCount((self.0 + 1e-6).max(0.0).floor() as u64)
    }
}

impl From<TokenCount> for Estimate {
    fn from(tokens: TokenCount) -> Self {
        Self(tokens.0 as f64)
    }
}

impl std::ops::Add for Estimate {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}

impl std::ops::AddAssign for Estimate {
    fn add_assign(&mut self, other: Self) {
        self.0 += other.0;
    }
}

impl std::ops::SubAssign for Estimate {
    fn sub_assign(&mut self, other: Self) {
        self.0 -= other.0;
    }
}

impl std::iter::Sum for Estimate {
    fn sum<I: Iterator<Item = Self>>(iter: I) -> Self {
        iter.fold(Self::ZERO, std::ops::Add::add)
    }
}

impl Estimator {
    /// An estimator whose texts weigh so many times as much.
    #[must_use]
    pub fn scaled(self, factor: f64) -> Self {
        let Weights { chars_per_token, non_ascii } = self.weights;
        let weights = Weights { chars_per_token: chars_per_token / factor, non_ascii: non_ascii * factor };
        Self { weights, ..self }
    }

    /// The tokens of a text.
    pub fn text(&self, text: &str) -> Estimate {
        self.units(count_units(text))
    }

    /// The least estimate of a text of this many bytes, whatever its content.
    pub fn at_least(&self, bytes: usize) -> f64 {
        // A unit of UTF-16 has up to three bytes; a little less, so that rounding cannot matter.
        bytes as f64 * 0.33 * self.weights.non_ascii.min(1.0 / self.weights.chars_per_token)
    }

    /// The tokens of a text of which only the size is known.
    pub fn units(&self, units: Units) -> Estimate {
        if units.all > PLAIN_ABOVE {
            return self.chars(units.all);
        }
        let other = (units.all - units.ascii) as f64 * self.weights.non_ascii;
        Estimate(units.ascii as f64 / self.weights.chars_per_token + other)
    }

    /// The tokens of one part.
    pub fn part(&self, part: &Part) -> Estimate {
        self.part_at(part, 0)
    }

    /// The tokens of a message.
    pub fn message(&self, message: &Message) -> Estimate {
        message.parts.iter().map(|part| self.part(part)).sum()
    }

    /// The tokens of several messages together, rounded down once.
    pub fn messages(&self, messages: &[Message]) -> TokenCount {
        messages.iter().map(|message| self.message(message)).sum::<Estimate>().tokens()
    }

    /// The tokens of several parts together, rounded down once.
    pub fn parts(&self, parts: &[Part]) -> TokenCount {
        self.parts_at(parts, 0)
    }

    /// The tokens of a declared tool.
    pub fn tool(&self, tool: &ToolDeclaration) -> Estimate {
        let fields = r#"{"name":,"description":,"parameters":}"#.len();
        let texts = string_json_len(&tool.name) + string_json_len(&tool.description);
        self.chars(fields + texts + json_len(&tool.parameters))
    }

    fn chars(&self, chars: usize) -> Estimate {
        Estimate(chars as f64 / self.weights.chars_per_token)
    }

    fn parts_at(&self, parts: &[Part], depth: usize) -> TokenCount {
        if depth > DEEPEST {
            return TokenCount::ZERO;
        }
        parts.iter().map(|part| self.part_at(part, depth)).sum::<Estimate>().tokens()
    }

    fn part_at(&self, part: &Part, depth: usize) -> Estimate {
        match &part.body {
            Body::Text(text) => self.text(text) + self.signature_beside(part),
            Body::Thought(thought) => {
                let signature = thought.signature.as_ref().filter(|known| known.vendor == Vendor::Gemini);
                let own = signature.map_or(Estimate::ZERO, |known| self.signature(&known.value));
                self.text(&thought.text) + own + self.signature_beside(part)
            }
            Body::Call(call) => self.call(call) + self.chars(extra_json_len(&part.extra)),
            Body::Result(result) => self.result(result, depth),
            Body::Media(media) => self.media(media),
            Body::File(file) => self.file(file),
            Body::Opaque(opaque) => self.chars(json_len(&opaque.value)),
        }
    }

    fn call(&self, call: &ToolCall) -> Estimate {
        let id = if call.id.is_made_up() { 0 } else { r#""id":,"#.len() + string_json_len(call.id.as_str()) };
        let fields = r#"{"functionCall":{"name":,"args":}}"#.len();
        self.chars(fields + id + string_json_len(&call.name)) + self.json(&call.args)
    }

    /// The tokens of a value as JSON.
    fn json(&self, value: &Value) -> Estimate {
        let all = json_len(value);
        match self.profile {
            EstimateProfile::Reference => self.chars(all),
            EstimateProfile::Uniform => self.units(Units { all, ascii: all - count_non_ascii(value) }),
        }
    }

    /// The tokens of a signature that a model's provider put beside a part, where signatures count.
    fn signature_beside(&self, part: &Part) -> Estimate {
        let beside = Extra::for_vendor(&part.extra, Vendor::Gemini).and_then(|fields| fields.get(SIGNATURE));
        beside.and_then(Value::as_str).map_or(Estimate::ZERO, |signature| self.signature(signature))
    }

    fn signature(&self, signature: &str) -> Estimate {
        match self.profile {
            EstimateProfile::Reference => Estimate::ZERO,
            EstimateProfile::Uniform => self.chars(signature.len()),
        }
    }

    fn result(&self, result: &ToolResult, depth: usize) -> Estimate {
        let name = result.name.as_deref().map_or(0, |name| count_units(name).all);
        let output = match (&result.output, self.profile) {
            (Output::Empty, _) => Estimate::ZERO,
            (Output::Text(text), EstimateProfile::Reference) => self.chars(count_units(text).all),
            (Output::Text(text), EstimateProfile::Uniform) => self.text(text),
            (Output::Structured(value), _) => self.json(value),
        };
        self.chars(name) + output + Estimate(self.parts_at(&result.nested, depth + 1).0 as f64)
    }

    fn media(&self, media: &Media) -> Estimate {
        known_media(&media.mime).unwrap_or_else(|| {
            let fields = r#"{"inlineData":{"mimeType":,"data":""}}"#.len() + string_json_len(&media.mime);
            self.chars(match &media.data {
                MediaData::Base64(data) => fields + data.len(),
                MediaData::Omitted { bytes } => fields + (*bytes as usize).div_ceil(3).saturating_mul(4),
            })
        })
    }

    fn file(&self, file: &FileReference) -> Estimate {
        file.mime.as_deref().and_then(known_media).unwrap_or_else(|| {
            let mime = file.mime.as_deref().map_or(0, |mime| r#""mimeType":,"#.len() + string_json_len(mime));
            self.chars(r#"{"fileData":{"fileUri":}}"#.len() + mime + string_json_len(&file.uri))
        })
    }
}

fn known_media(mime: &str) -> Option<Estimate> {
    if mime.starts_with("image/") {
        Some(Estimate(IMAGE))
    } else if mime.starts_with("application/pdf") {
        Some(Estimate(PDF))
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Origin;
    use serde_json::json;

    fn text(text: &str) -> Part {
        Part::user_text(text)
    }

    fn media(mime: &str, data: &str) -> Part {
        let data = MediaData::Base64(data.into());
        Part::new(Origin::User, Body::Media(Box::new(Media { mime: mime.into(), data })))
    }

    fn result(output: Output, nested: Vec<Part>) -> Part {
        let result = ToolResult { output, nested, ..ToolResult::text("c", "").with_name("read_file") };
        Part::result(result)
    }

    #[track_caller]
    fn check(parts: &[Part], expected: u64) {
        assert_eq!(Estimator::default().parts(parts), TokenCount(expected));
    }

    #[test]
    fn texts_weigh_by_their_characters() {
        check(&[], 0);
        check(&[text("")], 0);
        check(&[text("Hello world!")], 3);
        check(&[text(&"a".repeat(200_000))], 50_000);
        check(&[text("日本語の文章です。。")], 13);
        // An emoji is two code units.
        check(&[text("😀😀😀😀😀")], 13);
        // Remainders of several parts add up before they are cut off.
        check(&[text("ab"), text("ab")], 1);
    }

    #[test]
    fn other_weights_give_other_numbers() {
        let weigh = |chars_per_token, text: &str| {
            let weights = Weights { chars_per_token, ..Weights::STANDARD };
            Estimator { weights, ..Estimator::default() }.text(text).tokens().0
        };
        assert_eq!(weigh(3.0, "Hello world!"), 4);
        assert_eq!(weigh(2.0, "Hello world!"), 6);
        assert_eq!(weigh(3.0, &"a".repeat(120_000)), 40_000);
        let heavy = Estimator { weights: Weights::HEAVY, ..Estimator::default() };
        assert_eq!(heavy.text("日本").tokens().0, 3);
    }

    #[test]
    fn very_long_texts_count_every_character_alike() {
        check(&[text(&"あ".repeat(100_004))], 25_001);
    }

    #[test]
    fn media_weigh_by_their_type() {
        check(&[text("Hello"), media("image/png", "AAAA")], 3_001);
        check(&[media("application/pdf", &"A".repeat(1_000_000))], 25_800);
        // Sound has no fixed weight: its base64 counts.
        let sound = media("audio/wav", &"A".repeat(4_000));
        assert!((1_000..1_020).contains(&Estimator::default().part(&sound).tokens().0));
        let file = FileReference { mime: Some("image/jpeg".into()), uri: "files/1".into() };
        check(&[Part::new(Origin::User, Body::File(Box::new(file)))], 3_000);
    }

    #[test]
    fn calls_weigh_as_their_json() {
        let call = ToolCall::new("c", "ls").with_args(json!({"path": "src"}));
        let json = r#"{"functionCall":{"id":"c","name":"ls","args":{"path":"src"}}}"#;
        check(&[Part::call(call)], json.len() as u64 / 4);
        let opaque = Part::opaque(Origin::Model, crate::Vendor::Gemini, json!({}));
        check(&[opaque], 0);
    }

    #[test]
    fn results_weigh_by_name_output_and_what_came_with_them() {
        let output = json!({"output": "x".repeat(6_000)});
        check(&[result(Output::Structured(output), vec![])], 1_505);
        check(&[result(Output::Text("x".repeat(6_000)), vec![])], 1_502);
        let nested = result(Output::Text("ok".into()), vec![media("image/png", ""), text("a picture")]);
        assert!((3_000..=3_100).contains(&Estimator::default().part(&nested).tokens().0));
    }

    /// Checks the tokens of a part, and those that the reference counts.
    #[track_caller]
    fn check_profiles(part: &Part, uniform: u64, reference: u64) {
        let weigh = |profile| Estimator { profile, ..Estimator::default() }.part(part).tokens().0;
        let seen = [EstimateProfile::Uniform, EstimateProfile::Reference].map(weigh);
        assert_eq!(seen, [uniform, reference]);
    }

    #[test]
    fn characters_weigh_the_same_in_results_and_texts() {
        let words = "日本語の文章です。。".repeat(100);
        check_profiles(&text(&words), 1_300, 1_300);
        check_profiles(&result(Output::Text(words.clone()), vec![]), 1_302, 252);
        check_profiles(&result(Output::Structured(json!({"output": words})), vec![]), 1_305, 255);
        let call = ToolCall::new("c", "write").with_args(json!({"日本": words}));
        check_profiles(&Part::call(call), 1_316, 264);
        check_profiles(&result(Output::Text("x".repeat(4_000)), vec![]), 1_002, 1_002);
    }

    #[test]
    fn signatures_of_thoughts_weigh() {
        let signature = "s".repeat(4_000);
        let signed = |part: Part| {
            let fields = json!({"thoughtSignature": signature}).as_object().cloned().unwrap_or_default();
            part.with_extra(Vendor::Gemini, fields)
        };
        check_profiles(&signed(Part::model_text("Hello world!")), 1_003, 3);
        check_profiles(&signed(Part::call(ToolCall::new("c", "ls"))), 1_017, 1_017);
        let thought = |vendor| {
            let signature = Some(crate::Signature { vendor, value: signature.clone() });
            Part::thought(crate::Thought { text: "Hello world!".into(), signature, item: None })
        };
        check_profiles(&thought(Vendor::Gemini), 1_003, 3);
        check_profiles(&thought(Vendor::Anthropic), 3, 3);
    }

    #[test]
    fn results_nested_too_deep_count_nothing() {
        let mut part = text(&"x".repeat(400));
        for depth in 0..5 {
            let output = Output::Text("y".repeat(40 * (5 - depth)));
            part = Part::result(ToolResult { output, nested: vec![part], ..ToolResult::text("c", "") });
        }
        // Levels 0 to 3 hold 40, 80, 120 and 160 characters; level 4 and the text inside it are not counted.
        check(&[part], 10 + 20 + 30 + 40);
    }
}
