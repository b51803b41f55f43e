import { signal } from "@preact/signals";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { atGateway } from "./browser/surface.ts";
import { signOutAction } from "./client/actions.ts";
import { agents } from "./client/fleet.ts";
import { connection, hasSignedIn, waitingItems } from "./client/store.ts";
import {
  announcement,
  dialog,
  go,
  helpOpen,
  nextTheme,
  paletteOpen,
  propose,
  route,
  startRouter,
  theme,
} from "./client/ui.ts";
import { ActionDialog } from "./parts/action-dialog.tsx";
import { Help } from "./parts/help.tsx";
import { Palette } from "./parts/palette.tsx";
import { Ago, Empty, Key, lazy } from "./parts/pieces.tsx";
import { NeedsYou, takeNeedsYouKey } from "./screens/needs-you.tsx";
import { takeWallKey, Wall } from "./screens/wall.tsx";
import { nameOf } from "./state/agents.ts";
import { count } from "./state/format.ts";
import { type Route, wholeWall } from "./state/route.ts";

/** The frame around every screen: navigation, connection, keys and what lies over the page. */

const AgentScreen = lazy(async () => (await import("./screens/agent.tsx")).AgentScreen);
const Mail = lazy(async () => (await import("./screens/mail.tsx")).Mail);
const Launch = lazy(async () => (await import("./screens/launch.tsx")).Launch);
const Timeline = lazy(async () => (await import("./screens/timeline.tsx")).Timeline);

interface Place {
  screen: Route["screen"];
  name: string;
  href: string;
  key: string;
  icon: string;
}

const allPlaces: readonly Place[] = [
  { screen: "needs-you", name: "Needs you", href: "#/needs-you", key: "n", icon: "M8 2v7M8 12.5v1" },
  {
    screen: "wall",
    name: "Wall",
    href: "#/wall",
    key: "w",
    icon: "M2 2h5v5H2zM9 2h5v5H9zM2 9h5v5H2zM9 9h5v5H9z",
  },
  { screen: "mail", name: "Mail", href: "#/mail", key: "m", icon: "M2 4h12v8H2zM2 4l6 5 6-5" },
  {
    screen: "timeline",
    name: "Timeline",
    href: "#/timeline",
    key: "t",
    icon: "M2 13V9M6 13V4M10 13V7M14 13V2",
  },
];

/** At a gateway: its agent, and what waits there. */
function placesHere(): readonly Place[] {
  if (!atGateway) return allPlaces;
  const [view] = agents.value.values();
  const name = view ? nameOf(view.identity) : "Agent";
  const own: Place = {
    screen: "agent",
    name,
    href: "#/agents",
    key: "a",
    icon: "M2 3h12v10H2zM4 6l2 2-2 2M8 10h3",
  };
  return [own, ...allPlaces.filter(({ screen }) => screen === "needs-you")];
}

/** The first key of `g w`, `g n` and so on. */
const chord = signal(false);

function takeKey(event: KeyboardEvent): void {
  if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k") {
    event.preventDefault();
    paletteOpen.value = !paletteOpen.value;
    return;
  }
  const target = event.target as HTMLElement;
  const typing = target.closest("input, textarea, select, [contenteditable], .xterm, dialog") !== null;
  if (typing || event.ctrlKey || event.metaKey || event.altKey || dialog.value || paletteOpen.value) return;
  // A focused button or link takes Enter itself.
  if (event.key === "Enter" && target.closest("a, button, summary") !== null) return;
  if (takeGlobalKey(event.key) || takeScreenKey(event.key)) event.preventDefault();
}

function takeGlobalKey(key: string): boolean {
  const place = chord.value ? placesHere().find((one) => one.key === key) : undefined;
  chord.value = key === "g" && !chord.value;
  if (place) location.hash = place.href;
  else if (key === "?") helpOpen.value = true;
  else if (key === "Escape" && /agent|launch/.test(route.value.screen) && !atGateway) go(wholeWall);
  else return chord.value;
  return true;
}

function takeScreenKey(key: string): boolean {
  if (route.value.screen === "needs-you") return takeNeedsYouKey(key);
  return route.value.screen === "wall" && takeWallKey(key);
}

export function App() {
  const main = useRef<HTMLElement>(null);
  // With the first drawing: a key that is pressed at once must not be lost.
  useLayoutEffect(() => {
    const endRouter = startRouter();
    addEventListener("keydown", takeKey);
    return () => {
      removeEventListener("keydown", takeKey);
      endRouter();
    };
  }, []);
  const { screen } = route.value;
  const places = placesHere();
  const isBelowWall = screen === "agent" || screen === "launch";
  const waits = waitingItems.value.length;
  const shown = route.value.screen === "agent" ? agents.value.get(route.value.agent) : undefined;
  useEffect(() => {
    const name =
      places.find((one) => one.screen === screen)?.name ??
      (shown ? nameOf(shown.identity) : screen === "launch" ? "New agent" : "svc");
    document.title = `${waits > 0 ? `(${waits}) ` : ""}${name} · svc`;
  }, [screen, waits, shown]);
  return (
    <div class="frame">
      <button type="button" class="skip" onClick={() => main.current?.focus()}>
        Skip to the content
      </button>
      <nav aria-label="Screens">
        <span class="brand">svc</span>
        <ul>
          {places.map((place) => (
            <li key={place.screen}>
              <a
                href={place.href}
                aria-current={
                  place.screen === screen || (isBelowWall && place.screen === "wall") ? "page" : undefined
                }
              >
                <svg viewBox="0 0 16 16" width="16" height="16" aria-hidden="true">
                  <path d={place.icon} />
                </svg>
                <span>{place.name}</span>
                {place.screen === "needs-you" && waits > 0 ? (
                  <span class="badge">
                    {waits}
                    <span class="hidden"> waiting</span>
                  </span>
                ) : null}
              </a>
            </li>
          ))}
        </ul>
        <button
          type="button"
          class="search"
          onClick={() => {
            paletteOpen.value = true;
          }}
        >
          <span>Find</span> <Key>Ctrl K</Key>
        </button>
        <div class="foot">
          <ConnectionState />
          <button type="button" class="plain" onClick={nextTheme}>
            {theme.value === "system" ? "Auto" : theme.value === "light" ? "Light" : "Dark"}
            <span class="hidden"> colours, change them</span>
          </button>
          <button
            type="button"
            class="plain"
            aria-label="Keys"
            onClick={() => {
              helpOpen.value = true;
            }}
          >
            ?
          </button>
          {hasSignedIn.value ? (
            <button type="button" class="plain" onClick={() => propose(signOutAction)}>
              Sign out
            </button>
          ) : null}
        </div>
      </nav>
      <main id="main" ref={main} tabIndex={-1}>
        <LostConnection />
        <Screen />
      </main>
      <p class="hidden" role="status" aria-live="polite">
        {announcement.value}
      </p>
      <p class="hidden" aria-live="assertive">
        {waits > 0 ? `${count(waits, "item")} waiting for you` : "Nobody waits for you"}
      </p>
      <ActionDialog />
      <Palette />
      <Help />
    </div>
  );
}

function Screen() {
  if (connection.value.kind === "signed_out") return <SignIn />;
  const current = route.value;
  switch (current.screen) {
    case "needs-you":
      return <NeedsYou />;
    case "wall":
      return <Wall />;
    case "launch":
      return <Launch />;
    case "agent":
      return <AgentScreen key={agentIn(current)} id={agentIn(current)} tab={current.tab} />;
    case "mail":
      return <Mail agent={current.agent} thread={current.thread} />;
    case "timeline":
      return <Timeline agent={current.agent} at={current.at} />;
  }
}

/** A gateway has one agent, whatever the address names. */
function agentIn({ agent }: { agent: string }): string {
  const [own = agent] = atGateway ? agents.value.keys() : [];
  return own;
}

function SignIn() {
  return (
    <Empty title="Sign in" whole>
      This server asks for a token. On its machine, type <code>svc console</code> and open the link that it
      prints.
    </Empty>
  );
}

const stateNames = { connecting: "Connecting", live: "Live", lost: "Disconnected", signed_out: "Signed out" };

function ConnectionState() {
  const { kind } = connection.value;
  return <span class={`connection ${kind}`}>{stateNames[kind]}</span>;
}

function LostConnection() {
  const { kind, sinceMs } = connection.value;
  if (kind !== "lost") return null;
  return (
    <p class="lost" role="alert">
      The server does not answer since <Ago at={sinceMs} />. What is shown is from before. Trying again by
      itself.
    </p>
  );
}
