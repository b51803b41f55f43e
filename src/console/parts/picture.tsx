import type { ScreenRun } from "../../protocol/console.ts";
import { screenOf } from "../client/screens-stream.ts";
import { lastRows, type ScreenView } from "../state/screen.ts";

/** The last rows of the screen of an agent, as the server rendered them. */
export function Picture({ id, max }: { id: string; max: number }) {
  const view = screenOf(id).value;
  if (view.absent !== null) return <span class="picture absent">{view.absent}</span>;
  return <ScreenRows view={view} max={max} />;
}

/** The last rows of a screen. */
export function ScreenRows({ view, max }: { view: ScreenView; max: number }) {
  return (
    <span class="picture" aria-hidden="true">
      {lastRows(view, max).map(({ row, runs }) => (
        <span key={row} class="row">
          {runs.map((run, index) => (
            <span key={index} style={styleOf(run)}>
              {run.text}
            </span>
          ))}
        </span>
      ))}
    </span>
  );
}

function styleOf(run: ScreenRun) {
  const front = colourOf(run.foreground);
  const back = colourOf(run.background);
  return {
    ...(run.inverse
      ? { color: back ?? "var(--screen)", background: front ?? "var(--screen-ink)" }
      : { ...(front ? { color: front } : {}), ...(back ? { background: back } : {}) }),
    ...(run.bold ? { fontWeight: 600 } : {}),
    ...(run.dim ? { opacity: 0.7 } : {}),
    ...(run.italic ? { fontStyle: "italic" } : {}),
    ...(run.underline ? { textDecoration: "underline" } : {}),
  };
}

/** Colours of the palette: the first sixteen are the design's, the others the usual cube and greys. */
function colourOf(name: string | undefined): string | null {
  if (name === undefined) return null;
  if (!name.startsWith("palette:")) return name;
  const index = Number(name.slice("palette:".length));
  if (index < 16) return `var(--ansi-${index})`;
  if (index >= 232)
    return `rgb(${Array(3)
      .fill(8 + (index - 232) * 10)
      .join(" ")})`;
  const level = (part: number) => (part === 0 ? 0 : 55 + part * 40);
  const cube = index - 16;
  return `rgb(${level(Math.floor(cube / 36))} ${level(Math.floor(cube / 6) % 6)} ${level(cube % 6)})`;
}
