import { relative, resolve } from "node:path";
import { plugin } from "bun";

/**
 * Preloaded, this makes each named function of src note its call as `path#name`. Functions without a name or
 * without a body in braces are not noted.
 */
const root = resolve(import.meta.dir, "../..");
const transpiler = new Bun.Transpiler({ loader: "ts", target: "bun" });
/** A head of a function as the transpiler prints it: on one line that ends with the opening brace. */
const heads = [
  /^\s*(?:export )?(?:async )?function\*? ([\w$]+)\(.*\) \{$/,
  /^\s*(?:export )?(?:const|let) ([\w$]+) = (?:async )?\(?.*\)? => \{$/,
  /^\s*([\w$]+): (?:async )?\(?.*\)? => \{$/,
  /^\s*(?:async )?\*?([\w$]+)\(.*\) \{$/,
];
const keywords = new Set(["if", "for", "while", "switch", "catch", "function", "with"]);

function instrument(source: string, path: string): string {
  const note = (line: string) => {
    const name = heads.map((head) => head.exec(line)?.[1]).find((found) => found !== undefined);
    if (name === undefined || keywords.has(name)) return line;
    return `${line} globalThis.notedCall?.(${JSON.stringify(`${path}#${name}`)});`;
  };
  return transpiler.transformSync(source).split("\n").map(note).join("\n");
}

plugin({
  name: "walk",
  setup(build) {
    build.onLoad({ filter: /\/src\/.*\.ts$/ }, async ({ path }) => ({
      contents: instrument(await Bun.file(path).text(), relative(root, path)),
      loader: "js",
    }));
  },
});
