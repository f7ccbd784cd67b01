// Two series, problem by problem: ratios of speed with their 95 % intervals.

const { pageData, textCell, numberCell } = globalThis.harnessPage;
const series = pageData("compare-data");

function inverse([value, low, high]) {
  return [1 / value, high === null ? null : 1 / high, low === null ? null : 1 / low];
}

// How far an interval reaches below and above its value, in logarithms: at least half of it to either side.
function reaches([value, low, high]) {
  const half = Math.log(high / low) / 2;
  return { below: Math.max(half, Math.log(value / low)), above: Math.max(half, Math.log(high / value)) };
}

// The ratio of two values that are known within intervals; what both scatter by is added in squares, and so is
// a further reach.
function ratio(first, second, further = 0) {
  const value = first[0] / second[0];
  if (![first, second].every(([, low, high]) => low > 0 && high > 0)) return [value, null, null];
  const [over, under] = [first, second].map(reaches);
  const below = Math.hypot(over.below, under.above, further);
  const above = Math.hypot(over.above, under.below, further);
  return [value, value / Math.exp(below), value * Math.exp(above)];
}

// Returns how much faster the first row is than the second, and how that is known; null where it is not.
function compared(first, second) {
  if (first.time[0] === null || second.time[0] === null) return null;
  const together = first.group !== null && first.group === second.group;
  if (together && second.own && first.speedup[0] !== null) return { ratio: first.speedup, how: "in turns" };
  if (together && first.own && second.speedup[0] !== null)
    return { ratio: inverse(second.speedup), how: "in turns" };
  if (together && first.speedup[0] !== null && second.speedup[0] !== null)
    return { ratio: ratio(first.speedup, second.speedup), how: "over the baseline" };
  if (first.device !== second.device) return null;
  const further = first.run === second.run ? 0 : series.between_runs;
  return { ratio: ratio(second.time, first.time, further), how: "by times" };
}

function verdict([, low, high]) {
  if (low === null || high === null || (low <= 1 && high >= 1)) return "≈ no clear difference";
  return low > 1 ? "first is faster" : "second is faster";
}

const significant = (value) => (value === null ? "–" : Number(value.toPrecision(3)).toString());

function stateOf(row) {
  return row.time[0] !== null ? "timed" : row.status === "passed" ? "not timed" : row.status;
}

function rowOf(problem, first, second) {
  const found = compared(first, second);
  const name = series.problems[problem];
  if (found === null) {
    const why =
      first.time[0] !== null && second.time[0] !== null
        ? "timed on different devices"
        : `first: ${stateOf(first)}; second: ${stateOf(second)}`;
    return [name, ["–", null], "–", why, ""];
  }
  const [value, low, high] = found.ratio;
  const interval = low === null ? "–" : `[${significant(low)}, ${significant(high)}]`;
  return [name, [`${significant(value)}×`, value], interval, verdict(found.ratio), found.how];
}

function rowsOf(first, second) {
  const byProblem = new Map();
  for (const row of series.rows) {
    if (row.label !== first && row.label !== second) continue;
    const both = byProblem.get(row.problem) ?? {};
    both[row.label] = row;
    byProblem.set(row.problem, both);
  }
  return [...byProblem]
    .filter(([, both]) => both[first] !== undefined && both[second] !== undefined)
    .map(([problem, both]) => rowOf(problem, both[first], both[second]));
}

function summaryOf(rows) {
  const counts = new Map();
  for (const [, ratio, , said] of rows) {
    const what = ratio[1] === null ? "not compared" : said;
    counts.set(what, (counts.get(what) ?? 0) + 1);
  }
  const told = [...counts].map(([what, count]) => `${count} ${what}`).join(", ");
  return rows.length === 0 ? "No problem has both." : `${rows.length} problems: ${told}.`;
}

if (series !== null) {
  const [first, second] = ["compare-first", "compare-second"].map((id) => document.getElementById(id));
  const table = new DataTable("#compare-table", {
    data: [],
    columns: [
      { type: "string", render: textCell },
      { type: "num", className: "number", render: numberCell },
      { type: "string", className: "number", render: textCell },
      { type: "string", render: textCell },
      { type: "string", render: textCell },
    ],
    order: [],
    pageLength: 25,
    autoWidth: false,
    layout: { topStart: "search", topEnd: null, bottomStart: "info", bottomEnd: "paging" },
    language: { search: "Search: ", emptyTable: "no problem has both" },
  });
  const show = () => {
    const rows = rowsOf(Number(first.value), Number(second.value));
    document.getElementById("compare-summary").textContent = summaryOf(rows);
    table.clear().rows.add(rows).draw();
  };
  first.addEventListener("change", show);
  second.addEventListener("change", show);
  show();
}
