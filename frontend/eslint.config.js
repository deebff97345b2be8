// Typed linting, no `any`, and the import rules of the house (rooms.js) as a small rule of our own.
import path from "node:path";
import { fileURLToPath } from "node:url";
import tseslint from "typescript-eslint";
import { PARTITIONED, ROOMS } from "./rooms.js";

const SRC = fileURLToPath(new URL("./src", import.meta.url));

/** Splits a file below src into its room and, in a partitioned room, the folder within it. */
function place(file) {
  const [room, folder] = path.relative(SRC, file).split(path.sep);
  return { room, folder };
}

const roomImports = {
  meta: { type: "problem", schema: [], messages: { bad: "{{from}} must not import {{to}} (see rooms.js)" } },
  create(context) {
    const here = place(context.filename);
    const allowed = ROOMS[here.room];
    if (!allowed) return {};
    const check = (node) => {
      const source = node.source?.value;
      if (typeof source !== "string" || !source.startsWith(".")) return;
      const there = place(path.resolve(path.dirname(context.filename), source));
      const sameRoom = there.room === here.room;
      const ok = sameRoom
        ? !PARTITIONED.includes(here.room) || here.folder === there.folder
        : allowed.includes(there.room);
      if (!ok) {
        const name = (p) => (PARTITIONED.includes(p.room) ? `${p.room}/${p.folder}` : p.room);
        context.report({ node, messageId: "bad", data: { from: name(here), to: name(there) } });
      }
    };
    return {
      ImportDeclaration: check,
      ExportNamedDeclaration: check,
      ExportAllDeclaration: check,
      ImportExpression: check,
    };
  },
};

export default tseslint.config(
  { ignores: ["node_modules", "public"] },
  {
    files: ["src/**/*.{ts,tsx}"],
    extends: [...tseslint.configs.recommendedTypeChecked],
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    plugins: { house: { rules: { rooms: roomImports } } },
    rules: {
      "house/rooms": "error",
      "@typescript-eslint/no-explicit-any": "error",
      "@typescript-eslint/consistent-type-imports": "error",
      "@typescript-eslint/switch-exhaustiveness-check": "error",
      "@typescript-eslint/no-non-null-assertion": "error",
      eqeqeq: "error",
      "no-console": "error",
      "max-lines": ["error", { max: 400 }],
    },
  },
  {
    // Indexes into the typed-array columns of the timeline are in range by construction (binary searches, row index).
    files: ["src/timeline/**/*.ts"],
    rules: { "@typescript-eslint/no-non-null-assertion": "off" },
  },
);
