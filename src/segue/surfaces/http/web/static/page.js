// What moves: pages that say when something changed, copying, and curves. Everything can be read without it.
"use strict";

(() => {
  const live = document.querySelector("[data-live]");
  const connection = document.getElementById("connection");
  const AGAIN_MS = 2000, AGAIN_MS_MAX = 30000;

  // A page that is shown listens for changes, and then asks for itself; one that is hidden does neither, since a
  // browser opens only six connections to a server. The stamp of what is shown says what was missed meanwhile.
  const follow = () => {
    let events = null, timer = 0, pause = AGAIN_MS;
    let asked = 0, took = 0, waiting = 0;
    const refresh = () => {  // a page that takes long is asked for less often
      if (waiting) return;
      waiting = setTimeout(() => {
        waiting = 0;
        asked = Date.now();
        document.body.dispatchEvent(new CustomEvent("changed"));
      }, Math.max(0, asked + 4 * took - Date.now()));
    };
    const isAtEnd = () => innerHeight + scrollY >= document.documentElement.scrollHeight - 40;
    let wasAtEnd = false;
    document.addEventListener("htmx:before:swap", () => { wasAtEnd = "tail" in live.dataset && isAtEnd(); });
    document.addEventListener("htmx:after:swap", () => {
      took = Math.min(Date.now() - asked, 5000);
      if (wasAtEnd) scrollTo({ top: document.documentElement.scrollHeight });  // who looks at the end goes on to
    });
    const close = () => {
      clearTimeout(timer);
      if (events) events.close();
      events = null;
    };
    const open = () => {
      close();
      events = new EventSource("/ui/live?" + new URLSearchParams({ of: live.dataset.live, seen: live.dataset.stamp }));
      events.addEventListener("changed", refresh);
      events.addEventListener("open", () => {
        connection.hidden = true;
        pause = AGAIN_MS;
      });
      events.addEventListener("error", () => {
        connection.hidden = false;
        if (events && events.readyState === EventSource.CLOSED) {  // the browser does not try again by itself
          timer = setTimeout(open, pause);
          pause = Math.min(2 * pause, AGAIN_MS_MAX);
        }
      });
    };
    document.addEventListener("visibilitychange", () => {
      if (document.hidden) close();
      else open();
    });
    addEventListener("pagehide", close);
    addEventListener("pageshow", (event) => { if (event.persisted) open(); });
    if (!document.hidden) open();
  };
  if (live && window.EventSource && !new URLSearchParams(location.search).get("before")) follow();

  const copy = async (text) => {
    if (navigator.clipboard) return navigator.clipboard.writeText(text);
    const field = document.createElement("textarea");  // a server without TLS gives a page no clipboard
    field.value = text;
    document.body.append(field);
    field.select();
    document.execCommand("copy");
    field.remove();
  };

  const prepare = () => {
    for (const button of document.querySelectorAll("[data-copy]")) {
      button.hidden = false;
      if (button.dataset.ready) continue;
      button.dataset.ready = "1";
      button.addEventListener("click", async () => {
        await copy(button.dataset.copy);
        button.textContent = "Copied";
      });
    }
  };
  prepare();
  document.addEventListener("htmx:after:swap", prepare);

  // Curves: the table beneath each has the same numbers.
  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const short = (number) => {
    for (const [size, unit] of [[1e9, "G"], [1e6, "M"], [1e3, "k"]]) {
      if (number >= size) return String(Number((number / size).toPrecision(3))) + unit;
    }
    return String(Number(number.toPrecision(3)));
  };
  const UNITS = {
    dollars: (number) => "$" + (number >= 1000 ? short(number) : number >= 0.01 || !number ? number.toFixed(2) : String(number)),
    percent: (number) => Math.round(number) + " %",
    tokens: short,
    count: short,
  };
  const INKS = ["--curve-1", "--curve-2", "--curve-3", "--curve-4", "--curve-5", "--curve-6"];
  const drawn = new Map();
  const HEIGHT = 220;
  // A curve is as wide as its place, which changes with the window and when a scroll bar comes.
  const fitted = new ResizeObserver((changes) => {
    for (const { target } of changes) {
      const plot = drawn.get(target);
      if (plot && target.clientWidth && plot.width !== target.clientWidth) plot.setSize({ width: target.clientWidth, height: HEIGHT });
    }
  });
  const draw = (place) => {
    const { unit, days, series, stacked } = JSON.parse(place.dataset.curve);
    const axis = { stroke: colour("--faint"), grid: { stroke: colour("--line"), width: 1 }, ticks: { stroke: colour("--line"), width: 1 }, font: "12px system-ui, sans-serif" };
    const words = UNITS[unit];
    const lines = series.map((one, at) => {
      const ink = colour(one.ink ? "--" + one.ink : INKS[at % INKS.length]);
      const value = (plot, _, which, at) => {
        const number = at === null || at === undefined ? null : series[which - 1].values[at];
        return number === null || number === undefined ? "" : words(number);
      };
      return stacked
        ? { label: one.label, value, stroke: ink, fill: ink, width: 0, points: { show: false }, paths: uPlot.paths.bars({ size: [0.7, 24] }) }
        : { label: one.label, value, stroke: ink, width: 2, spanGaps: true, points: { show: days.length <= 31, size: 5, fill: ink } };
    });
    // Bars stand on one another: each is drawn as high as all from it on, and the next one in front of it.
    const heights = series.map((one, at) => !stacked ? one.values : one.values.map((_, day) =>
      series.slice(at).reduce((sum, other) => sum + (other.values[day] || 0), 0)));
    const high = unit === "percent" ? 100 : unit === "count" ? 4 : 0;
    const isLong = days.length > 180;
    const day = (seconds) => new Date(seconds * 1000).toISOString().slice(isLong ? 0 : 5, 10);
    drawn.get(place)?.destroy();
    drawn.set(place, new uPlot({
      width: place.clientWidth, height: HEIGHT, tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1000), "Etc/UTC"),
      cursor: { drag: { x: false, y: false } },
      scales: { x: { range: [days[0] - 43200, days[days.length - 1] + 43200] }, y: { range: (_, least, most) => [0, Math.max(high, unit === "percent" ? 100 : most * 1.1) || 1] } },
      series: [{ label: " ", value: (_, seconds) => seconds === null || seconds === undefined ? "" : day(seconds) }, ...lines],
      axes: [
        { ...axis, values: (_, moments) => moments.map(day), incrs: [1, 2, 7, 14, 30, 60, 91, 182, 365, 730, 1826, 3652].map((count) => count * 86400), space: isLong ? 90 : 60 },
        { ...axis, size: 64, values: (_, numbers) => numbers.map(words), ...(unit === "count" ? { incrs: [1, 2, 5, 10, 20, 50, 100, 500, 1000] } : {}) },
      ],
    }, [days, ...heights], place));
    fitted.observe(place);
  };
  const drawAll = () => {
    for (const place of document.querySelectorAll("[data-curve]")) draw(place);
  };
  drawAll();
  document.addEventListener("htmx:after:swap", drawAll);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawAll);
})();
