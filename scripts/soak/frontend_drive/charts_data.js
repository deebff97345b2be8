// Stands in for the data half of Google Charts, which XProf's pages load from the network: tables, views, formats, groups.
// Runs in the page, before XProf's bundle. Only what XProf's pages use; a call of anything else is an error there.
(() => {
  const TYPES = { string: "string", number: "number", boolean: "boolean", function: "function" };
  /** What the pages passed that Google Charts would refuse; part of the comparison. */
  const refused = (window.__refused = []);

  function check(value, column) {
    const wanted = TYPES[column.type];
    if (value === null || value === undefined || !wanted || typeof value === wanted) return;
    const message = `Type mismatch: ${JSON.stringify(value)} in column ${column.id || column.label} of ${column.type}`;
    if (refused.length < 50) refused.push(message);
  }

  const cellOf = (given) =>
    given !== null && typeof given === "object" && !Array.isArray(given) && !(given instanceof Date)
      ? { v: given.v ?? null, f: given.f ?? null, p: { ...given.p } }
      : { v: given ?? null, f: null, p: {} };

  function shown(value) {
    if (value === null || value === undefined) return "";
    return typeof value === "number" ? value.toLocaleString("en-US", { maximumFractionDigits: 3 }) : String(value);
  }

  const order = (a, b) => {
    if (a === b) return 0;
    if (a === null || a === undefined) return -1;
    if (b === null || b === undefined) return 1;
    return a < b ? -1 : 1;
  };

  /** What tables and views have in common; `at(row, column)` is a cell, `columns` their descriptions. */
  class Source {
    getNumberOfColumns() {
      return this.columns.length;
    }
    getColumnIndex(name) {
      if (typeof name === "number") return name < this.columns.length ? name : -1;
      const index = this.columns.findIndex((column) => column.id === name);
      return index >= 0 ? index : this.columns.findIndex((column) => column.label === name);
    }
    column(index) {
      const found = this.columns[this.getColumnIndex(index)];
      if (!found) throw new Error(`Invalid column index ${index}. Should be an integer below ${this.columns.length}.`);
      return found;
    }
    getColumnId(index) {
      return this.column(index).id ?? "";
    }
    getColumnLabel(index) {
      return this.column(index).label ?? "";
    }
    getColumnType(index) {
      return this.column(index).type;
    }
    getColumnRole(index) {
      return this.column(index).role ?? "";
    }
    getColumnProperty(index, name) {
      return this.column(index).p?.[name] ?? null;
    }
    cell(row, index) {
      if (!(row >= 0 && row < this.getNumberOfRows())) throw new Error(`Invalid row index ${row}. Should be below ${this.getNumberOfRows()}.`);
      this.column(index);
      return this.at(row, this.getColumnIndex(index));
    }
    getValue(row, index) {
      return this.cell(row, index).v;
    }
    getFormattedValue(row, index) {
      const { v, f } = this.cell(row, index);
      return f ?? shown(v);
    }
    getProperty(row, index, name) {
      return this.cell(row, index).p[name] ?? null;
    }
    getProperties(row, index) {
      return this.cell(row, index).p;
    }
    rows() {
      return Array.from({ length: this.getNumberOfRows() }, (_, row) => row);
    }
    getColumnRange(index) {
      const values = this.rows().map((row) => this.getValue(row, index)).filter((value) => value !== null).sort(order);
      return values.length ? { min: values[0], max: values.at(-1) } : { min: null, max: null };
    }
    getDistinctValues(index) {
      return [...new Set(this.rows().map((row) => this.getValue(row, index)))].sort(order);
    }
    getSortedRows(by) {
      const keys = (Array.isArray(by) ? by : [by]).map((key) => (typeof key === "number" ? { column: key } : key));
      const compare = (a, b) => {
        for (const { column, desc } of keys) {
          const result = order(this.getValue(a, column), this.getValue(b, column));
          if (result) return desc ? -result : result;
        }
        return a - b;
      };
      return this.rows().sort(compare);
    }
    getFilteredRows(filters) {
      if (typeof filters === "function") return this.rows().filter((row) => filters(row, this));
      return this.rows().filter((row) =>
        filters.every(({ column, value, minValue, maxValue, test }) => {
          const cell = this.getValue(row, column);
          if (test) return test(cell, row, column, this);
          if (value !== undefined && order(cell, value) !== 0) return false;
          if (minValue !== undefined && minValue !== null && (cell === null || cell < minValue)) return false;
          return !(maxValue !== undefined && maxValue !== null && (cell === null || cell > maxValue));
        }),
      );
    }
    plain() {
      const cols = this.columns.map(({ id = "", label = "", type, role, p }) => ({ id, label, type, ...(role && { role }), ...(p && { p }) }));
      const rows = this.rows().map((row) => ({ c: cols.map((_, index) => ({ ...this.at(row, index) })) }));
      return { cols, rows };
    }
    toJSON() {
      return JSON.stringify(this.plain());
    }
    toDataTable() {
      return new DataTable(this.plain());
    }
    clone() {
      return this.toDataTable();
    }
  }

  class DataTable extends Source {
    constructor(given) {
      super();
      const { cols = [], rows = [], p = {} } = (typeof given === "string" ? JSON.parse(given) : given) ?? {};
      this.properties = p;
      this.columns = cols.map((column) => ({ ...column }));
      this.cells = rows.map((row) => this.columns.map((column, index) => {
        const cell = cellOf(row.c?.[index]);
        check(cell.v, column);
        return cell;
      }));
    }
    at(row, column) {
      return this.cells[row][column];
    }
    getNumberOfRows() {
      return this.cells.length;
    }
    getTableProperty(name) {
      return this.properties?.[name] ?? null;
    }
    getTableProperties() {
      return this.properties;
    }
    insertColumn(index, type, label = "", id = "") {
      this.columns.splice(index, 0, typeof type === "object" ? { ...type } : { type, label, id });
      for (const row of this.cells) row.splice(index, 0, cellOf(null));
      return index;
    }
    addColumn(type, label, id) {
      return this.insertColumn(this.columns.length, type, label, id);
    }
    removeColumn(index) {
      this.columns.splice(index, 1);
      for (const row of this.cells) row.splice(index, 1);
    }
    insertRows(index, given) {
      const rows = typeof given === "number" ? Array.from({ length: given }, () => []) : given;
      const made = rows.map((row) => this.columns.map((column, at) => {
        const cell = cellOf(row?.[at]);
        check(cell.v, column);
        return cell;
      }));
      this.cells.splice(index, 0, ...made);
      return index;
    }
    addRows(given) {
      this.insertRows(this.cells.length, given);
      return this.cells.length - 1;
    }
    addRow(row) {
      return this.addRows([row ?? []]);
    }
    removeRows(index, count) {
      this.cells.splice(index, count);
    }
    removeRow(index) {
      this.removeRows(index, 1);
    }
    setCell(row, index, value, formatted, properties) {
      const cell = this.cell(row, index);
      if (value !== undefined) {
        check(value, this.column(index));
        cell.v = value;
        cell.f = null;
      }
      if (formatted !== undefined) cell.f = formatted;
      if (properties !== undefined) cell.p = { ...properties };
    }
    setValue(row, index, value) {
      this.setCell(row, index, value);
    }
    setFormattedValue(row, index, formatted) {
      this.cell(row, index).f = formatted;
    }
    setProperty(row, index, name, value) {
      this.cell(row, index).p[name] = value;
    }
    setProperties(row, index, properties) {
      this.cell(row, index).p = { ...properties };
    }
    setColumnProperty(index, name, value) {
      const column = this.column(index);
      column.p = { ...column.p, [name]: value };
    }
    setColumnLabel(index, label) {
      this.column(index).label = label;
    }
    sort(by) {
      const kept = this.getSortedRows(by).map((row) => this.cells[row]);
      this.cells = kept;
    }
  }

  class DataView extends Source {
    constructor(source) {
      super();
      this.source = source;
      this.setColumns(source.columns.map((_, index) => index));
      this.kept = null;
    }
    get columns() {
      return this.chosen.map((spec) => {
        if (typeof spec === "number") return this.source.columns[spec];
        const base = spec.sourceColumn === undefined ? {} : this.source.column(spec.sourceColumn);
        return { id: "", label: "", ...base, type: spec.type ?? (spec.calc === "stringify" ? "string" : base.type), ...spec };
      });
    }
    setColumns(specs) {
      this.chosen = specs.map((spec) => (typeof spec === "string" ? this.source.getColumnIndex(spec) : spec));
    }
    hideColumns(hidden) {
      const indexes = hidden.map((name) => this.source.getColumnIndex(name));
      this.chosen = this.chosen.filter((spec) => !indexes.includes(spec));
    }
    getViewColumns() {
      return this.chosen;
    }
    setRows(first, last) {
      this.kept = Array.isArray(first) ? [...first] : Array.from({ length: last - first + 1 }, (_, at) => first + at);
    }
    hideRows(hidden) {
      this.kept = (this.kept ?? this.source.rows()).filter((row) => !hidden.includes(row));
    }
    getNumberOfRows() {
      return this.kept ? this.kept.length : this.source.getNumberOfRows();
    }
    getTableRowIndex(row) {
      return this.kept ? this.kept[row] : row;
    }
    getTableColumnIndex(index) {
      const spec = this.chosen[index];
      return typeof spec === "number" ? spec : (spec.sourceColumn ?? -1);
    }
    getTableProperty(name) {
      return this.source.getTableProperty(name);
    }
    at(row, index) {
      const from = this.getTableRowIndex(row);
      const spec = this.chosen[index];
      if (typeof spec === "number") return this.source.at(from, spec);
      if (typeof spec.calc === "function") return cellOf(spec.calc(this.source, from));
      const column = this.source.getColumnIndex(spec.sourceColumn);
      return spec.calc === "stringify" ? cellOf(this.source.getFormattedValue(from, column)) : this.source.at(from, column);
    }
  }

  /** Digits after the point of a pattern such as `##.#%`: [least, most]. */
  function digits(pattern) {
    const after = pattern.split(".")[1] ?? "";
    return [after.replace(/[^0]/g, "").length, after.replace(/[^0#]/g, "").length];
  }

  class NumberFormat {
    constructor(options = {}) {
      this.options = options;
    }
    formatValue(value) {
      const { pattern, fractionDigits = 2, prefix = "", suffix = "" } = this.options;
      if (value === null || value === undefined) return "";
      const [least, most] = pattern ? digits(pattern) : [fractionDigits, fractionDigits];
      const percent = pattern?.includes("%");
      const grouped = !pattern || pattern.includes(",");
      const style = { minimumFractionDigits: least, maximumFractionDigits: most, useGrouping: grouped };
      return `${prefix}${(percent ? value * 100 : value).toLocaleString("en-US", style)}${percent ? "%" : ""}${suffix}`;
    }
    format(table, index) {
      for (const row of table.rows()) {
        const value = table.getValue(row, index);
        if (value !== null) table.setFormattedValue(row, index, this.formatValue(Number(value)));
      }
    }
  }

  class PatternFormat {
    constructor(pattern) {
      this.pattern = pattern;
    }
    format(table, from, to = from[0]) {
      for (const row of table.rows()) {
        const text = this.pattern.replace(/\{(\d+)\}/g, (_, at) => table.getFormattedValue(row, from[Number(at)]));
        table.setFormattedValue(row, to, text);
      }
    }
  }

  function group(source, keys, sums = []) {
    const specs = keys.map((key) => (typeof key === "number" ? { column: key } : key));
    const valueOf = (row, { column, modifier }) => (modifier ? modifier(source.getValue(row, column)) : source.getValue(row, column));
    const groups = new Map();
    for (const row of source.rows()) {
      const values = specs.map((spec) => valueOf(row, spec));
      const name = JSON.stringify(values);
      if (!groups.has(name)) groups.set(name, { values, rows: [] });
      groups.get(name).rows.push(row);
    }
    const cols = specs.map((spec) => ({ ...source.column(spec.column), ...(spec.type && { type: spec.type }), ...(spec.label && { label: spec.label }) }));
    for (const { column, type, label, id } of sums) cols.push({ id: id ?? "", label: label ?? source.getColumnLabel(column), type });
    const sorted = [...groups.values()].sort((a, b) => a.values.reduce((found, value, at) => found || order(value, b.values[at]), 0));
    const rows = sorted.map(({ values, rows: members }) => ({
      c: [...values, ...sums.map(({ column, aggregation }) => aggregation(members.map((row) => source.getValue(row, column))))].map((v) => ({ v })),
    }));
    return new DataTable({ cols, rows });
  }

  const data = {
    group,
    sum: (values) => values.reduce((total, value) => total + value, 0),
    count: (values) => values.length,
    avg: (values) => data.sum(values) / values.length,
    min: (values) => values.reduce((a, b) => (b < a ? b : a)),
    max: (values) => values.reduce((a, b) => (b > a ? b : a)),
  };

  function arrayToDataTable(rows, headless = false) {
    const body = headless ? rows : rows.slice(1);
    const type = (index) => typeof (body.map((row) => cellOf(row[index]).v).find((value) => value !== null) ?? "");
    const cols = rows[0].map((given, index) => {
      if (headless) return { type: type(index), label: "", id: "" };
      return typeof given === "object" ? { type: given.type ?? type(index), ...given } : { type: type(index), label: String(given), id: "" };
    });
    return new DataTable({ cols, rows: body.map((row) => ({ c: row.map(cellOf) })) });
  }

  window.google = { visualization: { DataTable, DataView, NumberFormat, PatternFormat, arrayToDataTable, data } };
})();
