import { Unicode11Addon } from "@xterm/addon-unicode11";
import { Terminal } from "@xterm/xterm";
import type { TerminalMessage, ViewerMessage } from "../protocol/console.ts";
import type { TypingLease } from "../protocol/gateway.ts";
import { socketPaths } from "./operations.ts" with { type: "macro" };
import { atGateway } from "./surface.ts";

/** The live terminal of one agent. Loaded when a reader opens one: xterm is larger than all the rest. */

export interface TerminalState {
  /** Why there is no live picture now; null while there is one. */
  ended: string | null;
  lease: TypingLease | null;
  mine: boolean;
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
const paths = socketPaths();

export function openTerminal(
  box: HTMLElement,
  agent: string,
  onState: (state: TerminalState) => void,
): LiveTerminal {
  let state: TerminalState = { ended: "Connecting…", lease: null, mine: false, refused: null };
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
  const socket = new WebSocket(addressOf(agent));
  socket.binaryType = "arraybuffer";
  const send = (message: ViewerMessage) => {
    if (socket.readyState === WebSocket.OPEN) socket.send(JSON.stringify(message));
  };
  socket.onopen = () => change({ ended: null });
  let isOver = false;
  socket.onclose = () =>
    !isOver &&
    change({
      ended: "The live terminal is not connected. Its screen is shown, read only.",
      lease: null,
      mine: false,
    });
  socket.onmessage = ({ data }: MessageEvent<ArrayBuffer | string>) => {
    if (typeof data === "string") take(JSON.parse(data) as TerminalMessage);
    else terminal.write(new Uint8Array(data));
  };

  function take(message: TerminalMessage): void {
    switch (message.kind) {
      case "picture":
        terminal.reset();
        withNonce(() => terminal.resize(message.width, message.height));
        fitFont();
        break;
      case "lease":
        terminal.options.disableStdin = !message.mine;
        change({ lease: message.lease, mine: message.mine, refused: null });
        if (message.mine) terminal.focus();
        break;
      case "refused":
        change({ refused: message.detail });
        break;
      case "ended":
        isOver = true;
        change({ ended: message.reason, lease: null, mine: false });
        break;
    }
  }

  const typed = terminal.onData((text) => {
    if (state.mine) send({ kind: "type", text });
  });
  return {
    takeLease: (holder, takeOver) =>
      send({ kind: "take_lease", holder, ...(takeOver ? { take_over: true } : {}) }),
    releaseLease: () => send({ kind: "release_lease" }),
    close() {
      socket.onclose = null;
      socket.close();
      observer.disconnect();
      typed.dispose();
      terminal.dispose();
    },
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
