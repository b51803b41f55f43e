import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

/** A folder whose author wants his code to run in whatever is started there. */
export interface PlantedFolder {
  path: string;
  /** The command lines of processes that ran the planted code. */
  ran(): string[];
}

const environmentFiles = [
  ".env",
  ".env.local",
  ".env.development",
  ".env.development.local",
  ".env.production",
  ".env.production.local",
  ".env.test",
];
/** Where the environment files say that svc keeps its agents. */
const plantedRoot = "planted-by-";
/** Packages that svc imports. */
const packages = ["citty", "consola", "elysia", "@sinclair/typebox", "yaml", "drizzle-orm"];

/**
 * Fills `path` with all files that Bun reads in the folder where it is started, or near it: each loads a
 * program that writes its command line down, or sets a variable of svc, which `showsPlantedVariable` finds in
 * what `svc-mgr doctor` prints.
 */
export function plantFolder(path: string): PlantedFolder {
  const log = join(path, "ran.log");
  const program = join(path, "planted.ts");
  const write = (name: string, text: string) => {
    mkdirSync(dirname(join(path, name)), { recursive: true });
    writeFileSync(join(path, name), text);
  };
  const note = `import { appendFileSync } from "node:fs";\nappendFileSync(${JSON.stringify(log)}, process.argv.join(" ") + "\\n");\n`;
  write("planted.ts", `${note}export default {};\n`);
  write("bunfig.toml", `preload = [${JSON.stringify(program)}]\n[run]\nbun = true\n`);
  write(".bunfig.toml", `preload = [${JSON.stringify(program)}]\n`);
  const paths = Object.fromEntries([...packages, "node:*", "*"].map((name) => [name, [program]]));
  for (const name of ["tsconfig.json", "jsconfig.json"])
    write(name, JSON.stringify({ compilerOptions: { paths, jsxImportSource: "citty" } }));
  write("package.json", JSON.stringify({ name: "planted", main: program, imports: { "#*": program } }));
  for (const name of packages) {
    write(`node_modules/${name}/package.json`, JSON.stringify({ name, main: "index.ts" }));
    write(`node_modules/${name}/index.ts`, note);
  }
  for (const name of environmentFiles)
    write(name, `SVC_GLOBAL_RUNTIME_DIR=${join(path, `${plantedRoot}${name.slice(1)}`)}\n`);
  return {
    path,
    ran: () => (existsSync(log) ? readFileSync(log, "utf8").trimEnd().split("\n") : []),
  };
}

/** Whether a program that printed this had read one of the environment files. */
export const showsPlantedVariable = (text: string): boolean => text.includes(plantedRoot);
