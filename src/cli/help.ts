import type { Flag } from "./command.ts";
import { renderTable } from "./format.ts";
import { childrenOf, everywhere, type Station, wordsOf } from "./parse.ts";

/** The help of the last command of `chain`: what it does, how it is called, its flags, an example. */
export async function renderHelp(chain: readonly Station[]): Promise<string> {
  const here = chain.at(-1);
  if (!here) return "";
  const children = (await childrenOf(here.command)).filter((child) => !child.meta.hidden);
  const own = Object.entries(here.flags);
  const positionals = own.filter(([, flag]) => flag.type === "positional");
  const options = own.filter(([, flag]) => flag.type !== "positional");
  const above = chain.slice(0, -1).flatMap((station) => Object.entries(station.flags));
  const sections = [
    here.meta.description,
    `Usage:\n  ${usageLine(chain, positionals, children.length > 0)}`,
    listing(
      "Commands",
      children.map((child) => [child.word, child.meta.description]),
    ),
    listing(
      "Arguments",
      positionals.map(([name, flag]) => [`<${name}>`, flag.description]),
    ),
    listing("Options", options.flatMap(describe)),
    listing("Options of every command", [...above, ...Object.entries(everywhere)].flatMap(describe)),
    here.meta.examples.length > 0
      ? `Examples:\n${here.meta.examples.map((line) => `  ${line}`).join("\n")}`
      : "",
  ];
  return `${sections.filter((section) => section !== "").join("\n\n")}\n`;
}

function usageLine(
  chain: readonly Station[],
  positionals: readonly [string, Flag][],
  isGroup: boolean,
): string {
  const { rest } = chain.at(-1)?.meta ?? {};
  return [
    ...wordsOf(chain),
    ...(isGroup ? ["<command>"] : []),
    ...positionals.map(([name, flag]) =>
      flag.type === "positional" && flag.required === false ? `[<${name}>]` : `<${name}>`,
    ),
    "[options]",
    ...(rest === undefined ? [] : [`[-- ${rest}]`]),
  ].join(" ");
}

function describe([name, flag]: [string, Flag]): [string, string][] {
  if (flag.hidden) return [];
  const short = flag.alias ? `-${flag.alias}, ` : "";
  const value =
    flag.type === "enum"
      ? ` ${flag.options.join("|")}`
      : flag.type === "string"
        ? ` ${hint(name, flag)}`
        : "";
  return [[`${short}--${name}${value}`, notes(flag)]];
}

function hint(name: string, flag: Flag): string {
  return flag.valueHint ?? name.toUpperCase().replaceAll("-", "_");
}

function notes(flag: Flag): string {
  if (flag.type === "boolean" || flag.type === "positional") return flag.description;
  if (flag.required) return `${flag.description} (required)`;
  if (flag.type === "string" && flag.multiple) return `${flag.description} (may be repeated)`;
  return flag.default === undefined ? flag.description : `${flag.description} (default ${flag.default})`;
}

function listing(title: string, rows: readonly (readonly [string, string])[]): string {
  if (rows.length === 0) return "";
  const [first, ...others] = rows.map(([left, right]) => [`  ${left}`, right]);
  return `${title}:\n${renderTable(first ?? [], others)}`;
}
