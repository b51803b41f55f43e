import { readFileSync } from "node:fs";
import { join } from "node:path";

const examples = join(import.meta.dir, "..", "..", "examples");

/** What a service manager is told to run, and with which settings. */
export interface Service {
  command: string[];
  env: Record<string, string>;
  settings: Record<string, string>;
}

/**
 * A systemd unit as systemd reads it, for the user whose home is `home` and the instance `instance`.
 * `variables`: what the unit's environment file holds.
 */
export function readUnit(
  name: string,
  {
    home,
    instance = "",
    variables = {},
  }: { home: string; instance?: string; variables?: Record<string, string> },
): Service {
  const lines = readFileSync(join(examples, "systemd", name), "utf8").matchAll(/^(\w+)=(.*)$/gm);
  const expand = (text: string) =>
    text
      .replaceAll("%h", home)
      .replaceAll("%i", instance)
      .replace(/\$\{(\w+)\}/g, (_, variable: string) => variables[variable] ?? "");
  const settings: Record<string, string> = {};
  const env: Record<string, string> = { HOME: home, ...variables };
  for (const [, key = "", value = ""] of lines) {
    const [variable = "", ...rest] = expand(value).split("=");
    if (key === "Environment") env[variable] = rest.join("=");
    else settings[key] = value;
  }
  return { command: (settings["ExecStart"] ?? "").split(" ").map(expand), env, settings };
}

/** A launchd property list; `settings` are its keys that are plainly true or false. */
export function readPropertyList(name: string, home: string): Service {
  const text = readFileSync(join(examples, "launchd", name), "utf8");
  const under = (key: string, kind: string) =>
    new RegExp(`<key>${key}</key>\\s*<${kind}>([\\s\\S]*?)</${kind}>`).exec(text)?.[1] ?? "";
  const pairs = [
    ...under("EnvironmentVariables", "dict").matchAll(/<key>(.*)<\/key>\s*<string>(.*)<\/string>/g),
  ];
  const flags = [...text.matchAll(/<key>(\w+)<\/key>\s*<(true|false)\/>/g)];
  return {
    command: [...under("ProgramArguments", "array").matchAll(/<string>(.*)<\/string>/g)].map(
      ([, word = ""]) => word,
    ),
    env: { HOME: home, ...Object.fromEntries(pairs.map(([, key = "", value = ""]) => [key, value])) },
    settings: Object.fromEntries(flags.map(([, key = "", value = ""]) => [key, value])),
  };
}
