//! The token formats of the common issuers: prefix, alphabet and length, as each issuer makes them public.

use std::ops::Range;

use crate::Kind;
use crate::alphabet::{Alphabet, Runs, ends_word, starts_word};
use crate::gate;

/// A token's look, from left to right.
pub(crate) struct Format {
    pub(crate) kind: Kind,
    pieces: &'static [Piece],
    /// The prefix is so short or so common that the rest must also look random.
    weak: bool,
}

/// A piece of a token.
#[derive(Clone, Copy)]
enum Piece {
    /// This very text.
    Text(&'static str),
    /// This very text, which is no secret and stays.
    Keep(&'static str),
    /// So many characters of an alphabet, as many as there are.
    Run(Alphabet, usize, usize),
}

use Piece::{Keep, Run, Text};

/// Longer than any token.
const MOST: usize = 8 * 1024;

const fn exactly(alphabet: Alphabet, count: usize) -> Piece {
    Run(alphabet, count, count)
}

const fn at_least(alphabet: Alphabet, count: usize) -> Piece {
    Run(alphabet, count, MOST)
}

const fn strong(kind: Kind, pieces: &'static [Piece]) -> Format {
    Format { kind, pieces, weak: false }
}

const fn weak(kind: Kind, pieces: &'static [Piece]) -> Format {
    Format { kind, pieces, weak: true }
}

const DIGIT: Alphabet = Alphabet::DIGIT;
const HEX: Alphabet = Alphabet::HEX;
const UPPER: Alphabet = Alphabet::UPPER;
const ALNUM: Alphabet = Alphabet::ALNUM;
const WORD: Alphabet = Alphabet::WORD;
const URL: Alphabet = Alphabet::URL;
const DOTTED: Alphabet = Alphabet::DOTTED;
const BASE64: Alphabet = Alphabet::BASE64;
const ANY64: Alphabet = Alphabet::ANY64;
/// Base32 as AWS writes it.
const BASE32: Alphabet = Alphabet::of(b"A-Z2-7");
/// Bech32 in upper case.
const BECH32: Alphabet = Alphabet::of(b"AC-HJ-NP-Z02-9");
const HEX_GROUPS: Alphabet = Alphabet::of(b"0-9a-f-");
/// Ids joined by at signs and slashes.
const TEAMS_PATH: Alphabet = Alphabet::of(b"A-Za-z0-9@/-");

#[rustfmt::skip]
pub(crate) const FORMATS: &[Format] = &[
    // Keys as text.
    strong(Kind::AgeKey, &[Text("AGE-SECRET-KEY-1"), exactly(BECH32, 58)]),
    strong(Kind::PrivateKey, &[Text("LS0tLS1CRUdJTiBSU0EgUFJJVkFURSBLRVkt"), at_least(BASE64, 64)]),
    strong(Kind::PrivateKey, &[Text("LS0tLS1CRUdJTiBQUklWQVRFIEtFWS0t"), at_least(BASE64, 64)]),
    strong(Kind::PrivateKey, &[Text("LS0tLS1CRUdJTiBFQyBQUklWQVRFIEtFWS0t"), at_least(BASE64, 64)]),
    strong(Kind::PrivateKey, &[Text("LS0tLS1CRUdJTiBPUEVOU1NIIFBSSVZBVEUgS0VZLS0t"), at_least(BASE64, 64)]),

    // Clouds and what runs in them.
    strong(Kind::Aws, &[Text("AKIA"), exactly(BASE32, 16)]),
    strong(Kind::Aws, &[Text("ASIA"), exactly(BASE32, 16)]),
    strong(Kind::Aws, &[Text("ABIA"), exactly(BASE32, 16)]),
    strong(Kind::Aws, &[Text("ACCA"), exactly(BASE32, 16)]),
    strong(Kind::Aws, &[Text("ABSK"), at_least(BASE64, 109)]),
    strong(Kind::Aws, &[Text("bedrock-api-key-"), at_least(BASE64, 64)]),
    strong(Kind::Google, &[Text("AIza"), exactly(URL, 35)]),
    strong(Kind::Google, &[Text("GOCSPX-"), exactly(URL, 28)]),
    strong(Kind::Google, &[Text("ya29."), at_least(DOTTED, 20)]),
    strong(Kind::Google, &[Text("1//0"), at_least(URL, 40)]),
    strong(Kind::Google, &[Text("AQ.Ab8"), at_least(URL, 40)]),
    strong(Kind::Azure, &[Run(Alphabet::of(b"A-Za-z0-9_~.-"), 3, 3), Text("8Q~"), Run(Alphabet::of(b"A-Za-z0-9_~.-"), 31, 34)]),
    strong(Kind::Azure, &[Keep("&sig="), at_least(ANY64, 43)]),
    strong(Kind::Azure, &[Keep("?sig="), at_least(ANY64, 43)]),
    strong(Kind::Azure, &[exactly(ALNUM, 76), Text("AZDO"), exactly(ALNUM, 4)]),
    strong(Kind::Alibaba, &[Text("LTAI"), Run(ALNUM, 16, 26)]),
    strong(Kind::Cloudflare, &[Text("v1.0-"), exactly(HEX, 24), Text("-"), exactly(HEX, 146)]),
    strong(Kind::DigitalOcean, &[Text("dop_v1_"), exactly(HEX, 64)]),
    strong(Kind::DigitalOcean, &[Text("doo_v1_"), exactly(HEX, 64)]),
    strong(Kind::DigitalOcean, &[Text("dor_v1_"), exactly(HEX, 64)]),
    strong(Kind::Heroku, &[Text("HRKU-"), at_least(URL, 36)]),
    strong(Kind::Fly, &[Text("FlyV1 fm"), at_least(ANY64, 60)]),
    strong(Kind::Fly, &[Text("fo1_"), exactly(URL, 43)]),
    strong(Kind::Netlify, &[Text("nfp_"), Run(ALNUM, 36, 64)]),
    strong(Kind::Vercel, &[Text("vck_"), Run(ALNUM, 40, 80)]),
    strong(Kind::Vercel, &[Text("vcp_"), Run(ALNUM, 40, 80)]),
    strong(Kind::Neon, &[Text("napi_"), Run(ALNUM, 40, 80)]),
    strong(Kind::Supabase, &[Text("sbp_"), exactly(HEX, 40)]),
    strong(Kind::Supabase, &[Text("sb_secret_"), at_least(URL, 30)]),
    strong(Kind::PlanetScale, &[Text("pscale_tkn_"), at_least(DOTTED, 32)]),
    strong(Kind::PlanetScale, &[Text("pscale_pw_"), at_least(DOTTED, 32)]),
    strong(Kind::PlanetScale, &[Text("pscale_oauth_"), at_least(DOTTED, 32)]),
    strong(Kind::Databricks, &[Text("dapi"), exactly(HEX, 32)]),
    strong(Kind::HashiCorp, &[Text("hvs."), at_least(URL, 24)]),
    strong(Kind::HashiCorp, &[Text("hvb."), at_least(URL, 24)]),
    strong(Kind::HashiCorp, &[exactly(ALNUM, 14), Text(".atlasv1."), at_least(URL, 60)]),
    strong(Kind::Pulumi, &[Text("pul-"), exactly(HEX, 40)]),
    strong(Kind::Doppler, &[Text("dp.pt."), at_least(ALNUM, 40)]),
    strong(Kind::Doppler, &[Text("dp.st."), at_least(DOTTED, 40)]),
    strong(Kind::OnePassword, &[Text("ops_eyJ"), at_least(BASE64, 60)]),
    strong(Kind::Tailscale, &[Text("tskey-"), at_least(URL, 20)]),
    strong(Kind::Grafana, &[Text("glsa_"), exactly(ALNUM, 32), Text("_"), exactly(ALNUM, 8)]),
    strong(Kind::Grafana, &[Text("glc_eyJ"), at_least(BASE64, 32)]),
    strong(Kind::NewRelic, &[Text("NRAK-"), exactly(UPPER, 27)]),
    strong(Kind::Dynatrace, &[Text("dt0c01."), exactly(UPPER, 24), Text("."), exactly(UPPER, 64)]),
    strong(Kind::Sentry, &[Text("sntrys_"), at_least(ANY64, 40)]),
    strong(Kind::Sentry, &[Text("sntryu_"), exactly(HEX, 64)]),
    strong(Kind::Artifactory, &[Text("AKCp"), Run(ALNUM, 69, 73)]),
    strong(Kind::CircleCi, &[Text("CCIPAT_"), Run(ALNUM, 20, 26), Text("_"), exactly(HEX, 40)]),
    strong(Kind::Buildkite, &[Text("bkua_"), exactly(HEX, 40)]),

    // Source hosts.
    strong(Kind::GitHub, &[Text("ghp_"), Run(ALNUM, 36, 255)]),
    strong(Kind::GitHub, &[Text("gho_"), Run(ALNUM, 36, 255)]),
    strong(Kind::GitHub, &[Text("ghu_"), Run(ALNUM, 36, 255)]),
    strong(Kind::GitHub, &[Text("ghs_"), at_least(DOTTED, 36)]),
    strong(Kind::GitHub, &[Text("ghr_"), Run(ALNUM, 36, 255)]),
    strong(Kind::GitHub, &[Text("github_pat_"), Run(WORD, 60, 255)]),
    strong(Kind::GitLab, &[Text("glpat-"), at_least(DOTTED, 20)]),
    strong(Kind::GitLab, &[Text("gldt-"), at_least(URL, 20)]),
    strong(Kind::GitLab, &[Text("glrt-"), at_least(DOTTED, 20)]),
    strong(Kind::GitLab, &[Text("glcbt-"), at_least(URL, 20)]),
    strong(Kind::GitLab, &[Text("glptt-"), at_least(URL, 20)]),
    strong(Kind::GitLab, &[Text("glft-"), at_least(URL, 20)]),
    strong(Kind::GitLab, &[Text("glimt-"), at_least(URL, 20)]),
    strong(Kind::GitLab, &[Text("glsoat-"), at_least(URL, 20)]),
    strong(Kind::GitLab, &[Text("glagent-"), at_least(URL, 20)]),
    strong(Kind::GitLab, &[Text("gloas-"), at_least(URL, 20)]),
    strong(Kind::GitLab, &[Text("GR1348941"), exactly(URL, 20)]),
    strong(Kind::Atlassian, &[Text("ATATT3xFfG"), at_least(ANY64, 60)]),
    strong(Kind::Atlassian, &[Text("ATCTT3xFfG"), at_least(ANY64, 60)]),
    strong(Kind::Atlassian, &[Text("ATBB"), exactly(ALNUM, 32)]),

    // Messages and mail.
    strong(Kind::Slack, &[Text("xoxb-"), at_least(URL, 20)]),
    strong(Kind::Slack, &[Text("xoxp-"), at_least(URL, 20)]),
    strong(Kind::Slack, &[Text("xoxa-"), at_least(URL, 20)]),
    strong(Kind::Slack, &[Text("xoxr-"), at_least(URL, 20)]),
    strong(Kind::Slack, &[Text("xoxs-"), at_least(URL, 20)]),
    strong(Kind::Slack, &[Text("xoxc-"), at_least(URL, 20)]),
    strong(Kind::Slack, &[Text("xoxd-"), at_least(ANY64, 20)]),
    strong(Kind::Slack, &[Text("xoxe-"), at_least(URL, 20)]),
    strong(Kind::Slack, &[Text("xoxe.xoxb-"), at_least(URL, 20)]),
    strong(Kind::Slack, &[Text("xoxe.xoxp-"), at_least(URL, 20)]),
    strong(Kind::Slack, &[Text("xapp-"), at_least(URL, 20)]),
    strong(Kind::Slack, &[Text("xwfp-"), at_least(URL, 20)]),
    strong(Kind::Slack, &[Keep("hooks.slack.com/services/"), Run(UPPER, 8, 14), Text("/"), Run(UPPER, 8, 14), Text("/"), Run(ALNUM, 20, 32)]),
    strong(Kind::Slack, &[Keep("hooks.slack.com/workflows/"), Run(UPPER, 8, 14), Text("/"), Run(UPPER, 8, 14), Text("/"), Run(DIGIT, 10, 24), Text("/"), Run(ALNUM, 20, 32)]),
    strong(Kind::Discord, &[Keep("discord.com/api/webhooks/"), Run(DIGIT, 17, 20), Text("/"), Run(URL, 60, 80)]),
    strong(Kind::Discord, &[Keep("discordapp.com/api/webhooks/"), Run(DIGIT, 17, 20), Text("/"), Run(URL, 60, 80)]),
    // A bot token begins with its numeric id in base64, which leaves nine beginnings.
    strong(Kind::Discord, &[Text("MT"), DISCORD_ID, Text("."), exactly(URL, 6), Text("."), DISCORD_END]),
    strong(Kind::Discord, &[Text("Mj"), DISCORD_ID, Text("."), exactly(URL, 6), Text("."), DISCORD_END]),
    strong(Kind::Discord, &[Text("Mz"), DISCORD_ID, Text("."), exactly(URL, 6), Text("."), DISCORD_END]),
    strong(Kind::Discord, &[Text("ND"), DISCORD_ID, Text("."), exactly(URL, 6), Text("."), DISCORD_END]),
    strong(Kind::Discord, &[Text("NT"), DISCORD_ID, Text("."), exactly(URL, 6), Text("."), DISCORD_END]),
    strong(Kind::Discord, &[Text("Nj"), DISCORD_ID, Text("."), exactly(URL, 6), Text("."), DISCORD_END]),
    strong(Kind::Discord, &[Text("Nz"), DISCORD_ID, Text("."), exactly(URL, 6), Text("."), DISCORD_END]),
    strong(Kind::Discord, &[Text("OD"), DISCORD_ID, Text("."), exactly(URL, 6), Text("."), DISCORD_END]),
    strong(Kind::Discord, &[Text("OT"), DISCORD_ID, Text("."), exactly(URL, 6), Text("."), DISCORD_END]),
    strong(Kind::Telegram, &[Run(DIGIT, 8, 10), Text(":AA"), exactly(URL, 33)]),
    strong(Kind::Teams, &[Keep("webhook.office.com/webhookb2/"), at_least(TEAMS_PATH, 80)]),
    strong(Kind::Twilio, &[Text("SK"), exactly(HEX, 32)]),
    strong(Kind::SendGrid, &[Text("SG."), exactly(URL, 22), Text("."), exactly(URL, 43)]),
    strong(Kind::Mailgun, &[Text("key-"), exactly(HEX, 32)]),
    strong(Kind::Mailchimp, &[exactly(HEX, 32), Text("-us"), Run(DIGIT, 1, 2)]),
    strong(Kind::Brevo, &[Text("xkeysib-"), exactly(HEX, 64), Text("-"), exactly(ALNUM, 16)]),
    strong(Kind::Brevo, &[Text("xsmtpsib-"), exactly(HEX, 64), Text("-"), exactly(ALNUM, 16)]),
    strong(Kind::Resend, &[Text("re_"), exactly(ALNUM, 8), Text("_"), exactly(ALNUM, 24)]),

    // Payment and shops.
    strong(Kind::Stripe, &[Text("sk_live_"), Run(ALNUM, 16, 255)]),
    strong(Kind::Stripe, &[Text("rk_live_"), Run(ALNUM, 16, 255)]),
    strong(Kind::Stripe, &[Text("sk_test_"), Run(ALNUM, 16, 255)]),
    strong(Kind::Stripe, &[Text("rk_test_"), Run(ALNUM, 16, 255)]),
    strong(Kind::Stripe, &[Text("whsec_"), at_least(BASE64, 32)]),
    strong(Kind::Square, &[Text("sq0atp-"), exactly(URL, 22)]),
    strong(Kind::Square, &[Text("sq0csp-"), exactly(URL, 43)]),
    weak(Kind::Square, &[Text("EAAA"), exactly(URL, 60)]),
    strong(Kind::PayPal, &[Text("access_token$production$"), exactly(ALNUM, 16), Text("$"), exactly(HEX, 32)]),
    strong(Kind::PayPal, &[Text("access_token$sandbox$"), exactly(ALNUM, 16), Text("$"), exactly(HEX, 32)]),
    strong(Kind::Plaid, &[Text("access-production-"), exactly(HEX_GROUPS, 36)]),
    strong(Kind::Plaid, &[Text("access-sandbox-"), exactly(HEX_GROUPS, 36)]),
    strong(Kind::Shopify, &[Text("shpat_"), exactly(HEX, 32)]),
    strong(Kind::Shopify, &[Text("shpca_"), exactly(HEX, 32)]),
    strong(Kind::Shopify, &[Text("shppa_"), exactly(HEX, 32)]),
    strong(Kind::Shopify, &[Text("shpss_"), exactly(HEX, 32)]),

    // Model vendors and what agents call.
    weak(Kind::OpenAi, &[Text("sk-"), at_least(URL, 20)]),
    strong(Kind::OpenAi, &[Text("sk-proj-"), at_least(URL, 20)]),
    strong(Kind::OpenAi, &[Text("sk-svcacct-"), at_least(URL, 20)]),
    strong(Kind::OpenAi, &[Text("sk-admin-"), at_least(URL, 20)]),
    strong(Kind::Anthropic, &[Text("sk-ant-"), at_least(URL, 20)]),
    strong(Kind::OpenRouter, &[Text("sk-or-v1-"), exactly(HEX, 64)]),
    strong(Kind::HuggingFace, &[Text("hf_"), Run(ALNUM, 30, 64)]),
    strong(Kind::HuggingFace, &[Text("api_org_"), Run(ALNUM, 30, 64)]),
    strong(Kind::Replicate, &[Text("r8_"), Run(ALNUM, 37, 40)]),
    strong(Kind::Groq, &[Text("gsk_"), Run(ALNUM, 40, 64)]),
    strong(Kind::Xai, &[Text("xai-"), Run(ALNUM, 64, 96)]),
    strong(Kind::Perplexity, &[Text("pplx-"), Run(ALNUM, 40, 64)]),
    strong(Kind::Fireworks, &[Text("fw_"), Run(ALNUM, 20, 32)]),
    strong(Kind::Together, &[Text("tgp_v1_"), exactly(URL, 43)]),
    strong(Kind::Cerebras, &[Text("csk-"), exactly(ALNUM, 48)]),
    strong(Kind::Nvidia, &[Text("nvapi-"), at_least(URL, 40)]),
    strong(Kind::ElevenLabs, &[Text("sk_"), exactly(HEX, 48)]),
    strong(Kind::LangTools, &[Text("lsv2_pt_"), exactly(HEX, 32), Text("_"), exactly(HEX, 10)]),
    strong(Kind::LangTools, &[Text("lsv2_sk_"), exactly(HEX, 32), Text("_"), exactly(HEX, 10)]),
    strong(Kind::LangTools, &[Text("sk-lf-"), exactly(HEX_GROUPS, 36)]),
    strong(Kind::WebTools, &[Text("tvly-"), at_least(URL, 24)]),
    strong(Kind::WebTools, &[Text("fc-"), exactly(HEX, 32)]),
    strong(Kind::WebTools, &[Text("jina_"), Run(URL, 50, 70)]),

    // Package registries.
    strong(Kind::Npm, &[Text("npm_"), exactly(ALNUM, 36)]),
    strong(Kind::PyPi, &[Text("pypi-AgE"), at_least(URL, 50)]),
    strong(Kind::CratesIo, &[Text("cio"), exactly(ALNUM, 32)]),
    strong(Kind::RubyGems, &[Text("rubygems_"), exactly(HEX, 48)]),
    strong(Kind::NuGet, &[Text("oy2"), exactly(Alphabet::of(b"a-z0-9"), 43)]),
    strong(Kind::Docker, &[Text("dckr_pat_"), Run(URL, 27, 36)]),
    strong(Kind::Docker, &[Text("dckr_oat_"), Run(URL, 27, 36)]),

    // Tools of a team.
    strong(Kind::Linear, &[Text("lin_api_"), Run(ALNUM, 32, 48)]),
    strong(Kind::Linear, &[Text("lin_oauth_"), Run(ALNUM, 32, 64)]),
    strong(Kind::Notion, &[Text("ntn_"), Run(ALNUM, 40, 60)]),
    strong(Kind::Notion, &[Text("secret_"), exactly(ALNUM, 43)]),
    strong(Kind::Airtable, &[Text("pat"), exactly(ALNUM, 14), Text("."), exactly(HEX, 64)]),
    strong(Kind::Figma, &[Text("figd_"), at_least(URL, 36)]),
    strong(Kind::Postman, &[Text("PMAK-"), exactly(HEX, 24), Text("-"), exactly(HEX, 34)]),
    strong(Kind::Contentful, &[Text("CFPAT-"), exactly(URL, 43)]),
    strong(Kind::HubSpot, &[Text("pat-na1-"), exactly(HEX_GROUPS, 36)]),
    strong(Kind::HubSpot, &[Text("pat-eu1-"), exactly(HEX_GROUPS, 36)]),
    strong(Kind::Mapbox, &[Text("sk.eyJ"), Run(URL, 40, 200), Text("."), exactly(URL, 22)]),
];

const DISCORD_ID: Piece = Run(ALNUM, 22, 26);
const DISCORD_END: Piece = Run(URL, 27, 45);

impl Format {
    /// The text whose presence makes a look worthwhile.
    pub(crate) fn anchor(&self) -> &'static str {
        self.pieces
            .iter()
            .find_map(|piece| match piece {
                Text(text) | Keep(text) => Some(*text),
                Run(..) => None,
            })
            .expect("every format has a text, as a test holds")
    }

    /// The token around the anchor at `at`, if there is one.
    pub(crate) fn find(&self, text: &str, at: usize, runs: &mut Runs) -> Option<Range<usize>> {
        let bytes = text.as_bytes();
        let mut pieces = self.pieces;
        let mut start = at;
        if let [Run(alphabet, least, most), rest @ ..] = pieces {
            let lead = alphabet.run_back(&bytes[..at], *most);
            if lead < *least {
                return None;
            }
            start -= lead;
            pieces = rest;
        }
        // A Telegram token follows `bot` in the paths of its API.
        let is_free = matches!(self.pieces, [Keep(_), ..])
            || starts_word(bytes, start)
            || (self.kind == Kind::Telegram && bytes[..start].ends_with(b"bot"));
        if !is_free || self.is_in_blob(&bytes[..start]) {
            return None;
        }

        let mut end = at;
        // A token may begin with its longest run.
        let mut longest = start..at;
        for piece in pieces {
            let from = end;
            match *piece {
                Text(text) => end += bytes[end..].starts_with(text.as_bytes()).then_some(text.len())?,
                Keep(text) => {
                    end += bytes[end..].starts_with(text.as_bytes()).then_some(text.len())?;
                    start = end;
                }
                Run(alphabet, least, most) => {
                    let run = runs.measure(alphabet, bytes, end);
                    let is_blob = run > MOST && most == MOST;
                    let run = run.min(most);
                    end += (run >= least && !is_blob).then_some(run)?;
                    if run > longest.len() {
                        longest = from..end;
                    }
                }
            }
        }
        let body = &text[longest];
        // A run without a limit ends where its alphabet does.
        let is_open = matches!(self.pieces, [.., Run(_, _, MOST)]);
        let is_over = is_open || ends_word(bytes, end);
        let is_real = is_over && (!self.weak || gate::looks_random(body)) && !gate::is_filler(body);
        is_real.then_some(start..end)
    }

    /// Whether a token with a short prefix of letters and digits is rather a stretch of a long base64 text, in which a
    /// slash or a plus sign is no boundary.
    fn is_in_blob(&self, before: &[u8]) -> bool {
        const LONG: usize = 40;
        let anchor = self.anchor();
        anchor.len() <= 4
            && anchor.bytes().all(|byte| ALNUM.has(byte))
            && BASE64.run_back(before, LONG) == LONG
    }
}

#[cfg(test)]
pub(crate) mod samples {
    //! Random tokens of every format, made from its own description.

    use super::*;

    impl Format {
        /// Whether a token may hold this character at its end, so that it does not end before one.
        pub(crate) fn may_go_on_with(&self, next: Option<char>) -> bool {
            let ends_with = self.pieces.last();
            next.is_some_and(|next| {
                matches!(ends_with, Some(Run(alphabet, least, most)) if most > least && next.is_ascii() && alphabet.has(next as u8))
            })
        }

        /// A token made with `next`, a source of random numbers, and how much of its start is kept. By chance a token
        /// may look made up; such are thrown away.
        pub(crate) fn sample(&self, next: &mut impl FnMut() -> u32) -> (String, usize) {
            loop {
                let (token, kept) = self.make(next);
                let rest = token.replace(self.anchor(), "");
                if !gate::is_filler(&rest) && (!self.weak || gate::looks_random(&rest)) {
                    return (token, kept);
                }
            }
        }

        fn make(&self, next: &mut impl FnMut() -> u32) -> (String, usize) {
            let mut token = String::new();
            let mut kept = 0;
            for piece in self.pieces {
                match *piece {
                    Text(text) => token.push_str(text),
                    Keep(text) => {
                        token.push_str(text);
                        kept = token.len();
                    }
                    Run(alphabet, least, most) => {
                        let length = least + next() as usize % (most.min(least + 40) - least + 1);
                        let all: Vec<char> =
                            (0..128u8).filter(|byte| alphabet.has(*byte)).map(char::from).collect();
                        // Punctuation at the ends would leave the length open to interpretation.
                        let plain: Vec<char> =
                            all.iter().copied().filter(char::is_ascii_alphanumeric).collect();
                        for at in 0..length {
                            let from = if at == 0 || at + 1 == length { &plain } else { &all };
                            token.push(from[next() as usize % from.len()]);
                        }
                    }
                }
            }
            (token, kept)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_format_has_an_anchor_after_at_most_one_run() {
        for format in FORMATS {
            let texts = format.pieces.iter().take(2).filter(|piece| matches!(piece, Text(_) | Keep(_)));
            assert!(texts.count() >= 1, "{}", format.kind);
            assert!(format.anchor().len() >= 2, "{}", format.kind);
        }
    }
}
