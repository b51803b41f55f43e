import uPlot from "uplot";
import { clockTime } from "../browser/browser.ts";
import { brief } from "../state/format.ts";
import type { Series } from "../state/history.ts";

const heightPx = 150;

export function openChart(box: HTMLElement, onMoment: (atMs: number) => void) {
  const style = getComputedStyle(box);
  const colour = (name: string) => style.getPropertyValue(name).trim();
  let marked: number | null = null;
  const axis = {
    stroke: colour("--quiet"),
    grid: { stroke: colour("--line"), width: 1 },
    ticks: { show: false },
  };
  const stepped = uPlot.paths.stepped?.({ align: 1 });
  const bars = uPlot.paths.bars?.({ size: [0.6, 12] });
  const area = (label: string, name: string) => ({
    label,
    stroke: colour(name),
    fill: `color-mix(in srgb, ${colour(name)} 18%, transparent)`,
    width: 1.5,
    points: { show: false },
    ...(stepped ? { paths: stepped } : {}),
  });
  const plot = new uPlot(
    {
      width: Math.max(200, box.clientWidth),
      height: heightPx,
      cursor: { y: false },
      scales: {
        y: { range: (_, __, max) => [0, Math.max(2, Math.ceil(max * 1.1))] },
        tokens: { range: (_, __, max) => [0, Math.max(10, max * 1.1)] },
      },
      axes: [
        { ...axis, space: 80, values: (_, splits) => splits.map((seconds) => clockTime(seconds * 1000)) },
        { ...axis, size: 34, incrs: [1, 2, 5, 10, 20, 50, 100] },
        {
          ...axis,
          scale: "tokens",
          side: 1,
          size: 52,
          grid: { show: false },
          values: (_, splits) => splits.map((value) => brief(value)),
        },
      ],
      series: [
        { value: (_, seconds) => (seconds === null ? "--" : clockTime(seconds * 1000)) },
        area("turns", "--working"),
        area("waits for a person", "--waits"),
        {
          label: "tokens",
          scale: "tokens",
          points: { show: false },
          stroke: colour("--quiet"),
          fill: colour("--quiet"),
          width: 0,
          value: (_, value) => (value === null ? "--" : brief(value)),
          ...(bars ? { paths: bars } : {}),
        },
      ],
      hooks: {
        draw: [
          ({ ctx, bbox, valToPos }) => {
            if (marked === null) return;
            const x = valToPos(marked / 1000, "x", true);
            ctx.strokeStyle = colour("--ink");
            ctx.beginPath();
            ctx.moveTo(x, bbox.top);
            ctx.lineTo(x, bbox.top + bbox.height);
            ctx.stroke();
          },
        ],
      },
    },
    [[], [], [], []],
    box,
  );
  const choose = () => {
    const { left = -1 } = plot.cursor;
    if (left >= 0) onMoment(plot.posToVal(left, "x") * 1000);
  };
  plot.over.addEventListener("click", choose);
  const observer = new ResizeObserver(() =>
    plot.setSize({ width: Math.max(200, box.clientWidth), height: heightPx }),
  );
  observer.observe(box);
  return {
    draw({ at, turns, waits, tokens }: Series, markedMs: number | null): void {
      marked = markedMs;
      plot.setData([at.map((ms) => ms / 1000), turns, waits, tokens]);
    },
    close(): void {
      observer.disconnect();
      plot.destroy();
    },
  };
}
