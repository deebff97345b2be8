// The import rules of the house as data: room -> rooms it may import. A room may always import itself.
export const ROOMS = {
  base: [],
  api: ["base"],
  widgets: ["base"],
  timeline: ["base"],
  tools: ["base", "api", "widgets", "timeline"],
  app: ["base", "api", "widgets", "timeline", "tools"],
};

// Rooms whose folders are strangers to each other: tools/a must not import tools/b.
export const PARTITIONED = ["tools"];
