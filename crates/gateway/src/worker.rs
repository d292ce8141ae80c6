//! Work after an answer has passed, on one thread: figures, spend, learned windows, refusals, sessions, and anchors for
//! the next request. Its queue is bounded: what finds no room is dropped and counted.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;

use bytes::Bytes;
use hyper::header::HeaderMap;
use longhaul_app::clock::now;
use longhaul_conversation::{Timestamp, TokenCount, Usage};
use longhaul_providers::{cost, known_prices};

use crate::answer::{Answer, AnswerCopy, names_our_part, read_answer};
use crate::body::RequestBody;
use crate::engine::{Call, CallNotes, Engine};
use crate::sessions::SessionRecorder;
use crate::settings::RecordSessions;
use crate::store::{Store, TrunkRecord};
use crate::trunks::{MOST_REFUSALS, locked};
use crate::windows::parse_overflow;

/// A call that has passed.
#[derive(Debug)]
pub(crate) struct PassedCall {
    pub(crate) notes: CallNotes,
    pub(crate) is_count: bool,
    /// The client's headers; keys are taken from them only as hashes.
    pub(crate) headers: HeaderMap,
    /// The client's body, without compression.
    pub(crate) body: Bytes,
    pub(crate) answer: AnswerCopy,
}

/// The way to the worker.
#[derive(Clone, Debug)]
pub(crate) struct WorkerQueue(SyncSender<PassedCall>);

/// So many calls wait at most.
const QUEUE: usize = 64;

impl WorkerQueue {
    /// Hands a call over, unless too many wait.
    pub(crate) fn put(&self, call: PassedCall, engine: &Engine) {
        match self.0.try_send(call) {
            Ok(()) => {}
            Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) => {
                engine.figures.count("not_recorded:queue");
            }
        }
    }
}

/// Starts the worker. It ends when every way to it is gone, after what waits.
pub(crate) fn start_worker(engine: Arc<Engine>) -> std::io::Result<(WorkerQueue, JoinHandle<()>)> {
    let (sender, receiver) = sync_channel(QUEUE);
    let work = move || run_worker(&engine, &receiver);
    let thread = std::thread::Builder::new().name("gateway-worker".into()).stack_size(8 << 20).spawn(work)?;
    Ok((WorkerQueue(sender), thread))
}

fn run_worker(engine: &Engine, calls: &Receiver<PassedCall>) {
    let mut worker = Worker {
        engine,
        store: Store::open(&engine.settings.folder).ok(),
        sessions: SessionRecorder::default(),
    };
    for call in calls {
        // A fault in what only records must not end the recording of all that follows.
        let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| worker.take(&call)));
        if done.is_err() {
            engine.figures.count("not_recorded:fault");
            worker.sessions = SessionRecorder::default();
        }
    }
}

struct Worker<'e> {
    engine: &'e Engine,
    store: Option<Store>,
    sessions: SessionRecorder,
}

impl Worker<'_> {
    fn take(&mut self, call: &PassedCall) {
        let PassedCall { notes, answer: copy, .. } = call;
        let answer = read_answer(notes.family, copy);
        let at = now();
        if let Some(refusal) = &answer.refusal {
            self.take_refusal(call, refusal, at);
        }
        if call.is_count {
            return self.keep_figures();
        }
        if let Some(usage) = &answer.usage {
            self.take_usage(notes, usage, at);
        }
        self.record(call, answer, at);
        self.keep_figures();
        let own = Call {
            family: notes.family,
            is_count: call.is_count,
            headers: &call.headers,
            path_model: Some(&notes.model),
            body: &call.body,
            now: at.as_millis(),
        };
        self.engine.prepare(&own, &notes.trunk);
    }

    fn take_refusal(&self, call: &PassedCall, refusal: &str, at: Timestamp) {
        let PassedCall { notes, answer, .. } = call;
        let figures = &self.engine.figures;
        figures.count(&format!("refusals:{}", answer.status.as_u16()));
        if let Some((size, window)) = parse_overflow(refusal) {
            figures.count("windows_learned");
            locked(&self.engine.windows).learn(
                notes.tenant,
                &notes.model,
                notes.is_long_window,
                window,
                at.as_millis(),
            );
            locked(&notes.trunk).record.sent = Some((notes.weight as u64, size));
        }
        if let Some(anchor) = notes.anchor
            && names_our_part(answer.status, refusal)
        {
            let mut trunk = locked(&notes.trunk);
            trunk.record.refusals += 1;
            let is_bypassed = trunk.record.refusals == MOST_REFUSALS;
            drop(trunk);
            figures.count("refused_rewrites");
            if is_bypassed {
                figures.count("bypassed");
            }
            self.engine.drop_anchor(anchor);
        }
    }

    fn take_usage(&self, notes: &CallNotes, usage: &Usage, at: Timestamp) {
        let figures = &self.engine.figures;
        let tokens = |count: Option<TokenCount>| count.map_or(0, |count| count.0 as i64);
        figures.add("tokens:input", tokens(usage.input));
        figures.add("tokens:cached", tokens(usage.cached));
        figures.add("tokens:written", tokens(usage.written));
        figures.add("tokens:output", tokens(usage.output));
        if let Some(input) = usage.input.filter(|input| input.0 > 0) {
            locked(&notes.trunk).record.sent = Some((notes.weight as u64, input.0));
        }
        let spent = known_prices(&notes.model).and_then(|prices| cost(usage, &prices));
        if let (Some(spent), Some(store)) = (spent, &self.store) {
            let amount = i64::try_from(spent.0).unwrap_or(i64::MAX);
            figures.add("spent_microdollars", amount);
            if store.spend(&day_of(at), notes.family.as_str(), amount).is_err() {
                figures.count("store_failures");
            }
        }
    }

    fn record(&mut self, call: &PassedCall, answer: Answer, at: Timestamp) {
        let notes = &call.notes;
        let figures = &self.engine.figures;
        let mut trunk = locked(&notes.trunk).record.clone();
        if let Some(store) = &self.store {
            if trunk.id == 0 {
                let client =
                    call.headers.get("user-agent").and_then(|agent| agent.to_str().ok()).unwrap_or_default();
                let client: String =
                    client.split(['/', ' ']).next().unwrap_or_default().chars().take(40).collect();
                match store.begin_trunk(at.as_millis(), &client, &notes.model) {
                    Ok(id) => trunk.id = id,
                    Err(_) => figures.count("store_failures"),
                }
            }
            let further = store.further_requests(trunk.requests).unwrap_or_default();
            locked(&notes.trunk).further_requests = further;
        }
        let is_recorded = self.engine.settings.record == RecordSessions::On
            && notes.is_conversation
            && !notes.is_client_compaction
            && call.answer.status.is_success();
        if is_recorded && let Ok(body) = RequestBody::split(notes.family, &call.body) {
            // One that broke off is asked for again.
            let message = answer.message.filter(|_| call.answer.is_whole);
            match self.sessions.record(&mut trunk, &body, message.as_ref(), at) {
                Ok(()) => {}
                Err(_) => figures.count("not_recorded:session"),
            }
        }
        trunk.last = at.as_millis();
        if let Some(store) = &self.store
            && trunk.id > 0
            && store.keep_trunk(&trunk, notes.position).is_err()
        {
            figures.count("store_failures");
        }
        let mut own = locked(&notes.trunk);
        let (requests, sent, refusals) = (own.record.requests, own.record.sent, own.record.refusals);
        // What may have changed meanwhile stays.
        own.record = TrunkRecord { requests, sent, refusals, ..trunk };
    }

    fn keep_figures(&self) {
        let Some(store) = &self.store else { return };
        if store.add(&self.engine.figures.take_unsaved()).is_err() {
            self.engine.figures.count("store_failures");
        }
    }
}

/// The day of a time, in UTC.
pub(crate) fn day_of(at: Timestamp) -> String {
    at.to_string().chars().take(10).collect()
}
