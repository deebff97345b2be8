// Typed linting, no `any`, and the import rules of the house (rooms.js) as a small rule of our own.
import path from "node:path";
import { fileURLToPath } from "node:url";
import tseslint from "typescript-eslint";
import { PARTITIONED, ROOMS } from "./rooms.js";

const SRC = fileURLToPath(new URL("./src", import.meta.url));

/** The room of a file: the longest entry of ROOMS that its path begins with; in a partitioned room also the folder within it. */
function place(file) {
  const below = path.relative(SRC, file).split(path.sep).join("/");
  const room = Object.keys(ROOMS)
    .filter((name) => below.startsWith(`${name}/`))
    .sort((a, b) => b.length - a.length)[0];
  const [top, folder] = below.split("/");
  return { room, top, folder: PARTITIONED.includes(top) ? folder : null };
}

const covers = (room, other) => other === room || other.startsWith(`${room}/`);

/** Whether the module at `here` may import the one at `there`. */
function mayImport(here, there, isTest) {
  if (here.top === there.top && here.folder !== there.folder) return false;
  if (covers(here.room, there.room) || (isTest && here.top === there.top)) return true;
  return ROOMS[here.room].some((name) => covers(name, there.room));
}

const roomImports = {
  meta: { type: "problem", schema: [], messages: { bad: "{{from}} must not import {{to}} (see rooms.js)" } },
  create(context) {
    const here = place(context.filename);
    if (here.room === undefined) return {};
    const isTest = /\.test\.tsx?$/.test(context.filename);
    const check = (node) => {
      const source = node.source?.value;
      if (typeof source !== "string" || !source.startsWith(".")) return;
      const there = place(path.resolve(path.dirname(context.filename), source));
      if (there.room !== undefined && mayImport(here, there, isTest)) return;
      const name = ({ room, folder }) => [room ?? "src", folder].filter(Boolean).join("/");
      context.report({ node, messageId: "bad", data: { from: name(here), to: name(there) } });
    };
    return { ImportDeclaration: check, ExportNamedDeclaration: check, ExportAllDeclaration: check, ImportExpression: check };
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
    },
  },
  {
    // Indexes into the typed-array columns of the timeline are in range by construction (binary searches, row index).
    files: ["src/timeline/**/*.ts"],
    rules: { "@typescript-eslint/no-non-null-assertion": "off" },
  },
);
