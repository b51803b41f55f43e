import { Unicode11Addon } from "@xterm/addon-unicode11";
import { Terminal } from "@xterm/xterm";
import type { TerminalMessage, ViewerMessage } from "../../protocol/console.ts";
import type { TypingLease } from "../../protocol/gateway.ts";
import { after } from "../browser/browser.ts";
import { atGateway } from "../browser/surface.ts";
import { socketPaths } from "../client/operations.ts" with { type: "macro" };

/** The live terminal of one agent. Loaded when a reader opens one: xterm is larger than all the rest. */

export interface TerminalState {
  /** Why there is no live picture now; null while there is one. */
  ended: string | null;
  /** Whether a picture came: it stays, as it was, until there is a live one again. */
  hasPicture: boolean;
  lease: TypingLease | null;
  mine: boolean;
  /** The connection broke while the reader typed. */
  lostTyping: boolean;
  refused: string | null;
}

export interface LiveTerminal {
  takeLease(holder: string, takeOver: boolean): void;
  releaseLease(): void;
  close(): void;
}

const fontFamily = "ui-monospace, 'Cascadia Mono', 'JetBrains Mono', Menlo, 'DejaVu Sans Mono', monospace";
/** As wide as the pane needs: no viewer changes its columns. Below the least size the reader scrolls. */
const fontSizePx = { most: 13, least: 10 };
/** Padding and border of the box, left and right. */
const framePx = 24;
/** The agent has answered a key by then. */
const fillMs = 100;
const paths = socketPaths();
/** Pauses between attempts to connect again. */
const pausesMs = [1_000, 2_000, 4_000];

export function openTerminal(
  box: HTMLElement,
  agent: string,
  initial: TerminalState,
  onState: (state: TerminalState) => void,
): LiveTerminal {
  let state = initial;
  const change = (part: Partial<TerminalState>) => {
    state = { ...state, ...part };
    onState(state);
  };
  const terminal = withNonce(() => {
    const created = new Terminal({
      allowProposedApi: true,
      disableStdin: true,
      cursorInactiveStyle: "outline",
      fontFamily,
      fontSize: fontSizePx.most,
      scrollback: 2_000,
      screenReaderMode: true,
      theme: themeOf(box),
    });
    created.loadAddon(new Unicode11Addon());
    created.unicode.activeVersion = "11";
    created.open(box);
    return created;
  });
  const space = box.parentElement ?? box;
  const fitFont = () => {
    const fits = (space.clientWidth - framePx) / (terminal.cols * characterWidth());
    const size = Math.floor(Math.min(fontSizePx.most, Math.max(fontSizePx.least, fits)) * 2) / 2;
    if (size !== terminal.options.fontSize)
      withNonce(() => {
        terminal.options.fontSize = size;
      });
  };
  const observer = new ResizeObserver(fitFont);
  observer.observe(space);
  let socket: WebSocket | null = null;
  let cancelRetry = () => {};
  let failures = 0;
  const send = (message: ViewerMessage) => {
    if (socket?.readyState === WebSocket.OPEN) socket.send(JSON.stringify(message));
  };

  function connect(): void {
    const opened = new WebSocket(addressOf(agent));
    socket = opened;
    opened.binaryType = "arraybuffer";
    let reason = "The live terminal is not connected.";
    opened.onmessage = ({ data }: MessageEvent<ArrayBuffer | string>) => {
      if (typeof data !== "string") return terminal.write(new Uint8Array(data));
      const message = JSON.parse(data) as TerminalMessage;
      if (message.kind === "ended") reason = `The live terminal ended: ${message.reason}.`;
      else take(message);
    };
    opened.onclose = () => {
      terminal.options.disableStdin = true;
      const lostTyping = state.lostTyping || state.mine;
      change({ ended: reason, lease: null, mine: false, lostTyping });
      cancelRetry = after(pausesMs[Math.min(failures, pausesMs.length - 1)] ?? 4_000, connect);
      failures += 1;
    };
  }
  connect();

  function take(message: Exclude<TerminalMessage, { kind: "ended" }>): void {
    switch (message.kind) {
      case "picture":
        terminal.reset();
        failures = 0;
        change({ ended: null, hasPicture: true });
        withNonce(() => terminal.resize(message.width, message.height));
        fitFont();
        break;
      case "lease":
        terminal.options.disableStdin = !message.mine;
        change({ lease: message.lease, mine: message.mine, refused: null });
        if (message.mine) {
          change({ lostTyping: false });
          terminal.focus();
        }
        break;
      case "refused":
        change({ refused: message.detail });
        break;
    }
  }

  const typed = terminal.onData((text) => {
    if (state.mine) send({ kind: "type", text });
  });
  const endings = [takeTextWithoutKeys(terminal), fillFieldLater(terminal)];
  return {
    takeLease: (holder, takeOver) =>
      send({ kind: "take_lease", holder, ...(takeOver ? { take_over: true } : {}) }),
    releaseLease: () => send({ kind: "release_lease" }),
    close() {
      cancelRetry();
      if (socket !== null) socket.onclose = null;
      socket?.close();
      observer.disconnect();
      typed.dispose();
      for (const end of endings) end();
      terminal.dispose();
    },
  };
}

/**
 * Text that comes without a key: of a dictation, an emoji picker or a keyboard on glass. With its mode for
 * screen readers xterm 6.0 takes text of keys and of compositions alone.
 */
function takeTextWithoutKeys(terminal: Terminal): () => void {
  const field = terminal.textarea;
  if (field === undefined) return () => {};
  const over = new AbortController();
  const listen = { signal: over.signal, capture: true };
  let isKeyDown = false;
  const hold = (event: Event) => {
    isKeyDown = event.type === "keydown";
  };
  for (const kind of ["keydown", "keyup", "blur"]) field.addEventListener(kind, hold, listen);
  field.addEventListener(
    "input",
    (event) => {
      const { data, inputType, isComposing } = event as InputEvent;
      if (!isKeyDown && inputType === "insertText" && data && !isComposing) terminal.input(data, true);
    },
    listen,
  );
  return () => over.abort();
}

/**
 * With its mode for screen readers xterm lets the browser insert each key into its field, so that they read
 * it out. That lays the page out before the answer of the agent is read: 11 of 27 ms from a key to its echo.
 * Here the field takes the text when no key came for a moment; screen readers read a change of the field too.
 */
function fillFieldLater(terminal: Terminal): () => void {
  const field = terminal.textarea;
  if (field === undefined) return () => {};
  let wanted: string | null = null;
  let cancel = () => {};
  const fill = () => {
    cancel();
    if (wanted !== null) field.value = wanted;
    wanted = null;
  };
  const keys = terminal.onKey(({ key, domEvent }) => {
    const isErased = domEvent.key === "Backspace";
    const hasModifier = domEvent.ctrlKey || domEvent.altKey || domEvent.metaKey;
    // xterm has emptied the field.
    if (key === "\r" || key === "\x03") wanted = null;
    else if (hasModifier || (domEvent.key.length > 1 && !isErased)) fill();
    else {
      domEvent.preventDefault();
      const before: string = wanted ?? field.value;
      wanted = isErased ? before.slice(0, -1) : before + key;
      cancel();
      cancel = after(fillMs, fill);
    }
  });
  const over = new AbortController();
  const listen = { signal: over.signal, capture: true };
  for (const kind of ["beforeinput", "compositionstart", "blur"]) field.addEventListener(kind, fill, listen);
  return () => {
    cancel();
    keys.dispose();
    over.abort();
  };
}

/** Of a character, for a font of one pixel. */
function characterWidth(): number {
  const context = document.createElement("canvas").getContext("2d");
  if (context === null) return 0.6;
  context.font = `100px ${fontFamily}`;
  return context.measureText("W").width / 100;
}

function addressOf(agent: string): string {
  const { ofCoordinator, ofGateway } = paths;
  const path = atGateway ? ofGateway : ofCoordinator.replace(":agent_ref", encodeURIComponent(agent));
  const address = new URL(path, location.href);
  address.protocol = address.protocol === "https:" ? "wss:" : "ws:";
  return address.href;
}

/** The page's policy takes style elements with its nonce alone, and xterm makes some. */
function withNonce<T>(make: () => T): T {
  const nonce = document.querySelector<HTMLMetaElement>('meta[name="style-nonce"]')?.content ?? "";
  const original = document.createElement;
  document.createElement = function create(this: Document, name: string, options?: ElementCreationOptions) {
    const element = original.call(this, name, options);
    if (element instanceof HTMLStyleElement) element.nonce = nonce;
    return element;
  } as typeof document.createElement;
  try {
    return make();
  } finally {
    document.createElement = original;
  }
}

/** Colours of the design, as the style sheet has them. */
function themeOf(box: HTMLElement) {
  const style = getComputedStyle(box);
  const colour = (name: string) => style.getPropertyValue(name).trim();
  const names = ["black", "red", "green", "yellow", "blue", "magenta", "cyan", "white"];
  const ansi = names.flatMap((name, index) => [
    [name, colour(`--ansi-${index}`)],
    [`bright${name[0]?.toUpperCase()}${name.slice(1)}`, colour(`--ansi-${index + 8}`)],
  ]);
  return {
    background: colour("--screen"),
    foreground: colour("--screen-ink"),
    cursor: colour("--screen-ink"),
    ...Object.fromEntries(ansi),
  };
}
