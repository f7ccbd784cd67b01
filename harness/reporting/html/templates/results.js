// The table of results: every column sorts, and filters by a list of its texts or by a search.

const { pageData, textCell, numberCell, statusCell } = globalThis.harnessPage;

function describedColumn(column) {
  const filter = column.isChosen ? ["searchList"] : ["search"];
  return {
    type: column.isNumber ? "num" : "string",
    className: column.isNumber ? "number" : column.isLong ? "long" : "",
    render: column.isNumber ? numberCell : column.isStatus ? statusCell : textCell,
    columnControl: ["order", ["orderAsc", "orderDesc", "orderClear", "spacer", ...filter]],
  };
}

const table = pageData("results-data");
globalThis.harnessPage.results = new DataTable("#results-table", {
  data: table.rows,
  columns: table.columns.map(describedColumn),
  order: [],
  ordering: { indicators: false, handler: false },
  pageLength: 25,
  lengthMenu: [25, 100, 500],
  autoWidth: false,
  deferRender: true,
  layout: { topStart: "search", topEnd: "pageLength", bottomStart: "info", bottomEnd: "paging" },
  language: { search: "Search: ", emptyTable: "no rows" },
});
