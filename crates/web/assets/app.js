// The page's own script: filters as you type, copies commands, keeps what is shown up to date, moves by keys. Everything can be
// read without it.
"use strict";

const $ = (selector, within = document) => within.querySelector(selector);
const $$ = (selector, within = document) => [...within.querySelectorAll(selector)];
document.documentElement.classList.add("js");

/// Fetches a piece of a page; null where there is none.
async function piece(address, signal) {
    try {
        const answer = await fetch(address, { signal, headers: { "x-piece": "1" } });
        return answer.ok ? await answer.text() : null;
    } catch {
        return null;
    }
}

/// The elements of a piece. The server has escaped every text in it; the policy lets nothing run that is not a file of ours.
function elements(html) {
    const template = document.createElement("template");
    template.innerHTML = html;
    return template.content;
}

// Copying

function prepare(within) {
    for (const button of $$("button[data-copy]", within)) button.hidden = false;
}

document.addEventListener("click", async (event) => {
    const button = event.target.closest("button[data-copy]");
    if (!button) return;
    const word = button.textContent;
    try {
        await navigator.clipboard.writeText(button.dataset.copy);
        button.textContent = "copied";
        say("Copied: " + button.dataset.copy);
    } catch {
        button.textContent = "select and copy";
        const code = button.parentElement.querySelector("code");
        if (code) { code.style.display = "inline"; getSelection().selectAllChildren(code); }
    }
    setTimeout(() => { button.textContent = word; }, 1500);
});

function say(text) {
    const live = $("#live");
    if (live) live.textContent = text;
}

// The list of sessions

const filter = $("#filter");
let asking = null;

async function refilter(keepAddress) {
    const rows = $("#rows");
    const values = new URLSearchParams(new FormData(filter));
    if (asking) asking.abort();
    asking = new AbortController();
    const from = keepAddress ? new URLSearchParams(location.search).get("from") : null;
    if (from) values.set("from", from);
    const html = await piece("/sessions/rows?" + values, asking.signal);
    if (html === null) return;
    const place = here();
    rows.replaceChildren(elements(html));
    prepare(rows);
    if (place !== null) moveTo(place, true);
    if (keepAddress) return;
    for (const [name, value] of [...values]) if (!value) values.delete(name);
    history.replaceState(null, "", values.size ? "/?" + values : "/");
}

if (filter) {
    let waiting = 0;
    filter.addEventListener("input", () => {
        clearTimeout(waiting);
        waiting = setTimeout(() => refilter(false), 60);
    });
    filter.addEventListener("submit", (event) => {
        event.preventDefault();
        refilter(false);
    });
    $("button", filter).hidden = true;
}

// What stands around a hit of a search

function prepareAround() {
    for (const fold of $$("details[data-around]")) {
        fold.hidden = false;
        fold.addEventListener("toggle", async () => {
            if (!fold.open || fold.childElementCount > 1) return;
            const html = await piece(fold.dataset.around);
            fold.append(html === null ? "It could not be read." : elements(html));
        });
    }
}
prepareAround();

// Keys

const items = () => $$(".sessions > li, .turn, .hit");

function here() {
    const place = items().findIndex((item) => item.classList.contains("here"));
    return place < 0 ? null : place;
}

function moveTo(place, quietly) {
    const all = items();
    if (!all.length) return;
    const item = all[Math.max(0, Math.min(place, all.length - 1))];
    for (const other of all) other.classList.toggle("here", other === item);
    if (quietly) return;
    item.scrollIntoView({ block: "nearest" });
    const link = $("a", item);
    if (link) link.focus({ preventScroll: true });
}

document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const field = event.target.closest("input, select, textarea");
    if (field) {
        if (event.key === "Escape") field.blur();
        return;
    }
    const go = { j: 1, k: -1 }[event.key];
    if (go) {
        event.preventDefault();
        moveTo((here() ?? (go > 0 ? -1 : items().length)) + go);
    } else if (event.key === "/") {
        const search = $("input[type=search]");
        event.preventDefault();
        if (search) { search.focus(); search.select(); } else location.href = "/search";
    } else if (event.key === "s") {
        location.href = "/";
    } else if (event.key === "e") {
        const folds = $$(".fold");
        const open = folds.some((fold) => !fold.open);
        for (const fold of folds) fold.open = open;
    } else if (event.key === "?") {
        $("#keys")?.showModal();
    }
});

// The timeline: only what is near stands in the page. Every page of messages has a place of its height; it is filled when it comes
// near, and emptied when it is far.

const timeline = $("#timeline");
const NEAR = "1800px";

function beginTimeline() {
    const last = Number(timeline.dataset.last);
    const shown = Number(timeline.dataset.page);
    if (last === 0 || new URLSearchParams(location.search).has("chain")) return;
    const first = $(".chunk", timeline);
    const height = Math.max(400, first.offsetHeight);
    const chunk = (page) => {
        const empty = document.createElement("section");
        empty.className = "chunk";
        empty.dataset.page = page;
        empty.style.height = height + "px";
        return empty;
    };
    const before = [], after = [];
    for (let page = 0; page < shown; page++) before.push(chunk(page));
    for (let page = shown + 1; page <= last; page++) after.push(chunk(page));
    first.before(...before);
    first.after(...after);
    $("#pages")?.remove();
    if (!location.hash && shown > 0) first.scrollIntoView();
    const near = new IntersectionObserver((seen) => {
        for (const { target, isIntersecting } of seen) isIntersecting ? fill(target) : empty(target);
    }, { rootMargin: NEAR });
    for (const each of $$(".chunk", timeline)) near.observe(each);
}

async function fill(chunk) {
    if (chunk.childElementCount || chunk.dataset.filling) return;
    chunk.dataset.filling = "1";
    const html = await piece(timeline.dataset.address + "/messages?page=" + (Number(chunk.dataset.page) + 1));
    delete chunk.dataset.filling;
    if (html === null) return;
    const above = chunk.getBoundingClientRect().bottom < 0;
    const before = chunk.offsetHeight;
    chunk.replaceChildren(elements(html));
    chunk.style.height = "";
    // What is read stays where it is.
    if (above && !CSS.supports("overflow-anchor", "auto")) scrollBy(0, chunk.offsetHeight - before);
}

function empty(chunk) {
    if (!chunk.childElementCount || chunk.contains(document.activeElement)) return;
    chunk.style.height = chunk.offsetHeight + "px";
    chunk.replaceChildren();
}

/// Grows the timeline of a session that goes on, without moving what is read.
async function follow() {
    const html = await piece(location.pathname + location.search);
    if (html === null) return;
    const page = elements(html);
    const [fresh, figures] = [$("#timeline", page), $(".figures", page)];
    if (figures) $(".figures")?.replaceWith(figures);
    if (!fresh || !timeline) return;
    const [was, is] = [Number(timeline.dataset.last), Number(fresh.dataset.last)];
    timeline.dataset.version = fresh.dataset.version;
    timeline.dataset.last = fresh.dataset.last;
    const open = new Set($$("details[open]", timeline).map(keyOf));
    const end = $(`.chunk[data-page="${was}"]`, timeline);
    if (end && end.childElementCount) {
        const html = await piece(timeline.dataset.address + "/messages?page=" + (was + 1));
        if (html !== null) end.replaceChildren(elements(html));
        for (const fold of $$("details", end)) if (open.has(keyOf(fold))) fold.open = true;
    }
    if (is > was) location.reload();
}

/// A name by which a fold is known again.
function keyOf(fold) {
    const message = fold.closest(".message") ?? $(".message", fold);
    const within = message ? $$("details", message).indexOf(fold) : 0;
    return (message ? message.id : "") + "/" + (message && message.contains(fold) ? within : "fold");
}

if (timeline) beginTimeline();

// A session that is large is shown before all of it was read

async function settle() {
    const reading = $(".figures[data-reading]");
    if (!reading) return;
    const html = await piece(location.pathname + location.search);
    const figures = html && $(".figures", elements(html));
    if (!figures) return;
    if (figures.dataset.reading) {
        reading.replaceWith(figures);
        setTimeout(settle, 400);
    } else location.reload();
}
setTimeout(settle, 300);

// Live

function listen() {
    const [rows, gateway] = [$("#rows"), $("#gateway")];
    if (!rows && !timeline && !gateway) return;
    const about = timeline ? "?session=" + timeline.dataset.address.slice("/s/".length) : gateway ? "?gateway=1" : "";
    const source = new EventSource("/events" + about);
    source.addEventListener("sessions", (event) => {
        if (!rows || rows.dataset.version === event.data) return;
        rows.dataset.version = event.data;
        refilter(true);
    });
    source.addEventListener("session", (event) => {
        if (!timeline || timeline.dataset.version === event.data) return;
        follow();
        say("updated " + new Date().toLocaleTimeString());
    });
    source.addEventListener("gateway", async (event) => {
        if (!gateway || gateway.dataset.version === event.data) return;
        const html = await piece("/gateway");
        const fresh = html && $("#gateway", elements(html));
        if (!fresh) return;
        for (const fold of $$("details[open]", gateway)) {
            const same = $("#" + fold.parentElement.id + " > details", fresh);
            if (same) same.open = true;
        }
        gateway.dataset.version = fresh.dataset.version;
        gateway.replaceChildren(...fresh.childNodes);
        prepare(gateway);
    });
    source.addEventListener("error", () => say("Longhaul is not running any more: start it again to go on."));
    source.addEventListener("open", () => say(""));
    addEventListener("pagehide", () => source.close());
}
listen();

// Messages in folds are opened when an address leads to them

function reveal() {
    const target = location.hash.length > 1 && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!target) return;
    for (let fold = target.closest("details"); fold; fold = fold.parentElement.closest("details")) fold.open = true;
    target.scrollIntoView();
}
addEventListener("hashchange", reveal);

prepare(document);
reveal();
