import { render } from "preact";
import { App } from "./app.tsx";
import "./console.css";
import { applyTheme } from "./ui.ts";

const root = document.getElementById("console");
applyTheme();
if (root !== null) render(<App />, root);
