import { expect, test } from "bun:test";
import { join } from "node:path";

const module = join(import.meta.dir, "../../src/system/signals.ts");

/** What a process says on stderr whose stdout is read by `reader`, which then says so. */
async function told(reader: string): Promise<string> {
  const program = [
    `import { onReaderGone } from ${JSON.stringify(module)};`,
    "const end = onReaderGone(1, () => { process.stderr.write('gone\\n'); process.exit(); });",
    "process.stdin.on('data', () => { end(); process.stderr.write('ended\\n'); process.exit(); });",
    "console.log('first');",
  ].join("\n");
  const line = `"$1" -e "$2" | { head -n 1 >/dev/null; ${reader} }`;
  const child = Bun.spawn(["sh", "-c", line, "sh", process.execPath, program], {
    stdin: "pipe",
    stderr: "pipe",
    env: { PATH: process.env["PATH"] ?? "", BUN_RUNTIME_TRANSPILER_CACHE_PATH: "0" },
  });
  const decoder = new TextDecoder();
  let text = "";
  for await (const bytes of child.stderr) {
    text += decoder.decode(bytes);
    if (text === "reads on\n") {
      child.stdin.write("end\n");
      child.stdin.end();
    }
  }
  return text;
}

test("a process learns that nobody reads its output any more, without writing", async () => {
  expect(await told("exec <&-; echo closed >&2;")).toMatch(/^(closed\ngone|gone\nclosed)\n$/);
});

test("one whose reader is there and silent hears nothing", async () => {
  expect(await told("echo 'reads on' >&2; cat >/dev/null;")).toBe("reads on\nended\n");
});
