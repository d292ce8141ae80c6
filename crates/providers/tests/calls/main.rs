//! Calls to fake providers: good answers, bad networks, and every kind of refusal.

mod answers;
mod endless;
mod failures;
mod proxies;
mod retries;
mod round_trips;
mod spend;
mod support;
mod tls;
