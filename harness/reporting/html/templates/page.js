// What all parts of the page share: the colour scheme, data, and text that is harmless in a cell.

const dark = matchMedia("(prefers-color-scheme: dark)");
const followScheme = () => document.documentElement.classList.toggle("dark", dark.matches);
dark.addEventListener("change", followScheme);
followScheme();

// Returns the data of a part of the page, null where the page does not have that part.
function pageData(id) {
  const element = document.getElementById(id);
  return element === null ? null : JSON.parse(element.textContent);
}

function escaped(text) {
  const letters = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };
  return String(text).replace(/[&<>"']/g, (letter) => letters[letter]);
}

// A cell is a text; one of a column of numbers is [text, number], sorted by the number, those without one last.
function textCell(cell, purpose) {
  return purpose === "display" ? escaped(cell) : cell;
}

function numberCell(cell, purpose) {
  if (purpose === "sort" || purpose === "type") return cell[1] === null ? -Infinity : cell[1];
  return purpose === "display" ? escaped(cell[0]) : cell[0];
}

function statusCell(cell, purpose) {
  const text = escaped(cell);
  return purpose === "display" ? `<span class="badge ${text}">${text}</span>` : cell;
}

globalThis.harnessPage = { pageData, textCell, numberCell, statusCell };
