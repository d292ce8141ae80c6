//! `longhaul models`: the models that are known, and those that servers offer.

use clap::Args;
use longhaul_app::models::{Models, ProviderOffers, known_model};
use longhaul_app::settings::Settings;
use longhaul_conversation::{TokenCount, WindowSource, context_window};
use longhaul_providers::model_aliases;
use serde_json::{Value, json};

use crate::output::{Color, Page, Screen, print, print_aside, print_json, tell_notes, thousands, visible};

#[derive(Debug, Args)]
pub(crate) struct ModelsOptions {
    /// Provider to list [default: all that can be asked].
    provider: Option<String>,
    /// List only what is known without asking a server.
    #[arg(long)]
    offline: bool,
    /// Print one JSON object (see docs/json.md).
    #[arg(long)]
    json: bool,
}

/// Lists models by provider, with their windows.
pub(crate) fn run(
    options: &ModelsOptions,
    load_settings: impl FnOnce() -> anyhow::Result<Settings>,
    color: Color,
) -> anyhow::Result<()> {
    let settings = load_settings()?;
    let warn = |text: &str| {
        print_aside(&format!("{} {}\n", Screen::of_stderr(color).warning("warning:"), visible(text)));
    };
    let models = Models::load(&settings, None, tell_notes(color), warn)?;
    let wanted = |name: &str| options.provider.as_deref().is_none_or(|wanted| wanted == name);
    let mut offers = if options.offline { Vec::new() } else { models.offers(options.provider.as_deref())? };
    offers.retain(|offer| wanted(&offer.provider));
    let lacking: Vec<_> = models.without_key().into_iter().filter(|(name, _)| wanted(name)).collect();
    let known: Vec<_> = models.known_by_provider().into_iter().filter(|(name, _)| wanted(name)).collect();
    if options.json {
        return print_json(&json!({
            "schema": 1,
            "offers": offers.iter().map(offer_json).collect::<Vec<_>>(),
            "known": known.iter().map(|(provider, names)| json!({"provider": provider, "models": names})).collect::<Vec<_>>(),
            "short_names": model_aliases().map(|(alias, model)| (alias.to_string(), json!(model)))
                .collect::<serde_json::Map<_, _>>(),
            "without_key": lacking.iter().map(|(provider, variables)| json!({"provider": provider, "variables": variables}))
                .collect::<Vec<_>>(),
        }));
    }
    let mut page = Page::new(Screen::of_stdout(color));
    for offer in &offers {
        tell_offer(&mut page, offer, &models);
    }
    if options.offline || offers.is_empty() {
        for (provider, names) in &known {
            page.heading(&format!("{provider}: known without asking"));
            names.iter().for_each(|name| page.line(&model_line(name, None)));
        }
    }
    let aliases = model_aliases().filter(|(_, model)| wanted(known_model(model).unwrap_or_default()));
    let aliases: Vec<_> = aliases.map(|(alias, model)| format!("  {alias:<12} {model}")).collect();
    if !aliases.is_empty() {
        page.heading("Short names");
        aliases.iter().for_each(|line| page.line(line));
    }
    if !lacking.is_empty() {
        page.heading("No key");
        for (provider, variables) in &lacking {
            page.line(&format!("  {provider:<12} set {}", variables.join(" or ")));
        }
    }
    print(&page.into_text())
}

fn tell_offer(page: &mut Page, offer: &ProviderOffers, models: &Models<'_>) {
    let usual = models.usual_model(&offer.provider);
    let usual = usual.map(|usual| format!(", {usual} if none is named")).unwrap_or_default();
    page.heading(&visible(&format!("{} ({}){usual}", offer.provider, offer.host)));
    match &offer.offered {
        Ok(offered) if offered.is_empty() => page.line("  offers no model; load or pull one"),
        Ok(offered) => {
            offered.iter().for_each(|model| page.line(&model_line(&model.name, model.window)));
        }
        Err(error) => page.line(&page.screen.warning(&visible(&format!("  {error}")))),
    }
}

/// A model with its window: what the server states, else what is known.
fn model_line(name: &str, stated: Option<TokenCount>) -> String {
    let window = match context_window(Some(name), stated) {
        (_, WindowSource::Fallback) => "window unknown".to_string(),
        (window, _) => format!("{} tokens", thousands(window.0)),
    };
    visible(&format!("  {name:<40} {window}"))
}

fn offer_json(offer: &ProviderOffers) -> Value {
    let models = offer.offered.as_ref().ok().map(|offered| {
        let model =
            |model: &longhaul_providers::OfferedModel| json!({"name": model.name, "window": model.window});
        offered.iter().map(model).collect::<Vec<_>>()
    });
    json!({
        "provider": offer.provider,
        "host": offer.host,
        "models": models,
        "error": offer.offered.as_ref().err().map(ToString::to_string),
    })
}
