// Sorts the table of cells. Without it the page says the same, in the plan's order.
"use strict";
for (const table of document.querySelectorAll("table.sortable")) {
  const body = table.tBodies[0];
  const heads = Array.from(table.tHead.rows[0].cells);
  const said = document.getElementById(table.dataset.said);
  Array.from(body.rows).forEach((row, place) => { row.dataset.place = place; });
  const value = (row, column) => row.cells[column].dataset.value ?? "";
  const compare = (a, b, numbers) =>
    numbers ? Number(a) - Number(b) : a < b ? -1 : a > b ? 1 : 0;
  heads.forEach((head, column) => {
    const button = head.querySelector("button");
    if (!button) return;
    button.disabled = false;
    button.addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") === "ascending";
      const numbers = head.dataset.numbers !== undefined;
      const rows = Array.from(body.rows).sort((a, b) => {
        const [x, y] = [value(a, column), value(b, column)];
        // What has no value comes last, whichever way.
        if (x === "" || y === "") return (x === "") - (y === "") || a.dataset.place - b.dataset.place;
        return (down ? -1 : 1) * compare(x, y, numbers) || a.dataset.place - b.dataset.place;
      });
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      body.append(...rows);
      said.textContent = `Sorted by ${button.textContent.trim()}, ${down ? "largest" : "smallest"} first.`;
    });
  });
}
