import { relative, resolve } from "node:path";
import { plugin } from "bun";
import { type Node, parseSync, visitorKeys } from "oxc-parser";

/**
 * Preloaded, this makes each function of src note its calls as `path#name`, with the position of its body for
 * one without a name: `path#name:1234`, after the function around it.
 */
const root = resolve(import.meta.dir, "../..");

interface Insertion {
  at: number;
  text: string;
}

function instrument(source: string, path: string): string {
  const insertions: Insertion[] = [];
  const visit = (node: Node, parent: Node | null, around: string): void => {
    let name = around;
    if (
      node.type === "FunctionDeclaration" ||
      node.type === "FunctionExpression" ||
      node.type === "ArrowFunctionExpression"
    ) {
      const { body } = node;
      // A signature without a body is a type.
      if (!body) return;
      const own = nameOf(node, parent, source);
      name = own ?? around;
      const call = own === null ? `${path}#${around}:${body.start}` : `${path}#${own}`;
      const note = `globalThis.notedCall?.(${JSON.stringify(call)})`;
      if (body.type === "BlockStatement") insertions.push({ at: body.start + 1, text: ` ${note};` });
      else {
        // Parentheses around the body belong to none of its nodes: the comma goes inside of ours.
        const signatureEnd = node.returnType?.end ?? lastEnd(node.params, node.start);
        const arrow = source.indexOf("=>", signatureEnd) + 2;
        insertions.push({ at: arrow, text: ` (${note},` }, { at: node.end, text: ")" });
      }
    }
    for (const key of visitorKeys[node.type] ?? []) {
      const child = (node as unknown as Record<string, unknown>)[key];
      for (const one of Array.isArray(child) ? child : [child]) if (isNode(one)) visit(one, node, name);
    }
  };
  visit(parseSync(path, source).program, null, "module");
  // From the end, so that positions stay; of two at one position the inner one is behind.
  return insertions
    .map((insertion, order) => ({ ...insertion, order }))
    .sort((one, other) => other.at - one.at || one.order - other.order)
    .reduce((text, { at, text: added }) => text.slice(0, at) + added + text.slice(at), source);
}

const isNode = (value: unknown): value is Node =>
  value !== null && typeof value === "object" && "type" in value && "start" in value;

/** Behind the last parameter: the types and default values of parameters have `=>` too. */
function lastEnd(params: readonly { end: number }[], start: number): number {
  return params.at(-1)?.end ?? start;
}

/** What declares, keeps or is assigned the function; null for one that is an argument or a result. */
function nameOf(node: Node, parent: Node | null, source: string): string | null {
  const textOf = ({ start, end }: { start: number; end: number }) => source.slice(start, end);
  if ("id" in node && node.id && "name" in node.id) return String(node.id.name);
  if (parent?.type === "VariableDeclarator" && parent.id.type === "Identifier") return parent.id.name;
  if (parent?.type === "Property" || parent?.type === "MethodDefinition") return textOf(parent.key);
  if (parent?.type === "PropertyDefinition") return textOf(parent.key);
  if (parent?.type === "AssignmentExpression") return textOf(parent.left);
  return null;
}

plugin({
  name: "walk",
  setup(build) {
    build.onLoad({ filter: /\/src\/.*\.tsx?$/ }, async ({ path }) => ({
      contents: instrument(await Bun.file(path).text(), relative(root, path)),
      loader: path.endsWith("x") ? "tsx" : "ts",
    }));
  },
});
