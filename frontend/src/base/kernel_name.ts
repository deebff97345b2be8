// Short names of GPU kernels: the function, and of its template arguments those that tell kernels apart.

const LONGEST_PLAIN = 48;
const MOST_TOKENS = 4;
/** Words of more parts between underscores, such as those of CUTLASS, are told apart by their parts. */
const MOST_PARTS = 5;
/** Types and words that many kernels share. */
const COMMON =
  /^(?:void|const|volatile|unsigned|signed|bool|char|short|int|long|float|double|half|operator|lambda|std|array|Array|nullptr|decltype|true|false)$|^\d/;
const NEVER = /^(?:void|const|volatile|operator|lambda|type)$/;
/** Words before a function that are not its name. */
const RETURNED = /^(?:decltype|const|typename|std::enable_if)\b/;
/** Parameters of a function that a lambda is in. */
const ENCLOSING = /\([^()]*\)(?=(?: const)?::\{)/g;

interface Signature {
  /** The function without return type, namespaces and arguments. */
  base: string;
  /** Its template arguments as written. */
  args: readonly string[];
}

/** Depth in brackets before each character. `->` and comparison operators do not occur in demangled names of kernels. */
function pieces(text: string, separator: string): string[] {
  const parts: string[] = [];
  let [depth, begin] = [0, 0];
  for (let i = 0; i < text.length; i++) {
    const char = text.charAt(i);
    if ("<({[".includes(char)) depth++;
    else if (">)}]".includes(char)) depth--;
    else if (depth === 0 && text.startsWith(separator, i)) {
      parts.push(text.slice(begin, i));
      begin = i + separator.length;
      i = begin - 1;
    }
  }
  return [...parts, text.slice(begin)].map((part) => part.trim()).filter(Boolean);
}

/** The function and template arguments of a demangled C++ name; other names are their own base. */
function signatureOf(name: string): Signature {
  const plain = name.replace(/\(anonymous namespace\)::/g, "").replace(/\.kd$/, "");
  if (!/[<(]/.test(plain)) return { base: plain, args: [] };
  const path = pieces(pieces(plain, " ").find((word) => /[<(]/.test(word) && !RETURNED.test(word)) ?? plain, "::");
  const own = [...path].reverse().find((part) => /^[A-Za-z_~]/.test(part) && !part.startsWith("operator")) ?? plain;
  const base = /^[\w~]+/.exec(own)?.[0] ?? plain;
  const open = own.indexOf("<");
  const inside = open === base.length ? own.slice(open + 1, closing(own, open)) : "";
  return { base, args: pieces(inside.replace(ENCLOSING, ""), ",") };
}

/** Index of the bracket that closes the one at `open`. */
function closing(text: string, open: number): number {
  let depth = 0;
  for (let i = open; i < text.length; i++) {
    if ("<({[".includes(text.charAt(i))) depth++;
    else if (">)}]".includes(text.charAt(i)) && --depth === 0) return i;
  }
  return text.length;
}

/** Names and numbers in arguments, without namespaces and repetitions. */
const tokensOf = (text: string): string[] => [
  ...new Set(
    (text.match(/[A-Za-z_]\w*(?:::[A-Za-z_]\w*)*|#\d+|\b\d+u?l*/g) ?? [])
      .map((word) => word.replace(/^.*::/, "").replace(/^(\d+)u?l*$/, "$1"))
      .filter((word) => !NEVER.test(word)),
  ),
];

/** What each member of a group of kernels with the same function has in its arguments and not all of them have. */
function differing(group: readonly Signature[]): string[][] {
  const count = group[0]?.args.length ?? 0;
  const aligned = group.every(({ args }) => args.length === count);
  const places = aligned
    ? Array.from({ length: count }, (_, i) => group.map(({ args }) => args[i] ?? ""))
    : [group.map(({ args }) => args.join())];
  const parts = places
    .filter((texts) => new Set(texts).size > 1)
    .map((texts) => {
      const words = texts.map(tokensOf);
      const single = words.every(({ length }) => length <= 1);
      if (single && !words.every(([word = ""]) => word.split("_").length > MOST_PARTS)) return words;
      const tokens = single ? words.map(([word = ""]) => word.split("_")) : words;
      const sets = tokens.map((words) => new Set(words));
      return tokens.map((words) => words.filter((word) => !sets.every((set) => set.has(word))));
    });
  const once = (words: string[]): string[] => words.filter((word, i) => /^\d/.test(word) || words.indexOf(word) === i);
  return group.map((_, i) => once(parts.flatMap((tokens) => tokens[i] ?? [])));
}

const withArgs = (base: string, tokens: readonly string[]): string => (tokens.length ? `${base}<${tokens.join(", ")}>` : base);

/** The beginning of a long name without brackets, up to an underscore. */
function beginning(base: string): string {
  if (base.length <= LONGEST_PLAIN) return base;
  const cut = base.lastIndexOf("_", LONGEST_PLAIN);
  return cut > 0 ? `${base.slice(0, cut)}…` : base;
}

/** The candidates for a kernel's short name, the shortest first. */
function candidates({ base, args }: Signature, different: readonly string[], alone: boolean): string[] {
  if (args.length === 0) return [beginning(base), base];
  const named = [...new Set(args.flatMap(tokensOf))].filter((word) => !COMMON.test(word));
  if (alone) return [withArgs(base, named.slice(0, 1)), withArgs(base, args.flatMap(tokensOf))];
  const telling = different.filter((word) => !COMMON.test(word));
  return [
    ...(telling.length === different.length || telling.length > MOST_TOKENS ? [withArgs(base, telling.slice(0, MOST_TOKENS))] : []),
    withArgs(base, different.slice(0, MOST_TOKENS)),
    withArgs(base, different),
  ];
}

/** Short names by full name: as short as possible, all different. A name that nothing shorter tells apart stays as it is. */
export function shortKernelNames(names: readonly string[]): ReadonlyMap<string, string> {
  const all = [...new Set(names)];
  const groups = new Map<string, { name: string; signature: Signature }[]>();
  for (const name of all) {
    const signature = signatureOf(name);
    const group = groups.get(signature.base);
    if (group) group.push({ name, signature });
    else groups.set(signature.base, [{ name, signature }]);
  }
  const choices = new Map<string, string[]>();
  for (const group of groups.values()) {
    const different = differing(group.map(({ signature }) => signature));
    group.forEach(({ name, signature }, i) => choices.set(name, [...candidates(signature, different[i] ?? [], group.length === 1), name]));
  }
  // The first level at which the name is unique, at any level.
  const uses = new Map<string, Set<string>>();
  for (const [name, options] of choices) for (const option of options) uses.set(option, (uses.get(option) ?? new Set()).add(name));
  return new Map([...choices].map(([name, options]) => [name, options.find((option) => uses.get(option)?.size === 1) ?? name]));
}

/** A name that a kernel's is part of: what is before it, the kernel, and what follows. */
export type NameParts = readonly [before: string, kernel: string, after: string];

/** Short names by full name, of which only the kernel's part is shortened. */
export function shortNamesWithin(names: readonly NameParts[]): ReadonlyMap<string, string> {
  const short = shortKernelNames(names.map(([, kernel]) => kernel));
  return new Map(names.map(([before, kernel, after]) => [before + kernel + after, before + (short.get(kernel) ?? kernel) + after]));
}

/** The parts of an op's name on GPUs, `Linear_0/aten::addmm/KERNEL`; `kind` is that of the op, `aten::addmm`. Other ops have no kernel. */
export function partsOfOp(name: string, kind: string): NameParts {
  const at = kind === "" ? -1 : `/${name}`.indexOf(`/${kind}/`);
  const cut = at < 0 ? name.length : at + kind.length + 1;
  return [name.slice(0, cut), name.slice(cut), ""];
}

/** The parts of a collective's name, `KERNEL [all-reduce, 65536 float]`: its kernel, and what it sends. */
export function partsOfCollective(name: string): NameParts {
  const at = name.indexOf(" [");
  const cut = at < 0 ? name.length : at;
  return ["", name.slice(0, cut), name.slice(cut)];
}
