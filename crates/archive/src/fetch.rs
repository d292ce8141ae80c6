//! Reads the passages of a ranking again, from copies.

use std::collections::HashMap;
use std::io::Read;

use longhaul_recall::{FoundPassage, PassageFinder, RankedPassage, SessionRef};

use crate::writer::each_message;

/// The session that a chain belongs to.
pub(crate) struct SessionPlace {
    pub(crate) id: u64,
    /// The length of its name; what follows in the name of a chain is that of the chain alone.
    pub(crate) name: usize,
}

/// The chains of a session that are looked for, by their own names.
type Finders<'a> = HashMap<&'a str, (&'a SessionRef, PassageFinder)>;

/// Passes the text of a session to a reader, if there is one.
pub(crate) type OpenText<'a> = &'a mut dyn FnMut(u64, &mut dyn FnMut(&mut dyn Read));

/// The passages of a ranking. `locate` finds the session of a chain by its name, `open` passes on its text.
pub(crate) fn fetch_passages(
    wanted: &[RankedPassage],
    locate: &dyn Fn(&str) -> Option<SessionPlace>,
    open: OpenText<'_>,
) -> Vec<Option<FoundPassage>> {
    let mut sessions: HashMap<u64, Finders<'_>> = HashMap::new();
    let mut seen: Vec<&SessionRef> = Vec::new();
    for passage in wanted {
        if seen.contains(&&passage.session) {
            continue;
        }
        seen.push(&passage.session);
        let name = passage.session.as_str();
        let Some(place) = locate(name) else { continue };
        let own = name[place.name..].trim_start_matches('/');
        let finder = PassageFinder::new(wanted, &passage.session);
        sessions.entry(place.id).or_default().insert(own, (&passage.session, finder));
    }
    let mut found: HashMap<(&SessionRef, u32), FoundPassage> = HashMap::new();
    for (id, mut finders) in sessions {
        open(id, &mut |text| {
            // A damaged block ends the session early; what stands before it is shown.
            let _ = each_message(text, &mut |chain, message| {
                if let Some((_, finder)) = finders.get_mut(chain) {
                    finder.observe(message);
                }
            });
        });
        for (chain, finder) in finders.into_values() {
            found.extend(finder.found.into_iter().map(|(sequence, passage)| ((chain, sequence), passage)));
        }
    }
    wanted.iter().map(|wanted| found.remove(&(&wanted.session, wanted.sequence))).collect()
}
