import type { ProviderTurn } from "../provider.ts";

/** The flags that choose a conversation: `exact` precedes its id, `last` is alone, none begins a new one. */
export function sessionFlags(
  { session }: ProviderTurn,
  flags: { exact: string; last: readonly string[] },
): string[] {
  switch (session.mode) {
    case "new":
      return [];
    case "exact":
      return [flags.exact, session.id];
    case "tool_last_or_new":
      return [...flags.last];
  }
}

/** For tools without a flag for the role: it precedes the first prompt of a conversation. */
export function promptWithRole({ session, rolePrompt, prompt }: ProviderTurn): string {
  return rolePrompt === null || session.mode !== "new" ? prompt : `${rolePrompt}\n\n${prompt}`;
}

/** The flag of a model that this turn names. */
export function modelFlags({ model }: ProviderTurn): string[] {
  return model?.name ? ["--model", model.name] : [];
}

/** What to run, and its first arguments: those of the launch. */
export function programOf({ executable, args }: ProviderTurn): [string, ...string[]] {
  return [executable, ...args];
}
