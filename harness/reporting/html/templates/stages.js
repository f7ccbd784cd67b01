// The stages of a case, two side by side; each case's texts are unpacked when it is chosen.

const { pageData } = globalThis.harnessPage;
const cases = pageData("stages-data");
const TOO_OLD = "This browser cannot unpack gzip; the command above shows the stages.";

async function unpacked(packed) {
  const bytes = Uint8Array.from(atob(packed), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return JSON.parse(await new Response(stream).text());
}

function showStage(side, chosen, texts) {
  const name = document.getElementById(`stages-${side}`).value;
  const text = texts === null ? TOO_OLD : (texts[name] ?? chosen.left_out[name]);
  document.getElementById(`stages-${side}-text`).textContent = text;
}

function offerStages(side, names, wanted) {
  const select = document.getElementById(`stages-${side}`);
  select.replaceChildren(...names.map((name) => new Option(name, name)));
  select.value = wanted;
}

// Shows a case; what was chosen before stays chosen where the new case has it.
async function showCase() {
  const chosen = cases[Number(document.getElementById("stages-case").value)];
  document.getElementById("stages-command").textContent = chosen.command;
  const usual = { left: chosen.stages[0], right: chosen.stages[1] ?? chosen.stages[0] };
  for (const side of ["left", "right"]) {
    const before = document.getElementById(`stages-${side}`).value;
    offerStages(side, chosen.stages, chosen.stages.includes(before) ? before : usual[side]);
  }
  const texts = "DecompressionStream" in globalThis ? await unpacked(chosen.packed) : null;
  if (chosen !== cases[Number(document.getElementById("stages-case").value)]) return;
  for (const side of ["left", "right"]) {
    const show = () => showStage(side, chosen, texts);
    document.getElementById(`stages-${side}`).onchange = show;
    show();
  }
}

if (cases !== null) {
  document.getElementById("stages-case").addEventListener("change", showCase);
  showCase();
}
