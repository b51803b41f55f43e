import { join } from "node:path";
import { plugin } from "bun";

// Preloaded into a process that is to run with one module changed: MUTATION is JSON with `module`, `text` and
// `replacement`. The file itself is never touched.

const { module, text, replacement } = JSON.parse(process.env["MUTATION"] ?? "{}") as Record<string, string>;
const path = join(import.meta.dir, "../..", module ?? "");
const source = await Bun.file(path).text();
const parts = source.split(text ?? "");
if (parts.length !== 2) throw new Error(`${module} does not hold the text of its mutation exactly once`);

plugin({
  name: "mutation",
  setup(build) {
    build.onLoad({ filter: new RegExp(`${path.replace(/[.\\/]/g, "\\$&")}$`) }, () => ({
      contents: parts.join(replacement ?? ""),
      loader: "ts",
    }));
  },
});
