use super::*;

fn hash(number: u8) -> ChainHash {
    ChainHash([number; 16])
}

fn anchor(chain: u8, snapshot: &str) -> Anchor {
    Anchor { chain: hash(chain), root: hash(0), count: 4, recipe: 1, snapshot: snapshot.into() }
}

fn notes() -> AnchorNotes<'static> {
    AnchorNotes { at: 1, occasion: Occasion::Hard, before: 9_000, after: 3_000, trunk: None, model: "m" }
}

#[test]
fn the_first_writer_of_an_anchor_wins_in_any_process() {
    let folder = tempfile::tempdir().expect("a folder");
    let (a, b) =
        (Store::open(folder.path()).expect("a store"), Store::open(folder.path()).expect("the same"));
    let version = b.data_version().expect("a number");
    assert_eq!(a.keep_anchor(&anchor(1, "first"), &notes()).expect("kept"), Some(anchor(1, "first")));
    assert_ne!(b.data_version().expect("a number"), version);
    assert_eq!(b.keep_anchor(&anchor(1, "second"), &notes()).expect("not kept"), Some(anchor(1, "first")));
    assert_eq!(b.anchors(hash(0)).expect("anchors"), [anchor(1, "first")]);
    assert_eq!(b.anchors(hash(1)).expect("none"), []);
}

#[test]
fn what_was_undone_does_not_come_back() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = Store::open(folder.path()).expect("a store");
    store.keep_anchor(&anchor(1, "s"), &notes()).expect("kept");
    let listed = store.compactions(10).expect("a list");
    assert_eq!((listed.len(), listed[0].before, &*listed[0].occasion), (1, 9_000, "hard"));
    assert!(store.undo(listed[0].id).expect("undone") && !store.undo(listed[0].id).expect("already"));
    assert_eq!(store.keep_anchor(&anchor(1, "again"), &notes()).expect("refused"), None);
    assert!(
        store.anchors(hash(0)).expect("none").is_empty() && store.compactions(10).expect("none").is_empty()
    );
}

#[test]
fn a_conversation_is_found_by_its_deepest_position() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = Store::open(folder.path()).expect("a store");
    let id = store.begin_trunk(5, "claude-cli", "m").expect("a number");
    let chain: Vec<ChainHash> = (0..200).map(hash).collect();
    for (place, position) in chain.iter().enumerate().take(150) {
        let trunk = TrunkRecord {
            id,
            requests: place as u64 + 1,
            sent: Some((4_000, 1_000)),
            ..TrunkRecord::default()
        };
        store.keep_trunk(&trunk, *position).expect("kept");
    }
    let (place, trunk) = store.trunk_of(&chain[..170]).expect("read").expect("found");
    assert_eq!((place, trunk.requests, trunk.sent), (149, 150, Some((4_000, 1_000))));
    // Only the newest positions are remembered.
    assert_eq!(store.trunk_of(&chain[..60]).expect("read"), None);
    drop(store);
    let store = Store::open(folder.path()).expect("the same");
    assert_eq!(store.trunk_of(&chain[..151]).expect("read").map(|(place, _)| place), Some(149));
}

#[test]
fn conversations_are_listed_with_what_is_in_effect() {
    let folder = tempfile::tempdir().expect("a folder");
    assert!(Store::open_existing(folder.path()).expect("asked").is_none(), "looking makes no database");
    assert_eq!(std::fs::read_dir(folder.path()).expect("a folder").count(), 0);
    let store = Store::open(folder.path()).expect("a store");
    let ids = ["claude-cli", "codex"].map(|client| store.begin_trunk(5, client, "m").expect("a number"));
    let trunk =
        TrunkRecord { id: ids[0], requests: 3, sent: Some((40, 10)), last: 9, ..TrunkRecord::default() };
    store.keep_trunk(&trunk, hash(1)).expect("kept");
    for chain in [1, 2] {
        let notes = AnchorNotes { trunk: Some(ids[0]), ..notes() };
        store.keep_anchor(&anchor(chain, "s"), &notes).expect("kept");
    }
    store.drop_anchor(hash(2)).expect("dropped");
    let store = Store::open_existing(folder.path()).expect("asked").expect("it is there");
    let listed = store.conversations(10).expect("a list");
    assert_eq!(listed.iter().map(|it| &*it.client).collect::<Vec<_>>(), ["claude-cli", "codex"]);
    assert_eq!(
        (listed[0].requests, listed[0].tokens, listed[0].compactions, listed[0].last),
        (3, Some(10), 1, 9)
    );
    assert_eq!((listed[1].tokens, listed[1].compactions), (None, 0));
    assert_eq!(store.conversations(1).expect("a list").len(), 1);
}

#[test]
fn figures_add_up() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = Store::open(folder.path()).expect("a store");
    for _ in 0..3 {
        store.add(&[("requests".into(), 2), ("nothing".into(), 0)]).expect("added");
        store.spend("2026-11-19", "", 250).expect("added");
    }
    assert_eq!(
        store.figures().expect("figures").into_iter().collect::<Vec<_>>(),
        [("requests".to_string(), 6)]
    );
    assert_eq!((store.spent("2026-11-19").expect("750"), store.spent("2026-11-20").expect("0")), (750, 0));
}

#[test]
fn what_follows_is_told_from_conversations_before() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = Store::open(folder.path()).expect("a store");
    assert_eq!(store.further_requests(0).expect("read"), None);
    for requests in 1..=9u8 {
        let id = store.begin_trunk(5, "c", "m").expect("a number");
        let trunk = TrunkRecord { id, requests: u64::from(requests) * 10, ..TrunkRecord::default() };
        store.keep_trunk(&trunk, hash(requests)).expect("kept");
    }
    assert_eq!(store.further_requests(5).expect("read"), Some(45.0));
    assert_eq!(store.further_requests(15).expect("read"), Some(45.0));
    assert_eq!(store.further_requests(25).expect("too few"), None);
}
