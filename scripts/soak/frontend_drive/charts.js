// Stands in for the charts of Google Charts: each shows a plain table of what it is to draw, and keeps that at its
// element (`__drawn`) for the comparison. Runs in the page after charts_data.js.
(() => {
  const ROWS_SHOWN = 60;

  /** A chart of any kind: keeps what it draws at its element, and shows it as a table. */
  class Chart {
    constructor(element) {
      if (!element) throw new Error("Container is not defined");
      this.element = element;
      this.listeners = {};
      this.selection = [];
    }
    draw(source, options) {
      this.source = source;
      this.element.__drawn = { kind: this.constructor.name, source, options: options ?? {}, chart: this };
      const table = document.createElement("table");
      table.className = "google-visualization-table-table";
      const line = (cells, name) => {
        const row = document.createElement("tr");
        for (const text of cells) {
          const cell = document.createElement(name);
          if (options?.allowHtml) cell.innerHTML = text;
          else cell.textContent = text;
          row.append(cell);
        }
        return row;
      };
      const columns = source.columns.map((_, index) => index);
      table.createTHead().append(line(columns.map((index) => source.getColumnLabel(index)), "th"));
      const body = table.createTBody();
      for (const row of source.rows().slice(0, ROWS_SHOWN)) body.append(line(columns.map((index) => source.getFormattedValue(row, index)), "td"));
      const caption = document.createElement("small");
      caption.textContent = `[${this.constructor.name}, ${source.getNumberOfRows()} rows]`;
      this.element.replaceChildren(caption, table);
      setTimeout(() => this.fire("ready"));
    }
    fire(name, detail) {
      for (const listener of this.listeners[name] ?? []) listener(detail);
    }
    clearChart() {
      delete this.element.__drawn;
      this.element.replaceChildren();
    }
    getSelection() {
      return this.selection;
    }
    setSelection(selection) {
      this.selection = selection ?? [];
    }
    /** The rows of two tables by their first column: name, new value, old value. */
    computeDiff(before, after) {
      const old = new Map(before.rows().map((row) => [before.getValue(row, 0), before.getValue(row, 1)]));
      const cols = [...after.columns, { ...after.column(1), role: "old-data" }];
      const values = (row) => [after.getValue(row, 0), after.getValue(row, 1), old.get(after.getValue(row, 0)) ?? null];
      return new window.google.visualization.DataTable({ cols, rows: after.rows().map((row) => ({ c: values(row).map((v) => ({ v })) })) });
    }
    getSortInfo() {
      return { column: -1, ascending: true, sortedIndexes: null };
    }
    getImageURI() {
      return "data:image/png;base64,";
    }
    getChartLayoutInterface() {
      const box = () => ({ left: 0, top: 0, width: 0, height: 0 });
      return { getBoundingBox: box, getChartAreaBoundingBox: box, getXLocation: () => 0, getYLocation: () => 0 };
    }
  }

  const KINDS = [
    ...["AreaChart", "BarChart", "BubbleChart", "CandlestickChart", "ColumnChart", "ComboChart", "Histogram", "LineChart"],
    ...["OrgChart", "PieChart", "ScatterChart", "SteppedAreaChart", "Table"],
  ];
  const kinds = Object.fromEntries(KINDS.map((name) => [name, { [name]: class extends Chart {} }[name]]));
  const events = {
    addListener(chart, name, listener) {
      (chart.listeners[name] ??= []).push(listener);
      return { chart, name, listener };
    },
    removeListener({ chart, name, listener }) {
      chart.listeners[name] = chart.listeners[name].filter((other) => other !== listener);
    },
    removeAllListeners(chart) {
      chart.listeners = {};
    },
    trigger: (chart, name, detail) => chart.fire(name, detail),
  };
  const load = () => Promise.resolve();
  Object.assign(window.google.visualization, { events, ...kinds });
  window.google.charts = { load, safeLoad: load, setOnLoadCallback: (callback) => void setTimeout(callback) };
})();
