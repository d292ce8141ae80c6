//! Considers a request: which conversation it continues, what stands in place of its older messages, and whether more of them
//! must give way. No network here; the store is asked for anchors, and where it fails what is known is used.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use hyper::header::HeaderMap;
use longhaul_conversation::TokenCount;

use crate::anchor::{Anchor, deepest};
use crate::body::RequestBody;
use crate::chain::{ChainHash, TenantKey, chain_of};
use crate::economics::CacheRates;
use crate::facts::{Cuts, ItemFacts, facts_of, find_cuts};
use crate::family::Family;
use crate::figures::RunningFigures;
use crate::plan::{Occasion, Plan, Situation, plan_request};
use crate::recipe::{RECIPE, write_snapshot};
use crate::rewrite::{Replacement, free_marker, rewrite};
use crate::settings::{GatewaySettings, Mode};
use crate::side_call::is_client_compaction;
use crate::store::{AnchorNotes, Store};
use crate::trunks::{PreparedAnchor, SharedTrunk, Trunk, Trunks, continued, locked};
use crate::windows::{LearnedWindows, known_window, request_limit};

/// The engine that considers requests; shared by all connections.
#[derive(Debug)]
pub(crate) struct Engine {
    pub(crate) settings: GatewaySettings,
    pub(crate) figures: RunningFigures,
    pub(crate) windows: Mutex<LearnedWindows>,
    store: Mutex<Option<Store>>,
    anchors: Mutex<KnownAnchors>,
    trunks: Mutex<Trunks>,
}

/// The anchors that this process has seen, by the first message of their conversation.
#[derive(Debug, Default)]
struct KnownAnchors {
    by_root: HashMap<ChainHash, RootAnchors>,
    clock: u64,
}

#[derive(Debug, Default)]
struct RootAnchors {
    anchors: Vec<Anchor>,
    /// The version of the store that they were read at.
    version: Option<i64>,
    used: u64,
}

/// So many conversations' anchors are held in memory.
const MOST_ROOTS: usize = 256;

/// Requests that are expected to follow where nothing is known.
const USUAL_FURTHER_REQUESTS: f64 = 10.0;

/// A request as it is considered.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Call<'a> {
    pub(crate) family: Family,
    /// True if only its size is asked for.
    pub(crate) is_count: bool,
    pub(crate) headers: &'a HeaderMap,
    /// The model's name where the path has it.
    pub(crate) path_model: Option<&'a str>,
    /// The body without compression.
    pub(crate) body: &'a [u8],
    /// Milliseconds since 1970.
    pub(crate) now: i64,
}

/// The outcome of considering a request.
#[derive(Debug)]
pub(crate) struct Considered {
    /// The body in the place of the client's, if it is another.
    pub(crate) body: Option<String>,
    pub(crate) notes: Option<CallNotes>,
}

/// Facts of a request that has a history.
#[derive(Clone, Debug)]
pub(crate) struct CallNotes {
    pub(crate) family: Family,
    pub(crate) tenant: ChainHash,
    pub(crate) model: String,
    pub(crate) is_long_window: bool,
    pub(crate) trunk: SharedTrunk,
    /// The newest position.
    pub(crate) position: ChainHash,
    /// The anchor that was used.
    pub(crate) anchor: Option<ChainHash>,
    /// Bytes of what is sent, media at what they cost.
    pub(crate) weight: usize,
    /// True if it is worth recording as a session.
    pub(crate) is_conversation: bool,
    pub(crate) is_client_compaction: bool,
}

/// The credential of a request, as one text.
pub(crate) fn credential(headers: &HeaderMap) -> Option<&str> {
    let names = ["x-api-key", "authorization", "x-goog-api-key", "api-key"];
    names.iter().find_map(|name| headers.get(*name)?.to_str().ok())
}

/// The part of a request that decisions need.
struct Reading<'a> {
    body: RequestBody<'a>,
    facts: Vec<ItemFacts<'a>>,
    cuts: Cuts,
    chain: Vec<ChainHash>,
    model: String,
    limit: f64,
    snapshot_budget: u64,
    rates: CacheRates,
    tenant: ChainHash,
    is_long_window: bool,
}

impl Engine {
    pub(crate) fn new(settings: GatewaySettings, store: Option<Store>) -> Self {
        Self {
            settings,
            figures: RunningFigures::default(),
            windows: Mutex::default(),
            store: Mutex::new(store),
            anchors: Mutex::default(),
            trunks: Mutex::default(),
        }
    }

    /// Considers a request. Whatever cannot be understood passes as it is.
    pub(crate) fn consider(&self, call: &Call<'_>) -> Considered {
        let pass = |reason: &str| {
            self.figures.count(&format!("passed:{reason}"));
            Considered { body: None, notes: None }
        };
        let body = match RequestBody::split(call.family, call.body) {
            Ok(body) => body,
            Err(reason) => return pass(reason.as_str()),
        };
        let Some(reading) = self.read(body, call) else { return pass("unknown_items") };
        let trunk = self.trunk(&reading.chain);
        let is_client_compaction = is_client_compaction(&reading.body, call.headers);
        let anchor = self.choose_anchor(&reading, &trunk, call, is_client_compaction);
        let replacement = anchor.as_ref().map(|anchor| replacement(&reading, anchor));
        let rewritten = replacement.as_ref().and_then(|replacement| rewrite(&reading.body, replacement));
        let in_force = anchor.as_ref().filter(|_| rewritten.is_some());
        if anchor.is_some() && rewritten.is_none() {
            self.figures.count("passed:no_place");
        }
        let notes = self.note(&reading, &trunk, call, in_force, is_client_compaction);
        Considered { body: rewritten, notes: Some(notes) }
    }

    fn read<'a>(&self, body: RequestBody<'a>, call: &Call<'_>) -> Option<Reading<'a>> {
        let facts = facts_of(&body)?;
        let tenant_key = TenantKey::of(&self.settings.secret, credential(call.headers));
        let chain = chain_of(&tenant_key, call.family, &body.items);
        let cuts =
            find_cuts(call.family, &facts).unwrap_or(Cuts { head: facts.len(), host: 0, legal: Vec::new() });
        let model = body.text_field("model").map(|model| model.into_owned());
        let model = model.or_else(|| call.path_model.map(str::to_string)).unwrap_or_default();
        let beta = |name: &str| {
            let mut betas =
                call.headers.get_all("anthropic-beta").iter().filter_map(|value| value.to_str().ok());
            betas.any(|value| value.contains(name))
        };
        let is_long_window = beta("context-1m");
        let tenant = tenant_key.id();
        let learned = locked(&self.windows).get(tenant, &model, is_long_window, call.now);
        let window = match self.settings.window {
            Some(stated) => stated.0,
            None => {
                learned.unwrap_or_else(|| known_window(&self.settings.user, None, &model, is_long_window))
            }
        };
        let is_long_lived =
            facts.iter().any(|item| item.marker.is_some_and(|marker| marker.contains("\"1h\"")));
        Some(Reading {
            limit: request_limit(call.family, window, body.max_output()),
            snapshot_budget: 4_000.min(window * 15 / 100),
            rates: CacheRates::of(call.family, &model, is_long_lived),
            body,
            facts,
            cuts,
            chain,
            model,
            tenant,
            is_long_window,
        })
    }

    /// The conversation that a request continues; a new one if it is not known.
    fn trunk(&self, chain: &[ChainHash]) -> SharedTrunk {
        let Some(newest) = chain.last() else { return SharedTrunk::default() };
        let mut trunks = locked(&self.trunks);
        let trunk = match trunks.find(chain) {
            Some((known, found)) => continued(&found, known),
            None => self.stored_trunk(chain),
        };
        trunks.put(*newest, &trunk);
        drop(trunks);
        let mut own = locked(&trunk);
        own.length = own.length.max(chain.len());
        own.record.requests += 1;
        drop(own);
        trunk
    }

    fn stored_trunk(&self, chain: &[ChainHash]) -> SharedTrunk {
        let found = self.with_store(|store| store.trunk_of(chain)).flatten();
        let trunk = found.map(|(place, record)| Trunk { length: place + 1, record, ..Trunk::default() });
        Arc::new(Mutex::new(trunk.unwrap_or_default()))
    }

    /// Asks the store; what it cannot answer is counted.
    fn with_store<T>(&self, ask: impl FnOnce(&Store) -> Result<T, crate::store::StoreError>) -> Option<T> {
        let store = locked(&self.store);
        match store.as_ref().map(ask) {
            Some(Ok(answer)) => Some(answer),
            Some(Err(_)) => {
                self.figures.count("store_failures");
                None
            }
            None => None,
        }
    }

    /// The spend of a day, in millionths of a dollar; none if the store does not answer.
    pub(crate) fn spent_on(&self, day: &str) -> Option<i64> {
        self.with_store(|store| store.spent(day))
    }

    /// All anchors of a conversation; where the store does not answer, those that were seen before.
    fn anchors(&self, root: ChainHash) -> Vec<Anchor> {
        let version = self.with_store(Store::data_version);
        let mut known = locked(&self.anchors);
        known.clock += 1;
        let clock = known.clock;
        let is_fresh = |own: &RootAnchors| version.is_some() && own.version == version;
        if !known.by_root.get(&root).is_some_and(is_fresh)
            && let Some(anchors) = version.and_then(|_| self.with_store(|store| store.anchors(root)))
        {
            known.by_root.insert(root, RootAnchors { anchors, version, used: clock });
            if known.by_root.len() > MOST_ROOTS
                && let Some(oldest) =
                    known.by_root.iter().min_by_key(|(_, own)| own.used).map(|(root, _)| *root)
            {
                known.by_root.remove(&oldest);
            }
        }
        let Some(own) = known.by_root.get_mut(&root) else { return Vec::new() };
        own.used = clock;
        own.anchors.clone()
    }

    /// The anchor to use: the deepest that is known, or a new one where more must give way.
    fn choose_anchor(
        &self,
        reading: &Reading<'_>,
        trunk: &SharedTrunk,
        call: &Call<'_>,
        is_client_compaction: bool,
    ) -> Option<Anchor> {
        let root = *reading.chain.first()?;
        let is_on = self.settings.mode == Mode::On;
        let anchors = if is_on { self.anchors(root) } else { Vec::new() };
        let known = deepest(&anchors, &reading.chain)
            .filter(|anchor| anchor.count > reading.cuts.head && anchor.count < reading.facts.len());
        let mut own = locked(trunk);
        if own.is_bypassed() {
            return None;
        }
        if call.is_count || is_client_compaction || reading.cuts.head >= reading.facts.len() {
            return known.cloned();
        }
        let situation = self.situation(reading, &own, known, call.now);
        let (cut, occasion) = match plan_request(&situation) {
            Plan::Keep => return known.cloned(),
            Plan::DoesNotFit => {
                self.figures.count("does_not_fit");
                return known.cloned();
            }
            Plan::Compact { cut, occasion } => (cut, occasion),
        };
        if !is_on {
            self.figures.count(&format!("would_compact:{occasion}"));
            return None;
        }
        if own.is_breaker_open() {
            self.figures.count("breaker_open");
            return known.cloned();
        }
        let candidate = match self.ready_anchor(reading, &own, &situation, occasion) {
            Some(ready) => ready,
            // What only pays is made in the background.
            None if occasion == Occasion::Pays => return known.cloned(),
            None => make_anchor(reading, cut, occasion, situation.snapshot_budget()),
        };
        let before = situation.size();
        let after = Situation {
            anchor: Some((candidate.anchor.count, candidate.anchor.snapshot.len())),
            ..situation
        }
        .size();
        let notes = AnchorNotes {
            at: call.now,
            occasion: candidate.occasion,
            before: before as u64,
            after: after as u64,
            trunk: Some(own.record.id).filter(|id| *id > 0),
            model: &reading.model,
        };
        match self.with_store(|store| store.keep_anchor(&candidate.anchor, &notes)) {
            Some(Some(winner)) => {
                self.figures.count(&format!("compactions:{}", candidate.occasion));
                own.note_compaction();
                self.remember(&winner);
                Some(winner)
            }
            // It was undone by hand: the user wants these messages.
            Some(None) => {
                own.prepared = None;
                known.cloned()
            }
            None => {
                self.figures.count("anchors_not_stored");
                known.cloned()
            }
        }
    }

    fn remember(&self, anchor: &Anchor) {
        let mut known = locked(&self.anchors);
        let own = known.by_root.entry(anchor.root).or_default();
        if own.anchors.iter().all(|known| known.chain != anchor.chain) {
            own.anchors.push(anchor.clone());
        }
    }

    /// Takes an anchor out of use.
    pub(crate) fn drop_anchor(&self, chain: ChainHash) {
        self.with_store(|store| store.drop_anchor(chain));
        let mut known = locked(&self.anchors);
        known.by_root.values_mut().for_each(|own| own.anchors.retain(|anchor| anchor.chain != chain));
    }

    fn situation<'s>(
        &self,
        reading: &'s Reading<'s>,
        trunk: &Trunk,
        known: Option<&Anchor>,
        now: i64,
    ) -> Situation<'s> {
        let last = trunk.record.last;
        let idle = (last > 0).then(|| Duration::from_millis(u64::try_from(now - last).unwrap_or(0)));
        Situation {
            facts: &reading.facts,
            cuts: &reading.cuts,
            rate: trunk.rate(),
            fixed_bytes: reading.body.fixed_len(),
            anchor: known.map(|anchor| (anchor.count, anchor.snapshot.len())),
            limit: reading.limit,
            snapshot: reading.snapshot_budget as f64,
            rates: reading.rates,
            further_requests: trunk.further_requests.unwrap_or(USUAL_FURTHER_REQUESTS),
            idle,
            settings: self.settings.plan,
        }
    }

    /// The anchor that was prepared, if it belongs to this request and is enough.
    fn ready_anchor(
        &self,
        reading: &Reading<'_>,
        trunk: &Trunk,
        situation: &Situation<'_>,
        occasion: Occasion,
    ) -> Option<PreparedAnchor> {
        let ready = trunk.prepared.as_ref()?;
        let Anchor { count, chain, snapshot, .. } = &ready.anchor;
        let is_own = reading.chain.get(count - 1) == Some(chain) && reading.cuts.legal.contains(count);
        let after = Situation { anchor: Some((*count, snapshot.len())), ..*situation }.size();
        (is_own && after <= situation.limit).then(|| PreparedAnchor { occasion, ..ready.clone() })
    }

    /// Prepares what the next request may need; called after an answer, off the path of requests.
    pub(crate) fn prepare(&self, call: &Call<'_>, trunk: &SharedTrunk) {
        if self.settings.mode != Mode::On || call.is_count {
            return;
        }
        let Ok(body) = RequestBody::split(call.family, call.body) else { return };
        let Some(reading) = self.read(body, call) else { return };
        if reading.cuts.head >= reading.facts.len() || is_client_compaction(&reading.body, call.headers) {
            return;
        }
        let anchors = self.anchors(reading.chain[0]);
        let known = deepest(&anchors, &reading.chain).filter(|anchor| anchor.count > reading.cuts.head);
        let own = locked(trunk);
        if own.is_bypassed() || own.is_breaker_open() || own.prepared.is_some() {
            return;
        }
        let situation = self.situation(&reading, &own, known, call.now);
        // Just before the limit the next request is likely to pass it; earlier, the tail would be long by then.
        const NEAR: f64 = 0.97;
        let nearly = Situation { limit: situation.limit * NEAR, ..situation };
        let plan = plan_request(&nearly);
        let budget = nearly.snapshot_budget();
        drop(own);
        if let Plan::Compact { cut, occasion } = plan {
            let prepared = make_anchor(&reading, cut, occasion, budget);
            self.figures.count("prepared");
            locked(trunk).prepared = Some(prepared);
        }
    }

    fn note(
        &self,
        reading: &Reading<'_>,
        trunk: &SharedTrunk,
        call: &Call<'_>,
        anchor: Option<&Anchor>,
        is_client_compaction: bool,
    ) -> CallNotes {
        let weigh = |from: usize| reading.facts[from..].iter().map(|item| item.weight).sum::<usize>();
        let weight = reading.body.fixed_len()
            + match anchor {
                None => weigh(0),
                Some(anchor) => {
                    weigh(0) - weigh(reading.cuts.head) + anchor.snapshot.len() + weigh(anchor.count)
                }
            };
        CallNotes {
            family: call.family,
            tenant: reading.tenant,
            model: reading.model.clone(),
            is_long_window: reading.is_long_window,
            trunk: Arc::clone(trunk),
            position: reading.chain.last().copied().unwrap_or(reading.tenant),
            anchor: anchor.map(|anchor| anchor.chain),
            weight,
            is_conversation: !call.is_count && (reading.body.has_tools() || reading.chain.len() > 2),
            is_client_compaction,
        }
    }
}

fn make_anchor(reading: &Reading<'_>, cut: usize, occasion: Occasion, budget: f64) -> PreparedAnchor {
    let snapshot = write_snapshot(&reading.body, reading.cuts.head, cut, TokenCount(budget as u64));
    let anchor = Anchor {
        chain: reading.chain[cut - 1],
        root: reading.chain[0],
        count: cut,
        recipe: RECIPE,
        snapshot: snapshot.into(),
    };
    PreparedAnchor { anchor, occasion }
}

fn replacement<'a>(reading: &'a Reading<'a>, anchor: &'a Anchor) -> Replacement<'a> {
    let (head, count) = (reading.cuts.head, anchor.count);
    let kept = reading.facts[count..].iter().map(|item| item.marker);
    let gone = &reading.body.items[head..count];
    Replacement {
        host: reading.cuts.host,
        from: head,
        to: count,
        snapshot: &anchor.snapshot,
        marker: free_marker(&reading.body, kept, gone),
    }
}

#[cfg(test)]
mod laws;
