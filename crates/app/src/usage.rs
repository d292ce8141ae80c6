//! What the sessions of all agents have used: calls that providers counted, with their prices.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use longhaul_conversation::{Timestamp, Usage};
use longhaul_formats::{CountedCall, Event, read};
use longhaul_providers::{MicroDollars, cost, known_prices, prices_at};
use longhaul_stores::{Agent, FoundSession, Notice, StoreReadError};
use longhaul_workspace::main_worktree;

use crate::found::Found;
use crate::sessions::open;

/// Model calls that were counted, and what was not.
#[derive(Debug, Default)]
pub struct Spending {
    /// The calls, each once.
    pub calls: Vec<SpentCall>,
    /// Sessions in which no provider counted anything, by agent, with the estimated size of their conversations.
    pub uncounted: BTreeMap<Agent, Uncounted>,
    /// The sources that could not be read.
    pub notices: Vec<Notice>,
}

/// Sessions without figures.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Uncounted {
    /// Their number.
    pub sessions: usize,
    /// The estimated size of their conversations as they stand; what was sent to models is more.
    pub tokens: u64,
}

/// One model call.
#[derive(Clone, Debug, PartialEq)]
pub struct SpentCall {
    /// The agent that made it.
    pub agent: Agent,
    /// The main worktree of the repository that it was about, or the folder.
    pub project: Option<String>,
    /// The time.
    pub at: Option<Timestamp>,
    /// The model, as the session names it.
    pub model: Option<String>,
    /// The provider's figures.
    pub usage: Usage,
    /// The cost by the prices published for its day; `None` where they are not known.
    pub cost: Option<MicroDollars>,
}

/// The period that is looked at.
#[derive(Clone, Copy, Debug, Default)]
pub struct Period {
    /// Calls before it are left out.
    pub since: Option<Timestamp>,
    /// Calls from it on are left out.
    pub until: Option<Timestamp>,
}

/// Reads the figures of every call in these sessions, those of sub-agents included.
pub fn spending(found: Found, period: Period) -> Spending {
    let mut spending = Spending { notices: found.notices, ..Spending::default() };
    let mut calls = Calls::default();
    let mut projects: HashMap<String, String> = HashMap::new();
    let is_late = |session: &FoundSession| period.since.is_none_or(|since| session.modified >= since);
    for session in found.sessions.into_iter().filter(is_late) {
        let project = session.head.directory.clone().map(|folder| {
            projects
                .entry(folder)
                .or_insert_with_key(|folder| main_worktree(Path::new(folder)).display().to_string())
                .clone()
        });
        let mut counted = false;
        for path in std::iter::once(&session.path).chain(&session.children) {
            let told = |call: CountedCall| {
                counted = true;
                calls.add(&session, project.as_deref(), call);
            };
            if let Err(error) = read_calls(path, told) {
                spending.notices.push(Notice { agent: session.agent, path: path.clone(), error });
            }
        }
        if !counted {
            let uncounted = spending.uncounted.entry(session.agent).or_default();
            uncounted.sessions += 1;
            uncounted.tokens += session.head.tokens.map_or(0, |tokens| tokens.count);
        }
    }
    let is_inside = |at: Option<Timestamp>| match at {
        Some(at) => {
            period.since.is_none_or(|since| at >= since) && period.until.is_none_or(|until| at < until)
        }
        None => period.since.is_none() && period.until.is_none(),
    };
    spending.calls = calls.into_list();
    spending.calls.retain(|call| is_inside(call.at));
    spending
}

fn read_calls(path: &Path, mut told: impl FnMut(CountedCall)) -> Result<(), StoreReadError> {
    let input = open(path).map_err(|error| match error.downcast::<StoreReadError>() {
        Ok(error) => error,
        Err(error) => StoreReadError::Io(std::io::Error::other(format!("{error:#}"))),
    })?;
    read(input, &mut |event| {
        if let Event::Call(call) = event {
            told(*call);
        }
    })?;
    Ok(())
}

/// Calls by what tells them apart: a session that was resumed or forked in a new file repeats those of the first.
#[derive(Default)]
struct Calls {
    calls: Vec<SpentCall>,
    places: HashMap<(Agent, String), usize>,
}

impl Calls {
    fn add(&mut self, session: &FoundSession, project: Option<&str>, call: CountedCall) {
        let CountedCall { message, at, model, usage } = call;
        let is_nothing =
            [usage.input, usage.output, usage.thoughts].iter().all(|count| count.unwrap_or_default().0 == 0);
        if is_nothing {
            return;
        }
        let model = model.or_else(|| session.head.model.clone());
        let agent = session.agent;
        let at = at.or(session.head.updated);
        let prices = model.as_deref().and_then(|model| match at {
            Some(at) => prices_at(model, at),
            None => known_prices(model),
        });
        let spent = SpentCall {
            agent,
            project: project.map(str::to_string),
            at,
            cost: prices.and_then(|prices| cost(&usage, &prices)),
            model,
            usage,
        };
        match message.filter(|id| !id.is_made_up()) {
            Some(id) => match self.places.get(&(agent, id.to_string())) {
                // The figures grow with the answer; a copy elsewhere may have stopped early.
                Some(place) if answer(&self.calls[*place]) <= answer(&spent) => {
                    let first = &mut self.calls[*place];
                    (first.usage, first.cost) = (spent.usage, spent.cost);
                }
                Some(_) => {}
                None => {
                    self.places.insert((agent, id.to_string()), self.calls.len());
                    self.calls.push(spent);
                }
            },
            None => self.calls.push(spent),
        }
    }

    fn into_list(self) -> Vec<SpentCall> {
        self.calls
    }
}

fn answer(call: &SpentCall) -> u64 {
    call.usage.output.unwrap_or_default().0
}

/// The sums of some calls.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SpendingSum {
    /// The number of calls.
    pub calls: u64,
    /// Input tokens that came from no cache and went into none.
    pub fresh: u64,
    /// Input tokens read from a cache.
    pub cached: u64,
    /// Input tokens written to a cache.
    pub written: u64,
    /// Output tokens, hidden reasoning included.
    pub output: u64,
    /// The cost of the calls whose prices are known.
    pub cost: MicroDollars,
    /// The number of calls whose prices are not.
    pub unpriced: u64,
}

impl SpendingSum {
    /// Adds a call.
    pub fn add(&mut self, call: &SpentCall) {
        let count = |count: Option<longhaul_conversation::TokenCount>| count.unwrap_or_default().0;
        let Usage { input, output, cached, written, thoughts, .. } = call.usage;
        let cached = count(cached).min(count(input));
        let written = count(written).min(count(input) - cached);
        self.calls += 1;
        self.fresh += count(input) - cached - written;
        self.cached += cached;
        self.written += written;
        self.output += count(output) + count(thoughts);
        match call.cost {
            Some(cost) => self.cost += cost,
            None => self.unpriced += 1,
        }
    }

    /// All tokens.
    pub fn tokens(&self) -> u64 {
        self.fresh + self.cached + self.written + self.output
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use longhaul_conversation::{MessageId, TokenCount};
    use longhaul_stores::Head;

    fn session(agent: Agent) -> FoundSession {
        FoundSession {
            agent,
            path: "s.jsonl".into(),
            size: None,
            modified: Timestamp::from_millis(0),
            head: Head { model: Some("claude-sonnet-4-5".into()), ..Head::default() },
            children: Vec::new(),
        }
    }

    fn call(id: Option<&str>, output: u64) -> CountedCall {
        let count = |count| Some(TokenCount(count));
        let usage = Usage {
            input: count(1110),
            output: count(output),
            cached: count(1000),
            written: count(100),
            ..Usage::default()
        };
        CountedCall { message: id.map(MessageId::new), at: None, model: None, usage }
    }

    #[track_caller]
    fn check(calls: &[(Agent, Option<&str>, u64)], expected: [u64; 5]) {
        let mut all = Calls::default();
        for (agent, id, output) in calls {
            all.add(&session(*agent), None, call(*id, *output));
        }
        let mut sum = SpendingSum::default();
        all.into_list().iter().for_each(|call| sum.add(call));
        assert_eq!([sum.calls, sum.fresh, sum.cached, sum.written, sum.output], expected);
    }

    #[test]
    fn a_call_counts_once_with_its_last_figures() {
        use Agent::{Claude, Codex};
        check(&[(Claude, Some("m"), 1), (Claude, Some("m"), 9)], [1, 10, 1000, 100, 9]);
        check(&[(Claude, Some("m"), 9), (Claude, Some("m"), 1)], [1, 10, 1000, 100, 9]);
        check(&[(Claude, Some("m"), 9), (Codex, Some("m"), 9)], [2, 20, 2000, 200, 18]);
        check(&[(Claude, None, 9), (Claude, None, 9)], [2, 20, 2000, 200, 18]);
    }

    #[test]
    fn a_call_is_priced_by_its_day() {
        let mut all = Calls::default();
        for at in ["2025-06-09T12:00:00Z", "2025-06-11T12:00:00Z"] {
            let call = CountedCall { at: Timestamp::parse(at), model: Some("o3".into()), ..call(None, 100) };
            all.add(&session(Agent::Codex), None, call);
        }
        // Of 1,110 input tokens 1,000 came from a cache; nothing is charged for writing to it.
        let costs: Vec<_> = all.calls.iter().map(|call| call.cost).collect();
        assert_eq!(costs, [Some(MicroDollars(7_600)), Some(MicroDollars(1_520))]);
    }

    #[test]
    fn cached_tokens_have_their_own_price() {
        let mut all = Calls::default();
        all.add(&session(Agent::Claude), None, call(None, 9));
        // $3, $0.3, $3.75 and $15 a million: 30 + 300 + 375 + 135 millionths of a dollar.
        assert_eq!(all.calls[0].cost, Some(MicroDollars(840)));
    }
}
