"use strict";
// One stream of events a tab: points that changed go into the chart, then the page's other parts
// are fetched again and replaced, at most once a second and never while the tab is hidden.

const FIVE = ["min", "q1", "median", "q3", "max"]; // of a point, after epoch and n
const curves = new Map(); // experiment -> epoch -> point
const body = document.body;
let row = 0; // the last one that was received
let revision = body.dataset.revision, latest = revision; // of the page; of the server
let chart, source, fetching;

const say = (text) => document.getElementById("connection").replaceChildren(text);
const runs = () => [...document.querySelectorAll(".legend li[data-id]")];

function addPoints(received) {
  for (const [id, points] of Object.entries(received))
    curves.set(id, new Map([...(curves.get(id) ?? []), ...points.map((of) => [of[0], of])]));
}

// Epochs of all runs in one sorted array, and five arrays a run with null for gaps.
function aligned() {
  const factor = Number(document.getElementById("chart").dataset.factor);
  const known = runs().map((run) => curves.get(run.dataset.id) || new Map());
  const epochs = [...new Set(known.flatMap((points) => [...points.keys()]))].sort((a, b) => a - b);
  const at = (point, k) => (point ? factor * point[k + 2] : null);
  const line = (points, k) => epochs.map((epoch) => at(points.get(epoch), k));
  return [epochs, ...known.flatMap((points) => FIVE.map((_, k) => line(points, k)))];
}

function options(place) {
  const style = getComputedStyle(body), grid = style.getPropertyValue("--line");
  const axis = { stroke: style.color, grid: { stroke: grid, width: 1 }, ticks: { stroke: grid } };
  const series = [{ label: "epoch" }], bands = [];
  runs().forEach((run, k) => {
    const colour = getComputedStyle(run).getPropertyValue("--colour");
    const prefix = runs().length > 1 ? `${run.textContent}, ` : "";
    FIVE.forEach((name) => {
      const middle = name === "median";
      series.push({
        label: prefix + name,
        stroke: middle ? colour : `${colour}59`, width: middle ? 2 : 0.5,
        points: { show: middle, size: 5 },
        value: (_, shown) => (shown === null ? "-" : shown.toFixed(3)),
      });
    });
    const at = 1 + FIVE.length * k;
    bands.push({ series: [at + 4, at], fill: `${colour}1f` });
    bands.push({ series: [at + 3, at + 1], fill: `${colour}33` });
  });
  return {
    width: place.clientWidth, height: 320,
    scales: { x: { time: false } }, legend: { show: runs().length === 1 },
    axes: [
      { ...axis, label: "epoch", incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 1e4, 1e5] },
      { ...axis, label: place.dataset.label, size: 60 },
    ],
    series, bands,
  };
}

function draw(again) {
  const place = document.getElementById("chart");
  if (!place || !curves.size) return;
  if (!chart || again) {
    chart?.destroy();
    chart = new uPlot(options(place), aligned(), place);
  } else {
    const [epochs] = chart.data, { min, max } = chart.scales.x;
    chart.setData(aligned());
    const part = epochs.length > 1 && (min > epochs[0] || max < epochs.at(-1)); // is enlarged
    if (part) chart.setScale("x", { min, max });
  }
}

// Replaces the parts of the page that differ; the chart, ticks, open tables and focus stay.
function replace(text) {
  const fresh = new DOMParser().parseFromString(text, "text/html");
  if (fresh.body.dataset.revision === revision) return;
  const was = new Set([...document.querySelectorAll("[open] > summary")].map(key));
  const ticked = new Set([...document.querySelectorAll("input:checked")].map((of) => of.value));
  const focused = mark(document.activeElement);
  const kept = document.getElementById("chart");
  if (kept) fresh.getElementById("chart")?.replaceWith(kept);
  document.querySelector("header").replaceWith(fresh.querySelector("header"));
  document.querySelector("main").replaceWith(fresh.querySelector("main"));
  document.querySelectorAll("summary").forEach((of) => (of.parentElement.open = was.has(key(of))));
  document.querySelectorAll("input").forEach((of) => (of.checked = ticked.has(of.value)));
  const there = [...document.querySelectorAll("main :is(a, button, input, summary)")];
  there.find((of) => mark(of) === focused)?.focus({ preventScroll: true });
  revision = fresh.body.dataset.revision;
  if (!chart) draw(false); // its place came with this page
}

const near = (summary) => summary.closest("figure")?.querySelector("h3").textContent ?? "";
const key = (summary) => near(summary) + summary.textContent;
const mark = (of) => of.value || of.href || key(of);

async function refresh(wanted) {
  if (fetching || wanted === revision || document.hidden) return;
  fetching = true;
  try {
    const answer = await fetch(location.href, { credentials: "same-origin" });
    if (answer.ok) replace(await answer.text());
  } catch {
    say("no connection");
  }
  setTimeout(() => refresh(latest, (fetching = false)), 1000);
}

function listen() {
  source?.close();
  source = new EventSource(`${body.dataset.events}${row}`);
  source.onopen = () => say("live");
  source.onerror = () => {
    say("connection lost; trying again");
    if (source.readyState === EventSource.CLOSED) setTimeout(listen, 5000); // was refused
  };
  source.onmessage = (event) => {
    const received = JSON.parse(event.data);
    if (received.row < row) curves.clear(); // of another database
    [row, latest] = [received.row, received.revision];
    addPoints(received.curves);
    draw(false);
    refresh(latest);
  };
}

document.addEventListener("visibilitychange", () => (document.hidden ? source.close() : listen()));
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => draw(true));
addEventListener("resize", () =>
  chart?.setSize({ width: chart.root.parentElement.clientWidth, height: 320 }));
listen();
