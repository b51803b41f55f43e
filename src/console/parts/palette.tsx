import { useState } from "preact/hooks";
import { atGateway } from "../browser/surface.ts";
import {
  interruptAction,
  reconcileAction,
  relaunchAction,
  signOutAction,
  stopAction,
} from "../client/actions.ts";
import { hasSignedIn, rows } from "../client/store.ts";
import { go, nextTheme, paletteOpen, propose, route } from "../client/ui.ts";
import type { AgentRow } from "../state/agents.ts";
import { search } from "../state/match.ts";
import { wholeWall } from "../state/route.ts";
import { Modal } from "./modal.tsx";

interface Entry {
  name: string;
  hint: string;
  act: () => void;
}

const maxShown = 12;

const needsYou: Entry = {
  name: "Needs you",
  hint: "screen",
  act: () => go({ screen: "needs-you", item: null }),
};

const colours: Entry = { name: "Change the colours", hint: "auto, light, dark", act: nextTheme };

const signOut: Entry = { name: "Sign out", hint: "this browser", act: () => propose(signOutAction) };

const screensOfAll: readonly Entry[] = [
  { name: "New agent", hint: "screen", act: () => go({ screen: "launch" }) },
  { name: "Wall", hint: "screen", act: () => go(wholeWall) },
  { name: "Mail", hint: "screen", act: () => go({ screen: "mail", agent: null, thread: null }) },
  { name: "Timeline", hint: "screen", act: () => go({ screen: "timeline", agent: null, at: null }) },
];

const screens = [needsYou, ...(atGateway ? [] : screensOfAll), colours];

function entriesOf(row: AgentRow): Entry[] {
  const { id, name, view } = row;
  const entry = (verb: string, act: () => void): Entry => ({ name: `${verb} ${name}`, hint: "action", act });
  return [
    entry("Interrupt", () => propose(interruptAction(view))),
    entry("Prompt", () => go({ screen: "agent", agent: id, tab: "queue" })),
    entry("Transcript of", () => go({ screen: "agent", agent: id, tab: "transcript" })),
    entry("Mail of", () =>
      go(
        atGateway ? { screen: "agent", agent: id, tab: "mail" } : { screen: "mail", agent: id, thread: null },
      ),
    ),
    ...(atGateway ? [] : [entry("Timeline of", () => go({ screen: "timeline", agent: id, at: null }))]),
    entry("Stop", () => propose(stopAction(view))),
    entry("Relaunch", () => propose(relaunchAction(view))),
    entry("Reconcile", () => propose(reconcileAction(view))),
  ];
}

/** Agents first, then screens; the actions of an agent once its name or a verb is typed. */
function allEntries(query: string): Entry[] {
  const list = rows.value;
  const current = route.value;
  const open = list.map(
    (row): Entry => ({
      name: row.name,
      hint: `${row.view.identity.tool} · ${row.condition.word}`,
      act: () => go({ screen: "agent", agent: row.id, tab: "terminal" }),
    }),
  );
  const near = list.filter(({ id }) => current.screen === "agent" && current.agent === id).flatMap(entriesOf);
  return [
    ...near,
    ...open,
    ...screens,
    ...(hasSignedIn.value ? [signOut] : []),
    ...(query === "" ? [] : list.flatMap(entriesOf)),
  ];
}

/** Finds agents and actions by a few letters. */
export function Palette() {
  return paletteOpen.value ? <Finder /> : null;
}

function Finder() {
  const [query, setQuery] = useState("");
  const [at, setAt] = useState(0);
  const found = search(query, allEntries(query), ({ name }) => name, maxShown);
  const close = () => {
    paletteOpen.value = false;
  };
  const run = (entry: Entry | undefined) => {
    if (entry === undefined) return;
    close();
    entry.act();
  };
  const takeKey = (event: KeyboardEvent) => {
    if (event.key === "ArrowDown") setAt(Math.min(found.length - 1, at + 1));
    else if (event.key === "ArrowUp") setAt(Math.max(0, at - 1));
    else if (event.key === "Enter") run(found[at]);
    else return;
    event.preventDefault();
  };
  return (
    <Modal kind="palette" label={{ text: "Find agents and actions" }} onClose={close} lightly>
      <input
        type="text"
        role="combobox"
        aria-expanded="true"
        aria-controls="palette-list"
        aria-activedescendant={found.length > 0 ? `palette-${at}` : undefined}
        aria-label="Find agents and actions"
        placeholder="Agent or action"
        autofocus
        value={query}
        onInput={(event) => {
          setQuery(event.currentTarget.value);
          setAt(0);
        }}
        onKeyDown={takeKey}
      />
      <div id="palette-list" role="listbox" aria-label="Matches">
        {found.map((entry, index) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the keys are those of the input
          // biome-ignore lint/a11y/useFocusableInteractive: the input keeps the focus
          <div
            key={`${entry.hint} ${entry.name}`}
            id={`palette-${index}`}
            role="option"
            aria-selected={index === at}
            onClick={() => run(entry)}
          >
            <span>{entry.name}</span>
            <span class="quiet">{entry.hint}</span>
          </div>
        ))}
      </div>
      {found.length === 0 ? <p class="quiet">Nothing matches.</p> : null}
    </Modal>
  );
}
