// What a page shows, collected in the page: texts, selectors, inputs, bars and icons, and every chart cell by cell.
(() => {
  const SKIPPED = new Set(["SCRIPT", "STYLE", "TEMPLATE", "NOSCRIPT", "LINK", "META"]);
  const ROWS_KEPT = 4000;
  const SEEN_STYLES = ["width", "height", "left", "top", "padding-left", "color", "background-color", "background"];

  /** Calls `visit` for every visible node, in the order of the page, through shadow roots; not below charts. */
  function walk(node, visit) {
    for (const child of Array.from(node.childNodes)) {
      if (child.nodeType === Node.TEXT_NODE) visit(child);
      if (child.nodeType !== Node.ELEMENT_NODE || SKIPPED.has(child.tagName)) continue;
      if (child.checkVisibility && !child.checkVisibility({ visibilityProperty: true })) continue;
      visit(child);
      if (child.__drawn) continue;
      if (child.shadowRoot) walk(child.shadowRoot, visit);
      walk(child, visit);
    }
  }

  function chart({ kind, source, options }) {
    const columns = source.columns.map(({ id, label, type, role }) => [id, label, type, role ?? ""]);
    const rows = source.rows().slice(0, ROWS_KEPT);
    const cells = rows.map((row) =>
      columns.map((_, index) => [source.getValue(row, index), source.getFormattedValue(row, index), source.getProperties(row, index)]),
    );
    return { kind, columns, length: source.getNumberOfRows(), cells, options: JSON.parse(JSON.stringify(options)) };
  }

  function drawn(element) {
    const parts = SEEN_STYLES.map((name) => element.style?.getPropertyValue(name) && `${name}: ${element.style.getPropertyValue(name)}`);
    const found = parts.filter(Boolean).join("; ");
    return found && `${element.tagName.toLowerCase()}.${String(element.className?.baseVal ?? element.className)} ${found}`;
  }

  /** The model of a trace viewer: the number and the names of events of every track. */
  function tracks() {
    let model = null;
    walkAll(document, (element) => {
      if (!model && element.model?.getAllProcesses) model = element.model;
    });
    if (!model) return [];
    const lines = [`bounds ${model.bounds.min} ${model.bounds.max}`];
    for (const process of model.getAllProcesses()) {
      lines.push(`process ${process.pid} ${process.name ?? ""} ${process.sortIndex} ${JSON.stringify(process.labels ?? [])}`);
      for (const thread of Object.values(process.threads ?? {})) {
        lines.push(`thread ${process.pid}/${thread.tid} ${thread.name ?? ""} ${thread.sortIndex}`);
        for (const { start, duration, title, args, colorId } of thread.sliceGroup?.slices ?? []) {
          lines.push(`slice ${process.pid}/${thread.tid} ${start} ${duration} ${title} ${JSON.stringify(args ?? {})} ${colorId}`);
        }
        for (const { start, duration, title } of thread.asyncSliceGroup?.slices ?? []) {
          lines.push(`async ${process.pid}/${thread.tid} ${start} ${duration} ${title}`);
        }
      }
      for (const counter of Object.values(process.counters ?? {})) {
        for (const series of counter.series ?? []) {
          const samples = series.samples.map(({ timestamp, value }) => `${timestamp}:${value}`);
          lines.push(`counter ${process.pid} ${counter.name} ${series.name} ${samples.join(" ")}`);
        }
      }
      lines.push(`instants ${process.pid} ${(process.instantEvents ?? []).length}`);
    }
    lines.push(`flows ${(model.flowEvents ?? []).length}`);
    return lines;
  }

  function walkAll(node, visit) {
    for (const element of Array.from(node.querySelectorAll("*"))) {
      visit(element);
      if (element.shadowRoot) walkAll(element.shadowRoot, visit);
    }
  }

  // What the page does when it is idle, such as looking for connected events, is part of loading.
  const idle = new Set();
  window.__idle = idle;
  const { requestIdleCallback, cancelIdleCallback } = window;
  window.requestIdleCallback = (callback, options) => {
    const id = requestIdleCallback((deadline) => {
      try {
        callback(deadline);
      } finally {
        idle.delete(id);
      }
    }, options);
    idle.add(id);
    return id;
  };
  window.cancelIdleCallback = (id) => {
    idle.delete(id);
    cancelIdleCallback(id);
  };

  window.__collect = () => {
    const found = { texts: [], selectors: [], inputs: [], drawings: [], charts: [], tracks: tracks(), refused: window.__refused ?? [] };
    walk(document.body, (node) => {
      if (node.nodeType === Node.TEXT_NODE) {
        const text = node.textContent.replace(/\s+/g, " ").trim();
        if (text) found.texts.push(text);
        return;
      }
      if (node.__drawn) found.charts.push(chart(node.__drawn));
      if (node.tagName === "MAT-SELECT") found.selectors.push(`${node.textContent.trim()} ${node.getAttribute("aria-disabled")}`);
      if (/^(INPUT|TEXTAREA|BUTTON|SELECT)$/.test(node.tagName)) {
        const state = node.type === "checkbox" ? node.checked : node.tagName === "BUTTON" ? node.textContent.trim() : node.value;
        found.inputs.push(`${node.tagName} ${node.type} ${node.getAttribute("aria-label") ?? node.placeholder ?? ""} = ${state} ${node.disabled ? "disabled" : ""}`);
      }
      if (node.title) found.texts.push(`[title] ${node.title}`);
      const style = drawn(node);
      if (style) found.drawings.push(style);
      if (/^(rect|circle|path|line)$/.test(node.tagName)) {
        found.drawings.push(`${node.tagName} ${["x", "y", "width", "height", "cx", "cy", "r", "d", "fill", "transform"].map((name) => node.getAttribute(name)).join(" ")}`);
      }
    });
    return found;
  };
})();
