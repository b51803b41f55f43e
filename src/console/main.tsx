import { render } from "preact";
import { App } from "./app.tsx";
import { after } from "./browser/browser.ts";
import "./console.css";
import { startStore } from "./client/store.ts";
import { applyTheme } from "./client/ui.ts";

/**
 * How long the first drawing waits for what it is to show: a frame without it costs as much as the one after
 * it.
 */
const maxUndrawnMs = 150;

const root = document.getElementById("console");
applyTheme();
const soon = new Promise<void>((resolve) => {
  after(maxUndrawnMs, resolve);
});
const draw = () => root !== null && render(<App />, root);
void Promise.race([startStore(), soon]).then(draw, draw);
