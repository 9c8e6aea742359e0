// SPDX-License-Identifier: MIT
/// @file
/// The page that examples/playground.cpp fills with schedules: what stands before them, and behind.
#pragma once

namespace example {

inline constexpr const char* page_head = R"page(<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>lockstep: how ranks sum a buffer</title>
<style>
:root { --ink: #1d2430; --soft: #5b6575; --line: #d8dde5; --paper: #ffffff; --accent: #1f66b0; }
* { box-sizing: border-box; }
body { margin: 0; font: 15px/1.45 system-ui, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; color: var(--ink); background: #f3f5f8; }
header { padding: 14px 24px 0; }
h1 { font-size: 21px; margin: 0; }
header p { margin: 2px 0 0; color: var(--soft); }
main { display: grid; grid-template-columns: minmax(0, 1fr) 430px; gap: 16px; padding: 12px 24px 24px; max-width: 1500px; }
@media (max-width: 980px) { main { grid-template-columns: minmax(0, 1fr); } }
section { background: var(--paper); border: 1px solid var(--line); border-radius: 10px; padding: 14px 16px; }
#stage { width: 100%; height: auto; display: block; }
.controls { display: flex; flex-wrap: wrap; gap: 10px 14px; align-items: end; }
label { display: grid; gap: 3px; font-size: 13px; color: var(--soft); }
select, button { font: inherit; padding: 5px 9px; border: 1px solid #b9c1cd; border-radius: 7px; background: white; color: var(--ink); }
button { cursor: pointer; min-width: 44px; }
button.main { background: var(--accent); border-color: var(--accent); color: white; min-width: 84px; }
button:focus-visible, select:focus-visible, input:focus-visible { outline: 3px solid #f2b705; outline-offset: 1px; }
input[type=range] { width: 100%; accent-color: var(--accent); }
.idea { margin: 12px 0 8px; }
.now { margin: 8px 0 0; min-height: 4.4em; }
.now b { color: var(--accent); }
table { border-collapse: collapse; width: 100%; font-size: 13.5px; table-layout: fixed; }
td:first-child { white-space: nowrap; }
th { text-align: left; font-weight: 600; color: var(--soft); padding: 3px 6px; border-bottom: 1px solid var(--line); }
td { padding: 3px 6px; border-bottom: 1px solid #eef0f4; font-variant-numeric: tabular-nums; }
td.number, th.number { text-align: right; white-space: nowrap; }
tr.chosen { background: #e8f0fa; }
tr[data-name] { cursor: pointer; }
.bar { height: 8px; background: #9fb8d6; border-radius: 4px; }
tr.best .bar { background: #2e8b57; }
h2 { font-size: 15px; margin: 14px 0 6px; }
.facts { display: grid; grid-template-columns: auto 1fr; gap: 2px 14px; margin: 10px 0 0; font-size: 14px; }
.facts dt { color: var(--soft); } .facts dd { margin: 0; font-variant-numeric: tabular-nums; }
footer { color: var(--soft); padding: 0 24px 20px; font-size: 13px; max-width: 1100px; }
</style>
</head>
<body>
<header><h1>How ranks sum a buffer</h1>
<p>Every rank brings a buffer of its own, cut into chunks. At the end every rank holds the sum of all. Each colour is a chunk; a bar fills as more ranks' numbers are in it.</p></header>
<main>
<section aria-label="The ranks"><svg id="stage" viewBox="0 0 820 724" role="img"></svg></section>
<section aria-label="Choices">
<div class="controls">
<label>Topology<select id="topology"></select></label>
<label>Ranks<select id="ranks"></select></label>
<label>Buffer<select id="bytes"></select></label>
</div>
<p class="idea" id="idea"></p>
<div class="controls">
<button id="first" title="Back to the start" aria-label="Back to the start">&#124;&#9664;</button>
<button id="back" title="One round back (left arrow)" aria-label="One round back">&#9664;</button>
<button id="play" class="main" title="Space">Play</button>
<button id="next" title="One round on (right arrow)" aria-label="One round on">&#9654;</button>
<label>Speed<select id="speed"><option value="0.4">slow</option><option value="0.8" selected>normal</option><option value="2">fast</option></select></label>
</div>
<p style="margin:10px 0 0"><input id="seek" type="range" min="0" value="0" step="0.01" aria-label="Round"></p>
<p class="now" id="now" aria-live="polite"></p>
<dl class="facts" id="facts"></dl>
<h2 id="compare"></h2>
<table><thead><tr><th style="width:39%">Topology</th><th class="number" style="width:13%">rounds</th><th class="number" style="width:17%">sent</th><th class="number" style="width:18%">time</th><th></th></tr></thead><tbody id="table"></tbody></table>
</section>
</main>
<footer>Sent: by the rank that sends most. Time: predicted. Schedules, counts and predicted times are those that the library runs, proves and simulates. The predictions are for a network on which a message takes 25 &micro;s and a rank sends and receives 1.25 GB/s (10 Gbit/s), with 1 &micro;s of work a message and 10 GB/s of additions. A round is over when all its messages have arrived; real ranks go on as soon as their own have.</footer>
<p id="selftest" hidden></p>
<script>
"use strict";
const DATA = )page";

inline constexpr const char* page_script = R"page(;
// What a schedule's step does with what arrives; the numbers of lockstep::Fold.
const COPY = 0, ADD = 1, KEEP = 2, ADD_KEPT = 3;
const COLOURS = ["#1f66b0", "#c62828", "#2e7d32", "#7b3fa0", "#d06a00", "#00838f", "#ad1457", "#6d4c41",
                 "#3949ab", "#9e7b00", "#00695c", "#e05a7a", "#558b2f", "#4a148c", "#546e7a", "#8d3b00"];
const colourOf = chunk => COLOURS[chunk % COLOURS.length];
const nameOf = chunk => chunk < 26 ? String.fromCharCode(97 + chunk) : "" + chunk;
const namesOf = (first, count) => count > 2 ? nameOf(first) + "–" + nameOf(first + count - 1)
    : Array.from({length: count}, (_, i) => nameOf(first + i)).join("");
const full = world => (1 << world) - 1;
const ones = mask => { let count = 0; for (; mask; mask &= mask - 1) ++count; return count; };

// Runs one half in rounds: a message goes when both its ranks are in the step that names it. Contents are sets of ranks, as
// bits. Returns the rounds; each has its messages, the contents after it, and what is kept aside.
function runHalf(steps, start, kept) {
    const world = steps.length, rounds = [];
    const contents = start.map(chunks => chunks.slice());
    const at = steps.map(() => ({step: 0, begin: 0, end: 0, sent: false, received: false, payload: null}));
    const events = [];
    const begin = rank => {
        const progress = at[rank], step = steps[rank][progress.step];
        progress.payload = step && step[0] >= 0 ? contents[rank].slice(step[1], step[1] + step[2]) : null;
    };
    for (let rank = 0; rank < world; ++rank) begin(rank);
    for (let moved = true; moved;) {
        moved = false;
        for (let rank = 0; rank < world; ++rank) {
            const mine = at[rank];
            if (mine.step === steps[rank].length) continue;
            const [to, , , from, first, count, fold] = steps[rank][mine.step];
            const addsKept = fold === ADD_KEPT;
            const theirs = addsKept ? mine : at[from];
            const theirStep = !addsKept && from >= 0 ? steps[from][theirs.step] : null;
            const meets = theirStep && !theirs.sent && theirStep[0] === rank;
            if (!mine.received && (addsKept || (from >= 0 && meets))) {
                const round = Math.max(mine.begin, theirs.begin);
                events.push({round, from: addsKept ? -1 : from, to: rank, first, count, fold, payload: theirs.payload});
                mine.end = Math.max(mine.end, round + 1);
                if (!addsKept) { theirs.end = Math.max(theirs.end, round + 1); theirs.sent = true; }
                mine.received = moved = true;
            }
            if ((to >= 0 && !mine.sent) || (from >= 0 && !mine.received) || (addsKept && !mine.received)) continue;
            // The step is over: what has arrived takes effect before the next begins.
            for (const event of events) {
                if (event.to !== rank || event.done) continue;
                event.done = true;
                for (let i = 0; i < event.count; ++i) {
                    const chunk = event.first + i;
                    if (event.fold === COPY) contents[rank][chunk] = event.payload[i];
                    if (event.fold === ADD) {
                        if (contents[rank][chunk] & event.payload[i]) throw new Error("added twice");
                        contents[rank][chunk] |= event.payload[i];
                    }
                    if (event.fold === KEEP) kept[rank].push([chunk, event.payload[i]]);
                    if (event.fold === ADD_KEPT) {
                        for (const [of, mask] of kept[rank]) if (of === chunk) contents[rank][chunk] |= mask;
                        kept[rank] = kept[rank].filter(entry => entry[0] !== chunk);
                    }
                }
                event.result = contents[rank].slice(event.first, event.first + event.count);
            }
            at[rank] = {step: mine.step + 1, begin: mine.end, end: mine.end, sent: false, received: false, payload: null};
            begin(rank);
            moved = true;
        }
    }
    if (at.some((progress, rank) => progress.step !== steps[rank].length)) throw new Error("a rank waits for ever");
    const state = start.map(chunks => chunks.slice());
    const count = events.reduce((most, event) => Math.max(most, event.round + 1), 0);
    for (let round = 0; round < count; ++round) {
        const messages = events.filter(event => event.round === round);
        for (const event of messages) {
            if (event.fold === KEEP) continue;
            event.result.forEach((mask, i) => { state[event.to][event.first + i] = mask; });
        }
        rounds.push({messages, state: state.map(chunks => chunks.slice())});
    }
    return {rounds, contents};
}

// Both halves of a topology over `world` ranks: frames to play.
const runs = new Map();
function run(topology, world) {
    const key = topology + "/" + world;
    if (runs.has(key)) return runs.get(key);
    const plan = DATA.topologies[topology].worlds[world];
    const start = Array.from({length: world}, (_, rank) => Array(plan.chunks).fill(1 << rank));
    const kept = Array.from({length: world}, () => []);
    const reduce = runHalf(plan.reduce, start, kept);
    const distribute = runHalf(plan.distribute, reduce.contents, kept);
    const frames = [{half: "start", messages: [], state: start}];
    for (const round of reduce.rounds) frames.push({half: "reduce", ...round});
    for (const round of distribute.rounds) frames.push({half: "distribute", ...round});
    const result = {plan, frames, start, reduced: reduce.contents, end: distribute.contents, reduceRounds: reduce.rounds.length,
                    distributeRounds: distribute.rounds.length};
    runs.set(key, result);
    return result;
}

// ---- The page --------------------------------------------------------------------------------------------------
const $ = id => document.getElementById(id);
const SVG = "http://www.w3.org/2000/svg";
function make(parent, name, attributes, text) {
    const node = document.createElementNS(SVG, name);
    for (const key in attributes) node.setAttribute(key, attributes[key]);
    if (text !== undefined) node.textContent = text;
    parent.appendChild(node);
    return node;
}
const sizeText = bytes => bytes >= 1 << 20 ? (bytes / (1 << 20)).toLocaleString("en", {maximumFractionDigits: 1}) + " MiB"
    : bytes >= 1024 ? (bytes / 1024).toLocaleString("en", {maximumFractionDigits: 1}) + " KiB" : Math.round(bytes) + " B";
const timeText = seconds => seconds >= 1 ? seconds.toFixed(2) + " s" : seconds >= 1e-3 ? (seconds * 1e3).toFixed(2) + " ms"
    : (seconds * 1e6).toFixed(0) + " µs";

const view = {topology: 0, world: 4, size: 2, at: 0, playing: false, last: 0};
let places = [], bars = [], kept = [], layer = null, halo = [];

function drawStage() {
    const {plan} = run(view.topology, view.world), stage = $("stage"), world = view.world;
    stage.replaceChildren();
    const centre = [410, 358], distance = world === 2 ? 210 : 262, radius = world <= 4 ? 84 : world <= 6 ? 72 : 62;
    places = []; bars = []; halo = []; kept = [];
    for (let rank = 0; rank < world; ++rank) {
        const angle = -Math.PI / 2 + 2 * Math.PI * rank / world + (world === 2 ? Math.PI / 2 : 0);
        places.push([centre[0] + distance * Math.cos(angle), centre[1] + distance * Math.sin(angle)]);
    }
    make(stage, "circle", {cx: centre[0], cy: centre[1], r: distance, fill: "none", stroke: "#e3e7ed", "stroke-width": 2});
    layer = make(stage, "g", {});
    for (let rank = 0; rank < world; ++rank) {
        const [x, y] = places[rank];
        halo.push(make(stage, "circle", {cx: x, cy: y, r: radius + 5, fill: "none", stroke: "#f2b705", "stroke-width": 5, opacity: 0}));
        make(stage, "circle", {cx: x, cy: y, r: radius, fill: "white", stroke: "#66707f", "stroke-width": 2});
        make(stage, "text", {x, y: y - radius * 0.62, "text-anchor": "middle", "font-size": 15, "font-weight": 700}, "rank " + rank);
        const wide = radius * 1.5, tall = radius * 0.72, slot = wide / plan.chunks, gap = Math.min(3, slot * 0.15);
        const own = [];
        for (let chunk = 0; chunk < plan.chunks; ++chunk) {
            const left = x - wide / 2 + chunk * slot + gap / 2, top = y - tall / 2 - 2;
            const frame = make(stage, "rect", {x: left, y: top, width: slot - gap, height: tall, fill: "#f1f3f6", stroke: "#c5ccd6", "stroke-width": 1});
            const fill = make(stage, "rect", {x: left, width: slot - gap, y: top + tall, height: 0, fill: colourOf(chunk)});
            if (plan.chunks <= 8) make(stage, "text", {x: left + (slot - gap) / 2, y: top + tall + 14, "text-anchor": "middle", "font-size": 12, fill: colourOf(chunk), "font-weight": 700}, nameOf(chunk));
            own.push({frame, fill, top, tall});
        }
        bars.push(own);
        kept.push(make(stage, "text", {x, y: y + radius + 18, "text-anchor": "middle", "font-size": 13, fill: "#5b6575"}, ""));
    }
    stage.setAttribute("aria-label", DATA.topologies[view.topology].name + " over " + world + " ranks");
}

function drawMoment() {
    const {plan, frames, reduceRounds} = run(view.topology, view.world), world = view.world;
    const last = frames.length - 1, at = Math.min(view.at, last), index = Math.min(Math.floor(at), last), part = at - index;
    const state = frames[index].state, coming = part > 0 && index < last ? frames[index + 1] : null;
    const second = index >= reduceRounds;
    let aside = Array(world).fill(0);
    for (let frame = 1; frame <= index; ++frame) {
        for (const each of frames[frame].messages) {
            if (each.fold === KEEP) aside[each.to] += each.count;
            if (each.fold === ADD_KEPT) aside[each.to] = 0;
        }
    }
    for (let rank = 0; rank < world; ++rank) {
        let owns = false;
        for (let chunk = 0; chunk < plan.chunks; ++chunk) {
            const {frame, fill, top, tall} = bars[rank][chunk], filled = ones(state[rank][chunk]) / world;
            // In the second half only finished chunks count: sums on the way are done with.
            const done = state[rank][chunk] === full(world), stale = second && !done;
            fill.setAttribute("y", top + tall * (1 - filled)); fill.setAttribute("height", tall * filled);
            fill.setAttribute("opacity", stale ? 0.25 : 1);
            frame.setAttribute("stroke", done ? "#1d2430" : "#c5ccd6"); frame.setAttribute("stroke-width", done ? 2 : 1);
            owns = owns || plan.owns[rank][chunk];
        }
        halo[rank].setAttribute("opacity", index === reduceRounds && part === 0 && owns ? 1 : 0);
        kept[rank].textContent = aside[rank] ? aside[rank] + " kept aside" : "";
    }
    layer.replaceChildren();
    if (coming) {
        const ease = part < 0.5 ? 2 * part * part : 1 - 2 * (1 - part) * (1 - part);
        for (const {from, to, first, count} of coming.messages) {
            if (from < 0) continue;
            // To the right of the straight line, so that messages both ways do not meet.
            const [x1, y1] = places[from], [x2, y2] = places[to], length = Math.hypot(x2 - x1, y2 - y1);
            const cx = (x1 + x2) / 2 - (y2 - y1) / length * 26, cy = (y1 + y2) / 2 + (x2 - x1) / length * 26;
            make(layer, "path", {d: `M${x1} ${y1}Q${cx} ${cy} ${x2} ${y2}`, fill: "none", stroke: colourOf(first), "stroke-width": 2.5, opacity: 0.45});
            const u = 1 - ease, x = u * u * x1 + 2 * u * ease * cx + ease * ease * x2, y = u * u * y1 + 2 * u * ease * cy + ease * ease * y2;
            const words = namesOf(first, count), wide = 14 + words.length * 9;
            make(layer, "rect", {x: x - wide / 2, y: y - 12, width: wide, height: 24, rx: 12, fill: colourOf(first), stroke: "white", "stroke-width": 2});
            make(layer, "text", {x, y: y + 5, "text-anchor": "middle", "font-size": 14, fill: "white", "font-weight": 700}, words);
        }
    }
    const frame = coming || frames[index], half = frame.half, number = coming ? index + 1 : index;
    const ofHalf = half === "reduce" ? `round ${number} of ${reduceRounds} of the first half` : `round ${number - reduceRounds} of ${last - reduceRounds} of the second half`;
    const many = frame.messages.filter(each => each.from >= 0).length;
    $("now").innerHTML = index === last && !coming ? "<b>Done.</b> Every rank holds the sum of all " + world + " buffers, to the last bit the same."
        : half === "start" ? "<b>Start.</b> Every chunk of every rank holds that rank's own numbers. Press Play, or go round by round."
        : index === reduceRounds && !coming ? "<b>The first half is done.</b> Every chunk is finished at its owner (ringed). Owners average it; now it travels to everyone."
        : `<b>${half === "reduce" ? "Reduce" : "Distribute"}</b>, ${ofHalf}: ${many} message${many === 1 ? "" : "s"}. ` +
          (frame.messages.some(each => each.fold === KEEP) ? "What arrives is kept aside, until the owner can add all in the order of ranks."
           : half === "reduce" && many === 0 ? "Owners add what they kept aside."
           : half === "reduce" ? "What arrives is added to what is there, on its way to the owner." : "Finished chunks replace what is there.");
    let sent = Array(world).fill(0);
    const elements = DATA.sizes[view.size] / plan.chunks;
    for (let each = 1; each <= number; ++each) for (const {from, count} of frames[each].messages) if (from >= 0) sent[from] += count * elements;
    $("facts").innerHTML = `<dt>Sent so far</dt><dd>${sizeText(sent.reduce((a, b) => a + b, 0))} by all, ${sizeText(Math.max(...sent))} by the busiest rank</dd>` +
        `<dt>Whole all-reduce</dt><dd>${plan.messages} messages, ${sizeText(plan.sent[view.size])} sent by the busiest rank</dd>` +
        `<dt>Predicted time</dt><dd>${timeText(plan.seconds[view.size])}</dd>`;
    $("seek").max = last; $("seek").value = at;
    $("play").textContent = view.playing ? "Pause" : index === last ? "Again" : "Play";
}

function drawTable() {
    const rows = DATA.topologies.map((topology, index) => ({index, name: topology.name, plan: topology.worlds[view.world], run: run(index, view.world)}));
    const most = Math.max(...rows.map(row => row.plan.seconds[view.size])), best = Math.min(...rows.map(row => row.plan.seconds[view.size]));
    $("compare").textContent = `All topologies, ${view.world} ranks, ${sizeText(DATA.sizes[view.size])}`;
    $("table").innerHTML = rows.map(({index, name, plan, run}) => `<tr data-name="${index}" class="${index === view.topology ? "chosen" : ""} ${plan.seconds[view.size] === best ? "best" : ""}">` +
        `<td>${name}${plan.seconds[view.size] === best ? " <b title='fastest'>&#9733;</b>" : ""}</td><td class="number">${run.frames.length - 1}</td>` +
        `<td class="number">${sizeText(plan.sent[view.size])}</td><td class="number">${timeText(plan.seconds[view.size])}</td>` +
        `<td><div class="bar" style="width:${Math.max(2, 100 * plan.seconds[view.size] / most)}%"></div></td></tr>`).join("");
    for (const row of $("table").children) row.onclick = () => choose({topology: +row.dataset.name});
    $("idea").textContent = DATA.topologies[view.topology].idea;
}

function choose(change) {
    const restarts = ("topology" in change && change.topology !== view.topology) || ("world" in change && change.world !== view.world);
    Object.assign(view, change);
    if (restarts && !("at" in change)) view.at = 0;
    $("topology").value = view.topology; $("ranks").value = view.world; $("bytes").value = view.size;
    drawStage(); drawMoment(); drawTable();
}
function go(at) {
    view.at = Math.max(0, Math.min(at, run(view.topology, view.world).frames.length - 1));
    drawMoment();
}
function tick(time) {
    if (!view.playing) return;
    const last = run(view.topology, view.world).frames.length - 1, before = view.at;
    const passed = Math.min(0.1, (time - view.last) / 1000) * +$("speed").value;
    view.last = time;
    // A rest at the end of each round, so that eyes can follow.
    view.rest = view.rest > 0 ? view.rest - passed : 0;
    if (view.rest <= 0) {
        go(view.at + passed);
        if (Math.floor(view.at) > Math.floor(before)) { go(Math.floor(view.at)); view.rest = 0.35; }
    }
    if (view.at >= last) { view.playing = false; drawMoment(); return; }
    requestAnimationFrame(tick);
}
function play() {
    if (view.at >= run(view.topology, view.world).frames.length - 1) view.at = 0;
    view.playing = !view.playing; view.last = performance.now(); view.rest = 0;
    drawMoment();
    if (view.playing) requestAnimationFrame(tick);
}
function pause() { view.playing = false; }

// Holds every schedule as it is played to what the library counted and proved.
function selftest() {
    let checked = 0;
    const expect = (condition, what) => { if (!condition) throw new Error(what); };
    DATA.topologies.forEach((topology, index) => {
        for (const world of DATA.worlds) {
            const {plan, frames, reduced, end, start} = run(index, world), where = `${topology.name} over ${world} ranks: `;
            for (let chunk = 0; chunk < plan.chunks; ++chunk) {
                expect(plan.owns.some(rank => rank[chunk]), where + "a chunk has no owner");
                for (let rank = 0; rank < world; ++rank) {
                    expect(start[rank][chunk] === 1 << rank, where + "start");
                    expect(!plan.owns[rank][chunk] || reduced[rank][chunk] === full(world), where + "an owner lacks numbers");
                    expect(end[rank][chunk] === full(world), where + "a rank ends without the sum");
                    expect(frames[frames.length - 1].state[rank][chunk] === full(world), where + "what is shown at the end");
                }
            }
            const messages = frames.flatMap(frame => frame.messages).filter(each => each.from >= 0).length;
            expect(messages === plan.messages, where + messages + " messages played, " + plan.messages + " counted");
            Object.assign(view, {topology: index, world});
            drawStage();
            for (let at = 0; at <= frames.length - 1; at += 0.5) { view.at = at; drawMoment(); }
            expect($("now").textContent.startsWith("Done."), where + "the last words");
            ++checked;
        }
    });
    return checked;
}

DATA.topologies.forEach((topology, index) => $("topology").add(new Option(topology.name, index)));
DATA.worlds.forEach(world => $("ranks").add(new Option(world, world)));
DATA.sizes.forEach((size, index) => $("bytes").add(new Option(sizeText(size), index)));
$("topology").onchange = event => choose({topology: +event.target.value});
$("ranks").onchange = event => choose({world: +event.target.value});
$("bytes").onchange = event => choose({size: +event.target.value});
$("first").onclick = () => { pause(); go(0); };
$("back").onclick = () => { pause(); go(Math.ceil(view.at) - 1); };
$("next").onclick = () => { pause(); go(Math.floor(view.at) + 1); };
$("play").onclick = play;
$("seek").oninput = event => { pause(); go(+event.target.value); };
addEventListener("keydown", event => {
    if (event.target.tagName === "SELECT" || event.target.tagName === "INPUT") return;
    if (event.key === "ArrowRight") $("next").click();
    else if (event.key === "ArrowLeft") $("back").click();
    else if (event.key === " " && event.target.tagName !== "BUTTON") { event.preventDefault(); play(); }
});

// #topology=ring&ranks=4&at=1.5 opens a moment; #selftest checks everything.
const wanted = new URLSearchParams(location.hash.slice(1));
if (wanted.has("selftest")) {
    let verdict;
    try { verdict = `selftest: ${selftest()} schedules played well`; } catch (error) { verdict = "selftest FAILED: " + error.message; }
    $("selftest").hidden = false; $("selftest").textContent = verdict;
}
const named = DATA.topologies.findIndex(topology => topology.name === (wanted.get("topology") || "ring"));
const world = +(wanted.get("ranks") || 4);
choose({topology: Math.max(0, named), world: DATA.worlds.includes(world) ? world : 4, size: 2, at: 0});
go(+(wanted.get("at") || 0));
</script>
</body>
</html>
)page";

}  // namespace example
