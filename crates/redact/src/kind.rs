//! The kind of a secret, or its issuer.

use std::fmt;

macro_rules! kinds {
    ($($(#[doc = $doc:literal])+ $variant:ident => $name:literal,)+) => {
        /// The kind of a secret, or its issuer.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[non_exhaustive]
        pub enum SecretKind {
            $($(#[doc = $doc])+ $variant,)+
        }

        impl SecretKind {
            /// Every kind there is.
            pub const ALL: &[Self] = &[$(Self::$variant),+];

            /// A stable name in lower case with hyphens, for reports and JSON.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)+
                }
            }
        }
    };
}

kinds! {
    /// A private key as text: PEM, OpenSSH or PGP, also when the block itself is written in base64.
    PrivateKey => "private-key",
    /// The words from which the keys of a wallet are derived.
    SeedPhrase => "seed-phrase",
    /// A key of a wallet.
    WalletKey => "wallet-key",
    /// A password as a system stores it: crypt, bcrypt, Argon2, SCRAM.
    PasswordHash => "password-hash",
    /// The signature of a URL that lets in whoever holds it.
    SignedUrl => "signed-url",
    /// The secret part of a webhook's address.
    Webhook => "webhook",
    /// A secret key of the age encryption tool.
    AgeKey => "age-key",
    /// A JSON Web Token.
    Jwt => "jwt",
    /// A password in the authority of a URL.
    UrlPassword => "url-password",
    /// Credentials of an HTTP `Authorization` header.
    Authorization => "authorization",
    /// The value of an HTTP cookie.
    Cookie => "cookie",
    /// A password, known by the name it is assigned to.
    Password => "password",
    /// A token, a key or another secret, known by the name it is assigned to.
    Secret => "secret",

    /// Amazon Web Services.
    Aws => "aws",
    /// Google Cloud, Google APIs and Google OAuth.
    Google => "google",
    /// Microsoft Azure and Azure DevOps.
    Azure => "azure",
    /// Alibaba Cloud.
    Alibaba => "alibaba",
    /// Tencent Cloud.
    Tencent => "tencent",
    /// Yandex.
    Yandex => "yandex",
    /// Cloudflare.
    Cloudflare => "cloudflare",
    /// DigitalOcean.
    DigitalOcean => "digitalocean",
    /// Heroku.
    Heroku => "heroku",
    /// Fly.io.
    Fly => "fly",
    /// Render.
    Render => "render",
    /// Netlify.
    Netlify => "netlify",
    /// Vercel.
    Vercel => "vercel",
    /// Neon.
    Neon => "neon",
    /// Supabase.
    Supabase => "supabase",
    /// PlanetScale.
    PlanetScale => "planetscale",
    /// Databricks.
    Databricks => "databricks",
    /// HashiCorp Vault and Terraform Cloud.
    HashiCorp => "hashicorp",
    /// Pulumi.
    Pulumi => "pulumi",
    /// Doppler.
    Doppler => "doppler",
    /// 1Password service accounts.
    OnePassword => "1password",
    /// Tailscale.
    Tailscale => "tailscale",
    /// Grafana.
    Grafana => "grafana",
    /// New Relic.
    NewRelic => "newrelic",
    /// Dynatrace.
    Dynatrace => "dynatrace",
    /// Sentry.
    Sentry => "sentry",
    /// JFrog Artifactory.
    Artifactory => "artifactory",
    /// CircleCI.
    CircleCi => "circleci",
    /// Buildkite.
    Buildkite => "buildkite",
    /// SonarQube.
    SonarQube => "sonarqube",
    /// Honeycomb.
    Honeycomb => "honeycomb",
    /// LaunchDarkly.
    LaunchDarkly => "launchdarkly",
    /// PostHog.
    PostHog => "posthog",
    /// Prefect.
    Prefect => "prefect",
    /// dbt Cloud.
    Dbt => "dbt",

    /// GitHub.
    GitHub => "github",
    /// GitLab.
    GitLab => "gitlab",
    /// Sourcegraph.
    Sourcegraph => "sourcegraph",
    /// Atlassian, Bitbucket and Trello.
    Atlassian => "atlassian",

    /// Slack tokens and webhooks.
    Slack => "slack",
    /// Discord bot tokens and webhooks.
    Discord => "discord",
    /// Telegram bot tokens.
    Telegram => "telegram",
    /// Microsoft Teams webhooks.
    Teams => "teams",
    /// Twilio.
    Twilio => "twilio",
    /// SendGrid.
    SendGrid => "sendgrid",
    /// Mailgun.
    Mailgun => "mailgun",
    /// Mailchimp.
    Mailchimp => "mailchimp",
    /// Brevo.
    Brevo => "brevo",
    /// Resend.
    Resend => "resend",

    /// Stripe.
    Stripe => "stripe",
    /// Square.
    Square => "square",
    /// PayPal and Braintree.
    PayPal => "paypal",
    /// Plaid.
    Plaid => "plaid",
    /// Shopify.
    Shopify => "shopify",
    /// Paddle.
    Paddle => "paddle",
    /// Flutterwave.
    Flutterwave => "flutterwave",
    /// EasyPost.
    EasyPost => "easypost",

    /// OpenAI, and others that write their keys alike.
    OpenAi => "openai",
    /// Anthropic.
    Anthropic => "anthropic",
    /// OpenRouter.
    OpenRouter => "openrouter",
    /// Hugging Face.
    HuggingFace => "huggingface",
    /// Replicate.
    Replicate => "replicate",
    /// Groq.
    Groq => "groq",
    /// xAI.
    Xai => "xai",
    /// Perplexity.
    Perplexity => "perplexity",
    /// Fireworks.
    Fireworks => "fireworks",
    /// Together.
    Together => "together",
    /// Cerebras.
    Cerebras => "cerebras",
    /// NVIDIA.
    Nvidia => "nvidia",
    /// Pinecone.
    Pinecone => "pinecone",
    /// Apify.
    Apify => "apify",
    /// Weights & Biases.
    WeightsAndBiases => "wandb",
    /// ElevenLabs.
    ElevenLabs => "elevenlabs",
    /// LangSmith and Langfuse.
    LangTools => "langtools",
    /// Tavily, Firecrawl and Jina.
    WebTools => "webtools",

    /// The npm registry.
    Npm => "npm",
    /// The Python Package Index.
    PyPi => "pypi",
    /// The registry of Rust crates.
    CratesIo => "crates-io",
    /// RubyGems.
    RubyGems => "rubygems",
    /// NuGet.
    NuGet => "nuget",
    /// Docker Hub.
    Docker => "docker",
    /// The Open VSX registry.
    OpenVsx => "openvsx",
    /// Clojars.
    Clojars => "clojars",

    /// Linear.
    Linear => "linear",
    /// Notion.
    Notion => "notion",
    /// Airtable.
    Airtable => "airtable",
    /// Figma.
    Figma => "figma",
    /// Postman.
    Postman => "postman",
    /// Contentful.
    Contentful => "contentful",
    /// HubSpot.
    HubSpot => "hubspot",
    /// Mapbox.
    Mapbox => "mapbox",
    /// Typeform.
    Typeform => "typeform",
    /// ClickUp.
    ClickUp => "clickup",
    /// Dropbox.
    Dropbox => "dropbox",
}

impl SecretKind {
    /// True if only a name or a place says what this is: where two findings meet, an issuer's format tells more.
    pub(crate) fn is_generic(self) -> bool {
        matches!(self, Self::Password | Self::Secret | Self::Authorization | Self::Cookie | Self::UrlPassword)
    }
}

impl fmt::Display for SecretKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique() {
        let mut names: Vec<_> = SecretKind::ALL.iter().map(|kind| kind.name()).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), SecretKind::ALL.len());
    }
}
