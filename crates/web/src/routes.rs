//! Which page answers which address.

use std::sync::Arc;

use bytes::Bytes;
use hyper::{Method, StatusCode};

use crate::layout;
use crate::live;
use crate::pages::{compactions, context, directives, gateway, inbox, memory, search, session, sessions};
use crate::reply::Reply;
use crate::request::PageRequest;
use crate::site::Site;

/// The style sheet.
pub(crate) const STYLE: &str = include_str!("../assets/app.css");
const SCRIPT: &str = include_str!("../assets/app.js");
const ICON: &str = include_str!("../assets/icon.svg");

/// Answers a request whose sender was checked.
pub(crate) fn answer(site: &Arc<Site>, request: &PageRequest) -> Reply {
    let path: Vec<&str> = request.path.iter().map(String::as_str).collect();
    match request.method {
        Method::POST if site.is_read_only => {
            Reply::Page(StatusCode::FORBIDDEN, layout::refusal("This page was started with --read-only."))
        }
        Method::POST => change(site, &path, request),
        _ => show(site, &path, request),
    }
}

fn show(site: &Arc<Site>, path: &[&str], request: &PageRequest) -> Reply {
    match path {
        [] => sessions::page(site, request),
        ["sessions", "rows"] => sessions::rows(site, request),
        ["s", key] => session::page(site, key, request),
        ["s", key, "context"] => context::page(site, key),
        ["s", key, "compactions"] => compactions::page(site, key, request),
        ["s", key, "rules"] => directives::page(site, key),
        ["s", key, "undo"] => compactions::ask_undo(site, key, request),
        ["s", key, "around"] => search::around(site, key, request),
        ["memory"] => memory::page(site, request),
        ["memory", act @ ("edit" | "forget")] => memory::ask(site, act, request),
        ["gateway"] => gateway::page(site),
        ["search"] => search::page(site, request),
        ["s", key, "messages"] => session::messages(site, key, request),
        ["s", key, "m", name] => session::message(site, key, name),
        ["s", key, "m", name, place] => session::media(site, key, name, place),
        ["events"] => live::events(site, request),
        ["app.css"] => asset("text/css; charset=utf-8", STYLE),
        ["app.js"] => asset("text/javascript; charset=utf-8", SCRIPT),
        ["icon.svg" | "favicon.ico"] => asset("image/svg+xml", ICON),
        _ => nowhere(),
    }
}

fn change(site: &Arc<Site>, path: &[&str], request: &PageRequest) -> Reply {
    match path {
        ["s", key, "undo"] => compactions::undo(site, key, request),
        ["memory", "preview"] => memory::preview(site, request),
        ["memory", act @ ("edit" | "forget")] => memory::change(site, act, request),
        ["inbox", act] => inbox::change(site, act, request),
        ["archive"] => sessions::archive(site, request),
        _ => nowhere(),
    }
}

fn asset(kind: &'static str, text: &'static str) -> Reply {
    Reply::File { kind, bytes: Bytes::from_static(text.as_bytes()) }
}

fn nowhere() -> Reply {
    Reply::Page(StatusCode::NOT_FOUND, layout::not_found("There is no such page."))
}
