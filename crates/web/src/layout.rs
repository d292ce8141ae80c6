//! The frame of every page: head, navigation, landmarks.

use maud::{DOCTYPE, Markup, html};

/// The pages that the navigation leads to.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Section {
    Sessions,
    Search,
    Memory,
    Gateway,
}

impl Section {
    const ALL: [Self; 4] = [Self::Sessions, Self::Search, Self::Memory, Self::Gateway];

    fn name(self) -> &'static str {
        match self {
            Self::Sessions => "Sessions",
            Self::Search => "Search",
            Self::Memory => "Memory",
            Self::Gateway => "Gateway",
        }
    }

    fn path(self) -> &'static str {
        match self {
            Self::Sessions => "/",
            Self::Search => "/search",
            Self::Memory => "/memory",
            Self::Gateway => "/gateway",
        }
    }
}

/// A whole page.
pub(crate) fn page(title: &str, section: Section, content: &Markup) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            (head(title))
            body {
                a.skip href="#main" { "Skip to content" }
                header.top {
                    a.brand href="/" { "Longhaul" }
                    nav aria-label="Pages" {
                        @for known in Section::ALL {
                            a href=(known.path()) aria-current=[(known == section).then_some("page")] { (known.name()) }
                        }
                    }
                    span #live .live role="status" {}
                }
                main #main tabindex="-1" { (content) }
                (keys())
            }
        }
    }
}

/// The keys that the script knows, shown by `?`.
fn keys() -> Markup {
    let keys = [
        ("/", "search or filter"),
        ("j k", "next, previous"),
        ("Enter", "open"),
        ("e", "open or close all folds"),
        ("s", "all sessions"),
        ("?", "this list"),
    ];
    html! {
        dialog #keys aria-label="Keys" {
            h2 { "Keys" }
            table { @for (key, what) in keys { tr { td { kbd { (key) } } td { (what) } } } }
            form method="dialog" { button { "Close" } }
        }
    }
}

fn head(title: &str) -> Markup {
    html! {
        head {
            meta charset="utf-8";
            meta name="viewport" content="width=device-width, initial-scale=1";
            meta name="color-scheme" content="light dark";
            title { (title) " · Longhaul" }
            link rel="icon" href="/icon.svg" type="image/svg+xml";
            link rel="stylesheet" href="/app.css";
            script src="/app.js" defer {}
        }
    }
}

/// A page that says why there is none, for who has no key to the others: it loads nothing.
pub(crate) fn refusal(reason: &str) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            head { meta charset="utf-8"; title { "Longhaul" } }
            body { main { h1 { "Longhaul" } p { (reason) } } }
        }
    }
}

/// The page that brings the cookie and leads on without the token in the address.
pub(crate) fn welcome(path: &str) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="refresh" content=(format!("0; url={path}"));
                title { "Longhaul" }
            }
            body { main { p { a href=(path) { "Open Longhaul" } } } }
        }
    }
}

/// The page for an error, with its causes and a hint.
pub(crate) fn failure(section: Section, error: &anyhow::Error) -> Markup {
    let hint = longhaul_app::failure::hint_for(error);
    page(
        "Not done",
        section,
        &html! {
            h1 { "That did not work" }
            p.problem role="alert" { (format!("{error:#}")) }
            @if let Some(hint) = hint { p.hint { "Hint: " (hint) } }
            p { a href="/" { "Back to the sessions" } }
        },
    )
}

/// The page for an address that leads nowhere.
pub(crate) fn not_found(what: &str) -> Markup {
    page(
        "Not found",
        Section::Sessions,
        &html! {
            h1 { "Not found" }
            p { (what) }
            p { a href="/" { "All sessions" } }
        },
    )
}
