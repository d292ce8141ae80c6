//! Changes while a page is open, as server-sent events. Nothing is watched while no page is open.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use tokio::sync::mpsc::channel;

use crate::chronicle::Stamp;
use crate::pages::{Opened, gateway};
use crate::reply::Reply;
use crate::request::PageRequest;
use crate::site::Site;

/// The time between two looks.
const PAUSE: Duration = Duration::from_millis(700);
/// So often a connection without news says that it lives.
const BEAT: Duration = Duration::from_secs(15);

/// The events `sessions`, with the version of the list, `session`, with that of the session a page shows, and `gateway`.
pub(crate) fn events(site: &Arc<Site>, request: &PageRequest) -> Reply {
    let (sender, receiver) = channel(8);
    let key = request.query.get("session");
    let is_gateway = request.query.get("gateway").is_some();
    let path = key.and_then(|key| Opened::find(site, key).ok()).map(|opened| opened.path);
    let site = Arc::clone(site);
    let watch = move || {
        let (mut list, mut session, mut calls) = (None, None, None);
        let mut last = Instant::now();
        while !sender.is_closed() {
            let mut news = String::new();
            match &path {
                Some(path) => {
                    let version = Stamp::of(path).version();
                    if session.replace(version) != Some(version) {
                        news.push_str(&format!("event: session\ndata: {version}\n\n"));
                    }
                }
                None if is_gateway => {
                    let version = gateway::version(&site);
                    if let Some(version) = version
                        && calls.replace(version) != Some(version)
                    {
                        news.push_str(&format!("event: gateway\ndata: {version}\n\n"));
                    }
                }
                None => {
                    let version = site.found().version;
                    if list.replace(version) != Some(version) {
                        news.push_str(&format!("event: sessions\ndata: {version}\n\n"));
                    }
                }
            }
            if news.is_empty() && last.elapsed() > BEAT {
                news.push_str(":\n\n");
            }
            if !news.is_empty() {
                last = Instant::now();
                if sender.blocking_send(Bytes::from(news)).is_err() {
                    return;
                }
            }
            std::thread::sleep(PAUSE);
        }
    };
    // Without a thread the page stays as it is, and says so when its connection ends.
    let _ = std::thread::Builder::new().name("live".into()).spawn(watch);
    Reply::Events(receiver)
}
