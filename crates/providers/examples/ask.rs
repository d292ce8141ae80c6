//! Asks a model one question, to try a server by hand:
//!
//!     cargo run -p longhaul-providers --example ask -- openai http://localhost:11434/v1 llama3.2 "Say hi."
//!
//! The key, where the server wants one, is read from the variable `ASK_KEY`.

use std::io::Write;

use futures_util::StreamExt;
use longhaul_conversation::{Message, Model, Part, Request, ResponseEvent, Role};
use longhaul_providers::{
    Endpoint, HttpClient, HttpModel, Key, Network, ProviderSettings, Proxies, Surroundings,
};
use longhaul_wire::WireFormat;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [format, endpoint, model, prompt] = &arguments[..] else {
        return Err("usage: ask gemini|openai|anthropic ENDPOINT MODEL PROMPT".into());
    };
    let format = match format.as_str() {
        "gemini" => WireFormat::Gemini,
        "openai" => WireFormat::OpenAi,
        "anthropic" => WireFormat::Anthropic,
        other => return Err(format!("there is no format {other:?}").into()),
    };
    let key = match std::env::var("ASK_KEY") {
        Ok(key) => Key::Given(key.into()),
        Err(_) => Key::Missing { looked_at: vec!["ASK_KEY".into()] },
    };
    let proxies = Proxies::from_variables(|name| std::env::var(name).ok())?;
    let http = HttpClient::new(Network { proxies, ..Network::default() });
    let provider = ProviderSettings::at("server", format, Endpoint::parse(endpoint)?, key);
    let http_model = HttpModel::new(provider, http, Surroundings::system());

    let question = Message::new("u1", Role::User, vec![Part::user_text(prompt.as_str())]);
    let request = Request { model: model.clone(), messages: vec![question], ..Request::default() };
    let mut events = http_model.stream(request);
    while let Some(event) = events.next().await {
        match event {
            Ok(ResponseEvent::TextDelta(text)) => {
                print!("{text}");
                std::io::stdout().flush()?;
            }
            Ok(other) => eprintln!("\n{other:?}"),
            Err(error) => return Err(format!("{error}\nhint: {}", error.hint()).into()),
        }
    }
    Ok(())
}
