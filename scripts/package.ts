import { join, resolve } from "node:path";
import { readArguments, readFolder } from "./arguments.ts";
import { bootstrap, repositoryRoot } from "./bootstrap.ts";
import { buildFirst } from "./build-first.ts";
import { packPackage } from "./npm-package.ts";
import { targetOfThisMachine } from "./release-targets.ts";

const usage = `
Usage: bun run package [FOLDER]

Makes the npm package of this machine, svc-mgr-VERSION-TARGET.tgz, in dist/ or FOLDER. Install it by its path:
\`npm install --global ./dist/svc-mgr-VERSION-TARGET.tgz\`. Needs npm. For other machines: \`bun run release\`.
`;

const folder = resolve(repositoryRoot, readArguments(usage, readFolder) ?? "dist");
const target = targetOfThisMachine();

await bootstrap({ tmux: false });
await buildFirst();
console.log(await packPackage(target, join(repositoryRoot, "dist"), folder));
