//! Calls to fake providers: good answers, bad networks, and every kind of refusal.

mod answers;
mod failures;
mod patience;
mod proxies;
mod round_trips;
mod support;
mod tls;
